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
        self._ends = folder.array(f"{name}.npy").whole()

    def __len__(self) -> int:
        return int(self._ends.shape[0]) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        return decode_text(self._raw(range(len(self))[place]))

    def _raw(self, place: int) -> bytes:
        return bytes(self._bytes[int(self._ends[place]) : int(self._ends[place + 1])])

    def framed(self, start: str, end: str, sizes: range) -> Iterator[str]:
        """Those that begin with ``start``, end with ``end``, and have one of ``sizes`` bytes of UTF-8.

        The strings must be in order.
        """
        wanted, tail = encode_text(start), encode_text(end)
        first = bisect_left(range(len(self)), wanted, key=self._raw)
        last = bisect_right(range(len(self)), wanted, key=lambda place: self._raw(place)[: len(wanted)])
        held = np.diff(self._ends[first : last + 1])
        places = first + np.flatnonzero((held >= max(sizes.start, len(tail))) & (held < sizes.stop))
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
        found = bisect_left(range(len(self)), wanted, key=lambda n: self._raw(n if order is None else int(order[n])))
        place = found if order is None or found == len(self) else int(order[found])
        return place if found < len(self) and self._raw(place) == wanted else None
