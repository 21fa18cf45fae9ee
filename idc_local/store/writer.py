"""Writing to an index: one process at a time, each document in one transaction, each generation at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from idc_local.errors import StoreMismatch, quote
from idc_local.indexed import IndexedDocument
from idc_local.ports import Completion
from idc_local.store import caches, records, vectorcache
from idc_local.store.layout import DATABASE, make_folder, os_errors
from idc_local.store.lock import WriterLock
from idc_local.store.publishing import publish, remove_leftovers
from idc_local.store.rest import open_awake, rest
from idc_local.store.schema import Database, is_sound, open_for_writing, remove_database, sql_errors, transaction
from idc_local.types import HalfArray, JsonValue, SourceRecord, Vectors

VECTOR_KEYS = ("embedder", "dimension")
"""Entries of a fingerprint that must be the same for vectors to be comparable."""


def comparable(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """True where vectors made under both fingerprints may be mixed."""
    keys = [key for key in VECTOR_KEYS if key in known or key in wanted]
    if not keys:
        return dict(known) == dict(wanted)
    return all(known.get(key) == wanted.get(key) for key in keys)


def _database(folder: Path, rebuild: bool) -> Database:
    """The database; one that is damaged is replaced where all is made anew anyway."""
    if rebuild and (folder / DATABASE).exists() and not is_sound(folder):
        remove_database(folder)
    return open_for_writing(folder)


class Writer:
    """The one process that may change an index. A context manager."""

    def __init__(self, folder: Path, db: Database, lock: WriterLock, resting: bytes | None) -> None:
        self._folder = folder
        self._db = db
        self._lock = lock
        self._resting = resting

    @classmethod
    def open(cls, folder: Path, fingerprint: Mapping[str, JsonValue], *, rebuild: bool = False) -> Self:
        """Takes the writer's lock of the index in ``folder``, which is made where there is none.

        Args:
            folder: the index.
            fingerprint: what the index is made with; ``embedder`` and ``dimension`` must not change.
            rebuild: start afresh; readers keep the old generation until the new one is published.

        Raises:
            StoreLocked: another process writes.
            StoreMismatch: the index was made with another embedder or by a newer program.
            StoreCorrupt: the database is not as the last writer left it.
            StoreError: the folder cannot be used.
        """
        with os_errors(folder), sql_errors(folder):
            make_folder(folder)
            lock = WriterLock(folder)
            try:
                db, resting = open_awake(folder, lambda: _database(folder, rebuild), mends=rebuild)
            except BaseException:
                lock.release()
                raise
            writer = cls(folder, db, lock, resting)
            try:
                writer._begin(dict(fingerprint), rebuild)
            except BaseException:
                writer.close()
                raise
            return writer

    def _begin(self, fingerprint: dict[str, Any], rebuild: bool) -> None:
        known = caches.read_meta(self._folder, self._db, "fingerprint")
        if rebuild:
            with self._transaction():
                vectorcache.forget_vectors(self._db)
                caches.drop_sources(self._db)
                records.retire_all(self._db)
        elif known is not None and not comparable(known, fingerprint):
            made_with = known.get("embedder_name") or known.get("embedder", "unknown")
            raise StoreMismatch(
                f"the index in {self._folder} was made with another embedder ({made_with})",
                hint=f"idc-local index PATH --rebuild --index {quote(self._folder)}",
            )
        if known != fingerprint:
            with self._transaction():
                caches.put_meta(self._db, "fingerprint", fingerprint)
        remove_leftovers(self._folder)

    def close(self) -> None:
        """Lets others write."""
        if self._lock.held:
            changes = self._db.total_changes
            self._db.close()
            rest(self._folder, None if changes else self._resting)
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with os_errors(self._folder), sql_errors(self._folder), transaction(self._db):
            yield

    def sources(self) -> dict[str, SourceRecord]:
        """Everything known of source files, by path in order."""
        with sql_errors(self._folder):
            return caches.read_sources(self._folder, self._db)

    def document_recipe(self, document_id: str) -> str | None:
        """Recipe of the stored document; None where it is not known."""
        with sql_errors(self._folder):
            return records.current_recipe(self._db, document_id)

    def vectors(self, keys: Sequence[str]) -> dict[str, HalfArray]:
        """Cached vectors, float16 [d], of the keys that are known."""
        found, size = self._cached(keys)
        return {key: np.frombuffer(row[:size], dtype="<f2") for key, row in found.items()}

    def codes(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Cached codes of the tokens of the keys that are known."""
        found, size = self._cached(keys)
        return {key: row[size:] for key, row in found.items()}

    def _cached(self, keys: Sequence[str]) -> tuple[dict[str, bytes], int]:
        """Rows of the keys that are known, and how many bytes of each are the vector."""
        with sql_errors(self._folder):
            dimension = caches.read_meta(self._folder, self._db, "dimension") or 0
            return vectorcache.read_keys(self._db, keys), 2 * dimension

    def put_vectors(self, keys: Sequence[str], vectors: Vectors, codes: Sequence[bytes] = ()) -> None:
        """Caches vectors, [len(keys), d], as float16, with the codes of their tokens; committed on return."""
        if keys:
            with self._transaction():
                self._check_dimension(vectors.shape[1])
                vectorcache.put_keys(self._db, keys, vectors, codes)

    def intents(self, keys: Sequence[str]) -> dict[str, Completion]:
        """Cached replies of the generator of the keys that are known."""
        with sql_errors(self._folder):
            return caches.read_intents(self._db, keys)

    def put_intents(self, replies: Mapping[str, Completion]) -> None:
        """Caches replies of the generator; committed on return."""
        with self._transaction():
            caches.put_intents(self._db, replies)

    def put_document(self, indexed: IndexedDocument) -> None:
        """Stores a document in place of what was stored under its id; committed on return."""
        with self._transaction():
            if indexed.sentence_vectors.shape[0]:
                self._check_dimension(indexed.sentence_vectors.shape[1])
            records.put_edition(self._db, indexed)

    def _check_dimension(self, dimension: int) -> None:
        known = caches.read_meta(self._folder, self._db, "dimension")
        if known is None:
            caches.put_meta(self._db, "dimension", dimension)
        elif known != dimension:
            raise StoreMismatch(
                f"the index in {self._folder} holds vectors of {known} values, not {dimension}",
                hint=f"idc-local index PATH --rebuild --index {quote(self._folder)}",
            )

    def put_source(self, record: SourceRecord) -> None:
        """Records a source file, in place of what was known of it."""
        with self._transaction():
            caches.put_source(self._db, record)

    def drop_source(self, path: str) -> None:
        """Forgets a source file; its document goes with the next generation unless another path has it."""
        with self._transaction():
            caches.drop_source(self._db, path)

    def publish(self) -> int:
        """Makes everything that was put visible to readers; the number of the generation.

        The manifest is written last, so that a kill at any moment leaves the old or the new generation, whole.
        Without a change since the last generation nothing is written.
        """
        with os_errors(self._folder), sql_errors(self._folder):
            return publish(self._folder, self._db)
