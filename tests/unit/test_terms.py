"""Lexical terms: identifiers, scripts without spaces, stems, and equality of index and query side."""

from __future__ import annotations

import zlib

import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st

from idc_local.terms import folded, lexical_terms, normalise, query_terms, term_hashes, without_accents


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("version 1.0.21 is out", "1.0.21"),
        ("set `max_retry_count` now", "max_retry_count"),
        ("error E-4012.", "e-4012"),
        ("clients in C++ only", "c++"),
        ("clients in C# only", "c#"),
        ("for .NET users", ".net"),
        ("see RFC-2616;", "rfc-2616"),
        ("issue #775, closed", "#775"),
        ("file config.yaml,", "config.yaml"),
        ("mail ops@example.org", "ops@example.org"),
        ("in C/C++ and", "c++"),
        ("needs C++20 now", "c++"),
        ("VB/F#", "f#"),
        ("the .bashrc file", "bashrc"),
        ("in the U.S.A. only", "usa"),
        ("at 3 p.m.", "pm"),
    ],
)
def test_identifiers_stay_whole_beside_their_parts(text: str, whole: str) -> None:
    assert whole in lexical_terms(text, "en")


def test_identifier_parts_are_terms_of_their_own() -> None:
    assert lexical_terms("max_retry_count", "en") == ["max_retry_count", "max", "retri", "count"]
    assert lexical_terms("1.0.21", "en") == ["1.0.21", "1", "0", "21"]
    assert lexical_terms("#775 in C++", "en") == ["#775", "c++"]
    assert lexical_terms(".env_file", "en") == [".env_file", "env_file", "env", "file"]


@pytest.mark.parametrize(
    ("written", "terms"),
    [
        ("e-mail", ["email", "e", "mail"]),
        ("E-Mails", ["email", "e", "mail"]),
        ("real-time", ["realtim", "real", "time"]),
        ("non\u2011breaking real\u2010time", ["nonbreak", "non", "break", "realtim", "real", "time"]),
        ("state-of-the-art", ["stateoftheart", "state", "art"]),
        ("co-opération", ["cooper", "co", "oper"]),
        ("read-only_flag", ["read-only_flag", "read", "onli", "flag"]),
        ("covid-19", ["covid-19", "covid", "19"]),
    ],
)
def test_a_word_with_hyphens_is_also_the_word_without(written: str, terms: list[str]) -> None:
    assert lexical_terms(written, "en") == terms


@pytest.mark.parametrize(
    ("written", "terms"),
    [
        ("ISO9001", ["iso9001", "iso", "9001"]),
        ("ISO 9001", ["iso", "9001"]),
        ("400mg", ["400mg", "400", "mg"]),
        ("UTF8", ["utf8", "utf", "8"]),
        ("AS400", ["as400", "400"]),
        ("Łódź2024", ["lodz2024", "lodz", "2024"]),
        ("E17 h264 5V", ["e17", "h264", "5v"]),
        ("a1b2c3d4", ["a1b2c3d4"]),
        ("9" * 70 + "mg", ["9" * 64]),
    ],
)
def test_a_word_and_a_number_written_as_one_are_terms_of_their_own_too(written: str, terms: list[str]) -> None:
    assert lexical_terms(written, "en") == terms


def test_day_and_time_of_a_time_stamp_are_words_of_their_own() -> None:
    day = ["2024-06-03", "2024", "06", "03"]
    assert lexical_terms("2024-06-03T10:30:02Z", "en") == [*day, "10:30:02z", "10", "30", "02z"]
    assert lexical_terms("2024-06-03 10:30", "en") == [*day, "10:30", "10", "30"]
    assert lexical_terms("12-06-03T10 2024-06-03T x", "en") == [
        "12-06-03t10",
        "12",
        "06",
        "03t10",
        "2024-06-03t",
        "2024",
        "06",
        "03t",
        "x",
    ]


def test_sentence_marks_are_not_part_of_a_word() -> None:
    assert lexical_terms("Stop. Go! (Wait) «now»", "xx") == ["stop", "go", "wait", "now"]


def test_possessive_and_contracted_endings_are_dropped() -> None:
    assert lexical_terms("the pump's float", "en") == ["pump", "float"]
    assert lexical_terms("the pump’s float", "en") == ["pump", "float"]
    assert lexical_terms("they'll pump, pumps've", "en") == ["pump", "pump"]
    assert lexical_terms("O'Hara's", "en") == lexical_terms("O'Hara", "en") == ["o", "hara"]


def test_function_words_of_the_language_are_left_out() -> None:
    assert lexical_terms("What is the oil for?", "en") == ["oil"]
    assert lexical_terms("Die Pumpe ist nicht an", "de") == ["pump"]
    assert lexical_terms("Die Pumpe ist nicht an", "en") == ["die", "pump", "ist", "nicht"]
    assert lexical_terms("على أن المضخة", "ar") == lexical_terms("المضخة", "ar")


@pytest.mark.parametrize(
    ("question", "language", "terms"),
    [
        ("Wann kann die Pumpe anlaufen?", "de", ["pump", "anlauf"]),
        ("Welche Pumpe gibt es?", "de", ["pump"]),
        ("¿Cuándo y dónde está la bomba?", "es", ["esta", "bomb"]),
        ("Pourquoi et quand la pompe ?", "fr", ["pomp"]),
        ("Perché quale pompa?", "it", ["pomp"]),
        ("Hoeveel en waar: de pomp", "nl", ["pomp"]),
        ("متى وأين كيف المضخة", "ar", lexical_terms("وأين المضخة", "ar")),
        ("Wann ist Pumpe", "en", ["wann", "ist", "pump"]),
    ],
)
def test_question_words_of_the_language_are_left_out(question: str, language: str, terms: list[str]) -> None:
    assert lexical_terms(question, language) == terms


@pytest.mark.parametrize(
    ("written", "typed", "language"),
    [
        ("soft\xadware con\u200bfig\u2060uration", "software configuration", "en"),
        ("Cafe\u0301 re\u0301sume\u0301", "café résumé", "en"),
        ("café résumé naïve", "cafe resume naive", "en"),
        ("Łódź Søren Œuvre", "lodz soren oeuvre", "xx"),
        ("Ελλάδα", "ΕΛΛΑΔΑ", "xx"),
        ("İzmir IĞDIR", "izmir iğdir", "tr"),
        ("шёл Ёлка", "шел елка", "xx"),
        ("שָׁלוֹם", "שלום", "he"),
        ("ﬁlter oﬃce", "filter office", "en"),
    ],
)
def test_forms_that_people_take_for_the_same_word_are_one_term(written: str, typed: str, language: str) -> None:
    assert lexical_terms(written, language) == lexical_terms(typed, language)


def test_stems_of_both_forms_are_terms_where_accents_tell_endings() -> None:
    assert lexical_terms("crème brûlée", "fr") == ["crem", "brul", "brule"]
    assert lexical_terms("creme brulee", "fr") == ["crem", "brule"]


def test_marks_are_part_of_a_word() -> None:
    assert lexical_terms("किरायेदार को", "xx") == ["किरायेदार", "को"]
    assert lexical_terms("தமிழ் மொழி।", "xx") == ["தமிழ்", "மொழி"]


def test_vietnamese_words_are_kept_with_their_marks_too() -> None:
    assert lexical_terms("Bên thuê", "vi") == ["bên", "ben", "thuê", "thue"]


def test_the_persian_space_that_is_none_parts_words() -> None:
    assert lexical_terms("کتاب\u200cها", "fa") == ["کتاب", "ها"]


@pytest.mark.parametrize("hyphen", ["-\n", "-\r\n", "-  \n   ", "\xad\n", "\u2010\r"])
def test_a_word_that_a_line_end_has_parted_is_one_too(hyphen: str) -> None:
    assert lexical_terms(f"the labora{hyphen}tory", "en")[0] == "laboratori"
    assert lexical_terms(f"a real{hyphen}time queue", "en") == ["realtim", "real", "time", "queue"]


def test_a_word_with_a_hyphen_of_its_own_that_a_line_end_has_parted_keeps_both_readings() -> None:
    assert lexical_terms("self-hypno-\nsis", "en") == [
        "selfhypnosi",
        "self",
        "hypnosi",
        "selfhypnosi",
        "self",
        "hypno",
        "sis",
    ]


def test_a_dash_at_a_line_end_joins_nothing() -> None:
    assert lexical_terms("the pump -\nthe float", "en") == ["pump", "float"]
    assert lexical_terms("Item 5-\nNext", "en") == ["item", "5", "next"]


def test_accents_are_taken_from_latin_and_greek_letters_alone() -> None:
    assert without_accents("é ü ç ñ ł ø ß ή") == "e u c n l o ß η"
    assert without_accents("й が 한 ก็") == "й が 한 ก็"


def test_phrases_compare_without_case_white_space_and_forms_of_letters() -> None:
    assert folded("Float\r\n  SWITCH ") == "float switch"
    assert folded("don’t  use “soft\xadware” ﬁlters") == 'don\'t use "software" filters'


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
    assert lexical_terms("المضخه", "en") == ["المضخه"], "the article is that of Arabic texts"


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
