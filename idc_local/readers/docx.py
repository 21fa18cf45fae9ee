"""Reads Word documents: paragraphs, headings, lists and tables, with notes, comments and text boxes where they stand.

Pages are those that Word noted when it last laid the document out; other programs note none. Deleted and hidden text,
tables of contents, running heads and feet are left out. No link, field or macro is followed or run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from idc_local.readers import magic
from idc_local.readers.blocks import Source, build_document
from idc_local.readers.docx_styles import Styles
from idc_local.readers.draft import Draft, Row, headed, one_line
from idc_local.readers.package import MAX_DEPTH, Package, attribute, child, local
from idc_local.readers.paging import BREAK, Paging
from idc_local.types import Document

_INSIDE = frozenset(
    ("hyperlink", "ins", "moveTo", "smartTag", "fldSimple", "customXml", "sdt", "sdtContent", "dir", "bdo", "r",
     "oMath", "oMathPara", "ruby", "rubyBase")
)  # fmt: skip
_WRAPPERS = frozenset(("sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag", "tbl", "body"))
_MATHS = frozenset(
    ("f", "num", "den", "e", "sup", "sub", "sSup", "sSub", "sSubSup", "rad", "deg", "nary", "d", "func", "fName",
     "acc", "bar", "box", "groupChr", "limLow", "limUpp", "lim", "m", "mr", "eqArr")
)  # fmt: skip
_BOX = 8
"""Depth of text boxes within text boxes that is looked into."""


class DocxReader:
    """Headings, paragraphs, list items, code and tables of a Word document."""

    media_types = (magic.DOCX,)
    suffixes = (".docx", ".docm", ".dotx", ".dotm")

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for what is no Word document, or a damaged or encrypted one."""
        package = Package(data, path)
        mains = [relation.target for relation in package.relations("").values() if relation.kind == "officeDocument"]
        main = mains[0] if mains else "word/document.xml"
        draft = Draft()
        _Story(package, main).write(package.xml(main), draft)
        text, blocks, pages = draft.finish()
        return build_document(Source(data, path, media_type, ""), text, blocks, pages)


READER = DocxReader()


@dataclass(slots=True)
class _Runs:
    """The text of a paragraph as it is gathered, and what hangs on it."""

    parts: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    boxes: list[Element] = field(default_factory=list)


class _Story:
    """The main text of a document with its notes and comments."""

    def __init__(self, package: Package, main: str) -> None:
        parts = {relation.kind: relation.target for relation in package.relations(main).values()}
        self._styles = Styles(package.optional(parts.get("styles", "word/styles.xml")))
        self._notes = {
            kind: _by_id(package.optional(parts[kind + "s"]) if kind + "s" in parts else None)
            for kind in ("footnote", "endnote", "comment")
        }
        self._code: list[str] = []

    def write(self, root: Element, draft: Draft) -> None:
        """Writes the document to ``draft``."""
        self._paging = Paging(draft, any(local(item) == "lastRenderedPageBreak" for item in root.iter()))
        body = child(root, "body")
        self._blocks(body if body is not None else root, draft, 0)
        self._end_code(draft)

    def _blocks(self, parent: Element, draft: Draft, depth: int) -> None:
        for item in _flat(parent):
            kind = local(item)
            if kind == "p":
                self._paragraph(item, draft, depth)
            elif kind == "tbl":
                self._end_code(draft)
                self._table(item, draft, depth)

    def _paragraph(self, item: Element, draft: Draft, depth: int) -> None:
        look = self._styles.look(child(item, "pPr"))
        if look.skipped:
            return
        runs = _runs(item)
        text, marks = self._paging.split("".join(runs.parts))
        if look.code:
            self._code.append(text.replace("\t", "    "))
        else:
            self._end_code(draft)
            if look.title:
                draft.title(text)
            elif look.level:
                draft.heading(text, look.level)
            elif look.item:
                draft.item(text, look.item, marks)
            else:
                draft.paragraph(text, marks)
        for box in runs.boxes if depth < _BOX else ():
            self._blocks(box, draft, depth + 1)
        for note in self._noted(runs.notes):
            self._end_code(draft)
            draft.paragraph(note)

    def _end_code(self, draft: Draft) -> None:
        if self._code:
            draft.code("\n".join(self._code))
            self._code = []

    def _noted(self, notes: Iterable[tuple[str, str]]) -> Iterator[str]:
        for kind, key in notes:
            note = self._notes[kind].get(key)
            if note is None:
                continue
            text = " ".join(one_line("".join(_runs(part).parts)) for part in note.iter() if local(part) == "p")
            if text.strip():
                author = attribute(note, "author")
                yield f"Comment ({author}): {text}" if kind == "comment" and author else text

    def _table(self, table: Element, draft: Draft, depth: int) -> None:
        rows = [row for row in _flat(table) if local(row) == "tr"]
        cells = [[cell for cell in _flat(row) if local(cell) == "tc"] for row in rows]
        if _lays_out(cells) and depth < _BOX:
            for cell in (cell for row in cells for cell in row):
                self._blocks(cell, draft, depth + 1)
                self._end_code(draft)
            return
        notes: list[tuple[str, str]] = []
        written: list[Row] = []
        for row in cells:
            page = self._paging.number
            texts = [text for cell in row for text in self._cell(cell, notes)]
            now = self._paging.number
            written.append(Row(texts, str(now) if now != page else ""))
        draft.table(written, _head_rows(table, rows) or int(headed([row.cells for row in written])))
        for note in self._noted(notes):
            draft.paragraph(note)

    def _cell(self, cell: Element, notes: list[tuple[str, str]]) -> Iterator[str]:
        """The text of a cell, and an empty one for each further column that it spans."""
        properties = child(cell, "tcPr")
        merged = child(properties, "vMerge")
        span = child(properties, "gridSpan")
        parts = []
        for paragraph in (part for part in _descend(cell) if local(part) == "p"):
            runs = _runs(paragraph)
            parts.append(self._paging.passed("".join(runs.parts)))
            parts += ["".join(_runs(inner).parts) for box in runs.boxes for inner in box.iter() if local(inner) == "p"]
            notes += runs.notes
        yield "" if merged is not None and attribute(merged, "val") != "restart" else " ".join(parts)
        width = attribute(span, "val") if span is not None else ""
        yield from [""] * (min(int(width), 64) - 1 if width.isdecimal() else 0)


def _by_id(root: Element | None) -> dict[str, Element]:
    """Notes or comments by id; separators are none."""
    items = root if root is not None else ()
    return {attribute(item, "id"): item for item in items if attribute(item, "type") in ("", "normal")}


def _flat(parent: Element) -> Iterator[Element]:
    """The children of ``parent``, where containers that mean nothing for the layout are opened."""
    pending = [(item, 0) for item in reversed(parent)]
    while pending:
        item, depth = pending.pop()
        kind = local(item)
        if kind == "sdt" and _is_contents(item):
            continue
        if kind in _WRAPPERS and kind != "tbl" and depth < MAX_DEPTH:
            pending.extend((inner, depth + 1) for inner in reversed(item))
        else:
            yield item


def _is_contents(item: Element) -> bool:
    gallery = child(item, "sdtPr", "docPartObj", "docPartGallery")
    return gallery is not None and attribute(gallery, "val") == "Table of Contents"


def _descend(parent: Element) -> Iterator[Element]:
    """Everything below ``parent`` but what is inside a paragraph."""
    pending = list(reversed(parent))
    while pending:
        item = pending.pop()
        yield item
        if local(item) != "p":
            pending.extend(reversed(item))


def _lays_out(rows: Sequence[Sequence[Element]]) -> bool:
    """True for a table that only places things: one column, or tables inside."""
    if all(len(row) < 2 for row in rows):
        return True
    return any(local(part) == "tbl" for row in rows for cell in row for part in _descend(cell))


def _head_rows(table: Element, rows: Sequence[Element]) -> int:
    head = 0
    for row in rows:
        mark = child(row, "trPr", "tblHeader")
        if mark is None or attribute(mark, "val") in ("0", "false", "off"):
            break
        head += 1
    if head:
        return head
    look = child(table, "tblPr", "tblLook")
    if look is None:
        return 0
    first, bits = attribute(look, "firstRow"), attribute(look, "val")
    try:
        return int(first in ("1", "true", "on") if first else bool(int(bits, 16) & 0x20))
    except ValueError:
        return 0


def _runs(paragraph: Element) -> _Runs:
    """The text of a paragraph: tabs are kept, breaks are line ends, laid out pages begin with a form feed."""
    runs = _Runs()
    pending = list(reversed(paragraph))
    while pending:
        item = pending.pop()
        kind = local(item)
        if kind == "t":
            runs.parts.append(item.text or "")
        elif kind == "r":
            if not _is_hidden(item):
                pending.extend(reversed(item))
        elif kind in _INSIDE or kind in _MATHS:
            pending.extend(reversed(item))
        elif kind == "AlternateContent":
            choice = child(item, "Choice")
            pending.extend(reversed(choice if choice is not None else item))
        elif kind in ("drawing", "pict", "object", "Fallback"):
            runs.boxes += [inner for inner in item.iter() if local(inner) == "txbxContent"]
        else:
            _mark(item, kind, runs)
    return runs


def _mark(item: Element, kind: str, runs: _Runs) -> None:
    if kind in ("tab", "ptab"):
        runs.parts.append("\t")
    elif kind == "br":
        runs.parts.append("\n" if attribute(item, "type") in ("", "textWrapping") else " ")
    elif kind == "cr":
        runs.parts.append("\n")
    elif kind == "noBreakHyphen":
        runs.parts.append("-")
    elif kind == "lastRenderedPageBreak":
        runs.parts.append(BREAK)
    elif kind in ("footnoteReference", "endnoteReference", "commentReference"):
        runs.notes.append((kind.removesuffix("Reference"), attribute(item, "id")))


def _is_hidden(run: Element) -> bool:
    mark = child(run, "rPr", "vanish")
    return mark is not None and attribute(mark, "val") not in ("0", "false", "off")
