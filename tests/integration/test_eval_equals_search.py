"""The in-memory ranking of evaluations is the ranking of the real searcher over a real index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from idc_local.datasets import load_dataset
from idc_local.evaluation.cuts import index_segmentations, segment
from idc_local.evaluation.grid import EvaluationOptions
from idc_local.evaluation.prepare import PreparedSet
from idc_local.evaluation.retrieval import build_retriever, rank_all, score_all
from idc_local.indexing import IndexOptions
from idc_local.ranking import RankingWeights
from idc_local.searching import Searcher
from idc_local.store import Snapshot
from idc_local.types import Limits, Query
from tests.evalkit import TOPICS, prepared_set, runtime_at, text_of, write_set
from tests.fakes import HashEmbedder

LIMITS = Limits(target_chars=350, max_chars=900, max_tokens=120, sentence_tokens=60)


def index_of(folder: Path, strategy: str, intents: str) -> None:
    (folder / "docs").mkdir()
    for topic in TOPICS:
        (folder / "docs" / f"{topic}.txt").write_text(text_of(topic), encoding="utf-8")
    options = IndexOptions(strategy=strategy, intents=intents, limits=LIMITS)
    report = runtime_at(folder).index([folder / "docs"], options)
    assert report.new == len(TOPICS)


@pytest.mark.parametrize(
    ("strategy", "intents", "scope", "weights"),
    [
        ("intent", "model", "corpus", RankingWeights()),
        ("fixed", "off", "corpus", RankingWeights()),
        ("paragraph", "model", "document", RankingWeights()),
        ("recursive", "model", "corpus", RankingWeights(intent=0.3, candidates=7)),
        ("sliding", "model", "document", RankingWeights(dense=0.3, lexical=0.7, candidates=2)),
    ],
)
@pytest.mark.parametrize("retriever", ["default", "fusion"])
def test_retrievers_rank_as_search_does(
    tmp_path: Path, strategy: str, intents: str, scope: str, weights: RankingWeights, retriever: str
) -> None:
    index_of(tmp_path, strategy, intents)
    dataset = load_dataset(write_set(tmp_path / "set", scope=scope))
    options = EvaluationOptions(strategies=(strategy,), intents=intents, limits=LIMITS, weights=weights)
    prepared = prepared_set(tmp_path, options, dataset)
    mine = ranked_in_memory(prepared, strategy, options, retriever)
    with Snapshot.open(tmp_path / "index") as snapshot:
        own = weights if retriever == "default" else replace(weights, tokens=0.0)
        searcher = Searcher(snapshot, HashEmbedder(), own)
        for question, ranked in zip(dataset.questions, mine, strict=True):
            wanted = f"path:{question.document_id}.txt" if scope == "document" else ""
            hits = searcher.search(Query(question.text, wanted), weights.candidates)
            assert ranked[: weights.candidates] == [
                (hit.chunk.text, hit.chunk.start, hit.chunk.end, hit.span.start, hit.span.end, hit.span.likely)
                for hit in hits
            ]


def ranked_in_memory(
    prepared: PreparedSet, strategy: str, options: EvaluationOptions, retriever: str
) -> list[list[tuple[str, int, int, int, int, bool]]]:
    cuts = [segment(document, strategy, options.limits, options.cutting) for document in prepared.documents]
    index = index_segmentations(prepared, cuts)
    rankings = rank_all(
        prepared.asked,
        index,
        score_all(prepared.asked, index, options.weights),
        build_retriever(retriever, options.weights),
        depth=1000,
    )
    return [
        [
            (chunk.text, chunk.start, chunk.end, start, end, place < ranking.likely)
            for place, (chunk, (_, start, end)) in enumerate(
                zip((index.chunks[row] for row in ranking.rows), ranking.best, strict=True)
            )
        ]
        for ranking in rankings
    ]
