"""Reads AsciiDoc: the text unchanged; titles, lists, delimited blocks and tables from the shapes of the lines.

Nothing is included, and no attribute is put in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from idc_local.readers.blocks import RawBlock, Source, build_document
from idc_local.readers.decode import decode
from idc_local.readers.lines import Lines
from idc_local.types import BlockKind, Document

_TITLE = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
_LINK = re.compile(r"(?:https?://|link:|xref:|mailto:)[^\s\[\]]+\[([^\[\]]*)\]|<<[^<>,]+,([^<>]+)>>")
_VERBATIM = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|`{3,})[\w,+-]*\Z")
_FRAME = re.compile(r"(?:={4,}|\*{4,}|_{4,}|--|\+|'{3,}|<{3,})\Z")
_TABLE = re.compile(r"([|,:!]={3,})\Z")
_ITEM = re.compile(r"[ \t]*(\*{1,6}|-|\.{1,6}|\d{1,4}\.|[a-zA-Z]\.|<(?:\d+|\.)>)[ \t]+\S")
_LABEL = re.compile(r"\[[^\[\]]*\]\Z|\[\[[^\[\]]*\]\]\Z|\.[^\s.].*\Z")
_HEADED = re.compile(r"\[.*(?:%header|options=\"?[\w,]*header).*\]\Z")


class AsciiDocReader:
    """Titles, paragraphs, list items, code and tables with exact places in the unchanged source."""

    media_types = ("text/x-asciidoc",)
    suffixes = (".adoc", ".asciidoc")

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for binary data."""
        decoded = decode(data, path)
        source = Source(data, path, media_type, decoded.encoding)
        return build_document(source, decoded.text, _blocks(Lines(decoded.text)))


READER = AsciiDocReader()


def _blocks(lines: Lines) -> Iterator[RawBlock]:
    at = 0
    closings = _closings(lines)
    while at < len(lines):
        line = lines[at]
        title = _TITLE.fullmatch(line)
        end = at + 1
        if title is not None:
            yield from lines.block(BlockKind.HEADING, at, end, len(title[1]), _name(title[2], title[1]))
        elif line:
            body = lines.until(at, lambda number: not _LABEL.match(lines[number]))
            if body in closings:
                end = closings[body] + 1
                yield from _delimited(lines, at, body, end)
            else:
                if not _FRAME.match(line):
                    end = lines.until(at + 1, lambda number: _breaks(lines, number, closings))
                yield from _plain(lines, at, end)
        at = end


def _closings(lines: Lines) -> dict[int, int]:
    """The line that ends each block that begins and ends with a line of marks; one that nothing ends is no block."""
    found: dict[int, int] = {}
    last = {lines[number]: number for number in range(len(lines))}
    at = 0
    while at < len(lines):
        mark = _VERBATIM.match(lines[at]) or _TABLE.match(lines[at])
        if mark is not None and last.get(mark[1], -1) > at:
            end = at + 1
            while lines[end] != mark[1]:
                end += 1
            found[at] = end
            at = end
        at += 1
    return found


def _name(title: str, mark: str) -> str:
    """A title's words, without anchors and the addresses of links."""
    plain = _LINK.sub(lambda link: link[1] or link[2] or "", re.sub(r"\[\[[^\[\]]*\]\]", "", title))
    return " ".join(plain.removesuffix(mark).replace("`", "").split())


def _breaks(lines: Lines, number: int, closings: dict[int, int]) -> bool:
    """True for a line that no paragraph and no item goes on with."""
    line = lines[number]
    if not line or number in closings:
        return True
    return any(pattern.match(line) for pattern in (_TITLE, _ITEM, _FRAME, _LABEL))


def _delimited(lines: Lines, at: int, body: int, end: int) -> Iterator[RawBlock]:
    """A block between lines of marks, with its title and attributes above: code, or a table."""
    if _TABLE.match(lines[body]) is None:
        yield from lines.block(BlockKind.CODE, at, end)
        return
    yield from lines.block(BlockKind.PARAGRAPH, at, body)
    first = lines.until(body + 1, lambda number: bool(lines[number]))
    headed = any(_HEADED.match(lines[number]) for number in range(at, body))
    implied = first == body + 1 and not lines[first + 1] and lines[first].count("|") > 1
    yield from lines.table(body, end, first + 1 if (headed or implied) and first + 1 < end - 1 else body)


def _plain(lines: Lines, at: int, end: int) -> Iterator[RawBlock]:
    item = _ITEM.match(lines[at])
    if item is None:
        yield from lines.block(BlockKind.PARAGRAPH, at, end)
    else:
        level = len(item[1]) if item[1][0] in "*." else lines.item_level(at)
        yield from lines.block(BlockKind.LIST_ITEM, at, end, level)
