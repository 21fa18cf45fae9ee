"""Writes a sheet of cells: tables of rows that each know their place, with the header that heads them. Knows no format.

Empty rows part tables. A first row of words alone heads its table; a table without one that follows in the same columns
goes on with the one before. Columns that a table leaves empty are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from idc_local.readers.draft import Draft, Row, one_line


class Cell(NamedTuple):
    """What a cell shows; ``words`` is False for numbers, dates and truth values."""

    text: str
    words: bool = True


class Line(NamedTuple):
    """A row that is not empty: its number from 1, and its cells by column from 0."""

    number: int
    cells: Mapping[int, Cell]


class _Table:
    """A table that rows may still be added to."""

    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines
        self.columns = _columns(lines)
        self.head = int(len(lines) > 1 and _is_head(lines[0], self.columns))

    def takes(self, other: _Table) -> bool:
        """True for a table that can only be more of this one."""
        return bool(self.head) and not other.head and len(other.columns) > 1 and other.columns <= self.columns


def write_sheet(draft: Draft, name: str, lines: Iterable[Line]) -> None:
    """Writes the sheet ``name`` under its name as heading; places read ``sheet NAME, row N``."""
    parts = iter(_parts(lines))
    first = next(parts, [])
    draft.page(_place(name, first[0]) if first else f"sheet {one_line(name)}")
    draft.heading(name, 1)
    table: _Table | None = None
    for part in chain([first] if first else [], parts):
        titles, rest = _titles(part)
        more = _Table(rest) if rest else None
        if table is not None and more is not None and not titles and table.takes(more):
            table.lines += more.lines
            continue
        if table is not None:
            _write(draft, name, table)
        for line in titles:
            draft.page(_place(name, line))
            draft.paragraph(_only(line))
        table = more
    if table is not None:
        _write(draft, name, table)


def _parts(lines: Iterable[Line]) -> Iterable[list[Line]]:
    """Runs of rows without an empty one between them."""
    part: list[Line] = []
    for line in lines:
        shown = Line(line.number, {place: cell for place, cell in line.cells.items() if one_line(cell.text)})
        if part and (not shown.cells or shown.number > part[-1].number + 1):
            yield part
            part = []
        if shown.cells:
            part.append(shown)
    if part:
        yield part


def _titles(part: list[Line]) -> tuple[list[Line], list[Line]]:
    """Rows of one cell of words above wider ones, or alone: they say what follows."""
    first = 0
    while first < len(part) and len(part[first].cells) == 1 and next(iter(part[first].cells.values())).words:
        first += 1
    if first == len(part) and first > 1:
        return [], part
    return part[:first], part[first:]


def _columns(lines: Iterable[Line]) -> frozenset[int]:
    return frozenset(place for line in lines for place in line.cells)


def _is_head(line: Line, columns: frozenset[int]) -> bool:
    """True for a row of words that heads more than half of the columns."""
    return len(columns) > 1 and 2 * len(line.cells) > len(columns) and all(cell.words for cell in line.cells.values())


def _write(draft: Draft, name: str, table: _Table) -> None:
    columns = sorted(_columns(table.lines))
    empty = Cell("")
    draft.table(
        (Row([line.cells.get(place, empty).text for place in columns], _place(name, line)) for line in table.lines),
        table.head,
    )


def _place(name: str, line: Line) -> str:
    return f"sheet {one_line(name)}, row {line.number}"


def _only(line: Line) -> str:
    return " ".join(cell.text for cell in line.cells.values())
