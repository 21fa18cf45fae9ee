"""Wrapped lines among short ones: a clause under its number, a paragraph under an address. Pure.

Where blank lines are rare, what stands between two of them may hold titles, addresses and wrapped paragraphs at once.
A line goes on in the next one where it is as long as lines of this text get and stops within a sentence. How long they
get is told by those that are surely wrapped: the next goes on in lower case, or a word ends them that ends no sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from idc_local.language import FUNCTION_WORDS
from idc_local.readers.titles import SPEAKER

ENDS = frozenset('.!?:;。！？：；…"”’»)')
"""Marks after which a line may be at its end."""

MIN_WRAP, MAX_WRAP = 20, 130
"""Shortest and longest width, in characters, at which a text may be hard-wrapped."""
_SURE_WRAP = 50
"""Shortest line that shows at which width a text of short lines is wrapped: verses and ingredients are shorter."""
_PARAGRAPH, _FEW = 1.5 * MAX_WRAP, 0.05
"""Characters that only a line holds that is a paragraph, and the share of such lines that a wrapped text may have."""
_FULL, _OVER = 0.75, 1.1
"""Shares of that width: of a line that goes on in lower case at least, and of any at most."""

_COLUMNS = re.compile(r"\S(?:[ \xa0]{3,}|[ ]*\t\s*)\S")
_CLAUSE = re.compile(r"(?:\d{1,3}(?:\.\d{1,3})+[.)]?|§+[ \t]*\d+\w?)[ \t]+(?=[^\W\d_a-z])")
_FIRST_WORD = re.compile(r"\S+")
_LAST_WORD = re.compile(r"[^\W\d_]{2,}\Z")
_LONGEST_LAST = 12
_UNFINISHED = frozenset(word for words in FUNCTION_WORDS.values() for word in words)


class Line(NamedTuple):
    """A line without the white space around it."""

    start: int
    end: int

    @property
    def size(self) -> int:
        """Characters."""
        return self.end - self.start


def sure_width(text: str, runs: Sequence[Sequence[Line]]) -> int:
    """Length of the longest line that is surely wrapped; 0 where none is, or where lines are paragraphs.

    runs: lines without blank ones between.
    """
    sizes = [line.size for line in chain.from_iterable(runs)]
    if sum(1 for size in sizes if size > _PARAGRAPH) > _FEW * len(sizes):
        return 0
    pairs = chain.from_iterable(map(pairwise, runs))
    return max((before.size for before, after in pairs if _goes_on_surely(text, before, after)), default=0)


def _goes_on_surely(text: str, before: Line, after: Line) -> bool:
    if not _SURE_WRAP <= before.size <= MAX_WRAP or not _may_go_on(text, before, after):
        return False
    return text[after.start].islower() or _is_unfinished(text, before)


def _is_unfinished(text: str, line: Line) -> bool:
    """True for a line whose last word is one that leads to the next."""
    word = _LAST_WORD.search(text, max(line.start, line.end - _LONGEST_LAST), line.end)
    return word is not None and word[0] in _UNFINISHED


def _may_go_on(text: str, before: Line, after: Line) -> bool:
    """False for lines that say themselves that they are two: rows of columns, ends of sentences, clauses, speakers."""
    return not (
        text[before.end - 1] in ENDS
        or has_columns(text, before)
        or has_columns(text, after)
        or _CLAUSE.match(text, after.start, after.end)
        or SPEAKER.match(text, after.start, after.end)
    )


def has_columns(text: str, line: Line) -> bool:
    """True for a line with gaps as between the columns of a table."""
    return _COLUMNS.search(text, line.start, line.end) is not None


def runs_on(text: str, before: Line, after: Line, width: int, within: bool) -> bool:
    """True where a line goes on in the next: there was no room for its first word.

    width: from ``sure_width``. within: ``before`` goes on a line itself, so that a sentence may end with it.
    """
    if not width or before.size > width * _OVER:
        return False
    if not _may_go_on(text, before, after):
        ended = text[before.end - 1] in ENDS and within
        if not (ended and _may_go_on(text, Line(before.start, before.end - 1), after)):
            return False
    elif before.size >= width * _FULL and (text[after.start].islower() or _is_unfinished(text, before)):
        return True
    word = _FIRST_WORD.match(text, after.start, after.end)
    return word is not None and before.size + 1 + len(word[0]) > width


def joined(text: str, lines: Sequence[Line], items: Sequence[bool], width: int) -> Iterator[tuple[Line, ...]]:
    """The lines, those together that go on in each other; ``items``: which of them begin a list item."""
    part: list[Line] = []
    for line, item in zip(lines, items, strict=True):
        if part and (item or not runs_on(text, part[-1], line, width, len(part) > 1)):
            yield tuple(part)
            part = []
        part.append(line)
    yield tuple(part)
