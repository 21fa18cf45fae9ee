"""How an index grows: time, memory, disk and recall from a thousand to a million chunks of synthetic text.

Documents of 25 chunks go through the store as the program's own do; only reading, cutting and embedding are left
out: words are made up, and vectors are drawn around some thousand topics, so that near neighbours are about as near
as those of real sentences. Searching is the whole of it (dense, BM25, sentences, fusion), less the query's embedding.
Each size is measured in a process of its own. Writes ``growth.csv`` and the pictures into the output folder.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from idc_local.fingerprint import chunk_id, document_id, sha256_hex
from idc_local.indexed import IndexedDocument, no_headings
from idc_local.plots import Plot, PlotLine, Point, draw_plots
from idc_local.ports import Tokens
from idc_local.ranking import RankingWeights
from idc_local.searching import Searcher
from idc_local.store import Snapshot, Writer, coding
from idc_local.store.blocks import BlockFolder, BlockWriter
from idc_local.store.generation import FULL
from idc_local.store.vectors import CodeFile, VectorFile, best, write_codes, write_vectors
from idc_local.terms import lexical_terms
from idc_local.tokencodes import code_size
from idc_local.types import (
    Block,
    BlockKind,
    Chunk,
    Document,
    FloatArray,
    IntArray,
    Intent,
    JsonValue,
    Query,
    Sentences,
    SourceRecord,
    Span,
)

DIMENSION = 384
FINGERPRINT: dict[str, JsonValue] = {"embedder": "synthetic", "embedder_name": "synthetic", "dimension": DIMENSION}
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
CHUNKS, SENTENCES, WORDS = 25, 4, 16
"""Chunks of a document, sentences of a chunk, words of a sentence."""

VOCABULARY, TOPICS, TOPIC_WORDS = 60_000, 4_000, 300
LETTERS = ("bdfgklmnprtvz", "aou", "bdfgklmnprtvz", "aou", "bdfgklmnprtvz", "aou", "kmpt")
QUERIES = 200
Values: TypeAlias = Any
"""An array of floats, or of words."""


class Corpus:
    """Documents by number: the same number always gives the same document."""

    def __init__(self, words: Path) -> None:
        rng = np.random.default_rng(1)
        if not words.is_file():
            words.write_text("\n".join(make_words(rng)), encoding="utf-8")
        self.words = np.array(words.read_text(encoding="utf-8").split("\n"), dtype=object)
        frequency = 1.0 / np.arange(2, VOCABULARY + 2)
        self._common = np.cumsum(frequency / frequency.sum())
        fields_of_topics = rng.standard_normal((60, DIMENSION)) * 0.7
        own = rng.standard_normal((TOPICS, DIMENSION))
        shared = rng.standard_normal(DIMENSION) * 0.4
        self._centres = unit(fields_of_topics[rng.integers(0, 60, TOPICS)] + own + shared)
        self._topic_words = rng.integers(0, VOCABULARY, (TOPICS, TOPIC_WORDS))

    def document(self, number: int) -> IndexedDocument:
        """One document about a topic of its own, with an intent on every third chunk."""
        rng = np.random.default_rng([7, number])
        topic = int(rng.integers(0, TOPICS))
        words = self._draw(rng, topic)
        sentences = [[" ".join(own.tolist()).capitalize() + ". " for own in chunk] for chunk in words]
        text = "".join(sentence for chunk in sentences for sentence in chunk)
        ends = np.cumsum([len(sentence) for chunk in sentences for sentence in chunk], dtype=np.int64)
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        vectors = self._vectors(rng, topic)
        document = _document(text, f"{number % 97:02d}/{number:06d}.txt")
        codes = np.frombuffer(rng.bytes(len(ends) * WORDS * code_size(DIMENSION)), np.uint8).reshape(len(ends), -1)
        chunks = [
            _chunk(document, int(starts[place * SENTENCES]), int(ends[place * SENTENCES + SENTENCES - 1]))
            for place in range(CHUNKS)
        ]
        asked = np.arange(0, CHUNKS, 3)
        intents = tuple(_intent(chunks[place], int(ends[place * SENTENCES])) for place in asked.tolist())
        zeros = np.zeros(len(ends), dtype=np.int64)
        return IndexedDocument(
            document=document,
            language="en",
            sentences=Sentences(starts, ends, zeros + WORDS, zeros, zeros, zeros, zeros.astype(np.bool_)),
            ranges=np.stack([np.arange(CHUNKS) * SENTENCES, np.arange(1, CHUNKS + 1) * SENTENCES], axis=1),
            chunks=tuple(chunks),
            intents=intents,
            intent_chunk=asked.astype(np.int64),
            sentence_vectors=vectors,
            chunk_vectors=unit(vectors.reshape(CHUNKS, SENTENCES, DIMENSION).mean(axis=1)),
            intent_vectors=halved(unit(vectors[asked * SENTENCES] + noise(rng, len(asked), 0.5))),
            terms=tuple(tuple(chunk.reshape(-1).tolist()) for chunk in words),
            sentence_terms=tuple(tuple(own.tolist()) for chunk in words for own in chunk),
            headings=no_headings(CHUNKS, DIMENSION),
            recipe="growth",
            token_codes=lambda first, last: [codes[place].tobytes() for place in range(first, last)],
        )

    def chunk_vectors(self, start: int, count: int) -> FloatArray:
        """float32 [count, d]: vectors as those of chunks, without any chunks."""
        rng = np.random.default_rng([9, start])
        documents = self._centres[rng.integers(0, TOPICS, -(-count // CHUNKS))]
        documents = documents + noise(rng, len(documents), 0.55)
        chunks = np.repeat(documents, CHUNKS, axis=0)[:count]
        return unit(chunks + noise(rng, count, 0.5) + noise(rng, count, 0.75 / SENTENCES**0.5))

    def _draw(self, rng: np.random.Generator, topic: int) -> Values:
        """Words, [chunks, sentences, words]: half of them of the topic, half of the language."""
        shape = (CHUNKS, SENTENCES, WORDS)
        common = np.searchsorted(self._common, rng.random(shape))
        own = self._topic_words[topic][(rng.random(shape) ** 2 * TOPIC_WORDS).astype(np.int64)]
        return self.words[np.where(rng.random(shape) < 0.5, common, own)]

    def _vectors(self, rng: np.random.Generator, topic: int) -> FloatArray:
        """float32 [sentences, d]: around the topic, the document's part of it, and the chunk's part of that."""
        document = self._centres[topic] + noise(rng, 1, 0.55)
        chunks = np.repeat(document + noise(rng, CHUNKS, 0.5), SENTENCES, axis=0)
        return halved(unit(chunks + noise(rng, CHUNKS * SENTENCES, 0.75)))


def make_words(rng: np.random.Generator) -> list[str]:
    """Made-up words that are terms just as they stand."""
    found: dict[str, None] = {}
    while len(found) < VOCABULARY:
        numbers = rng.integers(0, [len(part) for part in LETTERS], (1000, len(LETTERS))).tolist()
        made = ["".join(part[number] for part, number in zip(LETTERS, own, strict=True)) for own in numbers]
        found |= dict.fromkeys(word for word in made if list(lexical_terms(word, "en")) == [word])
    return list(found)[:VOCABULARY]


def unit(values: Values) -> FloatArray:
    """Rows of length one, float32."""
    return np.asarray(values / np.linalg.norm(values, axis=-1, keepdims=True), dtype=np.float32)


def halved(values: FloatArray) -> FloatArray:
    """The values as float16 has them."""
    return values.astype(np.float16).astype(np.float32)


def noise(rng: np.random.Generator, rows: int, length: float) -> Values:
    """[rows, d]: random directions of about the given length."""
    return rng.standard_normal((rows, DIMENSION)) * (length / DIMENSION**0.5)


def _document(text: str, path: str) -> Document:
    data = text.encode()
    return Document(
        id=document_id("text/plain", data),
        path=path,
        text=text,
        blocks=(Block(BlockKind.PARAGRAPH, 0, len(text), ()),),
        media_type="text/plain",
        encoding="utf-8",
        source_sha256=sha256_hex(data),
        source_bytes=len(data),
        lines=((0, 1),),
    )


def _chunk(document: Document, start: int, end: int) -> Chunk:
    text = document.text[start:end]
    return Chunk(
        id=chunk_id(document.id, start, end, text),
        document_id=document.id,
        path=document.path,
        start=start,
        end=end,
        text=text,
        heading="",
        page=None,
        line_start=1,
        line_end=1,
        tokens=SENTENCES * WORDS,
        context="",
        intents=(),
    )


def _intent(chunk: Chunk, end: int) -> Intent:
    words = chunk.text.split(maxsplit=4)[:4]
    return Intent(f"What about {' '.join(words)}?", chunk.start, end, Span(chunk.start, end), 0.5, "model")


def put(writer: Writer, indexed: IndexedDocument) -> None:
    """What an indexing run does with a document once it is embedded: cached vectors, document, source."""
    keys = [hashlib.sha256(vector.tobytes()).hexdigest() for vector in indexed.sentence_vectors]
    writer.put_vectors(keys, indexed.sentence_vectors, indexed.token_codes(0, len(keys)))
    writer.put_document(indexed)
    document = indexed.document
    size, digest = document.source_bytes, document.source_sha256
    writer.put_source(SourceRecord(document.path, size, 1, digest, document.id, encoding="utf-8", root="/growth"))


@dataclass(frozen=True, slots=True)
class Measured:
    """One row of the curve. Times in seconds (searches in milliseconds), sizes in bytes.

    The ``cpu`` ones are processor time of all threads, which other programs on the machine do not lengthen.
    """

    chunks: int
    documents: int
    build_s: float
    build_cpu_s: float
    publish_s: float
    publish_cpu_s: float
    add_one_s: float
    add_one_cpu_s: float
    remove_one_s: float
    remove_one_cpu_s: float
    open_ms: float
    first_ms: float
    p50_ms: float
    p95_ms: float
    p50_cpu_ms: float
    dense_p50_ms: float
    dense_cpu_ms: float
    recall_10: float
    recall_100: float
    search_peak_bytes: int
    search_own_bytes: int
    build_peak_bytes: int
    disk_bytes: int
    database_bytes: int
    derived_bytes: int


def peak() -> int:
    """Most memory that this process had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def anonymous() -> int:
    """Memory of this process that is no part of a file, in bytes; 0 where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds that ``work`` takes, and seconds of processor time."""
    began, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - used


def middle(times: Sequence[tuple[float, float]], percent: int = 50, column: int = 0) -> float:
    """A percentile in milliseconds; column 1 is processor time."""
    return float(np.percentile([own[column] for own in times], percent)) * 1e3


class KnownQueries:
    """A query encoder with the vectors at hand."""

    def __init__(self, vectors: dict[str, FloatArray]) -> None:
        self._vectors = vectors

    def encode_queries(self, texts: Sequence[str]) -> FloatArray:
        """float32 [len(texts), d]; the next one in line, whatever parts a query is taken apart into."""
        return np.stack([self._vectors[text] for text in texts])

    def query_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The query's own vector for each of its words."""
        return [Tokens(np.stack([self._vectors[text]] * len(text.split())), text.split()) for text in texts]


def make_queries(corpus: Corpus, documents: int) -> dict[str, FloatArray]:
    """Five words of some chunk, with a vector near its own."""
    queries: dict[str, FloatArray] = {}
    rng = np.random.default_rng(3)
    while len(queries) < QUERIES:
        indexed = corpus.document(int(rng.integers(0, documents)))
        chunk = int(rng.integers(0, CHUNKS))
        text = " ".join(rng.choice(np.array(indexed.terms[chunk]), 5, replace=False).tolist())
        queries[text] = unit(indexed.chunk_vectors[chunk] + noise(rng, 1, 0.6)[0])
    return queries


def search(folder: Path, corpus: Corpus, documents: int) -> dict[str, float]:
    """Figures of a process that searches: opening, the first answer, the others, and recall of the vector list."""
    queries = make_queries(corpus, documents)
    began = time.perf_counter()
    with Snapshot.open(folder) as snapshot:
        opened = time.perf_counter() - began
        searcher = Searcher(snapshot, KnownQueries(queries), RankingWeights())
        asked = [Query(text, "") for text in queries]
        first = timed(lambda: searcher.search(asked[0], 10))
        times = [timed(lambda query=query: searcher.search(query, 10)) for query in asked[1:]]  # type: ignore[misc]
        own, held = peak(), anonymous()
        dense = [timed(lambda vector=vector: snapshot.dense(vector, 100)) for vector in queries.values()]  # type: ignore[misc]
        recall = _recall(snapshot, np.stack(list(queries.values())))
    return {
        "open_ms": opened * 1e3,
        "first_ms": first[0] * 1e3,
        "p50_ms": middle(times),
        "p95_ms": middle(times, 95),
        "p50_cpu_ms": middle(times, column=1),
        "dense_p50_ms": middle(dense),
        "dense_cpu_ms": middle(dense, column=1),
        "recall_10": recall[0],
        "recall_100": recall[1],
        "search_peak_bytes": own,
        "search_own_bytes": held,
    }


def _recall(snapshot: Snapshot, queries: FloatArray) -> tuple[float, float]:
    """Share of the exact ten and hundred best vectors that the index finds."""
    found = [snapshot.dense(query, 100)[1] for query in queries]
    best: list[tuple[FloatArray, IntArray]] = []
    for start in range(0, snapshot.size, 50_000):
        rows = np.arange(start, min(start + 50_000, snapshot.size))
        scores = queries @ snapshot.chunk_vectors(rows).T
        keep = np.argsort(-scores, axis=1, kind="stable")[:, :100]
        best.append((np.take_along_axis(scores, keep, axis=1), rows[keep]))
    scores, places = (np.concatenate(parts, axis=1) for parts in zip(*best, strict=True))
    order = np.argsort(-scores, axis=1, kind="stable")
    exact = np.take_along_axis(places, order, axis=1)
    shares = [
        float(np.mean([np.isin(exact[row, :k], own[:k]).mean() for row, own in enumerate(found)])) for k in (10, 100)
    ]
    return shares[0], shares[1]


def change(folder: Path, corpus: Corpus, number: int) -> dict[str, float]:
    """Seconds to add one document that is ready, and to remove it again, each from opening to closing the index."""
    indexed = corpus.document(number)

    def add() -> None:
        with Writer.open(folder, FINGERPRINT) as writer:
            put(writer, indexed)
            writer.publish()

    def remove() -> None:
        with Writer.open(folder, FINGERPRINT) as writer:
            writer.drop_source(indexed.document.path)
            writer.publish()

    added, removed = timed(add), timed(remove)
    return {
        "add_one_s": added[0],
        "add_one_cpu_s": added[1],
        "remove_one_s": removed[0],
        "remove_one_cpu_s": removed[1],
    }


def grow(folder: Path, corpus: Corpus, first: int, last: int) -> dict[str, float]:
    """Seconds to store documents ``first`` to ``last``, and to publish them."""
    documents: list[tuple[float, float]] = []
    with Writer.open(folder, FINGERPRINT) as writer:
        for number in range(first, last):
            indexed = corpus.document(number)
            documents.append(timed(lambda indexed=indexed: put(writer, indexed)))  # type: ignore[misc]
        publish = timed(writer.publish)
    return {
        "build_s": sum(own[0] for own in documents),
        "build_cpu_s": sum(own[1] for own in documents),
        "publish_s": publish[0],
        "publish_cpu_s": publish[1],
        "build_peak_bytes": peak(),
    }


def in_a_process(step: str, folder: Path, *numbers: int) -> dict[str, float]:
    """Runs one step in a process of its own."""
    command = [sys.executable, __file__, "--step", step, "--folder", str(folder), *map(str, numbers)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(folder: Path, size: int, before: int) -> Measured:
    """Grows the index from ``before`` to ``size`` chunks and measures it."""
    documents = size // CHUNKS
    figures = in_a_process("grow", folder, before // CHUNKS, documents)
    figures |= in_a_process("search", folder, documents)
    files = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    database = sum(value for path, value in files.items() if path.name.startswith("index.sqlite"))
    figures |= in_a_process("change", folder, 9_000_000 + size)
    facts: dict[str, Any] = {field.name: figures.get(field.name, 0) for field in fields(Measured)}
    return Measured(
        **facts
        | {
            "chunks": size,
            "documents": documents,
            "disk_bytes": sum(files.values()),
            "database_bytes": database,
            "derived_bytes": sum(files.values()) - database,
        }
    )


LABELS = {
    "p50_ms": "median",
    "p95_ms": "95th percentile",
    "p50_cpu_ms": "median, processor time",
    "add_one_s": "one document added",
    "add_one_cpu_s": "one document added, processor time",
    "search_peak_bytes": "of a search, mapped files included",
    "search_own_bytes": "of a search, its own",
    "build_peak_bytes": "of indexing",
}


def report(rows: Sequence[Measured], out: Path) -> None:
    """Writes the table and the pictures."""
    out.mkdir(parents=True, exist_ok=True)
    names = [field.name for field in fields(Measured)]
    with (out / "growth.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_cell(getattr(row, name)) for name in names] for row in rows)
    draw_plots(
        [
            _plot(rows, "growth-search", "Time of a search", "milliseconds", ("p50_ms", "p95_ms", "p50_cpu_ms")),
            _plot(rows, "growth-change", "Time of one change", "seconds", ("add_one_s", "add_one_cpu_s")),
            _plot(
                rows,
                "growth-memory",
                "Memory at most",
                "gigabytes",
                ("search_peak_bytes", "search_own_bytes", "build_peak_bytes"),
                unit=1e9,
            ),
        ],
        out,
    )


def _cell(value: float) -> str:
    return str(value) if isinstance(value, int) or float(value).is_integer() else f"{value:.4f}"


def _plot(
    rows: Sequence[Measured], file: str, title: str, unit_name: str, names: Sequence[str], unit: float = 1.0
) -> Plot:
    lines = []
    for name in names:
        values = [float(getattr(row, name)) / unit for row in rows]
        points = [Point(row.chunks, value, value, value) for row, value in zip(rows, values, strict=True)]
        lines.append(PlotLine(LABELS[name], tuple(points), band=False))
    return Plot(file, title, "chunks in the index", unit_name, tuple(lines), x_log=True)


@dataclass(frozen=True)
class Part:
    """A segment with nothing but chunk vectors."""

    codes: CodeFile
    file: VectorFile

    def vectors(self, name: str) -> VectorFile:
        """The chunk vectors."""
        return self.file


def vectors(folder: Path, corpus: Corpus, count: int) -> dict[str, float]:
    """Figures of the vector list alone, over so many chunk vectors in segments of the largest size."""
    folder.mkdir(parents=True, exist_ok=True)
    parts, rows, queries, used = [], [], [], 0.0
    for start in range(0, count, FULL):
        own = corpus.chunk_vectors(start, min(FULL, count - start))
        queries.append(own[:: max(1, FULL // 25)])
        writer = BlockWriter(folder / str(start))
        writer.folder.mkdir()
        writer.write("chunks.faiss", lambda sink, own=own: write_vectors(sink.write, [own], DIMENSION))  # type: ignore[misc]
        used += timed(lambda writer=writer, own=own: writer.write("codes", _code_writer(own)))[1]  # type: ignore[misc]
        place = BlockFolder(writer.folder, writer.finish())
        file = VectorFile(place.folder / "chunks.faiss", len(own), DIMENSION, place.file("chunks.faiss"))
        parts.append(Part(CodeFile(place.folder / "codes", len(own), DIMENSION), file))
        rows.append(np.arange(start, start + len(own)))
    segments: Any = parts
    asked = np.concatenate(queries)
    asked = unit(asked + noise(np.random.default_rng(3), len(asked), 0.6))
    exact, flat, found, coded = [], [], [], []
    for query in asked:
        flat.append(timed(lambda query=query: exact.append(_exactly(parts, rows, query))))  # type: ignore[misc]
    for query in asked:
        coded.append(timed(lambda query=query: found.append(coding.coded(segments, rows, query, 100)[1])))  # type: ignore[misc]
    recall = [
        float(np.mean([np.isin(one[:k], other[:k]).mean() for one, other in zip(exact, found, strict=True)]))
        for k in (10, 100)
    ]
    return {
        "vectors": count,
        "queries": len(asked),
        "flat_p50_ms": middle(flat),
        "flat_cpu_ms": middle(flat, column=1),
        "coded_p50_ms": middle(coded),
        "coded_p95_ms": middle(coded, 95),
        "coded_cpu_ms": middle(coded, column=1),
        "recall_10": recall[0],
        "recall_100": recall[1],
        "coding_cpu_s": used,
        "codes_bytes": sum(path.stat().st_size for path in folder.glob("*/codes")),
        "vectors_bytes": sum(path.stat().st_size for path in folder.glob("*/chunks.faiss")),
        "peak_bytes": peak(),
    }


def _code_writer(values: FloatArray) -> Callable[[Any], object]:
    return lambda sink: write_codes(sink.write, [values], DIMENSION)


def _exactly(parts: Sequence[Part], rows: Sequence[IntArray], query: FloatArray) -> IntArray:
    found = [part.file.top(query, 100, None) for part in parts]
    scores = np.concatenate([own.scores for own in found])
    places = np.concatenate([own[one.positions] for own, one in zip(rows, found, strict=True)])
    return best(scores, places, 100)[1]


STEPS: dict[str, Callable[..., dict[str, float]]] = {
    "grow": grow,
    "search": search,
    "change": change,
    "vectors": vectors,
}


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("numbers", nargs="*", type=int, help="sizes in chunks (default: 1,000 to 1,000,000)")
    parser.add_argument("--folder", type=Path, default=Path("build/growth"), help="where the index is made")
    parser.add_argument("--out", type=Path, default=Path("docs/results"), help="where the results go")
    parser.add_argument("--vectors", type=int, metavar="N", help="only the vector list, over N vectors and no texts")
    parser.add_argument("--keep", action="store_true", help="leave the index there")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        corpus = Corpus(options.folder.with_suffix(".words"))
        found = STEPS[options.step](options.folder, corpus, *options.numbers)
        print(json.dumps(found))
        return
    shutil.rmtree(options.folder, ignore_errors=True)
    if options.vectors:
        figures = in_a_process("vectors", options.folder, options.vectors)
        options.out.mkdir(parents=True, exist_ok=True)
        lines = [f"{name},{_cell(value)}" for name, value in figures.items()]
        (options.out / "growth-vectors.csv").write_text("\n".join(["figure,value", *lines, ""]), encoding="utf-8")
        shutil.rmtree(options.folder)
        return
    options.folder.parent.mkdir(parents=True, exist_ok=True)
    rows: list[Measured] = []
    for size in sorted(options.numbers or SIZES):
        began = time.monotonic()
        rows.append(measure(options.folder, size, rows[-1].chunks if rows else 0))
        report(rows, options.out)
        print(f"{size:,} chunks in {time.monotonic() - began:.0f} s: {rows[-1]}", file=sys.stderr, flush=True)
    if not options.keep:
        shutil.rmtree(options.folder)


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    main()
