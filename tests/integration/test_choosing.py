"""Which files a run takes, and that a forecast says the same as the run then does."""

from __future__ import annotations

from pathlib import Path

from idc_local.forecasting import FIRST_TEXT, Forecast
from idc_local.indexing import IndexOptions
from idc_local.readers.walk import WalkOptions
from tests.indexkit import Kit

OPTIONS = IndexOptions(intents="off")


def actions(value: Forecast) -> dict[str, str]:
    found = {fate.path: fate.action for fate in value.plan}
    assert len(found) == len(value.plan)
    return found


def test_a_forecast_names_every_file_and_the_run_follows_it(tmp_path: Path) -> None:
    docs, kit = tmp_path / "docs", Kit(tmp_path / "index")
    docs.mkdir()
    for name in ("a.md", "b.txt", "c.txt", "gone.txt", "x.log"):
        (docs / name).write_text(f"The {name} needs oil. It is checked weekly.\n")
    (docs / "bad.txt").write_bytes(b"\x00\xff\x00\x01" * 200)
    (docs / "photo.png").write_bytes(b"\x89PNG")
    assert kit.add(docs, options=OPTIONS).new == 5
    (docs / "b.txt").write_text("Something else is written here now.\n")
    (docs / "gone.txt").unlink()
    (docs / "new.md").write_text("A new file.\n")
    (docs / ".gitignore").write_text("*.log\n")
    seen = kit.forecast(docs, options=OPTIONS)
    assert actions(seen) == {
        ".gitignore": "ignored",
        "a.md": "unchanged",
        "b.txt": "updated",
        "bad.txt": "skipped",
        "c.txt": "unchanged",
        "gone.txt": "removed",
        "new.md": "new",
        "photo.png": "skipped",
        "x.log": "removed",
    }
    assert {fate.path: fate.reason for fate in seen.plan}["x.log"] == ".gitignore:1"
    report = kit.add(docs, options=OPTIONS)
    assert (seen.new, seen.updated, seen.unchanged, seen.removed, len(seen.skipped)) == (1, 1, 2, 2, 2)
    assert (report.new, report.updated, report.unchanged, report.removed, len(report.skipped)) == (1, 1, 2, 2, 2)


def test_patterns_of_a_later_run_remove_what_they_leave_out(tmp_path: Path) -> None:
    docs, kit = tmp_path / "docs", Kit(tmp_path / "index")
    docs.mkdir()
    for name in ("a.md", "b.txt"):
        (docs / name).write_text(f"The {name} needs oil.\n")
    assert kit.add(docs, options=OPTIONS).new == 2
    only = IndexOptions(intents="off", walk=WalkOptions(include=("*.md",)))
    assert actions(kit.forecast(docs, options=only)) == {"a.md": "unchanged", "b.txt": "removed"}
    report = kit.add(docs, options=only)
    assert (report.unchanged, report.removed, report.skipped) == (1, 1, ())
    assert kit.add(docs, options=OPTIONS).new == 1


def test_time_is_foreseen_from_files_that_hold_most_of_the_bytes(tmp_path: Path) -> None:
    docs, kit = tmp_path / "docs", Kit(tmp_path / "index")
    docs.mkdir()
    for number in range(20):
        (docs / f"tiny{number:02d}.txt").write_text(f"Tiny {number}.\n")
    (docs / "large.txt").write_text("The pump needs oil every week.\n" * 200)
    (docs / "huge.txt").write_text("The lamp is red.\n" * 40_000)
    seen = kit.forecast(docs, options=OPTIONS)
    assert seen.new == 22
    assert set(kit.embedder.texts) == {FIRST_TEXT, "The pump needs oil every week.", "Tiny 19."}
