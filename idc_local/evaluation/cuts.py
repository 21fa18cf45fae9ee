"""From cuts to the in-memory index: a strategy's segmentation, or spans that came from anywhere else.

Spans of other chunkers get exactly what the product's own chunks get: chunk vectors are means of sentence vectors
(a sentence that a span cuts counts with the part inside it, embedded on its own), terms come from the same tokenizer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from idc_local.answers import sentence_gaps
from idc_local.chunks import build_chunks, context_terms, intent_chunks, mean_vectors, unit_rows
from idc_local.errors import InputError
from idc_local.evaluation.prepare import PreparedSet, joined_codes
from idc_local.evaluation.retrieval import Asked, ChunkIndex
from idc_local.evaluation.scoring import Passages
from idc_local.fingerprint import chunk_id
from idc_local.pipeline import CutDocument
from idc_local.segment import StrategyOptions
from idc_local.strategies import run_strategy
from idc_local.terms import lexical_terms
from idc_local.types import Chunk, FloatArray, IntArray, Limits, Segmentation, SegmentInput, Span, Vectors

EmbedTexts = Callable[[Sequence[str], str], tuple[Vectors, Sequence[bytes]]]
"""Vectors of texts in a language, and the codes of their tokens, as of sentences."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The chunks of one document. pieces: for each chunk the rows of its sentences in ``Asked.pieces``.

    spans: int64 [sum of pieces, 2]. owner: int64 [intents], the chunk of each, -1 for none.
    """

    chunks: tuple[Chunk, ...]
    vectors: FloatArray
    pieces: tuple[IntArray, ...]
    spans: IntArray
    owner: IntArray


def segment(document: CutDocument, strategy: str, limits: Limits, options: StrategyOptions) -> Segmentation:
    """The document cut by a strategy."""
    found = document.predicted
    data = SegmentInput(document.sentences, document.vectors, found.vectors, found.windows, found.evidence)
    return run_strategy(strategy, data, document.document.text, limits, options)


def index_segmentations(prepared: PreparedSet, segmentations: Sequence[Segmentation]) -> ChunkIndex:
    """The set cut into the sentence ranges of one segmentation for each document."""
    parts = []
    for place, (document, segmentation) in enumerate(zip(prepared.documents, segmentations, strict=True)):
        ranges = segmentation.ranges
        chunks = build_chunks(document.document, document.sentences, segmentation, document.predicted.intents)
        owner = intent_chunks(document.sentences, segmentation.ranges, document.predicted.intents)
        base = int(prepared.sentence_base[place])
        rows = [np.arange(first, last, dtype=np.int64) for first, last in ranges.tolist()]
        sentences = document.sentences
        spans = [np.stack([sentences.starts[own], sentences.ends[own]], axis=1) for own in rows]
        parts.append(
            _Part(
                chunks=chunks,
                vectors=mean_vectors(document.vectors, ranges),
                pieces=tuple(own + base for own in rows),
                spans=_stacked(spans),
                owner=owner,
            )
        )
    return _joined(prepared, parts)


def index_spans(
    prepared: PreparedSet, spans: Sequence[Sequence[Span]], embed: EmbedTexts
) -> tuple[PreparedSet, ChunkIndex]:
    """The set cut into ``spans``, those of each document in order; overlaps and gaps are allowed.

    Returns the set as well: its questions are now also compared with the sentence parts that the spans cut off.

    Raises:
        InputError: a span is empty, or lies outside its document.
    """
    extra = _Extra(prepared, embed)
    parts = [
        _span_part(prepared, place, [span for span in own if _visible(prepared, place, span)], extra)
        for place, own in enumerate(spans)
    ]
    vectors, codes = extra.embedded()
    asked = _with_more(prepared.asked, vectors, codes)
    table = np.concatenate([*(document.vectors for document in prepared.documents), vectors])
    filled = [replace(part, vectors=_means(table, part.pieces)) for part in parts]
    compared = replace(prepared, asked=asked, sentence_terms=(*prepared.sentence_terms, *extra.terms))
    return compared, _joined(compared, filled)


class _Extra:
    """Sentence parts that are no sentence of the set, each embedded once; rows follow those of the sentences."""

    def __init__(self, prepared: PreparedSet, embed: EmbedTexts) -> None:
        self._first = int(prepared.sentence_base[-1])
        self._embed = embed
        self._dimension = prepared.asked.vectors.shape[1]
        self._rows: dict[tuple[str, str], int] = {}
        self.terms: list[tuple[str, ...]] = []

    def row(self, text: str, language: str) -> int:
        """Row of a part."""
        if (text, language) not in self._rows:
            self._rows[text, language] = self._first + len(self._rows)
            self.terms.append(tuple(lexical_terms(text, language)))
        return self._rows[text, language]

    def embedded(self) -> tuple[FloatArray, list[bytes]]:
        """float32 [parts, d], in the order of their rows, and the codes of the tokens of each."""
        vectors = np.zeros((len(self._rows), self._dimension), dtype=np.float32)
        codes = [b""] * len(self._rows)
        for language in dict.fromkeys(language for _, language in self._rows):
            texts = {text: row - self._first for (text, own), row in self._rows.items() if own == language}
            places = list(texts.values())
            vectors[places], found = self._embed(list(texts), language)
            for place, code in zip(places, found, strict=True):
                codes[place] = code
        return vectors, codes


def _visible(prepared: PreparedSet, place: int, span: Span) -> bool:
    """Whether a span shows anything."""
    text = prepared.documents[place].document.text
    if not 0 <= span.start <= span.end <= len(text):
        raise InputError(f"{prepared.dataset.documents[place].id}: no span {span.start} to {span.end} in this document")
    ink = prepared.inks[place].span(*span)
    return ink.end > ink.start


def _span_part(prepared: PreparedSet, place: int, spans: Sequence[Span], extra: _Extra) -> _Part:
    document = prepared.documents[place]
    pieces, bounds, chunks = [], [], []
    for span in spans:
        rows, places = _sentence_parts(prepared, place, span, extra)
        pieces.append(rows)
        bounds.append(places)
        chunks.append(_plain_chunk(document, span))
    return _Part(
        chunks=tuple(chunks),
        vectors=np.zeros((0, 0), dtype=np.float32),
        pieces=tuple(pieces),
        spans=_stacked(bounds),
        owner=_owners(document, spans),
    )


def _sentence_parts(prepared: PreparedSet, place: int, span: Span, extra: _Extra) -> tuple[IntArray, IntArray]:
    """Rows and code points, int64 [parts] and [parts, 2], of the sentences and parts of sentences inside a span."""
    document, base = prepared.documents[place], int(prepared.sentence_base[place])
    text, sentences, ink = document.document.text, document.sentences, prepared.inks[place]
    rows, places = [], []
    first = int(np.searchsorted(sentences.ends, span.start, side="right"))
    for number in range(first, len(sentences)):
        whole = Span(int(sentences.starts[number]), int(sentences.ends[number]))
        if whole.start >= span.end:
            break
        part = Span(max(whole.start, span.start), min(whole.end, span.end))
        shown = ink.span(*part)
        if shown.end > shown.start:
            cut = shown != ink.span(*whole)
            shown_text = text[part.start : part.end].strip()
            rows.append(extra.row(shown_text, document.language) if cut else base + number)
            places.append(part)
    return np.array(rows, dtype=np.int64), np.array(places, dtype=np.int64)


def _plain_chunk(document: CutDocument, span: Span) -> Chunk:
    source = document.document
    text = source.text[span.start : span.end]
    return Chunk(
        id=chunk_id(source.id, span.start, span.end, text),
        document_id=source.id,
        path=source.path,
        start=span.start,
        end=span.end,
        text=text,
        heading="",
        page=None,
        line_start=source.line_at(span.start),
        line_end=source.line_at(max(span.start, span.end - 1)),
        tokens=0,
    )


def _owners(document: CutDocument, spans: Sequence[Span]) -> IntArray:
    """The first span that holds the start of each intent's evidence, -1 for none: int64 [intents]."""
    starts = [intent.evidence.start for intent in document.predicted.intents]
    held = (next((place for place, span in enumerate(spans) if span.start <= start < span.end), -1) for start in starts)
    return np.fromiter(held, dtype=np.int64, count=len(starts))


def _with_more(asked: Asked, vectors: FloatArray, codes: Sequence[bytes]) -> Asked:
    """The questions, compared with more parts: float32 [parts, d], and the codes of the tokens of each."""
    more, offsets = joined_codes(codes, vectors.shape[1])
    return replace(
        asked,
        pieces=np.concatenate([asked.pieces, asked.vectors @ vectors.T], axis=1),
        codes=np.concatenate([asked.codes, more]),
        code_offsets=np.concatenate([asked.code_offsets, asked.code_offsets[-1] + offsets[1:]]),
    )


def _means(table: FloatArray, pieces: Sequence[IntArray]) -> FloatArray:
    """Unit mean of each chunk's rows of ``table``, float32 [k, d]."""
    if not pieces:
        return np.zeros((0, table.shape[1]), dtype=np.float32)
    return unit_rows(np.stack([table[rows].sum(axis=0, dtype=np.float64) for rows in pieces]))


def _stacked(spans: Sequence[IntArray]) -> IntArray:
    return np.concatenate(spans).astype(np.int64) if spans else np.zeros((0, 2), dtype=np.int64)


def _joined(prepared: PreparedSet, parts: Sequence[_Part]) -> ChunkIndex:
    """One index of all documents."""
    chunks = tuple(chunk for part in parts for chunk in part.chunks)
    if not chunks:
        raise InputError(f"{prepared.dataset.name}: no chunks, nothing to evaluate", hint="the documents are empty")
    pieces = [rows for part in parts for rows in part.pieces]
    intent_rows, intent_offsets = _intents_by_chunk(prepared, parts)
    gaps = np.zeros(len(prepared.sentence_terms), dtype=np.int64)
    gaps[: prepared.sentence_base[-1]] = np.concatenate(
        [sentence_gaps(document.sentences) for document in prepared.documents]
    )
    headings = [
        codes.get(chunk.heading, b"")
        for codes, part in zip(prepared.heading_codes, parts, strict=True)
        for chunk in part.chunks
    ]
    heading_codes, heading_offsets = joined_codes(headings, prepared.asked.vectors.shape[1])
    return ChunkIndex(
        chunks=chunks,
        passages=_passages(prepared, parts),
        vectors=np.concatenate([part.vectors for part in parts if part.chunks]),
        terms=tuple(_terms(prepared, parts)),
        piece_terms=tuple(prepared.sentence_terms[row] for rows in pieces for row in rows.tolist()),
        piece_rows=np.concatenate(pieces),
        piece_offsets=np.concatenate([[0], np.cumsum([rows.size for rows in pieces])]).astype(np.int64),
        piece_spans=np.concatenate([part.spans for part in parts]),
        piece_gaps=gaps[np.concatenate(pieces)],
        heading_codes=heading_codes,
        heading_offsets=heading_offsets,
        intent_rows=intent_rows,
        intent_offsets=intent_offsets,
    )


def _terms(prepared: PreparedSet, parts: Sequence[_Part]) -> Iterable[tuple[str, ...]]:
    for document, part in zip(prepared.documents, parts, strict=True):
        for chunk, rows in zip(part.chunks, part.pieces, strict=True):
            words = chain.from_iterable(prepared.sentence_terms[row] for row in rows.tolist())
            yield (*context_terms(chunk, document.language), *words)


def _passages(prepared: PreparedSet, parts: Sequence[_Part]) -> Passages:
    documents = np.repeat(np.arange(len(parts), dtype=np.int64), [len(part.chunks) for part in parts])
    chunks = [chunk for part in parts for chunk in part.chunks]
    ink = [prepared.inks[place].span(chunk.start, chunk.end) for place, chunk in zip(documents, chunks, strict=True)]
    return Passages(
        document=documents,
        starts=np.array([chunk.start for chunk in chunks], dtype=np.int64),
        ends=np.array([chunk.end for chunk in chunks], dtype=np.int64),
        ink=np.array(ink, dtype=np.int64),
    )


def _intents_by_chunk(prepared: PreparedSet, parts: Sequence[_Part]) -> tuple[IntArray, IntArray]:
    """Columns of ``Asked.intents`` sorted by chunk, and where each chunk's begin."""
    count, owners, rows = 0, [], []
    for place, part in enumerate(parts):
        mine = np.flatnonzero(part.owner >= 0)
        owners.append(part.owner[mine] + count)
        rows.append(mine + int(prepared.intent_base[place]))
        count += len(part.chunks)
    owner, row = np.concatenate(owners).astype(np.int64), np.concatenate(rows).astype(np.int64)
    order = np.argsort(owner, kind="stable")
    offsets = np.searchsorted(owner[order], np.arange(count + 1), side="left")
    return row[order], offsets.astype(np.int64)
