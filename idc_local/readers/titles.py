"""What one line says of itself: a list item, a speaker's turn, the title of a section. Pure.

A title is told by its marks, its number, the word before it (in many languages) or its capitals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

ITEM = re.compile(
    r"(?:(?:[-*+•‣◦▪–·]|\(?(?:\d{1,3}|[a-z]|[ivxl]{1,5})[.)]|\((?:\d{1,3}|[A-Z])\))[ \t]+|o[ \t]{2,}"
    r"|（[\d一二三四五六七八九十]{1,3}）\s?|[①-⑳]\s?)\S"
)
_DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4},?[ T\u202f]"
_TIME = r"\d{1,2}:\d\d(?::\d\d)?(?:[ \u202f]?[AaPp]\.?[Mm]\.?)?\]?[ \t]+(?:[-–][ \t]+)?"
SPEAKER = re.compile(
    rf"[\u200e\u200f]?\[?{_DATE}{_TIME}\S"
    rf"|(?:\[?{_TIME})?"
    r"(?:[A-Z][\w.'’-]*(?:[ \t][\w.'’&()-]+){0,4}:[ \t]|<[@+]?[^\W\d][\w.|-]{0,30}>[ \t])"
)
DOTS = re.compile(r"\.{4}|(?:\. ){4}|\t\d+\Z")
SENTENCE_END = re.compile(r"[.!?。！？…:;,，；：、][\"'”’»)\]」』]*\Z")
_NUMBER = re.compile(r"(?:(?:Article|ARTICLE|Section|SECTION|Chapter|CHAPTER|§)[ \t]+)?(\d+(?:\.\d+)*|[IVXLC]+(?=\.))")
_BARE = re.compile(r"\d+[ \t]")
_DAY = re.compile(r"\d{1,2}\.?[ \t]+(?:[^\W\d]+\.?,?[ \t]+){1,3}\d{4}")
_NUMBERED = re.compile(_NUMBER.pattern + r"[.):]?[ \t]+(?=[^\W\d_])")
_HAN = "[一二三四五六七八九十]{1,3}"
_HAN_NUMBERED = re.compile(rf"(?:({_HAN})[、．]|[（(]{_HAN}[）)])\s?(?=[^\W\d_])")
NUMBERED_TITLE = re.compile(_NUMBERED.pattern + r"[^\W\d_a-z][\w'’-]*(?:,? (?:[A-Z\d][\w'’-]*|[a-z]{1,4}\b)){0,8}\.")
_WORDED = re.compile(r"(?:Chapter|Section|Article|Appendix|Annex|Part|Exhibit|Schedule)[ \t]+[\dIVXLCA-Z]{1,6}\b", re.I)
_CHAPTER = re.compile(
    r"(?:(?:Kapitel|TOP|Tagesordnungspunkt|Abschnitt|Artikel|Teil|Anhang|Anlage|Chapitre|Annexe|Partie|Titre|"
    r"Capítulo|Sección|Artículo|Anexo|"
    r"Título|Capitolo|Sezione|Articolo|Allegato|Hoofdstuk|Bijlage|Rozdział|Глава|Раздел|Статья|Часть|Приложение)"
    r"[ \t]+(?:№[ \t]*)?(?:\d+(?:\.\d+)*|[IVXLC]+|[A-Z])\b"
    r"|第[ \t]?[\d一二三四五六七八九十百零〇]+[ \t]?[章节節編编部篇款条條回]|제[ \t]?\d+[ \t]?[장절조편])"
)
_EQUALS = re.compile(r"((?:=[ \t]?){1,6})[ \t]*([^=\s](?:[^=]*[^=\s])?)[ \t]*((?:[ \t]?=){1,6})")
_HASHES = re.compile(r"(#{1,6})[ \t]+(\S.*?)[ \t#]*")
_CASELESS = re.compile(r"[\u0590-\u08ff\u0900-\u0e7f\u3040-\u9fff\uac00-\ud7af]")

MAX_TITLE = 60
_MAX_HAN_TITLE = 30
_MAX_TITLE_WORDS = 9
MIN_BODY = 80
"""Characters of a text that is long enough to need no full stop under a title."""


def marked(title: str) -> tuple[int, str] | None:
    """Headings that say so: ``== Title ==`` and ``# Title``."""
    found = _EQUALS.fullmatch(title)
    if found is not None and found[1].count("=") == found[3].count("="):
        return found[1].count("="), found[2]
    found = _HASHES.fullmatch(title)
    return (len(found[1]), found[2]) if found is not None else None


def is_numbered(title: str) -> bool:
    """True for a section's number and a title that begins like one."""
    if is_han_numbered(title):
        return True
    found = _NUMBERED.match(title)
    return found is not None and (title[found.end()].isupper() or _CASELESS.match(title[found.end()]) is not None)


def is_counted(title: str) -> bool:
    """True for a section's number that no house and no day of a month has: ``3.``, ``3.2``, ``§ 3``; no date."""
    return is_numbered(title) and not _BARE.match(title) and not _DAY.fullmatch(title)


def is_han_numbered(title: str) -> bool:
    """True for a short line that begins as the sections of Chinese and Japanese papers do: ``三、`` and ``（三）``."""
    return len(title) <= _MAX_HAN_TITLE and _HAN_NUMBERED.match(title) is not None


def by_number(title: str, neighbours: Sequence[str]) -> tuple[int, str] | None:
    """A section's heading, unless a neighbour is a short line numbered alike: then both are items of a list."""
    number = _number_of(title)
    if any(_number_of(other) == number for other in neighbours if len(other) < MIN_BODY):
        return None
    return min(6, 2 + (number[1] if number else 0)), title


def _number_of(title: str) -> tuple[bool, int] | None:
    """Whether the number that a line begins with is a Han one, and how deep it is; None where there is none."""
    found = _HAN_NUMBERED.match(title)
    if found is not None:
        return True, 0 if found[1] else 1
    found = _NUMBERED.match(title)
    return (False, found[1].count(".")) if found is not None else None


def by_shape(title: str, follower: str, first: bool, tight: bool) -> tuple[int, str] | None:
    """A heading that its words or its letters tell; ``first``: at the top of a text, ``tight``: no blank line below."""
    if is_worded(title) and len(title) <= MAX_TITLE:
        return 2, title
    if SPEAKER.match(title + " ") or ITEM.match(title):
        return None
    if is_capitals(title):
        return (1 if first else 2), title
    if not tight and _is_title(title, follower, first):
        return (1 if first else 3), title
    return None


def is_worded(title: str) -> bool:
    """True for a title that begins with the word and number of a chapter, in one of many languages."""
    return (_WORDED.match(title) or _CHAPTER.match(title)) is not None


def is_capitals(title: str) -> bool:
    """True for words in capitals alone."""
    letters = [char for char in title if char.isalpha()]
    return len(letters) >= 4 and all(char.isupper() for char in letters) and _is_wordy(title)


def _is_wordy(title: str) -> bool:
    """True where letters outnumber everything else: no reference, no formula."""
    return sum(map(str.isalpha, title)) > 0.6 * sum(not char.isspace() for char in title)


def _is_title(title: str, follower: str, first: bool) -> bool:
    """True for a short line that begins like a title; the first line of a text may be longer, over anything."""
    words = title.split()
    long = len(title) > MAX_TITLE or len(words) > _MAX_TITLE_WORDS or len(follower) < MIN_BODY
    if (long and not first) or ": " in title or not _is_wordy(title):
        return False
    if _CASELESS.match(title):
        return len(title) <= 20
    return title[0].isupper() and not any(char in title for char in "@{}|<>=_\\/")
