"""Metrics on cases worked by hand."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from idc_local.errors import InputError
from idc_local.metrics import (
    Gold,
    Overlap,
    Retrieved,
    characters_shown,
    coverage,
    is_relevant,
    ndcg_at,
    overlap,
    recall_at,
    reciprocal_rank,
)
from idc_local.types import BoolArray, Span

A = Retrieved("a", 0, 100)
B = Retrieved("a", 50, 150)
C = Retrieved("a", 150, 250)
OTHER = Retrieved("b", 0, 250)


def hits(*places: int) -> BoolArray:
    """Six results of which those at some ranks, from 1, are relevant."""
    return np.isin(np.arange(1, 7), places)


def test_any_chunk_that_holds_the_answer_whole_counts() -> None:
    gold = Gold("a", (Span(60, 90),))
    assert [is_relevant(gold, chunk) for chunk in (A, B, C, OTHER)] == [True, True, False, False]


def test_measures_of_rank_look_at_the_first_relevant_result() -> None:
    assert reciprocal_rank(hits(3, 4)) == 1 / 3
    assert reciprocal_rank(hits(1)) == 1.0
    assert recall_at(hits(3, 4), 2) == 0.0
    assert recall_at(hits(3, 4), 3) == 1.0
    none = np.zeros(0, dtype=bool)
    for nothing in (hits(), none):
        assert reciprocal_rank(nothing) == recall_at(nothing, 5) == ndcg_at(nothing, 2, 10) == 0.0


def test_an_answer_across_a_boundary_is_in_no_chunk() -> None:
    gold = Gold("a", (Span(140, 160),))
    assert not any(is_relevant(gold, chunk) for chunk in (A, B, C, OTHER))
    assert coverage(gold, [A, B, C, OTHER]) == 0.0
    assert characters_shown(gold, [B, C]) == 1.0


def test_all_of_several_spans_are_shared_out_and_any_needs_one() -> None:
    spans = (Span(0, 10), Span(140, 160), Span(200, 210), Span(240, 250))
    assert coverage(Gold("a", spans, "all"), [A, C]) == 0.75
    assert coverage(Gold("a", spans, "all"), [A]) == 0.25
    assert coverage(Gold("a", spans, "any"), [C]) == 1.0
    assert characters_shown(Gold("a", spans, "all"), [A, C]) == 40 / 50
    assert characters_shown(Gold("a", spans, "all"), [A, C, B]) == 1.0


def test_ndcg_discounts_by_rank_and_knows_how_many_could_be_found() -> None:
    assert ndcg_at(hits(1, 2), 2, 10) == 1.0
    assert ndcg_at(hits(2), 2, 10) == pytest.approx((1 / log2(3)) / (1 + 1 / log2(3)))
    assert ndcg_at(hits(3, 6), 9, 4) == pytest.approx(0.5 / (1 + 1 / log2(3) + 0.5 + 1 / log2(5)))
    assert ndcg_at(hits(2), 1, 1) == 0.0


def test_what_is_shown_twice_counts_once() -> None:
    gold = Gold("a", (Span(100, 120),))
    assert characters_shown(gold, [A, Retrieved("a", 50, 110)]) == 0.5
    assert characters_shown(gold, [B, A, B]) == 1.0
    assert characters_shown(gold, [OTHER]) == 0.0


def test_overlap_charges_repeated_text_in_precision_and_iou() -> None:
    gold = Gold("a", (Span(80, 180),))
    # A and B show 80..150 of the gold, 70 characters, in 200 characters of text; 30 are missed.
    assert overlap(gold, [A, B]) == Overlap(0.7, 70 / 200, 70 / 230)
    assert overlap(gold, [OTHER]) == Overlap(0.0, 0.0, 0.0)
    assert overlap(gold, [A, OTHER]) == Overlap(0.2, 20 / 350, 20 / 430)


def test_overlap_takes_the_best_alternative_or_all_spans_together() -> None:
    spans = (Span(0, 50), Span(40, 100))
    assert overlap(Gold("a", spans, "any"), [A]) == Overlap(1.0, 0.6, 0.6)
    assert overlap(Gold("a", spans, "all"), [A]) == Overlap(1.0, 1.0, 1.0)


@pytest.mark.parametrize("spans", [(), (Span(3, 3),), (Span(0, 5), Span(7, 6))])
def test_gold_without_characters_is_refused(spans: tuple[Span, ...]) -> None:
    with pytest.raises(InputError, match="has no characters"):
        Gold("d.txt", spans)
