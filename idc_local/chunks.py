"""From a segmentation to chunks: spans, headings, places, table headers, and which intents belong to which chunk.

Layer 1, pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

import numpy as np

from idc_local.fingerprint import chunk_id
from idc_local.terms import lexical_terms
from idc_local.types import BlockKind, Chunk, Document, FloatArray, IntArray, Intent, Segmentation, Sentences, Vectors

HEADING_SEPARATOR = " > "
TOGETHER = 1024
"""Chunks whose vectors are summed at a time: the sums of a whole long document would take twice its vectors' memory."""
_NUMBERED = re.compile(r"(.*?)(\d+)", re.S)


def build_chunks(
    document: Document, sentences: Sentences, segmentation: Segmentation, intents: tuple[Intent, ...]
) -> tuple[Chunk, ...]:
    """Chunks of ``segmentation`` in order, each with the intents that belong to it."""
    owner = intent_chunks(sentences, segmentation.ranges, intents)
    chunks = []
    for number, (first, last) in enumerate(segmentation.ranges.tolist()):
        mine = tuple(intents[place] for place in np.flatnonzero(owner == number))
        chunks.append(_build_chunk(document, sentences, first, last, mine))
    return tuple(chunks)


def intent_chunks(sentences: Sentences, ranges: IntArray, intents: tuple[Intent, ...]) -> IntArray:
    """int64 [m]: for each intent the first chunk whose span holds the start of its evidence."""
    if not intents:
        return np.zeros(0, dtype=np.int64)
    ends = sentences.ends[ranges[:, 1] - 1]
    starts = np.array([intent.evidence.start for intent in intents], dtype=np.int64)
    return np.searchsorted(ends, starts, side="right").astype(np.int64)


def _build_chunk(document: Document, sentences: Sentences, first: int, last: int, intents: tuple[Intent, ...]) -> Chunk:
    start, end = int(sentences.starts[first]), int(sentences.ends[last - 1])
    text = document.text[start:end]
    visible = start + len(text) - len(text.lstrip())
    final = max(visible, start + len(text.rstrip()) - 1)
    return Chunk(
        id=chunk_id(document.id, start, end, text),
        document_id=document.id,
        path=document.path,
        start=start,
        end=end,
        text=text,
        heading=HEADING_SEPARATOR.join(_headings(document, sentences, first)),
        page=page_range(document, visible, final + 1),
        line_start=document.line_at(visible),
        line_end=document.line_at(final),
        tokens=int(sentences.tokens[first:last].sum()),
        context=_table_header(document, sentences, first),
        intents=intents,
    )


def heading_paths(document: Document) -> list[str]:
    """The distinct headings that chunks of a document may have."""
    return list(dict.fromkeys(HEADING_SEPARATOR.join(block.headings) for block in document.blocks if block.headings))


def page_range(document: Document, start: int, end: int) -> str | None:
    """Where ``text[start:end]`` stands: one label, or the first and last of several, as in ``slide 4-6``."""
    first, last = document.page_at(start), document.page_at(max(start, end - 1))
    if first is None or last is None or first == last:
        return first or last
    before, after = _NUMBERED.fullmatch(first), _NUMBERED.fullmatch(last)
    if before is not None and after is not None and before[1] == after[1]:
        return f"{first}-{after[2]}"
    return f"{first} - {last}"


def _headings(document: Document, sentences: Sentences, first: int) -> tuple[str, ...]:
    if not document.blocks:
        return ()
    return document.blocks[int(sentences.block[first])].headings


def _table_header(document: Document, sentences: Sentences, first: int) -> str:
    """Header row of the table that the chunk begins in the middle of, else empty."""
    if not document.blocks:
        return ""
    block = document.blocks[int(sentences.block[first])]
    if block.kind is not BlockKind.TABLE or block.header is None or sentences.starts[first] < block.header.end:
        return ""
    return document.text[block.header.start : block.header.end].strip()


def sentence_terms(document: Document, sentences: Sentences, language: str) -> tuple[tuple[str, ...], ...]:
    """Lexical terms of each sentence in order."""
    bounds = zip(sentences.starts.tolist(), sentences.ends.tolist(), strict=True)
    return tuple(tuple(lexical_terms(document.text[start:end], language)) for start, end in bounds)


def context_terms(chunk: Chunk, language: str) -> list[str]:
    """Lexical terms of a chunk's heading path and table header."""
    return lexical_terms(f"{chunk.heading}\n{chunk.context}", language)


def chunk_terms(
    chunks: Sequence[Chunk], ranges: IntArray, terms: Sequence[tuple[str, ...]], language: str
) -> tuple[tuple[str, ...], ...]:
    """What BM25 sees of each chunk: the terms of its heading path, its table header and its sentences.

    ranges: int64 [k, 2], the chunks' sentences. terms: of each sentence.
    """
    return tuple(
        (*context_terms(chunk, language), *chain.from_iterable(terms[first:last]))
        for chunk, (first, last) in zip(chunks, ranges.tolist(), strict=True)
    )


def mean_vectors(sentence_vectors: Vectors, ranges: IntArray) -> FloatArray:
    """Unit mean of the sentence vectors of each range: float16 or float32 [n, d], int64 [k, 2] → float32 [k, d]."""
    means = np.zeros((ranges.shape[0], sentence_vectors.shape[1]), dtype=np.float32)
    for start in range(0, ranges.shape[0], TOGETHER):
        part = ranges[start : start + TOGETHER]
        first, last = int(part[:, 0].min()), int(part[:, 1].max())
        totals = np.zeros((last - first + 1, sentence_vectors.shape[1]), dtype=np.float64)
        np.cumsum(sentence_vectors[first:last], axis=0, dtype=np.float64, out=totals[1:])
        means[start : start + TOGETHER] = unit_rows(totals[part[:, 1] - first] - totals[part[:, 0] - first])
    return means


def unit_rows(vectors: np.ndarray) -> FloatArray:
    """Rows scaled to unit length, float32; a zero row becomes the first axis, so that every row is a unit vector."""
    result = np.array(vectors, dtype=np.float64)
    norms = np.linalg.norm(result, axis=1)
    if result.shape[0]:
        result[norms < 1e-12, 0] = 1.0
    return np.asarray(result / np.linalg.norm(result, axis=1, keepdims=True), dtype=np.float32)
