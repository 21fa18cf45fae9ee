"""How often terms occur in chunks: counts of single documents, put together for segments and for whole generations.

Pure. Entries are grouped by term; within a term their order means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from idc_local.store.codec import expand
from idc_local.types import IntArray

Int32Array = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class TermCounts:
    """How often terms occur in rows.

    vocabulary: terms in order. offsets: int64 [terms + 1], where the entries of each term begin. rows, counts: int32
    [p], a row and how often it holds the term. lengths: int64 [n], terms of each row with repeats.
    """

    vocabulary: list[str]
    offsets: IntArray
    rows: Int32Array
    counts: Int32Array
    lengths: IntArray

    @property
    def frequency(self) -> IntArray:
        """int64 [terms]: rows that hold each term."""
        return np.diff(self.offsets)


def group_postings(vocabulary: list[str], postings: npt.NDArray[np.integer], lengths: IntArray) -> TermCounts:
    """Counts from [p, 3] entries of (term, row, count) in order of term."""
    offsets = np.searchsorted(postings[:, 0], np.arange(len(vocabulary) + 1)).astype(np.int64)
    return TermCounts(vocabulary, offsets, postings[:, 1].astype(np.int32), postings[:, 2].astype(np.int32), lengths)


def merge_counts(parts: Sequence[tuple[TermCounts, IntArray]], rows: int) -> TermCounts:
    """Counts over ``rows`` rows from parts, each with the row of each of its own rows, int64 [own rows].

    A row that becomes -1 is left out, and so are terms that then occur nowhere: the result depends on the rows alone.
    """
    lengths = np.zeros(rows, dtype=np.int64)
    for part, target in parts:
        lengths[target[target >= 0]] = part.lengths[target >= 0]
    live = [_live(part, target) for part, target in parts]
    names = sorted({term for part in live for term in part.vocabulary})
    number = {term: place for place, term in enumerate(names)}
    places = [np.fromiter(map(number.__getitem__, part.vocabulary), np.int64, len(part.vocabulary)) for part in live]
    held = np.zeros(len(names), dtype=np.int64)
    for part, own in zip(live, places, strict=True):
        held[own] += part.frequency
    offsets = np.concatenate([[0], np.cumsum(held)]).astype(np.int64)
    size = int(offsets[-1])
    merged = TermCounts(names, offsets, np.zeros(size, np.int32), np.zeros(size, np.int32), lengths)
    free = offsets[:-1].copy()
    for part, own in zip(live, places, strict=True):
        where = expand(free[own], part.frequency)
        merged.rows[where], merged.counts[where] = part.rows, part.counts
        free[own] += part.frequency
    return merged


def _live(part: TermCounts, target: IntArray) -> TermCounts:
    """The entries of rows that stay, under their new numbers, and the terms that have any."""
    rows = target.astype(np.int32)[part.rows]
    kept = rows >= 0
    offsets = np.concatenate([[0], np.cumsum(kept)])[part.offsets]
    used = np.diff(offsets) > 0
    vocabulary = [term for term, own in zip(part.vocabulary, used.tolist(), strict=True) if own]
    starts = np.concatenate([offsets[:-1][used], offsets[-1:]]).astype(np.int64)
    return TermCounts(vocabulary, starts, rows[kept], part.counts[kept], part.lengths)
