"""The tables of docs/evaluation.md, each made from files of docs/results alone.

``TABLES`` names them as the page's markers do, with the files that each needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from results import OWN, Line, Results, Row, change, interval, markdown, plain, share, signed

INTENTS = {
    "off": "none",
    "model": "the model's",
    "heuristic": "heuristic",
    "shuffled": "another document's (control)",
    "human": "human questions (upper bound)",
}
BETAS = (0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)
"""Of the published objective's β those that the page shows, with λ = .0005 and L = 15."""
COMPARED = ("headline", "r@1", "r@5", "mrr", "ndcg@10")


@dataclass(frozen=True)
class Table:
    """A table: what makes it, and the files it needs."""

    render: Callable[[Results], str]
    files: tuple[str, ...]


def rivals(results: Results) -> str:
    """The product as it ships against each rival at its best size, for both metrics; best rival first."""
    head = ("rival", "target (mean size)", "answer@1500", "we are ahead by", "sets lost")
    first, second = results.rivals["headline"], results.rivals["r@1"]
    rows = []
    for name, row in first.items():
        other = second.get(name)
        near = _against(other) if other else ["–", "–", "–"]
        rows.append([name, *_against(row), row["sets_lost"], *near])
    return markdown((*head, "target (mean size)", "R@1", "we are ahead by"), rows)


def _against(row: Row) -> list[str]:
    size = f"{row['target']} ({row['mean_chars']})"
    return [size, share(row["rival_value"]), f"{signed(row['ahead'])} {change(row)}"]


def strategies(results: Results) -> str:
    """All strategies and chunkers with both rankings; other projects' in the order of ``rivals``."""
    names = dict.fromkeys(key[0] for key in results.strategies)
    order = [name for name in (*OWN, *results.rivals["headline"], *names) if name in names]
    rows = []
    for name in dict.fromkeys(order):
        for target in dict.fromkeys(key[1] for key in results.strategies if key[0] == name):
            default, paper = (results.strategies[name, target, retriever] for retriever in ("default", "paper"))
            rows.append([name, str(target), f"{default['mean_chars']:.0f}", *_both(default, paper)])
    head = ("default: answer@1500", "answer@3000", "R@1", "R@5", "paper: answer@1500", "R@1", "R@5", "coverage")
    return markdown(("chunks by", "target", "mean size", *head), rows)


def _both(default: Line, paper: Line) -> list[str]:
    cells = [_estimate(default), *(_mean(default, name) for name in ("answer@3000", "r@1", "r@5"))]
    return [*cells, _estimate(paper), *(_mean(paper, name) for name in ("r@1", "r@5", "coverage"))]


def _estimate(line: Line) -> str:
    found = line["metrics"]["headline"]
    return f"{share(found['mean'])} {interval(found)}"


def _mean(line: Line, metric: str) -> str:
    return share(line["metrics"][metric]["mean"])


def seconds(results: Results) -> str:
    """Seconds of each chunker, in the order of the measurement."""
    rows = [
        [row["strategy"], plain(row["seconds"]), plain(row["cutting"])] for row in results.json("seconds.json")["rows"]
    ]
    return markdown(("chunks by", "seconds", "with vectors known"), rows)


def intents(results: Results) -> str:
    """What intents add, the upper bound in the last row."""
    human = [line for line in results.json("upper_bound.json")["results"] if line["difference"]]
    rows = []
    for line in [*results.json("controls.json")["results"], *human]:
        name = INTENTS[line["strategy"].removeprefix("intents: ")]
        rows.append([name, _mean(line, "headline"), _difference(line, "headline"), _difference(line, "r@1")])
    return markdown(("intents", "answer@1500", "against none", "R@1 against none"), rows)


def _difference(line: Line, metric: str) -> str:
    if not line["difference"]:
        return ""
    found = line["difference"]["metrics"][metric]
    return f"{signed(found['mean'])} {change(found)}"


def objective(results: Results) -> str:
    """The published objective beside fixed chunks of the same size."""
    rows = []
    for row in results.rows("paper_objective.csv"):
        beta = float(row["beta"])
        if (float(row["lambda"]), int(row["L"])) == (0.0005, 15) and beta in BETAS:
            values = [share(row[name]) for name in ("headline", "fixed_headline", "r@1", "fixed_r@1")]
            shown = f"{beta:.2f}".removesuffix("0").removeprefix("0")
            rows.append([shown, f"{float(row['sentences_mean']):.1f}", row["mean_chars"], *values])
    head = ("answer@1500", "fixed, same size", "R@1", "fixed, same size")
    return markdown(("β", "sentences, mean", "mean size", *head), rows)


def label_free(results: Results) -> str:
    """How the check without labels agrees with human questions."""
    rows = results.rows("label_free.csv")
    head = list(rows[0])
    return markdown(head, [[row["set"], *(plain(row[name]) for name in head[1:])] for row in rows])


def tokens(results: Results) -> str:
    """Comparing token by token against the fusion alone, for each half: before → after, and the difference."""
    rows = []
    for half, lines in results.json("tokens.json")["halves"].items():
        before = next(line for line in lines if not line["difference"])
        after = next(line for line in lines if line["difference"])
        rows.append([half, *(_step(before, after, metric) for metric in COMPARED)])
    return markdown(("half", "answer@1500", "R@1", "R@5", "MRR", "nDCG@10"), rows)


def _step(before: Line, after: Line, metric: str) -> str:
    return f"{_mean(before, metric)} → {_mean(after, metric)}, {_difference(after, metric)}"


TABLES: Mapping[str, Table] = {
    "rivals": Table(rivals, ("shipped.csv",)),
    "strategies": Table(strategies, ("strategies.json", "shipped.csv")),
    "seconds": Table(seconds, ("seconds.json",)),
    "tokens": Table(tokens, ("tokens.json",)),
    "intents": Table(intents, ("controls.json", "upper_bound.json")),
    "objective": Table(objective, ("paper_objective.csv",)),
    "label_free": Table(label_free, ("label_free.csv",)),
}
