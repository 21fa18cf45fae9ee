"""From values of single questions to what may be claimed: macro averages, and intervals by resampling documents.

Questions of one document stand or fall together, so documents are resampled, not questions (in a set of one
document there is nothing else to resample). Pure: the random generator's seed is passed in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from idc_local.types import IntArray

Values = npt.NDArray[np.float64]
"""Metrics of the questions of one set: float64 [questions, metrics]."""

REPLICATES = 2000
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """Means and the bounds of their 95 % intervals: float64 [metrics] each."""

    mean: Values
    low: Values
    high: Values


@dataclass(frozen=True, slots=True)
class Curve:
    """One strategy on one set over several target sizes, by ascending mean size.

    sizes: float64 [points], mean characters of a chunk. values: one [questions, metrics] for each point.
    """

    sizes: tuple[float, ...]
    values: tuple[Values, ...]

    def at(self, size: float) -> Values:
        """Values at a mean chunk size: interpolated between the neighbouring points, held flat outside of them.

        float64 [questions, metrics]. Linear in size, question by question, so that pairs stay pairs.
        """
        place = float(np.interp(size, self.sizes, np.arange(len(self.sizes))))
        below = int(place)
        above = min(below + 1, len(self.sizes) - 1)
        share = place - below
        return (1.0 - share) * self.values[below] + share * self.values[above]

    def reaches(self, size: float, tolerance: float = 0.1) -> bool:
        """True where the curve has a point, or points on both sides, within ``tolerance`` of ``size``."""
        return self.sizes[0] * (1.0 - tolerance) <= size <= self.sizes[-1] * (1.0 + tolerance)


def groups_of(documents: IntArray) -> IntArray:
    """The unit of resampling that each question belongs to, int64 [questions], numbered from 0.

    documents: int64 [questions]. The document, or the question itself where all are of one document.
    """
    distinct, numbers = np.unique(documents, return_inverse=True)
    if distinct.size <= 1:
        return np.arange(documents.shape[0], dtype=np.int64)
    return numbers.astype(np.int64)


def macro_estimate(sets: Sequence[tuple[Values, IntArray]], seed: int) -> Estimate:
    """Mean over sets of the mean over their questions, with its percentile bootstrap interval.

    sets: for each set its values (differences, for a paired comparison) and its resampling groups. The same seed
    draws the same documents, whatever is compared.
    """
    means = np.mean([values.mean(axis=0) for values, _ in sets], axis=0)
    drawn = _draws(seed, tuple(int(groups.max()) + 1 for _, groups in sets))
    replicates = np.mean([_replicates(*one, own) for one, own in zip(sets, drawn, strict=True)], axis=0)
    low, high = np.quantile(replicates, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return Estimate(means, low, high)


@lru_cache(maxsize=2)
def _draws(seed: int, counts: tuple[int, ...]) -> tuple[Values, ...]:
    """How often each of so many groups of a set is drawn, float64 [REPLICATES, groups] for each set, read-only.

    Remembered: a report asks for the same draws again and again, and drawing costs far more than averaging.
    """
    generator = np.random.default_rng(seed)
    found = []
    for count in counts:
        drawn = generator.multinomial(count, np.full(count, 1.0 / count), size=REPLICATES).astype(np.float64)
        drawn.flags.writeable = False
        found.append(drawn)
    return tuple(found)


def _replicates(values: Values, groups: IntArray, drawn: Values) -> Values:
    """Means of resampled sets, float64 [REPLICATES, metrics]. drawn: those of ``_draws``."""
    count = drawn.shape[1]
    sizes = np.bincount(groups, minlength=count).astype(np.float64)
    sums = np.zeros((count, values.shape[1]))
    np.add.at(sums, groups, values)
    result: Values = (drawn @ sums) / (drawn @ sizes)[:, None]
    return result
