"""Chunkers side by side: the product's strategies and other projects', quality and seconds in one run.

Same text, same sentence vectors, same retriever, same target sizes; differences are paired and taken at equal mean
size. Run it through scripts/bench, which makes the environment that holds the peers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from measuring import ROOT, Bench, join, measure, open_bench, opening, peer_inputs, say, timed
from peers import PEERS

from idc_local.cli.evaluate import flat
from idc_local.cli.output import markdown_lines
from idc_local.config import default_cache_folder
from idc_local.datasets import Dataset, load_dataset
from idc_local.evaluation.grid import SIZES, EvaluationOptions
from idc_local.evaluation.prepare import read_document
from idc_local.evaluation.report import report_value
from idc_local.memory import MemoryCache
from idc_local.pipeline import ChunkingOptions, CutDocument, Pipeline
from idc_local.strategies import STRATEGIES
from idc_local.types import Document, Limits, Span

COLUMNS = (
    "strategy", "target", "chunks", "mean_chars", "headline", "headline_low", "headline_high", "r@1", "mrr",
    "coverage", "headline_diff", "headline_diff_low", "headline_diff_high", "seconds", "seconds_cutting",
)  # fmt: skip
TIMED_CHARS = 60_000
TIMED_SIZE = 700
WARM_UP = "This loads the library. It is of no other use."
Seconds = dict[str, tuple[float, float]]
"""For each chunker, seconds in all and seconds without embedding."""


def measure_seconds(bench: Bench, dataset: Dataset, peers: Sequence[str]) -> Seconds:
    """Seconds to cut the set's first TIMED_CHARS characters into chunks of TIMED_SIZE, nothing from a cache.

    The product's strategies are charged with splitting sentences, and those that need vectors with embedding them;
    peers get their sentences for nothing. What a peer takes the second time, with its vectors known, is not embedding.
    """
    documents = [read_document(dataset, entry) for entry in opening(dataset, TIMED_CHARS)]
    bench.runtime.pipeline_ports(MemoryCache(), "off").embedder.encode_documents([WARM_UP], "en")
    found = {name: _own_seconds(bench, name, documents) for name in STRATEGIES}
    split = Pipeline(ChunkingOptions(strategy="fixed"), bench.runtime.pipeline_ports(MemoryCache(), "off"))
    cut = [split.cut(document, "off", embed=False) for document in documents]
    return found | {name: _peer_seconds(bench, name, cut) for name in peers}


def _own_seconds(bench: Bench, name: str, documents: Sequence[Document]) -> tuple[float, float]:
    options = ChunkingOptions(strategy=name, intents="off", limits=Limits(target_chars=TIMED_SIZE))
    pipeline = Pipeline(options, bench.runtime.pipeline_ports(MemoryCache(), "off"))
    total = timed(lambda: [pipeline.cut(document, "off", embed=options.needs_vectors) for document in documents])
    return total, total - pipeline.seconds.get("embedding", 0.0)


def _peer_seconds(bench: Bench, name: str, documents: Sequence[CutDocument]) -> tuple[float, float]:
    inputs = peer_inputs(bench.runtime.pipeline_ports(MemoryCache(), "off"), documents)
    PEERS[name](replace(inputs[0], text=WARM_UP, sentences=(Span(0, len(WARM_UP)),)), TIMED_SIZE)  # imports its library
    return timed(lambda: _cut(name, inputs)), timed(lambda: _cut(name, inputs))


def _cut(name: str, inputs: Sequence[Any]) -> None:
    for given in inputs:
        PEERS[name](given, TIMED_SIZE)


def side_by_side(value: dict[str, Any], seconds: Seconds) -> list[dict[str, Any]]:
    """Macro averages as rows, with the seconds of each chunker."""
    rows = []
    for line in value["results"]:
        if line["set"] == "macro":
            total, cutting = seconds.get(line["strategy"], (None, None))
            rows.append(flat(line) | {"seconds": total, "seconds_cutting": cutting})
    return rows


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    """A row with three decimals, sizes with none."""
    return {
        key: round(value) if key == "mean_chars" else round(value, 3) if isinstance(value, float) else value
        for key, value in row.items()
    }


def arguments() -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", type=Path, help="question set folders")
    parser.add_argument("--half", choices=("tune", "report", "all"), default="tune")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--retrievers", default="paper")
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--models", type=Path, default=ROOT / "models")
    parser.add_argument("--cache", type=Path, default=default_cache_folder() / "evaluation")
    parser.add_argument("--json", type=Path, help="write the whole report there")
    return parser.parse_args()


def main() -> None:
    """Measures, and prints a Markdown table for each retriever."""
    given = arguments()
    peers = given.peers.split(",") if given.peers else []
    options = EvaluationOptions(
        strategies=tuple(given.strategies.split(",")),
        sizes=tuple(int(size) for size in given.sizes.split(",")),
        retrievers=tuple(given.retrievers.split(",")),
        half=given.half,
    )
    options.check()
    bench = open_bench(given.models, given.cache, ROOT / "build" / "evaluation")
    grid = join(options, [measure(bench, folder, options, peers) for folder in given.data])
    say(f"timing {TIMED_CHARS} characters at {TIMED_SIZE}")
    seconds = measure_seconds(bench, load_dataset(given.data[0]), peers)
    value = report_value(grid, {"embedder": bench.ports.embedder_fingerprint}, ()) | {
        "seconds": {name: {"total": total, "cutting": cutting} for name, (total, cutting) in seconds.items()}
    }
    if given.json:
        given.json.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    for retriever in options.retrievers:
        rows = [rounded(row) for row in side_by_side(value, seconds) if row["retriever"] == retriever]
        print(f"retriever {retriever}, {given.half} half of {len(given.data)} sets\n")
        print("".join(markdown_lines(rows, COLUMNS)))


if __name__ == "__main__":
    main()
