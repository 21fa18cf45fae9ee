r"""Reads plain text: the text is the decoded source unchanged, its structure is told from blank lines and line shapes.

Paragraphs end at blank lines. Whether a single newline is a hard wrap or ends a paragraph is decided from the lengths
of the lines; form feeds begin pages. Headings are claimed only where the shape leaves little doubt.
"""

from __future__ import annotations

from collections.abc import Iterator

from idc_local.readers.blocks import RawBlock, Source, build_document
from idc_local.readers.decode import decode
from idc_local.readers.shapes import MAX_ITEM, groups_of, heading_of
from idc_local.types import BlockKind, Document

_AIRY = 0.1


class TextReader:
    """Paragraphs, list items and sure headings of plain text, with exact places in the unchanged source."""

    media_types = ("text/plain",)
    suffixes = (".txt", ".text")

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for binary data."""
        decoded = decode(data, path)
        source = Source(data, path, media_type, decoded.encoding)
        return build_document(source, decoded.text, text_blocks(decoded.text), pages_of(decoded.text))


READER = TextReader()


def pages_of(text: str) -> list[tuple[int, str]]:
    """Pages that form feeds part, numbered from 1; none where there is no form feed before the last text."""
    pages = [(0, "1")]
    at = text.find("\f")
    while at >= 0 and text[at + 1 :].strip():
        pages.append((at + 1, str(len(pages) + 1)))
        at = text.find("\f", at + 1)
    return pages if len(pages) > 1 else []


def text_blocks(text: str) -> Iterator[RawBlock]:
    """The blocks of a plain text in order."""
    groups = groups_of(text)
    airy = sum(1 for group in groups if not group.tight) >= _AIRY * len(groups)
    for index, group in enumerate(groups):
        heading = heading_of(text, groups, index, airy)
        if heading is not None:
            yield RawBlock(BlockKind.HEADING, group.start, group.end, *heading)
        elif group.item and group.end - group.start <= MAX_ITEM:
            yield RawBlock(BlockKind.LIST_ITEM, group.start, group.end, 1)
        else:
            yield RawBlock(BlockKind.PARAGRAPH, group.start, group.end)
