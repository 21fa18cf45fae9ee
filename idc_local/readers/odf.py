"""Reads OpenDocument text, spreadsheets, presentations and drawings, packed or as one flat file.

Notes, comments and text boxes stand behind their paragraph. Deleted text and tables of contents are left out. Nothing
that a file embeds or links to is opened, followed or run.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from idc_local.errors import InputError
from idc_local.readers import magic
from idc_local.readers.blocks import Source, build_document
from idc_local.readers.draft import Draft, one_line
from idc_local.readers.odf_sheets import sheet_lines
from idc_local.readers.odf_text import Look, Story, looks
from idc_local.readers.package import Package, attribute, child, encrypted, local, parse
from idc_local.readers.sheets import write_sheet
from idc_local.types import Document

_CONTENT = "content.xml"
_MANIFEST = "META-INF/manifest.xml"
_PASSED_OVER = frozenset(("date-time", "footer", "header", "page-number"))


class OdfReader:
    """Headings, paragraphs, list items, tables, sheets and slides of an OpenDocument file."""

    media_types = (magic.ODT, magic.ODS, magic.ODP, magic.ODG)
    suffixes = (".odt", ".ott", ".fodt", ".ods", ".ots", ".fods", ".odp", ".otp", ".fodp", ".odg", ".otg", ".fodg")

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for what is no such file, or a damaged or encrypted one."""
        root, styles = _parts(data, path)
        body = child(root, "body")
        content = next(iter(body), None) if body is not None else None
        if content is None:
            raise InputError(f"{path}: damaged: it has no content", hint="open it in its program and save it anew")
        known = looks([item for item in (styles, root) if item is not None])
        draft = Draft()
        kind = local(content)
        if kind == "spreadsheet":
            _sheets(content, draft)
        elif kind in ("presentation", "drawing"):
            _slides(content, draft, known, "slide " if kind == "presentation" else "")
        else:
            Story(draft, known).write(content)
        text, blocks, pages = draft.finish()
        return build_document(Source(data, path, media_type, ""), text, blocks, pages)


READER = OdfReader()


def _parts(data: bytes, path: str) -> tuple[Element, Element | None]:
    """The root of the content and that of the styles, which a flat file holds in one."""
    if not data.startswith(b"PK"):
        return parse(data, path), None
    package = Package(data, path)
    manifest = package.optional(_MANIFEST)
    for item in manifest.iter() if manifest is not None else ():
        if local(item) == "encryption-data":
            raise encrypted(path)
    return package.xml(_CONTENT), package.optional("styles.xml")


def _sheets(content: Element, draft: Draft) -> None:
    for number, table in enumerate((item for item in content if local(item) == "table"), 1):
        name = attribute(table, "name") or f"Sheet{number}"
        write_sheet(draft, name, sheet_lines(table))
        shapes = child(table, "shapes")
        for item in shapes.iter() if shapes is not None else ():
            if local(item) == "p":
                draft.page(f"sheet {one_line(name)}")
                draft.paragraph("".join(item.itertext()))


def _slides(content: Element, draft: Draft, known: dict[str, Look], word: str) -> None:
    for number, page in enumerate((item for item in content if local(item) == "page"), 1):
        draft.page(f"{word}{number}")
        frames = [item for item in page if attribute(item, "class") not in _PASSED_OVER]
        titles = [item for item in frames if attribute(item, "class") == "title"]
        title = one_line(" ".join(text for item in titles for text in _texts(item)))
        draft.heading(title or f"{word or 'Page '}{number}".capitalize(), 1)
        story = Story(draft, known)
        for item in frames:
            if item not in titles and local(item) != "notes":
                story.box(item)
        for notes in (item for item in page if local(item) == "notes"):
            for item in notes:
                if attribute(item, "class") == "notes" and attribute(item, "placeholder") != "true":
                    story.box(item)


def _texts(frame: Element) -> Iterator[str]:
    for item in frame.iter():
        if local(item) in ("p", "h"):
            yield "".join(item.itertext())
