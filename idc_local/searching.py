"""Answering queries from one generation of an index. A use case: takes ports, returns hits, never prints.

Candidates come from three lists (chunk vectors, intent vectors, BM25), each filtered before its top rows are taken;
every candidate is then scored exactly on all signals, its sentences included, and the scores are fused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import Protocol

import numpy as np

from idc_local.answers import answer_span, on_lines
from idc_local.filters import Filter, parse_filter, source_passes
from idc_local.interaction import WordValues, late_interactions
from idc_local.ports import Tokens
from idc_local.queries import ParsedQuery, is_foreign, parse_query, plain_words, query_vector
from idc_local.ranking import (
    TOKEN_BY_TOKEN,
    RankingWeights,
    Signals,
    fuse,
    idf,
    lift_neighbours,
    likely_hits,
    segment_max,
    sentence_evidence,
    term_coverage,
    top_k,
    weigh_tokens,
)
from idc_local.spelling import Righted, is_near, put_right
from idc_local.store import Snapshot
from idc_local.terms import folded, is_lone, query_terms, term_hashes, word_pattern
from idc_local.types import AnswerSpan, BoolArray, Chunk, Explain, FloatArray, Hit, IntArray, Query

_READ_AT_ONCE = 4096
"""Passages whose texts are in memory together while a filter reads them."""


class QueryModel(Protocol):
    """What a search needs of an embedder."""

    def encode_queries(self, texts: Sequence[str]) -> FloatArray:
        """float32 [len(texts), d], unit rows."""
        ...

    def query_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each query."""
        ...


class LazyQueries:
    """A query model that is loaded with the first query."""

    def __init__(self, load: Callable[[], QueryModel]) -> None:
        self._load = load

    @cached_property
    def _model(self) -> QueryModel:
        return self._load()

    def encode_queries(self, texts: Sequence[str]) -> FloatArray:
        """float32 [len(texts), d], unit rows."""
        return self._model.encode_queries(texts)

    def query_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each query."""
        return self._model.query_tokens(texts)


class Searcher:
    """Searches one snapshot. Not thread-safe; the snapshot's owner closes it.

    known: languages that the embedder was made for, none where that is not told.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        encoder: QueryModel,
        weights: RankingWeights,
        known: Sequence[str] = (),
    ) -> None:
        self._known = known
        self._snapshot = snapshot
        self._encoder = encoder
        self._weights = weights
        self._languages = sorted(set(snapshot.languages))
        self._values = WordValues(snapshot.idf, snapshot.size, self._languages)
        self._sources = snapshot.sources()
        self._source_lines = lru_cache(maxsize=4)(snapshot.source_lines)
        # Who has searched asks next what was misspelt.
        self._read = lru_cache(maxsize=1)(self._parsed)

    @property
    def generation(self) -> int:
        """The generation that every answer comes from."""
        return self._snapshot.generation

    @property
    def size(self) -> int:
        """Chunks in the index."""
        return self._snapshot.size

    def search(self, query: Query, k: int) -> list[Hit]:
        """The ``k`` best chunks for ``query``, best first; fewer where fewer pass its filter.

        Raises:
            UsageError: the filter expression is not understood.
        """
        allowed = self._allowed(parse_filter(query.filter))
        if k <= 0 or not self.size or (allowed is not None and not allowed.any()):
            return []
        parsed, righted = self._read(query.text)
        terms = righted.terms
        vector = query_vector(parsed, self._encoder.encode_queries)
        rows = self._candidates(vector, terms, allowed, max(self._weights.candidates, k))
        unknown = righted.unknown * float(idf(self.size, np.zeros(1, dtype=np.int64))[0])
        signals, evidence, offsets = self._signals(vector, terms, unknown, rows)
        documents = self._snapshot.documents_of(rows)
        foreign = is_foreign(query.text, self._languages, self._known)
        fused = fuse(signals, self._weights, foreign=foreign)
        ids = self._snapshot.ids_of(rows)
        near = top_k(fused, ids, 0 if foreign else TOKEN_BY_TOKEN)
        tokens = self._token_by_token(parsed.asking, near, rows, np.diff(offsets))
        fused = lift_neighbours(weigh_tokens(fused, tokens, self._weights), rows, documents, self._weights)
        order = top_k(fused, ids, k)
        likely = likely_hits(fused[order])
        chunks = self._snapshot.chunks(rows[order].tolist())
        hits = []
        for rank, (position, chunk) in enumerate(zip(order.tolist(), chunks, strict=True), start=1):
            own = evidence[offsets[position] : offsets[position + 1]]
            row = int(rows[position])
            spans, gaps = self._snapshot.sentence_spans(row), self._snapshot.sentence_gaps(row)
            span = answer_span(chunk, own, spans, gaps, likely=rank <= likely)
            span = on_lines(span, chunk, self._snapshot.media_type_of(row), partial(self._line_at, chunk.document_id))
            explain = _explain(signals, tokens, fused, position)
            hits.append(self._hit(chunk, rank, explain, span))
        return hits

    def _line_at(self, document_id: str, offset: int) -> int:
        """As ``Document.line_at``, but nothing else of the document is decoded: some have millions of lines."""
        lines = self._source_lines(document_id)
        place = int(np.searchsorted(lines[:, 0], offset, side="right")) - 1
        return int(lines[place, 1]) if place >= 0 else 1

    def misspelt(self, text: str) -> dict[str, str]:
        """Words of a query that no passage holds, each with the nearest known one, which is looked for as well."""
        right = self._read(text)[1].right if self.size else {}
        return {word: self._as_written(term, word) for word, term in right.items()}

    def _parsed(self, text: str) -> tuple[ParsedQuery, Righted]:
        """A query's clauses, and its terms as the index knows them."""
        parsed = parse_query(text, self._languages)
        return parsed, put_right(parsed.terms, parsed.words, self._snapshot)

    def _as_written(self, term: str, near: str) -> str:
        """A word of a passage that has ``term``, best one that is ``near``; the term where there is none by itself."""
        rows = self._snapshot.lexical({term: 1.0}, 1, None)[1].tolist()
        texts = [f"{chunk.heading}\n{chunk.text}" for chunk in self._snapshot.chunks(rows)]
        words = [word for text in texts for word in plain_words(text) if term in query_terms(word, self._languages)]
        return min(words, key=lambda word: not is_near(near, word), default=term)

    def _token_by_token(self, asking: str, positions: IntArray, rows: IntArray, sentences: IntArray) -> FloatArray:
        """Late interaction of a query's asking clauses with the chunks at ``positions`` of ``rows``, float32 [c].

        NaN for the others, and for all where a document that was stored without tokens is among them: it would lose
        to any other. sentences: int64 [c], how many each of the rows has.
        """
        found = np.full(len(rows), np.nan, dtype=np.float32)
        if self._weights.tokens > 0 and positions.size:
            codes, offsets = self._snapshot.sentence_tokens(rows[positions])
            inside = codes, offsets[np.concatenate([[0], np.cumsum(sentences[positions])])]
            above = self._snapshot.heading_tokens(rows[positions])
            [question] = self._encoder.query_tokens([asking])
            weights = self._values.weights(question, asking)
            own = late_interactions(question.vectors, weights, inside, above)
            if not self._has_terms(rows[positions[np.isnan(own)]]):
                found[positions] = own
        return found

    def _has_terms(self, rows: IntArray) -> bool:
        """True where any of the rows has terms: words that carry meaning, whose tokens ``index`` keeps."""
        return bool(rows.size and self._snapshot.sentence_terms(rows)[0].size)

    def _hit(self, chunk: Chunk, rank: int, explain: Explain, span: AnswerSpan) -> Hit:
        source = self._sources.get(chunk.path)
        others = tuple(path for path in self._snapshot.paths_of_document(chunk.document_id) if path != chunk.path)
        return Hit(chunk, rank, explain.fused, span, explain, source.sha256 if source else "", others)

    def _candidates(
        self, vector: FloatArray, terms: Mapping[str, float], allowed: BoolArray | None, count: int
    ) -> IntArray:
        lists = [self._snapshot.dense(vector, count, allowed)[1], self._snapshot.lexical(terms, count, allowed)[1]]
        if self._weights.intent > 0:
            lists.append(self._snapshot.intent(vector, count, allowed)[1])
        return np.unique(np.concatenate(lists)).astype(np.int64)

    def _signals(
        self, vector: FloatArray, terms: Mapping[str, float], unknown: float, rows: IntArray
    ) -> tuple[Signals, FloatArray, IntArray]:
        """Signals of ``rows``, and the evidence of all their sentences with the offsets of each row.

        unknown: idf · weight of the words of the query that no chunk holds.
        """
        sentences, offsets = self._snapshot.sentence_vectors(rows)
        hashes, places = self._snapshot.sentence_terms(rows)
        importance = self._snapshot.idf(list(terms)) * np.fromiter(terms.values(), np.float32, len(terms))
        coverage = term_coverage(hashes, places, term_hashes(terms), importance, unknown)
        evidence = sentence_evidence(sentences @ vector, coverage, self._weights)
        intents, intent_offsets = self._snapshot.intent_vectors(rows)
        signals = Signals(
            dense=self._snapshot.chunk_vectors(rows) @ vector,
            sentence=segment_max(evidence, offsets),
            intent=segment_max(intents @ vector, intent_offsets),
            lexical=self._snapshot.lexical_scores(terms, rows),
        )
        return signals, evidence, offsets

    def _allowed(self, wanted: Filter) -> BoolArray | None:
        """Rows that pass, bool [size]; None where everything does."""
        if wanted.empty:
            return None
        allowed = self._from_sources(wanted)
        read: list[tuple[Callable[[str], object], bool]] = []
        for words, holds in ((wanted.words, True), (wanted.not_words, False)):
            for word in dict.fromkeys(words):
                held = self._holding(word)
                if held is None:
                    read.append((word_pattern(word).search, holds))
                else:
                    allowed &= held if holds else ~held
        for phrases, holds in ((wanted.phrases, True), (wanted.not_phrases, False)):
            read.extend((partial(_holds, folded(phrase)), holds) for phrase in dict.fromkeys(phrases))
        return self._reading(allowed, read) if read else allowed

    def _reading(self, allowed: BoolArray, conditions: Sequence[tuple[Callable[[str], object], bool]]) -> BoolArray:
        """Those of the rows whose texts meet all conditions, bool [size]: what finds something, and whether it may."""
        rows = np.flatnonzero(allowed).tolist()
        for first in range(0, len(rows), _READ_AT_ONCE):
            part = rows[first : first + _READ_AT_ONCE]
            for row, chunk in zip(part, self._snapshot.chunks(part), strict=True):
                text = folded(chunk.text)
                allowed[row] = all(bool(find(text)) == holds for find, holds in conditions)
        return allowed

    def _from_sources(self, wanted: Filter) -> BoolArray:
        """Rows of documents whose paths and type pass, bool [size]."""
        snapshot = self._snapshot
        documents = snapshot.documents_of(np.arange(self.size, dtype=np.int64))
        _, firsts, own = np.unique(documents, return_index=True, return_inverse=True)
        types = snapshot.media_types
        passing = [source_passes(snapshot.paths_of(row), types[row], wanted) for row in firsts.tolist()]
        return np.array(passing, dtype=np.bool_)[own]

    def _holding(self, word: str) -> BoolArray | None:
        """Rows that hold all parts of ``word`` in one of the index's languages, bool [size].

        None for what texts must be read for: a function word is no term, nor is one character of several.
        """
        terms = [query_terms(word, [language]) for language in self._languages]
        if not all(terms) or any(is_lone(term) for own in terms for term in own):
            return None
        found = np.zeros(self.size, dtype=np.bool_)
        for own in terms:
            found |= self._holding_terms(own)
        return found

    def _holding_terms(self, terms: Sequence[str]) -> BoolArray:
        held = np.ones(self.size, dtype=np.bool_)
        for term in terms:
            own = np.zeros(self.size, dtype=np.bool_)
            own[self._snapshot.lexical({term: 1.0}, self.size, None)[1]] = True
            held &= own
        return held


def _holds(phrase: str, text: str) -> bool:
    return phrase in text


def _explain(signals: Signals, tokens: FloatArray, fused: FloatArray, position: int) -> Explain:
    intent, token = float(signals.intent[position]), float(tokens[position])
    return Explain(
        dense=round(float(signals.dense[position]), 6),
        sentence=round(float(signals.sentence[position]), 6),
        intent=None if np.isnan(intent) else round(intent, 6),
        bm25=round(float(signals.lexical[position]), 6),
        tokens=None if np.isnan(token) else round(token, 6),
        fused=round(float(fused[position]), 6),
    )
