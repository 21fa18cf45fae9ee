"""Ranking arithmetic against hand-worked values and brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local.ranking import (
    RankingWeights,
    Signals,
    best_run,
    dense_score,
    fuse,
    idf,
    lift_neighbours,
    likely_hits,
    min_max,
    segment_max,
    sentence_evidence,
    term_coverage,
    top_k,
    weigh_tokens,
)
from idc_local.types import FloatArray


def floats(*values: float) -> FloatArray:
    return np.array(values, dtype=np.float32)


def test_segment_max_by_hand() -> None:
    result = segment_max(floats(1, 5, 2, -3), np.array([0, 2, 2, 4]))
    assert result[0] == 5
    assert np.isnan(result[1])
    assert result[2] == 2


@given(st.lists(st.lists(st.floats(-1, 1, width=32), max_size=4), max_size=8))
def test_segment_max_equals_a_loop(runs: list[list[float]]) -> None:
    flat = floats(*[value for run in runs for value in run])
    offsets = np.cumsum([0, *map(len, runs)])
    result = segment_max(flat, offsets)
    for value, run in zip(result.tolist(), runs, strict=True):
        assert value == max(run) if run else np.isnan(value)


def test_min_max_scales_and_survives_equal_values() -> None:
    assert min_max(floats(2, 4, 3)).tolist() == [0, 1, 0.5]
    assert min_max(floats(0.5, 0.5078125, 0.50390625)).tolist() == [0, 1, 0.5], "however near they are"
    assert min_max(floats(3, 3)).tolist() == [1, 1]
    assert min_max(floats(0, 0)).tolist() == [0, 0]
    assert min_max(floats()).tolist() == []


def signals(intent: float) -> Signals:
    return Signals(dense=floats(0.4), sentence=floats(0.6), intent=floats(intent), lexical=floats(0))


def test_dense_score_by_hand() -> None:
    weights = RankingWeights(sentence=0.5, intent=0.2)
    assert dense_score(signals(0.8), weights)[0] == pytest.approx(0.5 + 0.2 * 0.3)


@pytest.mark.parametrize("intent", [float("nan"), -1.0, 0.2, 0.5])
def test_an_intent_that_does_not_fit_changes_nothing(intent: float) -> None:
    assert dense_score(signals(intent), RankingWeights(sentence=0.5, intent=0.2))[0] == pytest.approx(0.5)


@given(st.floats(-1, 1, width=32))
def test_the_intent_boost_never_lowers_a_score(intent: float) -> None:
    weights = RankingWeights()
    assert dense_score(signals(intent), weights)[0] >= dense_score(signals(float("nan")), weights)[0]


def test_fusion_by_hand() -> None:
    both = Signals(floats(0.2, 0.6, 0.4), floats(0.2, 0.6, 0.4), floats(*[float("nan")] * 3), floats(10, 0, 5))
    fused = fuse(both, RankingWeights(dense=0.6, lexical=0.4, sentence=0.5))
    assert fused.tolist() == pytest.approx([0.4, 0.6, 0.5])
    fused = fuse(both, RankingWeights(dense=0.6, lexical=0.4, foreign=0.25, sentence=0.5), foreign=True)
    assert fused.tolist() == pytest.approx([0.75, 0.25, 0.5])


def test_as_shipped_six_tenths_are_dense_and_half_is_tokens() -> None:
    # The first is best by words alone, the second by meaning alone; intents count for nothing.
    both = Signals(floats(0.0, 0.5), floats(0.0, 0.5), floats(0.9, np.nan), floats(7, 0))
    assert fuse(both, RankingWeights()).tolist() == pytest.approx([0.4, 0.6])
    assert fuse(both, RankingWeights(), foreign=True).tolist() == pytest.approx([0.6, 0.4])
    assert weigh_tokens(floats(0.4, 0.6), floats(0.9, 0.1), RankingWeights()).tolist() == pytest.approx([0.7, 0.3])
    assert sentence_evidence(floats(0.2), floats(1.0), RankingWeights()).tolist() == pytest.approx([0.7])


def test_ties_go_by_id() -> None:
    assert top_k(floats(0.5, 0.9, 0.50000001, 0.1), ["c", "z", "a", "b"], 3).tolist() == [1, 2, 0]
    assert top_k(floats(0.5), ["a"], 10).tolist() == [0]


@given(
    st.lists(st.tuples(st.sampled_from([0.25, 0.5, 0.75]), st.text("ab", max_size=3)), max_size=12), st.integers(0, 14)
)
def test_the_best_come_first(hits: list[tuple[float, str]], k: int) -> None:
    scores, ids = floats(*(score for score, _ in hits)), [name for _, name in hits]
    order = sorted(range(len(hits)), key=lambda place: (-hits[place][0], hits[place][1]))
    assert top_k(scores, ids, k).tolist() == order[:k]


@pytest.mark.parametrize("k", [1, 10, 999, 1_999, 2_000])
def test_the_best_of_many_come_first(k: int) -> None:
    rng = np.random.default_rng(k)
    scores, ids = floats(*(rng.integers(0, 500, 2_000) / 512)), list(map(str, rng.permutation(2_000)))
    order = sorted(range(2_000), key=lambda place: (-scores[place], ids[place]))
    assert top_k(scores, ids, k).tolist() == order[:k]


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=9), st.floats(-1, 1, width=32))
def test_best_run_is_the_maximum_sum(values: list[float], threshold: float) -> None:
    run = best_run(floats(*values), threshold)
    gains = floats(*values).astype(np.float64) - threshold
    sums = [gains[i:j].sum() for i in range(len(values)) for j in range(i + 1, len(values) + 1)]
    assert gains[run.start : run.end].sum() == pytest.approx(max(sums), abs=1e-9)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9))
def test_of_equal_runs_the_one_that_ends_first_and_of_those_the_shortest_wins(eighths: list[int]) -> None:
    sums = {(i, j): sum(eighths[i:j]) for i in range(len(eighths)) for j in range(i + 1, len(eighths) + 1)}
    start, end = min(sums, key=lambda run: (-sums[run], run[1], run[1] - run[0]))
    assert best_run(floats(*(value / 8 for value in eighths)), 0.0) == (start, end)


def test_best_run_of_poor_sentences_is_the_best_one() -> None:
    assert best_run(floats(0.1, 0.3, 0.2), 0.9) == (1, 2)


def test_coverage_by_hand() -> None:
    hashes = np.array([7, 9, 9, 3], dtype=np.uint32)
    offsets = np.array([0, 2, 2, 4])
    wanted = np.array([9, 5, 3], dtype=np.uint32)
    assert term_coverage(hashes, offsets, wanted, floats(2, 1, 1)).tolist() == [0.5, 0.0, 0.75]
    # as much again of what is in no text
    assert term_coverage(hashes, offsets, wanted, floats(2, 1, 1), 4.0).tolist() == [0.25, 0.0, 0.375]


def test_a_term_counts_the_more_the_fewer_chunks_hold_it() -> None:
    # With 3 chunks: 1 + 3.5 / 0.5, 1 + 2.5 / 1.5, 1 + 0.5 / 3.5.
    assert idf(3, np.array([0, 1, 3])).tolist() == pytest.approx([math.log(8), math.log(8 / 3), math.log(8 / 7)])


def test_coverage_without_known_terms_is_zero() -> None:
    nothing = np.zeros(0, dtype=np.uint32)
    assert term_coverage(np.array([7], dtype=np.uint32), np.array([0, 1]), nothing, floats()).tolist() == [0.0]


def test_evidence_adds_coverage_to_the_cosine() -> None:
    found = sentence_evidence(floats(0.2, 0.4), floats(1.0, 0.0), RankingWeights(coverage=0.5))
    assert found.tolist() == pytest.approx([0.7, 0.4])


def test_a_chunk_is_drawn_up_by_a_better_neighbour_of_its_document() -> None:
    fused = floats(0.2, 1.0, 0.4, 0.0, 0.6)
    rows = np.array([3, 4, 5, 7, 8])
    documents = np.array([0, 0, 0, 1, 2])
    lifted = lift_neighbours(fused, rows, documents, RankingWeights(neighbour=0.5))
    assert lifted.tolist() == pytest.approx([0.6, 1.0, 0.7, 0.0, 0.6])
    assert lift_neighbours(fused, rows, documents, RankingWeights(neighbour=0.0)).tolist() == fused.tolist()


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=9), st.floats(0, 0.9))
def test_lifting_keeps_the_best_chunk_best(values: list[float], gain: float) -> None:
    rows = np.arange(len(values))
    lifted = lift_neighbours(floats(*values), rows, np.zeros_like(rows), RankingWeights(neighbour=gain))
    assert lifted.max() == pytest.approx(max(values))
    assert lifted[int(np.argmax(floats(*values)))] == pytest.approx(max(values))


def test_tokens_are_weighed_in_by_their_share() -> None:
    fused = floats(0.9, 0.5, 0.4, 0.1)
    # .3, .7 and .5 are scaled to 0, 1 and .5; what was not looked at counts as 0.
    weighed = weigh_tokens(fused, floats(0.3, 0.7, 0.5, np.nan), RankingWeights(tokens=0.4))
    assert weighed.tolist() == pytest.approx([0.54, 0.7, 0.44, 0.06])
    assert weigh_tokens(fused, floats(*[np.nan] * 4), RankingWeights(tokens=0.4)).tolist() == fused.tolist()
    assert weigh_tokens(fused, floats(0.3, 0.7, 0.5, 0.1), RankingWeights(tokens=0.0)).tolist() == fused.tolist()


def test_likely_hits_are_those_near_the_first() -> None:
    assert likely_hits(floats(0.8, 0.58, 0.57, 0.1)) == 2
    assert likely_hits(floats(1.0, 0.72, 0.7199)) == 2, "those that reach 0.72 of it"
    assert likely_hits(floats(1.0)) == 1
    assert likely_hits(floats()) == 0
