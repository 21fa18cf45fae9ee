"""Reads HTML: what a person would read, as blocks joined by blank lines (rows and list items by line ends).

Owner of selectolax. Scripts, styles, templates, hidden elements and navigation are left out, and nothing that a page
refers to is fetched. ``Document.lines`` counts the lines of the extracted text, not of the source. The tree is walked
without recursion, and nesting beyond any page's depth is flattened before the parser sees it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from selectolax.lexbor import LexborHTMLParser, LexborNode

from idc_local.readers.blocks import RawBlock, Source, build_document
from idc_local.readers.decode import decode
from idc_local.readers.flow import TEXT, Flow, Step, words
from idc_local.readers.layout import without_layout_tables
from idc_local.types import Document

_CHARSET = re.compile(rb"""<meta[^>]{0,300}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.I)
_XML_ENCODING = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]*)((?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*)>")
_XML = re.compile(r"\s*<\?xml\b|[^>]*<html[^>]*\bxmlns\s*=", re.I)
_SELF_CLOSED = re.compile(
    r"<(script|style|title|iframe|textarea|noscript|div|span|p|a|td|th|li|i|b|em)\b([^<>]*)/>", re.I
)
_CDATA = "<![CDATA["
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)

MAX_DEPTH = 400
"""Nesting that is kept: parsing costs the square of the depth, and no page that people read comes near."""
_UNNESTED = words(
    "area base br col embed hr img input link meta param source track wbr "
    "p li dt dd td th tr tbody thead tfoot option optgroup rp rt colgroup html head body"
)
_LEFT_OUT = words(
    "script style template noscript head nav svg iframe object canvas audio video map select datalist button "
    "textarea dialog annotation annotation-xml noframes noembed title"
)
_NOT_PRINTED = words("noprint mw-editsection mw-cite-backlink")
"""Classes by which wikis mark what belongs to the screen alone: ``[edit]`` at a heading, the way back from a note."""
_MARKS = re.compile(r"\s*[¶#^↑↩🔗\uf0c1][\s¶#^↑↩🔗\ufe0e\ufe0f\uf0c1]*")
"""Text of links to the place where they stand, and of links back from a note."""


class HtmlReader:
    """Headings, paragraphs, list items, code and data tables of a page."""

    media_types = ("text/html", "application/xhtml+xml")
    suffixes = (".html", ".htm", ".xhtml")

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for binary data."""
        decoded = decode(data, path, declared_charset(data))
        text, blocks = page_blocks(decoded.text)
        return build_document(Source(data, path, media_type, decoded.encoding), text, blocks)


READER = HtmlReader()


def page_blocks(source: str, titled: bool = True) -> tuple[str, tuple[RawBlock, ...]]:
    """Text and blocks of a page; ``titled``: its title heads it where no heading says the same."""
    tree = LexborHTMLParser(_flattened(_closed(source.replace("\0", ""))))
    text, blocks = _extract(tree, titled, navigation=False)
    return (text, blocks) if text else _extract(tree, titled, navigation=True)


def declared_charset(data: bytes) -> str:
    """The codec that the page names in its first 4,096 bytes; empty where it names none."""
    found = _XML_ENCODING.search(data[:1024]) or _CHARSET.search(data[:4096])
    return found[1].decode("ascii") if found else ""


def _closed(source: str) -> str:
    """XHTML as HTML reads it: there, ``<script/>`` would open an element that swallows the rest of the page.

    And CDATA, which is text that may hold ``<``, would be a comment.
    """
    if not _XML.search(source[:2048]):
        return source
    first, *others = _SELF_CLOSED.sub(r"<\1\2></\1>", source).split(_CDATA)
    parts = [first]
    for other in others:
        text, end, rest = other.partition("]]>")
        parts += (escape(text, quote=False), rest) if end else (_CDATA, other)
    return "".join(parts)


def _flattened(source: str) -> str:
    """The source with elements deeper than ``MAX_DEPTH`` replaced by line breaks."""
    if source.count("<") <= MAX_DEPTH:
        return source
    depth = 0
    parts: list[str] = []
    done = 0
    for tag in _TAG.finditer(source):
        name = tag[2].lower()
        if name in _UNNESTED or tag[3].endswith("/"):
            continue
        if tag[1]:
            depth = max(0, depth - 1)
        if depth >= MAX_DEPTH:
            parts += (source[done : tag.start()], "<br>")
            done = tag.end()
        if not tag[1]:
            depth += 1
    parts.append(source[done:])
    return "".join(parts)


def _extract(tree: LexborHTMLParser, titled: bool, navigation: bool) -> tuple[str, tuple[RawBlock, ...]]:
    flow = Flow()
    title = tree.css_first("head > title") if titled else None
    name = " ".join(title.text().split()) if title is not None else ""
    if name and not any(" ".join(found.text().split()) == name for found in tree.css("h1")):
        flow.heading(name, 1)
    root = tree.body or tree.root
    if root is not None:
        steps = list(_steps(root, navigation))
        for step in without_layout_tables(steps):
            flow.take(step)
    return flow.finish()


def _steps(root: LexborNode, navigation: bool) -> Iterator[Step]:
    """The nodes below ``root`` in document order, without what is left out."""
    node: LexborNode | None = root.first_child
    while node is not None:
        child = None
        if node.is_text_node:
            yield Step(TEXT, node.text_content or "")
        elif node.is_element_node and not _left_out(node, navigation):
            tag = node.tag or ""
            yield _cell(node, tag) if tag in ("td", "th") else Step(tag)
            child = node.first_child
            if child is None:
                yield Step(tag, closes=True)
        if child is not None:
            node = child
            continue
        while node.next is None:
            node = node.parent
            if node is None or node.mem_id == root.mem_id:
                return
            yield Step(node.tag or "", closes=True)
        node = node.next


def _cell(node: LexborNode, tag: str) -> Step:
    spans = (node.attributes.get(name) or "" for name in ("rowspan", "colspan"))
    rows, columns = (int(span) if span.isascii() and span.isdigit() and len(span) < 6 else 1 for span in spans)
    return Step(tag, rows=max(1, rows), columns=max(1, columns))


def _left_out(node: LexborNode, navigation: bool) -> bool:
    if node.tag in _LEFT_OUT:
        return not (navigation and node.tag == "nav")
    attributes = node.attributes
    if not attributes:
        return False
    return (
        "hidden" in attributes
        or (attributes.get("aria-hidden") or "").lower() == "true"
        or (not navigation and (attributes.get("role") or "").lower() == "navigation")
        or _HIDDEN_STYLE.search(attributes.get("style") or "") is not None
        or (not navigation and not _NOT_PRINTED.isdisjoint((attributes.get("class") or "").split()))
        or (node.tag == "a" and "#" in (attributes.get("href") or "") and _MARKS.fullmatch(node.text()) is not None)
    )
