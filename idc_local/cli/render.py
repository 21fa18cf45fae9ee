"""Passages, hits and checks as lines for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from idc_local.cli.output import cell
from idc_local.cli.schema import SHORT_ID
from idc_local.cli.terminal import Screen, bold, dim, display_width, lines_of, link, safe

if TYPE_CHECKING:
    from idc_local.types import Check, Chunk, Hit, Intent

INDENT = "   "
OFF_SCREEN = Screen()
BELOW_STATUS = " " * 6
LEAST_COLUMN = 16
"""Columns of a screen that are worth wrapping a table's last column to."""
_SEVERAL = re.compile(r"((?:\A|, )(?:row|slide|message|chapter|cell))( \d+-\d+)\Z")
"""Where a passage that stands on several of a kind ends its label."""
SIGNALS = {
    "dense": "nearness in meaning of question and passage",
    "sentence": "best sentence: nearness, and words it shares",
    "intent": "nearest predicted question; does not count",
    "bm25": "words that both have, rare ones more",
    "tokens": "nearness word by word",
    "fused": "all of it, scaled over this search",
}
"""What each signal is, short enough for a screen of 80 columns."""
QUESTIONS_SHOWN = 3
"""Predicted questions that are shown of a hit."""


def place(chunk: Chunk, screen: Screen) -> str:
    """``path:line``, linked where the screen can."""
    label = safe(f"{chunk.path}:{chunk.line_start}")
    return bold(link(label, chunk.path, screen), screen)


def _header(parts: Iterable[str]) -> str:
    return "  ".join(part for part in parts if part)


def page_label(page: str | None) -> str:
    """``p. 3``, or what else a place is called: ``slide 4``, and of several ``sheet Prices, rows 12-30``.

    >>> [page_label(page) for page in ("3-4", "slide 4", "row 2-9", "sheet B, row 7-8", "sheet C-3 - sheet D-4")]
    ['p. 3-4', 'slide 4', 'rows 2-9', 'sheet B, rows 7-8', 'sheet C-3 - sheet D-4']
    """
    label = safe(page or "")
    return f"p. {label}" if label[:1].isdecimal() else _SEVERAL.sub(r"\1s\2", label)


def _answer_line(hit: Hit) -> str:
    """Where the answer begins, if it is likely, further down than its passage, and lines are what counts there."""
    line = hit.span.line_start if hit.span.likely and not hit.chunk.page else None
    return f"answer in line {line}" if line is not None and line > hit.chunk.line_start else ""


def _heading(chunk: Chunk, screen: Screen) -> Iterator[str]:
    if chunk.heading:
        yield from lines_of(chunk.heading, screen, INDENT)


def hit_lines(
    hit: Hit, screen: Screen, *, explain: bool, around: tuple[str, str] = ("", ""), cut: bool = False
) -> Iterator[str]:
    """A hit: where it is, what it says with the answer emphasised, and the questions that it answers.

    ``around``: lines before and after. ``cut``: only a part of the passage is here, which the first line says.
    """
    chunk = hit.chunk
    identity = dim(f"[{chunk.id[:SHORT_ID]}]", screen)
    where = [place(chunk, screen), _answer_line(hit), page_label(chunk.page), "shortened" if cut else ""]
    yield _header([f"{hit.rank}.", *where, f"{hit.score:.4f}", identity])
    for path in hit.other_paths:
        yield f"{INDENT}also {safe(path)}"
    yield from _heading(chunk, screen)
    before, after = around
    if chunk.context not in before:
        yield from (dim(line, screen) for line in lines_of(chunk.context, screen, INDENT))
    yield from (dim(line, screen) for line in lines_of(before, screen, INDENT))
    mark = (hit.span.start - chunk.start, hit.span.end - chunk.start) if hit.span.likely else (0, 0)
    yield from lines_of(chunk.text, screen, INDENT, mark)
    yield from (dim(line, screen) for line in lines_of(after, screen, INDENT))
    yield from question_lines(chunk.intents[:QUESTIONS_SHOWN], screen)
    if explain:
        yield from explain_lines(hit, screen)
    yield ""


def question_lines(intents: Iterable[Intent], screen: Screen) -> Iterator[str]:
    """The predicted questions that a passage answers."""
    for intent in intents:
        label = "answers" if intent.text.endswith(("?", "？", "؟")) else "about"
        first, *rest = lines_of(f"{label}: {intent.text}", screen, INDENT)
        yield dim(first, screen)
        yield from (dim(line, screen) for line in rest)


def explain_lines(hit: Hit, screen: Screen) -> Iterator[str]:
    """What each signal gave, as a table, with what it is for whoever has not read of it."""
    values = hit.explain
    signals = {
        "dense": values.dense,
        "sentence": values.sentence,
        "intent": values.intent,
        "bm25": values.bm25,
        "tokens": values.tokens,
        "fused": values.fused,
    }
    width = max(10, *map(len, signals))
    yield f"{INDENT}{'signal':<{width}}{'score':>10}"
    for name, value in signals.items():
        number = f"{name:<{width}}{'-' if value is None else f'{value:.4f}':>10}"
        yield f"{INDENT}{number}  {dim(SIGNALS[name], screen)}"


def chunk_lines(chunk: Chunk, screen: Screen, *, number: int | None = None) -> Iterator[str]:
    """A passage: where it is, what it says, and the questions that it answers."""
    size = f"{len(chunk.text)} characters, {chunk.tokens} tokens"
    identity = dim(f"[{chunk.id[:SHORT_ID]}]", screen)
    yield _header([f"{number}." if number else "", place(chunk, screen), page_label(chunk.page), size, identity])
    yield from _heading(chunk, screen)
    if chunk.context:
        yield from (dim(line, screen) for line in lines_of(chunk.context, screen, INDENT))
    yield from lines_of(chunk.text, screen, INDENT)
    yield from question_lines(chunk.intents, screen)
    yield ""


def cut_lines(cut: Mapping[str, Any], screen: Screen) -> Iterator[str]:
    """Why there is a cut: each term, and what the next-best place would have cost."""
    terms = ", ".join(f"{name} {value:+.3f}" for name, value in cut["terms"].items() if value is not None)
    yield from lines_of(f"cut before line {cut['line']}: {terms or 'no terms'}", screen, "-- ")
    if cut["alternative"] is not None:
        other = f"next best: before line {cut['alternative_line']}, {cut['loss'] or 0.0:.3f} worse"
        yield from lines_of(other, screen, "-- ")


def check_lines(checks: Iterable[Check], screen: Screen) -> Iterator[str]:
    """What each check found; where something is to be done, the command that does it, in one piece to copy."""
    for check in checks:
        status = f"{check.status:<4}"
        first, *rest = lines_of(f"{check.name}: {check.detail}", screen, BELOW_STATUS)
        yield f"{bold(status, screen) if check.status == 'fail' else status}  {first.removeprefix(BELOW_STATUS)}"
        yield from rest
        if check.fix and check.status != "ok":
            yield f"{BELOW_STATUS}fix: {safe(check.fix)}"


def table_lines(
    rows: Iterable[Mapping[str, Any]], columns: tuple[str, ...], screen: Screen = OFF_SCREEN
) -> Iterator[str]:
    """Columns side by side, as wide as their widest cell; the last one is wrapped where the screen leaves it room."""
    cells = [list(columns), *([safe(cell(row.get(key))) for key in columns] for row in rows)]
    widths = [max(display_width(row[place]) for row in cells) for place in range(len(columns))]
    indent = sum(widths[:-1]) + 2 * (len(widths) - 1)
    wraps = 0 < indent <= screen.width - LEAST_COLUMN
    for row in cells:
        padded = [text + " " * (width - display_width(text)) for text, width in zip(row, widths, strict=True)]
        head, last = "  ".join([*padded[:-1], ""]), row[-1]
        first, *rest = list(lines_of(last, screen, " " * indent) if wraps else [" " * indent + last]) or [""]
        yield (head + first[indent:]).rstrip()
        yield from rest
