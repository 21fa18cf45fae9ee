"""Vectors through the cache: what is embedded together, what is kept, what is counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from idc_local import embedding
from idc_local.embedding import CachedEmbedder, sentence_key
from idc_local.interaction import coded_content
from idc_local.memory import MemoryCache, Silent
from idc_local.ports import Tokens
from idc_local.types import FloatArray
from tests.fakes import HashEmbedder


class Portioned(HashEmbedder):
    """Remembers how many characters were embedded at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.portions: list[list[int]] = []

    def encode_sentences(self, texts: Sequence[str]) -> tuple[FloatArray, list[Tokens]]:
        self.portions.append([len(text) for text in texts])
        return super().encode_sentences(texts)


def test_long_texts_are_embedded_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "TOGETHER", 100)
    texts = ["a" * 40, "b" * 40, "c" * 30, "d" * 150, "e " * 10, "f"]
    model, cache = Portioned(), MemoryCache()
    embedder = CachedEmbedder(lambda: model, cache, 32, Silent())
    vectors, codes = embedder.encode_sentences(texts, "en")
    assert model.portions == [[40, 40], [30], [150], [20, 1]]
    plain, tokens = HashEmbedder().encode_sentences(texts)
    assert (vectors == plain.astype(np.float16)).all()
    assert codes == coded_content(tokens, "en")
    assert embedder.embedded == len(texts)


def test_a_text_is_embedded_once_in_each_language_and_headings_are_not_counted() -> None:
    model, cache = HashEmbedder(), MemoryCache()
    embedder = CachedEmbedder(lambda: model, cache, 32, Silent())
    embedder.encode_documents(["die pump", "die pump"], "en")
    embedder.encode_documents(["die pump"], "de")
    embedder.encode_headings(["A heading", "die pump"], "de")
    assert model.texts == ["die pump", "die pump", "A heading"]
    assert embedder.embedded == 2
    # A function word of German is none of English.
    english, german = (len(*cache.codes([sentence_key("die pump", name)]).values()) for name in ("en", "de"))
    assert (english, german) == (2 * 4, 1 * 4)


def test_codes_that_a_cache_has_lost_are_made_again() -> None:
    model, cache = HashEmbedder(), MemoryCache()
    embedder = CachedEmbedder(lambda: model, cache, 32, Silent())
    _, codes = embedder.encode_sentences(["One pump.", "Two valves."], "en")
    key = sentence_key("Two valves.", "en")
    del cache._vectors[key], cache._codes[key]
    assert embedder.token_codes(["Two valves.", "One pump."], "en") == codes[::-1]
    assert model.texts == ["One pump.", "Two valves.", "Two valves."]


def test_of_a_heading_the_end_is_read() -> None:
    model = HashEmbedder(8)
    embedder = CachedEmbedder(lambda: model, MemoryCache(), 8, Silent())
    vectors, codes = embedder.encode_headings(["pump > valve", "seal " * 20_000 + "> gate"], "en")
    assert vectors.shape == (2, 8)
    # One byte a word: 6 characters are those of the mark and the last word, 994 those of 198 words and a part of one.
    assert [len(own) for own in codes] == [2, 200]
    assert model.texts[0] == "pump > valve"
    assert embedder.embedded == 0
