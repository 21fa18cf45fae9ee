"""The plots of a report: what is drawn against what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from idc_local.evaluation.grid import COLUMNS
from idc_local.evaluation.report import MACRO, Line
from idc_local.evaluation.scoring import BUDGETS
from idc_local.plots import Plot, PlotLine, Point

MEAN_SIZE = "mean chunk size (characters)"
BUDGET = "budget of ranked text (characters)"
FAVOURITE = "intent"
FEW = 4
"""More curves than this get no bands, which would only hide each other, save the favourite's and the baseline's."""


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
        for plot in _Pictures(
            retriever, kind, tuple(line for line in averaged if line.configuration.retriever == retriever)
        ).plots()
    ]


@dataclass(frozen=True, slots=True)
class _Pictures:
    """The plots of one retriever's lines."""

    retriever: str
    kind: str
    lines: tuple[Line, ...]

    def plots(self) -> list[Plot]:
        shown, first = SHOWN[self.kind], f"{self.kind}@{BUDGETS[0]}"
        targets = sorted({line.configuration.target for line in self.lines})
        middle = targets[(len(targets) - 1) // 2]
        return [
            Plot(
                f"{self.kind}_by_size_{self.retriever}",
                self._title(f"{shown.title} within {BUDGETS[0]} characters of ranked text"),
                MEAN_SIZE,
                shown.axis,
                self._curves(lambda line: line.mean_chars, first),
            ),
            Plot(
                f"r1_by_size_{self.retriever}",
                self._title("Questions whose first chunk is a right one, R@1"),
                MEAN_SIZE,
                "share of questions",
                self._curves(lambda line: line.mean_chars, "r@1"),
            ),
            Plot(
                f"coverage_by_chunks_{self.retriever}",
                self._title("Answers that lie whole in one chunk"),
                "chunks (number)",
                "share of answers",
                self._curves(lambda line: float(line.chunks), "coverage"),
            ),
            Plot(
                f"{self.kind}_by_budget_{self.retriever}",
                self._title(f"{shown.title} within a budget; target {middle}, mean size in brackets"),
                BUDGET,
                shown.axis,
                tuple(self._budgets(line) for line in self.lines if line.configuration.target == middle),
                x_log=True,
            ),
        ]

    def _title(self, text: str) -> str:
        banded = ", ".join(name for name in self._names() if self._has_band(name))
        return f"{text}\nretriever {self.retriever}; bands: 95 % intervals of {banded}, documents resampled"

    def _names(self) -> list[str]:
        return list(dict.fromkeys(line.configuration.strategy for line in self.lines))

    def _has_band(self, name: str) -> bool:
        baseline = {line.configuration.strategy for line in self.lines if line.difference is None}
        return len(self._names()) <= FEW or name == FAVOURITE or {name} == baseline

    def _curves(self, x: Callable[[Line], float], metric: str) -> tuple[PlotLine, ...]:
        return tuple(
            PlotLine(
                name,
                tuple(_point(x(line), line, metric) for line in self.lines if line.configuration.strategy == name),
                strong=name == FAVOURITE,
                band=self._has_band(name),
            )
            for name in self._names()
        )

    def _budgets(self, line: Line) -> PlotLine:
        name = line.configuration.strategy
        points = tuple(_point(float(budget), line, f"{self.kind}@{budget}") for budget in BUDGETS)
        return PlotLine(f"{name} ({line.mean_chars:.0f})", points, name == FAVOURITE, self._has_band(name))


def _point(x: float, line: Line, metric: str) -> Point:
    place = COLUMNS.index(metric)
    estimate = line.estimate
    return Point(x, float(estimate.mean[place]), float(estimate.low[place]), float(estimate.high[place]))
