"""The metrics against definitions that hold every character in a set, on random rankings."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from idc_local.metrics import (
    Gold,
    Overlap,
    Retrieved,
    characters_shown,
    coverage,
    is_relevant,
    ndcg_at,
    overlap,
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
    found = 0
    for _ in range(300):
        gold, ranking = random_case(rng)
        ranks = [rank for rank, result in enumerate(ranking, 1) if relevant(gold, result)]
        found += bool(ranks)
        hits = np.array([is_relevant(gold, result) for result in ranking], dtype=bool)
        assert hits.tolist() == [rank in ranks for rank in range(1, len(ranking) + 1)]
        assert reciprocal_rank(hits) == (1 / ranks[0] if ranks else 0.0)
        for k in (1, 3, 20):
            assert recall_at(hits, k) == any(rank <= k for rank in ranks)
            gain = sum(1 / log2(rank + 1) for rank in ranks if rank <= k)
            ideal = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(ranks)) + 1))
            assert ndcg_at(hits, len(ranks), k) == pytest.approx(gain / ideal if ideal else 0.0, abs=1e-12)
            first = ranking[:k]
            held = [
                any(characters(gold.document_id, *span) <= characters(r.document_id, r.start, r.end) for r in first)
                for span in gold.spans
            ]
            assert coverage(gold, first) == (float(any(held)) if gold.mode == "any" else sum(held) / len(held))
            assert overlap(gold, first) == naive_overlap(gold, first)
            shown = {place for r in first for place in characters(r.document_id, r.start, r.end)}
            share = max(len(wanted & shown) / len(wanted) for wanted in alternatives(gold))
            assert characters_shown(gold, first) == share
    assert 50 < found < 250
