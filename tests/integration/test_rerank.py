"""Reranking: the first hits are weighed anew by a scorer, the others stay, and everything says what it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from idc_local.ranking import RERANKED, RankingWeights, rerank
from idc_local.searching import Searcher
from idc_local.store import Snapshot
from idc_local.types import FloatArray, Hit, Query
from tests.fakes import HashEmbedder
from tests.indexkit import Kit


@dataclass
class MarkedScorer:
    """Likes the passage that holds a word; remembers what it was asked."""

    word: str
    asked: list[tuple[list[str], str]] = field(default_factory=list)

    def likelihoods(self, prompts: Sequence[str], continuation: str) -> FloatArray:
        self.asked.append((list(prompts), continuation))
        return np.array([-1.0 if self.word in prompt else -5.0 for prompt in prompts], dtype=np.float32)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number:02}.md").write_text(
            f"# Pump {number}\n\nThe pump number {number} presses water up a hill.\n"
        )
    Kit(tmp_path / "index").add(folder)
    return tmp_path / "index"


def hits(index: Path, scorer: MarkedScorer | None, k: int) -> list[Hit]:
    with Snapshot.open(index) as snapshot:
        load = None if scorer is None else lambda: scorer
        return Searcher(snapshot, HashEmbedder(), RankingWeights(), load).search(Query("pump water"), k)


def test_scores_are_the_mean_of_both_normalised_between_the_bounds_of_the_fused_ones() -> None:
    fused = np.array([0.9, 0.7, 0.5], dtype=np.float32)
    # Normalised: 1, .5, 0 and 0, 1, .5; their means .5, .75, .25; between .5 and .9.
    found = rerank(fused, np.array([-3.0, -1.0, -2.0], dtype=np.float32))
    assert found == pytest.approx([0.7, 0.8, 0.6])


def test_a_passage_that_makes_the_question_likely_comes_first(index: Path) -> None:
    before = hits(index, None, 12)
    fourth = before[3]
    assert all(hit.explain.likelihood is None for hit in before)
    scorer = MarkedScorer(fourth.chunk.text.strip())
    after = hits(index, scorer, 12)
    assert after[0].chunk == fourth.chunk
    assert after[0].explain.likelihood == -1.0
    assert [hit.explain.likelihood for hit in after[1:RERANKED]] == [-5.0] * (RERANKED - 1)
    assert [hit.rank for hit in after] == list(range(1, 13))
    assert [hit.score for hit in after] == sorted((hit.score for hit in after), reverse=True)
    assert [hit.chunk for hit in after[RERANKED:]] == [hit.chunk for hit in before[RERANKED:]]
    assert all(hit.explain.likelihood is None for hit in after[RERANKED:])


def test_the_model_is_asked_once_about_the_passages_under_their_headings(index: Path) -> None:
    scorer = MarkedScorer("nothing")
    found = hits(index, scorer, 1)
    ((prompts, continuation),) = scorer.asked
    assert len(prompts) == RERANKED
    assert continuation == " pump water"
    chunk = found[0].chunk
    assert f"Passage: {chunk.heading}\n{chunk.text.strip()}\n\nQuestion:" in prompts
    assert found[0].chunk == hits(index, None, 1)[0].chunk
