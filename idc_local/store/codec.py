"""How documents, chunks and arrays look as bytes. Pure: no files, no database.

Text is UTF-8 in which lone surrogates are allowed, arrays are little-endian and bare, everything else is JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from idc_local.fingerprint import parse_json
from idc_local.indexed import IndexedDocument
from idc_local.terms import term_hashes
from idc_local.types import (
    Block,
    BlockKind,
    Chunk,
    Document,
    IntArray,
    Intent,
    Sentences,
    SourceRecord,
    Span,
)

Row = TypeVar("Row")
Json: TypeAlias = Any
"""A value as JSON has it; those who decode one know its shape."""

TOGETHER = 8192
"""Rows that are worked on at a time."""
LOW = (1 << 32) - 1

SENTENCE_FIELDS = ("starts", "ends", "tokens", "block", "boundary", "level", "glue")


def encode_text(text: str) -> bytes:
    """Any string as bytes."""
    return text.encode("utf-8", "surrogatepass")


def decode_text(data: bytes) -> str:
    """The string that ``encode_text`` was given."""
    return data.decode("utf-8", "surrogatepass")


def encode_json(value: Json) -> bytes:
    """A JSON value as compact bytes, in which text stands as it is."""
    return encode_text(json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True))


def decode_json(data: bytes) -> Json:
    """The value that ``encode_json`` was given, tuples as lists."""
    return parse_json(decode_text(data))


def fields_of(value: Chunk | Intent | SourceRecord) -> dict[str, Json]:
    """The fields of a value by name, as they are."""
    return {name: getattr(value, name) for name in value.__slots__}


def slices(values: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """The values in runs of at most TOGETHER rows: what a long document takes for a moment stays small."""
    for start in range(0, values.shape[0], TOGETHER):
        yield values[start : start + TOGETHER]


def view_array(values: npt.NDArray[Any], dtype: str) -> memoryview:
    """What ``encode_array`` gives, without a copy where the values are ``dtype`` already."""
    return np.ascontiguousarray(values, dtype=dtype).reshape(-1).view(np.uint8).data


def encode_array(values: npt.NDArray[Any], dtype: str) -> bytes:
    """The values as ``dtype``, row by row."""
    return np.ascontiguousarray(values, dtype=dtype).tobytes()


def encode_document(document: Document, language: str) -> bytes:
    """All of a document but its text and the warnings of its reader."""
    value = {
        "id": document.id,
        "path": document.path,
        "media_type": document.media_type,
        "encoding": document.encoding,
        "source_sha256": document.source_sha256,
        "source_bytes": document.source_bytes,
        "pages": document.pages,
        "language": language,
    }
    encoded = {name: encode_json(one) for name, one in value.items()}
    encoded["lines"] = _encode_rows(document.lines, list)
    encoded["blocks"] = _encode_rows(document.blocks, _block_fields)
    return b"{" + b",".join(encode_json(name) + b":" + encoded[name] for name in sorted(encoded)) + b"}"


def _encode_rows(rows: Sequence[Row], fields: Callable[[Row], Json]) -> bytes:
    """A JSON list, some thousand rows at a time: those of a large document at once take several times the room."""
    parts = (rows[start : start + TOGETHER] for start in range(0, len(rows), TOGETHER))
    return b"[" + b",".join(encode_json([fields(row) for row in part])[1:-1] for part in parts) + b"]"


def _block_fields(block: Block) -> list[Json]:
    return [block.kind.value, block.start, block.end, block.headings, block.level, block.header]


def decode_document(data: bytes, text: str) -> Document:
    """The document that ``encode_document`` was given, without warnings."""
    value = decode_json(data)
    del value["language"]
    value["blocks"] = tuple(
        Block(BlockKind(kind), start, end, tuple(headings), level, Span(*header) if header else None)
        for kind, start, end, headings, level, header in value["blocks"]
    )
    value["lines"] = tuple((offset, line) for offset, line in value["lines"])
    value["pages"] = tuple((offset, label) for offset, label in value["pages"])
    return Document(text=text, **value)


def decode_lines(data: bytes) -> IntArray:
    """Where the lines of a document that was encoded begin, and their numbers, int64 [n, 2]."""
    return np.array(decode_json(data)["lines"], dtype=np.int64).reshape(-1, 2)


def encode_sentences(sentences: Sentences) -> bytes:
    """Spans and facts of sentences, int64 [7, n]."""
    return encode_array(np.stack([getattr(sentences, name) for name in SENTENCE_FIELDS]), "<i8")


def decode_sentences(data: bytes) -> Sentences:
    """The sentences that ``encode_sentences`` was given."""
    rows = np.frombuffer(data, dtype="<i8").reshape(len(SENTENCE_FIELDS), -1)
    values: dict[str, Any] = dict(zip(SENTENCE_FIELDS, rows, strict=True))
    return Sentences(**(values | {"glue": values["glue"].astype(np.bool_)}))


def encode_chunk(chunk: Chunk, intents: Sequence[Intent]) -> bytes:
    """A chunk with the intents that belong to it."""
    return encode_json(fields_of(chunk) | {"intents": [fields_of(intent) for intent in intents]})


def decode_chunk(data: bytes, path: str) -> Chunk:
    """The chunk that ``encode_chunk`` was given, under the path that it has now."""
    value = decode_json(data)
    intents = tuple(_intent(entry) for entry in value.pop("intents"))
    return Chunk(**(value | {"path": path, "intents": intents}))


def _intent(value: Mapping[str, Any]) -> Intent:
    return Intent(**{**value, "evidence": Span(*value["evidence"])})


def chunk_order(indexed: IndexedDocument) -> IntArray:
    """int64 [k]: the document's chunks by start, then end."""
    starts = np.array([chunk.start for chunk in indexed.chunks], dtype=np.int64)
    ends = np.array([chunk.end for chunk in indexed.chunks], dtype=np.int64)
    return np.lexsort((ends, starts)).astype(np.int64)


def count_terms(texts: Sequence[Sequence[str]]) -> tuple[list[str], npt.NDArray[np.int32], IntArray]:
    """Vocabulary in order, postings int32 [p, 3] as (term, text, count) in order, and int64 [k] terms of texts."""
    numbers: dict[str, int] = {}
    parts = [np.zeros((0, 3), dtype=np.int32)]
    for start in range(0, len(texts), TOGETHER):
        found, owners = _numbered(texts[start : start + TOGETHER], numbers, storable)
        pairs, counts = np.unique((owners << 32) | found, return_counts=True)
        parts.append(np.stack([pairs & LOW, start + (pairs >> 32), counts], axis=1).astype(np.int32))
    postings = np.concatenate(parts)
    vocabulary = sorted(numbers)
    places = np.empty(len(numbers), dtype=np.int32)
    places[[numbers[term] for term in vocabulary]] = np.arange(len(numbers), dtype=np.int32)
    postings[:, 0] = places[postings[:, 0]]
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    return vocabulary, postings[np.argsort(postings[:, 0], kind="stable")], lengths


def _numbered(
    texts: Sequence[Sequence[str]], numbers: dict[str, int], spelled: Callable[[str], str]
) -> tuple[IntArray, IntArray]:
    """For every term of every text in order, int64 [p]: its number, new ones entered, and that of its text."""
    found = [numbers.setdefault(spelled(term), len(numbers)) for own in texts for term in own]
    owners = np.repeat(np.arange(len(texts)), np.fromiter(map(len, texts), np.int64, len(texts)))
    return np.array(found, dtype=np.int64), owners


def storable(term: str) -> str:
    """The term with lone surrogates, which no file format takes, replaced."""
    return term if term.isascii() else term.encode("utf-8", "replace").decode("utf-8")


def hash_terms(sentences: Sequence[Sequence[str]]) -> tuple[npt.NDArray[np.uint32], IntArray]:
    """Hashes of the distinct terms of each sentence, uint32 [p], ascending in it, and how many it has, int64 [n]."""
    hashes, counts = [np.zeros(0, dtype=np.uint32)], [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(sentences), TOGETHER):
        part = sentences[start : start + TOGETHER]
        numbers: dict[str, int] = {}
        found, owners = _numbered(part, numbers, str)
        pairs = np.unique((owners << 32) | term_hashes(numbers).astype(np.int64)[found])
        hashes.append((pairs & LOW).astype(np.uint32))
        counts.append(np.bincount(pairs >> 32, minlength=len(part)))
    return np.concatenate(hashes), np.concatenate(counts).astype(np.int64)


def expand(starts: IntArray, counts: IntArray) -> IntArray:
    """int64 [sum of counts]: the numbers from each start on, as many as its count: [5, 1], [2, 1] → [5, 6, 1]."""
    begins = np.cumsum(counts) - counts
    return np.asarray(np.arange(int(counts.sum())) + np.repeat(starts - begins, counts), dtype=np.int64)
