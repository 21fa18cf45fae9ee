"""Chunks from segmentations: spans, headings, table headers, places, owners of intents, mean vectors."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local import chunks
from idc_local.chunks import (
    build_chunks,
    chunk_terms,
    heading_paths,
    intent_chunks,
    mean_vectors,
    page_range,
    sentence_terms,
    unit_rows,
)
from idc_local.types import Block, BlockKind, Document, Intent, Segmentation, Sentences, Span

TEXT = "# Pump\n\nIt stops. It starts.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"


def document() -> Document:
    head, prose, table = 0, TEXT.index("It stops"), TEXT.index("| a")
    return Document(
        id="d" * 64,
        path="pump.md",
        text=TEXT,
        blocks=(
            Block(BlockKind.HEADING, head, 6, ("Pump",), 1),
            Block(BlockKind.PARAGRAPH, prose, prose + 20, ("Pump",)),
            Block(BlockKind.TABLE, table, len(TEXT) - 1, ("Pump",), 0, Span(table, TEXT.index("| 1") - 1)),
        ),
        media_type="text/markdown",
        encoding="utf-8",
        source_sha256="0" * 64,
        source_bytes=len(TEXT),
        lines=((0, 1), *((place + 1, number) for number, place in enumerate(newlines(), start=2))),
    )


def newlines() -> list[int]:
    return [place for place, char in enumerate(TEXT) if char == "\n"]


def sentences() -> Sentences:
    starts = [
        0,
        TEXT.index("It stops"),
        TEXT.index("It starts"),
        TEXT.index("| a"),
        TEXT.index("| 1"),
        TEXT.index("| 3"),
    ]
    ends = [*starts[1:], len(TEXT)]
    zeros = np.zeros(6, dtype=np.int64)
    return Sentences(
        starts=np.array(starts),
        ends=np.array(ends),
        tokens=np.array([2, 3, 3, 9, 5, 5]),
        block=np.array([0, 1, 1, 2, 2, 2]),
        boundary=zeros,
        level=zeros,
        glue=zeros.astype(np.bool_),
    )


def intent(start: int, text: str = "What stops?") -> Intent:
    return Intent(text, start, start + 5, Span(start, start + 5), 0.5, "model")


def test_chunks_show_their_place_and_what_they_stand_under() -> None:
    ranges = np.array([[0, 3], [3, 5], [5, 6]])
    asked = (intent(TEXT.index("It starts")), intent(TEXT.index("| 3")))
    chunks = build_chunks(document(), sentences(), Segmentation(ranges), asked)
    assert [chunk.text for chunk in chunks] == [
        "# Pump\n\nIt stops. It starts.\n\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "| 3 | 4 |\n",
    ]
    assert "".join(chunk.text for chunk in chunks) == TEXT
    assert all(TEXT[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert [(chunk.line_start, chunk.line_end) for chunk in chunks] == [(1, 3), (5, 7), (8, 8)]
    assert [chunk.heading for chunk in chunks] == ["Pump"] * 3
    assert [chunk.tokens for chunk in chunks] == [8, 14, 5]
    assert [chunk.context for chunk in chunks] == ["", "", "| a | b |\n|---|---|"]
    assert intent_chunks(sentences(), ranges, asked).tolist() == [0, 2]
    assert [len(chunk.intents) for chunk in chunks] == [1, 0, 1]
    assert len({chunk.id for chunk in chunks}) == 3


def test_a_chunk_is_on_the_lines_of_its_first_and_last_visible_character() -> None:
    text = "\n a\n\nb\nc\n \n"
    lines = ((0, 1), (1, 2), (4, 3), (5, 4), (7, 5), (9, 6))
    bare = replace(document(), text=text, blocks=(), lines=lines, pages=((0, "1"), (7, "2"), (8, "3")))
    zero = np.zeros(1, dtype=np.int64)
    whole = Sentences(zero, zero + len(text), zero + 3, zero, zero, zero, zero.astype(np.bool_))
    (chunk,) = build_chunks(bare, whole, Segmentation(np.array([[0, 1]])), ())
    assert (chunk.line_start, chunk.line_end, chunk.page, chunk.heading, chunk.context) == (2, 5, "1-2", "", "")


def test_bm25_sees_heading_table_header_and_text() -> None:
    chunks = build_chunks(document(), sentences(), Segmentation(np.array([[5, 6]])), ())
    words = sentence_terms(document(), sentences(), "xx")
    assert words[5] == ("3", "4")
    assert chunk_terms(chunks, np.array([[5, 6]]), words, "xx") == (("pump", "a", "b", "3", "4"),)


def test_headings_of_a_document_are_told_once() -> None:
    bare = Block(BlockKind.PARAGRAPH, 0, 1, ())
    under = Block(BlockKind.PARAGRAPH, 2, 3, ("Pump", "Seal"))
    assert heading_paths(replace(document(), blocks=(bare, *document().blocks, under))) == ["Pump", "Pump > Seal"]


def test_with_overlapping_chunks_the_first_that_holds_the_evidence_owns_it() -> None:
    ranges = np.array([[0, 3], [2, 5], [4, 6]])
    owner = intent_chunks(sentences(), ranges, (intent(TEXT.index("It starts")), intent(TEXT.index("| 1"))))
    assert owner.tolist() == [0, 1]


def test_no_intents_no_owners() -> None:
    assert intent_chunks(sentences(), np.array([[0, 6]]), ()).shape == (0,)


@pytest.mark.parametrize("together", [2, 1024])
@given(count=st.integers(1, 8), data=st.data())
def test_mean_vectors_are_unit_means(together: int, count: int, data: st.DataObject) -> None:
    vectors = np.random.default_rng(data.draw(st.integers(0, 99))).standard_normal((count, 5)).astype(np.float32)
    cuts = sorted(data.draw(st.sets(st.integers(1, count), min_size=1)) | {0, count})
    ranges = np.array(list(pairwise(cuts)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "TOGETHER", together)
        means = mean_vectors(vectors, ranges)
    for row, (first, last) in zip(means, ranges.tolist(), strict=True):
        mean = vectors[first:last].mean(axis=0)
        assert row == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_zero_vectors_become_unit_vectors() -> None:
    assert unit_rows(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist() == pytest.approx(np.array([[1, 0], [0.6, 0.8]]))
    assert unit_rows(np.array([[1e-13, 2e-13]])).tolist() == pytest.approx(np.array([[1, 0]]))
    assert unit_rows(np.zeros((0, 0))).shape == (0, 0)
    assert mean_vectors(np.zeros((0, 4), dtype=np.float32), np.zeros((0, 2), dtype=np.int64)).shape == (0, 4)


@pytest.mark.parametrize(
    ("labels", "start", "end", "expected"),
    [
        (("1", "2", "3"), 0, 5, "1"),
        (("1", "2", "3"), 5, 11, "1-2"),
        (("1", "2", "3"), 0, 30, "1-3"),
        (("slide 9", "slide 10"), 0, 20, "slide 9-10"),
        (("sheet A, row 2", "sheet A, row 30"), 0, 20, "sheet A, row 2-30"),
        (("sheet A 1", "sheet B 2"), 0, 20, "sheet A 1 - sheet B 2"),
        (("front matter", "chapter 1"), 0, 20, "front matter - chapter 1"),
        ((), 0, 20, None),
        (("1", "2"), 10, 10, "2"),
    ],
)
def test_a_chunk_names_the_pages_that_it_stands_on(
    labels: tuple[str, ...], start: int, end: int, expected: str | None
) -> None:
    pages = tuple((10 * place, label) for place, label in enumerate(labels))
    document = Document("i", "p", "x" * 30, (), "t", "", "s", 30, ((0, 1),), pages)
    assert page_range(document, start, end) == expected


def test_a_chunk_that_begins_before_the_first_page_is_on_that_where_it_ends() -> None:
    assert page_range(replace(document(), pages=((10, "1"), (20, "2"))), 0, 15) == "1"
