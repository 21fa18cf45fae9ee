"""The calibrated objective: structure, semantic dips, intents, and a convex prior on length, all in one sum.

    score = sum over cuts of (structure - centre · its mean + dip - lead_in - intent_cut · spans broken)
          + sum over chunks of (intent_relevance · cosines of its own intents - length · φ(characters / target)),
    φ(r) = r - 1 - ln r

φ is convex, 0 at r = 1, and tolerant of long chunks compared with short ones, so that the number of cuts follows
the target and their places follow the rest. Similarities are only ever compared within a document: dips are
z-scores, and each intent is paid exactly once, in the chunk that holds its evidence, so no cosine threshold exists
and any constant in an embedder's cosines cancels.

Gap features depend on the document alone: ``prepare_gaps`` finds them once, and any number of weights can be tried
with ``segment_prepared``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from idc_local.chunk_sums import VANISHING, local_sums, prefix_sums
from idc_local.dp import Band, Float64Array, Units, build_units, explain, ranges_of, solve
from idc_local.types import BoolArray, IntArray, Limits, Segmentation, SegmentInput, Structure, Vectors

EVIDENCE_RADIUS = 1
"""Sentences on each side of an intent's evidence sentence that belong to its evidence span, inside its window."""
LEAST_SPREAD = 0.02
"""Standard deviation of cosines below which their differences count for less: they are noise."""
_ROWS = 1024


@dataclass(frozen=True, slots=True)
class SegmentWeights:
    """Weights of the calibrated objective. A gap inside a paragraph has structure 0; the others are relative to it.

    length: of the length prior, per chunk.
    item, paragraph, heading: structure of a gap between items or lines, between blocks, before a heading.
    dip: of the z-score of the semantic dip across a gap, the mean over ``windows``: sentences on each side compared.
    lead_in: cost of a cut after a sentence that leads to the next one: it ends with a colon, or is a greeting.
    intent_cut: cost of a cut inside an intent's evidence span, for each such intent.
    intent_relevance: of the cosine between an intent and the chunk that holds its evidence.
    centre: share of the mean structure of the document's gaps that is taken off each gap; with 1, text
        that is all paragraphs of one sentence is cut as often as text without any paragraphs.
    """

    length: float = 1.0
    item: float = 0.5
    paragraph: float = 1.2
    heading: float = 2.0
    dip: float = 0.5
    windows: tuple[int, ...] = (1, 2, 3)
    lead_in: float = 2.0
    intent_cut: float = 0.0
    intent_relevance: float = 0.0
    centre: float = 1.0


@dataclass(frozen=True, slots=True)
class GapFeatures:
    """What is known of the gap before each unit: arrays [u + 1], where both ends stand for no gap.

    boundary: int64, as in ``Sentences``. dip: float64 z-scores over the gaps of the document. lead_in: bool, after a
    sentence that leads to the next one. spans: int64, evidence spans that a cut would break.
    """

    boundary: IntArray
    lead_in: BoolArray
    dip: Float64Array
    spans: IntArray


def gap_features(data: SegmentInput, units: Units, windows: Sequence[int]) -> GapFeatures:
    """Features of every gap between units; ``windows`` as in ``SegmentWeights``."""
    count = len(units)
    gaps = units.bounds[1:-1] if count else units.bounds[:0]
    boundary, spans = np.zeros(count + 1, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
    lead_in, dip = np.zeros(count + 1, dtype=np.bool_), np.zeros(count + 1)
    if gaps.size:
        boundary[1:-1] = data.sentences.boundary[gaps]
        lead_in[1:-1] = data.lead_ins[gaps - 1] if data.lead_ins is not None else False
        scores = [_z_scores(1.0 - gap_similarity(data.vectors, gaps, window)) for window in windows]
        dip[1:-1] = np.mean(scores, axis=0)
        spans[1:-1] = broken_spans(data)[gaps]
    return GapFeatures(boundary, lead_in, dip, spans)


def gap_similarity(vectors: Vectors, gaps: IntArray, window: int) -> Float64Array:
    """Cosine between the means of up to ``window`` sentences before and after each gap, float64 [gaps].

    A gap is the number of the sentence that it comes before. Where a mean vanishes the cosine is 0.
    """
    found = np.zeros(gaps.shape[0])
    for first in range(0, gaps.shape[0], _ROWS):
        part = gaps[first : first + _ROWS]
        base = max(0, int(part[0]) - window)
        last = min(vectors.shape[0], int(part[-1]) + window)
        prefix = prefix_sums(vectors[base:last])
        middle = prefix[part - base]
        left = middle - prefix[np.maximum(part - window - base, 0)]
        right = prefix[np.minimum(part + window, last) - base] - middle
        found[first : first + _ROWS] = _cosines(left, right)
    return found


def _cosines(left: Float64Array, right: Float64Array) -> Float64Array:
    dots = np.einsum("ij,ij->i", left, right)
    squares = np.einsum("ij,ij->i", left, left) * np.einsum("ij,ij->i", right, right)
    return np.where(squares > VANISHING, dots / np.sqrt(np.maximum(squares, VANISHING)), 0.0)


def _z_scores(values: Float64Array) -> Float64Array:
    scores: Float64Array = (values - values.mean()) / max(float(values.std()), LEAST_SPREAD)
    return scores


def broken_spans(data: SegmentInput) -> IntArray:
    """int64 [n + 1]: for the gap before each sentence, the evidence spans of intents that a cut there would break.

    A span is the evidence sentence with ``EVIDENCE_RADIUS`` neighbours on each side inside the source window.
    """
    change = np.zeros(len(data.sentences) + 2, dtype=np.int64)
    first = np.maximum(data.intent_windows[:, 0], data.intent_evidence - EVIDENCE_RADIUS)
    last = np.minimum(data.intent_windows[:, 1], data.intent_evidence + EVIDENCE_RADIUS + 1)
    np.add.at(change, first + 1, 1)
    np.add.at(change, last, -1)
    return np.cumsum(change)[:-1]


class CalibratedObjective:
    """The sum in this module's docstring, over units."""

    def __init__(
        self, data: SegmentInput, units: Units, features: GapFeatures, weights: SegmentWeights, target: int
    ) -> None:
        self._units = units
        self._weights = weights
        self._target = target
        self._vectors = data.vectors
        order = np.lexsort((*data.intents.T[::-1], data.intent_evidence))
        self._intents = data.intents[order].astype(np.float64)
        evidence = data.intent_evidence[order]
        self._evidence = np.searchsorted(units.bounds, evidence, side="right") - 1
        self.cuts: Mapping[str, Float64Array] = _cut_terms(features, weights)

    def gains(self, band: Band) -> dict[str, Float64Array]:
        """``length`` and, where it has a weight, ``relevance`` of each chunk of the band."""
        chars = self._units.chars[band.ends] - self._units.chars[band.starts]
        ratio = np.maximum(chars, 1) / self._target
        terms = {"length": -self._weights.length * (ratio - 1.0 - np.log(ratio))}
        if self._weights.intent_relevance:
            terms["relevance"] = self._weights.intent_relevance * self._relevance(band)
        return terms

    def _relevance(self, band: Band) -> Float64Array:
        total = np.zeros((band.last - band.first, band.width))
        near = np.arange(*np.searchsorted(self._evidence, [band.first - band.width, band.last - 1]))
        if not near.size:
            return total
        sums = local_sums(self._vectors, self._units, band)
        ends, starts = band.ends, band.starts
        for intent in near:
            unit = self._evidence[intent]
            holds = (starts <= unit) & (ends > unit)
            total += np.where(holds, sums.dots(self._intents[intent]), 0.0)
        return total * sums.inverse_norms()


def _cut_terms(features: GapFeatures, weights: SegmentWeights) -> dict[str, Float64Array]:
    structure = np.select(
        [features.boundary == Structure.ITEM, features.boundary == Structure.PARAGRAPH],
        [weights.item, weights.paragraph],
        np.where(features.boundary >= Structure.HEADING, weights.heading, 0.0),
    )
    dip = weights.dip * features.dip
    if structure.shape[0] > 2:
        structure[1:-1] -= weights.centre * structure[1:-1].mean()
    return {
        "structure": structure,
        "dip": dip,
        "lead in": -weights.lead_in * features.lead_in,
        "intent": -weights.intent_cut * features.spans,
    }


@dataclass(frozen=True, slots=True)
class PreparedGaps:
    """All of a document that does not depend on weights, for one set of dip windows: cut it again at little cost."""

    data: SegmentInput
    units: Units
    features: GapFeatures


def prepare_gaps(data: SegmentInput, limits: Limits, windows: Sequence[int]) -> PreparedGaps:
    """Units under the hard limits, and the features of the gaps between them."""
    units = build_units(data.sentences, limits)
    return PreparedGaps(data, units, gap_features(data, units, windows))


def segment_prepared(
    prepared: PreparedGaps, target_chars: int, weights: SegmentWeights, *, explained: bool = False
) -> Segmentation:
    """The best segmentation under the calibrated objective; ``weights.windows`` are those prepared with."""
    units = prepared.units
    objective = CalibratedObjective(prepared.data, units, prepared.features, weights, target_chars)
    cuts, score = solve(units, objective)
    reasons = explain(units, objective, cuts) if explained else ()
    return Segmentation(ranges_of(units, cuts), score, reasons)


def segment_calibrated(
    data: SegmentInput, limits: Limits, weights: SegmentWeights, *, explained: bool = False
) -> Segmentation:
    """The best segmentation under the calibrated objective within the hard limits."""
    prepared = prepare_gaps(data, limits, weights.windows)
    return segment_prepared(prepared, limits.target_chars, weights, explained=explained)
