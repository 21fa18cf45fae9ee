"""Segments: immutable files about a set of editions, from which generations are put together.

Within a segment, editions lie in the order given, their chunks by place in the document, intents by chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from idc_local.answers import sentence_gaps
from idc_local.fingerprint import digest
from idc_local.store.blocks import BlockFolder, BlockWriter, Sink
from idc_local.store.codec import decode_json, decode_sentences, expand, view_array
from idc_local.store.layout import DATABASE, FileEntry, damaged
from idc_local.store.lexical import SegmentTerms, write_counts
from idc_local.store.postings import group_postings, merge_counts
from idc_local.store.records import HALVES, Edition, read_array, read_part
from idc_local.store.schema import Database, Sealing, seal
from idc_local.store.vectorcache import read_vectors
from idc_local.store.vectors import CodeFile, VectorFile, write_codes, write_vectors
from idc_local.tokencodes import code_size
from idc_local.types import FloatArray, HalfArray, IntArray

MEMBERS, TABLE, IDS, SPANS, GAPS = "members.npy", "table.npy", "ids.npy", "spans.npy", "gaps.npy"
CHUNK_VECTORS, INTENT_VECTORS, SENTENCE_VECTORS = "chunks.faiss", "intents.faiss", "sentences.npy"
CHUNK_CODES = "codes.faiss"
SENTENCES, INTENTS = slice(2, 4), slice(4, 6)
"""Columns of the table: where the sentences and intents of a chunk begin and end. The first two: its code points."""

TOKENS, TOKEN_OFFSETS = "tokens.npy", "token_offsets.npy"
HEADING_TOKENS, HEADING_OFFSETS = "heading_tokens.npy", "heading_token_offsets.npy"
TERM_HASHES, TERM_OFFSETS = "sentence_terms.npy", "sentence_term_offsets.npy"


@dataclass(frozen=True, slots=True)
class Truth:
    """The database that segments are built from, and d of its vectors."""

    folder: Path
    db: Database
    dimension: int


@dataclass(frozen=True, slots=True)
class Member:
    """One edition in a segment: ``first`` is its first chunk, ``chunks`` their number."""

    edition: int
    first: int
    chunks: int


def segment_name(editions: Sequence[Edition]) -> str:
    """Name of the segment that holds exactly these editions in this order."""
    return digest([[edition.id, edition.document, edition.recipe] for edition in editions])[:16]


def build_segment(truth: Truth, editions: Sequence[Edition], folder: Path) -> dict[str, FileEntry]:
    """Writes a segment into ``folder``, which exists and is empty; entries of its files."""
    writer = BlockWriter(folder)
    writer.array(MEMBERS, np.array([(edition.id, edition.chunks) for edition in editions], dtype=np.int64))
    intents = _write_sentence_vectors(truth, editions, writer)
    _write_flat(writer, INTENT_VECTORS, intents, truth.dimension)
    vectors = [_array(truth, edition, "chunk_vectors").reshape(-1, truth.dimension) for edition in editions]
    vectors = [part for part in vectors if part.size]
    _write_flat(writer, CHUNK_VECTORS, vectors, truth.dimension)
    writer.write(CHUNK_CODES, lambda sink: write_codes(sink.write, vectors, truth.dimension))
    _write_tables(truth, editions, writer)
    _write_terms(truth, editions, writer)
    return writer.finish()


def _array(truth: Truth, edition: Edition, name: str) -> npt.NDArray[Any]:
    return read_array(truth.folder, truth.db, edition, name)


def _write_flat(writer: BlockWriter, name: str, parts: Sequence[npt.NDArray[Any]], dimension: int) -> None:
    writer.write(name, lambda sink: write_vectors(sink.write, list(parts), dimension))


def _write_sentence_vectors(truth: Truth, editions: Sequence[Edition], writer: BlockWriter) -> list[FloatArray]:
    """Writes the sentence vectors of all editions, one edition at a time; the intent vectors of each."""
    width = code_size(truth.dimension)
    sizes = [np.zeros(1, dtype=np.int64), *(_array(truth, edition, "token_sizes") for edition in editions)]
    offsets = np.cumsum(np.concatenate(sizes) // width)
    intents: list[FloatArray] = []
    with writer.sink(SENTENCE_VECTORS) as vectors, writer.sink(TOKENS) as tokens:
        _begin_rows(vectors, "<f2", sum(edition.sentences for edition in editions), truth.dimension)
        _begin_rows(tokens, "|u1", int(offsets[-1]), width)

        def take(part: HalfArray, codes: Sequence[bytes]) -> None:
            vectors.write(view_array(part, HALVES))
            tokens.write(b"".join(codes))

        intents.extend(edition_vectors(truth, edition, take).astype(np.float32) for edition in editions)
    writer.array(TOKEN_OFFSETS, offsets)
    return intents


def _begin_rows(sink: Sink, kind: str, count: int, width: int) -> None:
    """Writes what an .npy file of so many rows begins with."""
    header = {"descr": kind, "fortran_order": False, "shape": (count, width)}
    np.lib.format.write_array_header_1_0(sink, header)


def edition_vectors(truth: Truth, edition: Edition, take: Callable[[HalfArray, Sequence[bytes]], object]) -> HalfArray:
    """Gives the sentence vectors of an edition, float16 [., d], to ``take``, some at a time; its intent vectors.

    With the vectors of some sentences ``take`` gets the codes of the tokens of each.

    Raises:
        StoreCorrupt: they are not what was stored; it shows only when all have been given.
    """
    sealing, tokens = Sealing(), Sealing()
    sizes: list[int] = []
    intents = [np.zeros((0, truth.dimension), dtype=np.float16)]

    def take_sentences(part: HalfArray, codes: Sequence[bytes]) -> None:
        tokens.add(b"".join(codes))
        sizes.extend(map(len, codes))
        take(part, codes)

    def take_intents(part: HalfArray, _: Sequence[bytes]) -> None:
        intents.append(part)

    for name, keep in (("sentence_vectors", take_sentences), ("intent_vectors", take_intents)):
        numbers = _array(truth, edition, name)
        sealing.begin(2 * truth.dimension * numbers.shape[0])
        for part, codes in read_vectors(truth.folder, truth.db, numbers, truth.dimension):
            sealing.add(view_array(part, HALVES))
            keep(part, codes)
    found = (sealing.finish(), tokens.finish())
    stored = (read_part(truth.folder, truth.db, edition, name) for name in ("vector_seal", "token_seal"))
    if found != tuple(stored) or sizes != _array(truth, edition, "token_sizes").tolist():
        raise damaged(truth.folder / DATABASE, f"vectors of document {edition.document[:8]} do not fit their checksum")
    return np.concatenate(intents)


def heading_codes(truth: Truth, edition: Edition) -> list[bytes]:
    """Codes of the tokens of each chunk's heading path.

    Raises:
        StoreCorrupt: they are not what was stored.
    """
    parts: list[HalfArray] = [np.zeros((0, truth.dimension), dtype=np.float16)]
    codes: list[bytes] = []
    for part, own in read_vectors(truth.folder, truth.db, _array(truth, edition, "heading_vectors"), truth.dimension):
        parts.append(part)
        codes += own
    found = seal(view_array(np.concatenate(parts), HALVES), *codes)
    if found != read_part(truth.folder, truth.db, edition, "heading_seal"):
        raise damaged(truth.folder / DATABASE, f"headings of document {edition.document[:8]} do not fit their checksum")
    return [codes[place] if place >= 0 else b"" for place in _array(truth, edition, "chunk_headings").tolist()]


def _write_tables(truth: Truth, editions: Sequence[Edition], writer: BlockWriter) -> None:
    tables, spans, ids = [np.zeros((0, 6), np.int64)], [np.zeros((0, 2), np.int64)], []
    gaps = [np.zeros(0, np.uint8)]
    sentence, intent = 0, 0
    for edition in editions:
        table = np.zeros((edition.chunks, 6), dtype=np.int64)
        table[:, 0:2] = _array(truth, edition, "chunk_spans").reshape(-1, 2)
        table[:, 2:4] = _array(truth, edition, "ranges").reshape(-1, 2) + sentence
        owner = _array(truth, edition, "intent_chunk")
        table[:, 4] = np.searchsorted(owner, np.arange(edition.chunks), side="left") + intent
        table[:, 5] = np.searchsorted(owner, np.arange(edition.chunks), side="right") + intent
        tables.append(table)
        own = decode_sentences(read_part(truth.folder, truth.db, edition, "sentences"))
        spans.append(np.stack([own.starts, own.ends], axis=1))
        gaps.append(sentence_gaps(own).astype(np.uint8))
        ids.append(read_part(truth.folder, truth.db, edition, "chunk_ids"))
        sentence, intent = sentence + edition.sentences, intent + edition.intents
    writer.array(TABLE, np.concatenate(tables))
    headings = [codes for edition in editions for codes in heading_codes(truth, edition)]
    width = code_size(truth.dimension)
    writer.array(HEADING_TOKENS, np.frombuffer(b"".join(headings), dtype=np.uint8).reshape(-1, width))
    writer.array(HEADING_OFFSETS, np.cumsum([0, *(len(codes) // width for codes in headings)], dtype=np.int64))
    writer.array(SPANS, np.concatenate(spans))
    writer.array(GAPS, np.concatenate(gaps))
    writer.array(IDS, np.frombuffer(b"".join(ids), dtype=np.uint8).reshape(-1, 32))


def _write_terms(truth: Truth, editions: Sequence[Edition], writer: BlockWriter) -> None:
    parts, first = [], 0
    for edition in editions:
        vocabulary = decode_json(read_part(truth.folder, truth.db, edition, "vocabulary"))
        postings = _array(truth, edition, "postings").reshape(-1, 3)
        counts = group_postings(vocabulary, postings, _array(truth, edition, "lengths"))
        parts.append((counts, np.arange(first, first + edition.chunks)))
        first += edition.chunks
    write_counts(writer, merge_counts(parts, first))
    hashes = [_array(truth, edition, "term_hashes") for edition in editions]
    held = [_array(truth, edition, "term_counts") for edition in editions]
    writer.array(TERM_HASHES, np.concatenate([np.zeros(0, dtype=np.uint32), *hashes]).astype(np.uint32))
    writer.array(TERM_OFFSETS, np.cumsum(np.concatenate([[0], *held])).astype(np.int64))


class Segment:
    """A segment on disk, memory-mapped and checked as it is read."""

    def __init__(self, folder: Path, entries: Mapping[str, FileEntry], dimension: int) -> None:
        self.folder = folder
        self.entries = entries
        self._files = BlockFolder(folder, entries)
        self._files.check_sizes()
        self._dimension = dimension
        self.table = self._files.array(TABLE).whole()
        self._sentences = self._files.array(SENTENCE_VECTORS)
        self._spans, self._gaps = self._files.array(SPANS), self._files.array(GAPS)
        self._vectors: dict[str, VectorFile] = {}

    @cached_property
    def members(self) -> dict[int, Member]:
        """The editions in the segment, by number."""
        table = self._files.array(MEMBERS).whole().reshape(-1, 2)
        firsts = np.cumsum(table[:, 1]) - table[:, 1]
        entries = zip(table[:, 0].tolist(), firsts.tolist(), table[:, 1].tolist(), strict=True)
        return {edition: Member(edition, first, chunks) for edition, first, chunks in entries}

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return int(self.table.shape[0])

    @property
    def ids(self) -> npt.NDArray[np.uint8]:
        """uint8 [k, 32]: the ids of the chunks."""
        return self._files.array(IDS).whole()

    def vectors(self, name: str) -> VectorFile:
        """CHUNK_VECTORS or INTENT_VECTORS."""
        if name not in self._vectors:
            count = self.chunks if name == CHUNK_VECTORS else int(self.table[:, 5].max(initial=0))
            path = self._files.folder / name
            self._vectors[name] = VectorFile(path, count, self._dimension, self._files.file(name))
        return self._vectors[name]

    @cached_property
    def codes(self) -> CodeFile:
        """The codes of the chunk vectors."""
        self._files.file(CHUNK_CODES).require_all()
        return CodeFile(self._files.folder / CHUNK_CODES, self.chunks, self._dimension)

    def sentence_vectors(self, places: IntArray) -> npt.NDArray[np.float16]:
        """float16 [len(places), d]: a copy of the vectors of the sentences at ``places``."""
        return self._sentences.take(places)

    def sentence_terms(self, places: IntArray) -> tuple[npt.NDArray[Any], IntArray]:
        """Hashes of the terms of the sentences at ``places``, uint32 [p], and how many each has, int64 [s]."""
        return self._held(places, TERM_HASHES, TERM_OFFSETS)

    def sentence_tokens(self, places: IntArray) -> tuple[npt.NDArray[Any], IntArray]:
        """Codes of the tokens of the sentences at ``places``, uint8 [t, b], and how many each has, int64 [s]."""
        return self._held(places, TOKENS, TOKEN_OFFSETS)

    def heading_tokens(self, chunks: IntArray) -> tuple[npt.NDArray[Any], IntArray]:
        """Codes of the tokens of the chunks' headings, uint8 [t, b], and how many each has, int64 [len(chunks)]."""
        return self._held(chunks, HEADING_TOKENS, HEADING_OFFSETS)

    def _held(self, places: IntArray, name: str, offsets: str) -> tuple[npt.NDArray[Any], IntArray]:
        """Rows of a file, of which each sentence or chunk has some, and how many each has."""
        bounds = self._files.array(offsets)
        begin, end = bounds.take(places), bounds.take(places + 1)
        return self._files.array(name).take(expand(begin, end - begin)), end - begin

    def sentence_spans(self, chunk: int) -> IntArray:
        """int64 [s, 2]: code points of the sentences of a chunk."""
        return self._spans.part(int(self.table[chunk, 2]), int(self.table[chunk, 3]))

    def sentence_gaps(self, chunk: int) -> npt.NDArray[np.uint8]:
        """uint8 [s]: what is before each sentence of a chunk, from ``answers.sentence_gaps``."""
        return self._gaps.part(int(self.table[chunk, 2]), int(self.table[chunk, 3]))

    def intent_owner(self) -> IntArray:
        """int64 [m]: the chunk of each intent."""
        return np.repeat(np.arange(self.chunks), self.table[:, 5] - self.table[:, 4])

    @cached_property
    def terms(self) -> SegmentTerms:
        """How often terms occur in the segment's chunks."""
        return SegmentTerms(self._files)
