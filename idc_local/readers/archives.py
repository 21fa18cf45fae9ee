"""Takes apart .zip and .tar archives and files packed alone, in memory.

Nothing is ever written, and no member is opened unless it is wanted.

Sizes are those that come out, whatever the archive says of itself. Names that lead out of the archive, links, devices,
encrypted members and archives inside an archive are named and left out.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from idc_local.errors import InputError
from idc_local.filters import SEPARATOR
from idc_local.ports import Member
from idc_local.readers.kinds import PACKED, TARS, is_archive, is_wordless
from idc_local.types import Skip

MAX_MEMBERS = 10_000
MAX_TOTAL = 256 << 20
MAX_RATIO = 200
_FREE = 1 << 20
"""Bytes that may come out of an archive whatever its ratio: tiny archives of repeated text are no bombs."""

_PIECE = 1 << 20
_OPENERS: dict[str, Callable[[BinaryIO], object]] = dict(zip(PACKED, (gzip.open, bz2.open, lzma.open), strict=True))
_DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, KeyError,
    NotImplementedError, RuntimeError, IndexError, OverflowError, UnicodeError,
)  # fmt: skip
"""What the standard library raises for archives that are broken in one way or another."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A member before it is opened. ``refusal``: why it is not to be; ``folder``: it holds nothing itself."""

    name: str
    open: Callable[[], BinaryIO | None]
    refusal: str = ""
    folder: bool = False


class _Budget:
    """What may still come out of an archive."""

    def __init__(self, packed: int) -> None:
        self.left = min(MAX_TOTAL, max(_FREE, packed * MAX_RATIO))
        self._bound = "in all" if self.left == MAX_TOTAL else f"{MAX_RATIO} times its size"

    @property
    def reason(self) -> str:
        """What to say once it is used up."""
        return f"more comes out of the archive than {self._bound}: not read"


def members_of(data: bytes, path: str, max_bytes: int) -> list[Member | Skip]:
    """The members of the archive in ``data`` that may hold text, by name, and what was left out and why.

    Of several members of one name the last counts, as for the programs that unpack them: ``tar -r`` adds new versions.

    Raises:
        InputError: it is no archive, or damaged from the start.
    """
    found: dict[str, Member | Skip] = {}
    budget = _Budget(len(data))
    try:
        for count, entry in enumerate(_entries(data, PurePosixPath(path).name)):
            if count >= MAX_MEMBERS:
                found[SEPARATOR] = Skip(path, f"more than {MAX_MEMBERS} members: the rest is not read")
                break
            member = _member(entry, path, max_bytes, budget)
            if member is not None:
                found[entry.name] = member
            if budget.left < 0:
                break
    except _DAMAGE as error:
        reason = f"damaged archive: {_said(error)}"
        if not found:
            raise InputError(f"{path}: {reason}", hint="test it with the program that made it") from error
        found[SEPARATOR] = Skip(path, reason, "test it with the program that made it")
    return [found[name] for name in sorted(found)]


def _member(entry: _Entry, path: str, max_bytes: int, budget: _Budget) -> Member | Skip | None:
    """The member, why it is left out, or None where nobody asked for it."""
    if entry.folder:
        return None
    name = entry.name.encode("utf-8", "backslashreplace").decode("utf-8")
    parts = PurePosixPath(name.replace("\\", "/")).parts
    shown = f"{path}{SEPARATOR}{name}"
    if name.startswith("/") or ".." in parts or (parts and parts[0].endswith(":")):
        return Skip(shown, "its name leads out of the archive")
    if not parts or any(part.startswith(".") for part in parts) or parts[0] == "__MACOSX":
        return None
    refusal = entry.refusal or _refusal(name)
    if refusal:
        return Skip(shown, refusal)
    try:
        data = _taken(entry, max_bytes, budget)
    except _DAMAGE as error:
        return Skip(shown, f"damaged in the archive: {_said(error)}")
    if data is None:
        return None
    if budget.left < 0:
        return Skip(shown, budget.reason)
    if len(data) > max_bytes:
        return Skip(shown, f"too large: more than the limit of {max_bytes} bytes")
    return Member(shown, data)


def _refusal(name: str) -> str:
    if is_archive(name):
        return "an archive inside an archive"
    return f"unsupported type {PurePosixPath(name).suffix.lower()}" if is_wordless(name) else ""


def _taken(entry: _Entry, max_bytes: int, budget: _Budget) -> bytes | None:
    """The bytes of a member, cut once they are too many; None for what is no file."""
    stream = entry.open()
    if stream is None:
        return None
    parts: list[bytes] = []
    size = 0
    with stream:
        while size <= max_bytes and budget.left >= 0:
            part = stream.read(min(_PIECE, max_bytes + 1 - size))
            if not part:
                break
            parts.append(part)
            size += len(part)
            budget.left -= len(part)
    return b"".join(parts)


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text[:200] or type(error).__name__


def _entries(data: bytes, name: str) -> Iterator[_Entry]:
    """name: of the archive, which is all that tells a packed file from a packed archive."""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in _OPENERS and not name.lower().endswith(TARS):
        return iter([_Entry(name[: -len(suffix)], partial(_unpacked, suffix, data))])
    if data[:2] == b"PK" or zipfile.is_zipfile(io.BytesIO(data)):
        return _zip_entries(data)
    return _tar_entries(data)


def _unpacked(suffix: str, data: bytes) -> BinaryIO:
    return cast(BinaryIO, _OPENERS[suffix](io.BytesIO(data)))


def _zip_entries(data: bytes) -> Iterator[_Entry]:
    archive = zipfile.ZipFile(io.BytesIO(data))
    for info in archive.infolist():
        kind = info.external_attr >> 28
        refusal = "encrypted" if info.flag_bits & 1 else "a link or device" if kind not in (0, 4, 8) else ""
        yield _Entry(info.filename, partial(_open_in_zip, archive, info), refusal, info.is_dir())


def _open_in_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> BinaryIO:
    return cast(BinaryIO, archive.open(info))


def _tar_entries(data: bytes) -> Iterator[_Entry]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as archive:
        for info in archive:
            refusal = "" if info.isreg() else "a link or device"
            yield _Entry(info.name, partial(_open_in_tar, archive, info), refusal, info.isdir())


def _open_in_tar(archive: tarfile.TarFile, info: tarfile.TarInfo) -> BinaryIO | None:
    return cast(BinaryIO | None, archive.extractfile(info))


def is_inside(path: str, archive: str) -> bool:
    """True where ``path`` names a member of ``archive``."""
    return path.startswith(archive + SEPARATOR)
