from __future__ import annotations

import errno
import fcntl
import os
import shutil
from pathlib import Path

import pytest

from idc_local.errors import StoreCorrupt, StoreError, StoreLocked
from idc_local.store import Snapshot, Writer, lock
from idc_local.store.layout import read_manifest
from tests.store_documents import FINGERPRINT, make_indexed, make_source

TEXT = "The first sentence. The second one."


def publish(folder: Path, name: str) -> int:
    with Writer.open(folder, FINGERPRINT) as writer:
        indexed = make_indexed(TEXT, name)
        writer.put_document(indexed)
        writer.put_source(make_source(indexed))
        return writer.publish()


def add_and_publish(writer: Writer) -> None:
    writer.put_source(make_source(make_indexed(TEXT), "b.txt"))
    writer.publish()


def test_what_a_dead_owner_left_in_the_lock_file_does_not_matter(tmp_path: Path) -> None:
    for text in ("", '{"pid": 1, "host": "elsewhere", "started": "5"}', "\xff nonsense"):
        (tmp_path / "lock").write_bytes(text.encode("latin-1"))
        Writer.open(tmp_path, FINGERPRINT).close()


def test_an_owner_that_cannot_be_read_is_another_process(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT):
        (tmp_path / "lock").write_bytes(b"nonsense")
        with pytest.raises(StoreLocked, match="written to by another process"):
            Writer.open(tmp_path, FINGERPRINT)


def test_a_process_has_a_beginning() -> None:
    mine = lock.process_start(os.getpid())
    assert mine == lock.process_start(os.getpid())
    if Path("/proc/self/stat").exists():
        assert int(mine) > 0
        assert int(lock.process_start(1)) <= int(mine)
    assert lock.process_start(2**30) == ""


def test_a_generation_that_is_read_is_not_removed(tmp_path: Path) -> None:
    publish(tmp_path, "a.txt")
    held = lock.hold_generation(tmp_path, 1)
    assert held is not None
    assert lock.remove_generation(tmp_path, 1) is False
    os.close(held)
    assert lock.remove_generation(tmp_path, 1) is True
    assert lock.remove_generation(tmp_path, 1) is True
    assert lock.hold_generation(tmp_path, 1) is None
    assert list((tmp_path / "generations").iterdir()) == []


def test_a_generation_that_is_being_removed_cannot_be_held(tmp_path: Path) -> None:
    publish(tmp_path, "a.txt")
    removing = os.open(tmp_path / "generations" / "1" / "documents.npy", os.O_RDWR)
    fcntl.flock(removing, fcntl.LOCK_EX)
    assert lock.hold_generation(tmp_path, 1) is None
    os.close(removing)


def test_removals_that_were_cut_short_are_finished(tmp_path: Path) -> None:
    publish(tmp_path, "a.txt")
    shutil.copytree(tmp_path / "generations" / "1", tmp_path / "generations" / ".removing-0")
    shutil.copytree(tmp_path / "generations" / "1", tmp_path / "generations" / "7")
    (tmp_path / "generations" / "8").mkdir()
    Writer.open(tmp_path, FINGERPRINT).close()
    assert os.listdir(tmp_path / "generations") == ["1"]


def test_a_reader_that_comes_too_late_takes_the_next_generation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path, "a.txt")
    old = read_manifest(tmp_path)
    publish(tmp_path, "b.txt")
    answers = [old]
    monkeypatch.setattr(lock, "read_manifest", lambda folder: answers.pop() if answers else read_manifest(folder))
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.generation == 2
        assert snapshot.paths_of(0) == ("a.txt", "b.txt")


def test_without_locks_nobody_writes_and_everybody_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, "a.txt")

    def none(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(StoreError, match=r"has no file locks.*local disk"):
        Writer.open(tmp_path, FINGERPRINT)
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.size == 1


def test_other_trouble_with_locks_is_an_error_and_leaks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path, "a.txt")

    def broken(descriptor: int, operation: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    before = os.listdir("/proc/self/fd") if Path("/proc/self/fd").exists() else []
    monkeypatch.setattr(fcntl, "flock", broken)
    with pytest.raises(StoreError, match="Input/output error"):
        Snapshot.open(tmp_path)
    assert len(before) == len(os.listdir("/proc/self/fd") if Path("/proc/self/fd").exists() else [])


def test_a_folder_that_vanishes_is_not_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    publish(folder, "a.txt")
    with Writer.open(folder, FINGERPRINT) as writer:
        shutil.rmtree(folder)
        with pytest.raises(StoreError) as caught:
            add_and_publish(writer)
        assert "\n" not in str(caught.value)
    assert not folder.exists()


def test_a_published_generation_without_its_manifest_is_not_read(tmp_path: Path) -> None:
    publish(tmp_path, "a.txt")
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(StoreError, match="no index in") as caught:
        Snapshot.open(tmp_path)
    assert str(caught.value) == (
        f"no index in {tmp_path}: manifest.json is missing. hint: idc-local repair --index {tmp_path}"
    )
    assert not isinstance(caught.value, StoreCorrupt)
    assert publish(tmp_path, "b.txt") == 2
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.paths_of(0) == ("a.txt", "b.txt")
