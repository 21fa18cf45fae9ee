"""``eval``: compare ways of cutting and ranking, on question sets or on the index itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idc_local.cli.output import Result
from idc_local.cli.parameters import PathName, objective_option
from idc_local.cli.render import table_lines
from idc_local.cli.session import Command, Session, examples
from idc_local.cli.terminal import safe
from idc_local.config import default_cache_folder
from idc_local.errors import UsageError

if TYPE_CHECKING:
    from idc_local.evaluating import Evaluation
    from idc_local.evaluation.grid import EvaluationOptions

INTENTS = ("model", "heuristic", "off", "shuffled", "gold-half")
RETRIEVERS = ("paper", "default", "fusion", "dense", "bm25")
MACRO = "macro"
TABLE = ("strategy", "target", "chunks", "mean", "p95", "headline", "R@1", "R@5", "MRR", "coverage", "diff")
DIFFERENCES = ("headline", "r@1", "coverage")
BOUNDS = (("", "mean"), ("_low", "low"), ("_high", "high"))


@dataclass(frozen=True, slots=True)
class EvalArguments:
    """What was typed."""

    data: tuple[Path, ...]
    corpus: bool
    strategies: str
    sizes: str
    retrievers: str
    intent_source: str | None
    half: str
    baseline: str
    seed: int
    cache: Path | None
    plots: Path | None


@click.command(
    "eval",
    cls=Command,
    options=EvalArguments,
    epilog=examples(
        "idc-local eval data/squad --half tune",
        "idc-local eval data/* --strategies intent,fixed --sizes 700 --format md",
        "idc-local eval data/squad --intents shuffled",
        "idc-local eval --corpus --plots plots",
    ),
)
@click.argument("data", nargs=-1, type=PathName())
@click.option("--corpus", is_flag=True, help="Evaluate the index by its own held-out questions; needs no labels.")
@click.option("--strategies", default="all", metavar="LIST", help="Names with commas between, or all. [default: all]")
@click.option(
    "--sizes", default="400,700,1000,1400", metavar="LIST", help="Target characters. [default: 400,700,1000,1400]"
)
@click.option(
    "--retrievers",
    default="paper,default",
    metavar="LIST",
    help=f"Of {', '.join(RETRIEVERS)}. [default: paper,default]",
)
@click.option(
    "--intents",
    "intent_source",
    type=click.Choice(INTENTS),
    help="Where the sets' intents come from; shuffled is a control, gold-half an upper bound. [default: off]",
)
@objective_option
@click.option(
    "--half",
    type=click.Choice(("tune", "report", "all")),
    default="all",
    help="Part of each set: one to choose settings on, one to quote. [default: all]",
)
@click.option("--baseline", default="fixed", metavar="NAME", help="Strategy or retriever to compare with. "
              "[default: fixed]")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="For everything drawn. [default: 0]")
@click.option("--cache", type=PathName(), metavar="DIR", help="Where vectors and questions are kept.")
@click.option("--plots", type=PathName(), metavar="DIR", help="Draw curves there, as PNG and SVG.")
def eval_command(session: Session, options: EvalArguments) -> None:
    """Compare strategies, sizes and retrievers on question sets (DATA: folders), or on the index (--corpus).

    The headline is answer@1500: the whole answer lies in the first 1500 characters of ranked text. Intervals are 95 %,
    documents resampled; differences are paired, at equal mean size.
    """
    session.expect(results=[])
    if options.plots is not None:
        from idc_local.plots import require_plots

        require_plots()
    evaluation = _evaluate(session, options)
    result = evaluation_result(evaluation)
    session.close()
    if options.plots is not None:
        for path in _draw(evaluation, options.plots):
            session.note(f"drew {path}")
    for line in (*evaluation.facts, *result.value["warnings"]):
        session.note(line)
    session.emit(result)


def _evaluate(session: Session, options: EvalArguments) -> Evaluation:
    from idc_local.evaluating import evaluate_index, evaluate_sets

    if options.corpus == bool(options.data):
        raise UsageError(
            "nothing to evaluate" if not options.data else "question sets and --corpus exclude each other",
            hint="idc-local eval FOLDER for a question set, idc-local eval --corpus for the index",
        )
    wanted = evaluation_options(session, options)
    if not options.corpus:
        cache = options.cache or default_cache_folder() / "evaluation"
        return evaluate_sets(session.runtime, options.data, wanted, cache, session.progress)
    if options.intent_source is not None or options.half != "all":
        raise UsageError("--corpus uses the index's own questions, all of them", hint="leave --intents and --half out")
    return evaluate_index(session.runtime, wanted, session.progress)


def evaluation_options(session: Session, options: EvalArguments) -> EvaluationOptions:
    """What is compared, with limits from the settings."""
    from idc_local.evaluation.grid import EvaluationOptions
    from idc_local.segment import StrategyOptions
    from idc_local.strategies import STRATEGIES

    return EvaluationOptions(
        strategies=tuple(STRATEGIES) if options.strategies == "all" else names_in(options.strategies),
        sizes=sizes_in(options.sizes),
        retrievers=names_in(options.retrievers),
        intents=options.intent_source or "off",
        half=options.half,  # type: ignore[arg-type]  # one of the choices
        seed=options.seed,
        baseline=options.baseline,
        limits=session.index_options().limits,
        cutting=StrategyOptions(objective=session.settings.objective),
    )


def names_in(text: str) -> tuple[str, ...]:
    """Names with commas between, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def sizes_in(text: str) -> tuple[int, ...]:
    """Whole numbers with commas between, each once, ascending.

    Raises:
        UsageError: something else.
    """
    names = names_in(text)
    if not names or not all(name.isascii() and name.isdigit() and len(name) < 10 for name in names):
        raise UsageError(f"--sizes is {text!r}", hint="give whole numbers, as in --sizes 400,700")
    return tuple(sorted({int(name) for name in names}))


def _draw(evaluation: Evaluation, folder: Path) -> list[Path]:
    from idc_local.evaluation.pictures import build_plots
    from idc_local.evaluation.report import build_lines
    from idc_local.plots import draw_plots

    kind = "chars" if evaluation.of_index else "answer"
    return draw_plots(build_plots(build_lines(evaluation.grid), kind), folder)


def evaluation_result(evaluation: Evaluation) -> Result:
    """A finished evaluation in all formats."""
    from idc_local.evaluation.report import report_value

    value = report_value(evaluation.grid, evaluation.models, evaluation.facts)
    items = [flat(line) for line in value["results"]]
    return Result(value, items, tuple(items[0]), lambda _: _text(value))


def flat(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the report as one row: means, intervals of the headline, and differences from the baseline."""
    metrics, difference = line["metrics"], line["difference"] or {}
    row = {key: line[key] for key in ("set", "strategy", "target", "retriever", "chunks", "mean_chars", "p95_chars")}
    row |= {name: estimate["mean"] for name, estimate in metrics.items()}
    row |= {f"headline_{bound}": metrics["headline"][bound] for bound in ("low", "high")}
    for name in DIFFERENCES:
        estimate = difference.get("metrics", {}).get(name, {})
        row |= {f"{name}_diff{suffix}": estimate.get(bound) for suffix, bound in BOUNDS}
    return row | {"same_size": difference.get("same_size")}


def _text(value: Mapping[str, Any]) -> Iterator[str]:
    """Tables for people: for each retriever the averages over the sets, then each set where there are several."""
    for name in _shown_sets(value):
        for retriever in dict.fromkeys(line["retriever"] for line in value["results"]):
            lines = [line for line in value["results"] if (line["set"], line["retriever"]) == (name, retriever)]
            yield safe(f"{_set_title(value, name)}, retriever {retriever}")
            yield from table_lines([_row(line) for line in lines], TABLE)
            yield ""
    if all(line["difference"] is None for line in value["results"]):
        return
    yield f"diff: headline minus that of {value['protocol']['baseline']} at equal mean size, paired, [95 % interval]."
    yield "* the interval leaves out 0.  ~ the baseline has no chunks of that size; its nearest stands in."


def _shown_sets(value: Mapping[str, Any]) -> Sequence[str]:
    names = [entry["name"] for entry in value["sets"]]
    return names if len(names) == 1 else [MACRO, *names]


def _set_title(value: Mapping[str, Any], name: str) -> str:
    if name == MACRO:
        return f"average of {len(value['sets'])} sets"
    about = next(entry for entry in value["sets"] if entry["name"] == name)
    counts = f"{about['documents']} documents, {about['questions']} questions"
    return f"{name}: {counts}, headline {about['headline']}"


def _row(line: Mapping[str, Any]) -> dict[str, Any]:
    metrics = line["metrics"]
    headline = metrics["headline"]
    return {
        "strategy": line["strategy"],
        "target": line["target"],
        "chunks": line["chunks"],
        "mean": round(line["mean_chars"]),
        "p95": round(line["p95_chars"]),
        "headline": f"{headline['mean']:.3f} [{headline['low']:.3f}, {headline['high']:.3f}]",
        "R@1": f"{metrics['r@1']['mean']:.3f}",
        "R@5": f"{metrics['r@5']['mean']:.3f}",
        "MRR": f"{metrics['mrr']['mean']:.3f}",
        "coverage": f"{metrics['coverage']['mean']:.3f}",
        "diff": _difference(line["difference"]),
    }


def _difference(difference: Mapping[str, Any] | None) -> str:
    if difference is None:
        return ""
    estimate = difference["metrics"]["headline"]
    sure = "*" if estimate["low"] > 0 or estimate["high"] < 0 else ""
    near = "" if difference["same_size"] else "~"
    return f"{estimate['mean']:+.3f} [{estimate['low']:+.3f}, {estimate['high']:+.3f}]{sure}{near}"
