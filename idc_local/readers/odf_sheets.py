"""Rows of an OpenDocument spreadsheet: what its cells show, with dates in ISO 8601 and comments in their cells."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from idc_local.readers.package import attribute, local
from idc_local.readers.sheets import Cell, Line

_MOST_ROWS, _MOST_CELLS = 1000, 256
"""Copies that are kept of a repeated row and of a repeated cell."""
_GROUPS = frozenset(("table-header-rows", "table-row-group", "table-rows"))
_MAX_DEPTH = 20


def sheet_lines(table: Element) -> Iterator[Line]:
    """The rows of a table that are not empty."""
    number = 1
    for row in _rows(table, 0):
        times = _times(row, "number-rows-repeated")
        cells = _cells(row)
        for copy in range(min(times, _MOST_ROWS) if cells else 0):
            yield Line(number + copy, cells)
        number += times


def _rows(parent: Element, depth: int) -> Iterator[Element]:
    for item in parent:
        kind = local(item)
        if kind == "table-row":
            yield item
        elif kind in _GROUPS and depth < _MAX_DEPTH:
            yield from _rows(item, depth + 1)


def _times(item: Element, name: str) -> int:
    value = attribute(item, name)
    return max(1, int(value)) if value.isdecimal() and len(value) < 9 else 1


def _cells(row: Element) -> dict[int, Cell]:
    cells: dict[int, Cell] = {}
    column = 0
    for item in row:
        if local(item) not in ("table-cell", "covered-table-cell"):
            continue
        times = _times(item, "number-columns-repeated")
        cell = _cell(item) if len(item) else Cell("")
        if cell.text:
            cells.update({column + copy: cell for copy in range(min(times, _MOST_CELLS))})
        column += times
    return cells


def _cell(item: Element) -> Cell:
    kind = attribute(item, "value-type")
    shown, comments = [], []
    for part in item:
        if local(part) == "p":
            shown.append("".join(part.itertext()))
        elif local(part) == "annotation":
            text = " ".join("".join(inner.itertext()) for inner in part if local(inner) == "p")
            comments.append(f"[comment: {text}]")
    day = attribute(item, "date-value") if kind == "date" else ""
    text = day.removesuffix("T00:00:00").replace("T", " ") or " ".join(shown)
    return Cell(" ".join(filter(None, (text, *comments))), kind in ("", "string"))
