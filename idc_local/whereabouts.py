"""Whether the files that an index was made from are still as they were, and where they are now.

Reads files and hashes them; changes nothing. It knows nothing of how an index is stored.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from idc_local.errors import InputError
from idc_local.filters import SEPARATOR, STDIN
from idc_local.ports import Member
from idc_local.readers import MAX_BYTES
from idc_local.readers.archives import members_of
from idc_local.readers.kinds import is_archive
from idc_local.types import Check, SourceRecord

_UPDATE = "idc-local index PATH"
State = Literal["match", "moved", "changed", "gone"]
STATES: tuple[State, ...] = ("match", "moved", "changed", "gone")

LOOKED_AT = 200_000
"""Files whose sizes are compared, at most, in the search for one that moved."""

_ESCAPED = re.compile(rb"\\x([89a-f][0-9a-f])")


@dataclass(frozen=True, slots=True)
class SourceState:
    """How a source file stands against what was indexed.

    ``match``: the same bytes at the same place; ``moved``: not there, but the same bytes are at ``place``;
    ``changed``: other bytes there; ``gone``: neither. ``place`` is an absolute path, empty for ``gone``.
    """

    state: State
    place: str = ""


def source_state(record: SourceRecord) -> SourceState:
    """State of one source file."""
    return source_states([record])[record.path]


def source_states(records: Iterable[SourceRecord]) -> dict[str, SourceState]:
    """State of each source file, by path; the folders are looked through once, and only if a file is missing.

    A record without a root lies below the working directory: a copied index does not say where its files were.
    """
    wanted, hashes = list(records), _Hashes()
    states = {record.path: _at_its_place(record, hashes) for record in wanted}
    # All empty files are alike: another one is not this one.
    lost = [record for record in wanted if states[record.path].state == "gone" and record.sha256 and record.size]
    for folder in dict.fromkeys(_folder_to_search(record) for record in lost):
        mine = [record for record in lost if _folder_to_search(record) == folder]
        states.update(_found_below(folder, mine, hashes))
    return states


def check_sources(records: Iterable[SourceRecord]) -> list[Check]:
    """How many of the source files are as they were indexed, and one check for each that is not: no failure."""
    known = [record for record in records if record.document_id and record.path != STDIN]
    states = source_states(known)
    counts = Counter(state.state for state in states.values())
    said = ", ".join(f"{counts[state]} {state}" for state in STATES)
    checks = [Check("sources", "ok", f"{len(states)} files read again: {said}")]
    for record in known:
        state = states[record.path]
        if state.state != "match":
            where = f", now {state.place}" if state.state == "moved" else ""
            checks.append(Check("source", "warn", f"{state.state}: {record.path}{where}", _UPDATE))
    return checks


def _place(record: SourceRecord) -> str:
    r"""Absolute path of the file; a name that is no UTF-8 stands in the index with its bytes written ``\xNN``.

    The name of an archive's member is kept as it is: many begin with ``./``.
    """
    file, separator, member = record.path.partition(SEPARATOR)
    place = os.path.abspath(os.path.join(record.root, file)) + separator + member
    if os.path.lexists(place):
        return place
    named = _ESCAPED.sub(lambda byte: bytes.fromhex(byte[1].decode()), place.encode("utf-8", "surrogateescape"))
    return named.decode("utf-8", "surrogateescape")


def is_gone(record: SourceRecord) -> bool:
    """True where a known file, or the archive that it is in, is certainly no longer where it was."""
    place = _place(record)
    if not record.root or os.path.lexists(place):
        return False
    try:
        os.lstat(place.partition(SEPARATOR)[0])
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    return False


def _at_its_place(record: SourceRecord, hashes: _Hashes) -> SourceState:
    place = _place(record)
    found = hashes.of(place)
    if found is None:
        return SourceState("gone")
    # What was skipped is not what is in the index.
    same = found == record.sha256 and not record.reason
    return SourceState("match" if same else "changed", place)


class _Hashes:
    """sha256 in hex of files, and of the members of archives, each of which is taken apart once."""

    def __init__(self) -> None:
        self._members: dict[str, dict[str, str]] = {}

    def of(self, place: str) -> str | None:
        """That of a file, or of ``archive!/member``; None where there is none that can be read."""
        archive, inside, name = place.partition(SEPARATOR)
        if not inside or os.path.lexists(place):
            return _sha256(place)
        return self.members(archive).get(name)

    def members(self, archive: str) -> dict[str, str]:
        """Those of an archive's members by name; none where it is no archive."""
        if archive not in self._members:
            self._members[archive] = _members(archive) if is_archive(archive) else {}
        return self._members[archive]


def _members(archive: str) -> dict[str, str]:
    data = _bytes(archive)
    try:
        found = members_of(data, archive, MAX_BYTES) if data else []
    except InputError:
        return {}
    return {
        entry.path.partition(SEPARATOR)[2]: hashlib.sha256(entry.data).hexdigest()
        for entry in found
        if isinstance(entry, Member)
    }


def _sha256(place: str) -> str | None:
    try:
        with _regular(place) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None


def _bytes(place: str) -> bytes | None:
    try:
        with _regular(place) as file:
            return file.read()
    except (OSError, ValueError):
        return None


def _regular(place: str) -> io.BufferedReader:
    """A regular file, open for reading; no pipe is ever waited for."""
    if not stat.S_ISREG(os.stat(place).st_mode):
        raise OSError("no regular file")
    return open(place, "rb")


def _folder_to_search(record: SourceRecord) -> str:
    """The folder that the path is relative to, or, where that is gone as a whole, the one that held it."""
    root = os.path.abspath(record.root)
    return root if os.path.isdir(root) else os.path.dirname(root)


def _found_below(folder: str, lost: list[SourceRecord], hashes: _Hashes) -> dict[str, SourceState]:
    """The lost files whose bytes are somewhere below ``folder``: of several places the first in order."""
    names = {record.sha256: [own.path for own in lost if own.sha256 == record.sha256] for record in lost}
    packed = any(SEPARATOR in record.path for record in lost)
    found: dict[str, SourceState] = {}
    for place in sorted(_files_of_size(folder, {record.size for record in lost})):
        known = {place: hashes.of(place)}
        if packed:
            known |= {f"{place}{SEPARATOR}{name}": own for name, own in hashes.members(place).items()}
        for where, own in known.items():
            for path in names.get(own or "", ()):
                found.setdefault(path, SourceState("moved", where))
        if len(found) == len(lost):
            break
    return found


def _files_of_size(folder: str, sizes: set[int]) -> Iterator[str]:
    """Regular files below ``folder``, links and hidden folders left out."""
    seen = 0
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            seen += 1
            place = os.path.join(parent, name)
            try:
                status = os.stat(place, follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) and status.st_size in sizes:
                yield place
        if seen > LOOKED_AT:
            return
