"""Speed of search: the first answer of a cold process, and the answers of a warm one."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from growth import CHUNKS, Corpus, put
from speedkit import Bench, Result, Seconds, compared, in_turn, listed, timed_command

from idc_local.config import load_settings
from idc_local.embedding import writer_fingerprint
from idc_local.runtime import Runtime
from idc_local.store import Writer
from idc_local.types import Query

INDEX_CHUNKS = 10_000
WARM_QUERIES = 100
QUESTIONS = (
    "What does setting max_retry_count to 0 do?",
    "How early must the personnel office be told about parental leave?",
    "When may the buyer end the agreement?",
    "Why do muscle cells hold thousands of mitochondria?",
)
REFERENCE = """
import sys
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu", local_files_only=True)
model.encode([sys.argv[2]])
"""


def search(bench: Bench) -> Result:
    """Cold: a whole process, against one that imports sentence-transformers, loads the model and encodes the query.

    Warm: a search, against encoding its query alone with the same encoder, one after the other for each query.
    """
    folder = bench.work / "index"
    make_index(bench, folder, bench.sized(INDEX_CHUNKS, CHUNKS))
    model = str(bench.runtime.embedder_files().main)
    own = [sys.executable, "-m", "idc_local", "search", QUESTIONS[0], "--index", str(folder)]
    own += ["--models", str(bench.models)]
    contenders: dict[str, Callable[[], Seconds]] = {
        "idc-local search": lambda: timed_command(own),
        "sentence-transformers": lambda: timed_command([sys.executable, "-c", REFERENCE, model, QUESTIONS[0]]),
        "python alone": lambda: timed_command([sys.executable, "-c", "pass"]),
    }
    for contender in contenders.values():
        contender()
    cold = in_turn(contenders, bench.rounds)
    warm = _warm(bench, folder)
    return {
        "chunks": bench.sized(INDEX_CHUNKS, CHUNKS),
        "seconds": listed(cold),
        **compared(cold["idc-local search"], cold["sentence-transformers"]),
        "mark": 8,
        **warm,
        "warm_mark": 1.5,
    }


def make_index(bench: Bench, folder: Path, chunks: int) -> None:
    """An index of synthetic documents that the default embedder may search."""
    corpus = Corpus(bench.work / "words.txt")
    with Writer.open(folder, writer_fingerprint(bench.runtime.embedder_files())) as writer:
        for number in range(chunks // CHUNKS):
            put(writer, corpus.document(number))
        writer.publish()


def _warm(bench: Bench, folder: Path) -> Result:
    runtime = Runtime(load_settings({"models": bench.models, "index": folder}))
    encoder = runtime._query_encoder(runtime.embedder_files())
    words = Corpus(bench.work / "words.txt").words
    rng = np.random.default_rng(9)
    searches: list[float] = []
    encodings: list[float] = []
    with runtime.searcher() as searcher:
        searcher.search(Query(QUESTIONS[0]), 10)
        for number in range(bench.sized(WARM_QUERIES, 10)):
            made = " ".join(rng.choice(words, 3).tolist())
            query = f"{QUESTIONS[number % len(QUESTIONS)][:-1]} {made}?"
            began = time.perf_counter()
            encoder.encode_queries([query])
            encoded = time.perf_counter()
            searcher.search(Query(query), 10)
            searches.append(time.perf_counter() - encoded)
            encodings.append(encoded - began)
    whole, alone = float(np.median(searches)), float(np.median(encodings))
    return {
        "warm_ms": round(1000 * whole, 2),
        "encode_ms": round(1000 * alone, 2),
        "warm_p95_ms": round(1000 * float(np.percentile(searches, 95)), 2),
        "warm_to_encode": round(whole / alone, 2),
    }
