"""Reads e-books in EPUB: chapter by chapter, in the order in which they are read.

Chapters are pages of HTML and read as such. Nothing outside the book is fetched, and no script in it is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

from idc_local.errors import InputError
from idc_local.readers import magic
from idc_local.readers.blocks import Source, build_document
from idc_local.readers.decode import decode
from idc_local.readers.draft import Draft, one_line
from idc_local.readers.html import declared_charset, page_blocks
from idc_local.readers.package import Package, attribute, child, local, parse
from idc_local.types import BlockKind, Document

_CONTAINER = "META-INF/container.xml"
_LOCKS = "META-INF/encryption.xml"
_PAGES = frozenset(("application/xhtml+xml", "text/html", "text/x-oeb1-document"))
_CONTENT = re.compile(r"\.(?:x?html?|xml)$", re.I)
_FRONT = re.compile(
    rb"""epub:type\s*=\s*["'][^"']*\b(?:frontmatter|cover|titlepage|halftitlepage|toc|copyright-page|dedication)\b"""
)
_FRONT_NAME = re.compile(r"(?:^|[/_\W])(?:cover|title_?page|toc|nav|copyright)(?:\d*[_\W]|$)", re.I)
_NOTE_MARK = re.compile(
    r"""<a\b[^>]{0,400}?\b(?:role\s*=\s*["']doc-|epub:type\s*=\s*["'])(?:noteref|backlink)\b[^>]{0,400}>.{0,200}?</a\s*>""",
    re.I | re.S,
)
_HEAD = 4096
_LONGEST_TITLE = 200


class _Chapter(NamedTuple):
    """A page of the book: its part, and what its table of contents calls it."""

    name: str
    title: str
    front: bool


class EpubReader:
    """The chapters of a book."""

    media_types = (magic.EPUB,)
    suffixes = (".epub",)

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for what is no book, or a damaged or locked one."""
        package = Package(data, path)
        _refuse_locked(package, path)
        draft = Draft()
        number, missing = 0, []
        for chapter in _chapters(package, path):
            if chapter.name not in package:
                missing.append(chapter.name)
                continue
            page = package.read(chapter.name)
            front = chapter.front or _FRONT.search(page[:_HEAD]) is not None
            source = _NOTE_MARK.sub("", decode(page, path, declared_charset(page)).text)
            text, blocks = page_blocks(source, titled=False)
            if not text.strip():
                continue
            number += not front
            draft.page("front matter" if front else f"chapter {number}")
            if chapter.title and not any(block.kind is BlockKind.HEADING for block in blocks):
                draft.heading(chapter.title, 1)
            draft.extend(text, blocks)
        if missing and not number:
            raise InputError(f"{path}: damaged: its chapters are missing", hint="fetch it again")
        text, blocks, pages = draft.finish()
        warnings = [f"damaged: {len(missing)} of its parts are missing"] if missing else []
        return build_document(Source(data, path, media_type, ""), text, blocks, pages, warnings)


READER = EpubReader()


def _refuse_locked(package: Package, path: str) -> None:
    """Raises InputError where chapters are encrypted; books may scramble their fonts and still be read."""
    root = package.optional(_LOCKS)
    for item in root.iter() if root is not None else ():
        if local(item) == "CipherReference" and _CONTENT.search(attribute(item, "URI")):
            raise InputError(f"{path}: encrypted: its seller has locked it", hint="leave it out")


def _chapters(package: Package, path: str) -> Iterator[_Chapter]:
    """The pages of the book in reading order, without its table of contents."""
    container = package.xml(_CONTAINER)
    name = next((attribute(item, "full-path") for item in container.iter() if local(item) == "rootfile"), "")
    book = package.xml(name)
    items = {attribute(item, "id"): item for item in child(book, "manifest") or () if local(item) == "item"}
    spine = child(book, "spine")
    titles = _titles(package, name, items, path)
    for entry in spine if spine is not None else ():
        item = items.get(attribute(entry, "idref"))
        if item is None or attribute(item, "media-type") not in _PAGES:
            continue
        if "nav" in attribute(item, "properties").split():
            continue
        part = package.resolve(name, attribute(item, "href"))
        front = attribute(entry, "linear") == "no" or _FRONT_NAME.search(attribute(item, "href")) is not None
        yield _Chapter(part, titles.get(part, ""), front)


def _titles(package: Package, book: str, items: dict[str, Element], path: str) -> dict[str, str]:
    """What the tables of contents call each part; nothing where they are damaged."""
    titles: dict[str, str] = {}
    for item in items.values():
        name = package.resolve(book, attribute(item, "href"))
        is_nav = "nav" in attribute(item, "properties").split()
        if name not in package or not (is_nav or attribute(item, "media-type") == "application/x-dtbncx+xml"):
            continue
        try:
            root = parse(package.read(name), path, name)
        except InputError:
            continue
        for goal, title in _links(root):
            titles.setdefault(package.resolve(name, goal), title[:_LONGEST_TITLE])
    return titles


def _links(root: Element) -> Iterator[tuple[str, str]]:
    """Goal and words of each entry of a table of contents."""
    for item in root.iter():
        if local(item) == "a" and attribute(item, "href"):
            yield attribute(item, "href"), one_line("".join(item.itertext()))
        elif local(item) == "navPoint":
            content, label = child(item, "content"), child(item, "navLabel", "text")
            if content is not None and label is not None:
                yield attribute(content, "src"), one_line(label.text or "")
