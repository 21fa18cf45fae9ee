"""BM25. The only user of bm25s: its files, and top lists with ties in order of row.

The score arrays are built here, without a loop over documents, from counts of terms; they are those that bm25s
itself would build (method "lucene").
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from idc_local.ranking import BM25_B, BM25_K1
from idc_local.store.blocks import BlockFolder, BlockWriter
from idc_local.store.codec import storable
from idc_local.store.layout import damaged
from idc_local.store.postings import TermCounts
from idc_local.store.strings import Strings, write_strings
from idc_local.types import BoolArray, FloatArray, IntArray

DATA, INDICES, INDPTR = "data.csc.index.npy", "indices.csc.index.npy", "indptr.csc.index.npy"
VOCABULARY, PARAMETERS, TERMS = "vocab.index.json", "params.index.json", "terms"


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


def idf(rows: int, frequency: IntArray) -> FloatArray:
    """float32 [terms]: ln(1 + (n − df + 0.5) / (df + 0.5)), from document frequencies int64 [terms]."""
    return np.asarray(np.log(1 + (rows - frequency + 0.5) / (frequency + 0.5)), dtype=np.float32)


def bm25_scores(counts: TermCounts) -> FloatArray:
    """float32 [p]: score of each pair, idf · tf / (tf + k1 · (1 − b + b · length / mean length)).

    idf = ln(1 + (n − df + 0.5) / (df + 0.5)), Kamphuis et al. 2020, "Lucene (accurate)".
    """
    weights = idf(counts.lengths.shape[0], counts.frequency)
    mean = counts.lengths.mean() or 1.0
    penalty = (BM25_K1 * ((1 - BM25_B) + BM25_B * counts.lengths / mean)).astype(np.float32)
    own = counts.counts.astype(np.float32)
    scores = penalty[counts.rows]
    scores += own
    np.divide(own, scores, out=scores)
    scores *= np.repeat(weights, counts.frequency)
    return scores


def write_bm25(writer: BlockWriter, counts: TermCounts) -> None:
    """Writes the files of a bm25s index, in bm25s's own format, and its vocabulary once more for fast look-up."""
    writer.array(DATA, bm25_scores(counts))
    writer.array(INDICES, counts.rows)
    writer.array(INDPTR, counts.offsets)
    writer.json(VOCABULARY, {term: place for place, term in enumerate(counts.vocabulary)})
    write_strings(writer, TERMS, counts.vocabulary)
    writer.json(
        PARAMETERS,
        {
            "k1": BM25_K1,
            "b": BM25_B,
            "delta": 0.5,
            "method": "lucene",
            "idf_method": "lucene",
            "dtype": "float32",
            "int_dtype": "int32",
            "num_docs": counts.lengths.shape[0],
            "version": _bm25s().__version__,
            "backend": "numpy",
        },
    )


class LexicalFile:
    """A bm25s index, memory-mapped."""

    def __init__(self, folder: BlockFolder, rows: int) -> None:
        self._folder = folder
        self._rows = rows
        self._arrays = [folder.array(name) for name in (DATA, INDICES)]
        self._vocabulary = Strings(folder, TERMS)
        self._index: Any = None
        self._load(folder.folder)
        self._last: tuple[dict[int, float], FloatArray] | None = None

    def _load(self, folder: Path) -> None:
        for name in (INDPTR, PARAMETERS):
            self._folder.file(name).require_all()
        index = _bm25s().BM25.load(folder, mmap=True, load_vocab=False, show_progress=False)
        if index.scores["num_docs"] != self._rows:
            raise damaged(folder / PARAMETERS, f"it is about {index.scores['num_docs']} rows")
        self._index = index

    def scores(self, terms: Mapping[str, float]) -> FloatArray:
        """float32 [rows]: BM25 of every row, each term times its weight; unknown terms give nothing."""
        found = ((self._vocabulary.find(storable(term)), weight) for term, weight in terms.items())
        numbers = {number: weight for number, weight in found if number is not None}
        if self._last is None or self._last[0] != numbers:
            self._last = (numbers, self._scores(numbers))
        return self._last[1]

    def _scores(self, numbers: Mapping[int, float]) -> FloatArray:
        result = np.zeros(self._rows, dtype=np.float32)
        pointers = self._index.scores["indptr"]
        for number in numbers:
            for array in self._arrays:
                array.part(int(pointers[number]), int(pointers[number + 1]))
        for weight in sorted(set(numbers.values())):
            alike = [number for number, own in numbers.items() if own == weight]
            result += np.float32(weight) * np.asarray(self._index.get_scores_from_ids(alike), dtype=np.float32)
        return result

    def idf(self, terms: Sequence[str]) -> FloatArray:
        """float32 [terms]: inverse document frequency over rows, 0 for unknown terms."""
        pointers = self._index.scores["indptr"]
        numbers = [self._vocabulary.find(storable(term)) for term in terms]
        held = [0 if number is None else int(pointers[number + 1] - pointers[number]) for number in numbers]
        return np.where(np.array(held) > 0, idf(self._rows, np.array(held, dtype=np.int64)), 0).astype(np.float32)

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
