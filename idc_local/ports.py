"""The interfaces that use cases depend on; adapters in ``backends`` and ``readers`` implement them.

Layer 1: nothing here does anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from idc_local.types import Document, FloatArray, IntArray, Skip


class TokenCounter(Protocol):
    """Counts the embedder's word pieces."""

    def count(self, texts: Sequence[str]) -> IntArray:
        """int64 [len(texts)]: word pieces of each text, without special tokens, never truncated."""
        ...


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text. vectors: float32 [n, d], unit rows. words: the word that each of the n is part of."""

    vectors: FloatArray
    words: Sequence[str]


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def fingerprint(self) -> str:
        """Names model files, prompts and precision; vectors with different fingerprints never mix."""
        ...

    @property
    def dimension(self) -> int:
        """Length d of the vectors."""
        ...

    def encode_documents(self, texts: Sequence[str]) -> FloatArray:
        """float32 [len(texts), d], unit rows; row i belongs to texts[i] and depends on nothing else."""
        ...

    def encode_sentences(self, texts: Sequence[str]) -> tuple[FloatArray, list[Tokens]]:
        """The same, and the tokens of each text, those beyond the window too, from one pass.

        A token has the unit vector that the last layer gives it in its context. Those that the model adds, and those
        of its prompts, are left out.
        """
        ...

    def encode_queries(self, texts: Sequence[str]) -> FloatArray:
        """The same as ``encode_documents`` for queries and intents, with the query prompt where the model has one."""
        ...

    def query_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each query, as far as the window goes."""
        ...


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One prompt to complete: ``seed`` fixes the sampling of this request alone."""

    prompt: str
    seed: int


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote. confidence: mean natural logarithm of its tokens' probabilities, the end's among them."""

    text: str
    confidence: float


class TextGenerator(Protocol):
    """Completes prompts with a local language model."""

    @property
    def fingerprint(self) -> str:
        """Names the model file and everything that changes its output."""
        ...

    def generate(
        self, prefix: str, requests: Sequence[GenerationRequest], *, max_tokens: int, stop: str
    ) -> list[Completion]:
        """Completions of ``prefix + request.prompt`` in the order of ``requests``.

        The prefix is evaluated once and shared. Each text ends before ``stop``, at the model's end token or
        after ``max_tokens``. Same prefix, requests and seeds give the same completions.
        """
        ...


class Progress(Protocol):
    """Told how far a stage is; draws, or does not."""

    def start(self, stage: str, total: int | None, unit: str) -> None:
        """A stage begins; ``total`` None when its end is unknown, ``unit`` empty where nothing can be counted."""
        ...

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """``amount`` more units of the stage are done."""
        ...

    def finish(self) -> None:
        """The stage is over."""
        ...


class Reader(Protocol):
    """Reads one family of formats. A format is one module in ``readers`` that offers one of these."""

    media_types: tuple[str, ...]
    suffixes: tuple[str, ...]

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError, naming ``path``, for input that is not of the format."""
        ...


@dataclass(frozen=True, slots=True)
class Member:
    """A file inside an archive; ``path`` is the archive's own, ``!/`` and the member's name."""

    path: str
    data: bytes


class DocumentReader(Protocol):
    """Reads files of all kinds."""

    def read(self, data: bytes, path: str) -> Document:
        """The document in ``data``; raises InputError, naming ``path``, where there is none to be had."""
        ...

    def members(self, data: bytes, path: str) -> Sequence[Member | Skip]:
        """What an archive holds, by name; raises InputError for one that cannot be opened."""
        ...


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file found below the roots: its name as shown, its place, and what tells whether it changed."""

    path: str
    real: Path
    size: int
    mtime_ns: int
