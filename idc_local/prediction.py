"""Predicting the questions that a document answers: windows, generation through the cache, filters.

Layer 3: takes ports, never prints. A window that was asked about once is never asked about again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from idc_local.chunks import mean_vectors
from idc_local.fingerprint import digest
from idc_local.intents import (
    Prompt,
    choose_windows,
    heuristic_intents,
    parse_prompt,
    parse_reply,
    plan_windows,
    question_budget,
    window_prompt,
)
from idc_local.ports import GenerationRequest, Progress, TextGenerator
from idc_local.types import Document, FloatArray, IntArray, Intent, Sentences, Span, Window

BATCH = 8
"""Windows generated together; a fixed partition of a document's windows, so that a repeated run makes equal batches."""
MAX_TOKENS = 72
STOP = "\n\n"
DUPLICATE = 0.85
"""Cosine above which two questions are one (the paper's value)."""
ROUND_TRIP = 3
"""A question stays where its own window is among so many nearest windows of the document."""


class IntentCache(Protocol):
    """Keeps a generator's replies by the key of window, model and prompt."""

    def intents(self, keys: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Known replies by key."""
        ...

    def put_intents(self, replies: Mapping[str, Sequence[str]]) -> None:
        """Keeps replies, at once."""
        ...


@dataclass(frozen=True, slots=True)
class PredictionRequest:
    """A document to predict questions for.

    sentence_vectors: float32 [n, d], unit rows. mode: ``model``, ``heuristic`` or ``off``. prompt: the template.
    """

    document: Document
    sentences: Sentences
    sentence_vectors: FloatArray
    language: str
    mode: str
    prompt: str


@dataclass(frozen=True, slots=True)
class PredictionPorts:
    """What predicting works with. ``generator`` is called when a window is not cached; None: heuristics only.

    embed: texts of intents → float32 [m, d], unit rows. generator_languages: empty where the model knows many.
    """

    generator: Callable[[], TextGenerator] | None
    generator_fingerprint: str
    generator_languages: tuple[str, ...]
    embed: Callable[[Sequence[str]], FloatArray]
    cache: IntentCache
    progress: Progress


@dataclass(frozen=True, slots=True)
class Predicted:
    """The intents of a document in order of place.

    vectors: float32 [m, d], unit rows. windows: int64 [m, 2], half-open sentence ranges of their sources. evidence:
    int64 [m], the sentence of the window nearest to the intent. dropped: how many each filter took out.
    """

    intents: tuple[Intent, ...]
    vectors: FloatArray
    windows: IntArray
    evidence: IntArray
    windows_generated: int = 0
    windows_cached: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Questions:
    """Questions before the filters: text and the window that each came from."""

    texts: list[str]
    windows: list[Window]
    origin: str
    generated: int = 0
    cached: int = 0


def predict_intents(request: PredictionRequest, ports: PredictionPorts) -> Predicted:
    """The questions that the document answers, each with its source window and evidence sentence."""
    dimension = request.sentence_vectors.shape[1]
    if request.mode == "off" or not len(request.sentences):
        return _nothing(dimension)
    windows = plan_windows(request.document, request.sentences)
    questions = _ask(request, ports, windows)
    if not questions.texts:
        return _nothing(dimension, questions)
    vectors = ports.embed(questions.texts)
    return _filtered(request, questions, windows, vectors)


def _nothing(dimension: int, questions: _Questions | None = None) -> Predicted:
    return Predicted(
        intents=(),
        vectors=np.zeros((0, dimension), dtype=np.float32),
        windows=np.zeros((0, 2), dtype=np.int64),
        evidence=np.zeros(0, dtype=np.int64),
        windows_generated=questions.generated if questions else 0,
        windows_cached=questions.cached if questions else 0,
    )


def _ask(request: PredictionRequest, ports: PredictionPorts, windows: Sequence[Window]) -> _Questions:
    """Questions of the model, or of the heuristics where there is no model for the document's language."""
    speaks = not ports.generator_languages or request.language in ports.generator_languages
    if request.mode == "model" and ports.generator is not None and speaks:
        return _generate(request, ports, ports.generator, windows)
    pairs = heuristic_intents(request.document, request.sentences, windows, request.language)
    pairs = pairs[: question_budget(len(request.sentences))]
    return _Questions([text for _, text in pairs], [windows[number] for number, _ in pairs], "heuristic")


def _generate(
    request: PredictionRequest,
    ports: PredictionPorts,
    generator: Callable[[], TextGenerator],
    windows: Sequence[Window],
) -> _Questions:
    chosen = choose_windows(windows, question_budget(len(request.sentences)))
    prompt = parse_prompt(request.prompt)
    settings = [ports.generator_fingerprint, request.prompt, MAX_TOKENS]
    keys = [digest([window.key, *settings]) for window in chosen]
    known = dict(ports.cache.intents(keys))
    cached = len(known)
    for start in range(0, len(chosen), BATCH):
        batch = range(start, min(start + BATCH, len(chosen)))
        missing = [place for place in batch if keys[place] not in known]
        if missing:
            fresh = _complete(request, generator(), prompt, [(keys[place], chosen[place]) for place in missing])
            ports.cache.put_intents(fresh)
            known.update(fresh)
        ports.progress.advance(0, f"{batch.stop}/{len(chosen)} windows asked about")
    asked = [(text, window) for key, window in zip(keys, chosen, strict=True) for text in known[key]]
    return _Questions(
        [text for text, _ in asked], [window for _, window in asked], "model", len(chosen) - cached, cached
    )


def _complete(
    request: PredictionRequest, generator: TextGenerator, prompt: Prompt, windows: Sequence[tuple[str, Window]]
) -> dict[str, tuple[str, ...]]:
    """Parsed replies by key. The seed comes from the key, so that a window always gets the same questions."""
    requests = [
        GenerationRequest(
            window_prompt(request.document, request.sentences, window, prompt), int(key[:8], 16) & 0x7FFFFFFF
        )
        for key, window in windows
    ]
    replies = generator.generate(prompt.prefix, requests, max_tokens=MAX_TOKENS, stop=STOP)
    return {key: parse_reply(reply, prompt.examples) for (key, _), reply in zip(windows, replies, strict=True)}


def _filtered(
    request: PredictionRequest, questions: _Questions, windows: Sequence[Window], vectors: FloatArray
) -> Predicted:
    """Questions that lead back to their own window, without duplicates, the best of them within the budget."""
    place_of = {window: number for number, window in enumerate(windows)}
    own = np.array([place_of[window] for window in questions.windows], dtype=np.int64)
    evidence, scores = _evidence(request.sentence_vectors, questions.windows, vectors)
    ranks = _round_trip_ranks(request.sentence_vectors, windows, own, vectors)
    dropped: Counter[str] = Counter()
    kept: list[int] = []
    for place in np.lexsort((np.arange(len(scores)), -scores)).tolist():
        if ranks[place] > ROUND_TRIP:
            dropped["round trip"] += 1
        elif kept and float((vectors[kept] @ vectors[place]).max()) > DUPLICATE:
            dropped["duplicate"] += 1
        elif len(kept) >= question_budget(len(request.sentences)):
            dropped["over budget"] += 1
        else:
            kept.append(place)
    kept.sort(key=lambda place: (questions.windows[place].first, place))
    return Predicted(
        intents=tuple(_intent(request, questions, place, int(evidence[place]), scores[place]) for place in kept),
        vectors=vectors[kept],
        windows=np.array(
            [[questions.windows[place].first, questions.windows[place].last] for place in kept], dtype=np.int64
        ).reshape(-1, 2),
        evidence=evidence[kept],
        windows_generated=questions.generated,
        windows_cached=questions.cached,
        dropped=dict(dropped),
    )


def _evidence(
    sentence_vectors: FloatArray, sources: Sequence[Window], vectors: FloatArray
) -> tuple[IntArray, FloatArray]:
    """For each question the nearest sentence of its window, int64 [m], and its cosine, float32 [m]."""
    evidence = np.zeros(len(sources), dtype=np.int64)
    scores = np.zeros(len(sources), dtype=np.float32)
    for number, (window, vector) in enumerate(zip(sources, vectors, strict=True)):
        cosines = sentence_vectors[window.first : window.last] @ vector
        best = int(np.argmax(cosines))
        evidence[number], scores[number] = window.first + best, cosines[best]
    return evidence, scores


def _round_trip_ranks(
    sentence_vectors: FloatArray, windows: Sequence[Window], own: IntArray, vectors: FloatArray
) -> IntArray:
    """Rank, from 1, of each question's own window among the document's window means, int64 [m]."""
    ranges = np.array([[window.first, window.last] for window in windows], dtype=np.int64)
    cosines = vectors @ mean_vectors(sentence_vectors, ranges).T
    mine = cosines[np.arange(len(own)), own]
    return np.asarray(1 + np.sum(cosines > mine[:, None], axis=1), dtype=np.int64)


def _intent(request: PredictionRequest, questions: _Questions, place: int, evidence: int, score: float) -> Intent:
    sentences, window = request.sentences, questions.windows[place]
    return Intent(
        text=questions.texts[place],
        start=window.start,
        end=window.end,
        evidence=Span(int(sentences.starts[evidence]), int(sentences.ends[evidence])),
        score=round(float(score), 6),
        origin=questions.origin,
    )
