from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local.errors import InputError
from idc_local.readers import read_source
from idc_local.types import BlockKind, Document, Span


def read(text: str, name: str = "a.csv") -> Document:
    return read_source(text.encode(), name)


def test_rows_are_lines_with_header_number_and_source_line() -> None:
    document = read('name,note,age\r\nAnn,"likes tea,\r\n  and milk",41\r\n\r\nBob,,7\r\n')
    assert document.text == "name | note | age\nAnn | likes tea, and milk | 41\nBob |  | 7"
    assert [(block.kind, block.start, block.end, block.header) for block in document.blocks] == [
        (BlockKind.TABLE, 0, len(document.text), Span(0, 17))
    ]
    bob = document.text.index("Bob")
    assert document.pages == ((0, "row 1"), (18, "row 2"), (bob, "row 4"))
    assert document.lines == ((0, 1), (18, 2), (bob, 5))
    assert document.media_type == "text/csv"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a;b;c\n1,5;2;x, y\n2,5;3;z\n", "a.csv"),
        ("a\tb\tc\n1,5\t2\tx, y\n2,5\t3\tz\n", "a.tsv"),
        ("a|b|c\n1,5|2|x, y\n2,5|3|z\n", "a.csv"),
        ("sep=;\na;b;c\n1,5;2;x, y\n2,5;3;z\n", "a.csv"),
        ('"a";"b";"c"\n"1,5";"2";"x, y"\n"2,5";"3";"z"\n', "a.csv"),
        ('a,b,c\n"1,5",2,"x, y"\n"2,5",3,z\n', "a.tsv"),
    ],
)
def test_the_delimiter_is_found(text: str, name: str) -> None:
    document = read(text, name)
    assert document.text == "a | b | c\n1,5 | 2 | x, y\n2,5 | 3 | z"
    assert document.blocks[0].header == Span(0, 9)


def test_a_first_row_with_numbers_is_no_header() -> None:
    assert read("1,2\n3,4\n").blocks[0].header is None
    assert read("a,a\n3,4\n").blocks[0].header is None
    assert read("a,b\n").blocks[0].header is None


@pytest.mark.parametrize("above", ["Report of May,,\n\n", "# made by hand\n# for June\n", "Sales\n"])
def test_a_title_or_remarks_may_stand_above_the_names_of_columns(above: str) -> None:
    document = read(f"{above}name,qty,price\nnut,1,2\nbolt,3,4\n")
    (block,) = document.blocks
    assert block.header is not None
    assert (block.header.start, document.text[: block.header.end].split("\n")[-1]) == (0, "name | qty | price")
    assert document.text[block.header.end :] == "\nnut | 1 | 2\nbolt | 3 | 4"


def test_a_column_of_numbers_may_have_no_name() -> None:
    assert read(",value\n0,5\n1,6\n").blocks[0].header == Span(0, 8)


def test_a_quotation_mark_that_is_never_closed_costs_no_row() -> None:
    lines = [f"{number},row {number}" for number in range(5000)]
    lines[10] = '10,"row 10'
    document = read("\n".join(["number,words", *lines]))
    assert document.text.count("\n") == 5000
    assert document.text.split("\n")[4000] == "3999 | row 3999"
    assert document.page_at(document.text.index("3999 | row 3999")) == "row 4001"
    assert document.line_at(document.text.index("3999 | row 3999")) == 4001


def test_a_cell_may_be_very_long() -> None:
    document = read("a,b\n1," + "x" * 300_000 + "\n")
    assert len(document.text) == 300_000 + len("a | b\n1 | ")


@pytest.mark.parametrize("text", ["", "\n\n", ",,,\n", '"', '""', '"\n'])
def test_little_is_no_error(text: str) -> None:
    document = read(text)
    assert [(block.start, block.end) for block in document.blocks] == (
        [(0, len(document.text))] if document.text else []
    )


def test_binary_is_refused() -> None:
    with pytest.raises(InputError, match=r"^a\.csv: binary"):
        read_source(b"\x00\xff\x00\x01" * 200, "a.csv")


def test_a_bar_at_the_end_of_a_cell_stays() -> None:
    assert read("name,mark,\npipe,x |,\nbar,|,\n,,0|\n").text == "name | mark\npipe | x |\nbar | |\n |  | 0|"


CELLS = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=12)


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=2, max_size=6))
def test_what_the_standard_writer_writes_is_read(rows: list[list[str]]) -> None:
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows([["one", "two", "three"], ["w", "x", "y"], *rows])
    document = read(buffer.getvalue())
    words = {word for row in rows for cell in row for word in cell.replace("\xad", "").replace("\ufeff", "").split()}
    assert words <= {"|", *document.text.replace(" | ", " ").split()}
    for block in document.blocks:
        assert 0 <= block.start <= block.end <= len(document.text)
