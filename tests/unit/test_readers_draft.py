from __future__ import annotations

from idc_local.readers.draft import Draft, Row, one_line
from idc_local.types import BlockKind, Span


def test_blocks_pages_and_header_point_at_their_text() -> None:
    draft = Draft()
    draft.page("1")
    draft.heading(" The \n pump ", 9)
    draft.paragraph("One  two\n\n three\xad.")
    draft.item("first")
    draft.item("second", 2)
    draft.page("2")
    draft.table([Row(("a", "b", "")), Row(("", "")), Row(("1", "2\n3"), "row 3"), Row(("4",), "row 4")], head=1)
    draft.code("\n  x\n    y\n")
    text, blocks, pages = draft.finish()
    assert text == "The pump\n\nOne two\nthree.\n\nfirst\nsecond\n\na | b\n1 | 2 3\n4\n\n  x\n    y"
    assert [(block.kind, text[block.start : block.end]) for block in blocks] == [
        (BlockKind.HEADING, "The pump"),
        (BlockKind.PARAGRAPH, "One two\nthree."),
        (BlockKind.LIST_ITEM, "first"),
        (BlockKind.LIST_ITEM, "second"),
        (BlockKind.TABLE, "a | b\n1 | 2 3\n4"),
        (BlockKind.CODE, "  x\n    y"),
    ]
    assert [block.level for block in blocks] == [6, 0, 1, 2, 0, 0]
    start = text.index("a | b")
    assert blocks[4].header == Span(start, start + 5)
    assert pages == ((0, "1"), (start, "2"), (start + 6, "row 3"), (start + 14, "row 4"))


def test_empty_blocks_leave_no_trace_and_keep_the_page_for_the_next() -> None:
    draft = Draft()
    draft.page("slide 1")
    draft.paragraph(" \n\t")
    draft.heading("\xad", 1)
    draft.table([Row(("", " "))], head=1)
    draft.page("slide 2")
    draft.extend("  \n", ())
    draft.paragraph("text", [(2, "slide 3")])
    assert draft.finish()[0::2] == ("text", ((0, "slide 2"), (2, "slide 3")))


def test_equal_labels_in_a_row_are_one_page() -> None:
    draft = Draft()
    for text in ("a", "b"):
        draft.page("1")
        draft.paragraph(text)
    assert draft.finish()[2] == ((0, "1"),)


def test_a_part_of_another_reader_is_moved_into_place() -> None:
    inner = Draft()
    inner.heading("Part", 1)
    inner.table([Row(("k", "v")), Row(("1", "2"))], head=1)
    text, blocks, _ = inner.finish()
    draft = Draft()
    draft.paragraph("before")
    draft.page("chapter 2")
    draft.extend(text, blocks)
    whole, moved, pages = draft.finish()
    assert [whole[block.start : block.end] for block in moved] == ["before", "Part", "k | v\n1 | 2"]
    header = moved[2].header
    assert header is not None
    assert whole[header.start : header.end] == "k | v"
    assert pages == ((8, "chapter 2"),)


def test_one_line_drops_what_is_not_seen() -> None:
    assert one_line(" a\u00a0b\r\n\tc\xadd\ufeff ") == "a b cd"
