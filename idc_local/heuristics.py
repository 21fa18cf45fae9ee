"""Questions without a model: from headings, and from sentences that define a term.

Layer 1, pure. They stand in for predicted questions, and are marked as what they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from idc_local.intents import plain_question
from idc_local.types import BlockKind, Document, Sentences, Window
from idc_local.wording import cleaned, unnumbered

PER_WINDOW = 2
LONGEST_HEADING = 120
"""A heading with more characters is a paragraph in disguise."""
LEAST_LETTERS = 3
LONGEST_ACRONYM = 5
PLAIN_TEXT = "text/plain"

_ASKS = re.compile(r"(?:what|how|why|who)\b", re.IGNORECASE)
_DEFINITION = re.compile(
    r"(?:(?P<article>An?|The)\s+(?=\w)|(?=[A-Z]))(?P<term>[\w-]+(?:\s+[\w-]+){0,3}?)\s+"
    r"(?P<verb>is|are|means)\s+(?:an?|the)\s"
)
_ARTICLES = frozenset({"a", "an", "the"})
_WORDS = """
    a an the another each every either neither its their his her our your my such some any no one both all many most
    few other others several this that these those it they he she we you i there here which what who where when while
    whereas if because although though as so but and or nor for in on at by with without from to of into over under
    between not only even also then thus hence now once after before first second third next last finally however
    moreover therefore yet still often usually sometimes today note see never always perhaps nothing everything
    something anything nobody everybody
"""
_NO_TERM = frozenset(_WORDS.split())
"""Words that a term to be defined neither begins nor ends with."""


def heuristic_intents(
    document: Document, sentences: Sentences, windows: Sequence[Window], language: str
) -> list[tuple[int, str]]:
    """Intents without a model: (number of the window, text), at most two a window.

    The innermost heading of a section, as a question where the language is English, for the first window below it;
    and "What is X?" for a sentence that begins "X is a …".
    """
    found: list[tuple[int, str]] = []
    seen: set[str] = set()
    for number, window in enumerate(windows):
        candidates = _heading_questions(document, sentences, window, language)
        if language == "en":
            candidates += _definition_questions(document, sentences, window)
        for text in candidates[:PER_WINDOW]:
            plain = plain_question(text)
            if plain not in seen:
                seen.add(plain)
                found.append((number, text))
    return found


def _heading_questions(document: Document, sentences: Sentences, window: Window, language: str) -> list[str]:
    block = document.blocks[int(sentences.block[window.first])] if document.blocks else None
    if block is None or block.kind is not BlockKind.HEADING or not block.headings:
        return []
    guessed = document.media_type == PLAIN_TEXT
    title = heading_topic(block.headings[-1], guessed=guessed)
    if not title:
        return []
    return [heading_question(title) if language == "en" else title]


def heading_topic(heading: str, *, guessed: bool = False) -> str:
    """What a heading speaks of, without markup and numbers; empty where it names nothing.

    guessed: the heading was recognised by its looks, so that one word in capitals may be a mere beginning.

    >>> heading_topic('1.       <a id="x"></a>DEFINITIONS'), heading_topic("WHEREAS", guessed=True)
    ('DEFINITIONS', '')
    """
    bare = cleaned(heading).rstrip(" :.,;–—-").lstrip(" –—-")
    title = unnumbered(bare)
    if len(title) > LONGEST_HEADING or sum(char.isalpha() for char in title) < _least_letters(title):
        return ""
    lone = title == bare and " " not in title and title.isupper() and title.isascii()
    return "" if guessed and lone else title


def _least_letters(title: str) -> int:
    """Scripts without spaces say with one sign what takes a word elsewhere."""
    return LEAST_LETTERS if title.isascii() else 1


def heading_question(title: str) -> str:
    """A topic as an English question.

    >>> heading_question("The seal"), heading_question("What went well")
    ('What does the document say about the seal?', 'What went well?')
    """
    if title.endswith("?"):
        return title
    if _ASKS.match(title) and " " in title:
        return f"{title}?"
    topic = re.sub(r"^about\s+(?=\w)", "", title, flags=re.IGNORECASE)
    return f"What does the document say about {_in_a_sentence(topic)}?"


def _in_a_sentence(topic: str) -> str:
    """Shouting is lowered, and a first letter that is large for being first; names are left as they are."""
    words = topic.split()
    if topic.isupper() and not any(char.isdigit() for char in topic):
        return topic.lower() if len(words) > 1 or len(topic) > LONGEST_ACRONYM else topic
    if (len(words) == 1 and topic.istitle()) or words[0].lower() in _ARTICLES:
        return topic[0].lower() + topic[1:]
    return topic


def _definition_questions(document: Document, sentences: Sentences, window: Window) -> list[str]:
    found = []
    for place in range(window.first, window.last):
        text = cleaned(document.text[int(sentences.starts[place]) : int(sentences.ends[place])])
        match = _DEFINITION.match(text)
        if match and _is_term(match["term"]):
            article = f"{match['article'].lower()} " if match["article"] else ""
            found.append(f"What {'are' if match['verb'] == 'are' else 'is'} {article}{match['term']}?")
    return found


def _is_term(term: str) -> bool:
    words = term.split()
    if {words[0].lower(), words[-1].lower()} & _NO_TERM or not any(char.isalpha() for char in term):
        return False
    return not (len(words) == 1 and term.isupper() and len(term) > LONGEST_ACRONYM)
