"""What the speed measurements share: clocks, contenders taken in turn, the texts and models that they work on.

Times are medians over rounds in which all contenders run one after the other (A B A B …), so that whatever else the
machine does meets all of them alike. Each time is measured on the wall and in processor seconds of all threads.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from idc_local.config import load_settings
from idc_local.embedding import CachedEmbedder
from idc_local.memory import MemoryCache, Silent
from idc_local.netguard import seal_environment
from idc_local.ports import TokenCounter, Tokens
from idc_local.readers import read_source
from idc_local.runtime import Runtime
from idc_local.sentences import split_sentences
from idc_local.types import Document, FloatArray, HalfArray, IntArray, Limits, Sentences

ROOT = Path(__file__).resolve().parents[1]
Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Seconds:
    """Seconds on the wall, and processor seconds."""

    wall: float
    cpu: float


def timed(work: Callable[[], object]) -> Seconds:
    """What ``work`` takes in this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Seconds(time.perf_counter() - wall, time.process_time() - cpu)


def timed_command(command: Sequence[str]) -> Seconds:
    """What a program takes from its start to its end, with all that it starts."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    wall, after = time.perf_counter() - wall, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode()[-500:]}")
    return Seconds(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def in_turn(contenders: Mapping[str, Callable[[], Seconds]], rounds: int) -> dict[str, Seconds]:
    """Median seconds of each contender over ``rounds``, in each of which all of them run."""
    taken: dict[str, list[Seconds]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            taken[name].append(contender())
    return {name: median(values) for name, values in taken.items()}


def median(values: Sequence[Seconds]) -> Seconds:
    """Medians of both clocks."""
    return Seconds(statistics.median(one.wall for one in values), statistics.median(one.cpu for one in values))


def compared(own: Seconds, other: Seconds) -> Result:
    """How often the own time goes into the other's, by both clocks."""
    return {"ratio": round(other.wall / own.wall, 2), "cpu_ratio": round(other.cpu / own.cpu, 2)}


def listed(times: Mapping[str, Seconds]) -> Result:
    """Times for the report."""
    return {name: {key: round(value, 4) for key, value in asdict(one).items()} for name, one in times.items()}


@dataclass(frozen=True)
class Bench:
    """What a section works on. data: folder of question sets. scale: 1 for the published sizes, less for a trial."""

    data: Path
    models: Path
    work: Path
    rounds: int
    scale: float

    @cached_property
    def runtime(self) -> Runtime:
        """The default models over no index."""
        seal_environment(os.environ)
        return Runtime(load_settings({"models": self.models, "index": self.work / "none"}))

    def sized(self, count: int, least: int = 1) -> int:
        """A size at this scale."""
        return max(least, round(count * self.scale))

    def texts(self, name: str) -> list[str]:
        """Documents of a question set, in order of their ids."""
        lines = (self.data / name / "documents.jsonl").read_text(encoding="utf-8").splitlines()
        entries = sorted((json.loads(line) for line in lines), key=lambda entry: str(entry["id"]))
        return [str(entry["text"]) for entry in entries]

    def split(self, text: str) -> tuple[Document, Sentences]:
        """A text as the reader and the sentence splitter make it."""
        document = read_source(text.encode(), "text.txt")
        return document, split_sentences(document, self._counter, Limits(), "en")

    def count(self, texts: Sequence[str]) -> IntArray:
        """Word pieces of each text, int64 [len(texts)]."""
        return self._counter.count(texts)

    @cached_property
    def _counter(self) -> TokenCounter:
        return self.runtime.pipeline_ports(MemoryCache(), "off").counter


class FreeEmbedder:
    """Unit vectors that cost next to nothing: a text's first words decide them, by way of a table."""

    dimension = 384
    fingerprint = "free"

    def __init__(self) -> None:
        self._table = np.random.default_rng(2).standard_normal((4096, self.dimension)).astype(np.float32)

    def encode_documents(self, texts: Sequence[str]) -> FloatArray:
        """float32 [len(texts), dimension], unit rows that float16 can hold."""
        rows = [[crc32(word.encode()) & 4095 for word in [*text.split(maxsplit=4)[:4], *"abcd"][:4]] for text in texts]
        vectors = self._table[np.array(rows, dtype=np.int64).reshape(-1, 4)].sum(axis=1)
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(unit.astype(np.float16).astype(np.float32), dtype=np.float32)

    def encode_sentences(self, texts: Sequence[str]) -> tuple[FloatArray, list[Tokens]]:
        """The same, and a vector of the table for each word."""
        return self.encode_documents(texts), self.query_tokens(texts)

    def encode_queries(self, texts: Sequence[str]) -> FloatArray:
        """The same as ``encode_documents``."""
        return self.encode_documents(texts)

    def query_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """A vector of the table for each word."""
        words = [text.split() for text in texts]
        rows = [[crc32(word.encode()) & 4095 for word in own] for own in words]
        return [Tokens(self._table[own], found) for own, found in zip(rows, words, strict=True)]


class FreeDocuments(CachedEmbedder):
    """A pipeline's embedder whose documents' vectors come for nothing, without a cache and without tokens."""

    def __init__(self) -> None:
        self._free = FreeEmbedder()
        super().__init__(lambda: self._free, MemoryCache(), self._free.dimension, Silent())

    def encode_documents(self, texts: Sequence[str], language: str) -> HalfArray:
        """float16 [len(texts), dimension], unit rows."""
        return self._free.encode_documents(texts).astype(np.float16)


def sentence_pieces(document: Document, sentences: Sentences) -> list[str]:
    """Texts of sentences, without white space at the ends."""
    bounds = zip(sentences.starts.tolist(), sentences.ends.tolist(), strict=True)
    return [document.text[start:end].strip() for start, end in bounds]


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The power of the size that the cost grows with: the slope of the logarithms, by least squares."""
    return round(float(np.polyfit(np.log(sizes), np.log(costs), 1)[0]), 3)


def say(text: str) -> None:
    """Tells on stderr."""
    print(text, file=sys.stderr, flush=True)
