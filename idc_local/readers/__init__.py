"""Files to documents: which reader reads what, and the walk that finds files.

A format is one module here with a ``READER``; it is imported when the first file of its kind is read. Readers are pure
functions of bytes, so any of them can run in a child process.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePosixPath
from typing import NamedTuple, cast

from idc_local.errors import InputError
from idc_local.ports import Reader
from idc_local.types import Document

MAX_BYTES = 64 << 20


class ReaderEntry(NamedTuple):
    """Where the reader of a suffix is found, and the media type that it reads."""

    module: str
    media_type: str


_TEXT = ReaderEntry("text", "text/plain")
_MARKDOWN = ReaderEntry("markdown", "text/markdown")
_HTML = ReaderEntry("html", "text/html")

READERS: dict[str, ReaderEntry] = {
    ".txt": _TEXT,
    ".text": _TEXT,
    ".rst": _TEXT,
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".mdown": _MARKDOWN,
    ".mkd": _MARKDOWN,
    ".html": _HTML,
    ".htm": _HTML,
    ".xhtml": _HTML,
}
"""Suffix, in lower case, to reader; a name without a suffix (README) is read by its content."""

_HTML_CONTENT = re.compile(rb"\s*(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html[\s>])", re.I | re.S)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What is read: ``max_bytes`` is the largest source."""

    max_bytes: int = MAX_BYTES


def read_source(data: bytes, path: str, options: ReadOptions | None = None) -> Document:
    """The document in ``data``: the suffix of ``path`` names the reader, or else the content does.

    Raises InputError, naming ``path``, for data that is too large or not of the format.
    """
    limit = (options or ReadOptions()).max_bytes
    if len(data) > limit:
        raise InputError(
            f"{path}: too large: {len(data)} bytes, the limit is {limit}", hint="split it, or raise the limit"
        )
    entry = READERS.get(PurePosixPath(path).suffix.lower()) or _by_content(data)
    reader = cast(Reader, import_module(f"{__name__}.{entry.module}").READER)
    return reader.read(data, path, entry.media_type)


def _by_content(data: bytes) -> ReaderEntry:
    return _HTML if _HTML_CONTENT.match(data.removeprefix(b"\xef\xbb\xbf")[:4096]) else _TEXT
