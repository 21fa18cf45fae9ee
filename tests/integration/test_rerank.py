"""Reranking: the first hits are weighed anew by late interaction, the others stay, and everything says what it was."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from idc_local.catalogue import GENERATOR, ModelFiles
from idc_local.cli import cli
from idc_local.cli.session import App
from idc_local.errors import ModelError
from idc_local.memory import Silent
from idc_local.ports import Tokens
from idc_local.ranking import RERANKED, RankingWeights, rerank
from idc_local.searching import Reranker, Searcher
from idc_local.store import Snapshot
from idc_local.types import Hit, Query
from tests.evalkit import FakeModelsRuntime
from tests.fakes import HashEmbedder, hashed
from tests.indexkit import Kit


@dataclass
class MarkedTokens:
    """A token encoder of two directions: passages that hold a word have the query's, others one at 60 degrees to it."""

    word: str
    asked: list[list[str]] = field(default_factory=list)

    def document_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        self.asked.append(list(texts))
        near, far = [[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.75**0.5]]
        return [
            Tokens(np.array(near if self.word in text else far, dtype=np.float32), ["pump", "water"]) for text in texts
        ]

    def query_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        self.asked.append(list(texts))
        return [Tokens(np.array([[1.0, 0.0]], dtype=np.float32), ["pump"]) for _ in texts]


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


def hits(index: Path, tokens: MarkedTokens | HashEmbedder | None, k: int, query: str = "pump water") -> list[Hit]:
    with Snapshot.open(index) as snapshot:
        reranker = None if tokens is None else Reranker(tokens, Silent())
        return Searcher(snapshot, HashEmbedder(), RankingWeights(), reranker).search(Query(query), k)


def test_scores_are_the_mean_of_fused_and_interaction_between_the_bounds_of_the_fused_ones() -> None:
    fused = np.array([0.9, 0.8, 0.6], dtype=np.float32)
    # Normalised: 1, 2/3, 0 and 0, 1, 1/2; their means are 1/2, 5/6, 1/4; of the .3 from .6 to .9.
    found = rerank(fused, np.array([0.3, 0.7, 0.5], dtype=np.float32))
    assert found == pytest.approx([0.75, 0.85, 0.675])
    assert rerank(fused, np.zeros(3, dtype=np.float32)) == pytest.approx([0.75, 0.7, 0.6])
    assert rerank(fused[:1], np.array([0.4], dtype=np.float32)) == pytest.approx([0.9])


def test_a_passage_with_the_words_of_the_question_comes_first(index: Path) -> None:
    before = hits(index, None, 12)
    second = before[1]
    assert all(hit.explain.late_interaction is None for hit in before)
    after = hits(index, MarkedTokens(second.chunk.text.strip()), 12)
    assert after[0].chunk == second.chunk
    assert after[0].explain.late_interaction == 1.0
    assert [hit.explain.late_interaction for hit in after[1:RERANKED]] == [0.5] * (RERANKED - 1)
    assert [hit.rank for hit in after] == list(range(1, 13))
    assert all(one.score >= other.score for one, other in pairwise(after))
    assert [hit.span.likely for hit in after] == [hit.span.likely for hit in before]
    assert [hit.chunk for hit in after[RERANKED:]] == [hit.chunk for hit in before[RERANKED:]]
    assert all(hit.explain.late_interaction is None for hit in after[RERANKED:])


def test_passages_are_compared_under_their_headings_with_the_asking_clause(index: Path) -> None:
    tokens = MarkedTokens("nothing")
    scene = "This is about machines of the village. Which pump presses water up a hill?"
    found = hits(index, tokens, 1, scene)
    question, passages = tokens.asked
    assert question == ["Which pump presses water up a hill?"]
    assert len(passages) == RERANKED
    chunk = found[0].chunk
    assert f"{chunk.heading}\n{chunk.text.strip()}" in passages
    assert chunk.heading.startswith("Pump ")
    assert chunk == hits(index, None, 1, scene)[0].chunk


def test_explained_interaction_is_that_of_the_words(index: Path) -> None:
    for hit in hits(index, HashEmbedder(), RERANKED, "water valve"):
        water, valve = (hashed(word, 32) / np.linalg.norm(hashed(word, 32)) for word in ("water", "valve"))
        text = f"{hit.chunk.heading} {hit.chunk.text}".casefold().replace("#", " # ").replace(".", " . ").split()
        meaning = [word for word in text if word not in ("#", ".", "the", "a", "number")] + ["number"]
        others = [hashed(word, 32) / np.linalg.norm(hashed(word, 32)) for word in meaning]
        best = [max(float(asked @ other) for other in others) for asked in (water, valve)]
        # All 12 passages hold "water", none "valve": ln(1 + .5 / 12.5) and ln(1 + 12.5 / .5), and 1 for either.
        weights = [1 + math.log(1 + 0.5 / 12.5), 1 + math.log(1 + 12.5 / 0.5)]
        expected = sum(weight * cosine for weight, cosine in zip(weights, best, strict=True)) / sum(weights)
        assert hit.explain.late_interaction == pytest.approx(expected, abs=2e-6)


class WithoutGenerator(FakeModelsRuntime):
    """Has no language model."""

    def _files(self, role: str, name: str) -> ModelFiles:
        if role == GENERATOR:
            raise ModelError("no generator", hint="idc-local models pull")
        return super()._files(role, name)


def run(folder: Path, *arguments: str) -> Result:
    app = App(open_runtime=WithoutGenerator, environ={})
    return CliRunner().invoke(cli, [*arguments, "--index", str(folder / "own")], obj=app)


def test_the_command_needs_no_generator_and_tells_what_it_took(tmp_path: Path, index: Path) -> None:
    assert run(tmp_path, "index", str(tmp_path / "docs"), "--intents", "off").exit_code == 0
    one = run(tmp_path, "search", "water valve", "--rerank", "-k", "9", "--format", "json", "-v")
    assert re.search(r"^rerank: 8 passages in \d+\.\d s$", one.stderr, re.MULTILINE), one.stderr
    found = [hit["explain"].get("late_interaction") for hit in json.loads(one.stdout)["hits"]]
    assert all(0.0 < value < 1.0 for value in found[:RERANKED])
    assert found[RERANKED:] == [None]
    questions = tmp_path / "questions.txt"
    questions.write_text("water valve\npump 3\n")
    many = run(tmp_path, "search", "--rerank", "-k", "9", "--queries", str(questions))
    first, second = (json.loads(line)["hits"] for line in many.stdout.splitlines())
    assert first == json.loads(one.stdout)["hits"]
    assert "late_interaction" in second[0]["explain"]
