"""Random documents for segmentation, and slow, literal definitions of what the package computes fast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from idc_local.dp import Float64Array
from idc_local.types import FloatArray, Limits, SegmentInput, Sentences, Structure


def unit_rows(rng: np.random.Generator, rows: int, dimension: int) -> FloatArray:
    return normalised(rng.normal(size=(rows, dimension)))


def normalised(vectors: Float64Array) -> FloatArray:
    unit: FloatArray = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def random_input(rng: np.random.Generator, count: int, intents: int, dimension: int = 5) -> SegmentInput:
    """A document of ``count`` sentences with topics that last, structure, glue and intents."""
    lengths = rng.integers(1, 60, count)
    ends = np.cumsum(lengths)
    boundary = rng.choice([0, 0, 0, 1, 2, 3], count)
    boundary[:1] = 3
    evidence = rng.integers(0, count, intents)
    windows = np.stack(
        [np.maximum(evidence - rng.integers(0, 4, intents), 0), evidence + 1 + rng.integers(0, 3, intents)],
        axis=1,
    )
    sentences = Sentences(
        starts=ends - lengths,
        ends=ends,
        tokens=rng.integers(0, 16, count),
        block=np.zeros(count, dtype=np.int64),
        boundary=boundary,
        level=np.where(boundary == 3, rng.integers(1, 7, count), 0),
        glue=(rng.random(count) < 0.25) & (np.arange(count) > 0),
    )
    topics = unit_rows(rng, 3, dimension)
    vectors = topics[np.sort(rng.integers(0, 3, count))] + 0.7 * unit_rows(rng, count, dimension)
    return SegmentInput(
        sentences,
        normalised(vectors.astype(np.float64)),
        unit_rows(rng, intents, dimension),
        np.minimum(windows, count),
        evidence,
    )


def of_several(rng: np.random.Generator, data: SegmentInput, share: float) -> SegmentInput:
    """The input where before a share of the sentences another document begins."""
    first = (rng.random(len(data.sentences)) < share) & (np.arange(len(data.sentences)) > 0)
    old = data.sentences
    boundary = np.where(first, Structure.DOCUMENT, old.boundary)
    sentences = replace(old, boundary=boundary, level=np.where(first, 1, old.level), glue=old.glue & ~first)
    return replace(data, sentences=sentences)


def random_limits(rng: np.random.Generator) -> Limits:
    return Limits(
        target_chars=int(rng.integers(20, 150)),
        max_chars=int(rng.integers(60, 250)),
        max_tokens=int(rng.integers(16, 80)),
    )


def holds(sentences: Sentences, start: int, end: int, limits: Limits, most: int | None) -> bool:
    """Whether the sentences start..end are of one document and within all limits."""
    if Structure.DOCUMENT in sentences.boundary[start + 1 : end].tolist():
        return False
    chars = int(sentences.ends[end - 1] - sentences.starts[start])
    tokens = int(sentences.tokens[start:end].sum())
    return chars <= limits.max_chars and tokens <= limits.max_tokens and (most is None or end - start <= most)


def naive_bounds(sentences: Sentences, limits: Limits, most: int | None) -> list[int]:
    """Unit boundaries, sentence by sentence: open a unit where nothing glues, or where a glued run is too much."""
    count = len(sentences)
    bounds: list[int] = []
    run_start = 0
    for sentence in range(count):
        if sentence == 0 or not sentences.glue[sentence]:
            run_start = sentence
            bounds.append(sentence)
            continue
        run_end = sentence
        while run_end < count and (run_end <= run_start or sentences.glue[run_end]):
            run_end += 1
        whole = holds(sentences, run_start, run_end, limits, most)
        if not whole and not holds(sentences, bounds[-1], sentence + 1, limits, most):
            bounds.append(sentence)
    return [*bounds, count] if count else [0]


def legal_segmentations(sentences: Sentences, bounds: list[int], limits: Limits, most: int | None) -> list[list[int]]:
    """Every list of sentence boundaries whose chunks are one unit or within the limits, found chunk by chunk."""
    follow = {
        start: [
            end
            for place, end in enumerate(bounds[index + 1 :])
            if place == 0 or holds(sentences, start, end, limits, most)
        ]
        for index, start in enumerate(bounds)
    }
    complete: list[list[int]] = []
    pending = [[0]]
    while pending:
        edges = pending.pop()
        if edges[-1] == bounds[-1]:
            complete.append(edges)
        else:
            pending += [[*edges, end] for end in follow[edges[-1]]]
    return complete


def total(edges: list[int], chunk: Callable[[int, int], float], cut: Callable[[int], float]) -> float:
    """What a segmentation earns when its chunks and its inner boundaries earn this."""
    return sum(chunk(start, end) for start, end in pairwise(edges)) + sum(cut(gap) for gap in edges[1:-1])
