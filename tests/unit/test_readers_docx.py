from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idc_local.errors import InputError
from idc_local.readers import read_source
from idc_local.types import Document
from tests.packkit import docx, office, packed, para

STYLES = """
<w:style w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="Sub"><w:name w:val="My Sub"/><w:basedOn w:val="Heading1"/>
<w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
<w:style w:styleId="Bullet"><w:name w:val="List Bullet"/>
<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:styleId="Src"><w:name w:val="Source Code"/></w:style>
<w:style w:styleId="TOC1"><w:name w:val="toc 1"/></w:style>
<w:style w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>
"""


def read(body: str, parts: dict[str, str] | None = None) -> Document:
    return read_source(docx(body, {"styles": STYLES, **(parts or {})}), "pump.docx")


def blocks(document: Document) -> list[tuple[str, int, str]]:
    return [(block.kind.value, block.level, document.text[block.start : block.end]) for block in document.blocks]


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{para(text)}</w:tc>"


def test_styles_outline_levels_and_numbering_give_structure() -> None:
    number = '<w:numPr><w:ilvl w:val="1"/><w:numId w:val="7"/></w:numPr>'
    document = read(
        para("Care", style="Heading1")
        + para("Oil", style="Sub")
        + para("Use little.", style="Loop")
        + para("first", style="Bullet")
        + para("inner", number)
        + para("not a list", '<w:numPr><w:numId w:val="0"/></w:numPr>', "Bullet")
        + para("def f():", style="Src")
        + para("    return 1", style="Src")
        + para("Care 3", style="TOC1")
        + para("Plain", '<w:outlineLvl w:val="9"/>', "Heading1")
    )
    assert blocks(document) == [
        ("heading", 1, "Care"),
        ("heading", 2, "Oil"),
        ("paragraph", 0, "Use little."),
        ("list_item", 1, "first"),
        ("list_item", 2, "inner"),
        ("paragraph", 0, "not a list"),
        ("code", 0, "def f():\n    return 1"),
        ("paragraph", 0, "Plain"),
    ]
    assert document.blocks[2].headings == ("Care", "Oil")
    assert document.pages == ()


def test_tables_keep_rows_and_header_and_layout_tables_are_opened() -> None:
    rows = (
        f"<w:tr><w:trPr><w:tblHeader/></w:trPr>{cell('Part')}{cell('Price')}{cell('Note')}</w:tr>"
        f"<w:tr>{cell('Rotor', chr(60) + 'w:gridSpan w:val=' + chr(34) + '2' + chr(34) + '/>')}{cell('x')}</w:tr>"
        f"<w:tr>{cell('gone', '<w:vMerge/>')}{cell('1.75')}{cell('')}</w:tr>"
    )
    layout = f"<w:tbl><w:tr><w:tc>{para('Inside', style='Heading1')}{para('a box')}</w:tc></w:tr></w:tbl>"
    document = read(f"<w:tbl>{rows}</w:tbl>{layout}")
    assert blocks(document) == [
        ("table", 0, "Part | Price | Note\nRotor |  | x\n | 1.75"),
        ("heading", 1, "Inside"),
        ("paragraph", 0, "a box"),
    ]
    header = document.blocks[0].header
    assert header is not None
    assert document.text[header.start : header.end] == "Part | Price | Note"


def test_notes_comments_and_text_boxes_follow_their_paragraph_and_deleted_text_is_gone() -> None:
    box = f"<w:txbxContent>{para('In the box.')}</w:txbxContent>"
    body = (
        "<w:p><w:r><w:t>Open</w:t><w:tab/><w:t>it</w:t></w:r><w:ins><w:r><w:t> now</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText> never</w:delText></w:r></w:del><w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r>"
        "<w:hyperlink><w:r><w:t>, see</w:t><w:br/><w:t>there.</w:t></w:r></w:hyperlink>"
        '<w:r><w:footnoteReference w:id="2"/><w:commentReference w:id="0"/></w:r>'
        f"<w:r><mc:AlternateContent><mc:Choice><w:drawing>{box}</w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>" + para("End.")
    )
    parts = {
        "footnotes": f'<w:footnote w:id="0" w:type="separator">{para("-")}</w:footnote>'
        f'<w:footnote w:id="2">{para("The red one.")}</w:footnote>',
        "comments": f'<w:comment w:id="0" w:author="Ann">{para("Really?")}</w:comment>',
    }
    assert [text for _, _, text in blocks(read(body, parts))] == [
        "Open it now, see\nthere.", "In the box.", "The red one.", "Comment (Ann): Really?", "End.",
    ]  # fmt: skip


def test_pages_are_those_that_word_noted() -> None:
    mark = "<w:lastRenderedPageBreak/>"
    split = f"<w:p><w:r><w:t>Before  it </w:t></w:r><w:r>{mark}<w:t>after it.</w:t></w:r></w:p>"
    document = read(para("One.") + f"<w:p><w:r>{mark}<w:t>Two.</w:t></w:r></w:p>" + split + para("Three."))
    assert document.text == "One.\n\nTwo.\n\nBefore it after it.\n\nThree."
    assert document.pages == ((0, "1"), (6, "2"), (document.text.index("after"), "3"))
    assert document.page_at(document.text.index("Three")) == "3"


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (docx(para("x"))[:200], "damaged: it is not a whole ZIP file, maybe cut off"),
        (office("word/document.xml", {}), "damaged: its part 'word/document.xml' is missing"),
        (office("word/document.xml", {"word/document.xml": "<a><b></a>"}),
         "damaged: its part 'word/document.xml' is not well-formed XML"),
        (office("word/document.xml", {"word/document.xml": BOMB}),
         "its part 'word/document.xml' declares XML entities, which no office program writes"),
        (office("word/document.xml", {"word/document.xml": b"<a>" + b" " * (8 << 20) + b"</a>"}),
         "its part 'word/document.xml' unpacks to too much (8388615 bytes)"),
        (packed({"other.txt": "x"}), "damaged: its part 'word/document.xml' is missing"),
    ],
)  # fmt: skip
def test_damage_and_bombs_are_one_line_with_a_remedy(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_source(data, "pump.docx")
    assert caught.value.message == f"pump.docx: {message}"
    assert caught.value.hint


def test_deep_nesting_is_read_or_left_out_but_never_fails() -> None:
    deep = "<w:sdt><w:sdtContent>" * 3000 + para("deep") + "</w:sdtContent></w:sdt>" * 3000
    tables = "<w:tbl><w:tr><w:tc>" * 300 + para("inner") + "</w:tc></w:tr></w:tbl>" * 300
    assert read(para("top") + deep + tables).text.startswith("top")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_damage_ends_in_a_document_or_one_line(data: st.DataObject) -> None:
    whole = bytearray(docx(para("Care", style="Heading1") + para("Oil it."), {"styles": STYLES}))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        document = read_source(bytes(whole), "pump.docx")
    except InputError:
        return
    assert all(first.end <= second.start for first, second in zip(document.blocks, document.blocks[1:], strict=False))


def test_the_title_of_the_file_stands_above_headings_of_the_first_level() -> None:
    titled = STYLES + '<w:style w:styleId="Title"><w:name w:val="Title"/></w:style>'
    title, ask = para("Travel", style="Title"), para("Ask.")
    body = title + para("Booking", style="Heading1") + para("Hotels", style="Sub") + ask
    document = read(body, {"styles": titled})
    assert blocks(document)[:3] == [("heading", 1, "Travel"), ("heading", 2, "Booking"), ("heading", 3, "Hotels")]
    assert document.blocks[3].headings == ("Travel", "Booking", "Hotels")
    below = read(title + para("Hotels", style="Sub"), {"styles": titled})
    assert blocks(below) == [("heading", 1, "Travel"), ("heading", 2, "Hotels")]
    several = read(body + para("Meals", style="Title") + para("Tips", style="Sub"), {"styles": titled})
    assert [level for kind, level, _ in blocks(several) if kind == "heading"] == [1, 1, 2, 1, 2]
