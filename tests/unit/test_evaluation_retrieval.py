"""BM25 over arrays against bm25s, and the signals and candidates of small cases by hand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idc_local.evaluation.retrieval import RETRIEVERS, Asked, ChunkIndex, bm25, build_retriever, rank_all, score_all
from idc_local.evaluation.scoring import Passages
from idc_local.ranking import RankingWeights
from idc_local.types import Chunk, FloatArray
from tests.fakes import HashEmbedder

TERMS = st.lists(st.sampled_from("abcdef"), max_size=8)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(TERMS, min_size=1, max_size=6), st.lists(TERMS.map(lambda found: list(dict.fromkeys(found))), max_size=4)
)
def test_bm25_equals_the_library(texts: list[list[str]], queries: list[list[str]]) -> None:
    import bm25s

    if not any(texts):
        texts[0].append("a")
    model = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    model.index(texts, show_progress=False)
    found = plain_bm25(queries, texts)
    assert found.shape == (len(queries), len(texts))
    for query, scores in zip(queries, found, strict=True):
        known = [term for term in query if any(term in text for text in texts)]
        expected = model.get_scores(known) if known else np.zeros(len(texts))
        assert scores == pytest.approx(expected, abs=1e-5)


def plain_bm25(queries: Sequence[Sequence[str]], texts: Sequence[Sequence[str]]) -> FloatArray:
    """BM25 with the paper's constants, float32 [queries, texts]."""
    vocabulary = {term: place for place, term in enumerate(dict.fromkeys(chain.from_iterable(queries)))}
    frequency = np.array([[list(text).count(term) for text in texts] for term in vocabulary], dtype=np.float32)
    lengths = np.array([len(text) for text in texts], dtype=np.float64)
    scores = bm25(frequency.reshape(len(vocabulary), len(texts)), lengths, 1.5, 0.75)
    found = [scores[[vocabulary[term] for term in query]].sum(axis=0) for query in queries]
    return np.array(found, dtype=np.float32).reshape(len(queries), len(texts))


def unit(*rows: tuple[float, float]) -> FloatArray:
    vectors = np.array(rows, dtype=np.float32).reshape(-1, 2)
    scaled: FloatArray = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def chunk(identity: str, start: int) -> Chunk:
    return Chunk(identity, "d", "d.txt", start, start + 10, "0123456789", "", None, 1, 1, 2)


def index(ids: str, vectors: FloatArray, terms: list[list[str]], documents: list[int]) -> ChunkIndex:
    """One sentence a chunk, no intents."""
    count = len(ids)
    starts = np.arange(count, dtype=np.int64) * 10
    spans = np.stack([starts, starts + 10], axis=1)
    return ChunkIndex(
        chunks=tuple(chunk(identity, place * 10) for place, identity in enumerate(ids)),
        passages=Passages(np.array(documents, dtype=np.int64), starts, starts + 10, spans),
        vectors=vectors,
        terms=tuple(tuple(own) for own in terms),
        piece_rows=np.arange(count, dtype=np.int64),
        piece_offsets=np.arange(count + 1, dtype=np.int64),
        piece_spans=spans,
        piece_gaps=np.zeros(count, dtype=np.int64),
        piece_terms=tuple(tuple(own) for own in terms),
        heading_codes=np.zeros((0, 4), dtype=np.uint8),
        heading_offsets=np.zeros(count + 1, dtype=np.int64),
        intent_rows=np.zeros(0, dtype=np.int64),
        intent_offsets=np.zeros(count + 1, dtype=np.int64),
    )


def asked(vector: FloatArray, terms: list[str], pieces: FloatArray, scope: int = -1, *, foreign: bool = False) -> Asked:
    return Asked(
        vectors=vector,
        whole=vector,
        terms=(dict.fromkeys(terms, 1.0),),
        words=({},),
        scope=np.array([scope], dtype=np.int64),
        pieces=(vector @ pieces.T),
        intents=np.zeros((1, 0), dtype=np.float32),
        foreign=(foreign,),
        asking=(" ".join(terms),),
        tokens=tuple(HashEmbedder().query_tokens([" ".join(terms)])),
        codes=np.zeros((0, 4), dtype=np.uint8),
        code_offsets=np.zeros(len(pieces) + 1, dtype=np.int64),
        languages=("en",),
    )


def ranked(name: str, question: Asked, chunks: ChunkIndex, weights: RankingWeights | None = None) -> list[int]:
    retriever = build_retriever(name, weights or RankingWeights())
    found: list[int] = rank_all(question, chunks, score_all(question, chunks, retriever.weights), retriever)[
        0
    ].rows.tolist()
    return found


def test_each_retriever_ranks_by_its_own_signal() -> None:
    vectors = unit((1, 0), (1, 1), (0, 1))
    chunks = index("cab", vectors, [["x"], ["x", "y", "y"], ["y"]], [0, 0, 1])
    question = asked(unit((1, 0)), ["y"], vectors)
    assert ranked("dense", question, chunks) == [0, 1, 2]
    assert ranked("bm25", question, chunks) == [1, 2]
    assert ranked("paper", question, chunks)[0] == 1


def test_paper_is_the_published_fusion() -> None:
    weights = build_retriever("paper", RankingWeights(sentence=0.4, intent=0.2, candidates=9)).weights
    assert weights == RankingWeights(
        dense=0.6, lexical=0.4, sentence=0.0, intent=0.0, tokens=0.0, neighbour=0.0, candidates=9
    )
    vectors = unit((1, 0.2), (0, 1), (1, 1))
    chunks = index("abc", vectors, [["x"], ["y"], ["x", "y"]], [0, 0, 0])
    question = asked(unit((1, 0)), ["y"], vectors)
    dense, lexical = vectors[:, 0], plain_bm25([["y"]], chunks.terms)[0]
    fused = 0.6 * (dense - dense.min()) / np.ptp(dense) + 0.4 * (lexical - lexical.min()) / np.ptp(lexical)
    assert ranked("paper", question, chunks) == np.argsort(-fused).tolist()


def test_in_a_language_that_the_embedder_does_not_know_words_count_for_more_where_search_does_so() -> None:
    vectors = unit((1, 0), (0, 1))
    chunks = index("ab", vectors, [["x"], ["y"]], [0, 0])
    assert ranked("default", asked(unit((1, 0)), ["y"], vectors), chunks, RankingWeights(coverage=0.0)) == [0, 1]
    foreign = asked(unit((1, 0)), ["y"], vectors, foreign=True)
    for name, expected in {"default": [1, 0], "paper": [0, 1], "dense": [0, 1], "bm25": [1]}.items():
        assert ranked(name, foreign, chunks, RankingWeights(coverage=0.0)) == expected


def test_ties_go_by_id() -> None:
    vectors = unit((1, 0), (1, 0), (1, 0))
    chunks = index("cab", vectors, [[], [], []], [0, 0, 0])
    assert ranked("default", asked(unit((1, 0)), [], vectors), chunks) == [1, 2, 0]


def test_a_question_within_its_document_sees_no_other() -> None:
    vectors = unit((1, 0), (1, 0.1), (1, 0.2))
    chunks = index("abc", vectors, [["y"], ["y"], []], [0, 1, 1])
    for name in RETRIEVERS:
        assert set(ranked(name, asked(unit((1, 0)), ["y"], vectors, scope=1), chunks)) <= {1, 2}


def test_only_the_top_of_each_list_is_ranked() -> None:
    vectors = unit((1, 0), (1, 0.1), (0, 1), (0.2, 1))
    chunks = index("abcd", vectors, [[], [], ["y"], ["y", "z", "z"]], [0] * 4)
    question = asked(unit((1, 0)), ["y"], vectors)
    assert ranked("paper", question, chunks, RankingWeights(candidates=1)) == [0, 2]
