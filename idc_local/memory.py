"""Stand-ins for work without an index or a screen: a cache of one process, and progress that shows nothing.

Layer 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from idc_local.ports import Completion
from idc_local.types import HalfArray


class Silent:
    """Progress that shows nothing."""

    def start(self, stage: str, total: int | None, unit: str) -> None:
        """A stage begins."""

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """More of it is done."""

    def finish(self) -> None:
        """It is over."""


class MemoryCache:
    """Vector and intent cache of one process, for work without an index."""

    def __init__(self) -> None:
        self._vectors: dict[str, HalfArray] = {}
        self._codes: dict[str, bytes] = {}
        self._intents: dict[str, Completion] = {}

    def vectors(self, keys: Sequence[str]) -> Mapping[str, HalfArray]:
        """Known vectors, float16 [d], by key."""
        return {key: self._vectors[key] for key in keys if key in self._vectors}

    def codes(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Known codes of tokens by key."""
        return {key: self._codes[key] for key in keys if key in self._codes}

    def put_vectors(self, keys: Sequence[str], vectors: HalfArray, codes: Sequence[bytes] = ()) -> None:
        """Keeps vectors and the codes of their tokens."""
        self._vectors.update(zip(keys, vectors, strict=True))
        self._codes.update(zip(keys, codes or [b""] * len(keys), strict=True))

    def intents(self, keys: Sequence[str]) -> Mapping[str, Completion]:
        """Known replies by key."""
        return {key: self._intents[key] for key in keys if key in self._intents}

    def put_intents(self, replies: Mapping[str, Completion]) -> None:
        """Keeps replies."""
        self._intents.update(replies)
