"""What one ranking is worth for one question: everything is judged by places in the text, never by its wording.

A chunk is *relevant* if a gold span lies wholly inside it, whichever strategy made it and however many chunks hold
the same span. White space counts nowhere: chunkers that trim it neither win nor lose by that.

Pure: no I/O, clock or randomness.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2
from typing import Literal

import numpy as np

from idc_local.datasets import AnswerRule
from idc_local.types import BoolArray, IntArray, Span

BUDGETS = (1500, 3000, 6000)
"""Characters of ranked text that a reader (or a language model) is given."""
DEPTH = 5
"""Ranked chunks, and ranked best spans, that recall, precision and IoU are computed over."""
NDCG_DEPTH = 10

METRICS = (
    "r@1",
    "r@5",
    "mrr",
    "ndcg@10",
    "coverage",
    *(f"{measure}@{DEPTH}" for measure in ("recall", "precision", "iou")),
    *(f"span_{measure}@{DEPTH}" for measure in ("recall", "precision", "iou")),
    *(f"answer@{budget}" for budget in BUDGETS),
    *(f"chars@{budget}" for budget in BUDGETS),
)
"""Metrics of a question, in the order of ``score_question``'s result."""


@dataclass(frozen=True, slots=True)
class Ink:
    """Counts what is not white space: ``before[i]`` int64 [n + 1] is how much of it lies before code point i."""

    before: IntArray

    @classmethod
    def of(cls, text: str) -> Ink:
        """The ink of ``text``."""
        seen = np.fromiter((not char.isspace() for char in text), dtype=np.int64, count=len(text))
        return cls(np.concatenate([[0], np.cumsum(seen)]).astype(np.int64))

    def span(self, start: int, end: int) -> Span:
        """A span of code points as a span of ink; what it trims or gains in white space makes no difference."""
        return Span(int(self.before[start]), int(self.before[end]))


GoldRule = AnswerRule | Literal["window"]


@dataclass(frozen=True, slots=True)
class Gold:
    """Where the answer to a question is: spans of ink in the document at this position of the set.

    rule: ``window`` is a place that holds the answer somewhere; a chunk is then relevant if half of it lies in the
    window, or half of the window in it.
    """

    document: int
    spans: tuple[Span, ...]
    rule: GoldRule


@dataclass(frozen=True, slots=True)
class Passages:
    """The chunks of a set, k of them. document: int64 [k], position of the chunk's document.

    starts, ends: int64 [k], code points. ink: int64 [k, 2], the same spans in ink. order: the text of a passage
    that is shown only in part is shown from its start.
    """

    document: IntArray
    starts: IntArray
    ends: IntArray
    ink: IntArray


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chunks ranked for one question: ``rows`` int64 [r] of the passages, best first.

    ``best`` are the answer spans of the first DEPTH chunks: (document, start, end) in code points.
    """

    rows: IntArray
    best: tuple[tuple[int, int, int], ...]


def score_question(ranking: Ranking, passages: Passages, gold: Gold, inks: Sequence[Ink]) -> list[float]:
    """The value of each of METRICS, 0 to 1.

    Where the gold is ``any`` of several spans, each metric takes the alternative that it is best for; where it is
    ``all`` of them, they count together: coverage is the share of spans that some chunk holds whole, ``answer@B``
    needs every span, and a chunk that holds one of them is relevant.
    """
    own = np.flatnonzero(passages.document == gold.document)
    held = np.array([_holds(passages.ink[own], span) for span in gold.spans])
    relevant = own[_overlaps_half(passages.ink[own], gold.spans[0]) if gold.rule == "window" else held.any(axis=0)]
    covered = held.any(axis=1)
    ink = inks[gold.document]
    return [
        *_by_rank(ranking.rows, relevant),
        float(covered.any() if gold.rule == "any" else covered.mean()),
        *_overlaps(_top_chunks(ranking, passages, gold), gold),
        *_overlaps(_top_spans(ranking, gold, inks), gold),
        *_within_budgets(ranking.rows, passages, gold, ink),
    ]


def _holds(ink: IntArray, span: Span) -> BoolArray:
    """Which passages, int64 [k, 2], hold ``span`` whole: bool [k]."""
    found: BoolArray = (ink[:, 0] <= span.start) & (ink[:, 1] >= span.end)
    return found


def _overlaps_half(ink: IntArray, window: Span) -> BoolArray:
    """Which passages share half of their own ink, or of the window's, with the window: bool [k]."""
    common = np.minimum(ink[:, 1], window.end) - np.maximum(ink[:, 0], window.start)
    smaller = np.minimum(ink[:, 1] - ink[:, 0], window.end - window.start)
    found: BoolArray = (common > 0) & (2 * common >= smaller)
    return found


def _by_rank(rows: IntArray, relevant: IntArray) -> tuple[float, float, float, float]:
    """R@1, R@5, MRR and nDCG@10 with binary relevance (Järvelin and Kekäläinen, 2002).

    The ideal ranking has every relevant chunk first.
    """
    places = np.flatnonzero(np.isin(rows, relevant))
    if not places.size:
        return 0.0, 0.0, 0.0, 0.0
    first = int(places[0])
    gain = sum(1.0 / log2(place + 2) for place in places.tolist() if place < NDCG_DEPTH)
    ideal = sum(1.0 / log2(place + 2) for place in range(min(NDCG_DEPTH, relevant.size)))
    return float(first < 1), float(first < DEPTH), 1.0 / (first + 1), gain / ideal


Shown = tuple[list[Span], int]
"""Spans of ink shown of the gold's document, and the ink shown of all documents, repetitions included."""


def _top_chunks(ranking: Ranking, passages: Passages, gold: Gold) -> Shown:
    rows = ranking.rows[:DEPTH]
    spans = passages.ink[rows]
    mine = spans[passages.document[rows] == gold.document].tolist()
    return [Span(*span) for span in mine], int((spans[:, 1] - spans[:, 0]).sum())


def _top_spans(ranking: Ranking, gold: Gold, inks: Sequence[Ink]) -> Shown:
    spans = [(document, inks[document].span(start, end)) for document, start, end in ranking.best]
    total = sum(span.end - span.start for _, span in spans)
    return [span for document, span in spans if document == gold.document], total


def _overlaps(shown: Shown, gold: Gold) -> tuple[float, float, float]:
    """Recall, precision and IoU of the shown text (Smith and Troynikov, 2024, "Evaluating chunking").

    As in their code, lengths are characters rather than tokens, overlapping chunks are paid for each time in
    precision and IoU, and the part of the gold that no chunk shows joins the union.
    """
    spans, total = shown
    best = (0.0, 0.0, 0.0)
    for wanted in _alternatives(gold):
        length = sum(span.end - span.start for span in wanted)
        common = sum(_common(spans, span) for span in wanted)
        if common:
            found = (common / length, common / total, common / (total + length - common))
            best = (max(best[0], found[0]), max(best[1], found[1]), max(best[2], found[2]))
    return best


def _alternatives(gold: Gold) -> Iterable[tuple[Span, ...]]:
    """Each sufficient set of gold spans, disjoint."""
    if gold.rule == "any":
        return [(span,) for span in gold.spans]
    return [tuple(merged(gold.spans))]


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same places as disjoint spans in order.

    >>> merged([Span(4, 6), Span(0, 2), Span(1, 3)])
    [Span(start=0, end=3), Span(start=4, end=6)]
    """
    result: list[Span] = []
    for span in sorted(spans):
        if result and span.start <= result[-1].end:
            result[-1] = Span(result[-1].start, max(result[-1].end, span.end))
        else:
            result.append(span)
    return result


def _common(spans: Sequence[Span], wanted: Span) -> int:
    """How much of ``wanted`` the union of ``spans`` shows."""
    parts = (Span(max(span.start, wanted.start), min(span.end, wanted.end)) for span in spans)
    return sum(part.end - part.start for part in merged(part for part in parts if part.end > part.start))


def _within_budgets(rows: IntArray, passages: Passages, gold: Gold, ink: Ink) -> list[float]:
    """answer@B for each budget, then the share of the gold's characters within each budget."""
    lengths = passages.ends[rows] - passages.starts[rows]
    before = np.cumsum(lengths) - lengths
    mine = np.flatnonzero((passages.document[rows] == gold.document) & (before < BUDGETS[-1]))
    shares = [_share(_shown(rows[mine], before[mine], passages, budget, ink), gold) for budget in BUDGETS]
    return [*(float(share >= 1.0) for share in shares), *shares]


def _shown(rows: IntArray, before: IntArray, passages: Passages, budget: int, ink: Ink) -> list[Span]:
    """What the first ``budget`` characters of the ranked text show; ``before`` int64 [r] precede each of ``rows``."""
    starts = passages.starts[rows]
    ends = np.minimum(passages.ends[rows], starts + (budget - before))
    return [ink.span(start, end) for start, end in zip(starts.tolist(), ends.tolist(), strict=True) if end > start]


def _share(shown: Sequence[Span], gold: Gold) -> float:
    """Largest share of a sufficient set of gold spans that is shown; exactly 1 where all of it is."""
    best = 0.0
    for wanted in _alternatives(gold):
        length = sum(span.end - span.start for span in wanted)
        best = max(best, sum(_common(shown, span) for span in wanted) / length)
    return best
