"""Intents for controls: those of another document, and human questions as the best that a generator could predict.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from idc_local.datasets import QaQuestion
from idc_local.pipeline import CutDocument
from idc_local.prediction import Predicted
from idc_local.types import FloatArray, IntArray, Intent, Span

AROUND = 2
"""Sentences on each side of an answer that make up the window of a human question."""


def shuffled_intents(documents: Sequence[CutDocument], seed: int) -> tuple[CutDocument, ...]:
    """Each document with the intents of another, at the same relative places.

    A set of one document has no other: there each intent gets the place of the one half the list away.
    """
    if len(documents) == 1:
        return (_turned(documents[0]),)
    order = np.random.default_rng(seed).permutation(len(documents))
    donor = dict(zip(order.tolist(), np.roll(order, 1).tolist(), strict=True))
    return tuple(_transplanted(document, documents[donor[place]]) for place, document in enumerate(documents))


def _turned(document: CutDocument) -> CutDocument:
    found = document.predicted
    count = found.vectors.shape[0]
    turned = np.roll(np.arange(count), count // 2)
    texts = [found.intents[place].text for place in turned]
    return replace(document, predicted=placed_intents(document, texts, found.vectors[turned], found.windows, None))


def _transplanted(document: CutDocument, donor: CutDocument) -> CutDocument:
    own, other = len(document.sentences), len(donor.sentences)
    found = donor.predicted
    if not own or not other:
        return replace(document, predicted=placed_intents(document, [], found.vectors[:0], found.windows[:0], None))
    first = found.windows[:, 0] * own // other
    last = np.minimum(own, first + (found.windows[:, 1] - found.windows[:, 0]))
    texts = [intent.text for intent in found.intents]
    return replace(
        document, predicted=placed_intents(document, texts, found.vectors, np.stack([first, last], axis=1), None)
    )


def questions_as_intents(document: CutDocument, questions: Sequence[QaQuestion], vectors: FloatArray) -> Predicted:
    """Human questions as intents that know exactly where their answers are. vectors: float32 [questions, d]."""
    starts = np.array([question.answers[0].start for question in questions], dtype=np.int64)
    ends = np.array([question.answers[0].end for question in questions], dtype=np.int64)
    holding = np.searchsorted(document.sentences.ends, starts, side="right")
    final = np.searchsorted(document.sentences.ends, ends, side="left")
    first = np.maximum(0, holding - AROUND)
    last = np.minimum(len(document.sentences), final + 1 + AROUND)
    windows = np.stack([first, last], axis=1).astype(np.int64)
    return placed_intents(
        document, [question.text for question in questions], vectors, windows, holding.astype(np.int64)
    )


def placed_intents(
    document: CutDocument, texts: Sequence[str], vectors: FloatArray, windows: IntArray, evidence: IntArray | None
) -> Predicted:
    """Intents at ``windows`` (int64 [m, 2], sentences); evidence, where not given, is the nearest sentence of each."""
    if evidence is None:
        evidence = np.array(
            [
                first + int(np.argmax(document.vectors[first:last] @ vector))
                for vector, (first, last) in zip(vectors, windows.tolist(), strict=True)
            ],
            dtype=np.int64,
        )
    starts, ends = document.sentences.starts, document.sentences.ends
    intents = tuple(
        Intent(
            text=text,
            start=int(starts[first]),
            end=int(ends[last - 1]),
            evidence=Span(int(starts[place]), int(ends[place])),
            score=float(document.vectors[place] @ vector),
            origin="control",
        )
        for text, vector, (first, last), place in zip(texts, vectors, windows.tolist(), evidence, strict=True)
    )
    return replace(document.predicted, intents=intents, vectors=vectors, windows=windows, evidence=evidence)
