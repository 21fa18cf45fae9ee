"""Small indexed documents for tests of the store, made from text alone: no model, no reader, no chunker."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from idc_local.fingerprint import chunk_id, document_id, sha256_hex
from idc_local.indexed import Headings, IndexedDocument
from idc_local.store import Snapshot
from idc_local.types import (
    Block,
    BlockKind,
    Chunk,
    Document,
    FloatArray,
    Intent,
    JsonValue,
    Sentences,
    SourceRecord,
    Span,
)

DIMENSION = 8
FINGERPRINT: dict[str, JsonValue] = {"embedder": "test", "dimension": DIMENSION}
_SENTENCE = re.compile(r"[^.]*\.\s*|[^.]+$")


def vector(text: str, dimension: int = DIMENSION) -> FloatArray:
    """A unit vector that depends on the text alone, as float16 can hold it."""
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    values = np.random.default_rng(seed).standard_normal(dimension)
    return (values / np.linalg.norm(values)).astype(np.float16).astype(np.float32)


def vectors(texts: Sequence[str], dimension: int = DIMENSION) -> FloatArray:
    """One vector a text, float32 [len(texts), dimension]."""
    return np.array([vector(text, dimension) for text in texts], dtype=np.float32).reshape(-1, dimension)


def codes(text: str) -> bytes:
    """A code of one byte for each word of a text, as tokens of eight values have."""
    return bytes(hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()[0] for word in text.split())


def make_document(text: str, path: str = "a.txt", media_type: str = "text/plain") -> Document:
    """A document with one paragraph."""
    data = text.encode("utf-8", "surrogatepass")
    blocks = (Block(BlockKind.PARAGRAPH, 0, len(text), ("Head",)),) if text else ()
    lines = tuple((match.end(), number) for number, match in enumerate(re.finditer("\n", text), start=2))
    return Document(
        id=document_id(media_type, data),
        path=path,
        text=text,
        blocks=blocks,
        media_type=media_type,
        encoding="utf-8",
        source_sha256=sha256_hex(data),
        source_bytes=len(data),
        lines=((0, 1), *lines),
        pages=((0, "1"),),
    )


def make_sentences(text: str) -> Sentences:
    """Sentences that end in a full stop."""
    spans = [match.span() for match in _SENTENCE.finditer(text) if match.group()]
    starts = np.array([start for start, _ in spans], dtype=np.int64)
    ends = np.array([end for _, end in spans], dtype=np.int64)
    zeros = np.zeros(len(spans), dtype=np.int64)
    return Sentences(starts, ends, ends - starts, zeros, zeros, zeros, zeros.astype(np.bool_))


def make_indexed(
    text: str,
    path: str = "a.txt",
    *,
    recipe: str = "recipe",
    size: int = 2,
    intents: bool = True,
    overlap: bool = False,
) -> IndexedDocument:
    """Chunks of ``size`` sentences (overlapping by half if asked), one intent on every second chunk."""
    document, sentences = make_document(text, path), make_sentences(text)
    step = max(1, size // 2) if overlap else size
    count = len(sentences)
    ranges = np.array([(first, min(first + size, count)) for first in range(0, count, step)], dtype=np.int64)
    ranges = ranges.reshape(-1, 2)
    chunks: list[Chunk] = []
    found: list[Intent] = []
    owner: list[int] = []
    for number, (first, last) in enumerate(ranges.tolist()):
        start, end = int(sentences.starts[first]), int(sentences.ends[last - 1])
        own: tuple[Intent, ...] = ()
        if intents and number % 2 == 0:
            evidence = Span(start, int(sentences.ends[first]))
            own = (Intent(f"What about {text[start : start + 12]!r}?", start, end, evidence, 0.5, "model"),)
        found.extend(own)
        owner.extend([number] * len(own))
        chunks.append(_chunk(document, start, end, own))
    sentence_texts = [text[a:b].strip() for a, b in zip(sentences.starts, sentences.ends, strict=True)]
    return IndexedDocument(
        document=document,
        language="en",
        sentences=sentences,
        ranges=ranges,
        chunks=tuple(chunks),
        intents=tuple(found),
        intent_chunk=np.array(owner, dtype=np.int64),
        sentence_vectors=vectors(sentence_texts),
        chunk_vectors=vectors([chunk.text for chunk in chunks]),
        intent_vectors=vectors([intent.text for intent in found]),
        terms=tuple(tuple(re.findall(r"\w+", chunk.text.casefold())) for chunk in chunks),
        sentence_terms=tuple(tuple(re.findall(r"\w+", own.casefold())) for own in sentence_texts),
        recipe=recipe,
        token_codes=lambda first, last: [codes(own) for own in sentence_texts[first:last]],
        headings=Headings(
            vectors(["Head"] if chunks else []).astype(np.float16),
            [codes("The Head")] if chunks else [],
            np.zeros(len(chunks), dtype=np.int64),
        ),
    )


def _chunk(document: Document, start: int, end: int, intents: tuple[Intent, ...]) -> Chunk:
    text = document.text[start:end]
    return Chunk(
        id=chunk_id(document.id, start, end, text),
        document_id=document.id,
        path=document.path,
        start=start,
        end=end,
        text=text,
        heading="Head",
        page="1",
        line_start=document.line_at(start),
        line_end=document.line_at(max(start, end - 1)),
        tokens=end - start,
        context="",
        intents=intents,
    )


def make_source(indexed: IndexedDocument, path: str = "", mtime_ns: int = 1) -> SourceRecord:
    """The record of the document's file, under its own or another path."""
    document = indexed.document
    return SourceRecord(
        path=path or document.path,
        size=document.source_bytes,
        mtime_ns=mtime_ns,
        sha256=document.source_sha256,
        document_id=document.id,
        encoding="utf-8",
    )


MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""A folder in memory where the system has one: for tests of order and content, not of the disk."""

QUERIES = ("The pump is blue.", "beta", "浮球")


def visible(folder: Path) -> dict[str, Any]:
    """All that a reader can see of an index, save for its generation number."""
    with Snapshot.open(folder) as snapshot:
        rows = np.arange(snapshot.size)
        some = rows % 2 == 0
        seen: dict[str, Any] = {
            "chunks": snapshot.chunks(rows.tolist()),
            "ids": list(snapshot.ids_of(np.arange(snapshot.size))),
            "paths": [snapshot.paths_of(row) for row in rows.tolist()],
            "first": (snapshot.paths, snapshot.media_types, snapshot.languages),
            "sources": dict(snapshot.sources()),
            "counts": snapshot.counts,
            "spans": [snapshot.sentence_spans(row).tolist() for row in rows.tolist()],
            "gaps": [snapshot.sentence_gaps(row).tolist() for row in rows.tolist()],
            "vectors": snapshot.chunk_vectors(rows).tobytes(),
            "sentences": [part.tobytes() for part in snapshot.sentence_vectors(rows)],
            "terms": [part.tobytes() for part in snapshot.sentence_terms(rows)],
            "tokens": [part.tobytes() for part in snapshot.sentence_tokens(rows)],
            "heading_tokens": [part.tobytes() for part in snapshot.heading_tokens(rows)],
            "intents": [part.tobytes() for part in snapshot.intent_vectors(rows)],
            "all_intents": list(snapshot.all_intents()),
        }
        for query in QUERIES:
            for k in (1, 3, 100):
                for allowed in (None, some):
                    found = [search(vector(query), k, allowed) for search in (snapshot.dense, snapshot.intent)]
                    found.append(snapshot.lexical(dict.fromkeys(query.casefold().strip(".").split(), 1.0), k, allowed))
                    name = f"{query}/{k}/{allowed is None}"
                    seen[name] = [part.tobytes() for pair in found for part in pair]
        return seen
