"""The check without labels: what is read of an index, how windows are dealt, and what cannot be evaluated so."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from idc_local.embedding import VectorCache, query_key, sentence_key
from idc_local.errors import InputError
from idc_local.evaluating import split_only
from idc_local.evaluation import label_free
from idc_local.evaluation.label_free import prepare_corpus, read_corpus
from idc_local.evaluation.prepare import PreparedSet
from idc_local.indexing import IndexOptions
from idc_local.interaction import coded_content
from idc_local.memory import MemoryCache
from idc_local.pipeline import PipelinePorts
from idc_local.prediction import IntentCache
from idc_local.store import Snapshot
from idc_local.types import Intent, Limits
from tests.evalkit import TOPICS, AskingGenerator, text_of
from tests.fakes import HashEmbedder
from tests.indexkit import Kit

LIMITS = Limits(target_chars=400, max_chars=900, max_tokens=120, sentence_tokens=60)


class AskingKit(Kit):
    """Questions of which every one leads back to where it came from."""

    def ports(self, intents: IntentCache, vectors: VectorCache) -> PipelinePorts:
        return replace(super().ports(intents, vectors), generator=AskingGenerator)


def index(folder: Path, *, intents: str = "model", texts: dict[str, str] | None = None) -> Kit:
    """An index of a document about each topic, or of other texts."""
    docs = folder / "docs"
    docs.mkdir()
    for topic, text in (texts or {topic: text_of(topic) for topic in TOPICS}).items():
        (docs / f"{topic}.txt").write_text(text, encoding="utf-8")
    kit = AskingKit(folder / "index")
    kit.add(docs, options=IndexOptions(intents=intents))
    return kit


def prepared(kit: Kit, seed: int) -> tuple[PreparedSet, int]:
    ports = kit.ports(MemoryCache(), MemoryCache())
    pipeline = split_only(ports, LIMITS)
    with Snapshot.open(kit.index) as snapshot:
        return prepare_corpus(
            snapshot.document,
            read_corpus(snapshot, seed),
            lambda document, intents: pipeline.cut(document, intents, embed=True),
            ports.embedder,
            seed,
        )


def test_questions_and_vectors_are_those_of_the_index(tmp_path: Path) -> None:
    kit = index(tmp_path)
    embedder = HashEmbedder()
    with Snapshot.open(kit.index) as snapshot:
        corpus = read_corpus(snapshot, 0)
        intents = list(snapshot.all_intents())
        paths = snapshot.paths
    assert [document.path for document in corpus.documents] == sorted(f"{topic}.txt" for topic in TOPICS)
    assert corpus.of_documents == 4
    for document in corpus.documents:
        assert list(document.intents) == [intent for row, intent in intents if paths[row] == document.path]
        expected = embedder.encode_queries([intent.text for intent in document.intents])
        assert document.vectors == pytest.approx(expected, abs=1e-3)
        for intent, vector in zip(document.intents, document.vectors, strict=True):
            assert corpus.vectors[query_key(intent.text)][0].tolist() == vector.tolist()
    for topic in TOPICS:
        sentences = re.split(r"(?<=\.)\s+", text_of(topic).strip())
        assert len(sentences) == 30
        codes = coded_content(embedder.query_tokens(sentences), "en")
        for sentence, code, vector in zip(sentences, codes, embedder.encode_documents(sentences), strict=True):
            kept = corpus.vectors[sentence_key(sentence, "en")]
            assert (kept[0].tolist(), kept[1]) == (vector.tolist(), code)


@pytest.mark.parametrize(("most", "documents"), [(1, 1), (4, 1), (7, 1), (8, 2), (15, 3), (16, 4), (99, 4)])
def test_a_large_index_is_sampled_in_whole_documents(
    monkeypatch: pytest.MonkeyPatch, most: int, documents: int
) -> None:
    monkeypatch.setattr(label_free, "MAX_CHUNKS", most)
    rows = {path: list(range(4 * place, 4 * place + 4)) for place, path in enumerate("dbca")}
    drawn = [label_free._sample(rows, seed) for seed in range(30)]
    assert {len(paths) for paths in drawn} == {documents}
    assert all(paths == sorted(paths) for paths in drawn)
    assert {path for paths in drawn for path in paths} == set("abcd"), "which, goes by the seed"
    assert drawn == [label_free._sample(rows, seed) for seed in range(30)]


@pytest.mark.parametrize("seed", [0, 3])
def test_the_questions_of_half_of_the_windows_are_asked_and_not_used(tmp_path: Path, seed: int) -> None:
    kit = index(tmp_path)
    with Snapshot.open(kit.index) as snapshot:
        corpus = read_corpus(snapshot, seed)
    told = {(own.id, one.start, one.end, one.text) for own in corpus.documents for one in own.intents}
    windows = {own[:3] for own in told}
    found, held_out = prepared(kit, seed)
    assert held_out == (len(windows) + 1) // 2
    questions = {(one.document_id, *span, one.text) for one in found.dataset.questions for span in one.answers}
    used = {(one.document.id, *own) for one in found.documents for own in _used(one.predicted.intents)}
    assert {question[:3] for question in questions} | {own[:3] for own in used} == windows
    assert {question[:3] for question in questions}.isdisjoint(own[:3] for own in used)
    assert questions | used == told
    assert len({question[:3] for question in questions}) == held_out
    assert all(gold.window for gold in found.gold)
    for one in found.documents:
        sentences, predicted = one.sentences, one.predicted
        vectors = HashEmbedder().encode_queries([intent.text for intent in predicted.intents])
        assert predicted.vectors == pytest.approx(vectors, abs=1e-3)
        for intent, (first, last), evidence in zip(
            predicted.intents, predicted.windows.tolist(), predicted.evidence.tolist(), strict=True
        ):
            assert sentences.starts[first] <= intent.start < sentences.ends[first]
            assert sentences.starts[last - 1] < intent.end <= sentences.ends[last - 1]
            assert sentences.starts[evidence] <= intent.evidence.start < sentences.ends[evidence]


def _used(intents: tuple[Intent, ...]) -> list[tuple[int, int, str]]:
    return [(intent.start, intent.end, intent.text) for intent in intents]


def test_the_seed_alone_deals_the_windows(tmp_path: Path) -> None:
    kit = index(tmp_path)
    dealt = [[one.text for one in prepared(kit, seed)[0].dataset.questions] for seed in (0, 0, 1)]
    assert dealt[0] == dealt[1] != dealt[2]


@pytest.mark.parametrize(
    ("texts", "intents", "message"),
    [
        ({"a": " "}, "model", "the index is empty"),
        (None, "off", "holds no predicted questions"),
    ],
)
def test_an_index_without_questions_cannot_be_evaluated(
    tmp_path: Path, texts: dict[str, str] | None, intents: str, message: str
) -> None:
    kit = index(tmp_path, intents=intents, texts=texts)
    with Snapshot.open(kit.index) as snapshot, pytest.raises(InputError, match=message):
        read_corpus(snapshot, 0)


def test_documents_drawn_from_an_index_may_be_those_without_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = index(tmp_path, intents="off")
    monkeypatch.setattr(label_free, "MAX_CHUNKS", 1)
    message = f"1 of {len(TOPICS)} documents, drawn by --seed, hold no predicted questions"
    with Snapshot.open(kit.index) as snapshot, pytest.raises(InputError, match=message) as found:
        read_corpus(snapshot, 0)
    assert found.value.hint == "idc-local index PATH --intents model, or another --seed"


def test_questions_of_a_single_window_cannot_be_held_out_and_those_of_one_of_two_can(tmp_path: Path) -> None:
    first = {topic: text_of(topic).split("\n\n")[0] for topic in ("tides", "bread")}
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    with pytest.raises(InputError, match="come from a single window"):
        prepared(index(tmp_path / "one", texts={"a": first["tides"]}), 0)
    found, held_out = prepared(index(tmp_path / "two", texts=first), 0)
    assert (held_out, len({question.document_id for question in found.dataset.questions})) == (1, 1)
