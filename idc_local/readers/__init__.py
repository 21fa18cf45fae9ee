"""Files to documents: which reader reads what, and the walk that finds files.

A format is one module here with a ``READER``; it is imported when the first file of its kind is read. Readers are pure
functions of bytes, so any of them can run in a child process.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import PurePosixPath
from typing import NamedTuple, cast

from idc_local.errors import InputError
from idc_local.fingerprint import document_id, sha256_hex
from idc_local.ports import Reader
from idc_local.readers import magic
from idc_local.readers.kinds import PLAIN_FORMATS, script_format
from idc_local.types import Document

MAX_BYTES = 64 << 20


class ReaderEntry(NamedTuple):
    """Where the reader of a suffix is found, and the media type that it reads."""

    module: str
    media_type: str


_TEXT = ReaderEntry("text", "text/plain")
_MARKDOWN = ReaderEntry("markdown", "text/markdown")
_HTML = ReaderEntry("html", "text/html")
_PDF = ReaderEntry("pdf", magic.PDF)
_DOCX = ReaderEntry("docx", magic.DOCX)
_XLSX = ReaderEntry("xlsx", magic.XLSX)
_PPTX = ReaderEntry("pptx", magic.PPTX)
_EPUB = ReaderEntry("epub", magic.EPUB)
_ODT, _ODS, _ODP, _ODG = (ReaderEntry("odf", kind) for kind in (magic.ODT, magic.ODS, magic.ODP, magic.ODG))

READERS: dict[str, ReaderEntry] = {
    ".txt": _TEXT,
    ".text": _TEXT,
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".mdown": _MARKDOWN,
    ".mkd": _MARKDOWN,
    ".html": _HTML,
    ".htm": _HTML,
    ".xhtml": _HTML,
    ".pdf": _PDF,
    ".docx": _DOCX,
    ".docm": _DOCX,
    ".dotx": _DOCX,
    ".dotm": _DOCX,
    ".xlsx": _XLSX,
    ".xlsm": _XLSX,
    ".xltx": _XLSX,
    ".xltm": _XLSX,
    ".pptx": _PPTX,
    ".pptm": _PPTX,
    ".ppsx": _PPTX,
    ".ppsm": _PPTX,
    ".potx": _PPTX,
    ".epub": _EPUB,
    ".odt": _ODT,
    ".ott": _ODT,
    ".fodt": _ODT,
    ".ods": _ODS,
    ".ots": _ODS,
    ".fods": _ODS,
    ".odp": _ODP,
    ".otp": _ODP,
    ".fodp": _ODP,
    ".odg": _ODG,
    ".otg": _ODG,
    ".fodg": _ODG,
}
"""Suffix, in lower case, to reader; any other file is read by its whole name or its content."""

READERS |= {suffix: ReaderEntry(*found) for suffix, found in PLAIN_FORMATS.items()}

_MARKED = {entry.media_type: entry for entry in (_PDF, _DOCX, _XLSX, _PPTX, _EPUB, _ODT, _ODS, _ODP, _ODG)}
"""Formats that show by their own marks what they are: for these the content counts, not the name."""

_HTML_CONTENT = re.compile(rb"\s*(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html[\s>])", re.I | re.S)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What is read: ``max_bytes`` is the largest source."""

    max_bytes: int = MAX_BYTES


def read_source(data: bytes, path: str, options: ReadOptions | None = None) -> Document:
    """The document in ``data``: marks in it or else the suffix of ``path`` name the reader.

    Raises InputError, naming ``path``, for data that is too large or not of the format.
    """
    limit = (options or ReadOptions()).max_bytes
    if len(data) > limit:
        raise InputError(f"{path}: too large: {len(data)} bytes, the limit is {limit}", hint="split it")
    entry = entry_of(data, path)
    reader = cast(Reader, import_module(f"{__name__}.{entry.module}").READER)
    return reader.read(data, path, entry.media_type)


def read_text(text: str, path: str) -> Document:
    """The document in a text that is known to be one, read as the suffix of ``path`` says.

    A byte order mark says what it is, so that nothing is guessed from the characters that it begins with or holds; one
    that the text has is left out, and a lone surrogate is read as ``?``. Raises InputError as ``read_source`` does.
    """
    data = text.encode("utf-8", "replace")
    document = read_source(BOM_UTF8 + data.removeprefix(BOM_UTF8), path)
    return replace(
        document,
        id=document_id(document.media_type, data),
        source_sha256=sha256_hex(data),
        source_bytes=len(data),
    )


def entry_of(data: bytes, path: str) -> ReaderEntry:
    """The reader for ``data``; raises InputError for data that is plainly none of what its name says."""
    suffix = PurePosixPath(path).suffix.lower()
    named = READERS.get(suffix)
    found = _MARKED.get(magic.media_type_of(data, path))
    if found is not None:
        return found
    known_by = data.removeprefix(BOM_UTF8) if named is None else b""
    script = script_format(path, known_by) if named in (None, _TEXT) else None
    if script is not None:
        return ReaderEntry(*script)
    if named is None:
        return _by_content(data)
    if named.media_type not in _MARKED or data.startswith((b"%PDF-", b"PK")):
        return named
    if _is_plain(data):
        return _by_content(data)
    what = "empty" if not data.strip() else f"not a {suffix} file, or one whose beginning is lost"
    raise InputError(f"{path}: {what}", hint="leave it out, or fetch it again")


def _is_plain(data: bytes) -> bool:
    """True for text, whatever its name promises."""
    try:
        return bool(data.strip()) and not any(char < "\t" for char in set(data.decode("utf-8")))
    except UnicodeDecodeError:
        return False


def _by_content(data: bytes) -> ReaderEntry:
    return _HTML if _HTML_CONTENT.match(data.removeprefix(BOM_UTF8)[:4096]) else _TEXT
