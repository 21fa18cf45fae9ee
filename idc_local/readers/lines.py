"""What readers of line-made markup share: the lines of a text, and the blocks that runs of lines are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from idc_local.readers.blocks import RawBlock, line_starts, trimmed
from idc_local.types import BlockKind, Span

ITEM = re.compile(r"(\s*)(?:[-*+•‣⁃]|(?:\d{1,4}|#|[a-zA-Z])[.)]|\(\w{1,4}\))(?:[ \t]+|\Z)")
_DEEPEST = 6


class Lines:
    """The lines of a text by number from 0."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = line_starts(text)
        self._ends = [*self.starts[1:], len(text)]
        self._lines = [text[start:end].rstrip() for start, end in pairwise([*self.starts, len(text)])]

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, number: int) -> str:
        """A line without the white space at its end; empty outside of the text."""
        return self._lines[number] if 0 <= number < len(self._lines) else ""

    def indent(self, number: int) -> int:
        """Characters of white space at the line's start."""
        line = self[number]
        return len(line) - len(line.lstrip())

    def span(self, first: int, last: int) -> Span:
        """The text from line ``first`` to before line ``last``, without the white space around it."""
        if first >= min(last, len(self)):
            return Span(len(self.text), len(self.text))
        return trimmed(self.text, self.starts[first], self._ends[min(last, len(self)) - 1])

    def whole(self, first: int, last: int) -> Span:
        """The same, from the start of its first line that is not blank."""
        while first < last and not self[first]:
            first += 1
        span = self.span(first, last)
        return Span(self.starts[first], span.end) if span.start < span.end else span

    def until(self, first: int, ends: Callable[[int], bool]) -> int:
        """The first line from ``first`` on where ``ends`` is true, or the end."""
        while first < len(self) and not ends(first):
            first += 1
        return first

    def indented_end(self, first: int, depth: int) -> int:
        """The end of the lines that stand deeper than ``depth``, blank ones at the end left out."""
        end = last = first
        while last < len(self) and (not self[last] or self.indent(last) > depth):
            last += 1
            if self[last - 1]:
                end = last
        return end

    def block(self, kind: BlockKind, first: int, last: int, level: int = 0, title: str = "") -> Iterator[RawBlock]:
        """A block of lines, unless they are blank; code begins at the start of a line."""
        span = self.whole(first, last) if kind is BlockKind.CODE else self.span(first, last)
        if span.start < span.end:
            yield RawBlock(kind, span.start, span.end, level, title)

    def table(self, first: int, last: int, head: int) -> Iterator[RawBlock]:
        """A table; ``head``: the line behind its header rows, ``first`` for none."""
        span, header = self.span(first, last), self.span(first, head)
        if span.start < span.end:
            whole = first < head < last and header.start < header.end
            yield RawBlock(BlockKind.TABLE, span.start, span.end, header=header if whole else None)

    def item_end(self, first: int) -> int:
        """The end of the list item that begins on a line: what is deeper than its mark belongs to it."""
        depth = self.indent(first)
        last = first + 1
        while last < len(self) and self[last] and self.indent(last) > depth and not ITEM.match(self[last]):
            last += 1
        return last

    def item_level(self, number: int) -> int:
        """Nesting depth of a list item, from 1."""
        return min(_DEEPEST, 1 + self.indent(number) // 2)
