"""Reads Markdown (CommonMark and tables): the text is the source, and blocks come from the parser's line maps.

Only the bytes of pictures within the text are left out.
Owner of markdown_it. Nothing is rendered and no link is followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from idc_local.readers.blocks import RawBlock, Source, build_document, line_starts, trimmed
from idc_local.readers.decode import decode
from idc_local.readers.text import text_blocks
from idc_local.types import BlockKind, Document

_FRONT_MATTER = {
    "---": re.compile(
        r"---[ \t]*\n((?:(?:[ \t#-].*|[^\s:#\]}-][^:\n]*:(?:[ \t].*)?|[\]}].*)?\n)+?)(?:---|\.\.\.)[ \t]*(?=\n|\Z)"
    ),
    "+++": re.compile(r"\+\+\+[ \t]*\n((?:(?:[ \t#\[].*|[^\s=#\[\]}][^=\n]*=.*|[\]}].*)?\n)+?)\+\+\+[ \t]*(?=\n|\Z)"),
}
_MARKUP = re.compile(r"[\\`*_\[\]<>&!]")
_ATTRIBUTES = re.compile(r"[ \t]*\{(?:[#.:][^{}]{0,200}|-)\}[ \t]*\Z")
"""``{#anchor .class}`` behind a heading, as many programs write it: no word of the title."""
_DATA = re.compile(r"(data:[\w.+-]+/[\w.+-]+;base64,)[A-Za-z0-9+/=_-]{200,}")
"""A picture or font within the text: its address is kept, its bytes are no text and are left out."""
_LONG_TITLE = 1000
_LONGEST_FRONT = 1 << 16

MAX_LINES = 200_000
"""More lines are read as plain text: the parser takes up to a minute for a million, and no such file was written."""

_LEAVES = {
    "paragraph_open": BlockKind.PARAGRAPH,
    "heading_open": BlockKind.PARAGRAPH,
    "html_block": BlockKind.PARAGRAPH,
    "fence": BlockKind.CODE,
    "code_block": BlockKind.CODE,
    "table_open": BlockKind.TABLE,
}


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A block in lines: half open, counted from 0."""

    kind: BlockKind
    first: int
    last: int
    level: int = 0
    title: str = ""


@cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark")


@cache
def _block_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    # Link definitions would vanish from the blocks, and nobody needs the inline parse of whole paragraphs.
    parser.disable("reference")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


class MarkdownReader:
    """Headings, paragraphs, list items, code and tables with exact places in the text."""

    media_types = ("text/markdown",)
    suffixes = (".md", ".markdown", ".mdown", ".mkd")

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for binary data."""
        decoded = decode(data, path)
        source = Source(data, path, media_type, decoded.encoding)
        text = _DATA.sub(r"\1…", decoded.text)
        dense = text.count("\n") + text.count("\r") > MAX_LINES
        return build_document(source, text, text_blocks(text) if dense else markdown_blocks(text))


READER = MarkdownReader()


def markdown_blocks(text: str) -> Iterator[RawBlock]:
    """The blocks of a Markdown text in order."""
    body = _front_matter_end(text)
    if body:
        span = trimmed(text, 0, body)
        yield RawBlock(BlockKind.PARAGRAPH, span.start, span.end)
    starts = [body + start for start in line_starts(text[body:])] if body < len(text) else []
    starts.append(len(text))
    done = 0
    for leaf in _leaves(_block_parser().parse(text[body:])):
        yield from _rest(text, starts, done, leaf.first)
        first = max(done, leaf.first)
        span = trimmed(text, starts[first], starts[leaf.last])
        if span.start < span.end:
            header = None
            if leaf.kind is BlockKind.TABLE:
                header = trimmed(text, span.start, starts[min(first + 2, leaf.last)])
            yield RawBlock(leaf.kind, span.start, span.end, leaf.level, leaf.title, header)
        done = max(done, leaf.last)
    yield from _rest(text, starts, done, len(starts) - 1)


def _front_matter_end(text: str) -> int:
    """Offset behind YAML or TOML metadata at the top of the text; 0 where there is none.

    Every line must look like metadata: a text between two rules is no front matter.
    """
    pattern = _FRONT_MATTER.get(text[:3])
    # One character for each line end, in place, so that offsets stay those of the text.
    head = text[:_LONGEST_FRONT].replace("\r\n", " \n").replace("\r", "\n")
    found = pattern.match(head) if pattern else None
    return found.end() if found and found[1].strip() else 0


def _rest(text: str, starts: list[int], first: int, last: int) -> Iterator[RawBlock]:
    """What the parser made no block of (rules, empty items, too deep nesting), so that no text is lost."""
    if first < last:
        span = trimmed(text, starts[first], starts[last])
        if span.start < span.end:
            yield RawBlock(BlockKind.PARAGRAPH, span.start, span.end)


def _leaves(tokens: list[Token]) -> Iterator[_Leaf]:
    """The blocks that hold text, in order; a table holds what is inside it, and a quoted heading heads nothing."""
    depth = 0
    in_table = False
    for index, token in enumerate(tokens):
        if token.type in ("bullet_list_open", "ordered_list_open", "bullet_list_close", "ordered_list_close"):
            depth += token.nesting
        elif token.type in ("table_open", "table_close"):
            in_table = token.nesting > 0
        if token.map is None or (in_table and token.type != "table_open"):
            continue
        first, last = token.map
        if token.type == "heading_open" and token.level == 0:
            title = _title(tokens[index + 1].content)
            yield _Leaf(BlockKind.HEADING, first, last, int(token.tag[1]), title)
        elif token.type in _LEAVES:
            kind = _LEAVES[token.type]
            in_list = kind is BlockKind.PARAGRAPH and depth > 0
            yield _Leaf(BlockKind.LIST_ITEM if in_list else kind, first, last, depth if in_list else 0)


def _title(content: str) -> str:
    """A heading's text without markup."""
    content = _ATTRIBUTES.sub("", content) if content.endswith("}") else content
    if len(content) > _LONG_TITLE or not _MARKUP.search(content):
        return " ".join(content.split())
    tokens = _inline_parser().parseInline(content)
    parts = [
        child.content if child.type in ("text", "code_inline", "image") else " "
        for token in tokens
        for child in token.children or ()
        if child.type in ("text", "code_inline", "image", "softbreak", "hardbreak")
    ]
    return " ".join("".join(parts).split())
