"""How a reading process and its parent talk: frames of byte sections, and documents as sections.

Pure. Plain values only (JSON, UTF-8, 64-bit integers), so that a reader that was taken over by a hostile file can
send nothing but a document; what arrives is checked against the rules of ``Document`` before it is used.
"""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from idc_local.ports import Member
from idc_local.types import Block, BlockKind, Document, Skip, Span

READ, EXPAND = "read", "expand"
"""What is asked for: the document in a file, or the members of an archive."""

_MAGIC = b"IDC1"
_HEAD = struct.Struct("<4sI")
_MAX_SECTIONS = 1 << 16
_KINDS = tuple(BlockKind)
_BLOCK = 7
"""Integers of a block: kind, start, end, level, number of its heading path, and its header (-1: none)."""


def pack(sections: Sequence[bytes]) -> list[bytes]:
    """A frame, in parts to be written one after another."""
    sizes = struct.pack(f"<{len(sections)}Q", *map(len, sections))
    return [_HEAD.pack(_MAGIC, len(sections)) + sizes, *sections]


def frame_size(start: bytes | bytearray) -> int:
    """Bytes of the frame that begins with ``start``; 0 while that cannot be told.

    Raises:
        ValueError: what begins here is no frame.
    """
    if len(start) < _HEAD.size:
        return 0
    magic, count = _HEAD.unpack_from(start)
    if magic != _MAGIC or count > _MAX_SECTIONS:
        raise ValueError("no frame")
    body = _HEAD.size + 8 * count
    return body + sum(struct.unpack_from(f"<{count}Q", start, _HEAD.size)) if len(start) >= body else 0


def unpack(frame: bytes | bytearray) -> list[bytes]:
    """The sections of a whole frame."""
    count = _HEAD.unpack_from(frame)[1]
    sizes = struct.unpack_from(f"<{count}Q", frame, _HEAD.size)
    place = _HEAD.size + 8 * count
    view = memoryview(frame)
    sections = []
    for size in sizes:
        sections.append(bytes(view[place : place + size]))
        place += size
    return sections


def encode_document(document: Document) -> list[bytes]:
    """A document as sections: facts, text, lines, blocks."""
    paths = {path: number for number, path in enumerate(dict.fromkeys(block.headings for block in document.blocks))}
    facts = {
        "media_type": document.media_type,
        "encoding": document.encoding,
        "pages": document.pages,
        "headings": list(paths),
        "warnings": document.warnings,
    }
    lines = array("q", (number for line in document.lines for number in line))
    blocks = array("q", (number for block in document.blocks for number in _numbers(block, paths[block.headings])))
    return [encode_json(facts), encode_text(document.text), lines.tobytes(), blocks.tobytes()]


def _numbers(block: Block, headings: int) -> tuple[int, ...]:
    header = block.header or (-1, -1)
    return (_KINDS.index(block.kind), block.start, block.end, block.level, headings, *header)


def decode_document(sections: Sequence[bytes], identity: dict[str, Any]) -> Document:
    """The document that ``encode_document`` was given; ``identity`` holds its id, path, hash and size.

    Raises:
        ValueError: the sections are no sound document.
    """
    try:
        raw_facts, raw_text, raw_lines, raw_blocks = sections
        facts = decode_json(raw_facts)
        text = raw_text.decode("utf-8", "surrogatepass")
        numbers = array("q", raw_lines)
        document = Document(
            text=text,
            blocks=_blocks(array("q", raw_blocks), [tuple(map(_string, path)) for path in facts["headings"]]),
            media_type=_string(facts["media_type"]),
            encoding=_string(facts["encoding"]),
            lines=tuple(zip(numbers[::2], numbers[1::2], strict=True)),
            pages=tuple((int(offset), _string(label)) for offset, label in facts["pages"]),
            warnings=tuple(map(_string, facts["warnings"])),
            **identity,
        )
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"no document: {error}") from error
    check_document(document)
    return document


def _blocks(numbers: array[int], paths: Sequence[tuple[str, ...]]) -> tuple[Block, ...]:
    if len(numbers) % _BLOCK:
        raise ValueError("blocks are cut short")
    blocks = []
    for place in range(0, len(numbers), _BLOCK):
        kind, start, end, level, headings, first, last = numbers[place : place + _BLOCK]
        header = Span(first, last) if first >= 0 else None
        blocks.append(Block(_KINDS[kind], start, end, paths[headings], level, header))
    return tuple(blocks)


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("a text is missing")
    return value


def check_document(document: Document) -> None:
    """Raises ValueError for a document that breaks a promise of its class."""
    size = len(document.text)
    done = 0
    for block in document.blocks:
        if not done <= block.start <= block.end <= size or not 0 <= block.level <= 1 << 20:
            raise ValueError("blocks overlap or lie outside the text")
        if block.header is not None and not block.start <= block.header.start <= block.header.end <= block.end:
            raise ValueError("a table's header lies outside of it")
        done = block.end
    offsets = [offset for offset, _ in document.lines]
    labels = [offset for offset, _ in document.pages]
    for places in (offsets, labels):
        if any(first > second for first, second in pairwise(places)):
            raise ValueError("lines or pages are out of order")
        if places and not 0 <= places[0] <= places[-1] <= size:
            raise ValueError("lines or pages lie outside the text")


def encode_members(members: Sequence[Member | Skip]) -> list[bytes]:
    """What an archive holds, as sections: facts, then the bytes of each member."""
    facts = [[entry.path] if isinstance(entry, Member) else [entry.path, entry.reason, entry.hint] for entry in members]
    return [encode_json(facts), *(entry.data for entry in members if isinstance(entry, Member))]


def decode_members(sections: Sequence[bytes], archive: str) -> list[Member | Skip]:
    """What ``encode_members`` was given for ``archive``.

    Raises:
        ValueError: the sections are no such thing.
    """
    rest = iter(sections[1:])
    members: list[Member | Skip] = []
    try:
        for path, *why in decode_json(sections[0]):
            if not _string(path).startswith(archive):
                raise ValueError("a member is not of its archive")
            members.append(Skip(path, *map(_string, why)) if why else Member(path, next(rest)))
    except (TypeError, IndexError, StopIteration) as error:
        raise ValueError(f"no members: {error}") from error
    return members


def encode_text(text: str) -> bytes:
    """Any string as bytes, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


def encode_json(value: object) -> bytes:
    """A JSON value as bytes."""
    return encode_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def decode_json(data: bytes) -> Any:  # noqa: ANN401  # a JSON value
    """The value that ``encode_json`` was given, tuples as lists.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return json.loads(data.decode("utf-8", "surrogatepass"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
