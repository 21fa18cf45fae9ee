"""Vector search. The only user of faiss: files of vectors, and top lists that do not depend on storage order.

faiss finds the candidates. Its float32 sums depend on where a vector lies in memory, so every candidate near the
limit is scored again in float64 by itself: equal content gives equal scores, whatever the history of the index.

Small indexes are searched exactly. Large ones are first ranked by codes of four bits a value: the quantiser is fixed
and not trained, so that a vector's code depends on the vector alone, and the sums over codes are whole numbers, so
that candidates and their order are the same wherever the vectors lie. What remains is scored exactly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from idc_local.errors import StoreError
from idc_local.store.blocks import BlockFile
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
    _write_index(index, write)


def _write_index(index: Any, write: Callable[[bytes], object]) -> None:  # noqa: ANN401  # an index of faiss
    faiss = _faiss()
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


def _read_index(path: Path, count: int, dimension: int) -> Any:  # noqa: ANN401  # an index of faiss
    faiss = _faiss()
    try:
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as error:
        raise damaged(path, "it is no vector index") from error
    if (index.ntotal, index.d) != (count, dimension):
        raise damaged(path, f"it holds {index.ntotal} vectors of {index.d} values")
    return index


class VectorFile:
    """A file of vectors, memory-mapped; blocks of it are checked when they are first used."""

    def __init__(self, path: Path, count: int, dimension: int, file: BlockFile) -> None:
        self.count = count
        self._path = path
        self._file = file
        self._width = 4 * dimension
        # The values are the end of the file.
        self._offset = file.size - count * self._width
        if self._offset < 0:
            raise damaged(path, f"it holds fewer than {count} vectors")
        self._values: FloatArray = file.plain("<f4", self._offset).reshape(count, dimension)

    @cached_property
    def _index(self) -> Any:  # noqa: ANN401  # an index of faiss
        """The same for faiss, which maps the file once more: not before it is needed."""
        self._file.require(0, self._offset)
        return _read_index(self._path, self.count, self._width // 4)

    def rows(self, positions: IntArray) -> FloatArray:
        """float32 [len(positions), d]: a copy of the vectors at ``positions``."""
        places = self._offset + np.asarray(positions, dtype=np.int64) * self._width
        self._file.require_ranges(places, places + self._width)
        return np.asarray(self._values[positions], dtype=np.float32)

    def top(self, query: FloatArray, k: int, allowed: BoolArray | None) -> Candidates:
        """The best ``k`` of the allowed vectors (bool [count]; None: all), and all that tie with the last of them."""
        available = self.count if allowed is None else int(np.count_nonzero(allowed))
        if available == 0 or k <= 0:
            return Candidates(np.zeros(0, np.float32), np.zeros(0, np.int64), available == 0)
        if allowed is None:
            self._file.require_all()
        else:
            places = self._offset + np.flatnonzero(allowed).astype(np.int64) * self._width
            self._file.require_ranges(places, places + self._width)
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


HALF = (0.1284, 0.3881, 0.6568, 0.9424, 1.256, 1.618, 2.069, 2.733)
LEVELS = (*(-level for level in reversed(HALF)), *HALF)
"""The sixteen values that stand best for a normal distribution of variance 1 (Max 1960, table I)."""

TURN = 8192
"""Vectors that are turned at a time."""


@cache
def _rotation(dimension: int) -> npt.NDArray[np.float64]:
    """float64 [d, d]: random signs, then the cosine transform (DCT-II), both orthonormal.

    Turned like this, the values of any vector are spread as those of a random direction, which is what the levels
    are made for, whatever a model does with single dimensions.
    """
    noise = np.frombuffer(hashlib.shake_128(b"signs").digest(-(-dimension // 8)), dtype=np.uint8)
    signs = np.unpackbits(noise)[:dimension] * 2.0 - 1.0
    places = np.arange(dimension)
    turned = np.sqrt(2 / dimension) * np.cos(np.pi / dimension * np.outer(places, places + 0.5))
    turned[0] /= np.sqrt(2)
    return np.asarray(turned * signs, dtype=np.float64)


def _turned(vectors: FloatArray) -> FloatArray:
    """float32 [n, d]: turned in float64, so that a vector's own values alone decide."""
    rotation = _rotation(vectors.shape[1])
    return np.ascontiguousarray(vectors.astype(np.float64) @ rotation.T, dtype=np.float32)


def write_codes(write: Callable[[bytes], object], parts: list[FloatArray], dimension: int) -> None:
    """Writes the codes of all rows of ``parts`` with ``write``, as a fast-scan index of faiss."""
    faiss = _faiss()
    # A quantiser of single values is a product quantiser of as many parts, and faiss is fast at those.
    index = faiss.IndexPQFastScan(dimension, dimension, 4, faiss.METRIC_INNER_PRODUCT)
    levels = np.array(LEVELS, dtype=np.float32) / np.sqrt(np.float32(dimension))
    faiss.copy_array_to_vector(np.tile(levels, dimension), index.pq.centroids)
    index.is_trained = True
    for batch in _batches(parts):
        index.add(_turned(batch))
    _write_index(index, write)


def _batches(parts: Sequence[FloatArray]) -> Iterator[FloatArray]:
    """The rows of all parts, about TURN at a time: each addition to an index of codes copies it."""
    held: list[FloatArray] = []
    for part in parts:
        for start in range(0, len(part), TURN):
            held.append(part[start : start + TURN])
            if sum(map(len, held)) >= TURN:
                yield np.concatenate(held)
                held = []
    if held:
        yield np.concatenate(held)


class CodeFile:
    """The codes of vectors, in memory."""

    def __init__(self, path: Path, count: int, dimension: int) -> None:
        self._index = _read_index(path, count, dimension)
        self.count = count

    def top(self, query: FloatArray, k: int) -> Candidates:
        """The ``k`` vectors with the best codes for ``query``, float32 [d]; of equal ones at the end any."""
        asked = min(k, self.count)
        if asked <= 0:
            return Candidates(np.zeros(0, np.float32), np.zeros(0, np.int64), self.count == 0)
        scores, positions = self._index.search(_turned(query[None]), asked)
        return Candidates(scores[0], positions[0].astype(np.int64), asked == self.count)


def exact_scores(vectors: FloatArray, query: FloatArray) -> FloatArray:
    """float32 [n]: inner products summed in float64, each row by itself."""
    products = vectors.astype(np.float64) * query.astype(np.float64)
    return np.asarray(products.sum(axis=1), dtype=np.float32)


def best(scores: FloatArray, rows: IntArray, k: int) -> tuple[FloatArray, IntArray]:
    """The first ``k`` by score, highest first, ties by row."""
    order = np.lexsort((rows, -scores))[: max(k, 0)]
    return scores[order], rows[order]
