"""Query and token vectors without torch: BERT encoders in NumPy; owns ``safetensors`` and ``threadpoolctl``.

For one short text this costs a few milliseconds, and starting costs a small part of what importing torch does. Only
models of exactly this shape are taken (Devlin et al. 2019: post-norm layers, absolute positions, exact GELU; mean or
first-token pooling); for any other, the caller uses ``sbert``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from idc_local.backends.pieces import (
    Marked,
    Pieces,
    beyond_weights,
    frame_of,
    marked,
    merge_pieces,
    own_tokens,
    split_pieces,
)
from idc_local.backends.tokens import load_tokenizer
from idc_local.catalogue import ModelFiles
from idc_local.errors import ModelError
from idc_local.fingerprint import parse_json
from idc_local.ports import Tokens
from idc_local.types import FloatArray

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController
    from tokenizers import Tokenizer

MODULES = ["Transformer", "Pooling", "Normalize"]
BERT = {"model_type": "bert", "hidden_act": "gelu"}

REMEMBERED = 4
"""Texts of which the last layer is remembered: a query's vector and its tokens come from the same pass."""


@dataclass(frozen=True, slots=True)
class _Shape:
    layers: int
    heads: int
    epsilon: float
    window: int
    first_token: bool


@dataclass(frozen=True, slots=True)
class _Model:
    """tensors: float32 by name. threads: the BLAS libraries' thread pools."""

    tensors: dict[str, Any]
    shape: _Shape
    tokenizer: Tokenizer
    threads: ThreadpoolController


def load_query_encoder(files: ModelFiles) -> BertQueryEncoder | None:
    """The encoder for a verified folder; None where the model has another shape."""
    shape = _shape(files.main)
    if shape is None:
        return None
    from safetensors import SafetensorError
    from safetensors.numpy import load_file
    from threadpoolctl import ThreadpoolController

    try:
        weights = load_file(files.main / "model.safetensors")
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{files.main} cannot be loaded ({error})", hint="idc-local models verify") from error
    prefix = "bert." if "bert.embeddings.word_embeddings.weight" in weights else ""
    tensors = {name.removeprefix(prefix): value for name, value in weights.items()}
    if any(value.dtype != np.float32 for name, value in tensors.items() if not name.endswith("position_ids")):
        return None
    return BertQueryEncoder(_Model(tensors, shape, load_tokenizer(files.main), ThreadpoolController()), files)


def _shape(folder: Path) -> _Shape | None:
    """What the configuration says of the model, or None where it is not one that this module computes."""
    try:
        config, modules, settings, pooling = (
            parse_json((folder / name).read_text("utf-8"))
            for name in ("config.json", "modules.json", "sentence_bert_config.json", "1_Pooling/config.json")
        )
        kinds = [str(module["type"]).rsplit(".", 1)[-1] for module in modules]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if kinds != MODULES or any(config.get(key) != value for key, value in BERT.items()):
        return None
    if config.get("position_embedding_type", "absolute") != "absolute" or settings.get("do_lower_case"):
        return None
    modes = [key for key, value in pooling.items() if key.startswith("pooling_mode_") and value is True]
    if modes not in (["pooling_mode_mean_tokens"], ["pooling_mode_cls_token"]):
        return None
    try:
        return _Shape(
            int(config["num_hidden_layers"]),
            int(config["num_attention_heads"]),
            float(config["layer_norm_eps"]),
            int(settings.get("max_seq_length") or config["max_position_embeddings"]),
            modes == ["pooling_mode_cls_token"],
        )
    except KeyError:  # left to the defaults of the library that wrote it
        return None


class BertQueryEncoder:
    """One text at a time, so that a row depends on nothing else and no padding is computed."""

    def __init__(self, model: _Model, files: ModelFiles) -> None:
        self._tensors = model.tensors
        self._shape = model.shape
        self._tokenizer = model.tokenizer
        self._threads = model.threads
        self._name = files.name
        self._prompt = files.query_prompt
        self._frame = frame_of(self._prompt, self._mark)
        self._read = lru_cache(maxsize=REMEMBERED)(self._pieces_of)

    def encode_queries(self, texts: Sequence[str]) -> FloatArray:
        """float32 [len(texts), d], unit rows that float16 can hold."""
        dimension = self._tensors["embeddings.word_embeddings.weight"].shape[1]
        vectors = np.zeros((len(texts), dimension), dtype=np.float32)
        for place, text in enumerate(texts):
            pieces, hidden = self._read(text)
            vectors[place] = merge_pieces(pieces, np.stack([self._pooled(rows) for rows in hidden]))[0]
        return vectors

    def query_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text."""
        return [own_tokens(*self._read(text), self._frame)[0] for text in texts]

    def _pieces_of(self, text: str) -> tuple[Pieces, list[FloatArray]]:
        """A text in pieces that fit the window, and for each float32 [its tokens, d], as the last layer has them."""
        pieces = split_pieces([text], self._prompt, self._shape.window, self._mark)
        # Products this small are slower on several threads, and very slow where other programs want the cores.
        with self._threads.limit(limits=1, user_api="blas"):
            return pieces, [self._forward(ids) for ids in pieces.ids]

    def _mark(self, texts: list[str]) -> list[Marked]:
        return marked(texts, self._tokenizer.encode_batch(texts))

    def _pooled(self, hidden: FloatArray) -> FloatArray:
        """float32 [d], unit length."""
        pooled = hidden[0] if self._shape.first_token else hidden.mean(axis=0)
        return np.asarray(pooled / np.linalg.norm(pooled), dtype=np.float32)

    def _forward(self, ids: list[int]) -> FloatArray:
        """float32 [tokens, d]. ids: token ids with special tokens."""
        words = self._tensors["embeddings.word_embeddings.weight"]
        if max(ids) >= len(words):
            raise beyond_weights(self._name)
        embedded = (
            words[ids]
            + self._tensors["embeddings.token_type_embeddings.weight"][0]
            + self._tensors["embeddings.position_embeddings.weight"][: len(ids)]
        )
        hidden = self._normed(embedded, "embeddings.LayerNorm")
        for layer in range(self._shape.layers):
            hidden = self._layer(hidden, f"encoder.layer.{layer}.")
        return hidden

    def _layer(self, hidden: FloatArray, name: str) -> FloatArray:
        attended = self._linear(self._attention(hidden, name), name + "attention.output.dense")
        hidden = self._normed(hidden + attended, name + "attention.output.LayerNorm")
        widened = gelu(self._linear(hidden, name + "intermediate.dense"))
        return self._normed(hidden + self._linear(widened, name + "output.dense"), name + "output.LayerNorm")

    def _attention(self, hidden: FloatArray, name: str) -> FloatArray:
        """Softmax(QKᵀ/√s)V of every head (Vaswani et al. 2017, equation 1); hidden: float32 [tokens, d]."""
        tokens, width = hidden.shape
        query, key, value = (
            self._linear(hidden, f"{name}attention.self.{part}")
            .reshape(tokens, self._shape.heads, -1)
            .transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(query.shape[2]))
        shares = np.exp(scores - scores.max(axis=2, keepdims=True))
        shares /= shares.sum(axis=2, keepdims=True)
        return np.asarray((shares @ value).transpose(1, 0, 2).reshape(tokens, width), dtype=np.float32)

    def _linear(self, values: FloatArray, name: str) -> FloatArray:
        return np.asarray(values @ self._tensors[f"{name}.weight"].T + self._tensors[f"{name}.bias"])

    def _normed(self, values: FloatArray, name: str) -> FloatArray:
        centred = values - values.mean(axis=1, keepdims=True)
        scale = np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + np.float32(self._shape.epsilon))
        return np.asarray(centred / scale * self._tensors[f"{name}.weight"] + self._tensors[f"{name}.bias"])


def gelu(values: FloatArray) -> FloatArray:
    """x·Φ(x) in its exact form, float32 of any shape.

    erf by Abramowitz and Stegun, equation 7.1.26: its error is at most 1.5e-7.
    """
    scaled = np.abs(values) * np.float32(np.sqrt(0.5))
    t = np.float32(1) / (np.float32(1) + np.float32(0.3275911) * scaled)
    series = np.full_like(t, 1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * t + np.float32(factor)
    tail = series * t * np.exp(-scaled * scaled)
    return np.asarray(values * np.where(values < 0, tail, 2 - tail) * np.float32(0.5), dtype=np.float32)
