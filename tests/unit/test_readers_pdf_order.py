"""Nothing that stands on a page may be lost or doubled, wherever it stands."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from idc_local.readers.draft import Draft
from idc_local.readers.pdf_blocks import Blocks
from idc_local.readers.pdf_heads import Heads
from idc_local.readers.pdf_order import Region, in_order
from idc_local.readers.pdf_page import Page, Piece
from idc_local.readers.pdf_running import without_running
from idc_local.readers.pdf_text import Words

TEXTS = (
    "pump", "the long line of text that fills it.", "1.", "•", "12.50", "- item", "Heading", "水泵", "שלום", "3 x",
    "x" * 90,
)  # fmt: skip


def piece(text: str, left: float, base: float, looks: tuple[float, bool, bool, bool], order: int) -> Piece:
    size, bold, mono, hyphen = looks
    return Piece(text, left, left + 0.5 * size * len(text), -base, size, bold, mono, 10.0, hyphen, order)


LOOKS = st.tuples(st.sampled_from([1.0, 7.0, 10.0, 10.5, 16.0]), st.booleans(), st.booleans(), st.booleans())
COLUMNS = st.sampled_from([0.0, 60.0, 72.0, 200.0, 320.0, 480.0])
GRID = st.tuples(st.sampled_from(TEXTS), COLUMNS, st.sampled_from([n * 12.0 for n in range(30)]), LOOKS)
ANYWHERE = st.tuples(st.sampled_from(TEXTS), st.floats(-1e4, 1e4), st.floats(-1e4, 1e4), LOOKS)
PIECES = st.lists(GRID | ANYWHERE, max_size=40).map(
    lambda found: [piece(*values, order) for order, values in enumerate(found)]
)


def words(texts: list[str]) -> Counter[str]:
    return Counter(word for text in texts for word in text.split())


def texts_of(regions: list[Region]) -> list[str]:
    found = [line.text for region in regions for line in region.lines]
    return found + [cell for region in regions if region.table for row in region.table.rows for cell in row]


@settings(max_examples=150, deadline=None)
@given(PIECES)
def test_every_piece_comes_once(pieces: list[Piece]) -> None:
    assert words(texts_of(in_order(pieces, 10.0))) == words([piece.text for piece in pieces])


def sheet(*found: tuple[str, float, float, float]) -> list[Piece]:
    """Pieces of a page: text, left, base and size of each."""
    return [
        piece(text, left, base, (size, False, False, False), order)
        for order, (text, left, base, size) in enumerate(found)
    ]


TABLE_GOES_ON_PAST_A_NOTE = [
    sheet(
        *[("pump", 0.0, 0.0, 1.0)] * 3, ("pump", 0.0, 0.0, 7.0), ("pump", 0.0, 24.0, 1.0), ("pump", 0.0, 48.0, 1.0),
        ("pump", 60.0, 0.0, 1.0), ("pump", 72.0, 24.0, 1.0), ("1.", 0.0, 36.0, 1.0),
    ),
    sheet(
        *[("pump", 0.0, 0.0, 1.0)] * 3, ("pump", 0.0, 24.0, 1.0),
        ("the long line of text that fills it.", 60.0, 24.0, 1.0), ("1.", 0.0, 0.0, 7.0),
        ("pump", 0.0, 0.0, 1.0), ("pump", 10.0, 0.0, 1.0), ("x" * 90, 0.0, -3.0, 7.0),
    ),
]  # fmt: skip
PARAGRAPH_GOES_ON_OVER_A_PAGE_WITH_A_NOTE = [
    sheet(("pump", 0.0, 0.0, 10.0)),
    sheet(
        ("the long line of text that fills it.", 0.0, 12.0, 10.0), ("pump", 180.0, 12.0, 10.0), ("1. x", 0.0, 0.0, 7.0)
    ),
    sheet(("pump", 0.0, 0.0, 10.0)),
]
TABLE_REPEATS_ITS_HEADER = [
    sheet(
        *[("pump", 0.0, 0.0, 1.0)] * 3, ("pump", 0.0, 0.0, 7.0), *[("pump", 0.0, 12.0 * n, 1.0) for n in range(1, 5)],
        ("pump", 60.0, 12.0, 1.0),
    ),
    sheet(("pump", 0.0, 0.0, 1.0), ("pump", 0.0, 0.0, 7.0), ("pump", 0.0, 12.0, 1.0), ("pump", 60.0, 12.0, 1.0)),
]  # fmt: skip


def test_a_note_stands_where_its_page_ends_in_a_paragraph_of_three_pages() -> None:
    sheets = PARAGRAPH_GOES_ON_OVER_A_PAGE_WITH_A_NOTE
    pages = [Page(n, 600, 800, tuple(found), (), (), 0.0, True) for n, found in enumerate(sheets, 1)]
    heads = Heads(pages, [])
    blocks = Blocks(heads, Words([]))
    for page in pages:
        blocks.page(str(page.number), page.number, in_order(page.pieces, heads.body))
    draft = Draft()
    blocks.write(draft)
    text, _, labels = draft.finish()
    assert text == "pump the long line of text that fills it. pump\n\n1. x\n\npump"
    assert labels == ((0, "1"), (text.index("the"), "2"), (text.rindex("pump"), "3"))


@settings(max_examples=100, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=3))
@example(TABLE_GOES_ON_PAST_A_NOTE)
@example(TABLE_REPEATS_ITS_HEADER)
@example(PARAGRAPH_GOES_ON_OVER_A_PAGE_WITH_A_NOTE)
def test_blocks_lose_no_letter_and_pages_ascend(sheets: list[list[Piece]]) -> None:
    pages = [Page(n, 600, 800, tuple(found), (), (), 0.0, True) for n, found in enumerate(sheets, 1)]
    heads = Heads(pages, [])
    blocks = Blocks(heads, Words([]))
    regions = [in_order(found, heads.body) for found in without_running(pages, heads)]
    for page, own in zip(pages, regions, strict=True):
        blocks.page(str(page.number), page.number, own)
    draft = Draft()
    blocks.write(draft)
    text, raw, labels = draft.finish()
    kept = [found for page in without_running(pages, heads) for found in page]
    letters = Counter(char for found in kept for char in found.text if char.isalnum())
    # A table that goes on overleaf may repeat its header there.
    tables = [[region.table.rows[0] for region in own if region.table] for own in regions]
    repeated = [row for before, after in pairwise(tables) for row in after[:1] if row in before]
    lost = letters - Counter(char for char in text if char.isalnum())
    assert lost <= Counter(char for row in repeated for cell in row for char in cell if char.isalnum())
    assert Counter(char for char in text if char.isalnum()) <= letters
    offsets = [offset for offset, _ in labels]
    assert offsets == sorted(set(offsets))
    assert [int(label) for _, label in labels] == sorted(int(label) for _, label in labels)
    assert all(first.end <= second.start for first, second in pairwise(raw))


def in_rows(cells: list[list[str]]) -> list[Piece]:
    """Pieces in rows and columns, written row by row."""
    return [
        Piece(text, 300.0 * at, 300.0 * at + 5 * len(text), 12.0 * row, 10.0, False, False, 10.0, False, 100 * row + at)
        for row, line in enumerate(cells)
        for at, text in enumerate(line)
    ]


def test_cells_of_several_words_are_a_table_when_they_are_written_row_by_row() -> None:
    cells = [[f"Rotor number {row}", f"Shelf {row} on the left"] for row in range(40)]
    (region,) = in_order(in_rows(cells), 10.0)
    assert region.table is not None
    assert [list(row) for row in region.table.rows] == cells


def test_columns_of_running_text_are_told_even_when_their_lines_are_written_in_turn() -> None:
    left = [
        "The pump moves water from the lower one",
        "to the upper tank and back again when it",
        "is full, which takes some hours and then",
        "ends with a loud noise that wakes all who",
        "sleep in the house beside the old mill.",
    ]
    right = [line.replace("pump", "cart") for line in left]
    first, second = in_order(in_rows([list(pair) for pair in zip(left, right, strict=True)]), 10.0)
    assert [line.text for line in first.lines] == left
    assert [line.text for line in second.lines] == right
