"""Reads PowerPoint presentations: slide by slide, with tables, diagrams, notes and comments.

Nothing that a slide embeds or links to is opened, followed or run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element

from idc_local.readers import magic
from idc_local.readers.blocks import Source, build_document
from idc_local.readers.draft import Draft, Row, headed, one_line
from idc_local.readers.package import Package, Relation, attribute, child, local
from idc_local.types import Document

_TITLES = frozenset(("title", "ctrTitle"))
_PASSED_OVER = frozenset(("dt", "ftr", "sldNum", "hdr"))
_SHAPES = frozenset(("sp", "graphicFrame"))


class PptxReader:
    """Titles, paragraphs, list items and tables of a presentation."""

    media_types = (magic.PPTX,)
    suffixes = (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx")

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for what is no presentation, or a damaged or encrypted one."""
        package = Package(data, path)
        mains = [relation.target for relation in package.relations("").values() if relation.kind == "officeDocument"]
        main = mains[0] if mains else "ppt/presentation.xml"
        draft = Draft()
        for number, slide in enumerate(_slides(package, main), 1):
            _Slide(package, slide).write(draft, number)
        text, blocks, pages = draft.finish()
        return build_document(Source(data, path, media_type, ""), text, blocks, pages)


READER = PptxReader()


def _slides(package: Package, main: str) -> Iterator[str]:
    """The names of the slides' parts in the order in which they are shown."""
    relations = package.relations(main)
    slides = child(package.xml(main), "sldIdLst")
    for item in slides if slides is not None else ():
        key = next((value for name, value in item.attrib.items() if name.startswith("{") and name.endswith("}id")), "")
        relation = relations.get(key)
        if relation is not None and relation.kind == "slide" and relation.target in package:
            yield relation.target


class _Slide:
    """A slide, its notes and its comments."""

    def __init__(self, package: Package, name: str) -> None:
        self._package = package
        self._root = package.xml(name)
        self._relations = package.relations(name)

    def write(self, draft: Draft, number: int) -> None:
        """Writes the slide: a heading even where it has no title, so that it is not under that of another slide."""
        draft.page(f"slide {number}")
        shapes = list(_shapes(self._root))
        titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
        title = " ".join(one_line(text) for shape in titles for _, text in _paragraphs(shape))
        draft.heading(title if title.strip() else f"Slide {number}", 1)
        for shape in shapes:
            if local(shape) == "graphicFrame":
                self._frame(shape, draft)
            elif _placeholder(shape) not in _TITLES | _PASSED_OVER:
                _write(list(_paragraphs(shape)), draft)
        for text in self._asides():
            draft.paragraph(text)

    def _frame(self, frame: Element, draft: Draft) -> None:
        """A table, or the texts of a diagram or chart."""
        table = next((item for item in frame.iter() if local(item) == "tbl"), None)
        if table is not None:
            rows = [[_cell(cell) for cell in row if local(cell) == "tc"] for row in table if local(row) == "tr"]
            properties = child(table, "tblPr")
            marked = properties is not None and attribute(properties, "firstRow") in ("1", "true")
            draft.table([Row(row) for row in rows], int(marked or headed(rows)))
            return
        for item in frame.iter():
            for key in (attribute(item, "dm"), attribute(item, "id") if local(item) == "chart" else ""):
                relation = self._relations.get(key) if key else None
                if relation is not None and relation.kind in ("diagramData", "chart"):
                    _write([(0, text) for text in _texts(self._part(relation))], draft)

    def _part(self, relation: Relation) -> Element | None:
        return self._package.optional(relation.target)

    def _asides(self) -> Iterator[str]:
        """The speaker's notes and the comments."""
        for relation in self._relations.values():
            if relation.kind == "notesSlide":
                root = self._part(relation)
                for shape in _shapes(root) if root is not None else ():
                    if _placeholder(shape) == "body":
                        yield "\n".join(text for _, text in _paragraphs(shape))
            elif relation.kind == "comments":
                yield from _comments(self._part(relation))


def _comments(root: Element | None) -> Iterator[str]:
    for item in root.iter() if root is not None else ():
        if local(item) == "cm":
            old = child(item, "text")
            text = old.text or "" if old is not None else " ".join(_texts(item))
            if text.strip():
                yield f"Comment: {text}"


def _shapes(root: Element) -> Iterator[Element]:
    """Shapes and frames in the order of the file, those of groups among them; of alternatives the first."""
    pending = [root]
    while pending:
        item = pending.pop()
        kind = local(item)
        if kind in _SHAPES:
            yield item
        elif kind == "AlternateContent":
            choice = child(item, "Choice")
            pending.extend(reversed(choice if choice is not None else item))
        elif kind not in ("extLst", "timing", "transition"):
            pending.extend(reversed(item))


def _placeholder(shape: Element) -> str:
    """What a shape stands for: ``title``, ``body``, …; empty for a text box."""
    for item in shape:
        found = child(item, "nvPr", "ph") if local(item).startswith("nv") else None
        if found is not None:
            return attribute(found, "type") or "body"
    return ""


def _paragraphs(shape: Element) -> Iterator[tuple[int, str]]:
    """Level from 0 and text of the paragraphs of a shape; the level is -1 where a bullet is switched off."""
    body = child(shape, "txBody")
    for item in body if body is not None else ():
        if local(item) != "p":
            continue
        properties = child(item, "pPr")
        level = attribute(properties, "lvl") if properties is not None else ""
        plain = child(properties, "buNone") is not None
        yield (-1 if plain else int(level) if level.isdecimal() and int(level) < 9 else 0), _text(item)


def _text(paragraph: Element) -> str:
    parts = []
    for item in paragraph.iter():
        kind = local(item)
        if kind == "t":
            parts.append(item.text or "")
        elif kind == "br":
            parts.append("\n")
        elif kind == "tab":
            parts.append("\t")
    return "".join(parts)


def _texts(root: Element | None) -> Iterator[str]:
    """The text of every paragraph, or else of every value, below ``root``."""
    for item in root.iter() if root is not None else ():
        if local(item) == "p":
            yield _text(item)
        elif local(item) == "v" and item.text and not _is_number(item.text):
            yield item.text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _cell(cell: Element) -> str:
    return " ".join(text for _, text in _paragraphs(cell))


def _write(paragraphs: Iterable[tuple[int, str]], draft: Draft) -> None:
    """Several paragraphs of one shape are a list, one alone is running text."""
    kept = [(level, text) for level, text in paragraphs if one_line(text)]
    for level, text in kept:
        if len(kept) > 1 and level >= 0:
            draft.item(text, level + 1)
        else:
            draft.paragraph(text)
