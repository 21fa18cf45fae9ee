from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from idc_local.ports import SourceFile
from idc_local.readers.walk import Ignored, WalkOptions, walk
from idc_local.types import Skip


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"text")


def files(roots: Sequence[Path], options: WalkOptions | None = None) -> list[str]:
    return [entry.path for entry in walk(roots, options) if isinstance(entry, SourceFile)]


def skips(roots: Sequence[Path], options: WalkOptions | None = None) -> list[tuple[str, str]]:
    return [(entry.path, entry.reason) for entry in walk(roots, options) if isinstance(entry, Skip)]


def ignored(roots: Sequence[Path], options: WalkOptions | None = None) -> list[tuple[str, str]]:
    return [(entry.path, entry.reason) for entry in walk(roots, options) if isinstance(entry, Ignored)]


def test_a_folder_gives_its_files_by_name(tmp_path: Path) -> None:
    make(tmp_path, "b.txt", "a.md", "sub/c.html", "sub/deep/d.txt", "README", "B.txt")
    assert files([tmp_path]) == ["B.txt", "README", "a.md", "b.txt", "sub/c.html", "sub/deep/d.txt"]
    entry = next(iter(walk([tmp_path])))
    assert isinstance(entry, SourceFile)
    status = (tmp_path / "B.txt").stat()
    assert entry == SourceFile("B.txt", tmp_path / "B.txt", status.st_size, status.st_mtime_ns)


def test_types_without_words_are_named_in_a_folder_and_tried_when_asked_for(tmp_path: Path) -> None:
    make(tmp_path, "a.txt", "b.xyz", "c.PNG", "d.zst", "e.idcx")
    assert files([tmp_path]) == ["a.txt", "b.xyz"]
    assert skips([tmp_path]) == [
        ("c.PNG", "unsupported type .png"),
        ("d.zst", "unsupported type .zst"),
        ("e.idcx", "unsupported type .idcx"),
    ]
    assert files([tmp_path / "c.PNG"]) == ["c.PNG"]


def test_archives_are_for_those_who_ask(tmp_path: Path) -> None:
    make(tmp_path, "a.zip", "b.tar.GZ", "c.tgz")
    assert files([tmp_path]) == []
    assert skips([tmp_path]) == [("a.zip", "an archive"), ("b.tar.GZ", "an archive"), ("c.tgz", "an archive")]
    assert skips([tmp_path / "a.zip"]) == [("a.zip", "an archive")]
    assert files([tmp_path], WalkOptions(archives=True)) == ["a.zip", "b.tar.GZ", "c.tgz"]


def test_hidden_names_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    make(tmp_path, "a.txt", ".b.txt", ".git/c.txt")
    assert files([tmp_path]) == ["a.txt"]
    assert skips([tmp_path]) == []
    assert ignored([tmp_path]) == [(".b.txt", "hidden"), (".git/", "hidden")]
    assert files([tmp_path], WalkOptions(hidden=True)) == [".b.txt", ".git/c.txt", "a.txt"]
    assert files([tmp_path / ".b.txt"]) == [".b.txt"]


def test_links_are_followed_while_they_stay_inside(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    make(root, "a.txt", "sub/b.txt", ".store/c.txt")
    make(outside, "secret.txt")
    (root / "again.txt").symlink_to(root / "a.txt")
    (root / "c.txt").symlink_to(".store/c.txt")
    (root / "kept").symlink_to(".store")
    (root / "loop").symlink_to(root)
    (root / "sub" / "up").symlink_to("..")
    (root / "out").symlink_to(outside)
    (root / "out.txt").symlink_to(outside / "secret.txt")
    (root / "gone.txt").symlink_to("nowhere")
    (root / "self.txt").symlink_to("self.txt")
    assert files([root]) == ["a.txt", "again.txt", "c.txt", "kept/c.txt", "sub/b.txt"]
    assert skips([root]) == [
        ("gone.txt", "a link that leads nowhere"),
        ("out", "a link that leads out of the folder"),
        ("out.txt", "a link that leads out of the folder"),
        ("self.txt", "a link that leads nowhere"),
    ]


def test_a_root_may_be_a_link(tmp_path: Path) -> None:
    make(tmp_path, "real/a.txt")
    (tmp_path / "link").symlink_to("real")
    assert files([tmp_path / "link"]) == ["a.txt"]


def test_pipes_and_sockets_are_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.txt")
        reason = "not a regular file (a pipe, socket or device)"
        assert skips([tmp_path]) == [("pipe.txt", reason), ("socket.txt", reason)]
        assert skips([tmp_path / "pipe.txt"]) == [("pipe.txt", reason)]


def test_large_files_are_skipped_with_both_sizes(tmp_path: Path) -> None:
    make(tmp_path, "a.txt")
    assert files([tmp_path], WalkOptions(max_bytes=4)) == ["a.txt"]
    assert skips([tmp_path], WalkOptions(max_bytes=3)) == [("a.txt", "too large: 4 bytes, the limit is 3")]


def test_what_may_not_be_read_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a.txt", "sub/b.txt")

    def scan(path: Path) -> os._ScandirIterator[str]:
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied")
        return real(path)

    real = os.scandir
    monkeypatch.setattr(os, "scandir", scan)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "a.txt")
    reason = "cannot be read: Permission denied"
    assert skips([tmp_path]) == [("a.txt", reason), ("sub/", reason)]


def test_a_missing_root_is_a_skip(tmp_path: Path) -> None:
    assert skips([tmp_path / "no.txt"]) == [("no.txt", "cannot be read: No such file or directory")]


def test_names_of_several_roots_are_unique(tmp_path: Path) -> None:
    make(tmp_path, "one/a.txt", "one/b.txt", "two/a.txt", "x/one/a.txt", "c.txt")
    one, two = tmp_path / "one", tmp_path / "two"
    assert files([one, tmp_path / "c.txt"]) == ["a.txt", "b.txt", "c.txt"]
    assert files([one, two]) == ["one/a.txt", "one/b.txt", "two/a.txt"]
    assert files([one / "a.txt", two / "a.txt"]) == ["one/a.txt", "two/a.txt"]
    other = tmp_path / "x" / "one"
    assert files([one, other]) == [f"{one}/a.txt", f"{one}/b.txt", f"{other}/a.txt"]
    assert files([one, one, tmp_path / "one" / ".." / "one"]) == ["a.txt", "b.txt"]


def test_bytes_in_names_that_are_not_utf8_are_written_out(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    Path(os.fsdecode(name)).write_bytes(b"x")
    make(tmp_path, "größe \U0001f600\n.txt")
    entries = list(walk([tmp_path]))
    assert [entry.path for entry in entries] == ["caf\\xe9.txt", "größe \U0001f600\n.txt"]
    assert all(isinstance(entry, SourceFile) and entry.real.read_bytes() for entry in entries)


def test_a_deep_tree_costs_no_stack(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(200):
        folder = folder / "d"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_bytes(b"x")
    assert files([tmp_path]) == ["d/" * 200 + "a.txt"]


def test_ignore_files_leave_out_and_say_where(tmp_path: Path) -> None:
    make(tmp_path, "a.txt", "b.log", "keep.log", "out/x.txt", "sub/a.txt", "sub/b.txt", "sub/deep/b.txt")
    (tmp_path / ".gitignore").write_text("*.log\nout/\n")
    (tmp_path / ".idcignore").write_text("!keep.log\n")
    (tmp_path / "sub" / ".gitignore").write_text("/b.txt\n")
    assert files([tmp_path]) == ["a.txt", "keep.log", "sub/a.txt", "sub/deep/b.txt"]
    reasons = [entry for entry in ignored([tmp_path]) if entry[1] != "hidden"]
    assert reasons == [("b.log", ".gitignore:1"), ("out/", ".gitignore:2"), ("sub/b.txt", ".gitignore:1")]
    assert skips([tmp_path]) == []
    assert files([tmp_path / "b.log", tmp_path / "out"]) == ["b.log", "x.txt"]


def test_patterns_above_a_root_hold_for_its_parts(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    make(repository, "sub/a.txt", "sub/b.txt", "sub/c.txt", "sub/d.txt", ".git/config")
    (repository / ".gitignore").write_text("sub/a.txt\n")
    (repository / ".idcignore").write_text("b.txt\n")
    (tmp_path / ".gitignore").write_text("c.txt\n")
    (tmp_path / ".idcignore").write_text("d.txt\n")
    assert files([repository]) == ["sub/c.txt"]
    assert files([repository / "sub"]) == ["c.txt"]
    (repository / ".git" / "config").unlink()
    (repository / ".git").rmdir()
    assert files([repository]) == ["sub/c.txt"]
    assert files([repository / "sub"]) == ["a.txt", "c.txt"]


def test_globs_of_the_command_line(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b.txt", "docs/c.txt", "docs/d.md", "docs/old/e.md", "f.log")
    (tmp_path / ".gitignore").write_text("f.log\n")

    def found(include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> list[str]:
        return files([tmp_path], WalkOptions(include=include, exclude=exclude))

    assert found(("*.md",)) == ["a.md", "docs/d.md", "docs/old/e.md"]
    assert found(("/docs",)) == ["docs/c.txt", "docs/d.md", "docs/old/e.md"]
    assert found(("*.md", "b.txt"), ("old/",)) == ["a.md", "b.txt", "docs/d.md"]
    assert found((), ("*.md", "!a.md")) == ["a.md", "b.txt", "docs/c.txt"]
    assert found(("*.log",)) == []
    assert ignored([tmp_path / "a.md"], WalkOptions(exclude=("*.md",))) == [("a.md", "--exclude *.md")]
    assert ignored([tmp_path / "b.txt"], WalkOptions(include=("*.md",))) == [("b.txt", "no --include names it")]


def test_an_index_is_no_document(tmp_path: Path) -> None:
    make(tmp_path, "a.txt", "mine/manifest.json", "mine/index.sqlite", "mine/generations/1/x.json")
    make(tmp_path, "begun/lock", "begun/index.sqlite", "begun/index.sqlite-wal", "begun/config.toml")
    make(tmp_path, "other/manifest.json")
    assert files([tmp_path]) == ["a.txt", "other/manifest.json"]
    assert ignored([tmp_path]) == [("begun/", "an index"), ("mine/", "an index")]


def test_of_names_that_read_the_same_one_file_is_taken_and_the_other_named(tmp_path: Path) -> None:
    make(tmp_path, "a.txt", "x\\xff.txt", "x\udcff.txt")
    assert files([tmp_path]) == ["a.txt", "x\\xff.txt"]
    assert skips([tmp_path]) == [("x\\xff.txt", "another file's name reads the same")]


def test_an_ignore_file_that_is_none_is_passed_over(tmp_path: Path) -> None:
    make(tmp_path, "a.txt", "sub/a.txt", "far/a.txt")
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "sub" / ".gitignore").mkdir()
    (tmp_path / "far" / ".gitignore").write_text("a.txt\n" * 50_000)
    assert files([tmp_path]) == ["a.txt", "far/a.txt", "sub/a.txt"]
