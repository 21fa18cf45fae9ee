"""The real embedder: rows that depend on their own text alone, equal to the library's, and the same without torch."""

from __future__ import annotations

import json
import shutil
import socket
from dataclasses import replace
from itertools import accumulate, cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from idc_local.backends import sbert as module
from idc_local.backends.minilm import BertQueryEncoder, load_query_encoder
from idc_local.backends.sbert import SentenceEmbedder, gains_by_bfloat16, load_embedder
from idc_local.backends.tokens import EstimatedWordPieces, load_token_counter
from idc_local.catalogue import Catalogue, ModelFiles
from idc_local.cli.models import try_model
from idc_local.errors import ModelError
from idc_local.ports import Embedder
from idc_local.types import FloatArray

pytestmark = pytest.mark.model

TEXTS = [
    "The pump's inlet pressure must not fall below 2.5 bar.",
    "Replace the seal every 4,000 hours.",
    "Who pays for the return of a faulty unit?",
    "Die Frist beträgt vierzehn Tage.",
    "浮球磨损后应更换。",
    "ok",
    "",
    "\0 \u200b \ud800 e\u0301 👩‍👩‍👧",
    "x" * 3000,
    "The committee met again in the spring, and although nobody had expected it, the vote was unanimous. " * 3,
]


@pytest.fixture(scope="module")
def files(models_folder: Path) -> ModelFiles:
    return Catalogue(models_folder).resolve("embedder")


@pytest.fixture(scope="module")
def embedder(files: ModelFiles) -> SentenceEmbedder:
    loaded = load_embedder(files, 2, bfloat16=False)
    assert isinstance(loaded, SentenceEmbedder)
    return loaded


@pytest.fixture(scope="module")
def fastest(files: ModelFiles) -> Embedder:
    """As it is loaded on this machine."""
    return load_embedder(files, 2)


@pytest.fixture(scope="module")
def queries(files: ModelFiles) -> BertQueryEncoder:
    loaded = load_query_encoder(files)
    assert loaded is not None
    return loaded


@pytest.fixture(scope="module")
def vectors(embedder: SentenceEmbedder) -> FloatArray:
    return embedder.encode_documents(TEXTS)


def test_vectors_are_what_the_library_computes(embedder: SentenceEmbedder, vectors: FloatArray) -> None:
    valid = [place for place, text in enumerate(TEXTS) if "\ud800" not in text]
    expected = embedder._model.encode([TEXTS[place] for place in valid], show_progress_bar=False)
    assert np.abs(vectors[valid] - expected).max() < 2**-12
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-3)
    assert (vectors == vectors.astype(np.float16)).all()


@pytest.mark.parametrize("name", ["embedder", "fastest"])
def test_a_row_depends_on_its_own_text_alone(name: str, request: pytest.FixtureRequest) -> None:
    embedder: Embedder = request.getfixturevalue(name)
    texts = [*TEXTS, *(" ".join(TEXTS[9].split()[:length]) for length in range(1, 40))]
    vectors = embedder.encode_documents(texts)
    order = [7, 2, 9, 2, 0, 8, 1, 45, 30, 12]
    assert (embedder.encode_documents([texts[place] for place in order]) == vectors[order]).all()
    for place in (0, 4, 9, 20):
        assert (embedder.encode_documents([texts[place]])[0] == vectors[place]).all()
    assert embedder.encode_documents([]).shape == (0, 384)


@pytest.mark.parametrize("name", ["embedder", "fastest"])
def test_a_short_text_alone_is_as_among_others(name: str, request: pytest.FixtureRequest) -> None:
    # One row of so few tokens is multiplied by other kernels, which round otherwise, than the rows of a batch.
    embedder: Embedder = request.getfixturevalue(name)
    texts = [f"# {word}" for word in ("pump", "handbook", "warranty", "frost", "seal", "valve", "gate", "lease")]
    vectors, tokens = embedder.encode_sentences(texts)
    for place, text in enumerate(texts):
        [vector], [own] = embedder.encode_sentences([text])
        assert (vector == vectors[place]).all()
        assert (own.vectors == tokens[place].vectors).all()
        assert (embedder.encode_documents([text])[0] == vector).all()


def test_queries_and_documents_are_embedded_alike(embedder: SentenceEmbedder, vectors: FloatArray) -> None:
    assert (embedder.encode_queries(TEXTS) == vectors).all()


@pytest.mark.parametrize(("reduced", "quicker"), [(0.7, True), (0.8, False), (2.0, False)])
def test_bfloat16_must_be_clearly_quicker(reduced: float, quicker: bool) -> None:
    # The clock goes on by what a product takes: float32 first.
    ticks = accumulate(cycle([0.0, 1.0, 0.0, reduced]))
    assert gains_by_bfloat16(lambda: next(ticks)) is quicker


def test_bfloat16_needs_its_instructions(files: ModelFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    for has, gains in ((True, True), (True, False), (False, True)):
        monkeypatch.setattr(module, "has_bfloat16", lambda has=has: has)
        monkeypatch.setattr(module, "gains_by_bfloat16", lambda gains=gains: gains)
        loaded = load_embedder(files, 1)
        assert isinstance(loaded, SentenceEmbedder)
        assert loaded._bfloat16 is (has and gains)


@pytest.mark.parametrize("bfloat16", [None, True])
def test_bfloat16_changes_no_vector_by_more_than_noise(
    files: ModelFiles, vectors: FloatArray, bfloat16: bool | None
) -> None:
    reduced = load_embedder(files, 2, bfloat16=bfloat16)
    cosines = np.einsum("nd,nd->n", reduced.encode_documents(TEXTS), vectors)
    assert cosines.min() >= 0.999
    assert (reduced.encode_queries(TEXTS) == vectors).all()


def test_a_long_text_is_averaged_not_cut(embedder: SentenceEmbedder, vectors: FloatArray) -> None:
    long = TEXTS[0] + " " + TEXTS[9] * 12 + TEXTS[1]
    [vector] = embedder.encode_documents([long])
    [cut] = embedder.encode_documents([long[: len(long) // 3]])
    tail = vectors[1]
    assert vector @ tail > cut @ tail
    assert int(np.argmax(vectors @ vector)) == 9


def test_queries_without_torch_are_the_same(queries: BertQueryEncoder, embedder: SentenceEmbedder) -> None:
    found, expected = queries.encode_queries(TEXTS), embedder.encode_queries(TEXTS)
    # both are rounded to float16, whose steps below 0.5 are 2**-12 at most
    assert np.abs(found - expected).max() <= 2**-12
    assert (found != expected).mean() < 0.02


def test_tokens_are_the_last_layer_of_the_library(embedder: SentenceEmbedder) -> None:
    texts = [text for text in TEXTS[:4] if text]
    expected: Any = embedder._model.encode(texts, output_value="token_embeddings", show_progress_bar=False)
    for found, whole in zip(embedder.query_tokens(texts), expected, strict=True):
        inner = whole.numpy()[1:-1]
        assert found.vectors == pytest.approx(inner / np.linalg.norm(inner, axis=1, keepdims=True), abs=1e-4)
        assert np.linalg.norm(found.vectors, axis=1) == pytest.approx(np.ones(len(inner)), abs=1e-5)


def test_sentences_get_vectors_and_tokens_from_one_pass(files: ModelFiles, embedder: SentenceEmbedder) -> None:
    long = " ".join(f"{text} {number}" for number, text in enumerate(TEXTS * 7))
    texts = [*TEXTS, long, TEXTS[0]]
    vectors, tokens = embedder.encode_sentences(texts)
    assert (vectors == embedder.encode_documents(texts)).all()
    whole = embedder.query_tokens(texts)
    for found, expected in zip(tokens, whole, strict=True):
        assert found.words == expected.words
        assert found.vectors == pytest.approx(expected.vectors, abs=0.05 if embedder._bfloat16 else 1e-4)
    # Behind the window too: all the words, in their order.
    assert tokens[len(TEXTS)].words[-1] == str(len(TEXTS) * 7 - 1)
    assert len(tokens[len(TEXTS)].words) == load_token_counter(files.main).count([long])[0]
    assert embedder.encode_sentences([])[1] == []


@pytest.mark.parametrize("prompt", ["", "query: "])
def test_tokens_without_torch_are_the_same(files: ModelFiles, prompt: str) -> None:
    prompted = replace(files, query_prompt=prompt)
    light, whole = load_query_encoder(prompted), load_embedder(prompted, 2)
    assert light is not None
    texts = [*TEXTS, " ".join(f"{text} {number}" for number, text in enumerate(TEXTS * 7))]
    counts = load_token_counter(files.main).count(texts).tolist()
    assert counts[-1] > 3 * 256
    found, expected = light.query_tokens(texts), whole.query_tokens(texts)
    pairs = list(zip(found, expected, strict=True))
    assert all(one.words == other.words for one, other in pairs)
    assert all(len(one.words) == len(one.vectors) == len(other.vectors) for one, other in pairs)
    assert max(np.abs(one.vectors - other.vectors).max(initial=0) for one, other in pairs) < 1e-4
    assert [len(tokens.words) for tokens in found] == counts
    assert light.query_tokens([]) == whole.query_tokens([]) == []
    [asked], [told] = light.query_tokens(texts[2:3]), whole.encode_sentences(texts[2:3])[1]
    assert (np.abs(asked.vectors - told.vectors).max() < 0.05) == (not prompt)
    assert asked.words == told.words == ["Who", "pays", "for", "the", "return", "of", "a", "faulty", "unit", "?"]
    [split] = light.query_tokens(["The E-4012's seal, unwatertight: 4,000 h."])
    assert list(dict.fromkeys(split.words))[:9] == ["The", "E", "-", "4012", "'", "s", "seal", ",", "unwatertight"]
    assert split.words.count("unwatertight") == counts_of(light, "unwatertight")


def counts_of(encoder: BertQueryEncoder, word: str) -> int:
    return len(encoder._tokenizer.encode(word, add_special_tokens=False).ids)


def test_word_pieces_are_those_of_the_model(embedder: SentenceEmbedder, files: ModelFiles) -> None:
    counter = load_token_counter(files.main)
    valid = [text for text in TEXTS if "\ud800" not in text]
    expected = [len(embedder._model.tokenizer(text, add_special_tokens=False)["input_ids"]) for text in valid]
    assert counter.count(valid).tolist() == expected
    assert counter.count(["word " * 700]).tolist() == [700]
    english = TEXTS[:3]
    assert (EstimatedWordPieces().count(english) >= counter.count(english)).all()


def test_environment_of_the_user_cannot_bring_the_network_back(
    files: ModelFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError(f"looked for a host: {arguments}")

    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    load_embedder(files, 1)


@pytest.mark.parametrize("weights", [{}, {"embeddings.word_embeddings.weight": np.nan}], ids=["none", "nan"])
def test_weights_that_are_missing_or_no_numbers_fail_the_trial(
    files: ModelFiles, tmp_path: Path, weights: dict[str, float]
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(files.main, folder)
    kept = load_file(folder / "model.safetensors") if weights else {}
    save_file(kept | {name: np.full_like(kept[name], value) for name, value in weights.items()}, folder / "w")
    (folder / "w").replace(folder / "model.safetensors")
    with pytest.raises(ModelError, match="lacks weights, or holds some that are no numbers"):
        try_model(replace(files, main=folder), 1)
    assert try_model(files, 1) == 384


def test_the_tokenizer_of_another_model_is_one_clear_error(files: ModelFiles, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(files.main, folder)
    table = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    table["model"]["vocab"]["boiler"] = 30522  # behind the last row of the weights
    (folder / "tokenizer.json").write_text(json.dumps(table))
    other = replace(files, main=folder, name="other")
    queries = load_query_encoder(other)
    assert queries is not None
    for encode in (queries.encode_queries, load_embedder(other, 1).encode_documents):
        assert encode(["The roof."]).shape == (1, 384)
        with pytest.raises(ModelError) as caught:
            encode(["The roof.", "The boiler."])
        assert caught.value.message == (
            "model other has no weights for a token of its tokenizer, or for the last place of its window"
        )


def test_unusable_folder_is_one_clear_error(files: ModelFiles, tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("[]")
    with pytest.raises(ModelError, match="cannot be loaded as an embedder") as caught:
        load_embedder(ModelFiles("x", "embedder", tmp_path, {}), 1)
    assert "\n" not in str(caught.value)
