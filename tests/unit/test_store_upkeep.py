from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local.errors import NothingFound, StoreError, StoreLocked
from idc_local.ports import Completion
from idc_local.store import Snapshot, Writer, compact, forget, repair, verify
from idc_local.store.needles import LEAST, MOST, Needles
from tests.store_documents import FINGERPRINT, make_indexed, make_source, vectors, visible

SECRET = (
    'The patient is called Jürgen "Joe" Müller. He lives at 12 Elm Street.\nHis file says 浮球磨损更换浮球的时间间隔。'
)
PUBLIC = "The patient is welcome. Opening hours are nine to five. See the plan."
KEY = "a" * 64


def make(folder: Path) -> None:
    """An index with a secret document (two versions of it were stored), a public one, and caches."""
    with Writer.open(folder, FINGERPRINT) as writer:
        writer.put_intents(
            {
                KEY: Completion("Where does Jürgen Müller live now?", -0.5),
                "b" * 64: Completion("When is it open on Sundays?", -0.5),
            }
        )
        writer.put_vectors(["k1"], vectors(["text that was dropped"]))
        secret = replace(make_indexed(SECRET, "letters/secret.txt"), intent_keys=(KEY,))
        public = replace(make_indexed(PUBLIC, "plan.txt"), intent_keys=("b" * 64,))
        for indexed in (secret, public):
            writer.put_document(indexed)
            writer.put_source(make_source(indexed))
        writer.publish()
        writer.put_document(replace(secret, recipe="newer"))
        writer.publish()


def occurrences(folder: Path, text: str) -> list[str]:
    forms = [text.encode(), text.encode("utf-16-le"), text.encode("utf-16-be")]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(form in path.read_bytes() for form in forms)]


def test_a_forgotten_document_leaves_no_trace(tmp_path: Path) -> None:
    make(tmp_path)
    telling = ["He lives at 12 Elm Street", "Jürgen", "Müller", "浮球磨损更换浮球", "letters/secret", "text that was"]
    assert occurrences(tmp_path, telling[0])
    assert occurrences(tmp_path, "Where does Jürgen Müller live now?")
    checks = forget(tmp_path, "letters/secret.txt")
    assert [(check.name, check.status) for check in checks] == [("forgotten", "ok"), ("searched", "ok")]
    for text in [*telling, "Where does Jürgen Müller live now?"]:
        assert occurrences(tmp_path, text) == [], text
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        assert writer.intents([KEY, "b" * 64]) == {"b" * 64: Completion("When is it open on Sundays?", -0.5)}
        assert list(writer.sources()) == ["plan.txt"]
        assert writer.document_recipe(make_indexed(SECRET).document.id) is None
    with Snapshot.open(tmp_path) as snapshot:
        assert set(snapshot.paths) == {"plan.txt"}
    assert {check.status for check in verify(tmp_path, deep=True)} == {"ok"}


def test_what_remains_equals_an_index_without_the_document(tmp_path: Path) -> None:
    make(tmp_path / "one")
    forget(tmp_path / "one", "letters")
    with Writer.open(tmp_path / "two", FINGERPRINT) as writer:
        writer.put_document(make_indexed(PUBLIC, "plan.txt"))
        writer.put_source(make_source(make_indexed(PUBLIC, "plan.txt")))
        writer.publish()
    assert visible(tmp_path / "one") == visible(tmp_path / "two")


def test_vectors_of_a_forgotten_document_are_gone_and_shared_ones_stay(tmp_path: Path) -> None:
    make(tmp_path)
    forget(tmp_path, "letters/secret.txt")
    db = sqlite3.connect(tmp_path / "index.sqlite")
    stored = {data for (data,) in db.execute("SELECT data FROM vectors")}
    db.close()
    public = make_indexed(PUBLIC)
    own = np.concatenate([public.sentence_vectors, public.intent_vectors, public.headings.vectors]).astype(np.float16)
    codes = [*public.token_codes(0, len(public.sentences)), *[b""] * len(public.intents), *public.headings.codes]
    assert stored == {row.tobytes() + code for row, code in zip(own, codes, strict=True)}


def test_a_document_under_several_paths_goes_from_all(tmp_path: Path) -> None:
    make(tmp_path)
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        writer.put_source(make_source(make_indexed(SECRET), "copy.txt"))
        writer.publish()
    checks = forget(tmp_path, "copy.txt")
    assert checks[0].detail == "2 files: copy.txt, letters/secret.txt"
    assert occurrences(tmp_path, "He lives at 12 Elm Street") == []


def test_a_sentence_that_another_document_has_is_not_a_remainder(tmp_path: Path) -> None:
    make(tmp_path)
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        other = make_indexed("Quote: He lives at 12 Elm Street.\nEnd of the quote.", "quote.txt")
        writer.put_document(other)
        writer.put_source(make_source(other))
        writer.publish()
    assert {check.status for check in forget(tmp_path, "letters/secret.txt")} == {"ok"}
    assert occurrences(tmp_path, "He lives at 12 Elm Street") != []


def test_remainders_are_named(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "notes.txt").write_text("he wrote: He lives at 12 Elm Street.", encoding="utf-16")
    failed = [check for check in forget(tmp_path, "letters/secret.txt") if check.status == "fail"]
    assert [check.detail for check in failed] == [f"{tmp_path / 'notes.txt'} still holds 1 sentences"]


def test_forgetting_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no index in"):
        forget(tmp_path, "x")
    make(tmp_path)
    for path in ("x", "letter", "plan.txt/x", ""):
        with pytest.raises(NothingFound, match="is not in the index"):
            forget(tmp_path, path)


def test_forgetting_a_file_that_could_not_be_read(tmp_path: Path) -> None:
    make(tmp_path)
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        writer.put_source(replace(make_source(make_indexed(PUBLIC), "bad.bin"), document_id="", reason="binary"))
        writer.publish()
    assert {check.status for check in forget(tmp_path, "bad.bin")} == {"ok"}
    with Snapshot.open(tmp_path) as snapshot:
        assert list(snapshot.sources()) == ["letters/secret.txt", "plan.txt"]


def test_a_running_search_is_named_and_compact_finishes_the_work(tmp_path: Path) -> None:
    make(tmp_path)
    with Snapshot.open(tmp_path) as old:
        with pytest.raises(StoreLocked, match=r"running search still reads.*idc-local compact"):
            forget(tmp_path, "letters/secret.txt")
        assert old.document_text(make_indexed(SECRET).document.id) == SECRET
    with Snapshot.open(tmp_path) as new:
        assert set(new.paths) == {"plan.txt"}
    compact(tmp_path)
    assert occurrences(tmp_path, "He lives at 12 Elm Street") == []
    assert occurrences(tmp_path, "Jürgen") == []


def test_compact_gives_back_space_and_changes_no_answer(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        for number in range(40):
            indexed = replace(
                make_indexed(f"Document {number}. " * 30, f"{number:02d}.txt"), intent_keys=(f"k{number}",)
            )
            writer.put_intents({f"k{number}": Completion("What?", -0.5), "unclaimed": Completion("Why?", -0.5)})
            writer.put_document(indexed)
            writer.put_source(make_source(indexed))
        writer.publish()
        for number in range(1, 40):
            writer.drop_source(f"{number:02d}.txt")
        writer.publish()
    before, answers = (tmp_path / "index.sqlite").stat().st_size, visible(tmp_path)
    assert {check.status for check in compact(tmp_path)} == {"ok"}
    assert (tmp_path / "index.sqlite").stat().st_size < before / 2
    assert visible(tmp_path) == answers
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        assert set(writer.intents(["k0", "k1", "unclaimed"])) == {"k0", "unclaimed"}


def test_repair_makes_a_new_generation_of_the_same_content(tmp_path: Path) -> None:
    make(tmp_path)
    answers = visible(tmp_path)
    assert {check.status for check in repair(tmp_path)} == {"ok"}
    assert visible(tmp_path) == answers
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.generation == 3


@pytest.mark.parametrize("work", [compact, repair])
def test_upkeep_needs_an_index_and_the_lock(tmp_path: Path, work: object) -> None:
    assert callable(work)
    with pytest.raises(StoreError, match="no index in"):
        work(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    make(tmp_path)
    with Writer.open(tmp_path, FINGERPRINT), pytest.raises(StoreLocked):
        work(tmp_path)


@given(
    data=st.binary(max_size=80),
    strings=st.lists(st.binary(max_size=30), max_size=5),
    planted=st.lists(st.integers(0, 4), max_size=3),
)
def test_needles_are_found_as_bytes_finds_them(data: bytes, strings: list[bytes], planted: list[int]) -> None:
    for number in planted:
        if number < len(strings):
            data += strings[number]
    expected = {string for string in strings if len(string) >= LEAST and string in data}
    assert Needles(strings).found_in(data) == expected


def test_long_needles_are_compared_up_to_a_limit() -> None:
    long = bytes(range(256)) * 2
    assert Needles([long]).found_in(b"x" + long[:MOST]) == {long[:MOST]}
    assert Needles([long]).found_in(b"x" + long[: MOST - 1]) == set()
