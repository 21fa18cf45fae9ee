"""Vector search. The only user of faiss: files of vectors, and exact top lists that do not depend on storage order.

faiss finds the candidates. Its float32 sums depend on where a vector lies in memory, so every candidate near the
limit is scored again in float64 by itself: equal content gives equal scores, whatever the history of the index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np

from idc_local.errors import StoreError
from idc_local.store.layout import damaged
from idc_local.types import BoolArray, FloatArray, IntArray

MARGIN = 2e-5
"""More than twice the error of a float32 inner product of unit vectors of 4,096 values."""


def _faiss() -> ModuleType:
    return import_module("faiss")


def write_vectors(write: Callable[[bytes], object], parts: list[FloatArray], dimension: int) -> None:
    """Writes a flat inner-product index of all rows of ``parts`` with ``write``."""
    faiss = _faiss()
    index = faiss.IndexFlatIP(dimension)
    for part in parts:
        index.add(np.ascontiguousarray(part, dtype=np.float32))
    failure: list[BaseException] = []

    def keep(data: bytes) -> int:
        try:
            write(data)
        except OSError as error:
            failure.append(error)
            raise
        return len(data)

    try:
        faiss.write_index(index, faiss.PyCallbackIOWriter(keep, 1 << 20))
    except Exception as error:
        raise (failure[0] if failure else StoreError(f"vectors cannot be written: {error}")) from error


@dataclass(frozen=True, slots=True)
class Candidates:
    """Exact scores, float32 [c], and positions, int64 [c]: every vector that scores at least as high as the k-th."""

    scores: FloatArray
    positions: IntArray
    complete: bool
    """True where these are all vectors that are allowed."""


class VectorFile:
    """A file of vectors, memory-mapped."""

    def __init__(self, path: Path, count: int, dimension: int) -> None:
        faiss = _faiss()
        try:
            self._index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
        except RuntimeError as error:
            raise damaged(path, "it is no vector index") from error
        if (self._index.ntotal, self._index.d) != (count, dimension):
            raise damaged(path, f"it holds {self._index.ntotal} vectors of {self._index.d} values")
        self.count = count
        self._values = (
            faiss.rev_swig_ptr(self._index.get_xb(), count * dimension).reshape(count, dimension)
            if count
            else np.zeros((0, dimension), dtype=np.float32)
        )

    def rows(self, positions: IntArray) -> FloatArray:
        """float32 [len(positions), d]: a copy of the vectors at ``positions``."""
        return np.asarray(self._values[positions], dtype=np.float32)

    def top(self, query: FloatArray, k: int, allowed: BoolArray | None) -> Candidates:
        """The best ``k`` of the allowed vectors (bool [count]; None: all), and all that tie with the last of them."""
        available = self.count if allowed is None else int(np.count_nonzero(allowed))
        if available == 0 or k <= 0:
            return Candidates(np.zeros(0, np.float32), np.zeros(0, np.int64), available == 0)
        found = self._near(query, min(k, available), available, allowed)
        scores = exact_scores(self.rows(found), query)
        floor = np.partition(scores, -min(k, available))[-min(k, available)]
        keep = scores >= floor
        return Candidates(scores[keep], found[keep], bool(np.count_nonzero(keep) == available))

    def _near(self, query: FloatArray, k: int, available: int, allowed: BoolArray | None) -> IntArray:
        """Positions of all vectors that may be among the best ``k``."""
        faiss = _faiss()
        bits = None if allowed is None else np.packbits(allowed, bitorder="little")
        # With a selector, even one that selects all, a single query is answered by the thread that asks.
        selector = faiss.IDSelectorAll() if bits is None else faiss.IDSelectorBitmap(bits)
        chosen = faiss.SearchParameters(sel=selector)
        asked = min(available, k + 16)
        own = np.ascontiguousarray(query, dtype=np.float32)[None]
        scores, positions = self._index.search(own, asked, params=chosen)
        limit = scores[0, k - 1] - _margin(query)
        if asked < available and scores[0, -1] >= limit:
            _, _, positions = self._index.range_search(own, float(limit), params=chosen)
            return np.sort(positions).astype(np.int64)
        return np.sort(positions[0][scores[0] >= limit]).astype(np.int64)


def _margin(query: FloatArray) -> float:
    return MARGIN * max(1.0, float(np.linalg.norm(query)))


def exact_scores(vectors: FloatArray, query: FloatArray) -> FloatArray:
    """float32 [n]: inner products summed in float64, each row by itself."""
    products = vectors.astype(np.float64) * query.astype(np.float64)
    return np.asarray(products.sum(axis=1), dtype=np.float32)


def best(scores: FloatArray, rows: IntArray, k: int) -> tuple[FloatArray, IntArray]:
    """The first ``k`` by score, highest first, ties by row."""
    order = np.lexsort((rows, -scores))[: max(k, 0)]
    return scores[order], rows[order]
