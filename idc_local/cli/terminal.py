"""What a terminal needs: widths of characters, wrapping, emphasis, links, and text that cannot command it.

Pure: works on strings and a ``Screen``; prints nothing.
"""

from __future__ import annotations

import re
import shutil
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TextIO

from idc_local.cli.paragraphs import runs
from idc_local.line_ends import LINE_END

MAX_WIDTH = 110
"""Columns that text is wrapped to at most: longer lines are hard to read."""

BOLD, DIM, RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_STAYS_WITH_THE_LEFT = frozenset("，。、；：？！）」』】》〉〕”’…％ー々")
"""Marks and signs that begin no line."""
_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_JOINT = re.compile(rf"[ \t]*{LINE_END.pattern}[ \t]*")
_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(frozen=True, slots=True)
class Screen:
    """Where text goes. ``width`` 0 means no wrapping; ``styled`` allows emphasis and links."""

    width: int = 0
    styled: bool = False


def detect_screen(stream: TextIO, environ: Mapping[str, str]) -> Screen:
    """The screen behind ``stream``: plain and unwrapped off a terminal, plain for NO_COLOR and dumb terminals."""
    if not stream.isatty():
        return Screen()
    styled = not environ.get("NO_COLOR") and environ.get("TERM", "") != "dumb"
    return Screen(max(20, min(shutil.get_terminal_size().columns, MAX_WIDTH)), styled)


@lru_cache(maxsize=8192)
def shown(char: str) -> str:
    """``char`` as it may be printed: control and direction characters and lone surrogates become escapes.

    A byte of a file's name that is not UTF-8 stands as in the index.
    """
    if char == "\t":
        return "    "
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    if char in _DIRECTION or unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp"):
        return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
    return char


def safe(text: str) -> str:
    """``text`` on one line, without anything that a terminal would obey."""
    return "".join(" " if char in _LINE_ENDS else shown(char) for char in text)


@lru_cache(maxsize=8192)
def char_width(char: str) -> int:
    """Columns that ``char`` takes as shown: 2 for East Asian wide characters, 0 for combining ones."""
    if char in _LINE_ENDS:
        return 1
    visible = shown(char)
    if visible != char:
        return len(visible)
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def display_width(text: str) -> int:
    """Columns that ``text`` takes as shown."""
    return sum(map(char_width, text))


def fit(text: str, width: int) -> str:
    """``text`` as shown on one line, cut to ``width`` columns with an ellipsis where it is longer."""
    line = safe(text)
    if display_width(line) <= width:
        return line
    columns = 0
    for place, char in enumerate(line):
        columns += char_width(char)
        if columns > width - 1:
            return line[:place] + "…"
    return line


def wrap(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Lines of ``text`` as half-open ranges of code points, none wider than ``width`` columns (0: any width).

    Its own line ends are kept, save within paragraphs that were wrapped wider than this, and runs of empty lines
    dropped; lines break after white space, beside wide characters, and inside a word only where the word alone is too
    wide.
    """
    lines = list(_source_lines(text))
    if width <= 0:
        yield from lines
        return
    for run in runs(text, lines):
        narrow = all(display_width(text[start:end]) <= width for start, end in run)
        for start, end in run if narrow else [(run[0][0], run[-1][1])]:
            yield from _wrap_line(text, start, end, width)


def _source_lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for place, char in enumerate(text + "\n"):
        if char in _LINE_ENDS:
            if text[start:place].strip():
                yield start, start + len(text[start:place].rstrip())
            start = place + 1


def _wrap_line(text: str, start: int, end: int, width: int) -> Iterator[tuple[int, int]]:
    columns, chance = 0, start
    place = start
    while place < end:
        char = text[place]
        if place > start and _may_begin_a_line(text, place):
            chance = place
        columns += char_width(char)
        if columns > width and place > start and not char.isspace():
            stop = chance if chance > start else place
            if text[start:stop].strip():
                yield start, start + len(text[start:stop].rstrip())
            start = chance = place = stop
            columns = 0
            continue
        place += 1
    if text[start:end].strip():
        yield start, end


def _may_begin_a_line(text: str, place: int) -> bool:
    """True after a space, and between wide characters where no mark would be left alone."""
    before, char = text[place - 1], text[place]
    if before.isspace():
        return True
    return char not in _STAYS_WITH_THE_LEFT and 2 in (char_width(char), char_width(before))


def lines_of(text: str, screen: Screen, indent: str, mark: tuple[int, int] = (0, 0)) -> Iterator[str]:
    """``text`` wrapped and indented for ``screen``, with the code points of ``mark`` emphasised where it can be."""
    width = max(8, screen.width - len(indent)) if screen.width else 0
    for start, end in wrap(text, width):
        first, last = max(start, mark[0]), min(end, mark[1])
        if screen.styled and first < last:
            yield f"{indent}{_flat(text[start:first])}{BOLD}{_flat(text[first:last])}{RESET}{_flat(text[last:end])}"
        else:
            yield indent + _flat(text[start:end])


def _flat(text: str) -> str:
    """``text`` on one line: line ends with the indentation behind them become a space."""
    return safe(_JOINT.sub(" ", text))


def link(label: str, path: str, screen: Screen) -> str:
    """``label``, linked to the file at ``path`` where the screen can and the file is there."""
    if not screen.styled:
        return label
    try:
        file = Path(path).absolute()
        address = file.as_uri() if file.is_file() else ""
    except (OSError, ValueError):
        return label
    return f"\x1b]8;;{address}\x1b\\{label}\x1b]8;;\x1b\\" if address else label


def bold(text: str, screen: Screen) -> str:
    """``text`` emphasised where the screen can."""
    return f"{BOLD}{text}{RESET}" if screen.styled else text


def dim(text: str, screen: Screen) -> str:
    """``text`` set back where the screen can."""
    return f"{DIM}{text}{RESET}" if screen.styled else text
