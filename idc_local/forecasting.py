"""What an indexing run would do and cost, without doing it: files are compared, two documents are timed.

Layer 3: takes ports, never prints, writes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from idc_local.errors import InputError
from idc_local.indexing import IndexOptions
from idc_local.intents import question_budget
from idc_local.pipeline import Pipeline, PipelinePorts
from idc_local.readers import read_source
from idc_local.sources import STDIN, Found, Plan, plan_sources
from idc_local.types import IndexedDocument, Skip, SourceRecord

SAMPLES = 2


@dataclass(frozen=True, slots=True)
class Fate:
    """What would happen to one file, and why where that is a question."""

    path: str
    action: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run would do.

    new, updated, unchanged, removed: files. files, bytes: of those to be read. seconds: from the time that the
    sample documents took; 0 where there is nothing to read. disk_bytes: that the index would grow by.
    plan: every file in order of path, as new, updated, unchanged, removed, skipped or ignored.
    """

    new: int
    updated: int
    unchanged: int
    removed: int
    files: int
    bytes: int
    seconds: float
    disk_bytes: int
    skipped: tuple[Skip, ...]
    plan: tuple[Fate, ...] = ()


def forecast(
    roots: Sequence[Path], known: Mapping[str, SourceRecord], options: IndexOptions, ports: PipelinePorts
) -> Forecast:
    """Compares the files below ``roots`` with ``known`` by size and time, and times up to two that changed.

    Raises:
        InputError: a root does not exist.
    """
    plan = plan_sources([root for root in roots if str(root) != STDIN], known, options.walk)
    fates = {entry.file.path: _fate(entry, known, options) for entry in plan.found}
    changed = [entry for entry in plan.found if fates[entry.file.path].action in ("new", "updated")]
    counts = Counter(fate.action for fate in fates.values())
    failed = [
        Skip(fate.path, fate.reason, known[fate.path].hint) for fate in fates.values() if fate.action == "skipped"
    ]
    pipeline = Pipeline(options.chunking, ports)
    timed = [indexed for entry in _typical(changed) if (indexed := _try(entry, pipeline, options))]
    total = sum(entry.file.size for entry in changed)
    return Forecast(
        new=counts["new"],
        updated=counts["updated"],
        unchanged=counts["unchanged"],
        removed=len(plan.removed),
        files=len(changed),
        bytes=total,
        seconds=_seconds(changed, timed, pipeline.seconds),
        disk_bytes=_scaled(sum(map(_stored_bytes, timed)), total, timed),
        skipped=(*plan.skipped, *failed),
        plan=_in_order(plan, fates.values()),
    )


def _fate(entry: Found, known: Mapping[str, SourceRecord], options: IndexOptions) -> Fate:
    """What an unchanged recipe makes of a file."""
    path = entry.file.path
    record = known.get(path)
    if record is None:
        return Fate(path, "new")
    if (record.size, record.mtime_ns) != (entry.file.size, entry.file.mtime_ns):
        return Fate(path, "updated")
    if record.reason:
        again = options.retry_failed or not record.sha256
        return Fate(path, "updated") if again else Fate(path, "skipped", record.reason)
    return Fate(path, "unchanged")


def _in_order(plan: Plan, fates: Iterable[Fate]) -> tuple[Fate, ...]:
    unwanted = {entry.path: entry.reason for entry in plan.ignored}
    others = [
        *(Fate(path, "removed", unwanted.pop(path, "")) for path in plan.removed),
        *(Fate(skip.path, "skipped", skip.reason) for skip in plan.skipped),
    ]
    others += [Fate(path, "ignored", reason) for path, reason in unwanted.items()]
    return tuple(sorted([*fates, *others], key=lambda fate: (fate.path, fate.action)))


def _typical(changed: Sequence[Found]) -> list[Found]:
    """The files next to the median size."""
    order = sorted(changed, key=lambda entry: (entry.file.size, entry.file.path))
    middle = max(0, (len(order) - SAMPLES + 1) // 2)
    return order[middle : middle + SAMPLES]


def _try(entry: Found, pipeline: Pipeline, options: IndexOptions) -> IndexedDocument | None:
    try:
        document = read_source(entry.file.real.read_bytes(), entry.file.path)
    except (OSError, InputError):
        return None
    return pipeline.index(document, options.intents)


def _seconds(changed: Sequence[Found], timed: Sequence[IndexedDocument], seconds: Mapping[str, float]) -> float:
    """Predicting questions costs by the question, everything else by the byte."""
    sentences = sum(len(indexed.sentences) for indexed in timed)
    asked = sum(question_budget(len(indexed.sentences)) for indexed in timed)
    if not sentences:
        return 0.0
    size = sum(indexed.document.source_bytes for indexed in timed)
    per_sentence = size / sentences
    total_asked = sum(question_budget(round(entry.file.size / per_sentence)) for entry in changed)
    intents = seconds.get("intents", 0.0)
    rest = sum(seconds.values()) - intents
    return round(intents * total_asked / asked + rest * sum(entry.file.size for entry in changed) / size, 1)


def _stored_bytes(indexed: IndexedDocument) -> int:
    """Text and terms, float16 sentence vectors kept twice (truth and search), float32 chunk and intent vectors."""
    dimension = indexed.sentence_vectors.shape[1]
    vectors = 4 * len(indexed.sentences) + 8 * (len(indexed.chunks) + len(indexed.intents))
    return 3 * indexed.document.source_bytes + int(dimension) * vectors


def _scaled(amount: int, total: int, timed: Sequence[IndexedDocument]) -> int:
    size = sum(indexed.document.source_bytes for indexed in timed)
    return round(amount * total / size) if size else 0
