"""C99 and the cluster strategy against slow, literal versions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from idc_local.c99 import divide, rank_matrix
from idc_local.cluster import CAP, segment_cluster
from idc_local.dp import Float64Array
from idc_local.segment import StrategyOptions
from idc_local.types import SegmentInput
from tests.reference.segment_cases import (
    legal_segmentations,
    naive_bounds,
    random_input,
    random_limits,
)


def naive_ranks(similarity: Float64Array) -> Float64Array:
    size = similarity.shape[0]
    ranks = np.zeros((size, size))
    for row in range(size):
        for column in range(size):
            rows = slice(max(0, row - 5), row + 6)
            columns = slice(max(0, column - 5), column + 6)
            area = similarity[rows, columns]
            ranks[row, column] = (area < similarity[row, column]).sum() / max(area.size - 1, 1)
    return ranks


def density(ranks: Float64Array, edges: list[int]) -> float:
    blocks = [ranks[a:b, a:b] for a, b in itertools.pairwise(edges)]
    return sum(float(block.sum()) for block in blocks) / sum(block.size for block in blocks)


def naive_divide(ranks: Float64Array, segments: int) -> tuple[list[int], list[float]]:
    """The cuts in the order in which they are made, and the inside densities after each."""
    size = ranks.shape[0]
    made: list[int] = []
    densities = [density(ranks, [0, size])]
    while len(made) < segments - 1:
        options = [cut for cut in range(1, size) if cut not in made]
        values = [density(ranks, sorted([0, size, cut, *made])) for cut in options]
        made.append(options[int(np.argmax(np.round(values, 12)))])
        densities.append(max(values))
    return made, densities


def topical_similarity(rng: np.random.Generator, size: int) -> Float64Array:
    vectors = random_input(rng, size, 0).vectors.astype(np.float64)
    similarity: Float64Array = np.round(vectors @ vectors.T, 6)
    return similarity


def test_ranks_equal_a_literal_count_of_neighbours() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 5, 11, 12, 30):
        similarity = topical_similarity(rng, size)
        np.testing.assert_array_equal(rank_matrix(similarity), naive_ranks(similarity))


def test_ranks_of_equal_cells_are_equal() -> None:
    np.testing.assert_array_equal(rank_matrix(np.ones((7, 7))), np.zeros((7, 7)))


@pytest.mark.parametrize("segments", [1, 2, 3, 6, 14])
def test_division_equals_trying_every_cut(segments: int) -> None:
    rng = np.random.default_rng(segments)
    for _ in range(6):
        ranks = rng.random((14, 14))
        made, _ = naive_divide(ranks, segments)
        assert divide(ranks, segments) == sorted(made)


def test_gradient_criterion_stops_where_smoothed_gains_stop_standing_out() -> None:
    rng = np.random.default_rng(5)
    stopped = set()
    for _ in range(8):
        ranks = rank_matrix(topical_similarity(rng, 24))
        made, densities = naive_divide(ranks, 24)
        gains = np.diff(densities)
        weights = {-3: 1, -2: 2, -1: 4, 0: 8, 1: 4, 2: 2, 3: 1}
        smooth = []
        for at in range(len(gains)):
            near = {offset: w for offset, w in weights.items() if 0 <= at + offset < len(gains)}
            smooth.append(sum(w * gains[at + o] for o, w in near.items()) / sum(near.values()))
        limit = np.mean(smooth) + 1.2 * np.std(smooth)
        count = next((at for at, gain in enumerate(smooth) if gain <= limit), len(smooth))
        assert divide(ranks, None) == sorted(made[:count])
        stopped.add(count)
    assert len(stopped) > 1


def test_two_clear_topics_are_cut_between() -> None:
    similarity = np.kron(np.eye(2), np.ones((8, 8))) + 0.01 * np.arange(16)[:, None]
    assert divide(rank_matrix(np.round((similarity + similarity.T) / 2, 6)), 2) == [8]


def pair_sum(data: SegmentInput, start: int, end: int) -> float:
    """Cosines over ordered pairs of the chunk's sentences, less the mean over the document's pairs."""
    vectors = data.vectors.astype(np.float64)
    count = vectors.shape[0]
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    mean = float(np.mean([vectors[a] @ vectors[b] for a, b in pairs])) if pairs else 0.0
    return sum(float(vectors[a] @ vectors[b]) - mean for a, b in pairs if start <= a < end and start <= b < end)


@pytest.mark.parametrize("seed", range(6))
def test_cluster_is_optimal_among_all_segmentations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(10):
        data = random_input(rng, int(rng.integers(1, 10)), 0)
        limits = random_limits(rng)
        sentences = int(rng.integers(1, 6)) if rng.random() < 0.5 else None
        found = segment_cluster(data, "", limits, StrategyOptions(sentences=sentences))
        bounds = naive_bounds(data.sentences, limits, None)
        values = {
            (start, end): pair_sum(data, start, end)
            for place, start in enumerate(bounds)
            for end in bounds[place + 1 :]
        }

        def size(start: int, end: int, data: SegmentInput = data, by_count: bool = sentences is not None) -> int:
            ends, starts = data.sentences.ends, data.sentences.starts
            return end - start if by_count else int(ends[end - 1] - starts[start])

        cap = round(CAP * (limits.target_chars if sentences is None else sentences))
        every = [
            edges
            for edges in legal_segmentations(data.sentences, bounds, limits, None)
            if all(size(a, b) <= cap or bounds.index(b) - bounds.index(a) == 1 for a, b in itertools.pairwise(edges))
        ]
        edges = [0, *found.ranges[:, 1].tolist()]
        best = max(sum(values[pair] for pair in itertools.pairwise(e)) for e in every)
        assert edges in every
        assert found.score == pytest.approx(best, abs=1e-5)
