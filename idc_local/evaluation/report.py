"""What a grid of results says: means with intervals, differences from the baseline at equal size, and warnings.

Pure: the same grid gives the same report, to the byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from idc_local.evaluation.grid import COLUMNS, HEADLINE, Configuration, Grid, SetResult
from idc_local.evaluation.statistics import REPLICATES, Estimate, Values, macro_estimate

MACRO = "macro"
FEW = 8
"""Fewer resampled documents than this give an interval that is itself unsure."""
SHOWN = ("headline", "r@1", "mrr", "coverage")


@dataclass(frozen=True, slots=True)
class Difference:
    """Paired difference from the baseline. ``same_size``: its curve reaches the size; else its nearest point stands."""

    estimate: Estimate
    same_size: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One configuration on one set, or averaged over all of them (``macro``).

    chunks: in total. mean_chars, p95_chars: of a chunk; averaged over sets for ``macro``.
    """

    set: str
    configuration: Configuration
    chunks: int
    mean_chars: float
    p95_chars: float
    estimate: Estimate
    difference: Difference | None

    @property
    def baseline(self) -> bool:
        """True where there is nothing to compare with."""
        return self.difference is None


def build_lines(grid: Grid) -> list[Line]:
    """A line for every configuration, macro averages first, then set by set."""
    everything = range(len(grid.sets))
    lines = [_line(grid, configuration, MACRO, everything) for configuration in grid.results]
    for place in everything:
        name = grid.sets[place].name
        lines += [_line(grid, configuration, name, [place]) for configuration in grid.results]
    return lines


def _line(grid: Grid, configuration: Configuration, name: str, places: Sequence[int]) -> Line:
    results = [grid.results[configuration][place] for place in places]
    seed = grid.options.seed
    return Line(
        set=name,
        configuration=configuration,
        chunks=sum(result.chunk_chars.size for result in results),
        mean_chars=float(np.mean([result.chunk_chars.mean() for result in results])),
        p95_chars=float(np.mean([np.percentile(result.chunk_chars, 95) for result in results])),
        estimate=macro_estimate([(result.values, result.groups) for result in results], seed),
        difference=_difference(grid, configuration, places, results),
    )


def _difference(
    grid: Grid, configuration: Configuration, places: Sequence[int], results: Sequence[SetResult]
) -> Difference | None:
    """Against the baseline: another retriever on the same chunks, or a strategy at the same size."""
    baseline = grid.options.baseline
    if baseline in (configuration.strategy, configuration.retriever):
        return None
    ranked = grid.results.get(replace(configuration, retriever=baseline))
    if ranked is not None:
        others = [(ranked[place].values, True) for place in places]
    elif any(known.strategy == baseline for known in grid.results):
        others = [_at_size_of(grid, configuration, place) for place in places]
    else:
        return None
    pairs = [(own.values - values, own.groups) for own, (values, _) in zip(results, others, strict=True)]
    return Difference(macro_estimate(pairs, grid.options.seed), all(same_size for _, same_size in others))


def _at_size_of(grid: Grid, configuration: Configuration, place: int) -> tuple[Values, bool]:
    """The baseline's curve, read at the size that the configuration's chunks really have, and whether it gets there."""
    curve = grid.curve(grid.options.baseline, configuration.retriever, place)
    size = float(grid.results[configuration][place].chunk_chars.mean())
    return curve.at(size), curve.reaches(size)


def build_warnings(grid: Grid) -> list[str]:
    """What a reader of the figures has to know."""
    column = COLUMNS.index(HEADLINE)
    found = []
    for place, facts in enumerate(grid.sets):
        results = [entry[place] for entry in grid.results.values()]
        if all(not result.values[:, : column + 1].any() for result in results):
            found.append(
                f"{facts.name}: every result is zero: no answer lies inside any chunk, or nothing is ever found"
            )
        groups = int(results[0].groups.max()) + 1
        if facts.documents == 1:
            found.append(f"{facts.name}: a single document, so its intervals say nothing about other documents")
        elif groups < FEW:
            found.append(
                f"{facts.name}: only {groups} documents with questions, so its intervals are themselves unsure"
            )
    if grid.options.intents == "gold-half":
        found.append("intents are human questions on the same documents: an upper bound, not a result")
    if grid.options.intents == "shuffled":
        found.append("intents are those of other documents: a control")
    if grid.options.half == "all":
        found.append("both halves were used: tune on --half tune and quote only --half report")
    return found


def report_value(grid: Grid, models: Mapping[str, str], facts: Sequence[str]) -> dict[str, Any]:
    """The whole report as one JSON value; ``facts`` is what else a reader has to know."""
    options = grid.options
    return {
        "protocol": {
            **models,
            "half": options.half,
            "intents": options.intents,
            "objective": options.cutting.objective,
            "baseline": options.baseline,
            "seed": options.seed,
            "bootstrap": {"replicates": REPLICATES, "level": 0.95, "unit": "document"},
        },
        "sets": [asdict(facts) for facts in grid.sets],
        "results": [line_value(line) for line in build_lines(grid)],
        "facts": list(facts),
        "warnings": build_warnings(grid),
    }


def line_value(line: Line) -> dict[str, Any]:
    """A line as JSON."""
    return {
        "set": line.set,
        "strategy": line.configuration.strategy,
        "target": line.configuration.target,
        "retriever": line.configuration.retriever,
        "chunks": line.chunks,
        "mean_chars": round(line.mean_chars, 1),
        "p95_chars": round(line.p95_chars, 1),
        "metrics": _metrics_value(line.estimate),
        "difference": _difference_value(line.difference),
    }


def _difference_value(difference: Difference | None) -> dict[str, Any] | None:
    if difference is None:
        return None
    return {"same_size": difference.same_size, "metrics": _metrics_value(difference.estimate)}


def _metrics_value(estimate: Estimate) -> dict[str, dict[str, float]]:
    bounds = (("mean", estimate.mean), ("low", estimate.low), ("high", estimate.high))
    return {
        name: {bound: round(float(values[place]), 6) + 0.0 for bound, values in bounds}
        for place, name in enumerate(COLUMNS)
    }


def verdict(grid: Grid, own: Configuration) -> str:
    """Whether another configuration of ``own``'s retriever is surely better, on a grid of one set."""
    column = COLUMNS.index(HEADLINE)
    rivals = {known: entry[0] for known, entry in grid.results.items() if known.retriever == own.retriever}
    best = max(rivals, key=lambda known: (float(rivals[known].values[:, column].mean()), known == own))
    mine = f"{own.strategy} at {own.target} characters"
    if best == own:
        return f"nothing among {len(rivals)} ways did better than {mine}"
    difference = rivals[best].values - rivals[own].values
    found = macro_estimate([(difference, rivals[own].groups)], grid.options.seed)
    mean, low, high = (float(bound[column]) for bound in (found.mean, found.low, found.high))
    figures = f"{best.strategy} at {best.target} against {mine}: {mean:+.3f} [{low:+.3f}, {high:+.3f}]"
    if low > 0:
        return f"{figures}: better, though picked as the best of {len(rivals)}, which flatters it"
    return f"{figures}: not sure, the interval holds 0, and it was picked as the best of {len(rivals)}"
