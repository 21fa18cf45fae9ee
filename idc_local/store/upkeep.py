"""Looking after an index: making everything derived anew, giving back space, forgetting a document for good."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from idc_local.errors import StoreCorrupt, StoreLocked, quote
from idc_local.filters import named
from idc_local.store import caches, records, vectorcache
from idc_local.store.codec import decode_sentences, decode_text, encode_text
from idc_local.store.layout import (
    COMPACT,
    DATABASE,
    REMAKE,
    damaged,
    generations_on_disk,
    has_index,
    missing_index,
    os_errors,
)
from idc_local.store.lock import WriterLock
from idc_local.store.needles import MOST, Needles
from idc_local.store.publishing import SCRUB, publish, published_sources, remove_leftovers, sound_manifest
from idc_local.store.records import Edition, read_part
from idc_local.store.rest import open_awake, rest
from idc_local.store.schema import Database, integrity, open_for_writing, sql_errors, transaction, vacuum
from idc_local.store.segments import Truth
from idc_local.store.soundness import check_edition
from idc_local.types import Check

READ = 8 << 20
LEAST_CHARACTERS = 12
"""Shorter sentences are not looked for: they may stand anywhere."""


@contextmanager
def exclusive(folder: Path, *, mends: bool = True) -> Iterator[Database]:
    """The database of an index that exists, with the writer's lock; ``mends`` as in ``open_awake``.

    Raises:
        StoreError: there is no index, or it cannot be used.
        StoreLocked: another process writes.
    """
    if not has_index(folder):
        raise missing_index(folder)
    with os_errors(folder), sql_errors(folder):
        lock = WriterLock(folder)
        try:
            db, _ = open_awake(folder, lambda: open_for_writing(folder), mends=mends)
            try:
                remove_leftovers(folder)
                yield db
            finally:
                db.close()
                rest(folder)
        finally:
            lock.release()


def repair(folder: Path) -> list[Check]:
    """Takes out of the database what is damaged, and makes everything derived from it anew."""
    with exclusive(folder) as db:
        return [*_mend(folder, db), _rebuilt(folder, db)]


def compact(folder: Path) -> list[Check]:
    """Does what ``repair`` does, and gives back the space of everything that is of no use any more."""
    with exclusive(folder) as db:
        before = _bytes(folder)
        checks = _mend(folder, db)
        with transaction(db):
            caches.drop_spent_intents(db)
        checks.append(_rebuilt(folder, db))
        vacuum(folder, db)
        after = _bytes(folder)
    return [*checks, Check("space", "ok", f"{before:,} bytes before, {after:,} after")]


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _rebuilt(folder: Path, db: Database) -> Check:
    generation = publish(folder, db, afresh=True)
    return Check("rebuilt", "ok", f"generation {generation} was made from {DATABASE}")


def _mend(folder: Path, db: Database) -> list[Check]:
    """Takes out every row and document that is not what was stored."""
    state = integrity(folder)
    if state != "ok":
        raise StoreCorrupt(f"{folder / DATABASE} is damaged: {state}", hint=REMAKE)
    with transaction(db):
        _mend_settings(folder, db)
        rows = caches.drop_damaged_rows(db) + vectorcache.drop_damaged_vectors(db)
        lost = _drop_damaged_documents(folder, db)
    checks = [
        Check("document", "warn", f"{path} was damaged and is gone", f"idc-local index {quote(path)}") for path in lost
    ]
    if rows:
        checks.append(Check("database", "warn", f"{rows} damaged rows are gone", "idc-local index PATH"))
    return checks


def _mend_settings(folder: Path, db: Database) -> None:
    for name in ("fingerprint", "dimension", SCRUB):
        try:
            known = caches.read_meta(folder, db, name)
        except StoreCorrupt:
            caches.drop_meta(db, name)
            known = None
        manifest = sound_manifest(folder)
        if known is None and manifest is not None and name != SCRUB:
            caches.put_meta(db, name, manifest.fingerprint if name == "fingerprint" else manifest.dimension)


def _drop_damaged_documents(folder: Path, db: Database) -> list[str]:
    """Paths of the documents that had to go; how often each vector is used is counted anew."""
    truth = Truth(folder, db, caches.read_meta(folder, db, "dimension") or 1)
    uses: Counter[int] = Counter()
    bad: set[str] = set()
    for edition, sound in records.all_editions(db):
        try:
            if not sound:
                raise damaged(folder / DATABASE, "a document does not fit its checksum")
            check_edition(truth, edition)
            uses.update(records.vector_numbers(folder, db, edition))
        except StoreCorrupt:
            bad.add(edition.document)
            records.drop_edition_rows(db, edition)
    vectorcache.recount_vectors(db, uses)
    lost = [record.path for record in caches.read_sources(folder, db).values() if record.document_id in bad]
    for path in lost:
        caches.drop_source(db, path)
    return lost


@dataclass(frozen=True, slots=True)
class _Doomed:
    """What is to be forgotten: paths, documents, and the sentences that must not be found afterwards."""

    paths: tuple[str, ...]
    documents: tuple[str, ...]
    sentences: frozenset[str]


def forget(folder: Path, path: str) -> list[Check]:
    """Removes a file's document, or those of all files below a folder, with every trace.

    Text, vectors, questions, caches and older generations go; a document that other paths share goes from those too.
    Then every byte of the index is searched for its sentences.

    Raises:
        NothingFound: the index has no such path.
        StoreLocked: a reader still holds an older generation; the documents are out of the current one.
    """
    with exclusive(folder) as db:
        doomed = _doomed(folder, db, path)
        with transaction(db):
            for document in doomed.documents:
                caches.drop_intents_of(db, document)
            for own in doomed.paths:
                caches.drop_source(db, own)
            vectorcache.drop_unused_vectors(db)
            caches.put_meta(db, SCRUB, True)
        publish(folder, db, afresh=True)
        if len(generations_on_disk(folder)) > 1:
            raise StoreLocked(
                f"{path} is out of the index in {folder}, but a running search still reads what was there before",
                hint=f"end it, then {COMPACT}",
            )
        telling = _telling(folder, db, doomed)
    return _searched(folder, doomed, telling)


def _doomed(folder: Path, db: Database, path: str) -> _Doomed:
    # What a run that failed has taken out of the database already is still there for readers.
    sources = {**published_sources(folder), **caches.read_sources(folder, db)}
    meant = named(sources.values(), path, os.path.abspath(path))
    documents = {record.document_id for record in meant} - {""}
    paths = {record.path for record in meant}
    paths |= {record.path for record in sources.values() if record.document_id in documents}
    editions = [edition for edition in records.read_editions(folder, db) if edition.document in documents]
    sentences = frozenset(sentence for edition in editions for sentence in _sentences(folder, db, edition))
    return _Doomed(tuple(sorted(paths)), tuple(sorted(documents)), sentences)


def _sentences(folder: Path, db: Database, edition: Edition) -> Iterator[str]:
    text = decode_text(read_part(folder, db, edition, "text"))
    spans = decode_sentences(read_part(folder, db, edition, "sentences"))
    for start, end in zip(spans.starts.tolist(), spans.ends.tolist(), strict=True):
        sentence = text[start:end].strip()
        if len(sentence) >= LEAST_CHARACTERS:
            yield sentence


def _telling(folder: Path, db: Database, doomed: _Doomed) -> dict[bytes, str]:
    """The byte strings that would give the documents away, each with its sentence: those no other document has."""
    plain = Needles(map(encode_text, doomed.sentences))
    shared: set[bytes] = set()
    for edition in records.read_editions(folder, db):
        shared |= plain.found_in(read_part(folder, db, edition, "text"))
    own = [sentence for sentence in doomed.sentences if encode_text(sentence)[:MOST] not in shared]
    return {form[:MOST]: sentence for sentence in own for form in _forms(sentence)}


def _forms(sentence: str) -> Iterator[bytes]:
    """How a sentence may look on disk: UTF-8, UTF-16, and as JSON has it."""
    yield encode_text(sentence)
    yield sentence.encode("utf-16-le", "surrogatepass")
    yield sentence.encode("utf-16-be", "surrogatepass")
    yield json.dumps(sentence)[1:-1].encode()
    yield encode_text(json.dumps(sentence, ensure_ascii=False)[1:-1])


def _searched(folder: Path, doomed: _Doomed, telling: dict[bytes, str]) -> list[Check]:
    needles = Needles(telling)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    size, remains = 0, []
    for file in files:
        count, found = _search(file, needles)
        size += count
        sentences = {telling[form] for form in found}
        if sentences:
            remains.append(Check("remains", "fail", f"{file} still holds {len(sentences)} sentences", COMPACT))
    noun = "file" if len(doomed.paths) == 1 else "files"
    gone = Check("forgotten", "ok", f"{len(doomed.paths)} {noun}: {', '.join(doomed.paths)}")
    what = f"none of {len(doomed.sentences)} sentences in {size:,} bytes of {len(files)} files"
    return [gone, *(remains or [Check("searched", "ok", what)])]


def _search(file: Path, needles: Needles) -> tuple[int, set[bytes]]:
    """Bytes of a file, and what was found in it."""
    size, found, tail = 0, set[bytes](), b""
    with file.open("rb") as stream:
        while block := stream.read(READ):
            size += len(block)
            found |= needles.found_in(tail + block)
            tail = (tail + block)[-MOST:]
    return size, found
