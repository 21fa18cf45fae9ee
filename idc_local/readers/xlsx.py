"""Reads Excel workbooks: each sheet as tables whose rows know their sheet and row number.

Cells show what was last computed; formulas are never evaluated. Comments stand in their cells, text boxes after their
sheet. No link, macro or outside source is followed or run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from idc_local.readers import magic
from idc_local.readers.blocks import Source, build_document
from idc_local.readers.draft import Draft, one_line
from idc_local.readers.package import Package, attribute, child, local, rows_of
from idc_local.readers.sheets import Cell, Line, write_sheet
from idc_local.readers.xlsx_values import PLAIN, Format, formats, shown
from idc_local.types import Document

_LAST_COLUMN = 16_384


class XlsxReader:
    """The tables of a workbook, sheet by sheet."""

    media_types = (magic.XLSX,)
    suffixes = (".xlsx", ".xlsm", ".xltx", ".xltm")

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for what is no workbook, or a damaged or encrypted one."""
        draft = Draft()
        _Workbook(Package(data, path), path).write(draft)
        text, blocks, pages = draft.finish()
        return build_document(Source(data, path, media_type, ""), text, blocks, pages)


READER = XlsxReader()


class _Workbook:
    """A workbook: its sheets, strings and formats."""

    def __init__(self, package: Package, path: str) -> None:
        mains = [relation.target for relation in package.relations("").values() if relation.kind == "officeDocument"]
        self._main = mains[0] if mains else "xl/workbook.xml"
        self._package, self._path = package, path
        self._root = package.xml(self._main)
        self._relations = package.relations(self._main)
        kinds = {relation.kind: relation.target for relation in self._relations.values()}
        self._formats = formats(package.optional(kinds.get("styles", "xl/styles.xml")))
        self._strings = list(self._shared(kinds.get("sharedStrings", "xl/sharedStrings.xml")))
        properties = child(self._root, "workbookPr")
        self._since_1904 = properties is not None and attribute(properties, "date1904") in ("1", "true")

    def write(self, draft: Draft) -> None:
        """Writes all sheets in the order of their tabs."""
        sheets = child(self._root, "sheets")
        for number, sheet in enumerate(sheets if sheets is not None else (), 1):
            relation = self._relations.get(attribute(sheet, "id"))
            if relation is None or relation.kind != "worksheet" or relation.target not in self._package:
                continue
            name = attribute(sheet, "name") or f"Sheet{number}"
            parts = self._package.relations(relation.target).values()
            comments = {
                key: text
                for part in parts
                if part.kind == "comments"
                for key, text in _comments(self._package.optional(part.target))
            }
            write_sheet(draft, name, self._lines(relation.target, comments))
            for part in parts:
                if part.kind == "drawing":
                    for text in _drawn(self._package.optional(part.target)):
                        draft.page(f"sheet {one_line(name)}")
                        draft.paragraph(text)

    def _shared(self, name: str) -> Iterator[str]:
        if name in self._package:
            for item in rows_of(self._package.read(name), self._path, name, "si"):
                yield _rich(item)

    def _lines(self, name: str, comments: Mapping[str, str]) -> Iterator[Line]:
        last = 0
        for row in rows_of(self._package.read(name), self._path, name, "row"):
            number = row.get("r", "")
            last = int(number) if number.isdecimal() and len(number) < 9 else last + 1
            cells: dict[int, Cell] = {}
            column = -1
            for item in row:
                if local(item) != "c":
                    continue
                place = item.get("r", "")
                column = _column(place) if place else column + 1
                if 0 <= column < _LAST_COLUMN:
                    cells[column] = self._cell(item, comments.get(place, ""))
            yield Line(last, cells)

    def _cell(self, item: Element, comment: str) -> Cell:
        cell = self._value(item)
        return Cell(f"{cell.text} [{comment}]".strip()) if comment else cell

    def _value(self, item: Element) -> Cell:
        kind = item.get("t", "n")
        value = next((part.text or "" for part in item if local(part) == "v"), "")
        if kind == "s":
            known = value.isdecimal() and len(value) < 9 and int(value) < len(self._strings)
            return Cell(self._strings[int(value)] if known else "")
        if kind == "inlineStr":
            inside = child(item, "is")
            return Cell(_rich(inside) if inside is not None else "")
        if kind == "b":
            return Cell({"1": "TRUE", "0": "FALSE"}.get(value, value), words=False)
        if kind == "n" and value:
            return Cell(shown(value, self._format(item), self._since_1904), words=False)
        if not value:
            formula = child(item, "f")
            return Cell(f"={formula.text}" if formula is not None and formula.text else "", words=False)
        return Cell(value[:10] if kind == "d" and value.endswith("T00:00:00") else value, words=kind == "str")

    def _format(self, item: Element) -> Format:
        style = item.get("s", "0")
        known = style.isdecimal() and len(style) < 7 and int(style) < len(self._formats)
        return self._formats[int(style)] if known else PLAIN


def _rich(item: Element) -> str:
    """The text of a string with its runs, without the reading aids of East Asian scripts."""
    parts = []
    for part in item:
        kind = local(part)
        if kind == "t":
            parts.append(part.text or "")
        elif kind == "r":
            parts += [inner.text or "" for inner in part if local(inner) == "t"]
    return "".join(parts)


def _column(place: str) -> int:
    """The column, from 0, of a place like ``AB12``."""
    column = 0
    for char in place[:4].upper():
        if not "A" <= char <= "Z":
            break
        column = 26 * column + ord(char) - 64
    return column - 1


def _comments(root: Element | None) -> Iterator[tuple[str, str]]:
    for item in root.iter() if root is not None else ():
        if local(item) == "comment":
            text = child(item, "text")
            yield attribute(item, "ref"), f"comment: {one_line(_rich(text))}" if text is not None else ""


def _drawn(root: Element | None) -> Iterator[str]:
    """The paragraphs of text boxes and shapes."""
    for item in root.iter() if root is not None else ():
        if local(item) == "p":
            yield "".join(part.text or "" for part in item.iter() if local(part) == "t")
