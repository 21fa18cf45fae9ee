"""Joins printed lines: mends words that a line end has parted, and knows the words of the document. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"\w+(?:-\w+)*")
_LAST = re.compile(r"(\w+(?:-\w+)*)[-\u2010]?$")
_FIRST = re.compile(r"\w+")
_WIDE = re.compile(
    r"[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uf900-\ufaff\uff01-\uff60\U00020000-\U0003fffd]"
)
LEADERS = re.compile(r"\.{4,}|(?:\. ?){5,}|…{2,}")
"""Dots that lead to a page number."""
ENDS = re.compile(r"[.!?…。！？؟۔।:;][\"'”’»›)\]\d]*$")


class Words:
    """The words of a document, which tell whether ``well-`` and ``known`` are one word or two."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._known: set[str] = set()
        for text in texts:
            self._known.update(_WORD.findall(text.casefold()))

    def joined(self, text: str, more: str, hyphen: bool) -> str:
        """``text`` and the line that follows it; ``hyphen``: a hyphen at its end has been taken off."""
        if not text or not more:
            return text or more
        if not hyphen and text[-1] in "-\u2010" and len(text) > 1 and text[-2].isalpha():
            return self._mended(text[:-1], more)
        if hyphen:
            return self._mended(text, more)
        if _WIDE.match(text[-1]) and _WIDE.match(more[0]):
            return text + more
        if text[-1] in "/\u2014" and more[0].isalnum():
            return text + more
        return f"{text} {more}"

    def _mended(self, text: str, more: str) -> str:
        before, after = _LAST.search(text), _FIRST.match(more)
        if before is None or after is None:
            return f"{text}-{more}" if after is not None else f"{text}- {more}"
        left, right = before[1].casefold(), after[0].casefold()
        if left + right in self._known:
            return text + more
        if f"{left}-{right}" in self._known or not more[0].islower():
            return f"{text}-{more}"
        return text + more
