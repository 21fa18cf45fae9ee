"""Pictures of an evaluation: curves over chunk size with their intervals, as PNG and SVG.

Sole user of matplotlib, an optional extra that is imported when a picture is drawn. Layer 2, edge: takes plain
numbers, writes files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idc_local.errors import InputError, UsageError

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
"""Okabe and Ito's colours, told apart with any colour vision; the yellow, illegible on white, gives way to grey."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
STYLES = ("-", "--", "-.", ":")


@dataclass(frozen=True, slots=True)
class Point:
    """A place on a curve; ``low`` and ``high`` bound its 95 % interval."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PlotLine:
    """A named curve. ``strong``: drawn thicker, on top of the others. ``band``: with its intervals shaded."""

    name: str
    points: tuple[Point, ...]
    strong: bool = False
    band: bool = True


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture: where it goes (a file name without suffix), its title and axis labels with units, its curves."""

    file: str
    title: str
    x_label: str
    y_label: str
    lines: tuple[PlotLine, ...]
    x_log: bool = False


def require_plots() -> None:
    """Says in time that no plots can be drawn.

    Raises:
        UsageError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise UsageError("plots need matplotlib, which is not installed", hint="pip install matplotlib") from error


def draw_plots(plots: Sequence[Plot], folder: Path) -> list[Path]:
    """Draws each plot into ``folder`` as PNG and SVG, and returns the files written.

    Raises:
        UsageError: matplotlib is not installed.
        InputError: the folder cannot be written.
    """
    require_plots()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with mpl.rc_context({"svg.hashsalt": "idc-local", "svg.fonttype": "none", "font.size": 11}):
            return [path for plot in plots for path in _save(plot, folder, Figure(figsize=(9, 5.5), dpi=150))]
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}", hint="choose another folder with --plots") from error


def _save(plot: Plot, folder: Path, figure: Any) -> list[Path]:  # noqa: ANN401 - matplotlib is imported late
    _draw(plot, figure)
    png, svg = folder / f"{plot.file}.png", folder / f"{plot.file}.svg"
    figure.savefig(png, metadata={"Software": None})
    figure.savefig(svg, metadata={"Date": None})
    return [png, svg]


def _draw(plot: Plot, figure: Any) -> None:  # noqa: ANN401
    axes = figure.add_subplot()
    for number, line in enumerate(plot.lines):
        _draw_line(axes, line, number)
    if plot.x_log:
        axes.set_xscale("log")
        ticks = sorted({point.x for line in plot.lines for point in line.points})
        axes.set_xticks(ticks, [f"{tick:.0f}" for tick in ticks])
        axes.minorticks_off()
    axes.set_title(plot.title, loc="left", fontsize=12)
    axes.set_xlabel(plot.x_label)
    axes.set_ylabel(plot.y_label)
    axes.grid(visible=True, color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    figure.tight_layout()


def _draw_line(axes: Any, line: PlotLine, number: int) -> None:  # noqa: ANN401
    points = sorted(line.points, key=lambda point: point.x)
    colour = PALETTE[number % len(PALETTE)]
    xs = [point.x for point in points]
    if line.band:
        low, high = [point.low for point in points], [point.high for point in points]
        axes.fill_between(xs, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(
        xs,
        [point.y for point in points],
        label=line.name,
        color=colour,
        marker=MARKERS[number % len(MARKERS)],
        linestyle=STYLES[number // len(PALETTE) % len(STYLES)],
        linewidth=2.6 if line.strong else 1.5,
        markersize=7 if line.strong else 5.5,
        zorder=3 if line.strong else 2,
    )
