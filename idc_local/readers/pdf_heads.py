"""Tells headings among printed lines, by the document's outline and by size and weight. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from idc_local.readers.pdf_order import MARK, Line
from idc_local.readers.pdf_page import Bookmark, Page
from idc_local.readers.pdf_text import ENDS, LEADERS

_LONGEST = 160
_LARGER = 1.12
_DEEPEST = 6
_PLAIN = re.compile(r"[\W_]+")
_NUMBER = re.compile(r"^(?:chapter|section|part|appendix)?\s*[\dA-Z]{0,3}(?:\.\d+)*[.:)]?\s+", re.I)
_BOLD_SHARE = 0.3


def _key(text: str) -> str:
    return _PLAIN.sub("", text.casefold())


class Heads:
    """What headings look like in a document; ``body`` is the size of its running text in points."""

    def __init__(self, pages: Sequence[Page], outline: Iterable[Bookmark]) -> None:
        sizes: Counter[float] = Counter()
        bold = total = 0
        for page in pages:
            for piece in page.pieces:
                total += len(piece.text)
                bold += len(piece.text) * piece.bold
                if not piece.mono:
                    sizes[_step(piece.size)] += len(piece.text)
        self.body = max(sizes, key=lambda size: (sizes[size], -size), default=10.0)
        self._bold = bold < _BOLD_SHARE * total
        larger = {size for size, count in sizes.items() if size > _LARGER * self.body and count > 2}
        self._ranks = {size: rank for rank, size in enumerate(sorted(larger, reverse=True), 1)}
        self._titles = _titles(outline)
        self._levels = self._outline_levels(pages)

    def _outline_levels(self, pages: Sequence[Page]) -> dict[float, int]:
        """The level that the outline gives to most of its titles of each size."""
        votes: dict[float, Counter[int]] = {}
        for page in pages:
            for piece in page.pieces:
                level = self.leads(piece.text, page.number)
                if level and piece.size > 0.95 * self.body:
                    votes.setdefault(_step(piece.size), Counter())[level] += 1
        return {size: min(found, key=lambda level: (-found[level], level)) for size, found in votes.items()}

    def named(self, line: Line) -> bool:
        """True where the outline holds a title that reads like the line."""
        return any(key in self._titles for key in _keys(line.text))

    def level(self, line: Line, above: Line | None, after: Line | None, page: int) -> int:
        """Level 1 to 6 of a line that is a heading, else 0. ``above``, ``after``: its neighbours in the column."""
        text = line.text
        if len(text) > _LONGEST or LEADERS.search(text) or not any(map(str.isalpha, text)):
            return 0
        named = self.leads(text, page)
        apart = line.bold or line.size > 1.02 * self.body or _alone(line, above, after)
        if named and line.size > 0.95 * self.body and apart:
            return min(named, _DEEPEST)
        if line.mono or (MARK.match(text.split(" ", 1)[0]) and not text[:1].isalnum()):
            return 0
        size = _step(line.size)
        if size in self._ranks:
            return self._by_size(size)
        if self._bold and line.bold and size >= 0.95 * self.body and _stands_out(line, above, after):
            return self._by_size(size)
        return 0

    def _by_size(self, size: float) -> int:
        """The level of a heading that the outline does not name."""
        if self._levels:
            if size in self._levels:
                return min(self._levels[size], _DEEPEST)
            above = [level for other, level in self._levels.items() if other > size]
            return min(max(above) + 1, _DEEPEST) if above else 1
        return min(self._ranks.get(size, len(self._ranks) + 1), _DEEPEST)

    def leads(self, text: str, page: int) -> int:
        """The level of the outline's title that reads like ``text`` and leads to this page or the one before."""
        if not self._titles or len(text) > _LONGEST:
            return 0
        for key in _keys(text):
            near = [(abs(goal - page), level) for goal, level in self._titles.get(key, ()) if goal]
            if near and min(near)[0] <= 1:
                return min(near)[1]
        return 0


def _step(size: float) -> float:
    """A size to half a point."""
    return round(2 * size) / 2


def _keys(text: str) -> list[str]:
    """``text`` without marks; then without a number before it as well."""
    found = dict.fromkeys((_key(text), _key(_NUMBER.sub("", text, count=1))))
    return [key for key in found if len(key) > 1]


def _titles(outline: Iterable[Bookmark]) -> dict[str, list[tuple[int, int]]]:
    titles: dict[str, list[tuple[int, int]]] = {}
    for mark in outline:
        for key in _keys(mark.title):
            titles.setdefault(key, []).append((mark.page, mark.level))
    return titles


def _alone(line: Line, above: Line | None, after: Line | None) -> bool:
    """True where white space parts the line from its neighbours."""
    return all(other is None or abs(other.base - line.base) > 1.4 * line.size for other in (above, after))


def _stands_out(line: Line, above: Line | None, after: Line | None) -> bool:
    """True for a short bold line over running text that is not bold."""
    if len(line.text) > 100 or ENDS.search(line.text) or line.text.endswith(","):
        return False
    if after is None or (after.bold and above is not None and above.bold):
        return False
    return above is None or above.bold or line.base - above.base > 1.35 * line.size
