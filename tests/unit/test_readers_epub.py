from __future__ import annotations

import pytest

from idc_local.errors import InputError
from idc_local.readers import read_source
from tests.packkit import epub, packed

CARE = '<h1>Care</h1><p>Oil it.<a role="doc-noteref" href="#n">1</a> Then&nbsp;wait.</p>'


def test_chapters_are_numbered_without_front_matter_and_named_by_the_table_of_contents() -> None:
    pages = {
        "cover.xhtml": "<p>The Pump</p>",
        "a.xhtml": CARE,
        "empty.xhtml": "<p> </p>",
        "b.xhtml": "<p>No heading.</p>",
        "c.xhtml": '<section epub:type="dedication"><h2>For Ann</h2></section>',
    }
    document = read_source(epub(pages, {"b.xhtml": " Repair \n now", "a.xhtml": "Care"}), "pump.epub")
    found = [
        (block.kind.value, document.page_at(block.start), document.text[block.start : block.end], block.headings)
        for block in document.blocks
    ]
    assert found == [
        ("paragraph", "front matter", "The Pump", ()),
        ("heading", "chapter 1", "Care", ("Care",)),
        ("paragraph", "chapter 1", "Oil it. Then wait.", ("Care",)),
        ("heading", "chapter 2", "Repair now", ("Repair now",)),
        ("paragraph", "chapter 2", "No heading.", ("Repair now",)),
        ("heading", "front matter", "For Ann", ("Repair now", "For Ann")),
    ]
    assert document.warnings == ()


def test_missing_parts_are_told_and_a_book_without_any_is_refused() -> None:
    document = read_source(epub({"a.xhtml": CARE, "gone.xhtml": ""}), "pump.epub")
    assert document.warnings == ("damaged: 1 of its parts are missing",)
    with pytest.raises(InputError, match=r"^pump\.epub: damaged: its chapters are missing"):
        read_source(epub({"gone.xhtml": ""}), "pump.epub")
    with pytest.raises(InputError, match=r"part 'META-INF/container\.xml' is missing"):
        read_source(packed({"mimetype": "application/epub+zip"}), "pump.epub")


def test_a_locked_book_is_refused_but_scrambled_fonts_are_not() -> None:
    with pytest.raises(InputError, match=r"^pump\.epub: encrypted: its seller has locked it"):
        read_source(epub({"a.xhtml": CARE}, locked="OPS/a.xhtml"), "pump.epub")
    assert read_source(epub({"a.xhtml": CARE}, locked="OPS/f.otf"), "pump.epub").text.startswith("Care")


def test_references_do_not_leave_the_book() -> None:
    data = epub({"../../../../etc/passwd": ""})
    with pytest.raises(InputError, match="chapters are missing"):
        read_source(data, "pump.epub")
