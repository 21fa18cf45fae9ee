"""Whether a predicted question stands on its passage, by their words. Pure.

A very small model asks of what is not there, and asks what it gives away itself. Of 112 distinct questions of 15
documents, read without knowing where each came from, those that hold both measures below were usable more often.
"""

from __future__ import annotations

from idc_local.terms import lexical_terms

LANGUAGES = frozenset({"en"})
"""Languages whose questions are measured: of others the words that belong to asking are not known."""
GROUNDED = 0.75
"""Least share of a question's words that its passage must hold."""
MOST_OPEN = 6
"""Words left open beyond which more of them say nothing."""

_ASKING = frozenset(
    lexical_terms(
        "name purpose value number type kind reason cause happen long many much often old far big large size main "
        "difference example use used mean meaning called do does did done doing way result role year date day time "
        "person people thing place take takes taken took get gets tell say said give given make made find found most "
        "more one new need happen allow allowed least high highest low lowest average total best first last next go "
        "come",
        "en",
    )
)
"""Terms that belong to asking, and stand on nothing."""


def grounded_share(question: str, passage: str, language: str) -> float:
    """Share of a question's distinct terms that its passage holds, those of asking aside; 0 where it has no others."""
    terms = set(lexical_terms(question, language)) - _ASKING
    return len(terms & set(lexical_terms(passage, language))) / len(terms) if terms else 0.0


def open_terms(question: str, sentence: str, language: str) -> int:
    """How many distinct terms of the sentence a question leaves for its answer, at most ``MOST_OPEN``."""
    left = set(lexical_terms(sentence, language)) - set(lexical_terms(question, language))
    return min(len(left), MOST_OPEN)
