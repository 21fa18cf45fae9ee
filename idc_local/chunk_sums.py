"""Sums of sentence vectors over chunks, for all chunks of a band at once.

A chunk's mean points where its sum points, so cosines need only dot products and norms of sums. Both come from
prefix sums that begin at the band, in float64: memory stays bounded and differences stay exact enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from idc_local.dp import Band, Float64Array, Units
from idc_local.types import Vectors

VANISHING = 1e-9
"""Squared norm below which a chunk's sum has no direction: its cosine with anything is 0."""


@dataclass(frozen=True, slots=True)
class LocalSums:
    """Prefix sums at the unit boundaries ``first - width`` to ``last - 1`` of a band.

    prefix: float64 [rows + width, d]. Boundaries below 0 repeat boundary 0, which is all zeros.
    """

    band: Band
    prefix: Float64Array

    def dots(self, vector: Float64Array) -> Float64Array:
        """Dot product of ``vector``, float64 [d], with the sum of each chunk of the band."""
        along = self.prefix @ vector
        width = self.band.width
        products: Float64Array = along[width:, None] - _windows(along, width)
        return products

    def squared_norms(self) -> Float64Array:
        """Squared norm of the sum of each chunk of the band, never negative."""
        width = self.band.width
        squares = np.einsum("ij,ij->i", self.prefix, self.prefix)
        windows = _windows(self.prefix, width).transpose(0, 2, 1)
        products = np.matmul(windows, self.prefix[width:, :, None])[:, :, 0]
        norms: Float64Array = squares[width:, None] + _windows(squares, width) - 2.0 * products
        return np.maximum(norms, 0.0)

    def inverse_norms(self) -> Float64Array:
        """1 / norm of the sum of each chunk of the band; 0 where the sum has no direction."""
        squares = self.squared_norms()
        return np.where(squares > VANISHING, 1.0 / np.sqrt(np.maximum(squares, VANISHING)), 0.0)


def local_sums(vectors: Vectors, units: Units, band: Band) -> LocalSums:
    """Prefix sums of the sentence vectors (float16 or float32 [n, d], unit rows) that chunks of the band can hold."""
    lowest = band.first - band.width
    edges = units.bounds[max(lowest, 0) : band.last]
    inside = prefix_sums(vectors[edges[0] : edges[-1]])[edges - edges[0]]
    prefix = np.zeros((band.last - lowest, vectors.shape[1]))
    prefix[prefix.shape[0] - inside.shape[0] :] = inside
    return LocalSums(band, prefix)


def prefix_sums(vectors: Vectors) -> Float64Array:
    """float64 [n + 1, d]: row i is the sum of the first i rows of ``vectors``, float16 or float32 [n, d]."""
    prefix = np.zeros((vectors.shape[0] + 1, vectors.shape[1]))
    prefix[1:] = vectors
    # Row by row is several times as fast as np.cumsum along the first axis.
    for row in range(1, prefix.shape[0]):
        prefix[row] += prefix[row - 1]
    return prefix


def _windows(values: Float64Array, width: int) -> Float64Array:
    """For each row of a band its ``width`` starts: a view, [rows, ..., width]."""
    views: Float64Array = np.lib.stride_tricks.sliding_window_view(values, width, axis=0)[:-1]
    return views
