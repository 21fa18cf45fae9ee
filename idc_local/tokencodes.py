"""Token vectors as an index keeps them: the sign of each value, one bit. Layer 1, pure numpy.

Nothing is trained, so that the code of a vector depends on the vector alone, and signs suit any model, whatever it
does with single dimensions.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from idc_local.types import FloatArray

PER_BYTE = 8
ONE_THREAD = 1 << 18
"""Multiplications of a product up to which OpenBLAS keeps to one thread: several would wait for each other, and where
other programs want the cores for many times what the product takes."""


def code_size(dimension: int) -> int:
    """Bytes of the code of a vector of ``dimension`` values."""
    return -(-dimension // PER_BYTE)


def encode_tokens(vectors: FloatArray) -> npt.NDArray[np.uint8]:
    """uint8 [t, code_size(d)]: codes of vectors, float32 [t, d]: 1 for a value above 0, the first in the lowest bit."""
    return np.packbits(vectors > 0, axis=1, bitorder="little")


@cache
def _signs() -> npt.NDArray[np.uint64]:
    """uint64 [256]: the eight signs that each byte stands for, int8 each, as one number, which is quicker to copy."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    return np.ascontiguousarray(bits.astype(np.int8) * 2 - 1).view(np.uint64)[:, 0]


def token_cosines(tokens: FloatArray, codes: npt.NDArray[np.uint8]) -> FloatArray:
    """float32 [q, t]: estimated cosines of unit vectors, float32 [q, d], with coded ones, uint8 [t, code_size(d)].

    √(π/2) times the cosine with the vector of signs: for random directions right on average, with a standard deviation
    of √(π/2 − 1) / √d.
    """
    dimension = tokens.shape[1]
    rows = max(1, ONE_THREAD // max(1, tokens.size))
    blocks = -(-len(codes) // rows)
    padded = np.zeros((blocks * rows, codes.shape[1]), dtype=np.uint8)
    padded[: len(codes)] = codes
    signs = np.take(_signs(), padded).view(np.int8)[:, :dimension].astype(np.float32)
    products = signs.reshape(blocks, rows, dimension) @ tokens.T
    scaled = products.reshape(blocks * rows, len(tokens))[: len(codes)].T * np.float32(np.sqrt(np.pi / 2 / dimension))
    return np.ascontiguousarray(scaled, dtype=np.float32)
