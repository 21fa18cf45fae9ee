"""What an indexing run has to do: names, collisions between roots, what vanished."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local.errors import InputError
from idc_local.readers.direct import DirectReader
from idc_local.readers.walk import WalkOptions
from idc_local.sources import Plan, plan_sources, read_one
from idc_local.types import SourceRecord


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)


def known(plan: Plan) -> dict[str, SourceRecord]:
    return {
        entry.file.path: SourceRecord(entry.file.path, entry.file.size, entry.file.mtime_ns, "", "d", root=entry.root)
        for entry in plan.found
    }


def names(plan: Plan) -> list[str]:
    return [entry.file.path for entry in plan.found]


def test_names_are_relative_to_the_folder(tmp_path: Path) -> None:
    write(tmp_path / "docs", "b.txt", "sub/a.txt")
    plan = plan_sources([tmp_path / "docs"], {})
    assert names(plan) == ["b.txt", "sub/a.txt"]
    assert {entry.root for entry in plan.found} == {str(tmp_path / "docs")}
    assert plan.removed == ()


def test_a_single_file_is_named_relative_to_its_folder_or_to_a_known_folder(tmp_path: Path) -> None:
    write(tmp_path / "docs", "a.txt", "sub/c.txt")
    assert names(plan_sources([tmp_path / "docs" / "sub" / "c.txt"], {})) == ["c.txt"]
    first = known(plan_sources([tmp_path / "docs"], {}))
    plan = plan_sources([tmp_path / "docs" / "sub" / "c.txt"], first)
    assert names(plan) == ["sub/c.txt"]
    assert plan.removed == ()


def test_a_folder_of_a_known_folder_keeps_the_known_names(tmp_path: Path) -> None:
    write(tmp_path / "docs", "a.txt", "sub/c.txt")
    first = known(plan_sources([tmp_path / "docs"], {}))
    (tmp_path / "docs" / "sub" / "c.txt").unlink()
    write(tmp_path / "docs", "sub/d.txt")
    plan = plan_sources([tmp_path / "docs" / "sub"], first)
    assert names(plan) == ["sub/d.txt"]
    assert plan.removed == ("sub/c.txt",)


def test_a_folder_around_a_known_folder_renames(tmp_path: Path) -> None:
    write(tmp_path / "docs", "a.txt", "sub/c.txt")
    first = known(plan_sources([tmp_path / "docs" / "sub"], {}))
    plan = plan_sources([tmp_path / "docs"], first)
    assert names(plan) == ["a.txt", "sub/c.txt"]
    assert plan.removed == ("c.txt",)


def test_equal_names_below_two_roots_get_the_folder_s_name(tmp_path: Path) -> None:
    write(tmp_path / "one", "a.txt")
    write(tmp_path / "two", "a.txt")
    both = plan_sources([tmp_path / "one", tmp_path / "two"], {})
    assert names(both) == ["a.txt", "two/a.txt"]
    assert [os.path.join(entry.root, entry.file.path) for entry in both.found] == [
        str(tmp_path / "one" / "a.txt"),
        str(tmp_path / "two" / "a.txt"),
    ]
    later = plan_sources([tmp_path / "two"], known(plan_sources([tmp_path / "one"], {})))
    assert names(later) == ["two/a.txt"]
    assert later.removed == ()


def test_a_file_beside_a_folder_does_not_rename_the_folder_s_files_the_next_time(tmp_path: Path) -> None:
    write(tmp_path, "contracts/heating.txt", "contracts/sub/boiler.txt", "handbook.md")
    roots = [tmp_path / "contracts", tmp_path / "handbook.md"]
    first = plan_sources(roots, {})
    assert names(first) == ["heating.txt", "sub/boiler.txt", "handbook.md"]
    again = plan_sources(roots, known(first))
    assert (again.found, again.removed) == (first.found, ())


def test_a_folder_keeps_its_names_after_one_with_the_same_names_came(tmp_path: Path) -> None:
    write(tmp_path, "one/notes.txt", "two/notes.txt")
    first = known(plan_sources([tmp_path / "one"], {}))
    both = first | known(plan_sources([tmp_path / "two"], first))
    assert sorted(both) == ["notes.txt", "two/notes.txt"]
    again = plan_sources([tmp_path / "one"], both)
    assert (names(again), again.removed) == (["notes.txt"], ())


PLACES = st.lists(st.sampled_from(["a", "b"]), max_size=3).map("/".join)
FILES = st.lists(st.tuples(PLACES, st.sampled_from(["x.txt", "y.txt"])).map("/".join), min_size=1, max_size=6)


@given(FILES, st.lists(st.lists(PLACES, min_size=1, max_size=3), min_size=1, max_size=4))
def test_the_same_run_again_changes_nothing(files: list[str], runs: list[list[str]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        write(Path(place), *(f"w/{name}" for name in files))
        records: dict[str, SourceRecord] = {}
        for run in runs:
            roots = [root for part in run if (root := Path(place, "w", part)).exists()]
            plan = plan_sources(roots, records)
            records = {name: record for name, record in records.items() if name not in plan.removed} | known(plan)
            again = plan_sources(roots, records)
            assert (again.found, again.removed) == (plan.found, ())


def test_nested_roots_name_each_file_once(tmp_path: Path) -> None:
    write(tmp_path / "docs", "a.txt", "sub/c.txt")
    assert names(plan_sources([tmp_path / "docs" / "sub", tmp_path / "docs"], {})) == ["a.txt", "sub/c.txt"]


def test_only_what_lies_below_the_roots_can_vanish(tmp_path: Path) -> None:
    write(tmp_path / "one", "a.txt")
    write(tmp_path / "one2", "b.txt")
    before = known(plan_sources([tmp_path / "one", tmp_path / "one2"], {}))
    (tmp_path / "one" / "a.txt").unlink()
    (tmp_path / "one2" / "b.txt").unlink()
    assert plan_sources([tmp_path / "one"], before).removed == ("a.txt",)


def test_a_root_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        plan_sources([tmp_path / "nothing"], {})


def test_what_cannot_be_looked_at_has_not_vanished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "docs", "a.txt", "sub/c.txt")
    before = known(plan_sources([tmp_path / "docs"], {}))
    real = os.scandir

    def scandir(folder: Path) -> object:
        if str(folder).endswith("sub"):
            raise PermissionError(13, "Permission denied", str(folder))
        return real(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    plan = plan_sources([tmp_path / "docs"], before)
    assert names(plan) == ["a.txt"]
    assert plan.removed == ()
    assert [skip.path for skip in plan.skipped] == ["sub/"]


def test_what_becomes_ignored_is_removed_and_comes_back(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    write(docs, "a.txt", "sub/c.txt", "d.md")
    before = known(plan_sources([docs], {}))
    (docs / ".idcignore").write_text("sub/\n")
    plan = plan_sources([docs], before)
    assert (names(plan), plan.removed) == (["a.txt", "d.md"], ("sub/c.txt",))
    assert [(entry.path, entry.reason) for entry in plan.ignored] == [
        (".idcignore", "hidden"),
        ("sub/", ".idcignore:1"),
    ]
    assert plan_sources([docs], before, WalkOptions(exclude=("*.md",))).removed == ("d.md", "sub/c.txt")
    (docs / ".idcignore").unlink()
    assert names(plan_sources([docs], {})) == ["a.txt", "d.md", "sub/c.txt"]


def test_a_file_without_end_is_refused_once_it_is_too_large() -> None:
    with pytest.raises(InputError, match=r"^/dev/zero: too large: 67108865 bytes, the limit is 67108864"):
        read_one(Path("/dev/zero"), DirectReader())
