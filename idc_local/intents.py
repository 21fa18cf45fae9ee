"""Predicted questions: which sentences to ask about, the prompt, and the reply's parsing.

Layer 1, pure. A very small model asks better of one sentence than of a paragraph: of 100 questions by SmolLM2-135M
68 against 62 lead back to their window, at half the cost each, and fewer are off the subject.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from idc_local.fingerprint import digest
from idc_local.types import BlockKind, Document, Sentences, Structure, Vectors, Window
from idc_local.wording import cleaned, is_mail_header, plain_sentence, unnumbered

WINDOW_CHARS = 700
MIN_WINDOW_CHARS = 200
MAX_WINDOW_SENTENCES = 6
MIN_LETTERS = 40
"""A window with fewer letters (a rule, a page number) answers no question."""
MIN_SENTENCE_LETTERS = 25
"""A sentence with fewer is not asked about."""
MIN_LETTER_SHARE = 0.6
"""Share of letters in a sentence's ink below which it is a line of figures, or of a table of contents."""

ASKED_PER_QUESTION = 2.2
"""Sentences asked about for each question of the budget: about half of the questions pass the filters."""
PASSAGE = "{passage}"
EXAMPLE = "Question:"
MAX_QUESTION_CHARS = 200
MIN_QUESTION_CHARS = 12
MIN_QUESTION_WORDS = 3
MAX_PASSAGE_CHARS = 360
EASY_CHARS = 240
"""Longer sentences are asked about where there is no other: they cost more, and their questions fit them less."""
MAX_CONTEXT_CHARS = 160
MAX_HEADING_CHARS = 100

_QUESTION = re.compile(r"^\W*(?:\d+[.)]\s*)?(?:Q\w*\s*:\s*)?(?P<text>.*?[?？؟])", re.S)
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_SELF_REFERENCE = re.compile(
    r"\b(?:the|this|that|these|above|following)\s+(?:passage|text|paragraph|author|article|document|section|excerpt)s?\b",
    re.I,
)
_SPACES = re.compile(r"\s+")
_REFERS_BACK = re.compile(
    r"(?:It|Its|This|That|These|Those|They|Their|He|His|She|Her|Such|However|But|And|So|Moreover|In addition)\b"
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A few-shot prompt cut at the passage: ``prefix`` is the same for every window; ``examples`` are its questions."""

    prefix: str
    suffix: str
    examples: frozenset[str]


def parse_prompt(template: str) -> Prompt:
    """The prompt in ``template``, which holds the mark ``{passage}`` once."""
    prefix, _, suffix = template.partition(PASSAGE)
    lines = [line.removeprefix(EXAMPLE) for line in prefix.splitlines() if line.startswith(EXAMPLE)]
    examples = frozenset(map(plain_question, lines))
    return Prompt(prefix, suffix.rstrip(), examples)


def question_budget(sentences: int) -> int:
    """Questions to predict for a document of so many sentences.

    One for three sentences up to 10, then 10 to 15 below 100 sentences and 15 to 37 at 400 (the paper asks for 10–15
    and 35–40), and from there with the square root of the length.

    >>> [question_budget(n) for n in (0, 1, 30, 100, 400, 1600)]
    [0, 1, 10, 15, 37, 74]
    """
    if sentences <= 30:
        return math.ceil(sentences / 3)
    if sentences <= 100:
        return round(10 + 5 * (sentences - 30) / 70)
    if sentences <= 400:
        return round(15 + 22 * (sentences - 100) / 300)
    return round(37 * math.sqrt(sentences / 400))


def plan_windows(document: Document, sentences: Sentences) -> tuple[Window, ...]:
    """Runs of up to six sentences and about 700 characters that no heading interrupts, in order of place."""
    windows: list[Window] = []
    first = 0
    for place in range(1, len(sentences) + 1):
        if place < len(sentences) and not _closes(sentences, first, place):
            continue
        window = _window(document, sentences, first, place)
        if windows and _joins(sentences, windows[-1], window):
            windows[-1] = _window(document, sentences, windows[-1].first, place)
        else:
            windows.append(window)
        first = place
    return tuple(window for window in windows if _letters(document.text[window.start : window.end]) >= MIN_LETTERS)


def _closes(sentences: Sentences, first: int, place: int) -> bool:
    """True where the window that began at ``first`` ends before sentence ``place``."""
    if sentences.glue[place]:
        return False
    if sentences.boundary[place] >= Structure.HEADING or place - first >= MAX_WINDOW_SENTENCES:
        return True
    return int(sentences.ends[place] - sentences.starts[first]) > WINDOW_CHARS


def _joins(sentences: Sentences, before: Window, window: Window) -> bool:
    """True where a short window belongs to the one before it."""
    small = window.end - window.start < MIN_WINDOW_CHARS
    return (
        small
        and window.end - before.start <= WINDOW_CHARS + MIN_WINDOW_CHARS
        and before.last == window.first
        and bool(sentences.boundary[window.first] < Structure.HEADING)
    )


def _window(document: Document, sentences: Sentences, first: int, last: int) -> Window:
    start, end = int(sentences.starts[first]), int(sentences.ends[last - 1])
    headings = heading_path(document, sentences, first)
    return Window(first, last, start, end, digest([document.text[start:end].strip(), list(headings)]))


def heading_path(document: Document, sentences: Sentences, first: int) -> tuple[str, ...]:
    """Headings above a sentence."""
    return document.blocks[int(sentences.block[first])].headings if document.blocks else ()


def _letters(text: str) -> int:
    return sum(char.isalpha() for char in text)


@dataclass(frozen=True, slots=True)
class Source:
    """A sentence that a question is asked of: the number of its window, and the sentence."""

    window: int
    sentence: int


def choose_sources(
    document: Document, sentences: Sentences, windows: Sequence[Window], vectors: Vectors
) -> tuple[Source, ...]:
    """Sentences to ask about so that the document's budget of questions survives the filters, in order of place.

    Each window's sentence nearest to the window's mean first, then second ones. Which windows come first goes by
    their keys, neighbours of chosen ones last: the choice is spread over the document, and an edit changes it only
    where the text changed. vectors: float16 or float32 [n, d], unit rows.
    """
    wanted = math.ceil(ASKED_PER_QUESTION * question_budget(len(sentences)))
    ranked = [_ranked(document, sentences, window, vectors) for window in windows]
    chosen: list[Source] = []
    for turn in range(max(map(len, ranked), default=0)):
        for number in _spread([window.key for window in windows]):
            if turn < len(ranked[number]) and len(chosen) < wanted:
                chosen.append(Source(number, ranked[number][turn]))
    return tuple(sorted(chosen, key=lambda source: source.sentence))


def _spread(keys: Sequence[str]) -> list[int]:
    """Places in the order of their keys, where a place next to an earlier one comes after all that are not."""
    order = sorted(range(len(keys)), key=lambda place: keys[place])
    apart: set[int] = set()
    for place in order:
        if not {place - 1, place + 1} & apart:
            apart.add(place)
    return [place for place in order if place in apart] + [place for place in order if place not in apart]


def _ranked(document: Document, sentences: Sentences, window: Window, vectors: Vectors) -> list[int]:
    """Sentences of a window that can be asked about: short ones first, then the nearest to the window's mean."""
    usable = [place for place in range(window.first, window.last) if _askable(document, sentences, place)]
    own = vectors[window.first : window.last].astype(np.float32)
    cosines = dict(enumerate(np.round(own @ own.mean(axis=0), 4).tolist(), start=window.first))
    long = {place: sentences.ends[place] - sentences.starts[place] > EASY_CHARS for place in usable}
    return sorted(usable, key=lambda place: (long[place], -cosines[place], place))


def _askable(document: Document, sentences: Sentences, place: int) -> bool:
    block = document.blocks[int(sentences.block[place])] if document.blocks else None
    if block is not None and block.kind in (BlockKind.HEADING, BlockKind.CODE, BlockKind.TABLE):
        return False
    if is_mail_header(document.text[int(sentences.starts[place]) : int(sentences.ends[place])]):
        return False
    text = _text(document, sentences, place)
    letters = _letters(text)
    return letters >= MIN_SENTENCE_LETTERS and letters >= MIN_LETTER_SHARE * len(text.replace(" ", ""))


def _text(document: Document, sentences: Sentences, place: int) -> str:
    return _SPACES.sub(" ", document.text[int(sentences.starts[place]) : int(sentences.ends[place])]).strip()


def source_prompt(document: Document, sentences: Sentences, source: int, prompt: Prompt) -> str:
    """What follows the shared prefix for one sentence: its headings, itself, and the prompt's suffix.

    A sentence that begins with a word which refers back is given with the end of the one before it.
    """
    path = (unnumbered(cleaned(heading)) for heading in heading_path(document, sentences, source)[-2:])
    headings = " > ".join(path)[:MAX_HEADING_CHARS]
    text = plain_sentence(_text(document, sentences, source))[:MAX_PASSAGE_CHARS]
    same_block = source > 0 and sentences.block[source] == sentences.block[source - 1]
    if same_block and _REFERS_BACK.match(text):
        text = f"{plain_sentence(_text(document, sentences, source - 1))[-MAX_CONTEXT_CHARS:]} {text}"
    return f"{f' ({headings})' if headings else ''}: {text}{prompt.suffix}"


def parse_reply(reply: str, examples: frozenset[str]) -> tuple[str, ...]:
    r"""Questions in a model's reply, in order: well-formed, about the matter itself, and none of the examples.

    >>> parse_reply("When was it built?\n2. Who is the author of this text?\n- When was it  built?\nNo.", frozenset())
    ('When was it built?',)
    """
    found: dict[str, str] = {}
    for line in reply.splitlines():
        match = _QUESTION.match(line.strip())
        if match is None:
            continue
        text = _SPACES.sub(" ", match["text"]).strip("\"'“”«»*- ")
        plain = plain_question(text)
        if _usable(text) and plain not in examples:
            found.setdefault(plain, text)
    return tuple(found.values())


def _usable(text: str) -> bool:
    if len(text) > MAX_QUESTION_CHARS or "\ufffd" in text or _SELF_REFERENCE.search(text):
        return False
    if len(_UNSPACED.findall(text)) >= MIN_QUESTION_WORDS:
        return True
    return len(text) >= MIN_QUESTION_CHARS and len(text.split()) >= MIN_QUESTION_WORDS


def plain_question(text: str) -> str:
    """Text as copies and repeats are compared: lower case, letters and digits only."""
    return " ".join(re.findall(r"\w+", text.casefold()))
