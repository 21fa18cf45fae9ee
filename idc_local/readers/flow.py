"""Collects a page's running text into blocks: the part of reading HTML that knows elements, but no parser.

Elements open and close in document order; text between them is gathered into the block that is open. Blocks are
joined by a blank line, list items and table rows by a line end.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from idc_local.readers.blocks import RawBlock
from idc_local.readers.shapes import MAX_ITEM
from idc_local.types import BlockKind, Span


def words(names: str) -> frozenset[str]:
    """A set of names from a list in one string."""
    return frozenset(names.split())


_SPACE = re.compile(r"[ \t\n\f\r\xa0]+")
_UNSEEN = str.maketrans("", "", "\xad\ufeff")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_INLINE = words(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark math mi mn mo mrow ms msub "
    "msup mtext output q ruby rb rt rp s samp small span strike strong sub sup time tt u var wbr img input "
    "nobr blink picture source slot meter progress msubsup mfrac msqrt mover munder munderover mspace mstyle"
)
_PRE = frozenset(("pre", "listing", "xmp", "plaintext"))
_LISTS = frozenset(("ul", "ol", "menu", "dir"))
_CELLS = frozenset(("td", "th"))
_ROW_GROUPS = frozenset(("thead", "tbody", "tfoot"))
_WIDEST, _SAID_AGAIN = 50, 100
"""Most columns of one cell, and the most characters of a cell that each row that it reaches into says again."""
_MOST_SAID_AGAIN = 10_000
"""Characters that spans may add to a table beyond as many as it holds itself."""
_TERM_GOES_ON = words("dt dd p div")
"""What may open between a term and its definition without a break."""
TABLE_PARTS = frozenset(("tr", "td", "th", "thead", "tbody", "tfoot", "caption"))
TEXT = "-text"


class Step(NamedTuple):
    """One event of a walk: text, or an element that opens or closes; a cell spans ``rows`` and ``columns``."""

    tag: str
    text: str = ""
    closes: bool = False
    rows: int = 1
    columns: int = 1


class _Table:
    """A table as it is read: rows of cells, and what tells data from page layout."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self.head_rows = 0
        self.in_head = False
        self.all_headers = True
        self.span = (1, 1)
        self._padding = 0
        self._carried: dict[int, tuple[int, str]] = {}
        self._allowance = _MOST_SAID_AGAIN

    def open_row(self) -> None:
        """Begins a row."""
        self.rows.append([])
        self.all_headers = True
        self._padding = 0

    def add(self, text: str) -> None:
        """Adds a cell to the row, behind those that reach into it from rows above: these are said again if short."""
        if not self.rows:
            self.open_row()
        row = self.rows[-1]
        row += [""] * self._padding
        self._carry()
        rows, columns = self.span
        self._allowance += len(text)
        self._padding = min(columns, _WIDEST, 1 + self._allowance // 3) - 1
        self._allowance -= 3 * self._padding
        self.span = (1, 1)
        if rows > 1:
            said = text if len(text) <= _SAID_AGAIN else ""
            for column in range(len(row), len(row) + self._padding + 1):
                self._carried[column] = rows - 1, said if column == len(row) else ""
        row.append(text)

    def close_row(self) -> None:
        """Ends a row; what only fills columns at its end is left out."""
        row = self.rows[-1] if self.rows else []
        own = len(row)
        if row and self._carried:
            row += [""] * self._padding
            self._carry()
        for column in [column for column in self._carried if column >= len(row)]:
            if column in self._carried:
                self._use(column)
        while len(row) > own and not row[-1]:
            row.pop()
        self._padding = 0

    def close_rows(self) -> None:
        """Ends a group of rows: no cell reaches out of it."""
        self._carried.clear()

    def _carry(self) -> None:
        row = self.rows[-1]
        while len(row) in self._carried:
            row.append(self._use(len(row)))

    def _use(self, column: int) -> str:
        left, text = self._carried.pop(column)
        self._allowance -= len(text) + 3
        if self._allowance < 0:
            self._carried.clear()
            return ""
        if left > 1:
            self._carried[column] = left - 1, text
        return text


class Flow:
    """Builds the extracted text and its blocks from the events of a walk."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0
        self._blocks: list[RawBlock] = []
        self._buffer: list[str] = []
        self._headings: list[int] = []
        self._lists = 0
        self._items = 0
        self._pre = 0
        self._in_term = self._has_term = False
        self._tables: list[_Table] = []

    def heading(self, title: str, level: int) -> None:
        """Adds a heading that no element holds: the page's title."""
        self._emit(BlockKind.HEADING, title, level)

    def take(self, step: Step) -> None:
        """The next event."""
        tag = step.tag
        if self._tables and tag in _CELLS and not step.closes:
            self._tables[-1].span = (step.rows, step.columns)
        if tag == TEXT:
            self._buffer.append(step.text)
        elif tag == "br":
            if not step.closes:
                self._buffer.append("\n" if self._pre else "\0")
        elif tag in _INLINE:
            return
        elif self._tables and tag != "table" and tag not in TABLE_PARTS:
            self._buffer.append(" ")
        elif step.closes:
            self._close_block(tag)
        else:
            self._open_block(tag)

    def finish(self) -> tuple[str, tuple[RawBlock, ...]]:
        """The text and its blocks."""
        self._flush()
        return "".join(self._parts), tuple(self._blocks)

    def _open_block(self, tag: str) -> None:
        if tag == "table":
            self._flush()
            self._tables.append(_Table())
        elif self._tables:
            self._open_in_table(tag)
        elif self._in_term and tag in _TERM_GOES_ON:
            self._buffer.append(" ")
        else:
            if not (self._has_term and tag in _TERM_GOES_ON):
                self._flush()
            self._in_term = tag == "dt"
            if tag in _HEADINGS:
                self._headings.append(_HEADINGS[tag])
            self._lists += tag in _LISTS
            self._items += tag == "li"
            self._pre += tag in _PRE

    def _close_block(self, tag: str) -> None:
        if tag == "table":
            if self._tables:
                self._end_table(self._tables.pop())
        elif self._tables:
            self._close_in_table(tag)
        elif self._in_term and tag in _TERM_GOES_ON:
            self._end_term(tag)
        else:
            self._flush()
            if tag in _HEADINGS and self._headings:
                self._headings.pop()
            self._lists -= tag in _LISTS
            self._items -= tag == "li"
            self._pre -= tag in _PRE

    def _end_term(self, tag: str) -> None:
        """A term stays open, on a line of its own, for its definition: the two are one item of a list."""
        self._buffer.append("\0" if tag == "dt" else " ")
        if tag == "dt":
            self._in_term = False
            self._has_term = True

    def _open_in_table(self, tag: str) -> None:
        table = self._tables[-1]
        if tag == "thead":
            table.in_head = True
        elif tag == "tr":
            table.open_row()
        elif tag == "td":
            table.all_headers = False
        self._take()

    def _close_in_table(self, tag: str) -> None:
        table = self._tables[-1]
        if tag in _CELLS:
            table.add(self._take())
            return
        if tag == "tr":
            table.close_row()
            leading = table.head_rows == len(table.rows) - 1
            if leading and any(table.rows[-1]) and (table.in_head or table.all_headers):
                table.head_rows += 1
        elif tag in _ROW_GROUPS:
            table.close_rows()
            table.in_head = False
        elif tag == "caption":
            caption = self._take()
            if caption:
                self._emit(BlockKind.PARAGRAPH, caption, 0)

    def _end_table(self, table: _Table) -> None:
        self._flush()
        head = sum(1 for row in table.rows[: table.head_rows] if any(row))
        lines = [" | ".join(row) for row in table.rows if any(row)]
        if not lines:
            return
        text = "\n".join(lines)
        start = self._emit(BlockKind.TABLE, text, 0)
        if 0 < head < len(lines):
            last = self._blocks[-1]
            header = Span(start, start + len("\n".join(lines[:head])))
            self._blocks[-1] = RawBlock(last.kind, last.start, last.end, header=header)

    def _take(self) -> str:
        """The buffer as one line."""
        text = " ".join("".join(self._buffer).replace("\0", " ").translate(_UNSEEN).split())
        self._buffer.clear()
        return text

    def _flush(self) -> None:
        """Ends the block that is open."""
        if self._buffer:
            self._end_block()
        self._in_term = self._has_term = False

    def _end_block(self) -> None:
        """Emits what the buffer holds."""
        raw = "".join(self._buffer).translate(_UNSEEN)
        self._buffer.clear()
        if self._pre:
            text = raw.strip("\n").rstrip()
            kind, level = BlockKind.CODE, 0
        else:
            lines = (_SPACE.sub(" ", line).strip() for line in raw.split("\0"))
            text = "\n".join(line for line in lines if line)
            kind, level = self._role(len(text))
        if text.strip():
            if kind is BlockKind.HEADING:
                text = text.replace("\n", " ")
            self._emit(kind, text, level)

    def _role(self, size: int) -> tuple[BlockKind, int]:
        if self._headings:
            return BlockKind.HEADING, self._headings[-1]
        if self._items > 0 or (self._has_term and size <= MAX_ITEM):
            return BlockKind.LIST_ITEM, max(1, self._lists)
        return BlockKind.PARAGRAPH, 0

    def _emit(self, kind: BlockKind, text: str, level: int) -> int:
        """Appends a block and returns where it starts."""
        if self._blocks:
            both = kind is BlockKind.LIST_ITEM and self._blocks[-1].kind is BlockKind.LIST_ITEM
            joint = "\n" if both else "\n\n"
            self._parts.append(joint)
            self._size += len(joint)
        start = self._size
        self._parts.append(text)
        self._size += len(text)
        self._blocks.append(RawBlock(kind, start, self._size, level, text if kind is BlockKind.HEADING else ""))
        return start
