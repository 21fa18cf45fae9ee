"""Reads reStructuredText: the text unchanged; titles, lists, literal blocks and tables from the shapes of the lines.

No directive is carried out and no file included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from idc_local.readers.blocks import RawBlock, Source, build_document
from idc_local.readers.decode import decode
from idc_local.readers.lines import ITEM, Lines
from idc_local.types import BlockKind, Document

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1+\Z")
_SIMPLE_TABLE = re.compile(r"\s*=+(?:\s+=+)+\Z")
_GRID_TABLE = re.compile(r"\s*\+[-=]+(?:\+[-=]+)*\+\Z")
_DIRECTIVE = re.compile(r"\s*\.\. ([\w:-]+)::(?:\s|\Z)")
_TARGET = re.compile(r"\s*\.\. (?:_[^:]*:|__)")
_FIELD = re.compile(r"\s*:[^:\s][^:]*:(?:\s|\Z)")
_ROW = re.compile(r"\s*[*+-][ \t]+[*+-](?:\s|\Z)")
_ROLES = re.compile(r":[\w:.+-]+:`([^`<]*?)\s*(?:<[^>`]*>)?`|`([^`<]*?)\s*<[^>`]*>`_+|[*`|]+([^*`|]+)[*`|]+_*")
_CODE = frozenset(
    ("code", "code-block", "sourcecode", "literalinclude", "math", "parsed-literal", "doctest", "prompt", "testcode",
     "testoutput", "highlight", "productionlist", "graphviz", "digraph", "raw", "ipython")
)  # fmt: skip


class RstReader:
    """Titles, paragraphs, list items, code and tables with exact places in the unchanged source."""

    media_types = ("text/x-rst",)
    suffixes = (".rst", ".rest")

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for binary data."""
        decoded = decode(data, path)
        source = Source(data, path, media_type, decoded.encoding)
        return build_document(source, decoded.text, _Blocks(Lines(decoded.text)).all())


READER = RstReader()


class _Blocks:
    """Goes through the lines once."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._styles: list[str] = []
        self._place = 0

    def all(self) -> Iterator[RawBlock]:
        """The blocks in order."""
        lines = self._lines
        while self._place < len(lines):
            if lines[self._place]:
                before = self._place
                yield from self._next(before)
                self._place = max(self._place, before + 1)
            else:
                self._place += 1

    def _next(self, at: int) -> Iterator[RawBlock]:
        line = self._lines[at]
        title = self._title(at)
        if title is not None:
            yield from title
        elif _TARGET.match(line):
            self._place = max(at + 1, self._lines.indented_end(at + 1, self._lines.indent(at)))
        elif (directive := _DIRECTIVE.match(line)) is not None:
            yield from self._directive(at, directive[1])
        elif _GRID_TABLE.match(line):
            self._place = self._lines.until(at, lambda number: not self._lines[number])
            yield from self._lines.table(at, self._place, self._grid_head(at))
        elif _SIMPLE_TABLE.match(line):
            yield from self._simple_table(at)
        elif line.lstrip().startswith(">>> "):
            self._place = self._lines.until(at, lambda number: not self._lines[number])
            yield from self._lines.block(BlockKind.CODE, at, self._place)
        elif ITEM.match(line) or _FIELD.match(line):
            yield from self._item(at)
        else:
            yield from self._paragraph(at)

    def _title(self, at: int) -> list[RawBlock] | None:
        """The heading that begins here: a line over a rule, or between two."""
        lines = self._lines
        over = _RULE.match(lines[at]) is not None and lines[at] == lines[at + 2] and bool(lines[at + 1])
        text, rule = (at + 1, at + 2) if over else (at, at + 1)
        adornment = _RULE.match(lines[rule])
        if adornment is None or _RULE.match(lines[text]) or (lines.indent(text) and not over):
            return None
        if len(lines[rule]) < min(len(lines[text].strip()), max(4, len(lines[text].strip()) // 2)):
            return None
        style = adornment[1] * (1 + over)
        if style not in self._styles:
            self._styles.append(style)
        level = min(6, 1 + self._styles.index(style))
        self._place = rule + 1
        name = _ROLES.sub(lambda found: found[1] or found[2] or found[3] or "", lines[text].strip())
        return list(lines.block(BlockKind.HEADING, at, rule + 1, level, " ".join(name.split())))

    def _directive(self, at: int, name: str) -> Iterator[RawBlock]:
        lines = self._lines
        end = self._place = max(at + 1, lines.indented_end(at + 1, lines.indent(at)))
        if name in _CODE:
            yield from lines.block(BlockKind.CODE, at, end)
            return
        # What stands inside is read like all else, from the line after this one and its options on.
        goes_on = lines[at].rstrip()[-2:] != "::" and not _FIELD.match(lines[at + 1])
        body = lines.until(at + 1, lambda number: not (lines[number] if goes_on else _FIELD.match(lines[number])))
        yield from lines.block(BlockKind.PARAGRAPH, at, body)
        self._place = body
        if name == "list-table":
            yield from self._list_rows(body, end)

    def _list_rows(self, at: int, end: int) -> Iterator[RawBlock]:
        """The rows of a table that is written as a list of lists, each with its cells."""
        lines = self._lines
        while at < end and not lines[at]:
            at += 1
        depth = lines.indent(at)
        while at < end and _ROW.match(lines[at]) and lines.indent(at) == depth:
            row = lines.indented_end(at + 1, depth)
            yield from lines.block(BlockKind.LIST_ITEM, at, row, lines.item_level(at))
            self._place = at = lines.until(row, lambda number: bool(lines[number]))

    def _grid_head(self, at: int) -> int:
        """The line behind the header rows of a grid table, which a rule of ``=`` ends; ``at`` for none."""
        end = self._lines.until(at, lambda number: not self._lines[number] or "=" in self._lines[number][:3])
        return end + 1 if "=" in self._lines[end][:3] else at

    def _simple_table(self, at: int) -> Iterator[RawBlock]:
        lines = self._lines
        rules = [at]
        end = at + 1
        while end < len(lines) and len(rules) < 3 and (lines[end] or len(rules) < 2 or lines[end + 1]):
            if _SIMPLE_TABLE.match(lines[end]):
                rules.append(end)
                if not lines[end + 1]:
                    end += 1
                    break
            end += 1
        self._place = end
        yield from lines.table(at, end, rules[1] + 1 if len(rules) > 2 else at)

    def _item(self, at: int) -> Iterator[RawBlock]:
        self._place = self._lines.item_end(at)
        yield from self._lines.block(BlockKind.LIST_ITEM, at, self._place, self._lines.item_level(at))
        yield from self._literal(at)

    def _paragraph(self, at: int) -> Iterator[RawBlock]:
        lines = self._lines
        self._place = lines.until(at + 1, lambda number: not lines[number])
        yield from lines.block(BlockKind.PARAGRAPH, at, self._place)
        yield from self._literal(at)

    def _literal(self, at: int) -> Iterator[RawBlock]:
        """The literal block behind a paragraph that ends in two colons."""
        lines = self._lines
        if lines[self._place - 1].endswith("::"):
            start = self._place
            end = lines.indented_end(start, lines.indent(at))
            self._place = max(end, start)
            yield from lines.block(BlockKind.CODE, start, end)
