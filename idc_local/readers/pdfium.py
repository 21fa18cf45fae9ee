"""Reads PDF files with PDFium: words with their places, images, notes and the outline of each page.

Owner of pypdfium2. Decides nothing about reading order or structure. Places are in points, x to the right and y down,
turned so that the main text of the page runs from left to right.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, TypeAlias

import pypdfium2.raw as pdfium

from idc_local.errors import InputError
from idc_local.readers.pdf_page import Bookmark, Page, Piece

Handle: TypeAlias = object
"""What PDFium gives for a document or page."""

_WORD = re.compile(r"[^\s\x00-\x1f\x7f\ufffe\uffff]+")
_BREAK = re.compile(r"[\r\n\x02\ufffe]")
_REFERENCE = re.compile(r"[.,;:!?)\]\"'”’»]\d{1,3}$")
"""What may end in the raised number of a note."""
_BOLD = re.compile(r"bold|black|heavy|semibold|demi|cmbx|sfbx|-b\b", re.I)
_MONO = re.compile(r"mono|courier|cmtt|sftt|typewriter|consol|menlo|fixed", re.I)
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_BOLD_WEIGHT = 600
_FIXED_PITCH = 1
_WIDE_GAP = 0.85
"""Gap in ems that parts pieces of one line: a column or a cell may begin behind it."""
MAX_PAGES = 20_000
_SAMPLED = 3
_MAX_OUTLINE = 20_000
_MAX_NOTES = 2_000


_Place = tuple[float, float, float]
"""Left end, right end and base line."""


class _Style(NamedTuple):
    size: float
    bold: bool
    mono: bool
    angle: int


@contextmanager
def opened(data: bytes, path: str) -> Iterator[Handle]:
    """The document in ``data``; raises InputError where PDFium cannot open it."""
    handle = pdfium.FPDF_LoadMemDocument64(data, len(data), None)
    if not handle:
        raise _failure(pdfium.FPDF_GetLastError(), path)
    try:
        yield handle
    finally:
        pdfium.FPDF_CloseDocument(handle)


def _failure(code: int, path: str) -> InputError:
    if code == pdfium.FPDF_ERR_PASSWORD:
        return InputError(f"{path}: encrypted: a password opens it", hint="qpdf --decrypt --password=… IN.pdf OUT.pdf")
    if code == pdfium.FPDF_ERR_SECURITY:
        return InputError(f"{path}: encrypted in a way that is not known", hint="save it without protection")
    return InputError(f"{path}: a damaged PDF file", hint="open it in a viewer and save it anew, or try qpdf IN OUT")


def page_count(document: Handle) -> int:
    """How many pages the document says it has."""
    return max(0, int(pdfium.FPDF_GetPageCount(document)))


def read_page(document: Handle, number: int) -> Page | None:
    """Page ``number`` (from 1); None where it cannot be loaded."""
    page = pdfium.FPDF_LoadPage(document, number - 1)
    if not page:
        return None
    try:
        text = pdfium.FPDFText_LoadPage(page)
        if not text:
            return None
        try:
            main, aside = _Text(text).pieces()
        finally:
            pdfium.FPDFText_ClosePage(text)
        size = float(pdfium.FPDF_GetPageWidthF(page)), float(pdfium.FPDF_GetPageHeightF(page))
        bare = sum(len(piece.text) for piece in main) < 200
        image, drawn = _drawings(page, size[0] * size[1]) if bare else (0.0, True)
        return Page(number, *size, tuple(main), tuple(aside), tuple(_notes(page)), image, drawn)
    finally:
        pdfium.FPDF_ClosePage(page)


class _Text:
    """The characters of one page."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._rect = pdfium.FS_RECTF()
        self._matrix = pdfium.FS_MATRIX()
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._buffer = ctypes.create_string_buffer(128)
        self._flags = ctypes.c_int()

    def pieces(self) -> tuple[list[Piece], list[str]]:
        """Pieces at the page's main angle, and the text at other angles."""
        found = list(self._found(self._characters()))
        sizes: Counter[int] = Counter()
        for angle, piece in found:
            sizes[angle] += len(piece.text)
        main = max(sizes, key=lambda angle: (sizes[angle], -angle), default=0)
        return [piece for at, piece in found if at == main], [piece.text for at, piece in found if at != main]

    def _characters(self) -> str:
        """One code point for each of PDFium's characters, so that an offset is an index."""
        handle, get = self._handle, pdfium.FPDFText_GetUnicode
        count = max(0, pdfium.FPDFText_CountChars(handle))
        buffer = (ctypes.c_ushort * (count + 1))()
        if pdfium.FPDFText_GetText(handle, 0, count, buffer) == count + 1:
            text = bytes(buffer)[: 2 * count].decode("utf-16-le", "surrogatepass")
            if len(text) == count:
                return text
        codes = [get(handle, index) for index in range(count)]
        return "".join([chr(code) if code < 0x110000 else "\0" for code in codes])

    def _found(self, text: str) -> Iterator[tuple[int, Piece]]:
        """Each piece with its angle, in the order of the file."""
        line: _Line | None = None
        done = 0
        for order, match in enumerate(_WORD.finditer(text)):
            first, last = match.span()
            gap = text[done:first]
            done = last
            word = match[0].translate(_LIGATURES)
            if word[-1].isdigit() and (found := _REFERENCE.search(word)) and self._is_raised(last - 1):
                word = word[: found.start() + 1]
            if line is not None and (gap == " " or not _BREAK.search(gap)):
                place = self._place(first, last - 1, line.angle)
                if line.takes(place):
                    line.add(word if gap else "\0" + word, place)
                    if line.words <= _SAMPLED:
                        line.meet(self._style(first))
                    continue
            if line is not None:
                yield line.piece(hyphen="\x02" in gap or "\ufffe" in gap)
            style = self._style(first)
            line = _Line(word, self._place(first, last - 1, style.angle), style, order)
        if line is not None:
            yield line.piece(hyphen=False)

    def _is_raised(self, index: int) -> bool:
        """True for a small character above the base line of the first one of its word."""
        size, before = (pdfium.FPDFText_GetFontSize(self._handle, at) for at in (index, index - 3))
        return bool(size < 0.85 * before)

    def _place(self, first: int, last: int, angle: int) -> _Place:
        """Left end, right end and base line of a word, turned so that its line runs to the right."""
        handle, rect = self._handle, self._rect
        pdfium.FPDFText_GetCharOrigin(handle, first, self._x, self._y)
        pdfium.FPDFText_GetLooseCharBox(handle, last, rect)
        x, y = self._x.value, self._y.value
        if angle == 0:
            near, far, start, base = rect.left, rect.right, x, -y
        elif angle == 1:
            near, far, start, base = rect.bottom, rect.top, y, x
        elif angle == 2:
            near, far, start, base = -rect.right, -rect.left, -x, y
        else:
            near, far, start, base = -rect.top, -rect.bottom, -y, -x
        return (near if near < start else start, far if far > start else start, base)

    def _style(self, index: int) -> _Style:
        handle, matrix = self._handle, self._matrix
        size, turns = pdfium.FPDFText_GetFontSize(handle, index), 0
        if pdfium.FPDFText_GetMatrix(handle, index, matrix):
            size *= math.hypot(matrix.c, matrix.d)
            turns = round(math.atan2(matrix.b, matrix.a) / (math.pi / 2)) % 4
        length = pdfium.FPDFText_GetFontInfo(handle, index, self._buffer, len(self._buffer), self._flags)
        name = self._buffer.value.decode("utf-8", "replace") if 0 < length <= len(self._buffer) else ""
        bold = pdfium.FPDFText_GetFontWeight(handle, index) >= _BOLD_WEIGHT or _BOLD.search(name) is not None
        mono = bool(self._flags.value & _FIXED_PITCH) or _MONO.search(name) is not None
        return _Style(size if math.isfinite(size) and size > 0 else 1.0, bold, mono, turns)


class _Line:
    """A piece in the making."""

    def __init__(self, word: str, place: _Place, style: _Style, order: int) -> None:
        self._text = [word]
        self._left, self._right, self._base = self._last = place
        self._style = style
        self._lead = place[1] - place[0]
        self._order = order
        self.angle = style.angle
        self.words = 1

    def takes(self, place: _Place) -> bool:
        """True for a word that goes on in this line, to either side."""
        em = self._style.size
        if abs(place[2] - self._base) > 0.45 * em:
            return False
        onward, back = place[0] - self._last[1], self._last[0] - place[1]
        return -0.6 * em < onward < _WIDE_GAP * em or -0.6 * em < back < _WIDE_GAP * em

    def add(self, word: str, place: _Place) -> None:
        """Appends a word; one that begins with NUL joins the last without a space."""
        self._text.append(word[1:] if word[0] == "\0" else " " + word)
        self.words += 1
        self._left, self._right = min(self._left, place[0]), max(self._right, place[1])
        self._last = place

    def meet(self, style: _Style) -> None:
        """Takes a later word's looks into account: the first may be a raised number or a mark."""
        mine = self._style
        if style.size > 1.2 * mine.size:
            self._base = self._last[2]
        self._style = _Style(max(mine.size, style.size), mine.bold and style.bold, mine.mono and style.mono, mine.angle)

    def piece(self, hyphen: bool) -> tuple[int, Piece]:
        """The angle and the piece."""
        style = self._style
        return style.angle, Piece(
            "".join(self._text),
            round(self._left, 2),
            round(self._right, 2),
            round(self._base, 2),
            round(style.size, 2),
            style.bold,
            style.mono,
            round(self._lead, 2),
            hyphen,
            self._order,
        )


def _drawings(page: Handle, area: float) -> tuple[float, bool]:
    """The share of the page that images cover, and whether anything is drawn at all."""
    count = pdfium.FPDFPage_CountObjects(page)
    covered = 0.0
    sides = [ctypes.c_float() for _ in range(4)]
    for index in range(min(count, 5000)):
        item = pdfium.FPDFPage_GetObject(page, index)
        kind = pdfium.FPDFPageObj_GetType(item)
        if kind not in (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM):
            continue
        if pdfium.FPDFPageObj_GetBounds(item, *sides):
            left, bottom, right, top = (side.value for side in sides)
            covered += max(0.0, right - left) * max(0.0, top - bottom)
    return min(1.0, covered / max(area, 1.0)), count > 0


def _notes(page: Handle) -> Iterator[str]:
    """What annotations say and what form fields hold."""
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MAX_NOTES)):
        note = pdfium.FPDFPage_GetAnnot(page, index)
        if not note:
            continue
        try:
            kind = pdfium.FPDFAnnot_GetSubtype(note)
            key = b"V" if kind == pdfium.FPDF_ANNOT_WIDGET else b"Contents"
            if kind in (pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP):
                continue
            text = _string(partial(pdfium.FPDFAnnot_GetStringValue, note, key))
        finally:
            pdfium.FPDFPage_CloseAnnot(note)
        if text.strip():
            yield text.replace("\r\n", "\n").replace("\r", "\n")


def _string(get: Callable[[object, int], int]) -> str:
    """What a function gives that fills a buffer with UTF-16 and returns its size in bytes."""
    size = int(get(None, 0))
    if not 2 < size < 1 << 20:
        return ""
    raw = ctypes.create_string_buffer(size)
    get(ctypes.cast(raw, ctypes.POINTER(ctypes.c_ushort)), size)
    return raw.raw[: size - 2].decode("utf-16-le", "replace").translate(_LIGATURES)


def outline(document: Handle) -> list[Bookmark]:
    """The entries of the outline in order; loops in it end."""
    found: list[Bookmark] = []
    seen: set[int] = set()
    pending = [(pdfium.FPDFBookmark_GetFirstChild(document, None), 1)]
    while pending and len(found) < _MAX_OUTLINE:
        mark, level = pending.pop()
        if not mark or (place := ctypes.cast(mark, ctypes.c_void_p).value or 0) in seen:
            continue
        seen.add(place)
        goal = pdfium.FPDFBookmark_GetDest(document, mark)
        page = pdfium.FPDFDest_GetDestPageIndex(document, goal) + 1 if goal else 0
        title = _string(partial(pdfium.FPDFBookmark_GetTitle, mark))
        found.append(Bookmark(title, level, page))
        pending.append((pdfium.FPDFBookmark_GetNextSibling(document, mark), level))
        pending.append((pdfium.FPDFBookmark_GetFirstChild(document, mark), level + 1))
    return found
