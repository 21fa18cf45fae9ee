from __future__ import annotations

import pytest

from idc_local.errors import InputError
from idc_local.readers import read_source
from idc_local.readers.draft import Draft
from idc_local.readers.sheets import Cell, Line, write_sheet
from idc_local.readers.xlsx_values import format_of, shown
from idc_local.types import Document
from tests.packkit import office, relations, xlsx

STRINGS = (
    '<sst xmlns="x"><si><t>Part</t></si><si><r><t>Pri</t></r><r><t>ce</t></r><rPh><t>no</t></rPh></si>'
    "<si><t>Rotor</t></si></sst>"
)
STYLES = (
    '<styleSheet xmlns="x"><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/></numFmts>'
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="10"/></cellXfs></styleSheet>'
)
PARTS = {"xl/sharedStrings.xml": STRINGS, "xl/styles.xml": STYLES}


def blocks(document: Document) -> list[tuple[str, str | None, str]]:
    return [
        (block.kind.value, document.page_at(block.start), document.text[block.start : block.end])
        for block in document.blocks
    ]


def test_rows_know_their_sheet_and_number_and_cells_show_what_they_mean() -> None:
    rows = (
        '<row r="2"><c r="B2" t="s"><v>0</v></c><c r="C2" t="s"><v>1</v></c>'
        '<c r="E2" t="inlineStr"><is><t>Since</t></is></c>'
        '<c r="F2" t="str"><f>A()</f><v>Share</v></c></row>'
        '<row r="3"><c r="B3" t="s"><v>2</v></c><c r="C3"><v>12.5</v></c><c r="E3" s="1"><v>45413</v></c>'
        '<c r="F3" s="2"><v>0.125</v></c></row>'
        '<row r="4"><c r="B4" t="b"><v>1</v></c><c r="C4"><f>1+1</f></c><c r="E4" t="e"><v>#REF!</v></c></row>'
    )
    document = read_source(xlsx({"Prices": rows, "Empty": ""}, PARTS), "a.xlsx")
    table = "Part | Price | Since | Share\nRotor | 12.5 | 2024-05-01 | 12.50%\nTRUE | =1+1 | #REF!"
    assert blocks(document) == [
        ("heading", "sheet Prices, row 2", "Prices"),
        ("table", "sheet Prices, row 2", table),
        ("heading", "sheet Empty", "Empty"),
    ]
    header = document.blocks[1].header
    assert header is not None
    assert document.text[header.start : header.end] == "Part | Price | Since | Share"
    assert document.page_at(document.text.index("Rotor")) == "sheet Prices, row 3"
    assert document.page_at(document.text.index("TRUE")) == "sheet Prices, row 4"


def test_comments_stand_in_their_cell_and_text_boxes_after_the_sheet() -> None:
    parts = {
        "xl/_rels/sheet0.xml.rels": relations({"c": ("comments", "comments1.xml"), "d": ("drawing", "drawing1.xml")}),
        "xl/comments1.xml": '<comments xmlns="x"><commentList><comment ref="A1"><text><t>Ask Ann</t></text></comment>'
        "</commentList></comments>",
        "xl/drawing1.xml": '<d xmlns:a="a"><a:p><a:r><a:t>Read</a:t></a:r><a:r><a:t> me</a:t></a:r></a:p></d>',
    }
    document = read_source(
        xlsx({"S": '<row r="1"><c r="A1"><v>5</v></c><c r="B1"><v>6</v></c></row>'}, parts), "a.xlsx"
    )
    assert [text for _, _, text in blocks(document)] == ["S", "5 [comment: Ask Ann] | 6", "Read me"]


@pytest.mark.parametrize(
    ("value", "code", "expected"),
    [
        ("45413.5", "m/d/yy h:mm", "2024-05-01 12:00"),
        ("0.75", "h:mm", "18:00"),
        ("1.5", "[h]:mm:ss", "36:00"),
        ("59", "yyyy-mm-dd", "1900-02-28"),
        ("61", "yyyy-mm-dd", "1900-03-01"),
        ("12.5", "#,##0.00 [$€-407]", "12.50 €"),
        ("12.5", '"$"#,##0.00', "$12.50"),
        ("7", '_("$"* #,##0.00_)', "$7.00"),
        ("1234", "#,##0", "1234"),
        ("0.30000000000000004", "", "0.3"),
        ("12345678901234567890", "", "1.23456789012346e+19"),
        ("1.5", "General", "1.5"),
        ("0.5", "0%", "50%"),
        ("-3", "yyyy-mm-dd", "-3"),
        ("1e308", "yyyy-mm-dd", "1e308"),
        ("nan", "0.00", "nan"),
        ("x", "0.00", "x"),
    ],
)
def test_numbers_are_shown_by_their_format(value: str, code: str, expected: str) -> None:
    assert shown(value, format_of(code), since_1904=False) == expected


def test_dates_may_count_from_1904() -> None:
    assert shown("0", format_of("yyyy-mm-dd"), since_1904=True) == "1904-01-01"


def lines(*rows: tuple[str | float, ...] | None) -> list[Line]:
    """Rows from number 1 on; None is an empty one."""
    return [
        Line(number, {at: Cell(str(value), isinstance(value, str)) for at, value in enumerate(row) if value != ""})
        for number, row in enumerate(rows, 1)
        if row is not None
    ]


def test_titles_empty_rows_and_further_tables() -> None:
    draft = Draft()
    write_sheet(draft, "S", lines(
        ("Prices of 2024",), ("Part", "Price"), ("Rotor", 1.5), None, ("Seal", 2), None,
        ("Name", "Town"), ("Ann", "Ulm"), None, ("a note alone",),
    ))  # fmt: skip
    text, found, pages = draft.finish()
    assert [text[block.start : block.end] for block in found] == [
        "S", "Prices of 2024", "Part | Price\nRotor | 1.5\nSeal | 2", "Name | Town\nAnn | Ulm", "a note alone",
    ]  # fmt: skip
    assert [label for _, label in pages] == [f"sheet S, row {n}" for n in (1, 2, 3, 5, 7, 8, 10)]


def test_a_list_in_one_column_is_a_table_without_header() -> None:
    draft = Draft()
    write_sheet(draft, "S", lines(("oil",), ("belt",)))
    text, found, _ = draft.finish()
    assert [(text[block.start : block.end], block.header) for block in found] == [("S", None), ("oil\nbelt", None)]


@pytest.mark.parametrize(
    "row",
    ['<row r="x"><c r="??"><v>1</v></c></row>', '<row r="99999999999"><c t="s"><v>99999999999</v></c></row>',
     '<row><c r="ZZZZZ1" s="99999999"><v>1</v></c><c><v>2</v></c></row>',
     "<row><c/><c t='s'/><c t='inlineStr'/></row>"],
)  # fmt: skip
def test_odd_cells_are_read_or_left_out(row: str) -> None:
    assert read_source(xlsx({"S": row}), "a.xlsx").text.startswith("S")


def test_a_workbook_without_its_parts_is_refused() -> None:
    with pytest.raises(InputError, match=r"part 'xl/workbook\.xml' is missing"):
        read_source(office("xl/workbook.xml", {}), "a.xlsx")
    with pytest.raises(InputError, match=r"part 'xl/sheet0\.xml' is not well-formed XML"):
        read_source(xlsx({"S": "<row>"}), "a.xlsx")
