"""Tells tables from lines: rows of pieces whose cells line up. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

from idc_local.readers.draft import headed
from idc_local.readers.pdf_page import Piece

_Interval = tuple[float, float]
_WIDEST = 40
"""Columns that a table has at most: beyond that it is a drawing."""


class Table(NamedTuple):
    """Rows of cells; ``head`` rows say what the columns are."""

    rows: tuple[tuple[str, ...], ...]
    head: int


def table_rows(rows: Sequence[Sequence[Piece]]) -> tuple[Table | None, int]:
    """The table that ``rows`` begin with, and how many of them it takes; None where they begin with none."""
    if len(rows[0]) < 2 or _is_code(rows[0]):
        return None, 0
    taken = [rows[0]]
    columns = [(piece.left, piece.right) for piece in rows[0]]
    most = len(columns)
    for row, after in zip_longest(rows[1:], rows[2:]):
        merged = _merged(columns, row)
        apart = min(piece.base for piece in row) - taken[-1][0].base
        if len(merged) < max(2, most) or _is_code(row) or apart > 4.5 * row[0].size:
            break
        if len(row) == 1 and not _goes_on(columns, row, after):
            break
        columns, most = merged, max(most, len(row))
        taken.append(row)
    full = [row for row in taken if len(row) > 1]
    if len(full) < 2 or len(columns) > _WIDEST or not _parted(columns):
        return None, 0
    lines = _joined(taken, columns)
    if len(lines) < 2:
        return None, 0
    cells = tuple(tuple(" ".join(piece.text for piece in cell) for cell in line) for line in lines)
    return Table(cells, _head(lines, cells)), len(taken)


def _is_code(row: Sequence[Piece]) -> bool:
    return all(piece.mono for piece in row)


def _goes_on(columns: Sequence[_Interval], row: Sequence[Piece], after: Sequence[Piece] | None) -> bool:
    """True for a lone piece that is the rest of a cell: under a later column, or between rows of the table."""
    if row[0].left > columns[0][1]:
        return True
    return after is not None and len(after) > 1 and row[0].right < columns[1][0]


def _merged(columns: Sequence[_Interval], row: Sequence[Piece]) -> list[_Interval]:
    """The columns, widened by the pieces of ``row``; columns that a piece reaches across become one."""
    merged: list[_Interval] = []
    for start, end in sorted([*columns, *((piece.left, piece.right) for piece in row)]):
        if merged and start < merged[-1][1] - 0.5:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _parted(columns: Sequence[_Interval]) -> bool:
    return all(right[0] - left[1] > 2.0 for left, right in pairwise(columns))


def _joined(rows: Sequence[Sequence[Piece]], columns: Sequence[_Interval]) -> list[list[list[Piece]]]:
    """Rows with a list of pieces for each column; lines that go on in the cells of the row above are part of it."""
    limit = _row_gap(rows)
    lines: list[list[list[Piece]]] = []
    last = 0.0
    for row in rows:
        cells: list[list[Piece]] = [[] for _ in columns]
        for piece in row:
            cells[_column(columns, piece)].append(piece)
        gap = (row[0].base - last) / max(row[0].size, 1.0)
        rest = bool(lines) and ((not cells[0] and gap < 1.6) or gap < limit)
        if rest and _fits(lines[-1], cells):
            for mine, more in zip(lines[-1], cells, strict=True):
                mine.extend(more)
        else:
            lines.append(cells)
        last = row[0].base
    return lines


def _fits(above: Sequence[Sequence[Piece]], cells: Sequence[Sequence[Piece]]) -> bool:
    """True where every cell of the line has something to go on from."""
    return all(above[index] for index, cell in enumerate(cells) if cell)


def _row_gap(rows: Sequence[Sequence[Piece]]) -> float:
    """Distance of base lines in ems below which a line belongs to the row above; 0 where rows are evenly spaced."""
    gaps = sorted((low[0].base - high[0].base) / max(low[0].size, 1.0) for high, low in pairwise(rows))
    jumps = [(after - before, (before + after) / 2) for before, after in pairwise(gaps) if before < 1.5]
    widest = max(jumps, default=(0.0, 0.0))
    return widest[1] if widest[0] > 0.3 else 0.0


def _column(columns: Sequence[_Interval], piece: Piece) -> int:
    middle = (piece.left + piece.right) / 2
    return min(range(len(columns)), key=lambda index: max(columns[index][0] - middle, middle - columns[index][1]))


def _head(lines: Sequence[Sequence[Sequence[Piece]]], cells: Sequence[Sequence[str]]) -> int:
    """1 where the first row stands out: in bold alone, or without the numbers that a column is made of."""
    first = [piece for cell in lines[0] for piece in cell]
    others = [piece for line in lines[1:] for cell in line for piece in cell]
    if all(piece.bold for piece in first):
        return 0 if all(piece.bold for piece in others) else 1
    return int(headed(cells))
