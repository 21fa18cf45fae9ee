"""What the measuring scripts share: models, results kept between runs, the product's strategies and its peers.

Results of a set are kept by a key of everything that they depend on, the package's source included, so that a run
that was interrupted goes on where it stopped and a changed program never shows old figures.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from peers import PEERS, PeerInput

from idc_local.config import load_settings
from idc_local.datasets import Dataset, QaDocument, load_dataset, select_half
from idc_local.evalcache import EvaluationCache
from idc_local.evaluating import open_preparation
from idc_local.evaluation.grid import (
    Configuration,
    EvaluationOptions,
    Grid,
    SetFacts,
    SetResult,
    evaluate_spans,
    evaluate_strategies,
    facts_of,
)
from idc_local.evaluation.prepare import PreparedSet, prepare_set
from idc_local.evaluation.retrieval import build_retriever
from idc_local.netguard import seal_environment
from idc_local.pipeline import CutDocument, PipelinePorts
from idc_local.runtime import Runtime
from idc_local.types import FloatArray, Span

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("idc_local", "scripts")
READERS = ("evaluation_tables.py", "headline.py", "render_evaluation.py", "results.py")
"""Scripts that read results and measure nothing."""
Results = dict[Configuration, SetResult]
Row = dict[str, Any]
"""A row of a table, of plain numbers and text."""


@dataclass(frozen=True)
class Bench:
    """The models and folders of a run. kept: where results of sets are kept."""

    runtime: Runtime
    ports: PipelinePorts
    cache: EvaluationCache
    kept: Path
    source: str


def open_bench(models: Path | None, cache: Path, kept: Path) -> Bench:
    """The real models, with vectors and predicted questions cached in ``cache``."""
    seal_environment(os.environ)
    runtime = Runtime(load_settings({"models": models, "index": ROOT / "build" / "no-index"}))
    store = EvaluationCache(cache, runtime.embedder_files().fingerprint)
    kept.mkdir(parents=True, exist_ok=True)
    return Bench(runtime, runtime.pipeline_ports(store, "model"), store, kept, _source_digest())


def _source_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(path for folder in SOURCES for path in (ROOT / folder).rglob("*.py")):
        if path.parent.name != "scripts" or path.name not in READERS:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def prepare(bench: Bench, folder: Path, options: EvaluationOptions) -> PreparedSet:
    """The chosen half of a set with its vectors and intents."""
    dataset = select_half(load_dataset(folder), options.half)
    try:
        return prepare_set(dataset, open_preparation(bench.ports, options))
    finally:
        bench.cache.flush()


def peer_inputs(ports: PipelinePorts, documents: Sequence[CutDocument]) -> list[PeerInput]:
    """Documents as the peers get them."""
    inputs = []
    for document in documents:
        bounds = zip(document.sentences.starts.tolist(), document.sentences.ends.tolist(), strict=True)
        inputs.append(
            PeerInput(
                text=document.document.text,
                sentences=tuple(Span(start, end) for start, end in bounds),
                embed=partial(_embedded, ports, document.language),
                count=lambda text: int(ports.counter.count([text])[0]),
            )
        )
    return inputs


def _embedded(ports: PipelinePorts, language: str, texts: Sequence[str]) -> FloatArray:
    """float32 [len(texts), d]: vectors of sentences, or of anything else that a peer embeds."""
    return ports.embedder.encode_documents(texts, language).astype(np.float32)


def evaluate_peers(bench: Bench, prepared: PreparedSet, names: Sequence[str], options: EvaluationOptions) -> Results:
    """Peers at all sizes on one set, measured as the product's own strategies are."""
    retrievers = [build_retriever(name, options.weights) for name in options.retrievers]
    inputs = peer_inputs(bench.ports, prepared.documents)
    found: Results = {}
    for name in names:
        for size in options.sizes:
            spans = [PEERS[name](given, size) for given in inputs]
            measured = evaluate_spans(prepared, spans, retrievers, bench.ports.embedder.encode_sentences)
            found.update({Configuration(name, size, retriever): result for retriever, result in measured.items()})
        bench.cache.flush()
    return found


Measured = tuple[SetFacts, Results]


def measure(bench: Bench, folder: Path, options: EvaluationOptions, peers: Sequence[str]) -> Measured:
    """Strategies and peers on one set; from what is kept, where nothing changed."""

    def work() -> Measured:
        prepared = prepare(bench, folder, options)
        results = evaluate_strategies(prepared, options, lambda _: None)
        results |= evaluate_peers(bench, prepared, peers, options)
        return facts_of(prepared), results

    return kept(bench, folder, [asdict(options), list(peers)], work)


def kept(bench: Bench, folder: Path, key: object, work: Callable[[], Measured]) -> Measured:
    """What ``work`` measures on a set, or measured before with the same key and source."""
    place = _kept_at(bench, folder, key).with_suffix(".npz")
    if place.is_file():
        return load_results(place)
    began = time.monotonic()
    facts, results = work()
    save_results(place, facts, results)
    say(f"{folder.name}: {len(results)} results in {time.monotonic() - began:.0f} s")
    return facts, results


def kept_rows(bench: Bench, folder: Path, key: object, work: Callable[[], list[Row]]) -> list[Row]:
    """Rows that ``work`` makes of a set, or made before with the same key and source."""
    place = _kept_at(bench, folder, key).with_suffix(".json")
    if place.is_file():
        found: list[Row] = json.loads(place.read_text(encoding="utf-8"))
        return found
    began = time.monotonic()
    rows = work()
    partial = place.with_suffix(".part")
    partial.write_text(json.dumps(rows), encoding="utf-8")
    partial.replace(place)
    say(f"{folder.name}: {len(rows)} rows in {time.monotonic() - began:.0f} s")
    return rows


def _kept_at(bench: Bench, folder: Path, key: object) -> Path:
    """Where the results of a set for a key are kept, without a suffix."""
    content = json.dumps([bench.source, str(folder), key], default=str)
    return bench.kept / f"{folder.name}-{hashlib.sha256(content.encode()).hexdigest()[:24]}"


def save_results(place: Path, facts: SetFacts, results: Results) -> None:
    """Keeps the values of every question."""
    names = [asdict(configuration) for configuration in results]
    arrays: dict[str, Any] = {"about": np.array(json.dumps({"facts": asdict(facts), "configurations": names}))}
    for number, result in enumerate(results.values()):
        arrays |= {f"values{number}": result.values, f"chars{number}": result.chunk_chars, "groups": result.groups}
    partial = place.with_suffix(".part.npz")
    np.savez_compressed(partial, **arrays)
    partial.replace(place)


def load_results(place: Path) -> Measured:
    """What ``save_results`` kept."""
    with np.load(place, allow_pickle=False) as arrays:
        about = json.loads(str(arrays["about"]))
        results = {
            Configuration(**names): SetResult(arrays[f"values{number}"], arrays["groups"], arrays[f"chars{number}"])
            for number, names in enumerate(about["configurations"])
        }
    return SetFacts(**about["facts"]), results


def join(options: EvaluationOptions, measured: Sequence[Measured]) -> Grid:
    """One grid of several sets that were measured alike."""
    configurations = list(measured[0][1])
    return Grid(
        options,
        tuple(facts for facts, _ in measured),
        {configuration: tuple(results[configuration] for _, results in measured) for configuration in configurations},
    )


def renamed(results: Mapping[Configuration, SetResult], strategy: str) -> Results:
    """The same results as those of a strategy of another name."""
    return {replace(configuration, strategy=strategy): result for configuration, result in results.items()}


def timed(work: Callable[[], object]) -> float:
    """Seconds that ``work`` takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def opening(dataset: Dataset, characters: int) -> list[QaDocument]:
    """The first documents of a set, up to about so many characters."""
    chosen: list[QaDocument] = []
    for document in dataset.documents:
        if chosen and sum(len(entry.text) for entry in [*chosen, document]) > characters:
            break
        chosen.append(document)
    return chosen


def say(text: str) -> None:
    """Tells on stderr."""
    print(text, file=sys.stderr, flush=True)
