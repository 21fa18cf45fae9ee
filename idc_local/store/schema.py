"""The database of an index: opening it, its tables by numbered migration, checksums of rows, translation of errors.

With ``records`` the only user of sqlite3. Every row that is not its own checksum carries a seal: a digest of what it
is and what it says, so that a damaged page can hide or break a row but never change one unnoticed.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from idc_local.errors import StoreCorrupt, StoreError, StoreLocked
from idc_local.store.layout import DATABASE, REMAKE, damaged, newer_format, older_format, open_private

BATCH = 500
BUSY_SECONDS = 10
VACUUM_IN_MEMORY = 512 << 20
"""Bytes up to which a database is copied in memory."""

Database = sqlite3.Connection
"""What ``open_for_writing`` and ``open_for_reading`` give."""


def m001_tables(db: sqlite3.Connection) -> None:
    """First tables.

    editions: one document under one recipe; ``current`` is 1 for the newest of a document. parts, chunks: what an
    edition consists of. vectors: float16 values by their own digest, counted by the editions that hold them.
    """
    for statement in (
        "CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID",
        "CREATE TABLE sources(path BLOB PRIMARY KEY, data BLOB NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID",
        """CREATE TABLE editions(id INTEGER PRIMARY KEY AUTOINCREMENT, document TEXT NOT NULL, recipe TEXT NOT NULL,
        current INTEGER NOT NULL, media_type TEXT NOT NULL, language TEXT NOT NULL, chunks INTEGER NOT NULL,
        sentences INTEGER NOT NULL, intents INTEGER NOT NULL, seal BLOB NOT NULL)""",
        "CREATE UNIQUE INDEX editions_current ON editions(document) WHERE current = 1",
        """CREATE TABLE parts(edition INTEGER NOT NULL REFERENCES editions(id) ON DELETE CASCADE, name TEXT NOT NULL,
        data BLOB NOT NULL, seal BLOB NOT NULL, PRIMARY KEY(edition, name))""",
        """CREATE TABLE chunks(edition INTEGER NOT NULL REFERENCES editions(id) ON DELETE CASCADE,
        ordinal INTEGER NOT NULL, data BLOB NOT NULL, seal BLOB NOT NULL, PRIMARY KEY(edition, ordinal))""",
        "CREATE TABLE vectors(id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, data BLOB NOT NULL)",
        """CREATE TABLE vector_uses(id INTEGER PRIMARY KEY REFERENCES vectors(id) ON DELETE CASCADE,
        uses INTEGER NOT NULL)""",
        "CREATE TABLE vector_keys(key BLOB PRIMARY KEY, digest BLOB NOT NULL) WITHOUT ROWID",
        "CREATE INDEX vector_keys_digest ON vector_keys(digest)",
        """CREATE TABLE intents(key TEXT PRIMARY KEY, data BLOB NOT NULL, seal BLOB NOT NULL,
        used INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID""",
        """CREATE TABLE intent_uses(edition INTEGER NOT NULL REFERENCES editions(id) ON DELETE CASCADE,
        key TEXT NOT NULL, PRIMARY KEY(edition, key)) WITHOUT ROWID""",
    ):
        db.execute(statement)


def m002_tokens(db: sqlite3.Connection) -> None:
    """Behind its vector, the row of a sentence may have codes of its tokens; ``token_sizes`` says how many bytes.

    Headings have such rows too, ``chunk_headings`` says which. Documents that were stored before have none of either.
    """
    query = "SELECT id, document, recipe, sentences, chunks FROM editions"
    for edition, document, recipe, sentences, chunks in db.execute(query).fetchall():
        for name, data in (
            ("token_sizes", bytes(8 * sentences)),
            ("token_seal", seal()),
            ("heading_vectors", b""),
            ("heading_seal", seal(b"")),
            ("chunk_headings", b"\xff" * 8 * chunks),
        ):
            own = seal(edition_identity(document, recipe), name.encode(), data)
            db.execute("INSERT INTO parts(edition, name, data, seal) VALUES(?, ?, ?, ?)", (edition, name, data, own))


def edition_identity(document: str, recipe: str) -> bytes:
    """What the seals of an edition's rows begin with."""
    return f"{document}/{recipe}".encode()


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (m001_tables, m002_tokens)


def batches(values: Iterable[Any]) -> Iterator[list[Any]]:
    """The values in lists that one statement can take, well below SQLite's limit."""
    rest = iter(values)
    while batch := list(islice(rest, BATCH)):
        yield batch


def marks(batch: Sequence[Any]) -> str:
    """A question mark for each value."""
    return ",".join("?" * len(batch))


@contextmanager
def sql_errors(folder: Path) -> Iterator[None]:
    """Turns sqlite3's errors into the store's, one line each."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(folder, error) from error
    except UnicodeDecodeError as error:
        # SQLite quotes a damaged schema in its message, and sqlite3 cannot decode that.
        raise StoreCorrupt(f"{folder / DATABASE} is damaged: its schema is no text", hint=REMAKE) from error


def _translated(folder: Path, error: sqlite3.Error) -> StoreError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    path = folder / DATABASE
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreCorrupt(f"{path} is damaged: {error}", hint=REMAKE)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreLocked(f"{path} is in use: {error}", hint="try again when the other process is done")
    if code == sqlite3.SQLITE_CONSTRAINT or "decode" in str(error):
        return damaged(path, str(error))
    return StoreError(
        f"the index in {folder} cannot be used: {error}",
        hint="check free space, permissions and the state of the disk, or choose another folder with --index DIR",
    )


class Sealing:
    """A seal in the making, for what is too large to be in memory at once."""

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=16)

    def begin(self, size: int) -> None:
        """A part of ``size`` bytes follows."""
        self._digest.update(size.to_bytes(8, "little"))

    def add(self, data: bytes | memoryview) -> None:
        """More of the part."""
        self._digest.update(data)

    def finish(self) -> bytes:
        """16 bytes that change with any part, or with where one ends."""
        return self._digest.digest()


def seal(*parts: bytes | memoryview) -> bytes:
    """16 bytes that change with any part: blake2b over the parts, each with its length."""
    sealing = Sealing()
    for part in parts:
        sealing.begin(len(part))
        sealing.add(part)
    return sealing.finish()


def sealed(stored: object, *parts: object) -> bool:
    """True where the parts are those that were sealed; damage can change even the type of a value."""
    own = [part for part in parts if isinstance(part, bytes)]
    return len(own) == len(parts) and seal(*own) == stored


def check_seal(folder: Path, stored: object, *parts: object) -> None:
    """Raises StoreCorrupt where the parts are not those that were sealed."""
    if not sealed(stored, *parts):
        raise damaged(folder / DATABASE, "a row does not fit its checksum")


def open_for_writing(folder: Path) -> sqlite3.Connection:
    """The database of ``folder``, made or migrated where needed.

    Raises:
        StoreMismatch: a newer program made it.
        StoreError: it is damaged or cannot be written.
    """
    path = folder / DATABASE
    if not path.exists():
        os.close(open_private(path))
    with sql_errors(folder):
        db = sqlite3.connect(path, isolation_level=None, timeout=BUSY_SECONDS)
        try:
            for pragma in (
                "journal_mode = WAL",
                "synchronous = FULL",
                "foreign_keys = ON",
                "secure_delete = ON",
                "temp_store = MEMORY",
                "cache_size = -65536",
                "trusted_schema = OFF",
            ):
                db.execute(f"PRAGMA {pragma}")
            _migrate(folder, db)
        except BaseException:
            db.close()
            raise
    return db


def _migrate(folder: Path, db: sqlite3.Connection) -> None:
    version = check_version(folder, db)
    for number, migration in enumerate(MIGRATIONS[version:], start=version + 1):
        db.execute("BEGIN IMMEDIATE")
        migration(db)
        db.execute(f"PRAGMA user_version = {number}")
        db.execute("COMMIT")


def copy_into(db: Database, path: Path) -> None:
    """Writes a consistent copy of the database to ``path``, an empty file, without anything that was deleted."""
    db.execute("VACUUM INTO ?", (str(path),))


def check_tables(folder: Path, db: Database) -> None:
    """Raises StoreCorrupt where a database from elsewhere has other tables, or triggers, than its format has."""
    query = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
    with closing(sqlite3.connect(":memory:")) as own:
        for migration in MIGRATIONS[: check_version(folder, db)]:
            migration(own)
        if db.execute(query).fetchall() != own.execute(query).fetchall():
            raise StoreCorrupt(f"{folder / DATABASE} has other tables than an index has", hint="export the index again")


def remove_database(folder: Path) -> None:
    """Removes the database with its log."""
    for suffix in ("", "-wal", "-shm"):
        (folder / (DATABASE + suffix)).unlink(missing_ok=True)


def check_version(folder: Path, db: sqlite3.Connection) -> int:
    """The database's format; raises StoreMismatch where it is newer than this program."""
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > len(MIGRATIONS):
        raise newer_format(folder, version)
    return version


def open_for_reading(folder: Path) -> sqlite3.Connection:
    """The database of ``folder``, which may lie on a medium that cannot be written.

    Raises:
        StoreCorrupt: it is missing or damaged.
        StoreMismatch: it has an older format, which only a writer can bring up to date, or a newer one.
    """
    db = _open_as_it_is(folder)
    version = check_version(folder, db)
    if version < len(MIGRATIONS):
        db.close()
        raise older_format(folder, version, len(MIGRATIONS))
    return db


def _open_as_it_is(folder: Path) -> sqlite3.Connection:
    """The database, in this or an older format."""
    path = folder / DATABASE
    if not path.is_file():
        raise damaged(path, "it is missing")
    with sql_errors(folder):
        try:
            return _connect(folder, path, "mode=ro")
        except sqlite3.OperationalError:
            # A write-ahead log needs a writable folder even to read; without a log the file alone is the whole truth.
            if os.access(folder, os.W_OK) or path.with_name(path.name + "-wal").exists():
                raise
            return _connect(folder, path, "mode=ro&immutable=1")


def _connect(folder: Path, path: Path, options: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{options}"
    db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False)
    try:
        db.execute("PRAGMA trusted_schema = OFF")
        check_version(folder, db)
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def transaction(db: Database) -> Iterator[None]:
    """All of the block's changes, or none."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def checkpoint(folder: Path, db: Database) -> None:
    """Moves what the write-ahead log holds into the database and empties the log, unless a reader is in the way."""
    log = folder / f"{DATABASE}-wal"
    if log.exists() and log.stat().st_size:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def vacuum(folder: Path, db: Database) -> None:
    """Rewrites the database without its free pages, and empties the write-ahead log.

    The copy that this needs for a moment lies in memory, or for a large database in the index's own folder.
    """
    path = folder / DATABASE
    large = path.stat().st_size > VACUUM_IN_MEMORY
    before = os.environ.get("SQLITE_TMPDIR")
    os.environ["SQLITE_TMPDIR"] = str(folder)
    try:
        db.execute(f"PRAGMA temp_store = {'FILE' if large else 'MEMORY'}")
        db.execute("VACUUM")
    finally:
        if before is None:
            del os.environ["SQLITE_TMPDIR"]
        else:
            os.environ["SQLITE_TMPDIR"] = before
    checkpoint(folder, db)


def integrity(folder: Path) -> str:
    """``ok``, or the first thing that is wrong with the structure of the database."""
    try:
        with closing(_open_as_it_is(folder)) as db, sql_errors(folder):
            return " ".join(str(db.execute("PRAGMA integrity_check(1)").fetchone()[0]).split())
    except StoreCorrupt as error:
        return error.message


def is_sound(folder: Path) -> bool:
    """True where the database has the tables of its format, and none is damaged."""
    try:
        with closing(_open_as_it_is(folder)) as db, sql_errors(folder):
            check_tables(folder, db)
    except StoreCorrupt:
        return False
    return integrity(folder) == "ok"
