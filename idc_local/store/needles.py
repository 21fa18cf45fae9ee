"""Finding any of many byte strings in large files. Pure.

A table of hashed first bytes rules out nearly every place at once; what is left is compared in full.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

LEAST = 12
"""Bytes that a string must have to be looked for."""
MOST = 256
"""Bytes of a string that are compared."""
TABLE_BITS = 20


class Needles:
    """Byte strings to look for; of each at most the first 256 bytes."""

    def __init__(self, strings: Iterable[bytes]) -> None:
        self.strings = sorted({string[:MOST] for string in strings if len(string) >= LEAST})
        self._heads: dict[int, list[bytes]] = {}
        for string in self.strings:
            self._heads.setdefault(int.from_bytes(string[:8], "little"), []).append(string)
        self._keys = np.array(sorted(self._heads), dtype=np.uint64)
        self._table = np.zeros(1 << TABLE_BITS, dtype=np.bool_)
        self._table[_hashed(self._keys.astype(np.uint32))] = True

    def found_in(self, data: bytes) -> set[bytes]:
        """Those that occur in ``data``."""
        if len(data) < LEAST or not self.strings:
            return set()
        windows = np.ndarray((len(data) - 7,), dtype="<u4", buffer=data, strides=(1,))
        places = np.flatnonzero(self._table[_hashed(windows)])
        heads = np.ndarray((len(data) - 7,), dtype="<u8", buffer=data, strides=(1,))[places]
        hits = np.isin(heads, self._keys)
        found: set[bytes] = set()
        for place, head in zip(places[hits].tolist(), heads[hits].tolist(), strict=True):
            found.update(string for string in self._heads[head] if data.startswith(string, place))
        return found


def _hashed(heads: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Multiplicative hash of four bytes (Knuth), TABLE_BITS bits."""
    return np.asarray((heads * np.uint32(2654435761)) >> np.uint32(32 - TABLE_BITS), dtype=np.uint32)
