"""Lexical terms for BM25: one tokenizer for texts and queries, in any script.

* Words are NFKC-normalised, case-folded and stemmed in the text's language (Snowball); its function words are left
  out.
* Identifiers are kept whole beside their parts: ``max_retry_count``, ``1.0.21``, ``real-time``, ``E-4012``, and the
  forms whose punctuation carries the meaning: ``C++``, ``C#``, ``.NET``, ``#775``.
* Scripts written without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) become overlapping character bigrams.

Layer 1, pure. Owns snowballstemmer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from zlib import crc32

import numpy as np
import numpy.typing as npt
import snowballstemmer

from idc_local.language import FUNCTION_WORDS

_STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}

_ENGLISH = (
    "a an and are as at be but by for from had has have he her his i if in into is it its no not of on or she so such "
    "that the their them then there these they this to was were will with what which who whom whose how when where "
    "why does do did can could would should about than been being we you your our my me us him am any some all also "
    "may might must shall"
)
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
_TERM = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}]+)"
    r"|(?P<symbol>\b[a-z](?:\+\+|\#)(?!\w)|(?<!\w)\#\d+\b|(?<![\w.])\.[a-z]\w+)"
    rf"|(?P<word>(?:(?![{_UNSPACED}])\w)+(?:[-_./'’:@](?:(?![{_UNSPACED}])\w)+)*)"
)
_PART = re.compile(r"[^\W_]+")
_ARABIC_MARKS = re.compile(r"[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]")
_ARABIC_FORMS = str.maketrans({"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ة": "ه", "ؤ": "و", "ئ": "ي"})
_ARABIC_ARTICLE = re.compile(r"^(?:وال|بال|كال|فال|لل|ال)(?=..)")
_MAX_TERM = 64
"""Longer runs (encoded data, long addresses) are cut to this many characters: they only have to match themselves."""


def normalise(text: str) -> str:
    """Case-folded NFKC text without Arabic vowel marks, with the Arabic letter variants unified."""
    text = unicodedata.normalize("NFKC", text).casefold()
    if any("\u0600" <= char <= "\u06ff" for char in text):
        text = _ARABIC_MARKS.sub("", text).translate(_ARABIC_FORMS)
    return text


_STOP_WORDS = {
    language: frozenset(map(normalise, words))
    for language, words in {**FUNCTION_WORDS, "en": frozenset(_ENGLISH.split())}.items()
}


@lru_cache(maxsize=64)
def _stemmer(language: str) -> snowballstemmer.stemmer | None:
    name = _STEMMERS.get(language)
    return snowballstemmer.stemmer(name) if name else None


@lru_cache(maxsize=200_000)
def _stem(word: str, language: str) -> str:
    stemmer = _stemmer(language)
    if stemmer is None or not word.isalpha():
        return word
    if language == "ar":
        word = _ARABIC_ARTICLE.sub("", word)
    return str(stemmer.stemWord(word))


def _bigrams(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for start in range(len(run) - 1):
        yield run[start : start + 2]


def _word_terms(word: str, language: str) -> Iterator[str]:
    parts = _PART.findall(word)
    if len(parts) > 1:
        if "'" not in word and "’" not in word:
            yield word[:_MAX_TERM]
        elif len(parts[-1]) <= 2:
            parts = parts[:-1]
    stop_words = _STOP_WORDS.get(language, frozenset())
    for part in parts:
        if part not in stop_words:
            yield _stem(part[:_MAX_TERM], language)


def lexical_terms(text: str, language: str) -> list[str]:
    """Terms of ``text`` in order, repeated as often as they occur; ``language`` (ISO 639-1) chooses the stemmer.

    >>> lexical_terms("Retrying: max_retry_count, C++", "en")
    ['retri', 'max_retry_count', 'max', 'retri', 'count', 'c++']
    >>> lexical_terms("浮球磨损", "zh")
    ['浮球', '球磨', '磨损']
    """
    found: list[str] = []
    for match in _TERM.finditer(normalise(text)):
        kind, value = match.lastgroup, match.group()
        if kind == "unspaced":
            found.extend(_bigrams(value))
        elif kind == "symbol":
            found.append(value)
        else:
            found.extend(_word_terms(value, language))
    return found


def query_terms(text: str, languages: Sequence[str]) -> list[str]:
    """Distinct terms of a query for an index that holds ``languages``: the union over their stemmers, in order.

    The language of a short query cannot be told reliably, and a stem that no document has costs nothing.
    """
    terms: dict[str, None] = {}
    for language in dict.fromkeys(languages) or ["en"]:
        terms.update(dict.fromkeys(lexical_terms(text, language)))
    return list(terms)


def term_hashes(terms: Iterable[str]) -> npt.NDArray[np.uint32]:
    """uint32 [terms]: a 32-bit hash (CRC-32) of each term, by which the terms of sentences are kept."""
    return np.array([crc32(term.encode("utf-8", "surrogatepass")) for term in terms], dtype=np.uint32)
