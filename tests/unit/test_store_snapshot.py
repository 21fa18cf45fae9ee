from __future__ import annotations

import os
import re
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from idc_local.errors import NothingFound, StoreCorrupt, StoreError, StoreMismatch, UsageError
from idc_local.readers import read_source
from idc_local.store import Snapshot, Writer
from idc_local.store.codec import decode_document, decode_lines, encode_document
from idc_local.types import Structure
from tests.fuzzkit import samples
from tests.store_documents import FINGERPRINT, codes, make_indexed, make_source, vector

ONE = "The first sentence. The second one. A third. A fourth. A fifth."
TWO = "Another document. It has two sentences."
ONE_SENTENCES = ["The first sentence.", "The second one.", "A third.", "A fourth.", "A fifth."]
TWO_SENTENCES = ["Another document.", "It has two sentences."]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "index"
    with Writer.open(place, FINGERPRINT) as writer:
        for indexed in (make_indexed(ONE, "b.txt"), make_indexed(TWO, "c.txt")):
            writer.put_document(indexed)
            writer.put_source(make_source(indexed))
        writer.put_source(make_source(make_indexed(TWO), "a.txt"))
        writer.publish()
    return place


@pytest.mark.parametrize("made", [False, True])
def test_no_index_is_an_error_with_the_command_that_makes_one(tmp_path: Path, made: bool) -> None:
    place = tmp_path / "not there"
    if made:
        Writer.open(place, FINGERPRINT).close()
    with pytest.raises(StoreError) as caught:
        Snapshot.open(place)
    command = f"idc-local index PATH --index '{place}'"
    expected = f"no index in {place}. hint: {command}"
    if made:
        expected = f"no index in {place} yet: its first run was not finished. hint: {command} goes on where it stopped"
    assert str(caught.value) == expected
    assert caught.value.exit_code == 4


def test_rows_are_in_order_of_first_path_and_place(folder: Path) -> None:
    with Snapshot.open(folder) as snapshot:
        assert snapshot.paths == ["a.txt", "b.txt", "b.txt", "b.txt"]
        assert snapshot.paths_of(0) == ("a.txt", "c.txt")
        assert snapshot.paths_of_document(make_indexed(TWO).document.id) == ("a.txt", "c.txt")
        assert snapshot.paths_of_document("unknown") == ()
        chunks = snapshot.chunks([3, 0, 1])
        assert [chunk.path for chunk in chunks] == ["b.txt", "a.txt", "b.txt"]
        expected = make_indexed(ONE, "b.txt").chunks
        assert (chunks[2], chunks[0]) == (expected[0], expected[2])
        assert [snapshot.sentence_spans(row).tolist() for row in (1, 3)] == [[[0, 20], [20, 36]], [[55, 63]]]


def test_what_is_before_each_sentence_is_kept(tmp_path: Path) -> None:
    made = make_indexed("Head. One. Two. Three. Four.", "a.txt", size=3)
    boundary = np.array([Structure.HEADING, Structure.PARAGRAPH, Structure.NONE, Structure.ITEM, Structure.HEADING])
    glue = np.array([False, True, False, True, False])
    indexed = replace(made, sentences=replace(made.sentences, boundary=boundary, glue=glue))
    with Writer.open(tmp_path / "index", FINGERPRINT) as writer:
        writer.put_document(indexed)
        writer.put_source(make_source(indexed))
        writer.publish()
    with Snapshot.open(tmp_path / "index") as snapshot:
        assert [snapshot.sentence_gaps(row).tolist() for row in range(2)] == [[3, 2 + 4, 0], [1 + 4, 3]]


def test_chunks_are_found_by_the_beginning_of_their_id(folder: Path) -> None:
    with Snapshot.open(folder) as snapshot:
        ids = snapshot.ids_of(np.arange(snapshot.size))
        for row, own in enumerate(ids):
            for length in (7, 8, 63, 64):
                assert snapshot.find(own[:length]) == row
            assert snapshot.find(own[:9].upper()) == row
        for wrong in ("", "xyz", ids[0] + "0", "0" * 64, "f" * 63):
            with pytest.raises(NothingFound):
                snapshot.find(wrong)


def test_an_ambiguous_beginning_is_refused(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        for number in range(40):
            indexed = make_indexed(f"Text {number}.", f"{number}.txt")
            writer.put_document(indexed)
            writer.put_source(make_source(indexed))
        writer.publish()
    with Snapshot.open(tmp_path) as snapshot:
        ids = snapshot.ids_of(np.arange(snapshot.size))
        first = max("0123456789abcdef", key=lambda digit: sum(own[0] == digit for own in ids))
        count = sum(own[0] == first for own in ids)
        with pytest.raises(UsageError, match=f"{count} chunks have ids that begin with {first}"):
            snapshot.find(first)
        ids = [make_indexed(f"Text {number}.", f"{number}.txt").document.id for number in range(40)]
        first = max("0123456789abcdef", key=lambda digit: sum(own[0] == digit for own in ids))
        count = sum(own[0] == first for own in ids)
        with pytest.raises(NothingFound, match=f"{count} documents have an id that begins with {first}"):
            snapshot.document(first)
        with pytest.raises(NothingFound, match="no document has the id xyz"):
            snapshot.document("xyz")
        assert snapshot.document(ids[7][:60]).id == ids[7]


def test_documents_come_back_whole(folder: Path) -> None:
    with Snapshot.open(folder) as snapshot:
        document = make_indexed(ONE, "b.txt").document
        assert snapshot.document(document.id) == document
        assert snapshot.document_text(document.id) == ONE
        other = make_indexed(TWO, "a.txt").document
        assert snapshot.document(other.id) == other, "under its first path"
        with pytest.raises(NothingFound):
            snapshot.document_text("unknown")


@pytest.mark.parametrize("name", sorted(set(samples()) - {"a.zip", "a.tar.gz"}))
def test_a_document_of_any_format_comes_back_whole(name: str) -> None:
    document = replace(read_source(samples()[name], name), warnings=())
    data = encode_document(document, "en")
    assert decode_document(data, document.text) == document
    assert [tuple(line) for line in decode_lines(data).tolist()] == list(document.lines)


def test_vectors_of_rows(folder: Path) -> None:
    with Snapshot.open(folder) as snapshot:
        rows = np.array([3, 0])
        values, offsets = snapshot.sentence_vectors(rows)
        assert offsets.tolist() == [0, 1, 3]
        assert values.dtype == np.float32
        np.testing.assert_array_equal(values[0], vector("A fifth."))
        np.testing.assert_array_equal(values[1], vector("Another document."))
        values, offsets = snapshot.intent_vectors(np.array([0, 1, 2]))
        assert offsets.tolist() == [0, 1, 2, 2]
        np.testing.assert_array_equal(values[1], vector(make_indexed(ONE).intents[0].text))
        np.testing.assert_array_equal(snapshot.chunk_vectors(rows)[1], vector(TWO))


@pytest.mark.parametrize("segments", [1, 2])
def test_what_sentences_and_headings_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, segments: int) -> None:
    monkeypatch.setattr("idc_local.store.generation.SMALL", 1)
    one, two = make_indexed(ONE, "b.txt"), make_indexed(TWO, "a.txt")
    one = replace(one, headings=replace(one.headings, of_chunk=np.array([0, -1, 0])))
    two = replace(two, headings=replace(two.headings, codes=[codes("One Other Head")]))
    with Writer.open(tmp_path / "index", FINGERPRINT) as writer:
        for indexed in (one, two):
            writer.put_document(indexed)
            writer.put_source(make_source(indexed))
            if segments == 2:
                writer.publish()
        writer.publish()
    with Snapshot.open(tmp_path / "index") as snapshot:
        assert len(snapshot._segments) == segments
        for rows, texts, headings in (
            ([3, 0, 1], ["A fifth.", *TWO_SENTENCES, *ONE_SENTENCES[:2]], ["The Head", "One Other Head", "The Head"]),
            ([1, 2], ONE_SENTENCES[:4], ["The Head", ""]),
            ([0], TWO_SENTENCES, ["One Other Head"]),
            ([], [], []),
        ):
            places = np.array(rows, dtype=np.int64)
            terms = [sorted({crc32(word.encode()) for word in re.findall(r"\w+", text.casefold())}) for text in texts]
            for found, held in (
                (snapshot.sentence_terms(places), terms),
                (snapshot.sentence_tokens(places), [list(codes(text)) for text in texts]),
                (snapshot.heading_tokens(places), [list(codes(text)) for text in headings]),
            ):
                assert found[0].ravel().tolist() == [value for own in held for value in own]
                assert found[1].tolist() == [0, *accumulate(map(len, held))]


def test_a_query_of_the_wrong_size_is_refused(folder: Path) -> None:
    with Snapshot.open(folder) as snapshot:
        for search in (snapshot.dense, snapshot.intent):
            with pytest.raises(StoreMismatch, match="vectors of 8 values, not 9"):
                search(vector("x", 9), 3, None)


def test_a_reader_keeps_its_generation_while_others_are_published(folder: Path) -> None:
    with Snapshot.open(folder) as old, Writer.open(folder, FINGERPRINT) as writer:
        texts = [chunk.text for chunk in old.chunks(range(old.size))]
        writer.drop_source("b.txt")
        writer.put_document(make_indexed(TWO, recipe="newer"))
        assert writer.publish() == 2
        writer.drop_source("a.txt")
        assert writer.publish() == 3
        assert sorted(os.listdir(folder / "generations")) == ["1", "3"]
        assert [chunk.text for chunk in old.chunks(range(old.size))] == texts
        assert old.dense(vector(TWO), 1)[1].tolist() == [0]
        assert old.document_text(make_indexed(ONE).document.id) == ONE
        with Snapshot.open(folder) as new:
            assert (new.generation, new.paths) == (3, ["c.txt"])
    with Writer.open(folder, FINGERPRINT) as writer:
        assert os.listdir(folder / "generations") == ["3"]


def test_opening_and_closing_leaves_no_descriptor_behind(folder: Path) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0

    Snapshot.open(folder).close()
    before = descriptors()
    for _ in range(3):
        with Snapshot.open(folder) as snapshot:
            snapshot.dense(vector("x"), 1)
            snapshot.chunks([0])
        snapshot.close()
    assert descriptors() == before


def test_failing_to_open_leaves_no_descriptor_behind(folder: Path) -> None:
    next(folder.glob("generations/1/documents.npy")).write_bytes(b"[]")
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    for _ in range(3):
        with pytest.raises(StoreCorrupt):
            Snapshot.open(folder)
    assert before == (len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0)


def test_a_missing_generation_is_named(folder: Path) -> None:
    (folder / "generations" / "1").rename(folder / "generations" / "elsewhere")
    with pytest.raises(StoreCorrupt, match=r"generations/1/documents\.npy is damaged: it is missing"):
        Snapshot.open(folder)


def test_a_missing_database_is_named(folder: Path) -> None:
    (folder / "index.sqlite").unlink()
    with pytest.raises(StoreCorrupt, match=r"index\.sqlite is damaged: it is missing"):
        Snapshot.open(folder)


def test_folders_with_odd_names(tmp_path: Path) -> None:
    place = tmp_path / "a b?c#d%20 ü'\"" / "x;y"
    with Writer.open(place, FINGERPRINT) as writer:
        indexed = make_indexed(ONE)
        writer.put_document(indexed)
        writer.put_source(make_source(indexed))
        writer.publish()
    with Snapshot.open(place) as snapshot:
        assert snapshot.chunks([0])[0].text == indexed.chunks[0].text
        assert snapshot.lexical({"fifth": 1.0}, 1)[1].tolist() == [2]
