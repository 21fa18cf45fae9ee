"""Every strategy: what all of them promise, and what each does with a document worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idc_local.dp import build_units
from idc_local.errors import UsageError
from idc_local.segment import StrategyOptions
from idc_local.strategies import NEEDS_INTENTS, NEEDS_VECTORS, STRATEGIES, run_strategy
from idc_local.structural import hold_limits
from idc_local.types import Limits, SegmentInput, Structure
from tests.reference.segment_cases import naive_bounds, of_several, random_input
from tests.segment_documents import AXES, assert_limits, assert_partition, documents, limits_of, plain

WIDE = Limits(target_chars=100, max_chars=10_000, max_tokens=10_000)


def cut(
    name: str, data: SegmentInput, limits: Limits = WIDE, *, text: str = "", sentences: int | None = None
) -> list[list[int]]:
    filled = text or "x" * int(data.sentences.ends[-1])
    found = run_strategy(name, data, filled, limits, StrategyOptions(sentences=sentences))
    return [[int(start), int(end)] for start, end in found.ranges]


def chain(*inner: int) -> list[list[int]]:
    """Ranges between consecutive boundaries, from 0."""
    return [[start, end] for start, end in zip([0, *inner], inner, strict=False)]


# ---- promises of all ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name not in ("sliding", "intent")])
@settings(max_examples=30, deadline=None)
@given(data=documents(), limits=limits_of(), sentences=st.one_of(st.none(), st.integers(1, 12)))
def test_chunks_partition_the_sentences_within_limits(
    name: str, data: SegmentInput, limits: Limits, sentences: int | None
) -> None:
    text = "x" * int(data.sentences.ends[-1])
    found = run_strategy(name, data, text, limits, StrategyOptions(sentences=sentences))
    assert found.ranges.dtype == np.int64
    assert_partition(found, data.sentences, limits, naive_bounds(data.sentences, limits, None))


@settings(max_examples=40, deadline=None)
@given(data=documents(), limits=limits_of(), sentences=st.one_of(st.none(), st.integers(1, 12)))
def test_sliding_windows_cover_the_sentences_and_move_forward(
    data: SegmentInput, limits: Limits, sentences: int | None
) -> None:
    found = run_strategy("sliding", data, "", limits, StrategyOptions(sentences=sentences))
    starts, ends = found.ranges[:, 0].tolist(), found.ranges[:, 1].tolist()
    assert (starts[0], ends[-1]) == (0, len(data.sentences))
    assert starts == sorted(set(starts))
    assert ends == sorted(set(ends))
    assert all(start <= end for start, end in zip(starts[1:], ends[:-1], strict=True))
    assert_limits(found, data.sentences, limits, naive_bounds(data.sentences, limits, None))


@pytest.mark.parametrize("objective", ["calibrated", "paper"])
@pytest.mark.parametrize("name", STRATEGIES)
@settings(max_examples=30, deadline=None)
@given(
    data=documents(),
    limits=limits_of(),
    sentences=st.one_of(st.none(), st.integers(1, 12)),
    seed=st.integers(0, 2**32),
    share=st.sampled_from([0.1, 0.5, 1.0]),
)
def test_no_chunk_reaches_into_another_document(
    name: str, objective: str, data: SegmentInput, limits: Limits, sentences: int | None, seed: int, share: float
) -> None:
    data = of_several(np.random.default_rng(seed), data, share)
    starts = np.flatnonzero(data.sentences.boundary == Structure.DOCUMENT).tolist()
    options = StrategyOptions(objective=objective, sentences=sentences)
    for bound in (limits, WIDE):
        found = run_strategy(name, data, "x" * int(data.sentences.ends[-1]), bound, options).ranges.tolist()
        assert not [(start, one, two) for start in starts for one, two in found if one < start < two]
        assert {sentence for one, two in found for sentence in range(one, two)} == set(range(len(data.sentences)))


@pytest.mark.parametrize("name", STRATEGIES)
def test_no_sentences_give_no_chunks(name: str) -> None:
    assert run_strategy(name, plain([]), "", WIDE, StrategyOptions()).ranges.shape == (0, 2)


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("sentences", [None, 6])
def test_one_sentence_gives_one_chunk(name: str, sentences: int | None) -> None:
    assert cut(name, plain([5]), sentences=sentences) == [[0, 1]]


@pytest.mark.parametrize("name", STRATEGIES)
def test_glue_holds_inside_the_limits_and_gives_way_beyond(name: str) -> None:
    data = plain([30] * 9, boundary=[3, 0, 0, 2, 2, 2, 2, 0, 0], glue=[4, 5, 6])
    limits = Limits(target_chars=40, max_chars=120, max_tokens=100)
    assert not {4, 5, 6} & {start for start, _ in cut(name, data, limits)}
    assert {5} & {start for start, _ in cut(name, data, replace(limits, max_chars=60))}


def test_the_table_is_the_documented_set_of_names() -> None:
    assert set(STRATEGIES) == {
        "intent", "fixed", "sliding", "coherence", "c99", "paragraph", "recursive", "cluster",
    }  # fmt: skip
    assert NEEDS_INTENTS <= NEEDS_VECTORS <= set(STRATEGIES)


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="intent, fixed, sliding"):
        run_strategy("best", plain([5]), "", WIDE, StrategyOptions())


@pytest.mark.parametrize("name", STRATEGIES)
def test_only_the_strategies_that_say_so_need_vectors(name: str) -> None:
    data = replace(plain([50] * 4), vectors=np.zeros((4, 0), dtype=np.float32), intents=np.zeros((0, 0), np.float32))
    if name in NEEDS_VECTORS:
        with pytest.raises(UsageError, match="needs sentence vectors"):
            cut(name, data)
    else:
        assert cut(name, data)[-1][1] == 4


@pytest.mark.parametrize("name", STRATEGIES)
def test_mean_size_follows_the_target(name: str) -> None:
    rng = np.random.default_rng(8)
    data = random_input(rng, 2_000, 10)
    for target in (150, 400):
        limits = Limits(target_chars=target, max_chars=1_000, max_tokens=10_000)
        found = run_strategy(name, data, "x" * int(data.sentences.ends[-1]), limits, StrategyOptions())
        sizes = data.sentences.ends[found.ranges[:, 1] - 1] - data.sentences.starts[found.ranges[:, 0]]
        assert 0.5 * target < sizes.mean() < 1.5 * target


# ---- by size -----------------------------------------------------------------------------------------------------


def test_fixed_counts_sentences_or_comes_nearest_to_the_target() -> None:
    assert cut("fixed", plain([10] * 14), sentences=6) == chain(6, 12, 14)
    # 90 is nearer to 100 than 120; 105 nearer than 60; 80 and 120 tie, and the shorter wins.
    assert cut("fixed", plain([45, 45, 30, 60, 45])) == chain(2, 4, 5)
    assert cut("fixed", plain([40, 40, 40])) == chain(2, 3)


def test_fixed_stops_at_the_hard_limits() -> None:
    assert cut("fixed", plain([60] * 4), replace(WIDE, max_chars=119)) == chain(1, 2, 3, 4)
    assert cut("fixed", plain([10] * 6, tokens=[4] * 6), replace(WIDE, max_tokens=9)) == chain(2, 4, 6)


def test_sliding_moves_by_half_a_window() -> None:
    assert cut("sliding", plain([10] * 14), sentences=6) == [[0, 6], [3, 9], [6, 12], [9, 14]]
    assert cut("sliding", plain([25] * 7)) == [[0, 4], [2, 6], [4, 7]]
    assert cut("sliding", plain([10] * 3), sentences=1) == chain(1, 2, 3)


def test_sliding_windows_that_a_limit_cuts_short_do_not_repeat_the_one_before() -> None:
    data = plain([10] * 6, tokens=[1, 1, 1, 7, 1, 1])
    assert cut("sliding", data, replace(WIDE, max_tokens=7), sentences=4) == [[0, 3], [3, 4], [4, 6]]


# ---- by structure ------------------------------------------------------------------------------------------------

STRUCTURED = plain(
    [20, 30, 30, 40, 40, 20, 30, 30, 60, 60],
    boundary=[3, 2, 0, 2, 1, 3, 2, 2, 0, 0],
    level=[1, 0, 0, 0, 0, 2, 0, 0, 0, 0],
    glue=[1, 6],
)


def test_paragraph_takes_blocks_as_they_are() -> None:
    assert cut("paragraph", STRUCTURED, sentences=6) == chain(3, 5, 7, 10)


def test_paragraph_merges_up_to_the_target_but_not_across_headings() -> None:
    assert cut("paragraph", STRUCTURED, replace(WIDE, target_chars=190)) == chain(5, 7, 10)
    assert cut("paragraph", STRUCTURED, replace(WIDE, target_chars=1000)) == chain(5, 10)


def test_paragraph_cuts_a_block_over_the_limits_at_its_items_first() -> None:
    data = plain([30] * 6, boundary=[3, 0, 0, 1, 0, 0])
    assert cut("paragraph", data, replace(WIDE, max_chars=120), sentences=6) == chain(3, 6)
    later = plain([30] * 6, boundary=[3, 0, 1, 0, 0, 0])
    assert cut("paragraph", later, replace(WIDE, max_chars=120), sentences=6) == chain(2, 6)


def test_recursive_cuts_at_the_strongest_gap_and_merges_up_to_the_target() -> None:
    assert cut("recursive", STRUCTURED, replace(WIDE, target_chars=1000)) == chain(10)
    assert cut("recursive", STRUCTURED, replace(WIDE, target_chars=200)) == chain(5, 10)
    # 1st: at the heading before 5. 2nd: at paragraphs; what is still too long, at sentences.
    assert cut("recursive", STRUCTURED, replace(WIDE, target_chars=110)) == chain(3, 5, 7, 9, 10)


def test_recursive_prefers_higher_headings() -> None:
    data = plain([40] * 6, boundary=[3, 0, 3, 0, 3, 0], level=[1, 0, 1, 0, 2, 0])
    assert cut("recursive", data, replace(WIDE, target_chars=170)) == chain(2, 6)


def test_recursive_sees_line_breaks_inside_a_paragraph() -> None:
    sentences = ["First one of all. ", "Two. ", "Three. ", "Four."]
    data = plain([len(sentence) for sentence in sentences])
    text = "".join(sentences)
    limits = replace(WIDE, target_chars=25)
    # 18, 5, 7 and 5 characters: two fit from the front, but behind a line end the other three belong together.
    assert cut("recursive", data, limits, text=text) == chain(2, 4)
    for end in ("\n", "\r"):
        assert cut("recursive", data, limits, text=text.replace("all. ", f"all.{end}")) == chain(1, 4)
        assert cut("recursive", data, limits, text=text.replace("of all.", f"of{end}all.")) == chain(2, 4)


def test_recursive_counts_sentences_as_mean_lengths() -> None:
    assert cut("recursive", plain([10] * 12), sentences=6) == chain(6, 12)


# ---- by similarity -----------------------------------------------------------------------------------------------


def test_coherence_cuts_at_the_weakest_similarities() -> None:
    data = replace(plain([25] * 8), vectors=AXES[[0, 0, 0, 1, 1, 1, 1, 1]])
    assert cut("coherence", data) == chain(3, 8)
    assert cut("coherence", data, sentences=4) == chain(3, 8)
    assert cut("coherence", data, replace(WIDE, target_chars=200)) == chain(8)


def test_coherence_holds_ten_sentences_and_the_limits_by_cutting_least_similarity() -> None:
    data = replace(plain([25] * 14), vectors=AXES[[0] * 9 + [1] * 5])
    assert cut("coherence", data, sentences=14) == chain(9, 14)
    assert cut("coherence", data, replace(WIDE, target_chars=350, max_chars=250)) == chain(9, 14)


def test_c99_finds_topics() -> None:
    data = replace(plain([25] * 24), vectors=AXES[[0] * 7 + [1] * 9 + [2] * 8])
    assert cut("c99", data, replace(WIDE, target_chars=200)) == chain(7, 16, 24)
    by_gradient = {start for start, _ in cut("c99", data, sentences=6)}
    assert {0, 7, 16} <= by_gradient
    assert len(by_gradient) <= 4


def test_c99_takes_long_documents_section_by_section() -> None:
    data = random_input(np.random.default_rng(9), 1_500, 0)
    units = len(build_units(data.sentences, WIDE))
    ranges = cut("c99", data, replace(WIDE, target_chars=500))
    assert units > 1_024
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 1_500
    assert len(ranges) == pytest.approx(int(data.sentences.ends[-1]) / 500, abs=2)


def test_cluster_gathers_what_is_alike() -> None:
    data = replace(plain([25] * 9), vectors=AXES[[0] * 3 + [1] * 4 + [2] * 2])
    assert cut("cluster", data) == chain(3, 7, 9)


def test_cluster_holds_its_cap_where_all_is_unlike() -> None:
    vectors = np.eye(12, dtype=np.float32)
    ranges = cut("cluster", replace(plain([40] * 12), vectors=vectors, intents=np.zeros((0, 12), np.float32)))
    assert all((end - start) * 40 <= 175 for start, end in ranges)


def test_limits_are_held_with_the_cheapest_cuts() -> None:
    units = build_units(plain([40] * 6).sentences, Limits(max_chars=120))
    costs = np.array([0, 9, 2, 5, 1, 9, 0], dtype=float)
    assert hold_limits(units, np.array([0, 6]), costs).tolist() == [0, 2, 4, 6]
    assert hold_limits(units, np.array([0, 1, 6]), costs).tolist() == [0, 1, 4, 6]
