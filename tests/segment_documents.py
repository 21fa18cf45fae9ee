"""Documents for tests of segmentation: by hand and by Hypothesis, with the properties that all chunkings have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from idc_local.types import FloatArray, Limits, Segmentation, SegmentInput, Sentences
from tests.reference.segment_cases import holds, random_input

AXES: FloatArray = np.eye(4, dtype=np.float32)


def plain(
    lengths: Sequence[int],
    *,
    boundary: Sequence[int] | None = None,
    level: Sequence[int] | None = None,
    glue: Sequence[int] = (),
    tokens: Sequence[int] | None = None,
) -> SegmentInput:
    """Sentences of these lengths, all alike, without intents; ``glue`` names the sentences glued to the one before."""
    count = len(lengths)
    ends = np.cumsum(np.array(lengths, dtype=np.int64))
    glued = np.zeros(count, dtype=np.bool_)
    glued[list(glue)] = True
    sentences = Sentences(
        starts=ends - np.array(lengths, dtype=np.int64),
        ends=ends,
        tokens=np.array(tokens if tokens is not None else [1] * count, dtype=np.int64),
        block=np.zeros(count, dtype=np.int64),
        boundary=np.array(boundary if boundary is not None else ([3] + [0] * count)[:count], dtype=np.int64),
        level=np.array(level if level is not None else [0] * count, dtype=np.int64),
        glue=glued,
    )
    return SegmentInput(
        sentences,
        np.repeat(AXES[:1], count, axis=0),
        AXES[:0],
        np.zeros((0, 2), dtype=np.int64),
        np.zeros(0, dtype=np.int64),
    )


@st.composite
def documents(draw: st.DrawFn) -> SegmentInput:
    """Documents of 1 to 40 sentences; some sentences may be longer than any limit."""
    count = draw(st.integers(1, 40))
    data = random_input(np.random.default_rng(draw(st.integers(0, 2**32))), count, draw(st.integers(0, 4)))
    lengths = np.array(draw(st.lists(st.integers(1, 80), min_size=count, max_size=count)), dtype=np.int64)
    glue = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    ends = np.cumsum(lengths)
    old = data.sentences
    sentences = Sentences(
        ends - lengths, ends, old.tokens, old.block, old.boundary, old.level, glue & (np.arange(count) > 0)
    )
    return SegmentInput(sentences, data.vectors, data.intents, data.intent_windows, data.intent_evidence)


@st.composite
def limits_of(draw: st.DrawFn) -> Limits:
    """Limits that bind often."""
    return Limits(
        target_chars=draw(st.integers(1, 300)),
        max_chars=draw(st.integers(40, 300)),
        max_tokens=draw(st.integers(5, 100)),
    )


def assert_partition(
    found: Segmentation, sentences: Sentences, limits: Limits, bounds: list[int], most: int | None = None
) -> None:
    """Ranges partition the sentences, cut only between units, and hold the limits unless they are one unit."""
    ranges = found.ranges.tolist()
    assert [start for start, _ in ranges] == [0, *(end for _, end in ranges[:-1])]
    assert ranges[-1][1] == len(sentences)
    assert_limits(found, sentences, limits, bounds, most)


def assert_limits(
    found: Segmentation, sentences: Sentences, limits: Limits, bounds: list[int], most: int | None = None
) -> None:
    """Ranges begin and end between units, and hold the limits unless they are one unit."""
    for start, end in found.ranges.tolist():
        assert start in bounds
        assert end in bounds
        one_unit = bounds.index(end) == bounds.index(start) + 1
        assert one_unit or holds(sentences, start, end, limits, most)
