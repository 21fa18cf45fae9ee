"""Bringing an index up to date with files: a use case that takes ports, returns a report and never prints.

Each document is committed whole as soon as it is done; vectors and intents are cached as they are made. A run that
is killed loses nothing, and the next one ends where an undisturbed run would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from idc_local.errors import InputError
from idc_local.fingerprint import sha256_hex
from idc_local.pipeline import ChunkingOptions, Pipeline, PipelinePorts
from idc_local.ports import SourceFile
from idc_local.readers import read_source
from idc_local.readers.walk import WalkOptions
from idc_local.sources import STDIN, Found, plan_sources
from idc_local.store import Writer
from idc_local.types import Document, IndexReport, Limits, Skip, SourceRecord


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """Options of an indexing run.

    max_minutes: after this long the remaining documents get heuristic intents, until a later run has time for them.
    retry_failed: look again at files that failed before and have not changed. rebuild: start the index afresh.
    walk: which files are asked for.
    """

    strategy: str = "intent"
    objective: str = "calibrated"
    intents: str = "model"
    limits: Limits = Limits()
    max_minutes: float | None = None
    retry_failed: bool = False
    rebuild: bool = False
    walk: WalkOptions = WalkOptions()

    @property
    def chunking(self) -> ChunkingOptions:
        """The part that shapes chunks."""
        return ChunkingOptions(self.strategy, self.objective, self.intents, self.limits)


@dataclass(slots=True)
class _Tally:
    new: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    empty: int = 0
    chunks: int = 0
    intents: int = 0
    late: int = 0
    skipped: list[Skip] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class IndexRun:
    """One run over some roots. ``writer`` is open and holds the lock."""

    def __init__(self, writer: Writer, options: IndexOptions, ports: PipelinePorts) -> None:
        self._writer = writer
        self._options = options
        self._ports = ports
        self._pipeline = Pipeline(options.chunking, ports)
        self._known = writer.sources()
        self._tally = _Tally()
        self._began = ports.clock()

    def run(self, roots: Sequence[Path], stdin: bytes | None = None) -> IndexReport:
        """Reads what changed below ``roots``, removes what vanished, and publishes a new generation."""
        plan = plan_sources([root for root in roots if str(root) != STDIN], self._known, self._options.walk)
        self._tally.skipped.extend(plan.skipped)
        changed = [entry for entry in plan.found if not self._untouched(entry)]
        self._ports.progress.start("index", sum(entry.file.size for entry in changed), "B")
        if stdin is not None:
            self._take(Found(SourceFile(STDIN, Path(STDIN), len(stdin), 0), ""), stdin)
        for entry in changed:
            self._read(entry)
            self._ports.progress.advance(entry.file.size)
        for path in plan.removed:
            self._writer.drop_source(path)
            self._tally.removed += 1
        self._ports.progress.finish()
        self._ports.progress.start("publish", None, "")
        generation = self._writer.publish()
        self._ports.progress.finish()
        return self._report(generation)

    def _untouched(self, entry: Found) -> bool:
        """True where size and time are as recorded and nothing is left to do; counts the file."""
        record = self._known.get(entry.file.path)
        if record is None or (record.size, record.mtime_ns) != (entry.file.size, entry.file.mtime_ns):
            return False
        if record.root != entry.root:
            return False
        if record.reason:
            if self._options.retry_failed or not record.sha256:
                return False
            self._tally.skipped.append(Skip(record.path, record.reason, record.hint))
            return True
        if not self._current(record.document_id):
            return False
        self._tally.unchanged += 1
        return True

    def _current(self, document: str) -> bool:
        return self._writer.document_recipe(document) == self._pipeline.recipe(self._options.intents)

    def _read(self, entry: Found) -> None:
        try:
            data = entry.file.real.read_bytes()
        except OSError as error:
            self._fail(entry, "", f"cannot be read: {error.strerror}", "check its permissions")
            return
        self._take(entry, data)

    def _take(self, entry: Found, data: bytes) -> None:
        """Indexes ``data`` under the entry's path, or records why not; the last good version stays until then."""
        path, source = entry.file.path, sha256_hex(data)
        old = self._known.get(path)
        if old is not None and old.reason and old.sha256 == source and not self._options.retry_failed:
            self._fail(entry, source, old.reason, old.hint)
            return
        try:
            document = read_source(data, path)
        except InputError as error:
            self._fail(entry, source, error.message.removeprefix(f"{path}: "), error.hint)
            return
        self._tally.warnings.extend(f"{path}: {warning}" for warning in document.warnings)
        same = old is not None and old.document_id == document.id and not old.reason
        done = self._current(document.id)
        if not done:
            self._index(document)
        self._writer.put_source(
            SourceRecord(
                path=path,
                size=len(data),
                mtime_ns=entry.file.mtime_ns,
                sha256=source,
                document_id=document.id,
                encoding=document.encoding,
                root=entry.root,
            )
        )
        self._tally.empty += not document.text.strip()
        if old is None:
            self._tally.new += 1
        elif same and done:
            self._tally.unchanged += 1
        else:
            self._tally.updated += 1

    def _index(self, document: Document) -> None:
        intents = self._options.intents
        if intents == "model" and self._out_of_time():
            intents = "heuristic"
            self._tally.late += 1
        indexed = self._pipeline.index(document, intents)
        self._writer.put_document(indexed)
        self._tally.chunks += len(indexed.chunks)
        self._tally.intents += len(indexed.intents)

    def _out_of_time(self) -> bool:
        limit = self._options.max_minutes
        return limit is not None and self._ports.clock() - self._began > 60.0 * limit

    def _fail(self, entry: Found, source: str, reason: str, hint: str) -> None:
        """Records a file that cannot be used, with its last good version where there is one."""
        file = entry.file
        old = self._known.get(file.path)
        good = old.document_id if old is not None else ""
        self._writer.put_source(
            SourceRecord(
                path=file.path,
                size=file.size,
                mtime_ns=file.mtime_ns,
                sha256=source,
                document_id=good,
                encoding=old.encoding if old is not None else "",
                reason=reason,
                hint=hint,
                root=entry.root,
            )
        )
        kept = "; the last good version stays in the index" if good else ""
        self._tally.skipped.append(Skip(file.path, reason + kept, hint))

    def _report(self, generation: int) -> IndexReport:
        tally = self._tally
        return IndexReport(
            new=tally.new,
            updated=tally.updated,
            unchanged=tally.unchanged,
            removed=tally.removed,
            empty=tally.empty,
            chunks=tally.chunks,
            sentences_embedded=self._ports.embedder.embedded,
            windows_generated=self._pipeline.windows_generated,
            intents=tally.intents,
            skipped=tuple(tally.skipped),
            seconds=dict(self._pipeline.seconds),
            generation=generation,
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        notes = list(self._tally.warnings)
        if self._tally.late:
            notes.append(f"{self._tally.late} documents have heuristic intents for want of time; run index again")
        return tuple(notes)
