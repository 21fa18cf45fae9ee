"""Reads Org files: the text unchanged; headlines, lists, blocks and tables from the shapes of the lines.

No source block is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from idc_local.readers.blocks import RawBlock, Source, build_document
from idc_local.readers.decode import decode
from idc_local.readers.lines import ITEM, Lines
from idc_local.types import BlockKind, Document

_HEADLINE = re.compile(r"(\*+)[ \t]+(.*)")
_TODO = re.compile(r"(?:TODO|DONE|NEXT|WAITING|CANCELL?ED|STARTED|HOLD)[ \t]+|\[#\w\][ \t]*")
_TAGS = re.compile(r"[ \t]+:[\w@#%:]+:\Z")
_LINK = re.compile(r"\[\[([^\[\]]*)\](?:\[([^\[\]]*)\])?\]")
_TITLE = re.compile(r"#\+title:[ \t]*(\S.*)", re.I)
_BEGIN = re.compile(r"[ \t]*#\+begin_(\w+)", re.I)
_CODE = frozenset(("src", "example", "export", "verse", "comment"))
_DRAWER = re.compile(r"[ \t]*:[\w-]+:\Z")
_KEYWORD = re.compile(r"[ \t]*#(?:\+\w|[ \t]|\Z)")
_TABLE_RULE = re.compile(r"[ \t]*\|-")


class OrgReader:
    """Headlines, paragraphs, list items, code and tables with exact places in the unchanged source."""

    media_types = ("text/x-org",)
    suffixes = (".org",)

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for binary data."""
        decoded = decode(data, path)
        source = Source(data, path, media_type, decoded.encoding)
        return build_document(source, decoded.text, _blocks(Lines(decoded.text)))


READER = OrgReader()


def _blocks(lines: Lines) -> Iterator[RawBlock]:
    at = below = 0
    while at < len(lines):
        line = lines[at]
        title = _TITLE.match(line)
        headline = _HEADLINE.match(line)
        end = at + 1
        if title is not None and not below:
            below = 1
            yield from lines.block(BlockKind.HEADING, at, end, 1, title[1])
        elif headline is not None:
            yield from lines.block(BlockKind.HEADING, at, end, min(6, len(headline[1]) + below), _name(headline[2]))
        elif line:
            end = _end(lines, at)
            yield from _block(lines, at, end)
        at = end


def _name(title: str) -> str:
    """A headline's words, without its state, priority, tags and the addresses of links."""
    while (found := _TODO.match(title)) is not None:
        title = title[found.end() :]
    plain = _LINK.sub(lambda link: link[2] or link[1], _TAGS.sub("", title))
    return " ".join(plain.split())


def _end(lines: Lines, at: int) -> int:
    """The line behind the block that begins at a line that is not blank."""
    line = lines[at]
    begin = _BEGIN.match(line)
    if begin is not None:
        closing = f"#+end_{begin[1].lower()}"
        end = lines.until(at + 1, lambda number: lines[number].strip().lower() == closing)
        return end + 1 if end < len(lines) else at + 1
    if _DRAWER.match(line):
        end = lines.until(at + 1, lambda number: lines[number].strip().lower() == ":end:" or not lines[number])
        return end + 1 if lines[end].strip().lower() == ":end:" else at + 1
    if line.lstrip().startswith("|"):
        return lines.until(at, lambda number: not lines[number].lstrip().startswith("|"))
    if _KEYWORD.match(line):
        return at + 1
    if ITEM.match(line):
        return lines.item_end(at)
    return lines.until(at + 1, lambda number: _breaks(lines[number]))


def _breaks(line: str) -> bool:
    """True for a line that no paragraph goes on with."""
    return not line or any(pattern.match(line) for pattern in (_HEADLINE, _BEGIN, ITEM, _DRAWER, _TABLE_RULE))


def _block(lines: Lines, at: int, end: int) -> Iterator[RawBlock]:
    line = lines[at]
    begin = _BEGIN.match(line)
    if begin is not None and begin[1].lower() in _CODE:
        yield from lines.block(BlockKind.CODE, at, end)
    elif line.lstrip().startswith("|"):
        yield from lines.table(at, end, at + 2 if _TABLE_RULE.match(lines[at + 1]) else at)
    elif ITEM.match(line) and begin is None:
        yield from lines.block(BlockKind.LIST_ITEM, at, end, lines.item_level(at))
    else:
        yield from lines.block(BlockKind.PARAGRAPH, at, end)
