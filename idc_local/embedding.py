"""Vectors through the index's cache: no text is embedded twice, and the model loads only when a text is new.

Also what keeps vectors of different models apart.

Layer 3: takes ports, never prints.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from idc_local.catalogue import ModelFiles
from idc_local.errors import ModelError, StoreMismatch, quote
from idc_local.fingerprint import vector_key
from idc_local.interaction import coded_content
from idc_local.ports import Embedder, Progress, Tokens
from idc_local.types import FloatArray, HalfArray

SLICE = 1024
"""Texts embedded between two commits: a run that is interrupted keeps what it has done."""

HEADING = 1000
"""Characters of a heading path that are read: each passage keeps the tokens of its own, and a file could have one
heading as long as all its passages together."""

TOGETHER = 1 << 17
"""Characters whose token vectors are in memory at once, some 50 MB."""

Encoded = tuple[FloatArray, Sequence[bytes]]
"""Vectors, float32 [n, d], and the codes of the tokens of each text; nothing for texts that need none."""


class VectorCache(Protocol):
    """Keeps vectors, and the codes of their tokens, by the key of their text."""

    def vectors(self, keys: Sequence[str]) -> Mapping[str, HalfArray]:
        """Known vectors, float16 [d], by key."""
        ...

    def codes(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Codes of the tokens (``tokencodes``), one after the other, of the keys whose vectors are known."""
        ...

    def put_vectors(self, keys: Sequence[str], vectors: HalfArray, codes: Sequence[bytes] = ()) -> None:
        """Keeps vectors, float16 [len(keys), d], and the codes of each; of none where there are no codes."""
        ...


class CachedEmbedder:
    """Embeds texts of documents and intents; ``embedded`` counts those that were not in the cache.

    languages: that the embedder was made for, none where that is not told.
    """

    def __init__(
        self,
        load: Callable[[], Embedder],
        cache: VectorCache,
        dimension: int,
        progress: Progress,
        languages: Sequence[str] = (),
    ) -> None:
        self.languages = languages
        self._load = load
        self._cache = cache
        self._dimension = dimension
        self._progress = progress
        self.embedded = 0

    def encode_documents(self, texts: Sequence[str], language: str) -> HalfArray:
        """float16 [len(texts), d], unit rows, in the order of ``texts``; ``token_codes`` are made as well.

        language: ISO 639-1, which words of these texts carry meaning.
        """
        return self._encode(texts, lambda text: sentence_key(text, language), self._sentences(language))

    def encode_sentences(self, texts: Sequence[str], language: str) -> tuple[HalfArray, list[bytes]]:
        """``encode_documents`` and ``token_codes`` of the texts."""
        return self.encode_documents(texts, language), self.token_codes(texts, language)

    def encode_headings(self, texts: Sequence[str], language: str) -> tuple[HalfArray, list[bytes]]:
        """The same for headings, the last ``HEADING`` characters of each; they are not counted as sentences."""
        before = self.embedded
        found = self.encode_sentences([text[-HEADING:] for text in texts], language)
        self.embedded = before
        return found

    def token_codes(self, texts: Sequence[str], language: str) -> list[bytes]:
        """For each text the codes (``tokencodes``) of the tokens that are part of words that carry meaning."""
        keys = [sentence_key(text, language) for text in texts]
        known = self._cache.codes(keys)
        missing = [text for key, text in zip(keys, texts, strict=True) if key not in known]
        if missing:
            self.encode_documents(missing, language)
            known = self._cache.codes(keys)
        return [known[key] for key in keys]

    def encode_queries(self, texts: Sequence[str]) -> FloatArray:
        """The same, as queries, float32: there are few of them, and they are multiplied with each other."""
        return self._encode(texts, query_key, self._queries).astype(np.float32)

    def _queries(self, texts: list[str]) -> Encoded:
        return self._load().encode_queries(texts), ()

    def _sentences(self, language: str) -> Callable[[list[str]], Encoded]:
        def encode(texts: list[str]) -> Encoded:
            vectors, codes = [np.zeros((0, self._dimension), dtype=np.float32)], []
            for some in _portions(texts):
                own, tokens = self._load().encode_sentences(some)
                vectors.append(own)
                codes += coded_content(tokens, language)
            return np.concatenate(vectors), codes

        return encode

    def query_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each query; not cached."""
        return self._load().query_tokens(texts)

    def _encode(
        self, texts: Sequence[str], key_of: Callable[[str], str], encode: Callable[[list[str]], Encoded]
    ) -> HalfArray:
        result = np.zeros((len(texts), self._dimension), dtype=np.float16)
        for start in range(0, len(texts), SLICE):
            part = texts[start : start + SLICE]
            keys = [key_of(text) for text in part]
            known = self._known(keys, part, encode)
            for place, key in enumerate(keys, start=start):
                result[place] = known[key]
            self._progress.advance(0, f"{min(start + SLICE, len(texts))}/{len(texts)} embedded")
        return result

    def _known(
        self, keys: Sequence[str], texts: Sequence[str], encode: Callable[[list[str]], Encoded]
    ) -> Mapping[str, HalfArray]:
        known = dict(self._cache.vectors(keys))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            vectors, codes = encode(list(missing.values()))
            halves = vectors.astype(np.float16)
            self._cache.put_vectors(list(missing), halves, codes)
            self.embedded += len(missing)
            known.update(zip(missing, halves, strict=True))
        return known


def _portions(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in order, in lists of ``TOGETHER`` characters, or of one text that is longer."""
    held: list[str] = []
    size = 0
    for text in texts:
        if held and size + len(text) > TOGETHER:
            yield held
            held, size = [], 0
        held.append(text)
        size += len(text)
    if held:
        yield held


def sentence_key(text: str, language: str) -> str:
    """The key of a sentence: the words of it that carry meaning depend on its language."""
    return vector_key(f"{language}\0{text}")


def query_key(text: str) -> str:
    """The key of a query, or of an intent; no language is called like that."""
    return vector_key(f"query\0{text}")


def writer_fingerprint(files: ModelFiles) -> dict[str, Any]:
    """What must be the same for all vectors of an index."""
    return {"embedder": files.fingerprint, "embedder_name": files.name, "dimension": files.dimension}


@contextmanager
def naming_the_index(index: Path, made_with: str, known: Container[str]) -> Iterator[None]:
    """Says of a model that nothing here is called by that the index was made with it."""
    try:
        yield
    except ModelError as error:
        if made_with and made_with not in known:
            error.message += f", which the index in {index} was made with"
            error.hint = f"idc-local models add PATH --name {made_with}; IDC_EMBEDDER=NAME where it has another name"
        raise


def check_embedder(fingerprint: Mapping[str, Any], files: ModelFiles, folder: Path) -> None:
    """Refuses queries by another model than the one that made the index's vectors."""
    if fingerprint.get("embedder") != files.fingerprint:
        made_with = fingerprint.get("embedder_name", "another model")
        raise StoreMismatch(
            f"the index in {folder} was made with {made_with}, the embedder now is {files.name}",
            hint=f"idc-local index PATH --rebuild --index {quote(folder)}",
        )
