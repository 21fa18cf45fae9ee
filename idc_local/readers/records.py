"""Reads JSON and JSON Lines: every object is one unit of ``name: value`` lines under its path.

Text is what the values say, with escapes undone; each unit knows the line that it comes from. What is no JSON after all
(comments, single quotes, a cut end) is read as the plain text that it is: the whole file, or of JSON Lines the line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace

from idc_local.readers.blocks import Source, build_document, line_starts
from idc_local.readers.decode import decode
from idc_local.readers.json_scan import Frame, Scalar, Scanner
from idc_local.readers.text import text_blocks
from idc_local.types import Block, BlockKind, Document

_LINE = re.compile(r"\S[^\r\n]*")
_LONG = 300
"""Characters of a string that is a text of its own, and no mere field."""

_LONGEST_UNIT = 1500
_DEEPEST = 12
_LONGEST_NAME = 100


class RecordsReader:
    """Objects as units, under paths such as ``servers[2] > disks``."""

    media_types = ("application/json", "application/x-ndjson")
    suffixes = (".json", ".geojson", ".webmanifest", ".jsonl", ".ndjson")

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for binary data."""
        decoded = decode(data, path)
        source = Source(data, path, media_type, decoded.encoding)
        for scan in (_scan, _scan_lines) if media_type == "application/x-ndjson" else (_scan,):
            units = _Units(decoded.text)
            try:
                scan(decoded.text, units)
            except ValueError:
                continue
            return units.document(source)
        return build_document(source, decoded.text, text_blocks(decoded.text))


READER = RecordsReader()


def _scan(text: str, units: _Units) -> None:
    """All values of the text, one or more; raises ValueError where there is something else."""
    scanner = Scanner(text)
    while not scanner.at_end():
        for scalar in scanner.value():
            units.take(scanner.stack, scalar)
        units.close()


def _scan_lines(text: str, units: _Units) -> None:
    """Each line by itself: one that is no JSON is text. Raises ValueError where that is true of most lines."""
    good = bad = 0
    for found in _LINE.finditer(text):
        scanner, before = Scanner(found[0]), units.mark()
        try:
            while not scanner.at_end():
                for scalar in scanner.value():
                    units.take(scanner.stack, replace(scalar, place=found.start() + scalar.place))
                units.close()
            good += 1
        except ValueError:
            units.back(before)
            units.plain(found[0].rstrip(), found.start())
            bad += 1
    if bad > good:
        raise ValueError(f"{bad} of {bad + good} lines are no JSON")


class _Units:
    """Collects scalars into units, and units into a text."""

    def __init__(self, source: str) -> None:
        self._starts = line_starts(source)
        self._parts: list[str] = []
        self._size = 0
        self._blocks: list[Block] = []
        self._lines: list[tuple[int, int]] = []
        self._open: list[tuple[str, int]] = []
        self._open_size = 0
        self._owner: tuple[int, int, int] = (0, 0, 0)
        self._path: tuple[str, ...] = ()

    def take(self, stack: list[Frame], scalar: Scalar) -> None:
        """The next scalar, inside of what is open."""
        holder = stack[-1] if stack else None
        owner = (len(stack), id(holder), stack[-2].index if len(stack) > 1 else 0)
        long = scalar.is_string and (len(scalar.text) > _LONG or "\n" in scalar.text.strip())
        if owner != self._owner or long or self._open_size > _LONGEST_UNIT:
            self.close()
            self._owner = owner
            self._path = tuple(_names(stack, len(stack) - 1))
        text = scalar.text.strip()
        if not text:
            return
        if long:
            self._emit(BlockKind.PARAGRAPH, [(text, scalar.place)], tuple(_names(stack, len(stack))))
            return
        line = f"{holder.key}: {text}" if holder is not None and holder.is_object else text
        self._open.append((line, scalar.place))
        self._open_size += len(line)

    def close(self) -> None:
        """Ends the unit that is open."""
        if self._open:
            self._emit(BlockKind.LIST_ITEM, self._open, self._path)
        self._open = []
        self._open_size = 0
        self._owner = (0, 0, 0)

    def _emit(self, kind: BlockKind, lines: list[tuple[str, int]], path: tuple[str, ...]) -> None:
        if self._size:
            self._parts.append("\n\n")
            self._size += 2
        start = self._size
        for text, place in lines:
            if self._size > start:
                self._parts.append("\n")
                self._size += 1
            self._lines.append((self._size, bisect_right(self._starts, place)))
            self._parts.append(text)
            self._size += len(text)
        self._blocks.append(Block(kind, start, self._size, path, 1 if kind is BlockKind.LIST_ITEM else 0))

    def mark(self) -> tuple[int, int, int, int]:
        """What there is between two values, for ``back``."""
        return self._size, len(self._parts), len(self._blocks), len(self._lines)

    def back(self, mark: tuple[int, int, int, int]) -> None:
        """Forgets what was taken since ``mark``."""
        self._open, self._open_size, self._owner = [], 0, (0, 0, 0)
        self._size, parts, blocks, lines = mark
        del self._parts[parts:], self._blocks[blocks:], self._lines[lines:]

    def plain(self, text: str, place: int) -> None:
        """Takes what is no value as the text that it is."""
        self._emit(BlockKind.PARAGRAPH, [(text, place)], ())

    def document(self, source: Source) -> Document:
        """The document of all units."""
        self.close()
        document = build_document(source, "".join(self._parts), (), lines=self._lines)
        return replace(document, blocks=tuple(self._blocks))


def _names(stack: list[Frame], end: int) -> Iterator[str]:
    """The path to what the frame before ``end`` reads: keys, with the indexes of arrays behind them."""
    name = ""
    count = 0
    for frame in stack[: max(0, min(end, 2 * _DEEPEST))]:
        if frame.is_object:
            if name:
                yield name
                count += 1
            name = frame.key[:_LONGEST_NAME]
        else:
            name += f"[{frame.index}]"
        if count >= _DEEPEST:
            return
    if name:
        yield name
