"""Pictures of the speed report: ratios beside their marks, where the time of a document goes, growth of the cost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from speedkit import Result

from idc_local.plots import PALETTE, Plot, PlotLine, Point, draw_plots

STAGES = ("intents", "embedding", "sentences", "terms", "segmentation")


def draw(report: Result, out: Path) -> None:
    """Draws what the report holds."""
    _picture(out / "speed-ratios", lambda axes: _ratios(axes, report), (9, 4.5))
    if "index" in report:
        _picture(out / "speed-stages", lambda axes: _stages(axes, report["index"]), (9, 3))
    if "growth" in report:
        lines = [
            PlotLine(
                f"{name}: exponent {curve['exponent']}",
                tuple(Point(x, y, y, y) for x, y in zip(curve["times"], curve["cpu_seconds"], strict=True)),
                band=False,
            )
            for name, curve in report["growth"].items()
            if isinstance(curve, dict)
        ]
        draw_plots([_growth(tuple(lines))], out)


def _growth(lines: tuple[PlotLine, ...]) -> Plot:
    title = "Indexing without models: cost by amount of text"
    return Plot("speed-growth", title, "amount of text (1 = 40 kB)", "processor seconds", lines, x_log=True)


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


def _ratios(axes: Any, report: Result) -> None:  # noqa: ANN401 - matplotlib is imported late
    rows = ratio_rows(report)[::-1]
    places = range(len(rows))
    axes.barh(places, [ratio for _, ratio, _ in rows], color=PALETTE[0], height=0.6, label="measured")
    axes.scatter([mark for _, _, mark in rows], places, color=PALETTE[1], marker="D", zorder=3, label="aimed at")
    for place, (_, ratio, _) in zip(places, rows, strict=True):
        axes.annotate(f"{ratio:.1f}×", (ratio, place), xytext=(5, 0), textcoords="offset points", va="center")
    axes.set_yticks(list(places), [name for name, _, _ in rows])
    axes.set_xscale("log")
    axes.set_xlabel("times as fast as the reference (logarithmic)")
    axes.set_title("Speed, as ratios to references measured in the same run", loc="left", fontsize=12)
    axes.grid(visible=True, axis="x", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(loc="lower right", frameon=False)


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
