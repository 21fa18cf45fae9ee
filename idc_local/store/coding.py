"""Top lists of large indexes: chosen by codes over all segments, then scored exactly.

The codes' scores are whole numbers, times a constant of the query, that depend on query and vector alone. Hence which
rows are looked at closely, and so the result, is the same however the rows are spread over segments.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from idc_local.store.segments import CHUNK_VECTORS, Segment
from idc_local.store.vectors import best, exact_scores
from idc_local.types import FloatArray, IntArray

CODED = 1 << 16
"""Rows from which on codes are used: below, an exact scan takes less time than it takes to look twice."""

MANY = 1 << 16
"""Chunks from which on several threads search: with fewer they would take longer to start."""

CLOSELY = 5
"""Rows that are scored exactly for each that is wanted."""

AT_LEAST = 500
"""Rows that are scored exactly in any case."""

Top = tuple[FloatArray, IntArray]
"""Scores, float32 [k], highest first, and their rows, int64 [k]."""

T = TypeVar("T")


def for_each_segment(
    work: Callable[[Segment, IntArray], T], segments: Sequence[Segment], rows: Sequence[IntArray]
) -> list[T]:
    """What ``work`` makes of each segment; large indexes are worked on by several threads."""
    if len(segments) > 1 and sum(own.shape[0] for own in rows) >= MANY:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            return list(threads.map(work, segments, rows))
    return list(map(work, segments, rows))


@dataclass(frozen=True, slots=True)
class _Near:
    """Live chunks of a segment with the best codes: scores float32 [c], chunks int64 [c].

    lowest: no chunk that is not here has a better code; -inf where all are here.
    """

    scores: FloatArray
    chunks: IntArray
    lowest: float


def coded(segments: Sequence[Segment], rows: Sequence[IntArray], query: FloatArray, k: int) -> Top:
    """The best ``k`` rows by inner product of ``query``, float32 [d], and chunk vector.

    rows: for each segment the row of each of its chunks, -1 for none.
    """
    wanted = max(k * CLOSELY, AT_LEAST)
    near = for_each_segment(lambda segment, own: _near(segment, own, query, wanted, np.inf), segments, rows)
    floor = _floor([part.scores for part in near], wanted)

    def closely(segment: Segment, own: IntArray, part: _Near) -> Top:
        whole = part if part.lowest < floor else _near(segment, own, query, wanted, floor)
        chunks = whole.chunks[whole.scores >= floor]
        return exact_scores(segment.vectors(CHUNK_VECTORS).rows(chunks), query), own[chunks]

    found = [closely(segment, own, part) for segment, own, part in zip(segments, rows, near, strict=True)]
    scores, places = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return best(scores, places, k)


def _near(segment: Segment, own: IntArray, query: FloatArray, wanted: int, floor: float) -> _Near:
    """At least ``wanted`` live chunks, and all whose code scores ``floor`` or better."""
    asked = wanted
    while True:
        found = segment.codes.top(query, asked)
        live = own[found.positions] >= 0
        lowest = -np.inf if found.complete else float(found.scores.min())
        if found.complete or (np.count_nonzero(live) >= wanted and lowest < floor):
            return _Near(found.scores[live], found.positions[live], lowest)
        asked *= 2


def _floor(scores: Sequence[FloatArray], wanted: int) -> float:
    """The score that the best ``wanted`` of all reach."""
    together = np.concatenate(scores)
    return float(np.partition(together, -wanted)[-wanted]) if together.shape[0] >= wanted else -np.inf
