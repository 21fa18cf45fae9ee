"""Finds files to read below files and folders, in the order of their names. Reads no content.

A folder gives the files whose suffix a reader knows; a file that is named itself is always tried. Links are followed
only while they stay inside their root, and every folder is entered once, so cycles end.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from idc_local.ports import SourceFile
from idc_local.readers import MAX_BYTES, READERS
from idc_local.types import Skip

Entry = SourceFile | Skip


@dataclass(frozen=True, slots=True)
class WalkOptions:
    """What is found: ``hidden`` also takes names that begin with a dot; larger files than ``max_bytes`` are skipped."""

    max_bytes: int = MAX_BYTES
    hidden: bool = False


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


def shown(name: str) -> str:
    r"""``name`` fit for any output: bytes of it that are not UTF-8 are written ``\xNN``."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


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
            return [_file(root, root.name, options)]
        base = root.resolve()
    except OSError as error:
        return [Skip(shown(root.name or str(root)), f"cannot be read: {error.strerror}")]
    visit = _Visit(base, options)
    visit.folder(root, PurePath())
    return sorted(visit.entries, key=lambda entry: entry.path)


def _file(real: Path, name: str, options: WalkOptions) -> Entry:
    """The file, or why it is left out; never waits on a pipe or device."""
    path = shown(name)
    try:
        status = real.stat()
    except OSError as error:
        return Skip(path, f"cannot be read: {error.strerror}")
    if not stat.S_ISREG(status.st_mode):
        return Skip(path, "not a regular file (a pipe, socket or device)")
    if status.st_size > options.max_bytes:
        return Skip(
            path,
            f"too large: {status.st_size} bytes, the limit is {options.max_bytes}",
            "split it, or raise the limit",
        )
    if not os.access(real, os.R_OK):
        return Skip(path, "cannot be read: Permission denied")
    return SourceFile(path, real, status.st_size, status.st_mtime_ns)


class _Visit:
    """The walk of one root folder; folders are entered from a list, so depth costs no stack."""

    def __init__(self, base: Path, options: WalkOptions) -> None:
        self.entries: list[Entry] = []
        self._base = base
        self._options = options
        self._entered: set[Path] = set()
        self._links: list[tuple[Path, PurePath]] = []

    def folder(self, real: Path, name: PurePath) -> None:
        """Everything below ``real``: its own folders first, then those that links lead to."""
        self._tree(real, name)
        while self._links:
            self._links.sort(key=lambda link: link[1].as_posix(), reverse=True)
            self._tree(*self._links.pop())

    def _tree(self, real: Path, name: PurePath) -> None:
        pending = [(real, name)]
        while pending:
            folder, below = pending.pop()
            resolved = folder.resolve()
            if resolved in self._entered:
                continue
            self._entered.add(resolved)
            try:
                with os.scandir(folder) as listing:
                    children = list(listing)
            except OSError as error:
                self.entries.append(Skip(shown(below.as_posix()) + "/", f"cannot be read: {error.strerror}"))
                continue
            for child in children:
                if self._options.hidden or not child.name.startswith("."):
                    pending.extend(self._child(child, below / child.name))

    def _child(self, child: os.DirEntry[str], name: PurePath) -> list[tuple[Path, PurePath]]:
        """Notes a file or link; a folder is returned to be entered."""
        real = Path(child.path)
        if not child.is_symlink():
            if child.is_dir(follow_symlinks=False):
                return [(real, name)]
            self._note(real, name)
            return []
        try:
            target = real.resolve(strict=True)
        except (OSError, RuntimeError):
            self.entries.append(Skip(shown(name.as_posix()), "a link that leads nowhere"))
            return []
        if not target.is_relative_to(self._base):
            self.entries.append(Skip(shown(name.as_posix()), "a link that leads out of the folder"))
        elif target.is_dir():
            self._links.append((real, name))
        else:
            self._note(target, name)
        return []

    def _note(self, real: Path, name: PurePath) -> None:
        path = name.as_posix()
        suffix = name.suffix.lower()
        if suffix in READERS or suffix == "":
            self.entries.append(_file(real, path, self._options))
        else:
            self.entries.append(Skip(shown(path), f"unsupported type {shown(suffix)}"))
