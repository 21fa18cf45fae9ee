"""Intent-driven segmentation: what both objectives promise for every input, and what each term does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idc_local.dp import Band, Float64Array, bands, build_units, explain, solve
from idc_local.errors import UsageError
from idc_local.segment import (
    PaperParams,
    SegmentWeights,
    StrategyOptions,
    is_short,
    lead_ins,
    segment_calibrated,
    segment_intent,
    segment_paper,
)
from idc_local.segment_paper import merge_short, split_long, utility
from idc_local.types import Limits, Segmentation, SegmentInput
from tests.reference.segment_cases import naive_bounds, random_input, unit_rows
from tests.segment_documents import AXES, assert_partition, documents, limits_of, plain

WIDE = Limits(target_chars=100, max_chars=10_000, max_tokens=10_000)


class Example:
    """The worked example of the module docstring."""

    def __init__(self) -> None:
        self.cuts = {"cut": np.array([0.0, 3.0, -1.0, 0.0, 0.0])}

    def gains(self, band: Band) -> dict[str, Float64Array]:
        return {"chunk": -np.square(band.ends - band.starts - 2.0)}


def test_worked_example() -> None:
    data = plain([40] * 4)
    units = build_units(data.sentences, Limits(max_chars=100))
    cuts, score = solve(units, Example())
    assert (cuts.tolist(), score) == ([0, 1, 3, 4], 1.0)
    # Without the limit the three sentences earn as much, and fewer chunks win.
    cuts, score = solve(build_units(data.sentences, WIDE), Example())
    assert (cuts.tolist(), score) == ([0, 1, 4], 1.0)


def test_worked_example_is_explained() -> None:
    units = build_units(plain([40] * 4).sentences, Limits(max_chars=100))
    first, second = explain(units, Example(), np.array([0, 1, 3, 4]))
    # Moved to sentence 2, the first cut would earn -1 + 0 - 1 = -2 instead of 3 - 1 + 0 = 2.
    assert (first.sentence, first.terms, first.alternative, first.loss) == (1, {"cut": 3.0, "chunk": -1.0}, 2, 4.0)
    assert (second.sentence, second.terms, second.alternative, second.loss) == (3, {"cut": 0.0, "chunk": -1.0}, 2, 1.0)


@settings(max_examples=120, deadline=None)
@given(documents(), limits_of(), st.sampled_from(["paper", "calibrated"]), st.booleans())
def test_chunks_partition_the_sentences_within_limits(
    data: SegmentInput, limits: Limits, objective: str, explained: bool
) -> None:
    options = StrategyOptions(objective, paper=PaperParams(max_sentences=4), explain=explained)
    found = segment_intent(data, "", limits, options)
    most = 4 if objective == "paper" else None
    assert_partition(found, data.sentences, limits, naive_bounds(data.sentences, limits, most), most)
    assert len(found.reasons) == (max(len(found.ranges) - 1, 0) if explained else 0)
    assert [reason.sentence for reason in found.reasons] == (found.ranges[1:, 0].tolist() if explained else [])


@pytest.mark.parametrize("objective", ["paper", "calibrated"])
def test_no_sentences_and_one_sentence(objective: str) -> None:
    options = StrategyOptions(objective, explain=True)
    empty = segment_intent(plain([]), "", WIDE, options)
    assert empty.ranges.shape == (0, 2)
    assert (empty.score, empty.reasons) == (0.0, ())
    assert segment_intent(plain([100]), "", WIDE, options).ranges.tolist() == [[0, 1]]


def test_unknown_objective_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="calibrated, paper"):
        segment_intent(plain([1]), "", WIDE, StrategyOptions("best"))


@pytest.mark.parametrize("objective", ["paper", "calibrated"])
def test_the_order_of_intents_changes_nothing(objective: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        data = random_input(rng, 60, 12, dimension=16)
        order = rng.permutation(12)
        permuted = replace(
            data,
            intents=data.intents[order],
            intent_windows=data.intent_windows[order],
            intent_evidence=data.intent_evidence[order],
        )
        options = StrategyOptions(objective, SegmentWeights(intent_relevance=1.0), PaperParams(beta=0.4))
        one, other = (segment_intent(given, "", WIDE, options) for given in (data, permuted))
        assert one.ranges.tolist() == other.ranges.tolist()
        assert one.score == pytest.approx(other.score, abs=1e-9)


@pytest.mark.parametrize("hostile", [0.0, np.nan, np.inf])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_vectors_without_a_direction_still_give_a_partition(hostile: float) -> None:
    data = random_input(np.random.default_rng(1), 30, 3)
    vectors = np.full_like(data.vectors, hostile)
    for objective in ("paper", "calibrated"):
        options = StrategyOptions(objective, SegmentWeights(intent_relevance=1.0))
        found = segment_intent(replace(data, vectors=vectors), "", WIDE, options)
        assert found.ranges[:, 0].tolist() == [0, *found.ranges[:-1, 1].tolist()]
        assert found.ranges[-1, 1] == 30


# ---- linear cost ------------------------------------------------------------------------------------------------


def test_bands_hold_each_allowed_chunk_and_stay_linear() -> None:
    rng = np.random.default_rng(2)
    for count in (1_000, 10_000, 100_000):
        sentences = random_input(rng, count, 0, dimension=1).sentences
        units = build_units(sentences, Limits(max_chars=300, max_tokens=100))
        widest = int((np.arange(len(units) + 1) - units.lowest).max())
        found = list(bands(units))
        assert [band.first for band in found[1:]] == [band.last for band in found[:-1]]
        assert (found[0].first, found[-1].last) == (1, len(units) + 1)
        assert sum((band.last - band.first) * band.width for band in found) <= len(units) * widest
        assert max((band.last - band.first) * band.width for band in found) <= 1 << 18


def test_wide_bands_are_cut_to_bounded_size() -> None:
    sentences = plain([1] * 3_000).sentences
    found = list(bands(build_units(sentences, Limits(max_chars=2_000, max_tokens=5_000))))
    assert max((band.last - band.first) * band.width for band in found) <= 1 << 18
    assert found[-1].width == 2_000


def test_a_hundred_thousand_sentences() -> None:
    data = random_input(np.random.default_rng(3), 100_000, 40, dimension=2)
    limits = Limits(target_chars=120, max_chars=300, max_tokens=100)
    found = segment_calibrated(data, limits, SegmentWeights())
    assert found.ranges[:, 0].tolist() == [0, *found.ranges[:-1, 1].tolist()]
    assert found.ranges[-1, 1] == 100_000
    sizes = data.sentences.ends[found.ranges[:, 1] - 1] - data.sentences.starts[found.ranges[:, 0]]
    assert sizes.max() <= 300
    assert 80 < sizes.mean() < 160


# ---- the published objective ------------------------------------------------------------------------------------


def test_a_higher_penalty_per_chunk_never_gives_more_chunks() -> None:
    rng = np.random.default_rng(4)
    for _ in range(25):
        data = random_input(rng, 40, 6, dimension=8)
        counts = [
            len(segment_paper(data, WIDE, PaperParams(beta=beta, postprocess=False)).ranges)
            for beta in (-0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2)
        ]
        assert counts == sorted(counts, reverse=True)


def test_the_published_objective_is_degenerate() -> None:
    rng = np.random.default_rng(5)
    data = replace(plain([50] * 60), vectors=unit_rows(rng, 60, 16), intents=unit_rows(rng, 10, 16))
    lengths = {
        beta: np.diff(segment_paper(data, WIDE, PaperParams(beta=beta, postprocess=False)).ranges).mean()
        for beta in (0.0, 1.5)
    }
    assert lengths == {0.0: 1.0, 1.5: 15.0}


def test_without_intents_the_penalties_alone_decide() -> None:
    data = plain([50] * 24)
    found = segment_paper(data, WIDE, PaperParams(lam=0.01, beta=0.5, max_sentences=12))
    # k chunks of 24/k sentences cost 0.01 · 24²/k + 0.5 (k - 1): least for k = 3 (1.92 + 1.0).
    assert np.diff(found.ranges).ravel().tolist() == [8, 8, 8]
    assert found.score == pytest.approx(-2.92)


def test_utility_is_equation_two() -> None:
    data = replace(
        plain([10] * 3), vectors=AXES[[0, 0, 1]], intents=AXES[[1]], intent_windows=np.zeros((1, 2), dtype=np.int64)
    )
    ranges = np.array([[0, 1], [1, 3]])
    # R = 0 and cos(45°); lengths 1 and 2; one cut.
    assert utility(data, ranges, PaperParams(lam=0.1, beta=0.3)) == pytest.approx(np.sqrt(0.5) - 0.5 - 0.3)


def test_short_neighbours_with_one_best_intent_are_merged() -> None:
    data = replace(plain([10] * 7), vectors=AXES[[0, 0, 0, 0, 1, 1, 0]], intents=AXES[[0, 1]])
    units = build_units(data.sentences, WIDE)
    cuts = np.array([0, 1, 4, 5, 6, 7])
    assert merge_short(data, units, cuts, 2).tolist() == [0, 4, 6, 7]
    assert merge_short(data, units, np.array([0, 3, 6, 7]), 2).tolist() == [0, 3, 6, 7]
    assert merge_short(data, units, np.array([0, 2, 4, 7]), 2).tolist() == [0, 4, 7]
    assert merge_short(data, units, np.array([0, 2, 4, 7]), 1).tolist() == [0, 2, 4, 7]
    assert merge_short(replace(data, intents=AXES[:0]), units, cuts, 2).tolist() == cuts.tolist()
    later = replace(data, vectors=AXES[[1, 1, 1, 0, 0, 0, 0]])
    assert merge_short(later, units, np.array([0, 3, 4, 7]), 2).tolist() == [0, 3, 7], "the first of the two is short"
    assert merge_short(later, units, np.array([0, 2, 3, 5, 7]), 1).tolist() == [0, 3, 5, 7], (
        "neither of the last two is"
    )
    third = replace(data, vectors=AXES[[1, 1, 1, 2, 2, 2, 2]], intents=AXES[:3])
    assert merge_short(third, units, np.array([0, 3, 4, 7]), 2).tolist() == [0, 3, 7], "of one intent and of another"


def test_merging_holds_the_limits() -> None:
    data = replace(plain([40] * 3), vectors=AXES[[0, 0, 0]], intents=AXES[[0]])
    units = build_units(data.sentences, Limits(max_chars=100))
    assert merge_short(data, units, np.array([0, 1, 2, 3]), 2).tolist() == [0, 2, 3]


def test_long_chunks_are_split_at_the_paragraph_break_nearest_to_the_middle() -> None:
    data = plain([10] * 12, boundary=[3, 0, 2, 0, 0, 2, 0, 1, 0, 0, 2, 0])
    units = build_units(data.sentences, WIDE)
    whole = np.array([0, 12])
    assert split_long(data, units, whole, 12).tolist() == [0, 12]
    assert split_long(data, units, whole, 10).tolist() == [0, 5, 12]
    assert split_long(data, units, whole, 6).tolist() == [0, 5, 10, 12]
    assert split_long(data, units, whole, 1).tolist() == [0, 2, 5, 10, 12]
    assert split_long(data, units, np.array([0, 4, 12]), 7).tolist() == [0, 4, 10, 12]
    last = plain([10] * 12, boundary=[3, *[0] * 10, 2])
    assert split_long(last, units, whole, 11).tolist() == [0, 11, 12]


def test_post_processing_is_part_of_the_published_method() -> None:
    data = replace(plain([10] * 6), vectors=AXES[[0, 0, 0, 1, 1, 1]], intents=AXES[[0, 1]])
    params = PaperParams(beta=-1.0)
    bare = segment_paper(data, WIDE, replace(params, postprocess=False))
    assert len(bare.ranges) == 6
    full = segment_paper(data, WIDE, params)
    assert full.ranges.tolist() == [[0, 3], [3, 6]]
    assert full.score == pytest.approx(2.0 - 2 * 9 * 0.0005 + 1.0)


# ---- the calibrated objective -----------------------------------------------------------------------------------

BARE = SegmentWeights(item=0, paragraph=0, heading=0, dip=0, lead_in=0, intent_cut=0, intent_relevance=0)


def edges(found: Segmentation) -> list[int]:
    return [int(start) for start in found.ranges[1:, 0]]


def test_length_alone_makes_chunks_of_the_target() -> None:
    found = segment_calibrated(plain([25] * 16), WIDE, BARE)
    assert (edges(found), found.reasons) == ([4, 8, 12], ())


def test_structure_moves_cuts_to_stronger_gaps() -> None:
    data = plain([25] * 12, boundary=[3, 0, 0, 2, 0, 0, 0, 1, 0, 3, 0, 0], level=[1] + [0] * 8 + [2, 0, 0])
    weights = replace(BARE, length=0.3, paragraph=0.5, item=0.2, heading=1.0)
    assert edges(segment_calibrated(data, WIDE, weights)) == [3, 7, 9]
    assert edges(segment_calibrated(data, WIDE, replace(weights, length=1.0, item=0.0, paragraph=0.0))) == [4, 9]


def test_a_lead_in_stays_with_what_it_leads_to() -> None:
    data = plain([25] * 8)
    told = replace(data, lead_ins=lead_ins(data.sentences, ("x" * 24 + ".") * 3 + "x" * 23 + ": " + "x" * 100))
    assert edges(segment_calibrated(data, WIDE, replace(BARE, lead_in=2.0))) == [4]
    assert edges(segment_calibrated(told, WIDE, replace(BARE, lead_in=2.0))) == [3]


@pytest.mark.parametrize(
    ("end", "boundary", "leads"),
    [(":", 2, True), ("：", 1, True), (",", 2, True), (",", 0, True), ("，", 2, True), ("،", 2, True), ("、", 2, True),
     (",", 1, False), (".", 2, False), (";", 2, False)],
)  # fmt: skip
def test_a_colon_leads_on_and_so_does_a_comma_but_not_to_another_item(end: str, boundary: int, leads: bool) -> None:
    data = plain([25] * 3, boundary=[3, boundary, 2])
    text = "x" * 20 + end + "    " + "x" * 25 + "x" * 24 + end
    assert lead_ins(data.sentences, text).tolist() == [leads, False, end in ":："]


@pytest.mark.parametrize(
    ("sizes", "boundary", "glue", "whole"),
    [
        ([25] * 4, [3, 2, 2, 2], [], True),
        ([25] * 4, [3, 2, 2, 2], [1], True),
        ([25] * 4, [3, 3, 2, 2], [1, 2], True),
        ([25] * 4, [3, 2, 3, 2], [1, 3], False),
        ([25] * 4, [3, 3, 2, 2], [2], False),
        ([26] * 4, [3, 2, 2, 2], [], False),
    ],
)
def test_a_document_within_the_target_stays_whole_unless_headings_part_it(
    sizes: list[int], boundary: list[int], glue: list[int], whole: bool
) -> None:
    data = plain(sizes, boundary=boundary)
    data.sentences.glue[glue] = True
    assert is_short(data.sentences, WIDE) == whole
    found = segment_intent(data, "x" * sum(sizes), WIDE, StrategyOptions())
    assert (found.ranges.tolist() == [[0, 4]]) >= whole


def test_a_short_document_keeps_the_limits() -> None:
    data = plain([25] * 4)
    tokens = int(data.sentences.tokens.sum())
    assert is_short(data.sentences, replace(WIDE, max_tokens=tokens))
    assert not is_short(data.sentences, replace(WIDE, max_tokens=tokens - 1))
    assert is_short(data.sentences, replace(WIDE, max_chars=100))
    assert not is_short(data.sentences, replace(WIDE, max_chars=99))


def test_centring_makes_uniform_structure_count_for_nothing() -> None:
    paragraphs = plain([25] * 16, boundary=[3] + [2] * 15)
    prose = plain([25] * 16)
    weights = replace(BARE, paragraph=0.5)
    assert edges(segment_calibrated(paragraphs, WIDE, weights)) == edges(segment_calibrated(prose, WIDE, weights))
    assert len(edges(segment_calibrated(paragraphs, WIDE, replace(weights, centre=0.0)))) > 3


def test_dips_move_cuts_to_changes_of_topic() -> None:
    data = replace(plain([25] * 8), vectors=AXES[[0, 0, 0, 0, 0, 1, 1, 1]])
    assert edges(segment_calibrated(data, WIDE, BARE)) == [4]
    assert edges(segment_calibrated(data, WIDE, replace(BARE, dip=0.3, windows=(2,)))) == [5]


def test_evidence_spans_are_not_cut() -> None:
    data = plain([25] * 8)
    intents = replace(data, intents=AXES[[0]], intent_windows=np.array([[1, 6]]), intent_evidence=np.array([4]))
    assert edges(segment_calibrated(data, WIDE, replace(BARE, intent_cut=0.5))) == [4]
    # The span is the sentences 3, 4 and 5, so a cut before 4 or 5 breaks it.
    assert edges(segment_calibrated(intents, WIDE, replace(BARE, intent_cut=0.5))) == [3]
    clipped = replace(intents, intent_windows=np.array([[4, 6]]))
    assert edges(segment_calibrated(clipped, WIDE, replace(BARE, intent_cut=0.5))) == [4]


def test_relevance_is_paid_once_in_the_chunk_that_holds_the_evidence() -> None:
    data = replace(
        plain([25] * 8),
        vectors=AXES[[1, 1, 1, 1, 1, 0, 0, 0]],
        intents=AXES[[0]],
        intent_windows=np.array([[5, 8]]),
        intent_evidence=np.array([6]),
    )
    assert edges(segment_calibrated(data, WIDE, replace(BARE, intent_relevance=2.0))) == [5]
    # Anchored in a chunk that its intent does not fit, no other chunk can earn it.
    elsewhere = replace(data, intent_windows=np.array([[0, 2]]), intent_evidence=np.array([0]))
    assert edges(segment_calibrated(elsewhere, WIDE, replace(BARE, intent_relevance=2.0))) != [5]


def test_a_heading_stays_with_what_it_heads() -> None:
    data = plain([30, 30, 30, 10, 30, 30], boundary=[3, 0, 0, 3, 2, 0], glue=[4])
    found = segment_calibrated(data, WIDE, SegmentWeights())
    assert edges(found) == [3]


def test_terms_of_a_cut_are_named() -> None:
    data = random_input(np.random.default_rng(6), 30, 4)
    found = segment_calibrated(data, WIDE, SegmentWeights(intent_relevance=0.1), explained=True)
    assert {name for reason in found.reasons for name in reason.terms} == {
        "structure", "dip", "lead in", "intent", "length", "relevance",
    }  # fmt: skip
    published = segment_paper(data, WIDE, PaperParams(), explained=True)
    assert {name for reason in published.reasons for name in reason.terms} == {"cut", "relevance", "length"}


def test_sentences_over_the_limits_stand_alone() -> None:
    data = plain([30, 500, 30], tokens=[5, 900, 5])
    for objective in ("paper", "calibrated"):
        found = segment_intent(data, "", Limits(max_chars=100, max_tokens=50), StrategyOptions(objective))
        assert found.ranges.tolist() == [[0, 1], [1, 2], [2, 3]]


def test_glued_runs_over_the_limits_are_released_in_pieces_as_long_as_they_can_be() -> None:
    sentences = plain([40] * 5, glue=[1, 2, 3, 4]).sentences
    assert build_units(sentences, Limits(max_chars=100)).bounds.tolist() == [0, 2, 4, 5]
    assert build_units(sentences, Limits(max_chars=200)).bounds.tolist() == [0, 5]
