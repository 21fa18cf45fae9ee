from __future__ import annotations

import os
import sqlite3
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from idc_local.chunks import unit_rows
from idc_local.errors import StoreCorrupt, StoreError, StoreLocked, StoreMismatch
from idc_local.indexed import IndexedDocument, no_headings
from idc_local.ports import Completion
from idc_local.store import Snapshot, Writer, codec, records, verify
from idc_local.store import vectors as store_vectors
from idc_local.types import JsonValue
from tests.store_documents import DIMENSION, FINGERPRINT, codes, make_indexed, make_source, vector, vectors

ONE = "The first sentence. The second one. A third."
TWO = "Another document. It has two sentences."


def put(writer: Writer, *documents: IndexedDocument) -> None:
    for indexed in documents:
        writer.put_document(indexed)
        writer.put_source(make_source(indexed))


def rows(folder: Path, table: str) -> int:
    db = sqlite3.connect(folder / "index.sqlite")
    try:
        return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    finally:
        db.close()


def test_vectors_are_kept_by_key(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        writer.put_vectors([], np.zeros((0, DIMENSION), np.float32))
        writer.put_vectors(["ab" * 16, "any key"], vectors(["x", "y"]))
        writer.put_vectors(["cd" * 16], vectors(["x"]))
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        found = writer.vectors(["any key", "cd" * 16, "unknown", "any key"])
    assert set(found) == {"any key", "cd" * 16}
    assert found["any key"].dtype == np.float16
    np.testing.assert_array_equal(found["any key"], vector("y"))
    np.testing.assert_array_equal(found["cd" * 16], vector("x"))
    assert rows(tmp_path, "vectors") == 2, "equal vectors are stored once"


def test_more_keys_than_one_statement_takes(tmp_path: Path) -> None:
    keys = [f"key {number}" for number in range(2345)]
    values = vectors(keys)
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        writer.put_vectors(keys, values)
        found = writer.vectors(keys)
    np.testing.assert_array_equal(np.array([found[key] for key in keys]), values)


def test_replies_are_kept_as_they_are(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        writer.put_intents({"a": Completion("What?", -0.5), "b": Completion("\ud800 'quoted\"\n", -1 / 3)})
        writer.put_intents({"a": Completion("Newer?", -0.5)})
        assert writer.intents(["a", "b", "c"]) == {
            "a": Completion("Newer?", -0.5),
            "b": Completion("\ud800 'quoted\"\n", -1 / 3),
        }


def test_replies_survive_a_publication_that_does_not_need_them(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        writer.put_intents({"a": Completion("What?", -0.5)})
        writer.put_vectors(["k"], vectors(["x"]))
        put(writer, make_indexed(ONE))
        writer.publish()
        assert set(writer.intents(["a"])) == {"a"}
        assert set(writer.vectors(["k"])) == {"k"}


def test_recipe_of_the_stored_document(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        indexed = make_indexed(ONE)
        assert writer.document_recipe(indexed.document.id) is None
        writer.put_document(indexed)
        assert writer.document_recipe(indexed.document.id) == "recipe"
        writer.put_document(make_indexed(ONE, recipe="newer"))
        assert writer.document_recipe(indexed.document.id) == "newer"


def test_sources_come_back_in_order(tmp_path: Path) -> None:
    records = [make_source(make_indexed(ONE), path) for path in ("b", "a/ü", "a\udcff", "a")]
    records.append(replace(records[0], path="skipped", document_id="", reason="binary", hint="none", root="/r"))
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        for record in records:
            writer.put_source(record)
        writer.put_source(replace(records[0], size=5))
        writer.drop_source("a")
        writer.drop_source("never there")
        found = writer.sources()
    assert list(found) == ["a/ü", "a\udcff", "b", "skipped"]
    assert found["b"].size == 5
    assert found["skipped"] == records[-1]


def test_another_embedder_is_refused_with_the_command_that_rebuilds(tmp_path: Path) -> None:
    Writer.open(tmp_path, FINGERPRINT).close()
    others: list[dict[str, JsonValue]] = [{"embedder": "b", "dimension": DIMENSION}, FINGERPRINT | {"dimension": 9}, {}]
    for other in others:
        with pytest.raises(StoreMismatch, match=r"another embedder \(test\).*index PATH --rebuild"):
            Writer.open(tmp_path, other)
    Writer.open(tmp_path, FINGERPRINT | {"prompt": "new"}).close()
    Writer.open(tmp_path, FINGERPRINT | {"embedder_name": "small"}).close()
    with pytest.raises(StoreMismatch, match=r"another embedder \(small\)"):
        Writer.open(tmp_path, others[0])
    Writer.open(tmp_path, FINGERPRINT).close()


def test_without_names_of_embedders_fingerprints_must_be_equal(tmp_path: Path) -> None:
    Writer.open(tmp_path, {"model": 1}).close()
    with pytest.raises(StoreMismatch):
        Writer.open(tmp_path, {"model": 2})


def test_the_newest_fingerprint_is_published(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        first = writer.publish()
    newer: dict[str, JsonValue] = FINGERPRINT | {"prompt": "new"}
    with Writer.open(tmp_path, newer) as writer:
        assert writer.publish() == first + 1
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.fingerprint == newer


def test_rebuild_starts_afresh_and_keeps_replies_and_readers(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        put(writer, make_indexed(ONE, "one.txt"))
        writer.put_vectors(["k"], vectors(["x"]))
        writer.put_intents({"a": Completion("What?", -0.5)})
        writer.publish()
    wider: dict[str, JsonValue] = {"embedder": "wider", "dimension": 9}
    with Snapshot.open(tmp_path) as old, Writer.open(tmp_path, wider, rebuild=True) as writer:
        assert writer.sources() == {}
        assert writer.vectors(["k"]) == {}
        assert writer.intents(["a"]) == {"a": Completion("What?", -0.5)}
        indexed = make_indexed(TWO, "two.txt")
        assert writer.document_recipe(make_indexed(ONE).document.id) is None
        a, c, d = vectors(["a", "b"], 9), vectors(["c"], 9), vectors(["d"], 9)
        wide = replace(indexed, sentence_vectors=a, chunk_vectors=c, intent_vectors=d)
        put(writer, replace(wide, headings=no_headings(len(indexed.chunks), DIMENSION + 1)))
        assert [chunk.text for chunk in old.chunks([0])] == ["The first sentence. The second one. "]
        writer.publish()
        assert [chunk.text for chunk in old.chunks([0])] == ["The first sentence. The second one. "]
        with Snapshot.open(tmp_path) as new:
            assert new.paths == ["two.txt"]
            assert new.dense(vector("c", 9), 5)[1].tolist() == [0]
    Writer.open(tmp_path, wider).close()
    assert {check.status for check in verify(tmp_path, deep=True)} == {"ok"}


def test_a_database_that_is_none_is_replaced_only_by_a_rebuild(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        put(writer, make_indexed(ONE))
        writer.publish()
    (tmp_path / "index.sqlite").write_bytes(b"no database at all" * 1000)
    with pytest.raises(StoreCorrupt, match=r"index\.sqlite is damaged.*--rebuild"):
        Writer.open(tmp_path, FINGERPRINT)
    with Writer.open(tmp_path, FINGERPRINT, rebuild=True) as writer:
        put(writer, make_indexed(TWO))
        writer.publish()
    assert {check.status for check in verify(tmp_path, deep=True)} == {"ok"}


def test_vectors_of_another_size_are_refused(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        writer.put_vectors(["a"], vectors(["x"]))
        with pytest.raises(StoreMismatch, match="vectors of 8 values, not 9"):
            writer.put_vectors(["b"], vectors(["x"], 9))
        assert writer.vectors(["b"]) == {}


@pytest.mark.parametrize("name", ["sentence_vectors", "chunk_vectors", "intent_vectors"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_that_are_no_numbers_are_refused(tmp_path: Path, name: str, value: float) -> None:
    indexed = make_indexed(ONE, "the path.txt")
    bad = getattr(indexed, name).copy()
    bad[0, 0] = value
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        with pytest.raises(StoreError, match=r"the path\.txt"):
            writer.put_document(replace(indexed, **{name: bad}))
        assert writer.document_recipe(indexed.document.id) is None


def test_publishing_without_a_change_writes_nothing(tmp_path: Path) -> None:
    def state() -> dict[str, tuple[int, int]]:
        found = (path for path in tmp_path.rglob("*") if path.name not in ("lock", "index.sqlite-shm"))
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in found}

    with Writer.open(tmp_path, FINGERPRINT) as writer:
        put(writer, make_indexed(ONE))
        assert writer.publish() == 1
        before = state()
        assert writer.publish() == 1
        assert state() == before
        writer.put_source(make_source(make_indexed(ONE), mtime_ns=99))
        assert writer.publish() == 1, "a file that was only touched is no change"
        assert writer.sources()["a.txt"].mtime_ns == 99


@pytest.mark.parametrize(
    "change",
    [
        lambda writer: writer.drop_source("a.txt"),
        lambda writer: writer.put_source(make_source(make_indexed(ONE), "copy.txt")),
        lambda writer: writer.put_source(replace(make_source(make_indexed(ONE)), reason="gone bad")),
        lambda writer: writer.put_document(make_indexed(ONE, recipe="newer")),
    ],
)
def test_every_change_makes_a_generation(tmp_path: Path, change: Callable[[Writer], None]) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        put(writer, make_indexed(ONE))
        assert writer.publish() == 1
        change(writer)
        assert writer.publish() == 2
        assert os.listdir(tmp_path / "generations") == ["2"]


def test_what_no_source_needs_is_removed_with_the_next_generation(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        put(writer, make_indexed(ONE, "one.txt"), make_indexed(TWO, "two.txt"))
        writer.put_vectors(["first"], vectors(["The first sentence."]), [codes("The first sentence.")])
        writer.publish()
        assert rows(tmp_path, "editions") == 2
        shared = rows(tmp_path, "vectors")
        writer.drop_source("one.txt")
        writer.publish()
        assert rows(tmp_path, "editions") == 1
        assert rows(tmp_path, "chunks") == len(make_indexed(TWO).chunks)
        own = len(make_indexed(TWO).sentences) + len(make_indexed(TWO).intents) + len(make_indexed(TWO).headings.codes)
        assert rows(tmp_path, "vectors") == own < shared
        assert writer.vectors(["first"]) == {}, "a vector that was used and is not any more goes with its key"
        assert writer.document_recipe(make_indexed(ONE).document.id) is None
        writer.drop_source("two.txt")
        writer.publish()
        for table in ("editions", "parts", "chunks", "vectors", "vector_uses", "vector_keys", "sources"):
            assert rows(tmp_path, table) == 0, table


def test_a_renamed_file_keeps_its_document_and_its_segment(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        indexed = make_indexed(ONE, "old.txt")
        put(writer, indexed)
        writer.publish()
        before = {path.name: path.stat().st_ino for path in tmp_path.glob("generations/1/segments/*/*")}
        writer.drop_source("old.txt")
        writer.put_source(make_source(indexed, "new.txt"))
        writer.publish()
    assert {path.name: path.stat().st_ino for path in tmp_path.glob("generations/2/segments/*/*")} == before
    with Snapshot.open(tmp_path) as snapshot:
        assert {chunk.path for chunk in snapshot.chunks(range(snapshot.size))} == {"new.txt"}


def test_only_what_is_new_is_written_into_a_large_index(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        for number in range(20):
            put(writer, make_indexed(" ".join(f"S {number} {n}." for n in range(60)), f"{number:02d}.txt"))
        writer.publish()
        large = next(tmp_path.glob("generations/1/segments/*")).name
        put(writer, make_indexed("One more. And more.", "more.txt"))
        writer.publish()
        names = sorted(path.name for path in tmp_path.glob("generations/2/segments/*"))
        assert len(names) == 2
        assert large in names
        put(writer, make_indexed("Yet one more. And more.", "yet.txt"))
        writer.publish()
        assert len(list(tmp_path.glob("generations/3/segments/*"))) == 2, "small segments are merged"
        for number in range(12):
            writer.drop_source(f"{number:02d}.txt")
        writer.publish()
        names = [path.name for path in tmp_path.glob("generations/4/segments/*")]
        assert large not in names, "a segment that is mostly dead is rewritten"


def test_everything_is_the_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "index"
    with Writer.open(folder, FINGERPRINT) as writer:
        put(writer, make_indexed(ONE))
        writer.publish()
        modes = {path: path.stat().st_mode & 0o777 for path in [folder, folder.parent, *folder.rglob("*")]}
    for path, mode in modes.items():
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT):
        with pytest.raises(StoreLocked, match=f"written to by process {os.getpid()} on") as caught:
            Writer.open(tmp_path, FINGERPRINT)
        assert caught.value.exit_code == 4
    Writer.open(tmp_path, FINGERPRINT).close()


def test_closing_twice_does_not_free_the_lock_of_another(tmp_path: Path) -> None:
    first = Writer.open(tmp_path, FINGERPRINT)
    first.close()
    with Writer.open(tmp_path, FINGERPRINT):
        first.close()
        with pytest.raises(StoreLocked):
            Writer.open(tmp_path, FINGERPRINT)


def test_a_failed_opening_frees_the_lock(tmp_path: Path) -> None:
    Writer.open(tmp_path, FINGERPRINT).close()
    with pytest.raises(StoreMismatch):
        Writer.open(tmp_path, {"embedder": "other"})
    Writer.open(tmp_path, FINGERPRINT).close()


def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        writer.publish()
    db = sqlite3.connect(tmp_path / "index.sqlite")
    db.execute("PRAGMA user_version = 99")
    db.close()
    for opened in (lambda: Writer.open(tmp_path, FINGERPRINT), lambda: Snapshot.open(tmp_path)):
        with pytest.raises(StoreMismatch, match="has format 99"):
            opened()


def test_a_file_instead_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError, match="cannot be used"):
            Writer.open(folder, FINGERPRINT)


def test_an_index_without_documents(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        assert writer.publish() == 1
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.size == 0
        assert snapshot.dense(vector("x"), 3)[1].tolist() == []
        assert snapshot.intent(vector("x"), 3)[1].tolist() == []
        assert snapshot.lexical({"x": 1.0}, 3)[1].tolist() == []
        assert snapshot.lexical_scores({"x": 1.0}, np.zeros(0, np.int64)).tolist() == []
        assert snapshot.idf(["x", "y"]).tolist() == [0, 0]
        assert snapshot.near("pumps") == {}
        for held in (snapshot.sentence_vectors, snapshot.sentence_terms, snapshot.sentence_tokens):
            values, offsets = held(np.zeros(0, np.int64))
            assert (len(values), offsets.tolist()) == (0, [0])
        assert list(snapshot.all_intents()) == []
    assert {check.status for check in verify(tmp_path, deep=True)} == {"ok"}


def test_a_long_document_is_never_copied_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What storing and publishing take for a moment stays below the size of its vectors."""
    monkeypatch.setattr(codec, "TOGETHER", 64)
    monkeypatch.setattr(records, "TOGETHER", 64)
    monkeypatch.setattr(store_vectors, "TURN", 64)
    text = "".join(f"It is number {number}. " for number in range(12000))
    width = 512
    indexed = replace(make_indexed(text, size=30, intents=False), intent_vectors=np.zeros((0, width), np.float32))
    sentences, chunks = len(indexed.sentences), len(indexed.chunks)
    indexed = replace(
        indexed,
        headings=no_headings(chunks, width),
        token_codes=lambda first, last: [number.to_bytes(4 * width // 8, "big") for number in range(first, last)],
    )
    rng = np.random.default_rng(3)
    own = unit_rows(rng.standard_normal((sentences, width))).astype(np.float16)
    indexed = replace(indexed, sentence_vectors=own, chunk_vectors=unit_rows(rng.standard_normal((chunks, width))))
    fingerprint: dict[str, JsonValue] = {"embedder": "wide", "dimension": width}
    with Writer.open(tmp_path, fingerprint) as writer:
        tracemalloc.start()
        try:
            put(writer, indexed)
            writer.publish()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    with Snapshot.open(tmp_path) as snapshot:
        stored, _ = snapshot.sentence_vectors(np.arange(chunks))
        found, offsets = snapshot.sentence_tokens(np.arange(chunks))
    np.testing.assert_array_equal(stored.astype(np.float16), own)
    assert [int.from_bytes(part.tobytes(), "big") for part in np.split(found, offsets[1:-1])] == list(range(sentences))
    assert peak < own.nbytes
