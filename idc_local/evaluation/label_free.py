"""The check without labels: an index's own predicted questions as queries, the windows they came from as answers.

Half of the windows is held out: their questions are asked, and never used to cut or to rank. The other half's remain
what intents are. Vectors and questions come from the index, so nothing is generated and nearly nothing embedded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from idc_local.datasets import Dataset, QaDocument, QaQuestion
from idc_local.embedding import CachedEmbedder, query_key, sentence_key
from idc_local.errors import InputError
from idc_local.evaluation.intents import placed_intents
from idc_local.evaluation.prepare import Cut, PreparedSet, assemble
from idc_local.evaluation.scoring import BUDGETS
from idc_local.pipeline import CutDocument
from idc_local.store import Snapshot
from idc_local.types import Document, FloatArray, Intent, Span

MAX_CHUNKS = 4000
"""Chunks of the index, in whole documents, that are looked at; a larger index is sampled."""
NAME = "index"


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document of the index with its predicted questions. vectors: float32 [intents, d], unit rows."""

    id: str
    path: str
    intents: tuple[Intent, ...]
    vectors: FloatArray


@dataclass(frozen=True, slots=True)
class Corpus:
    """What was read of an index: documents by path, and by key the vectors of texts and the codes of their tokens."""

    documents: tuple[StoredDocument, ...]
    vectors: Mapping[str, tuple[FloatArray, bytes]]
    of_documents: int


def read_corpus(snapshot: Snapshot, seed: int) -> Corpus:
    """Documents of the index, all or a sample of whole documents, with intents and vectors.

    Raises:
        InputError: the index is empty, or holds no predicted questions.
    """
    rows_by_path: dict[str, list[int]] = {}
    for row, path in enumerate(snapshot.paths):
        rows_by_path.setdefault(path, []).append(row)
    chosen = _sample(rows_by_path, seed)
    vectors: dict[str, tuple[FloatArray, bytes]] = {}
    documents = tuple(_read_document(snapshot, path, rows_by_path[path], vectors) for path in chosen)
    if not documents:
        raise InputError("the index is empty, nothing to evaluate", hint="idc-local index PATH")
    if sum(len(document.intents) for document in documents) < 2:
        part = len(documents) < len(rows_by_path)
        drawn = f"{len(documents)} of {len(rows_by_path)} documents, drawn by --seed, hold"
        raise InputError(
            f"{drawn if part else 'the index holds'} no predicted questions, so it cannot be evaluated without labels",
            hint=f"idc-local index PATH --intents model{', or another --seed' if part else ''}",
        )
    return Corpus(documents, vectors, len(rows_by_path))


def _sample(rows_by_path: Mapping[str, Sequence[int]], seed: int) -> list[str]:
    """Paths of the documents to look at, sorted: all, or as many as MAX_CHUNKS hold, in an order drawn by seed."""
    paths = sorted(rows_by_path)
    total = 0
    chosen: list[str] = []
    for place in np.random.default_rng(seed).permutation(len(paths)).tolist():
        total += len(rows_by_path[paths[place]])
        if chosen and total > MAX_CHUNKS:
            break
        chosen.append(paths[place])
    return sorted(chosen)


def _read_document(
    snapshot: Snapshot, path: str, rows: Sequence[int], vectors: dict[str, tuple[FloatArray, bytes]]
) -> StoredDocument:
    places = np.array(rows, dtype=np.int64)
    chunks = snapshot.chunks(list(rows))
    sentences, bounds = snapshot.sentence_vectors(places)
    codes, ends = snapshot.sentence_tokens(places)
    parts = [codes[start:end].tobytes() for start, end in pairwise(ends.tolist())]
    for chunk, row, first in zip(chunks, rows, bounds.tolist(), strict=False):
        own = zip(sentences[first:], parts[first:], strict=True)
        for (start, end), kept in zip(snapshot.sentence_spans(row).tolist(), own, strict=False):
            text = chunk.text[start - chunk.start : end - chunk.start].strip()
            vectors[sentence_key(text, snapshot.languages[row])] = kept
    intents = [intent for chunk in chunks for intent in chunk.intents]
    asked, _ = snapshot.intent_vectors(places)
    for intent, vector in zip(intents, asked, strict=True):
        vectors[query_key(intent.text)] = (vector, b"")
    return StoredDocument(chunks[0].document_id, path, tuple(intents), asked)


def prepare_corpus(
    read: Callable[[str], Document], corpus: Corpus, cut: Cut, embedder: CachedEmbedder, seed: int
) -> tuple[PreparedSet, int]:
    """The corpus as a question set of held-out questions, and how many windows were held out.

    A document or two with a single window each still split: the windows of all documents are dealt together.
    ``read`` gives the document of an id.
    """
    windows = sorted({_window(document, intent) for document in corpus.documents for intent in document.intents})
    if len(windows) < 2:
        raise InputError(
            "the questions of the index come from a single window, none can be held out",
            hint="index more documents",
        )
    drawn = np.random.default_rng(seed).permutation(len(windows))
    held_out = {windows[place] for place in drawn[: (len(windows) + 1) // 2].tolist()}
    documents = tuple(_cut_with_the_rest(read(document.id), document, held_out, cut) for document in corpus.documents)
    entries = tuple(QaDocument(document.id, document.path, "") for document in corpus.documents)
    dataset = Dataset(NAME, "", "all", "corpus", entries, _questions(corpus, held_out))
    return assemble(dataset, documents, embedder, f"chars@{BUDGETS[0]}", windows=True), len(held_out)


WindowPlace = tuple[str, int, int]


def _window(document: StoredDocument, intent: Intent) -> WindowPlace:
    return document.id, intent.start, intent.end


def _questions(corpus: Corpus, held_out: set[WindowPlace]) -> tuple[QaQuestion, ...]:
    return tuple(
        QaQuestion(f"{document.path}:{number}", document.id, intent.text, (Span(intent.start, intent.end),))
        for document in corpus.documents
        for number, intent in enumerate(document.intents)
        if _window(document, intent) in held_out
    )


def _cut_with_the_rest(source: Document, stored: StoredDocument, held_out: set[WindowPlace], cut: Cut) -> CutDocument:
    """The document split and embedded again, with the intents of the windows that are not held out."""
    document = cut(source, "off")
    kept = [place for place, intent in enumerate(stored.intents) if _window(stored, intent) not in held_out]
    intents = [stored.intents[place] for place in kept]
    ends = document.sentences.ends
    windows = np.array(
        [[_holding(ends, intent.start), _holding(ends, intent.end - 1) + 1] for intent in intents], dtype=np.int64
    ).reshape(-1, 2)
    evidence = np.array([_holding(ends, intent.evidence.start) for intent in intents], dtype=np.int64)
    texts = [intent.text for intent in intents]
    return replace(document, predicted=placed_intents(document, texts, stored.vectors[kept], windows, evidence))


def _holding(ends: np.ndarray, offset: int) -> int:
    """The sentence that holds a code point."""
    return int(np.searchsorted(ends, offset, side="right"))
