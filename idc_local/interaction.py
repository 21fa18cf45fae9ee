"""Late interaction: a question's tokens against a passage's, as the embedder's last layer has them in their context.

Tokens of rare words count most, and of a passage only words that carry meaning are looked at. Layer 1, pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
import numpy.typing as npt

from idc_local.language import detect_language
from idc_local.ports import Tokens
from idc_local.ranking import idf
from idc_local.terms import lexical_terms
from idc_local.tokencodes import encode_tokens, token_cosines
from idc_local.types import BoolArray, FloatArray, IntArray

_TOGETHER = 128
"""Tokens of a question that are compared together: no question has more, but a whole page that somebody asks for
does, and would take memory for its product with all tokens of the passages, and threads that wait for each other."""


@dataclass(frozen=True, slots=True)
class WordValues:
    """What words are worth in an index.

    known: inverse document frequency of terms, float32 [terms], 0 for one that no chunk has. chunks: how many there
    are. languages: ISO 639-1, those of the index.
    """

    known: Callable[[Sequence[str]], FloatArray]
    chunks: int
    languages: Sequence[str]

    def weights(self, question: Tokens, text: str) -> FloatArray:
        """float32 [tokens]: 1 + the highest idf of a term of the token's word, 1 for function words."""
        languages = self._languages(text)
        terms = {word: _common_terms(word, languages) for word in question.words}
        every = list(dict.fromkeys(term for own in terms.values() for term in own))
        unknown = idf(self.chunks, np.zeros(1, dtype=np.int64))[0]
        values = {term: float(value or unknown) for term, value in zip(every, self.known(every), strict=True)}
        worth = {word: 1.0 + max((values[term] for term in own), default=0.0) for word, own in terms.items()}
        return np.array([worth[word] for word in question.words], dtype=np.float32)

    def _languages(self, text: str) -> tuple[str, ...]:
        """That of the text, if it is one of the index; all of the index where that cannot be told."""
        if len(self.languages) > 1:
            found = detect_language(text)
            if found in self.languages:
                return (found,)
        return tuple(self.languages)


@lru_cache(maxsize=20_000)
def _common_terms(word: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    """Terms of a word in all of these languages; none where it is a function word in one of them."""
    found = [_terms_of(word, language) for language in languages or ("",)]
    return tuple(dict.fromkeys(chain.from_iterable(found))) if all(found) else ()


def _with_meaning(words: Sequence[str], language: str) -> BoolArray:
    """Which words have terms in the language, as function words and punctuation have none: bool [len(words)].

    Where a tokenizer does not tell the words, all are taken.
    """
    if not any(words):
        return np.ones(len(words), dtype=np.bool_)
    return np.array([bool(_terms_of(word, language)) for word in words], dtype=np.bool_)


@lru_cache(maxsize=200_000)
def _terms_of(word: str, language: str) -> tuple[str, ...]:
    return tuple(lexical_terms(word, language))


def coded_content(texts: Sequence[Tokens], language: str) -> list[bytes]:
    """For each text the codes (``tokencodes``) of the tokens of its words with terms, one after the other."""
    kept = [_with_meaning(text.words, language) for text in texts]
    vectors = [text.vectors[own] for text, own in zip(texts, kept, strict=True)]
    if not vectors:
        return []
    codes = encode_tokens(np.concatenate(vectors))
    ends = np.cumsum([len(own) for own in vectors]).tolist()
    return [codes[start:end].tobytes() for start, end in zip([0, *ends], ends, strict=False)]


Codes = tuple[npt.NDArray[np.uint8], IntArray]
"""Tokens of c passages one after the other, uint8 [t, b] (``tokencodes``), and int64 [c + 1], where each begins."""


def late_interactions(question: FloatArray, weights: FloatArray, *parts: Codes) -> FloatArray:
    """Late interaction with c passages, float32 [c], whose tokens the parts hold; NaN for one without any.

    Weighted mean over the question's tokens of the largest cosine with any token of the passage: MaxSim of Khattab and
    Zaharia 2020 (equation 3), which is the plain sum. question: float32 [q, d], unit rows; weights: float32 [q].
    """
    nearest = np.full((len(question), len(parts[0][1]) - 1), -np.inf, dtype=np.float32)
    for first in range(0, len(question), _TOGETHER):
        own = slice(first, first + _TOGETHER)
        _take_nearest(nearest[own], question[own], parts)
    found = weights @ nearest / weights.sum() if question.size else np.full(nearest.shape[1], np.nan)
    return np.where(np.isfinite(found), found, np.nan).astype(np.float32)


def _take_nearest(nearest: FloatArray, question: FloatArray, parts: Sequence[Codes]) -> None:
    """Puts the largest cosine of each token with each passage into ``nearest``, float32 [q, c]."""
    for codes, offsets in parts:
        filled = np.flatnonzero(offsets[1:] > offsets[:-1])
        if filled.size:
            own = np.maximum.reduceat(token_cosines(question, codes), offsets[:-1][filled], axis=1)
            nearest[:, filled] = np.maximum(nearest[:, filled], own)
