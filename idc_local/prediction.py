"""Predicting the questions that a document answers: sources, generation through the cache, filters.

Layer 3: takes ports, never prints. A sentence that was asked about once is never asked about again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from idc_local.fingerprint import digest
from idc_local.grounding import GROUNDED, LANGUAGES, grounded_share, open_terms
from idc_local.heuristics import heuristic_intents
from idc_local.intents import (
    choose_sources,
    heading_path,
    parse_prompt,
    parse_reply,
    plan_windows,
    question_budget,
    source_prompt,
)
from idc_local.ports import Completion, GenerationRequest, Progress, TextGenerator
from idc_local.types import BoolArray, Document, FloatArray, IntArray, Intent, Sentences, Span, Vectors, Window

BATCH = 48
"""Most sentences asked about together; a fixed partition of a document, so that a repeated run makes equal batches."""
MAX_TOKENS = 32
STOP = "\n"
GENERATION = 3
"""Raised whenever the same model and prompt would be sampled differently."""
DUPLICATE = 0.85
"""Cosine above which two questions are one (the paper's value)."""
OPEN_WEIGHT, CONFIDENCE_WEIGHT = 0.1, 0.33
"""What a word left for the answer, and the model's confidence, are worth beside the cosine of question and sentence,
when the best are kept: each counts about as much for two questions of a document."""


class IntentCache(Protocol):
    """Keeps a generator's replies by the key of passage, model and prompt."""

    def intents(self, keys: Sequence[str]) -> Mapping[str, Completion]:
        """Known replies by key."""
        ...

    def put_intents(self, replies: Mapping[str, Completion]) -> None:
        """Keeps replies, at once."""
        ...


@dataclass(frozen=True, slots=True)
class PredictionRequest:
    """A document to predict questions for.

    sentence_vectors: float16 or float32 [n, d], unit rows. mode: ``model``, ``heuristic`` or ``off``. prompt: the
    template.
    """

    document: Document
    sentences: Sentences
    sentence_vectors: Vectors
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
    int64 [m], the sentence that was asked about, or nearest where that is not known. windows_generated and
    windows_cached: sentences asked about now and before. dropped: how many each filter took out.
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
    """Questions before the filters: text, number of the window and sentence (-1: not known) that each came from.

    confidences: of the model in each.
    """

    texts: list[str]
    windows: list[int]
    sentences: list[int]
    confidences: list[float]
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
    numbers = [number for number, _ in pairs]
    return _Questions([text for _, text in pairs], numbers, [-1] * len(pairs), [0.0] * len(pairs), "heuristic")


def _generate(
    request: PredictionRequest,
    ports: PredictionPorts,
    generator: Callable[[], TextGenerator],
    windows: Sequence[Window],
) -> _Questions:
    chosen = choose_sources(request.document, request.sentences, windows, request.sentence_vectors)
    prompt = parse_prompt(request.prompt)
    asked = [source_prompt(request.document, request.sentences, source.sentence, prompt) for source in chosen]
    settings = [GENERATION, ports.generator_fingerprint, request.prompt, MAX_TOKENS]
    keys = [digest([text, *settings]) for text in asked]
    known = dict(ports.cache.intents(keys))
    cached = sum(key in known for key in keys)
    for batch in _batches(len(chosen)):
        missing = {keys[place]: asked[place] for place in batch if keys[place] not in known}
        if missing:
            fresh = _complete(generator(), prompt.prefix, missing)
            ports.cache.put_intents(fresh)
            known.update(fresh)
        ports.progress.advance(0, f"{batch.stop}/{len(chosen)} sentences asked about")
    found = [
        (text, source, known[key].confidence)
        for key, source in zip(keys, chosen, strict=True)
        for text in parse_reply(known[key].text, prompt.examples)
    ]
    return _Questions(
        texts=[text for text, _, _ in found],
        windows=[source.window for _, source, _ in found],
        sentences=[source.sentence for _, source, _ in found],
        confidences=[confidence for _, _, confidence in found],
        origin="model",
        generated=len(chosen) - cached,
        cached=cached,
    )


def _batches(count: int) -> Iterator[range]:
    """Places in batches as equal in size as can be: a small one at the end would cost as much as a large one."""
    number = math.ceil(count / BATCH)
    for place in range(number):
        yield range(place * count // number, (place + 1) * count // number)


def _complete(generator: TextGenerator, prefix: str, asked: Mapping[str, str]) -> dict[str, Completion]:
    """Replies by key. The seed comes from the key, so that a sentence always gets the same question."""
    requests = [GenerationRequest(text, int(key[:8], 16) & 0x7FFFFFFF) for key, text in asked.items()]
    return dict(zip(asked, generator.generate(prefix, requests, max_tokens=MAX_TOKENS, stop=STOP), strict=True))


def _filtered(
    request: PredictionRequest, questions: _Questions, windows: Sequence[Window], vectors: FloatArray
) -> Predicted:
    """Questions that stand on their window and lead back to it, without duplicates, the best of them in the budget."""
    own = np.array(questions.windows, dtype=np.int64)
    evidence, scores = _evidence(request.sentence_vectors, questions, windows, vectors)
    nearest = _nearest_windows(request.sentence_vectors, windows, vectors)
    grounded, merits = _grounded(request, questions, windows, evidence, scores)
    dropped: Counter[str] = Counter()
    kept: list[int] = []
    for place in np.lexsort((np.arange(len(merits)), -merits)).tolist():
        if nearest[place] != own[place]:
            dropped["round trip"] += 1
        elif not grounded[place]:
            dropped["not in the text"] += 1
        elif kept and float((vectors[kept] @ vectors[place]).max()) > DUPLICATE:
            dropped["duplicate"] += 1
        elif len(kept) >= question_budget(len(request.sentences)):
            dropped["over budget"] += 1
        else:
            kept.append(place)
    kept.sort()
    return Predicted(
        intents=tuple(
            Intent(
                text=questions.texts[place],
                start=windows[own[place]].start,
                end=windows[own[place]].end,
                evidence=_span(request.sentences, int(evidence[place])),
                score=round(float(scores[place]), 6),
                origin=questions.origin,
            )
            for place in kept
        ),
        vectors=vectors[kept],
        windows=_ranges(windows)[own[kept]],
        evidence=evidence[kept],
        windows_generated=questions.generated,
        windows_cached=questions.cached,
        dropped=dict(dropped),
    )


def _evidence(
    sentence_vectors: Vectors, questions: _Questions, windows: Sequence[Window], vectors: FloatArray
) -> tuple[IntArray, FloatArray]:
    """For each question the sentence that it was asked of, or else the nearest of its window, and the cosine."""
    evidence = np.array(questions.sentences, dtype=np.int64)
    for place in np.flatnonzero(evidence < 0):
        window = windows[questions.windows[place]]
        evidence[place] = window.first + np.argmax(sentence_vectors[window.first : window.last] @ vectors[place])
    # Vectors of half precision are of length one but for their last digit.
    return evidence, np.clip(np.einsum("md,md->m", sentence_vectors[evidence], vectors), -1.0, 1.0)


def _grounded(
    request: PredictionRequest,
    questions: _Questions,
    windows: Sequence[Window],
    evidence: IntArray,
    scores: FloatArray,
) -> tuple[BoolArray, FloatArray]:
    """Whether each question stands on its window under its headings, bool [m], and what each is worth, float32 [m]."""
    sure = scores + np.float32(CONFIDENCE_WEIGHT) * np.array(questions.confidences, dtype=np.float32)
    if questions.origin != "model" or request.language not in LANGUAGES:
        return np.ones(len(questions.texts), dtype=np.bool_), sure
    document, language = request.document, request.language
    grounded, left = [], []
    for text, number, place in zip(questions.texts, questions.windows, evidence.tolist(), strict=True):
        window, sentence = windows[number], _span(request.sentences, place)
        headings = " ".join(heading_path(document, request.sentences, place))
        passage = f"{headings}\n{document.text[window.start : window.end]}"
        grounded.append(grounded_share(text, passage, language) >= GROUNDED)
        left.append(open_terms(text, document.text[sentence.start : sentence.end], language))
    return np.array(grounded, dtype=np.bool_), sure + np.float32(OPEN_WEIGHT) * np.array(left, dtype=np.float32)


def _ranges(windows: Sequence[Window]) -> IntArray:
    """int64 [windows, 2]: half-open sentence ranges."""
    return np.array([[window.first, window.last] for window in windows], dtype=np.int64).reshape(-1, 2)


def _span(sentences: Sentences, place: int) -> Span:
    return Span(int(sentences.starts[place]), int(sentences.ends[place]))


def _nearest_windows(sentence_vectors: Vectors, windows: Sequence[Window], vectors: FloatArray) -> IntArray:
    """The window that holds the sentence nearest to each question, int64 [m]; the first of equals."""
    best = np.stack(
        [(vectors @ sentence_vectors[window.first : window.last].T).max(axis=1) for window in windows], axis=1
    )
    return np.asarray(np.argmax(best, axis=1), dtype=np.int64)
