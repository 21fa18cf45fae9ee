"""What the measuring scripts do themselves: places of other projects' chunks, their cluster program, kept results."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from idc_local.evaluation.grid import COLUMNS, Configuration, EvaluationOptions, Grid, SetFacts, SetResult
from idc_local.types import Span


@pytest.fixture
def peers(script: Callable[[str], Any]) -> Any:
    return script("peers")


@pytest.fixture
def measuring(script: Callable[[str], Any]) -> Any:
    return script("measuring")


def test_repeated_text_is_placed_where_it_stands(peers: Any) -> None:
    text = "Same. Same.\n\nOther. Same."
    assert peers.located(text, ["Same.", " Same.\n", "Other.", "", "Same."]) == [
        Span(0, 5),
        Span(6, 11),
        Span(13, 19),
        Span(20, 25),
    ]
    with pytest.raises(ValueError, match="a chunk is not in the text"):
        peers.located(text, ["Other.", "Other."])


def test_parts_that_make_up_the_text_tile_it(peers: Any) -> None:
    assert peers.tiled(["ab", "", "cde"]) == [Span(0, 2), Span(2, 2), Span(2, 5)]
    assert peers.tiled([]) == []


@pytest.mark.parametrize("seed", range(12))
def test_the_cluster_program_is_optimal(peers: Any, seed: int) -> None:
    generator = np.random.default_rng(seed)
    count, longest = int(generator.integers(1, 9)), int(generator.integers(1, 5))
    vectors = generator.standard_normal((count, 4))
    similarity = vectors @ vectors.T
    centred = similarity - (similarity[np.triu_indices(count, k=1)].mean() if count > 1 else 0.0)
    np.fill_diagonal(centred, 0.0)

    def value(cuts: list[int]) -> float:
        return sum(float(centred[first:last, first:last].sum()) for first, last in pairwise(cuts))

    possible = [[0, *inner, count] for size in range(count) for inner in combinations(range(1, count), size)]
    allowed = [cuts for cuts in possible if all(last - first <= longest for first, last in pairwise(cuts))]
    found = peers._best_blocks(similarity.astype(np.float64), longest)
    assert found in allowed
    assert value(found) == pytest.approx(max(value(cuts) for cuts in allowed), abs=1e-9)


def test_kept_results_come_back_as_they_were(measuring: Any, tmp_path: Path) -> None:
    facts = SetFacts("s", "en", 2, 3, "any", "corpus", "answer@1500")
    values = np.random.default_rng(0).random((3, len(COLUMNS)))
    results = {
        Configuration(name, 700, "paper"): SetResult(values * scale, np.array([0, 1, 1]), np.arange(5, dtype=np.int64))
        for name, scale in (("a", 1.0), ("β = 0.5", 0.5))
    }
    measuring.save_results(tmp_path / "kept.npz", facts, results)
    again, found = measuring.load_results(tmp_path / "kept.npz")
    assert again == facts
    assert list(found) == list(results)
    for configuration, result in results.items():
        assert (found[configuration].values == result.values).all()
        assert (found[configuration].groups == result.groups).all()
        assert (found[configuration].chunk_chars == result.chunk_chars).all()


def test_work_is_done_once_for_a_key_and_source(measuring: Any, tmp_path: Path) -> None:
    facts = SetFacts("s", "en", 2, 3, "any", "corpus", "answer@1500")
    result = SetResult(np.zeros((3, len(COLUMNS))), np.arange(3), np.arange(5, dtype=np.int64))
    calls: list[str] = []

    def work() -> Any:
        calls.append("work")
        return facts, {Configuration("a", 700, "paper"): result}

    for source, key in (("x", 1), ("x", 1), ("x", 2), ("y", 1)):
        bench = measuring.Bench(None, None, None, tmp_path, source)
        assert measuring.kept(bench, tmp_path / "set", key, work)[0] == facts
    assert len(calls) == 3


def test_rows_are_made_once_for_a_key_and_source(measuring: Any, tmp_path: Path) -> None:
    rows = [{"set": "s", "rho": 0.1 + 0.2, "questions": 3, "best": True}]
    calls: list[str] = []

    def work() -> Any:
        calls.append("work")
        return rows

    for source, key in (("x", 1), ("x", 1), ("x", 2), ("y", 1)):
        bench = measuring.Bench(None, None, None, tmp_path, source)
        assert measuring.kept_rows(bench, tmp_path / "set", key, work) == rows
    assert len(calls) == 3


def test_only_scripts_that_measure_make_results_old(
    measuring: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all((measuring.ROOT / "scripts" / name).is_file() for name in measuring.READERS)
    monkeypatch.setattr(measuring, "ROOT", tmp_path)
    digests: list[str] = []
    for place in ("scripts/headline.py", "scripts/peers.py", "idc_local/headline.py", "scripts/headline.py"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(f"# {len(digests)}")
        digests.append(measuring._source_digest())
    assert len(set(digests)) == 3
    assert digests[2] == digests[3]


def test_ways_of_cutting_are_compared_at_equal_mean_size(script: Callable[[str], Any]) -> None:
    # Two questions, each its own group. Ours: right, wrong at 200 characters. The other at 100: both wrong; at 300:
    # both right; at 200, halfway: a half each. So ours is ahead by .5 and -.5, nothing on average.
    def result(values: tuple[float, float], size: int) -> SetResult:
        table = np.repeat(np.array(values)[:, None], len(COLUMNS), axis=1)
        return SetResult(table, np.arange(2), np.full(3, size, dtype=np.int64))

    found = {
        ("intent", 600): result((1.0, 0.0), 200),
        ("fixed", 400): result((0.0, 0.0), 100),
        ("fixed", 800): result((1.0, 1.0), 300),
        ("small", 400): result((1.0, 0.0), 100),
    }
    grid = Grid(
        EvaluationOptions(),
        (SetFacts("s", "en", 2, 2, "any", "corpus", "answer@1500"),),
        {Configuration(*key, "default"): (value,) for key, value in found.items()},
    )
    rows = script("shipped").same_size_rows(grid, Configuration("intent", 600, "default"))
    first, last = rows[0], rows[-1]
    assert (first["rival"], first["metric"], first["rival_value"], first["ours"]) == ("fixed", "headline", 0.5, 0.5)
    assert (first["ahead"], first["low"], first["high"], first["same_size"]) == (0.0, -0.5, 0.5, True)
    assert (last["rival"], last["ahead"], last["low"], last["high"]) == ("small", 0.0, 0.0, 0.0)
    assert last["same_size"] is False


def test_halves_of_the_same_sets_are_written_side_by_side(script: Callable[[str], Any], tmp_path: Path) -> None:
    facts = (SetFacts("s", "en", 2, 2, "any", "corpus", "answer@1500"),)
    values = {"fusion": 0.25, "default": 0.75}
    results = {
        Configuration("intent", 600, name): (
            SetResult(np.full((2, len(COLUMNS)), value), np.arange(2), np.full(3, 500, dtype=np.int64)),
        )
        for name, value in values.items()
    }
    grid = Grid(EvaluationOptions(baseline="fusion"), facts, results)
    script("tables").write_halves(tmp_path, "tokens", {"report": grid, "tune": grid}, "e")
    table = script("evaluation_tables").tokens(script("results").Results(tmp_path))
    cells = " | ".join([".250 → .750, +.500 [+.500, +.500]"] * 5)
    assert table.splitlines()[2:] == [f"| report | {cells} |", f"| tune | {cells} |"]
    quoted = script("headline")._tokens(script("results").Results(tmp_path))
    named = {figure.name: (figure.value, figure.interval) for figure in quoted}
    assert named["token by token, tune half, s: R@1"] == ("+.500", "[+.500, +.500]")


def test_rank_correlation_is_that_of_hand_worked_cases(script: Callable[[str], Any]) -> None:
    spearman = script("label_free").spearman
    assert spearman(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 25.0])) == pytest.approx(1.0)
    # Ranks 1 2 3 4 5 and 2 1 4 3 5: 1 - 6 · 4 / (5 · 24)
    assert spearman(np.arange(5.0), np.array([2.0, 1.0, 4.0, 3.0, 5.0])) == pytest.approx(0.8)
    # Ties share their mean rank: 1.5 1.5 3 and 1 2 3, of which Pearson's is 1.5 / sqrt(1.5 · 2)
    assert spearman(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 2.0])) == pytest.approx(1.5 / 3.0**0.5)
    assert spearman(np.zeros(3), np.arange(3.0)) == 0.0
