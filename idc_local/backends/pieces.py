"""Texts longer than a model's window, which tokens are a text's own, and the rounding of vectors.

What both ways of encoding share. Pure numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from idc_local.backends.tokens import encodable
from idc_local.errors import ModelError
from idc_local.ports import Tokens
from idc_local.types import FloatArray, IntArray

NOISE = 1e-6


def beyond_weights(name: str) -> ModelError:
    """What to raise where the tokenizer, or the length of a window, is another model's."""
    return ModelError(
        f"model {name} has no weights for a token of its tokenizer, or for the last place of its window",
        hint=f"idc-local models add PATH --name {name}, with all files of one version",
    )


@dataclass(frozen=True, slots=True)
class Marked:
    """Token ids of a text, special ones included, and the word that each is part of: empty for those."""

    ids: list[int]
    words: list[str]


Mark = Callable[[list[str]], list[Marked]]
"""Token ids of texts with their words, never truncated."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Distinct texts as tokens that fit a window.

    rows: int64 [texts given], the distinct text of each. owners: int64 [len(marked)], the distinct text of each piece;
    the pieces of a text are in its order.
    """

    marked: list[Marked]
    owners: IntArray
    rows: IntArray
    distinct: int

    @property
    def ids(self) -> list[list[int]]:
        """Token ids of each piece."""
        return [one.ids for one in self.marked]


def split_pieces(texts: Sequence[str], prompt: str, window: int, mark: Mark) -> Pieces:
    """Tokens of each distinct text; one that is longer than the window is halved at white space until all fit."""
    places: dict[str, int] = {}
    rows = np.array([places.setdefault(encodable(text), len(places)) for text in texts], dtype=np.int64)
    found: list[tuple[int, int, Marked]] = []
    pending = [(owner, 0, text) for text, owner in places.items()]
    while pending:
        again: list[tuple[int, int, str]] = []
        for (owner, start, text), one in zip(pending, mark([prompt + text for *_, text in pending]), strict=True):
            if len(one.ids) > window and len(text) > 1:
                middle = _middle(text)
                again += [(owner, start, text[:middle]), (owner, start + middle, text[middle:])]
            else:
                found.append((owner, start, Marked(one.ids[:window], one.words[:window])))
        pending = again
    found.sort(key=lambda piece: piece[:2])
    owners = np.array([owner for owner, *_ in found], dtype=np.int64)
    return Pieces([one for *_, one in found], owners, rows, len(places))


def _middle(text: str) -> int:
    """Place near the middle of ``text``, after white space where there is some in its second quarter."""
    half = len(text) // 2
    space = max(text.rfind(" ", half // 2, half + 1), text.rfind("\n", half // 2, half + 1))
    return space + 1 if space > 0 else half


def merge_pieces(pieces: Pieces, vectors: FloatArray) -> FloatArray:
    """float32 [texts given, d], unit rows that float16 can hold.

    vectors: float32 [len(pieces.ids), d]. A text of several pieces gets their mean, weighted by their tokens.
    """
    weights = np.array([len(ids) for ids in pieces.ids], dtype=np.float32)
    merged = np.zeros((pieces.distinct, vectors.shape[1]), dtype=np.float32)
    np.add.at(merged, pieces.owners, vectors * weights[:, None])
    norms = np.linalg.norm(merged, axis=1, keepdims=True)
    unit = merged / np.maximum(norms, NOISE)
    return np.asarray(unit.astype(np.float16).astype(np.float32)[pieces.rows], dtype=np.float32)


def token_words(text: str, owners: Sequence[int | None], offsets: Sequence[tuple[int, int]]) -> list[str]:
    """The word that each token is part of. owners: number of the word, None for a special token; offsets: in ``text``.

    >>> token_words("a sump", [None, 0, 1, 1, None], [(0, 0), (0, 1), (2, 4), (4, 6), (0, 0)])
    ['', 'a', 'sump', 'sump', '']
    """
    spans: dict[int, tuple[int, int]] = {}
    for owner, (start, end) in zip(owners, offsets, strict=True):
        if owner is not None:
            spans[owner] = (spans.get(owner, (start, end))[0], end)
    return ["" if owner is None else text[slice(*spans[owner])] for owner in owners]


def marked(texts: Sequence[str], encodings: Sequence[Any]) -> list[Marked]:
    """What a tokenizer made of each text, as ``Encoding`` of the library tokenizers."""
    every = zip(texts, encodings, strict=True)
    return [Marked(one.ids, token_words(text, one.word_ids, one.offsets)) for text, one in every]


@dataclass(frozen=True, slots=True)
class Frame:
    """What a model puts around every text. ids: its special tokens; prompt: how many tokens of a prompt come first."""

    ids: list[int]
    prompt: int


def frame_of(prompt: str, mark: Mark) -> Frame:
    """The frame of texts under a prompt."""
    bare, prompted = (one.ids for one in mark(["", prompt.rstrip()]))
    return Frame(bare, len(prompted) - len(bare))


def own_tokens(pieces: Pieces, hidden: Sequence[FloatArray], frame: Frame) -> list[Tokens]:
    """The tokens of each text given, those of its pieces one after the other, without those of the frame.

    hidden: for each piece float32 [its tokens, d], as the model's last layer has them.
    """
    found: list[list[Tokens]] = [[] for _ in range(pieces.distinct)]
    for owner, given, vectors in zip(pieces.owners.tolist(), pieces.marked, hidden, strict=True):
        places = [place for place, number in enumerate(given.ids) if number not in frame.ids][frame.prompt :]
        own = vectors[places]
        unit = own / np.maximum(np.linalg.norm(own, axis=1, keepdims=True), NOISE)
        found[owner].append(Tokens(np.asarray(unit, np.float32), [given.words[place] for place in places]))
    texts = [_joined(parts) for parts in found]
    return [texts[row] for row in pieces.rows.tolist()]


def _joined(parts: Sequence[Tokens]) -> Tokens:
    words = [word for part in parts for word in part.words]
    return parts[0] if len(parts) == 1 else Tokens(np.concatenate([part.vectors for part in parts]), words)
