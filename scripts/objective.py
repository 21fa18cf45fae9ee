"""The published objective over its three parameters: how long its chunks are, and what they are worth.

Without post-processing, and with the limits of the product, on one set with predicted intents and the published way of
ranking. Fixed chunks of the same mean size stand beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path

import numpy as np
from measuring import Bench, Row, kept_rows, prepare

from idc_local.evaluation.cuts import segment
from idc_local.evaluation.grid import COLUMNS, HEADLINE, Configuration, EvaluationOptions, evaluate_strategies
from idc_local.evaluation.prepare import PreparedSet
from idc_local.evaluation.statistics import Curve
from idc_local.plots import Plot, PlotLine, Point
from idc_local.segment import PaperParams, StrategyOptions

BETAS = (0.1, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25)
OTHERS = ((0.0005, 15), (0.0005, 10), (0.005, 15), (0.02, 15))
"""λ and L that each β is tried with; the paper's are the first two."""
FIXED_SIZES = (100, 200, 400, 600, 800, 1200, 1800)


def objective_rows(bench: Bench, folder: Path, options: EvaluationOptions) -> list[Row]:
    """A row for each λ, L and β."""

    def work() -> list[Row]:
        prepared = prepare(bench, folder, options)
        fixed = _fixed(prepared, options)
        return [
            _row(prepared, options, fixed, PaperParams(lam, beta, most, postprocess=False))
            for (lam, most), beta in product(OTHERS, BETAS)
        ]

    return kept_rows(bench, folder, ["objective", asdict(options), OTHERS, BETAS, FIXED_SIZES], work)


def _fixed(prepared: PreparedSet, options: EvaluationOptions) -> Curve:
    one = replace(options, strategies=("fixed",), sizes=FIXED_SIZES, retrievers=("paper",))
    found = sorted(
        (
            (float(result.chunk_chars.mean()), result.values)
            for result in evaluate_strategies(prepared, one, lambda _: None).values()
        ),
        key=lambda entry: entry[0],
    )
    return Curve(tuple(size for size, _ in found), tuple(values for _, values in found))


def _row(prepared: PreparedSet, options: EvaluationOptions, fixed: Curve, params: PaperParams) -> Row:
    cutting = StrategyOptions(objective="paper", paper=params)
    size = options.limits.target_chars
    one = replace(options, strategies=("intent",), sizes=(size,), retrievers=("paper",), cutting=cutting)
    result = evaluate_strategies(prepared, one, lambda _: None)[Configuration("intent", size, "paper")]
    cuts = [segment(document, "intent", one.limits, cutting) for document in prepared.documents]
    lengths = np.concatenate([cut.ranges[:, 1] - cut.ranges[:, 0] for cut in cuts])
    mean = float(result.chunk_chars.mean())
    same = fixed.at(mean).mean(axis=0)
    row: Row = {
        "lambda": params.lam,
        "L": params.max_sentences,
        "beta": params.beta,
        "chunks": int(lengths.size),
        "sentences_mean": float(lengths.mean()),
        "sentences_p95": float(np.quantile(lengths, 0.95)),
        "mean_chars": mean,
    }
    for metric in (HEADLINE, "r@1"):
        row |= {
            metric: float(result.values[:, COLUMNS.index(metric)].mean()),
            f"fixed_{metric}": float(same[COLUMNS.index(metric)]),
        }
    return row


def objective_plot(rows: Sequence[Row]) -> Plot:
    """Mean length against β."""
    lines = []
    for lam, most in OTHERS:
        own = [row for row in rows if (row["lambda"], row["L"]) == (lam, most)]
        points = tuple(Point(float(row["beta"]), *[float(row["sentences_mean"])] * 3) for row in own)
        lines.append(PlotLine(f"λ = {lam}, L = {most}", points, strong=(lam, most) == OTHERS[0], band=False))
    title = "The published objective: how long its chunks are, by what a cut costs"
    return Plot("paper_objective", title, "β, cost of a cut", "sentences in a chunk (mean)", tuple(lines))
