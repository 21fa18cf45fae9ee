"""Pictures of the speed report: ratios beside their marks, where the time of a document goes, growth of the cost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from speedkit import Result

from idc_local.plots import MARKERS, PALETTE

STAGES = ("intents", "embedding", "sentences", "terms", "segmentation")


def draw(report: Result, out: Path) -> None:
    """Draws what the report holds."""
    if ratio_rows(report):
        _picture(out / "speed-ratios", lambda axes: _ratios(axes, report), (9, 4.5))
    if "index" in report:
        _picture(out / "speed-stages", lambda axes: _stages(axes, report["index"]), (9, 3))
    if "growth" in report:
        _picture(out / "speed-growth", lambda axes: _growth(axes, report["growth"]), (9, 4.5))


def _growth(axes: Any, section: Result) -> None:  # noqa: ANN401 - matplotlib is imported late
    for number, name in enumerate(("documents", "length")):
        curve = section[name]
        axes.plot(
            curve["characters"],
            curve["cpu_seconds"],
            color=PALETTE[number],
            marker=MARKERS[number],
            label=f"{name}: last step's exponent {curve['exponent_of_last_step']:.2f}",
        )
    sizes, costs = section["length"]["characters"], section["length"]["cpu_seconds"]
    straight = [costs[0] * size / sizes[0] for size in sizes]
    axes.plot(sizes, straight, color="#7F7F7F", linestyle="--", label="in line with the text (exponent 1)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("characters of text (logarithmic)")
    axes.set_ylabel("processor seconds (logarithmic)")
    axes.set_title("Indexing without models: cost by amount of text", loc="left", fontsize=12)
    axes.grid(visible=True, color="#dddddd", linewidth=0.8)
    axes.legend(loc="upper left", frameon=False)


def _picture(place: Path, fill: Callable[[Any], None], size: tuple[float, float]) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "idc-local", "svg.fonttype": "none", "font.size": 11}):
        figure = Figure(figsize=size, dpi=150)
        axes = figure.add_subplot()
        fill(axes)
        axes.spines[["top", "right"]].set_visible(False)
        figure.tight_layout()
        figure.savefig(place.with_suffix(".png"), metadata={"Software": None})
        figure.savefig(place.with_suffix(".svg"), metadata={"Date": None})


def ratio_rows(report: Result) -> list[tuple[str, float, float]]:
    """Name, ratio and mark of everything that is compared with a reference."""
    rows: list[tuple[str, float, float]] = []
    for section, label in (("intents", "questions, to a plain loop"), ("embedding", "embedding, to encode()")):
        if section in report:
            rows.append((label, report[section]["ratio"], report[section]["mark"]))
    for key, label in (("without_embedding", "cutting"), ("with_embedding", "embedding and cutting")):
        part = report.get("chunking", {}).get(key, {})
        rows += [(f"{label}, to {name}", ratio, part["mark"]) for name, ratio in part.get("ratios", {}).items()]
    if "search" in report:
        rows.append(("cold search, to loading the model", report["search"]["ratio"], report["search"]["mark"]))
    return rows


def _ratios(axes: Any, report: Result) -> None:  # noqa: ANN401
    rows = ratio_rows(report)[::-1]
    places = range(len(rows))
    axes.barh(places, [ratio for _, ratio, _ in rows], color=PALETTE[0], height=0.6, label="measured")
    axes.scatter([mark for _, _, mark in rows], places, color=PALETTE[1], marker="D", zorder=3, label="aimed at")
    for place, (_, ratio, _) in zip(places, rows, strict=True):
        axes.text(1.02, place, f"{ratio:.1f}×", transform=axes.get_yaxis_transform(), va="center")
    axes.set_yticks(list(places), [name for name, _, _ in rows])
    axes.set_xscale("log")
    axes.set_xlabel("times as fast as the reference (logarithmic)")
    axes.set_title("Speed, as ratios to references measured in the same run", loc="left", fontsize=12)
    axes.grid(visible=True, axis="x", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.axvline(1, color="#000000", linewidth=1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)


def _stages(axes: Any, section: Result) -> None:  # noqa: ANN401
    left = 0.0
    for number, name in enumerate(STAGES):
        seconds = section["stages"].get(name, 0.0)
        label = f"{name} {seconds:.2f} s" if seconds >= 0.1 else f"{name} {1000 * seconds:.0f} ms"
        axes.barh([0], [seconds], left=left, color=PALETTE[number], label=label, height=0.5)
        left += seconds
    axes.set_yticks([])
    axes.set_xlabel("seconds, models loaded")
    about = f"{section['sentences']} sentences, {section['characters']:,} characters, {section['asked']} asked about"
    axes.set_title(f"Where the time of one document goes: {about}", loc="left", fontsize=12)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.35), ncols=5, frameon=False, fontsize=9)
