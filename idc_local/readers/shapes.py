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
    MIN_BODY,
    NUMBERED_TITLE,
    SENTENCE_END,
    SPEAKER,
    by_number,
    by_shape,
    is_capitals,
    is_han_numbered,
    is_numbered,
    marked,
)

_VISIBLE_LINE = re.compile(r"\S(?:[^\r\n\f]*\S)?")
_RULE = re.compile(r"([=\-~^*])\1{2,}")
_FINAL = re.compile(r"[.!?。！？…][\"'”’»)\]」』]*\Z")

_SIGNATURE = re.compile(r"_{3,}|\.{8,}")
"""A line to sign on: what stands above it is place and date, or a name."""

_ENDS = frozenset('.!?:;。！？：；…"”’»)')

MIN_WRAP, MAX_WRAP = 20, 130
"""Shortest and longest width, in characters, at which a text may be hard-wrapped."""
MAX_SHORT = 100
"""Longest line of a run of short lines: verses, an address, fields."""
MAX_ITEM = 400
"""Longest list item: a longer one is a numbered paragraph."""
_DEEPEST = 200
_HUNG, _MAX_HUNG = 3, 40
"""Columns that a text stands deeper than its heading, and the longest such heading."""
_MAX_HEADING = 90
_MAX_FIRST = 150


class Line(NamedTuple):
    """A line without the white space around it."""

    start: int
    end: int

    @property
    def size(self) -> int:
        """Characters."""
        return self.end - self.start


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


def groups_of(text: str) -> list[Group]:
    """What blank lines and form feeds part, then what the shapes of the lines part."""
    groups = list(_parted(text))
    width = wrap_width(groups)
    return [part for group in groups for part in _split(text, group, width)]


def _parted(text: str) -> Iterator[Group]:
    lines: list[Line] = []
    for found in _VISIBLE_LINE.finditer(text):
        if lines:
            gap = text[lines[-1].end : found.start()]
            if gap != "\n" and (gap.count("\n") > 1 or (gap.count("\r") > 1 and "\n" not in gap) or "\f" in gap):
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


def _split(text: str, group: Group, width: int) -> Iterator[Group]:
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
    elif _is_wrapped(text, lines, width):
        yield from _wrapped_parts(text, lines, width)
    else:
        listed = len(lines) >= 3 and max(line.size for line in lines) <= MAX_SHORT
        for line in lines:
            yield Group((line,), tight=True, item=listed or _is_item(text, line))


def _ruled(text: str, lines: Sequence[Line]) -> int:
    """Lines of a title with a rule under it, or over and under it; 0 where the lines do not begin with one."""
    rules = [_RULE.fullmatch(text, line.start, line.end) is not None for line in lines[:3]]
    if rules == [True, False, True]:
        return 3
    return 2 if rules[:2] == [False, True] else 0


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
        if text[after.start].islower() and text[before.end - 1] not in _ENDS and before.size >= MIN_WRAP
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
    ended = [True, *(text[line.end - 1] in _ENDS for line in lines[:-1])]
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
    follower = _follower(text, groups, index)
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
