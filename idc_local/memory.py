"""Stand-ins for work without an index or a screen: a cache of one process, and progress that shows nothing.

Layer 3.
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
        self._intents: dict[str, Completion] = {}

    def vectors(self, keys: Sequence[str]) -> Mapping[str, HalfArray]:
        """Known vectors by key."""
        return {key: self._vectors[key] for key in keys if key in self._vectors}

    def put_vectors(self, keys: Sequence[str], vectors: HalfArray) -> None:
        """Keeps vectors."""
        self._vectors.update(zip(keys, vectors, strict=True))

    def intents(self, keys: Sequence[str]) -> Mapping[str, Completion]:
        """Known replies by key."""
        return {key: self._intents[key] for key in keys if key in self._intents}

    def put_intents(self, replies: Mapping[str, Completion]) -> None:
        """Keeps replies."""
        self._intents.update(replies)
