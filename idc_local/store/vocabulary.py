"""Terms in order, found by bisection in a memory-mapped file: nothing is parsed however many there are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from idc_local.store.blocks import BlockFolder, BlockWriter
from idc_local.store.codec import storable

TERM_BYTES, TERM_ENDS = "terms.utf8", "terms.npy"


def write_vocabulary(writer: BlockWriter, terms: Sequence[str]) -> None:
    """Writes ``terms``, which are in order: as UTF-8 they are so too."""
    encoded = [term.encode() for term in terms]
    ends = np.cumsum([len(term) for term in encoded], dtype=np.int64)
    writer.write(TERM_BYTES, lambda sink: sink.write(b"".join(encoded)))
    writer.array(TERM_ENDS, np.concatenate([np.zeros(1, dtype=np.int64), ends]))


class Vocabulary:
    """A file of terms."""

    def __init__(self, folder: BlockFolder) -> None:
        self._bytes = folder.file(TERM_BYTES).view()
        self._ends = folder.array(TERM_ENDS).whole()

    def __len__(self) -> int:
        return int(self._ends.shape[0]) - 1

    def find(self, term: str) -> int | None:
        """Place of ``term`` in the order; None where it is not there."""
        wanted = storable(term).encode()
        place = bisect_left(range(len(self)), wanted, key=self._term)
        return place if place < len(self) and self._term(place) == wanted else None

    def _term(self, place: int) -> bytes:
        return bytes(self._bytes[int(self._ends[place]) : int(self._ends[place + 1])])
