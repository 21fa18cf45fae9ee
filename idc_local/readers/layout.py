"""Tells tables that hold data from tables that only place things on a page. Pure.

A table lays out when it holds headings, code or running paragraphs, or when no row has two cells. One with another
table inside lays out too, unless it has header cells and what is inside is small and has none: that is part of a cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from idc_local.readers.flow import TABLE_PARTS, Step

_HEAVY = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "pre"))
_CELLS = frozenset(("td", "th"))
_RUNNING = 3
"""Paragraphs in one cell that make it running text."""
_SMALL = 20
"""Cells of a table that may be part of a cell."""


class _Table:
    """What is known of an open table."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.heavy = self.headed = False
        self.cells = self.most_cells = self.all_cells = self.paragraphs = 0
        self.inner: list[int] = []

    def see(self, tag: str) -> None:
        """Notes an element directly inside."""
        if tag == "tr":
            self.cells = 0
        elif tag in _CELLS:
            self.cells += 1
            self.all_cells += 1
            self.headed = self.headed or tag == "th"
            self.most_cells = max(self.most_cells, self.cells)
            self.paragraphs = 0
        elif tag == "p":
            self.paragraphs += 1
        self.heavy = self.heavy or tag in _HEAVY or self.paragraphs >= _RUNNING

    def holds(self, other: _Table) -> None:
        """Notes a table inside that has ended."""
        self.inner += [other.place, *other.inner]
        self.heavy = self.heavy or not self.headed or other.heavy or other.headed or other.all_cells > _SMALL

    @property
    def lays_out(self) -> bool:
        """True where the table holds no data."""
        return self.heavy or self.most_cells < 2


def without_layout_tables(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps, where layout tables and their rows and cells have become plain containers."""
    layout = _layout_places(steps)
    open_tables: list[bool] = []
    for place, step in enumerate(steps):
        if step.tag == "table" and not step.closes:
            open_tables.append(place in layout)
        plain = bool(open_tables) and open_tables[-1] and (step.tag in TABLE_PARTS or step.tag == "table")
        if step.tag == "table" and step.closes and open_tables:
            open_tables.pop()
        yield Step("div", closes=step.closes) if plain else step


def _layout_places(steps: Sequence[Step]) -> set[int]:
    """Places in ``steps`` at which layout tables open."""
    found: set[int] = set()
    open_tables: list[_Table] = []
    for place, step in enumerate(steps):
        if step.closes:
            if step.tag == "table" and open_tables:
                table = open_tables.pop()
                if table.lays_out:
                    found.add(table.place)
                else:
                    found.update(table.inner)
                if open_tables:
                    open_tables[-1].holds(table)
            continue
        if open_tables:
            open_tables[-1].see(step.tag)
        if step.tag == "table":
            open_tables.append(_Table(place))
    found.update(table.place for table in open_tables)
    return found
