"""The speed report as a table: what was measured, against what, what was aimed at, and whether it is held."""

from __future__ import annotations

from collections.abc import Iterator

from speedkit import Result

HEAD = "| what | against | measured | by processor time | aimed at | held |\n|---|---|---|---|---|---|\n"
STRAIGHT = 1.15
"""Exponent below which a cost counts as growing in line with the text."""

Row = tuple[str, str, str, str, str, bool]


def table(report: Result) -> str:
    """A Markdown table of all that was aimed at."""
    sizes = ", ".join(f"{name} ×{part['scale']:g} ({part['rounds']} rounds)" for name, part in report.items())
    lines = [f"| {' | '.join(row[:5])} | {'yes' if row[5] else '**no**'} |" for row in rows(report)]
    return f"# Speed\n\nWritten by `scripts/bench speed`. Sizes: {sizes}.\n\n" + HEAD + "\n".join(lines) + "\n"


def rows(report: Result) -> Iterator[Row]:
    """One row for each figure."""
    if "intents" in report:
        part = report["intents"]
        mark = {"mark": part["mark"]}
        yield _ratio("questions a minute", "a loop over `Llama`, same file and threads", part)
        yield _ratio("questions a minute", "the same, `Llama`'s own threads", part["to_own_threads"] | mark)
        yield _ratio("questions a minute", "the same, file as published", part["to_published"] | mark)
    if "index" in report:
        yield from _index(report["index"])
    if "embedding" in report:
        yield _ratio("texts embedded a second", "`SentenceTransformer.encode`", report["embedding"])
    yield from _chunking(report.get("chunking", {}))
    if "search" in report:
        yield from _search(report["search"])
    if "memory" in report:
        yield from _memory(report["memory"])
    if "growth" in report:
        yield from (_growth(name, report["growth"][name]) for name in ("documents", "length"))


def _memory(part: Result) -> Iterator[Row]:
    mark = part["mark_bytes"]
    for name, row in part["rows"].items():
        peak = row["peak_bytes"]
        about = f"peak memory, {row['bytes'] / 1e6:.0f} MB as {name}"
        yield about, "", f"{peak / 1e9:.2f} GB", "", f"< {mark / 1e9:.0f} GB", peak < mark


def _growth(name: str, curve: Result) -> Row:
    last = curve["exponent_of_last_step"]
    about = f"growth of the cost with {name}, ×1 to ×100"
    return about, "", f"exponent {curve['exponent']}", f"last step {last}", "near 1", last < STRAIGHT


def _ratio(what: str, against: str, part: Result) -> Row:
    measured, mark = part["ratio"], part["mark"]
    return what, against, f"{measured:g}×", f"{part['cpu_ratio']:g}×", f"{mark:g}×", measured >= mark


def _chunking(section: Result) -> Iterator[Row]:
    for key, name, how in (
        ("without_embedding", "cutting", ""),
        ("with_embedding", "embedding and cutting", ", `encode`"),
        ("with_lent_embedding", "embedding and cutting", ", idc-local's embedder"),
    ):
        part = section.get(key, {})
        for peer, ratio in part.get("ratios", {}).items():
            yield _ratio(
                name, peer + how, {"ratio": ratio, "cpu_ratio": part["cpu_ratios"][peer], "mark": part["mark"]}
            )


def _index(part: Result) -> Iterator[Row]:
    command, about = part["seconds"]["command"], f"{part['sentences']} sentences, {part['characters']:,} characters"
    mark = part["mark_s"]
    yield (
        f"`index` as a command, {about}", "", f"{command['wall']:.1f} s", f"{command['cpu']:.1f} s", f"{mark} s",
        command["wall"] <= mark,
    )  # fmt: skip
    for key, name in (("warm_to_intents", "models loaded"), ("command_to_intents", "as a command")):
        measured, most = part[key], part["to_intents_mark"]
        yield f"`index`, {name}", "generating its intents", f"{measured:g}×", "", f"at most {most:g}×", measured <= most
    milliseconds, most = part["segmentation_ms"], part["segmentation_mark_ms"]
    yield "cutting it (dynamic program)", "", f"{milliseconds:g} ms", "", f"{most} ms", milliseconds < most


def _search(part: Result) -> Iterator[Row]:
    yield _ratio(
        f"cold `search`, {part['chunks']:,} chunks", "import, load and encode with sentence-transformers", part
    )
    measured, most = part["warm_to_encode"], part["warm_mark"]
    about = f"warm search, median {part['warm_ms']:g} ms"
    yield about, "embedding its query", f"{measured:g}×", "", f"at most {most:g}×", measured <= most
