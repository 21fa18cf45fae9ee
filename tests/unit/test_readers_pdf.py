from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idc_local.errors import InputError
from idc_local.readers import read_source
from idc_local.readers.pdf_text import Words
from idc_local.types import BlockKind, Document
from tests.pdfkit import Sheet, pdf

BODY = "The pump moves water from the lower tank to the upper one every day of the year and"


def read(*sheets: Sheet, outline: tuple[tuple[str, int], ...] = ()) -> Document:
    return read_source(pdf(*sheets, outline=outline), "pump.pdf")


def blocks(document: Document) -> list[tuple[str, str | None, str]]:
    return [
        (block.kind.value, document.page_at(block.start), document.text[block.start : block.end])
        for block in document.blocks
    ]


def test_columns_are_read_one_after_the_other_and_a_table_row_by_row() -> None:
    sheet = Sheet().at(60, 780, "Pumps and how they work", 18, "F2")
    left = ("The pump moves water from the", "lower tank to the upper one and", "back again when the valve is",
            "open. It needs oil once a year.")  # fmt: skip
    right = ("The second column tells of the", "motor and what drives it through", "the winter, when oil is thick and",
             "bearings wear out sooner.")  # fmt: skip
    sheet.lines(60, 740, *left).lines(320, 740, *right).at(60, 680, "Prices", 14, "F2")
    for row, cells in enumerate((("Part", "Price", "Weight"), ("Rotor", "12.50", "3 kg"), ("Seal", "1.75", "10 g"))):
        for x, text in zip((60, 200, 300), cells, strict=True):
            sheet.at(x, 650 - 16 * row, text, 10, "F1" if row else "F2")
    document = read(sheet)
    assert blocks(document) == [
        ("heading", "1", "Pumps and how they work"),
        ("paragraph", "1", " ".join(left)),
        ("paragraph", "1", " ".join(right)),
        ("heading", "1", "Prices"),
        ("table", "1", "Part | Price | Weight\nRotor | 12.50 | 3 kg\nSeal | 1.75 | 10 g"),
    ]
    assert document.blocks[-1].headings == ("Pumps and how they work", "Prices")
    header = document.blocks[-1].header
    assert header is not None
    assert document.text[header.start : header.end] == "Part | Price | Weight"


def test_heads_and_feet_go_and_a_paragraph_runs_over_the_edge_of_the_page() -> None:
    def sheet(number: int, *lines: str) -> Sheet:
        start = Sheet().at(60, 800, "Handbook of Pumps", 9).at(300, 30, f"- {number} -", 9)
        return start.lines(60, 740, *lines)

    first = ("This line is long and goes on to the next line without any break, which is hyphen-",
             "ated here and then runs over the edge of this very page into the middle of the")  # fmt: skip
    document = read(sheet(7, *first), sheet(8, "next one, where it ends."), sheet(9, "The last page."))
    joined = (
        "This line is long and goes on to the next line without any break, which is hyphenated here and then runs "
        "over the edge of this very page into the middle of the next one, where it ends."
    )
    assert blocks(document) == [("paragraph", "1", joined), ("paragraph", "3", "The last page.")]
    assert document.pages == ((0, "1"), (joined.index("next one"), "2"), (len(joined) + 2, "3"))


def test_a_note_at_the_foot_does_not_part_a_paragraph_that_goes_on() -> None:
    first = Sheet().lines(
        60, 740, BODY, "it stops only when the reserve tank is full to the brim, which is seldom the case in"
    )
    first.at(60, 60, "1 See the manual of the maker.", 7)
    document = read(first, Sheet().lines(60, 740, "a dry summer.", "New one."))
    texts = [text for _, _, text in blocks(document)]
    assert texts[0] == "1 See the manual of the maker."
    assert texts[1].endswith("seldom the case in a dry summer.")
    assert [label for _, label in document.pages] == ["1", "2"]


def test_lists_code_and_bold_headings_are_told_from_text() -> None:
    sheet = Sheet().at(60, 780, "Setup", 10, "F2").lines(60, 760, BODY, "night. It is loud.")
    sheet.lines(60, 720, "1. Open the valve and wait until the gauge on the left side of the tank is", size=10)
    sheet.lines(72, 708, "at zero.").at(60, 692, "2. Start it.").at(72, 676, "a) Listen.")
    sheet.lines(60, 640, "def f(x):", font="F3").lines(72, 628, "return x", font="F3")
    document = read(sheet)
    assert [(kind, text) for kind, _, text in blocks(document)] == [
        ("heading", "Setup"),
        ("paragraph", f"{BODY} night. It is loud."),
        ("list_item", "1. Open the valve and wait until the gauge on the left side of the tank is at zero."),
        ("list_item", "2. Start it."),
        ("list_item", "a) Listen."),
        ("code", "def f(x):\n  return x"),
    ]
    assert [block.level for block in document.blocks[2:5]] == [1, 1, 2]


def test_the_outline_names_headings_that_look_like_text() -> None:
    pages = [
        Sheet().at(60, 740, f"{number} {title}").lines(60, 700, BODY, "so on.")
        for number, title in enumerate(("Care", "Repair"), 1)
    ]
    document = read(*pages, outline=(("Care", 0), ("Repair", 1)))
    assert [(text, document.blocks[index].level) for index, (kind, _, text) in enumerate(blocks(document))
            if kind == "heading"] == [("1 Care", 1), ("2 Repair", 1)]  # fmt: skip


def test_titles_that_differ_in_their_number_alone_keep_their_levels() -> None:
    titles = [f"Part {number} of it" for number in range(1, 5)]
    sheet = Sheet()
    for place, title in enumerate(titles):
        sheet.at(60, 780 - 100 * place, title, 10, "F2").lines(60, 750 - 100 * place, BODY, "so on.")
    data = pdf(sheet, outline=tuple((title, 0) for title in titles), levels=(1, 2, 2, 1))
    document = read_source(data, "pump.pdf")
    assert [block.level for block in document.blocks if block.kind is BlockKind.HEADING] == [1, 2, 2, 1]


def test_turned_text_and_comments_come_after_the_page() -> None:
    sheet = Sheet().lines(60, 700, BODY, "so on.").turned(30, 200, "DRAFT")
    sheet.note = "Ask Ann"
    assert [text for _, _, text in blocks(read(sheet))] == [f"{BODY} so on.", "DRAFT", "Ask Ann"]


def test_pages_that_hold_only_a_picture_are_named() -> None:
    document = read(Sheet().scan(), Sheet().at(60, 700, "Some text."), Sheet().scan(), Sheet().scan())
    assert blocks(document) == [("paragraph", "2", "Some text.")]
    assert [warning.partition(";")[0] for warning in document.warnings] == [
        "scanned: pages 1, 3-4 hold pictures and no text"
    ]
    with pytest.raises(InputError) as caught:
        read(Sheet().scan(), Sheet().scan())
    assert caught.value.message == "pump.pdf: scanned: pages 1-2 hold pictures and no text"
    assert "ocrmypdf" in caught.value.hint


def test_a_picture_behind_recognised_text_is_no_scan() -> None:
    document = read(Sheet().scan().lines(60, 700, BODY, "so on."))
    assert blocks(document) == [("paragraph", "1", f"{BODY} so on.")]
    assert document.warnings == ()


LOCKED = f"/Encrypt << /Filter /Standard /V 1 /R 2 /O <{'41' * 32}> /U <{'42' * 32}> /P -44 >> /ID [<00> <00>]"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pdf(Sheet().at(60, 700, "Hidden"), extra=LOCKED), "encrypted: a password opens it"),
        (pdf(Sheet().at(60, 700, "Hidden"))[:300], "a damaged PDF file"),
        (b"%PDF-1.7 rubbish", "a damaged PDF file"),
        (pdf(Sheet().box()), "no text: page 1 holds drawings alone"),
        (b"", "empty"),
        (b"\x00\x01rubbish", "not a .pdf file, or one whose beginning is lost"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument\0".encode("utf-16-le"), "an old Word document (.doc)"),
    ],
)
def test_what_cannot_be_read_is_one_line_with_a_remedy(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_source(data, "pump.pdf")
    assert caught.value.message == f"pump.pdf: {message}"
    assert caught.value.hint


def test_the_content_counts_and_not_the_name() -> None:
    data = pdf(Sheet().at(60, 700, "Some text."))
    assert read_source(data, "pump.txt").id == read_source(data, "pump.pdf").id == read_source(data, "pump").id
    assert read_source(b"plain words", "pump.pdf").media_type == "text/plain"
    assert read_source(b"<!doctype html><p>hi</p>", "pump.pdf").media_type == "text/html"


def test_blank_pages_are_an_empty_document_and_a_lost_end_is_told() -> None:
    assert read(Sheet()).text == ""
    data = pdf(Sheet().at(60, 700, "Some text."))
    cut = data[: data.rindex(b"startxref")]
    document = read_source(cut, "pump.pdf")
    assert document.text == "Some text."
    assert document.warnings == ("it may be cut off: it has no end mark",)


@pytest.mark.parametrize(
    ("text", "more", "hyphen", "joined"),
    [
        ("man-", "agement", False, "management"),
        ("man", "agement", True, "management"),
        ("a well-", "known one", False, "a well-known one"),
        ("Anglo-", "American", False, "Anglo-American"),
        ("pages 3-", "5", False, "pages 3- 5"),
        ("日本", "語", False, "日本語"),
        ("end.", "Next", False, "end. Next"),
        ("", "Next", False, "Next"),
    ],
)
def test_words_are_mended_by_the_words_of_the_document(text: str, more: str, hyphen: bool, joined: str) -> None:
    assert Words(["it is well-known that", "other"]).joined(text, more, hyphen) == joined


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_damage_ends_in_a_document_or_one_line(data: st.DataObject) -> None:
    whole = bytearray(pdf(Sheet().lines(60, 700, BODY, "x").scan(), Sheet().at(60, 700, "Two"), outline=(("x", 1),)))
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(9, len(whole) - 1))
        whole[place] = data.draw(st.integers(0, 255))
    try:
        document = read_source(bytes(whole), "pump.pdf")
    except InputError:
        return
    assert all(first[0] < second[0] for first, second in pairwise(document.pages))
    assert all(first.end <= second.start for first, second in pairwise(document.blocks))
    assert {block.kind for block in document.blocks} <= set(BlockKind)
