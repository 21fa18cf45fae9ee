"""Which lines of a text are one paragraph, wrapped by its author at some width. Pure.

Nothing but the lines themselves tells it, and to run code, a table or an address together is worse than to leave a
paragraph as it is: all line ends of a run must look like wraps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from idc_local.line_ends import LINE_END

Lines = Sequence[tuple[int, int]]
"""Lines as half-open ranges of code points, indentation included, without white space at their ends."""

SHORTEST, LONGEST = 20, 130
"""Width, in characters, at which people wrap a text."""
DEEPEST = 3
"""Columns that a paragraph may be indented: with four it is code, in Markdown and about everywhere."""

_BELOW = re.compile(rf"[ \t]?{LINE_END.pattern}")
"""What is between two lines of a paragraph: with two spaces Markdown means the line end."""
_OPENS = re.compile(r"[ \t]*(?:[-*+•‣▪–—]\s|[|>]|#+\s|[-=~*_]{3}|```|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s)")
"""How list items, table rows, quotes, headings, rules and fences begin."""
_STANDS_ALONE = re.compile(r"[ \t]*(?:#|/[*/])")
"""How headings and comments begin."""
_FIELD = re.compile(r"[ \t]*[\w.-]+[ \t]*[:=](?!\S)")
_CODE = re.compile(r"\w(?:\((?!s\))|\[)|(?:^|\s)(?:[-+*/:]?=|==|->|=>)(?=\s)|::|[{}]")
"""Calls, subscripts, assignments: what a line of a paragraph hardly holds."""
_CLOSES = frozenset("\\{}[](;|=<>")
"""Ends of lines of code, of table rows, and of lines that Markdown breaks."""


def runs(text: str, lines: Lines) -> Iterator[Lines]:
    """The lines in order, those of a wrapped paragraph together, all others alone."""
    run: list[tuple[int, int]] = []
    for line in lines:
        if run and not _may_go_on(text, run[-1], line):
            yield from _parts(text, run, starts_text=run[0] == lines[0])
            run = []
        run.append(line)
    if run:
        yield from _parts(text, run, starts_text=run[0] == lines[0])


def _may_go_on(text: str, before: tuple[int, int], line: tuple[int, int]) -> bool:
    """True for a line right below another that begins nothing of its own; fields come several at a time."""
    if _BELOW.fullmatch(text, before[1], line[0]) is None or text[before[1] - 1] in _CLOSES:
        return False
    if _STANDS_ALONE.match(text, *before) or _OPENS.match(text, *line):
        return False
    return not (_FIELD.match(text, *before) and _FIELD.match(text, *line))


def _parts(text: str, run: Lines, *, starts_text: bool) -> Iterator[Lines]:
    """The run, as a whole or below its first line, if that is a paragraph; else its lines."""
    if _is_wrapped(text, run, starts_text=starts_text):
        yield run
        return
    yield run[:1]
    if _is_wrapped(text, run[1:], starts_text=False):
        yield run[1:]
    else:
        yield from ([line] for line in run[1:])


def _is_wrapped(text: str, run: Lines, *, starts_text: bool) -> bool:
    """True where no line has room for the next one's first word, and most of them go on in lower case.

    starts_text: the first line may be the end of one, and is if a sentence goes on there.
    """
    if len(run) < 2 or not SHORTEST <= max(end - start for start, end in run) <= LONGEST:
        return False
    lines = [text[start:end] for start, end in run]
    longest = max(map(len, lines))
    words = [line.split(None, 1)[0] for line in lines]
    full = [len(line) + 1 + len(word) > longest for line, word in zip(lines, words[1:], strict=False)]
    if starts_text and (words[0][0].islower() or words[1][0].islower()):
        full[0] = True
    lower = sum(word[0].islower() for word in words[1:])
    return all(full) and 2 * lower >= len(words) - 1 and len(set(words)) > 1 and not _is_code(lines)


def _is_code(lines: Sequence[str]) -> bool:
    """True where the lines are indented as code is, unlike each other, or hold what code does."""
    indents = {line[: len(line) - len(line.lstrip())] for line in (lines[1:] if _OPENS.match(lines[0]) else lines)}
    return len(indents) > 1 or len(min(indents).expandtabs()) > DEEPEST or any(map(_CODE.search, lines))
