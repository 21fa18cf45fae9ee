"""What every reader shares: line maps, heading paths, and the making of a Document from blocks.

Knows no format. Offsets count code points of the extracted text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from idc_local.fingerprint import document_id, sha256_hex
from idc_local.line_ends import LINE_END
from idc_local.types import Block, BlockKind, Document, Span

_NEAR = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Source:
    """What was read: the bytes, how they are named, and the codec that decoded them."""

    data: bytes
    path: str
    media_type: str
    encoding: str


@dataclass(frozen=True, slots=True)
class RawBlock:
    """A block before its heading path is known; ``title`` is a heading's text without markup."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    title: str = ""
    header: Span | None = None


def line_starts(text: str) -> list[int]:
    r"""Offsets at which lines begin; ``\n``, ``\r\n`` and a lone ``\r`` end a line."""
    starts = [0]
    starts.extend(match.end() for match in LINE_END.finditer(text))
    if len(starts) > 1 and starts[-1] == len(text):
        starts.pop()
    return starts


def trimmed(text: str, start: int, end: int) -> Span:
    """The span without the white space at its two ends; an empty span at ``start`` where all is white space."""
    found = _NEAR.search(text, start, end)
    if found is None:
        return Span(start, start)
    return Span(found.start(), start + len(text[start:end].rstrip()))


def with_headings(raw: Iterable[RawBlock]) -> tuple[Block, ...]:
    """Blocks in order, each with the path of headings that it stands under."""
    path: list[tuple[int, str]] = []
    names: tuple[str, ...] = ()
    blocks: list[Block] = []
    for item in raw:
        if item.kind is BlockKind.HEADING:
            while path and path[-1][0] >= item.level:
                path.pop()
            path.append((item.level, item.title))
            names = tuple(title for _, title in path if title)
        blocks.append(Block(item.kind, item.start, item.end, names, item.level, item.header))
    return tuple(blocks)


def build_document(
    source: Source,
    text: str,
    raw: Iterable[RawBlock],
    pages: Sequence[tuple[int, str]] = (),
    warnings: Sequence[str] = (),
    lines: Sequence[tuple[int, int]] | None = None,
) -> Document:
    """The document of ``source``, whose lines are those of ``text``, unless ``lines`` say where each came from."""
    if not lines:
        lines = [(start, number) for number, start in enumerate(line_starts(text), 1)]
    return Document(
        id=document_id(source.media_type, source.data),
        path=source.path,
        text=text,
        blocks=with_headings(raw),
        media_type=source.media_type,
        encoding=source.encoding,
        source_sha256=sha256_hex(source.data),
        source_bytes=len(source.data),
        lines=tuple(lines),
        pages=tuple(pages),
        warnings=tuple(warnings),
    )
