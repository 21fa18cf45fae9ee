"""A question set brought to the point where only the cuts are open: read, split, embedded, with its intents.

Documents go through the pipeline that ``index`` uses, as text files would. Everything that no strategy changes is
computed here once: vectors of sentences, questions and intents, and all their cosines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from idc_local.chunks import heading_paths, sentence_terms
from idc_local.datasets import Dataset, QaDocument, QaQuestion
from idc_local.embedding import CachedEmbedder
from idc_local.errors import InputError
from idc_local.evaluation.intents import questions_as_intents, shuffled_intents
from idc_local.evaluation.retrieval import Asked
from idc_local.evaluation.scoring import BUDGETS, Gold, Ink, gold_at
from idc_local.pipeline import CutDocument, sentence_texts
from idc_local.queries import ParsedQuery, is_foreign, merged_vector, parse_query
from idc_local.readers import read_text
from idc_local.tokencodes import code_size
from idc_local.types import Document, FloatArray, IntArray, Vectors

INTENT_MODES = ("model", "heuristic", "off", "shuffled", "gold-half")
"""Where intents come from. ``shuffled`` (another document's) is a control, ``gold-half`` (the human questions of one
half of the set, which are then not asked) an upper bound that no generator can be expected to reach."""

Cut = Callable[[Document, str], CutDocument]
"""The pipeline: a document and where its intents come from (``model``, ``heuristic`` or ``off``)."""


@dataclass(frozen=True, slots=True)
class PreparedSet:
    """A question set whose documents can be cut in any way.

    documents: in the order of the set; their own segmentation and chunks are of no interest. sentence_base,
    intent_base: int64 [documents + 1], where each document's rows begin in ``asked.pieces`` and ``asked.intents``.
    sentence_terms: lexical terms of every sentence, in the order of ``asked.pieces``. heading_codes: for each document
    the codes of the tokens of its heading paths.
    gold: one for each question of ``asked``. headline: the metric that sums the set up.
    """

    dataset: Dataset
    documents: tuple[CutDocument, ...]
    inks: tuple[Ink, ...]
    sentence_base: IntArray
    intent_base: IntArray
    sentence_terms: tuple[tuple[str, ...], ...]
    heading_codes: tuple[Mapping[str, bytes], ...]
    asked: Asked
    gold: tuple[Gold, ...]
    headline: str

    @property
    def question_documents(self) -> IntArray:
        """Position of each question's document, int64 [questions]."""
        return np.array([gold.document for gold in self.gold], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Preparation:
    """How sets are prepared. ``seed`` draws the partners of shuffled intents."""

    cut: Cut
    embedder: CachedEmbedder
    intents: str
    seed: int


def prepare_set(dataset: Dataset, preparation: Preparation) -> PreparedSet:
    """The set, ready to be cut and asked.

    Raises:
        InputError: a document is not read back as the text that its offsets count.
    """
    mode = {"shuffled": "model", "gold-half": "off"}.get(preparation.intents, preparation.intents)
    documents = tuple(preparation.cut(read_document(dataset, entry), mode) for entry in dataset.documents)
    questions = dataset.questions
    if preparation.intents == "shuffled":
        documents = shuffled_intents(documents, preparation.seed)
    if preparation.intents == "gold-half":
        questions, given = split_questions(questions)
        documents = _with_questions(dataset, documents, given, preparation.embedder)
    asked = replace(dataset, questions=questions)
    return assemble(asked, documents, preparation.embedder, headline_of(asked))


def read_document(dataset: Dataset, entry: QaDocument) -> Document:
    """The document as the reader of text files makes it.

    Raises:
        InputError: it does not read the text as it is, so that offsets into it would be off.
    """
    place = entry.place or f"{dataset.name}: document {entry.id!r}"
    hint = "take control characters out of the text"
    try:
        document = read_text(entry.text, f"{entry.id}.txt")
    except InputError as error:
        raise InputError(f"{place}: {error.message}", hint=error.hint or hint) from error
    if document.text != entry.text:
        raise InputError(f"{place}: the text is not plain text, a text file would read otherwise", hint=hint)
    return document


def split_questions(questions: Sequence[QaQuestion]) -> tuple[tuple[QaQuestion, ...], tuple[QaQuestion, ...]]:
    """Questions to ask, and questions to give away as intents: every second one of each document, by id."""
    by_document: dict[str, list[QaQuestion]] = {}
    for question in questions:
        by_document.setdefault(question.document_id, []).append(question)
    asked = tuple(question for group in by_document.values() for question in group[0::2])
    given = tuple(question for group in by_document.values() for question in group[1::2])
    return tuple(sorted(asked, key=lambda question: question.id)), given


def _with_questions(
    dataset: Dataset, documents: Sequence[CutDocument], given: Sequence[QaQuestion], embedder: CachedEmbedder
) -> tuple[CutDocument, ...]:
    result = []
    for entry, document in zip(dataset.documents, documents, strict=True):
        mine = [question for question in given if question.document_id == entry.id]
        vectors = embedder.encode_queries([question.text for question in mine])
        result.append(replace(document, predicted=questions_as_intents(document, mine, vectors)))
    return tuple(result)


def assemble(
    dataset: Dataset,
    documents: tuple[CutDocument, ...],
    embedder: CachedEmbedder,
    headline: str,
    *,
    windows: bool = False,
) -> PreparedSet:
    """Questions embedded and compared with everything that they are ever compared with.

    windows: answers are only known to lie somewhere in their spans.
    """
    place = {entry.id: position for position, entry in enumerate(dataset.documents)}
    inks = tuple(Ink.of(document.document.text) for document in documents)
    gold = tuple(
        gold_at(
            place[question.document_id],
            question.answers,
            dataset.answers,
            inks[place[question.document_id]],
            window=windows,
        )
        for question in dataset.questions
    )
    asked = _ask(dataset, documents, embedder, np.array([entry.document for entry in gold], dtype=np.int64))
    return PreparedSet(
        dataset=dataset,
        documents=documents,
        inks=inks,
        sentence_terms=tuple(
            terms
            for document in documents
            for terms in sentence_terms(document.document, document.sentences, document.language)
        ),
        heading_codes=tuple(_heading_codes(document, embedder) for document in documents),
        sentence_base=_bases([len(document.sentences) for document in documents]),
        intent_base=_bases([document.predicted.vectors.shape[0] for document in documents]),
        asked=asked,
        gold=gold,
        headline=headline,
    )


def _ask(
    dataset: Dataset, documents: Sequence[CutDocument], embedder: CachedEmbedder, question_documents: IntArray
) -> Asked:
    """The questions, embedded and compared; question_documents: int64 [questions]."""
    languages = sorted({document.language for document in documents})
    parsed = [parse_query(question.text, languages) for question in dataset.questions]
    vectors = query_vectors(parsed, embedder)
    codes, code_offsets = _token_codes(documents, embedder, vectors.shape[1])
    return Asked(
        vectors=vectors,
        whole=embedder.encode_queries([question.text for question in dataset.questions]),
        terms=tuple(query.terms for query in parsed),
        words=tuple(query.words for query in parsed),
        scope=question_documents if dataset.scope == "document" else np.full_like(question_documents, -1),
        pieces=_cosines(vectors, [document.vectors for document in documents]),
        intents=_cosines(vectors, [document.predicted.vectors for document in documents]),
        foreign=tuple(is_foreign(question.text, languages, embedder.languages) for question in dataset.questions),
        asking=tuple(query.asking for query in parsed),
        tokens=tuple(embedder.query_tokens([query.asking for query in parsed])),
        codes=codes,
        code_offsets=code_offsets,
        languages=tuple(languages),
    )


def _token_codes(
    documents: Sequence[CutDocument], embedder: CachedEmbedder, dimension: int
) -> tuple[npt.NDArray[np.uint8], IntArray]:
    """``joined_codes`` of all sentences."""
    codes: list[bytes] = []
    for document in documents:
        codes += embedder.token_codes(sentence_texts(document.document, document.sentences), document.language)
    return joined_codes(codes, dimension)


def _heading_codes(document: CutDocument, embedder: CachedEmbedder) -> Mapping[str, bytes]:
    paths = heading_paths(document.document)
    return dict(zip(paths, embedder.encode_headings(paths, document.language)[1], strict=True))


def joined_codes(codes: Sequence[bytes], dimension: int) -> tuple[npt.NDArray[np.uint8], IntArray]:
    """Codes of the tokens of texts one after the other, uint8 [t, b], and int64 [texts + 1] where each begins."""
    width = code_size(dimension)
    offsets = np.concatenate([[0], np.cumsum([len(code) // width for code in codes])]).astype(np.int64)
    return np.frombuffer(b"".join(codes), dtype=np.uint8).reshape(-1, width), offsets


def query_vectors(parsed: Sequence[ParsedQuery], embedder: CachedEmbedder) -> FloatArray:
    """Vectors of all queries, float32 [q, d], unit rows; every text is embedded once."""
    texts = list(dict.fromkeys(text for query in parsed for text in query.texts))
    place = {text: number for number, text in enumerate(texts)}
    vectors = embedder.encode_queries(texts)
    rows = [merged_vector(vectors[[place[text] for text in query.texts]]) for query in parsed]
    return np.stack(rows) if rows else vectors


def _cosines(questions: FloatArray, rows: Sequence[Vectors]) -> FloatArray:
    """Cosines of the questions with all rows, float32 [questions, rows]."""
    filled = [part for part in rows if part.shape[0]]
    if not filled:
        return np.zeros((questions.shape[0], 0), dtype=np.float32)
    cosines: FloatArray = questions @ np.concatenate(filled).astype(np.float32, copy=False).T
    return cosines


def _bases(counts: Sequence[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def headline_of(dataset: Dataset) -> str:
    """answer@1500; for a set where most answers are longer than that, the share of their characters in 6000."""
    pick = sum if dataset.answers == "all" else min
    lengths = [pick(span.end - span.start for span in question.answers) for question in dataset.questions]
    return f"chars@{BUDGETS[-1]}" if float(np.median(lengths)) > BUDGETS[0] else f"answer@{BUDGETS[0]}"
