"""Texts side by side in one row, on models of random weights: the same as each text alone, or not done at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from idc_local.backends import packing, sbert
from idc_local.backends.sbert import OFFLINE, SentenceEmbedder, load_embedder
from idc_local.catalogue import ModelFiles

pytestmark = pytest.mark.model

WORDS = list("abcdefghijklmnopqrstu")
TEXTS = [" ".join((WORDS * 3)[start : start + length]) for start in range(5) for length in (1, 2, 2, 3, 7, 30)]
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "bert": {"vocab_size": 30, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
    "xlm-roberta": {"vocab_size": 30, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
    "distilbert": {"vocab_size": 30, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64},
}


def build(folder: Path, kind: str, pooling: str = "mean", *, framed: bool = True, **changes: Any) -> ModelFiles:
    """A sentence-transformers folder with a model of two layers, random but the same each time."""
    os.environ.update(OFFLINE)
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast

    vocabulary = {word: place for place, word in enumerate(["[CLS]", "[PAD]", "[SEP]", "[UNK]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]" if framed else "$A", special_tokens=[("[CLS]", 0), ("[SEP]", 2)]
    )
    special = {"cls_token": "[CLS]", "pad_token": "[PAD]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
    make: Any = PreTrainedTokenizerFast
    make(tokenizer_object=tokenizer, **special).save_pretrained(folder / "inner")
    torch.manual_seed(7)
    settings = CONFIGURATIONS[kind] | {"pad_token_id": 1, "max_position_embeddings": 64, "initializer_range": 0.5}
    of: Any = AutoModel.from_config
    model = of(AutoConfig.for_model(kind, **settings | changes))
    model.save_pretrained(folder / "inner")
    modules = [Transformer(str(folder / "inner"), max_seq_length=40), Pooling(32, pooling_mode=pooling), Normalize()]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "model"))
    return ModelFiles(kind, "embedder", folder / "model", {}, dimension=32)


def inner(embedder: SentenceEmbedder) -> Any:
    return embedder._model[0].auto_model


def one_by_one(embedder: SentenceEmbedder) -> np.ndarray[Any, np.dtype[np.float32]]:
    """What the library makes of each text alone, by its usual attention."""
    inner(embedder).set_attn_implementation("eager")
    return np.concatenate([embedder._model.encode([text], show_progress_bar=False) for text in TEXTS])


@pytest.mark.parametrize(
    ("kind", "pooling", "packs"),
    [("bert", "mean", True), ("bert", "cls", True), ("xlm-roberta", "mean", True), ("distilbert", "mean", False)],
)
def test_each_text_gets_what_it_gets_alone(tmp_path: Path, kind: str, pooling: str, packs: bool) -> None:
    embedder = load_embedder(build(tmp_path, kind, pooling), 2, bfloat16=False)
    assert isinstance(embedder, SentenceEmbedder)
    assert embedder._packs is packs
    vectors, tokens = embedder.encode_sentences(TEXTS)
    assert [len(one.words) for one in tokens] == [len(text.split()) for text in TEXTS]
    # Texts of unlike length that begin alike are no longer alike.
    assert np.abs(vectors[0] - vectors[1]).max() > 0.01
    assert np.abs(vectors - one_by_one(embedder)).max() < 2**-11


def test_models_that_look_ahead_at_nothing_are_not_packed(tmp_path: Path) -> None:
    embedder = load_embedder(build(tmp_path, "bert", is_decoder=True), 1, bfloat16=False)
    assert isinstance(embedder, SentenceEmbedder)
    assert not embedder._packs
    vectors = embedder.encode_documents(TEXTS)
    assert np.abs(vectors - one_by_one(embedder)).max() < 2**-11


def test_a_model_that_disagrees_with_itself_is_not_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Places that begin with another number are those of another kind of model.
    monkeypatch.setattr(packing, "_first_place", lambda model: 2)
    embedder = load_embedder(build(tmp_path, "bert"), 1, bfloat16=False)
    assert isinstance(embedder, SentenceEmbedder)
    assert not embedder._packs
    assert inner(embedder).config._attn_implementation == "sdpa"
    vectors = embedder.encode_documents(TEXTS)
    assert np.abs(vectors - one_by_one(embedder)).max() < 2**-11


@pytest.mark.parametrize("kind", ["bert", "distilbert"])
def test_a_text_without_any_token_gets_no_direction(tmp_path: Path, kind: str) -> None:
    embedder = load_embedder(build(tmp_path, kind, framed=False), 1, bfloat16=False)
    vectors, tokens = embedder.encode_sentences(["", "a b", " "])
    assert (vectors[[0, 2]] == 0).all()
    assert np.linalg.norm(vectors[1]) == pytest.approx(1, abs=1e-3)
    assert [one.words for one in tokens] == [[], ["a", "b"], []]
    assert (embedder.encode_documents(["", " "]) == 0).all()


def test_batches_hold_every_text_once_and_no_more_tokens_than_agreed() -> None:
    lengths = [3, 12, 0, 4, 3, 3, 4, 5]
    assert [batch.tolist() for batch in sbert._batches(lengths, 10, mixed=True)] == [[1], [7, 3], [6, 0, 4], [5]]
    assert [batch.tolist() for batch in sbert._batches(lengths, 10, mixed=False)] == [[1], [7], [3, 6], [0, 4, 5]]
    assert list(sbert._batches([], 10, mixed=True)) == list(sbert._batches([0], 10, mixed=False)) == []


@pytest.mark.parametrize(
    ("texts", "threads", "batches"), [(4, 2, 1), (200, 2, 4), (200, 1, 3), (200, 4, 8), (2000, 2, 23)]
)
def test_every_thread_gets_its_share(tmp_path: Path, texts: int, threads: int, batches: int) -> None:
    # Texts of 17 tokens: 2,000 of them fill 23 batches of 90 texts.
    embedder = load_embedder(build(tmp_path, "bert"), threads, bfloat16=False)
    assert isinstance(embedder, SentenceEmbedder)
    seen: list[int] = []
    embedder._in_batches([[3] * 17] * texts, lambda batch: seen.append(len(batch)))
    assert sum(seen) == texts
    assert len(seen) == batches
