"""The values that pass between modules: frozen, holding spans rather than copies of text.

Layer 0: standard library and numpy only. Every offset counts Unicode code points of the extracted text and every
span is half open, so that ``text[start:end]`` is what the span names.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]
"""float32 arrays: vectors are unit length along the last axis unless said otherwise."""
HalfArray = npt.NDArray[np.float16]
"""float16 arrays: unit vectors of documents, as an index keeps them. Sums over them are taken in more digits."""
Vectors = HalfArray | FloatArray
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


class Span(NamedTuple):
    """A half-open range of code points (or of sentences, where a docstring says so)."""

    start: int
    end: int


class BlockKind(StrEnum):
    """What a block of the extracted text is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    CODE = "code"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Block:
    """A run of the extracted text with one role.

    ``headings`` is the heading path that the block stands under (a heading block is the last of its own path).
    ``level`` is 1 to 6 for a heading, the nesting depth (from 1) for a list item, else 0. A heading of level 0 begins
    one of several documents in the file, as a mail in a mailbox: no chunk holds any of two.
    ``header`` is the span of a table's header row(s), which every part of the table must be able to show.
    """

    kind: BlockKind
    start: int
    end: int
    headings: tuple[str, ...] = ()
    level: int = 0
    header: Span | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """One document as read: its text, its blocks in order of place, and where lines and pages begin.

    ``id`` is the sha256 (hex) of the media type and the source bytes: equal files are one document.
    ``lines`` holds (offset, source line number from 1), ascending; ``pages`` holds (offset, page label), ascending.
    Blocks never overlap; white space between blocks belongs to none of them.
    ``warnings`` says in one line each what of the file could not be read; it is told when the file is read, not stored.
    """

    id: str
    path: str
    text: str
    blocks: tuple[Block, ...]
    media_type: str
    encoding: str
    source_sha256: str
    source_bytes: int
    lines: tuple[tuple[int, int], ...]
    pages: tuple[tuple[int, str], ...] = ()
    warnings: tuple[str, ...] = ()

    def line_at(self, offset: int) -> int:
        """Source line (from 1) that holds the code point at ``offset``."""
        found = bisect_right(self.lines, offset, key=lambda entry: entry[0]) - 1
        return self.lines[found][1] if found >= 0 else 1

    def page_at(self, offset: int) -> str | None:
        """Label of the page, slide or sheet that holds ``offset``; None where the format has none."""
        found = bisect_right(self.pages, offset, key=lambda entry: entry[0]) - 1
        return self.pages[found][1] if found >= 0 else None


class Structure:
    """Strength of the structural boundary before a sentence: the classes of ``Sentences.boundary``."""

    NONE = 0
    """inside a paragraph"""
    ITEM = 1
    """between two items of one list, two rows of one table, two lines of one code block"""
    PARAGRAPH = 2
    """between two blocks"""
    HEADING = 3
    """before a heading; deeper ranks share the class, ``Sentences.level`` tells them apart"""
    DOCUMENT = 4
    """before the next of several documents in one file: no chunk reaches across"""


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences of one document: spans that tile its text, and what is known of the gap before each.

    All arrays have shape [n]; ``starts`` and ``ends`` count code points, ``ends[i] == starts[i + 1]``, the first
    start is 0 and the last end is the length of the text (an empty or blank text has no sentences).

    tokens: word pieces of the embedder, without its special tokens.
    block: index into ``Document.blocks``.
    boundary: ``Structure`` class of the gap before the sentence (the first has HEADING).
    level: heading level 1 to 6 where ``boundary`` is HEADING, 1 where it is DOCUMENT, else 0.
    glue: True where the gap before must not be cut: in code that fits a chunk, and after a heading.
    """

    starts: IntArray
    ends: IntArray
    tokens: IntArray
    block: IntArray
    boundary: IntArray
    level: IntArray
    glue: BoolArray

    def __len__(self) -> int:
        return int(self.starts.shape[0])


@dataclass(frozen=True, slots=True)
class Limits:
    """What a chunk may hold. The maxima are hard: no input can break them.

    One sentence may hold at most ``sentence_tokens`` and ``max_chars`` / 2, which the sentence splitter ensures.
    """

    target_chars: int = 600
    max_chars: int = 2000
    max_tokens: int = 510
    sentence_tokens: int = 254


@dataclass(frozen=True, slots=True)
class Window:
    """A run of sentences that questions are asked of: 3 to 6 sentences that respect blocks.

    ``first`` and ``last`` are a half-open range of sentences; ``key`` is the intent cache's key.
    """

    first: int
    last: int
    start: int
    end: int
    key: str


@dataclass(frozen=True, slots=True)
class Intent:
    """A predicted question, with the place that it came from.

    ``start``/``end``: the source window in code points; ``evidence``: the sentence of the window nearest to the
    question. ``score``: cosine of question and evidence, as computed from the stored vectors.
    ``origin``: ``model`` or ``heuristic``.
    """

    text: str
    start: int
    end: int
    evidence: Span
    score: float
    origin: str


@dataclass(frozen=True, slots=True)
class SegmentInput:
    """What a segmentation strategy sees of a document of n sentences.

    vectors: float16 or float32 [n, d], unit rows; shape [n, 0] for strategies that need none.
    intents: float32 [m, d], unit rows. intent_windows: int64 [m, 2], half-open sentence ranges of the sources.
    intent_evidence: int64 [m], the sentence of the window that is nearest to the intent.
    lead_ins: bool [n], True where a sentence leads to the next one; None where that is not known.
    """

    sentences: Sentences
    vectors: Vectors
    intents: FloatArray
    intent_windows: IntArray
    intent_evidence: IntArray
    lead_ins: BoolArray | None = None


@dataclass(frozen=True, slots=True)
class CutReason:
    """Why the gap before a sentence was cut: each term of the objective, and the next-best gap nearby."""

    sentence: int
    terms: Mapping[str, float]
    alternative: int | None = None
    loss: float = 0.0


@dataclass(frozen=True, slots=True)
class Segmentation:
    """Half-open sentence ranges in order, int64 [k, 2]: a partition of 0..n, save that ``sliding`` ones overlap."""

    ranges: IntArray
    score: float = 0.0
    reasons: tuple[CutReason, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage: a span of one document, with everything that a result shows of it.

    ``id`` is the sha256 (hex) of document id, span and text. ``heading`` is the heading path joined with `` > ``.
    ``page`` is where it stands, in a document with pages: ``3``, ``3-4``, ``slide 2``, ``sheet Prices, row 12-30``.
    ``context`` is text that the passage needs to be understood and does not itself hold: a table's header row.
    """

    id: str
    document_id: str
    path: str
    start: int
    end: int
    text: str
    heading: str
    page: str | None
    line_start: int
    line_end: int
    tokens: int
    context: str = ""
    intents: tuple[Intent, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """The best answer-sized run of sentences inside a chunk, in the document's code points.

    ``likely``: the chunk scores near enough to the first hit to hold the answer. Lines are None where not asked for.
    """

    start: int
    end: int
    text: str
    likely: bool = True
    line_start: int | None = None
    line_end: int | None = None


@dataclass(frozen=True, slots=True)
class Explain:
    """What each signal gave to a hit: cosines (dense, sentence, intent), raw BM25, and the fused score.

    ``intent`` is None for a chunk without intents. ``tokens``: mean cosine of the query's tokens with the nearest one
    of the chunk's sentences and its heading, rare words counting most; None where it was not looked at.
    """

    dense: float
    sentence: float
    intent: float | None
    bm25: float
    fused: float
    tokens: float | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result: a chunk, its rank from 1, and the span that answers."""

    chunk: Chunk
    rank: int
    score: float
    span: AnswerSpan
    explain: Explain
    source_sha256: str = ""
    other_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """One question with its filter expression (empty: everything)."""

    text: str
    filter: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Skip:
    """A file that was left out, and why; ``hint`` names the remedy where there is one."""

    path: str
    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A line of ``doctor`` or ``verify``: status ``ok``, ``warn`` or ``fail``; ``fix`` is the command that mends it."""

    name: str
    status: str
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a run of ``index`` did. ``empty_paths``: the files that were read and hold no text."""

    new: int
    updated: int
    unchanged: int
    removed: int
    chunks: int
    sentences_embedded: int
    windows_generated: int
    intents: int
    skipped: tuple[Skip, ...]
    seconds: Mapping[str, float] = field(default_factory=dict)
    generation: int = 0
    notes: tuple[str, ...] = ()
    empty_paths: tuple[str, ...] = ()

    @property
    def empty(self) -> int:
        """How many files hold no text."""
        return len(self.empty_paths)


JsonValue = Mapping[str, Any] | Sequence[Any] | str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """What an index knows of one source file. ``document_id`` is empty where nothing could be read of it.

    ``reason``: why its newest state was skipped, if it was; then ``document_id`` names the last good version, if there
    is one. ``root``: the absolute folder that ``path`` is relative to (empty for standard input).
    """

    path: str
    size: int
    mtime_ns: int
    sha256: str
    document_id: str
    encoding: str = ""
    reason: str = ""
    hint: str = ""
    root: str = ""
