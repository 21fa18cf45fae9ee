from __future__ import annotations

from collections import Counter
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local.store import codec
from idc_local.store.codec import count_terms, hash_terms
from idc_local.store.postings import TermCounts, group_postings, merge_counts

WORDS = st.lists(st.lists(st.sampled_from(["a", "b", "ccc", "", "浮球", "z\0"]), max_size=6), max_size=6)


def counts_of(texts: list[list[str]]) -> TermCounts:
    return group_postings(*count_terms(texts))


def spelled(counts: TermCounts) -> dict[str, dict[int, int]]:
    """Rows and how often they hold it, by term."""
    result = {}
    for place, term in enumerate(counts.vocabulary):
        own = slice(int(counts.offsets[place]), int(counts.offsets[place + 1]))
        result[term] = dict(zip(counts.rows[own].tolist(), counts.counts[own].tolist(), strict=True))
    return result


def by_hand(texts: dict[int, list[str]]) -> dict[str, dict[int, int]]:
    result: dict[str, dict[int, int]] = {}
    for row, text in texts.items():
        for term, count in Counter(text).items():
            result.setdefault(term, {})[row] = count
    return result


@given(texts=WORDS)
def test_counts_of_texts(texts: list[list[str]]) -> None:
    counts = counts_of(texts)
    assert counts.vocabulary == sorted({term for text in texts for term in text})
    assert spelled(counts) == by_hand(dict(enumerate(texts)))
    assert counts.lengths.tolist() == [len(text) for text in texts]
    assert counts.frequency.tolist() == [len(rows) for rows in spelled(counts).values()]


@given(parts=st.lists(WORDS, max_size=4), seed=st.integers(0, 5), dead=st.floats(0, 1))
def test_merging_equals_counting_at_once(parts: list[list[list[str]]], seed: int, dead: float) -> None:
    rng = np.random.default_rng(seed)
    total = sum(map(len, parts))
    alive = rng.random(total) >= dead
    numbers = np.full(total, -1)
    numbers[alive] = rng.permutation(int(alive.sum()))
    targets = np.split(numbers, np.cumsum([len(part) for part in parts])[:-1]) if parts else []
    merged = merge_counts(
        [(counts_of(part), target) for part, target in zip(parts, targets, strict=True)], int(alive.sum())
    )
    flat = [text for part in parts for text in part]
    texts = {int(row): text for row, text in zip(numbers, flat, strict=True) if row >= 0}
    assert spelled(merged) == by_hand(texts)
    assert merged.vocabulary == sorted(merged.vocabulary)
    assert merged.lengths.tolist() == [len(texts[row]) for row in range(len(texts))]


def test_left_out_rows_leave_no_trace() -> None:
    merged = merge_counts([(counts_of([["a", "only"], ["a", "b"]]), np.array([-1, 0]))], 1)
    assert spelled(merged) == {"a": {0: 1}, "b": {0: 1}}


@pytest.mark.parametrize("parts", [[], [(counts_of([]), np.zeros(0, dtype=np.int64))]])
def test_nothing_merges_to_nothing(parts: list[tuple[TermCounts, np.ndarray]]) -> None:
    merged = merge_counts(parts, 0)
    assert (merged.vocabulary, merged.offsets.tolist(), merged.rows.tolist()) == ([], [0], [])


@given(texts=WORDS)
def test_counts_do_not_depend_on_how_many_texts_are_counted_at_a_time(texts: list[list[str]]) -> None:
    whole = count_terms(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "TOGETHER", 2)
        parts = count_terms(texts)
    assert (parts[0], parts[1].tolist(), parts[2].tolist()) == (whole[0], whole[1].tolist(), whole[2].tolist())
    assert whole[1].tolist() == sorted(whole[1].tolist())


@given(texts=WORDS)
def test_hashes_of_the_distinct_terms_of_each_sentence(texts: list[list[str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "TOGETHER", 2)
        hashes, counts = hash_terms(texts)
    assert counts.tolist() == [len(set(own)) for own in texts]
    assert hashes.tolist() == [value for own in texts for value in sorted({crc32(term.encode()) for term in own})]
    assert hashes.dtype == np.uint32


def test_terms_that_no_file_can_hold_are_counted_as_what_stands_for_them() -> None:
    vocabulary, postings, lengths = count_terms([["a\ud800", "a?", "b"], ["a\udfff"]])
    assert vocabulary == ["a?", "b"]
    assert (postings.tolist(), lengths.tolist()) == ([[0, 0, 2], [0, 1, 1], [1, 0, 1]], [3, 1])
