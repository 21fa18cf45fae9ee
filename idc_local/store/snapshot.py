"""Reading one generation of an index. A snapshot never waits for a writer and never changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from idc_local.errors import NothingFound, StoreMismatch
from idc_local.store import coding
from idc_local.store.blocks import BlockFolder
from idc_local.store.codec import decode_chunk, decode_document, decode_lines, decode_text, expand
from idc_local.store.coding import Top
from idc_local.store.generation import entries_below, open_segments
from idc_local.store.layout import Manifest, damaged, generation_folder, os_errors
from idc_local.store.lexical import Lexical
from idc_local.store.lock import hold_current
from idc_local.store.records import read_chunk, read_part
from idc_local.store.rows import Rows
from idc_local.store.schema import open_for_reading, sql_errors
from idc_local.store.segments import CHUNK_VECTORS, INTENT_VECTORS, INTENTS, SENTENCES, Segment
from idc_local.store.tables import FIRST, Documents, Sources
from idc_local.store.vectors import best
from idc_local.tokencodes import code_size
from idc_local.types import BoolArray, Chunk, Document, FloatArray, IntArray, Intent, SourceRecord

Take = Callable[[Segment, IntArray], tuple[npt.NDArray[Any], IntArray]]
"""Values of a segment that are at places, int64 [p], one after the other, and how many are at each, int64 [p]."""


class Snapshot(Rows):
    """One generation of an index: its chunks in rows, and the ways to search them. A context manager."""

    def __init__(self, folder: Path, manifest: Manifest, descriptor: int) -> None:
        self._folder = folder
        self._manifest = manifest
        self._descriptor = descriptor
        place = generation_folder(folder, manifest.generation)
        self._files = BlockFolder(place, entries_below(manifest, ""))
        self._files.check_sizes()
        super().__init__(Documents(self._files), open_segments(folder, manifest))
        self._terms: Lexical | None = None
        self._db = open_for_reading(folder)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The current generation of the index in ``folder``.

        Raises:
            StoreError: there is no index.
            StoreMismatch: a newer program made it.
            StoreCorrupt: a file is not what the manifest says.
        """
        with os_errors(folder):
            manifest, descriptor = hold_current(folder)
            try:
                return cls(folder, manifest, descriptor)
            except BaseException:
                os.close(descriptor)
                raise

    def close(self) -> None:
        """Lets the generation go."""
        if self._descriptor >= 0:
            self._db.close()
            os.close(self._descriptor)
            self._descriptor = -1
            # Mapped files hold descriptors of their own; what was handed out keeps its own file mapped.
            self._files.close()
            self._segments, self._terms = [], None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def generation(self) -> int:
        """Number of the generation."""
        return self._manifest.generation

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What the index was made with."""
        return dict(self._manifest.fingerprint)

    @property
    def counts(self) -> dict[str, int]:
        """Number of documents, chunks, sentences and intents."""
        return dict(self._manifest.counts)

    def sources(self) -> Mapping[str, SourceRecord]:
        """What the generation knows of source files, by path in order; each is read when it is asked for."""
        return Sources(self._files)

    def dense(self, query: FloatArray, k: int, allowed: BoolArray | None = None) -> Top:
        """The best rows by inner product of ``query``, float32 [d], and chunk vector; ``allowed``: bool [size].

        Exact in small indexes and among allowed rows; large ones first choose by codes (``coding``).
        """
        self._check_query(query)
        if allowed is None and self.size >= coding.CODED:
            return coding.coded(self._segments, self._rows, query, k)

        def search(segment: Segment, rows: IntArray) -> Top:
            found = segment.vectors(CHUNK_VECTORS).top(query, k, _allowed_chunks(rows, allowed))
            return found.scores, rows[found.positions]

        return self._best_of_all(search, query, k)

    def intent(self, query: FloatArray, k: int, allowed: BoolArray | None = None) -> Top:
        """The best rows by inner product of ``query`` and any of the row's intents; rows without intents never."""

        def search(segment: Segment, rows: IntArray) -> Top:
            scores, chunks = _best_owners(segment, query, k, _allowed_chunks(rows, allowed))
            return scores, rows[chunks]

        return self._best_of_all(search, query, k)

    def _best_of_all(self, search: Callable[[Segment, IntArray], Top], query: FloatArray, k: int) -> Top:
        """The best ``k`` of what ``search`` finds in each segment; large indexes are searched by several threads."""
        self._check_query(query)
        found = coding.for_each_segment(search, self._segments, self._rows)
        scores, rows = [np.zeros(0, np.float32)], [np.zeros(0, np.int64)]
        for own_scores, own_rows in found:
            scores.append(own_scores)
            rows.append(own_rows)
        return best(np.concatenate(scores), np.concatenate(rows), k)

    def _check_query(self, query: FloatArray) -> None:
        if self.size and query.shape != (self._manifest.dimension,):
            raise StoreMismatch(
                f"the index in {self._folder} has vectors of {self._manifest.dimension} values, not {query.shape[-1]}",
                hint="search with the embedder that the index was made with, or idc-local index PATH --rebuild",
            )

    def lexical(self, terms: Mapping[str, float], k: int, allowed: BoolArray | None = None) -> Top:
        """The best rows by BM25, scores above zero only; ``terms``: each with its weight."""
        if not self.size:
            return np.zeros(0, np.float32), np.zeros(0, np.int64)
        return self._lexical().top(terms, k, allowed)

    def lexical_scores(self, terms: Mapping[str, float], rows: IntArray) -> FloatArray:
        """float32 [len(rows)]: BM25 of the rows."""
        return self._lexical().scores(terms)[rows] if self.size else np.zeros(0, np.float32)

    def idf(self, terms: Sequence[str]) -> FloatArray:
        """float32 [len(terms)]: BM25's inverse document frequency, over chunks; 0 for a term that no chunk has."""
        return self._lexical().idf(terms) if self.size else np.zeros(len(terms), np.float32)

    def near(self, term: str) -> Mapping[str, int]:
        """Terms that one slip makes of ``term`` (``spelling``), each with the number of chunks that hold it."""
        return self._lexical().near(term) if self.size else {}

    def pairs(self, character: str) -> Mapping[str, int]:
        """Terms of two characters that begin with ``character``, each with the number of chunks that hold it."""
        return self._lexical().pairs(character) if self.size else {}

    def _lexical(self) -> Lexical:
        if self._terms is None:
            parts = [(segment.terms, own) for segment, own in zip(self._segments, self._rows, strict=True)]
            self._terms = Lexical(parts, self.size)
        return self._terms

    def chunk_vectors(self, rows: IntArray) -> FloatArray:
        """float32 [len(rows), d], unit rows."""
        result = np.zeros((len(rows), self._manifest.dimension), dtype=np.float32)
        numbers, chunks = self._places[1][rows], self._places[2][rows]
        for number in np.unique(numbers).tolist():
            mine = numbers == number
            result[mine] = self._segments[number].vectors(CHUNK_VECTORS).rows(chunks[mine])
        return result

    def sentence_vectors(self, rows: IntArray) -> tuple[FloatArray, IntArray]:
        """float32 [s, d] of the rows' sentences one after the other, and int64 [len(rows) + 1] where each begins."""
        return self._gathered(rows, SENTENCES, lambda segment, places: segment.sentence_vectors(places))

    def intent_vectors(self, rows: IntArray) -> tuple[FloatArray, IntArray]:
        """The same for the rows' intents."""
        return self._gathered(rows, INTENTS, lambda segment, places: segment.vectors(INTENT_VECTORS).rows(places))

    def sentence_terms(self, rows: IntArray) -> tuple[npt.NDArray[np.uint32], IntArray]:
        """Hashes of the rows' sentences' distinct terms, uint32 [p], and int64 [s + 1] where each sentence's begin.

        Sentences are in the order of ``sentence_vectors``.
        """
        return self._held(rows, np.zeros(0, np.uint32), Segment.sentence_terms)

    def sentence_tokens(self, rows: IntArray) -> tuple[npt.NDArray[np.uint8], IntArray]:
        """The same for the codes of their tokens (``tokencodes``), uint8 [t, b]."""
        return self._held(rows, self._no_codes, Segment.sentence_tokens)

    @property
    def _no_codes(self) -> npt.NDArray[np.uint8]:
        return np.zeros((0, code_size(self._manifest.dimension)), dtype=np.uint8)

    def heading_tokens(self, rows: IntArray) -> tuple[npt.NDArray[np.uint8], IntArray]:
        """The same for the tokens of the rows' headings, uint8 [t, b]; int64 [len(rows) + 1] where each row's begin."""
        numbers, chunks = self._places[1][rows], self._places[2][rows]
        ones = np.ones(len(rows), dtype=np.int64)
        return self._joined(numbers, chunks, ones, self._no_codes, Segment.heading_tokens)

    def _held(self, rows: IntArray, none: npt.NDArray[Any], take: Take) -> tuple[npt.NDArray[Any], IntArray]:
        """What the sentences of all rows hold, any number of values like those of ``none`` each."""
        starts, counts = self._bounds(rows, SENTENCES)
        return self._joined(self._places[1][rows], starts, counts, none, take)

    def _bounds(self, rows: IntArray, columns: slice) -> tuple[IntArray, IntArray]:
        """Where what belongs to the rows begins in their segments, and how much it is, int64 [len(rows)] each.

        columns: of a segment's table, where it begins and ends.
        """
        numbers, chunks = self._places[1][rows], self._places[2][rows]
        bounds = np.zeros((len(rows), 2), dtype=np.int64)
        for number in np.unique(numbers).tolist():
            mine = numbers == number
            bounds[mine] = self._segments[number].table[chunks[mine], columns]
        return bounds[:, 0], bounds[:, 1] - bounds[:, 0]

    def _joined(
        self,
        numbers: IntArray,
        starts: IntArray,
        counts: IntArray,
        none: npt.NDArray[Any],
        take: Take,
    ) -> tuple[npt.NDArray[Any], IntArray]:
        """What ``counts`` places from each of ``starts`` on hold in the segments with these numbers, all int64 [rows].

        Values one after the other, and int64 [sum of counts + 1], where those of each place begin.
        """
        first = np.cumsum(counts) - counts
        held = np.zeros(int(counts.sum()), dtype=np.int64)
        found = []
        for number in np.unique(numbers).tolist():
            mine = numbers == number
            values, own = take(self._segments[number], expand(starts[mine], counts[mine]))
            places = expand(first[mine], counts[mine])
            held[places] = own
            found.append((places, values, own))
        offsets = np.concatenate([[0], np.cumsum(held)]).astype(np.int64)
        if len(found) == 1:
            return found[0][1], offsets
        result = np.zeros((int(offsets[-1]), *none.shape[1:]), dtype=none.dtype)
        for places, values, own in found:
            result[expand(offsets[:-1][places], own)] = values
        return result, offsets

    def _gathered(
        self, rows: IntArray, columns: slice, take: Callable[[Segment, IntArray], npt.NDArray[Any]]
    ) -> tuple[FloatArray, IntArray]:
        """Vectors of all rows; ``columns`` of a segment's table say where those of a chunk begin and end."""
        numbers = self._places[1][rows]
        starts, counts = self._bounds(rows, columns)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        result = np.zeros((int(offsets[-1]), self._manifest.dimension), dtype=np.float32)
        for number in np.unique(numbers).tolist():
            mine = numbers == number
            places = expand(starts[mine], counts[mine])
            result[expand(offsets[:-1][mine], counts[mine])] = take(self._segments[number], places)
        return result, offsets

    def sentence_spans(self, row: int) -> IntArray:
        """int64 [s, 2]: the row's sentences in code points."""
        segment, chunk = self._segment(row)
        return np.array(segment.sentence_spans(chunk))

    def sentence_gaps(self, row: int) -> IntArray:
        """int64 [s]: what is before each of the row's sentences, from ``answers.sentence_gaps``."""
        segment, chunk = self._segment(row)
        return segment.sentence_gaps(chunk).astype(np.int64)

    def chunks(self, rows: Sequence[int]) -> list[Chunk]:
        """The chunks of ``rows``, whole, with their intents."""
        with sql_errors(self._folder):
            return [self._chunk(row) for row in rows]

    def _chunk(self, row: int) -> Chunk:
        number = int(self._places[0][row])
        segment, chunk = self._segment(row)
        ordinal = chunk - int(self._documents.table[number, FIRST])
        data = read_chunk(self._folder, self._db, self._documents.edition(number), ordinal)
        found = decode_chunk(data, self._documents.paths(number)[0])
        if found.id != self._id_bytes[row].tobytes().hex():
            raise damaged(segment.folder, "a chunk is not where it should be")
        return found

    def document(self, document_id: str) -> Document:
        """The document whose id begins with ``document_id``, with text and blocks, under its first path.

        Raises:
            NothingFound: no document's id, or several, begin like that.
        """
        number = self._number_of(document_id)
        edition = self._documents.edition(number)
        with sql_errors(self._folder):
            text = decode_text(read_part(self._folder, self._db, edition, "text"))
            found = decode_document(read_part(self._folder, self._db, edition, "document"), text)
        return replace(found, path=self._documents.paths(number)[0])

    def source_lines(self, document_id: str) -> IntArray:
        """int64 [n, 2]: where lines of the document's source begin in its text, and their numbers, ascending."""
        edition = self._documents.edition(self._number_of(document_id))
        with sql_errors(self._folder):
            return decode_lines(read_part(self._folder, self._db, edition, "document"))

    def _number_of(self, prefix: str) -> int:
        number = self._documents.find(prefix)
        if number is not None:
            return number
        ids = {record.document_id for record in self.sources().values() if record.document_id}
        matching = [known for known in ids if prefix and known.startswith(prefix)]
        number = self._documents.find(matching[0]) if len(matching) == 1 else None
        if number is None:
            what = f"{len(matching)} documents have an id that begins with" if matching else "no document has the id"
            raise NothingFound(f"{what} {prefix}", hint="idc-local status -v --format json lists documents")
        return number

    def document_text(self, document_id: str) -> str:
        """The extracted text of a document."""
        return self.document(document_id).text

    def all_intents(self) -> Iterator[tuple[int, Intent]]:
        """Every intent with its row, in order of row."""
        for row in range(self.size):
            for intent in self.chunks([row])[0].intents:
                yield row, intent


def _allowed_chunks(rows: IntArray, allowed: BoolArray | None) -> BoolArray | None:
    """For each chunk of a segment that may be found; None where all may."""
    live = rows >= 0
    if allowed is not None:
        live &= allowed[rows]
    return None if live.all() else live


def _best_owners(segment: Segment, query: FloatArray, k: int, allowed: BoolArray | None) -> Top:
    """Best score and chunk of at least the best ``k`` chunks by their best intent, ties included."""
    owner = segment.intent_owner()
    vectors = segment.vectors(INTENT_VECTORS)
    asked = k
    while True:
        found = vectors.top(query, asked, None if allowed is None else allowed[owner])
        chunks, places = np.unique(owner[found.positions], return_inverse=True)
        if found.complete or chunks.shape[0] >= k:
            scores = np.full(chunks.shape[0], -np.inf, dtype=np.float32)
            np.maximum.at(scores, places, found.scores)
            return scores, chunks.astype(np.int64)
        asked *= 4
