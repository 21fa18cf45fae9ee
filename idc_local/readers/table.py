"""Reads tables in plain text (CSV, TSV and their like): one line a row, its cells parted by `` | ``.

The delimiter is the one that gives most rows the same number of cells. Each row knows its number, as spreadsheets count
them, and the line that it begins on.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from idc_local.readers.blocks import RawBlock, Source, build_document
from idc_local.readers.decode import decode
from idc_local.readers.draft import row_text
from idc_local.types import BlockKind, Document, Span

_DELIMITERS = ",;\t|"
_SAMPLE = 1 << 16
_LONGEST_ROW = 2000
"""Lines of one row: more come from a quotation mark that is never closed."""

_LOOKED_AT = 50
_MOST_ABOVE = 10
"""Rows that may stand above the names of columns."""

_NUMBER = re.compile(r"[\s$€£%+\-−(]*\d[\d.,:/\s'’\-]*[\s$€£%)]*")


class _Row(NamedTuple):
    """Cells, and the line that they begin on, from 1."""

    cells: list[str]
    line: int


class TableReader:
    """Rows of a table as units, each with its header."""

    media_types = ("text/csv", "text/tab-separated-values")
    suffixes = (".csv", ".tsv", ".tab")

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for binary data."""
        decoded = decode(data, path)
        source = Source(data, path, media_type, decoded.encoding)
        return _document(source, list(rows_of(decoded.text, media_type)))


READER = TableReader()


def rows_of(text: str, media_type: str) -> Iterator[_Row]:
    """The rows of a table, empty ones included."""
    csv.field_size_limit(sys.maxsize)
    sep, declared = _declared(text)
    delimiter = declared or _delimiter(text[:_SAMPLE], "\t" if media_type.startswith("text/tab") else ",")
    body = io.StringIO(text, newline="")
    if sep:
        body.readline()
    yield from _parsed(body, delimiter, sep)


def _declared(text: str) -> tuple[int, str]:
    """Lines taken by a first line such as ``sep=;``, and the delimiter that it names."""
    found = re.match(r"sep=(.)\r?\n", text)
    return (1, found[1]) if found else (0, "")


def _parsed(body: io.StringIO, delimiter: str, line: int, quotes: bool = True) -> Iterator[_Row]:
    """Rows of what is left of ``body``, which begins behind ``line`` lines."""
    start, place = line, body.tell()
    reader = csv.reader(body, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            cells = []
        if reader.line_num + line - start > _LONGEST_ROW and quotes:
            body.seek(place)
            for _ in range(start - line):
                body.readline()
            yield from _parsed(body, delimiter, start, quotes=False)
            return
        yield _Row(cells, start + 1)
        start = reader.line_num + line


def _delimiter(sample: str, usual: str) -> str:
    """The delimiter of most rows that have the same number of cells; the usual one where none parts anything."""
    best, choice = (0.0, 0), usual
    for delimiter in sorted(_DELIMITERS, key=lambda own: own != usual):
        sizes = [len(row.cells) for row in _parsed(io.StringIO(sample, newline=""), delimiter, 0)]
        counts = Counter(size for size in sizes if size)
        if counts:
            size, alike = max(counts.items(), key=lambda item: (item[1] * (item[0] > 1), item[0]))
            score = (round(alike / sum(counts.values()), 1), size) if size > 1 else (0.0, 0)
            if score > best:
                best, choice = score, delimiter
    return choice


def _document(source: Source, rows: Sequence[_Row]) -> Document:
    parts: list[str] = []
    pages: list[tuple[int, str]] = []
    lines: list[tuple[int, int]] = []
    offset = 0
    header: Span | None = None
    heads = _header_row(rows)
    for number, row in enumerate(rows, 1):
        text = row_text(row.cells)
        if not text:
            continue
        pages.append((offset, f"row {number}"))
        lines.append((offset, row.line))
        parts.append(text)
        if number == heads:
            header = Span(0, offset + len(text))
        offset += len(text) + 1
    text = "\n".join(parts)
    blocks = [RawBlock(BlockKind.TABLE, 0, len(text), header=header)] if text else []
    return build_document(source, text, blocks, pages, lines=lines)


def _header_row(rows: Sequence[_Row]) -> int:
    """Number of the row that names columns (words, each its own, over more rows), 0 where none does.

    A title or remarks may stand above it: rows with a single cell.
    """
    named = [(number, _names(row.cells)) for number, row in enumerate(rows[:_LOOKED_AT], 1)]
    full = [(number, names) for number, names in named if names]
    above = next((place for place, (_, names) in enumerate(full) if len(names) > 1), 0)
    if len(full) - above < 2 or above > _MOST_ABOVE:
        return 0
    number, names = full[above]
    fits = len(names) > 1 and len(set(names)) == len(names) and not any(map(_NUMBER.fullmatch, names))
    return number if fits else 0


def _names(cells: Sequence[str]) -> list[str]:
    """The cells without white space, up to the last that holds anything."""
    names = [cell.strip() for cell in cells]
    while names and not names[-1]:
        names.pop()
    return names
