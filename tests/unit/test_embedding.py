"""What is embedded of headings."""

from __future__ import annotations

from idc_local.embedding import CachedEmbedder
from idc_local.memory import MemoryCache, Silent
from tests.fakes import HashEmbedder


def test_of_a_heading_the_end_is_read() -> None:
    model = HashEmbedder(8)
    embedder = CachedEmbedder(lambda: model, MemoryCache(), 8, Silent())
    vectors, codes = embedder.encode_headings(["pump > valve", "seal " * 20_000 + "> gate"], "en")
    assert vectors.shape == (2, 8)
    # One byte a word: 6 characters are those of the mark and the last word, 994 those of 198 words and a part of one.
    assert [len(own) for own in codes] == [2, 200]
    assert model.texts[0] == "pump > valve"
    assert embedder.embedded == 0
