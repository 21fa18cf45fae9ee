"""The answer inside a passage: a run never ends with what only announces more."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from idc_local.answers import GLUE, answer_span, on_lines, sentence_gaps, with_its_point
from idc_local.readers import read_source
from idc_local.sentences import split_sentences
from idc_local.types import AnswerSpan, Block, BlockKind, Chunk, Document, Limits, Span, Structure
from tests.fakes import WordCounter
from tests.fuzzkit import samples

ITEM, PARAGRAPH, HEADING = Structure.ITEM, Structure.PARAGRAPH, Structure.HEADING
HEADED = PARAGRAPH | GLUE
A_CHUNK = Chunk("c", "d", "d.txt", 0, 0, "", "", None, 1, 1, 12)


def run_after(start: int, end: int, texts: list[str], gaps: list[int], best: int | None = None) -> tuple[int, int]:
    best = end - 1 if best is None else best
    found = with_its_point(Span(start, end), best, texts, np.array(gaps, dtype=np.int64))
    return found.start, found.end


def test_a_run_of_sentences_stays_as_it_is() -> None:
    assert run_after(0, 1, ["One. ", "Two. ", "Three."], [HEADING, 0, 0]) == (0, 1)
    assert run_after(1, 3, ["One. ", "Two. ", "Three."], [HEADING, 0, 0]) == (1, 3)


@pytest.mark.parametrize("kind", [PARAGRAPH, HEADING, ITEM])
def test_a_heading_has_the_sentence_behind_it(kind: int) -> None:
    texts = ["Before.\n\n", "§ 7 Grills\n", "Only electric ones are allowed there. ", "Once a month."]
    assert run_after(1, 2, texts, [HEADING, HEADING, kind | GLUE, 0]) == (1, 3)


def test_headings_in_a_row_have_the_first_sentence_behind_them() -> None:
    assert run_after(
        0, 1, ["3 Use\n\n", "3.1 Start\n\n", "Press it for ten seconds or more. ", "Wait."], [3, 3 | GLUE, HEADED, 0]
    ) == (0, 3)


@pytest.mark.parametrize("end", [":", ":\n\n", ":**\n", "：", "?", "?**\n\n", "？", "؟", "?”)"])
def test_a_colon_or_question_mark_announces_a_sentence(end: str) -> None:
    assert run_after(
        0, 1, [f"What now{end}", "Tell us at once so that we can block it. ", "It costs 3."], [HEADING, PARAGRAPH, 0]
    ) == (0, 2)


@pytest.mark.parametrize("text", ["At 14:30 sharp. ", "Is it? No. ", "a:b ", "Who? asked he. "])
def test_a_mark_inside_a_sentence_announces_nothing(text: str) -> None:
    assert run_after(0, 1, [text, "More."], [HEADING, 0]) == (0, 1)


def test_a_list_is_announced_as_a_whole_and_nothing_behind_it() -> None:
    texts = ["Never:\n", "- run it dry\n", "- open it\n", "- kick it\n", "Call us."]
    assert run_after(0, 1, texts, [HEADING, PARAGRAPH, ITEM, ITEM, PARAGRAPH]) == (0, 4)
    assert run_after(1, 2, texts, [HEADING, PARAGRAPH, ITEM, ITEM, PARAGRAPH]) == (1, 2)


def test_the_header_of_a_table_announces_its_rows() -> None:
    texts = ["2 Prices\n\n", "part | price\n", "seal | 3\n", "valve | 4\n", "All with tax."]
    gaps = [HEADING, HEADED, ITEM | GLUE, ITEM, PARAGRAPH]
    assert run_after(0, 1, texts, gaps) == run_after(0, 2, texts, gaps) == (0, 4)


def test_a_part_of_a_block_of_code_announces_no_other() -> None:
    assert run_after(1, 2, ["a = 1\n", "b = 2\n", "c = 3\n"], [HEADING, ITEM | GLUE, ITEM | GLUE]) == (1, 2)


def test_what_is_announced_says_something() -> None:
    texts = ["Is there Wi-Fi?\n\n", "Yes. ", "It is called Readers and it has no password. ", "Be quiet."]
    assert run_after(0, 1, texts, [HEADING, PARAGRAPH, 0, 0]) == (0, 3)
    assert run_after(0, 1, texts, [HEADING, PARAGRAPH, PARAGRAPH, 0]) == (0, 2)


@pytest.mark.parametrize(("length", "end"), [(29, 3), (30, 2)])
def test_less_than_thirty_characters_say_little(length: int, end: int) -> None:
    texts = ["Is there Wi-Fi?\n\n", "x" * length + " ", "It is called Readers."]
    assert run_after(0, 1, [*texts, "Be quiet."], [HEADING, PARAGRAPH, 0, PARAGRAPH]) == (0, end)


def test_what_announces_another_matter_behind_the_best_sentence_is_left_out() -> None:
    texts = ["Twice, unless it is reserved. ", "Not online.\n\n", "3 Fees\n\n", "What does it cost?\n\n", "25 pence."]
    gaps = [HEADING, 0, HEADING, HEADED, PARAGRAPH]
    assert run_after(0, 4, texts, gaps, best=0) == (0, 2)
    assert run_after(0, 4, texts, gaps, best=1) == (0, 2)
    assert run_after(0, 4, texts, gaps, best=2) == (0, 5)
    assert run_after(0, 5, texts, gaps, best=0) == (0, 5)


def test_nothing_is_behind_the_end() -> None:
    assert run_after(1, 2, ["One. ", "And then:"], [HEADING, 0]) == (1, 2)


def test_the_answer_of_a_passage_that_matches_by_its_heading_alone() -> None:
    text = "Rules\n\n§ 7 Grills\n\nOnly electric grills are allowed. Once a month at most."
    blocks = (
        Block(BlockKind.HEADING, 0, 5, ("Rules",), 1),
        Block(BlockKind.HEADING, 7, 17, ("Rules", "§ 7 Grills"), 2),
        Block(BlockKind.PARAGRAPH, 19, len(text), ("Rules", "§ 7 Grills")),
    )
    document = Document("d", "d.txt", text, blocks, "text/plain", "utf-8", "", len(text), ((0, 1),))
    sentences = split_sentences(document, WordCounter(), Limits(), "en")
    gaps = sentence_gaps(sentences)
    spans = np.stack([sentences.starts, sentences.ends], axis=1)
    chunk = Chunk("c", "d", "d.txt", 0, len(text), text, "Rules", None, 1, 5, 12)
    assert gaps.tolist() == [HEADING, HEADING | GLUE, HEADED, 0]
    found = answer_span(chunk, np.array([0.1, 0.9, 0.2, 0.1], dtype=np.float32), spans, gaps)
    assert found.text == "§ 7 Grills\n\nOnly electric grills are allowed."
    assert text[found.start : found.end] == found.text


def answer_in(texts: list[str], gaps: list[int], evidence: list[float], start: int = 0) -> AnswerSpan:
    """The answer in a chunk of these sentences and no others that begins at ``start``."""
    ends = start + np.cumsum([len(text) for text in texts])
    spans = np.stack([ends - [len(text) for text in texts], ends], axis=1)
    text = "".join(texts)
    chunk = Chunk("c", "d", "d.eml", start, start + len(text), text, "", None, 1, 6, 12)
    return answer_span(chunk, np.array(evidence, dtype=np.float32), spans, np.array(gaps, dtype=np.int64))


def answer_of(texts: list[str], gaps: list[int], evidence: list[float]) -> str:
    return answer_in(texts, gaps, evidence).text


def test_an_answer_is_told_by_its_place_in_the_document_without_white_space_around_it() -> None:
    found = answer_in(["  \n One. ", "Two."], [HEADING, 0], [0.9, 0.1], start=700)
    assert found == AnswerSpan(704, 708, "One.", True)
    texts = ["Never:\n", "- run it dry\n", "- open it\n", "Call us."]
    found = answer_in(texts, [HEADING, PARAGRAPH, ITEM, PARAGRAPH], [0.9, 0.1, 0.1, 0.1], start=9)
    assert found == AnswerSpan(9, 38, "Never:\n- run it dry\n- open it", True)


def test_a_heading_that_is_the_best_sentence_of_a_run_is_answered_by_what_follows() -> None:
    texts = ["No pets. ", "Ask the office.\n\n", "Fees\n\n", "It costs 25 pence a day."]
    gaps = [HEADING, 0, HEADING, HEADED]
    assert answer_of(texts, gaps, [0.0, 0.6, 0.9, 0.1]) == "Ask the office.\n\nFees\n\nIt costs 25 pence a day."
    assert answer_of(texts, gaps, [0.0, 0.9, 0.6, 0.1]) == "Ask the office."


def test_the_one_sentence_before_a_question_that_nothing_follows_is_the_answer() -> None:
    assert answer_of(["He comes. ", "> When does he come?"], [HEADING, PARAGRAPH], [0.8, 1.4]) == "He comes."


@pytest.mark.parametrize(
    ("evidence", "answer"),
    [
        ([0.2, 0.8, 0.1, 0.3, 1.4], "He comes on Monday."),
        ([0.2, 0.8, 0.7, 0.3, 1.4], "He comes on Monday. It costs 180."),
        ([0.2, 0.5, 0.1, 0.3, 1.4], "> When does he come?"),
        ([0.2, 0.5, 0.1, 1.4, 1.4], "> Ann wrote:\n> When does he come?"),
    ],
)
def test_a_question_that_nothing_follows_is_no_answer_where_another_sentence_is(
    evidence: list[float], answer: str
) -> None:
    texts = ["Hi Ann,\n\n", "He comes on Monday. ", "It costs 180.\n\n", "> Ann wrote:\n", "> When does he come?\n"]
    assert answer_of(texts, [HEADING, PARAGRAPH, 0, PARAGRAPH, 0], evidence) == answer


def test_a_passage_of_nothing_but_a_question_is_shown_by_it() -> None:
    text = "When does he come?"
    chunk = Chunk("c", "d", "d.eml", 0, len(text), text, "", None, 1, 1, 5)
    found = answer_span(chunk, np.ones(1, dtype=np.float32), np.array([[0, len(text)]]), np.array([HEADING]))
    assert found.text == text


MAIL = [
    "Offsite budget\n\n",
    "From: Sue <sue@ex.example>\nTo: Ben <ben@ex.example>\nDate: Wed, 9 Apr 2025 11:20:00 +0200\n\n",
    "Hi Ben,\n\n",
    "approved: 6,500 euros, travel included. ",
    "Please book the Lodge.",
]


@pytest.mark.parametrize(
    ("run", "best", "found"),
    [((0, 1), 0, (0, 4)), ((0, 2), 0, (0, 4)), ((0, 3), 0, (0, 4)), ((1, 2), 1, (1, 2)), ((3, 4), 3, (3, 4))],
)
def test_the_answer_of_a_mail_that_matches_by_its_subject_is_what_it_says_first(
    run: tuple[int, int], best: int, found: tuple[int, int]
) -> None:
    assert run_after(*run, MAIL, [HEADING, HEADED, PARAGRAPH, PARAGRAPH, 0], best) == found


def test_a_mail_without_a_greeting_says_at_once_what_it_has_to() -> None:
    texts = [*MAIL[:2], "Approved, 6,500 euros with travel. ", "Please book."]
    assert run_after(0, 1, texts, [HEADING, HEADED, PARAGRAPH, 0], 0) == (0, 3)
    assert run_after(0, 1, [MAIL[0], MAIL[1]], [HEADING, HEADED], 0) == (0, 2)
    texts = [*MAIL[:2], "As we agreed on the phone on Monday, ", "it is approved.\n\n", "Go."]
    assert run_after(0, 1, texts, [HEADING, HEADED, PARAGRAPH, 0, PARAGRAPH], 0) == (0, 3), "no greeting"
    texts = ["Offsite budget\n\n", "From: what we have, 6,500 euros. ", "Hi Ben,\n\n", "Go."]
    assert run_after(0, 1, texts, [HEADING, HEADED, PARAGRAPH, PARAGRAPH], 0) == (0, 2)


TEXTS_OF_OTHER_LINES = {
    "b.tex": b"\\title{A} \\section{B} One two. Three.\n\n\n% no\n\\section{C}\nFour\nfive. Six.\n\\section{D}Seven.\n",
    "b.json": b'{"a": {"b": "one", "c": "two"},\n\n\n "d": ["three", "four"],\n "e": {\n"f": "five", "g": "six"}}',
    "b.jsonl": b'{"a": "one", "b": "two"}\n\n\n{"a": "three"}\n{"a": "four", "b": "five"}\n',
    "b.csv": b'name,note\r\nAnn,"one\r\ntwo"\r\n\r\nBob,three\r\nCy,"four\r\nfive\r\nsix"\r\nDee,seven\r\n',
    "d.txt": b"\n\n  One.\r\nTwo.\rThree.\n\n\n\nFour.\n",
}


@pytest.mark.parametrize("name", sorted(set(samples()) - {"a.zip", "a.tar.gz"} | set(TEXTS_OF_OTHER_LINES)))
def test_the_answer_is_on_the_lines_that_the_document_tells(name: str) -> None:
    document = read_source({**samples(), **TEXTS_OF_OTHER_LINES}[name], name)
    chance = random.Random(7)
    for _ in range(400):
        start, first, last, end = sorted(chance.choices(range(len(document.text) + 1), k=4))
        text = document.text[start:end]
        span = document.text[first:last]
        if not text.strip() or not span or span != span.strip():
            continue
        visible, final = end - len(text.lstrip()), start + len(text.rstrip()) - 1
        chunk = replace(A_CHUNK, start=start, end=end, text=text)
        chunk = replace(chunk, line_start=document.line_at(visible), line_end=document.line_at(final))
        found = on_lines(AnswerSpan(first, last, span), chunk, document.media_type, document.line_at)
        assert (found.line_start, found.line_end) == (document.line_at(first), document.line_at(last - 1))


def test_a_plain_document_is_not_read_again_for_the_line_of_an_answer() -> None:
    chunk = replace(A_CHUNK, text="One.\nTwo.\nThree.\n", end=17, line_start=4, line_end=6)
    found = on_lines(AnswerSpan(5, 16, "Two.\nThree."), chunk, "text/plain", _unasked)
    assert (found.line_start, found.line_end) == (5, 6)
    found = on_lines(AnswerSpan(5, 16, "Two.\nThree."), replace(chunk, line_end=4), "application/json", _unasked)
    assert (found.line_start, found.line_end) == (4, 4), "all of it is on one line"


def _unasked(offset: int) -> int:
    raise AssertionError(offset)


def test_a_short_line_over_a_list_announces_it() -> None:
    texts = ["Lamp signals\n\n", "Green: ready\n", "Amber: too hot\n", "Load paper."]
    assert run_after(0, 1, texts, [HEADING, PARAGRAPH, ITEM, PARAGRAPH]) == (0, 3)


@pytest.mark.parametrize(
    ("text", "gaps"),
    [
        ("It is green.\n\n", [HEADING, PARAGRAPH, ITEM]),
        ("Lamp signals\n\n", [ITEM, PARAGRAPH, ITEM]),
        ("Lamp signals\n\n", [HEADING, PARAGRAPH, PARAGRAPH]),
        ("Lamp signals\n\n", [HEADING, ITEM, ITEM]),
        ("Lamp signals, which tell you from afar what the machine is about to do\n\n", [HEADING, PARAGRAPH, ITEM]),
    ],
)
def test_other_lines_announce_no_list(text: str, gaps: list[int]) -> None:
    assert run_after(0, 1, [text, "Green: ready\n", "Amber: too hot\n"], gaps) == (0, 1)


@pytest.mark.parametrize("formula", ["$$S = 1$$\n\n", "\\[S = 1\\]\n\n", "\\begin{align}S = 1\\end{align}\n\n"])
def test_a_sentence_that_goes_on_in_a_formula_announces_it(formula: str) -> None:
    gaps = [HEADING, PARAGRAPH, PARAGRAPH]
    behind = [formula, "It is a state function of it."]
    assert run_after(0, 1, ["so that S changes by\n\n", *behind], gaps) == (0, 2)
    assert run_after(0, 1, ["S changes.\n\n", *behind], gaps) == (0, 1)
