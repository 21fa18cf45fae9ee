"""What a ranking of passages is worth for one question, judged by places in the text alone.

Gold spans, chunks and results are half-open ranges of code points of one document each. A chunk is relevant if it
holds a gold span whole; any such chunk counts, so overlapping windows lose nothing when the other one is returned.

Gold of mode ``any`` is a choice of alternatives: the best one counts. Gold of mode ``all`` is all of its spans
together. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2
from typing import Literal

import numpy as np

from idc_local.errors import InputError
from idc_local.types import Span


@dataclass(frozen=True, slots=True)
class Gold:
    """Where the answer to a question is: at least one span, none of them empty (else InputError)."""

    document_id: str
    spans: tuple[Span, ...]
    mode: Literal["any", "all"] = "any"

    def __post_init__(self) -> None:
        if not self.spans or any(span.end <= span.start for span in self.spans):
            raise InputError(
                f"a gold answer in {self.document_id!r} has no characters",
                hint="give each answer a start below its end",
            )


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A chunk, or one result of a ranking."""

    document_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Overlap:
    """Character-level agreement of results and gold, each 0 to 1."""

    recall: float
    precision: float
    iou: float


@dataclass(frozen=True, slots=True)
class Sizes:
    """Characters of chunks."""

    count: int
    mean: float
    p95: float


def is_relevant(gold: Gold, chunk: Retrieved) -> bool:
    """Whether the chunk holds one of the gold spans whole."""
    return any(_holds(gold, chunk, span) for span in gold.spans)


def _holds(gold: Gold, chunk: Retrieved, span: Span) -> bool:
    return chunk.document_id == gold.document_id and chunk.start <= span.start and span.end <= chunk.end


def first_rank(gold: Gold, ranking: Sequence[Retrieved]) -> int | None:
    """Rank, from 1, of the first relevant result; None where there is none."""
    return next((rank for rank, result in enumerate(ranking, 1) if is_relevant(gold, result)), None)


def reciprocal_rank(gold: Gold, ranking: Sequence[Retrieved]) -> float:
    """1 / rank of the first relevant result, else 0. Its mean over questions is MRR."""
    rank = first_rank(gold, ranking)
    return 0.0 if rank is None else 1.0 / rank


def recall_at(gold: Gold, ranking: Sequence[Retrieved], k: int) -> float:
    """``any``: 1 if a relevant result is among the first k. ``all``: share of gold spans that those hold whole."""
    return coverage(gold, ranking[:k])


def coverage(gold: Gold, chunks: Sequence[Retrieved]) -> float:
    """Answer coverage: 1 if some alternative lies wholly inside one chunk; for ``all`` the share of spans that do."""
    held = [any(_holds(gold, chunk, span) for chunk in chunks) for span in gold.spans]
    return float(any(held)) if gold.mode == "any" else sum(held) / len(held)


def ndcg_at(gold: Gold, ranking: Sequence[Retrieved], relevant: int, k: int = 10) -> float:
    """NDCG with binary relevance (Järvelin and Kekäläinen, 2002).

    Args:
        gold: the answer.
        ranking: distinct results, best first.
        relevant: number of relevant chunks in the whole index, which the ideal ranking has first.
        k: depth.
    """
    gain = sum(1.0 / log2(rank + 1) for rank, result in enumerate(ranking[:k], 1) if is_relevant(gold, result))
    ideal = sum(1.0 / log2(rank + 1) for rank in range(1, min(relevant, k) + 1))
    return gain / ideal if ideal else 0.0


def within_budget(ranking: Iterable[Retrieved], budget: int) -> list[Retrieved]:
    """The ranked results' text, laid end to end in rank order and cut off after ``budget`` characters.

    Every result consumes its full length, also where it repeats text of an earlier one; the last one may be cut.
    """
    kept: list[Retrieved] = []
    for result in ranking:
        if budget <= 0:
            break
        end = min(result.end, result.start + budget)
        kept.append(Retrieved(result.document_id, result.start, end))
        budget -= result.end - result.start
    return kept


def characters_at(gold: Gold, ranking: Iterable[Retrieved], budget: int) -> float:
    """Share of the gold's characters that the union of the results within the budget covers.

    For ``any`` that of the alternative that is covered best. Repeated text covers a character once.
    """
    shown = _union(_own(gold, within_budget(ranking, budget)))
    return max(_common(shown, wanted) / _length(wanted) for wanted in _alternatives(gold))


def answer_at(gold: Gold, ranking: Iterable[Retrieved], budget: int) -> bool:
    """answer@B: whether every character of the gold (of one alternative, for ``any``) lies within the budget.

    The answer may be pieced together from several results.

    >>> ranking = [Retrieved("d", 0, 800), Retrieved("d", 700, 1500)]
    >>> answer_at(Gold("d", (Span(790, 850),)), ranking, 950)
    True
    >>> answer_at(Gold("d", (Span(790, 851),)), ranking, 950)
    False
    """
    return characters_at(gold, ranking, budget) == 1.0


def overlap_at(gold: Gold, ranking: Sequence[Retrieved], k: int) -> Overlap:
    """Recall, precision and IoU of the first k results (Smith and Troynikov, "Evaluating chunking", 2024).

    With common = characters of the gold in the union of the results: recall = common / gold, precision = common /
    total length of the results, IoU = common / (total length of the results + gold that none of them shows). Text
    that results repeat counts each time in those totals. As in the authors' code, a token is a character. For
    ``any`` the alternative with the best IoU counts.
    """
    results = ranking[:k]
    shown = _union(_own(gold, results))
    total = sum(result.end - result.start for result in results)
    found = [Overlap(0.0, 0.0, 0.0)]
    for wanted in _alternatives(gold):
        common, length = _common(shown, wanted), _length(wanted)
        if common:
            found.append(Overlap(common / length, common / total, common / (total + length - common)))
    return max(found, key=lambda overlap: overlap.iou)


def _alternatives(gold: Gold) -> list[list[Span]]:
    """Each sufficient set of gold spans, disjoint and in order."""
    if gold.mode == "any":
        return [[span] for span in gold.spans]
    return [_union(gold.spans)]


def _own(gold: Gold, results: Iterable[Retrieved]) -> list[Span]:
    return [Span(result.start, result.end) for result in results if result.document_id == gold.document_id]


def _union(spans: Iterable[Span]) -> list[Span]:
    """The same places as disjoint spans in order."""
    result: list[Span] = []
    for span in sorted(spans):
        if result and span.start <= result[-1].end:
            result[-1] = Span(result[-1].start, max(result[-1].end, span.end))
        else:
            result.append(span)
    return result


def _length(spans: Iterable[Span]) -> int:
    return sum(span.end - span.start for span in spans)


def _common(shown: Iterable[Span], wanted: Sequence[Span]) -> int:
    """Characters that two lists of disjoint spans share."""
    return sum(max(0, min(one.end, other.end) - max(one.start, other.start)) for one in shown for other in wanted)


def sizes(chunks: Sequence[Retrieved]) -> Sizes:
    """Number, mean and 95th percentile (linear between neighbours) of the chunks' characters."""
    lengths = np.array([chunk.end - chunk.start for chunk in chunks], dtype=np.float64)
    if not lengths.size:
        return Sizes(0, 0.0, 0.0)
    return Sizes(lengths.size, float(lengths.mean()), float(np.quantile(lengths, 0.95)))
