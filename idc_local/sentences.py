"""Sentences of a document: spans that tile its text, cut inside blocks, with the structure of the gaps between them.

Owner of sentencex. Pure. Every block boundary is a sentence boundary; a list item, a table row and a code block are
one sentence each while they fit. White space belongs to the sentence before it, and so does a block of marks alone
(a rule, a row of stars). No sentence is larger than the limits, whatever the input: white space beyond them makes
sentences of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from sentencex import get_sentence_boundaries

from idc_local.abbreviations import repaired
from idc_local.cutting import Cutter, Room
from idc_local.line_ends import LINE_END
from idc_local.ports import TokenCounter
from idc_local.types import Block, BlockKind, Document, Limits, Sentences, Span, Structure

_SURROGATE = re.compile("[\ud800-\udfff]")
_VISIBLE = re.compile(r"\S")
_WORD = re.compile(r"[^\W_]")
_ROW_END = re.compile(rf"{LINE_END.pattern}(?:[ \t]*{LINE_END.pattern})*")
_LINE_BREAK = re.compile(r"\n")
_MARKDOWN_BREAK = re.compile(rf"(?:(?<! ) {{2,}}|\\){LINE_END.pattern}[ \t]*")
_WRAPPED = {
    "text/markdown": _MARKDOWN_BREAK,
    "application/x-ipynb+json": _MARKDOWN_BREAK,
    "application/mbox": None,
}
"""What breaks a line on purpose where the lines of the source are kept, of types whose readers else join them."""
_LONGEST_ORNAMENT, _LONGEST_CAPTION = 120, 200
_CAPTION = re.compile(r"[\W_]*(?:tab(?:\.|le|leau|la|el|elle|ela|ella)|таблица|表)[ \xa0]?\d", re.IGNORECASE)
"""The number of a table: ``Table 3``, ``Tab. 3``, ``Tabelle 3``, ``Tableau 3``, ``Tabla 3``, ``表3``."""
_NO_END = re.compile(r"[^\W_][\"'”’»)\]*_]*\s*\Z")
_SLICE = 4000
_LOOK_AHEAD = 100


@dataclass(slots=True)
class _Draft:
    """Sentences in the making: parallel lists, one entry a sentence; ``tokens`` is filled once they are counted."""

    starts: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    boundary: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)

    def add(self, start: int, block: int, boundary: int, tokens: int = 0) -> None:
        self.starts.append(start)
        self.blocks.append(block)
        self.boundary.append(boundary)
        self.tokens.append(tokens)

    def spans(self, size: int) -> list[Span]:
        """The sentences, which tile a text of ``size`` code points."""
        return [Span(start, end) for start, end in pairwise([*self.starts, size])]


def split_sentences(document: Document, counter: TokenCounter, limits: Limits, language: str) -> Sentences:
    """The sentences of ``document``; ``language`` (ISO 639-1) chooses the rules for abbreviations."""
    text = _SURROGATE.sub("\ufffd", document.text)
    if not text.strip():
        return _arrays((), _Draft(), 0, limits, frozenset())
    blocks = document.blocks or (Block(BlockKind.PARAGRAPH, 0, len(text)),)
    captions = _captions(text, blocks)
    draft = _drafted(text, blocks, captions, document.media_type, language)
    draft = _fitted(text, blocks, draft, counter, limits)
    return _arrays(blocks, draft, len(text), limits, captions)


def _captions(text: str, blocks: Sequence[Block]) -> frozenset[int]:
    """Paragraphs that are the caption of the table below: with its number, or one short line without an end.

    Rows of plain text are list items; over these a caption has a number.
    """
    found = set[int]()
    for index, (block, below) in enumerate(pairwise(blocks)):
        table = below.kind is BlockKind.TABLE
        size = block.end - block.start
        if block.kind is not BlockKind.PARAGRAPH or size > _LONGEST_CAPTION:
            continue
        if table or below.kind is BlockKind.LIST_ITEM:
            said = text[block.start : block.end]
            if _CAPTION.match(said) or (table and "\n" not in said and _NO_END.search(said)):
                found.add(index)
    return frozenset(found)


def _drafted(text: str, blocks: Sequence[Block], captions: frozenset[int], media_type: str, language: str) -> _Draft:
    """Every block in sentences, without regard to their size."""
    draft = _Draft()
    for index, block in enumerate(blocks):
        first = _gap(blocks, index)
        if first < Structure.HEADING and draft.starts and _is_ornament(text, block):
            continue
        inner = Structure.ITEM if block.kind is BlockKind.TABLE else Structure.NONE
        starts = [block.start] if index in captions else _starts(text, block, media_type, language)
        for place, start in enumerate(starts):
            draft.add(start, index, inner if place else first)
    draft.starts[0] = 0
    draft.boundary[0] = Structure.HEADING
    return draft


def _gap(blocks: Sequence[Block], index: int) -> int:
    """The class of the gap before a block."""
    kind = blocks[index].kind
    if kind is BlockKind.HEADING:
        return Structure.HEADING if blocks[index].level else Structure.DOCUMENT
    same_list = kind is BlockKind.LIST_ITEM and index > 0 and blocks[index - 1].kind is kind
    return Structure.ITEM if same_list else Structure.PARAGRAPH


def _is_ornament(text: str, block: Block) -> bool:
    prose = block.kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM)
    return prose and block.end - block.start <= _LONGEST_ORNAMENT and _WORD.search(text, block.start, block.end) is None


def _starts(text: str, block: Block, media_type: str, language: str) -> list[int]:
    """Where the sentences of a block begin."""
    if block.kind is BlockKind.TABLE:
        return _row_starts(text, block)
    if block.kind is not BlockKind.PARAGRAPH:
        return [block.start]
    return [
        start
        for first, last in pairwise([block.start, *_hard_breaks(text, block, media_type), block.end])
        for start in _sentence_starts(text, first, last, language)
    ]


def _hard_breaks(text: str, block: Block, media_type: str) -> list[int]:
    """Where lines begin that the author has broken on purpose; one that goes on in lower case is no new sentence."""
    joined = media_type == "text/html" or media_type.startswith("application/")
    pattern = _WRAPPED.get(media_type, _LINE_BREAK if joined else None)
    if pattern is None:
        return []
    ends = (found.end() for found in pattern.finditer(text, block.start, block.end))
    return [end for end in ends if not text[end].islower()]


def _sentence_starts(text: str, start: int, end: int, language: str) -> list[int]:
    ends = _sentence_ends(text, start, end, language)
    if not ends:
        return [start]
    starts = [start, *(_next_word(text, place, end) for place in ends), end]
    spans = [Span(first, last) for first, last in pairwise(starts) if first < last]
    return [span.start for span in repaired(text, spans, language)]


def _sentence_ends(text: str, start: int, end: int, language: str) -> list[int]:
    """Ends of all sentences but the last.

    Long paragraphs are given to the splitter in slices that begin with a sentence: rows of quotation marks cost it the
    square of their number.
    """
    ends: list[int] = []
    place = start
    while place < end:
        stop = min(end, place + _SLICE)
        found = get_sentence_boundaries(language, text[place:stop])[:-1]
        cuts = [place + part["end_index"] for part in found]
        if stop == end:
            return [*ends, *cuts]
        # What a cut near the end of the slice is based on may go on behind it.
        sure = [cut for cut in cuts if cut < stop - _LOOK_AHEAD] or cuts
        ends += sure
        place = sure[-1] if sure else stop
    return ends


def _next_word(text: str, start: int, end: int) -> int:
    """The first place from ``start`` that is no white space: what there is belongs to the sentence before."""
    found = _VISIBLE.search(text, start, end)
    return found.start() if found else end


def _row_starts(text: str, block: Block) -> list[int]:
    """Rows of a table; its header rows are one."""
    header_end = block.header.end if block.header else block.start
    starts = [found.end() for found in _ROW_END.finditer(text, header_end, block.end)]
    return [block.start, *(start for start in starts if start < block.end)]


def _fitted(text: str, blocks: Sequence[Block], draft: _Draft, counter: TokenCounter, limits: Limits) -> _Draft:
    """The draft with everything that is too large for one sentence cut, and counted."""
    cutter = Cutter(counter, Room(min(limits.sentence_tokens, limits.max_tokens), max(1, limits.max_chars // 2)))
    spans = draft.spans(len(text))
    counts = counter.count([text[span.start : span.end] for span in spans])
    result = _Draft()
    for index, (span, tokens) in enumerate(zip(spans, counts, strict=True)):
        block = draft.blocks[index]
        if cutter.fits(span, int(tokens)):
            result.add(span.start, block, draft.boundary[index], int(tokens))
            continue
        code = blocks[block].kind is BlockKind.CODE
        for part, size in cutter.cut(text, span):
            inner = Structure.ITEM if code and text[part.start - 1] in "\r\n" else Structure.NONE
            result.add(part.start, block, draft.boundary[index] if part.start == span.start else inner, size)
    return result


def _arrays(blocks: Sequence[Block], draft: _Draft, size: int, limits: Limits, captions: frozenset[int]) -> Sentences:
    starts = np.array(draft.starts, dtype=np.int64)
    boundary = np.array(draft.boundary, dtype=np.int64)
    levels = np.array([blocks[block].level or 1 for block in draft.blocks], dtype=np.int64)
    return Sentences(
        starts=starts,
        ends=np.append(starts[1:], size)[: len(starts)].astype(np.int64),
        tokens=np.array(draft.tokens, dtype=np.int64),
        block=np.array(draft.blocks, dtype=np.int64),
        boundary=boundary,
        level=np.where(boundary >= Structure.HEADING, levels, 0),
        glue=np.array(_glue(blocks, draft, size, limits, captions), dtype=np.bool_),
    )


def _glue(blocks: Sequence[Block], draft: _Draft, size: int, limits: Limits, captions: frozenset[int]) -> list[bool]:
    """The gaps that may not be cut: each belongs to a run of sentences that fits one chunk.

    Runs are grown from their end, so that of a chain of headings the last stays with what it heads.
    """
    sizes = [span.end - span.start for span in draft.spans(size)]
    whole = _whole_code(blocks, draft, sizes, limits)
    glue = [False] * len(sizes)
    tokens = chars = 0
    for index in range(len(sizes) - 1, -1, -1):
        tokens += draft.tokens[index]
        chars += sizes[index]
        if index == 0 or not _wanted(blocks, draft, index, whole, captions):
            tokens = chars = 0
            continue
        fits = tokens + draft.tokens[index - 1] <= limits.max_tokens and chars + sizes[index - 1] <= limits.max_chars
        glue[index] = fits
        if not fits:
            tokens = chars = 0
    return glue


def _wanted(blocks: Sequence[Block], draft: _Draft, index: int, whole: set[int], captions: frozenset[int]) -> bool:
    """True where the gap before a sentence should not be cut: after a heading, caption or table header, inside code."""
    before = draft.blocks[index - 1]
    if draft.boundary[index] == Structure.DOCUMENT:
        return False
    if blocks[before].kind is BlockKind.HEADING or before in captions:
        return True
    if before != draft.blocks[index]:
        return False
    header = blocks[before].header
    return before in whole or (header is not None and draft.starts[index - 1] < header.end)


def _whole_code(blocks: Sequence[Block], draft: _Draft, sizes: list[int], limits: Limits) -> set[int]:
    """Code blocks that fit one chunk."""
    tokens: dict[int, int] = {}
    chars: dict[int, int] = {}
    for block, count, size in zip(draft.blocks, draft.tokens, sizes, strict=True):
        if blocks[block].kind is BlockKind.CODE:
            tokens[block] = tokens.get(block, 0) + count
            chars[block] = chars.get(block, 0) + size
    return {block for block in tokens if tokens[block] <= limits.max_tokens and chars[block] <= limits.max_chars}
