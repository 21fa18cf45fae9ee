"""One file that holds a whole index, for another machine.

A tar archive with two members: ``index.json`` says what it is and gives size and sha256 of ``index.sqlite``. What is
derived is not in it: it is made anew on the other side, and gives the same results. Only these two names are ever
read, so no archive can write anywhere else.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import IO

from idc_local.errors import IdcError, InputError, StoreCorrupt, StoreError, StoreLocked
from idc_local.filters import STDIN
from idc_local.fingerprint import parse_json
from idc_local.store import caches
from idc_local.store.layout import (
    DATABASE,
    has_index,
    make_folder,
    open_private,
    os_errors,
    remove_tree,
    sha256_file,
    sync_folder,
    sync_tree,
)
from idc_local.store.lock import WriterLock
from idc_local.store.publishing import publish
from idc_local.store.rest import rest
from idc_local.store.schema import check_tables, copy_into, integrity, open_for_writing, sql_errors, transaction
from idc_local.store.upkeep import exclusive
from idc_local.types import Check

DESCRIPTION = "index.json"
ARCHIVE_FORMAT = 1
DISK_FAILURES = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""For which the place that was named is not to blame."""
LARGEST_DESCRIPTION = 1 << 20
STEP = 1 << 20


@dataclass(frozen=True, slots=True)
class _Description:
    """What an archive says of its database."""

    size: int
    sha256: str


def export_index(folder: Path, file: Path) -> list[Check]:
    """Writes the index in ``folder`` to ``file``, which is replaced at once and only when the new one is whole.

    Raises:
        InputError: ``file`` cannot be written, or is something else already.
        StoreError: there is no index, or the disk is full or fails.
        StoreLocked: another process writes to the index.
        StoreCorrupt: the database is not as the last writer left it.
    """
    with _writing(file), _work_folder(file, "export") as work:
        copy = work / DATABASE
        os.close(open_private(copy))
        with exclusive(folder, mends=False) as db:
            copy_into(db, copy)
        _strip(work)
        size = copy.stat().st_size
        description = {"format": ARCHIVE_FORMAT, "size": size, "sha256": sha256_file(copy)}
        whole = work / "whole"
        with os.fdopen(open_private(whole), "wb") as out:
            _write_tar(out, json.dumps(description).encode(), copy)
            out.flush()
            os.fsync(out.fileno())
        written = whole.stat().st_size
        whole.replace(file)
        sync_folder(file.parent)
    return [Check("exported", "ok", f"{file}: {written:,} bytes")]


@contextmanager
def _writing(file: Path) -> Iterator[None]:
    """Turns OSError into one line about the exported file, whose name SQLite takes in UTF-8 alone.

    A place that cannot be written is an argument that cannot be used, unlike a disk that fails.
    """
    if str(file) == STDIN:
        raise InputError("an export goes to a file, not to standard output", hint="idc-local export backup.idcx")
    try:
        str(file).encode()
        _check_replaceable(file)
        yield
    except UnicodeEncodeError as error:
        raise InputError(f"{file} is no name in UTF-8", hint="choose another name") from error
    except OSError as error:
        what = f"{file} cannot be written: {error.strerror or error}"
        if error.errno in DISK_FAILURES:
            raise StoreError(what, hint="make room on its disk, or choose another place") from error
        raise InputError(what, hint="check that its folder exists, and its permissions") from error


def _check_replaceable(file: Path) -> None:
    """Raises InputError where ``file`` is anything but missing, empty or an exported index."""
    if not file.exists() or (file.is_file() and not file.stat().st_size):
        return
    try:
        with _members(file) as tar:
            _read_description(_member(tar, DESCRIPTION, file), file)
    except IdcError as error:
        raise InputError(f"{file} exists and is no exported index", hint="choose another name") from error


def _strip(work: Path) -> None:
    """Takes out of a copied database where on this machine its files lie."""
    with sql_errors(work), closing(open_for_writing(work)) as db, transaction(db):
        for record in caches.read_sources(work, db).values():
            caches.put_source(db, replace(record, root=""))


def _write_tar(out: IO[bytes], description: bytes, copy: Path) -> None:
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, size, stream in (
            (DESCRIPTION, len(description), BytesIO(description)),
            (DATABASE, copy.stat().st_size, copy.open("rb")),
        ):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = size, 0o600
            with stream:
                tar.addfile(entry, stream)


def import_index(file: Path, folder: Path) -> list[Check]:
    """Makes an index in ``folder``, which must be missing or empty, from an exported ``file``; all of it or nothing.

    Raises:
        InputError: the file is no exported index.
        StoreCorrupt: its content does not fit its checksum.
        StoreError: there is an index already, or the folder cannot be written.
    """
    with os_errors(folder):
        if has_index(folder) or (folder.is_dir() and any(folder.iterdir())):
            raise StoreError(f"{folder} is not empty", hint="choose another folder with --index DIR")
        make_folder(folder.parent)
        with _work_folder(folder, "import") as work:
            _unpack(file, work)
            generation = _build(work)
            rest(work)
            sync_tree(work)
            work.rename(folder)
            sync_folder(folder.parent)
    return [Check("imported", "ok", f"{folder}: generation {generation}")]


def _build(work: Path) -> int:
    state = integrity(work)
    if state != "ok":
        raise StoreCorrupt(f"the exported {DATABASE} is damaged: {state}", hint="export the index again")
    with sql_errors(work), closing(open_for_writing(work)) as db:
        check_tables(work, db)
        return publish(work, db, afresh=True)


@contextmanager
def _work_folder(target: Path, purpose: str) -> Iterator[Path]:
    """A private folder beside ``target``, locked while it is in use; those of killed runs are removed first."""
    prefix = f".{target.name}.{purpose}-"
    for old in target.parent.glob(f"{glob.escape(prefix)}*"):
        with suppress(StoreLocked, NotADirectoryError):
            WriterLock(old).release()
            remove_tree(old)
    work = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
    lock = WriterLock(work)
    try:
        yield work
    finally:
        lock.release()
        if work.exists():
            remove_tree(work)


def _unpack(file: Path, work: Path) -> None:
    """The database of an archive, checked, into ``work``."""
    with _members(file) as tar:
        description = _read_description(_member(tar, DESCRIPTION, file), file)
        _copy(_member(tar, DATABASE, file), work / DATABASE, description, file)


@contextmanager
def _members(file: Path) -> Iterator[tarfile.TarFile]:
    """The archive, open for reading."""
    try:
        if file.exists() and not file.is_file():
            raise InputError(f"{file} is no file", hint="make one with idc-local export")
        stream = file.open("rb")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}", hint="check the path") from error
    try:
        with stream, tarfile.open(fileobj=stream, mode="r:") as tar:
            yield tar
    except (tarfile.TarError, EOFError) as error:
        raise InputError(f"{file} is no exported index: {error}", hint="make one with idc-local export") from error


def _member(tar: tarfile.TarFile, name: str, file: Path) -> IO[bytes]:
    """The next member of the archive, which must be the regular file ``name``."""
    entry = tar.next()
    stream = tar.extractfile(entry) if entry is not None and entry.isreg() and entry.name == name else None
    if stream is None:
        raise InputError(f"{file} is no exported index: {name} is missing", hint="make one with idc-local export")
    return stream


def _read_description(stream: IO[bytes], file: Path) -> _Description:
    try:
        value = parse_json(stream.read(LARGEST_DESCRIPTION))
        number, description = int(value["format"]), _Description(int(value["size"]), str(value["sha256"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file} is no exported index", hint="make one with idc-local export") from error
    if number > ARCHIVE_FORMAT:
        raise InputError(f"{file} was made by a newer idc-local (format {number})", hint="update idc-local")
    return description


def _copy(stream: IO[bytes], path: Path, description: _Description, file: Path) -> None:
    found, size = hashlib.sha256(), 0
    with os.fdopen(open_private(path), "wb") as out:
        while block := stream.read(STEP):
            size += len(block)
            if size > description.size:
                break
            found.update(block)
            out.write(block)
    if size != description.size or found.hexdigest() != description.sha256:
        raise StoreCorrupt(f"{file} is damaged: its content does not fit its checksum", hint="copy it again")
