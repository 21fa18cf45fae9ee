from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local.ports import Member
from idc_local.readers.wire import (
    decode_document,
    decode_members,
    encode_document,
    encode_json,
    encode_members,
    frame_size,
    pack,
    unpack,
)
from idc_local.types import Block, BlockKind, Document, Skip, Span

IDENTITY = {"id": "i" * 64, "path": "a/b.pdf", "source_sha256": "s" * 64, "source_bytes": 9}
DOCUMENT = Document(
    text="Größe\ud800 😀\x00 | b\n1 | 2",
    blocks=(
        Block(BlockKind.HEADING, 0, 5, ("Größe",), 1),
        Block(BlockKind.TABLE, 6, 19, ("Größe", "x"), 0, Span(6, 13)),
    ),
    media_type="text/x",
    encoding="utf-8",
    lines=((0, 3), (14, 9)),
    pages=((0, "sheet a"), (14, "sheet a, row 2")),
    warnings=("page 3: a scan",),
    **IDENTITY,  # type: ignore[arg-type]
)


def test_a_document_arrives_as_it_was() -> None:
    assert decode_document(encode_document(DOCUMENT), dict(IDENTITY)) == DOCUMENT
    empty = replace(DOCUMENT, text="", blocks=(), lines=(), pages=(), warnings=())
    assert decode_document(encode_document(empty), dict(IDENTITY)) == empty


@given(st.lists(st.binary(max_size=40), max_size=5), st.integers(1, 7))
def test_frames_keep_their_sections_however_they_arrive(sections: list[bytes], step: int) -> None:
    frame = b"".join(pack(sections))
    arrived = bytearray()
    for place in range(0, len(frame), step):
        assert not 0 < frame_size(arrived) <= len(arrived)
        arrived += frame[place : place + step]
    assert frame_size(arrived) == len(arrived)
    assert unpack(arrived) == sections


def test_members_arrive_as_they_were() -> None:
    members: list[Member | Skip] = [
        Member("a.zip!/x", b"\0\1"),
        Skip("a.zip!/y", "encrypted", "hint"),
        Member("a.zip!/z", b""),
    ]
    assert decode_members(encode_members(members), "a.zip") == members
    with pytest.raises(ValueError, match="not of its archive"):
        decode_members(encode_members(members), "b.zip")
    with pytest.raises(ValueError, match="no members"):
        decode_members(encode_members(members)[:-1], "a.zip")


@pytest.mark.parametrize(
    "change",
    [
        {"blocks": (Block(BlockKind.CODE, 0, 99),)},
        {"blocks": (Block(BlockKind.CODE, 4, 8), Block(BlockKind.CODE, 7, 9))},
        {"blocks": (Block(BlockKind.TABLE, 4, 8, header=Span(4, 9)),)},
        {"lines": ((5, 1), (4, 2))},
        {"lines": ((-1, 1),)},
        {"pages": ((99, "1"),)},
    ],
    ids=["outside", "overlap", "header", "order", "negative", "page"],
)
def test_what_breaks_a_promise_is_no_document(change: dict[str, object]) -> None:
    sections = encode_document(replace(DOCUMENT, **change))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"."):
        decode_document(sections, dict(IDENTITY))


@given(st.integers(0, 3), st.binary(max_size=64))
def test_garbage_is_no_document(place: int, garbage: bytes) -> None:
    sections = encode_document(DOCUMENT)
    sections[place] = garbage
    try:
        decoded = decode_document(sections, dict(IDENTITY))
    except ValueError:
        return
    assert decoded.path == DOCUMENT.path


@pytest.mark.parametrize(
    "facts", [{}, [], {"headings": 3}, {"headings": [], "media_type": 1, "encoding": "", "pages": []}]
)
def test_facts_of_the_wrong_kind_are_no_document(facts: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_document([encode_json(facts), *encode_document(DOCUMENT)[1:]], dict(IDENTITY))


def test_a_stream_of_anything_else_is_no_frame() -> None:
    with pytest.raises(ValueError, match="no frame"):
        frame_size(b"GET / HTTP/1.1")
