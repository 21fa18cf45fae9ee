"""docs/evaluation.md never drifts from docs/results: its tables are rendered from there, its text quotes from there."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from idc_local.strategies import STRATEGIES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "evaluation.md"
FROM_TUNING = {".035"}
"""Quoted of the other halves, which docs/results does not hold."""


@pytest.fixture
def results(script: Callable[[str], Any]) -> Any:
    return script("results").Results(ROOT / "docs" / "results")


def quoted(results: Any) -> str:
    """All text about results from the list of what the figures say on, without tables."""
    text = PAGE.read_text(encoding="utf-8").split("What the figures say")[1].split("\n## ")[0]
    sections = re.sub(r"<!-- (\w+) -->.*?<!-- /\1 -->", "", text, flags=re.DOTALL).split("\n### ")
    return "\n".join(sections)


def test_the_page_is_what_the_results_give(script: Callable[[str], Any], results: Any) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert script("render_evaluation").rendered(page, results) == page, "run scripts/render_evaluation"


def test_the_figures_by_name_are_what_the_results_give(script: Callable[[str], Any], results: Any) -> None:
    made = (results.folder / "headline.md").read_text(encoding="utf-8")
    assert script("headline").headline(results) == made, "run scripts/render_evaluation"


def test_every_figure_with_an_interval_in_the_text_is_one_of_those_by_name(results: Any) -> None:
    made = (results.folder / "headline.md").read_text(encoding="utf-8").replace(" | ", " ")
    text = " ".join(quoted(results).split())
    found = re.findall(r"[+−]?\d?\.\d+ \[[^\]]*\]", text)
    assert len(found) >= 5
    assert [figure for figure in found if f" {figure}" not in made] == []


def test_every_figure_of_three_digits_in_the_text_is_one_of_those_by_name(results: Any) -> None:
    pattern = r"(?<![\d.])[+−]?\d?\.\d{3}(?!\d)"
    made = set(re.findall(pattern, (results.folder / "headline.md").read_text(encoding="utf-8")))
    found = re.findall(pattern, quoted(results))
    assert len(found) >= 20
    assert set(found) - made - FROM_TUNING == set()


def test_own_strategies_have_an_order(script: Callable[[str], Any]) -> None:
    assert set(script("results").OWN) == set(STRATEGIES)


@pytest.mark.parametrize(
    ("value", "shown", "with_sign"),
    [
        ("0.742", ".742", "+.742"),
        (-0.013, "−.013", "−.013"),
        (1.0, "1.000", "+1.000"),
        (0.0, ".000", "+.000"),
        (-0.0004, "−.000", "−.000"),
        (0.0295, ".029", "+.029"),
    ],
)
def test_numbers_of_zero_to_one_lose_their_zero(
    script: Callable[[str], Any], value: float | str, shown: str, with_sign: str
) -> None:
    assert script("results").share(value) == shown
    assert script("results").signed(value) == with_sign


def test_numbers_end_without_zeros(script: Callable[[str], Any]) -> None:
    assert [script("results").plain(value) for value in ("1.0", "0.03", 2.018, "0.0", "70.5")] == [
        "1",
        "0.03",
        "2.018",
        "0",
        "70.5",
    ]


def test_a_strategy_is_read_at_the_size_of_the_products_chunks_set_by_set(
    script: Callable[[str], Any], tmp_path: Path
) -> None:
    # Set a: halfway from 100 (.2) to 300 (.6), so .4. Set b: beyond its last point, which stands in, so .9.
    rows = ["set,strategy,target,retriever,mean_chars,r@1"]
    for name, size, points in (("a", 200, ((100, 0.2), (300, 0.6))), ("b", 500, ((100, 0.1), (400, 0.9)))):
        rows.append(f"{name},intent,600,default,{size},0.5")
        rows += [f"{name},fixed,{chars},default,{chars},{value}" for chars, value in points]
        rows.append(f"{name},fixed,{size},paper,{size},0.0")
    (tmp_path / "strategies.csv").write_text("\n".join([*rows, "macro,fixed,100,default,100,0.7"]) + "\n")
    found = script("results").Results(tmp_path)
    assert found.at_size_of_shipped("fixed", "r@1") == pytest.approx((0.4 + 0.9) / 2)


def estimate(mean: float, low: float, high: float) -> Mapping[str, float]:
    return {"mean": mean, "low": low, "high": high}


def test_the_comparison_of_tokens_is_shown_before_and_after(script: Callable[[str], Any], tmp_path: Path) -> None:
    metrics = ("headline", "r@1", "r@5", "mrr", "ndcg@10")
    before = {"difference": None, "metrics": {name: estimate(0.74, 0.7, 0.8) for name in metrics}}
    gain = {name: estimate(0.004, -0.017, 0.02) for name in metrics}
    after = {"difference": {"metrics": gain}, "metrics": {name: estimate(0.744, 0.7, 0.8) for name in metrics}}
    (tmp_path / "tokens.json").write_text(json.dumps({"halves": {"report": [before, after]}}))
    table = script("evaluation_tables").tokens(script("results").Results(tmp_path)).splitlines()
    cell = ".740 → .744, +.004 [−.017, +.020]"
    assert table[2] == f"| report | {' | '.join([cell] * 5)} |"


def test_a_table_without_results_is_left_as_it_stands(script: Callable[[str], Any], tmp_path: Path) -> None:
    page = "a\n<!-- seconds -->\n\nold\n<!-- /seconds -->\nb\n"
    rendering = script("render_evaluation")
    results = script("results").Results(tmp_path)
    assert rendering.rendered(page, results) == page
    rows = [{"strategy": "fixed", "seconds": 0.03, "cutting": 0.0}]
    (tmp_path / "seconds.json").write_text(json.dumps({"rows": rows}))
    table = "| chunks by | seconds | with vectors known |\n|---|---|---|\n| fixed | 0.03 | 0 |\n"
    assert rendering.rendered(page, results) == f"a\n<!-- seconds -->\n\n{table}\n<!-- /seconds -->\nb\n"
    with pytest.raises(SystemExit, match="0 pairs of markers 'seconds'"):
        rendering.rendered("no markers", results)


def test_the_page_is_written_unless_only_looked_at(
    script: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rendering = script("render_evaluation")
    results = shutil.copytree(ROOT / "docs" / "results", tmp_path / "results", ignore=shutil.ignore_patterns("p*"))
    shutil.copy(ROOT / "docs" / "results" / "paper_objective.csv", results)
    page = tmp_path / "page.md"
    old = PAGE.read_text(encoding="utf-8").replace("<!-- /seconds -->", "an old row\n<!-- /seconds -->")
    page.write_text(old, encoding="utf-8")
    arguments = ["render_evaluation", "--results", str(results), "--page", str(page)]
    monkeypatch.setattr("sys.argv", [*arguments, "--check"])
    with pytest.raises(SystemExit) as ended:
        rendering.main()
    assert ended.value.code == 1
    assert capsys.readouterr().out == f"{page}\n"
    assert page.read_text(encoding="utf-8") == old
    monkeypatch.setattr("sys.argv", arguments)
    rendering.main()
    assert page.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
