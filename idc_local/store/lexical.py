"""BM25. The only user of bm25s: its files, and top lists with ties in order of row.

Each segment holds an index of bm25s whose values are bare counts, since what a count is worth depends on all other
chunks: on how many hold the term, and on their mean length. That is worked out for the terms of a query, over the
chunks that are live, so that scores are exact after every change and no change touches more than its own segment.
The values are those that bm25s itself would compute (method "lucene"), and bm25s adds them up.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from idc_local.ranking import BM25_B, BM25_K1, idf
from idc_local.spelling import is_near
from idc_local.store.blocks import BlockFolder, BlockWriter
from idc_local.store.codec import encode_text, storable
from idc_local.store.postings import Int32Array, TermCounts
from idc_local.store.strings import Strings, write_strings
from idc_local.types import BoolArray, FloatArray, IntArray

DATA, INDICES, INDPTR = "data.csc.index.npy", "indices.csc.index.npy", "indptr.csc.index.npy"
PARAMETERS, TERMS, LENGTHS = "params.index.json", "terms", "lengths.npy"

LONGEST_LETTER = 4
"""Bytes of UTF-8."""

UNUSED = ("scipy", "numba", "jax", "tqdm", "huggingface_hub")
"""What bm25s imports where it can, though nothing here uses it: most of a short command's time."""


def _bm25s() -> ModuleType:
    """The library, without its optional parts; with them if other threads might be importing those just now."""
    hidden = [name for name in UNUSED if name not in sys.modules and threading.active_count() == 1]
    absent: dict[str, Any] = dict.fromkeys(hidden)
    sys.modules.update(absent)
    try:
        return import_module("bm25s")
    finally:
        for name in hidden:
            del sys.modules[name]


def write_counts(writer: BlockWriter, counts: TermCounts) -> None:
    """Writes counts of terms in bm25s's own format, the terms in order for look-up, and the lengths of the chunks."""
    writer.array(DATA, counts.counts.astype(np.float32))
    writer.array(INDICES, counts.rows)
    writer.array(INDPTR, counts.offsets)
    write_strings(writer, TERMS, counts.vocabulary)
    writer.array(LENGTHS, counts.lengths.astype(np.int32))
    writer.json(PARAMETERS, {**_parameters(), "num_docs": counts.lengths.shape[0], "version": _bm25s().__version__})


def _parameters() -> dict[str, str | float]:
    return {
        "k1": BM25_K1,
        "b": BM25_B,
        "delta": 0.5,
        "method": "lucene",
        "idf_method": "lucene",
        "dtype": "float32",
        "int_dtype": "int32",
        "backend": "numpy",
    }


class SegmentTerms:
    """How often terms occur in the chunks of a segment, memory-mapped."""

    def __init__(self, folder: BlockFolder) -> None:
        self._terms = Strings(folder, TERMS)
        self._offsets = folder.array(INDPTR)
        self._chunks = folder.array(INDICES)
        self._counts = folder.array(DATA)
        self.lengths: Int32Array = folder.array(LENGTHS).whole()

    def find(self, term: str) -> tuple[Int32Array, FloatArray]:
        """Chunks that hold the term, int32 [p], and how often, float32 [p]."""
        number = self._terms.find(term)
        if number is None:
            return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        start, stop = self._offsets.part(number, number + 2).tolist()
        return self._chunks.part(start, stop), self._counts.part(start, stop)

    def near(self, term: str) -> list[str]:
        """The terms that one slip makes of ``term``, in any order.

        A slip leaves one half of a word as it is, unless it swaps the letters where the halves meet.
        """
        size, half = len(encode_text(term)), (len(term) + 1) // 2
        most = max((len(encode_text(letter)) for letter in term), default=0)
        sizes = range(size - most, size + LONGEST_LETTER + 1)
        swapped = term[: half - 1] + term[half : half + 1] + term[half - 1 : half] + term[half + 1 :]
        found = {*self._terms.framed(term[:half], "", sizes), *self._terms.framed(term[:1], term[half:], sizes)}
        if self._terms.find(swapped) is not None:
            found.add(swapped)
        return [other for other in found if is_near(term, other)]

    def pairs(self, character: str) -> list[str]:
        """The terms of two characters that begin with ``character``, in order."""
        sizes = range(len(encode_text(character)) + LONGEST_LETTER + 1)
        return [term for term in self._terms.framed(character, "", sizes) if len(term) == 2]


@dataclass(frozen=True, slots=True)
class Postings:
    """The rows that hold a term, int64 [p], and what each is worth, float32 [p]."""

    rows: IntArray
    scores: FloatArray


class Lexical:
    """BM25 over the rows of a generation: its segments, each with the row of each of its chunks (-1: none)."""

    def __init__(self, segments: Sequence[tuple[SegmentTerms, IntArray]], rows: int) -> None:
        self._segments = segments
        self._rows = rows
        live = [terms.lengths[own >= 0] for terms, own in segments]
        self._mean = sum(int(part.sum(dtype=np.int64)) for part in live) / rows if rows else 0.0
        self._held: dict[str, int] = {}
        self._last: tuple[dict[str, float], FloatArray] | None = None

    def _postings(self, term: str) -> Postings:
        """Score of each row: idf · tf / (tf + k1 · (1 − b + b · length / mean length))."""
        rows, counts, lengths = [np.zeros(0, np.int64)], [np.zeros(0, np.float32)], [np.zeros(0, np.int32)]
        for terms, own in self._segments:
            chunks, held = terms.find(term)
            if not chunks.shape[0]:
                continue
            places = own[chunks]
            live = places >= 0
            rows.append(places[live])
            counts.append(held[live])
            lengths.append(terms.lengths[chunks[live]])
        found, frequency = np.concatenate(rows), np.concatenate(counts)
        penalty = BM25_K1 * ((1 - BM25_B) + BM25_B * np.concatenate(lengths) / (self._mean or 1.0))
        weight = idf(self._rows, np.array([found.shape[0]], dtype=np.int64))
        return Postings(found, frequency / (penalty.astype(np.float32) + frequency) * weight)

    def scores(self, terms: Mapping[str, float]) -> FloatArray:
        """float32 [rows]: BM25 of every row, each term times its weight; unknown terms give nothing."""
        wanted: dict[str, float] = {storable(term): weight for term, weight in terms.items()}
        if self._last is None or self._last[0] != wanted:
            self._last = (wanted, self._scores(wanted))
        return self._last[1]

    def _scores(self, terms: Mapping[str, float]) -> FloatArray:
        result = np.zeros(self._rows, dtype=np.float32)
        for weight in sorted(set(terms.values())):
            known = [term for term in sorted(terms) if terms[term] == weight and self._frequency(term)]
            if known:
                result += np.float32(weight) * self._sum([self._postings(term) for term in known])
        return result

    def _sum(self, parts: Sequence[Postings]) -> FloatArray:
        """float32 [rows]: what bm25s makes of an index with just these terms."""
        index = _bm25s().BM25(**_parameters())
        index.nonoccurrence_array = None
        index.scores = {
            "data": np.concatenate([part.scores for part in parts]),
            "indices": np.concatenate([part.rows for part in parts]),
            "indptr": np.concatenate([[0], np.cumsum([part.rows.shape[0] for part in parts])]),
            "num_docs": self._rows,
        }
        return np.asarray(index.get_scores_from_ids(list(range(len(parts)))), dtype=np.float32)

    def idf(self, terms: Sequence[str]) -> FloatArray:
        """float32 [terms]: inverse document frequency over rows, 0 for unknown terms."""
        held = np.array([self._frequency(storable(term)) for term in terms], dtype=np.int64)
        return np.where(held > 0, idf(self._rows, held), 0).astype(np.float32)

    def _frequency(self, term: str) -> int:
        if term not in self._held:
            found = [(terms.find(term)[0], own) for terms, own in self._segments]
            self._held[term] = sum(int(np.count_nonzero(own[chunks] >= 0)) for chunks, own in found if chunks.shape[0])
        return self._held[term]

    def near(self, term: str) -> dict[str, int]:
        """Terms of live rows that one slip makes of ``term``, each with the number of its rows."""
        return self._live(other for terms, _ in self._segments for other in terms.near(storable(term)))

    def pairs(self, character: str) -> dict[str, int]:
        """Terms of two characters of live rows that begin with ``character``, each with the number of its rows."""
        return self._live(other for terms, _ in self._segments for other in terms.pairs(character))

    def _live(self, found: Iterable[str]) -> dict[str, int]:
        """Those of the terms that live rows hold, each with their number."""
        return {term: held for term in sorted(set(found)) if (held := self._frequency(term))}

    def top(self, terms: Mapping[str, float], k: int, allowed: BoolArray | None) -> tuple[FloatArray, IntArray]:
        """Scores above zero and their rows, best first, at most ``k`` of the allowed ones."""
        scores = self.scores(terms)
        held = scores > 0 if allowed is None else (scores > 0) & allowed
        rows = np.flatnonzero(held).astype(np.int64)
        if k <= 0:
            rows = rows[:0]
        if rows.shape[0] > k > 0:
            floor = np.partition(scores[rows], -k)[-k]
            rows = rows[scores[rows] >= floor]
        order = np.lexsort((rows, -scores[rows]))[: max(k, 0)]
        return scores[rows[order]], rows[order]
