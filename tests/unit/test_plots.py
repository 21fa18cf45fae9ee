"""Plots: files of both kinds, the same bytes each time, and one clear line where matplotlib is missing."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from idc_local.errors import InputError, UsageError
from idc_local.plots import MARKERS, PALETTE, Plot, PlotLine, Point, draw_plots


def plot(lines: int = 2) -> Plot:
    curves = tuple(
        PlotLine(
            f"line {number}", tuple(Point(x, y / 10, y / 10 - 0.05, y / 10 + 0.05) for x, y in ((900, 6), (400, 5)))
        )
        for number in range(lines)
    )
    return Plot("answers", "Answers <found>", "mean chunk size (characters)", "answer@1500 (share)", curves)


def test_each_plot_becomes_a_png_and_an_svg_with_its_labels(tmp_path: Path) -> None:
    written = draw_plots([plot()], tmp_path / "new" / "folder")
    assert [path.name for path in written] == ["answers.png", "answers.svg"]
    assert written[0].read_bytes().startswith(b"\x89PNG")
    text = written[1].read_text(encoding="utf-8")
    for label in ("Answers &lt;found&gt;", "mean chunk size (characters)", "answer@1500 (share)", "line 0", "line 1"):
        assert label in text


def test_the_same_numbers_give_the_same_bytes(tmp_path: Path) -> None:
    first = [path.read_bytes() for path in draw_plots([plot()], tmp_path / "a")]
    assert first == [path.read_bytes() for path in draw_plots([plot()], tmp_path / "b")]


def test_many_curves_stay_apart_by_colour_and_marker_or_line(tmp_path: Path) -> None:
    text = draw_plots([plot(12)], tmp_path)[1].read_text(encoding="utf-8")
    strokes = set(re.findall(r"stroke: (#[0-9a-f]{6}); stroke-width: 1\.5", text))
    assert strokes == {colour.lower() for colour in PALETTE}
    assert len(set(MARKERS)) == len(MARKERS)
    assert "stroke-dasharray" in text


def test_a_missing_matplotlib_is_one_line_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match="plots need matplotlib") as caught:
        draw_plots([plot()], tmp_path)
    assert caught.value.hint == "pip install matplotlib"


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="file"):
        draw_plots([plot()], tmp_path / "file")
