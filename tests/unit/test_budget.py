"""How far a limit on time reaches: what fits, what does not, and what was learnt of the cost."""

from __future__ import annotations

from idc_local.budget import TimeBudget, questions_of


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_without_a_limit_everything_fits() -> None:
    budget = TimeBudget(None, Clock())
    budget.spend(10_000.0, 100)
    assert budget.affords(10**9)


def test_no_time_is_enough_for_nothing() -> None:
    assert not TimeBudget(0.0, Clock()).affords(1)


def test_what_would_outlast_the_limit_is_left_while_less_still_fits() -> None:
    clock = Clock()
    budget = TimeBudget(1.0, clock)
    assert budget.affords(10**6), "nothing is known of the cost yet"
    clock.now += 20.0
    budget.spend(20.0, 3000)
    assert questions_of(3000) == 10
    assert questions_of(10_000) == 15
    assert budget.affords(10_000), "2 seconds a question, and 40 are left"
    assert not budget.affords(40_000)
    clock.now += 25.0
    assert not budget.affords(10_000)
    assert budget.affords(700)
    clock.now += 15.0
    assert not budget.affords(1)


def test_every_text_is_worth_a_question() -> None:
    assert questions_of(0) == 1
