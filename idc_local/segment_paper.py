"""The published objective of Intent-Driven Dynamic Chunking, and its post-processing (arXiv 2602.14784v1).

    (1)  R(C) = max over intents q of cos(e(C), q),   e(C) = mean of the chunk's sentence vectors
    (2)  U(S) = sum of R(C) - λ · sum of |C|² - β · (k - 1),   |C| in sentences, k chunks
    (3)  f(j) = max over j - L <= i < j of  f(i) + R(C) - λ|C|² - β,   f(0) = 0

(3) charges β for every chunk and (2) for every cut; the two differ by the constant β, and scores here are U(S).

The objective is degenerate: merging neighbours of m and n sentences pays where β > R₁ + R₂ - R₁₂ + 2λmn, which for
the published λ is about β > R. So β below the usual R gives the shortest chunks, β above it gives L sentences
everywhere, and there is a knife-edge between. It is here to reproduce and to compare, not to be preferred.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from idc_local.chunk_sums import VANISHING, local_sums
from idc_local.dp import Band, Float64Array, Units, build_units, explain, ranges_of, solve
from idc_local.types import FloatArray, IntArray, Limits, Segmentation, SegmentInput, Structure, Vectors


@dataclass(frozen=True, slots=True)
class PaperParams:
    """Parameters of the published method.

    lam, beta, max_sentences: λ, β and L of equations (2) and (3). The paper gives λ = 0.0005 "after tuning" and
    L = 10 to 15, and no β; with β = 1 chunks come near to its reported 12.7 to 13.8 sentences.
    postprocess: merge neighbours with one best intent of which one holds at most ``short`` sentences, then split
        chunks of more than ``long`` sentences at paragraph breaks. The paper gives no numbers for either.
    """

    lam: float = 0.0005
    beta: float = 1.0
    max_sentences: int = 15
    postprocess: bool = True
    short: int = 2
    long: int = 12


class PaperObjective:
    """Equations (1) to (3) over units."""

    def __init__(self, data: SegmentInput, units: Units, params: PaperParams) -> None:
        self._vectors = data.vectors
        # In a fixed order of their own, so that the order in which intents come changes no bit.
        self._intents = _sorted_rows(data.intents).astype(np.float64)
        self._units = units
        self._lam = params.lam
        self.cuts: Mapping[str, Float64Array] = {"cut": np.full(len(units) + 1, -params.beta)}

    def gains(self, band: Band) -> dict[str, Float64Array]:
        """``relevance`` = R(C) and ``length`` = -λ|C|² of each chunk of the band."""
        sentences = self._units.bounds[band.ends] - self._units.bounds[band.starts]
        return {"relevance": self._relevance(band), "length": -self._lam * np.square(sentences.astype(float))}

    def _relevance(self, band: Band) -> Float64Array:
        best = np.full((band.last - band.first, band.width), -np.inf)
        if not self._intents.shape[0]:
            return np.zeros(best.shape)
        sums = local_sums(self._vectors, self._units, band)
        for intent in self._intents:
            np.maximum(best, sums.dots(intent), out=best)
        return best * sums.inverse_norms()


def _sorted_rows(vectors: FloatArray) -> FloatArray:
    if not vectors.size:
        return vectors[:0]
    return vectors[np.lexsort(vectors.T[::-1])]


def segment_paper(data: SegmentInput, limits: Limits, params: PaperParams, *, explained: bool = False) -> Segmentation:
    """Segment by the published method within the hard limits. Without intents R(C) = 0 for every chunk."""
    units = build_units(data.sentences, limits, params.max_sentences)
    objective = PaperObjective(data, units, params)
    cuts, score = solve(units, objective)
    if params.postprocess and len(units):
        cuts = merge_short(data, units, cuts, params.short)
        cuts = split_long(data, units, cuts, params.long)
        score = utility(data, ranges_of(units, cuts), params)
    reasons = explain(units, objective, cuts) if explained else ()
    return Segmentation(ranges_of(units, cuts), score, reasons)


def utility(data: SegmentInput, ranges: IntArray, params: PaperParams) -> float:
    """U(S) of equation (2) for chunks that partition the sentences, int64 [k, 2], k > 0."""
    lengths = np.diff(ranges, axis=1).astype(float)
    value = -params.lam * float(np.square(lengths).sum()) - params.beta * (len(ranges) - 1)
    if data.intents.shape[0]:
        totals = _totals(data.vectors, ranges)
        norms = np.linalg.norm(totals, axis=1)
        best = (totals @ data.intents.T.astype(np.float64)).max(axis=1)
        value += float((best[norms**2 > VANISHING] / norms[norms**2 > VANISHING]).sum())
    return value


def _totals(vectors: Vectors, ranges: IntArray) -> Float64Array:
    totals: Float64Array = np.add.reduceat(vectors, ranges[:, 0], axis=0, dtype=np.float64)
    return totals


def merge_short(data: SegmentInput, units: Units, cuts: IntArray, short: int) -> IntArray:
    """Merge neighbours that share their best intent where one of them holds at most ``short`` sentences.

    One pass from the front. Where two sums of vectors share their best intent it is the best of their sum too, so a
    merged chunk keeps it. No merge breaks a limit.
    """
    if not data.intents.shape[0]:
        return cuts
    totals = _totals(data.vectors, ranges_of(units, cuts))
    nearest = (totals @ data.intents.T.astype(np.float64)).argmax(axis=1)
    lengths = np.diff(units.bounds[cuts])
    kept: list[int] = cuts[:2].tolist()
    for chunk in range(1, totals.shape[0]):
        end = int(cuts[chunk + 1])
        is_short = min(int(units.bounds[kept[-1]] - units.bounds[kept[-2]]), int(lengths[chunk])) <= short
        if is_short and nearest[chunk - 1] == nearest[chunk] and units.lowest[end] <= kept[-2]:
            kept[-1] = end
        else:
            kept.append(end)
    return np.array(kept, dtype=np.int64)


def split_long(data: SegmentInput, units: Units, cuts: IntArray, long: int) -> IntArray:
    """Split chunks of more than ``long`` sentences at the paragraph break nearest to their middle, again and again.

    A chunk without a paragraph break stays as it is.
    """
    breaks = data.sentences.boundary[units.bounds[:-1]] >= Structure.PARAGRAPH
    pending = list(pairwise(cuts.tolist()))[::-1]
    edges = [0]
    while pending:
        start, end = pending.pop()
        inner = start + 1 + np.flatnonzero(breaks[start + 1 : end])
        middle = (units.bounds[start] + units.bounds[end]) / 2
        if units.bounds[end] - units.bounds[start] <= long or not inner.size:
            edges.append(end)
            continue
        cut = int(inner[np.abs(units.bounds[inner] - middle).argmin()])
        pending += [(cut, end), (start, cut)]
    return np.array(edges, dtype=np.int64)
