"""Counts the embedder's word pieces: owns ``tokenizers``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from idc_local.errors import ModelError
from idc_local.ports import TokenCounter
from idc_local.types import IntArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BATCH = 1000
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_WORD = re.compile(r"[A-Za-zÀ-ɏ]+|[0-9]+|\S")


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a model's folder, with padding and truncation off."""
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception for a missing or malformed file
        raise ModelError(f"{path} is no usable tokenizer ({error})", hint="idc-local models verify") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def encodable(text: str) -> str:
    """The text with lone surrogates replaced, since native tokenizers take only valid Unicode."""
    return _SURROGATE.sub("\ufffd", text)


class WordPieces:
    """Counts with the model's own tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def count(self, texts: Sequence[str]) -> IntArray:
        """int64 [len(texts)]: word pieces of each text, without special tokens, never truncated."""
        counts: list[int] = []
        for start in range(0, len(texts), BATCH):
            batch = [encodable(text) for text in texts[start : start + BATCH]]
            encoded = self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            counts.extend(len(one) for one in encoded)
        return np.array(counts, dtype=np.int64)


class EstimatedWordPieces:
    """Counts without a model, to be used where none is installed; meant to err high (English by half, German hardly).

    A run of Latin letters counts one piece for each 4 letters begun (past 8 letters: each 3 begun, and one more), a
    run of digits one for each 2 begun, a Hangul syllable one for each letter of it, any other visible character one.
    """

    def count(self, texts: Sequence[str]) -> IntArray:
        """int64 [len(texts)]: an estimate of each text's word pieces."""
        return np.array([sum(map(_estimate, _WORD.findall(text))) for text in texts], dtype=np.int64)


def _estimate(word: str) -> int:
    if word[0].isdigit() and len(word) > 1:
        return -(-len(word) // 2)
    if len(word) > 1:
        return -(-len(word) // 4) if len(word) <= 8 else -(-len(word) // 3) + 1
    return len(unicodedata.normalize("NFD", word)) if "가" <= word <= "힣" else 1


def load_token_counter(folder: Path) -> TokenCounter:
    """Counter over the tokenizer in a model's folder."""
    return WordPieces(load_tokenizer(folder))
