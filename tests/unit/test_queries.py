"""What a query asks: clauses, weights of terms, and the vector, by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local.queries import is_foreign, merged_vector, parse_query, query_vector, split_clauses
from idc_local.terms import query_terms
from idc_local.types import FloatArray


def test_a_plain_question_is_one_clause() -> None:
    parsed = parse_query("Which alarm sounds when the float sticks?", ["en"])
    assert parsed.texts == ("Which alarm sounds when the float sticks?",)
    assert parsed.asking == "Which alarm sounds when the float sticks?"
    assert set(parsed.terms.values()) == {1.0}
    assert parse_query("Pump noise?", ["en"]).texts == ("Pump noise?",), "however little is in it"


def test_what_sets_the_scene_counts_less() -> None:
    parsed = parse_query("Consider the cellar pump. Which alarm sounds when the float sticks?", ["en"])
    assert parsed.texts[1:] == ("Which alarm sounds when the float sticks?",)
    assert parsed.asking == "Which alarm sounds when the float sticks?"
    assert (parsed.terms["pump"], parsed.terms["alarm"]) == (0.2, 1.0)


def test_a_term_of_both_parts_counts_whole() -> None:
    parsed = parse_query("Consider the cellar pump. When does the pump start in winter?", ["en"])
    assert parsed.terms["pump"] == 1.0


def test_a_clause_with_too_little_in_it_is_asked_with_the_one_before() -> None:
    parsed = parse_query("Highlight the parts about termination for convenience; is it there?", ["en"])
    assert parsed.texts == ("Highlight the parts about termination for convenience; is it there?",)
    scene = parse_query("Consider the cellar pump. Highlight the parts about termination; is it there?", ["en"])
    assert scene.asking == "Highlight the parts about termination; is it there?"


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("One thing here. Another thing there.", ["One thing here.", "Another thing there."]),
        ("Version 1.0.21 of the gateway; what changed?", ["Version 1.0.21 of the gateway;", "what changed?"]),
        (
            "水泵什么时候会自动启动和停止呢？浮球磨损以后会发生什么事情呢？",
            ["水泵什么时候会自动启动和停止呢？", "浮球磨损以后会发生什么事情呢？"],
        ),
        ("ok?", ["ok?"]),
        ("", [""]),
        ("Pump: maintenance interval", ["Pump: maintenance interval"]),
        (
            "Consider the cellar pump. Details: when does it start?",
            ["Consider the cellar pump. Details:", "when does it start?"],
        ),
        ("When does the pump stop? Why?", ["When does the pump stop? Why?"]),
        ("When does the pump stop? Is it the big one? Why?", ["When does the pump stop?", "Is it the big one? Why?"]),
        ("When does the pump stop? Who has it?", ["When does the pump stop? Who has it?"]),
        ("When does the pump stop? Who owns it?", ["When does the pump stop?", "Who owns it?"]),
        ("What does std::vector reserve at 14:30?", ["What does std::vector reserve at 14:30?"]),
        ("Who maintains https://example.org/a?b=c&d now?", ["Who maintains https://example.org/a?b=c&d now?"]),
        ("What did J. R. R. Tolkien and Dr. Smith write?", ["What did J. R. R. Tolkien and Dr. Smith write?"]),
        ("Was sagt § 23 Abs. 2 Nr. 5 BGB dazu?", ["Was sagt § 23 Abs. 2 Nr. 5 BGB dazu?"]),
        ("How does P. falciparum grow in the U.S. today?", ["How does P. falciparum grow in the U.S. today?"]),
    ],
)
def test_clauses(text: str, clauses: list[str]) -> None:
    assert split_clauses(text) == clauses


@pytest.mark.parametrize(
    "text", ["Dr. Smith vs. Jones ruling on patents", "Error: E:4012 after Foo::bar!baz is called"]
)
def test_no_word_of_a_query_is_lost(text: str) -> None:
    assert parse_query(text, ["en"]).terms == dict.fromkeys(query_terms(text, ["en"]), 1.0)


@given(st.text(max_size=200))
def test_clauses_hold_everything_but_white_space(text: str) -> None:
    assert "".join("".join(split_clauses(text)).split()) == "".join(text.split())


def test_the_vector_mixes_asking_clauses_and_the_whole() -> None:
    whole, first, second = np.eye(3, dtype=np.float32)
    mixed = 0.75 * (first + second) / np.sqrt(2) + 0.25 * whole
    assert merged_vector(np.stack([whole, first, second])) == pytest.approx(mixed / np.linalg.norm(mixed), abs=1e-6)
    assert merged_vector(np.stack([whole])).tolist() == whole.tolist()
    assert merged_vector(np.stack([whole, first, -first])) == pytest.approx(whole), "clauses that say opposites"
    assert merged_vector(np.zeros((3, 3), dtype=np.float32)).tolist() == [0, 0, 0], "texts without a meaning"


@given(st.text(max_size=80))
def test_any_text_can_be_asked(text: str) -> None:
    def encode(texts: Sequence[str]) -> FloatArray:
        return np.tile(np.array([[0.6, 0.8]], dtype=np.float32), (len(texts), 1))

    parsed = parse_query(text, ["en", "zh"])
    assert parsed.texts[0] == text
    assert all(weight in (0.2, 1.0) for weight in parsed.terms.values())
    assert query_vector(parsed, encode) == pytest.approx([0.6, 0.8], abs=1e-6)


def test_only_the_beginning_of_a_document_is_looked_at() -> None:
    parsed = parse_query("pump " * 2000 + "oil", ["en"])
    assert len(parsed.texts[0]) == 8000
    assert parsed.terms == {"pump": 1.0}


@pytest.mark.parametrize(
    ("text", "languages", "known", "foreign"),
    [
        ("浮球多久更换一次？", ["en", "zh"], ["en"], True),
        ("متى يجب استبدال المضخة؟", ["ar"], ["en"], True),
        ("Wann muss die Pumpe gewartet werden und von wem?", ["de", "en"], ["en"], True),
        ("How often is the float replaced?", ["en", "zh"], ["en"], False),
        ("How often is the float replaced?", ["zh"], ["en"], False),
        ("浮球多久更换一次？", ["en", "zh"], ["en", "zh"], False),
        ("浮球多久更换一次？", ["en", "zh"], [], False),
        ("浮球多久更换一次？", ["en"], ["en"], False),
    ],
)
def test_a_query_is_foreign_in_a_language_of_the_index_that_the_embedder_does_not_know(
    text: str, languages: list[str], known: list[str], foreign: bool
) -> None:
    assert is_foreign(text, languages, known) == foreign


def test_words_that_may_be_misspelt_are_words_by_themselves() -> None:
    parsed = parse_query("Sallary, max_retry_cuont ops@exmaple.org real-tiem E-4012 naïve's", ["en", "de"])
    assert list(parsed.words) == ["sallary", "naïve", "s"]
    assert list(parsed.words["sallary"]) == ["sallari", "sallary"]
