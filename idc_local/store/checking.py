"""Comparing an index with what it says of itself: fast on every run of ``doctor``, deep on ``verify``."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from idc_local.errors import IdcError
from idc_local.store import caches, records
from idc_local.store.layout import DATABASE, MANIFEST, MEND, Manifest, damaged, generation_folder, sha256_file
from idc_local.store.lock import hold_current
from idc_local.store.rest import check_rest
from idc_local.store.schema import integrity, open_for_reading, sql_errors
from idc_local.store.segments import Truth
from idc_local.store.snapshot import Snapshot
from idc_local.store.soundness import check_edition
from idc_local.types import Check


def verify(folder: Path, *, deep: bool) -> list[Check]:
    """Checks of an index: manifest, files, database and counts; ``deep``: every byte, vector and span as well."""
    checks = [_check("manifest", f"{MANIFEST} fits its checksum", lambda: _manifest(folder))]
    if checks[0].status == "ok":
        checks.append(_check("generation", "all files are there, with their sizes", lambda: _open(folder)))
        checks.append(_check("counts", "files and database hold the same", lambda: _counts(folder)))
    if deep:
        if checks[0].status == "ok":
            checks.extend(_hashes(folder))
        checks.append(_check("database", f"{DATABASE} is well formed, and as it was left", lambda: _integrity(folder)))
        checks.append(_check("documents", "texts, spans and vectors fit each other", lambda: _documents(folder)))
    return checks


def _check(name: str, detail: str, test: Callable[[], object]) -> Check:
    try:
        test()
    except IdcError as error:
        return Check(name, "fail", error.message, error.hint or MEND)
    return Check(name, "ok", detail)


def _manifest(folder: Path) -> Manifest:
    manifest, descriptor = hold_current(folder)
    os.close(descriptor)
    return manifest


def _open(folder: Path) -> None:
    Snapshot.open(folder).close()


def _counts(folder: Path) -> None:
    """Files, manifest and database hold the same number of everything."""
    with Snapshot.open(folder) as snapshot, closing(open_for_reading(folder)) as db, sql_errors(folder):
        stored = {edition.id: edition for edition in records.read_editions(folder, db)}
        for edition in snapshot.editions():
            if stored.get(edition.id) is None or edition.chunks != records.count_chunks(db, edition):
                raise damaged(folder / DATABASE, f"document {edition.document[:8]} is not complete")
        if snapshot.counts["chunks"] != snapshot.size:
            raise damaged(folder / MANIFEST, f"it counts {snapshot.counts['chunks']} chunks of {snapshot.size}")


def _hashes(folder: Path) -> Iterator[Check]:
    """One check for each file of the generation that is not what it was."""
    manifest = _manifest(folder)
    place = generation_folder(folder, manifest.generation)
    bad = []
    for name, entry in sorted(manifest.files.items()):
        try:
            sound = sha256_file(place / name) == entry.sha256
        except OSError:
            sound = False
        if not sound:
            bad.append(Check("file", "fail", f"{place / name} is damaged: its content does not fit its checksum", MEND))
    yield from bad or [Check("files", "ok", f"{len(manifest.files)} files fit their checksums")]


def _integrity(folder: Path) -> None:
    check_rest(folder)
    state = integrity(folder)
    if state != "ok":
        raise damaged(folder / DATABASE, state)


def _documents(folder: Path) -> None:
    """Every stored document: each span gives its text, vectors are unit vectors, and each use of one is counted."""
    uses: Counter[int] = Counter()
    with closing(open_for_reading(folder)) as db, sql_errors(folder):
        truth = Truth(folder, db, caches.read_meta(folder, db, "dimension") or 1)
        known = records.known_vectors(db)
        for edition in records.read_editions(folder, db):
            check_edition(truth, edition)
            uses.update(records.vector_numbers(folder, db, edition))
        caches.read_sources(folder, db)
        if {number: count for number, count in known.items() if count} != uses:
            raise damaged(folder / DATABASE, "vectors are not counted right")
