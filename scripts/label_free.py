"""How well the check without labels agrees with human questions about the same documents.

For each set: all configurations are judged twice, by held-out predicted questions (as ``eval --corpus`` does) and by
the set's human questions. Spearman's rank correlation says whether both order the configurations alike; the regret
what it costs to take the one that the check without labels likes best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from measuring import Bench, Results, Row, kept_rows, measure, prepare

from idc_local.evaluating import open_preparation
from idc_local.evaluation.grid import COLUMNS, Configuration, EvaluationOptions, SetResult, evaluate_strategies
from idc_local.evaluation.label_free import Corpus, StoredDocument, prepare_corpus
from idc_local.evaluation.prepare import PreparedSet
from idc_local.strategies import STRATEGIES

RETRIEVER = "default"
SCORES = ("headline", "r@1", "mrr")
SEED = 0


def label_free_rows(
    bench: Bench, folders: Sequence[Path], options: EvaluationOptions, peers: Sequence[str]
) -> list[Row]:
    """A row for each set, and one of their averages; ``options`` and ``peers`` are those of the main table."""
    rows = []
    for folder in folders:
        key = ["label free", asdict(options), list(peers)]
        rows += kept_rows(bench, folder, key, lambda folder=folder: [_row(bench, folder, options, peers)])  # type: ignore[misc]
    numbers = [name for name in rows[0] if name != "set"]
    average: Row = {"set": "average"}
    average.update((name, float(np.mean([float(row[name]) for row in rows]))) for name in numbers)
    return [*rows, average]


def _row(bench: Bench, folder: Path, options: EvaluationOptions, peers: Sequence[str]) -> Row:
    judged = _own(measure(bench, folder, options, peers)[1])
    options = replace(options, retrievers=(RETRIEVER,))
    human = prepare(bench, folder, options)
    free, windows = _without_labels(bench, human, options)
    guessed = evaluate_strategies(free, options, lambda _: None)
    row: Row = {"set": folder.name, "human": len(human.gold), "predicted": len(free.gold), "windows": windows}
    row |= {f"rho_{score}": spearman(_means(guessed, score), _means(judged, score)) for score in SCORES}
    return row | _regret(judged, guessed, options)


def _own(measured: Results) -> Results:
    """Of the main table's results those of the product's own strategies, ranked as ``search`` does."""
    return {
        configuration: result
        for configuration, result in measured.items()
        if configuration.strategy in STRATEGIES and configuration.retriever == RETRIEVER
    }


def _without_labels(bench: Bench, human: PreparedSet, options: EvaluationOptions) -> tuple[PreparedSet, int]:
    documents = {cut.document.id: cut.document for cut in human.documents}
    stored = tuple(
        StoredDocument(cut.document.id, cut.document.path, cut.predicted.intents, cut.predicted.vectors)
        for cut in human.documents
    )
    preparation = open_preparation(bench.ports, options)
    corpus = Corpus(stored, {}, len(stored))
    return prepare_corpus(documents.__getitem__, corpus, preparation.cut, preparation.embedder, SEED)


def _means(results: Mapping[Configuration, SetResult], score: str) -> npt.NDArray[np.float64]:
    column = COLUMNS.index(score)
    return np.array([result.values[:, column].mean() for result in results.values()])


def _regret(
    judged: Mapping[Configuration, SetResult], guessed: Mapping[Configuration, SetResult], options: EvaluationOptions
) -> Row:
    """Human headline of the configuration picked without labels, of the default, and of the best."""
    human, free = _means(judged, "headline"), _means(guessed, "headline")
    default = next(
        place
        for place, configuration in enumerate(judged)
        if (configuration.strategy, configuration.target) == ("intent", options.limits.target_chars)
    )
    return {"picked": float(human[int(free.argmax())]), "default": float(human[default]), "best": float(human.max())}


def spearman(left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]) -> float:
    """Spearman's rank correlation, equal values sharing their mean rank; 0 where one side does not vary."""
    ranks = [_ranks(values) for values in (left, right)]
    if min(rank.std() for rank in ranks) == 0.0:
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    _, inverse, counts = np.unique(np.round(values, 9), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means: npt.NDArray[np.float64] = (last - (counts - 1) / 2.0)[inverse]
    return means
