"""What a grid of known values says: differences at equal size, warnings, verdicts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from idc_local.evaluation.grid import COLUMNS, Configuration, EvaluationOptions, Grid, SetFacts, SetResult
from idc_local.evaluation.pictures import build_plots
from idc_local.evaluation.report import build_lines, build_warnings, report_value, verdict
from idc_local.evaluation.statistics import groups_of

HEADLINE = COLUMNS.index("headline")


def result(values: list[float], size: int, documents: int = 10) -> SetResult:
    """Every metric of each question has the same value; all chunks have one size."""
    table = np.repeat(np.array(values, dtype=np.float64)[:, None], len(COLUMNS), axis=1)
    groups = groups_of(np.arange(len(values), dtype=np.int64) % documents)
    return SetResult(table, groups, np.full(9, size, dtype=np.int64))


def facts(name: str = "s", documents: int = 10) -> SetFacts:
    return SetFacts(name, "en", documents, 20, "any", "corpus", "answer@1500")


def grid(
    results: Mapping[tuple[str, int], list[SetResult]], sets: tuple[SetFacts, ...] | None = None, **options: str
) -> Grid:
    found = {Configuration(strategy, target, "paper"): tuple(own) for (strategy, target), own in results.items()}
    return Grid(EvaluationOptions(strategies=("fixed",), **options), sets or (facts(),), found)  # type: ignore[arg-type]


def test_a_strategy_is_compared_with_the_baseline_at_its_own_size() -> None:
    found = grid(
        {
            ("fixed", 400): [result([0.0] * 20, 400)],
            ("fixed", 800): [result([1.0] * 20, 800)],
            ("other", 400): [result([0.5] * 20, 500)],
            ("large", 400): [result([1.0] * 20, 2000)],
        }
    )
    lines = {line.configuration.strategy: line for line in build_lines(found) if line.set == "macro"}
    assert lines["fixed"].difference is None
    other, large = lines["other"].difference, lines["large"].difference
    assert other is not None and large is not None  # noqa: PT018
    assert other.same_size
    assert other.estimate.mean[HEADLINE] == pytest.approx(0.25)
    assert not large.same_size
    assert large.estimate.mean[HEADLINE] == 0.0


def test_a_retriever_is_compared_with_another_on_the_same_chunks() -> None:
    values = {("fixed", 400, "default"): 0.25, ("fixed", 400, "fusion"): 0.75, ("intent", 400, "default"): 0.5}
    values |= {("intent", 400, "fusion"): 0.5, ("intent", 800, "default"): 0.125, ("intent", 800, "fusion"): 0.25}
    # All chunks have one size, which no curve over sizes could tell apart.
    results = {Configuration(*key): (result([value] * 20, 500),) for key, value in values.items()}
    found = Grid(EvaluationOptions(strategies=("fixed", "intent"), baseline="default"), (facts(),), results)
    differences = {line.configuration: line.difference for line in build_lines(found) if line.set == "macro"}
    assert [differences[known] is None for known in results] == [True, False, True, False, True, False]
    for known, expected in (("fixed", 400), 0.5), (("intent", 400), 0.0), (("intent", 800), 0.125):
        difference = differences[Configuration(*known, "fusion")]
        assert difference is not None
        assert difference.same_size
        assert difference.estimate.mean[HEADLINE] == expected


def test_sets_count_equally_whatever_they_hold() -> None:
    sets = (facts("a"), facts("b"))
    found = grid({("fixed", 400): [result([1.0] * 30, 400), result([0.0] * 10, 600)]}, sets)
    macro, a, b = build_lines(found)
    assert (macro.set, a.set, b.set) == ("macro", "a", "b")
    assert [line.estimate.mean[0] for line in (macro, a, b)] == [0.5, 1.0, 0.0]
    assert (macro.chunks, macro.mean_chars) == (18, 500.0)


def test_warnings_name_zeros_few_documents_controls_and_halves() -> None:
    zeros = grid({("fixed", 400): [result([0.0] * 20, 400, documents=3)]}, half="tune", intents="shuffled")
    assert build_warnings(zeros) == [
        "s: every result is zero: no answer lies inside any chunk, or nothing is ever found",
        "s: only 3 documents with questions, so its intervals are themselves unsure",
        "intents are those of other documents: a control",
    ]
    single = grid({("fixed", 400): [result([1.0] * 20, 400)]}, (facts(documents=1),), half="report")
    assert build_warnings(single) == ["s: a single document, so its intervals say nothing about other documents"]


def test_the_report_is_json_without_surprises() -> None:
    value = report_value(grid({("fixed", 400): [result([0.25, 0.5] * 10, 400)]}), {"embedder": "e"}, ("a fact",))
    assert (value["protocol"]["embedder"], value["facts"]) == ("e", ["a fact"])
    assert value["results"][0]["metrics"]["r@1"]["mean"] == 0.375
    assert value["results"][0]["difference"] is None
    assert value["sets"][0]["headline"] == "answer@1500"


def test_a_verdict_is_sure_only_where_the_interval_leaves_out_zero() -> None:
    own = Configuration("fixed", 400, "paper")
    better = grid({("fixed", 400): [result([0.0] * 20, 400)], ("other", 400): [result([1.0] * 20, 400)]})
    assert verdict(better, own).startswith(
        "other at 400 against fixed at 400 characters: +1.000 [+1.000, +1.000]: better"
    )
    mixed = [1.0] * 11 + [0.0] * 9
    unsure = grid(
        {
            ("fixed", 400): [result(mixed[::-1], 400)],
            ("other", 400): [
                result(
                    [*mixed[:19], 1.0],
                    400,
                )
            ],
        }
    )
    assert "not sure, the interval holds 0" in verdict(unsure, own)
    alone = grid({("fixed", 400): [result(mixed, 400)]})
    assert verdict(alone, own) == "nothing among 1 ways did better than fixed at 400 characters"


def test_plots_show_each_strategy_at_each_of_its_sizes() -> None:
    found = grid(
        {
            ("fixed", 400): [result([0.5] * 20, 410)],
            ("fixed", 700): [result([0.6] * 20, 690)],
            ("intent", 400): [result([0.7] * 20, 395)],
            ("intent", 700): [result([0.8] * 20, 705)],
        }
    )
    plots = {plot.file: plot for plot in build_plots(build_lines(found), "answer")}
    assert list(plots) == [
        "answer_by_size_paper",
        "r1_by_size_paper",
        "coverage_by_chunks_paper",
        "answer_by_budget_paper",
    ]
    fixed, intent = plots["answer_by_size_paper"].lines
    assert ([point.x for point in fixed.points], [round(point.y, 9) for point in intent.points]) == (
        [410.0, 690.0],
        [0.7, 0.8],
    )
    assert (fixed.strong, intent.strong) == (False, True)
    assert [point.x for point in plots["answer_by_budget_paper"].lines[0].points] == [1500.0, 3000.0, 6000.0]
    assert [line.name for line in plots["answer_by_budget_paper"].lines] == ["fixed (410)", "intent (395)"]
