"""What must come of each trap file at the level of documents and sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

from idc_local.errors import InputError
from idc_local.language import detect_language
from idc_local.ports import SourceFile
from idc_local.readers import read_source
from idc_local.readers.walk import walk
from idc_local.sentences import split_sentences
from idc_local.types import BlockKind, Document, Limits, Sentences
from tests.fakes import WordCounter

LIMITS = Limits()


def trap(shared_data: Path, name: str) -> tuple[Document, Sentences, list[str]]:
    document = read_source((shared_data / "traps" / name).read_bytes(), name)
    sentences = split_sentences(document, WordCounter(), LIMITS, detect_language(document.text))
    parts = [document.text[start:end] for start, end in zip(sentences.starts, sentences.ends, strict=True)]
    assert "".join(parts) == document.text
    return document, sentences, parts


def test_every_trap_is_found(shared_data: Path) -> None:
    folder = shared_data / "traps"
    found = [entry.path for entry in walk([folder]) if isinstance(entry, SourceFile)]
    assert found == sorted(path.name for path in folder.iterdir())


def test_long_line(shared_data: Path) -> None:
    document, sentences, parts = trap(shared_data, "long_line.txt")
    assert len(document.text) == 72_000
    assert sentences.tokens.max() <= LIMITS.sentence_tokens
    assert max(map(len, parts)) <= LIMITS.max_chars // 2
    assert {word for part in parts for word in part.split()} == {"lorem"}


def test_crlf(shared_data: Path) -> None:
    document, sentences, parts = trap(shared_data, "crlf.md")
    assert document.text.count("\r\n") == document.text.count("\n") == 9
    repeated = "The pump starts when the float rises."
    places = [start for start, part in zip(sentences.starts, parts, strict=True) if part.startswith(repeated)]
    first = document.text.index(repeated)
    assert places == [first, document.text.index(repeated, first + 1)]
    assert [document.line_at(start) for start in places] == [3, 9]


def test_repeats(shared_data: Path) -> None:
    document, _, parts = trap(shared_data, "repeats.txt")
    assert len(parts) == 13
    assert len(document.blocks) == 5
    assert parts[0] == parts[3] == parts[6]


@pytest.mark.parametrize(
    ("name", "encoding", "words"),
    [("latin1.txt", "cp1252", "kosten fünf Franken"), ("utf16.txt", "utf-16", "at 2.5 bar")],
)
def test_encodings(shared_data: Path, name: str, encoding: str, words: str) -> None:
    document, _, parts = trap(shared_data, name)
    assert document.encoding == encoding
    assert words in parts[0]
    assert len(parts) == 2


def test_binary(shared_data: Path) -> None:
    with pytest.raises(InputError, match=r"^binary\.txt: binary") as caught:
        trap(shared_data, "binary.txt")
    assert caught.value.hint


def test_empty(shared_data: Path) -> None:
    document, sentences, _ = trap(shared_data, "empty.md")
    assert (document.text, document.blocks, len(sentences)) == ("", (), 0)


def test_headings_only(shared_data: Path) -> None:
    document, sentences, parts = trap(shared_data, "headings_only.md")
    assert len(parts) == 60
    assert {block.kind for block in document.blocks} == {BlockKind.HEADING}
    assert document.blocks[59].headings == ("Section 59",)
    assert set(sentences.level.tolist()) == {2}


def test_identifiers(shared_data: Path) -> None:
    _, _, parts = trap(shared_data, "identifiers.md")
    assert [part.split()[0] for part in parts] == ["#", "The", "Error", "Use"]
    for name in ("C++", ".NET", "RFC-2616", "#775"):
        assert name in parts[3]


def test_chinese(shared_data: Path) -> None:
    document, _, parts = trap(shared_data, "chinese.md")
    assert detect_language(document.text) == "zh"
    assert [part.strip() for part in parts] == [
        "# 水泵",
        "浮球上升时水泵启动。",
        "四十秒后自动停止。",
        "浮球磨损会卡住，地下室可能被淹。",
        "更换浮球需要十分钟，先关闭总电源。",
    ]


def test_code_fence(shared_data: Path) -> None:
    document, sentences, parts = trap(shared_data, "code_fence.md")
    assert {block.headings for block in document.blocks} == {("Reset",)}
    code = [part for part in parts if "```" in part]
    assert len(code) == 1
    assert code[0].startswith("```sh\n# not a heading\n")
    assert code[0].endswith("done\n```\n\n")
    table = next(block for block in document.blocks if block.kind is BlockKind.TABLE)
    assert table.header is not None
    assert document.text[table.header.start : table.header.end] == "| part | code |\n|---|---|"
    rows = [part for part, block in zip(parts, sentences.block, strict=True) if document.blocks[block] == table]
    assert rows[0] == "| part | code |\n|---|---|\n"
    assert [row.strip() for row in rows[1:]] == [f"| part {number} | P-{number:04} |" for number in range(120)]


def test_page(shared_data: Path) -> None:
    document, _, parts = trap(shared_data, "page.html")
    assert parts == ["Pump guide\n\n", "Close the valve & wait.\n\n", "Step one: power off.\n", "Step two: drain."]
    assert [block.kind for block in document.blocks[2:]] == [BlockKind.LIST_ITEM] * 2


def test_quotes(shared_data: Path) -> None:
    _, _, parts = trap(shared_data, "quotes.txt")
    assert [part.strip() for part in parts] == [
        '"Did it flood?" she asked.',
        '"Yes!" he said.',
        "Dr. Ames (see Fig. 3) measured 3.5 cm at 10 a.m. on Jan. 5.",
        "The U.S. Army Corps agreed.",
    ]
