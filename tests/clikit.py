"""Runs the command line in this process, against a runtime that answers from a script."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from click.testing import CliRunner, Result

from idc_local.cli import cli
from idc_local.cli.session import App
from idc_local.config import Settings
from idc_local.errors import NothingFound
from idc_local.ports import Progress
from idc_local.types import (
    AnswerSpan,
    Block,
    BlockKind,
    Check,
    Chunk,
    CutReason,
    Document,
    Explain,
    Hit,
    IndexReport,
    Intent,
    Query,
    Segmentation,
    Skip,
    SourceRecord,
    Span,
)
from idc_local.whereabouts import SourceState

if TYPE_CHECKING:
    from idc_local.runtime import Runtime

TEXT = "# Pump\n\nThe pump needs oil.\nCheck it weekly.\n\nA red lamp warns.\n"
DOCUMENT = Document(
    id="d" * 64,
    path="docs/pump.md",
    text=TEXT,
    blocks=(
        Block(BlockKind.HEADING, 0, 6, ("Pump",), level=1),
        Block(BlockKind.PARAGRAPH, 8, 44, ("Pump",)),
        Block(BlockKind.PARAGRAPH, 46, 63, ("Pump",)),
    ),
    media_type="text/markdown",
    encoding="utf-8",
    source_sha256="e" * 64,
    source_bytes=len(TEXT),
    lines=((0, 1), (7, 2), (8, 3), (28, 4), (45, 5), (46, 6)),
)
INTENT = Intent("What does the pump need?", 8, 44, Span(8, 28), 0.8125, "model")
FIRST = Chunk(
    id="a1b2c3d4" + "0" * 56,
    document_id=DOCUMENT.id,
    path=DOCUMENT.path,
    start=0,
    end=46,
    text=TEXT[:46],
    heading="Pump",
    page=None,
    line_start=1,
    line_end=4,
    tokens=12,
    intents=(INTENT,),
)
SECOND = replace(
    FIRST, id="b" * 64, start=46, end=64, text=TEXT[46:], page="2", line_start=6, line_end=6, tokens=5, intents=()
)
HITS = (
    Hit(
        FIRST,
        1,
        0.7312345678,
        AnswerSpan(8, 27, TEXT[8:27], line_start=3, line_end=3),
        Explain(0.5, 0.61, 0.7, 3.25, 0.7312345678),
        source_sha256="e" * 64,
        other_paths=("copy/pump.md",),
    ),
    Hit(
        SECOND,
        2,
        0.25,
        AnswerSpan(46, 63, TEXT[46:63], line_start=6, line_end=6),
        Explain(0.2, float("nan"), None, 0.0, 0.25),
    ),
)
SKIP = Skip("docs/photo.bin", "binary", "leave it out")
REPORT = IndexReport(
    new=2,
    updated=1,
    unchanged=3,
    removed=0,
    chunks=9,
    sentences_embedded=40,
    windows_generated=5,
    intents=12,
    skipped=(SKIP,),
    seconds={"embed": 1.25},
    generation=4,
    notes=("one document has heuristic intents",),
    empty_paths=("docs/blank.md",),
)
CHECKS = (Check("manifest", "ok", "3 files"), Check("vectors", "warn", "old", "idc-local compact"))
FAILED = (*CHECKS, Check("records", "fail", "sha256 differs", "idc-local index PATH --rebuild"))
SOURCES = {
    "docs/pump.md": SourceRecord("docs/pump.md", 64, 1, "e" * 64, DOCUMENT.id, encoding="utf-8"),
    "docs/photo.bin": SourceRecord("docs/photo.bin", 9, 1, "f" * 64, "", reason="binary", hint="leave it out"),
}


@dataclass
class FakeRuntime:
    """Answers like the real runtime; remembers how it was called; raises ``error`` from whatever is called."""

    hits: Sequence[Hit] = HITS
    checks: Sequence[Check] = CHECKS
    chunks: Sequence[Chunk] = (FIRST, SECOND)
    error: BaseException | None = None
    settings: Settings | None = None
    progress: Progress | None = None
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    state: SourceState = field(default_factory=lambda: SourceState("match", "/docs/pump.md"))
    size: int = 2
    generation: int = 4

    def _called(self, *call: Any) -> None:
        self.calls.append(call)
        if self.error is not None:
            raise self.error

    def index(self, roots: Sequence[Path], options: Any) -> IndexReport:
        self._called("index", roots, options)
        return REPORT

    def forecast(self, roots: Sequence[Path], options: Any) -> Any:
        from idc_local.forecasting import Fate, Forecast

        self._called("forecast", roots, options)
        return Forecast(
            new=2,
            updated=0,
            unchanged=5,
            removed=1,
            files=2,
            bytes=1_250_000,
            seconds=95.0,
            disk_bytes=4_000_000,
            intent_seconds=61.0,
            skipped=(SKIP,),
            plan=(
                Fate("docs/a.md", "unchanged"),
                Fate("docs/b\x1b[2J.md", "new"),
                Fate("docs/photo.bin", "skipped", "binary"),
            ),
        )

    @contextmanager
    def searcher(self) -> Iterator[FakeRuntime]:
        self._called("searcher")
        yield self

    def search(self, query: Query, k: int) -> list[Hit]:
        self._called("search", query, k)
        return list(self.hits)[:k] if "nothing" not in query.text else []

    def misspelt(self, text: str) -> dict[str, str]:
        known = {"pmup": "pump", "pupm": "pump", "vlave": "valve"}
        return {word: known[word] for word in text.split() if word in known}

    def _cut(self, source: Path) -> Any:
        return SimpleNamespace(
            document=replace(DOCUMENT, path=str(source)),
            sentences=SimpleNamespace(starts=np.array([0, 8, 28, 46])),
            segmentation=Segmentation(
                np.array([[0, 3], [3, 4]]), 1.5, (CutReason(3, {"structure": 1.0, "dip": -0.25}, 2, 0.5),)
            ),
            predicted=SimpleNamespace(intents=(INTENT,) if self.chunks else ()),
            chunks=tuple(self.chunks),
        )

    def chunk(self, source: Path, options: Any, *, explain: bool = False) -> Any:
        self._called("chunk", source, options, explain)
        return self._cut(source)

    def predict(self, source: Path, options: Any) -> Any:
        self._called("predict", source, options)
        return self._cut(source)

    def stored_intents(self) -> list[tuple[Chunk, Intent]]:
        self._called("stored_intents")
        return [(FIRST, INTENT)] if self.chunks else []

    def questions(self, most: int) -> list[str]:
        self._called("questions", most)
        return ["What does the pump need?", "Is a red lamp a warning?"][:most]

    def show(self, identifier: str) -> Chunk:
        self._called("show", identifier)
        if not FIRST.id.startswith(identifier):
            raise NothingFound(f"no passage is called {identifier}", hint="idc-local search QUERY")
        return FIRST

    def source_state(self, path: str) -> SourceState:
        self._called("source_state", path)
        return self.state

    def document_text(self, document_id: str) -> str:
        self._called("document_text", document_id)
        return TEXT

    def status(self) -> Any:
        self._called("status")
        return SimpleNamespace(
            folder=Path(".idc"),
            generation=4,
            documents=1,
            chunks=2,
            sentences=4,
            intents=1,
            bytes=12_345,
            fingerprint={"embedder": "abc", "embedder_name": "small", "dimension": 384},
            sources=SOURCES,
        )

    def verify(self, deep: bool) -> list[Check]:
        self._called("verify", deep)
        return list(self.checks)

    def doctor(self, deep: bool, network: bool) -> list[Check]:
        self._called("doctor", deep, network)
        return list(self.checks)

    def remove(self, path: str) -> int:
        self._called("remove", path)
        return 2

    def forget(self, path: str) -> list[Check]:
        self._called("forget", path)
        return list(self.checks)

    def compact(self) -> list[Check]:
        self._called("compact")
        return list(self.checks)

    def repair(self) -> list[Check]:
        self._called("repair")
        return list(self.checks)

    def export(self, file: Path) -> list[Check]:
        self._called("export", file)
        return list(self.checks)

    def import_from(self, file: Path) -> list[Check]:
        self._called("import", file)
        return list(self.checks)

    def catalogue(self) -> Any:
        from idc_local.catalogue import Catalogue

        self._called("catalogue")
        assert self.settings is not None
        return Catalogue(self.settings.models)


def invoke(
    *arguments: str,
    runtime: FakeRuntime | None = None,
    stdin: bytes | str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Result:
    """Runs one command line; the result has ``exit_code``, ``stdout`` and ``stderr``."""
    fake = runtime or FakeRuntime()

    def open_runtime(settings: Settings, progress: Progress) -> Runtime:
        fake.settings, fake.progress = settings, progress
        return cast("Runtime", fake)

    app = App(open_runtime=open_runtime, environ=dict(environ or {}))
    return CliRunner().invoke(cli, list(arguments), obj=app, input=stdin, terminal_width=80)


def parsed(result: Result) -> Any:
    """stdout as one JSON value, by a parser that knows no NaN."""
    return json.loads(result.stdout, parse_constant=_refuse)


def parsed_lines(result: Result) -> list[Any]:
    """stdout as JSON Lines."""
    return [json.loads(line, parse_constant=_refuse) for line in result.stdout.split("\n") if line]


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")
