"""Strategies × sizes × retrievers over question sets: every question's value, and what may be concluded from them.

A use case: takes ports, returns a report, never prints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from idc_local.datasets import Dataset, Half, select_half
from idc_local.errors import InputError, UsageError
from idc_local.evaluation.cuts import EmbedTexts, index_segmentations, index_spans, segment
from idc_local.evaluation.prepare import INTENT_MODES, Preparation, PreparedSet, prepare_set
from idc_local.evaluation.retrieval import RETRIEVERS, ChunkIndex, Retriever, build_retriever, rank_all, score_all
from idc_local.evaluation.scoring import METRICS, judge, score_question
from idc_local.evaluation.statistics import Curve, Values, groups_of
from idc_local.ports import Progress
from idc_local.ranking import RankingWeights
from idc_local.segment import OBJECTIVES, StrategyOptions
from idc_local.strategies import STRATEGIES
from idc_local.types import IntArray, Limits, Span

HEADLINE = "headline"
COLUMNS = (*METRICS, HEADLINE)
"""Columns of ``SetResult.values``; the last repeats the one that the set is summed up by."""
SIZES = (400, 700, 1000, 1400)


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """What is compared. Sizes are targets in characters; ``baseline`` is what the others are set against.

    baseline: a strategy, or a retriever, which others are then set against with the same chunks.
    cutting: options of the strategies. weights: those of ``search``, for the ``default`` retriever.
    """

    strategies: tuple[str, ...] = tuple(STRATEGIES)
    sizes: tuple[int, ...] = SIZES
    retrievers: tuple[str, ...] = ("paper", "default")
    intents: str = "off"
    half: Half = "all"
    seed: int = 0
    baseline: str = "fixed"
    limits: Limits = field(default_factory=Limits)
    cutting: StrategyOptions = field(default_factory=StrategyOptions)
    weights: RankingWeights = field(default_factory=RankingWeights)

    def check(self) -> None:
        """Refuses what cannot be evaluated.

        Raises:
            UsageError: a name is unknown, a list empty, or a size impossible.
        """
        _check_names("strategy", self.strategies, tuple(STRATEGIES))
        _check_names("baseline", (self.baseline,), (*STRATEGIES, *RETRIEVERS))
        _check_names("retriever", self.retrievers, RETRIEVERS)
        _check_names("intents", (self.intents,), INTENT_MODES)
        _check_names("objective", (self.cutting.objective,), OBJECTIVES)
        if not self.sizes or min(self.sizes) < 50 or max(self.sizes) > self.limits.max_chars:
            raise UsageError(
                f"sizes must lie between 50 and {self.limits.max_chars} characters",
                hint="give --sizes 400,700,1000,1400, or raise max_chars in the settings",
            )


def _check_names(kind: str, given: Sequence[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise UsageError(f"unknown {kind} {name!r}", hint=f"choose among {', '.join(known)}")
    if not given:
        raise UsageError(f"no {kind} to evaluate", hint=f"choose among {', '.join(known)}")


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way to cut and rank: ``target`` in characters."""

    strategy: str
    target: int
    retriever: str


@dataclass(frozen=True, slots=True)
class SetResult:
    """One configuration on one set.

    values: float64 [questions, COLUMNS]. groups: int64 [questions], the units of resampling. chunk_chars: int64
    [chunks], sizes in code points.
    """

    values: Values
    groups: IntArray
    chunk_chars: IntArray


@dataclass(frozen=True, slots=True)
class SetFacts:
    """What a report says of a set. headline: the metric that it is summed up by."""

    name: str
    language: str
    documents: int
    questions: int
    answers: str
    scope: str
    headline: str


def facts_of(prepared: PreparedSet) -> SetFacts:
    """The facts of a prepared set."""
    dataset = prepared.dataset
    return SetFacts(
        name=dataset.name,
        language=dataset.language,
        documents=len(dataset.documents),
        questions=len(dataset.questions),
        answers=dataset.answers,
        scope=dataset.scope,
        headline=prepared.headline,
    )


@dataclass(frozen=True, slots=True)
class Grid:
    """Results of all configurations, one for each of the sets."""

    options: EvaluationOptions
    sets: tuple[SetFacts, ...]
    results: Mapping[Configuration, tuple[SetResult, ...]]

    def curve(self, strategy: str, retriever: str, place: int) -> Curve:
        """A strategy's results on the set at ``place``, by ascending mean size."""
        found = [
            (float(results[place].chunk_chars.mean()), configuration.target, results[place].values)
            for configuration, results in self.results.items()
            if (configuration.strategy, configuration.retriever) == (strategy, retriever)
        ]
        found.sort(key=lambda entry: entry[:2])
        return Curve(tuple(size for size, _, _ in found), tuple(values for _, _, values in found))


def evaluate(
    datasets: Sequence[Dataset], options: EvaluationOptions, preparation: Preparation, progress: Progress
) -> Grid:
    """Every configuration on the chosen half of every set.

    Raises:
        UsageError: the options name something unknown.
        InputError: there is nothing to evaluate.
    """
    options.check()
    if not datasets:
        raise InputError("no question set given, nothing to evaluate", hint="name one or more folders")
    names = [dataset.name for dataset in datasets]
    if len(set(names)) < len(names):
        raise InputError(f"two sets are called {max(names, key=names.count)!r}", hint="give each set once")
    halves = [select_half(dataset, options.half) for dataset in datasets]
    facts, results = [], []
    for half in halves:
        progress.start(half.name, len(options.strategies) * len(options.sizes), "cuts")
        ready = prepare_set(half, preparation)
        facts.append(facts_of(ready))
        results.append(evaluate_strategies(ready, options, lambda name: progress.advance(1, name)))
        progress.finish()
    return Grid(
        options,
        tuple(facts),
        {configuration: tuple(part[configuration] for part in results) for configuration in results[0]},
    )


def evaluate_strategies(
    prepared: PreparedSet, options: EvaluationOptions, done: Callable[[str], None]
) -> dict[Configuration, SetResult]:
    """All strategies at all sizes on one set; ``done`` is told each strategy after each of its sizes."""
    retrievers = [build_retriever(name, options.weights) for name in options.retrievers]
    found: dict[Configuration, SetResult] = {}
    for strategy in options.strategies:
        for target in options.sizes:
            limits = replace(options.limits, target_chars=target)
            cuts = [segment(document, strategy, limits, options.cutting) for document in prepared.documents]
            index = index_segmentations(prepared, cuts)
            for name, result in evaluate_index(prepared, index, retrievers).items():
                found[Configuration(strategy, target, name)] = result
            done(strategy)
    return found


def evaluate_spans(
    prepared: PreparedSet, spans: Sequence[Sequence[Span]], retrievers: Sequence[Retriever], embed: EmbedTexts
) -> dict[str, SetResult]:
    """Chunks that came from anywhere, as spans of each document of the set, measured as the product's own are.

    Args:
        prepared: the set.
        spans: for each of its documents the spans of its chunks, in code points.
        retrievers: how to rank them.
        embed: embeds the parts of sentences that the spans cut off.

    Returns:
        A result for each retriever's name.

    Raises:
        InputError: a span lies outside its document, or there is none at all.
    """
    compared, index = index_spans(prepared, spans, embed)
    return evaluate_index(compared, index, retrievers)


def evaluate_index(prepared: PreparedSet, index: ChunkIndex, retrievers: Sequence[Retriever]) -> dict[str, SetResult]:
    """All questions of a set asked of one index, for each retriever's name."""
    weights = next((retriever.weights for retriever in retrievers if not retriever.plain), RankingWeights())
    scores = score_all(prepared.asked, index, weights)
    groups = groups_of(prepared.question_documents)
    sizes = index.passages.ends - index.passages.starts
    headline = METRICS.index(prepared.headline)
    judgements = judge(index.passages, prepared.gold)
    found = {}
    for retriever in retrievers:
        rankings = rank_all(prepared.asked, index, scores, retriever)
        rows = [
            score_question(ranking, index.passages, gold, judgement, prepared.inks)
            for ranking, gold, judgement in zip(rankings, prepared.gold, judgements, strict=True)
        ]
        values = np.array(rows, dtype=np.float64)
        found[retriever.name] = SetResult(np.column_stack([values, values[:, headline]]), groups, sizes)
    return found
