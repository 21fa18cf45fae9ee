"""Reads PDF: running text in reading order, with the page of every passage.

Running heads, feet and page numbers are left out, words that a line end has parted are mended, and pages that hold
only a picture are named. Nothing that a file embeds is run, opened or fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from idc_local.errors import InputError
from idc_local.readers.blocks import Source, build_document
from idc_local.readers.draft import Draft
from idc_local.readers.pdf_blocks import Blocks
from idc_local.readers.pdf_heads import Heads
from idc_local.readers.pdf_order import in_order
from idc_local.readers.pdf_page import Page
from idc_local.readers.pdf_running import without_running
from idc_local.readers.pdf_text import Words
from idc_local.readers.pdfium import MAX_PAGES, opened, outline, page_count, read_page
from idc_local.types import Document

_SCAN = 0.4
_FEW = 25
"""Characters up to which a page under a picture is a scan with a stamp on it."""
_TAIL = 1 << 11
OCR_HINT = "make its text readable with OCRmyPDF: ocrmypdf --skip-text IN.pdf OUT.pdf"


class PdfReader:
    """Headings, paragraphs, list items, code and tables of a PDF file."""

    media_types = ("application/pdf",)
    suffixes = (".pdf",)

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for what is no PDF, is encrypted, or holds pictures alone."""
        with opened(data, path) as handle:
            count = page_count(handle)
            if count > MAX_PAGES:
                raise InputError(f"{path}: too many pages: {count}, the limit is {MAX_PAGES}", hint="split it")
            pages = [page for number in range(1, count + 1) if (page := read_page(handle, number)) is not None]
            heads = Heads(pages, outline(handle))
        scanned = [page.number for page in pages if _is_scan(page)]
        if not any(page.pieces or page.aside or page.notes for page in pages if page.number not in scanned):
            _refuse(path, pages, scanned)
        text, blocks, labels = _draft(pages, heads).finish()
        warnings = list(_warnings(data, count, pages, scanned))
        return build_document(Source(data, path, media_type, ""), text, blocks, labels, warnings)


READER = PdfReader()


def _is_scan(page: Page) -> bool:
    letters = sum(len(piece.text) for piece in page.pieces)
    return page.image > _SCAN and letters <= _FEW


def _refuse(path: str, pages: Sequence[Page], scanned: Sequence[int]) -> None:
    """Raises InputError for a file without text, unless all its pages are blank."""
    if not pages:
        raise InputError(f"{path}: a damaged PDF file: none of its pages can be read", hint="save it anew")
    if scanned:
        raise InputError(f"{path}: scanned: {_holding(scanned)} pictures and no text", hint=OCR_HINT)
    drawn = [page.number for page in pages if page.drawn]
    if drawn:
        raise InputError(f"{path}: no text: {_holding(drawn)} drawings alone", hint=OCR_HINT)


def _draft(pages: Sequence[Page], heads: Heads) -> Draft:
    words = Words(piece.text for page in pages for piece in page.pieces)
    blocks = Blocks(heads, words)
    for page, pieces in zip(pages, without_running(pages, heads), strict=True):
        label = str(page.number)
        blocks.page(label, page.number, in_order(pieces, heads.body))
        for text in (*page.aside, *page.notes):
            blocks.extra(label, text)
    draft = Draft()
    blocks.write(draft)
    return draft


def _warnings(data: bytes, count: int, pages: Sequence[Page], scanned: Sequence[int]) -> Iterator[str]:
    if scanned:
        yield f"scanned: {_holding(scanned)} pictures and no text; {OCR_HINT}"
    lost = sorted(set(range(1, count + 1)) - {page.number for page in pages})
    if lost:
        yield f"damaged: {_named(lost)} cannot be read"
    if b"%%EOF" not in data[-_TAIL:]:
        yield "it may be cut off: it has no end mark"


def _holding(numbers: Sequence[int]) -> str:
    return f"{_named(numbers)} {'holds' if len(numbers) == 1 else 'hold'}"


def _named(numbers: Sequence[int]) -> str:
    """``page 3`` or ``pages 1-4, 7``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:20]]
    more = ", …" if len(runs) > 20 else ""
    return ("page " if len(numbers) == 1 else "pages ") + ", ".join(shown) + more
