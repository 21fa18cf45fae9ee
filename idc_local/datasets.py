"""Question sets: folders of documents, questions and answer spans, loaded and checked.

A folder holds ``documents.jsonl`` {"id", "title", "text"}, ``questions.jsonl`` {"id", "document_id", "question",
"answers": [{"text", "start", "end"}]} and ``dataset.json`` {"name", "language", "answers": any | all, "scope":
corpus | document}. Offsets count Unicode code points. Anything else ends in an InputError that names file and row.

Layer 2. Reads files; segments, embeds and ranks nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

from idc_local.errors import InputError
from idc_local.fingerprint import parse_json
from idc_local.types import Span

Half = Literal["tune", "report", "all"]
AnswerRule = Literal["any", "all"]
Scope = Literal["corpus", "document"]

_MARK = "\ufeff"
"""Byte order mark: no part of a text, so readers drop it; offsets in a set still count it."""

FORMAT_HINT = (
    "a question set is a folder with dataset.json, documents.jsonl and questions.jsonl, see docs/evaluation.md"
)


@dataclass(frozen=True, slots=True)
class QaDocument:
    """A document of a set: plain text, as a text file would hold it. ``place`` is the file and row that it is from."""

    id: str
    title: str
    text: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class QaQuestion:
    """A question, the document that answers it, and where: spans in code points of that document's text."""

    id: str
    document_id: str
    text: str
    answers: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """A question set, documents and questions sorted by id.

    ``answers``: whether a question's spans are alternatives (``any``) or together the gold (``all``).
    ``scope``: whether a question is asked of the whole set (``corpus``) or of its document alone (``document``).
    """

    name: str
    language: str
    answers: AnswerRule
    scope: Scope
    documents: tuple[QaDocument, ...]
    questions: tuple[QaQuestion, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of a JSON Lines file, with the place that an error message names."""

    place: str
    value: Mapping[str, Any]

    def fail(self, what: str) -> NoReturn:
        raise InputError(f"{self.place}: {what}", hint=FORMAT_HINT)

    def text(self, key: str, *, blank: bool = False) -> str:
        value = self.value.get(key)
        if not isinstance(value, str):
            self.fail(f'"{key}" is missing' if value is None else f'"{key}" is not text')
        if not blank and not value.strip():
            self.fail(f'"{key}" is empty')
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            self.fail(f"the text holds a lone surrogate at offset {error.start}")
        return value


def load_dataset(folder: Path) -> Dataset:
    """The question set in ``folder``.

    Raises:
        InputError: a file is missing or unreadable, a row is not what the format says, an answer is not at its
            offsets, or there is no question at all.
    """
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "does not exist"
        raise InputError(f"{folder}: {problem}", hint=FORMAT_HINT)
    if not (folder / "dataset.json").exists() and next(folder.glob("*/dataset.json"), None):
        raise InputError(f"{folder}: holds question sets and is none itself", hint=f"name the sets: {folder}/*")
    about = _read_about(folder / "dataset.json")
    documents = _read_documents(folder / "documents.jsonl")
    questions = _read_questions(folder / "questions.jsonl", documents)
    marked = {document.id for document in documents.values() if document.text.startswith(_MARK)}
    return Dataset(
        name=about.text("name") if "name" in about.value else folder.resolve().name,
        language=about.text("language") if "language" in about.value else "en",
        answers=cast(AnswerRule, _choice(about, "answers", ("any", "all"))),
        scope=cast(Scope, _choice(about, "scope", ("corpus", "document"))),
        documents=tuple(
            replace(document, text=document.text.removeprefix(_MARK)) for _, document in sorted(documents.items())
        ),
        questions=tuple(
            _shifted(question) if question.document_id in marked else question
            for question in sorted(questions, key=lambda question: question.id)
        ),
    )


def _shifted(question: QaQuestion) -> QaQuestion:
    """The question in a document whose byte order mark was dropped, as a reader of files drops it."""
    spans = {Span(max(0, start - 1), end - 1) for start, end in question.answers}
    return replace(question, answers=tuple(sorted(spans)))


def select_half(dataset: Dataset, half: Half) -> Dataset:
    """The part of a set to tune on, or the part to report on: no document (or question) is in both.

    Documents sorted by id: even positions tune, odd positions report, each half with its own questions only. A set
    of one document is split by its questions, sorted by id, in the same way.
    """
    if half == "all":
        return dataset
    offset = 0 if half == "tune" else 1
    if len(dataset.documents) == 1:
        chosen = replace(dataset, questions=dataset.questions[offset::2])
    else:
        documents = dataset.documents[offset::2]
        ids = {document.id for document in documents}
        kept = tuple(question for question in dataset.questions if question.document_id in ids)
        chosen = replace(dataset, documents=documents, questions=kept)
    if not chosen.questions:
        raise InputError(f"{dataset.name}: the {half} half has no questions", hint="use --half all, or a larger set")
    return chosen


def _read_about(path: Path) -> _Row:
    value = _parse(_read_text(path), str(path))
    return _Row(str(path), value)


def _choice(row: _Row, key: str, allowed: tuple[str, ...]) -> str:
    value = row.text(key)
    if value not in allowed:
        row.fail(f'"{key}" is {value!r}, not one of {", ".join(allowed)}')
    return value


def _read_documents(path: Path) -> dict[str, QaDocument]:
    found: dict[str, QaDocument] = {}
    for row in _rows(path):
        document = QaDocument(row.text("id"), row.text("title", blank=True), row.text("text", blank=True), row.place)
        if document.id in found:
            row.fail(f"the document id {document.id!r} appears twice")
        found[document.id] = document
    if not found:
        raise InputError(f"{path}: no documents", hint=FORMAT_HINT)
    return found


def _read_questions(path: Path, documents: Mapping[str, QaDocument]) -> list[QaQuestion]:
    found: dict[str, QaQuestion] = {}
    for row in _rows(path):
        question = _read_question(row, documents)
        if question.id in found:
            row.fail(f"the question id {question.id!r} appears twice")
        found[question.id] = question
    if not found:
        raise InputError(f"{path}: no questions, nothing to evaluate", hint=FORMAT_HINT)
    return list(found.values())


def _read_question(row: _Row, documents: Mapping[str, QaDocument]) -> QaQuestion:
    identity, document_id, text = row.text("id"), row.text("document_id"), row.text("question")
    if document_id not in documents:
        row.fail(f"no document has the id {document_id!r}")
    answers = row.value.get("answers")
    if not isinstance(answers, list) or not answers:
        row.fail('"answers" is missing or empty: a question without a known place cannot be scored')
    source = documents[document_id].text
    spans = {_read_answer(row, number, answer, source) for number, answer in enumerate(answers, start=1)}
    return QaQuestion(identity, document_id, text, tuple(sorted(spans)))


def _read_answer(row: _Row, number: int, answer: object, source: str) -> Span:
    if not isinstance(answer, dict):
        row.fail(f"answer {number} is not an object")
    start, end, text = answer.get("start"), answer.get("end"), answer.get("text")
    if type(start) is not int or type(end) is not int:
        row.fail(f"answer {number}: start and end must be whole numbers")
    if not 0 <= start < end <= len(source):
        row.fail(f"answer {number}: {start} to {end} is no place in a document of {len(source)} code points")
    if not isinstance(text, str):
        row.fail(f'answer {number}: "text" is missing')
    if source[start:end] != text:
        row.fail(f"answer {number}: the document has {source[start:end][:40]!r} at {start}, not {text[:40]!r}")
    if not text.strip().strip(_MARK):
        row.fail(f"answer {number} is blank")
    return Span(start, end)


def _rows(path: Path) -> Iterator[_Row]:
    for number, line in enumerate(_read_text(path).split("\n"), start=1):
        if line.strip():
            place = f"{path} row {number}"
            yield _Row(place, _parse(line, place))


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: the file is missing", hint=FORMAT_HINT) from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", hint=FORMAT_HINT) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}", hint=FORMAT_HINT) from error


def _parse(text: str, place: str) -> Mapping[str, Any]:
    try:
        value = parse_json(text)
    except ValueError as error:
        raise InputError(f"{place}: not JSON ({error})", hint=FORMAT_HINT) from error
    if not isinstance(value, dict):
        raise InputError(f"{place}: not a JSON object", hint=FORMAT_HINT)
    return value
