"""The metrics against definitions that hold every character in a set, on random rankings."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from idc_local.metrics import (
    Gold,
    Overlap,
    Retrieved,
    answer_at,
    characters_at,
    coverage,
    first_rank,
    ndcg_at,
    overlap_at,
    recall_at,
    reciprocal_rank,
)
from idc_local.types import Span

Place = tuple[str, int]


def characters(document: str, start: int, end: int) -> set[Place]:
    return {(document, at) for at in range(start, end)}


def random_case(rng: np.random.Generator) -> tuple[Gold, list[Retrieved]]:
    def span(longest: int) -> tuple[int, int]:
        start = int(rng.integers(0, 30))
        return start, start + int(rng.integers(1, longest))

    gold = Gold(
        str(rng.choice(["a", "b"])),
        tuple(Span(*span(6)) for _ in range(rng.integers(1, 4))),
        "all" if rng.random() < 0.5 else "any",
    )
    places = {(str(rng.choice(["a", "b", "c"])), *span(15)) for _ in range(rng.integers(0, 9))}
    ranking = [Retrieved(*place) for place in sorted(places)]
    return gold, [ranking[place] for place in rng.permutation(len(ranking))]


def alternatives(gold: Gold) -> list[set[Place]]:
    each = [characters(gold.document_id, *span) for span in gold.spans]
    return each if gold.mode == "any" else [set().union(*each)]


def relevant(gold: Gold, result: Retrieved) -> bool:
    held = characters(result.document_id, result.start, result.end)
    return any(characters(gold.document_id, *span) <= held for span in gold.spans)


def shown(ranking: list[Retrieved], budget: int) -> set[Place]:
    laid_out = [(r.document_id, at) for r in ranking for at in range(r.start, r.end)]
    return set(laid_out[:budget])


def naive_overlap(gold: Gold, results: list[Retrieved]) -> Overlap:
    laid_out = [(r.document_id, at) for r in results for at in range(r.start, r.end)]
    best = Overlap(0.0, 0.0, 0.0)
    for wanted in alternatives(gold):
        common = len(wanted & set(laid_out))
        if common:
            missed = len(wanted - set(laid_out))
            iou = common / (len(laid_out) + missed)
            if iou > best.iou:
                best = Overlap(common / len(wanted), common / len(laid_out), iou)
    return best


def test_metrics_equal_their_definitions_over_sets_of_characters() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(300):
        gold, ranking = random_case(rng)
        ranks = [rank for rank, result in enumerate(ranking, 1) if relevant(gold, result)]
        hits += bool(ranks)
        assert first_rank(gold, ranking) == (ranks[0] if ranks else None)
        assert reciprocal_rank(gold, ranking) == (1 / ranks[0] if ranks else 0.0)
        for k in (1, 3, 20):
            held = [
                any(
                    characters(gold.document_id, *span) <= characters(r.document_id, r.start, r.end)
                    for r in ranking[:k]
                )
                for span in gold.spans
            ]
            expected = float(any(held)) if gold.mode == "any" else sum(held) / len(held)
            assert recall_at(gold, ranking, k) == expected
            assert overlap_at(gold, ranking, k) == naive_overlap(gold, ranking[:k])
        assert coverage(gold, ranking) == recall_at(gold, ranking, 20)
        for budget in (0, 1, 7, 25, 1000):
            share = max(len(wanted & shown(ranking, budget)) / len(wanted) for wanted in alternatives(gold))
            assert characters_at(gold, ranking, budget) == share
            assert answer_at(gold, ranking, budget) == (share == 1.0)
        gain = sum(1 / log2(rank + 1) for rank in ranks if rank <= 5)
        ideal = sum(1 / log2(rank + 1) for rank in range(1, min(5, len(ranks)) + 1))
        assert ndcg_at(gold, ranking, len(ranks), 5) == pytest.approx(gain / ideal if ideal else 0.0, abs=1e-12)
    assert 50 < hits < 250
