"""A few hundred damaged files of all formats; ``scripts/fuzz`` reads as many as one likes."""

from __future__ import annotations

import pytest

from idc_local.readers import READERS
from tests.fuzzkit import check, covered, damaged, samples

VALID = samples()
PART = 40


def test_every_reader_has_a_sample() -> None:
    assert covered() == {entry.module for entry in READERS.values()}


@pytest.mark.parametrize("name", VALID)
def test_the_samples_are_read(name: str) -> None:
    assert check(VALID[name], name) == "read"


@pytest.mark.parametrize("first", range(0, 10 * PART, PART))
def test_damaged_files_are_read_or_refused(first: int) -> None:
    for number in range(first, first + PART):
        name, data = damaged(number, VALID)
        assert check(data, name) in ("read", "refused"), number


def test_damage_is_the_same_every_time() -> None:
    assert [damaged(number, VALID) for number in range(60)] == [damaged(number, VALID) for number in range(60)]
    assert sum(damaged(number, VALID)[1] != VALID[damaged(number, VALID)[0]] for number in range(60)) > 55
