"""What was measured as files: JSON with every interval, CSV with every line, Markdown to be read."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from idc_local.cli.evaluate import flat
from idc_local.cli.output import markdown_lines
from idc_local.evaluation.grid import COLUMNS, Grid
from idc_local.evaluation.report import MACRO, report_value
from idc_local.evaluation.statistics import macro_estimate

BY_SET = 600
"""Target size whose results are shown set by set."""
SUMMARY = (
    "strategy", "target", "chunks", "mean_chars", "headline", "headline_low", "headline_high", "r@1", "r@5", "mrr",
    "ndcg@10", "coverage", "recall@5", "precision@5", "iou@5", "headline_diff", "headline_diff_low",
    "headline_diff_high", "same_size",
)  # fmt: skip


WITH_INTERVAL = ("headline", "answer@1500", "answer@3000", "r@1", "r@5", "coverage")


def write_grid(out: Path, name: str, grid: Grid, embedder: str) -> None:
    """A grid as CSV (every line), JSON (macro averages with every interval) and Markdown."""
    value = report_value(grid, {"embedder": embedder}, ())
    rows = [flat(line) for line in value["results"]]
    macro = [line for line in value["results"] if line["set"] == MACRO]
    write_json(out / f"{name}.json", value | {"results": macro})
    write_csv(out / f"{name}.csv", rows)
    text = []
    for retriever in dict.fromkeys(row["retriever"] for row in rows):
        chosen = [row for row in rows if row["retriever"] == retriever]
        averages = [rounded(row) for row in chosen if row["set"] == MACRO]
        text += [f"### {name}, retriever {retriever}: average of {len(value['sets'])} sets\n\n"]
        text += [*markdown_lines(averages, SUMMARY), "\n"]
        text += [f"### {name}, retriever {retriever}: 95 % intervals\n\n", *_intervals(macro, retriever), "\n"]
        text += [f"### {name}, retriever {retriever}: headline of each set, target {BY_SET}\n\n"]
        text += [*_by_set(chosen), "\n"]
    (out / f"{name}.md").write_text("".join(text), encoding="utf-8")


def write_halves(out: Path, name: str, grids: Mapping[str, Grid], embedder: str) -> None:
    """Grids of halves of the same sets as CSV (every line), JSON and Markdown (macro averages)."""
    values = {half: report_value(grid, {"embedder": embedder}, ()) for half, grid in grids.items()}
    macro = {half: [line for line in value["results"] if line["set"] == MACRO] for half, value in values.items()}
    about = {half: {key: value[key] for key in ("protocol", "sets")} for half, value in values.items()}
    by_question = {half: _by_question(grid) for half, grid in grids.items()}
    write_json(out / f"{name}.json", {"about": about, "halves": macro, "questions": by_question})
    write_csv(out / f"{name}.csv", [{"half": half} | flat(line) for half in values for line in values[half]["results"]])
    rows = [{"half": half} | rounded(flat(line)) for half, lines in macro.items() for line in lines]
    text = markdown_lines(rows, ("half", "retriever", *SUMMARY[:-1]))
    (out / f"{name}.md").write_text("".join(text), encoding="utf-8")


def _by_question(grid: Grid) -> dict[str, dict[str, float]]:
    """Mean difference of the last configuration from the first over the questions of all sets, each counting once."""
    first, *_, last = grid.results.values()
    values = np.concatenate([after.values - before.values for before, after in zip(first, last, strict=True)])
    sizes = [int(result.groups.max()) + 1 for result in last]
    starts = np.cumsum([0, *sizes[:-1]])
    groups = np.concatenate([result.groups + start for result, start in zip(last, starts, strict=True)])
    found = macro_estimate([(values, groups)], grid.options.seed)
    bounds = zip(COLUMNS, found.mean.tolist(), found.low.tolist(), found.high.tolist(), strict=True)
    return {
        column: {"mean": round(mean, 6), "low": round(low, 6), "high": round(high, 6)}
        for column, mean, low, high in bounds
    }


def _intervals(lines: Sequence[Mapping[str, Any]], retriever: str) -> Iterable[str]:
    """The averages of one retriever with the interval of each of WITH_INTERVAL."""
    rows = [
        {"strategy": line["strategy"], "target": line["target"], "mean_chars": round(line["mean_chars"])}
        | {name: "{mean:.3f} [{low:.3f}, {high:.3f}]".format(**line["metrics"][name]) for name in WITH_INTERVAL}
        for line in lines
        if line["retriever"] == retriever
    ]
    return markdown_lines(rows, tuple(rows[0]))


def _by_set(rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """A row for each strategy at the target BY_SET (or its only one), a column for each set."""
    table: dict[str, dict[str, Any]] = {}
    for row in rows:
        only = {other["target"] for other in rows if other["strategy"] == row["strategy"]} == {row["target"]}
        if row["target"] == BY_SET or only:
            table.setdefault(row["strategy"], {"strategy": row["strategy"]})[row["set"]] = row["headline"]
    columns = ("strategy", *dict.fromkeys(row["set"] for row in rows))
    return markdown_lines([rounded(entry) for entry in table.values()], columns)


def write_json(path: Path, value: object) -> None:
    """JSON on one line."""
    path.write_text(json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")


def write_table(out: Path, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows as CSV and as Markdown."""
    write_csv(out / f"{name}.csv", rows)
    (out / f"{name}.md").write_text("".join(markdown_lines(rows, tuple(rows[0]))), encoding="utf-8")


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows under the names of their first."""
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with three decimals, sizes with none."""
    return {
        key: round(value) if key == "mean_chars" else round(value, 3) if isinstance(value, float) else value
        for key, value in row.items()
    }
