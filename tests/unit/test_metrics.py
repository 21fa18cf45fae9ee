"""Metrics on cases worked by hand."""

from __future__ import annotations

from math import log2

import pytest

from idc_local.errors import InputError
from idc_local.metrics import (
    Gold,
    Overlap,
    Retrieved,
    Sizes,
    answer_at,
    characters_at,
    coverage,
    first_rank,
    is_relevant,
    ndcg_at,
    overlap_at,
    recall_at,
    reciprocal_rank,
    sizes,
    within_budget,
)
from idc_local.types import Span

A = Retrieved("a", 0, 100)
B = Retrieved("a", 50, 150)
C = Retrieved("a", 150, 250)
OTHER = Retrieved("b", 0, 250)


def test_any_chunk_that_holds_the_answer_whole_counts() -> None:
    gold = Gold("a", (Span(60, 90),))
    assert [is_relevant(gold, chunk) for chunk in (A, B, C, OTHER)] == [True, True, False, False]
    assert first_rank(gold, [OTHER, C, B, A]) == 3
    assert reciprocal_rank(gold, [OTHER, C, B, A]) == 1 / 3
    assert recall_at(gold, [OTHER, C, B, A], 2) == 0.0
    assert recall_at(gold, [OTHER, C, B, A], 3) == 1.0


def test_an_answer_across_a_boundary_is_in_no_chunk() -> None:
    gold = Gold("a", (Span(140, 160),))
    assert first_rank(gold, [A, B, C, OTHER]) is None
    assert coverage(gold, [A, B, C, OTHER]) == 0.0
    assert answer_at(gold, [B, C], 200)


def test_all_of_several_spans_are_shared_out_and_any_needs_one() -> None:
    spans = (Span(0, 10), Span(140, 160), Span(200, 210), Span(240, 250))
    assert recall_at(Gold("a", spans, "all"), [A, C], 2) == 0.75
    assert recall_at(Gold("a", spans, "all"), [A, C], 1) == 0.25
    assert recall_at(Gold("a", spans, "any"), [C], 1) == 1.0
    assert not answer_at(Gold("a", spans, "all"), [A, C], 1000)
    assert answer_at(Gold("a", spans, "all"), [A, C, B], 1000)


def test_ndcg_discounts_by_rank_and_knows_how_many_could_be_found() -> None:
    gold = Gold("a", (Span(60, 90),))
    assert ndcg_at(gold, [A, B], 2) == 1.0
    assert ndcg_at(gold, [C, A], 2) == pytest.approx((1 / log2(3)) / (1 + 1 / log2(3)))
    assert ndcg_at(gold, [C, A], 1, k=1) == 0.0
    assert ndcg_at(gold, [C], 0) == 0.0


def test_the_budget_cuts_the_ranked_text_and_charges_repeated_text_again() -> None:
    assert within_budget([A, B, C], 160) == [A, Retrieved("a", 50, 110)]
    assert within_budget([A, B, C], 200) == [A, B]
    assert within_budget([A], 0) == []
    gold = Gold("a", (Span(100, 120),))
    assert characters_at(gold, [A, B], 160) == 0.5
    assert characters_at(gold, [A, B], 170) == 1.0
    assert not answer_at(gold, [A, B], 169)
    assert answer_at(gold, [A, B], 170)


def test_overlap_charges_repeated_text_in_precision_and_iou() -> None:
    gold = Gold("a", (Span(80, 180),))
    # A and B show 80..150 of the gold, 70 characters, in 200 characters of text; 30 are missed.
    assert overlap_at(gold, [A, B], 2) == Overlap(0.7, 70 / 200, 70 / 230)
    assert overlap_at(gold, [OTHER], 1) == Overlap(0.0, 0.0, 0.0)
    assert overlap_at(gold, [A, OTHER], 2) == Overlap(0.2, 20 / 350, 20 / 430)


def test_overlap_takes_the_best_alternative_or_all_spans_together() -> None:
    spans = (Span(0, 50), Span(40, 100))
    assert overlap_at(Gold("a", spans, "any"), [A], 1) == Overlap(1.0, 0.6, 0.6)
    assert overlap_at(Gold("a", spans, "all"), [A], 1) == Overlap(1.0, 1.0, 1.0)


@pytest.mark.parametrize("spans", [(), (Span(3, 3),), (Span(0, 5), Span(7, 6))])
def test_gold_without_characters_is_refused(spans: tuple[Span, ...]) -> None:
    with pytest.raises(InputError, match="has no characters"):
        Gold("d.txt", spans)


def test_sizes_count_characters() -> None:
    chunks = [Retrieved("a", 0, size) for size in range(1, 102)]
    assert sizes(chunks) == Sizes(101, 51.0, 96.0)
    assert sizes([]) == Sizes(0, 0.0, 0.0)
