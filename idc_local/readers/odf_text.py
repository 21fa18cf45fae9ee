"""The running text of OpenDocument: paragraphs, headings, lists, tables, boxes and notes, in order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from idc_local.readers.draft import Draft, Row, headed, one_line
from idc_local.readers.package import MAX_DEPTH, attribute, child, local
from idc_local.readers.paging import BREAK, Paging

_CODE = re.compile(r"preformatted|source|\bcode\b|verbatim|listing", re.I)
_LEFT_OUT = frozenset(
    ("tracked-changes", "table-of-content", "forms", "sequence-decls", "variable-decls", "user-field-decls",
     "ruby-text", "desc", "event-listeners", "hidden-text", "hidden-paragraph")
)  # fmt: skip
_BOXES = frozenset(
    ("frame", "custom-shape", "rect", "text-box", "g", "line", "connector", "ellipse", "circle", "path", "polygon",
     "polyline", "caption", "regular-polygon", "a-shape")
)  # fmt: skip
_LONGEST_CHAIN = 20


class Look(NamedTuple):
    """What a style says: its name for people, the style that it is based on, and that it begins a page."""

    name: str
    parent: str
    breaks: bool


def looks(roots: Iterable[Element]) -> dict[str, Look]:
    """The paragraph styles by name."""
    found: dict[str, Look] = {}
    for root in roots:
        for group in root:
            if local(group) not in ("styles", "automatic-styles"):
                continue
            for style in group:
                if local(style) == "style":
                    name = attribute(style, "name")
                    properties = child(style, "paragraph-properties")
                    breaks = properties is not None and attribute(properties, "break-before") == "page"
                    title = attribute(style, "display-name") or name
                    found[name] = Look(title, attribute(style, "parent-style-name"), breaks)
    return found


class _Gathered(NamedTuple):
    """The text of a paragraph, and what hangs on it."""

    text: str
    boxes: list[Element]
    notes: list[str]


class Story:
    """Writes running text to a draft."""

    def __init__(self, draft: Draft, known: dict[str, Look]) -> None:
        self._draft = draft
        self._known = known
        self._code: list[str] = []
        self._paging = Paging(draft, marked=False)

    def write(self, content: Element) -> None:
        """Writes a whole text, with its pages where it marks them."""
        if any(local(item) == "soft-page-break" for item in content.iter()):
            self._paging = Paging(self._draft, marked=True)
        self._blocks(content, 0, 0)
        self._end_code()

    def box(self, frame: Element, depth: int = 0) -> None:
        """Writes what a frame or shape holds."""
        self._blocks(frame, 0, depth)
        self._end_code()

    def _blocks(self, parent: Element, level: int, depth: int) -> None:
        if depth > MAX_DEPTH:
            return
        for item in parent:
            kind = local(item)
            if kind in ("p", "h"):
                self._paragraph(item, level, depth)
            elif kind == "list":
                self._blocks(item, level + 1, depth + 1)
            elif kind == "table":
                self._end_code()
                self._table(item, level, depth)
            elif kind == "soft-page-break":
                self._paging.split(BREAK)
            elif kind == "annotation":
                self._draft.paragraph(_comment(item))
            elif kind not in _LEFT_OUT and attribute(item, "display") != "none":
                self._blocks(item, level, depth + 1)

    def _paragraph(self, item: Element, level: int, depth: int) -> None:
        style = attribute(item, "style-name")
        gathered = _gathered(item)
        breaks = self._paging.number > 0 and self._breaks(style)
        text, marks = self._paging.split(BREAK * breaks + gathered.text)
        names = list(self._names(style))
        if local(item) == "p" and not level and any(map(_CODE.search, names)):
            self._code.append(text)
        else:
            self._end_code()
            self._plain(item, text, marks, level, names)
        for box in gathered.boxes:
            self._blocks(box, 0, depth + 1)
        for note in gathered.notes:
            self._end_code()
            self._draft.paragraph(note)

    def _plain(self, item: Element, text: str, marks: list[tuple[int, str]], level: int, names: Sequence[str]) -> None:
        if local(item) == "h":
            depth = attribute(item, "outline-level")
            self._draft.heading(text, int(depth) if depth.isdecimal() and len(depth) < 3 else 1)
        elif "Title" in names:
            self._draft.title(text)
        elif level:
            self._draft.item(text, level, marks)
        else:
            self._draft.paragraph(text, marks)

    def _names(self, style: str) -> Iterator[str]:
        """The names of a style and of those that it is based on."""
        for _ in range(_LONGEST_CHAIN):
            look = self._known.get(style)
            yield look.name if look is not None else style
            if look is None or not look.parent:
                return
            style = look.parent

    def _breaks(self, style: str) -> bool:
        look = self._known.get(style)
        return look is not None and look.breaks

    def _end_code(self) -> None:
        if self._code:
            self._draft.code("\n".join(self._code))
            self._code = []

    def _table(self, table: Element, level: int, depth: int) -> None:
        rows = list(_rows(table, 0))
        head = sum(is_head for _, is_head in rows)
        cells = [[cell for cell in row if local(cell).endswith("table-cell")] for row, _ in rows]
        if all(len(row) < 2 for row in cells) or any(_holds_table(cell) for row in cells for cell in row):
            for cell in (cell for row in cells for cell in row):
                self._blocks(cell, level, depth + 1)
                self._end_code()
            return
        written = []
        notes: list[str] = []
        for row in cells:
            page = self._paging.number
            texts = [self._cell(cell, notes) for cell in row]
            now = self._paging.number
            written.append(Row(texts, str(now) if now != page else ""))
        self._draft.table(written, head or int(headed([row.cells for row in written])))
        for note in notes:
            self._draft.paragraph(note)

    def _cell(self, cell: Element, notes: list[str]) -> str:
        texts = []
        for item in cell.iter():
            if local(item) in ("p", "h"):
                gathered = _gathered(item)
                texts.append(self._paging.passed(gathered.text))
                notes += gathered.notes
        return " ".join(texts)


def _rows(table: Element, depth: int) -> Iterator[tuple[Element, bool]]:
    """The rows of a table, and whether each is a header."""
    for item in table:
        kind = local(item)
        if kind == "table-row":
            yield item, False
        elif kind in ("table-header-rows", "table-row-group", "table-rows") and depth < MAX_DEPTH:
            for row, is_head in _rows(item, depth + 1):
                yield row, is_head or kind == "table-header-rows"


def _holds_table(cell: Element) -> bool:
    return any(local(item) == "table" for item in cell.iter())


def _gathered(paragraph: Element) -> _Gathered:
    """The text of a paragraph, without what stands beside it; pages begin with a form feed."""
    parts: list[str] = []
    boxes: list[Element] = []
    notes: list[str] = []
    pending: list[Element | str] = [*reversed(list(_inside(paragraph)))]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            parts.append(_SPACES.sub(" ", item))
            continue
        kind = local(item)
        if kind == "note":
            body = child(item, "note-body")
            notes.append(_running(body) if body is not None else "")
        elif kind == "annotation":
            notes.append(_comment(item))
        elif kind in _BOXES:
            boxes.append(item)
        elif kind in _MARKS:
            parts.append(_MARKS[kind] * _count(item))
        elif kind not in _LEFT_OUT:
            pending.extend(reversed(list(_inside(item))))
    return _Gathered("".join(parts), boxes, [note for note in notes if note])


_SPACES = re.compile(r"[ \t\r\n]+")
_MARKS = {"s": " ", "tab": "\t", "line-break": "\n", "soft-page-break": BREAK}


def _count(item: Element) -> int:
    count = attribute(item, "c")
    return min(int(count), 200) if count.isdecimal() and len(count) < 9 else 1


def _inside(item: Element) -> Iterator[Element | str]:
    """Text and elements of an element in order."""
    if item.text:
        yield item.text
    for part in item:
        yield part
        if part.tail:
            yield part.tail


def _running(parent: Element) -> str:
    return one_line(" ".join(_gathered(item).text for item in parent.iter() if local(item) in ("p", "h")))


def _comment(item: Element) -> str:
    author = next((part.text for part in item if local(part) == "creator" and part.text), "")
    text = _running(item)
    return f"Comment ({author}): {text}" if author and text else text
