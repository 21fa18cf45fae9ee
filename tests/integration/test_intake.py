"""Files on their way into an index: archives, failures that are remembered, files that change while they are read."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from idc_local import sources
from idc_local.errors import InputError
from idc_local.indexing import IndexOptions
from idc_local.ports import SourceFile
from idc_local.readers.direct import DirectReader
from idc_local.readers.walk import WalkOptions
from idc_local.sources import read_file
from idc_local.store import Snapshot
from idc_local.types import Document, SourceRecord
from tests.indexkit import Kit

PLAIN = IndexOptions(intents="off")
ARCHIVES = IndexOptions(intents="off", walk=WalkOptions(archives=True))
BINARY = b"\x00\xff\x00\x01" * 200


def pack(path: Path, files: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)


def known(kit: Kit) -> dict[str, SourceRecord]:
    with Snapshot.open(kit.index) as snapshot:
        return dict(snapshot.sources())


class CountingReader(DirectReader):
    """Remembers what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[str] = []

    def read(self, data: bytes, path: str) -> Document:
        self.paths.append(path)
        return super().read(data, path)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path / "index", reader=CountingReader())


def read_paths(kit: Kit) -> list[str]:
    assert isinstance(kit.reader, CountingReader)
    paths, kit.reader.paths = kit.reader.paths, []
    return paths


def test_members_of_archives_come_and_go_with_them(docs: Path, kit: Kit) -> None:
    text = b"The lamp needs a new bulb. It glows red."
    pack(docs / "a.zip", {"lamp.txt": text, "sub/pump.md": b"# Pump\n\nIt needs oil.", "x.txt": BINARY, "p.png": b""})
    report = kit.add(docs, options=ARCHIVES)
    assert (report.new, report.skipped[0].reason) == (2, "unsupported type .png")
    assert [skip.path for skip in report.skipped] == ["a.zip!/p.png", "a.zip!/x.txt"]
    hit = kit.search("lamp bulb")[0]
    assert (hit.chunk.path, hit.chunk.text) == ("a.zip!/lamp.txt", text.decode())
    assert read_paths(kit) == ["a.zip!/lamp.txt", "a.zip!/sub/pump.md", "a.zip!/x.txt"]

    again = kit.add(docs, options=ARCHIVES)
    assert (again.new, again.unchanged, again.removed, len(again.skipped)) == (0, 2, 0, 2)
    assert read_paths(kit) == []
    seen = kit.forecast(docs, options=ARCHIVES)
    assert [(fate.path, fate.action) for fate in seen.plan] == [("a.zip", "unchanged")]

    pack(docs / "a.zip", {"lamp.txt": text, "new.txt": b"A new file about valves."})
    changed = kit.add(docs, options=ARCHIVES)
    assert (changed.new, changed.unchanged, changed.removed, changed.skipped) == (1, 1, 3, ())
    (docs / "a.zip").write_bytes(b"PK\x03\x04 damaged")
    damaged = kit.add(docs, options=ARCHIVES)
    assert (damaged.removed, [skip.path for skip in damaged.skipped]) == (0, ["a.zip"])
    assert kit.search("lamp bulb")[0].chunk.path == "a.zip!/lamp.txt"
    assert kit.add(docs, options=PLAIN).removed == 2


def test_a_vanished_archive_takes_its_members_along(docs: Path, kit: Kit) -> None:
    pack(docs / "a.zip", {"lamp.txt": b"The lamp glows."})
    (docs / "b.txt").write_text("The pump needs oil.")
    assert kit.add(docs, options=ARCHIVES).new == 2
    (docs / "a.zip").unlink()
    assert kit.add(docs, options=ARCHIVES).removed == 1
    assert list(known(kit)) == ["b.txt"]


def test_a_failure_is_remembered_by_what_the_file_holds(docs: Path, kit: Kit) -> None:
    (docs / "bad.txt").write_bytes(BINARY)
    reason = kit.add(docs, options=PLAIN).skipped[0].reason
    assert read_paths(kit) == ["bad.txt"]
    os.utime(docs / "bad.txt", (1, 1))
    (docs / "copy.txt").write_bytes(BINARY)
    report = kit.add(docs, options=PLAIN)
    assert [(skip.path, skip.reason) for skip in report.skipped] == [("bad.txt", reason), ("copy.txt", reason)]
    assert read_paths(kit) == []
    (docs / "copy.txt").rename(docs / "copy.md")
    kit.add(docs, options=PLAIN)
    assert read_paths(kit) == ["copy.md"]
    kit.add(docs, options=IndexOptions(intents="off", retry_failed=True))
    assert read_paths(kit) == ["bad.txt", "copy.md"]
    (docs / "bad.txt").write_text("Now it is text.")
    assert kit.add(docs, options=PLAIN).updated == 1


def test_what_could_not_be_opened_is_tried_again(docs: Path, kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    (docs / "a.txt").write_text("The pump needs oil.")
    with monkeypatch.context() as patch:
        patch.setattr(sources, "_read_still", lambda file, limit: None)
        report = kit.add(docs, options=PLAIN)
    assert [(skip.path, skip.reason) for skip in report.skipped] == [("a.txt", "changes while it is read")]
    assert kit.add(docs, options=PLAIN).updated == 1


def test_a_file_is_read_as_one_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(b"one")
    file = SourceFile("log.txt", path, 3, path.stat().st_mtime_ns)
    assert read_file(file, 100) == (b"one", file)
    path.write_bytes(b"longer")
    data, found = read_file(file, 100)
    assert (data, found.size, found.mtime_ns) == (b"longer", 6, path.stat().st_mtime_ns)
    assert len(read_file(file, 4)[0]) == 5

    real = os.fstat
    states: list[int] = []

    def growing(descriptor: int) -> os.stat_result:
        if len(states) < limit and len(states) % 2:
            with path.open("ab") as log:
                log.write(b"+")
        states.append(descriptor)
        return real(descriptor)

    monkeypatch.setattr(os, "fstat", growing)
    limit = 4
    assert read_file(file, 100)[0] == b"longer++"
    states.clear()
    limit = 100
    with pytest.raises(InputError, match=r"^log\.txt: changes while it is read"):
        read_file(file, 100)


def test_a_file_that_becomes_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(InputError, match="not a regular file"):
        read_file(SourceFile("a.txt", tmp_path / "a.txt", 3, 0), 100)


def test_a_file_that_vanishes_during_the_run_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "a.txt", tmp_path / "file" / "a.txt"):
        with pytest.raises(InputError, match=r"^a\.txt: has vanished during the run") as caught:
            read_file(SourceFile("a.txt", place, 3, 0), 100)
        assert caught.value.hint == "run index again"


def test_a_file_of_a_gigabyte_is_named_and_not_read(docs: Path, kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("huge.txt", "huge.pdf"):
        (docs / name).touch()
        os.truncate(docs / name, 1 << 30)
    (docs / "a.txt").write_text("The pump needs oil.")
    opened: list[str] = []
    real = sources.read_file

    def noted(file: SourceFile, limit: int) -> tuple[bytes, SourceFile]:
        opened.append(file.path)
        return real(file, limit)

    monkeypatch.setattr("idc_local.indexing.read_file", noted)
    report = kit.add(docs, options=PLAIN)
    reason = f"too large: {1 << 30} bytes, the limit is {64 << 20}"
    assert [(skip.path, skip.reason) for skip in report.skipped] == [("huge.pdf", reason), ("huge.txt", reason)]
    assert opened == ["a.txt"]


def test_a_nul_a_bell_and_a_turned_word_stay_in_the_text(docs: Path, kit: Kit) -> None:
    text = "The pump\0 needs \x07oil. \u202eyldaed si tI\u202c and \x1b[2J more words follow here."
    (docs / "odd \x1b[2J.txt").write_text(text)
    assert kit.add(docs, options=PLAIN).new == 1
    assert kit.search("pump")[0].chunk.text == text
