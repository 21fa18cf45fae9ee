"""Cuts a text that is too long for one sentence at the best places there are. Pure.

Places, from best to worst: the line ends of code and blank lines, clause marks, white space, and the inside of a word
only when the word alone is too long. Tokens are counted word by word and in one batch, so that the cost is linear.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from math import ceil

from idc_local.line_ends import LINE_END
from idc_local.ports import TokenCounter
from idc_local.types import Span

_IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff"
_ATOM = re.compile(rf"\s+|[{_IDEOGRAPH}][^\w\s]*\s*|[^\s{_IDEOGRAPH}]+\s*")
_BLANK_LINE = re.compile(rf"{LINE_END.pattern}[ \t]*{LINE_END.pattern}\s*\Z")
_LINE_END = re.compile(r"[\r\n]\s*\Z")
_SENTENCE_END = re.compile(r"[.!?。！？…।؟۔][\"'”’»)\]」』]*\s*\Z")
_CLAUSE = re.compile(r"(?:[;:—–][\"'”’»)\]」』]*|[，、；：،؛・])\s*\Z")
_COMMA = re.compile(r",[\"'”’»)\]]*\s+\Z")
_JOINERS = frozenset("\u200c\u200d\u2060\ufe0e\ufe0f\u0e33")

IN_WORD, SPACE, COMMA, CLAUSE, SENTENCE, LINE, BLANK = range(7)
"""Kinds of places to cut, from worst to best."""


@dataclass(frozen=True, slots=True)
class Room:
    """What one piece may hold."""

    tokens: int
    chars: int


@dataclass(slots=True)
class _Atoms:
    """What is never cut further: ``ends`` of the atoms, their running ``tokens``, and the kind of place behind each."""

    start: int
    ends: list[int]
    tokens: list[int]
    kinds: list[int]

    def add(self, end: int, tokens: int, kind: int) -> None:
        """Appends an atom."""
        self.ends.append(end)
        self.tokens.append(tokens + (self.tokens[-1] if self.tokens else 0))
        self.kinds.append(kind)


class Cutter:
    """Cuts spans to pieces that fit ``room``; remembers what words weigh."""

    def __init__(self, counter: TokenCounter, room: Room) -> None:
        self._counter = counter
        self._room = room
        self._known: dict[str, int] = {}

    def fits(self, span: Span, tokens: int) -> bool:
        """True where a span may stay whole: one code point always may."""
        size = span.end - span.start
        return size <= 1 or (tokens <= self._room.tokens and size <= self._room.chars)

    def cut(self, text: str, span: Span) -> list[tuple[Span, int]]:
        """Spans that tile ``span`` and fit, each with its tokens."""
        done: list[tuple[Span, int]] = []
        pending = [(span, 1)]
        while pending:
            whole, slack = pending.pop()
            # A counter may weigh a run of words more than its words: cut such a piece again, with more slack.
            room = Room(max(1, self._room.tokens // slack), max(1, self._room.chars // slack))
            parts = _packed(self._atoms(text, whole, room), room)
            counts = self._counter.count([text[part.start : part.end] for part in parts])
            for place, (part, tokens) in enumerate(zip(parts, counts, strict=True)):
                if not self.fits(part, int(tokens)):
                    pending += [(late, slack) for late in reversed(parts[place + 1 :])] + [(part, slack * 2)]
                    break
                done.append((part, int(tokens)))
        return done

    def _atoms(self, text: str, span: Span, room: Room) -> _Atoms:
        """Words with the white space behind them, and parts of what is too long for a piece."""
        words = [match.span() for match in _ATOM.finditer(text, span.start, span.end)]
        self._learn({text[start:end] for start, end in words})
        atoms = _Atoms(span.start, [], [], [])
        for start, end in words:
            word = text[start:end]
            size = self._known[word]
            if size <= room.tokens and end - start <= room.chars:
                atoms.add(end, size, _kind(word))
                continue
            for part_end in _parts(text, start, end, _part_size(end - start, size, room)):
                share = -(-size * (part_end - start) // (end - start)) if size > room.tokens else size
                atoms.add(part_end, share, SPACE if text[part_end - 1].isspace() else IN_WORD)
                start = part_end
        return atoms

    def _learn(self, words: set[str]) -> None:
        new = sorted(words - self._known.keys())
        self._known.update(zip(new, map(int, self._counter.count(new)), strict=True))


def _part_size(chars: int, tokens: int, room: Room) -> int:
    """Characters of the parts of a word that is too long."""
    by_tokens = chars * room.tokens // tokens if tokens > room.tokens else chars
    return max(1, min(room.chars, by_tokens))


def _parts(text: str, start: int, end: int, size: int) -> list[int]:
    """Ends of parts of at most ``size`` characters that keep combining marks with their letters.

    The white space behind the word keeps a letter of it, where it fits: it is no part by itself.
    """
    ends = []
    last = start + len(text[start:end].rstrip()) - 1
    while end - start > size:
        place = start + size
        if start < last < place and end - last <= size:
            place = last
        while place > start + 1 and _joined(text[place - 1], text[place]):
            place -= 1
        start = place if not _joined(text[place - 1], text[place]) else start + size
        ends.append(start)
    return [*ends, end]


def _joined(before: str, after: str) -> bool:
    if after in _JOINERS or before == "\u200d" or (before, after) == ("\r", "\n"):
        return True
    return not after.isascii() and unicodedata.category(after).startswith("M")


def _kind(word: str) -> int:
    """The kind of place behind ``word``."""
    last = word[-1]
    if last in "\r\n \t\f\v" or last.isspace():
        if _BLANK_LINE.search(word):
            return BLANK
        if _LINE_END.search(word):
            return LINE
        if _SENTENCE_END.search(word):
            return SENTENCE
        if _CLAUSE.search(word):
            return CLAUSE
        return COMMA if _COMMA.search(word) else SPACE
    if word[-1].isascii():
        return SPACE
    if _SENTENCE_END.search(word):
        return SENTENCE
    return COMMA if _CLAUSE.search(word) else SPACE


def _packed(atoms: _Atoms, room: Room) -> list[Span]:
    """Pieces of like size: each ends at the best kind of place near an even share of what is left."""
    spans: list[Span] = []
    first = 0
    start = atoms.start
    count = len(atoms.ends)
    while first < count:
        last = _piece_end(atoms, first, start, room)
        spans.append(Span(start, atoms.ends[last]))
        start = atoms.ends[last]
        first = last + 1
    return spans


def _piece_end(atoms: _Atoms, first: int, start: int, room: Room) -> int:
    """Index of the last atom of the piece that begins with atom ``first``."""
    used = atoms.tokens[first - 1] if first else 0
    left_tokens, left_chars = atoms.tokens[-1] - used, atoms.ends[-1] - start
    share = max(1, ceil(left_tokens / room.tokens), ceil(left_chars / room.chars))
    if share == 1:
        return len(atoms.ends) - 1
    furthest = min(
        bisect_right(atoms.tokens, used + room.tokens, first), bisect_right(atoms.ends, start + room.chars, first)
    )
    furthest = max(first, furthest - 1)
    ideal = min(furthest, bisect_left(atoms.ends, start + left_chars // share, first))
    nearest = min(furthest, bisect_left(atoms.ends, start + left_chars // share // 2, first))
    return max(range(nearest, furthest + 1), key=lambda place: (atoms.kinds[place], -abs(place - ideal)))
