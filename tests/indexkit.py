"""An index run with fakes at the ports, for tests and for the child processes that tests kill.

As a program: ``python -m tests.indexkit INDEX ROOT`` indexes ROOT; each kept reply leaves a line in INDEX.log.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from idc_local.embedding import CachedEmbedder, VectorCache
from idc_local.forecasting import Forecast, forecast
from idc_local.indexing import IndexOptions, IndexRun
from idc_local.memory import MemoryCache, Silent
from idc_local.pipeline import PipelinePorts
from idc_local.ports import Completion, DocumentReader
from idc_local.prediction import IntentCache
from idc_local.ranking import RankingWeights
from idc_local.runtime import intent_prompt
from idc_local.searching import Searcher
from idc_local.store import Snapshot, Writer
from idc_local.types import Hit, IndexReport, JsonValue, Query, SourceRecord
from tests.fakes import HashEmbedder, ScriptedGenerator, WordCounter

FINGERPRINT: dict[str, JsonValue] = {"embedder": "hash-embedder", "embedder_name": "hash", "dimension": 32}


@dataclass
class Kit:
    """One index folder and the fakes that fill it; the fakes remember what they were asked."""

    index: Path
    embedder: HashEmbedder = field(default_factory=HashEmbedder)
    generator: ScriptedGenerator = field(default_factory=ScriptedGenerator)
    log: Path | None = None
    reader: DocumentReader | None = None
    known: tuple[str, ...] = ()

    def add(self, *roots: Path, options: IndexOptions | None = None, stdin: bytes | None = None) -> IndexReport:
        """Runs ``index``."""
        with Writer.open(self.index, FINGERPRINT) as writer:
            ports = self.ports(LoggedCache(writer, self.log) if self.log else writer, writer)
            return IndexRun(writer, options or IndexOptions(), ports, self.reader).run(roots, stdin)

    def forecast(self, *roots: Path, options: IndexOptions | None = None) -> Forecast:
        """Runs ``index --dry-run``."""
        known: Mapping[str, SourceRecord] = {}
        if (self.index / "manifest.json").exists():
            with Snapshot.open(self.index) as snapshot:
                known = snapshot.sources()
        ports = self.ports(MemoryCache(), MemoryCache())
        return forecast(roots, known, options or IndexOptions(), ports, self.reader)

    def ports(self, intents: IntentCache, vectors: VectorCache) -> PipelinePorts:
        """Fakes, with what they made kept in the caches."""
        return PipelinePorts(
            counter=WordCounter(),
            embedder=CachedEmbedder(lambda: self.embedder, vectors, 32, Silent()),
            embedder_fingerprint="hash-embedder",
            generator=lambda: self.generator,
            generator_fingerprint="scripted-generator",
            generator_languages=(),
            cache=intents,
            prompt=intent_prompt(),
            progress=Silent(),
            clock=time.monotonic,
        )

    def search(self, text: str, k: int = 5, filter: str = "") -> list[Hit]:
        """Runs ``search``."""
        with Snapshot.open(self.index) as snapshot:
            return Searcher(snapshot, HashEmbedder(), RankingWeights(), known=self.known).search(Query(text, filter), k)

    def everything(self, queries: Sequence[str]) -> list[object]:
        """All chunks and the whole output of some queries: what two equal indexes agree on."""
        with Snapshot.open(self.index) as snapshot:
            searcher = Searcher(snapshot, HashEmbedder(), RankingWeights())
            chunks = snapshot.chunks(range(snapshot.size))
            return [chunks, *(searcher.search(Query(text), 10) for text in queries)]


class LoggedCache:
    """The writer's intent cache; leaves a line in a file for each reply once it is kept, and takes its time."""

    def __init__(self, writer: Writer, log: Path) -> None:
        self._writer = writer
        self._log = log

    def intents(self, keys: Sequence[str]) -> Mapping[str, Completion]:
        """Known replies."""
        return self._writer.intents(keys)

    def put_intents(self, replies: Mapping[str, Completion]) -> None:
        """Keeps replies."""
        time.sleep(0.02)
        self._writer.put_intents(replies)
        with self._log.open("a", encoding="utf-8") as log:
            log.writelines(f"{key}\n" for key in replies)


def main() -> None:
    """Indexes a folder in this process."""
    index, root = Path(sys.argv[1]), Path(sys.argv[2])
    kit = Kit(index, log=index.with_suffix(".log"))
    kit.add(root)


if __name__ == "__main__":
    main()
