from __future__ import annotations

import pytest

from idc_local.errors import InputError
from idc_local.readers import read_source
from idc_local.types import Document
from tests.packkit import ODF, odf, packed


def blocks(document: Document) -> list[tuple[str, int, str]]:
    return [(block.kind.value, block.level, document.text[block.start : block.end]) for block in document.blocks]


def test_text_has_headings_lists_code_and_what_hangs_on_paragraphs() -> None:
    styles = '<style:style style:name="P1" style:parent-style-name="Preformatted_20_Text"/>'
    body = (
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
        '<text:p text:style-name="Title">Pump</text:p>'
        '<text:h text:outline-level="2">Care</text:h>'
        "<text:table-of-content><text:p>Care 1</text:p></text:table-of-content>"
        '<text:p>Open<text:s text:c="3"/>it<text:tab/>now.<text:note><text:note-citation>1</text:note-citation>'
        "<text:note-body><text:p>The red one.</text:p></text:note-body></text:note> <text:span>Then</text:span>"
        '<office:annotation><dc:creator xmlns:dc="d">Ann</dc:creator><text:p>Sure?</text:p></office:annotation>'
        "<draw:frame><draw:text-box><text:p>In a box.</text:p></draw:text-box></draw:frame>"
        "<text:line-break/>wait.</text:p>"
        "<text:list><text:list-item><text:p>oil</text:p><text:list><text:list-item><text:p>thin</text:p>"
        "</text:list-item></text:list></text:list-item></text:list>"
        '<text:p text:style-name="P1">a:<text:line-break/><text:s text:c="2"/>b</text:p>'
        '<text:p text:style-name="P1">c</text:p>'
        '<text:section text:display="none"><text:p>hidden</text:p></text:section>'
    )
    document = read_source(odf("text", body, styles), "a.odt")
    assert blocks(document) == [
        ("heading", 1, "Pump"),
        ("heading", 2, "Care"),
        ("paragraph", 0, "Open it now. Then\nwait."),
        ("paragraph", 0, "In a box."),
        ("paragraph", 0, "The red one."),
        ("paragraph", 0, "Comment (Ann): Sure?"),
        ("list_item", 1, "oil"),
        ("list_item", 2, "thin"),
        ("code", 0, "a:\n  b\nc"),
    ]
    assert document.blocks[2].headings == ("Pump", "Care")
    assert document.media_type == "application/vnd.oasis.opendocument.text"


def test_the_title_of_the_file_stands_above_headings_of_the_first_level() -> None:
    body = (
        '<text:p text:style-name="Title"/><text:p text:style-name="Title">Pump</text:p>'
        '<text:h text:outline-level="1">Care</text:h><text:h text:outline-level="2">Oil</text:h><text:p>Thin.</text:p>'
    )
    document = read_source(odf("text", body, ""), "a.odt")
    assert blocks(document)[:3] == [("heading", 1, "Pump"), ("heading", 2, "Care"), ("heading", 3, "Oil")]
    assert document.blocks[3].headings == ("Pump", "Care", "Oil")


def test_pages_are_counted_where_the_text_marks_them() -> None:
    styles = '<style:style style:name="B"><style:paragraph-properties fo:break-before="page"/></style:style>'
    body = (
        "<text:p>One.</text:p><text:p>Over <text:soft-page-break/>the edge.</text:p>"
        '<text:p text:style-name="B">Three.</text:p>'
    )
    document = read_source(odf("text", body, styles), "a.odt")
    assert document.text == "One.\n\nOver the edge.\n\nThree."
    assert document.pages == ((0, "1"), (11, "2"), (22, "3"))
    assert read_source(odf("text", body.replace("<text:soft-page-break/>", ""), styles), "a.odt").pages == ()


def test_tables_keep_their_header() -> None:
    def row(*cells: str) -> str:
        inner = "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in cells)
        return f"<table:table-row>{inner}</table:table-row>"

    head = f"<table:table-header-rows>{row('Part', 'Maker')}</table:table-header-rows>"
    table = f"<table:table>{head}{row('Rotor', 'Ann')}</table:table>"
    layout = f"<table:table>{row('only one column')}</table:table>"
    document = read_source(odf("text", table + layout), "a.odt")
    assert blocks(document) == [("table", 0, "Part | Maker\nRotor | Ann"), ("paragraph", 0, "only one column")]
    header = document.blocks[0].header
    assert header is not None
    assert document.text[header.start : header.end] == "Part | Maker"


def test_sheets_count_repeated_rows_and_cells() -> None:
    def cell(text: str, facts: str = "") -> str:
        return f"<table:table-cell {facts}><text:p>{text}</text:p></table:table-cell>"

    rows = (
        f"<table:table-row>{cell('Part')}{cell('Since')}</table:table-row>"
        '<table:table-row table:number-rows-repeated="2"><table:table-cell/></table:table-row>'
        f'<table:table-row table:number-rows-repeated="2">{cell("Seal")}'
        + cell("1/2/24", 'office:value-type="date" office:date-value="2024-02-01T00:00:00"')
        + "</table:table-row>"
        '<table:table-row table:number-rows-repeated="1048570">'
        '<table:table-cell table:number-columns-repeated="16384"/>'
        "</table:table-row>"
    )
    document = read_source(odf("spreadsheet", f'<table:table table:name="Parts">{rows}</table:table>'), "a.ods")
    assert document.text == "Parts\n\nPart | Since\n\nSeal | 2024-02-01\nSeal | 2024-02-01"
    assert [label for _, label in document.pages] == [f"sheet Parts, row {n}" for n in (1, 4, 5)]


def test_slides_have_titles_and_notes() -> None:
    frame = '<draw:frame presentation:class="{}"><draw:text-box>{}</draw:text-box></draw:frame>'
    body = (
        f"<draw:page>{frame.format('title', '<text:p>Pump</text:p>')}"
        f"{frame.format('outline', '<text:p>Oil it.</text:p>')}"
        f"<presentation:notes>{frame.format('notes', '<text:p>Slowly.</text:p>')}</presentation:notes></draw:page>"
        f"<draw:page>{frame.format('subtitle', '<text:p>End.</text:p>')}{frame.format('footer', '<text:p>x</text:p>')}"
        "</draw:page>"
    )
    document = read_source(odf("presentation", body), "a.odp")
    assert [text for _, _, text in blocks(document)] == ["Pump", "Oil it.", "Slowly.", "Slide 2", "End."]
    assert [label for _, label in document.pages] == ["slide 1", "slide 2"]


def test_flat_files_are_read_by_their_content() -> None:
    flat = (
        f'<?xml version="1.0"?><office:document {ODF} office:mimetype="application/vnd.oasis.opendocument.text">'
        "<office:body><office:text><text:p>Flat.</text:p></office:text></office:body></office:document>"
    )
    document = read_source(flat.encode(), "a.xml")
    assert (document.text, document.media_type) == ("Flat.", "application/vnd.oasis.opendocument.text")


def test_what_cannot_be_read_is_one_line() -> None:
    locked = '<m:manifest xmlns:m="m"><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>'
    with pytest.raises(InputError, match=r"^a\.odt: encrypted: a password opens it"):
        read_source(odf("text", "<text:p>x</text:p>", manifest=locked), "a.odt")
    with pytest.raises(InputError, match=r"^a\.odt: damaged: its part 'content\.xml' is missing"):
        read_source(packed({"mimetype": "application/vnd.oasis.opendocument.text"}), "a.odt")
    with pytest.raises(InputError, match=r"^a\.fodt: not a \.fodt file"):
        read_source(b"\x00\x01", "a.fodt")


def test_deep_nesting_ends() -> None:
    deep = "<text:section>" * 5000 + "<text:p>deep</text:p>" + "</text:section>" * 5000
    assert read_source(odf("text", "<text:p>top</text:p>" + deep), "a.odt").text == "top"
