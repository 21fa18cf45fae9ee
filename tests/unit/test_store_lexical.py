from __future__ import annotations

import math
import tempfile
from collections import Counter
from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idc_local.ranking import BM25_B, BM25_K1
from idc_local.spelling import is_near
from idc_local.store.blocks import BlockFolder, BlockWriter
from idc_local.store.codec import count_terms
from idc_local.store.lexical import Lexical, SegmentTerms, write_counts
from idc_local.store.postings import TermCounts, group_postings
from tests.store_documents import MEMORY


def corpus(seed: int, documents: int) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    words = [f"w{number}" for number in range(200)] + ["", "浮球", "\x00", "c++"]
    chances = 1 / np.arange(1, len(words) + 1)
    return [rng.choice(words, int(rng.integers(0, 60)), p=chances / chances.sum()).tolist() for _ in range(documents)]


def counts_of(texts: list[list[str]]) -> TermCounts:
    return group_postings(*count_terms(texts))


def segment(folder: Path, texts: list[list[str]]) -> SegmentTerms:
    writer = BlockWriter(folder)
    write_counts(writer, counts_of(texts))
    return SegmentTerms(BlockFolder(folder, writer.finish()))


def saved(folder: Path, texts: list[list[str]]) -> Lexical:
    return Lexical([(segment(folder, texts), np.arange(len(texts)))], len(texts))


@pytest.mark.parametrize("seed", range(5))
def test_scores_equal_those_of_bm25s(tmp_path: Path, seed: int) -> None:
    texts = corpus(seed, 80)
    theirs = bm25s.BM25(k1=BM25_K1, b=BM25_B, method="lucene", backend="numpy")
    theirs.index(texts, show_progress=False)
    ours = saved(tmp_path, texts)
    for term in sorted({term for text in texts for term in text}):
        expected = theirs.get_scores([term])
        np.testing.assert_allclose(ours.scores({term: 1.0}), expected, rtol=1e-6, atol=1e-7)
    query = ["w1", "w3", "w1", "浮球", "nowhere"]
    np.testing.assert_allclose(ours.scores(Counter(query)), theirs.get_scores(query), rtol=1e-6)
    half = theirs.get_scores(["w1"]) + 0.5 * theirs.get_scores(["w3"])
    np.testing.assert_allclose(ours.scores({"w1": 1.0, "w3": 0.5}), half, rtol=1e-6)


def test_the_files_are_an_index_of_bm25s_that_holds_counts(tmp_path: Path) -> None:
    texts = corpus(9, 30)
    segment(tmp_path, texts)
    theirs = bm25s.BM25.load(tmp_path, mmap=True, load_vocab=False, show_progress=False)
    vocabulary = sorted({term for text in texts for term in text})
    for number, term in enumerate(vocabulary):
        assert theirs.get_scores_from_ids([number]).tolist() == [float(text.count(term)) for text in texts]


@pytest.mark.parametrize("seed", range(3))
def test_segments_with_chunks_left_out_score_as_one_fresh_index(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = corpus(seed, 90)
    alive = rng.random(90) < 0.7
    rows = np.full(90, -1)
    rows[alive] = rng.permutation(int(alive.sum()))
    parts = []
    for number, (start, stop) in enumerate(((0, 5), (5, 60), (60, 90))):
        (tmp_path / str(number)).mkdir()
        parts.append((segment(tmp_path / str(number), texts[start:stop]), rows[start:stop]))
    ours = Lexical(parts, int(alive.sum()))
    kept = {int(row): text for row, text in zip(rows, texts, strict=True) if row >= 0}
    (tmp_path / "fresh").mkdir()
    fresh = saved(tmp_path / "fresh", [kept[row] for row in range(len(kept))])
    for query in ({"w1": 1.0, "w0": 0.5, "浮球": 1.0}, {"w2": 0.25}, {"w150": 1.0, "w199": 1.0}, {"nowhere": 1.0}):
        assert ours.scores(query).tobytes() == fresh.scores(query).tobytes()
        assert ours.idf(list(query)).tobytes() == fresh.idf(list(query)).tobytes()


def test_worked_example(tmp_path: Path) -> None:
    # idf(a) = ln(1 + 1.5 / 1.5) = ln 2; both rows have the mean length, so tf 1 gives ln 2 · 1 / (1 + 1.2).
    ours = saved(tmp_path, [["a", "b"], ["b", "b"]])
    assert ours.scores({"a": 1.0})[0] == pytest.approx(0.6931472 / 2.2)
    assert ours.scores({"a": 1.0})[1] == 0


def test_nothing_to_find(tmp_path: Path) -> None:
    ours = saved(tmp_path, [[], []])
    for terms in ([], ["x"], ["x", ""]):
        scores, rows = ours.top(Counter(terms), 5, None)
        assert scores.shape == rows.shape == (0,)
        assert ours.scores(Counter(terms)).tolist() == [0, 0]


def test_ties_are_in_order_of_row_and_k_may_be_anything(tmp_path: Path) -> None:
    ours = saved(tmp_path, [["a", "x"], ["a", "y"], ["b", "z"], ["a", "q"]])
    assert ours.top({"a": 1.0}, 2, None)[1].tolist() == [0, 1]
    assert ours.top({"a": 1.0}, 99, None)[1].tolist() == [0, 1, 3]
    assert ours.top({"a": 1.0}, 2, np.array([False, True, True, True]))[1].tolist() == [1, 3]
    assert ours.top({"a": 1.0}, 0, None)[1].tolist() == []
    assert ours.top({"a": 1.0}, -1, None)[1].tolist() == []


def test_lone_surrogates_are_counted_as_something(tmp_path: Path) -> None:
    assert saved(tmp_path, [["\ud800"], ["a"]]).scores({"?": 1.0})[0] > 0


def test_idf_counts_rows_and_knows_no_unknown_terms(tmp_path: Path) -> None:
    ours = saved(tmp_path, [["a", "a"], ["a", "b"], ["c"]])
    expected = [math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5), 0.0]
    assert ours.idf(["a", "b", "nowhere"]).tolist() == pytest.approx(expected)


WORDS = st.text("abcé", min_size=4, max_size=8)


@settings(max_examples=60, deadline=None)
@given(terms=st.sets(WORDS, min_size=1, max_size=60), asked=WORDS)
def test_near_terms_are_all_that_one_slip_makes(terms: set[str], asked: str) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        lexical = Lexical([(segment(Path(place), [sorted(terms)]), np.array([0]))], 1)
        assert set(lexical.near(asked)) == {term for term in terms if is_near(asked, term)}


def test_near_terms_are_those_of_live_rows_with_their_number(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first = segment(tmp_path / "a", [["review", "review", "salary"], ["renew"], ["reviews"]])
    second = segment(tmp_path / "b", [["review"], ["revue"], ["Müller", "preview"]])
    lexical = Lexical([(first, np.array([0, -1, 1])), (second, np.array([2, 3, 4]))], 5)
    assert lexical.near("revew") == {"review": 2}
    assert lexical.near("revi") == {}
    assert lexical.near("Muller") == {"Müller": 1}
    assert lexical.near("review") == {"reviews": 1}
    assert lexical.near("\ud800bcdef") == {}
