"""The dynamic program against all segmentations, for both objectives as their equations read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from idc_local.dp import Band, Float64Array, build_units, solve
from idc_local.segment import PaperParams, SegmentWeights, segment_calibrated, segment_paper
from idc_local.segment_paper import utility
from idc_local.types import FloatArray, Limits, Segmentation, SegmentInput
from tests.reference.segment_cases import (
    holds,
    legal_segmentations,
    naive_bounds,
    of_several,
    random_input,
    random_limits,
    total,
)

SEEDS = range(10)
CASES_PER_SEED = 50

Chunk = Callable[[int, int], float]
Cut = Callable[[int], float]


def cosine(a: Float64Array | FloatArray, b: Float64Array | FloatArray) -> float:
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size > 1e-9 else 0.0


def mean(data: SegmentInput, start: int, end: int) -> Float64Array:
    average: Float64Array = data.vectors[start:end].astype(np.float64).mean(axis=0)
    return average


def paper(data: SegmentInput, params: PaperParams) -> tuple[Chunk, Cut]:
    """Terms of U(S), equation (2)."""

    @cache
    def chunk(start: int, end: int) -> float:
        centre = mean(data, start, end)
        return max((cosine(centre, q) for q in data.intents), default=0.0) - params.lam * (end - start) ** 2

    return chunk, lambda gap: -params.beta


def dips(data: SegmentInput, gaps: list[int], window: int) -> dict[int, float]:
    count = len(data.sentences)
    raw = {
        gap: 1 - cosine(mean(data, max(0, gap - window), gap), mean(data, gap, min(count, gap + window)))
        for gap in gaps
    }
    values = list(raw.values())
    return {gap: float((value - np.mean(values)) / max(float(np.std(values)), 0.02)) for gap, value in raw.items()}


def structure(data: SegmentInput, gap: int, w: SegmentWeights) -> float:
    return {0: 0.0, 1: w.item, 2: w.paragraph, 3: w.heading, 4: w.heading}[int(data.sentences.boundary[gap])]


def broken(data: SegmentInput, gap: int) -> int:
    """Evidence spans (the evidence sentence and one neighbour on each side, inside the window) cut by the gap."""
    spans = [
        range(max(int(first), int(evidence) - 1), min(int(last), int(evidence) + 2))
        for (first, last), evidence in zip(data.intent_windows, data.intent_evidence, strict=True)
    ]
    return sum(gap - 1 in span and gap in span for span in spans)


def calibrated(data: SegmentInput, gaps: list[int], limits: Limits, w: SegmentWeights) -> tuple[Chunk, Cut]:
    """Terms of the sum that the module of the calibrated objective states."""
    each = [dips(data, gaps, window) for window in w.windows]
    dip = {gap: float(np.mean([own[gap] for own in each])) for gap in gaps}
    lead_ins = data.lead_ins if data.lead_ins is not None else np.zeros(len(data.sentences), dtype=np.bool_)
    typical = float(np.mean([structure(data, gap, w) for gap in gaps])) if gaps else 0.0

    @cache
    def chunk(start: int, end: int) -> float:
        ratio = float(data.sentences.ends[end - 1] - data.sentences.starts[start]) / limits.target_chars
        held = [q for q, at in zip(data.intents, data.intent_evidence, strict=True) if start <= at < end]
        relevance = sum(cosine(mean(data, start, end), q) for q in held)
        return w.intent_relevance * relevance - w.length * (ratio - 1 - math.log(ratio))

    @cache
    def cut(gap: int) -> float:
        own = structure(data, gap, w) - w.centre * typical + w.dip * dip[gap]
        return own - w.lead_in * bool(lead_ins[gap - 1]) - w.intent_cut * broken(data, gap)

    return chunk, cut


def assert_best(found: Segmentation, every: list[list[int]], chunk: Chunk, cut: Cut) -> None:
    edges = [0, *found.ranges[:, 1].tolist()]
    best = max(total(other, chunk, cut) for other in every)
    assert found.ranges[:, 0].tolist() == edges[:-1]
    assert edges in every
    assert found.score == pytest.approx(best, abs=1e-6)
    assert total(edges, chunk, cut) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_paper_objective_is_optimal_among_all_segmentations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(CASES_PER_SEED):
        data = of_several(rng, random_input(rng, int(rng.integers(1, 13)), int(rng.integers(0, 5))), 0.1)
        limits = random_limits(rng)
        params = PaperParams(
            lam=float(rng.choice([0.0, 0.0005, 0.05])),
            beta=float(rng.choice([-0.2, 0.0, 0.3, 0.6, 1.2])),
            max_sentences=int(rng.integers(1, 7)),
            postprocess=False,
        )
        found = segment_paper(data, limits, params)
        bounds = naive_bounds(data.sentences, limits, params.max_sentences)
        every = legal_segmentations(data.sentences, bounds, limits, params.max_sentences)
        assert_best(found, every, *paper(data, params))
        assert utility(data, found.ranges, params) == pytest.approx(found.score, abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_calibrated_objective_is_optimal_among_all_segmentations(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    for _ in range(CASES_PER_SEED):
        data = of_several(rng, random_input(rng, int(rng.integers(1, 13)), int(rng.integers(0, 5))), 0.1)
        limits = random_limits(rng)
        weights = SegmentWeights(
            length=float(rng.choice([0.0, 0.5, 2.0])),
            dip=float(rng.choice([0.0, 0.3, 1.0])),
            windows=tuple(range(1, int(rng.integers(2, 5)))),
            lead_in=float(rng.choice([0.0, 2.0])),
            intent_cut=float(rng.choice([0.0, 0.2, 2.0])),
            intent_relevance=float(rng.choice([0.0, 1.0])),
            centre=float(rng.choice([0.0, 0.5, 1.0])),
        )
        if rng.random() < 0.8:
            data = replace(data, lead_ins=rng.random(len(data.sentences)) < 0.2)
        found = segment_calibrated(data, limits, weights)
        bounds = naive_bounds(data.sentences, limits, None)
        every = legal_segmentations(data.sentences, bounds, limits, None)
        assert_best(found, every, *calibrated(data, bounds[1:-1], limits, weights))


class Table:
    """An objective that is a table of whole numbers, so that ties abound."""

    def __init__(self, chunk: Float64Array, cut: Float64Array) -> None:
        self._chunk = chunk
        self.cuts = {"cut": cut}

    def gains(self, band: Band) -> dict[str, Float64Array]:
        return {"chunk": self._chunk[band.starts, band.ends]}


def check_ties(rng: np.random.Generator) -> None:
    sentences = of_several(rng, random_input(rng, int(rng.integers(1, 9)), 0), 0.1).sentences
    limits = random_limits(rng)
    units = build_units(sentences, limits)
    chunk = rng.integers(-1, 2, (len(units) + 1, len(units) + 1)).astype(float)
    cut = rng.integers(-1, 2, len(units) + 1).astype(float)
    bounds: list[int] = units.bounds.tolist()

    def value(edges: list[int]) -> float:
        return total(
            edges,
            lambda start, end: float(chunk[bounds.index(start), bounds.index(end)]),
            lambda gap: float(cut[bounds.index(gap)]),
        )

    every = legal_segmentations(sentences, bounds, limits, None)
    expected = min(every, key=lambda edges: (-value(edges), len(edges), edges[::-1]))
    cuts, score = solve(units, Table(chunk, cut))
    assert units.bounds[cuts].tolist() == expected
    assert score == value(expected)


def test_ties_go_to_fewer_chunks_and_then_to_earlier_cuts_seen_from_the_end() -> None:
    rng = np.random.default_rng(7)
    for _ in range(200):
        check_ties(rng)


def test_units_follow_glue_and_release_it_only_where_a_limit_asks() -> None:
    rng = np.random.default_rng(11)
    for _ in range(300):
        sentences = of_several(rng, random_input(rng, int(rng.integers(1, 20)), 0), 0.1).sentences
        limits = random_limits(rng)
        most = int(rng.integers(1, 6)) if rng.random() < 0.5 else None
        units = build_units(sentences, limits, most)
        bounds: list[int] = units.bounds.tolist()
        assert bounds == naive_bounds(sentences, limits, most)
        for end in range(1, len(bounds)):
            legal = [start for start in range(end) if holds(sentences, bounds[start], bounds[end], limits, most)]
            assert units.lowest[end] == min([*legal, end - 1])


def test_reasons_name_the_best_other_gap_and_its_exact_loss() -> None:
    rng = np.random.default_rng(13)
    with_alternative = 0
    for _ in range(60):
        data = random_input(rng, int(rng.integers(4, 12)), 3)
        limits = random_limits(rng)
        weights = SegmentWeights(intent_relevance=0.5)
        found = segment_calibrated(data, limits, weights, explained=True)
        bounds = naive_bounds(data.sentences, limits, None)
        chunk, cut = calibrated(data, bounds[1:-1], limits, weights)
        every = set(map(tuple, legal_segmentations(data.sentences, bounds, limits, None)))
        edges = [0, *found.ranges[:, 1].tolist()]
        for place, reason in enumerate(found.reasons, 1):
            left, gap, right = edges[place - 1 : place + 2]
            assert sum(reason.terms.values()) == pytest.approx(
                chunk(left, gap) + cut(gap) + chunk(gap, right), abs=1e-6
            )
            moved = [(*edges[:place], to, *edges[place + 1 :]) for to in bounds if left < to < right and to != gap]
            losses = {other[place]: found.score - total(list(other), chunk, cut) for other in moved if other in every}
            assert (reason.alternative is None) == (not losses)
            if reason.alternative is not None:
                with_alternative += 1
                assert reason.loss == pytest.approx(min(losses.values()), abs=1e-6)
                assert reason.loss == pytest.approx(losses[reason.alternative], abs=1e-6)
                assert reason.loss > -1e-6
    assert with_alternative > 50
