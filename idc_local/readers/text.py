r"""Reads plain text: the text is the decoded source unchanged, its structure is told from blank lines and line shapes.

Paragraphs end at blank lines. Whether a single newline is a hard wrap or ends a paragraph is decided from the lengths
of the lines; form feeds begin pages. Headings are claimed only where the shape leaves little doubt.
"""

from __future__ import annotations

from collections.abc import Iterator

from idc_local.readers.blocks import RawBlock, Source, build_document, line_starts
from idc_local.readers.decode import decode
from idc_local.readers.shapes import Line, groups_of, heading_of, split_group, wrap_width
from idc_local.types import BlockKind, Document


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
    groups = list(groups_of(text, line_starts(text)))
    width = wrap_width(groups)
    for index, group in enumerate(groups):
        heading = heading_of(text, groups, index)
        if heading is not None:
            level, title = heading
            yield RawBlock(BlockKind.HEADING, group[0].start, group[-1].end, level, title)
            continue
        for part in split_group(text, group, width):
            yield _block(part)


def _block(part: list[Line]) -> RawBlock:
    kind = BlockKind.LIST_ITEM if part[0].item else BlockKind.PARAGRAPH
    return RawBlock(kind, part[0].start, part[-1].end, 1 if part[0].item else 0)
