"""What is shown of hits: budgets that hold, text that stays at its place, lines around."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local.cli.excerpts import Excerpt, excerpts
from idc_local.errors import NothingFound
from idc_local.types import AnswerSpan, Hit
from tests.clikit import FIRST, HITS, TEXT


def hit(text: str, start: int, end: int, answer: tuple[int, int]) -> Hit:
    chunk = replace(FIRST, start=start, end=end, text=text[start:end])
    return replace(HITS[0], chunk=chunk, span=AnswerSpan(*answer, text[answer[0] : answer[1]]))


def no_text(document_id: str) -> str:
    raise AssertionError("no text was needed")


def test_without_limits_hits_are_as_they_were() -> None:
    assert excerpts(HITS, no_text, lines=0, budget=None) == [Excerpt(found) for found in HITS]
    assert excerpts(HITS, no_text, lines=0, budget=64) == [Excerpt(found) for found in HITS]


@given(st.data())
def test_budget_holds_and_text_stays_at_its_place(data: st.DataObject) -> None:
    text = data.draw(st.text(alphabet="ab \n浮", min_size=4, max_size=120))
    found = []
    for _ in range(data.draw(st.integers(min_value=1, max_value=4))):
        start, first, last, end = sorted(
            data.draw(st.lists(st.integers(0, len(text)), min_size=4, max_size=4, unique=True))
            if len(text) >= 4
            else (0, 0, 1, 1)
        )
        found.append(hit(text, start, end, (first, last)))
    budget = data.draw(st.integers(min_value=1, max_value=200))
    shown = excerpts(found, no_text, lines=0, budget=budget)
    assert shown
    assert sum(len(entry.hit.chunk.text) for entry in shown) <= budget
    for entry, original in zip(shown, found, strict=False):
        chunk, span = entry.hit.chunk, entry.hit.span
        assert text[chunk.start : chunk.end] == chunk.text
        assert text[span.start : span.end] == span.text
        assert chunk.start <= span.start <= span.end <= chunk.end
        assert entry.truncated is (chunk.text != original.chunk.text)
        if entry.truncated and len(original.span.text) <= budget and entry is shown[0]:
            assert span == original.span, "an answer that fits is kept whole"
    assert [entry.truncated for entry in shown[:-1]] == [False] * (len(shown) - 1)


def test_a_cut_passage_keeps_the_answer_and_whole_words_around_it() -> None:
    text = "alpha beta gamma the answer is here delta epsilon zeta"
    answer = (17, 35)
    (entry,) = excerpts([hit(text, 0, len(text), answer)], no_text, lines=0, budget=32)
    assert entry.hit.chunk.text == "gamma the answer is here delta"
    assert entry.truncated


def test_an_answer_longer_than_the_budget_is_cut_at_its_end() -> None:
    (entry,) = excerpts([hit("one two three", 0, 13, (4, 13))], no_text, lines=0, budget=3)
    assert (entry.hit.chunk.text, entry.hit.span.text) == ("two", "two")


@pytest.mark.parametrize(
    ("budget", "line_end"), [(2, 7), (3, 7), (4, 7), (6, 8), (7, 8), (9, 8), (10, 9), (13, 9), (99, 9)]
)
def test_the_lines_of_a_cut_answer_are_those_that_are_left_of_it(budget: int, line_end: int) -> None:
    found = hit("one\r\ntwo\nthree", 0, 14, (0, 14))
    found = replace(found, span=replace(found.span, line_start=7, line_end=9))
    (entry,) = excerpts([found], no_text, lines=0, budget=budget)
    assert (entry.hit.span.line_start, entry.hit.span.line_end) == (7, line_end)


def test_lines_of_a_cut_answer_that_cannot_be_counted_stay() -> None:
    found = hit("one\ntwo", 0, 7, (0, 7))
    for lines in ((3, 3), (3, 9), (None, None)):
        known = replace(found, span=replace(found.span, line_start=lines[0], line_end=lines[1]))
        (entry,) = excerpts([known], no_text, lines=0, budget=2)
        assert (entry.hit.span.line_start, entry.hit.span.line_end) == lines


@pytest.mark.parametrize(
    ("lines", "before", "after"), [(1, "line 2", "line 5"), (9, "line 1\nline 2", "line 5\nline 6")]
)
def test_lines_around(lines: int, before: str, after: str) -> None:
    text = "line 1\r\nline 2\n\nline 3\nline 4\n\nline 5\nline 6\n"
    start, end = text.index("line 3"), text.index("line 5")
    (entry,) = excerpts([hit(text, start, end, (start, end))], lambda _: text, lines=lines, budget=None)
    assert entry.context is not None
    assert tuple(part.replace("\r", "") for part in entry.context) == (before, after)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_counts(end: str) -> None:
    text = end.join(["one", "two", "the answer", "three", "four"])
    start = text.index("the answer")
    found = hit("the answer", start, start + 10, (start, start + 10))
    assert excerpts([found], lambda _: text, lines=1, budget=None)[0].context == ("two", "three")


def test_lines_around_are_clipped_where_a_document_is_one_line() -> None:
    text = "x" * 5000 + "answer" + "y" * 5000
    (entry,) = excerpts([hit(text, 5000, 5006, (5000, 5006))], lambda _: text, lines=2, budget=None)
    assert entry.context == ("x" * 400, "y" * 400)


def test_lines_around_count_and_give_way() -> None:
    found = [hit(TEXT, 8, 28, (8, 27))]
    assert excerpts(found, lambda _: TEXT, lines=1, budget=42)[0].context == ("# Pump", "Check it weekly.")
    assert excerpts(found, lambda _: TEXT, lines=1, budget=41)[0].context == ("", "")


def test_a_document_that_is_gone_by_now_has_no_lines_around() -> None:
    def gone(document_id: str) -> str:
        raise NothingFound("gone")

    assert excerpts(HITS[:1], gone, lines=3, budget=None)[0].context == ("", "")
