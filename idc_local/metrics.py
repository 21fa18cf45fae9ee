"""What a ranking of passages is worth for one question, judged by places in the text alone.

Gold spans, chunks and results are half-open ranges of code points of one document each. A chunk is relevant if it
holds a gold span whole; any such chunk counts, so overlapping windows lose nothing when the other one is returned.

Gold of mode ``any`` is a choice of alternatives: the best one counts. Gold of mode ``all`` is all of its spans
together. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from idc_local.errors import InputError
from idc_local.types import BoolArray, Span


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


class Overlap(NamedTuple):
    """Character-level agreement of results and gold, each 0 to 1."""

    recall: float
    precision: float
    iou: float


def is_relevant(gold: Gold, chunk: Retrieved) -> bool:
    """Whether the chunk holds one of the gold spans whole."""
    return any(_holds(gold, chunk, span) for span in gold.spans)


def _holds(gold: Gold, chunk: Retrieved, span: Span) -> bool:
    return chunk.document_id == gold.document_id and chunk.start <= span.start and span.end <= chunk.end


def recall_at(hits: BoolArray, k: int) -> float:
    """R@k: whether a relevant result is among the first k. hits: bool [results], True where one is relevant."""
    return float(hits[:k].any())


def reciprocal_rank(hits: BoolArray) -> float:
    """1 / rank of the first relevant result, else 0. Its mean over questions is MRR."""
    return 1.0 / (int(hits.argmax()) + 1) if hits.any() else 0.0


def ndcg_at(hits: BoolArray, relevant: int, k: int) -> float:
    """NDCG with binary relevance (Järvelin and Kekäläinen, 2002).

    relevant: number of relevant chunks in the whole index, which the ideal ranking has first.
    """
    discounts = 1.0 / np.log2(np.arange(2, k + 2))
    gain = float(discounts[: hits.size] @ hits[:k])
    return gain / float(discounts[:relevant].sum()) if gain else 0.0


def coverage(gold: Gold, chunks: Sequence[Retrieved]) -> float:
    """Answer coverage: 1 if some alternative lies wholly inside one chunk; for ``all`` the share of spans that do."""
    held = [any(_holds(gold, chunk, span) for chunk in chunks) for span in gold.spans]
    return float(any(held)) if gold.mode == "any" else sum(held) / len(held)


def characters_shown(gold: Gold, results: Iterable[Retrieved]) -> float:
    """Share of the gold's characters that the union of the results covers.

    For ``any`` that of the alternative that is covered best. Repeated text covers a character once, and what several
    results show together counts.
    """
    shown = _union(_own(gold, results))
    return max(_common(shown, wanted) / _length(wanted) for wanted in _alternatives(gold))


def overlap(gold: Gold, results: Sequence[Retrieved]) -> Overlap:
    """Recall, precision and IoU of results (Smith and Troynikov, "Evaluating chunking", 2024).

    With common = characters of the gold in the union of the results: recall = common / gold, precision = common /
    total length of the results, IoU = common / (total length of the results + gold that none of them shows). Text
    that results repeat counts each time in those totals. As in the authors' code, a token is a character. For
    ``any`` the alternative with the best IoU counts.
    """
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
