"""Spans from anywhere are measured as the product's own chunks are; controls get the intents that they say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from idc_local.datasets import Dataset, QaDocument, QaQuestion
from idc_local.errors import InputError
from idc_local.evaluation.cuts import EmbedTexts, index_segmentations, index_spans, segment
from idc_local.evaluation.grid import EvaluationOptions, evaluate_index, evaluate_spans
from idc_local.evaluation.prepare import PreparedSet, headline_of, split_questions
from idc_local.evaluation.retrieval import ChunkIndex, build_retriever
from idc_local.ranking import RankingWeights
from idc_local.segment import StrategyOptions
from idc_local.tokencodes import encode_tokens
from idc_local.types import FloatArray, Limits, Span
from tests.evalkit import prepared_set
from tests.fakes import HashEmbedder

LIMITS = Limits(target_chars=300, max_chars=900, max_tokens=120, sentence_tokens=60)
RETRIEVERS = [build_retriever(name, RankingWeights()) for name in ("paper", "default")]


def prepared(folder: Path, intents: str = "off", dataset: Dataset | None = None) -> PreparedSet:
    return prepared_set(folder, EvaluationOptions(intents=intents, limits=LIMITS), dataset)


def own_index(found: PreparedSet, strategy: str = "fixed") -> ChunkIndex:
    cuts = [segment(document, strategy, LIMITS, StrategyOptions()) for document in found.documents]
    return index_segmentations(found, cuts)


def spans_of(found: PreparedSet, index: ChunkIndex) -> list[list[Span]]:
    spans: list[list[Span]] = [[] for _ in found.documents]
    for place, chunk in zip(index.passages.document.tolist(), index.chunks, strict=True):
        spans[place].append(Span(chunk.start, chunk.end))
    return spans


def sentences_of(embedder: HashEmbedder) -> EmbedTexts:
    """Vectors of texts and the codes of all their tokens."""

    def embed(texts: Sequence[str], language: str) -> tuple[FloatArray, list[bytes]]:
        vectors, tokens = embedder.encode_sentences(texts)
        return vectors, [encode_tokens(own.vectors).tobytes() for own in tokens]

    return embed


def refuse(texts: object, language: str) -> tuple[FloatArray, list[bytes]]:
    raise AssertionError(f"nothing needs embedding: {texts}")


@pytest.mark.parametrize("strategy", ["fixed", "sliding", "intent"])
def test_the_same_spans_measure_the_same_whoever_made_them(tmp_path: Path, strategy: str) -> None:
    found = prepared(tmp_path, "model")
    index = own_index(found, strategy)
    expected = evaluate_index(found, index, RETRIEVERS)
    measured = evaluate_spans(found, spans_of(found, index), RETRIEVERS, refuse)
    for name, result in expected.items():
        assert measured[name].values == pytest.approx(result.values)
        assert measured[name].chunk_chars.tolist() == result.chunk_chars.tolist()


def test_trimmed_spans_are_the_same_chunks(tmp_path: Path) -> None:
    found = prepared(tmp_path)
    index = own_index(found)
    trimmed = [
        [_trimmed(document.document.text, span) for span in spans]
        for document, spans in zip(found.documents, spans_of(found, index), strict=True)
    ]
    assert trimmed != spans_of(found, index)
    _, other = index_spans(found, trimmed, refuse)
    assert other.vectors == pytest.approx(index.vectors, abs=1e-6)
    assert other.terms == index.terms
    assert other.piece_rows.tolist() == index.piece_rows.tolist()


def _trimmed(text: str, span: Span) -> Span:
    part = text[span.start : span.end]
    return Span(span.start + len(part) - len(part.lstrip()), span.start + len(part.rstrip()))


def test_a_sentence_that_is_cut_counts_with_the_part_inside(tmp_path: Path) -> None:
    found = prepared(tmp_path)
    text = found.documents[0].document.text
    second = text.index(". ") + 2
    span = Span(10, second + 20)
    embedder = HashEmbedder()
    compared, index = index_spans(found, [[span], [], [], []], sentences_of(embedder))
    parts = [text[10:second].strip(), text[second : second + 20].strip()]
    assert embedder.texts == parts
    vectors = HashEmbedder().encode_documents(parts)
    mean = vectors.sum(axis=0) / np.linalg.norm(vectors.sum(axis=0))
    assert index.vectors[0] == pytest.approx(mean, abs=1e-6)
    columns = compared.asked.pieces[:, index.piece_rows]
    assert columns == pytest.approx(found.asked.vectors @ vectors.T, abs=1e-6)
    assert index.chunks[0].text == text[span.start : span.end]


def test_spans_without_ink_show_nothing_and_spans_outside_are_refused(tmp_path: Path) -> None:
    found = prepared(tmp_path)
    length = len(found.documents[0].document.text)
    _, index = index_spans(
        found, [[Span(0, 0), Span(length - 1, length), Span(0, 30)], [], [], []], sentences_of(HashEmbedder())
    )
    assert [chunk.end for chunk in index.chunks] == [30]
    with pytest.raises(InputError, match="no span 0 to 99999"):
        index_spans(found, [[Span(0, 99999)], [], [], []], refuse)
    with pytest.raises(InputError, match="no chunks, nothing to evaluate"):
        index_spans(found, [[], [], [], []], refuse)


def test_shuffled_intents_are_those_of_another_document_at_places_of_this_one(tmp_path: Path) -> None:
    own, shuffled = prepared(tmp_path / "a", "model"), prepared(tmp_path / "b", "model")
    from idc_local.evaluation.intents import shuffled_intents

    moved = shuffled_intents(shuffled.documents, 3)
    texts = [{intent.text for intent in document.predicted.intents} for document in own.documents]
    assert all(texts)
    for place, document in enumerate(moved):
        got = {intent.text for intent in document.predicted.intents}
        assert got != texts[place]
        assert got in texts
        assert document.predicted.windows.max() <= len(document.sentences)
        for intent, (first, last) in zip(document.predicted.intents, document.predicted.windows.tolist(), strict=True):
            assert first < last
            assert intent.start <= intent.evidence.start < intent.evidence.end <= intent.end
            assert (intent.start, intent.end) == (document.sentences.starts[first], document.sentences.ends[last - 1])
    assert [document.predicted.vectors.tolist() for document in moved] == [
        document.predicted.vectors.tolist() for document in shuffled_intents(shuffled.documents, 3)
    ]


def test_a_single_document_turns_its_intents_around(tmp_path: Path) -> None:
    from idc_local.evaluation.intents import shuffled_intents

    document = prepared(tmp_path, "gold-half").documents[0]
    before = [intent.text for intent in document.predicted.intents]
    after = [intent.text for intent in shuffled_intents([document], 0)[0].predicted.intents]
    assert len(before) == 3
    assert len(before) > 1
    assert after == [before[place - len(before) // 2] for place in range(len(before))]


def test_gold_half_asks_one_half_and_gives_the_other_away(tmp_path: Path) -> None:
    found = prepared(tmp_path, "gold-half")
    asked = {question.text for question in found.dataset.questions}
    given = [intent for document in found.documents for intent in document.predicted.intents]
    assert len(asked) == len(given) == 12
    assert not asked & {intent.text for intent in given}
    for document in found.documents:
        for intent in document.predicted.intents:
            text = document.document.text
            topic = intent.text.split("does the ")[1].split(" of")[0]
            assert f"A {topic} of" in text[intent.evidence.start : intent.evidence.end]
            assert intent.start <= intent.evidence.start < intent.evidence.end <= intent.end


def test_a_document_with_one_question_keeps_it_to_be_asked() -> None:
    questions = [
        QaQuestion(name, document, "?", (Span(0, 1),)) for name, document in (("a", "x"), ("b", "y"), ("c", "y"))
    ]
    asked, given = split_questions(questions)
    assert [question.id for question in asked] == ["a", "b"]
    assert [question.id for question in given] == ["c"]


def test_the_headline_follows_the_length_of_the_answers() -> None:
    document = QaDocument("d", "", "x" * 9000)

    def dataset(rule: str, *lengths: tuple[int, ...]) -> Dataset:
        questions = tuple(
            QaQuestion(str(number), "d", "?", tuple(Span(place, place + length) for place, length in enumerate(own)))
            for number, own in enumerate(lengths)
        )
        return Dataset("s", "en", "all" if rule == "all" else "any", "corpus", (document,), questions)

    assert headline_of(dataset("any", (10, 4000), (20,), (1600,))) == "answer@1500"
    assert headline_of(dataset("all", (10, 4000), (20,), (1600,))) == "chars@6000"
    assert headline_of(dataset("all", (800, 700), (800, 700))) == "answer@1500"


def test_a_document_that_reads_back_changed_is_refused(tmp_path: Path) -> None:
    text = "PK\x00\x00\x00 not text \x00\x01\x02" * 20
    broken = Dataset(
        "s", "en", "any", "corpus", (QaDocument("d", "", text),), (QaQuestion("q", "d", "?", (Span(0, 2),)),)
    )
    with pytest.raises(InputError, match="d"):
        prepared(tmp_path, dataset=broken)
