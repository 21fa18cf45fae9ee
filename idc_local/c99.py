"""C99: divisive clustering of a rank matrix (Choi, "Advances in domain independent linear text segmentation", 2000)."""

from __future__ import annotations

import numpy as np

from idc_local.coherence import neighbour_similarity, similarity_costs
from idc_local.dp import Float64Array, Units, build_units, ranges_of
from idc_local.segment import StrategyOptions
from idc_local.structural import hold_limits
from idc_local.types import IntArray, Limits, Segmentation, SegmentInput, Vectors

SECTION = 512
"""Units in one rank matrix; longer documents are cut in equal sections first, which bounds time and memory."""
RADIUS = 5
"""Neighbours on each side of the rank mask: 11 x 11, as published."""
DEVIATIONS = 1.2
"""Standard deviations above the mean gain that a cut has to bring, as published."""
_SMOOTHING = np.array([1, 2, 4, 8, 4, 2, 1], dtype=np.float64)


def segment_c99(data: SegmentInput, text: str, limits: Limits, options: StrategyOptions) -> Segmentation:
    """Segment by C99, with a unit's mean sentence vector in place of its word counts.

    The number of segments follows the target size; with ``options.sentences`` the published gradient criterion
    decides instead. Segments that break the limits are cut further where neighbours are least alike.
    """
    units = build_units(data.sentences, limits)
    sections = np.linspace(0, len(units), -(-len(units) // SECTION) + 1).astype(np.int64)
    cuts = [0]
    for start, end in zip(sections[:-1].tolist(), sections[1:].tolist(), strict=True):
        ranks = rank_matrix(_similarity(data.vectors, units, start, end))
        wanted = round(float(units.chars[end] - units.chars[start]) / limits.target_chars)
        inner = divide(ranks, None if options.sentences is not None else max(wanted, 1))
        cuts += [start + cut for cut in inner] + [end]
    costs = similarity_costs(neighbour_similarity(data, units))
    return Segmentation(ranges_of(units, hold_limits(units, np.array(cuts, dtype=np.int64), costs)))


def _similarity(vectors: Vectors, units: Units, start: int, end: int) -> Float64Array:
    """Cosines between the units start..end, float64 [s, s], rounded so that equal sentences tie."""
    edges = units.bounds[start : end + 1]
    sums = np.add.reduceat(vectors[edges[0] : edges[-1]], edges[:-1] - edges[0], axis=0, dtype=np.float64)
    sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    cosines: Float64Array = np.round(sums @ sums.T, 6)
    return cosines


def rank_matrix(similarity: Float64Array) -> Float64Array:
    """Each cell's share of neighbours under the mask, the cell itself not counted, that are less similar.

    similarity: float64 [s, s]. Neighbours outside the matrix do not count.
    """
    size = similarity.shape[0]
    mask = 2 * RADIUS + 1
    padded = np.full((size + 2 * RADIUS, size + 2 * RADIUS), np.inf)
    padded[RADIUS : RADIUS + size, RADIUS : RADIUS + size] = similarity
    lower = np.zeros((size, size), dtype=np.uint8)
    for down in range(mask):
        for right in range(mask):
            lower += padded[down : down + size, right : right + size] < similarity
    places = np.arange(size)
    within = np.minimum(places + RADIUS, size - 1) - np.maximum(places - RADIUS, 0) + 1
    ranks: Float64Array = lower / np.maximum(np.outer(within, within) - 1, 1)
    return ranks


def divide(ranks: Float64Array, segments: int | None) -> list[int]:
    """Cut where the inside density (sum of ranks in segments over their area) grows most, again and again.

    ranks: float64 [s, s]. segments: how many to make; None: stop by the gradient criterion.

    Returns:
        The cuts, ascending. Of equal gains the earliest cut is made.
    """
    size = ranks.shape[0]
    sums = np.zeros((size + 1, size + 1))
    sums[1:, 1:] = ranks.cumsum(axis=0).cumsum(axis=1)
    edges = [0, size]
    change = np.full((2, size + 1), np.nan)
    total, area = float(sums[size, size]), float(size * size)
    density = [total / area]
    made: list[int] = []
    _offer(sums, change, 0, size)
    while len(made) < (size if segments is None else min(segments, size)) - 1:
        offers = (total + change[0]) / (area + change[1])
        cut = int(np.nanargmax(offers))
        total, area = total + float(change[0, cut]), area + float(change[1, cut])
        density.append(total / area)
        made.append(cut)
        place = int(np.searchsorted(edges, cut))
        edges.insert(place, cut)
        change[:, cut] = np.nan
        _offer(sums, change, edges[place - 1], cut)
        _offer(sums, change, cut, edges[place + 1])
    if segments is None:
        made = made[: _worthwhile(np.array(density))]
    return sorted(made)


def _offer(sums: Float64Array, change: Float64Array, start: int, end: int) -> None:
    """Write how each cut inside start..end would change the total rank and the total area: float64 [2, s + 1]."""
    cuts = np.arange(start + 1, end)
    change[0, cuts] = _block(sums, start, cuts) + _block(sums, cuts, end) - _block(sums, start, end)
    change[1, cuts] = (cuts - start) ** 2 + (end - cuts) ** 2 - (end - start) ** 2


def _block(sums: Float64Array, start: int | IntArray, end: int | IntArray) -> Float64Array:
    block: Float64Array = sums[end, end] - sums[start, end] - sums[end, start] + sums[start, start]
    return block


def _worthwhile(density: Float64Array) -> int:
    """Number of first cuts whose smoothed gain in density stands out."""
    gains = np.diff(density)
    if not gains.size:
        return 0
    half = _SMOOTHING.size // 2
    weights = np.convolve(np.ones(gains.size), _SMOOTHING)[half : half + gains.size]
    smooth = np.convolve(gains, _SMOOTHING)[half : half + gains.size] / weights
    enough = smooth > smooth.mean() + DEVIATIONS * smooth.std()
    return int(enough.size if enough.all() else enough.argmin())
