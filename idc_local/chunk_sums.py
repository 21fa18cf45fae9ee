"""Sums of sentence vectors over chunks, for all chunks of a band at once.

A chunk's mean points where its sum points, so cosines need only dot products and norms of sums. Both come from
prefix sums that begin at the band, in float64: memory stays bounded and differences stay exact enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from idc_local.dp import Band, Float64Array, Units
from idc_local.types import FloatArray

VANISHING = 1e-9
"""Squared norm below which a chunk's sum has no direction: its cosine with anything is 0."""


@dataclass(frozen=True, slots=True)
class LocalSums:
    """Prefix sums over units from ``base`` on: ``prefix`` float64 [units + 1, d], its first row zero."""

    band: Band
    base: int
    prefix: Float64Array


def local_sums(vectors: FloatArray, units: Units, band: Band) -> LocalSums:
    """Prefix sums of the sentence vectors (float32 [n, d], unit rows) that chunks of the band can hold."""
    base = max(0, band.first - band.width)
    edges = units.bounds[base : band.last]
    inside = vectors[edges[0] : edges[-1]].astype(np.float64)
    prefix = np.zeros((edges.shape[0], vectors.shape[1]))
    np.cumsum(np.add.reduceat(inside, edges[:-1] - edges[0], axis=0), axis=0, out=prefix[1:])
    return LocalSums(band, base, prefix)


def squared_norms(sums: LocalSums) -> Float64Array:
    """Squared norm of the sum of each chunk of the band, float64 [rows, width], never negative."""
    ends = sums.band.ends[:, 0] - sums.base
    starts = np.maximum(sums.band.starts - sums.base, 0)
    squares = np.einsum("ij,ij->i", sums.prefix, sums.prefix)
    products = np.take_along_axis(sums.prefix[ends] @ sums.prefix.T, starts, axis=1)
    norms: Float64Array = np.maximum(squares[ends][:, None] + squares[starts] - 2.0 * products, 0.0)
    return norms


def inverse_norms(sums: LocalSums) -> Float64Array:
    """1 / norm of the sum of each chunk of the band; 0 where the sum has no direction."""
    squares = squared_norms(sums)
    return np.where(squares > VANISHING, 1.0 / np.sqrt(np.maximum(squares, VANISHING)), 0.0)
