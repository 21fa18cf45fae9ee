"""What of a hit is shown: its text within a budget, and lines of the document around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from idc_local.errors import NothingFound
from idc_local.line_ends import LINE_END

if TYPE_CHECKING:
    from idc_local.types import AnswerSpan, Hit

LONG_LINE = 200
"""Characters that are shown at most of each line around a passage: some documents are one line."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A hit as shown. ``truncated``: its text is only the part around the answer. ``context``: text before, after."""

    hit: Hit
    truncated: bool = False
    context: tuple[str, str] | None = None


def excerpts(
    hits: Sequence[Hit], document_text: Callable[[str], str], *, lines: int, budget: int | None
) -> list[Excerpt]:
    """The hits in order, as long as the budget lasts.

    Args:
        hits: best first.
        document_text: extracted text by document id.
        lines: lines of the document before and after each passage.
        budget: characters of all texts together, those around included; None for no end.

    Returns:
        Every hit that fits, the last perhaps cut; ``text[start:end]`` of its document is still what its chunk holds.
    """
    shown: list[Excerpt] = []
    left = budget
    for hit in hits:
        if left is not None and (left <= 0 or (shown and shown[-1].truncated)):
            break
        excerpt = _cut(hit, left)
        if lines:
            room = None if left is None else left - len(excerpt.hit.chunk.text)
            excerpt = replace(excerpt, context=_around(hit, document_text, lines, room))
        if left is not None:
            left -= len(excerpt.hit.chunk.text) + sum(map(len, excerpt.context or ()))
        shown.append(excerpt)
    return shown


def _cut(hit: Hit, room: int | None) -> Excerpt:
    """The hit within ``room`` characters: the answer first, then as much around it on either side."""
    chunk, span = hit.chunk, hit.span
    if room is None or len(chunk.text) <= room:
        return Excerpt(hit)
    first, last = span.start - chunk.start, span.end - chunk.start
    if last - first > room:
        start, end = first, first + room
    else:
        start = max(0, first - (room - (last - first)) // 2)
        end = min(len(chunk.text), start + room)
        start = max(0, end - room)
        start, end = _to_words(chunk.text, start, end, first, last)
    text = chunk.text[start:end]
    within = replace(chunk, start=chunk.start + start, end=chunk.start + end, text=text)
    answer_end = min(span.end, within.end)
    own = span.text[: answer_end - span.start]
    answer = replace(span, end=answer_end, text=own, line_end=_last_line(span, own))
    return Excerpt(replace(hit, chunk=within, span=answer), truncated=True)


def _last_line(span: AnswerSpan, text: str) -> int | None:
    """Line of the source on which ``text`` ends, with which the answer begins; the answer's own if none can be told."""
    if span.line_start is None or span.line_end is None:
        return span.line_end
    if len(LINE_END.findall(span.text)) != span.line_end - span.line_start:
        return span.line_end
    return span.line_start + len(LINE_END.findall(text.rstrip()))


def _to_words(text: str, start: int, end: int, first: int, last: int) -> tuple[int, int]:
    """Moves both ends inwards to where words end, never into the answer."""
    if start > 0:
        start = next((place for place in range(start, first) if text[place - 1].isspace()), first)
    if end < len(text):
        end = next((place for place in range(end, last, -1) if text[place].isspace()), last)
    return start, end


def _around(hit: Hit, document_text: Callable[[str], str], lines: int, room: int | None) -> tuple[str, str]:
    """Lines before and after the whole passage; none where they would not fit, or the document is gone by now."""
    try:
        text = document_text(hit.chunk.document_id)
    except NothingFound:
        return "", ""
    before = _last_lines(text[max(0, hit.chunk.start - lines * LONG_LINE) : hit.chunk.start], lines)
    after = _first_lines(text[hit.chunk.end : hit.chunk.end + lines * LONG_LINE], lines)
    if room is not None and len(before) + len(after) > room:
        return "", ""
    return before, after


def _last_lines(text: str, count: int) -> str:
    """The last ``count`` lines that hold anything."""
    kept = [line for line in LINE_END.split(text) if line.strip()]
    return "\n".join(kept[-count:])


def _first_lines(text: str, count: int) -> str:
    kept = [line for line in LINE_END.split(text) if line.strip()]
    return "\n".join(kept[:count])
