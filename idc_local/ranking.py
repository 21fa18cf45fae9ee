"""How signals become a ranking: dense and sentence cosines, the intent boost, BM25, their fusion, and the best span.

Pure functions over arrays of candidates, shared by search and evaluation. Layer 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from idc_local.types import FloatArray, IntArray, Span

LIKELY = 0.72
SPAN_SHARE = 0.4
"""Share of the best sentence's evidence that a sentence must exceed to lengthen the answer."""
TOKEN_BY_TOKEN = 20
"""Candidates that are compared with the query token by token: the best by all that costs less."""
BM25_K1, BM25_B = 1.2, 0.4
"""Saturation and length normalisation of BM25 in the index."""


@dataclass(frozen=True, slots=True)
class RankingWeights:
    """Weights of the signals.

    dense, lexical: the fusion of the two normalised scores. foreign: dense for a query in a language that the embedder
    was not made for; BM25 has the rest. sentence: share of the best sentence in the dense
    score, the rest is the chunk vector's. coverage: weight of the query's terms that a sentence holds, beside its
    cosine. intent: gain of the intent boost. tokens: share of the late interaction with the tokens of a chunk's
    sentences and its heading, the rest is the fusion; a foreign query has none of it. neighbour: how far a chunk is
    drawn up by a better one next to it, as a share of what it lacks. candidates: how many rows each list (chunks,
    intents, BM25) offers at least for exact scoring.
    """

    dense: float = 0.6
    lexical: float = 0.4
    foreign: float = 0.4
    sentence: float = 0.6
    coverage: float = 0.5
    intent: float = 0.0
    tokens: float = 0.5
    neighbour: float = 0.3
    candidates: int = 100


@dataclass(frozen=True, slots=True)
class Signals:
    """Raw signals of c candidates for one query, each float32 [c].

    dense: cosine with the chunk vector. sentence: evidence of the best sentence (``sentence_evidence``). intent:
    cosine with the best intent, NaN where the chunk has none. lexical: BM25, 0 where no term matches.
    """

    dense: FloatArray
    sentence: FloatArray
    intent: FloatArray
    lexical: FloatArray


def sentence_evidence(cosines: FloatArray, coverage: FloatArray, weights: RankingWeights) -> FloatArray:
    """Evidence of each sentence, float32 [s]: its cosine with the query + 0.5 · its coverage of the query's terms."""
    return np.asarray(cosines + np.float32(weights.coverage) * coverage, dtype=np.float32)


def term_coverage(
    hashes: npt.NDArray[np.uint32],
    offsets: IntArray,
    wanted: npt.NDArray[np.uint32],
    weights: FloatArray,
    unknown: float = 0.0,
) -> FloatArray:
    """Share of the query's term weight that each sentence holds, float32 [s], 0…1.

    hashes: uint32 [p], the distinct terms of the sentences one after the other; offsets: int64 [s + 1] into them.
    wanted, weights: hash and weight (idf · weight in the query) of the query's terms that the index knows; unknown:
    the same weight of what no chunk holds (``idf``), which no sentence can cover.
    """
    count = offsets.shape[0] - 1
    total = float(weights.sum()) + unknown
    if total <= 0.0 or not hashes.size:
        return np.zeros(count, dtype=np.float32)
    order = np.argsort(wanted, kind="stable")
    place = np.minimum(np.searchsorted(wanted[order], hashes), wanted.size - 1)
    gains = np.where(wanted[order][place] == hashes, weights[order][place], 0.0)
    sums = np.concatenate([[0.0], np.cumsum(gains, dtype=np.float64)])
    return np.asarray((sums[offsets[1:]] - sums[offsets[:-1]]) / total, dtype=np.float32)


def idf(chunks: int, held: IntArray) -> FloatArray:
    """Inverse document frequency, float32 [terms]: ln(1 + (n − df + 0.5) / (df + 0.5)), Kamphuis et al. 2020, "Lucene".

    held: int64 [terms], how many of the ``chunks`` hold each term; of one that none holds it is the highest.
    """
    return np.asarray(np.log(1 + (chunks - held + 0.5) / (held + 0.5)), dtype=np.float32)


def segment_max(values: FloatArray, offsets: IntArray) -> FloatArray:
    """Largest value of each run: values float32 [s], offsets int64 [r + 1] → float32 [r], NaN for an empty run."""
    result = np.full(offsets.shape[0] - 1, np.nan, dtype=np.float32)
    filled = np.flatnonzero(offsets[1:] > offsets[:-1])
    result[filled] = np.maximum.reduceat(values, offsets[:-1][filled])
    return result


def min_max(values: FloatArray) -> FloatArray:
    """Values scaled to 0…1 over the candidates; all equal gives 1 where positive, else 0."""
    if not values.size:
        return values
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-12:
        return np.full_like(values, 1.0 if high > 0 else 0.0)
    return (values - np.float32(low)) / np.float32(high - low)


def dense_score(signals: Signals, weights: RankingWeights) -> FloatArray:
    """Dense score float32 [c]: (1 − s)·chunk + s·sentence + γ·max(0, intent − mix).

    The boost can only help: a chunk without intents, or with unfitting ones, keeps its mix.
    """
    mix = (1.0 - weights.sentence) * signals.dense + weights.sentence * signals.sentence
    gain = np.where(np.isnan(signals.intent), 0.0, np.maximum(0.0, signals.intent - mix))
    return (mix + weights.intent * gain).astype(np.float32)


def fuse(signals: Signals, weights: RankingWeights, *, foreign: bool = False) -> FloatArray:
    """Fused score float32 [c]: weighted sum of dense score and BM25, each min-max normalised over the candidates.

    foreign: the query is in a language that the embedder was not made for.
    """
    dense, lexical = (weights.foreign, 1.0 - weights.foreign) if foreign else (weights.dense, weights.lexical)
    return dense * min_max(dense_score(signals, weights)) + lexical * min_max(signals.lexical)


def weigh_tokens(fused: FloatArray, interactions: FloatArray, weights: RankingWeights) -> FloatArray:
    """Fused scores float32 [c] with the late interactions, float32 [c], that are known, NaN where they are not.

    Those are min-max normalised; one that is not known counts as the lowest. Where none is known nothing changes.
    """
    known = ~np.isnan(interactions)
    if not known.any():
        return fused
    scaled = np.zeros_like(fused)
    scaled[known] = min_max(interactions[known])
    share = np.float32(weights.tokens)
    return np.asarray((1 - share) * fused + share * scaled, dtype=np.float32)


def lift_neighbours(fused: FloatArray, rows: IntArray, documents: IntArray, weights: RankingWeights) -> FloatArray:
    """Scores after each chunk was drawn up by a better chunk next to it, float32 [c].

    f'(c) = f(c) + λ · max(0, max(f(chunk before), f(chunk after)) − f(c)). The best chunk stays the best. rows: int64
    [c], ascending; documents: int64 [c]; the neighbours of a chunk are the rows next to its own in its document.
    """
    next_to = (np.diff(rows) == 1) & (np.diff(documents) == 0)
    best = np.array(fused, dtype=np.float32)
    best[1:] = np.where(next_to, np.maximum(best[1:], fused[:-1]), best[1:])
    best[:-1] = np.where(next_to, np.maximum(best[:-1], fused[1:]), best[:-1])
    return np.asarray(fused + np.float32(weights.neighbour) * (best - fused), dtype=np.float32)


def top_k(scores: FloatArray, ids: Sequence[str], k: int) -> IntArray:
    """Positions of the k best scores, best first; ties, to 6 decimals, by ascending id."""
    rounded = np.round(scores.astype(np.float64), 6)
    # Ids are only looked at of those that may be among the best.
    likely = rounded >= np.partition(rounded, -k)[-k] if 0 < k < rounded.size else np.ones(rounded.size, dtype=np.bool_)
    order = sorted(np.flatnonzero(likely).tolist(), key=lambda position: (-rounded[position], ids[position]))
    return np.asarray(order[:k], dtype=np.int64)


def likely_hits(fused: FloatArray) -> int:
    """How many of the hits, fused scores float32 [k] in descending order, are likely to hold the answer.

    Those that reach 0.72 of the first one's score: of the rest, what stands out in them is mostly no answer.
    """
    return int(np.count_nonzero(np.asarray(fused) >= LIKELY * fused[0])) if len(fused) else 0


def best_run(similarities: FloatArray, threshold: float) -> Span:
    """Half-open run of sentences with the largest sum of (similarity − threshold): Kadane's algorithm.

    similarities: float32 [s], s ≥ 1. Where no sentence exceeds the threshold the run is the best sentence alone;
    of equal runs the one that ends first, and of those the shortest, wins.

    >>> best_run(np.array([0.1, 0.5, 0.4, 0.1, 0.3], dtype=np.float32), 0.3)
    Span(start=1, end=3)
    """
    best = (-np.inf, 0, 1)
    total, begin = 0.0, 0
    for position, gain in enumerate((similarities.astype(np.float64) - threshold).tolist()):
        if total <= 0.0:
            total, begin = 0.0, position
        total += gain
        if total > best[0] + 1e-12:
            best = (total, begin, position + 1)
    return Span(best[1], best[2])
