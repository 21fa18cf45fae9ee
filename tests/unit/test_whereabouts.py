"""Whether files are as they were indexed: every kind of change, and where the bytes are now."""

from __future__ import annotations

import hashlib
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest

from idc_local.types import SourceRecord
from idc_local.whereabouts import SourceState, is_gone, source_state, source_states


def record(root: Path | str, path: str, data: bytes, **facts: str) -> SourceRecord:
    return SourceRecord(path, len(data), 1, hashlib.sha256(data).hexdigest(), "d" * 64, root=str(root), **facts)


def write(path: Path, data: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def test_each_state_of_a_file(tmp_path: Path) -> None:
    place = write(tmp_path / "docs" / "a.md", b"alpha")
    assert source_state(record(tmp_path, "docs/a.md", b"alpha")) == SourceState("match", place)
    assert source_state(record(tmp_path, "docs/a.md", b"other")) == SourceState("changed", place)
    assert source_state(record(tmp_path, "docs/b.md", b"alpha")) == SourceState("moved", place)
    assert source_state(record(tmp_path, "docs/b.md", b"omega")) == SourceState("gone")


def test_another_empty_file_is_no_trace_of_one_that_is_gone(tmp_path: Path) -> None:
    write(tmp_path / "docs" / "other.txt", b"")
    assert source_state(record(tmp_path, "docs/empty.txt", b"")) == SourceState("gone")


def test_a_changed_file_is_changed_even_where_a_copy_is_kept(tmp_path: Path) -> None:
    place = write(tmp_path / "a.md", b"newer")
    write(tmp_path / "a.md.bak", b"older")
    assert source_state(record(tmp_path, "a.md", b"older")) == SourceState("changed", place)


def test_a_folder_that_was_renamed_as_a_whole(tmp_path: Path) -> None:
    place = write(tmp_path / "new" / "sub" / "a.md", b"alpha")
    assert source_state(record(tmp_path / "old", "sub/a.md", b"alpha")) == SourceState("moved", place)
    assert source_state(record(tmp_path / "no" / "where", "sub/a.md", b"alpha")) == SourceState("gone")


def test_of_several_copies_the_first_is_named_and_hidden_folders_are_left_out(tmp_path: Path) -> None:
    write(tmp_path / ".idc" / "copy", b"alpha")
    write(tmp_path / "z.md", b"alpha")
    place = write(tmp_path / "b.md", b"alpha")
    (tmp_path / "a.md").symlink_to(tmp_path / "z.md")
    assert source_state(record(tmp_path, "gone.md", b"alpha")) == SourceState("moved", place)


def test_a_member_is_called_what_its_archive_calls_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("./b//c.txt", "alpha")
    known = replace(
        record(tmp_path / "sub" / "..", "a.zip!/./b//c.txt", b"alpha"), size=(tmp_path / "a.zip").stat().st_size
    )
    assert source_state(known) == SourceState("match", f"{tmp_path}/a.zip!/./b//c.txt")


def test_many_files_at_once(tmp_path: Path) -> None:
    write(tmp_path / "one" / "a.md", b"alpha")
    write(tmp_path / "one" / "c.md", b"beta")
    write(tmp_path / "two" / "d.md", b"gamma")
    records = [
        record(tmp_path / "one", "a.md", b"alpha"),
        record(tmp_path / "one", "b.md", b"beta"),
        record(tmp_path / "one", "copy.md", b"beta"),
        record(tmp_path / "two", "lost.md", b"delta"),
    ]
    found = source_states(records)
    assert {path: state.state for path, state in found.items()} == {
        "a.md": "match",
        "b.md": "moved",
        "copy.md": "moved",
        "lost.md": "gone",
    }


def test_only_files_of_the_right_size_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        write(tmp_path / f"{number}.md", b"x" * number)
    read: list[str] = []
    real = hashlib.file_digest

    def digest(file: IO[bytes], kind: str) -> object:
        read.append(file.name)
        return real(file, kind)  # type: ignore[arg-type]

    monkeypatch.setattr(hashlib, "file_digest", digest)
    assert source_state(record(tmp_path, "gone.md", b"y" * 7)).state == "gone"
    assert read == [str(tmp_path / "7.md")]


def test_a_file_whose_newest_version_was_skipped_has_changed(tmp_path: Path) -> None:
    place = write(tmp_path / "a.md", b"\0\0")
    assert source_state(record(tmp_path, "a.md", b"\0\0", reason="binary")) == SourceState("changed", place)


def test_without_a_root_paths_are_below_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = write(tmp_path / "docs" / "a.md", b"alpha")
    monkeypatch.chdir(tmp_path)
    assert source_state(record("", "docs/a.md", b"alpha")) == SourceState("match", place)


def test_members_of_archives_are_looked_at_where_they_are(tmp_path: Path) -> None:
    def pack(name: str, **members: str) -> int:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for member, text in sorted(members.items()):
                archive.writestr(f"{member}.txt", text)
        return (tmp_path / name).stat().st_size

    size = pack("a.zip", one="alpha", two="beta")
    one = replace(record(tmp_path, "a.zip!/one.txt", b"alpha"), size=size)
    two = replace(record(tmp_path, "a.zip!/two.txt", b"gamma"), size=size)
    lost = replace(record(tmp_path, "a.zip!/three.txt", b"delta"), size=size)
    states = source_states([one, two, lost])
    assert [states[own.path].state for own in (one, two, lost)] == ["match", "changed", "gone"]
    assert states[one.path].place == str(tmp_path / "a.zip!/one.txt")
    (tmp_path / "a.zip").rename(tmp_path / "b.zip")
    assert source_state(one) == SourceState("moved", str(tmp_path / "b.zip!/one.txt"))
    (tmp_path / "b.zip").write_bytes(b"PK no archive".ljust(size))
    assert source_state(one).state == "gone"


def test_names_that_are_no_text_are_found(tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    with open(raw, "wb") as file:
        file.write(b"alpha")
    assert source_state(record(tmp_path, "caf\\xe9.txt", b"alpha")).state == "match"
    literal = write(tmp_path / "caf\\xe8.txt", b"beta")
    assert source_state(record(tmp_path, "caf\\xe8.txt", b"beta")) == SourceState("match", literal)


def test_what_is_no_file_is_gone_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder", "a\0b", "pipe/below"):
        assert source_state(record(tmp_path, name, b"alpha")).state == "gone"


def test_a_file_is_gone_only_where_nothing_is_in_its_place(tmp_path: Path) -> None:
    def gone(path: str, root: str = str(tmp_path)) -> bool:
        return is_gone(SourceRecord(path, 1, 1, "0" * 64, "d", root=root))

    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.zip").write_text("no archive")
    (tmp_path / os.fsdecode(b"c\xff.txt")).write_text("c")
    assert not gone("a.txt")
    assert not gone("b.zip!/x.txt")
    assert not gone("c\\xff.txt")
    assert not gone("d.txt", "")
    assert gone("d.txt")
    assert gone("e.zip!/x.txt")
    assert gone("a.txt/x.txt")
