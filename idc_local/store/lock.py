"""Who may write, and which generations are being read. Owns every file lock.

Locks belong to the kernel: they vanish with the process that holds them, however it ends, so none can go stale. The
writer's lock file says who holds it, for people.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
from contextlib import suppress
from pathlib import Path

from idc_local.errors import StoreError, StoreLocked
from idc_local.fingerprint import parse_json
from idc_local.store.layout import (
    DOCUMENTS,
    DOOMED,
    GENERATIONS,
    LOCK,
    Manifest,
    damaged,
    generation_folder,
    missing_index,
    read_manifest,
    remove_tree,
)

NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)


class WriterLock:
    """Held by the one process that may write to an index."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK
        self.held = True
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._take(folder)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _take(self, folder: Path) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = _describe(self._path)
            raise StoreLocked(
                f"the index in {folder} is being written to by {holder}", hint="wait until it is done, or stop it"
            ) from error
        except OSError as error:
            raise StoreError(
                f"the file system of {folder} has no file locks", hint="put the index on a local disk with --index DIR"
            ) from error
        owner = {"pid": os.getpid(), "host": socket.gethostname(), "started": process_start(os.getpid())}
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps(owner).encode(), 0)

    def release(self) -> None:
        """Lets others write."""
        if self.held:
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self.held = False


def process_start(pid: int) -> str:
    """When a process began, in the kernel's own terms; empty where the system does not tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The name in parentheses may hold spaces: field 22 is counted from behind it.
    return stat.rpartition(")")[2].split()[19]


def _describe(path: Path) -> str:
    try:
        owner = parse_json(path.read_bytes())
        return f"process {int(owner['pid'])} on {owner['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def hold_generation(folder: Path, generation: int) -> int | None:
    """Descriptor that keeps a generation on disk until it is closed; None if the generation is gone or going."""
    path = generation_folder(folder, generation) / DOCUMENTS
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        _share(descriptor)
        mine, named = os.fstat(descriptor), path.stat()
        if (mine.st_dev, mine.st_ino) == (named.st_dev, named.st_ino):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _share(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        # Where there are no locks there is no writer either, so that nothing can be removed.
        if error.errno not in NO_LOCKS:
            raise


def remove_generation(folder: Path, generation: int) -> bool:
    """Removes a generation that nobody reads; False where somebody does."""
    place = generation_folder(folder, generation)
    try:
        descriptor = os.open(place / DOCUMENTS, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        remove_tree(place)
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        doomed = place.with_name(DOOMED + place.name)
        remove_tree(doomed)
        place.rename(doomed)
        remove_tree(doomed)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def remove_doomed(folder: Path) -> None:
    """Finishes removals that were cut short."""
    place = folder / GENERATIONS
    for entry in list(place.iterdir()) if place.is_dir() else []:
        if entry.name.startswith(DOOMED):
            remove_tree(entry)


def hold_current(folder: Path) -> tuple[Manifest, int]:
    """The current manifest, and a descriptor that keeps its generation on disk.

    Raises:
        StoreError: there is no index.
        StoreCorrupt: the manifest names a generation that is not there.
    """
    manifest = read_manifest(folder)
    while manifest is not None:
        descriptor = hold_generation(folder, manifest.generation)
        if descriptor is not None:
            return manifest, descriptor
        # The generation went between the two steps: then there is a newer one.
        newer = read_manifest(folder)
        if newer is None or newer.generation == manifest.generation:
            raise damaged(generation_folder(folder, manifest.generation) / DOCUMENTS, "it is missing")
        manifest = newer
    raise missing_index(folder)
