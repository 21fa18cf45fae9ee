"""Words of a query that no passage holds as they were typed: looked for as what passages do hold. Pure.

A misspelt one is looked for as the nearest known one. Near is what one slip makes of a word: a letter too many, too
few, or wrong, or two swapped, but never the first one. Function words of any language are right as they are: in an
index of several languages, those of one are words that the others do not know. A query of single Chinese or Japanese
characters is looked for as the pairs that begin with them, for a text has them in pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

import numpy as np

from idc_local.ranking import idf
from idc_local.terms import is_function_word, is_lone
from idc_local.types import FloatArray

SHORTEST = 5
"""Letters from which a term is put right: shorter ones have too many neighbours."""
MOST_WORDS = 16
"""Words of a query that are put right at most."""
MOST_PAIRS = 64
"""Pairs that a character is looked for in at most: those that most passages hold."""
SHARE = 0.7
"""Weight of a word put right, as a share of that of the word as typed."""


class Vocabulary(Protocol):
    """The terms that an index knows."""

    def idf(self, terms: Sequence[str]) -> FloatArray:
        """float32 [terms]: 0 for a term that no passage has, above 0 for the others."""
        ...

    def near(self, term: str) -> Mapping[str, int]:
        """The terms that are near ``term``, each with the number of passages that hold it."""
        ...

    def pairs(self, character: str) -> Mapping[str, int]:
        """The terms of two characters that begin with ``character``, each with the number of passages."""
        ...


def is_near(word: str, other: str) -> bool:
    """True where one slip behind the first letter makes one word of the other.

    >>> [is_near("recieve", other) for other in ("receive", "relieve", "recieved", "receives", "recieve")]
    [True, True, True, False, False]
    """
    if word == other or word[:1] != other[:1] or abs(len(word) - len(other)) > 1:
        return False
    first = next((n for n, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    rest, others = word[first:], other[first:]
    if len(rest) != len(others):
        return rest[1:] == others or rest == others[1:]
    return rest[1:] == others[1:] or (rest[:2] == others[1::-1] and rest[2:] == others[2:])


def _is_other_letter(word: str, other: str) -> bool:
    """True where near words differ by a wrong letter: fingers miss or double a letter more often."""
    return sorted(word) != sorted(other) and len(word) == len(other)


def can_be_misspelt(term: str) -> bool:
    """True for a word of five letters or more."""
    return len(term) >= SHORTEST and term.isalpha()


@dataclass(frozen=True, slots=True)
class Righted:
    """A query's terms as an index knows them.

    terms: with their weights. right: the words that were put right, each with the term that was taken for it.
    unknown: weight of the other words of which no term is known.
    """

    terms: dict[str, float]
    right: dict[str, str]
    unknown: float


def put_right(terms: Mapping[str, float], words: Mapping[str, Sequence[str]], vocabulary: Vocabulary) -> Righted:
    """``terms`` with their weights and, for each word of which none is known, the nearest known one.

    words: the terms of each word of the query. Of several as near, those that have its letters, one more or one less
    come before those with a wrong one, and then that which most passages hold. Terms that are all single characters
    are looked for in pairs as well, and none of them is unknown then.
    """
    paired = _in_pairs(terms, vocabulary)
    found, right, unknown = {**terms, **paired}, dict[str, str](), 0.0
    every = list(dict.fromkeys(chain.from_iterable(words.values())))
    known = {term for term, value in zip(every, vocabulary.idf(every).tolist(), strict=True) if value}
    for word, own in words.items():
        if not own or paired or not known.isdisjoint(own):
            continue
        weight = max(terms.get(stem, 0.0) for stem in own)
        near = [
            (_is_other_letter(stem, term), -held, term)
            for stem in own
            if can_be_misspelt(stem) and len(right) < MOST_WORDS and not is_function_word(word)
            for term, held in vocabulary.near(stem).items()
        ]
        if near:
            best = min(near)[2]
            found[best] = max(found.get(best, 0.0), SHARE * weight)
            right[word] = best
        else:
            unknown += weight
    return Righted(found, right, unknown)


def _in_pairs(terms: Mapping[str, float], vocabulary: Vocabulary) -> dict[str, float]:
    """Pairs that begin with the characters of a query that is nothing else, with the characters' weights."""
    found: dict[str, float] = {}
    for term, weight in terms.items() if all(map(is_lone, terms)) else ():
        pairs = vocabulary.pairs(term)
        found.update(dict.fromkeys(sorted(pairs, key=lambda pair: (-pairs[pair], pair))[:MOST_PAIRS], weight))
    return found


class KnownTerms:
    """A vocabulary in memory: ``held`` gives the number of passages, of so many, that hold each term."""

    def __init__(self, held: Mapping[str, int], passages: int) -> None:
        self._held = held
        self._passages = passages
        self._alike: dict[tuple[str, int], list[str]] = {}

    def idf(self, terms: Sequence[str]) -> FloatArray:
        """float32 [terms]: inverse document frequency, 0 for a term that no passage has."""
        held = np.array([self._held.get(term, 0) for term in terms], dtype=np.int64)
        return np.where(held > 0, idf(self._passages, held), 0).astype(np.float32)

    def near(self, term: str) -> Mapping[str, int]:
        """The known terms that are near ``term``."""
        if not self._alike:
            for other in self._held:
                self._alike.setdefault((other[:1], len(other)), []).append(other)
        alike = (self._alike.get((term[:1], len(term) + more), ()) for more in (-1, 0, 1))
        return {other: self._held[other] for other in chain.from_iterable(alike) if is_near(term, other)}

    def pairs(self, character: str) -> Mapping[str, int]:
        """The known pairs that begin with ``character``."""
        return {term: held for term, held in self._held.items() if len(term) == 2 and term[0] == character}
