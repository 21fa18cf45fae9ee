"""The product as it ships against every other way of cutting: each rival at its one best size, ranked as published.

Rivals are chosen on the very questions that they are reported on, which favours them; the product's settings are fixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from idc_local.evaluation.grid import COLUMNS, HEADLINE, Configuration, Grid
from idc_local.evaluation.statistics import Estimate, macro_estimate

Row = dict[str, float | int | str | bool]
SIZE_LIMIT = 1.15
"""R@1 rewards large chunks: rivals may have this many times the product's mean size."""
SAME_SIZE = (HEADLINE, "r@1", "r@5", "mrr")
"""What is compared at equal mean size."""
SEED = 0


def mean_size(grid: Grid, configuration: Configuration) -> float:
    """Characters of a chunk, the mean over sets of the mean over chunks."""
    return float(np.mean([result.chunk_chars.mean() for result in grid.results[configuration]]))


def mean_of(grid: Grid, configuration: Configuration, metric: str) -> float:
    """The mean over sets of the mean over questions."""
    column = COLUMNS.index(metric)
    return float(np.mean([result.values[:, column].mean() for result in grid.results[configuration]]))


def ahead(grid: Grid, first: Configuration, second: Configuration, metric: str, sets: Sequence[int]) -> Estimate:
    """``first`` - ``second`` over the sets at these places, paired, with its interval."""
    column = COLUMNS.index(metric)
    pairs = [(grid.results[first][place], grid.results[second][place]) for place in sets]
    return macro_estimate(
        [(one.values[:, [column]] - other.values[:, [column]], one.groups) for one, other in pairs], SEED
    )


def best_sizes(grid: Grid, ours: Configuration, metric: str, most: float) -> list[Configuration]:
    """Each rival at the size, of at most ``most`` mean characters, that is best for it over all sets; best first."""
    fitting = [
        configuration
        for configuration in grid.results
        if configuration.retriever == "paper"
        and configuration.strategy != ours.strategy
        and mean_size(grid, configuration) <= most
    ]
    best: dict[str, Configuration] = {}
    for configuration in sorted(fitting, key=lambda one: -mean_of(grid, one, metric)):
        best.setdefault(configuration.strategy, configuration)
    return list(best.values())


def rival_rows(grid: Grid, ours: Configuration) -> list[Row]:
    """A row for each metric and rival: both values, the difference and its interval, and sets that are clearly lost."""
    rows = []
    for metric, most in ((HEADLINE, float("inf")), ("r@1", SIZE_LIMIT * mean_size(grid, ours))):
        for rival in best_sizes(grid, ours, metric, most):
            rows.append(_rival_row(grid, ours, rival, metric))
    return rows


def same_size_rows(grid: Grid, ours: Configuration) -> list[Row]:
    """Ours against every other way of cutting with each ranking, at equal mean size on each set.

    same_size: whether the other's chunks come to that size on every set; where not, its nearest point stands in.
    """
    rivals = dict.fromkeys((one.strategy, one.retriever) for one in grid.results if one.strategy != ours.strategy)
    return [
        row for strategy, retriever in rivals for row in _same_size(grid, replace(ours, retriever=retriever), strategy)
    ]


def _same_size(grid: Grid, ours: Configuration, strategy: str) -> Iterable[Row]:
    pairs, others, reached = [], [], []
    for place, result in enumerate(grid.results[ours]):
        curve, size = grid.curve(strategy, ours.retriever, place), float(result.chunk_chars.mean())
        others.append(curve.at(size))
        reached.append(curve.reaches(size))
        pairs.append((result.values - others[-1], result.groups))
    found = macro_estimate(pairs, SEED)
    for metric in SAME_SIZE:
        column = COLUMNS.index(metric)
        yield {
            "retriever": ours.retriever,
            "rival": strategy,
            "metric": metric,
            "rival_value": float(np.mean([values[:, column].mean() for values in others])),
            "ours": mean_of(grid, ours, metric),
            "ahead": float(found.mean[column]),
            "low": float(found.low[column]),
            "high": float(found.high[column]),
            "same_size": all(reached),
        }


def _rival_row(grid: Grid, ours: Configuration, rival: Configuration, metric: str) -> Row:
    everywhere = range(len(grid.sets))
    found = ahead(grid, ours, rival, metric, everywhere)
    return {
        "metric": metric,
        "rival": rival.strategy,
        "target": rival.target,
        "mean_chars": mean_size(grid, rival),
        "rival_value": mean_of(grid, rival, metric),
        "ours": mean_of(grid, ours, metric),
        "ahead": float(found.mean[0]),
        "low": float(found.low[0]),
        "high": float(found.high[0]),
        "sets_lost": " ".join(_lost(grid, ours, rival, metric, everywhere)) or "none",
    }


def _lost(grid: Grid, ours: Configuration, rival: Configuration, metric: str, places: Iterable[int]) -> Iterable[str]:
    """Names of the sets where the rival is ahead with an interval that excludes 0."""
    for place in places:
        if ahead(grid, ours, rival, metric, [place]).high[0] < 0:
            yield grid.sets[place].name
