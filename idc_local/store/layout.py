"""Names, permissions and durable writes of an index folder, and its manifest.

Owns every path below the folder, the rule that a file is flushed before it is named, and the translation of OSError.
It knows nothing of what the files mean.

    manifest.json            written last: what the current generation consists of
    index.sqlite             the truth
    lock                     held by the writer
    generations/<n>/         everything derived, immutable once the manifest names it
    generations/<n>/segments/<name>/   shared with older generations through hard links
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from idc_local.config import INDEX_CONFIG
from idc_local.errors import StoreCorrupt, StoreError, StoreMismatch, UsageError, quote
from idc_local.fingerprint import canonical_json, parse_json, sha256_hex

FORMAT = 4
"""Raised whenever an older program could not read the files of a generation."""

MANIFEST = "manifest.json"
DATABASE = "index.sqlite"
LOCK = "lock"
GENERATIONS = "generations"
SEGMENTS = "segments"
MEND = "idc-local repair"
"""The command that makes everything derived anew, and takes out what cannot be read."""

COMPACT = "idc-local compact"
"""The command that also takes out whatever is of no use any more."""

REMAKE = "idc-local index PATH --rebuild"
"""The command that begins with an empty database."""

DOCUMENTS = "documents.npy"
"""In each generation; readers lock it while they read."""

DOOMED = ".removing-"
"""Prefix of a generation that is being removed: no reader can find it any more."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """Size in bytes and sha256 of one file of a generation."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the current generation consists of.

    content: digest of everything that search results depend on. files: by path below the generation's folder.
    counts: documents, chunks, sentences, intents. segments: names in the order of their numbers.
    """

    generation: int
    fingerprint: Mapping[str, Any]
    content: str
    dimension: int
    counts: Mapping[str, int]
    segments: tuple[str, ...]
    files: Mapping[str, FileEntry]


class OlderFormat(StoreMismatch):
    """A generation that an older program wrote: it is made anew from the database with the next publication."""


@contextmanager
def os_errors(folder: Path) -> Iterator[None]:
    """Turns OSError into StoreError with one line that says what is wrong with ``folder``."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(f"the index in {folder} cannot be used: {reason}", hint=_remedy(error)) from error


def _remedy(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "check the folder's permissions, or choose another folder with --index DIR"
    if isinstance(error, FileNotFoundError):
        return "check that the folder still exists"
    return "check free space and the state of the disk, or choose another folder with --index DIR"


def generation_folder(folder: Path, generation: int) -> Path:
    """Where the files of a generation lie."""
    return folder / GENERATIONS / str(generation)


def make_folder(path: Path) -> None:
    """Makes ``path`` and its parents; what is new is the owner's alone."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        if path.parent == path:
            break
        path = path.parent
    for folder in reversed(missing):
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)


def open_private(path: Path) -> int:
    """Descriptor of a new or emptied file, mode 0600, open for writing."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)


def sync_folder(path: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(path: Path) -> None:
    """Makes the names in a folder and below it durable."""
    for folder, _, _ in os.walk(path):
        sync_folder(Path(folder))


def write_durably(path: Path, data: bytes) -> None:
    """Replaces ``path`` by ``data`` at once and for good: afterwards it is the old or the new file, whole."""
    fresh = path.with_name(path.name + ".new")
    with os.fdopen(open_private(fresh), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync_folder(path.parent)


def remove_tree(path: Path) -> None:
    """Removes a folder with everything in it; that it is gone already is fine."""
    if path.exists():
        shutil.rmtree(path)


def generations_on_disk(folder: Path) -> list[int]:
    """Numbers of all generation folders, whole or not, ascending."""
    place = folder / GENERATIONS
    if not place.is_dir():
        return []
    return sorted(int(entry.name) for entry in place.iterdir() if entry.name.isdecimal())


def sha256_file(path: Path) -> str:
    """sha256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def has_index(folder: Path) -> bool:
    """True where ``folder`` holds an index, published or not."""
    return (folder / MANIFEST).is_file() or (folder / DATABASE).is_file()


def check_place(folder: Path, roots: Iterable[Path]) -> None:
    """Refuses an index that would lie among other files: a folder that holds one is left out by every later run.

    Raises:
        UsageError: ``folder`` is one of the ``roots``, or holds no index but other files than its settings.
    """
    choose = "keep the index in a folder of its own, with --index DIR"
    place = os.path.realpath(folder)
    if any(os.path.realpath(root) == place for root in roots):
        raise UsageError(f"{folder} is to be indexed, and cannot hold the index itself", hint=choose)
    with os_errors(folder):
        if has_index(folder) or not folder.is_dir():
            return
        others = sorted(entry.name for entry in folder.iterdir() if not _is_own(entry.name))
    if others:
        raise UsageError(f"{folder} holds other files, such as {others[0]}, and no index", hint=choose)


def _is_own(name: str) -> bool:
    """True for what a new index may find: its settings, what an interrupted run has left, and hidden files."""
    return name in (LOCK, GENERATIONS, INDEX_CONFIG) or name.startswith((".", DATABASE))


def missing_index(folder: Path) -> StoreError:
    """The error for a folder without an index, or with one whose manifest was lost."""
    if not (folder / DATABASE).is_file():
        return StoreError(f"no index in {folder}", hint=f"idc-local index PATH --index {quote(folder)}")
    if generations_on_disk(folder):
        return StoreError(f"no index in {folder}: {MANIFEST} is missing", hint=f"{MEND} --index {quote(folder)}")
    return StoreError(
        f"no index in {folder} yet: its first run was not finished",
        hint=f"idc-local index PATH --index {quote(folder)} goes on where it stopped",
    )


def damaged(path: Path, what: str) -> StoreCorrupt:
    """The error for a file that is not what it should be."""
    return StoreCorrupt(f"{path} is damaged: {what}", hint=MEND)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Publishes a generation: the one step that readers see."""
    body = asdict(manifest) | {"format": FORMAT}
    sealed = body | {"seal": sha256_hex(canonical_json(body).encode())}
    write_durably(folder / MANIFEST, json.dumps(sealed, indent=1, sort_keys=True).encode())


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of ``folder``; None where nothing was published yet.

    Raises:
        StoreCorrupt: the file is not what was written.
        StoreMismatch: a newer or an older program wrote it.
    """
    path = folder / MANIFEST
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        body = parse_json(data)
        seal, number = body.pop("seal"), body["format"]
        sound = seal == sha256_hex(canonical_json(body).encode())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(path, "it cannot be parsed") from error
    if not sound:
        raise damaged(path, "its content does not fit its checksum")
    if number > FORMAT:
        raise newer_format(folder, number)
    if number < FORMAT:
        raise older_format(folder, number, FORMAT)
    return _manifest(body)


def older_format(folder: Path, number: int, current: int) -> OlderFormat:
    """The error for an index that an older program wrote: it has to be brought up to date once."""
    return OlderFormat(f"the index in {folder} has format {number}, and this idc-local reads {current}", hint=MEND)


def newer_format(folder: Path, number: int) -> StoreMismatch:
    """The error for an index that a newer program wrote."""
    return StoreMismatch(
        f"the index in {folder} has format {number}, and this idc-local knows formats up to {FORMAT}",
        hint="update idc-local, or index into another folder with --index DIR",
    )


def _manifest(body: Mapping[str, Any]) -> Manifest:
    return Manifest(
        generation=body["generation"],
        fingerprint=body["fingerprint"],
        content=body["content"],
        dimension=body["dimension"],
        counts=body["counts"],
        segments=tuple(body["segments"]),
        files={name: FileEntry(**entry) for name, entry in body["files"].items()},
    )
