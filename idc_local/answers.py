"""The answer inside a passage: the run of sentences that speaks most to the question, never without its point.

A heading, a table's caption or header, a line over a list, a question, or a sentence that ends with a colon or goes on
in a formula only announces what follows. A run that would end with one goes on to what is announced, past the
addresses and the greeting of a mail; with nothing behind it, such as a question quoted at the end of a reply, it is no
answer where another sentence is. Layer 1, pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from idc_local.line_ends import LINE_END
from idc_local.ranking import SPAN_SHARE, best_run
from idc_local.types import AnswerSpan, Chunk, FloatArray, IntArray, Sentences, Span, Structure
from idc_local.wording import is_mail_header

GLUE = 4
"""Added to the ``Structure`` of a gap that must not be cut, where both are told as one number."""

LITTLE = 30
"""Characters below which a sentence says too little alone: ``Yes.``, ``Serves 4.``"""

LOOSE_LINES = frozenset({"application/json", "application/x-ndjson", "text/x-tex"})
"""Types of documents in which several lines of the text may come from one line of the source, or none in between."""

_ANNOUNCES = re.compile(r"[:?\uff1a\uff1f\u061f][\s*_`\"'”’»)\]]*\Z")

_TITLE = re.compile(r"\s*[^\W\d_][^\n]{,58}[^\W_]\s*")
"""A short line without a mark at its end."""

_FORMULA = re.compile(r"\s*(?:\$\$|\\\[|\\begin\{)")
_UNFINISHED = re.compile(r"[\w,)]\s*\Z")

_GREETING = re.compile(r"\s*[^\W\d][^\n]{,58}[,\uff0c\u060c]\s*")


def sentence_gaps(sentences: Sentences) -> IntArray:
    """int64 [n]: ``boundary`` (DOCUMENT as HEADING) and ``glue`` of the gap before each as one number, 0 to 7."""
    boundary = np.minimum(sentences.boundary, Structure.HEADING)
    return np.asarray(boundary + GLUE * sentences.glue, dtype=np.int64)


def answer_span(
    chunk: Chunk, evidence: FloatArray, spans: IntArray, gaps: IntArray, *, likely: bool = True
) -> AnswerSpan:
    """Best run of the chunk's sentences, white space at its ends left out.

    evidence: float32 [s], of the sentences. spans: int64 [s, 2], the sentences in code points. gaps: int64 [s], what
    is before each, from ``sentence_gaps``.
    """
    texts = [chunk.text[start - chunk.start : end - chunk.start] for start, end in spans.tolist()]
    evidence = evidence[: _end_of_answers(evidence, texts)]
    run = best_run(evidence, SPAN_SHARE * float(evidence.max()))
    best = run.start + int(evidence[run.start : run.end].argmax())
    run = with_its_point(run, best, texts, gaps)
    start, end = int(spans[run.start, 0]), int(spans[run.end - 1, 1])
    text = chunk.text[start - chunk.start : end - chunk.start]
    lead = len(text) - len(text.lstrip())
    text = text.strip()
    return AnswerSpan(start + lead, start + lead + len(text), text, likely)


def on_lines(span: AnswerSpan, chunk: Chunk, media_type: str, line_at: Callable[[int], int]) -> AnswerSpan:
    """The span with the lines that it stands on; ``line_at``, the document's own, is asked only where it has to be.

    Elsewhere than in ``LOOSE_LINES`` each line of the text begins a line of the source, further down than the one
    before. So if a chunk has as many of the one as of the other, none was left out, and they can be counted.
    """
    first = chunk.start + len(chunk.text) - len(chunk.text.lstrip())
    lines = len(LINE_END.findall(chunk.text.strip())) + 1
    counted = media_type not in LOOSE_LINES and lines == chunk.line_end - chunk.line_start + 1

    def line(offset: int) -> int:
        if chunk.line_start == chunk.line_end:
            return chunk.line_start
        if not counted:
            return line_at(offset)
        return chunk.line_start + len(LINE_END.findall(chunk.text[first - chunk.start : offset - chunk.start]))

    return replace(span, line_start=line(span.start), line_end=line(max(span.start, span.end - 1)))


def _end_of_answers(evidence: FloatArray, texts: list[str]) -> int:
    """Sentences up to the last that announces nothing, where these speak to the question; else all of them."""
    end = next((n for n in range(len(texts), 0, -1) if _ANNOUNCES.search(texts[n - 1]) is None), 0)
    speaks = end > 0 and float(evidence[:end].max()) > SPAN_SHARE * float(evidence.max())
    return end if speaks else len(texts)


def with_its_point(run: Span, best: int, texts: list[str], gaps: IntArray) -> Span:
    r"""The run without sentences at its end that announce others; with these, if its best sentence is among them.

    best: the sentence that speaks most to the question, one of the run. A list or table is announced as a whole, and
    of a paragraph as much as says something.

    >>> texts = ["2 Safety\n", "Never:\n", "- run it dry\n", "- open it\n", "Call us."]
    >>> gaps = np.array([Structure.HEADING, Structure.PARAGRAPH | GLUE, 2, 1, 2])
    >>> with_its_point(Span(0, 1), 0, texts, gaps)
    Span(start=0, end=4)
    """
    end = run.end
    while end < len(texts) and end - 1 > best and _announces(end - 1, texts, gaps):
        end -= 1
    while end < len(texts) and (_announces(end - 1, texts, gaps) or (end - 1 > best and _opens(end - 1, texts, gaps))):
        first = end
        end += 1
        while end < len(texts) and (gaps[end] == Structure.ITEM or _goes_on(first, end, texts, gaps)):
            end += 1
    return Span(run.start, end)


def _goes_on(first: int, end: int, texts: list[str], gaps: IntArray) -> bool:
    """True where the sentence at ``end`` is of the same paragraph as the one before, and it is little so far."""
    return bool(gaps[end] == Structure.NONE) and sum(len(text.strip()) for text in texts[first:end]) < LITTLE


def _announces(place: int, texts: list[str], gaps: IntArray) -> bool:
    """True where a sentence is nothing without the next one: a block of code that is in parts announces nothing."""
    if gaps[place + 1] & GLUE:
        return bool(gaps[place] & ~GLUE >= Structure.PARAGRAPH)
    if _UNFINISHED.search(texts[place]) and _FORMULA.match(texts[place + 1]):
        return True
    return _ANNOUNCES.search(texts[place]) is not None or _heads_list(place, texts, gaps)


def _heads_list(place: int, texts: list[str], gaps: IntArray) -> bool:
    """True for a short line of its own over a list of two items or more."""
    items = place + 2 < len(texts) and gaps[place + 1] == Structure.PARAGRAPH and gaps[place + 2] == Structure.ITEM
    return bool(items and gaps[place] & ~GLUE >= Structure.PARAGRAPH) and _TITLE.fullmatch(texts[place]) is not None


def _opens(place: int, texts: list[str], gaps: IntArray) -> bool:
    """True for the addresses under the subject of a mail, and for a greeting in a paragraph of its own behind them."""
    addresses = [is_mail_header(texts[n]) for n in (place, place - 1)]
    greeting = _GREETING.fullmatch(texts[place]) is not None and bool(gaps[place + 1] & ~GLUE >= Structure.PARAGRAPH)
    return addresses[0] or (addresses[1] and greeting)
