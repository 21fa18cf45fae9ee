from __future__ import annotations

import pytest

from idc_local.errors import InputError
from idc_local.readers import read_source
from idc_local.types import Document
from tests.packkit import DRAWING, OFFICE, office, pptx, relations, shape


def blocks(document: Document) -> list[tuple[str, int, str | None, str]]:
    return [
        (block.kind.value, block.level, document.page_at(block.start), document.text[block.start : block.end])
        for block in document.blocks
    ]


def test_slides_come_in_the_order_in_which_they_are_shown() -> None:
    data = pptx(
        {
            "b": shape("Open it", "1:slowly") + shape("The pump", kind="ctrTitle") + shape("7", kind="sldNum"),
            "a": shape("No title here."),
        },
        order=("a", "b"),
    )
    document = read_source(data, "a.pptx")
    assert blocks(document) == [
        ("heading", 1, "slide 1", "Slide 1"),
        ("paragraph", 0, "slide 1", "No title here."),
        ("heading", 1, "slide 2", "The pump"),
        ("list_item", 1, "slide 2", "Open it"),
        ("list_item", 2, "slide 2", "slowly"),
    ]
    assert document.blocks[-1].headings == ("The pump",)
    assert document.pages == ((0, "slide 1"), (document.text.index("The pump"), "slide 2"))


def test_tables_diagrams_notes_and_comments_are_text_too() -> None:
    def cell(text: str) -> str:
        return f"<a:tc><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"

    row = "<a:tr>{}{}</a:tr>"
    table = f"<a:tbl>{row.format(cell('Part'), cell('Price'))}{row.format(cell('Rotor'), cell('12.50'))}</a:tbl>"
    frame = "<p:graphicFrame>{}</p:graphicFrame>"
    shapes = (
        f"<p:grpSp>{shape('In a group.')}</p:grpSp>"
        + frame.format(table)
        + frame.format('<dgm:relIds xmlns:dgm="d" r:dm="d1"/>')
    )
    head = f'xmlns:p="p" xmlns:a="{DRAWING}" xmlns:r="{OFFICE}"'
    parts = {
        "ppt/_rels/s.xml.rels": relations(
            {"n": ("notesSlide", "n.xml"), "d1": ("diagramData", "d.xml"), "c": ("comments", "c.xml")}
        ),
        "ppt/n.xml": f"<p:notes {head}>{shape('Say it slowly.', kind='body')}{shape('1', kind='sldNum')}</p:notes>",
        "ppt/d.xml": f"<d {head}><a:p><a:r><a:t>Step one</a:t></a:r></a:p></d>",
        "ppt/c.xml": f"<p:cmLst {head}><p:cm><p:text>Really?</p:text></p:cm></p:cmLst>",
    }
    document = read_source(pptx({"s": shapes}, parts=parts), "a.pptx")
    assert [text for _, _, _, text in blocks(document)] == [
        "Slide 1", "In a group.", "Part | Price\nRotor | 12.50", "Step one", "Say it slowly.", "Comment: Really?",
    ]  # fmt: skip
    assert document.blocks[2].header is not None


def test_the_first_alternative_counts() -> None:
    both = (
        '<mc:AlternateContent xmlns:mc="m"><mc:Choice>{}</mc:Choice><mc:Fallback>{}</mc:Fallback></mc:AlternateContent>'
    )
    document = read_source(pptx({"s": both.format(shape("New."), shape("Old."))}), "a.pptx")
    assert [text for _, _, _, text in blocks(document)] == ["Slide 1", "New."]


def test_a_presentation_without_its_part_is_refused() -> None:
    with pytest.raises(InputError, match=r"part 'ppt/presentation\.xml' is missing"):
        read_source(office("ppt/presentation.xml", {}), "a.pptx")
