"""A document as an index stores it. Layer 1: values only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from idc_local.types import Chunk, Document, FloatArray, HalfArray, IntArray, Intent, Sentences, Vectors


@dataclass(frozen=True, slots=True)
class Headings:
    """The h distinct heading paths of a document's chunks.

    vectors: float16 [h, d], unit rows. codes: of the tokens of each (``tokencodes``), one after the other. of_chunk:
    int64 [k], the heading of each chunk, -1 for none.
    """

    vectors: HalfArray
    codes: Sequence[bytes]
    of_chunk: IntArray


def no_headings(chunks: int, dimension: int) -> Headings:
    """What chunks without headings have."""
    return Headings(np.zeros((0, dimension), dtype=np.float16), (), np.full(chunks, -1, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """Everything that is stored of one document: k chunks, n sentences, m intents.

    sentence_vectors: float16 or float32 [n, d], chunk_vectors: float32 [k, d], intent_vectors: float32 [m, d], unit
    rows, where sentence and intent vectors hold only values that float16 can represent.
    token_codes: gives the codes of the tokens (``tokencodes``) of each sentence from one to before another, so that
        those of a long document are never in memory all at once.
    ranges: int64 [k, 2], half-open sentence ranges of the chunks. intent_chunk: int64 [m], the chunk of each intent.
    terms: for each chunk its lexical terms in order, as ``terms.lexical_terms`` gave them.
    sentence_terms: for each sentence its own lexical terms.
    recipe: fingerprint of everything besides the text that shaped this value (models, settings, versions).
    intent_keys: keys in the intent cache of all windows that were asked about, so that a document can be forgotten
        with what was generated from it.
    """

    document: Document
    language: str
    sentences: Sentences
    ranges: IntArray
    chunks: tuple[Chunk, ...]
    headings: Headings
    intents: tuple[Intent, ...]
    intent_chunk: IntArray
    sentence_vectors: Vectors
    token_codes: Callable[[int, int], Sequence[bytes]]
    chunk_vectors: FloatArray
    intent_vectors: FloatArray
    terms: tuple[tuple[str, ...], ...]
    sentence_terms: tuple[tuple[str, ...], ...]
    recipe: str
    intent_keys: tuple[str, ...] = ()
