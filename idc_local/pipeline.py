"""The way of one document: text → sentences → vectors → intents → segments → chunks.

Layer 3, shared by ``index``, ``chunk`` and ``intents``: takes ports, never prints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol, TypeVar

import numpy as np

from idc_local.chunks import build_chunks, chunk_terms, intent_chunks, mean_vectors, sentence_terms
from idc_local.embedding import CachedEmbedder, VectorCache
from idc_local.fingerprint import digest, sha256_hex
from idc_local.indexed import Headings, IndexedDocument
from idc_local.language import detect_language
from idc_local.ports import Progress, TextGenerator, TokenCounter
from idc_local.prediction import IntentCache, Predicted, PredictionPorts, PredictionRequest, predict_intents
from idc_local.segment import StrategyOptions
from idc_local.sentences import split_sentences
from idc_local.strategies import NEEDS_VECTORS, run_strategy
from idc_local.types import (
    Chunk,
    Document,
    HalfArray,
    Limits,
    Segmentation,
    SegmentInput,
    Sentences,
)

PIPELINE_VERSION = 8
"""Raised whenever the same text and settings would give other sentences, intents, chunks or terms than before."""

INTENT_MODES = ("model", "heuristic", "off")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ChunkingOptions:
    """How documents are cut: the strategy, its objective, where intents come from, and what a chunk may hold."""

    strategy: str = "intent"
    objective: str = "calibrated"
    intents: str = "model"
    limits: Limits = Limits()
    explain: bool = False

    @property
    def needs_vectors(self) -> bool:
        """True where the cuts depend on what sentences mean."""
        return self.strategy in NEEDS_VECTORS


class PipelineCache(VectorCache, IntentCache, Protocol):
    """Keeps vectors and predicted questions by the keys of what they were made from."""


@dataclass(frozen=True, slots=True)
class PipelinePorts:
    """What a document is processed with. ``generator`` is called when the first uncached window needs it.

    The fingerprints name the models without loading them; ``generator_languages`` are those it writes well.
    """

    counter: TokenCounter
    embedder: CachedEmbedder
    embedder_fingerprint: str
    generator: Callable[[], TextGenerator]
    generator_fingerprint: str
    generator_languages: tuple[str, ...]
    cache: IntentCache
    prompt: str
    progress: Progress
    clock: Callable[[], float]


@dataclass(frozen=True, slots=True)
class CutDocument:
    """A document as the chunkers see it: sentences, and intents where the options ask for them."""

    document: Document
    language: str
    sentences: Sentences
    vectors: HalfArray
    predicted: Predicted
    segmentation: Segmentation
    chunks: tuple[Chunk, ...]


class Pipeline:
    """Processes documents one at a time and keeps the seconds of each stage."""

    def __init__(self, options: ChunkingOptions, ports: PipelinePorts) -> None:
        self._options = options
        self._ports = ports
        self.seconds: dict[str, float] = {}
        self.windows_generated = 0

    def recipe(self, intents: str) -> str:
        """Fingerprint of everything besides the text that shapes an indexed document."""
        modelled = intents == "model"
        return digest(
            {
                "version": PIPELINE_VERSION,
                "strategy": self._options.strategy,
                "objective": self._options.objective,
                "limits": asdict(self._options.limits),
                "intents": intents,
                "generator": self._ports.generator_fingerprint if modelled else "",
                "prompt": sha256_hex(self._ports.prompt.encode()) if modelled else "",
                "embedder": self._ports.embedder_fingerprint,
            }
        )

    def index(self, document: Document, intents: str) -> IndexedDocument:
        """Everything that an index stores of the document; ``intents`` is one of INTENT_MODES."""
        cut = self.cut(document, intents, embed=True)

        def token_codes(first: int, last: int) -> list[bytes]:
            texts = sentence_texts(document, cut.sentences, slice(first, last))
            return self._ports.embedder.token_codes(texts, cut.language)

        words = self._timed("terms", lambda: sentence_terms(document, cut.sentences, cut.language))
        owner = intent_chunks(cut.sentences, cut.segmentation.ranges, cut.predicted.intents)
        return IndexedDocument(
            document=document,
            language=cut.language,
            sentences=cut.sentences,
            ranges=cut.segmentation.ranges,
            chunks=cut.chunks,
            intents=cut.predicted.intents,
            intent_chunk=owner,
            sentence_vectors=cut.vectors,
            chunk_vectors=mean_vectors(cut.vectors, cut.segmentation.ranges),
            intent_vectors=cut.predicted.vectors,
            terms=chunk_terms(cut.chunks, cut.segmentation.ranges, words, cut.language),
            sentence_terms=words,
            recipe=self.recipe(intents),
            token_codes=token_codes,
            headings=self._headings(cut),
        )

    def _headings(self, cut: CutDocument) -> Headings:
        paths = list(dict.fromkeys(chunk.heading for chunk in cut.chunks if chunk.heading))
        embedder = self._ports.embedder
        vectors, codes = self._timed("embedding", lambda: embedder.encode_headings(paths, cut.language))
        places = {path: place for place, path in enumerate(paths)}
        return Headings(
            vectors, codes, np.array([places.get(chunk.heading, -1) for chunk in cut.chunks], dtype=np.int64)
        )

    def cut(self, document: Document, intents: str, *, embed: bool) -> CutDocument:
        """The document's sentences, intents and chunks; without ``embed`` no model is used and there are no vectors."""
        language = detect_language(document.text)
        sentences = self._timed("sentences", lambda: self._split(document, language))
        vectors = self._timed("embedding", lambda: self._embed(document, sentences, language, embed))
        predicted = self._timed("intents", lambda: self._predict(document, sentences, vectors, language, intents))
        segmentation = self._timed("segmentation", lambda: self._segment(document, sentences, vectors, predicted))
        chunks = build_chunks(document, sentences, segmentation, predicted.intents)
        self.windows_generated += predicted.windows_generated
        return CutDocument(document, language, sentences, vectors, predicted, segmentation, chunks)

    def _split(self, document: Document, language: str) -> Sentences:
        return split_sentences(document, self._ports.counter, self._options.limits, language)

    def _embed(self, document: Document, sentences: Sentences, language: str, embed: bool) -> HalfArray:
        if not embed:
            return np.zeros((len(sentences), 0), dtype=np.float16)
        return self._ports.embedder.encode_documents(sentence_texts(document, sentences), language)

    def _predict(
        self, document: Document, sentences: Sentences, vectors: HalfArray, language: str, intents: str
    ) -> Predicted:
        ports = self._ports
        request = PredictionRequest(
            document=document,
            sentences=sentences,
            sentence_vectors=vectors,
            language=language,
            mode=intents,
            prompt=ports.prompt,
        )
        return predict_intents(
            request,
            PredictionPorts(
                generator=ports.generator if intents == "model" else None,
                generator_fingerprint=ports.generator_fingerprint,
                generator_languages=ports.generator_languages,
                embed=ports.embedder.encode_queries,
                cache=ports.cache,
                progress=ports.progress,
            ),
        )

    def _segment(
        self, document: Document, sentences: Sentences, vectors: HalfArray, predicted: Predicted
    ) -> Segmentation:
        data = SegmentInput(
            sentences=sentences,
            vectors=vectors,
            intents=predicted.vectors,
            intent_windows=predicted.windows,
            intent_evidence=predicted.evidence,
        )
        options = StrategyOptions(objective=self._options.objective, explain=self._options.explain)
        return run_strategy(self._options.strategy, data, document.text, self._options.limits, options)

    def _timed(self, stage: str, work: Callable[[], T]) -> T:
        began = self._ports.clock()
        result = work()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + self._ports.clock() - began
        return result


def sentence_texts(document: Document, sentences: Sentences, part: slice = slice(None)) -> Sequence[str]:
    """What is embedded of each sentence (of ``part`` of them): its text without white space at the ends."""
    bounds = zip(sentences.starts[part].tolist(), sentences.ends[part].tolist(), strict=True)
    return [document.text[start:end].strip() for start, end in bounds]
