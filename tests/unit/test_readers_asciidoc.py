from __future__ import annotations

import time

import pytest

from idc_local.errors import InputError
from idc_local.readers import read_source
from idc_local.sentences import split_sentences
from idc_local.types import Document, Limits
from tests.fakes import WordCounter

TEXT = """= Pump manual
Jo Doe <jo@example.org>
:toc:

First words.

[[care]]
== Care, see <<oil,the oil>> and https://example.org[more]

* one
goes on
** inner
. first
<1> a note

.Reset
[source,sh]
----
# not a heading
== nor this

* nor an item
----

=== Parts ===

[%header,cols="1,2"]
|===
|Part |Code
|valve |P-1

|pump |P-2
|===

====
An example.
====

....
kept   as is
"""


def read(text: str, name: str = "a.adoc") -> Document:
    document = read_source(text.encode(), name)
    assert document.text == text
    return document


def shape(document: Document) -> list[tuple[str, int, str]]:
    return [(block.kind.value, block.level, document.text[block.start : block.end]) for block in document.blocks]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_titles_lists_blocks_and_tables(end: str) -> None:
    document = read(TEXT.replace("\n", end))
    assert [(kind, level, text.replace("\r", "")) for kind, level, text in shape(document)] == [
        ("heading", 1, "= Pump manual"),
        ("paragraph", 0, "Jo Doe <jo@example.org>\n:toc:"),
        ("paragraph", 0, "First words."),
        ("paragraph", 0, "[[care]]"),
        ("heading", 2, "== Care, see <<oil,the oil>> and https://example.org[more]"),
        ("list_item", 1, "* one\ngoes on"),
        ("list_item", 2, "** inner"),
        ("list_item", 1, ". first"),
        ("list_item", 1, "<1> a note"),
        ("code", 0, ".Reset\n[source,sh]\n----\n# not a heading\n== nor this\n\n* nor an item\n----"),
        ("heading", 3, "=== Parts ==="),
        ("paragraph", 0, '[%header,cols="1,2"]'),
        ("table", 0, "|===\n|Part |Code\n|valve |P-1\n\n|pump |P-2\n|==="),
        ("paragraph", 0, "===="),
        ("paragraph", 0, "An example."),
        ("paragraph", 0, "===="),
        ("paragraph", 0, "....\nkept   as is"),
    ]
    assert document.blocks[-1].headings == ("Pump manual", "Care, see the oil and more", "Parts")
    assert document.line_at(document.blocks[-1].start) == TEXT[: TEXT.index("....")].count("\n") + 1
    table = next(block for block in document.blocks if block.kind.value == "table")
    assert table.header is not None
    assert document.text[table.header.start : table.header.end].split() == ["|===", "|Part", "|Code"]


def test_a_first_row_over_a_blank_line_is_a_header_and_blank_lines_are_no_rows() -> None:
    text = "|===\n|a |b\n\n|1 |2\n\n|3 |4\n|===\n"
    document = read(text)
    (table,) = document.blocks
    assert table.header is not None
    assert text[table.header.start : table.header.end] == "|===\n|a |b"
    sentences = split_sentences(document, WordCounter(), Limits(), "en")
    assert [text[start:end] for start, end in zip(sentences.starts, sentences.ends, strict=True)] == [
        "|===\n|a |b\n\n",
        "|1 |2\n\n",
        "|3 |4\n",
        "|===\n",
    ]


@pytest.mark.parametrize("mark", ["----", "....", "|===", "```"])
def test_what_nothing_ends_is_no_block_and_costs_linear_time(mark: str) -> None:
    assert shape(read(f"{mark}\n== A\n\nx\n"))[1] == ("heading", 2, "== A")
    lines = [f"{mark}{mark[-1] * (number % 5000)}\nx\n\n" for number in range(5_000)]
    start = time.process_time()
    read("".join(lines))
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "text", ["", "=", "= ", "|===", "----\n----", "[", ".", "* ", "\n\n", "[a]\n[b]\n.c", "```a\n```"]
)
def test_broken_text_is_no_error(text: str) -> None:
    covered = "".join(text_ for _, _, text_ in shape(read(text, "a.asciidoc")))
    assert "".join(covered.split()) == "".join(text.split())


def test_binary_is_refused() -> None:
    with pytest.raises(InputError, match=r"^a\.adoc: binary"):
        read_source(b"\x00\xff\x00\x01" * 200, "a.adoc")
