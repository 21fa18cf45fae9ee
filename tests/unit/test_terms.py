"""Lexical terms: identifiers, scripts without spaces, stems, and equality of index and query side."""

from __future__ import annotations

import zlib

import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st

from idc_local.terms import lexical_terms, normalise, query_terms, term_hashes


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("version 1.0.21 is out", "1.0.21"),
        ("a real-time queue", "real-time"),
        ("set `max_retry_count` now", "max_retry_count"),
        ("error E-4012.", "e-4012"),
        ("clients in C++ only", "c++"),
        ("clients in C# only", "c#"),
        ("for .NET users", ".net"),
        ("see RFC-2616;", "rfc-2616"),
        ("issue #775, closed", "#775"),
        ("file config.yaml,", "config.yaml"),
        ("mail ops@example.org", "ops@example.org"),
    ],
)
def test_identifiers_stay_whole_beside_their_parts(text: str, whole: str) -> None:
    assert whole in lexical_terms(text, "en")


def test_identifier_parts_are_terms_of_their_own() -> None:
    assert lexical_terms("max_retry_count", "en") == ["max_retry_count", "max", "retri", "count"]
    assert lexical_terms("1.0.21", "en") == ["1.0.21", "1", "0", "21"]


def test_sentence_marks_are_not_part_of_a_word() -> None:
    assert lexical_terms("Stop. Go! (Wait) «now»", "xx") == ["stop", "go", "wait", "now"]


def test_possessive_and_contracted_endings_are_dropped() -> None:
    assert lexical_terms("the pump's float", "en") == ["pump", "float"]
    assert lexical_terms("the pump’s float", "en") == ["pump", "float"]


def test_function_words_of_the_language_are_left_out() -> None:
    assert lexical_terms("What is the oil for?", "en") == ["oil"]
    assert lexical_terms("Die Pumpe ist nicht an", "de") == ["pump"]
    assert lexical_terms("Die Pumpe ist nicht an", "en") == ["die", "pump", "ist", "nicht"]
    assert lexical_terms("على أن المضخة", "ar") == lexical_terms("المضخة", "ar")


def test_hashes_are_crc32() -> None:
    assert term_hashes(["pump", "float"]).tolist() == [zlib.crc32(b"pump"), zlib.crc32(b"float")]
    assert term_hashes([]).shape == (0,)


def test_unspaced_scripts_become_bigrams() -> None:
    assert lexical_terms("浮球磨损会卡住", "zh") == ["浮球", "球磨", "磨损", "损会", "会卡", "卡住"]
    assert lexical_terms("水", "zh") == ["水"]
    assert lexical_terms("使用USB接口", "zh") == ["使用", "usb", "接口"]
    assert lexical_terms("ポンプを止める", "ja")[:2] == ["ポン", "ンプ"]
    assert lexical_terms("ปั๊ม", "th") == ["ปั", "ั๊", "๊ม"]


def test_korean_words_stay_words() -> None:
    assert lexical_terms("펌프 정지", "ko") == [normalise("펌프"), normalise("정지")]


def test_arabic_letter_variants_and_vowel_marks_are_one() -> None:
    assert normalise("أحمَد") == normalise("احمد")
    assert normalise("مدرسة") == normalise("مدرسه")


def test_the_arabic_article_is_no_part_of_a_word() -> None:
    assert lexical_terms("المضخة", "ar") == lexical_terms("مضخة", "ar") == lexical_terms("والمضخة", "ar")


def test_full_width_and_case_fold_to_one_form() -> None:
    assert lexical_terms("ＡＢＣ Straße", "xx") == ["abc", "strasse"]


@pytest.mark.parametrize(("language", "name"), [("en", "english"), ("de", "german"), ("ru", "russian")])
def test_stems_are_snowball_s(language: str, name: str) -> None:
    words = {"en": "running", "de": "laufenden", "ru": "насосами"}
    expected = snowballstemmer.stemmer(name).stemWord(normalise(words[language]))
    assert lexical_terms(words[language], language) == [expected]


def test_query_terms_unite_the_stems_of_every_language_without_repeats() -> None:
    assert query_terms("time time", ["en", "de"]) == ["time", "tim"]
    assert query_terms("time", []) == ["time"]


@given(st.text(max_size=200), st.sampled_from(["en", "de", "zh", "ar", "xx"]))
def test_every_term_of_a_text_is_found_by_the_same_text_as_a_query(text: str, language: str) -> None:
    assert set(lexical_terms(text, language)) == set(query_terms(text, [language]))


@given(st.text(max_size=100))
def test_terms_are_never_empty_and_never_long(text: str) -> None:
    assert all(0 < len(term) <= 64 for term in lexical_terms(text, "en"))


def test_a_long_unbroken_run_costs_linear_time_and_stays_bounded() -> None:
    terms = lexical_terms("a" * 1_000_000 + "-" + "b." * 100_000, "en")
    assert max(map(len, terms)) <= 64
