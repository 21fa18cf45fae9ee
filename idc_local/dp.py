"""The exact dynamic program over gaps, and the units that it never cuts.

Owns: glued runs of sentences with their hard limits, the solver, and the reasons for its cuts. Knows nothing of any
particular objective. Must not do I/O.

A segmentation of units 0..u is a list of boundaries 0 = c0 < c1 < … < ck = u. Its score is the sum of what each
chunk earns, ``gain(start, end)``, and of what each inner boundary earns, ``cut(boundary)``. The solver finds the
best of all segmentations whose chunks hold the limits:

    f(0) = 0,   f(j) = max over lowest(j) <= i < j of  f(i) + cut(i) + gain(i, j)

O(u·w) for at most w units in a chunk; unreachable states are minus infinity, so no chunk can escape its limits.

Worked example: four sentences of 40 characters, at most 100 characters in a chunk, a chunk earns
``-(sentences - 2)²``, and a cut before sentence 1, 2, 3 earns 3, -1, 0. ``0 | 1 2 3`` would earn -1 + 3 - 1 = 1,
but three sentences have 120 characters. Of what is left, ``0 | 1 2 | 3`` earns -1 + 3 + 0 + 0 - 1 = 1, as much, and
beats ``0 1 | 2 3`` with 0 - 1 + 0 = -1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from idc_local.types import CutReason, IntArray, Limits, Sentences, Structure

Float64Array = npt.NDArray[np.float64]

GRAIN = 2.0**30
"""Scores are rounded to 1/GRAIN: their sums are then exact, so a tie is a tie on every machine."""
_ROWS = 1024
_CELLS = 1 << 18


@dataclass(frozen=True, slots=True)
class Units:
    """Runs of sentences that are never cut inside: u units, all arrays int64 [u + 1].

    bounds: the sentence where each unit begins; the last entry is the number of sentences.
    chars, tokens: code points and word pieces before each unit.
    lowest: for each end j the first start of a chunk that ends at j and holds the limits; at most j - 1, so one
        unit alone is always allowed (entry 0 is unused).
    """

    bounds: IntArray
    chars: IntArray
    tokens: IntArray
    lowest: IntArray

    def __len__(self) -> int:
        return int(self.bounds.shape[0]) - 1

    def with_barriers(self, barriers: IntArray) -> Units:
        """The same units where no chunk may reach across any of ``barriers`` (unit boundaries, ascending)."""
        walls = np.concatenate([[0], barriers])
        ends = np.arange(1, len(self) + 1)
        before = walls[np.searchsorted(walls, ends, side="left") - 1]
        lowest = self.lowest.copy()
        lowest[1:] = np.maximum(lowest[1:], before)
        return replace(self, lowest=lowest)

    def capped(self, sizes: IntArray, cap: int) -> Units:
        """The same units where a chunk of more than one unit has at most ``cap`` of ``sizes``.

        sizes: int64 [u + 1], what lies before each unit, ascending.
        """
        return replace(self, lowest=np.maximum(self.lowest, _lowest((sizes,), (cap,))))


@dataclass(frozen=True, slots=True)
class Band:
    """Chunks that end at units ``first`` to ``last - 1`` and hold at most ``width`` units.

    Arrays over a band are float64 [last - first, width]; row r, column c is the chunk that ends at ``first + r``
    and starts at ``first + r - width + c``. Starts below 0 stand for no chunk and their values are never read.
    """

    first: int
    last: int
    width: int

    @property
    def ends(self) -> IntArray:
        """int64 [rows, 1]."""
        return np.arange(self.first, self.last, dtype=np.int64)[:, None]

    @property
    def starts(self) -> IntArray:
        """int64 [rows, width], clipped at 0."""
        starts: IntArray = np.maximum(self.ends - self.width + np.arange(self.width), 0)
        return starts


class Objective(Protocol):
    """What chunks and cuts earn, term by term."""

    @property
    def cuts(self) -> Mapping[str, Float64Array]:
        """Terms of a cut before each unit: float64 [u + 1]; the first and the last entry are never read."""
        ...

    def gains(self, band: Band) -> Mapping[str, Float64Array]:
        """Terms of each chunk of the band."""
        ...


def build_units(sentences: Sentences, limits: Limits, max_sentences: int | None = None) -> Units:
    """Units of glued sentences under ``limits`` and, where given, a maximum number of sentences.

    No chunk of them reaches from one into another of the documents that a file holds.

    A glued run that breaks a limit is released into the fewest pieces that hold it, each as long as it can be, so
    that a heading keeps the beginning of what it heads.
    """
    count = len(sentences)
    if not count:
        nothing = np.zeros(1, dtype=np.int64)
        return Units(nothing, nothing, nothing, nothing)
    totals = (
        np.append(sentences.starts, sentences.ends[-1]).astype(np.int64),
        np.concatenate([[0], np.cumsum(sentences.tokens)]).astype(np.int64),
        np.arange(count + 1, dtype=np.int64),
    )
    caps = (limits.max_chars, limits.max_tokens, max_sentences or count)
    free = ~sentences.glue
    free[0] = True
    bounds = np.append(np.flatnonzero(free), count).astype(np.int64)
    bounds = _release(bounds, totals, caps)
    chars, tokens, numbers = (total[bounds] for total in totals)
    units = Units(bounds, chars, tokens, _lowest((chars, tokens, numbers), caps))
    return units.with_barriers(np.flatnonzero(sentences.boundary[bounds[:-1]] == Structure.DOCUMENT))


def _release(bounds: IntArray, totals: tuple[IntArray, ...], caps: tuple[int, ...]) -> IntArray:
    over = np.zeros(bounds.shape[0] - 1, dtype=np.bool_)
    for total, cap in zip(totals, caps, strict=True):
        over |= np.diff(total[bounds]) > cap
    extra = []
    for run in np.flatnonzero(over):
        start, end = int(bounds[run]), int(bounds[run + 1])
        while start < end:
            reach = min(
                int(np.searchsorted(total, total[start] + cap, side="right")) - 1
                for total, cap in zip(totals, caps, strict=True)
            )
            start = max(reach, start + 1)
            extra.append(min(start, end))
    return np.union1d(bounds, np.array(extra, dtype=np.int64))


def _lowest(totals: tuple[IntArray, ...], caps: tuple[int, ...]) -> IntArray:
    size = totals[0].shape[0]
    lowest = np.zeros(size, dtype=np.int64)
    for total, cap in zip(totals, caps, strict=True):
        lowest = np.maximum(lowest, np.searchsorted(total, total - cap, side="left"))
    return np.minimum(lowest, np.maximum(np.arange(size) - 1, 0)).astype(np.int64)


def bands(units: Units) -> Iterator[Band]:
    """Bands that together hold every allowed chunk, each of bounded size."""
    widths = np.arange(len(units) + 1) - units.lowest
    first = 1
    while first <= len(units):
        width = int(widths[first : first + _ROWS].max())
        last = min(len(units) + 1, first + max(1, min(_ROWS, _CELLS // width)))
        yield Band(first, last, int(widths[first:last].max()))
        first = last


def solve(units: Units, objective: Objective) -> tuple[IntArray, float]:
    """The best segmentation and its score.

    Of equal scores the one with fewer chunks wins, then, seen from the end, the one whose last cut is earlier.

    Returns:
        Unit boundaries, int64 [k + 1], from 0 to u (only [0] where there are no units), and the score.
    """
    count = len(units)
    before = total_cuts(objective, count)
    best = np.full(count + 1, -np.inf)
    best[0] = 0.0
    entry = best.copy()
    chunks = np.zeros(count + 1, dtype=np.int64)
    back = np.zeros(count + 1, dtype=np.int64)
    lowest: list[int] = units.lowest.tolist()
    for band in bands(units):
        gains = total_gains(objective, band)
        for row, end in enumerate(range(band.first, band.last)):
            low = lowest[end]
            scores = entry[low:end] + gains[row, band.width - end + low :]
            start = int(scores.argmax())
            tied = (scores == scores[start]).nonzero()[0]
            if tied.size > 1:
                start = int(tied[chunks[low + tied].argmin()])
            best[end] = scores[start]
            entry[end] = scores[start] + before[end]
            back[end] = low + start
            chunks[end] = chunks[low + start] + 1
    return _trace(back), float(best[count])


def _trace(back: IntArray) -> IntArray:
    boundary = back.shape[0] - 1
    path = [boundary]
    while boundary > 0:
        boundary = int(back[boundary])
        path.append(boundary)
    return np.array(path[::-1], dtype=np.int64)


def total_cuts(objective: Objective, count: int) -> Float64Array:
    """float64 [count + 1]: what a cut before each unit earns in all; 0 at both ends."""
    total = _rounded(sum(objective.cuts.values(), start=np.zeros(count + 1)))
    total[0] = total[count] = 0.0
    return total


def total_gains(objective: Objective, band: Band) -> Float64Array:
    """What each chunk of the band earns in all."""
    shape = (band.last - band.first, band.width)
    return _rounded(sum(objective.gains(band).values(), start=np.zeros(shape)))


def _rounded(values: Float64Array) -> Float64Array:
    return np.rint(values * GRAIN) / GRAIN


def ranges_of(units: Units, cuts: IntArray) -> IntArray:
    """Half-open sentence ranges, int64 [k, 2], between unit boundaries."""
    edges = units.bounds[cuts]
    return np.stack([edges[:-1], edges[1:]], axis=1)


def explain(units: Units, objective: Objective, cuts: IntArray) -> tuple[CutReason, ...]:
    """Why each inner boundary is where it is.

    ``terms`` add up to what the cut and the chunks on its two sides earn; ``alternative`` is the sentence whose gap
    would earn most instead while the other cuts stay, and ``loss`` is what that would cost. None: no other gap
    between the neighbouring cuts holds the limits.
    """
    triples = zip(cuts[:-2].tolist(), cuts[1:-1].tolist(), cuts[2:].tolist(), strict=True)
    return tuple(_reason(units, objective, *triple) for triple in triples)


def _reason(units: Units, objective: Objective, left: int, cut: int, right: int) -> CutReason:
    width = right - left
    inner = np.arange(left + 1, right)
    rows = inner - left - 1
    at = cut - left - 1
    total = np.zeros(width - 1)
    terms: dict[str, float] = {}
    for name, values in objective.cuts.items():
        total += values[inner]
        terms[name] = float(values[cut])
    for name, band in objective.gains(Band(left + 1, right + 1, width)).items():
        # Row a of the band ends at inner[a]; its chunk from ``left`` stands on the antidiagonal.
        beside = band[rows, width - 1 - rows] + band[width - 1, 1:]
        total += beside
        terms[name] = terms.get(name, 0.0) + float(beside[at])
    legal = (units.lowest[inner] <= left) & (units.lowest[right] <= inner)
    legal[at] = False
    if not legal.any():
        return CutReason(int(units.bounds[cut]), terms)
    other = int(np.where(legal, total, -np.inf).argmax())
    loss = float(total[at] - total[other])
    return CutReason(int(units.bounds[cut]), terms, int(units.bounds[inner[other]]), loss)
