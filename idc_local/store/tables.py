"""The documents and source files of one generation as files: written at once, read as needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from idc_local.store.blocks import BlockFolder, BlockWriter
from idc_local.store.codec import decode_json, decode_text, encode_json, encode_text, fields_of
from idc_local.store.layout import DOCUMENTS
from idc_local.store.records import Edition
from idc_local.store.strings import Strings, write_strings
from idc_local.types import IntArray, SourceRecord

EDITION, SEGMENT, FIRST, CHUNKS, SENTENCES, INTENTS, MEDIA_TYPE, LANGUAGE, RECIPE, PATHS = range(10)
"""Columns of the documents: numbers of edition and segment, first chunk within that, counts, places among the
distinct facts, and where the document's paths begin."""

FACTS, ORDER, IDS, DOCUMENT_PATHS = "facts.json", "document_order.npy", "document_ids", "paths"
SOURCE_PATHS, SOURCE_RECORDS = "source_paths", "source_records"


@dataclass(frozen=True, slots=True)
class Placed:
    """A document of a generation: its edition, its segment's number, its first chunk there, and its paths in order."""

    edition: Edition
    segment: int
    first: int
    paths: tuple[str, ...]


def write_documents(writer: BlockWriter, documents: Sequence[Placed]) -> None:
    """Writes the documents of a generation, in order of first path."""
    editions = [document.edition for document in documents]
    facts = {
        "media_types": sorted({edition.media_type for edition in editions}),
        "languages": sorted({edition.language for edition in editions}),
        "recipes": sorted({edition.recipe for edition in editions}),
    }
    places = {kind: {name: place for place, name in enumerate(names)} for kind, names in facts.items()}
    table, path = np.zeros((len(documents), 10), dtype=np.int64), 0
    for row, document in zip(table, documents, strict=True):
        own = document.edition
        row[:] = (
            own.id, document.segment, document.first, own.chunks, own.sentences, own.intents,
            places["media_types"][own.media_type], places["languages"][own.language], places["recipes"][own.recipe],
            path,
        )  # fmt: skip
        path += len(document.paths)
    ids = [edition.document for edition in editions]
    writer.array(DOCUMENTS, table)
    writer.json(FACTS, facts)
    writer.array(ORDER, np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64))
    write_strings(writer, IDS, ids)
    write_strings(writer, DOCUMENT_PATHS, [path for document in documents for path in document.paths])


class Documents:
    """The documents of a generation, numbered in order of first path. ``table``: int64 [documents, columns]."""

    def __init__(self, folder: BlockFolder) -> None:
        self.table: IntArray = folder.array(DOCUMENTS).whole()
        facts = folder.file(FACTS).json()
        self.media_types: list[str] = facts["media_types"]
        self.languages: list[str] = facts["languages"]
        self._recipes: list[str] = facts["recipes"]
        self._folder = folder

    def __len__(self) -> int:
        return int(self.table.shape[0])

    @cached_property
    def _ids(self) -> Strings:
        return Strings(self._folder, IDS)

    @cached_property
    def _paths(self) -> Strings:
        return Strings(self._folder, DOCUMENT_PATHS)

    def edition(self, number: int) -> Edition:
        """The edition of a document, as the database knows it."""
        row = self.table[number].tolist()
        media_type, language = self.media_types[row[MEDIA_TYPE]], self.languages[row[LANGUAGE]]
        counts = (row[CHUNKS], row[SENTENCES], row[INTENTS])
        return Edition(row[EDITION], self._ids[number], self._recipes[row[RECIPE]], True, media_type, language, *counts)

    def paths(self, number: int) -> tuple[str, ...]:
        """All paths of a document, in order."""
        last = number + 1 == len(self)
        stop = len(self._paths) if last else int(self.table[number + 1, PATHS])
        return tuple(self._paths[int(self.table[number, PATHS]) : stop])

    def find(self, document_id: str) -> int | None:
        """Number of the document; None where the generation does not hold it."""
        return self._ids.find(document_id, self._folder.array(ORDER).whole())


def write_sources(writer: BlockWriter, sources: Mapping[str, SourceRecord]) -> None:
    """Writes everything known of source files, in order of path."""
    ordered = [sources[path] for path in sorted(sources)]
    write_strings(writer, SOURCE_PATHS, [record.path for record in ordered])
    write_strings(writer, SOURCE_RECORDS, [decode_text(encode_json(fields_of(record))) for record in ordered])


class Sources(Mapping[str, SourceRecord]):
    """Source files by path, in order; each is read when it is asked for."""

    def __init__(self, folder: BlockFolder) -> None:
        self._paths = Strings(folder, SOURCE_PATHS)
        self._records = Strings(folder, SOURCE_RECORDS)

    def __len__(self) -> int:
        return len(self._paths)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __getitem__(self, path: str) -> SourceRecord:
        place = self._paths.find(path)
        if place is None:
            raise KeyError(path)
        return SourceRecord(**decode_json(encode_text(self._records[place])))
