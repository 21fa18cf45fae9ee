from __future__ import annotations

from pathlib import Path

import pytest

from idc_local.errors import StoreCorrupt
from idc_local.ports import Completion
from idc_local.store import Snapshot, Writer, compact, export_index, repair, rest, verify
from idc_local.store.layout import sha256_file
from idc_local.store.rest import RESTING, check_rest, wake
from tests.store_documents import FINGERPRINT, make_indexed, make_source


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        indexed = make_indexed("The pump is blue. It runs at noon.")
        writer.put_document(indexed)
        writer.put_source(make_source(indexed))
        writer.publish()
    return tmp_path


def test_the_checksum_is_there_only_while_nobody_writes(folder: Path) -> None:
    assert sha256_file(folder / "index.sqlite") in (folder / RESTING).read_text()
    assert (folder / RESTING).stat().st_mode & 0o777 == 0o600
    with Writer.open(folder, FINGERPRINT) as writer:
        assert not (folder / RESTING).exists()
        writer.put_intents({"key": Completion("Why?", -0.5)})
        check_rest(folder)
    assert sha256_file(folder / "index.sqlite") in (folder / RESTING).read_text()


def test_an_unchanged_database_is_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (folder / RESTING).read_bytes()
    read: list[Path] = []

    def counted(path: Path) -> str:
        read.append(path)
        return sha256_file(path)

    monkeypatch.setattr(rest, "sha256_file", counted)
    with Writer.open(folder, FINGERPRINT) as writer:
        assert read == [folder / "index.sqlite"], "compared before the checksum is taken away"
        writer.publish()
    assert (folder / RESTING).read_bytes() == before
    assert len(read) == 1


@pytest.mark.parametrize("name", ["index.sqlite", RESTING])
def test_a_writer_does_not_vouch_for_damage(folder: Path, name: str) -> None:
    data = (folder / name).read_bytes()
    place = data.rindex(b"\0" * 64) if name == "index.sqlite" else 12
    (folder / name).write_bytes(data[:place] + b"\1" + data[place + 1 :])
    for _ in range(2):
        with pytest.raises(StoreCorrupt, match=f"{name} is damaged"):
            Writer.open(folder, FINGERPRINT)
    assert "fail" in {check.status for check in verify(folder, deep=True)}
    repair(folder)
    with Writer.open(folder, FINGERPRINT) as writer:
        writer.publish()
    assert {check.status for check in verify(folder, deep=True)} == {"ok"}


def test_any_byte_of_the_database_and_of_the_checksum_counts(folder: Path) -> None:
    for name, step in (("index.sqlite", 997), (RESTING, 13)):
        data = (folder / name).read_bytes()
        for place in range(0, len(data), step):
            (folder / name).write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
            with pytest.raises(StoreCorrupt, match=f"{name} is damaged"):
                check_rest(folder)
        (folder / name).write_bytes(data)
    check_rest(folder)


def test_an_export_does_not_vouch_for_damage(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("out") / "notes.tar"
    data = (folder / "index.sqlite").read_bytes()
    place = data.rindex(b"\0" * 64)
    (folder / "index.sqlite").write_bytes(data[:place] + b"\1" + data[place + 1 :])
    for _ in range(2):
        with pytest.raises(StoreCorrupt, match=r"index\.sqlite is damaged"):
            export_index(folder, file)
    assert not file.exists()
    repair(folder)
    assert [check.status for check in export_index(folder, file)] == ["ok"]


def test_damage_between_rows_is_named_and_mended(folder: Path) -> None:
    data = (folder / "index.sqlite").read_bytes()
    place = data.rindex(b"\0" * 64)
    (folder / "index.sqlite").write_bytes(data[:place] + b"\1" + data[place + 1 :])
    (failed,) = [check for check in verify(folder, deep=True) if check.status == "fail"]
    assert (failed.detail, failed.fix) == (
        f"{folder / 'index.sqlite'} is damaged: its content does not fit its checksum",
        "idc-local repair",
    )
    compact(folder)
    assert {check.status for check in verify(folder, deep=True)} == {"ok"}


def test_a_writer_that_came_in_between_is_no_damage(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(path: Path) -> str:
        wake(folder)
        return "0" * 64

    monkeypatch.setattr(rest, "sha256_file", slowly)
    check_rest(folder)


def test_without_a_checksum_nothing_is_compared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "LIMIT", 100)
    with Writer.open(folder, FINGERPRINT) as writer:
        writer.put_intents({"key": Completion("Why?", -0.5)})
    assert not (folder / RESTING).exists()
    assert {check.status for check in verify(folder, deep=True)} == {"ok"}
    with Snapshot.open(folder) as snapshot:
        assert snapshot.size == 1


def test_a_checksum_that_cannot_be_written_is_left_out(folder: Path) -> None:
    wake(folder)
    (folder / (RESTING + ".new")).mkdir()
    rest.rest(folder)
    assert not (folder / RESTING).exists()
