"""Makes blocks of printed lines: headings, paragraphs, list items, code and tables, across columns and pages. Pure.

A heading is a line that the outline names, or one that is larger or bolder than the running text and stands alone.
A line was broken on purpose where the next word would have fitted on it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from idc_local.readers.draft import Draft, Row
from idc_local.readers.pdf_heads import Heads
from idc_local.readers.pdf_order import MARK, Line, Region
from idc_local.readers.pdf_tables import Table
from idc_local.readers.pdf_text import ENDS, LEADERS, Words
from idc_local.types import BlockKind

_NOTE = re.compile(r"(?:\[?\d{1,3}\]?|[*†‡§¶∗]+)[.)]?\s*\S")
_SHOWING = 4
_BULLET = "\uf0b7\uf0a7\uf0d8"


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Where the lines of a region begin and end, and the distance of their base lines."""

    left: float
    right: float
    pitch: float

    def is_full(self, line: Line) -> bool:
        """True for a line that fills its column."""
        return line.right > self.right - 0.15 * (self.right - self.left)


@dataclass(slots=True)
class _Open:
    """A block that lines may still be added to."""

    kind: BlockKind
    text: str
    page: str
    level: int = 0
    marks: list[tuple[int, str]] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    head: int = 0
    full: bool = False

    @property
    def last_page(self) -> str:
        """Label of the page that it ends on."""
        if self.rows:
            return self.rows[-1].page
        return self.marks[-1][1] if self.marks else self.page


class Blocks:
    """Takes pages in order and writes them to a draft."""

    def __init__(self, heads: Heads, words: Words) -> None:
        self._heads = heads
        self._words = words
        self._done: list[_Open] = []
        self._notes: list[_Open] = []
        self._items: list[float] = []
        self._last: _Bounds | None = None

    def page(self, label: str, number: int, regions: Sequence[Region]) -> None:
        """Adds the regions of page ``number``, whose label is ``label``."""
        if self._notes and self._done and self._done[-1].page != self._notes[0].page:
            # What began on an earlier page can stand neither before nor behind them if it goes on: it ends here.
            self._done += self._notes
            self._notes = []
        notes, begun = self._notes, len(self._done)
        self._notes = []
        for region in regions:
            if region.table is not None:
                self._table(label, region.table)
                continue
            main, foot = self._footnotes(region.lines)
            self._region(label, number, main)
            self._foot(label, foot)
        # Notes at the foot of the last page go before a paragraph or table that goes on behind them, else after it.
        runs_on = begun > 0 and self._done[begun - 1].last_page == label
        self._done[begun - runs_on : begun - runs_on] = notes

    def extra(self, label: str, text: str) -> None:
        """Adds text that stands beside the page: turned text, a comment, a form field."""
        self._done.append(_Open(BlockKind.PARAGRAPH, text, label))

    def write(self, draft: Draft) -> None:
        """Writes everything."""
        self._done += self._notes
        self._notes = []
        for block in self._done:
            draft.page(block.page)
            if block.kind is BlockKind.HEADING:
                draft.heading(block.text, block.level)
            elif block.kind is BlockKind.LIST_ITEM:
                draft.item(block.text, block.level, block.marks)
            elif block.kind is BlockKind.CODE:
                draft.code(_code(block.lines))
            elif block.kind is BlockKind.TABLE:
                draft.table(block.rows, block.head)
            else:
                draft.paragraph(block.text, block.marks)

    def _footnotes(self, lines: Sequence[Line]) -> tuple[Sequence[Line], Sequence[Line]]:
        """The lines, and the notes at their foot: smaller, set off, and numbered."""
        small = 0.93 * self._heads.body
        first = len(lines)
        while first > 0 and lines[first - 1].size < small and not lines[first - 1].mono:
            first -= 1
        for index in range(max(first, 1), len(lines)):
            gap = (lines[index].base - lines[index - 1].base) / lines[index].size
            if _NOTE.match(lines[index].text) and gap > 1.6:
                return lines[:index], lines[index:]
        return lines, ()

    def _foot(self, label: str, lines: Sequence[Line]) -> None:
        above: Line | None = None
        for line in lines:
            if above is None or _NOTE.match(line.text):
                self._notes.append(_Open(BlockKind.PARAGRAPH, line.text, label))
            else:
                self._notes[-1].text = self._words.joined(self._notes[-1].text, line.text, above.hyphen)
            above = line

    def _region(self, label: str, number: int, lines: Sequence[Line]) -> None:
        if not lines:
            return
        bounds = self._bounds(lines)
        above: Line | None = None
        for index, line in enumerate(lines):
            after = lines[index + 1] if index + 1 < len(lines) else None
            level = self._heads.level(line, above, after, number)
            if level:
                self._heading(label, line, above, level)
            elif line.mono and _is_code(line, above, after, bounds.pitch):
                self._code(label, line, above)
            else:
                self._text(label, line, above, bounds)
            above = line

    def _bounds(self, lines: Sequence[Line]) -> _Bounds:
        """Where lines begin and end: a few lines alone do not show it, but those before in the same column do."""
        left, right, pitch = min(line.left for line in lines), max(line.right for line in lines), _pitch(lines)
        last = self._last
        if len(lines) < _SHOWING and last is not None and abs(last.left - left) < 6:
            right, pitch = max(right, last.right), last.pitch if len(lines) < 3 else pitch
        self._last = _Bounds(left, right, pitch)
        return self._last

    def _heading(self, label: str, line: Line, above: Line | None, level: int) -> None:
        last = self._done[-1] if self._done else None
        if last is not None and last.kind is BlockKind.HEADING and above is last.lines[-1]:
            alike = abs(line.size - above.size) < 0.3 and above.bold == line.bold and level == last.level
            close = line.base - above.base < 1.7 * line.size and len(last.lines) < 4
            if alike and close and not self._heads.named(line):
                last.text = self._words.joined(last.text, line.text, above.hyphen)
                last.lines.append(line)
                return
        self._done.append(_Open(BlockKind.HEADING, line.text, label, level, lines=[line]))
        self._items = []

    def _code(self, label: str, line: Line, above: Line | None) -> None:
        last = self._done[-1] if self._done else None
        if last is not None and above is not None and last.kind is BlockKind.CODE and above is last.lines[-1]:
            last.lines.append(line)
        else:
            self._done.append(_Open(BlockKind.CODE, "", label, lines=[line]))

    def _text(self, label: str, line: Line, above: Line | None, bounds: _Bounds) -> None:
        last = self._done[-1] if self._done else None
        text = line.text
        marked = _marked(text)
        if last is not None and last.kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM) and last.lines:
            joint = self._joint(last, line, above, bounds, marked)
            if joint == "\n":
                last.text += "\n" + text
            elif joint:
                before = last.text
                last.text = self._words.joined(before, text, last.lines[-1].hyphen)
                if label != last.last_page:
                    last.marks.append((len(last.text) - len(text), label))
            if joint:
                last.lines.append(line)
                last.full = bounds.is_full(line)
                return
        kind = BlockKind.LIST_ITEM if marked else BlockKind.PARAGRAPH
        level = self._level(line.left) if marked else 0
        if not marked and above is not None:
            self._items = [place for place in self._items if place < line.left - 2]
        block = _Open(kind, _plain_mark(text) if marked else text, label, level, lines=[line])
        block.full = bounds.is_full(line)
        self._done.append(block)

    def _joint(self, last: _Open, line: Line, above: Line | None, bounds: _Bounds, marked: bool) -> str:
        """How ``line`` goes on with the open block: with a space, a line end, or (empty) not at all."""
        before = last.lines[-1]
        if abs(before.size - line.size) > 0.12 * line.size or LEADERS.search(before.text):
            return ""
        if above is None:
            return self._over_the_edge(last, line, marked)
        if above is not before:
            return ""
        lead_in = before.bold and not line.bold and len(last.lines) == 1 and not bounds.is_full(before)
        if lead_in or line.base - before.base > max(1.25 * bounds.pitch, bounds.pitch + 0.3 * line.size):
            return ""
        short = _fits(before, line, bounds.right)
        ended = ENDS.search(before.text) is not None
        if marked and (ended or short or last.kind is BlockKind.LIST_ITEM or line.left > before.left + 4):
            return ""
        return _within(last, line, short, ended)

    def _over_the_edge(self, last: _Open, line: Line, marked: bool) -> str:
        """The same at the top of a column or page."""
        if marked or ENDS.search(last.text):
            return ""
        return " " if line.text[:1].islower() or last.full or last.lines[-1].hyphen else ""

    def _level(self, left: float) -> int:
        """Depth of a list item from where its mark stands."""
        self._items = [place for place in self._items if place < left - 3]
        self._items.append(left)
        return len(self._items)

    def _table(self, label: str, table: Table) -> None:
        rows = list(table.rows)
        last = self._done[-1] if self._done else None
        goes_on = last is not None and last.kind is BlockKind.TABLE and last.rows[-1].page != label
        if last is not None and goes_on and len(last.rows[0].cells) == len(rows[0]):
            if rows[0] == tuple(last.rows[0].cells):
                del rows[0]
            last.rows += [Row(row, label) for row in rows]
        else:
            self._done.append(
                _Open(BlockKind.TABLE, "", label, rows=[Row(row, label) for row in rows], head=table.head)
            )
        self._items = []


def _within(last: _Open, line: Line, short: bool, ended: bool) -> str:
    before, first = last.lines[-1], last.lines[0]
    if last.kind is BlockKind.LIST_ITEM:
        if line.left < first.left - 2 or (short and ended and line.left < first.left + 2):
            return ""
        return " " if not (short and ended and len(last.lines) > 1 and line.left > before.left + 4) else ""
    indented = line.left > before.left + 0.8 * line.size
    if indented and (ended or short or line.left < before.left + 4 * line.size) and len(last.lines) > 1:
        return ""
    if not short:
        return " "
    return "" if ended else "\n"


def _fits(before: Line, line: Line, right: float) -> bool:
    """True where the first word of ``line`` would have fitted behind ``before``."""
    return before.right + 0.75 * line.size + line.lead < right


def _is_code(line: Line, above: Line | None, after: Line | None, pitch: float) -> bool:
    """True for a line of code among others, or set off alone; not for a name that fills a line of running text."""
    if any(other is not None and other.mono for other in (above, after)):
        return True
    return all(other is None or abs(other.base - line.base) > 1.15 * pitch for other in (above, after))


def _pitch(lines: Sequence[Line]) -> float:
    """The usual distance of base lines: the least that is common."""
    gaps = sorted(low.base - high.base for high, low in pairwise(lines) if low.base - high.base > 0.5 * low.size)
    usual = gaps[len(gaps) // 4] if gaps else 0.0
    size = sorted(line.size for line in lines)[len(lines) // 2]
    return min(usual, 2.2 * size) if usual else 1.3 * size


def _marked(text: str) -> bool:
    mark, _, rest = text.partition(" ")
    return bool(rest) and MARK.match(mark) is not None


def _plain_mark(text: str) -> str:
    return "•" + text[1:] if text[0] in _BULLET else text


def _code(lines: Sequence[Line]) -> str:
    """Code with the indents and blank lines that it was printed with."""
    left = min(line.left for line in lines)
    widths = sorted((line.right - line.left) / len(line.text) for line in lines)
    width = max(widths[len(widths) // 2], 0.1)
    pitch = _pitch(lines)
    parts: list[str] = []
    for above, line in zip([None, *lines[:-1]], lines, strict=True):
        if above is not None:
            parts.append("\n\n" if line.base - above.base > 1.6 * pitch else "\n")
        parts.append(" " * min(200, round((line.left - left) / width)) + line.text)
    return "".join(parts)
