"""The index of a question set as arrays: every question ranked by the functions that ``search`` uses.

What depends on the chunks is computed for all questions at once; candidates are drawn and fused per question, as
the searcher does, so that the ``default`` retriever gives what ``search`` gives. Pure: no I/O, clock or randomness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from idc_local.answers import answer_span
from idc_local.evaluation.scoring import DEPTH, Passages, Ranking
from idc_local.interaction import Codes, WordValues, late_interactions
from idc_local.ports import Tokens
from idc_local.ranking import (
    BM25_B,
    BM25_K1,
    TOKEN_BY_TOKEN,
    RankingWeights,
    Signals,
    fuse,
    idf,
    lift_neighbours,
    likely_hits,
    segment_max,
    sentence_evidence,
    weigh_tokens,
)
from idc_local.spelling import KnownTerms, put_right
from idc_local.store.codec import expand
from idc_local.types import BoolArray, Chunk, FloatArray, IntArray

PAPER_K1, PAPER_B = 1.5, 0.75
"""BM25's saturation and length normalisation in the paper."""
RETRIEVERS = ("paper", "default", "fusion", "dense", "bm25")


@dataclass(frozen=True, slots=True)
class Retriever:
    """How chunks are ranked: the weights, and which lists offer candidates.

    plain: the query's own vector and the paper's BM25, in place of the parsed query and the index's BM25.
    """

    name: str
    weights: RankingWeights
    plain: bool = False
    from_vectors: bool = True
    from_terms: bool = True

    @property
    def heeds_language(self) -> bool:
        """True for what ``search`` does: published and single signals have the same weights in every language."""
        return self.from_vectors and not self.plain


def build_retriever(name: str, default: RankingWeights) -> Retriever:
    """The retriever of that name; ``default`` are the weights that ``search`` uses.

    ``paper`` is 0.6 · chunk vector + 0.4 · BM25 (arXiv 2602.14784, section 3.5), each min-max normalised over the
    union of the candidates. ``fusion`` is ``default`` without the comparison token by token.
    """
    plain = replace(default, dense=0.6, lexical=0.4, sentence=0.0, intent=0.0, tokens=0.0, neighbour=0.0)
    return {
        "paper": Retriever(name, plain, plain=True),
        "default": Retriever(name, default),
        "fusion": Retriever(name, replace(default, tokens=0.0)),
        "dense": Retriever(name, replace(plain, dense=1.0, lexical=0.0), plain=True, from_terms=False),
        "bm25": Retriever(name, replace(plain, dense=0.0, lexical=1.0), from_vectors=False),
    }[name]


@dataclass(frozen=True, slots=True)
class Asked:
    """The q questions of a set, ready to be asked.

    vectors: float32 [q, d], unit rows, of the parsed questions; whole: the same of the questions as they stand.
    terms: the lexical terms of each with their weights; words: those of its words that may be misspelt. scope: int64
    [q], the document that a question is asked of, -1 for the whole set. pieces: float32 [q, p], cosines with all
    sentences of the set. intents: float32 [q, m], cosines with all intents of the set. foreign: whether each is in a
    language that the embedder was not made for. asking: the clauses of each that ask; tokens: those of them. codes:
    uint8 [t, b], the tokens of all sentences (``tokencodes``); code_offsets: int64 [p + 1], where those of each begin.
    languages: those of the set.
    """

    vectors: FloatArray
    whole: FloatArray
    terms: tuple[Mapping[str, float], ...]
    words: tuple[Mapping[str, Sequence[str]], ...]
    scope: IntArray
    pieces: FloatArray
    intents: FloatArray
    foreign: tuple[bool, ...]
    asking: tuple[str, ...]
    tokens: tuple[Tokens, ...]
    codes: npt.NDArray[np.uint8]
    code_offsets: IntArray
    languages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChunkIndex:
    """The k chunks of a set under one segmentation.

    vectors: float32 [k, d], unit rows. terms: the lexical terms of each chunk. piece_rows: int64 [s], the columns of
    ``Asked.pieces`` that make up the chunks, chunk after chunk; piece_offsets: int64 [k + 1] into them; piece_spans:
    int64 [s, 2], their code points; piece_gaps: int64 [s], what is before each (``answers.sentence_gaps``);
    piece_terms: the lexical terms of each. heading_codes: uint8 [t, b], the tokens of the chunks' headings;
    heading_offsets: int64 [k + 1] into them. intent_rows, intent_offsets: the same for ``Asked.intents``.
    """

    chunks: tuple[Chunk, ...]
    passages: Passages
    vectors: FloatArray
    terms: tuple[tuple[str, ...], ...]
    piece_rows: IntArray
    piece_offsets: IntArray
    piece_spans: IntArray
    piece_gaps: IntArray
    piece_terms: tuple[tuple[str, ...], ...]
    heading_codes: npt.NDArray[np.uint8]
    heading_offsets: IntArray
    intent_rows: IntArray
    intent_offsets: IntArray


@dataclass(frozen=True, slots=True)
class Scores:
    """Signals of all questions and chunks, float32 [q, k]; ``intent`` is NaN where a chunk has none.

    plain_dense, plain_lexical: those of a plain retriever. pieces: float32 [q, s], evidence of the sentences of each
    chunk, as in ``ChunkIndex.piece_rows``.
    id_rank: int64 [k], the place of each chunk among the sorted ids. known: the terms of all chunks.
    """

    dense: FloatArray
    sentence: FloatArray
    intent: FloatArray
    lexical: FloatArray
    plain_dense: FloatArray
    plain_lexical: FloatArray
    pieces: FloatArray
    id_rank: IntArray
    known: KnownTerms


def score_all(asked: Asked, index: ChunkIndex, weights: RankingWeights) -> Scores:
    """Signals of every question with every chunk; ``weights``: those of ``search``."""
    ranks = np.empty(len(index.chunks), dtype=np.int64)
    ranks[sorted(range(len(index.chunks)), key=lambda row: index.chunks[row].id)] = np.arange(len(index.chunks))
    known = KnownTerms(Counter(chain.from_iterable(map(set, index.terms))), len(index.chunks))
    righted = [put_right(own, words, known) for own, words in zip(asked.terms, asked.words, strict=True)]
    terms = [one.terms for one in righted]
    unknown = np.array([one.unknown for one in righted], dtype=np.float32) * idf(
        len(index.chunks), np.zeros(1, np.int64)
    )
    vocabulary = {term: place for place, term in enumerate(dict.fromkeys(chain.from_iterable(terms)))}
    wanted, plain = _wanted(terms, vocabulary), _wanted(asked.terms, vocabulary)
    frequency = _frequencies(vocabulary, index.terms)
    lengths = np.array([len(text) for text in index.terms], dtype=np.float64)
    coverage = _coverage(wanted * _idf(frequency), unknown, vocabulary, index.piece_terms)
    pieces = sentence_evidence(asked.pieces[:, index.piece_rows], coverage, weights)
    intents = asked.intents[:, index.intent_rows]
    return Scores(
        dense=asked.vectors @ index.vectors.T,
        sentence=np.stack([segment_max(row, index.piece_offsets) for row in pieces]),
        intent=np.stack([segment_max(row, index.intent_offsets) for row in intents]),
        lexical=wanted @ bm25(frequency, lengths, BM25_K1, BM25_B),
        plain_dense=asked.whole @ index.vectors.T,
        plain_lexical=(plain > 0).astype(np.float32) @ bm25(frequency, lengths, PAPER_K1, PAPER_B),
        pieces=pieces,
        id_rank=ranks,
        known=known,
    )


def bm25(frequency: FloatArray, lengths: npt.NDArray[np.float64], k1: float, b: float) -> FloatArray:
    """BM25 of each term in each text, float32 [terms, texts] (Robertson et al.; Lucene's variant).

    idf(t) · tf / (tf + k1 · (1 - b + b · length / mean length)). frequency: tf, float32 [terms, texts]. lengths: terms
    of each text.
    """
    norm = k1 * (1.0 - b + b * lengths / max(float(lengths.mean()), 1e-9)) if lengths.size else lengths
    return np.asarray(_idf(frequency)[:, None] * frequency / (frequency + norm), dtype=np.float32)


def _idf(frequency: FloatArray) -> FloatArray:
    """float32 [terms]: ``ranking.idf``, but 0 for a term that no text has."""
    held = np.count_nonzero(frequency, axis=1)
    return np.where(held > 0, idf(frequency.shape[1], held), np.float32(0))


def _wanted(queries: Sequence[Mapping[str, float]], vocabulary: Mapping[str, int]) -> FloatArray:
    """Weight of each term in each query, float32 [queries, terms]."""
    wanted = np.zeros((len(queries), len(vocabulary)), dtype=np.float32)
    for row, query in enumerate(queries):
        wanted[row, [vocabulary[term] for term in query]] = list(query.values())
    return wanted


def _coverage(
    importance: FloatArray, unknown: FloatArray, vocabulary: Mapping[str, int], pieces: Sequence[tuple[str, ...]]
) -> FloatArray:
    """Share of each query's term weight that each sentence holds, float32 [queries, pieces].

    importance: idf · weight in the query, float32 [queries, terms]. unknown: float32 [queries], of what no text holds.
    """
    held = _frequencies(vocabulary, pieces) > 0
    total = importance.sum(axis=1, keepdims=True) + unknown[:, None]
    return np.asarray(importance @ held.astype(np.float32) / np.maximum(total, 1e-9), dtype=np.float32)


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
    values = WordValues(scores.known.idf, len(index.chunks), asked.languages)
    ranked = []
    for question in range(len(asked.terms)):
        rows, likely = _rank(question, asked, index, scores, retriever, values)
        best = tuple(_best_span(question, row, index, scores) for row in rows[:depth].tolist())
        ranked.append(Ranking(rows, best, likely))
    return ranked


def _rank(
    question: int, asked: Asked, index: ChunkIndex, scores: Scores, retriever: Retriever, values: WordValues
) -> tuple[IntArray, int]:
    """Candidates of one question, best first, and how many of them are likely to hold the answer."""
    scope = int(asked.scope[question])
    allowed = np.ones(len(index.chunks), dtype=np.bool_) if scope < 0 else index.passages.document == scope
    dense, lexical = _lists(question, scores, retriever)
    rows = _candidates(question, allowed, scores, retriever)
    signals = Signals(
        dense=dense[rows],
        sentence=scores.sentence[question, rows],
        intent=scores.intent[question, rows],
        lexical=lexical[rows],
    )
    foreign = asked.foreign[question] and retriever.heeds_language
    own = fuse(signals, retriever.weights, foreign=foreign)
    if retriever.weights.tokens > 0 and not foreign:
        near = _order(own, scores.id_rank[rows])[:TOKEN_BY_TOKEN]
        own = weigh_tokens(own, _token_by_token(question, asked, index, rows, near, values), retriever.weights)
    lifted = lift_neighbours(own, rows, index.passages.document[rows], retriever.weights)
    order = _order(lifted, scores.id_rank[rows])
    likely = likely_hits(np.round(lifted[order].astype(np.float64), 6).astype(np.float32))
    return rows[order], likely


def _token_by_token(
    question: int, asked: Asked, index: ChunkIndex, rows: IntArray, near: IntArray, values: WordValues
) -> FloatArray:
    """Late interaction of one question with the chunks at the positions ``near`` of ``rows``, float32 [len(rows)].

    NaN for the others.
    """
    found = np.full(len(rows), np.nan, dtype=np.float32)
    first, last = index.piece_offsets[rows[near]], index.piece_offsets[rows[near] + 1]
    pieces = index.piece_rows[expand(first, last - first)]
    codes, ends = _codes_at(asked.codes, asked.code_offsets, pieces)
    inside = codes, ends[np.concatenate([[0], np.cumsum(last - first)])]
    above = _codes_at(index.heading_codes, index.heading_offsets, rows[near])
    tokens = asked.tokens[question]
    found[near] = late_interactions(tokens.vectors, values.weights(tokens, asked.asking[question]), inside, above)
    return found


def _codes_at(codes: npt.NDArray[np.uint8], offsets: IntArray, places: IntArray) -> Codes:
    """The codes of the texts at ``places``; offsets: int64 [texts + 1], where those of each begin in ``codes``."""
    sizes = offsets[places + 1] - offsets[places]
    return codes[expand(offsets[places], sizes)], np.concatenate([[0], np.cumsum(sizes)])


def _order(fused: FloatArray, id_rank: IntArray) -> IntArray:
    """Positions, best first; ties, to 6 decimals, by id."""
    return np.lexsort((id_rank, -np.round(fused.astype(np.float64), 6)))


def _best_span(question: int, row: int, index: ChunkIndex, scores: Scores) -> tuple[int, int, int]:
    own = slice(int(index.piece_offsets[row]), int(index.piece_offsets[row + 1]))
    evidence, spans, gaps = scores.pieces[question, own], index.piece_spans[own], index.piece_gaps[own]
    span = answer_span(index.chunks[row], evidence, spans, gaps)
    return int(index.passages.document[row]), span.start, span.end


def _lists(question: int, scores: Scores, retriever: Retriever) -> tuple[FloatArray, FloatArray]:
    """Cosine and BM25 of one question with every chunk, as the retriever sees them, float32 [k] each."""
    if retriever.plain:
        return scores.plain_dense[question], scores.plain_lexical[question]
    return scores.dense[question], scores.lexical[question]


def _candidates(question: int, allowed: BoolArray, scores: Scores, retriever: Retriever) -> IntArray:
    """Rows to score exactly: the top of each list among the rows allowed, int64, ascending."""
    count = retriever.weights.candidates
    dense, lexical = _lists(question, scores, retriever)
    lists = []
    if retriever.from_vectors:
        lists.append(_top(dense, np.flatnonzero(allowed), count))
    if retriever.from_terms:
        lists.append(_top(lexical, np.flatnonzero(allowed & (lexical > 0)), count))
    if retriever.weights.intent > 0:
        asking = scores.intent[question]
        lists.append(_top(asking, np.flatnonzero(allowed & ~np.isnan(asking)), count))
    return np.unique(np.concatenate(lists)).astype(np.int64)


def _top(values: FloatArray, rows: IntArray, count: int) -> IntArray:
    """The ``count`` rows with the highest values, in any order."""
    if rows.size <= count:
        return rows
    return rows[np.argpartition(-values[rows], count - 1)[:count]]
