"""Lexical terms for BM25: one tokenizer for texts and queries, in any script.

* Words are NFKC-normalised, case-folded, stemmed in the text's language (Snowball) and rid of accents; its function
  words are left out. Characters that nobody sees part no word, and a word that a line end has parted is one too.
* Identifiers are kept whole beside their parts: ``max_retry_count``, ``1.0.21``, ``E-4012``, ``ISO9001``, and the
  forms whose punctuation carries the meaning: ``C++``, ``C#``, ``.NET``, ``#775``. ``U.S.A.`` is ``usa`` too, and words
  with hyphens are also what they are without: ``real-time`` is ``realtime``, ``real`` and ``time``.
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
from idc_local.line_ends import LINE_END

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
_ASKING = {
    "ar": "متى أين كيف لماذا ماذا هل كم أي لمن",
    "cs": "kdo co kdy kde kam odkud jak proč kolik jaký jaká jaké kterou kterého čí",
    "da": "hvem hvad hvornår hvor hvordan hvorfor hvilken hvilket hvilke hvis",
    "de": "wer wen wem wessen was wann wo wie warum wieso weshalb wohin woher womit wofür worüber woran wodurch wozu "
    "worin wovon welche welcher welches welchen welchem kann darf muss soll gibt sind war hat",
    "es": "quién quiénes qué cuándo dónde cómo cuál cuáles cuánto cuánta cuántos cuántas quien cuando donde",
    "fr": "quand où comment pourquoi combien quel quelle quels quelles quoi lequel laquelle",
    "it": "chi cosa quando dove perché quale quali quanto quanta quanti quante",
    "nl": "wie wat wanneer waar hoe waarom welk welke hoeveel waarmee kan mag moet",
    "no": "hvem hva når hvor hvordan hvorfor hvilken hvilket hvilke",
    "pl": "kto kiedy gdzie dlaczego ile jaki jaka jakie który która które czy",
    "pt": "quem quando onde quê qual quais quanto quanta quantos quantas porquê",
    "sv": "vem vad när var hur varför vilken vilket vilka",
}
"""Question words of languages other than English, whose list has them: rare in texts, so that they would count much."""
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
_MARKS = (
    r"\u0300-\u036f\u0483-\u0487\u0730-\u074a\u07a6-\u07b0\u0900-\u0963\u0966-\u0dff\u0f71-\u0f84\u0f8d-\u0fbc"
    r"\u1a17-\u1a1b\u1b00-\u1b44\u1dc0-\u1dff\ua980-\ua9c0"
)
"""Combining marks that are part of a word, and the letters of India among them: ``\\w`` takes no marks."""
_BREAK = "\u2027"
"""Stands for a hyphen at a line end: the hyphenation point, which no word has."""
_LETTER = rf"(?:(?![{_UNSPACED}])[\w{_MARKS}])"
_LONE = re.compile(rf"[{_UNSPACED}]")
_OPERATOR = r"[a-z](?:\+\+|\#)(?![^\W\d])"
_TERM = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}]+)"
    rf"|(?P<symbol>\b{_OPERATOR}|(?<!\w)\#\d+\b|(?<![\w.])\.[a-z]\w+)"
    rf"|(?P<word>{_LETTER}+(?:[-_./'’:@{_BREAK}](?!{_OPERATOR}){_LETTER}+)*)"
)
_PART = re.compile(rf"(?:[^\W_]|[{_MARKS}])+")
_LETTERS = rf"(?:[^\W\d_]|[{_MARKS}])+"
_ALL_LETTERS = re.compile(_LETTERS)
_HYPHENATED = re.compile(rf"{_LETTERS}(?:-{_LETTERS})+")
_MIXED = re.compile(r"([^\W\d_]{2,})(\d+)|(\d+)([^\W\d_]{2,})")
"""A word and a number written as one: ``ISO9001``, ``400mg``. One letter alone says too little."""
_TIME_STAMP = re.compile(r"(?<=\d{4}-\d\d-\d\d)t(?=\d\d:\d\d)")
"""Parts day and time in ``2024-06-03T10:30:02Z``."""
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_BROKEN = re.compile(rf"(?<=[^\W\d_]{{2}})[-\xad\u2010][ \t]*{LINE_END.pattern}[ \t]*(?=[^\W\d_A-Z])")
_UNSEEN = re.compile(r"[\xad\u180e\u200b\u200d\u200e\u200f\u2060-\u2064\ufeff]|(?<![\u0600-\u06ff])\u200c")
"""Persian writes the space that is no space (U+200C) before endings: there it parts words."""
_HYPHENS = str.maketrans({"\u2010": "-", "\u2011": "-"})
_QUOTES = str.maketrans("‘’“”", "''\"\"")
_HEBREW_POINTS = re.compile(r"[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]")
_ACCENTED = re.compile(r"[\xc0-\u024f\u0370-\u03ff\u1e00-\u1fff][\u0300-\u036f]*|[a-z][\u0300-\u036f]+")
_ACCENTS = re.compile(r"[\u0300-\u036f]+")
_OWN_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ħ": "h", "ı": "i", "ё": "е"}
)
_TONAL = frozenset(("vi",))
"""Languages in which marks part so many words that a word is kept with them too."""
_ARABIC_MARKS = re.compile(r"[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]")
_ARABIC_FORMS = str.maketrans({"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ة": "ه", "ؤ": "و", "ئ": "ي"})
_ARABIC_ARTICLE = re.compile(r"^(?:وال|بال|كال|فال|لل|ال)(?=..)")
_MAX_TERM = 64
"""Longer runs (encoded data, long addresses) are cut to this many characters: they only have to match themselves."""


def normalise(text: str) -> str:
    """Case-folded NFKC text without what nobody sees, vowel points and marks, with Arabic letter variants unified."""
    if text.isascii():
        return text.casefold()
    text = _UNSEEN.sub("", unicodedata.normalize("NFKC", text)).translate(_HYPHENS).casefold().replace("i\u0307", "i")
    if any("\u0590" <= char <= "\u06ff" for char in text):
        text = _HEBREW_POINTS.sub("", _ARABIC_MARKS.sub("", text)).translate(_ARABIC_FORMS)
    return text


def folded(text: str) -> str:
    """Text as phrases compare it: normalised, with straight quotation marks and single spaces."""
    return " ".join(normalise(text).translate(_QUOTES).split())


def without_accents(word: str) -> str:
    """Latin and Greek letters without accents, and those with strokes and the like as people type them without.

    >>> without_accents("crème brûlée, łódź")
    'creme brulee, lodz'
    """
    if word.isascii():
        return word
    plain = _ACCENTED.sub(lambda found: _ACCENTS.sub("", unicodedata.normalize("NFD", found[0])), word)
    return plain.translate(_OWN_LETTERS)


def _asking(language: str) -> list[str]:
    return _ASKING.get(language, "").split()


_STOP_WORDS = {
    language: frozenset(map(normalise, [*(_ENGLISH.split() if language == "en" else words), *_asking(language)]))
    for language, words in FUNCTION_WORDS.items()
}
_ALL_STOP_WORDS = frozenset().union(*_STOP_WORDS.values())


@lru_cache(maxsize=64)
def _stemmer(language: str) -> snowballstemmer.stemmer | None:
    name = _STEMMERS.get(language)
    return snowballstemmer.stemmer(name) if name else None


@lru_cache(maxsize=200_000)
def _stems(word: str, language: str) -> tuple[str, ...]:
    """The stem without accents, and that of the word without accents where it is another: accents tell endings."""
    if word.isascii():
        return (_stem(word, language),)
    stems = [without_accents(_stem(word, language)), _stem(without_accents(word), language)]
    if language == "en":
        # Its stemmer knows no accents.
        del stems[0]
    return tuple(dict.fromkeys([word, *stems] if language in _TONAL else stems))


def _stem(word: str, language: str) -> str:
    stemmer = _stemmer(language)
    if stemmer is None or _ALL_LETTERS.fullmatch(word) is None:
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
    if _BREAK in word:
        joined, word = word.replace(_BREAK, ""), word.replace(_BREAK, "-")
        if _ALL_LETTERS.fullmatch(joined) is None:
            yield from _word_terms(joined, language)
    parts = _PART.findall(word)
    if _HYPHENATED.fullmatch(word):
        yield from _stems("".join(parts)[:_MAX_TERM], language)
    elif len(parts) > 1:
        if "'" not in word and "’" not in word:
            yield without_accents(word[:_MAX_TERM])[:_MAX_TERM]
            if _INITIALS.fullmatch(word):
                yield word.replace(".", "")
        elif len(parts[-1]) <= 2:
            parts = parts[:-1]
    for part in parts:
        yield from _part_terms(part, language)


def _part_terms(part: str, language: str) -> Iterator[str]:
    """Stems of a part without punctuation, and of the word and the number in it, unless they are function words."""
    mixed = _MIXED.fullmatch(part[:_MAX_TERM])
    stop_words = _STOP_WORDS.get(language, frozenset())
    for piece in (part, *filter(None, mixed.groups())) if mixed else (part,):
        if piece not in stop_words:
            yield from _stems(piece[:_MAX_TERM], language)


def lexical_terms(text: str, language: str) -> list[str]:
    r"""Terms of ``text`` in order, repeated as often as they occur; ``language`` (ISO 639-1) chooses the stemmer.

    >>> lexical_terms("Retrying: max_retry_count, C++", "en")
    ['retri', 'max_retry_count', 'max', 'retri', 'count', 'c++']
    >>> lexical_terms("浮球磨损", "zh")
    ['浮球', '球磨', '磨损']
    >>> lexical_terms("a transfor-\nmation", "en")
    ['transform', 'transfor', 'mation']
    """
    found: list[str] = []
    for match in _TERM.finditer(_TIME_STAMP.sub(" ", normalise(_BROKEN.sub(_BREAK, text)))):
        kind, value = match.lastgroup, match.group()
        if kind == "unspaced":
            found.extend(_bigrams(value))
        elif kind == "symbol":
            found.append(value)
            if value[0] == ".":
                found.extend(_word_terms(value[1:], language))
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


def is_function_word(word: str) -> bool:
    """True for a normalised word that only asks or joins in some language, though it may be a word in another.

    >>> is_function_word("there"), is_function_word("three")
    (True, False)
    """
    return word in _ALL_STOP_WORDS


def is_lone(term: str) -> bool:
    """True for one character of a script without spaces: a text has it in bigrams, and never as a term by itself."""
    return _LONE.fullmatch(term) is not None


def word_pattern(word: str) -> re.Pattern[str]:
    """What finds ``word`` by itself, and not within another, in a text that was ``folded``.

    >>> [word_pattern("It").search(text) is not None for text in ("it is", "with", "its", "do it.")]
    [True, False, False, True]
    """
    wanted = folded(word)
    before = rf"(?<!{_LETTER})" if re.match(_LETTER, wanted[:1]) else ""
    after = rf"(?!{_LETTER})" if re.match(_LETTER, wanted[-1:]) else ""
    return re.compile(f"{before}{re.escape(wanted)}{after}")


def term_hashes(terms: Iterable[str]) -> npt.NDArray[np.uint32]:
    """uint32 [terms]: a 32-bit hash (CRC-32) of each term, by which the terms of sentences are kept."""
    return np.array([crc32(term.encode("utf-8", "surrogatepass")) for term in terms], dtype=np.uint32)
