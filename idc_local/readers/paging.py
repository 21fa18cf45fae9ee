"""Counts the pages of formats that mark in their text where a page began when it was last laid out."""

from __future__ import annotations

from idc_local.readers.draft import Draft, one_line

BREAK = "\x0c"
"""Stands in gathered text where a page begins."""


class Paging:
    """The page that is being read; 0 where the document marks none."""

    def __init__(self, draft: Draft, marked: bool) -> None:
        self._draft = draft
        self.number = int(marked)
        if marked:
            draft.page("1")

    def split(self, raw: str) -> tuple[str, list[tuple[int, str]]]:
        """The text without marks, and the pages that begin inside it; one before its first word begins with it."""
        if BREAK not in raw:
            return raw, []
        text, *rest = raw.split(BREAK)
        marks: list[tuple[int, str]] = []
        for part in rest:
            self.number += 1
            if one_line(text):
                text = "\n".join(" ".join(line.split()) for line in text.split("\n")).strip() + " "
                marks.append((len(text), str(self.number)))
                text += part.lstrip()
            else:
                self._draft.page(str(self.number))
                text = part
        return text, marks

    def passed(self, raw: str) -> str:
        """The text of a part that has no page of its own; its marks are counted."""
        self.number += raw.count(BREAK)
        return raw.replace(BREAK, " ")
