"""Questions of a user's own that no passage of an index answers well: a use case that never prints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from idc_local.types import Chunk, Hit, Query

WELL = 0.4
"""Evidence from which a question counts as answered. With the default embedder 53 of the sample's 60 questions do.
Of 120 questions that were asked of quite other texts 4 do, and 23 of 30 about agreements, as the sample holds one."""
LOOKED_AT = 5
"""Passages of which the best is taken."""


class Answers(Protocol):
    """What finds passages."""

    def search(self, query: Query, k: int) -> list[Hit]:
        """The ``k`` best passages, best first."""
        ...


@dataclass(frozen=True, slots=True)
class Gap:
    """A question with the strongest evidence that was found for it, and where; no passage where none passed."""

    query: Query
    evidence: float
    nearest: Chunk | None


def find_gaps(answers: Answers, queries: Iterable[Query]) -> Iterator[Gap]:
    """The queries without a passage that answers them well, in order."""
    for query in queries:
        hits = answers.search(query, LOOKED_AT)
        best = max(hits, key=evidence, default=None)
        if best is None or evidence(best) < WELL:
            yield Gap(query, 0.0 if best is None else evidence(best), best.chunk if best else None)


def answered_well(hits: Iterable[Hit]) -> bool:
    """True where one of the hits has enough evidence to count as an answer."""
    return any(evidence(hit) >= WELL for hit in hits)


def evidence(hit: Hit) -> float:
    """Mean of the passage's cosine with the question, and of its best sentence's cosine and share of its terms."""
    sentence = 0.0 if math.isnan(hit.explain.sentence) else hit.explain.sentence
    return (hit.explain.dense + sentence) / 2
