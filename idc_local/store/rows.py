"""The rows of one generation: which document each belongs to, its id, and where its chunk lies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from idc_local.errors import NothingFound, UsageError
from idc_local.store.generation import row_places, rows_of_chunks
from idc_local.store.records import Edition
from idc_local.store.segments import Segment
from idc_local.store.tables import LANGUAGE, MEDIA_TYPE, Documents
from idc_local.types import IntArray

HEX = frozenset("0123456789abcdef")


class ChunkIds(Sequence[str]):
    """Ids of chunks in hex, written out when asked for. ids: uint8 [n, 32]."""

    def __init__(self, ids: npt.NDArray[np.uint8]) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return int(self._ids.shape[0])

    @overload
    def __getitem__(self, row: int) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> list[str]: ...

    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [own.tobytes().hex() for own in self._ids[row]]
        return str(self._ids[row].tobytes().hex())


class Rows:
    """Chunks in order of (first path of the document, place in the document)."""

    def __init__(self, documents: Documents, segments: Sequence[Segment]) -> None:
        self._documents = documents
        self._segments = segments
        self._places = row_places(documents.table)
        self._rows = rows_of_chunks(self._places, segments)
        self.size = int(self._places[0].shape[0])

    def editions(self) -> list[Edition]:
        """The documents of the generation as the database knows them."""
        return [self._documents.edition(number) for number in range(len(self._documents))]

    @cached_property
    def paths(self) -> list[str]:
        """First path of each row's document."""
        names = [self._documents.paths(number)[0] for number in range(len(self._documents))]
        return [names[number] for number in self._places[0].tolist()]

    @cached_property
    def media_types(self) -> list[str]:
        """Media type of each row's document."""
        return self._facts(self._documents.media_types, MEDIA_TYPE)

    def media_type_of(self, row: int) -> str:
        """Media type of one row's document."""
        return self._documents.media_types[int(self._documents.table[self._places[0][row], MEDIA_TYPE])]

    @cached_property
    def languages(self) -> list[str]:
        """Language of each row's document."""
        return self._facts(self._documents.languages, LANGUAGE)

    def _facts(self, names: Sequence[str], column: int) -> list[str]:
        return [names[place] for place in self._documents.table[self._places[0], column].tolist()]

    def ids_of(self, rows: IntArray) -> Sequence[str]:
        """Ids of the chunks of ``rows``; each is written out when it is asked for."""
        return ChunkIds(self._id_bytes[rows])

    @cached_property
    def _id_bytes(self) -> npt.NDArray[np.uint8]:
        ids = np.zeros((self.size, 32), dtype=np.uint8)
        for segment, rows in zip(self._segments, self._rows, strict=True):
            ids[rows[rows >= 0]] = segment.ids[rows >= 0]
        return ids

    def documents_of(self, rows: IntArray) -> IntArray:
        """int64 [len(rows)]: a number for each row's document, the same for rows of one document."""
        return np.asarray(self._places[0][rows], dtype=np.int64)

    def paths_of(self, row: int) -> tuple[str, ...]:
        """All paths of the row's document, in order."""
        return self._documents.paths(int(self._places[0][row]))

    def paths_of_document(self, document_id: str) -> tuple[str, ...]:
        """All paths of a document, in order; none where the index does not hold it."""
        number = self._documents.find(document_id)
        return self._documents.paths(number) if number is not None else ()

    def find(self, prefix: str) -> int:
        """The row of the chunk whose id begins with ``prefix``.

        Raises:
            UsageError: several chunks have such an id.
            NothingFound: none has.
        """
        wanted = prefix.lower()
        if not wanted or set(wanted) - HEX or len(wanted) > 64:
            raise NothingFound(f"{prefix!r} is no id of a chunk", hint="ids are the hex digits that search prints")
        whole = np.frombuffer(bytes.fromhex(wanted[: len(wanted) // 2 * 2]), dtype=np.uint8)
        rows = np.flatnonzero((self._id_bytes[:, : whole.shape[0]] == whole).all(axis=1))
        if len(wanted) % 2 and rows.shape[0]:
            rows = rows[self._id_bytes[rows, whole.shape[0]] >> 4 == int(wanted[-1], 16)]
        if rows.shape[0] == 1:
            return int(rows[0])
        if rows.shape[0]:
            raise UsageError(f"{rows.shape[0]} chunks have ids that begin with {prefix}", hint="give more digits")
        raise NothingFound(f"no chunk has an id that begins with {prefix}", hint="idc-local search prints ids")

    def _segment(self, row: int) -> tuple[Segment, int]:
        return self._segments[int(self._places[1][row])], int(self._places[2][row])
