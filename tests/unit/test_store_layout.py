from __future__ import annotations

import errno
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from idc_local.errors import StoreCorrupt, StoreError, StoreMismatch
from idc_local.fingerprint import canonical_json, sha256_hex
from idc_local.indexed import no_headings
from idc_local.ports import Completion
from idc_local.store import Snapshot, Writer, export_index, import_index, layout, repair, schema, verify
from idc_local.store.layout import (
    FORMAT,
    MANIFEST,
    FileEntry,
    Manifest,
    generations_on_disk,
    make_folder,
    os_errors,
    read_manifest,
    write_durably,
    write_manifest,
)
from tests.store_documents import DIMENSION, FINGERPRINT, make_indexed, make_source, visible

EXAMPLE = Manifest(
    generation=3,
    fingerprint={"embedder": "e", "n": 1},
    content="c",
    dimension=8,
    counts={"chunks": 2},
    segments=("s",),
    files={"documents.json": FileEntry(4, "ab")},
)


def test_manifest_comes_back(tmp_path: Path) -> None:
    write_manifest(tmp_path, EXAMPLE)
    assert read_manifest(tmp_path) == EXAMPLE
    write_manifest(tmp_path, replace(EXAMPLE, generation=4))
    assert read_manifest(tmp_path) == replace(EXAMPLE, generation=4)
    assert [path.name for path in tmp_path.iterdir()] == [MANIFEST]
    assert (tmp_path / MANIFEST).stat().st_mode & 0o777 == 0o600


def test_no_manifest_is_none(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) is None
    assert read_manifest(tmp_path / "missing") is None
    (tmp_path / "file").touch()
    assert read_manifest(tmp_path / "file") is None


def test_every_flipped_byte_of_the_manifest_is_noticed(tmp_path: Path) -> None:
    write_manifest(tmp_path, EXAMPLE)
    path = tmp_path / MANIFEST
    data = path.read_bytes()
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 0x04
        path.write_bytes(damaged)
        try:
            found = read_manifest(tmp_path)
        except (StoreCorrupt, StoreMismatch):
            continue
        assert found == EXAMPLE, "only white space may change unnoticed"


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"seal": 1}', "\xff", "[" * 100_000])
def test_what_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_bytes(text.encode("latin-1"))
    with pytest.raises(StoreCorrupt, match=r"manifest\.json is damaged"):
        read_manifest(tmp_path)


def test_newer_format_is_refused_in_one_line(tmp_path: Path) -> None:
    write_manifest(tmp_path, EXAMPLE)
    body = json.loads((tmp_path / MANIFEST).read_bytes())
    del body["seal"]
    body["format"] = FORMAT + 1
    body["seal"] = sha256_hex(canonical_json(body).encode())
    (tmp_path / MANIFEST).write_text(json.dumps(body))
    with pytest.raises(StoreMismatch, match=f"has format {FORMAT + 1}.* hint: update idc-local"):
        read_manifest(tmp_path)


def test_an_older_format_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        writer.put_source(make_source(make_indexed("One. Two.")))
        writer.put_document(make_indexed("One. Two."))
        writer.publish()
    answers = visible(tmp_path)
    monkeypatch.setattr(layout, "FORMAT", FORMAT + 1)
    with pytest.raises(StoreMismatch, match=f"has format {FORMAT}, .* hint: idc-local repair"):
        Snapshot.open(tmp_path)
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        assert writer.publish() == 2
    assert visible(tmp_path) == answers


def test_documents_that_were_stored_without_tokens_are_kept_and_searched(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        for text, path in (("One. Two.", "a.txt"), ("Three. Four. Five.", "b.txt")):
            old = make_indexed(text, path)
            writer.put_source(make_source(old))
            bare = replace(old, headings=no_headings(len(old.chunks), DIMENSION))
            writer.put_document(replace(bare, token_codes=lambda first, last: [b""] * (last - first)))
        writer.publish()
    answers = visible(tmp_path)
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as db:
        for name in ("token_sizes", "token_seal", "heading_vectors", "heading_seal", "chunk_headings"):
            assert db.execute("DELETE FROM parts WHERE name = ?", (name,)).rowcount == 2
        db.execute("PRAGMA user_version = 1")
        db.commit()
    (tmp_path / "index.sha256").unlink()
    with pytest.raises(StoreMismatch, match=r"has format 1, .* reads 2\. hint: idc-local repair"):
        Snapshot.open(tmp_path)
    repair(tmp_path)
    assert failures(tmp_path) == []
    assert visible(tmp_path) == answers
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.sentence_tokens(np.arange(snapshot.size))[1].tolist() == [0] * 6
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        writer.put_document(make_indexed("One. Two.", "a.txt", recipe="newer"))
        writer.publish()
    with Snapshot.open(tmp_path) as snapshot:
        assert [len(part) for part in snapshot.sentence_tokens(np.arange(snapshot.size))] == [2, 6]


def failures(folder: Path) -> list[str]:
    return [check.detail for check in verify(folder, deep=True) if check.status == "fail"]


def test_an_older_database_is_named_and_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Writer.open(tmp_path / "index", FINGERPRINT) as writer:
        writer.put_source(make_source(make_indexed("One. Two.")))
        writer.put_document(make_indexed("One. Two."))
        writer.put_intents({"key": Completion("Why?", -0.5)})
        writer.publish()
    answers = visible(tmp_path / "index")
    export_index(tmp_path / "index", tmp_path / "old.tar")

    def m002_notes(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE notes(id INTEGER PRIMARY KEY, note TEXT NOT NULL DEFAULT '') ")
        db.execute("INSERT INTO notes(id) SELECT id FROM editions")

    def interrupted(db: sqlite3.Connection) -> None:
        m002_notes(db)
        raise KeyboardInterrupt

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, interrupted))
    known = len(schema.MIGRATIONS)
    with pytest.raises(StoreMismatch, match=f"has format {known - 1}, .* reads {known}. hint: idc-local repair"):
        Snapshot.open(tmp_path / "index")
    assert any("has format" in check.detail for check in verify(tmp_path / "index", deep=True))
    with pytest.raises(KeyboardInterrupt):
        repair(tmp_path / "index")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS[:-1], m002_notes))
    repair(tmp_path / "index")
    import_index(tmp_path / "old.tar", tmp_path / "copy")
    for folder in (tmp_path / "index", tmp_path / "copy"):
        assert visible(folder) == answers
        assert {check.status for check in verify(folder, deep=True)} == {"ok"}
        with Writer.open(folder, FINGERPRINT) as writer:
            assert writer.intents(["key"]) == {"key": Completion("Why?", -0.5)}
        db = sqlite3.connect(folder / "index.sqlite")
        assert db.execute("SELECT count(*) FROM notes").fetchone() == (1,)
        assert db.execute("PRAGMA user_version").fetchone() == (known,)
        db.close()


def test_a_file_that_the_manifest_does_not_name_is_missing(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        writer.publish()
    manifest = read_manifest(tmp_path)
    assert manifest is not None
    write_manifest(tmp_path, replace(manifest, files={k: v for k, v in manifest.files.items() if k != "facts.json"}))
    with pytest.raises(StoreCorrupt):
        Snapshot.open(tmp_path)


def test_folders_are_private_and_old_ones_are_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(StoreError, match="Not a directory"), os_errors(tmp_path / "a"):
        make_folder(tmp_path / "a" / "b")


def test_durable_write_replaces_whole_files(tmp_path: Path) -> None:
    write_durably(tmp_path / "x", b"old")
    write_durably(tmp_path / "x", b"new one")
    assert (tmp_path / "x").read_bytes() == b"new one"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_generations_are_numbers(tmp_path: Path) -> None:
    assert generations_on_disk(tmp_path) == []
    for name in ("10", "9", ".removing-8", "x"):
        (tmp_path / "generations" / name).mkdir(parents=True)
    assert generations_on_disk(tmp_path) == [9, 10]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.ENOSPC, "No space left"),
        (errno.EACCES, "permissions"),
        (errno.EROFS, "Read-only"),
        (errno.ENOENT, "exists"),
    ],
)
def test_errors_of_the_system_become_one_line(tmp_path: Path, number: int, text: str) -> None:
    import os

    with pytest.raises(StoreError, match=text) as caught, os_errors(tmp_path):
        raise OSError(number, os.strerror(number))
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 4
    assert str(tmp_path) in caught.value.message
