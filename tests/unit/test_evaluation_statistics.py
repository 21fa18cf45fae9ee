"""Averages, intervals and curves: known values, and properties that hold for any numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idc_local.evaluation.statistics import Curve, Values, groups_of, macro_estimate


def column(*values: float) -> Values:
    return np.array(values, dtype=np.float64)[:, None]


def groups(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def test_the_mean_is_over_questions_in_a_set_and_over_sets_after_that() -> None:
    large, small = (column(1, 1, 1, 0), groups(0, 0, 1, 1)), (column(0, 1), groups(0, 1))
    assert macro_estimate([large], 0).mean[0] == 0.75
    assert macro_estimate([large, small], 0).mean[0] == pytest.approx((0.75 + 0.5) / 2)


def test_an_interval_is_that_of_a_plain_bootstrap_over_documents() -> None:
    values = np.random.default_rng(5).random((40, 1))
    documents = groups_of(np.random.default_rng(6).integers(0, 7, 40))
    found = macro_estimate([(values, documents)], 11)
    rng = np.random.default_rng(12)
    parts = [values[documents == document] for document in range(int(documents.max()) + 1)]
    means = [np.concatenate([parts[at] for at in rng.integers(0, len(parts), len(parts))]).mean() for _ in range(4000)]
    low, high = np.quantile(means, [0.025, 0.975])
    assert found.mean[0] == pytest.approx(values.mean())
    assert [found.low[0], found.high[0]] == pytest.approx([low, high], abs=0.012)


def test_an_interval_leaves_a_fortieth_out_on_either_side() -> None:
    # Of 40 answers half are right. Resampled, P(at most 13 are) = 0.019 and P(at most 14) = 0.040 (binomial).
    found = macro_estimate([(column(*[1.0, 0.0] * 20), np.arange(40))], 0)
    assert (found.low[0], found.high[0]) == pytest.approx((14 / 40, 26 / 40))


def test_an_interval_is_wider_for_documents_than_for_questions_that_agree_within_them() -> None:
    values = np.repeat(np.random.default_rng(2).normal(size=10), 30)[:, None]
    clustered = macro_estimate([(values, np.repeat(np.arange(10), 30))], 3)
    naive = macro_estimate([(values, np.arange(300))], 3)
    assert clustered.high[0] - clustered.low[0] > 3 * (naive.high[0] - naive.low[0])


def test_an_interval_depends_on_its_seed_alone() -> None:
    measured = [(np.random.default_rng(4).normal(size=(40, 1)), np.repeat(np.arange(8), 5))]
    runs = [float(macro_estimate(measured, seed).low[0]) for seed in (5, 5, 6)]
    assert runs[0] == runs[1] != runs[2]


def test_documents_are_resampled_not_questions() -> None:
    values = column(*[1.0] * 50, *[0.0] * 50)
    by_document = macro_estimate([(values, groups(*[0] * 50, *[1] * 50))], 0)
    by_question = macro_estimate([(values, np.arange(100))], 0)
    assert (by_document.low[0], by_document.high[0]) == (0.0, 1.0)
    assert by_question.high[0] - by_question.low[0] == pytest.approx(2 * 1.96 * 0.05, abs=0.03)


def test_the_questions_of_a_single_document_are_resampled_themselves() -> None:
    assert groups_of(groups(4, 4, 4)).tolist() == [0, 1, 2]
    assert groups_of(groups(7, 4, 7)).tolist() == [1, 0, 1]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.integers(0, 3))
def test_intervals_hold_the_mean_of_equal_values_and_repeat_with_the_seed(values: list[float], seed: int) -> None:
    entry = (column(*values), np.arange(len(values)))
    first, again = macro_estimate([entry], seed), macro_estimate([entry], seed)
    assert first.low[0] <= first.high[0]
    assert (first.low.tolist(), first.high.tolist()) == (again.low.tolist(), again.high.tolist())
    assert min(values) - 1e-9 <= first.low[0] <= first.high[0] <= max(values) + 1e-9


def test_a_curve_is_read_between_its_points_and_held_outside() -> None:
    curve = Curve((400.0, 800.0), (column(0.0, 1.0), column(1.0, 1.0)))
    assert curve.at(400.0).ravel().tolist() == [0.0, 1.0]
    assert curve.at(500.0).ravel().tolist() == [0.25, 1.0]
    assert curve.at(90.0).ravel().tolist() == [0.0, 1.0]
    assert curve.at(9000.0).ravel().tolist() == [1.0, 1.0]
    longer = Curve((400.0, 800.0, 1600.0), (column(0.2), column(0.6), column(0.8)))
    assert [longer.at(size)[0, 0] for size in (700.0, 800.0, 1000.0, 1600.0, 1700.0)] == pytest.approx(
        [0.5, 0.6, 0.65, 0.8, 0.8]
    )


def test_a_curve_reaches_sizes_near_its_ends() -> None:
    curve = Curve((400.0, 800.0), (column(0.0), column(1.0)))
    assert [curve.reaches(size) for size in (350.0, 361.0, 600.0, 879.0, 890.0)] == [False, True, True, True, False]
    longer = Curve((400.0, 800.0, 1600.0), (column(0.0),) * 3)
    assert [longer.reaches(size) for size in (350.0, 361.0, 890.0, 1750.0, 1770.0)] == [False, True, True, True, False]


def test_a_curve_of_one_point_is_that_point() -> None:
    curve = Curve((700.0,), (column(0.5),))
    assert curve.at(100.0).ravel().tolist() == [0.5]
    assert curve.at(700.0).ravel().tolist() == [0.5]
