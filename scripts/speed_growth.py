"""How the cost of indexing grows, and how much memory it takes."""

from __future__ import annotations

import json
import resource
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from speedkit import Bench, FreeEmbedder, Result, Seconds, exponent, say, sentence_pieces, timed, timed_command

from idc_local.embedding import CachedEmbedder
from idc_local.indexing import IndexOptions, IndexRun
from idc_local.memory import MemoryCache, Silent
from idc_local.store import Writer

MEMORY_BYTES = 50_000_000
DOCUMENT_CHARS = 4_000
STEPS = (1, 10, 100)
BASE_DOCUMENTS = 10


def pool(bench: Bench) -> list[str]:
    """Sentences of real documents that longer texts are made of."""
    found: list[str] = []
    for name in ("covidqa", "squad_new_wiki", "aws_docs"):
        for text in bench.texts(name)[:8]:
            found += sentence_pieces(*bench.split(text[:20_000]))
    return list(dict.fromkeys(found))


def made_text(sentences: list[str], characters: int, seed: int) -> str:
    """A text of about so many characters: paragraphs of sentences from the pool, a word of each exchanged.

    So hardly any two are alike, as in real texts: each has vectors, keys and codes of its own.
    """
    rng = np.random.default_rng(seed)
    words = [word for word in " ".join(sentences).split() if word.isalpha()]
    parts: list[str] = []
    length = 0
    while length < characters:
        paragraph = " ".join(_varied(sentences[place], words, rng) for place in rng.integers(0, len(sentences), 5))
        parts.append(paragraph)
        length += len(paragraph) + 2
    return "\n\n".join(parts)


def _varied(sentence: str, words: list[str], rng: np.random.Generator) -> str:
    """A sentence with one of its words exchanged, but not the last, which ends it."""
    own = sentence.split()
    if len(own) > 1:
        own[int(rng.integers(0, len(own) - 1))] = words[int(rng.integers(0, len(words)))]
    return " ".join(own)


def index_free(bench: Bench, folder: Path, files: Path) -> Seconds:
    """Indexing files without intents, with vectors that cost nothing: what is left is the package's own work."""
    free = FreeEmbedder()
    real = bench.runtime.pipeline_ports(MemoryCache(), "off")
    fingerprint: dict[str, Any] = {"embedder": "free", "embedder_name": "free", "dimension": free.dimension}

    def run() -> None:
        with Writer.open(folder, fingerprint) as writer:
            embedder = CachedEmbedder(lambda: free, writer, free.dimension, Silent())
            ports = replace(real, embedder=embedder, embedder_fingerprint="free", cache=writer)
            IndexRun(writer, IndexOptions(intents="off"), ports).run([files])

    return timed(run)


def cost_growth(bench: Bench) -> Result:
    """Seconds by number of documents and by length of one document, each ×1, ×10 and ×100."""
    sentences = pool(bench)
    chars = bench.sized(DOCUMENT_CHARS, 500)
    curves: Result = {}
    for name, plan in (
        ("documents", [(BASE_DOCUMENTS * step, chars) for step in STEPS]),
        ("length", [(1, BASE_DOCUMENTS * chars * step) for step in STEPS]),
    ):
        rows = [_measure_growth(bench, sentences, count, length) for count, length in plan]
        sizes = [count * length / (BASE_DOCUMENTS * chars) for count, length in plan]
        curves[name] = {
            "times": sizes,
            "characters": [count * length for count, length in plan],
            "seconds": [round(one.wall, 3) for one in rows],
            "cpu_seconds": [round(one.cpu, 3) for one in rows],
            "exponent": exponent(sizes, [one.cpu for one in rows]),
            "exponent_of_last_step": exponent(sizes[-2:], [one.cpu for one in rows[-2:]]),
        }
    return curves


def _measure_growth(bench: Bench, sentences: list[str], count: int, length: int) -> Seconds:
    files, folder = bench.work / "growth", bench.work / "growth-index"
    for place in (files, folder):
        shutil.rmtree(place, ignore_errors=True)
    write_files(files, sentences, count, length)
    return index_free(bench, folder, files)


def write_files(folder: Path, sentences: list[str], count: int, length: int) -> None:
    """Text files of about so many characters each."""
    folder.mkdir(parents=True)
    for number in range(count):
        (folder / f"{number:05d}.txt").write_text(made_text(sentences, length, number), encoding="utf-8")


def memory(bench: Bench) -> Result:
    """Most memory that ``index`` takes for 50 MB of text, with the real embedder and intents off.

    Once as files of 50 kB, once as a single file, in that order of rising need.
    """
    sentences = pool(bench)
    size = bench.sized(MEMORY_BYTES)
    plans = {"many files": (max(1, size // 50_000), min(size, 50_000)), "one file": (1, size)}
    rows: Result = {}
    for name, (count, length) in plans.items():
        files = bench.work / name.replace(" ", "-")
        write_files(files, sentences, count, length)
        rows[name] = _indexed(bench, files) | {"files": count, "bytes": sum(f.stat().st_size for f in files.iterdir())}
        say(f"memory, {name}: {json.dumps(rows[name])}")
    return {"rows": rows, "mark_bytes": 2_000_000_000}


def _indexed(bench: Bench, files: Path) -> Result:
    command = [sys.executable, "-m", "idc_local", "index", str(files), "--index", str(files.with_suffix(".idc"))]
    return peak_of([*command, "--intents", "off", "--models", str(bench.models)])


def peak_of(command: list[str]) -> Result:
    """Seconds of a program, and the most memory that it or any program of its had."""
    taken = timed_command(command)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return {"seconds": round(taken.wall, 1), "cpu_seconds": round(taken.cpu, 1), "peak_bytes": peak}
