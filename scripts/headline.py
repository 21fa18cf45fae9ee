"""The figures that the text of docs/evaluation.md quotes, by name, each computed from files of docs/results.

What a figure means for the text (ahead, no difference that could be shown) depends on its interval, so a person writes
the sentences; a test holds that every figure in them is one of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from results import OWN, SHIPPED, Line, Results, Row, change, interval, key_of, markdown, share, signed

NAMES = {
    "headline": "answer@1500",
    "r@1": "R@1",
    "r@5": "R@5",
    "mrr": "MRR",
    "ndcg@10": "nDCG@10",
    "coverage": "coverage",
}
COMPARED = ("recursive", "coherence", "fixed")
"""Strategies that are set against ``intent`` with the product's ranking, at the mean size of the product's chunks."""
SIX, LONG = "fixed, 6 sentences", ("intent", 2600, "default")
"""The two ways to cut that the figures on fewer, longer chunks are about."""


class Figure(NamedTuple):
    """A figure: what it is, how it is quoted, and its 95 % interval or whatever else belongs to it."""

    name: str
    value: str
    interval: str = ""


def headline(results: Results) -> str:
    """All figures as Markdown."""
    made = (
        "Written by `scripts/render_evaluation` from the files beside it: the figures that docs/evaluation.md quotes."
    )
    told = (
        "A mean with its 95 % interval, or a difference with that of the difference; see the page for what they mean."
    )
    rows = [list(figure) for figure in figures(results)]
    return f"# Figures by name\n\n{made}\n{told}\n\n{markdown(('figure', 'value', 'interval'), rows)}"


def figures(results: Results) -> Iterator[Figure]:
    """Every figure, in the order of the page."""
    yield from _shipped(results)
    yield from _rivals(results)
    yield from _same_size(results)
    yield from _sizes_of_fixed(results)
    yield from _rankings(results)
    yield from _spans(results)
    yield from _fewer(results)
    yield from _coverage(results)
    yield from _intents(results)
    yield from _label_free(results)
    if results.has("tokens.json"):
        yield from _tokens(results)


def _shipped(results: Results) -> Iterator[Figure]:
    line = results.shipped()
    for metric in NAMES:
        yield _mean(f"as shipped: {NAMES[metric]}", line, metric)
    yield Figure("as shipped: mean size in characters", f"{line['mean_chars']:.0f}")


def _mean(name: str, line: Line, metric: str) -> Figure:
    found = line["metrics"][metric]
    return Figure(name, share(found["mean"]), interval(found))


def _rivals(results: Results) -> Iterator[Figure]:
    """Differences to the best of other projects' splitters, their range, and those to the product's own strategies."""
    for metric, rows in results.rivals.items():
        name = NAMES[metric]
        others = [row for rival, row in rows.items() if rival not in OWN]
        if others:
            yield _ahead(f"as shipped − best other project's splitter ({others[0]['rival']}): {name}", others[0])
            yield from _range(f"as shipped − other projects' splitters: {name}", others)
        if "recursive" in rows:
            yield _ahead(f"as shipped − own recursive: {name}", rows["recursive"])
        yield from _range(f"as shipped − all rivals: {name}", list(rows.values()))
        lost = [f"{rival} ({row['sets_lost']})" for rival, row in rows.items() if row["sets_lost"] != "none"]
        yield Figure(f"sets where a rival is surely ahead: {name}", str(len(lost)), "; ".join(lost))


def _ahead(name: str, row: Row) -> Figure:
    return Figure(name, signed(row["ahead"]), change(row))


def _range(name: str, rows: list[Row]) -> Iterator[Figure]:
    """The least and the greatest difference, and how many intervals leave out 0."""
    rows = sorted(rows, key=lambda row: float(row["ahead"]))
    for word, row in (("least", rows[0]), ("greatest", rows[-1])):
        yield _ahead(f"{name}, {word} ({row['rival']})", row)
    above = sum(float(row["low"]) > 0 for row in rows)
    yield Figure(f"{name}, intervals above 0", f"{above} of {len(rows)}")


def _same_size(results: Results) -> Iterator[Figure]:
    """With the product's ranking and at its mean size, set by set; differences where they were measured."""
    known = {(row["rival"], row["metric"]): row for row in _measured(results)}
    for strategy in COMPARED:
        for metric in ("headline", "r@1", "r@5"):
            name = f"{strategy}, same ranking and mean size: {NAMES[metric]}"
            yield Figure(name, share(results.at_size_of_shipped(strategy, metric)))
            if (strategy, metric) in known:
                row = known[strategy, metric]
                off = "" if row["same_size"] == "True" else " (nearest size on some sets)"
                yield _ahead(f"intent − {name}{off}", row)


def _measured(results: Results) -> list[dict[str, str]]:
    if not results.has("same_size.csv"):
        return []
    return [row for row in results.rows("same_size.csv") if row["retriever"] == SHIPPED[2]]


def _sizes_of_fixed(results: Results) -> Iterator[Figure]:
    """``intent`` against ``fixed`` at equal mean size, at each target."""
    for (strategy, target, retriever), line in results.strategies.items():
        if (strategy, retriever) == (SHIPPED[0], SHIPPED[2]) and line["difference"]:
            off = "" if line["difference"]["same_size"] else " (nearest size on some sets)"
            for metric in ("headline", "r@1"):
                yield _difference(f"intent − fixed at target {target}{off}: {NAMES[metric]}", line, metric)


def _difference(name: str, line: Line, metric: str) -> Figure:
    found = line["difference"]["metrics"][metric]
    return Figure(name, signed(found["mean"]), change(found))


def _rankings(results: Results) -> Iterator[Figure]:
    """What the ranking of ``search`` is worth over the published one, on the chunks that gain least and most by it."""
    for metric in ("headline", "r@1"):
        gains = []
        for (strategy, target, retriever), line in results.strategies.items():
            if retriever == "default":
                paper = results.strategies[strategy, target, "paper"]["metrics"][metric]["mean"]
                gains.append((line["metrics"][metric]["mean"] - paper, f"{strategy} {target}"))
        for word, (gain, where) in (("least", min(gains)), ("greatest", max(gains))):
            name = f"default − paper, {word} ({where}): {NAMES[metric]}"
            yield Figure(name, f"{signed(gain)}, {signed(gain, 2)}")


def _spans(results: Results) -> Iterator[Figure]:
    metrics = results.shipped()["metrics"]
    for metric in ("iou@5", "recall@5"):
        chunks, spans = metrics[metric], metrics[f"span_{metric}"]
        name = {"iou@5": "IoU at 5", "recall@5": "recall at 5"}[metric]
        yield Figure(f"{name} of whole chunks", share(chunks["mean"]), interval(chunks))
        yield Figure(f"{name} of answer spans", share(spans["mean"]), interval(spans))
        ratio = spans["mean"] / chunks["mean"]
        yield Figure(f"{name} of answer spans ÷ that of chunks", share(ratio, 2) if ratio < 1 else f"{ratio:.1f}")


def _fewer(results: Results) -> Iterator[Figure]:
    """Long chunks of ``intent`` against six sentences each, with the product's ranking."""
    lines = {key_of(line): line for line in results.json("fewer.json")["results"]}
    long = lines[LONG]
    six = next(line for key, line in lines.items() if (key[0], key[2]) == (SIX, LONG[2]))
    yield Figure("fewer: chunks of intent", f"{long['chunks']:,}")
    yield Figure("fewer: chunks of six sentences", f"{six['chunks']:,}")
    yield Figure("fewer: how many fewer", f"{100 * (1 - long['chunks'] / six['chunks']):.0f} %")
    for metric in ("headline", "r@1", "r@5"):
        yield _mean(f"fewer: {NAMES[metric]} of intent", long, metric)
        yield _mean(f"fewer: {NAMES[metric]} of six sentences", six, metric)
        yield _difference(f"fewer: {NAMES[metric]}, difference", long, metric)


def _coverage(results: Results) -> Iterator[Figure]:
    """Answers whole in a chunk on each set, and the least of the sets whose answers are not pages long."""
    longest = results.long_answers()
    fewer = {row["set"]: row for row in results.rows("fewer.csv") if (row["strategy"], row["target"]) == LONG_KEY}
    shipped = {name: lines[SHIPPED] for name, lines in results.by_set.items()}
    for about, rows in (("as shipped", shipped), ("fewer", fewer)):
        found = {name: float(row["coverage"]) for name, row in rows.items() if name != "macro"}
        short = {name: value for name, value in found.items() if name not in longest}
        worst = min(short, key=lambda name: short[name])
        left_out = f" but {' '.join(sorted(longest))}" if longest else ""
        yield Figure(f"coverage, {about}, least of all sets{left_out} ({worst})", share(short[worst]))
        for name, value in found.items():
            yield Figure(f"coverage, {about}: {name}", share(value))


LONG_KEY = (LONG[0], str(LONG[1]))


def _intents(results: Results) -> Iterator[Figure]:
    for file in ("controls.json", "upper_bound.json"):
        for line in results.json(file)["results"]:
            name = line["strategy"] if file == "controls.json" else f"{line['strategy']}, half of the questions"
            yield _mean(f"{name}: answer@1500", line, "headline")
            if line["difference"]:
                for metric in ("headline", "r@1"):
                    yield _difference(f"{name} − off: {NAMES[metric]}", line, metric)


def _label_free(results: Results) -> Iterator[Figure]:
    average = results.rows("label_free.csv")[-1]
    for name in ("rho_headline", "rho_r@1", "rho_mrr"):
        yield Figure(f"check without labels: mean {name}", share(average[name]), share(average[name], 2))
    for name in ("picked", "default", "best"):
        yield Figure(f"check without labels: answer@1500 of the setting {_about(name)}", share(average[name]))


def _about(name: str) -> str:
    return {"picked": "it picks", "default": "that is the default", "best": "that is best"}[name]


def _tokens(results: Results) -> Iterator[Figure]:
    """Differences by comparing token by token, of the averages and of each set."""
    measured: Mapping[str, Any] = results.json("tokens.json")
    for half, lines in measured["halves"].items():
        for line in (line for line in lines if line["difference"]):
            for metric in list(NAMES)[:-1]:
                yield _difference(f"token by token, {half} half: {NAMES[metric]}", line, metric)
    for half, metrics in measured["questions"].items():
        for metric in list(NAMES)[:-1]:
            estimate = metrics[metric]
            name = f"token by token, {half} half, all questions alike: {NAMES[metric]}"
            yield Figure(name, signed(estimate["mean"]), change(estimate))
    for row in results.rows("tokens.csv"):
        for metric in ("headline", "r@1"):
            if row["set"] != "macro" and row[f"{metric}_diff"]:
                estimate = {bound: row[f"{metric}_diff_{bound}"] for bound in ("low", "high")}
                name = f"token by token, {row['half']} half, {row['set']}: {NAMES[metric]}"
                yield Figure(name, signed(row[f"{metric}_diff"]), change(estimate))
