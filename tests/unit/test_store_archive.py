from __future__ import annotations

import hashlib
import io
import json
import os
import sqlite3
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from idc_local.errors import IdcError, InputError, StoreCorrupt, StoreError, StoreLocked
from idc_local.ports import Completion
from idc_local.store import Snapshot, Writer, export_index, import_index, verify
from tests.store_documents import FINGERPRINT, make_indexed, make_source, visible


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "index"
    with Writer.open(place, FINGERPRINT) as writer:
        for number, text in enumerate(("One. Two. Three.", "Four. Five.", "")):
            indexed = make_indexed(text, f"{number}.txt")
            writer.put_document(indexed)
            writer.put_source(replace(make_source(indexed), root="/home/somebody/papers"))
        writer.put_intents({"key": Completion("What?", -0.5)})
        writer.publish()
    return place


def archive(path: Path, members: list[tuple[str, bytes]], kind: bytes = tarfile.REGTYPE) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, data in members:
            entry = tarfile.TarInfo(name)
            entry.size, entry.type = len(data), kind
            tar.addfile(entry, io.BytesIO(data))
    return path


def described(data: bytes) -> bytes:
    return json.dumps({"format": 1, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}).encode()


def test_an_imported_index_answers_as_the_exported_one(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "out" / "papers.tar"
    file.parent.mkdir()
    export_index(folder, file)
    assert export_index(folder, file)[0].detail == f"{file}: {file.stat().st_size:,} bytes"
    assert [path.name for path in file.parent.iterdir()] == ["papers.tar"]
    assert file.stat().st_mode & 0o777 == 0o600
    with tarfile.open(file) as tar:
        assert tar.getnames() == ["index.json", "index.sqlite"]
    import_index(file, tmp_path / "a" / "b")
    theirs, ours = visible(tmp_path / "a" / "b"), visible(folder)
    assert {path: record.root for path, record in theirs.pop("sources").items()} == dict.fromkeys(ours["sources"], "")
    ours.pop("sources")
    assert theirs == ours
    assert {check.status for check in verify(tmp_path / "a" / "b", deep=True)} == {"ok"}
    with Writer.open(tmp_path / "a" / "b", FINGERPRINT) as writer:
        assert writer.intents(["key"]) == {"key": Completion("What?", -0.5)}
        assert {record.root for record in writer.sources().values()} == {""}
    assert b"somebody" not in file.read_bytes()
    with Snapshot.open(folder) as snapshot:
        assert {record.root for record in snapshot.sources().values()} == {"/home/somebody/papers"}


def test_an_import_overwrites_nothing(folder: Path, tmp_path: Path) -> None:
    export_index(folder, tmp_path / "x.tar")
    with pytest.raises(StoreError, match="is not empty"):
        import_index(tmp_path / "x.tar", folder)
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").touch()
    with pytest.raises(StoreError, match="is not empty"):
        import_index(tmp_path / "x.tar", other)
    (other / "letter.txt").unlink()
    import_index(tmp_path / "x.tar", other)
    assert visible(other)["ids"] == visible(folder)["ids"]


def test_every_changed_byte_of_the_database_is_noticed(folder: Path, tmp_path: Path) -> None:
    export_index(folder, tmp_path / "x.tar")
    data = (tmp_path / "x.tar").read_bytes()
    start = data.index(b"SQLite format 3")
    size = json.loads(data[data.index(b"{") : data.index(b"}") + 1])["size"]
    for place in range(start, start + size, size // 9):
        (tmp_path / "bad.tar").write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(StoreCorrupt, match=r"bad\.tar is damaged"):
            import_index(tmp_path / "bad.tar", tmp_path / "new")
    for length in (0, 100, 512, 1500, start + size // 2):
        (tmp_path / "bad.tar").write_bytes(data[:length])
        with pytest.raises(IdcError, match=r"bad\.tar"):
            import_index(tmp_path / "bad.tar", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert not list(tmp_path.glob(".new*"))


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "index.sqlite/../../evil", "generations/1/x"])
def test_only_two_names_are_ever_read(tmp_path: Path, name: str) -> None:
    for members in ([(name, b"x")], [("index.json", described(b"x")), (name, b"x")]):
        file = archive(tmp_path / "x.tar", members)
        with pytest.raises(InputError, match="no exported index"):
            import_index(file, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.tar"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE])
def test_only_regular_files_are_read(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(InputError, match="no exported index"):
        import_index(archive(tmp_path / "x.tar", [("index.json", b"")], kind), tmp_path / "new")


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{}", b'{"format": "x"}', b'{"format": 1, "size": null}', b"\xff", b"[" * 20_000]
)
def test_a_description_that_is_none(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(InputError, match="no exported index"):
        import_index(archive(tmp_path / "x.tar", [("index.json", text)]), tmp_path / "new")


def test_a_newer_archive(tmp_path: Path) -> None:
    text = b'{"format": 2, "size": 0, "sha256": ""}'
    with pytest.raises(InputError, match=r"newer idc-local \(format 2\)"):
        import_index(archive(tmp_path / "x.tar", [("index.json", text)]), tmp_path / "new")


def test_a_database_with_something_of_its_own_is_refused(folder: Path, tmp_path: Path) -> None:
    db = sqlite3.connect(folder / "index.sqlite")
    db.execute("PRAGMA journal_mode = DELETE")
    db.execute("CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM sources; END")
    db.commit()
    db.close()
    data = (folder / "index.sqlite").read_bytes()
    file = archive(tmp_path / "x.tar", [("index.json", described(data)), ("index.sqlite", data)])
    with pytest.raises(StoreCorrupt, match="has other tables"):
        import_index(file, tmp_path / "new")
    data = b"no database" * 100
    file = archive(tmp_path / "x.tar", [("index.json", described(data)), ("index.sqlite", data)])
    with pytest.raises(StoreCorrupt):
        import_index(file, tmp_path / "new")


def test_export_needs_an_index_and_the_lock(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no index in"):
        export_index(tmp_path / "none", tmp_path / "x.tar")
    with Writer.open(folder, FINGERPRINT), pytest.raises(StoreLocked):
        export_index(folder, tmp_path / "x.tar")
    with pytest.raises(InputError, match=r"missing/x\.tar cannot be written: No such file or directory"):
        export_index(folder, tmp_path / "missing" / "x.tar")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        import_index(tmp_path / "x.tar", tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index"]


def test_only_an_exported_index_is_replaced(folder: Path, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear all. " * 100)
    for place in (letter, tmp_path):
        with pytest.raises(InputError, match="exists and is no exported index"):
            export_index(folder, place)
    assert letter.read_text() == "Dear all. " * 100
    (tmp_path / "empty").touch()
    export_index(folder, tmp_path / "empty")
    import_index(tmp_path / "empty", tmp_path / "copy")
    assert visible(tmp_path / "copy")["ids"] == visible(folder)["ids"]
    with pytest.raises(InputError, match=r"none/x\.tar cannot be written: No such file or directory"):
        export_index(folder, tmp_path / "none" / "x.tar")


def test_what_is_no_file_is_not_imported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(InputError, match="is no file"):
            import_index(tmp_path / name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_file_that_cannot_be_looked_at_is_named(tmp_path: Path) -> None:
    file = tmp_path / ("x" * 300)  # refused to root too, unlike what lies in a folder without permissions
    with pytest.raises(InputError) as caught:
        import_index(file, tmp_path / "new")
    assert (caught.value.message, caught.value.hint) == (f"{file} cannot be read: File name too long", "check the path")


def test_standard_output_is_no_file_to_export_to(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="not to standard output"):
        export_index(folder, Path("-"))
    assert not Path("-").exists()
    export_index(folder, tmp_path / "-")
    assert Path("-").exists(), "a file may be called so"


def test_any_name_in_utf_8_can_be_exported_to_and_imported_into(folder: Path, tmp_path: Path) -> None:
    for name in ("a**", "[x", "100%", "naïve"):
        export_index(folder, tmp_path / name)
        import_index(tmp_path / name, tmp_path / "new" / name)
        assert all(check.status == "ok" for check in verify(tmp_path / "new" / name, deep=True))
    with pytest.raises(InputError, match="is no name in UTF-8"):
        export_index(folder, tmp_path / "caf\udce9")
