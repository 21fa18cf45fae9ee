from __future__ import annotations

import pytest

from idc_local.readers import markdown, read_source
from idc_local.types import BlockKind, Document


def read(text: str) -> Document:
    document = read_source(text.encode(), "a.md")
    assert document.text == text
    return document


def shape(text: str) -> list[tuple[str, str, int]]:
    return [(block.kind.value, text[block.start : block.end], block.level) for block in read(text).blocks]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_block_at_its_exact_place(end: str) -> None:
    lines = [
        "# Pump *guide* ##", "", "Two", "lines.", "", "Setext", "------", "", "- one", "  - inner", "- two", "",
        "1. first", "", "> quoted", "", "```sh", "# not a heading", "", "x", "```", "", "    indented", "",
        "| a | b |", "|---|---|", "| 1 | 2 |", "", "<div>html</div>",
    ]  # fmt: skip
    join = end.join
    assert shape(join(lines)) == [
        ("heading", "# Pump *guide* ##", 1),
        ("paragraph", join(["Two", "lines."]), 0),
        ("heading", join(["Setext", "------"]), 2),
        ("list_item", "- one", 1),
        ("list_item", "- inner", 2),
        ("list_item", "- two", 1),
        ("list_item", "1. first", 1),
        ("paragraph", "> quoted", 0),
        ("code", join(["```sh", "# not a heading", "", "x", "```"]), 0),
        ("code", "indented", 0),
        ("table", join(["| a | b |", "|---|---|", "| 1 | 2 |"]), 0),
        ("paragraph", "<div>html</div>", 0),
    ]


def test_heading_paths_are_without_markup() -> None:
    text = '# A `b` [c](http://x) &amp; *d*<a name="e"></a>\n\n## E\\.\n\nx\n\n# F\n\ny'
    paths = [block.headings for block in read(text).blocks if block.kind is BlockKind.PARAGRAPH]
    assert paths == [("A b c & d", "E."), ("F",)]


def test_a_skipped_level_and_an_empty_heading() -> None:
    blocks = read("### Deep\n\nx\n\n#\n\ny").blocks
    assert [block.headings for block in blocks] == [("Deep",), ("Deep",), (), ()]


def test_a_table_knows_its_header() -> None:
    text = "x\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    header = read(text).blocks[1].header
    assert header is not None
    assert text[header.start : header.end] == "| a | b |\n|---|---|"


@pytest.mark.parametrize(
    "front", ["---\ntitle: Pump\n# x: 1\ntags: [a]\n---", "+++\ntitle = 'Pump'\n+++", "---\r\na: b\r\n..."]
)
def test_front_matter_is_a_paragraph(front: str) -> None:
    assert shape(front + "\n\n# Pump\n") == [("paragraph", front, 0), ("heading", "# Pump", 1)]


def test_a_text_between_two_rules_is_no_front_matter() -> None:
    text = "---\n\nSome words, and more.\n\n## B\n\n---\n\nx"
    assert [kind for kind, _, _ in shape(text)] == ["paragraph", "paragraph", "heading", "paragraph", "paragraph"]
    assert shape("---\ntitle: open\n\nx")[0][0] == "paragraph"


def test_a_quoted_heading_heads_nothing() -> None:
    blocks = read("# A\n\n> ## B\n\nx\n\n- # C\n").blocks
    assert [(block.kind.value, block.headings) for block in blocks] == [
        ("heading", ("A",)),
        ("paragraph", ("A",)),
        ("paragraph", ("A",)),
        ("list_item", ("A",)),
    ]


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    assert shape("---\n\n# Pump\n")[-1] == ("heading", "# Pump", 1)
    assert shape("---\n\n---\n\ntext") == [("paragraph", "---\n\n---", 0), ("paragraph", "text", 0)]


def test_what_the_parser_makes_nothing_of_is_kept() -> None:
    text = "a\n\n***\n\n[ref]: http://x\n\n-\n- b\n\n" + "> " * 40 + "deep\n"
    covered = "".join(text[block.start : block.end] for block in read(text).blocks)
    assert "".join(covered.split()) == "".join(text.split())


def test_further_paragraphs_and_code_of_an_item() -> None:
    assert shape("- one\n\n  more\n\n  ```\n  x\n  ```\n- two") == [
        ("list_item", "- one", 1),
        ("list_item", "more", 1),
        ("code", "```\n  x\n  ```", 0),
        ("list_item", "- two", 1),
    ]


def test_an_open_fence_runs_to_the_end() -> None:
    assert shape("a\n\n```\n# b\n\nc")[-1] == ("code", "```\n# b\n\nc", 0)


def test_more_lines_than_anyone_writes_are_read_as_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "- a\n```\n"
    assert [kind for kind, _, _ in shape(text)] == ["list_item", "code"]
    monkeypatch.setattr(markdown, "MAX_LINES", 1)
    assert [kind for kind, _, _ in shape(text)] == ["list_item", "paragraph"]


def test_nuls_and_odd_line_ends_do_not_move_blocks() -> None:
    text = "# A\0\n\nb\u2028c\x0bd\x85e\n\nf"
    assert shape(text) == [("heading", "# A\0", 1), ("paragraph", "b\u2028c\x0bd\x85e", 0), ("paragraph", "f", 0)]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("## Reset the pump {#reset}", "Reset the pump"),
        ("## Reset {#reset .wide data-x=1} ##", "Reset"),
        ("## Reset {: #reset }", "Reset"),
        ("## Reset{.unnumbered}", "Reset"),
        ("## Reset {-}", "Reset"),
        ("Reset {#reset}\n---", "Reset"),
        ("## `GET /users/{id}`", "GET /users/{id}"),
        ("## GET /users/{id}", "GET /users/{id}"),
        ("## Sets {a, b}", "Sets {a, b}"),
    ],
)
def test_an_anchor_behind_a_heading_is_no_part_of_its_title(line: str, title: str) -> None:
    document = read(f"{line}\n\nx\n")
    assert document.blocks[-1].headings == (title,)
    assert document.text[document.blocks[0].start : document.blocks[0].end] == line


def test_the_bytes_of_pictures_are_left_out_and_lines_stay_right() -> None:
    picture = "data:image/png;base64," + "iVBORw0KGgo/+" * 5000 + "=="
    source = f"# Pump\n\nBefore ![plan]({picture} 'Plan') after.\n\n[p2]: {picture}\n\nThe float sticks.\n"
    document = read_source(source.encode(), "a.md")
    short = "data:image/png;base64,…"
    assert document.text == f"# Pump\n\nBefore ![plan]({short} 'Plan') after.\n\n[p2]: {short}\n\nThe float sticks.\n"
    last = document.blocks[-1]
    assert document.text[last.start : last.end] == "The float sticks."
    assert dict((line, offset) for offset, line in document.lines)[7] == last.start
    kept = "data:text/plain;base64,SGVsbG8="
    assert read_source(f"A [link]({kept}).\n".encode(), "a.md").text == f"A [link]({kept}).\n"
