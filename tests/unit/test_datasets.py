"""Question sets: what is loaded, how halves are drawn, and which line a broken folder ends in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from idc_local.datasets import load_dataset, select_half
from idc_local.errors import InputError
from idc_local.types import Span

Files = dict[str, Any]
TEXT = "Ärger 🚀 im Werk.\r\nDie Pumpe steht.\n"


def question(identity: str, document: str, start: int, end: int, text: str = TEXT) -> dict[str, Any]:
    answers = [{"text": text[start:end], "start": start, "end": end}]
    return {"id": identity, "document_id": document, "question": f"Was ist {identity}?", "answers": answers}


def good() -> Files:
    return {
        "dataset.json": {"name": "tiny", "language": "de", "answers": "any", "scope": "document"},
        "documents.jsonl": [{"id": name, "title": "", "text": TEXT} for name in ("b", "a", "c")],
        "questions.jsonl": [question("q2", "a", 8, 15), question("q1", "c", 0, 5), question("q3", "b", 22, 27)],
    }


def write(folder: Path, files: Files) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        elif isinstance(content, list):
            lines = (row if isinstance(row, str) else json.dumps(row) for row in content)
            (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        else:
            (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_a_set_is_sorted_by_id_and_keeps_its_texts(tmp_path: Path) -> None:
    found = load_dataset(write(tmp_path, good()))
    assert (found.name, found.language, found.answers, found.scope) == ("tiny", "de", "any", "document")
    assert [document.id for document in found.documents] == ["a", "b", "c"]
    assert {document.text for document in found.documents} == {TEXT}
    assert [(row.id, row.document_id, row.answers) for row in found.questions] == [
        ("q1", "c", (Span(0, 5),)),
        ("q2", "a", (Span(8, 15),)),
        ("q3", "b", (Span(22, 27),)),
    ]


def test_blank_lines_crlf_and_a_byte_order_mark_do_not_matter(tmp_path: Path) -> None:
    files = good()
    rows = "\r\n\r\n".join(json.dumps(row) for row in files["questions.jsonl"])
    files["questions.jsonl"] = b"\xef\xbb\xbf" + rows.encode() + b"\r\n"
    assert len(load_dataset(write(tmp_path, files)).questions) == 3


def test_a_document_without_a_word_answers_nothing_but_is_one(tmp_path: Path) -> None:
    files = good()
    files["documents.jsonl"].append({"id": "d", "title": "", "text": ""})
    assert load_dataset(write(tmp_path, files)).documents[3].text == ""


def test_a_line_separator_inside_a_text_does_not_end_its_row(tmp_path: Path) -> None:
    files = good()
    text = "One\u2028two\x85three"
    row = {"id": "a", "title": "", "text": text}
    files["documents.jsonl"] = (json.dumps(row, ensure_ascii=False) + "\n").encode()
    files["questions.jsonl"] = [question("q", "a", 4, 7, text)]
    assert load_dataset(write(tmp_path, files)).documents[0].text == text


def test_a_byte_order_mark_in_a_text_is_dropped_and_the_offsets_follow(tmp_path: Path) -> None:
    files = good()
    text = "\ufeffAlpha beta."
    files["documents.jsonl"] = [{"id": "a", "title": "", "text": text}]
    files["questions.jsonl"] = [question("q1", "a", 7, 11, text), question("q2", "a", 0, 6, text)]
    found = load_dataset(write(tmp_path, files))
    assert found.documents[0].text == "Alpha beta."
    assert [row.answers for row in found.questions] == [(Span(6, 10),), (Span(0, 5),)]


def test_halves_share_no_document(tmp_path: Path) -> None:
    found = load_dataset(write(tmp_path, good()))
    tune, report = select_half(found, "tune"), select_half(found, "report")
    assert [document.id for document in tune.documents] == ["a", "c"]
    assert [row.id for row in tune.questions] == ["q1", "q2"]
    assert [document.id for document in report.documents] == ["b"]
    assert [row.id for row in report.questions] == ["q3"]
    assert select_half(found, "all") == found


def test_a_set_of_one_document_is_split_by_its_questions(tmp_path: Path) -> None:
    files = good()
    files["documents.jsonl"] = files["documents.jsonl"][1:2]
    files["questions.jsonl"] = [question(name, "a", 0, 5) for name in ("q9", "q1", "q5")]
    found = load_dataset(write(tmp_path, files))
    assert [row.id for row in select_half(found, "tune").questions] == ["q1", "q9"]
    assert [row.id for row in select_half(found, "report").questions] == ["q5"]
    assert select_half(found, "report").documents == found.documents


def test_a_half_without_questions_is_refused(tmp_path: Path) -> None:
    files = good()
    files["questions.jsonl"] = [question("q1", "a", 0, 5)]
    found = load_dataset(write(tmp_path, files))
    with pytest.raises(InputError, match="the report half has no questions"):
        select_half(found, "report")


def _set(name: str, place: int, key: str, value: object) -> Callable[[Files], None]:
    return lambda files: files[name][place].__setitem__(key, value)


def _answer(**changes: object) -> Callable[[Files], None]:
    return lambda files: files["questions.jsonl"][1]["answers"][0].update(changes)


def _replace(name: str, content: object) -> Callable[[Files], None]:
    return lambda files: files.__setitem__(name, content)


BROKEN: list[tuple[str, Callable[[Files], None], str]] = [
    ("no documents file", lambda files: files.pop("documents.jsonl"), r"documents\.jsonl: the file is missing"),
    ("no about file", lambda files: files.pop("dataset.json"), r"dataset\.json: the file is missing"),
    ("about not JSON", _replace("dataset.json", b"{"), r"dataset\.json: not JSON"),
    ("about a list", _replace("dataset.json", []), r"dataset\.json: not JSON"),
    ("about without answers", _replace("dataset.json", {"scope": "corpus"}), r'"answers" is missing'),
    ("answers unknown", _replace("dataset.json", {"answers": "some", "scope": "corpus"}), r"'some', not one of any"),
    ("scope a number", _replace("dataset.json", {"answers": "any", "scope": 3}), r'"scope" is not text'),
    ("documents empty", _replace("documents.jsonl", b"\n\n"), r"documents\.jsonl: no documents"),
    ("questions empty", _replace("questions.jsonl", b""), r"questions\.jsonl: no questions, nothing to evaluate"),
    ("not UTF-8", _replace("documents.jsonl", b"\xff\xfe"), r"documents\.jsonl: not UTF-8 at byte 0"),
    ("row not JSON", lambda files: files["questions.jsonl"].insert(1, "{oops"), r"questions\.jsonl row 2: not JSON"),
    ("row a list", lambda files: files["questions.jsonl"].insert(0, "[]"), r"row 1: not a JSON object"),
    ("deep JSON", lambda files: files["questions.jsonl"].insert(0, "[" * 99999), r"row 1: not JSON"),
    ("blank id", _set("questions.jsonl", 0, "id", " "), r'row 1: "id" is empty'),
    ("blank question", _set("questions.jsonl", 2, "question", "\n"), r'row 3: "question" is empty'),
    ("text a number", _set("documents.jsonl", 1, "text", 4), r'documents\.jsonl row 2: "text" is not text'),
    ("document twice", _set("documents.jsonl", 2, "id", "a"), r"row 3: the document id 'a' appears twice"),
    ("question twice", _set("questions.jsonl", 2, "id", "q2"), r"row 3: the question id 'q2' appears twice"),
    ("stranger", _set("questions.jsonl", 0, "document_id", "z"), r"row 1: no document has the id 'z'"),
    ("no answers", _set("questions.jsonl", 0, "answers", []), r'row 1: "answers" is missing or empty'),
    ("answers an object", _set("questions.jsonl", 0, "answers", {"a": 1}), r'row 1: "answers" is missing or empty'),
    ("answer a text", _set("questions.jsonl", 0, "answers", ["x"]), r"row 1: answer 1 is not an object"),
    ("surrogate", _set("documents.jsonl", 0, "text", "a\ud800"), r"row 1: the text holds a lone surrogate at offset 1"),
    ("surrogate id", _set("documents.jsonl", 0, "id", "\ud800"), r"row 1: the text holds a lone surrogate"),
    ("surrogate query", _set("questions.jsonl", 0, "question", "\udfff?"), r"row 1: the text holds a lone surrogate"),
    ("offset a text", _answer(start="0"), r"row 2: answer 1: start and end must be whole numbers"),
    ("offset true", _answer(start=True), r"row 2: answer 1: start and end must be whole numbers"),
    ("offset negative", _answer(start=-5), r"row 2: answer 1: -5 to 5 is no place"),
    ("offset outside", _answer(end=999), r"row 2: answer 1: 0 to 999 is no place in a document of 35"),
    ("reversed", _answer(start=5, end=5), r"row 2: answer 1: 5 to 5 is no place"),
    ("byte offsets", _answer(start=1, end=6), r"row 2: answer 1: the document has 'rger ' at 1, not 'Ärger'"),
    ("blank answer", _answer(start=5, end=6, text=" "), r"row 2: answer 1 is blank"),
    ("no answer text", _answer(text=None), r'row 2: answer 1: "text" is missing'),
]


@pytest.mark.parametrize(("breakage", "message"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_a_broken_folder_ends_in_one_line_that_names_the_place(
    tmp_path: Path, breakage: Callable[[Files], None], message: str
) -> None:
    files = good()
    breakage(files)
    with pytest.raises(InputError, match=message) as caught:
        load_dataset(write(tmp_path / "set", files))
    assert "\n" not in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert caught.value.hint


def test_a_file_or_nothing_is_no_set(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="file: is not a folder"):
        load_dataset(tmp_path / "file")
    with pytest.raises(InputError, match="nowhere: does not exist"):
        load_dataset(tmp_path / "nowhere")


def test_a_folder_of_sets_is_told_from_a_broken_set(tmp_path: Path) -> None:
    write(tmp_path / "one", good())
    with pytest.raises(InputError, match="holds question sets and is none itself") as caught:
        load_dataset(tmp_path)
    assert caught.value.hint == f"name the sets: {tmp_path}/*"


def test_every_shipped_set_loads(shared_data: Path) -> None:
    counts = {
        folder.name: (len(found.documents), len(found.questions))
        for folder in sorted((shared_data / "qa").iterdir())
        for found in [load_dataset(folder)]
    }
    assert counts["squad_new_wiki"] == (10, 342)
    assert counts["xquad_ar"] == (17, 467)
    assert len(counts) == 13
