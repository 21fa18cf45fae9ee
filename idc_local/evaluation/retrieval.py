"""The index of a question set as arrays: every question ranked by the functions that ``search`` uses.

What depends on the chunks is computed for all questions at once; candidates are drawn and fused per question, as
the searcher does, so that the ``default`` retriever gives what ``search`` gives. Pure: no I/O, clock or randomness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from idc_local.evaluation.scoring import DEPTH, Passages, Ranking
from idc_local.ranking import RankingWeights, Signals, fuse, segment_max
from idc_local.searching import answer_span
from idc_local.types import BoolArray, Chunk, FloatArray, IntArray

K1, B = 1.5, 0.75
"""BM25's saturation and length normalisation, as in the index."""
RETRIEVERS = ("paper", "default", "dense", "bm25")


@dataclass(frozen=True, slots=True)
class Retriever:
    """How chunks are ranked: the weights, and which lists offer candidates."""

    name: str
    weights: RankingWeights
    from_vectors: bool = True
    from_terms: bool = True


def build_retriever(name: str, default: RankingWeights) -> Retriever:
    """The retriever of that name; ``default`` are the weights that ``search`` uses.

    ``paper`` is 0.6 · chunk vector + 0.4 · BM25 (arXiv 2602.14784, section 3.5), each min-max normalised over the
    union of the candidates.
    """
    plain = replace(default, dense=0.6, lexical=0.4, sentence=0.0, intent=0.0)
    return {
        "paper": Retriever(name, plain),
        "default": Retriever(name, default),
        "dense": Retriever(name, replace(plain, dense=1.0, lexical=0.0), from_terms=False),
        "bm25": Retriever(name, replace(plain, dense=0.0, lexical=1.0), from_vectors=False),
    }[name]


@dataclass(frozen=True, slots=True)
class Asked:
    """The q questions of a set, ready to be asked.

    vectors: float32 [q, d], unit rows. terms: the lexical terms of each. scope: int64 [q], the document that a
    question is asked of, -1 for the whole set. pieces: float32 [q, p], cosines with all sentences of the set.
    intents: float32 [q, m], cosines with all intents of the set.
    """

    vectors: FloatArray
    terms: tuple[tuple[str, ...], ...]
    scope: IntArray
    pieces: FloatArray
    intents: FloatArray


@dataclass(frozen=True, slots=True)
class ChunkIndex:
    """The k chunks of a set under one segmentation.

    vectors: float32 [k, d], unit rows. terms: the lexical terms of each chunk. piece_rows: int64 [s], the columns of
    ``Asked.pieces`` that make up the chunks, chunk after chunk; piece_offsets: int64 [k + 1] into them; piece_spans:
    int64 [s, 2], their code points. intent_rows, intent_offsets: the same for ``Asked.intents``.
    """

    chunks: tuple[Chunk, ...]
    passages: Passages
    vectors: FloatArray
    terms: tuple[tuple[str, ...], ...]
    piece_rows: IntArray
    piece_offsets: IntArray
    piece_spans: IntArray
    intent_rows: IntArray
    intent_offsets: IntArray


@dataclass(frozen=True, slots=True)
class Scores:
    """Signals of all questions and chunks, float32 [q, k]; ``intent`` is NaN where a chunk has none.

    pieces: float32 [q, s], cosines with the sentences of each chunk, as in ``ChunkIndex.piece_rows``.
    id_rank: int64 [k], the place of each chunk among the sorted ids.
    """

    dense: FloatArray
    sentence: FloatArray
    intent: FloatArray
    lexical: FloatArray
    pieces: FloatArray
    id_rank: IntArray


def score_all(asked: Asked, index: ChunkIndex) -> Scores:
    """Signals of every question with every chunk."""
    ranks = np.empty(len(index.chunks), dtype=np.int64)
    ranks[sorted(range(len(index.chunks)), key=lambda row: index.chunks[row].id)] = np.arange(len(index.chunks))
    pieces = asked.pieces[:, index.piece_rows]
    intents = asked.intents[:, index.intent_rows]
    return Scores(
        dense=asked.vectors @ index.vectors.T,
        sentence=np.stack([segment_max(row, index.piece_offsets) for row in pieces]),
        intent=np.stack([segment_max(row, index.intent_offsets) for row in intents]),
        lexical=bm25(asked.terms, index.terms),
        pieces=pieces,
        id_rank=ranks,
    )


def bm25(queries: Sequence[Sequence[str]], texts: Sequence[Sequence[str]]) -> FloatArray:
    """BM25 of each query with each text, float32 [queries, texts] (Robertson et al.; Lucene's variant).

    idf(t) · tf / (tf + k1 · (1 - b + b · length / mean length)), idf(t) = ln(1 + (n - df + 0.5) / (df + 0.5)). A term
    counts once in a query.
    """
    distinct = dict.fromkeys(term for query in queries for term in query)
    vocabulary = {term: column for column, term in enumerate(distinct)}
    frequency = _frequencies(vocabulary, texts)
    lengths = np.array([len(text) for text in texts], dtype=np.float64)
    norm = K1 * (1.0 - B + B * lengths / max(float(lengths.mean()), 1e-9)) if len(texts) else lengths
    held = np.count_nonzero(frequency, axis=1)
    idf = np.log1p((len(texts) - held + 0.5) / (held + 0.5))
    weights = (idf[:, None] * frequency / (frequency + norm)).astype(np.float32)
    wanted = np.zeros((len(queries), len(vocabulary)), dtype=np.float32)
    for row, query in enumerate(queries):
        wanted[row, [vocabulary[term] for term in query]] = 1.0
    scores: FloatArray = wanted @ weights
    return scores


def _frequencies(vocabulary: Mapping[str, int], texts: Sequence[Sequence[str]]) -> FloatArray:
    """How often each term of the vocabulary occurs in each text, float32 [terms, texts]."""
    found = np.zeros((len(vocabulary), len(texts)), dtype=np.float32)
    for column, text in enumerate(texts):
        counts = Counter(term for term in text if term in vocabulary)
        found[[vocabulary[term] for term in counts], column] = list(counts.values())
    return found


def rank_all(
    asked: Asked, index: ChunkIndex, scores: Scores, retriever: Retriever, depth: int = DEPTH
) -> list[Ranking]:
    """The ranking of each question over its candidates, with the best spans of the first ``depth`` chunks."""
    ranked = []
    for question in range(len(asked.terms)):
        rows = _rank(question, asked, index, scores, retriever)
        best = tuple(_best_span(question, row, index, scores) for row in rows[:depth].tolist())
        ranked.append(Ranking(rows, best))
    return ranked


def _rank(question: int, asked: Asked, index: ChunkIndex, scores: Scores, retriever: Retriever) -> IntArray:
    scope = int(asked.scope[question])
    allowed = np.ones(len(index.chunks), dtype=np.bool_) if scope < 0 else index.passages.document == scope
    rows = _candidates(question, allowed, scores, retriever)
    signals = Signals(
        dense=scores.dense[question, rows],
        sentence=scores.sentence[question, rows],
        intent=scores.intent[question, rows],
        lexical=scores.lexical[question, rows],
    )
    fused = np.round(fuse(signals, retriever.weights).astype(np.float64), 6)
    ranked: IntArray = rows[np.lexsort((scores.id_rank[rows], -fused))]
    return ranked


def _best_span(question: int, row: int, index: ChunkIndex, scores: Scores) -> tuple[int, int, int]:
    own = slice(int(index.piece_offsets[row]), int(index.piece_offsets[row + 1]))
    span = answer_span(index.chunks[row], scores.pieces[question, own], index.piece_spans[own])
    return int(index.passages.document[row]), span.start, span.end


def _candidates(question: int, allowed: BoolArray, scores: Scores, retriever: Retriever) -> IntArray:
    """Rows to score exactly: the top of each list among the rows allowed, int64, ascending."""
    count = retriever.weights.candidates
    lists = []
    if retriever.from_vectors:
        lists.append(_top(scores.dense[question], np.flatnonzero(allowed), count))
    if retriever.from_terms:
        lists.append(_top(scores.lexical[question], np.flatnonzero(allowed & (scores.lexical[question] > 0)), count))
    if retriever.weights.intent > 0:
        asking = scores.intent[question]
        lists.append(_top(asking, np.flatnonzero(allowed & ~np.isnan(asking)), count))
    return np.unique(np.concatenate(lists)).astype(np.int64)


def _top(values: FloatArray, rows: IntArray, count: int) -> IntArray:
    """The ``count`` rows with the highest values, in any order."""
    if rows.size <= count:
        return rows
    return rows[np.argpartition(-values[rows], count - 1)[:count]]
