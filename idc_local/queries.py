"""What a query asks: its clauses, the words that matter, and the vector it is searched with.

A long query often sets a scene before it asks ("Highlight the parts of this contract about X. Details: …"). The last
clause with enough content asks; what came before counts less. Layer 1, pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from idc_local.abbreviations import goes_on
from idc_local.language import detect_language
from idc_local.terms import normalise, query_terms
from idc_local.types import FloatArray

MOST_CHARS = 8000
"""Characters of a query that are looked at: beyond, it is a document, not a question."""
CONTENT_TERMS = 3
"""Distinct terms that a clause needs to ask by itself; with fewer, the clause before it asks too."""
SHORT_CLAUSE = 12
"""Characters below which a piece is no clause."""
SCENE_TERM = 0.2
"""Weight of a term that only occurs before the asking clauses."""
ASKING = 0.75
"""Share of the asking clauses in the query's vector; the rest is the whole query's."""

_CLAUSE_END = re.compile(r"(?<=[；：？！。])\s*|(?<=[;:?!.])\s+")
"""A colon within a word is part of it: ``14:30``, ``std::sort``."""
_WORD = re.compile(r"(?<![\w.@-])[^\W\d_]+(?![\w@]|[.-]\w)")
"""A word by itself: no part of an identifier, which is found by its whole or not at all."""


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query ready to be asked: ``texts`` are the whole query and, where it has a scene, its asking clauses.

    terms: weight of each distinct lexical term, in order of its first place. words: the terms of each word of letters
    alone, which may be misspelt.
    """

    texts: tuple[str, ...]
    terms: Mapping[str, float]
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def asking(self) -> str:
        """The clauses that ask, without the scene before them."""
        return " ".join(self.texts[1:] or self.texts)


def parse_query(text: str, languages: Sequence[str]) -> ParsedQuery:
    """The query's asking clauses and the weights of its terms, for an index that holds ``languages``.

    >>> parsed = parse_query("This is about the cellar pump. Which alarm sounds when the float sticks?", ["en"])
    >>> parsed.texts[1:]
    ('Which alarm sounds when the float sticks?',)
    >>> parsed.terms
    {'cellar': 0.2, 'pump': 0.2, 'alarm': 1.0, 'sound': 1.0, 'float': 1.0, 'stick': 1.0}
    """
    text = text[:MOST_CHARS]
    clauses = split_clauses(text)
    first = _first_asking(clauses, languages)
    asking = query_terms(" ".join(clauses[first:]), languages)
    scene = query_terms(" ".join(clauses[:first]), languages)
    weights = dict.fromkeys(scene, SCENE_TERM) | dict.fromkeys(asking, 1.0)
    own = {word: query_terms(word, languages) for word in plain_words(text)}
    return ParsedQuery((text, *(clauses[first:] if first else ())), weights, own)


def plain_words(text: str) -> list[str]:
    """Distinct words of letters alone, normalised, in order.

    >>> plain_words("Which pump has part E-4012? The pump's.")
    ['which', 'pump', 'has', 'part', 'the', 's']
    """
    return list(dict.fromkeys(_WORD.findall(normalise(text))))


def is_foreign(text: str, languages: Sequence[str], known: Sequence[str]) -> bool:
    """True where a query is in a language of the index that the embedder was not made for.

    languages: those of the index. known: the embedder's, none where that is not told.
    """
    others = set(languages).difference(known) if known else set()
    return bool(others) and detect_language(text) in others


def split_clauses(text: str) -> list[str]:
    """Clauses of a query; pieces of fewer than 12 characters stay with what is before, or else with what follows.

    >>> split_clauses("Pump: who repairs it? Is it Dr. Smith vs. Jones or someone else?")
    ['Pump: who repairs it?', 'Is it Dr. Smith vs. Jones or someone else?']
    """
    cuts = [0, *(found.end() for found in _CLAUSE_END.finditer(text)), len(text)]
    pieces = [text[start:end] for start, end in pairwise(cuts)]
    sentences = _joined(pieces, goes_on)
    return [piece.strip() for piece in _joined(sentences, lambda before, after: _is_short(before) or _is_short(after))]


def _is_short(piece: str) -> bool:
    return len(piece.strip()) < SHORT_CLAUSE


def _joined(pieces: Sequence[str], belong: Callable[[str, str], bool]) -> list[str]:
    """The pieces in order, each with those behind it that belong to it."""
    joined = [pieces[0]]
    for piece in pieces[1:]:
        if belong(joined[-1], piece):
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


def _first_asking(clauses: Sequence[str], languages: Sequence[str]) -> int:
    """Number of the first of the last clauses that together hold enough terms."""
    first = len(clauses) - 1
    while first > 0 and len(query_terms(" ".join(clauses[first:]), languages)) < CONTENT_TERMS:
        first -= 1
    return first


def query_vector(parsed: ParsedQuery, encode: Callable[[Sequence[str]], FloatArray]) -> FloatArray:
    """Unit vector of the query, float32 [d]: unit(0.75 · mean of the asking clauses + 0.25 · whole query).

    ``encode``: texts → float32 [n, d], unit rows.
    """
    return merged_vector(encode(parsed.texts))


def merged_vector(vectors: FloatArray) -> FloatArray:
    """The same from the vectors of ``ParsedQuery.texts``, float32 [1 + clauses, d]."""
    if vectors.shape[0] == 1:
        return np.asarray(vectors[0], dtype=np.float32)
    asking = vectors[1:].mean(axis=0)
    asking /= max(float(np.linalg.norm(asking)), 1e-12)
    mixed = ASKING * asking + (1.0 - ASKING) * vectors[0]
    return np.asarray(mixed / max(float(np.linalg.norm(mixed)), 1e-12), dtype=np.float32)
