"""Many strings in two memory-mapped files: nothing is parsed, and each is read when it is asked for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np

from idc_local.store.blocks import BlockFolder, BlockWriter
from idc_local.store.codec import decode_text, encode_text
from idc_local.types import IntArray


def write_strings(writer: BlockWriter, name: str, values: Iterable[str]) -> None:
    """Writes ``values`` as ``name``.utf8 and, with where each begins, ``name``.npy."""
    encoded = [encode_text(value) for value in values]
    ends = np.cumsum([len(value) for value in encoded], dtype=np.int64)
    writer.write(f"{name}.utf8", lambda sink: sink.write(b"".join(encoded)))
    writer.array(f"{name}.npy", np.concatenate([np.zeros(1, dtype=np.int64), ends]))


class Strings(Sequence[str]):
    """The strings that ``write_strings`` was given."""

    def __init__(self, folder: BlockFolder, name: str) -> None:
        self._bytes = folder.file(f"{name}.utf8").view()
        self._ends = folder.array(f"{name}.npy").whole().astype(np.int64, copy=False)
        # Single values are read faster through a view.
        self._places = self._ends.data
        self._count = len(self._places) - 1
        self._alike: dict[bytes, range] = {}

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        return decode_text(self._raw(range(len(self))[place]))

    def _raw(self, place: int) -> bytes:
        return bytes(self._bytes[self._places[place] : self._places[place + 1]])

    def _beginning(self, start: bytes) -> range:
        """Places of those that begin with ``start``; the strings must be in order."""
        if not start:
            return range(self._count)
        initial = start[:1]
        if initial not in self._alike:
            self._alike[initial] = self._run(initial, range(self._count))
        alike = self._alike[initial]
        return alike if len(start) == 1 else self._run(start, alike)

    def _run(self, start: bytes, among: range) -> range:
        first = bisect_left(among, start, key=self._raw)
        last = bisect_right(among, start, first, key=lambda place: self._raw(place)[: len(start)])
        return among[first:last]

    def framed(self, start: str, end: str, sizes: range) -> Iterator[str]:
        """Those that begin with ``start``, end with ``end``, and have one of ``sizes`` bytes of UTF-8.

        The strings must be in order.
        """
        wanted, tail = encode_text(start), encode_text(end)
        alike = self._beginning(wanted)
        held = np.diff(self._ends[alike.start : alike.stop + 1])
        places = alike.start + np.flatnonzero((held >= max(sizes.start, len(tail))) & (held < sizes.stop))
        ends = self._ends[places + 1, None] - len(tail) + np.arange(len(tail))
        same = np.frombuffer(self._bytes, dtype=np.uint8)[ends] == np.frombuffer(tail, dtype=np.uint8)
        for place in places[same.all(axis=1)].tolist():
            yield self[place]

    def find(self, value: str, order: IntArray | None = None) -> int | None:
        """Place of ``value``; None where it is not there.

        The strings must be in order, or ``order`` must give their places in order. As UTF-8 they are in the order
        of their code points too.
        """
        wanted = encode_text(value)
        if order is None:
            alike = self._beginning(wanted[:1])
            place = alike.start + bisect_left(alike, wanted, key=self._raw)
        else:
            found = bisect_left(order, wanted, key=lambda place: self._raw(int(place)))
            place = int(order[found]) if found < self._count else self._count
        return place if place < self._count and self._raw(place) == wanted else None
