"""Draws tokens from logits. Pure numpy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from idc_local.types import FloatArray


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is drawn; temperature 0 takes the likeliest.

    top_k keeps the likeliest tokens, top_p the fewest of them that hold that share of the probability (Holtzman et
    al. 2020), min_p those with at least that share of the likeliest one's probability (Nguyen et al. 2024).
    """

    temperature: float = 0.3
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05


def draw(logits: FloatArray, settings: Sampling, rng: np.random.Generator) -> int:
    """A token for logits of shape [vocabulary]. Equal logits and equal state of ``rng`` give the same token."""
    if settings.temperature <= 0:
        return int(np.argmax(logits))
    tokens, shares = candidates(logits, settings)
    return int(tokens[np.searchsorted(np.cumsum(shares), rng.random() * float(shares.sum()), side="right")])


def candidates(logits: FloatArray, settings: Sampling) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """Tokens that may be drawn, likeliest first, ties by token, and their probabilities (sum at most 1)."""
    count = min(settings.top_k, logits.shape[0])
    tokens = np.argpartition(logits, -count)[-count:]
    tokens = tokens[np.lexsort((tokens, -logits[tokens]))]
    scaled = logits[tokens].astype(np.float64) / settings.temperature
    shares = np.exp(scaled - scaled[0])
    shares /= shares.sum()
    before = np.cumsum(shares) - shares
    kept = (before < settings.top_p) & (shares >= settings.min_p * shares[0])
    return tokens[kept], shares[kept]


def log_probability(logits: FloatArray, token: int) -> float:
    """Natural logarithm of a token's probability among all, as the model has it (temperature 1)."""
    highest = logits.max()
    return float(logits[token] - highest - np.log(np.exp(logits - highest).sum()))
