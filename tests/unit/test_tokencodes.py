"""Codes of tokens: bits by hand, cosines by brute force, and how near the estimate comes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local.tokencodes import code_size, encode_tokens, token_cosines
from idc_local.types import FloatArray


def unit(values: Any) -> FloatArray:
    return np.asarray(values / np.linalg.norm(values, axis=1, keepdims=True), dtype=np.float32)


def test_a_code_has_a_bit_for_each_value_above_zero() -> None:
    vectors = np.array([[1, -1, 0, 0.5, 2, -3, 1, 1, -1, 1]], dtype=np.float32)
    assert encode_tokens(vectors).tolist() == [[0b11011001, 0b10]]
    assert encode_tokens(np.zeros((0, 10), dtype=np.float32)).shape == (0, 2)
    assert [code_size(width) for width in (1, 8, 9, 384)] == [1, 1, 2, 48]


@given(st.integers(1, 40), st.integers(0, 99))
def test_cosines_are_those_with_the_signs(width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tokens, others = unit(rng.standard_normal((3, width))), unit(rng.standard_normal((5, width)))
    expected = [
        [
            math.sqrt(math.pi / 2 / width)
            * sum(float(a) * (1 if b > 0 else -1) for a, b in zip(one, other, strict=True))
            for other in others
        ]
        for one in tokens
    ]
    assert token_cosines(tokens, encode_tokens(others)) == pytest.approx(np.array(expected), abs=1e-5)


@pytest.mark.parametrize(("asked", "held"), [(3, 9001), (9001, 3), (0, 3), (3, 0)])
def test_many_tokens_on_either_side_and_none(asked: int, held: int) -> None:
    rng = np.random.default_rng(1)
    tokens, others = rng.standard_normal((asked, 40)), rng.standard_normal((held, 40))
    expected = math.sqrt(math.pi / 2 / 40) * tokens @ np.where(others > 0, 1, -1).T
    found = token_cosines(tokens.astype(np.float32), encode_tokens(others.astype(np.float32)))
    assert found.shape == (asked, held)
    assert found == pytest.approx(expected, abs=1e-4)


def test_the_estimate_is_right_on_average_and_as_near_as_it_says() -> None:
    rng = np.random.default_rng(0)
    others = unit(rng.standard_normal((2000, 384)))
    away = unit(rng.standard_normal(others.shape))
    away = unit(away - np.einsum("td,td->t", away, others)[:, None] * others)
    for cosine in (0.0, 0.5, 0.9):
        tokens = unit(cosine * others + math.sqrt(1 - cosine**2) * away)
        found = [float(token_cosines(tokens[[n]], encode_tokens(others[[n]]))[0, 0]) for n in range(2000)]
        assert np.mean(found) == pytest.approx(cosine, abs=0.004)
        assert np.std(found) <= math.sqrt((math.pi / 2 - 1) / 384) * 1.05
