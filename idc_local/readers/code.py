"""Reads source code and settings: the text unchanged, one block a function or method, under class and name.

Blocks begin at the start of a line, so that no indentation is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from idc_local.readers.blocks import Source, build_document, line_starts
from idc_local.readers.decode import decode
from idc_local.readers.definitions import Definition, definitions_of
from idc_local.readers.kinds import PLAIN_FORMATS
from idc_local.types import Block, BlockKind, Document

_LONG_RUN = 1200
"""Characters outside of definitions that are cut at blank lines."""

_CLOSING = re.compile(r"(?:[\W_]|\bend\b)*")
"""What only ends things belongs to what stands before it."""


class CodeReader:
    """Functions, methods and what stands between them, with exact places in the unchanged source."""

    media_types = tuple(sorted({media for module, media in PLAIN_FORMATS.values() if module == "code"}))
    suffixes = tuple(sorted(suffix for suffix, (module, _) in PLAIN_FORMATS.items() if module == "code"))

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for binary data."""
        decoded = decode(data, path)
        source = Source(data, path, media_type, decoded.encoding)
        blocks = _Blocks(decoded.text)
        found = definitions_of(decoded.text, blocks.lines, blocks.starts, media_type.removeprefix("text/x-"))
        document = build_document(source, decoded.text, ())
        return replace(document, blocks=tuple(blocks.region(0, len(blocks.lines), (), found)))


READER = CodeReader()


@dataclass(init=False, slots=True)
class _Blocks:
    """Makes blocks of lines."""

    lines: list[str]
    starts: list[int]
    _text: str

    def __init__(self, text: str) -> None:
        self._text = text
        self.starts = line_starts(text)
        self.lines = [text[start:end] for start, end in pairwise([*self.starts, len(text)])]

    def region(self, first: int, last: int, path: tuple[str, ...], inner: Sequence[Definition]) -> Iterator[Block]:
        """Blocks of the lines from ``first`` to before ``last``, which stand under ``path``."""
        pending: list[tuple[int, int, tuple[str, ...], Sequence[Definition]]] = [(first, last, path, inner)]
        while pending:
            start, end, names, definitions = pending.pop()
            later: list[tuple[int, int, tuple[str, ...], Sequence[Definition]]] = []
            for own in definitions:
                later.append((start, own.first, names, ()))
                later.append((own.first, own.last, (*names, own.name), own.inner))
                start = own.last
            if definitions:
                pending += reversed([*later, (start, end, names, ())])
            else:
                yield from self._run(start, end, names)

    def _run(self, first: int, last: int, path: tuple[str, ...]) -> Iterator[Block]:
        """One block, or one for each part between blank lines where it is long and no definition."""
        for start, end in self._parts(first, last, whole=bool(path)):
            while start < end and not self.lines[start].strip():
                start += 1
            text = self._text[self.starts[start] : self._end(end)] if start < end else ""
            if not _CLOSING.fullmatch(text):
                yield Block(BlockKind.CODE, self.starts[start], self.starts[start] + len(text.rstrip()), path)

    def _parts(self, first: int, last: int, whole: bool) -> Iterator[tuple[int, int]]:
        size = self._end(last) - self.starts[first] if first < last else 0
        if whole or size <= _LONG_RUN:
            yield first, last
            return
        start = first
        for number in range(first, last):
            if not self.lines[number].strip() and self.lines[start].strip():
                yield start, number
                start = number
            elif not self.lines[start].strip():
                start = number
        yield start, last

    def _end(self, last: int) -> int:
        """Offset at which the lines before ``last`` end."""
        return self.starts[last] if last < len(self.starts) else len(self._text)
