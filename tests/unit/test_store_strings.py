from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idc_local.store.blocks import BlockFolder, BlockWriter
from idc_local.store.strings import Strings, write_strings
from tests.store_documents import MEMORY

TEXTS = st.text(st.characters(), max_size=4)


def saved(folder: Path, values: list[str]) -> Strings:
    writer = BlockWriter(folder)
    write_strings(writer, "x", values)
    return Strings(BlockFolder(folder, writer.finish()), "x")


@settings(max_examples=50, deadline=None)
@given(values=st.lists(TEXTS, max_size=20), others=st.lists(TEXTS, max_size=5))
def test_strings_come_back_and_are_found(values: list[str], others: list[str]) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        strings = saved(Path(place), values)
        assert list(strings) == values
        assert strings[1:3] == values[1:3]
        order = np.array(sorted(range(len(values)), key=values.__getitem__), dtype=np.int64)
        for value in values:
            found = strings.find(value, order)
            assert found is not None
            assert values[found] == value
        for other in others:
            assert (strings.find(other, order) is None) == (other not in values)


@settings(max_examples=50, deadline=None)
@given(values=st.sets(TEXTS, max_size=20), others=st.lists(TEXTS, max_size=5))
def test_ordered_strings_are_found_at_their_places(values: set[str], others: list[str]) -> None:
    ordered = sorted(values)
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        strings = saved(Path(place), ordered)
        assert [strings.find(value) for value in ordered] == list(range(len(ordered)))
        for other in others:
            assert strings.find(other) == (ordered.index(other) if other in values else None)


@settings(max_examples=50, deadline=None)
@given(
    values=st.sets(TEXTS | st.text("aé", max_size=5), max_size=20),
    start=TEXTS | st.text("aé", max_size=2),
    end=st.text("aé", max_size=2),
    least=st.integers(0, 8),
    most=st.integers(0, 16),
)
def test_strings_that_begin_and_end_alike_and_have_the_size(
    values: set[str], start: str, end: str, least: int, most: int
) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        strings = saved(Path(place), sorted(values))
        sized = [value for value in sorted(values) if least <= len(value.encode("utf-8", "surrogatepass")) < most]
        wanted = [value for value in sized if value.startswith(start) and value.endswith(end)]
        assert list(strings.framed(start, end, range(least, most))) == wanted


def test_places_beyond_the_end(tmp_path: Path) -> None:
    strings = saved(tmp_path, ["a", "b"])
    assert strings[-1] == "b"
    for place in (2, -3):
        with pytest.raises(IndexError):
            strings[place]
