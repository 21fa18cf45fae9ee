"""Puts the pieces of a page into the order in which they are read: columns, lines, tables. Pure.

Strips of the page that white space parts from top to bottom are cut into columns where one gutter runs through several
of them and what stands beside it reads like running text. Whatever else stands side by side is a row of a table where
its cells line up with those of its neighbours, and one line where they do not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from idc_local.readers.pdf_page import Piece
from idc_local.readers.pdf_tables import Table, table_rows

MARK = re.compile(r"(?:[•◦▪▫‣●○■□◆◇►▸➢✓✔–—*·\uf0b7\uf0a7\uf0d8-]|\(?(?:\d{1,3}|[A-Za-z]|[ivxlIVXL]{1,5})[.)])$")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufefc]")
_MAX_DEPTH = 6
_LONGEST_RUN = 300
_MOST_ENDS = 4
_CHANCES = 20
"""Times that columns are looked for in vain in one part of a page."""
_LONGEST_TABLE = 400
_LONG_LINE = 25
_GUTTER = 0.45
"""Least width of a gutter in ems of the body."""


class Line(NamedTuple):
    """One line of running text or code."""

    text: str
    left: float
    right: float
    base: float
    size: float
    bold: bool
    mono: bool
    lead: float
    hyphen: bool


class Region(NamedTuple):
    """Lines that follow each other in one column, or a table."""

    lines: tuple[Line, ...]
    table: Table | None = None


@dataclass(slots=True)
class _Strip:
    """Pieces that overlap from top to bottom, apart from all others, and the gaps between and beside them."""

    pieces: list[Piece]
    top: float
    bottom: float
    gaps: _Gaps = field(default_factory=list)

    def inner(self, least: float) -> _Gaps:
        """The gaps between the pieces that are wide enough."""
        return [(start, end) for start, end in self.gaps[1:-1] if end - start >= least]


_Gaps = list[tuple[float, float]]


def in_order(pieces: Sequence[Piece], body: float) -> list[Region]:
    """The regions of a page; ``body`` is the size of the running text."""
    return _regions(_with_marks(pieces), max(body, 1.0), 0)


def _with_marks(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces, where a bullet or number that stands alone is one with the text that it marks."""
    kept: list[Piece] = []
    for piece in pieces:
        last = kept[-1] if kept else None
        if (
            last is not None
            and MARK.match(last.text)
            and abs(last.base - piece.base) < 0.5 * piece.size
            and -0.5 * piece.size < piece.left - last.right < 5 * piece.size
        ):
            text = f"{last.text} {piece.text}"
            kept[-1] = piece._replace(text=text, left=last.left, lead=last.lead, order=last.order)
        else:
            kept.append(piece)
    return kept


def _regions(pieces: list[Piece], body: float, depth: int) -> list[Region]:
    strips = _strips(pieces)
    found: list[Region] = []
    plain: list[Piece] = []
    index = 0
    chances = _CHANCES if depth < _MAX_DEPTH else 0
    while index < len(strips):
        sides, count = _columns(strips, index, _GUTTER * body) if chances else ([], 0)
        if not sides:
            # Where one row begins no columns the next does not either, unless white space parts the two.
            chances -= bool(chances and count)
            last = min(index + count, len(strips)) - 1
            while index < last and strips[index + 1].top - strips[index].bottom < 0.5 * body:
                plain += strips[index].pieces
                index += 1
            plain += strips[index].pieces
            index += 1
            continue
        found += _leaf(plain)
        plain = []
        for side in sides:
            found += _regions(side, body, depth + 1)
        index += count
    return found + _leaf(plain)


def _columns(strips: Sequence[_Strip], first: int, least: float) -> tuple[list[list[Piece]], int]:
    """The columns that begin with a strip, or none; and how many strips they take, or were looked at.

    What follows the columns may have the same gutter by chance: then they end at one of the widest gaps.
    """
    run, gutters = _run(strips[: first + _LONGEST_RUN], first, least)
    if not gutters:
        return [], 0
    gaps = sorted((run[place - 1].bottom - run[place].top, place) for place in range(1, len(run)))
    for count in (len(run), *(place for _, place in gaps[:_MOST_ENDS])):
        part, gutters = run[:count], _gutters(run[:count], least)
        sides = _sides(part, gutters) if gutters else []
        if len(sides) > 1 and _is_columns(sides):
            return sides, count
    return [], len(run)


def _gutters(strips: Sequence[_Strip], least: float) -> _Gaps:
    """The gutters that run through all the strips."""
    gutters = strips[0].inner(least)
    for strip in strips[1:]:
        gutters = _shared(gutters, strip.gaps, least)
    return gutters


def _strips(pieces: Sequence[Piece]) -> list[_Strip]:
    strips: list[_Strip] = []
    for piece in sorted(pieces, key=lambda piece: piece.top):
        if strips and piece.top < strips[-1].bottom - 0.1 * piece.size:
            strips[-1].pieces.append(piece)
            strips[-1].bottom = max(strips[-1].bottom, piece.bottom)
        else:
            strips.append(_Strip([piece], piece.top, piece.bottom))
    for strip in strips:
        strip.gaps = _gaps(strip.pieces)
    return strips


def _run(strips: Sequence[_Strip], first: int, least: float) -> tuple[list[_Strip], _Gaps]:
    """The strips from ``first`` on that one gutter or more run through, and those gutters."""
    gutters = strips[first].inner(least)
    last = first + 1
    two_sided = last
    while gutters and last < len(strips):
        shared = _shared(gutters, strips[last].gaps, least)
        if not shared:
            break
        gutters = shared
        last += 1
        if len(_sides(strips[last - 1 : last], gutters)) > 1:
            two_sided = last
    if last < len(strips):
        last = _without_heading(strips, two_sided, last)
    return list(strips[first:last]), gutters


def _without_heading(strips: Sequence[_Strip], two_sided: int, last: int) -> int:
    """The end of a run that something across the page ends: what stands apart before that heads it."""
    for index in range(two_sided, last):
        strip = strips[index]
        size = max(piece.size for piece in strip.pieces)
        if strip.top - strips[index - 1].bottom > 0.8 * size:
            return index
    return last


def _gaps(pieces: Sequence[Piece]) -> _Gaps:
    """The gaps between pieces from left to right, and without end beside them."""
    gaps = []
    reach = float("-inf")
    for piece in sorted(pieces, key=lambda piece: piece.left):
        if piece.left > reach:
            gaps.append((reach, piece.left))
        reach = max(reach, piece.right)
    return [*gaps, (reach, float("inf"))]


def _shared(ours: _Gaps, theirs: _Gaps, least: float) -> _Gaps:
    both = [(max(a, c), min(b, d)) for a, b in ours for c, d in theirs]
    return [(start, end) for start, end in both if end - start >= least]


def _sides(strips: Sequence[_Strip], gutters: _Gaps) -> list[list[Piece]]:
    """The pieces between the gutters from left to right, without empty sides."""
    middles = sorted((start + end) / 2 for start, end in gutters)
    sides: list[list[Piece]] = [[] for _ in range(len(middles) + 1)]
    for strip in strips:
        for piece in strip.pieces:
            sides[sum(middle < piece.left for middle in middles)].append(piece)
    return [side for side in sides if side]


def _is_columns(sides: Sequence[Sequence[Piece]]) -> bool:
    """True where the sides are read one after the other; a table is read across, and written so."""
    owners = sorted((piece.order, number) for number, side in enumerate(sides) for piece in side)
    changes = sum(a[1] != b[1] for a, b in pairwise(owners))
    counts = [len(_rows(side)) for side in sides]
    if min(counts) < 2:
        return False
    words = [median(_words(piece.text) for piece in side) for side in sides]
    if changes == len(sides) - 1:
        return min(words) >= 2 or min(counts) >= 8
    if min(counts) < 4 or min(words) < 3 or min(map(_fill, sides)) < 0.6:
        return False
    share = changes / max(counts)
    return share <= 0.3 or (share >= 1.5 and min(map(_flow, sides)) >= 0.5)


def _flow(side: Sequence[Piece]) -> float:
    """The share of long lines that begin in the middle of a sentence: most of a running text, few cells."""
    return sum(piece.text[:1].islower() and len(piece.text) >= _LONG_LINE for piece in side) / len(side)


def _words(text: str) -> float:
    wide = sum("\u2e80" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7af" for char in text)
    return text.count(" ") + 1 + wide / 3


def _fill(side: Sequence[Piece]) -> float:
    """The median width of the pieces against the side's width."""
    width = max(piece.right for piece in side) - min(piece.left for piece in side)
    return median(piece.right - piece.left for piece in side) / max(width, 1.0)


def _rows(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces on one base line, from left to right; from right to left where the script runs so."""
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda piece: (piece.base, piece.left)):
        if rows and abs(piece.base - rows[-1][-1].base) < 0.4 * max(piece.size, rows[-1][-1].size):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    for row in rows:
        row.sort(key=lambda piece: piece.left)
        if sum(map(_runs_left, row)) * 2 > len(row):
            row.reverse()
    return rows


def _runs_left(piece: Piece) -> bool:
    return 2 * len(_RIGHT_TO_LEFT.findall(piece.text)) > len(piece.text)


def _leaf(pieces: Sequence[Piece]) -> list[Region]:
    """Lines and tables of a part of the page that is one column."""
    found: list[Region] = []
    lines: list[Line] = []
    rows = _rows(pieces)
    index = 0
    while index < len(rows):
        table, count = table_rows(rows[index : index + _LONGEST_TABLE]) if len(rows[index]) > 1 else (None, 0)
        if table is not None:
            if lines:
                found.append(Region(tuple(lines)))
                lines = []
            found.append(Region((), table))
            index += count
            continue
        lines.append(_line(rows[index]))
        index += 1
    if lines:
        found.append(Region(tuple(lines)))
    return found


def _line(row: Sequence[Piece]) -> Line:
    mono = all(piece.mono for piece in row)
    first = row[0]
    text = first.text
    for last, piece in pairwise(row):
        width = (last.right - last.left) / max(1, len(last.text))
        spaces = round((piece.left - last.right) / width) if mono and width > 0 else 1
        text += " " * max(1, min(spaces, 80)) + piece.text
    return Line(
        text,
        min(piece.left for piece in row),
        max(piece.right for piece in row),
        first.base,
        max(piece.size for piece in row),
        all(piece.bold for piece in row),
        mono,
        first.lead,
        row[-1].hyphen,
    )
