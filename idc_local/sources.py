"""What an indexing run has to do: files found on disk against files that the index knows.

Layer 3: plans look at names, sizes and times alone.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from idc_local.errors import InputError, quote
from idc_local.filters import STDIN, shown
from idc_local.ports import DocumentReader, SourceFile
from idc_local.readers import MAX_BYTES
from idc_local.readers.archives import is_inside
from idc_local.readers.isolation import IsolatedReader
from idc_local.readers.kinds import is_archive
from idc_local.readers.walk import Ignored, WalkOptions, walk
from idc_local.types import Document, Skip, SourceRecord

ATTEMPTS = 3
"""How often a file is read that changes meanwhile."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file below a root: ``root`` is the absolute folder that ``file.path`` is relative to."""

    file: SourceFile
    root: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Files to look into, paths gone or no longer asked for, files that cannot be read, and what is ignored."""

    found: tuple[Found, ...]
    removed: tuple[str, ...]
    skipped: tuple[Skip, ...]
    ignored: tuple[Ignored, ...] = ()


def plan_sources(roots: Sequence[Path], known: Mapping[str, SourceRecord], options: WalkOptions | None = None) -> Plan:
    """What is below ``roots``, under names that are unique in the index, and which known files are gone.

    A known file that ``options`` or an ignore file leave out is gone too; what an archive holds is not looked at.

    Raises:
        InputError: a root does not exist.
    """
    found: dict[str, Found] = {}
    seen: set[Path] = set()
    skipped: list[Skip] = []
    ignored: list[Ignored] = []
    unseen: list[str] = []
    check_roots(roots)
    absolute = sorted({os.path.abspath(root) for root in roots})
    for root in map(Path, absolute):
        files, left_out, unwanted = _walk(root, options)
        skipped.extend(left_out)
        ignored.extend(unwanted)
        # What cannot be looked at now has not vanished: its last good version stays.
        folder = root if root.is_dir() else root.parent
        unseen.extend(os.path.abspath(folder / skip.path) for skip in left_out)
        fresh = [file for file in files if file.real not in seen]
        seen.update(file.real for file in fresh)
        found.update((entry.file.path, entry) for entry in _named(root, fresh, known, found))
    archives = [path for path in found if is_archive(path)]
    gone = [
        record
        for path, record in known.items()
        if path not in found and _below(record, absolute) and not any(is_inside(path, archive) for archive in archives)
    ]
    removed = sorted(record.path for record in gone if not _below(record, unseen))
    return Plan(tuple(found.values()), tuple(removed), tuple(skipped), tuple(ignored))


def check_roots(roots: Iterable[Path]) -> None:
    """Raises InputError for a root that does not exist."""
    for root in roots:
        if str(root) != STDIN and not os.path.lexists(root):
            raise InputError(f"{os.path.abspath(root)} does not exist", hint="check the path")


def _walk(root: Path, options: WalkOptions | None) -> tuple[list[SourceFile], list[Skip], list[Ignored]]:
    files: list[SourceFile] = []
    skipped: list[Skip] = []
    ignored: list[Ignored] = []
    for entry in walk([root], options):
        if isinstance(entry, Skip):
            skipped.append(entry)
        elif isinstance(entry, Ignored):
            ignored.append(entry)
        else:
            files.append(entry)
    return files, skipped, ignored


def _named(
    root: Path, files: Sequence[SourceFile], known: Mapping[str, SourceRecord], found: Mapping[str, Found]
) -> Iterable[Found]:
    """Files under names that no file of another root has: relative to ``root``, or to a folder above it."""
    base = root if root.is_dir() else root.parent
    home = _home(root, base, known.values())
    homeless = {path: record for path, record in known.items() if not record.root and path != STDIN}
    adopted = next(
        (folder for folder in (base, *base.parents) if _same(_below_home(base, folder, files), homeless)), None
    )
    if adopted is not None:
        return _below_home(base, adopted, files)
    while True:
        entries = _below_home(base, home, files)
        if home == home.parent or not any(_taken(entry, known, found) for entry in entries):
            return entries
        home = home.parent


def _home(root: Path, base: Path, known: Iterable[SourceRecord]) -> Path:
    """The folder that most of the root's known files are named from; else the outermost known one that holds it."""
    records = list(known)
    roots = {record.root for record in records}
    outermost_first = [folder for folder in (*reversed(base.parents), base) if str(folder) in roots]
    mine = Counter(record.root for record in records if _below(record, [str(root)]))
    # Of equals the first is taken, and where none of the root's files is known, all are.
    return max(outermost_first, key=lambda folder: mine[str(folder)], default=base)


def _below_home(base: Path, home: Path, files: Sequence[SourceFile]) -> list[Found]:
    prefix = base.relative_to(home)
    return [Found(replace(file, path=_join(prefix, file.path)), str(home)) for file in files]


def _same(entries: Sequence[Found], homeless: Mapping[str, SourceRecord]) -> bool:
    """True where the files are evidently those of an imported index, which does not say in what folder they were.

    That is so where most of those that have names of its files have their sizes too.
    """
    named = [entry.file for entry in entries if entry.file.path in homeless] if homeless else []
    alike = sum(file.size == homeless[file.path].size for file in named)
    return 0 < len(named) <= 2 * alike


def _join(prefix: Path, path: str) -> str:
    return str(PurePosixPath(prefix.as_posix()) / path)


def _taken(entry: Found, known: Mapping[str, SourceRecord], found: Mapping[str, Found]) -> bool:
    """True where another file already has the entry's name, as standard input has that of a file ``-``."""
    if entry.file.path == STDIN:
        return True
    record, other = known.get(entry.file.path), found.get(entry.file.path)
    real = os.path.join(entry.root, entry.file.path)
    if other is not None and os.path.join(other.root, other.file.path) != real:
        return True
    return record is not None and os.path.join(record.root, record.path) != real


def _below(record: SourceRecord, roots: Sequence[str]) -> bool:
    """True where the known file lies in one of the roots, or is one."""
    if not record.root:
        return False
    real = os.path.join(record.root, record.path)
    return any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in roots)


def read_one(source: Path, reader: DocumentReader) -> Document:
    """The document in a file, or on standard input for ``-``."""
    if str(source) == STDIN:
        return reader.read(read_stdin(MAX_BYTES), STDIN)
    try:
        with source.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except IsADirectoryError as error:
        raise InputError(f"{source} is a folder", hint=f"idc-local index {quote(source)}") from error
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}", hint="check the path") from error
    return reader.read(data, shown(str(source)))


def read_stdin(max_bytes: int) -> bytes:
    """What standard input gives, as far as it takes to see that it is too large."""
    return sys.stdin.buffer.read(max_bytes + 1)


def read_alone(source: Path) -> Document:
    """The document in a file that no index is asked about, read in a process of its own."""
    with IsolatedReader() as reader:
        return read_one(source, reader)


def read_file(file: SourceFile, max_bytes: int) -> tuple[bytes, SourceFile]:
    """The bytes of a file, and the file as it was while they were read.

    Raises:
        InputError: it cannot be read, or changes all the time.
    """
    for _ in range(ATTEMPTS):
        try:
            found = _read_still(file, max_bytes)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise InputError(f"{file.path}: has vanished during the run", hint="run index again") from error
        except OSError as error:
            raise InputError(f"{file.path}: cannot be read: {error.strerror}", hint="check its permissions") from error
        if found is not None:
            return found
    raise InputError(f"{file.path}: changes while it is read", hint="run index again once it is written")


def _read_still(file: SourceFile, max_bytes: int) -> tuple[bytes, SourceFile] | None:
    """The bytes and the file, or None where it changed in between. What has become a pipe is not waited for."""
    descriptor = os.open(file.real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        data = stream.read(max_bytes + 1)
        after = os.fstat(descriptor)
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    if not same or len(data) != min(after.st_size, max_bytes + 1):
        return None
    return data, replace(file, size=len(data), mtime_ns=after.st_mtime_ns)
