"""Scores of one question: hand-worked cases, and a brute force over sets of characters."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idc_local.evaluation.scoring import METRICS, Gold, Ink, Passages, Ranking, gold_at, judge, score_question
from idc_local.types import Span

TEXT = "alpha beta\n\ngamma delta epsilon zeta. " * 200


def passages(spans: list[tuple[int, int, int]], texts: list[str]) -> Passages:
    inks = [Ink.of(text) for text in texts]
    return Passages(
        document=np.array([document for document, _, _ in spans], dtype=np.int64),
        starts=np.array([start for _, start, _ in spans], dtype=np.int64),
        ends=np.array([end for _, _, end in spans], dtype=np.int64),
        ink=np.array([inks[document].span(start, end) for document, start, end in spans], dtype=np.int64).reshape(
            -1, 2
        ),
    )


def scores(
    spans: list[tuple[int, int, int]],
    order: list[int],
    gold: Gold,
    best: tuple[tuple[int, int, int], ...] = (),
    texts: list[str] | None = None,
    likely: int = 5,
) -> dict[str, float]:
    texts = texts or [TEXT, TEXT]
    ranking = Ranking(np.array(order, dtype=np.int64), best, likely)
    shown = passages(spans, texts)
    found = score_question(ranking, shown, gold, judge(shown, [gold])[0], [Ink.of(text) for text in texts])
    return dict(zip(METRICS, found, strict=True))


def gold(*spans: tuple[int, int], rule: str = "any", document: int = 0, text: str = TEXT, window: bool = False) -> Gold:
    places = [Span(*span) for span in spans]
    return gold_at(document, places, "all" if rule == "all" else "any", Ink.of(text), window=window)


def test_ranks_are_those_of_the_first_chunk_that_holds_the_answer() -> None:
    found = scores([(0, 0, 50), (0, 50, 100), (1, 50, 100), (0, 60, 120)], [2, 0, 1, 3], gold((60, 65)))
    assert [found["r@1"], found["r@5"], found["mrr"]] == pytest.approx([0.0, 1.0, 1 / 3])
    assert found["ndcg@10"] == pytest.approx((1 / log2(4) + 1 / log2(5)) / (1 + 1 / log2(3)))
    assert found["coverage"] == 1.0


@pytest.mark.parametrize("rank", [1, 2, 5, 6, 10, 11])
def test_a_rank_counts_as_deep_as_each_measure_looks(rank: int) -> None:
    found = scores([*[(1, 0, 9)] * (rank - 1), (0, 50, 100)], list(range(rank)), gold((60, 65)))
    assert [found["r@1"], found["r@5"], found["mrr"]] == [float(rank == 1), float(rank <= 5), 1 / rank]
    assert found["ndcg@10"] == pytest.approx(1 / log2(rank + 1) if rank <= 10 else 0.0)


def test_an_answer_that_is_cut_is_relevant_nowhere_but_two_shown_halves_show_it() -> None:
    found = scores([(0, 0, 50), (0, 50, 100)], [0, 1], gold((45, 55)))
    assert (found["r@5"], found["mrr"], found["ndcg@10"], found["coverage"]) == (0.0, 0.0, 0.0, 0.0)
    assert found["answer@1500"] == 1.0


def test_any_chunk_that_holds_the_answer_is_a_hit_overlapping_ones_too() -> None:
    windows = [(0, 0, 60), (0, 30, 90), (0, 60, 120)]
    for first in (0, 1):
        assert scores(windows, [first], gold((40, 50)))["r@1"] == 1.0
    assert scores(windows, [2], gold((40, 50)))["r@1"] == 0.0


def test_the_budget_cuts_the_last_chunk_off_and_repeats_are_paid_for() -> None:
    spans = [(1, 0, 1400), (0, 0, 200), (1, 1000, 1400)]
    assert scores(spans, [0, 1], gold((90, 99)))["answer@1500"] == 1.0
    assert scores(spans, [0, 1], gold((95, 105)))["answer@1500"] == 0.0
    assert scores(spans, [0, 2, 1], gold((90, 99)))["answer@1500"] == 0.0
    assert scores(spans, [0, 2, 1], gold((90, 99)))["answer@3000"] == 1.0
    share = scores(spans, [0, 1], gold((95, 105), text=TEXT))["chars@1500"]
    ink = Ink.of(TEXT)
    assert share == pytest.approx((ink.before[100] - ink.before[95]) / (ink.before[105] - ink.before[95]))


def test_all_spans_count_together() -> None:
    spans = [(0, 0, 100), (0, 100, 200), (0, 200, 300)]
    wanted = gold((10, 20), (195, 205), rule="all")
    found = scores(spans, [0, 1, 2], wanted)
    assert (found["r@1"], found["coverage"]) == (1.0, 0.5)
    assert (found["answer@1500"], found["recall@5"]) == (1.0, 1.0)
    assert scores(spans, [0], wanted)["answer@1500"] == 0.0
    assert 0.4 < scores(spans, [0], wanted)["chars@1500"] < 0.6


def test_alternatives_take_the_best_of_them() -> None:
    spans = [(0, 0, 100), (0, 100, 200)]
    wanted = gold((95, 105), (120, 130), rule="any")
    found = scores(spans, [1], wanted)
    assert (found["r@1"], found["coverage"], found["recall@5"], found["answer@1500"]) == (1.0, 1.0, 1.0, 1.0)


def test_best_spans_are_scored_apart() -> None:
    text = "x" * 100
    found = scores([(0, 0, 100)], [0], gold((10, 20), text=text), ((0, 10, 30),), [text])
    assert (found["recall@5"], found["precision@5"], found["iou@5"]) == (1.0, 0.1, 0.1)
    assert (found["span_recall@5"], found["span_precision@5"], found["span_iou@5"]) == (1.0, 0.5, 0.5)


def test_trimmed_white_space_is_no_loss() -> None:
    text = "One two.\n\nThree four."
    trimmed = scores([(0, 0, 8), (0, 10, 21)], [0, 1], gold((0, 21), text=text), texts=[text])
    assert (trimmed["recall@5"], trimmed["precision@5"], trimmed["answer@1500"]) == (1.0, 1.0, 1.0)


def test_a_window_counts_from_half_an_overlap_on() -> None:
    text = "x" * 300
    spans = [(0, 0, 120), (0, 120, 150), (0, 150, 200), (0, 0, 300)]
    wanted = gold((100, 200), text=text, window=True)
    ranks = [scores(spans, [place], wanted, texts=[text])["r@1"] for place in range(4)]
    assert ranks == [0.0, 1.0, 1.0, 1.0]
    assert [scores([(0, start, start + 100)], [0], wanted, texts=[text])["r@1"] for start in (49, 50, 150, 151)] == [
        0.0,
        1.0,
        1.0,
        0.0,
    ]
    found = scores(spans, [1, 2], wanted, texts=[text])
    assert [found["coverage"], found["chars@1500"]] == pytest.approx([1.0, 0.8])


def test_nothing_ranked_scores_nothing_but_what_the_chunks_allow() -> None:
    found = scores([(0, 0, 50)], [], gold((0, 5)))
    assert {name for name, value in found.items() if value} == {"coverage"}


BOUNDS = st.lists(st.integers(0, 399), min_size=2, max_size=2, unique=True).map(sorted)
PLACED = st.tuples(st.integers(0, 1), BOUNDS)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(PLACED, min_size=1, max_size=8), st.lists(BOUNDS, min_size=1, max_size=3), st.sampled_from(["any", "all"])
)
def test_scores_equal_a_count_of_single_characters(
    chunks: list[tuple[int, list[int]]], answers: list[list[int]], rule: str
) -> None:
    text = ("ab c\nde  f" * 40)[:400]
    visible = {place for place, char in enumerate(text) if not char.isspace()}
    wanted = [set(range(*answer)) & visible for answer in answers]
    if not all(wanted):
        return
    spans = [(document, start, end) for document, (start, end) in chunks]
    found = scores(
        spans, list(range(len(spans))), gold(*[(a, b) for a, b in answers], rule=rule, text=text), (), [text, text]
    )
    held = [
        any(answer <= set(range(start, end)) for document, start, end in spans if document == 0) for answer in wanted
    ]
    assert found["coverage"] == pytest.approx(float(any(held)) if rule == "any" else sum(held) / len(held))
    targets = wanted if rule == "any" else [set().union(*wanted)]
    top = [(document, set(range(start, end)) & visible) for document, start, end in spans[:5]]
    union = set().union(*(characters for document, characters in top if document == 0))
    paid = sum(len(characters) for _, characters in top)
    overlaps = [
        (len(target & union) / (paid + len(target - union)), len(target & union) / len(target), len(target & union))
        for target in targets
    ]
    if paid and max(overlaps)[2]:
        iou, recall, common = max(overlaps, key=lambda entry: entry[0])
        assert found["iou@5"] == pytest.approx(iou)
        assert found["recall@5"] == pytest.approx(recall)
        assert found["precision@5"] == pytest.approx(common / paid)
    stream = [(document, place) for document, start, end in spans for place in range(start, end)][:1500]
    shown = {place for document, place in stream if document == 0}
    shares = [len(target & shown) / len(target) for target in targets]
    assert found["chars@1500"] == pytest.approx(max(shares))
    assert found["answer@1500"] == float(max(shares) == 1.0)


def test_spans_of_unlikely_hits_are_not_offered() -> None:
    best = ((0, 10, 30), (0, 60, 70))
    for likely, precision in ((2, 20 / 30), (1, 1.0)):
        found = scores([(0, 0, 50), (0, 50, 100)], [0, 1], gold((10, 30)), best, likely=likely)
        assert found["span_precision@5"] == pytest.approx(precision)
