"""Reads files in this very process: for tests, and for texts that come from a program and not from a disk."""

from __future__ import annotations

from collections.abc import Sequence

from idc_local.ports import Member
from idc_local.readers import MAX_BYTES, ReadOptions, read_source
from idc_local.readers.archives import members_of
from idc_local.types import Document, Skip


class DirectReader:
    """``ports.DocumentReader`` without a process of its own."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes

    def read(self, data: bytes, path: str) -> Document:
        """The document in ``data``; raises InputError, naming ``path``, where there is none to be had."""
        return read_source(data, path, ReadOptions(max_bytes=self._max_bytes))

    def members(self, data: bytes, path: str) -> Sequence[Member | Skip]:
        """What an archive holds, in the order of names; raises InputError for one that cannot be opened."""
        return members_of(data, path, self._max_bytes)
