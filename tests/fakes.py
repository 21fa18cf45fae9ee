"""Fast, deterministic stand-ins for the models, at the ports."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

import numpy as np

from idc_local.ports import Completion, GenerationRequest, Tokens
from idc_local.types import FloatArray, IntArray

_WORD = re.compile(r"[㐀-鿿]|\w+|[^\w\s]")


class WordCounter:
    """TokenCounter: words, single CJK characters and marks, each one token."""

    def count(self, texts: Sequence[str]) -> IntArray:
        """Tokens of each text."""
        return np.array([len(_WORD.findall(text)) for text in texts], dtype=np.int64)


def hashed(word: str, dimension: int) -> FloatArray:
    """A random direction that depends on the word alone."""
    seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)


class HashEmbedder:
    """Embedder: the mean direction of a text's words; ``texts`` remembers everything that was embedded."""

    def __init__(self, dimension: int = 32, fingerprint: str = "hash-embedder") -> None:
        self.fingerprint = fingerprint
        self.dimension = dimension
        self.texts: list[str] = []

    def encode_documents(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors, as float16 can hold them."""
        self.texts.extend(texts)
        return self._encode(texts)

    def encode_sentences(self, texts: Sequence[str]) -> tuple[FloatArray, list[Tokens]]:
        """The same, and the tokens of each text."""
        return self.encode_documents(texts), self.query_tokens(texts)

    def encode_queries(self, texts: Sequence[str]) -> FloatArray:
        """The same for queries."""
        return self._encode(texts)

    def query_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The direction of each word, whatever stands around it."""
        found = []
        for text in texts:
            words = _WORD.findall(text.casefold())
            rows = np.array([hashed(word, self.dimension) for word in words], dtype=np.float32)
            rows = rows.reshape(-1, self.dimension)
            found.append(Tokens(rows / np.linalg.norm(rows, axis=1, keepdims=True), words))
        return found

    def _encode(self, texts: Sequence[str]) -> FloatArray:
        result = np.zeros((len(texts), self.dimension), dtype=np.float64)
        for row, text in enumerate(texts):
            for word in [*_WORD.findall(text.casefold()), ""]:
                result[row] += hashed(word, self.dimension)
        result /= np.linalg.norm(result, axis=1, keepdims=True)
        return result.astype(np.float16).astype(np.float32)


class ScriptedGenerator:
    """TextGenerator: asks about the longest words of the end of each prompt; ``calls`` counts the prompts."""

    fingerprint = "scripted-generator"

    def __init__(self, replies: Mapping[str, str] | None = None) -> None:
        self.calls: list[str] = []
        self._replies = dict(replies or {})

    def generate(
        self, prefix: str, requests: Sequence[GenerationRequest], *, max_tokens: int, stop: str
    ) -> list[Completion]:
        """One reply a request: two questions, one a line."""
        self.calls.extend(request.prompt for request in requests)
        return [Completion(self._reply(request.prompt), -0.5) for request in requests]

    def _reply(self, prompt: str) -> str:
        for part, reply in self._replies.items():
            if part in prompt:
                return reply
        words = sorted(set(re.findall(r"[^\W\d_]{4,}", prompt)), key=lambda word: (-len(word), word))[:2]
        return "\n- ".join(f"What does the text say about {word}?" for word in words)
