r"""The shapes of lines in plain text: hard wraps, list items, speaker turns and headings. Pure.

A group is a run of lines without a blank line in it. The rules are conservative: a paragraph that is taken for a
heading does more harm than a heading that is taken for a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from idc_local.readers.blocks import trimmed

_ITEM = re.compile(r"(?:[-*+•‣◦▪–·]|\(?(?:\d{1,3}|[a-z]|[ivxl]{1,5})[.)]|\((?:\d{1,3}|[A-Z])\))[ \t]+\S")
_NUMBER = re.compile(r"(?:(?:Article|ARTICLE|Section|SECTION|Chapter|CHAPTER|§)[ \t]+)?(\d+(?:\.\d+)*|[IVXLC]+(?=\.))")
_NUMBERED = re.compile(_NUMBER.pattern + r"[.):]?[ \t]+(?=[^\W\d_])")
_WORDED = re.compile(r"(?:Chapter|Section|Article|Appendix|Annex|Part|Exhibit|Schedule)[ \t]+[\dIVXLCA-Z]{1,6}\b", re.I)
_EQUALS = re.compile(r"((?:=[ \t]?){1,6})[ \t]*([^=\s](?:[^=]*[^=\s])?)[ \t]*((?:[ \t]?=){1,6})")
_HASHES = re.compile(r"(#{1,6})[ \t]+(\S.*?)[ \t#]*")
_RULE = re.compile(r"([=\-~^*])\1{2,}")
_SPEAKER = re.compile(r"(?:\[?\d{1,2}:\d\d(?::\d\d)?\]?[ \t]+)?[A-Z][\w.'’-]*(?:[ \t][\w.'’&()-]+){0,4}:[ \t]")
_DOTS = re.compile(r"\.{4}|(?:\. ){4}|\t\d+\Z")
_SENTENCE_END = re.compile(r"[.!?。！？…:;,，；：、][\"'”’»)\]」』]*\Z")
_FINAL = re.compile(r"[.!?。！？…][\"'”’»)\]」』]*\Z")
_CASELESS = re.compile(r"[\u0590-\u08ff\u0900-\u0e7f\u3040-\u9fff\uac00-\ud7af]")

MAX_WRAP = 130
"""Longest line, in characters, that may be a hard wrap."""
MAX_ITEM = 400
"""Longest list item: a longer one is a numbered paragraph."""
_MAX_HEADING = 90
_MAX_TITLE = 60
_MAX_TITLE_WORDS = 9
_MIN_BODY = 80


class Line(NamedTuple):
    """A line without the white space around it; ``item`` where a list item begins."""

    start: int
    end: int
    item: bool = False

    @property
    def size(self) -> int:
        """Characters."""
        return self.end - self.start


Group = list[Line]


def groups_of(text: str, starts: Sequence[int]) -> Iterator[Group]:
    """Runs of lines that no blank line and no form feed parts."""
    group: Group = []
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else len(text)
        span = trimmed(text, start, end)
        if group and (span.start == span.end or "\f" in text[group[-1].end : span.start]):
            yield group
            group = []
        if span.start < span.end:
            group.append(Line(span.start, span.end))
    if group:
        yield group


def wrap_width(groups: Sequence[Group]) -> int:
    """Width at which the text is hard-wrapped; 0 where lines are paragraphs.

    A break is forced when the next line's first word would not have fitted. Wrapped text has lines of like length,
    most of whose breaks are forced; paragraphs on one line have lengths all over.
    """
    lengths = sorted(line.size for group in groups for line in group[:-1])
    if not lengths:
        return 0
    width = lengths[min(len(lengths) - 1, len(lengths) * 95 // 100)]
    if not 20 <= width <= MAX_WRAP:
        return 0
    full = sum(1 for size in lengths if size >= width * 0.7)
    return width if full >= 0.5 * len(lengths) else 0


def split_group(text: str, group: Group, width: int) -> Iterator[Group]:
    """The paragraphs and list items of a group."""
    if len(group) == 1:
        line = group[0]
        item = line.size <= MAX_ITEM and _ITEM.match(text, line.start, line.end) is not None
        yield [line._replace(item=item)]
        return
    items = _items(text, group)
    wrapped = width and _is_wrapped(group, width)
    part: Group = []
    for line, item in zip(group, items, strict=True):
        begins = item or not wrapped or _SPEAKER.match(text, line.start, line.end) is not None
        if part and begins:
            yield part
            part = []
        part.append(line._replace(item=item))
    yield part


def _is_wrapped(group: Group, width: int) -> bool:
    inner = [line.size for line in group[:-1]]
    return sum(1 for size in inner if size >= width * 0.6) >= 0.5 * len(inner) and max(inner) <= width * 1.25


def _items(text: str, group: Group) -> list[bool]:
    """Which lines of a group begin a list item: the first, or after a line that is done, or where several do."""
    found = [_ITEM.match(text, line.start, line.end) is not None for line in group]
    several = sum(found) >= 2
    result = []
    for index, item in enumerate(found):
        before = text[group[index - 1].end - 1] if index else "."
        result.append(item and (several or before in ".;:!?") and group[index].size <= MAX_ITEM)
    return result


def heading_of(text: str, groups: Sequence[Group], index: int) -> tuple[int, str] | None:
    """Level and title where a group is surely a heading."""
    group = groups[index]
    if len(group) > 2 or group[0].size > _MAX_HEADING:
        return None
    title = text[group[0].start : group[0].end]
    if len(group) == 2:
        return _underlined(text, group, title)
    marked = _marked(title)
    if marked is not None:
        return marked
    if _SENTENCE_END.search(title) or _DOTS.search(title) or not any(map(str.isalpha, title)):
        return None
    follower = _follower(text, groups, index)
    if follower is None:
        return None
    return _by_shape(title, follower, index)


def _underlined(text: str, group: Group, title: str) -> tuple[int, str] | None:
    rule = text[group[1].start : group[1].end]
    if _RULE.fullmatch(rule) and len(rule) >= 0.5 * len(title) and any(map(str.isalnum, title)):
        return (1 if rule[0] in "=*" else 2), title
    return None


def _marked(title: str) -> tuple[int, str] | None:
    """Headings that say so: ``== Title ==`` and ``# Title``."""
    found = _EQUALS.fullmatch(title)
    if found is not None and found[1].count("=") == found[3].count("="):
        return found[1].count("="), found[2]
    found = _HASHES.fullmatch(title)
    return (len(found[1]), found[2]) if found is not None else None


def _follower(text: str, groups: Sequence[Group], index: int) -> str | None:
    """The text that a heading here would head: the next group, or the one after a second heading."""
    for group in groups[index + 1 : index + 3]:
        body = text[group[0].start : group[-1].end] if len(group) < 4 else text[group[0].start : group[3].end]
        if len(body) >= _MIN_BODY or len(group) > 1 or _FINAL.search(body):
            return body
    return None


def _by_shape(title: str, follower: str, index: int) -> tuple[int, str] | None:
    letters = [char for char in title if char.isalpha()]
    numbered = _NUMBERED.match(title)
    if numbered is not None and (title[numbered.end()].isupper() or _CASELESS.match(title[numbered.end()])):
        if _NUMBERED.match(follower) and len(follower) < _MIN_BODY:
            return None
        return min(6, 2 + numbered[1].count(".")), title
    if _SPEAKER.match(title + " ") or _ITEM.match(title):
        return None
    if _WORDED.match(title) and len(title) <= _MAX_TITLE:
        return (1 if index == 0 else 2), title
    if len(letters) >= 4 and all(char.isupper() for char in letters):
        return (1 if index == 0 else 2), title
    if _is_title(title, follower):
        return (1 if index == 0 else 3), title
    return None


def _is_title(title: str, follower: str) -> bool:
    words = title.split()
    if len(title) > _MAX_TITLE or len(words) > _MAX_TITLE_WORDS or len(follower) < _MIN_BODY or ": " in title:
        return False
    if _CASELESS.match(title):
        return len(title) <= 20
    return title[0].isupper() and not any(char in title for char in "@{}|<>=_\\/")
