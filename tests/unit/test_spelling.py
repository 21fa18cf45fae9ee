"""Misspelt words: what one slip makes of a word, and which known word is taken for it."""

from __future__ import annotations

import string
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local.indexing import IndexOptions
from idc_local.ranking import RankingWeights
from idc_local.searching import Searcher
from idc_local.spelling import MOST_WORDS, KnownTerms, Righted, is_near, put_right
from idc_local.store import Snapshot
from tests.fakes import HashEmbedder
from tests.indexkit import Kit

WORDS = st.text("abc", min_size=1, max_size=6)
KNOWN = KnownTerms({"salari": 3, "review": 2, "renew": 5, "pump": 9, "valv": 1, "muller": 1}, 9)


def slips(word: str) -> set[str]:
    """All that one slip behind the first letter makes of a word, by making every slip."""
    ends = [(word[:n], word[n:]) for n in range(1, len(word) + 1)]
    fewer = {head + tail[1:] for head, tail in ends if tail}
    wrong = {head + letter + tail[1:] for head, tail in ends if tail for letter in string.ascii_lowercase}
    more = {head + letter + tail for head, tail in ends for letter in string.ascii_lowercase}
    swapped = {head + tail[1] + tail[0] + tail[2:] for head, tail in ends if len(tail) > 1}
    return (fewer | wrong | more | swapped) - {word}


@given(WORDS, WORDS)
def test_near_is_what_one_slip_makes(word: str, other: str) -> None:
    assert is_near(word, other) == (other in slips(word))


@given(st.text("abc", min_size=1, max_size=6))
def test_every_slip_is_near_both_ways(word: str) -> None:
    for other in slips(word):
        assert is_near(word, other)
        assert is_near(other, word)


@given(st.text("abc", max_size=6), st.dictionaries(st.text("abc", max_size=6), st.integers(1, 9)))
def test_a_vocabulary_in_memory_finds_all_that_is_near(word: str, held: dict[str, int]) -> None:
    assert KnownTerms(held, 9).near(word) == {other: held[other] for other in held if word and other in slips(word)}


def test_an_unknown_word_is_also_looked_for_as_the_nearest_known_one() -> None:
    righted = put_right({"sallari": 1.0, "pump": 1.0}, {"sallary": ["sallari"], "pump": ["pump"]}, KNOWN)
    found, right = righted.terms, righted.right
    assert found == {"sallari": 1.0, "pump": 1.0, "salari": pytest.approx(0.7)}
    assert right == {"sallary": "salari"}


def test_of_several_as_near_a_missed_letter_comes_before_a_wrong_one_and_then_the_commonest() -> None:
    assert put_right({"revew": 0.2}, {"revew": ["revew"]}, KNOWN).terms == {"revew": 0.2, "review": pytest.approx(0.14)}
    known = KnownTerms({"reviews": 1, "reveal": 1, "revels": 4, "revere": 4}, 9)
    assert put_right({}, {"reveel": ["reveel"]}, KnownTerms({"reveal": 1, "revel": 1}, 9)).terms.keys() == {"revel"}
    assert put_right({}, {"revers": ["revers"]}, known).terms.keys() == {"revels"}


@pytest.mark.parametrize(
    ("word", "terms", "unknown"),
    [
        ("salary", ["salari"], 0.0),
        ("salary", ["salary", "salari"], 0.0),
        ("pumq", ["pumq"], 1.0),
        ("e4012", ["e4012"], 1.0),
        ("xalary", ["xalari"], 1.0),
        ("gearbox", ["gearbox", "gearbo"], 1.0),
        ("the", [], 0.0),
    ],
)
def test_known_short_and_strange_words_stay_as_they_are(word: str, terms: list[str], unknown: float) -> None:
    wanted = dict.fromkeys(terms, 1.0)
    assert put_right(wanted, {word: terms}, KNOWN) == Righted(wanted, {}, unknown)


def test_a_function_word_of_any_language_is_right_as_it_is() -> None:
    known = KnownTerms({"three": 1, "walche": 1, "theme": 1}, 9)
    words = {"there": ["there"], "welche": ["welche"], "thame": ["thame"]}
    assert put_right({}, words, known).right == {"thame": "theme"}


def test_a_word_that_is_typed_right_as_well_keeps_its_weight() -> None:
    terms = {"sallari": 1.0, "salari": 1.0}
    assert put_right(terms, {"sallary": ["sallari"], "salary": ["salari"]}, KNOWN) == Righted(
        terms, {"sallary": "salari"}, 0.0
    )


def test_few_words_of_a_long_query_are_put_right() -> None:
    words = {f"revew{letter}": [f"revie{letter}"] for letter in string.ascii_lowercase}
    assert len(put_right({}, words, KNOWN).right) == MOST_WORDS


def indexed(folder: Path, texts: Mapping[str, str]) -> Kit:
    """An index of files by their names."""
    docs = folder / "docs"
    docs.mkdir()
    for name, text in texts.items():
        (docs / name).write_text(text, encoding="utf-8")
    kit = Kit(folder / "index")
    kit.add(docs, options=IndexOptions(intents="off"))
    return kit


def test_a_search_finds_what_a_misspelt_word_meant(tmp_path: Path) -> None:
    salary, pump = "The salary is paid on the 25th of each month.", "The pump stands in the cellar of the house."
    kit = indexed(tmp_path, {"a.txt": salary, "b.txt": pump})
    found = {hit.chunk.path: hit.explain.bm25 for hit in kit.search("sallary")}
    assert found["a.txt"] > 0 == found["b.txt"]
    with Snapshot.open(kit.index) as snapshot:
        searcher = Searcher(snapshot, HashEmbedder(), RankingWeights())
        assert searcher.misspelt("Sallary for the pump?") == {"sallary": "salary"}


def test_a_search_looks_for_no_function_word_of_the_index_as_another(tmp_path: Path) -> None:
    polish = "Pompa stoi w piwnicy i nie jest to nowa pompa, ale się nie psuje."
    kit = indexed(tmp_path, {"a.txt": "The sauna has three rooms and it is on the first floor.", "b.txt": polish})
    with Snapshot.open(kit.index) as snapshot:
        assert sorted(set(snapshot.languages)) == ["en", "pl"]
        searcher = Searcher(snapshot, HashEmbedder(), RankingWeights())
        assert searcher.misspelt("Is there a suana?") == {"suana": "sauna"}


def test_the_known_word_is_told_as_a_passage_has_it(tmp_path: Path) -> None:
    text = "# Warranties\n\nWARRANTY of Müllers' pump-house 7: each warranty lasts a year. It begins in Zürich."
    kit = indexed(tmp_path, {"a.md": text})
    with Snapshot.open(kit.index) as snapshot:
        searcher = Searcher(snapshot, HashEmbedder(), RankingWeights())
        assert searcher.misspelt("warrenty") == {"warrenty": "warranty"}
        assert searcher.misspelt("warrenties in Zurihc") == {"warrenties": "warranties", "zurihc": "zürich"}
        assert searcher.misspelt("pumphuose") == {"pumphuose": "pumphous"}


def test_a_query_of_single_characters_is_looked_for_in_pairs() -> None:
    known = KnownTerms({"水流": 3, "水管": 1, "排水": 2, "水": 1, "水泵房": 4, "泵房": 5}, 9)
    righted = put_right({"水": 1.0, "泵": 0.2}, {"水": ["水"], "泵": ["泵"]}, known)
    assert righted == Righted({"水": 1.0, "泵": 0.2, "水流": 1.0, "水管": 1.0, "泵房": 0.2}, {}, 0.0)
    both = {"水": 1.0, "pump": 1.0}
    assert put_right(both, {"水": ["水"], "pump": ["pump"]}, known) == Righted(both, {}, 1.0)
    assert put_right({"火": 1.0}, {"火": ["火"]}, known) == Righted({"火": 1.0}, {}, 1.0)


def test_of_many_pairs_those_that_most_passages_hold_are_looked_for() -> None:
    known = KnownTerms({f"水{chr(0x4E00 + n)}": n for n in range(1, 101)}, 100)
    assert put_right({"水": 1.0}, {}, known).terms.keys() == {"水", *(f"水{chr(0x4E00 + n)}" for n in range(37, 101))}


def test_a_search_finds_a_single_character_within_words(tmp_path: Path) -> None:
    kit = indexed(tmp_path, {"a.txt": "地下室的水泵需要修理。水位太高。", "b.txt": "图书馆周一关门。"})
    found = {hit.chunk.path: hit.explain.bm25 for hit in kit.search("水")}
    assert found["a.txt"] > 0 == found["b.txt"]
    with Snapshot.open(kit.index) as snapshot:
        assert snapshot.pairs("水") == {"水位": 1, "水泵": 1}
        assert snapshot.pairs("火") == {}
