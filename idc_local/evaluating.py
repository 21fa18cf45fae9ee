"""Composes an evaluation: the runtime's models, a cache on disk or the vectors of an index, and the grid.

Layer 4, beside the runtime that it extends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from idc_local.config import Settings
from idc_local.datasets import load_dataset
from idc_local.embedding import check_embedder
from idc_local.evalcache import EvaluationCache
from idc_local.evaluation.grid import Configuration, EvaluationOptions, Grid, evaluate, evaluate_strategies, facts_of
from idc_local.evaluation.label_free import Corpus, prepare_corpus, read_corpus
from idc_local.evaluation.prepare import Preparation, PreparedSet
from idc_local.evaluation.report import verdict
from idc_local.memory import MemoryCache
from idc_local.pipeline import ChunkingOptions, Pipeline, PipelinePorts
from idc_local.ports import Progress
from idc_local.runtime import Runtime
from idc_local.store import Snapshot
from idc_local.types import FloatArray, Limits

AGREEMENT = (
    "on five sets with human questions this check ordered settings otherwise than people's questions did (rank "
    "correlation .14, docs/evaluation.md): no reason to change a setting by itself"
)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A finished grid. ``models`` names the embedder and, where intents were generated, the generator.

    facts: what else a reader has to know, one line each. of_index: True for the check without labels.
    """

    grid: Grid
    models: Mapping[str, str]
    facts: tuple[str, ...] = ()
    of_index: bool = False


def evaluate_sets(
    runtime: Runtime, folders: Sequence[Path], options: EvaluationOptions, cache: Path, progress: Progress
) -> Evaluation:
    """Strategies × sizes × retrievers on question sets.

    Raises:
        UsageError: the options name something unknown.
        InputError: a folder is no question set, or there is nothing to evaluate.
        ModelError: a model that is needed is missing or damaged.
    """
    options.check()
    datasets = [load_dataset(folder) for folder in folders]
    store = EvaluationCache(cache, runtime.embedder_files().fingerprint)
    ports = runtime.pipeline_ports(store, _generation(options.intents))
    try:
        grid = evaluate(datasets, options, open_preparation(ports, options), progress)
    finally:
        store.flush()
    return Evaluation(grid, _models(ports))


def open_preparation(ports: PipelinePorts, options: EvaluationOptions) -> Preparation:
    """How sets are prepared with these ports."""
    pipeline = split_only(ports, options.limits)
    return Preparation(
        cut=lambda document, intents: pipeline.cut(document, intents, embed=True),
        embedder=ports.embedder,
        intents=options.intents,
        seed=options.seed,
    )


def split_only(ports: PipelinePorts, limits: Limits) -> Pipeline:
    """A pipeline for its sentences, vectors and intents; it cuts by the cheapest strategy."""
    return Pipeline(ChunkingOptions(strategy="fixed", limits=limits), ports)


def evaluate_index(runtime: Runtime, options: EvaluationOptions, progress: Progress) -> Evaluation:
    """Strategies × sizes × retrievers on the index itself, by its own held-out questions.

    The strategy and size of the settings are always among them, and what they are compared with in the verdict.

    Raises:
        StoreError: there is no index, or it is damaged.
        InputError: the index is empty, or holds no predicted questions.
    """
    options = _with_settings(options, runtime.settings)
    options.check()
    with Snapshot.open(runtime.settings.index) as snapshot:
        corpus = read_corpus(snapshot, options.seed)
        ports = runtime.pipeline_ports(KnownVectors(corpus.vectors), "off")
        check_embedder(snapshot.fingerprint, runtime.embedder_files(), runtime.settings.index)
        pipeline = split_only(ports, options.limits)
        prepared, windows = prepare_corpus(
            snapshot.document,
            corpus,
            lambda document, intents: pipeline.cut(document, intents, embed=True),
            ports.embedder,
            options.seed,
        )
    progress.start("index", len(options.strategies) * len(options.sizes), "cuts")
    found = evaluate_strategies(prepared, options, lambda name: progress.advance(1, name))
    progress.finish()
    grid = Grid(options, (facts_of(prepared),), {configuration: (result,) for configuration, result in found.items()})
    facts = _facts(prepared, corpus, windows)
    retriever = "default" if "default" in options.retrievers else options.retrievers[0]
    facts.append(verdict(grid, Configuration(runtime.settings.strategy, runtime.settings.target_chars, retriever)))
    return Evaluation(grid, _models(ports), tuple(facts), of_index=True)


def _with_settings(options: EvaluationOptions, settings: Settings) -> EvaluationOptions:
    """The options with the strategy and the size of the settings among what is compared."""
    return replace(
        options,
        strategies=tuple(dict.fromkeys((*options.strategies, settings.strategy))),
        sizes=tuple(sorted({*options.sizes, settings.target_chars})),
    )


def _facts(prepared: PreparedSet, corpus: Corpus, windows: int) -> list[str]:
    """What was asked, and what makes it weaker than it looks."""
    asked, documents = len(prepared.gold), len(corpus.documents)
    facts = [f"{asked} predicted questions from {windows} held-out windows of {documents} documents", AGREEMENT]
    without_model = sum(intent.origin != "model" for document in corpus.documents for intent in document.intents)
    if without_model:
        told = "of the index's questions were made without a model, from headings and definitions"
        facts.append(f"{without_model} {told}")
    if len(corpus.documents) < corpus.of_documents:
        facts.append(f"a sample: the index has {corpus.of_documents} documents")
    return facts


def _generation(intents: str) -> str:
    """What is generated for a mode of evaluation."""
    return {"shuffled": "model", "gold-half": "off"}.get(intents, intents)


def _models(ports: PipelinePorts) -> dict[str, str]:
    generator = {"generator": ports.generator_fingerprint} if ports.generator_fingerprint else {}
    return {"embedder": ports.embedder_fingerprint} | generator


class KnownVectors(MemoryCache):
    """The cache of one process, beginning with known vectors."""

    def __init__(self, vectors: Mapping[str, tuple[FloatArray, bytes]]) -> None:
        super().__init__()
        self._vectors.update((key, vector.astype(np.float16)) for key, (vector, _) in vectors.items())
        self._codes.update((key, codes) for key, (_, codes) in vectors.items())
