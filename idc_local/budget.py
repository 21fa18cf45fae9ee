"""Time that a run may spend on predicting questions, and whether one more document fits into it.

Layer 1, pure: the clock is handed in.
"""

from __future__ import annotations

from collections.abc import Callable

from idc_local.intents import question_budget

SENTENCE_CHARS = 100
"""Characters of a sentence, about: enough to tell a letter from a book."""


class TimeBudget:
    """``minutes`` None: no end. The cost of a question is learnt from the documents that were done."""

    def __init__(self, minutes: float | None, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._end = None if minutes is None else clock() + 60.0 * minutes
        self._seconds = 0.0
        self._questions = 0

    def affords(self, characters: int) -> bool:
        """True where the questions of a text so long will be done in time, as far as can be told."""
        if self._end is None:
            return True
        left = self._end - self._clock()
        if left <= 0:
            return False
        return not self._questions or self._seconds / self._questions * questions_of(characters) <= left

    def spend(self, seconds: float, characters: int) -> None:
        """Tells what the questions of a text have cost."""
        self._seconds += seconds
        self._questions += questions_of(characters)


def questions_of(characters: int) -> int:
    """Questions that a text so long is given, about."""
    return max(1, question_budget(characters // SENTENCE_CHARS))
