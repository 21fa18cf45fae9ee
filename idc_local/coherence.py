"""Segmentation at the weakest similarities between neighbouring sentences."""

from __future__ import annotations

import numpy as np

from idc_local.dp import Float64Array, Units, build_units, ranges_of
from idc_local.segment import StrategyOptions
from idc_local.segment_calibrated import gap_similarity
from idc_local.structural import hold_limits
from idc_local.types import Limits, Segmentation, SegmentInput

MOST_SENTENCES = 10
"""Longest chunk of the published coherence baseline."""


def segment_coherence(data: SegmentInput, text: str, limits: Limits, options: StrategyOptions) -> Segmentation:
    """Cut where neighbours are least alike, as often as the chunk size asks (the threshold is that quantile).

    The coherence baseline of arXiv 2602.14784, after TextTiling (Hearst, 1997): window 1, at most ten sentences,
    about six. Without ``options.sentences`` the size is the target and there is no maximum beside the limits. Chunks
    that are then too long are cut further, at the gaps of least total similarity.
    """
    units = build_units(data.sentences, limits)
    similarity = neighbour_similarity(data, units)
    wanted = data.sentences.ends[-1] / limits.target_chars
    if options.sentences is not None:
        wanted = len(data.sentences) / options.sentences
        units = units.capped(units.bounds, MOST_SENTENCES)
    weakest = np.argsort(similarity[1:-1], kind="stable")[: max(round(float(wanted)) - 1, 0)] + 1
    cuts = np.concatenate([[0], np.sort(weakest), [len(units)]]).astype(np.int64)
    return Segmentation(ranges_of(units, hold_limits(units, cuts, similarity_costs(similarity))))


def neighbour_similarity(data: SegmentInput, units: Units) -> Float64Array:
    """Cosine of the sentences on the two sides of the gap before each unit, float64 [u + 1]; 0 at both ends."""
    similarity = np.zeros(len(units) + 1)
    similarity[1:-1] = gap_similarity(data.vectors, units.bounds[1:-1], 1)
    return similarity


def similarity_costs(similarity: Float64Array) -> Float64Array:
    """Positive costs of cuts, so that no more are made than the limits ask for."""
    return 1.01 + similarity
