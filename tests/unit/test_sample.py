"""The sample corpus keeps its promises: sizes, unique ids, and answers that stand exactly once."""

from __future__ import annotations

import json
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from idc_local.readers import read_source
from idc_local.sample import SampleQuestion, sample_folder, sample_questions, sample_questions_file

QUESTIONS = sample_questions()
FILES = sorted(path for path in sample_folder().iterdir() if not path.name.startswith("."))


class _Visible(HTMLParser):
    """Collects what a browser would show, by the standard library alone."""

    SILENT = frozenset({"script", "style", "nav", "title"})
    VOID = frozenset({"meta", "br", "img", "link", "hr", "input"})
    INLINE = frozenset({"a", "b", "em", "i", "strong", "span", "code"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[bool] = []
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._part(tag)
        if tag in self.VOID:
            return
        values = dict(attrs)
        hidden = tag in self.SILENT or "hidden" in values or "display: none" in (values.get("style") or "")
        self.stack.append(hidden)

    def handle_endtag(self, tag: str) -> None:
        self.stack.pop()
        self._part(tag)

    def handle_data(self, data: str) -> None:
        if not any(self.stack):
            self.parts.append(data)

    def _part(self, tag: str) -> None:
        if tag not in self.INLINE:
            self.parts.append("\x00")


def _text(path: Path) -> str:
    source = path.read_bytes().decode("utf-8")
    if path.suffix != ".html":
        return source
    parser = _Visible()
    parser.feed(source)
    parser.close()
    assert parser.stack == []
    blocks = (" ".join(block.split()) for block in "".join(parser.parts).split("\x00"))
    return "\n\n".join(block for block in blocks if block)


TEXTS = {path.name: _text(path) for path in FILES}


def test_the_corpus_has_twelve_documents_of_60_to_100_kilobytes() -> None:
    assert len(FILES) == 12
    assert all(path.is_file() for path in FILES)
    assert {path.suffix for path in FILES} == {".md", ".txt", ".html"}
    assert 60_000 <= sum(path.stat().st_size for path in FILES) <= 100_000


def test_there_are_sixty_questions_with_ids_of_their_own() -> None:
    assert len(QUESTIONS) == 60
    assert len({question.id for question in QUESTIONS}) == 60
    assert len({question.query for question in QUESTIONS}) == 60


def test_every_document_is_asked_at_least_three_times() -> None:
    counts = Counter(question.path for question in QUESTIONS)
    assert set(counts) == set(TEXTS)
    assert min(counts.values()) >= 3


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_each_answer_stands_exactly_once_in_its_document(question: SampleQuestion) -> None:
    assert question.answers
    for answer in question.answers:
        assert answer.strip() == answer != ""
        assert len(answer) <= 200
        assert TEXTS[question.path].count(answer) == 1


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_no_document_holds_the_words_of_a_question(question: SampleQuestion) -> None:
    phrase = " ".join(question.query.strip("?？").casefold().split())
    if " " not in phrase and phrase.isascii():
        return  # a bare code such as E-4012 is a look-up: its document has to hold it
    for name, text in TEXTS.items():
        assert phrase not in " ".join(text.casefold().split()), name


def test_only_one_question_is_a_bare_code() -> None:
    assert [question.id for question in QUESTIONS if " " not in question.query and question.query.isascii()] == [
        "api-01"
    ]


def test_questions_come_in_the_languages_of_their_documents() -> None:
    chinese = [question for question in QUESTIONS if any("\u4e00" <= sign <= "\u9fff" for sign in question.query)]
    assert {question.path for question in chinese} == {"meiling-tea-handbook.md"}
    assert len(chinese) == 3
    german = [question for question in QUESTIONS if question.path == "hausordnung-lindenwehr.md"]
    assert len(german) == 4


def test_the_page_hides_text_that_must_not_be_found() -> None:
    source = (sample_folder() / "travel-policy.html").read_text(encoding="utf-8")
    for hidden in ("0.99 per kilometre", "taxi allowance of 80", "Canteen menu", "Superseded 2019"):
        assert hidden in source
        assert hidden not in TEXTS["travel-policy.html"]


def test_the_file_of_questions_has_the_documented_fields() -> None:
    lines = sample_questions_file().read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert {tuple(record) for record in records} == {("id", "query", "path", "answers")}
    assert {tuple(answer) for record in records for answer in record["answers"]} == {("text",)}


def test_the_files_are_utf8_with_plain_line_ends() -> None:
    for path in FILES:
        data = path.read_bytes()
        assert data.decode("utf-8").endswith("\n")
        assert b"\r" not in data
        assert not data.startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_each_answer_lies_in_one_block_of_the_text_as_it_is_indexed(question: SampleQuestion) -> None:
    document = read_source((sample_folder() / question.path).read_bytes(), question.path)
    for answer in question.answers:
        assert document.text.count(answer) == 1
        start = document.text.index(answer)
        assert any(block.start <= start and start + len(answer) <= block.end for block in document.blocks)
