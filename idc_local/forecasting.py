"""What an indexing run would do and cost, without doing it: files are compared, two documents are timed.

Layer 3: takes ports, never prints, writes nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from idc_local.errors import InputError
from idc_local.filters import STDIN
from idc_local.indexed import IndexedDocument
from idc_local.indexing import IndexOptions
from idc_local.intents import question_budget
from idc_local.pipeline import Pipeline, PipelinePorts
from idc_local.ports import DocumentReader, TextGenerator
from idc_local.readers.archives import is_inside
from idc_local.readers.direct import DirectReader
from idc_local.readers.kinds import is_archive
from idc_local.sources import Found, Plan, plan_sources, read_file
from idc_local.types import Skip, SourceRecord

SAMPLES = 2
LARGEST_SAMPLE = 1 << 18
"""Bytes of a file that is tried; larger ones would take longer than people wait for a forecast."""
FIRST_TEXT = "."
"""Embedded before anything is timed: libraries and models are loaded by the first text, once a run."""
PAGES = 1.25
"""Bytes of the database's pages for each byte of rows in them."""
ROW, SENTENCE, CHUNK, TEXT = 130, 200, 800, 6
"""Bytes for a row of vectors with its keys, for where a sentence or chunk lies and what it holds, for one of text."""


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
    sample documents took, and loading the models once; 0 where there is nothing to read. intent_seconds: the part of
    them that predicting questions takes. disk_bytes: that the index would grow by.
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
    intent_seconds: float = 0.0


def forecast(
    roots: Sequence[Path],
    known: Mapping[str, SourceRecord],
    options: IndexOptions,
    ports: PipelinePorts,
    reader: DocumentReader | None = None,
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
    loads = _Loads(ports)
    pipeline = Pipeline(options.chunking, loads.ports)
    sampler = _Sampler(pipeline, options, reader or DirectReader(options.walk.max_bytes))
    if changed:
        loads.embedder()
    timed = [indexed for entry in _typical(changed) if (indexed := sampler.try_one(entry))]
    total = sum(entry.file.size for entry in changed)
    asking = pipeline.seconds.get("intents", 0.0) - loads.generator_seconds
    intent_seconds = _intent_seconds(changed, timed, asking) + loads.generator_seconds
    others = _other_seconds(total, timed, pipeline.seconds) + loads.embedder_seconds
    return Forecast(
        new=counts["new"],
        updated=counts["updated"],
        unchanged=counts["unchanged"],
        removed=len(plan.removed),
        files=len(changed),
        bytes=total,
        seconds=round(intent_seconds + others, 1),
        disk_bytes=_scaled(sum(map(_stored_bytes, timed)), total, timed),
        skipped=(*plan.skipped, *failed),
        plan=_in_order(plan, fates.values()),
        intent_seconds=round(intent_seconds, 1),
    )


def _fate(entry: Found, known: Mapping[str, SourceRecord], options: IndexOptions) -> Fate:
    """What an unchanged recipe makes of a file."""
    path = entry.file.path
    record = known.get(path)
    if is_archive(path) and record is None:
        record = next((own for known_path, own in known.items() if is_inside(known_path, path)), None)
        record = replace(record, reason="") if record else None
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
    """The files around which half of all bytes lie in smaller ones, none so large that it takes long itself."""
    order = sorted(
        (entry for entry in changed if not is_archive(entry.file.path)),
        key=lambda entry: (entry.file.size, entry.file.path),
    )
    small = [entry for entry in order if entry.file.size <= LARGEST_SAMPLE] or order[:SAMPLES]
    sums = list(accumulate(entry.file.size for entry in small))
    middle = bisect_left(sums, sums[-1] / 2) if sums else 0
    first = max(0, min(middle, len(small) - SAMPLES))
    return small[first : first + SAMPLES]


@dataclass(frozen=True, slots=True)
class _Sampler:
    """Puts single files through the pipeline."""

    pipeline: Pipeline
    options: IndexOptions
    reader: DocumentReader

    def try_one(self, entry: Found) -> IndexedDocument | None:
        """What would be stored of a file; None for one that cannot be read."""
        try:
            data, _ = read_file(entry.file, self.options.walk.max_bytes)
            return self.pipeline.index(self.reader.read(data, entry.file.path), self.options.intents)
        except InputError:
            return None


class _Loads:
    """Times the loading of each model by itself: it costs the same whatever there is to read."""

    def __init__(self, ports: PipelinePorts) -> None:
        self._ports = ports
        self._generator: TextGenerator | None = None
        self.embedder_seconds = 0.0
        self.generator_seconds = 0.0
        self.ports = replace(ports, generator=self._load_generator)

    def embedder(self) -> None:
        """Loads the embedder."""
        began = self._ports.clock()
        self._ports.embedder.encode_documents([FIRST_TEXT], "en")
        self.embedder_seconds = self._ports.clock() - began

    def _load_generator(self) -> TextGenerator:
        if self._generator is None:
            began = self._ports.clock()
            self._generator = self._ports.generator()
            self.generator_seconds = self._ports.clock() - began
        return self._generator


def _intent_seconds(changed: Sequence[Found], timed: Sequence[IndexedDocument], seconds: float) -> float:
    """Predicting questions costs by the question: ``seconds`` is what it took for the timed documents."""
    sentences = sum(len(indexed.sentences) for indexed in timed)
    asked = sum(question_budget(len(indexed.sentences)) for indexed in timed)
    if not sentences:
        return 0.0
    per_sentence = sum(indexed.document.source_bytes for indexed in timed) / sentences
    return seconds * sum(question_budget(round(entry.file.size / per_sentence)) for entry in changed) / asked


def _other_seconds(total: int, timed: Sequence[IndexedDocument], seconds: Mapping[str, float]) -> float:
    """Everything else costs by the byte."""
    size = sum(indexed.document.source_bytes for indexed in timed)
    rest = sum(seconds.values()) - seconds.get("intents", 0.0)
    return rest * total / size if size else 0.0


def _stored_bytes(indexed: IndexedDocument) -> int:
    """What the database keeps of a document, and what the files beside it do, by what was measured of prose.

    Both hold sentence vectors as float16 with the codes of tokens, and chunk and intent vectors, mostly as float32.
    """
    dimension = int(indexed.sentence_vectors.shape[1])
    sentences, chunks = len(indexed.sentences), len(indexed.chunks)
    headings = list(map(len, indexed.headings.codes))
    codes = sum(map(len, indexed.token_codes(0, sentences)))
    rows = sentences + len(indexed.intents) + len(headings)
    truth = PAGES * (2 * dimension * rows + codes + sum(headings)) + ROW * rows + 4 * dimension * chunks
    above: int = sum(headings[place] for place in indexed.headings.of_chunk.tolist() if place >= 0)
    vectors = dimension * (2 * sentences + 4.5 * chunks + 4 * len(indexed.intents))
    rest = SENTENCE * sentences + CHUNK * chunks + TEXT * indexed.document.source_bytes
    return round(truth + vectors + codes + above + rest)


def _scaled(amount: int, total: int, timed: Sequence[IndexedDocument]) -> int:
    size = sum(indexed.document.source_bytes for indexed in timed)
    return round(amount * total / size) if size else 0
