"""Finds files to read below files and folders, in the order of their names. Reads no content.

A folder gives all files but hidden ones, those that ``.gitignore`` and ``.idcignore`` files leave out, and types that
hold no words; a file that is named itself is always tried. Links are followed only while they stay inside their root,
and every folder is entered once, so cycles end.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from idc_local.filters import shown
from idc_local.ports import SourceFile
from idc_local.readers import MAX_BYTES
from idc_local.readers.choosing import Choice, Globs, choice_at
from idc_local.readers.kinds import is_archive, is_wordless
from idc_local.types import Skip

_DATABASE = "index.sqlite"
_BESIDE_IT = frozenset(("manifest.json", "lock"))
"""An index holds one of these too, also while it is made."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """A file, or a folder with a slash behind its name, that was not asked for, and what says so."""

    path: str
    reason: str


Entry = SourceFile | Skip | Ignored


@dataclass(frozen=True, slots=True)
class WalkOptions:
    """What is found.

    max_bytes: larger files are skipped. hidden: also names that begin with a dot. archives: also archives.
    include, exclude: patterns as in ``.gitignore``, relative to each root. Where there are ``include`` patterns, only
    what one of them names, or a folder above it, is taken; ``exclude`` overrules that.
    """

    max_bytes: int = MAX_BYTES
    hidden: bool = False
    archives: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


def walk(roots: Sequence[Path], options: WalkOptions | None = None) -> Iterator[Entry]:
    """Files below ``roots``, and what was left out and why; sorted within each root, each name once.

    Paths are relative to the root folder (a file root: its name). Where roots would give one name to two files, their
    paths begin with the root's own name, and are absolute where even that is not enough.
    """
    chosen = options or WalkOptions()
    found = {root: _below(root, chosen) for root in map(Path, map(os.path.abspath, roots))}
    named = found
    for prefix in (_own_name, _folder):
        counts = Counter(path for entries in named.values() for path in {entry.path for entry in entries})
        clashing = {root for root, entries in named.items() if any(counts[entry.path] > 1 for entry in entries)}
        named = {
            root: [_below_prefix(entry, prefix(root)) for entry in found[root]] if root in clashing else entries
            for root, entries in named.items()
        }
    for entries in named.values():
        yield from entries


def _folder(root: Path) -> str:
    return str(root if root.is_dir() else root.parent)


def _own_name(root: Path) -> str:
    return Path(_folder(root)).name


def _below_prefix(entry: Entry, prefix: str) -> Entry:
    return replace(entry, path=f"{shown(prefix)}/{entry.path}")


def _below(root: Path, options: WalkOptions) -> list[Entry]:
    """The entries of one root, sorted by path."""
    try:
        if not stat.S_ISDIR(root.stat().st_mode):
            return [_named_file(root, options)]
        base = root.resolve()
    except OSError as error:
        return [Skip(shown(root.name or str(root)), f"cannot be read: {error.strerror}")]
    visit = _Visit(root, base, options)
    visit.run()
    return list(_each_name_once(visit.entries))


def _each_name_once(entries: Sequence[Entry]) -> Iterator[Entry]:
    """The entries by path; of files whose names read the same once they are fit for output, the first is taken."""
    taken = ""
    for entry in sorted(entries, key=lambda entry: (entry.path, str(getattr(entry, "real", "")))):
        if not isinstance(entry, SourceFile):
            yield entry
        elif entry.path == taken:
            yield Skip(entry.path, "another file's name reads the same", "rename one of the two")
        else:
            taken = entry.path
            yield entry


def _named_file(file: Path, options: WalkOptions) -> Entry:
    """A file that is a root: only the command line may leave it out."""
    refusal = Globs(str(file.parent), options.include, options.exclude).refusal(str(file), False, False)
    return Ignored(shown(file.name), refusal) if refusal else _file(file, file.name, options)


def _file(real: Path, name: str, options: WalkOptions) -> Entry:
    """The file, or why it is left out; never waits on a pipe or device."""
    path = shown(name)
    try:
        status = real.stat()
    except OSError as error:
        return Skip(path, f"cannot be read: {error.strerror}")
    if not stat.S_ISREG(status.st_mode):
        return Skip(path, "not a regular file (a pipe, socket or device)")
    if is_archive(name) and not options.archives:
        return Skip(path, "an archive", "--archives reads what is in it")
    if status.st_size > options.max_bytes:
        return Skip(
            path,
            f"too large: {status.st_size} bytes, the limit is {options.max_bytes}",
            "split it",
        )
    if not os.access(real, os.R_OK):
        return Skip(path, "cannot be read: Permission denied")
    return SourceFile(path, real, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to enter: its place, its name below the root, and what was chosen in the folder that holds it."""

    real: Path
    name: PurePath
    choice: Choice


class _Visit:
    """The walk of one root folder; folders are entered from a list, so depth costs no stack."""

    def __init__(self, root: Path, base: Path, options: WalkOptions) -> None:
        self.entries: list[Entry] = []
        self._root = root
        self._base = base
        self._options = options
        self._entered: set[Path] = set()
        self._links: list[_Folder] = []

    def run(self) -> None:
        """Everything below the root: its own folders first, then those that links lead to."""
        options = self._options
        self._tree(
            _Folder(self._root, PurePath(), choice_at(self._root, options.include, options.exclude, options.hidden))
        )
        while self._links:
            self._links.sort(key=lambda link: link.name.as_posix(), reverse=True)
            self._tree(self._links.pop())

    def _tree(self, start: _Folder) -> None:
        pending = [start]
        while pending:
            folder = pending.pop()
            resolved = folder.real.resolve()
            if resolved not in self._entered:
                self._entered.add(resolved)
                pending += self._enter(folder)

    def _enter(self, folder: _Folder) -> list[_Folder]:
        """Notes what is in a folder, and returns the folders among it."""
        try:
            with os.scandir(folder.real) as listing:
                children = list(listing)
        except OSError as error:
            self.entries.append(Skip(shown(folder.name.as_posix()) + "/", f"cannot be read: {error.strerror}"))
            return []
        names = {child.name for child in children}
        if _DATABASE in names and names & _BESIDE_IT:
            self.entries.append(Ignored(shown(folder.name.as_posix()) + "/", "an index"))
            return []
        choice = folder.choice.inside(self._path(folder.name), folder.real, names)
        return [below for child in children for below in self._child(child, folder.name / child.name, choice)]

    def _path(self, name: PurePath) -> str:
        return os.path.join(self._root, name) if name.parts else str(self._root)

    def _child(self, child: os.DirEntry[str], name: PurePath, choice: Choice) -> list[_Folder]:
        """Notes a file or link; a folder is returned to be entered."""
        is_folder = _is_folder(child)
        refusal = choice.refusal(self._path(name), is_folder)
        if refusal:
            self.entries.append(Ignored(shown(name.as_posix()) + "/" * is_folder, refusal))
            return []
        real = Path(child.path)
        if not child.is_symlink():
            if is_folder:
                return [_Folder(real, name, choice)]
            self._note(real, name)
            return []
        try:
            target = real.resolve(strict=True)
        except (OSError, RuntimeError):
            self.entries.append(Skip(shown(name.as_posix()), "a link that leads nowhere"))
            return []
        if not target.is_relative_to(self._base):
            self.entries.append(Skip(shown(name.as_posix()), "a link that leads out of the folder"))
        elif is_folder:
            self._links.append(_Folder(real, name, choice))
        else:
            self._note(target, name)
        return []

    def _note(self, real: Path, name: PurePath) -> None:
        if is_wordless(name.name) and not is_archive(name.name):
            self.entries.append(Skip(shown(name.as_posix()), f"unsupported type {shown(name.suffix.lower())}"))
        else:
            self.entries.append(_file(real, name.as_posix(), self._options))


def _is_folder(child: os.DirEntry[str]) -> bool:
    try:
        return child.is_dir()
    except OSError:
        return False
