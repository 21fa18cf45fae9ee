"""Bringing an index up to date with files: a use case that takes ports, returns a report and never prints.

Each document is committed whole as soon as it is done; vectors and intents are cached as they are made. A run that
is killed loses nothing, and the next one ends where an undisturbed run would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from idc_local.budget import TimeBudget
from idc_local.config import INTENT_SOURCES, OBJECTIVES, STRATEGIES
from idc_local.errors import InputError, UsageError
from idc_local.filters import STDIN
from idc_local.fingerprint import sha256_hex
from idc_local.pipeline import ChunkingOptions, Pipeline, PipelinePorts
from idc_local.ports import DocumentReader, SourceFile
from idc_local.readers.archives import is_inside
from idc_local.readers.direct import DirectReader
from idc_local.readers.kinds import is_archive
from idc_local.readers.walk import WalkOptions
from idc_local.sources import Found, plan_sources, read_file
from idc_local.store import Writer
from idc_local.types import Document, IndexReport, Limits, Skip, SourceRecord
from idc_local.whereabouts import is_gone


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """Options of an indexing run.

    max_minutes: for predicting questions, newest documents first; those that do not fit get heuristic intents, until
    a later run has time for them.
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

    def __post_init__(self) -> None:
        for name, value, known in (
            ("strategy", self.strategy, STRATEGIES),
            ("objective", self.objective, OBJECTIVES),
            ("source of intents", self.intents, INTENT_SOURCES),
        ):
            if value not in known:
                raise UsageError(f"unknown {name} {value!r}", hint=f"choose one of {', '.join(known)}")

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
    chunks: int = 0
    intents: int = 0
    late: int = 0
    fresh: set[str] = field(default_factory=set)
    skipped: list[Skip] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)


class IndexRun:
    """One run over some roots. ``writer`` is open and holds the lock."""

    def __init__(
        self, writer: Writer, options: IndexOptions, ports: PipelinePorts, reader: DocumentReader | None = None
    ) -> None:
        self._reader = reader or DirectReader(options.walk.max_bytes)
        self._writer = writer
        self._options = options
        self._ports = ports
        self._pipeline = Pipeline(options.chunking, ports)
        self._known = writer.sources()
        self._failures = {
            _failure_key(record.sha256, record.path): record
            for record in self._known.values()
            if record.reason and record.sha256 and not options.retry_failed
        }
        self._tally = _Tally()
        self._budget = TimeBudget(options.max_minutes, ports.clock)

    def run(self, roots: Sequence[Path], stdin: bytes | None = None) -> IndexReport:
        """Reads what changed below ``roots``, removes what vanished, and publishes a new generation."""
        plan = plan_sources([root for root in roots if str(root) != STDIN], self._known, self._options.walk)
        self._tally.skipped.extend(plan.skipped)
        changed = [entry for entry in plan.found if not self._untouched(entry)]
        if self._options.max_minutes is not None:
            # What was written last is asked about most.
            changed.sort(key=lambda entry: -entry.file.mtime_ns)
        self._ports.progress.start("index", sum(entry.file.size for entry in changed), "B")
        if stdin is not None:
            self._take(Found(SourceFile(STDIN, Path(STDIN), len(stdin), 0), ""), stdin)
        for entry in changed:
            self._read(entry)
            self._ports.progress.advance(entry.file.size)
        for path in (*plan.removed, *self._moved(plan.removed)):
            self._writer.drop_source(path)
            self._tally.removed += 1
        self._ports.progress.finish()
        self._ports.progress.start("publish", None, "")
        generation = self._writer.publish()
        self._ports.progress.finish()
        return self._report(generation)

    def _moved(self, removed: Sequence[str]) -> list[str]:
        """Known files outside the roots that are no longer there, and whose content this run found at a new place."""
        fresh, dropped = self._tally.fresh, set(removed)
        return [
            path
            for path, record in self._known.items()
            if record.document_id in fresh and path not in dropped and is_gone(record)
        ]

    def _untouched(self, entry: Found) -> bool:
        """True where size and time are as recorded and nothing is left to do; counts the file, or what is in it."""
        records = self._records_of(entry)
        if not records or not all(self._is_settled(record, entry) for record in records):
            return False
        for record in records:
            if record.reason:
                self._tally.skipped.append(Skip(record.path, record.reason, record.hint))
            else:
                self._tally.unchanged += 1
        return True

    def _records_of(self, entry: Found) -> list[SourceRecord]:
        """What is known of a file, or of the members of an archive."""
        path = entry.file.path
        own = [self._known[path]] if path in self._known else []
        if not is_archive(path):
            return own
        return own + [record for known, record in self._known.items() if is_inside(known, path)]

    def _is_settled(self, record: SourceRecord, entry: Found) -> bool:
        if (record.size, record.mtime_ns) != (entry.file.size, entry.file.mtime_ns) or record.root != entry.root:
            return False
        if record.reason:
            return bool(record.sha256) and not self._options.retry_failed
        return self._current(record.document_id)

    def _current(self, document: str) -> bool:
        return self._writer.document_recipe(document) == self._pipeline.recipe(self._options.intents)

    def _read(self, entry: Found) -> None:
        try:
            data, file = read_file(entry.file, self._options.walk.max_bytes)
        except InputError as error:
            self._fail(entry, "", error.message.removeprefix(f"{entry.file.path}: "), error.hint)
            return
        still = replace(entry, file=file)
        if is_archive(file.path):
            self._take_archive(still, data)
            return
        document = self._document(still, data)
        del data  # as large as its text, which stays while it is worked on
        if document is not None:
            self._keep(still, document)

    def _take_archive(self, entry: Found, data: bytes) -> None:
        """Indexes what is in an archive, under the archive's size and time; what is no longer in it is removed."""
        archive = entry.file.path
        try:
            members = self._reader.members(data, archive)
        except InputError as error:
            self._fail(entry, sha256_hex(data), error.message.removeprefix(f"{archive}: "), error.hint)
            return
        for member in members:
            inner = replace(entry, file=replace(entry.file, path=member.path))
            if isinstance(member, Skip):
                self._fail(inner, sha256_hex(data), member.reason, member.hint)
            else:
                self._take(inner, member.data)
        there = {member.path for member in members}
        for path in [known for known in self._known if is_inside(known, archive) or known == archive]:
            if path not in there:
                self._writer.drop_source(path)
                self._tally.removed += 1

    def _take(self, entry: Found, data: bytes) -> None:
        """Indexes ``data`` under the entry's path, or records why not; the last good version stays until then."""
        document = self._document(entry, data)
        if document is not None:
            self._keep(entry, document)

    def _document(self, entry: Found, data: bytes) -> Document | None:
        """The document in ``data``, or None once it is recorded why there is none."""
        path, source = entry.file.path, sha256_hex(data)
        failed = self._failures.get(_failure_key(source, path))
        if failed is not None:
            self._fail(entry, source, failed.reason, failed.hint)
            return None
        try:
            return self._reader.read(data, path)
        except InputError as error:
            self._fail(entry, source, error.message.removeprefix(f"{path}: "), error.hint)
            return None

    def _keep(self, entry: Found, document: Document) -> None:
        """Indexes a document under the entry's path."""
        path = entry.file.path
        old = self._known.get(path)
        self._tally.warnings.extend(f"{path}: {warning}" for warning in document.warnings)
        same = old is not None and old.document_id == document.id and not old.reason
        done = self._current(document.id) or not self._index(document)
        self._writer.put_source(
            SourceRecord(
                path=path,
                size=entry.file.size,
                mtime_ns=entry.file.mtime_ns,
                sha256=document.source_sha256,
                document_id=document.id,
                encoding=document.encoding,
                root=entry.root,
            )
        )
        if not document.text.strip():
            self._tally.empty.append(path)
        if old is None:
            self._tally.new += 1
            self._tally.fresh.add(document.id)
        elif same and done:
            self._tally.unchanged += 1
        else:
            self._tally.updated += 1

    def _index(self, document: Document) -> bool:
        """Makes and stores what is kept of a document; False where there is no time for better than what is there."""
        intents = self._options.intents
        if intents == "model" and not self._budget.affords(len(document.text)):
            intents = "heuristic"
            self._tally.late += 1
            if self._writer.document_recipe(document.id) == self._pipeline.recipe(intents):
                return False
        before = self._pipeline.seconds.get("intents", 0.0)
        indexed = self._pipeline.index(document, intents)
        if intents == "model":
            self._budget.spend(self._pipeline.seconds["intents"] - before, len(document.text))
        self._writer.put_document(indexed)
        self._tally.chunks += len(indexed.chunks)
        self._tally.intents += len(indexed.intents)
        return True

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
            chunks=tally.chunks,
            sentences_embedded=self._ports.embedder.embedded,
            windows_generated=self._pipeline.windows_generated,
            intents=tally.intents,
            skipped=tuple(tally.skipped),
            seconds=dict(self._pipeline.seconds),
            generation=generation,
            notes=self._notes(),
            empty_paths=tuple(tally.empty),
        )

    def _notes(self) -> tuple[str, ...]:
        notes = list(self._tally.warnings)
        if self._tally.late:
            noun = "document has" if self._tally.late == 1 else "documents have"
            notes.append(f"{self._tally.late} {noun} heuristic intents for want of time; run index again")
        return tuple(notes)


def _failure_key(source: str, path: str) -> tuple[str, str]:
    """What a remembered failure belongs to: bytes, under a name that has them read in the same way."""
    return source, PurePosixPath(path).suffix.lower()
