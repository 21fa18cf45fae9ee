"""Segmentation into runs of sentences that are more alike than the document's sentences are on average."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from idc_local.chunk_sums import local_sums
from idc_local.dp import Band, Float64Array, Units, build_units, ranges_of, solve
from idc_local.segment import StrategyOptions
from idc_local.types import Limits, Segmentation, SegmentInput

CAP = 1.75
"""Longest chunk, in targets. Rewards grow with the square of a chunk, so chunks fill much of their cap."""


class ClusterObjective:
    """A chunk earns the sum, over its ordered pairs of sentences, of their cosine less the document's mean cosine."""

    cuts: Mapping[str, Float64Array] = {}

    def __init__(self, data: SegmentInput, units: Units) -> None:
        self._vectors = data.vectors
        self._units = units
        count = len(data.sentences)
        total = data.vectors.sum(axis=0, dtype=np.float64)
        self._mean = float(total @ total - count) / max(count * (count - 1), 1)

    def gains(self, band: Band) -> dict[str, Float64Array]:
        """Block sums of the centred similarity matrix without its diagonal, from norms of sums of unit vectors."""
        sizes = (self._units.bounds[band.ends] - self._units.bounds[band.starts]).astype(np.float64)
        squares = local_sums(self._vectors, self._units, band).squared_norms()
        return {"similarity": squares - sizes - self._mean * sizes * (sizes - 1)}


def segment_cluster(data: SegmentInput, text: str, limits: Limits, options: StrategyOptions) -> Segmentation:
    """The exact optimum of Chroma's ClusterSemanticChunker (Smith and Troynikov, 2024) over whole sentences.

    Block sums come from prefix sums, so the cost is O(n·w), and no chunk of several units passes ``CAP`` times the
    target (or ``options.sentences``), nor any chunk the limits.
    """
    units = build_units(data.sentences, limits)
    if options.sentences is None:
        units = units.capped(units.chars, round(CAP * limits.target_chars))
    else:
        units = units.capped(units.bounds, round(CAP * options.sentences))
    cuts, score = solve(units, ClusterObjective(data, units))
    return Segmentation(ranges_of(units, cuts), score)
