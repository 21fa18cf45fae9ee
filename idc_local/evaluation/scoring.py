"""What one ranking is worth for one question: everything is judged by places in the text, never by its wording.

The measures are those of ``metrics``, applied to spans of *ink*: white space counts nowhere, so that chunkers that
trim it neither win nor lose by that. Budgets alone are characters of text as it stands.

Pure: no I/O, clock or randomness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from idc_local import metrics
from idc_local.datasets import AnswerRule
from idc_local.types import IntArray, Span

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


@dataclass(frozen=True, slots=True)
class Gold:
    """Where the answer to a question is.

    document: position in the set. ink: the spans, as ink. window: True where the span is only known to hold the
    answer somewhere; a chunk is then relevant if half of it lies in the window, or half of the window in it.
    """

    document: int
    ink: metrics.Gold
    window: bool


def gold_at(document: int, spans: Sequence[Span], rule: AnswerRule, ink: Ink, *, window: bool) -> Gold:
    """The gold of a question whose answers are ``spans``, in code points, of the document at that position."""
    places = tuple(ink.span(*span) for span in spans)
    return Gold(document, metrics.Gold(str(document), places, rule), window)


@dataclass(frozen=True, slots=True)
class Passages:
    """The chunks of a set, k of them. document: int64 [k], position of the chunk's document.

    starts, ends: int64 [k], code points. ink: int64 [k, 2], the same spans in ink.
    """

    document: IntArray
    starts: IntArray
    ends: IntArray
    ink: IntArray

    def shown(self, rows: IntArray) -> list[metrics.Retrieved]:
        """The chunks in ``rows``, as ink."""
        places = zip(self.document[rows].tolist(), self.ink[rows].tolist(), strict=True)
        return [metrics.Retrieved(str(document), start, end) for document, (start, end) in places]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chunks ranked for one question: ``rows`` int64 [r] of the passages, best first.

    ``best`` are the answer spans of the first DEPTH chunks: (document, start, end) in code points; the first
    ``likely`` of them are offered as answers.
    """

    rows: IntArray
    best: tuple[tuple[int, int, int], ...]
    likely: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """What holds for a question whatever the ranking. relevant: int64 [any], rows of the relevant passages."""

    relevant: IntArray
    coverage: float


def judge(passages: Passages, golds: Sequence[Gold]) -> list[Judgement]:
    """Which passages are relevant to each question, and how well they cover its answer."""
    rows = {document: np.flatnonzero(passages.document == document) for document in {gold.document for gold in golds}}
    chunks = {document: passages.shown(own) for document, own in rows.items()}
    return [
        Judgement(
            rows[gold.document][[_is_relevant(gold, chunk) for chunk in chunks[gold.document]]],
            metrics.coverage(gold.ink, chunks[gold.document]),
        )
        for gold in golds
    ]


def score_question(
    ranking: Ranking, passages: Passages, gold: Gold, judgement: Judgement, inks: Sequence[Ink]
) -> list[float]:
    """The value of each of METRICS, 0 to 1.

    R@k: whether a relevant chunk is among the first k. Where the gold is ``all`` of several spans, a chunk that holds
    one of them is relevant, coverage is the share of spans that lie whole in a chunk, and ``answer@B`` needs them all.
    """
    offered = ranking.best[: ranking.likely]
    spans = [metrics.Retrieved(str(document), *inks[document].span(start, end)) for document, start, end in offered]
    hits = np.isin(ranking.rows, judgement.relevant)
    shares = _shares_within(ranking.rows, passages, gold, inks[gold.document])
    return [
        metrics.recall_at(hits, 1),
        metrics.recall_at(hits, DEPTH),
        metrics.reciprocal_rank(hits),
        metrics.ndcg_at(hits, judgement.relevant.size, NDCG_DEPTH),
        judgement.coverage,
        *metrics.overlap(gold.ink, passages.shown(ranking.rows[:DEPTH])),
        *metrics.overlap(gold.ink, spans),
        *(float(share == 1.0) for share in shares),
        *shares,
    ]


def _is_relevant(gold: Gold, chunk: metrics.Retrieved) -> bool:
    if not gold.window:
        return metrics.is_relevant(gold.ink, chunk)
    window = gold.ink.spans[0]
    common = min(chunk.end, window.end) - max(chunk.start, window.start)
    return common > 0 and 2 * common >= min(chunk.end - chunk.start, window.end - window.start)


def _shares_within(rows: IntArray, passages: Passages, gold: Gold, ink: Ink) -> list[float]:
    """Share of the gold that the ranked text shows, cut off after each of BUDGETS characters."""
    lengths = passages.ends[rows] - passages.starts[rows]
    before = np.cumsum(lengths) - lengths
    mine = np.flatnonzero((passages.document[rows] == gold.document) & (before < BUDGETS[-1]))
    spans = zip(
        passages.starts[rows[mine]].tolist(), passages.ends[rows[mine]].tolist(), before[mine].tolist(), strict=True
    )
    places = list(spans)
    return [metrics.characters_shown(gold.ink, _cut_off(places, gold, ink, budget)) for budget in BUDGETS]


def _cut_off(places: Sequence[tuple[int, int, int]], gold: Gold, ink: Ink, budget: int) -> list[metrics.Retrieved]:
    """Results (start, end, characters before it) of the gold's document within the budget, as ink."""
    spans = (ink.span(start, min(end, start + budget - before)) for start, end, before in places if before < budget)
    return [metrics.Retrieved(gold.ink.document_id, *span) for span in spans]
