"""The plots of a report: what is drawn against what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from idc_local.evaluation.grid import COLUMNS
from idc_local.evaluation.report import MACRO, Line
from idc_local.evaluation.scoring import BUDGETS
from idc_local.plots import Plot, PlotLine, Point

MEAN_SIZE = "mean chunk size (characters)"
BAND = "bands: 95 % intervals, documents resampled"
BUDGET = "budget of ranked text (characters)"
FAVOURITE = "intent"


class Shown(NamedTuple):
    """What a budget of ranked text shows: as a title begins, and as an axis says."""

    title: str
    axis: str


SHOWN = {
    "answer": Shown("Questions whose whole answer lies", "share of questions"),
    "chars": Shown("Share of the source window that lies", "share of characters, mean over questions"),
}


def build_plots(lines: Sequence[Line], kind: str) -> list[Plot]:
    """Plots of the macro averages, four for each retriever. kind: ``answer`` or, for windows, ``chars``."""
    averaged = [line for line in lines if line.set == MACRO]
    retrievers = dict.fromkeys(line.configuration.retriever for line in averaged)
    return [
        plot
        for retriever in retrievers
        for plot in _plots_of(retriever, kind, [line for line in averaged if line.configuration.retriever == retriever])
    ]


def _plots_of(retriever: str, kind: str, lines: Sequence[Line]) -> Iterator[Plot]:
    def by_strategy(x: Callable[[Line], float], metric: str) -> tuple[PlotLine, ...]:
        names = dict.fromkeys(line.configuration.strategy for line in lines)
        return tuple(
            PlotLine(
                name,
                tuple(_point(x(line), line, metric) for line in lines if line.configuration.strategy == name),
                strong=name == FAVOURITE,
            )
            for name in names
        )

    def size(line: Line) -> float:
        return line.mean_chars

    shown = SHOWN[kind]
    title = f"{shown.title} within {BUDGETS[0]} characters of ranked text ({retriever})\n{BAND}"
    by_size = by_strategy(size, f"{kind}@{BUDGETS[0]}")
    yield Plot(f"{kind}_by_size_{retriever}", title, MEAN_SIZE, shown.axis, by_size)
    title = f"Questions whose first chunk is a right one, R@1 ({retriever})\n{BAND}"
    yield Plot(f"r1_by_size_{retriever}", title, MEAN_SIZE, "share of questions", by_strategy(size, "r@1"))
    title = f"Answers that lie whole in one chunk ({retriever})\n{BAND}"
    coverage = by_strategy(lambda line: float(line.chunks), "coverage")
    yield Plot(f"coverage_by_chunks_{retriever}", title, "chunks (number)", "share of answers", coverage)
    target = _middle(lines)
    title = f"{shown.title} within a budget, target {target} characters a chunk ({retriever})\n{BAND}"
    by_budget = tuple(_budget_line(line, kind) for line in lines if line.configuration.target == target)
    yield Plot(f"{kind}_by_budget_{retriever}", title, BUDGET, shown.axis, by_budget, x_log=True)


def _middle(lines: Sequence[Line]) -> int:
    """The target size in the middle of the grid."""
    targets = sorted({line.configuration.target for line in lines})
    return targets[(len(targets) - 1) // 2]


def _budget_line(line: Line, kind: str) -> PlotLine:
    name = line.configuration.strategy
    points = tuple(_point(float(budget), line, f"{kind}@{budget}") for budget in BUDGETS)
    return PlotLine(f"{name} ({line.mean_chars:.0f})", points, strong=name == FAVOURITE)


def _point(x: float, line: Line, metric: str) -> Point:
    place = COLUMNS.index(metric)
    estimate = line.estimate
    return Point(x, float(estimate.mean[place]), float(estimate.low[place]), float(estimate.high[place]))
