r"""The shapes of lines in plain text: hard wraps, list items, speaker turns and headings. Pure.

The rules are conservative: a paragraph that is taken for a
heading does more harm than a heading that is taken for a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from idc_local.readers.titles import (
    DOTS,
    ITEM,
    MAX_TITLE,
    MIN_BODY,
    NUMBERED_TITLE,
    SENTENCE_END,
    SPEAKER,
    by_number,
    by_shape,
    is_capitals,
    is_counted,
    is_han_numbered,
    is_numbered,
    is_worded,
    marked,
)
from idc_local.readers.wraps import ENDS, MAX_WRAP, MIN_WRAP, Line, has_columns, joined, runs_on, sure_width

_VISIBLE_LINE = re.compile(r"\S(?:[^\r\n\f]*\S)?")
_RULE = re.compile(r"([=\-~^*])\1{2,}")
_FINAL = re.compile(r"[.!?。！？…][\"'”’»)\]」』]*\Z")

_SIGNATURE = re.compile(r"_{3,}|\.{8,}")
"""A line to sign on: what stands above it is place and date, or a name."""

MAX_SHORT = 100
"""Longest line of a run of short lines: verses, an address, fields."""
MAX_ITEM = 400
"""Longest list item: a longer one is a numbered paragraph."""
_DEEPEST = 200
_HUNG, _MAX_HUNG = 3, 40
"""Columns that a text stands deeper than its heading, and the longest such heading."""
_MAX_HEAD_WORDS = 8
_MAX_HEADING = 90
_MAX_FIRST = 150


class Group(NamedTuple):
    """Lines that belong together: a paragraph, a list item or a heading.

    ``tight``: a line of its own, though no blank line parts it from the next. ``item``: a list item.
    ``hung``: capitals at the left edge over deeper lines, as manual pages have them.
    """

    lines: tuple[Line, ...]
    tight: bool = False
    item: bool = False
    hung: bool = False

    @property
    def start(self) -> int:
        """Where the first line starts."""
        return self.lines[0].start

    @property
    def end(self) -> int:
        """Where the last line ends."""
        return self.lines[-1].end


class Widths(NamedTuple):
    """Characters at which lines are wrapped: most of a text, and those that surely are; 0 for none."""

    most: int
    sure: int


def groups_of(text: str) -> list[Group]:
    """What blank lines and form feeds part, then what the shapes of the lines part."""
    groups = list(_parted(text))
    widths = Widths(wrap_width(groups), sure_width(text, [group.lines for group in groups]))
    return [part for group in groups for part in _split(text, group, widths)]


def _parted(text: str) -> Iterator[Group]:
    lines: list[Line] = []
    for found in _VISIBLE_LINE.finditer(text):
        if lines and _is_gap(text[lines[-1].end : found.start()]):
            yield Group(tuple(lines))
            lines = []
        lines.append(Line(found.start(), found.end()))
    if lines:
        yield Group(tuple(lines))


def wrap_width(groups: Sequence[Group]) -> int:
    """Width at which the text is hard-wrapped; 0 where lines are paragraphs.

    Wrapped text has inner lines of like length, close to the longest; paragraphs on one line have lengths all over.
    """
    lengths = sorted(line.size for group in groups for line in group.lines[:-1])
    if not lengths:
        return 0
    width = lengths[min(len(lengths) - 1, len(lengths) * 95 // 100)]
    if not MIN_WRAP <= width <= MAX_WRAP:
        return 0
    full = sum(1 for size in lengths if size >= width * 0.7)
    return width if full >= 0.5 * len(lengths) else 0


def _split(text: str, group: Group, widths: Widths) -> Iterator[Group]:
    """The paragraphs and list items of what blank lines part."""
    lines = group.lines
    title = _ruled(text, lines)
    if title:
        yield Group(lines[:title])
        lines = lines[title:]
    elif _is_hung(text, lines):
        yield Group(lines[:1], tight=True, hung=True)
        lines = lines[1:]
    if len(lines) == 1:
        yield Group(lines, item=_is_item(text, lines[0]))
    elif not lines:
        return
    elif _is_table(text, lines):
        listed = _is_listed(lines)
        yield from (Group(row, tight=True, item=listed or _is_item(text, row[0])) for row in _rows(text, lines))
    elif _is_wrapped(text, lines, widths.most):
        yield from _wrapped_parts(text, lines, widths.most)
    else:
        yield from _line_parts(text, lines, widths.sure)


def _is_listed(lines: Sequence[Line]) -> bool:
    """True for a run of short lines."""
    return len(lines) >= 3 and max(line.size for line in lines) <= MAX_SHORT


def _is_table(text: str, lines: Sequence[Line]) -> bool:
    """True where most lines have columns: no wrapped text, whatever their length."""
    return sum(1 for line in lines if has_columns(text, line)) > 0.5 * len(lines)


def _rows(text: str, lines: Sequence[Line]) -> Iterator[tuple[Line, ...]]:
    """The rows of a table, each with the lines below that only a cell goes on in: deeper ones without columns."""
    edge = min(_column(text, line) for line in lines)
    row: list[Line] = []
    for line in lines:
        if row and (has_columns(text, line) or _column(text, line) < edge + _HUNG):
            yield tuple(row)
            row = []
        row.append(line)
    yield tuple(row)


def _line_parts(text: str, lines: tuple[Line, ...], width: int) -> Iterator[Group]:
    """Lines that are mostly paragraphs or items of their own, and what is wrapped among them."""
    listed = _is_listed(lines)
    count = len(lines)
    if _heads(text, lines, width):
        yield Group(lines[:1], tight=True)
        lines = lines[1:]
    for part in joined(text, lines, _wrapped_items(text, lines), width):
        item = _is_item(text, part[0]) or (listed and len(part) == 1)
        yield Group(part, tight=len(part) < count, item=item)


def _heads(text: str, lines: Sequence[Line], width: int) -> bool:
    """True where the first line has the number or word of a section, and the next is neither like it nor its end."""
    title, below = (text[line.start : line.end] for line in lines[:2])
    if lines[0].size > MAX_TITLE or SENTENCE_END.search(title) or below[0].islower():
        return False
    if not (is_counted(title) or is_worded(title)) or len(title.split()) > _MAX_HEAD_WORDS:
        return False
    kind = _item_kind(text, lines[0])
    alike = any(_item_kind(text, line) == kind for line in lines[1:]) if kind else False
    return not alike and not runs_on(text, lines[0], lines[1], width, within=False)


def _ruled(text: str, lines: Sequence[Line]) -> int:
    """Lines of a title with a rule under it, or over and under it; 0 where the lines do not begin with one.

    Columns over a rule and over more columns are the head of a table.
    """
    rules = [_RULE.fullmatch(text, line.start, line.end) is not None for line in lines[:3]]
    if rules == [True, False, True]:
        return 3
    if rules[:2] != [False, True] or (len(lines) > 2 and all(has_columns(text, lines[n]) for n in (0, 2))):
        return 0
    return 2


def _is_hung(text: str, lines: Sequence[Line]) -> bool:
    """True for a line of capitals at the left edge over lines that stand deeper."""
    if len(lines) < 2 or _column(text, lines[0]) or lines[0].size > _MAX_HUNG:
        return False
    title = text[lines[0].start : lines[0].end]
    return is_capitals(title) and min(_column(text, line) for line in lines[1:]) >= _HUNG


def _column(text: str, line: Line) -> int:
    """Characters before a line's first visible one; at most ``_DEEPEST`` are looked at."""
    left = text[max(0, line.start - _DEEPEST) : line.start]
    return len(left) - 1 - max(left.rfind(mark) for mark in "\r\n\f")


def _is_item(text: str, line: Line) -> bool:
    return line.size <= MAX_ITEM and ITEM.match(text, line.start, line.end) is not None


def _is_wrapped(text: str, lines: Sequence[Line], width: int) -> bool:
    """True where most line ends are wraps: the lines are full, or the next goes on in lower case."""
    inner = len(lines) - 1
    if max(line.size for line in lines) > MAX_WRAP * 1.5:
        return False
    if width and sum(1 for line in lines[:-1] if line.size >= width * 0.6) >= 0.5 * inner:
        return max(line.size for line in lines) <= width * 1.25
    goes_on = sum(
        1
        for before, after in pairwise(lines)
        if text[after.start].islower() and text[before.end - 1] not in ENDS and before.size >= MIN_WRAP
    )
    return goes_on >= 0.5 * inner


def _wrapped_parts(text: str, lines: Sequence[Line], width: int) -> Iterator[Group]:
    """The items, speaker turns and paragraphs of wrapped lines; a heading right above its text is parted from it."""
    items = _wrapped_items(text, lines)
    part: list[Line] = []
    is_item = False
    for index, (line, item) in enumerate(zip(lines, items, strict=True)):
        below_heading = index == 1 and width and lines[0].size < 0.6 * width and _sure(text, lines[0])
        if part and (item or below_heading or SPEAKER.match(text, line.start, line.end)):
            yield Group(tuple(part), tight=True, item=is_item)
            part, is_item = [], False
        part.append(line)
        is_item = is_item or item
    yield Group(tuple(part), tight=len(part) < len(lines), item=is_item)


def _wrapped_items(text: str, lines: Sequence[Line]) -> list[bool]:
    """Which wrapped lines begin a list item: not a number or dash that a wrap has put first by chance."""
    kinds = [_item_kind(text, line) for line in lines]
    ended = [True, *(text[line.end - 1] in ENDS for line in lines[:-1])]
    return [kind is not None and (end or kind == kinds[0]) for kind, end in zip(kinds, ended, strict=True)]


def _item_kind(text: str, line: Line) -> tuple[str, int] | None:
    """The form of an item's mark and its column; None where the line begins no item."""
    if ITEM.match(text, line.start, line.end) is None:
        return None
    mark = text[line.start : line.start + 8].split()[0]
    form = "".join("1" if char.isdigit() else "a" if char.isalpha() else char for char in mark[-2:])
    return form, _column(text, line)


def _sure(text: str, line: Line) -> bool:
    title = text[line.start : line.end]
    return not SENTENCE_END.search(title) and (is_capitals(title) or is_numbered(title))


def heading_of(text: str, groups: list[Group], index: int, airy: bool) -> tuple[int, str] | None:
    """Level and title where a group is surely a heading; ``airy``: blank lines part the paragraphs of this text."""
    found = _heading_of(text, groups, index, airy)
    return found and (found[0], " ".join(found[1].split()))


def _heading_of(text: str, groups: list[Group], index: int, airy: bool) -> tuple[int, str] | None:
    lines = groups[index].lines
    if len(lines) > 3 or lines[0].size > (_MAX_FIRST if index == 0 else _MAX_HEADING):
        return None
    title = text[lines[0].start : lines[0].end]
    if len(lines) > 1:
        return _underlined(text, lines)
    if groups[index].hung:
        return 2, title
    found = marked(title)
    if found is not None:
        return found
    if groups[index].item and groups[index].tight and not is_han_numbered(title):
        return None
    if not groups[index].tight and NUMBERED_TITLE.fullmatch(title):
        title = title.removesuffix(".")
    if title[0].islower() or SENTENCE_END.search(title) or DOTS.search(title) or not any(map(str.isalpha, title)):
        return None
    follower = _follower(text, groups, index) or _lines_below(text, groups, index, title)
    if follower is None or (index > 0 and follower[0].islower()) or _SIGNATURE.match(follower):
        return None
    if is_numbered(title):
        neighbours = [
            text[group.start : group.end] for group in (groups[index - 1 : index] + groups[index + 1 : index + 2])
        ]
        return by_number(title, neighbours)
    return by_shape(title, follower, index == 0, groups[index].tight and airy)


def _underlined(text: str, lines: Sequence[Line]) -> tuple[int, str] | None:
    if _ruled(text, lines) != len(lines):
        return None
    title, rule = (text[line.start : line.end] for line in lines[-2:])
    if len(rule) < 0.5 * len(title) or not any(map(str.isalnum, title)):
        return None
    return (1 if rule[0] in "=*" else 2), title


def _follower(text: str, groups: Sequence[Group], index: int) -> str | None:
    """The text that a heading here would head: the next group, or the one after a second heading."""
    for group in groups[index + 1 : index + 3]:
        body = text[group.start : group.end]
        if len(body) >= MIN_BODY or len(group.lines) > 1 or _FINAL.search(body) or index == 0:
            return body
    return None


def _lines_below(text: str, groups: Sequence[Group], index: int, title: str) -> str | None:
    """Two short lines without a gap below a title with a gap above it that number, word or capitals tell."""
    below = groups[index + 1 : index + 3]
    if len(below) < 2 or (index and _together(text, *groups[index - 1 : index + 1])) or not _together(text, *below):
        return None
    sure = is_counted(title) or is_worded(title) or is_capitals(title)
    return text[below[0].start : below[1].end] if sure else None


def _together(text: str, before: Group, after: Group) -> bool:
    """True where no blank line and no form feed parts two groups."""
    return not _is_gap(text[before.end : after.start])


def _is_gap(between: str) -> bool:
    """True for white space with a blank line or a form feed."""
    if between == "\n":
        return False
    return between.count("\n") > 1 or (between.count("\r") > 1 and "\n" not in between) or "\f" in between
