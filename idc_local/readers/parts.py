"""Puts a document that another reader made into a draft: a cell of a notebook, an attachment of a mail."""

from __future__ import annotations

from idc_local.readers.blocks import RawBlock
from idc_local.readers.draft import Draft
from idc_local.types import BlockKind, Document

_LOWEST = 6


def extend_with(draft: Draft, document: Document, below: int) -> None:
    """Adds all of ``document``, its headings ``below`` levels further down."""
    blocks = []
    for block in document.blocks:
        is_heading = block.kind is BlockKind.HEADING
        level = min(_LOWEST, max(1, block.level) + below) if is_heading else block.level
        title = block.headings[-1] if is_heading and block.headings else ""
        blocks.append(RawBlock(block.kind, block.start, block.end, level, title, block.header))
    draft.extend(document.text, blocks)
