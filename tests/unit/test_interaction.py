"""Late interaction: weights by hand, sums by brute force, words that carry no meaning left out."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest

from idc_local.interaction import WordValues, coded_content, late_interactions
from idc_local.ports import Tokens
from idc_local.spelling import KnownTerms
from idc_local.tokencodes import encode_tokens

PASSAGES = 100
KNOWN = KnownTerms({"pump": 50, "valv": 1}, PASSAGES)


def tokens(words: Sequence[str]) -> Tokens:
    return Tokens(np.eye(len(words), dtype=np.float32), words)


def values(*languages: str) -> WordValues:
    return WordValues(KNOWN.idf, PASSAGES, languages)


def idf(held: int) -> float:
    return math.log(1 + (PASSAGES - held + 0.5) / (held + 0.5))


def test_interaction_is_the_weighted_mean_of_the_best_cosines() -> None:
    question = np.array([[1.0, 0.0], [0.6, 0.8]], dtype=np.float32)
    weights = np.array([1.0, 3.0], dtype=np.float32)
    codes = encode_tokens(np.array([[0.9, 0.1], [-1.0, 2.0], [-1.0, -1.0]], dtype=np.float32))
    # Signs (1, 1), (-1, 1) and (-1, -1): the first token's best is 1 and then -1, the second's 1.4 and then -1.4,
    # times the root of pi / 2 / 2.
    found = late_interactions(question, weights, (codes, np.array([0, 2, 3])))
    assert found == pytest.approx(np.array([5.2, -5.2]) / 4 * math.sqrt(math.pi / 4))


@pytest.mark.parametrize("seed", range(5))
def test_interactions_from_codes_equal_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    width, counts = 16, [rng.integers(0, 4, size=6), rng.integers(0, 2, size=6)]
    question = rng.standard_normal((3, width)).astype(np.float32)
    question /= np.linalg.norm(question, axis=1, keepdims=True)
    weights = rng.uniform(1, 5, size=3).astype(np.float32)
    vectors = [rng.standard_normal((int(own.sum()), width)).astype(np.float32) for own in counts]
    offsets = [np.concatenate([[0], np.cumsum(own)]) for own in counts]
    found = late_interactions(
        question, weights, *((encode_tokens(own), ends) for own, ends in zip(vectors, offsets, strict=True))
    )
    for passage in range(6):
        held = np.concatenate(
            [own[ends[passage] : ends[passage + 1]] for own, ends in zip(vectors, offsets, strict=True)]
        )
        signs = np.where(held > 0, 1, -1) * np.float32(math.sqrt(math.pi / 2 / width))
        if len(held):
            best = [max(float(one @ other) for other in signs) for one in question]
            expected = sum(float(w) * value for w, value in zip(weights, best, strict=True)) / float(weights.sum())
            assert found[passage] == pytest.approx(expected, abs=1e-5)
        else:
            assert np.isnan(found[passage])


def test_a_page_as_a_question_equals_brute_force_in_little_memory() -> None:
    rng = np.random.default_rng(3)
    asked, held, width = 2001, 3000, 8
    question = rng.standard_normal((asked, width)).astype(np.float32)
    weights = rng.uniform(1, 5, size=asked).astype(np.float32)
    vectors = rng.standard_normal((held, width)).astype(np.float32)
    codes, offsets = encode_tokens(vectors), np.array([0, 10, 10, 2000, held])
    tracemalloc.start()
    try:
        found = late_interactions(question, weights, (codes, offsets))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    cosines = question @ np.where(vectors > 0, 1, -1).T * math.sqrt(math.pi / 2 / width)
    for passage, (start, end) in enumerate([(0, 10), (10, 10), (10, 2000), (2000, held)]):
        expected = weights @ cosines[:, start:end].max(axis=1) / weights.sum() if end > start else np.nan
        assert found[passage] == pytest.approx(expected, abs=1e-4, nan_ok=True)
    assert peak < asked * held, "a byte for each product of two tokens would be as much"


def test_a_question_without_tokens_interacts_with_nothing() -> None:
    codes = np.zeros((2, 1), dtype=np.uint8), np.array([0, 1, 2])
    nothing = np.zeros((0, 8), dtype=np.float32)
    assert np.isnan(late_interactions(nothing, nothing[:, 0], codes)).tolist() == [True, True]


def test_only_words_with_a_meaning_are_coded() -> None:
    first, second = tokens(["the", "pump", "##s", "."]), tokens(["of", "the", ",", "."])
    assert coded_content([first, second], "en") == [encode_tokens(first.vectors[[1, 2]]).tobytes(), b""]
    assert coded_content([second], "de") == [encode_tokens(second.vectors[:2]).tobytes()], "no German function words"
    half_told = tokens(["", "pump"])
    assert coded_content([half_told], "en") == [encode_tokens(half_told.vectors[1:]).tobytes()]
    untold = tokens(["", ""])
    assert coded_content([untold], "en") == [encode_tokens(untold.vectors).tobytes()]
    assert coded_content([], "en") == []


def test_rare_words_weigh_most_and_function_words_least() -> None:
    words = ["which", "pumps", "valve", "valve", "gasket", "?"]
    found = values("en").weights(tokens(words), "Which pumps, valve, gasket?")
    assert found == pytest.approx([1.0, 1 + idf(50), 1 + idf(1), 1 + idf(1), 1 + idf(0), 1.0], abs=1e-5)


def test_a_word_weighs_what_the_rarest_of_its_terms_does() -> None:
    assert values("en").weights(tokens(["pump_valve"]), "pump_valve") == pytest.approx([1 + idf(0)])
    known = KnownTerms({"pump": 50, "valv": 1, "pump_valve": 20}, PASSAGES)
    weights = WordValues(known.idf, PASSAGES, ["en"]).weights(tokens(["pump_valve"]), "pump_valve")
    assert weights == pytest.approx([1 + idf(1)])


def test_a_text_in_one_of_several_languages_is_taken_as_such() -> None:
    german = "Welche Pumpe hat das Ventil, und wann wird sie von wem geprüft?"
    assert values("de", "en").weights(tokens(["Pumpe", "das"]), german) == pytest.approx([1 + idf(50), 1.0], abs=1e-5)
    # In English one can die; a German article weighs nothing.
    english = "When did the engine of the pump die, and who has seen it?"
    assert values("de", "en").weights(tokens(["die"]), english) == pytest.approx([1 + idf(0)])
    # Where that cannot be told, a function word of any language of the index is one.
    assert values("de", "fr").weights(tokens(["Die", "Pumpe", "valve"]), "Die Pumpe, valve") == pytest.approx(
        [1.0, 1 + idf(50), 1 + idf(1)]
    )
    # No language of this index: no word is a function word.
    assert values("fr", "it").weights(tokens(["das", "und"]), german) == pytest.approx([1 + idf(0)] * 2)


def test_words_that_a_tokenizer_does_not_tell_weigh_alike() -> None:
    assert values("en").weights(tokens(["", ""]), "x").tolist() == [1.0, 1.0]
    assert values("en").weights(tokens([]), "").shape == (0,)
