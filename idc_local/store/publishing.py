"""From the truth to a new generation that readers see, and the removal of what nobody needs any more."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from idc_local.errors import StoreCorrupt
from idc_local.filters import STDIN
from idc_local.fingerprint import digest
from idc_local.store import caches, records
from idc_local.store.blocks import BlockFolder
from idc_local.store.codec import Json
from idc_local.store.generation import GenerationBuilder, Plan, entries_below, open_segments
from idc_local.store.layout import (
    DOCUMENTS,
    GENERATIONS,
    FileEntry,
    Manifest,
    OlderFormat,
    generation_folder,
    generations_on_disk,
    make_folder,
    read_manifest,
    remove_tree,
    sync_folder,
    sync_tree,
    write_manifest,
)
from idc_local.store.lock import remove_doomed, remove_generation
from idc_local.store.schema import Database, checkpoint, transaction, vacuum
from idc_local.store.segments import Segment, Truth
from idc_local.store.tables import EDITION, Sources
from idc_local.types import SourceRecord

SCRUB = "scrub"
"""Set while deleted content may still lie in free pages; survives a kill."""


def publish(folder: Path, db: Database, *, afresh: bool = False) -> int:
    """Builds the next generation from the truth, makes it current, then removes what nobody needs.

    Without a change since the last generation nothing is written; ``afresh`` builds anyway, and everything anew.
    """
    plan = make_plan(folder, db)
    manifest = sound_manifest(folder)
    content = _content(plan, caches.read_meta(folder, db, "fingerprint"))
    if afresh or manifest is None or manifest.content != content or not _present(folder, manifest):
        manifest = _build(folder, db, plan, None if afresh else manifest, content)
    collect_garbage(folder, db, plan, manifest)
    return manifest.generation


def sound_manifest(folder: Path) -> Manifest | None:
    """The manifest; None where there is none, or none that this program can use."""
    try:
        return read_manifest(folder)
    except (StoreCorrupt, OlderFormat):
        return None


def published_sources(folder: Path) -> dict[str, SourceRecord]:
    """The source files that readers see; none where their table cannot be read."""
    manifest = sound_manifest(folder)
    if manifest is None:
        return {}
    try:
        files = BlockFolder(generation_folder(folder, manifest.generation), entries_below(manifest, ""))
        return dict(Sources(files))
    except StoreCorrupt:
        return {}


def make_plan(folder: Path, db: Database) -> Plan:
    """What the next generation is to hold: every source with a stored document.

    A document that also came through standard input is cited by its file.
    """
    sources = caches.read_sources(folder, db)
    current = {edition.document: edition for edition in records.read_editions(folder, db) if edition.current}
    paths: dict[str, list[str]] = {}
    for record in sources.values():
        if record.document_id in current:
            paths.setdefault(record.document_id, []).append(record.path)
    for own in paths.values():
        own.sort(key=lambda path: (path == STDIN, path))
    ordered = sorted(paths.items(), key=lambda item: item[1][0])
    return Plan(tuple((current[document], tuple(own)) for document, own in ordered), sources)


def _content(plan: Plan, fingerprint: Json) -> str:
    """Digest of everything that a reader can see; when a file was last changed is not part of it."""
    sources = [_seen(record) for record in plan.sources.values()]
    editions = [[edition.id, edition.document, edition.recipe, paths] for edition, paths in plan.editions]
    return digest([fingerprint, editions, sources])


def _seen(record: SourceRecord) -> list[Any]:
    file = [record.path, record.root, record.size, record.sha256, record.document_id]
    return [*file, record.encoding, record.reason, record.hint]


def _present(folder: Path, manifest: Manifest) -> bool:
    place = generation_folder(folder, manifest.generation)
    return all((place / name).is_file() for name in manifest.files)


def _build(folder: Path, db: Database, plan: Plan, old: Manifest | None, content: str) -> Manifest:
    current = sound_manifest(folder)
    number = max([current.generation if current else 0, *generations_on_disk(folder)]) + 1
    truth = Truth(folder, db, caches.read_meta(folder, db, "dimension") or 1)
    try:
        segments, files = _build_files(truth, plan, old, number)
        manifest = Manifest(
            generation=number,
            fingerprint=caches.read_meta(folder, db, "fingerprint"),
            content=content,
            dimension=truth.dimension,
            counts=_counts(plan),
            segments=segments,
            files=files,
        )
        write_manifest(folder, manifest)
    except BaseException:
        with suppress(OSError, StoreCorrupt):
            _undo(folder, number)
        raise
    return manifest


def _undo(folder: Path, number: int) -> None:
    """Removes a generation that could not be finished, unless the manifest names it after all."""
    named = read_manifest(folder)
    if named is None or named.generation != number:
        remove_tree(generation_folder(folder, number))


def _build_files(
    truth: Truth, plan: Plan, old: Manifest | None, number: int
) -> tuple[tuple[str, ...], dict[str, FileEntry]]:
    place = generation_folder(truth.folder, number)
    # The index's own folder is never made again: where it has vanished, so has the truth.
    (truth.folder / GENERATIONS).mkdir(mode=0o700, exist_ok=True)
    make_folder(place)
    try:
        result = GenerationBuilder(truth, place).build(plan, _old_segments(truth, old))
    except StoreCorrupt:
        if old is None:
            raise
        # What is derived can be damaged; what it is derived from is asked again, for everything.
        remove_tree(place)
        make_folder(place)
        result = GenerationBuilder(truth, place).build(plan, [])
    sync_tree(place)
    sync_folder(truth.folder / GENERATIONS)
    return result


def _old_segments(truth: Truth, old: Manifest | None) -> Sequence[Segment]:
    if old is None or old.dimension != truth.dimension:
        return []
    return open_segments(truth.folder, old)


def _counts(plan: Plan) -> dict[str, int]:
    editions = [edition for edition, _ in plan.editions]
    return {
        "documents": len(editions),
        "chunks": sum(edition.chunks for edition in editions),
        "sentences": sum(edition.sentences for edition in editions),
        "intents": sum(edition.intents for edition in editions),
    }


def remove_leftovers(folder: Path) -> None:
    """Removes generations that a killed run left behind, save those that somebody reads."""
    remove_doomed(folder)
    current = sound_manifest(folder)
    if current is not None:
        remove_others(folder, current.generation)


def remove_others(folder: Path, current: int) -> list[int]:
    """Removes all generations but the current one; those that stay because somebody reads them."""
    others = [number for number in generations_on_disk(folder) if number != current]
    return [number for number in others if not remove_generation(folder, number)]


def collect_garbage(folder: Path, db: Database, plan: Plan, manifest: Manifest) -> None:
    """Removes old generations and the editions that neither a source nor a reader needs."""
    held = remove_others(folder, manifest.generation)
    needed = {edition.id for edition, _ in plan.editions}.union(*(_editions_of(folder, number) for number in held))
    doomed = [edition for edition in records.read_editions(folder, db) if edition.id not in needed]
    for edition in doomed:
        with transaction(db):
            records.delete_edition(folder, db, edition)
    checkpoint(folder, db)
    if not held and caches.read_meta(folder, db, SCRUB):
        scrub(folder, db)


def scrub(folder: Path, db: Database) -> None:
    """Leaves nothing of what was deleted in any page of the database or its log."""
    vacuum(folder, db)
    with transaction(db):
        caches.drop_meta(db, SCRUB)
    checkpoint(folder, db)


def _editions_of(folder: Path, generation: int) -> set[int]:
    documents = np.load(generation_folder(folder, generation) / DOCUMENTS, allow_pickle=False)
    return set(documents[:, EDITION].tolist())
