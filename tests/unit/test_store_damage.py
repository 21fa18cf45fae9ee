"""One changed byte anywhere never changes an answer: it is noticed, named and mended, or it does not matter."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from idc_local.errors import StoreCorrupt, StoreError
from idc_local.ports import Completion
from idc_local.store import Snapshot, Writer, compact, repair, verify
from idc_local.store.rest import RESTING
from idc_local.types import Check
from tests.store_documents import FINGERPRINT, MEMORY, make_indexed, make_source, visible

TEXTS = ("The pump is blue. It runs at noon. Oil it weekly.", "Alpha beta. Beta gamma. Delta.", "浮球磨损。 Last one.")
DERIVED = (
    "documents.npy", "facts.json", "document_order.npy", "document_ids.utf8", "document_ids.npy",
    "paths.utf8", "paths.npy", "source_paths.utf8", "source_paths.npy", "source_records.utf8",
    "source_records.npy", "sums.bin", "segments/*/chunks.faiss", "segments/*/codes.faiss", "segments/*/intents.faiss",
    "segments/*/sentences.npy", "segments/*/spans.npy", "segments/*/table.npy", "segments/*/ids.npy",
    "segments/*/members.npy", "segments/*/terms.utf8", "segments/*/terms.npy", "segments/*/data.csc.index.npy",
    "segments/*/indices.csc.index.npy", "segments/*/indptr.csc.index.npy", "segments/*/params.index.json",
    "segments/*/lengths.npy", "segments/*/sentence_terms.npy", "segments/*/sentence_term_offsets.npy",
    "segments/*/gaps.npy", "segments/*/tokens.npy", "segments/*/token_offsets.npy",
    "segments/*/heading_tokens.npy", "segments/*/heading_token_offsets.npy", "segments/*/sums.bin",
)  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of three documents."""
    folder = tmp_path_factory.mktemp("whole") / "index"
    with Writer.open(folder, FINGERPRINT) as writer:
        for number, text in enumerate(TEXTS):
            indexed = make_indexed(text, f"{number}.txt")
            writer.put_document(indexed)
            writer.put_source(make_source(indexed))
        writer.put_intents({"key": Completion("What?", -0.5)})
        writer.publish()
    return folder


@pytest.fixture(scope="module")
def answers(whole: Path) -> dict[str, Any]:
    """All that the index answers."""
    return visible(whole)


@pytest.fixture
def copy(whole: Path) -> Iterator[Path]:
    """A copy to damage."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        yield Path(shutil.copytree(whole, Path(place, "copy")))


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0x10
    path.write_bytes(data)


def refused_or_the_same(folder: Path, answers: dict[str, Any]) -> bool:
    """True where the index was refused; it must give the old answers otherwise."""
    refusal: StoreError | None = None
    try:
        assert visible(folder) == answers
    except StoreError as error:
        refusal = error
    assert refusal is None or (refusal.exit_code == 4 and "\n" not in str(refusal))
    return refusal is not None


def failures(checks: list[Check]) -> list[str]:
    return [check.detail for check in checks if check.status == "fail"]


def test_every_derived_file_is_tried(whole: Path) -> None:
    place = whole / "generations" / "1"
    found = {path for pattern in DERIVED for path in place.glob(pattern)}
    assert found == {path for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize("pattern", DERIVED)
def test_a_changed_byte_of_a_derived_file_is_named_and_mended(
    copy: Path, answers: dict[str, Any], pattern: str
) -> None:
    path = next((copy / "generations" / "1").glob(pattern))
    rng = np.random.default_rng(len(pattern))
    data = path.read_bytes()
    for place in {len(data) - 1, *rng.integers(0, len(data), 2).tolist()}:
        flip(path, place)
        refused_or_the_same(copy, answers)
        assert any(str(path) in detail for detail in failures(verify(copy, deep=True))), place
        path.write_bytes(data)
    flip(path, len(data) // 2)
    assert failures(compact(copy)) == []
    assert visible(copy) == answers
    assert failures(verify(copy, deep=True)) == []


@pytest.mark.parametrize("pattern", DERIVED)
@pytest.mark.parametrize("cut", [0, -1, None])
def test_a_cut_or_missing_file_is_named_at_once(copy: Path, pattern: str, cut: int | None) -> None:
    path = next((copy / "generations" / "1").glob(pattern))
    data = path.read_bytes()
    path.unlink()
    if cut is not None:
        path.write_bytes(data[:cut])
    with pytest.raises(StoreCorrupt, match=f"{path.name} is damaged"):
        Snapshot.open(copy)
    assert any(str(path) in detail for detail in failures(verify(copy, deep=False)))


def test_a_new_publication_replaces_damaged_files_that_it_reads(copy: Path, answers: dict[str, Any]) -> None:
    flip(next(copy.glob("generations/1/segments/*/members.npy")), 130)
    extra = make_indexed("Zeta eta theta.", "z.txt")
    with Writer.open(copy, FINGERPRINT) as writer:
        writer.put_document(extra)
        writer.put_source(make_source(extra))
        writer.publish()
        writer.drop_source("z.txt")
        writer.publish()
    assert visible(copy) == answers


def test_a_changed_byte_of_the_manifest_is_refused_and_mended(copy: Path, answers: dict[str, Any]) -> None:
    path = copy / "manifest.json"
    data = path.read_bytes()
    for place in range(0, len(data), 97):
        flip(path, place)
        if refused_or_the_same(copy, answers):
            assert any("manifest.json" in detail for detail in failures(verify(copy, deep=False)))
        path.write_bytes(data)
    flip(path, 5)
    repair(copy)
    assert visible(copy) == answers


def test_a_changed_byte_of_the_database_is_named_and_never_changes_an_answer(
    copy: Path, answers: dict[str, Any]
) -> None:
    path = copy / "index.sqlite"
    data = path.read_bytes()
    sum_of_all = (copy / "index.sha256").read_bytes()
    refused = 0
    places = np.random.default_rng(5).integers(0, len(data), 60).tolist()
    for place in places:
        flip(path, place)
        assert any("index.sqlite" in detail for detail in failures(verify(copy, deep=True))), place
        (copy / "index.sha256").unlink()
        if refused_or_the_same(copy, answers):
            refused += 1
            assert any("index.sqlite" in detail for detail in failures(verify(copy, deep=True))), place
        for leftover in copy.glob("index.sqlite-*"):
            leftover.unlink()
        path.write_bytes(data)
        (copy / "index.sha256").write_bytes(sum_of_all)
    assert refused > 0


def change(folder: Path, statement: str) -> None:
    db = sqlite3.connect(folder / "index.sqlite")
    with db:
        db.execute(statement)
    db.close()


@pytest.mark.parametrize(
    ("statement", "gone"),
    [
        ("UPDATE chunks SET data = replace(data, 'blue', 'pink') WHERE edition = 1", "0.txt"),
        ("UPDATE chunks SET ordinal = 7 WHERE edition = 1 AND ordinal = 0", "0.txt"),
        ("DELETE FROM chunks WHERE edition = 2 AND ordinal = 1", "1.txt"),
        ("UPDATE parts SET data = replace(data, 'Beta', 'Meta') WHERE edition = 2 AND name = 'text'", "1.txt"),
        ("DELETE FROM parts WHERE edition = 1 AND name = 'postings'", "0.txt"),
        ("UPDATE editions SET recipe = 'other' WHERE id = 3", "2.txt"),
        ("UPDATE vectors SET data = zeroblob(16) WHERE id = 1", "0.txt"),
        ("DELETE FROM vectors WHERE id = 1", "0.txt"),
    ],
)
def test_a_changed_document_is_named_taken_out_and_can_be_indexed_again(
    copy: Path, answers: dict[str, Any], statement: str, gone: str
) -> None:
    change(copy, statement)
    assert any("index.sqlite" in detail for detail in failures(verify(copy, deep=True)))
    mended = compact(copy)
    assert [(check.status, check.fix) for check in mended if check.name == "document"] == [
        ("warn", f"idc-local index {gone}")
    ]
    assert failures(verify(copy, deep=True)) == []
    with Snapshot.open(copy) as snapshot:
        assert gone not in snapshot.paths
        assert len(set(snapshot.paths)) == 2
    indexed = make_indexed(TEXTS[int(gone[0])], gone)
    with Writer.open(copy, FINGERPRINT) as writer:
        writer.put_document(indexed)
        writer.put_source(make_source(indexed))
        writer.publish()
    assert visible(copy) == answers
    assert failures(verify(copy, deep=True)) == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sources SET data = replace(data, 'utf-8', 'utf-9') WHERE path = CAST('1.txt' AS BLOB)",
        "UPDATE sources SET path = CAST('x.txt' AS BLOB) WHERE path = CAST('1.txt' AS BLOB)",
    ],
)
def test_a_changed_record_of_a_file_is_taken_out(copy: Path, statement: str) -> None:
    change(copy, statement)
    (copy / RESTING).unlink()
    with Writer.open(copy, FINGERPRINT) as writer, pytest.raises(StoreCorrupt, match=r"index\.sqlite is damaged"):
        writer.sources()
    compact(copy)
    with Writer.open(copy, FINGERPRINT) as writer:
        assert list(writer.sources()) == ["0.txt", "2.txt"]


def test_a_changed_setting_is_restored(copy: Path, answers: dict[str, Any]) -> None:
    change(copy, "UPDATE meta SET value = CAST('{}' AS BLOB) WHERE name = 'fingerprint'")
    with pytest.raises(StoreCorrupt):
        Writer.open(copy, FINGERPRINT)
    repair(copy)
    Writer.open(copy, FINGERPRINT).close()
    assert visible(copy) == answers


def test_changed_cache_entries_are_as_good_as_missing(copy: Path) -> None:
    with Writer.open(copy, FINGERPRINT) as writer:
        writer.put_vectors(["k"], np.eye(1, 8, dtype=np.float32))
    change(copy, "UPDATE intents SET data = CAST('[\"Where?\"]' AS BLOB)")
    change(copy, "UPDATE vectors SET data = zeroblob(16)")
    (copy / RESTING).unlink()
    with Writer.open(copy, FINGERPRINT) as writer:
        assert writer.intents(["key"]) == {}
        assert writer.vectors(["k"]) == {}


@pytest.mark.parametrize(
    "damage", ["zeroblob(length(data))", "substr(data, 1, 16)", "CAST(data || x'00' AS BLOB)", "'text'"]
)
def test_a_damaged_vector_of_the_cache_is_put_right_when_it_is_made_again(copy: Path, damage: str) -> None:
    vector, codes = np.eye(1, 8, dtype=np.float16), [b"\x05\x83"]
    with Writer.open(copy, FINGERPRINT) as writer:
        writer.put_vectors(["k"], vector, codes)
    change(copy, f"UPDATE vectors SET data = {damage}")
    (copy / RESTING).unlink()
    with Writer.open(copy, FINGERPRINT) as writer:
        assert (writer.vectors(["k"]), writer.codes(["k"])) == ({}, {})
        writer.put_vectors(["k"], vector, codes)
        np.testing.assert_array_equal(writer.vectors(["k"])["k"], vector[0])
        assert writer.codes(["k"]) == {"k": codes[0]}


def test_a_miscounted_vector_is_noticed_and_counted_again(copy: Path) -> None:
    change(copy, "UPDATE vector_uses SET uses = uses + 1 WHERE id = 2")
    assert any("not counted right" in detail for detail in failures(verify(copy, deep=True)))
    repair(copy)
    assert failures(verify(copy, deep=True)) == []


@pytest.mark.parametrize("byte", [b"\xf6", b"\0", b"x"])
def test_a_damaged_schema_is_refused_and_replaced_by_a_rebuild(copy: Path, byte: bytes) -> None:
    path = copy / "index.sqlite"
    data = path.read_bytes()
    place = data.index(b"CREATE TABLE parts") + len(b"CREATE TABLE p")
    path.write_bytes(data[:place] + byte + data[place + 1 :])
    for attempt in (lambda: Writer.open(copy, FINGERPRINT), lambda: compact(copy), lambda: visible(copy)):
        with pytest.raises(StoreError) as caught:
            attempt()
        assert "\n" not in str(caught.value)
    with Writer.open(copy, FINGERPRINT, rebuild=True) as writer:
        writer.put_source(make_source(make_indexed(TEXTS[0])))
        writer.put_document(make_indexed(TEXTS[0]))
        writer.publish()
    assert failures(verify(copy, deep=True)) == []


def test_a_file_that_is_no_database_is_refused_with_the_command_that_begins_anew(copy: Path) -> None:
    (copy / "index.sqlite").write_bytes(b"x" * 8192)
    for attempt in (compact, repair):
        with pytest.raises(StoreCorrupt, match=r"index\.sqlite is damaged.*index PATH --rebuild"):
            attempt(copy)
    assert any("--rebuild" in check.fix for check in verify(copy, deep=True) if check.status == "fail")
