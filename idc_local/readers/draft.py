"""Writes the extracted text of formats that have no source text of their own, block by block, with its pages.

Knows no format and parses nothing. Blocks are joined by a blank line, list items and table rows by a line end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from idc_local.readers.blocks import RawBlock
from idc_local.types import BlockKind, Span

_SPACE = re.compile(r"[^\S\n]+")
_UNSEEN = dict.fromkeys(map(ord, "\xad\ufeff"))
_LOWEST = 6


class Row(NamedTuple):
    """A row of a table: its cells, and the page label that begins with it (empty: none does)."""

    cells: Sequence[str]
    page: str = ""


def one_line(text: str) -> str:
    """``text`` with every run of white space as one space, and without soft hyphens."""
    return " ".join(text.translate(_UNSEEN).split())


def headed(rows: Sequence[Sequence[str]]) -> bool:
    """True where the first row is words alone over a column whose every other cell holds a digit."""
    if len(rows) < 2 or any(char.isdigit() for cell in rows[0] for char in cell) or not any(rows[0]):
        return False
    width = min(len(row) for row in rows)
    return any(all(any(map(str.isdigit, row[place])) for row in rows[1:]) for place in range(width))


class Draft:
    """The text in the making: ``page`` names the page that the next block begins; empty blocks leave no trace."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0
        self._blocks: list[RawBlock] = []
        self._pages: list[tuple[int, str]] = []
        self._pending = ""
        self._titles: list[int] = []

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return len(self._blocks)

    def page(self, label: str) -> None:
        """What follows stands on the page, slide, sheet or chapter ``label``."""
        self._pending = label

    def heading(self, title: str, level: int) -> None:
        """A heading of ``level`` 1 (highest) to 6; deeper ones count as 6."""
        title = one_line(title)
        self._emit(RawBlock(BlockKind.HEADING, 0, 0, max(1, min(level, _LOWEST)), title), title)

    def title(self, title: str) -> None:
        """A title that stands above the headings of the whole file, whatever their levels; one of several does not."""
        place = self.count
        self.heading(title, 1)
        self._titles += range(place, self.count)

    def document(self, title: str) -> None:
        """The title of one of several documents in the file, of which no chunk reaches into another."""
        title = one_line(title)
        self._emit(RawBlock(BlockKind.HEADING, 0, 0, 0, title), title)

    def paragraph(self, text: str, marks: Iterable[tuple[int, str]] = ()) -> None:
        """A paragraph; its line ends are kept. ``marks``: offsets in a tidy ``text`` at which further pages begin."""
        start = self._emit(RawBlock(BlockKind.PARAGRAPH, 0, 0), _lines(text))
        for offset, label in marks:
            self._mark(start + offset, label)

    def item(self, text: str, level: int = 1, marks: Iterable[tuple[int, str]] = ()) -> None:
        """A list item at a nesting depth from 1."""
        start = self._emit(RawBlock(BlockKind.LIST_ITEM, 0, 0, max(1, level)), _lines(text))
        for offset, label in marks:
            self._mark(start + offset, label)

    def code(self, text: str) -> None:
        """Text whose white space matters."""
        self._emit(RawBlock(BlockKind.CODE, 0, 0), text.strip("\n").rstrip())

    def table(self, rows: Iterable[Row], head: int = 0) -> None:
        """A table of one row or more; its first ``head`` rows say what the columns are."""
        kept = [(index, row.page, line) for index, row in enumerate(rows) if (line := row_text(row.cells))]
        if not kept:
            return
        lines = [line for _, _, line in kept]
        leading = sum(index < head for index, _, _ in kept)
        block = RawBlock(BlockKind.TABLE, 0, 0)
        if 0 < leading < len(lines):
            block = RawBlock(BlockKind.TABLE, 0, 0, header=Span(0, len("\n".join(lines[:leading]))))
        start = self._emit(block, "\n".join(lines))
        for _, page, line in kept:
            if page:
                self._mark(start, page)
            start += len(line) + 1

    def extend(self, text: str, blocks: Iterable[RawBlock]) -> None:
        """Adds what another reader made of a part: ``blocks`` hold offsets in ``text``."""
        if not text.strip():
            return
        start = self._begin("\n\n")
        self._parts.append(text)
        self._size += len(text)
        self._blocks.extend(_moved(block, start) for block in blocks)

    def finish(self) -> tuple[str, tuple[RawBlock, ...], tuple[tuple[int, str], ...]]:
        """The text, its blocks and its pages; the first page begins with the text."""
        return "".join(self._parts), tuple(self._under_title()), tuple(self._pages)

    def _under_title(self) -> list[RawBlock]:
        """The blocks, where a heading would be as high as the only title with what follows that one level deeper."""
        if len(self._titles) != 1:
            return self._blocks
        after = self._titles[0] + 1
        if all(block.kind is not BlockKind.HEADING or block.level != 1 for block in self._blocks[after:]):
            return self._blocks
        return [*self._blocks[:after], *map(_deeper, self._blocks[after:])]

    def _emit(self, block: RawBlock, text: str) -> int:
        """Appends ``text`` as ``block`` and returns where it starts."""
        if not text.strip():
            return self._size
        both = block.kind is BlockKind.LIST_ITEM and bool(self._blocks) and self._blocks[-1].kind is block.kind
        start = self._begin("\n" if both else "\n\n")
        self._parts.append(text)
        self._size += len(text)
        self._blocks.append(_moved(RawBlock(block.kind, 0, len(text), block.level, block.title, block.header), start))
        return start

    def _begin(self, joint: str) -> int:
        """Where the next block starts, behind ``joint`` where it is not the first."""
        if self._size:
            self._parts.append(joint)
            self._size += len(joint)
        if self._pending:
            self._mark(self._size, self._pending)
            self._pending = ""
        return self._size

    def _mark(self, offset: int, label: str) -> None:
        if self._pages and self._pages[-1][0] == offset:
            self._pages.pop()
        if not self._pages or self._pages[-1][1] != label:
            self._pages.append((offset, label))


def _deeper(block: RawBlock) -> RawBlock:
    """A heading one level deeper; any other block as it is."""
    if block.kind is not BlockKind.HEADING or not block.level:
        return block
    return replace(block, level=min(block.level + 1, _LOWEST))


def _moved(block: RawBlock, by: int) -> RawBlock:
    header = Span(block.header.start + by, block.header.end + by) if block.header else None
    return RawBlock(block.kind, block.start + by, block.end + by, block.level, block.title, header)


def _lines(text: str) -> str:
    lines = (_SPACE.sub(" ", line).strip() for line in text.translate(_UNSEEN).split("\n"))
    return "\n".join(line for line in lines if line)


def row_text(cells: Sequence[str]) -> str:
    """One line a row; empty where no cell holds anything. Empty cells at the end are dropped."""
    texts = [one_line(cell) for cell in cells]
    while texts and not texts[-1]:
        texts.pop()
    return " | ".join(texts)
