"""Every table of docs/evaluation.md: strategies, peers, controls, the published objective, tokens, seconds, …

Usage: scripts/evaluate_all FOLDER, where FOLDER holds the question sets; the English ones are used, on their report
half. Results go to docs/results, from which scripts/render_evaluation makes the page. A run that was interrupted goes
on where it stopped; nothing is measured twice unless a source file changed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from bench_peers import TIMED_CHARS, measure_seconds
from label_free import label_free_rows
from measuring import ROOT, Bench, Measured, join, kept, measure, open_bench, prepare, renamed, say
from objective import objective_plot, objective_rows
from peers import PEERS
from shipped import rival_rows, same_size_rows
from tables import BY_SET, rounded, write_grid, write_halves, write_json, write_table

from idc_local.cli.output import markdown_lines
from idc_local.config import default_cache_folder
from idc_local.datasets import Half, load_dataset
from idc_local.evaluation.grid import Configuration, EvaluationOptions, Grid, evaluate_strategies, facts_of
from idc_local.evaluation.pictures import build_plots
from idc_local.evaluation.prepare import PreparedSet
from idc_local.evaluation.report import build_lines
from idc_local.plots import draw_plots
from idc_local.segment import StrategyOptions
from idc_local.strategies import STRATEGIES
from idc_local.types import Limits

RETRIEVERS = ("paper", "default")
CONTROLS = ("off", "model", "heuristic", "shuffled")
SINGLE_SET = "squad_new_wiki"
"""What tables of a single set are made of."""
SIZES = (400, 600, 800, 1200)
HALVES: tuple[Half, ...] = ("report", "tune")
INTENT_BOOST, INTENT_CUT = 0.1, 0.25
"""Weights of intents in the tables that ask what they add."""
LONG, LONG_SIZES = Limits(max_chars=4000, max_tokens=1024), (1000, 1600, 2600)
"""Limits and targets of a setting with few, long chunks."""


@dataclass(frozen=True)
class Run:
    """A run: the models, the sets, where results go, and the options of the main table."""

    bench: Bench
    folders: tuple[Path, ...]
    out: Path
    peers: tuple[str, ...]
    main: EvaluationOptions


def _write(run: Run, name: str, grid: Grid) -> None:
    write_grid(run.out, name, grid, run.bench.ports.embedder_fingerprint)


def strategies_table(run: Run) -> None:
    """Strategies and peers × sizes × retrievers, with plots."""
    options = run.main
    grid = join(options, [measure(run.bench, folder, options, run.peers) for folder in run.folders])
    _write(run, "strategies", grid)
    shipped = Configuration("intent", Limits().target_chars, "default")
    write_table(run.out, "shipped", [rounded(row) for row in rival_rows(grid, shipped)])
    write_table(run.out, "same_size", [rounded(row) for row in same_size_rows(grid, shipped)])
    lines = build_lines(grid)
    for name, retriever, shown in (
        ("strategies", "default", set(STRATEGIES)),
        ("peers", "paper", {"intent", "fixed", "recursive", *run.peers}),
    ):
        chosen = [
            line for line in lines if line.configuration.strategy in shown and line.configuration.retriever == retriever
        ]
        draw_plots(build_plots(chosen, "answer"), run.out / "plots" / name)


def with_intents(options: EvaluationOptions, mode: str) -> EvaluationOptions:
    """The intent strategy with intents that count, in the ranking and against cuts: by default they do not."""
    counting = replace(options.cutting, weights=replace(options.cutting.weights, intent_cut=INTENT_CUT))
    return replace(
        options,
        strategies=("intent",),
        sizes=(BY_SET,),
        retrievers=("default",),
        intents=mode,
        weights=replace(options.weights, intent=INTENT_BOOST),
        cutting=counting,
    )


def controls_table(run: Run) -> None:
    """The intent strategy with intents from nowhere, the model, heuristics, and another document."""
    measured = []
    for folder in run.folders:
        parts = []
        for mode in CONTROLS:
            options = with_intents(run.main, mode)
            facts, results = measure(run.bench, folder, options, ())
            parts.append((facts, renamed(results, f"intents: {mode}")))
        measured.append((parts[0][0], {key: value for _, results in parts for key, value in results.items()}))
    _write(run, "controls", join(replace(run.main, baseline="intents: off"), measured))


def upper_bound_table(run: Run) -> None:
    """The same with human questions of one half of the questions, asked of the other half."""
    options = with_intents(run.main, "gold-half")

    def work_on(folder: Path) -> Measured:
        prepared = prepare(run.bench, folder, options)
        given = evaluate_strategies(prepared, options, lambda _: None)
        none = evaluate_strategies(without_intents(prepared), options, lambda _: None)
        return facts_of(prepared), renamed(none, "intents: off") | renamed(given, "intents: human")

    measured = [
        kept(run.bench, folder, ["upper bound", asdict(options)], lambda folder=folder: work_on(folder))  # type: ignore[misc]
        for folder in run.folders
    ]
    _write(run, "upper_bound", join(replace(options, baseline="intents: off"), measured))


def without_intents(prepared: PreparedSet) -> PreparedSet:
    """The same questions of the same documents, with no intents at all."""
    documents = []
    for document in prepared.documents:
        found = document.predicted
        bare = replace(
            found, intents=(), vectors=found.vectors[:0], windows=found.windows[:0], evidence=found.evidence[:0]
        )
        documents.append(replace(document, predicted=bare))
    asked = replace(prepared.asked, intents=prepared.asked.intents[:, :0])
    return replace(prepared, documents=tuple(documents), asked=asked, intent_base=np.zeros_like(prepared.intent_base))


def objective_table(run: Run) -> None:
    """The published objective over λ, β and L: chunk length, and what its chunks are worth beside fixed ones."""
    exact = objective_rows(run.bench, single_set(run), run.main)
    rows = [rounded(row) | {"lambda": row["lambda"]} for row in exact]
    write_table(run.out, "paper_objective", rows)
    draw_plots([objective_plot(exact)], run.out / "plots")


def fewer_table(run: Run) -> None:
    """Six sentences a chunk, as the paper has it, against the intent strategy where it may make long chunks."""
    six = replace(run.main, strategies=("fixed",), sizes=(BY_SET,), cutting=StrategyOptions(sentences=6))
    long = replace(run.main, strategies=("intent",), sizes=LONG_SIZES, limits=LONG)

    def work_on(folder: Path) -> Measured:
        prepared = prepare(run.bench, folder, run.main)
        fixed = renamed(evaluate_strategies(prepared, six, lambda _: None), "fixed, 6 sentences")
        return facts_of(prepared), fixed | evaluate_strategies(prepared, long, lambda _: None)

    measured = [
        kept(run.bench, folder, ["fewer", asdict(six), asdict(long)], lambda folder=folder: work_on(folder))  # type: ignore[misc]
        for folder in run.folders
    ]
    _write(run, "fewer", join(replace(run.main, baseline="fixed, 6 sentences"), measured))


def tokens_table(run: Run) -> None:
    """What comparing token by token adds to the fusion on the same chunks, on both halves of the sets."""
    grids: dict[str, Grid] = {}
    for half in HALVES:
        options = replace(
            run.main,
            half=half,
            strategies=("intent",),
            sizes=(BY_SET,),
            retrievers=("fusion", "default"),
            intents="off",
            baseline="fusion",
        )
        grids[half] = join(options, [measure(run.bench, folder, options, ()) for folder in run.folders])
    write_halves(run.out, "tokens", grids, run.bench.ports.embedder_fingerprint)


def label_free_table(run: Run) -> None:
    """How well the check without labels agrees with human questions, set by set."""
    rows = [rounded(row) for row in label_free_rows(run.bench, run.folders, run.main, run.peers)]
    write_table(run.out, "label_free", rows)


def seconds_table(run: Run) -> None:
    """Seconds to cut the same text of one set, for each chunker."""
    place = run.out / "seconds.json"
    known = json.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}
    if known.get("source") == run.bench.source:
        return
    folder = single_set(run)
    seconds = measure_seconds(run.bench, load_dataset(folder), run.peers)
    rows = [{"strategy": name, "seconds": total, "cutting": cutting} for name, (total, cutting) in seconds.items()]
    about = {"source": run.bench.source, "set": folder.name, "characters": TIMED_CHARS}
    write_json(place, about | {"rows": [rounded(row) for row in rows]})
    table = "".join(markdown_lines([rounded(row) for row in rows], ("strategy", "seconds", "cutting")))
    (run.out / "seconds.md").write_text(table, encoding="utf-8")


def single_set(run: Run) -> Path:
    """The folder of SINGLE_SET, or of the first set where it is not among them."""
    return next((folder for folder in run.folders if folder.name == SINGLE_SET), run.folders[0])


TABLES = {
    "strategies": strategies_table,
    "controls": controls_table,
    "upper_bound": upper_bound_table,
    "paper_objective": objective_table,
    "fewer": fewer_table,
    "label_free": label_free_table,
    "tokens": tokens_table,
    "seconds": seconds_table,
}


def english_sets(folder: Path, names: Sequence[str]) -> tuple[Path, ...]:
    """Folders of the English sets, or of those named."""
    found = sorted(place.parent for place in folder.glob("*/dataset.json"))
    return tuple(place for place in found if (place.name in names if names else load_dataset(place).language == "en"))


def arguments() -> argparse.Namespace:
    """What was typed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of question sets")
    parser.add_argument("--tables", nargs="+", choices=tuple(TABLES), default=tuple(TABLES))
    parser.add_argument("--sets", nargs="+", default=(), help="only these sets")
    parser.add_argument("--half", choices=("tune", "report", "all"), default="report")
    parser.add_argument("--intents", choices=("model", "heuristic", "off"), default="model")
    parser.add_argument("--peers", nargs="*", choices=tuple(PEERS), default=tuple(PEERS))
    parser.add_argument("--models", type=Path, default=ROOT / "models")
    parser.add_argument("--cache", type=Path, default=default_cache_folder() / "evaluation")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    return parser.parse_args()


def main() -> None:
    """Measures what is missing, then writes the tables."""
    given = arguments()
    folders = english_sets(given.data, given.sets)
    if not folders:
        raise SystemExit(f"error: no question sets in {given.data}. hint: name the folder that holds their folders")
    given.out.mkdir(parents=True, exist_ok=True)
    bench = open_bench(given.models, given.cache, ROOT / "build" / "evaluation")
    options = EvaluationOptions(half=given.half, intents=given.intents, retrievers=RETRIEVERS, sizes=SIZES)
    run = Run(bench, folders, given.out, tuple(given.peers), options)
    for name in given.tables:
        say(f"table {name}")
        TABLES[name](run)


if __name__ == "__main__":
    main()
