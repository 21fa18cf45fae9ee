"""Finds running heads, feet and page numbers: what stands at the same place at the edge of several pages. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from idc_local.readers.pdf_heads import Heads
from idc_local.readers.pdf_page import Page, Piece

_EDGE_ROWS = 3
_PLACE = 4.0
"""Points by which rows at the same height may differ."""
_NUMBER = re.compile(r"\d{1,4}|(?=[ivxlc])(?:x[cl]|l?x{0,3})(?:i[xv]|v?i{0,3})")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_DIGITS = re.compile(r"\d+")


class _Row(NamedTuple):
    """A row at an edge: its text, its distance from that edge, and whether white space parts it from the body."""

    page: int
    top: bool
    rank: int
    place: float
    text: str
    apart: bool
    pieces: tuple[Piece, ...]


def without_running(pages: Sequence[Page], heads: Heads) -> list[tuple[Piece, ...]]:
    """The pieces of each page without running heads, feet and page numbers.

    What the outline names, and what is larger than the body, heads the text and not the page.
    """
    rows = [
        row
        for page in pages
        for row in _edges(page)
        if max(piece.size for piece in row.pieces) < 1.3 * heads.body and not heads.leads(row.text, page.number)
    ]
    running = _repeated(rows, len(pages)) | _numbered(rows, len(pages))
    gone: dict[int, set[int]] = {}
    outer: set[tuple[int, bool, int]] = set()
    for row in sorted(running, key=lambda row: row.rank):
        if row.rank == 0 or (row.page, row.top, row.rank - 1) in outer:
            outer.add((row.page, row.top, row.rank))
            gone.setdefault(row.page, set()).update(piece.order for piece in row.pieces)
    return [tuple(piece for piece in page.pieces if piece.order not in gone.get(page.number, ())) for page in pages]


def _edges(page: Page) -> Iterator[_Row]:
    rows: list[list[Piece]] = []
    for piece in sorted(page.pieces, key=lambda piece: piece.base):
        if rows and piece.base - rows[-1][-1].base < 0.5 * piece.size:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    if len(rows) < 2:
        return
    for top, ranked in ((True, rows), (False, rows[::-1])):
        for rank, row in enumerate(ranked[: min(_EDGE_ROWS, len(rows) - 1)]):
            inner = ranked[rank + 1]
            size = max(piece.size for piece in row)
            gap = (
                min(p.top for p in inner) - max(p.bottom for p in row)
                if top
                else (min(p.top for p in row) - max(p.bottom for p in inner))
            )
            text = " ".join(piece.text for piece in sorted(row, key=lambda piece: piece.left))
            place = page.height + row[0].base if top else -row[0].base
            yield _Row(page.number, top, rank, place, text, gap > 0.7 * size, tuple(row))


def _repeated(rows: Sequence[_Row], pages: int) -> set[_Row]:
    """Rows with the same words at the same place of several pages."""
    groups: dict[tuple[bool, str], list[_Row]] = {}
    for row in rows:
        groups.setdefault((row.top, _DIGITS.sub("#", row.text.casefold())), []).append(row)
    least = 2 if pages <= 3 else 3
    found: set[_Row] = set()
    for group in groups.values():
        if 2 * sum(row.apart for row in group) <= len(group):
            continue
        at: dict[int, set[int]] = {}
        for row in group:
            at.setdefault(_height(row), set()).add(row.page)
        found.update(row for row in group if sum(len(at.get(_height(row) + step, ())) for step in (-1, 0, 1)) >= least)
    return found


def _height(row: _Row) -> int:
    """Rows at the same height of their pages differ by one at most."""
    return round(row.place / _PLACE)


def _numbered(rows: Sequence[_Row], pages: int) -> set[_Row]:
    """Rows that begin or end with the number of their page, counted from anywhere."""
    counted: dict[tuple[bool, int], list[_Row]] = {}
    for row in rows:
        for number in _numbers(row.text):
            counted.setdefault((row.top, number - row.page), []).append(row)
    found: set[_Row] = set()
    for group in counted.values():
        count = len(group)
        if count >= 2 and (count >= 0.4 * pages or count >= 4):
            found.update(row for row in group if len(row.text) < 160 and (_is_number(row) or (row.apart and count > 2)))
    places = {(row.top, _height(row) + step) for row in found for step in (-1, 0, 1)}
    return found | {row for row in rows if _is_number(row) and (row.top, _height(row)) in places}


def _is_number(row: _Row) -> bool:
    return _NUMBER.fullmatch(row.text.casefold().strip("-–—.|[]() ")) is not None


def _numbers(text: str) -> set[int]:
    words = text.casefold().split()
    ends = {words[0].strip("-–—.|[]()"), words[-1].strip("-–—.|[]()")} if words else set()
    if len(words) >= 3 and words[-2] in ("of", "/", "von", "de", "sur", "di", "van", "av", "z"):
        ends.add(words[-3])
    return {_value(word) for word in ends if word and _NUMBER.fullmatch(word)}


def _value(word: str) -> int:
    if word.isdecimal():
        return int(word)
    values = [_ROMAN[char] for char in word]
    return sum(-value if value < after else value for value, after in zip(values, [*values[1:], 0], strict=True))
