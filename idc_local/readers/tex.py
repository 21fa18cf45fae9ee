r"""Reads LaTeX: the text that a page would show, with sections, lists, tables and verbatim parts. Expands no macro.

What stands before ``\begin{document}`` is left out but for the title and the authors; so are comments, labels and the
keys of citations. Mathematics stays as it was written. ``\input`` and its like are never followed.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from idc_local.readers.blocks import Source, build_document, line_starts
from idc_local.readers.decode import decode
from idc_local.readers.draft import Draft, Row, one_line
from idc_local.readers.tex_text import VERBATIM, argument, plain, without_comments
from idc_local.types import Document

_LEVELS = {
    "part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5, "subparagraph": 6,
    "frametitle": 3, "title": 1, "author": 0, "date": 0, "caption": 0,
}  # fmt: skip
_MARK = re.compile(
    rf"\\begin\{{({VERBATIM})\*?\}}(.*?)\\end\{{\1\*?\}}"
    r"|\\begin\{(tabular[x*]?|longtable|tabulary|array)\*?\}(.*?)\\end\{\3\*?\}"
    rf"|\\({'|'.join(_LEVELS)})\*?\s*(?:\[[^\[\]]*\]\s*)?(?=\{{)"
    r"|\\(begin|end)\{([\w*]{1,40})\}"
    r"|(\\item\b(?:\s*\[[^\[\]]{0,200}\])?)"
    r"|(\n[ \t]*\n\s*)",
    re.S,
)
_LISTS = frozenset(("itemize", "enumerate", "description", "compactitem", "compactenum", "thebibliography"))
_MATHEMATICS = frozenset(("equation", "align", "gather", "multline", "eqnarray", "displaymath", "math", "flalign"))
_HIDDEN = frozenset(("tikzpicture", "comment", "filecontents"))
_ROW_END = re.compile(r"\\\\(?:\[[^\[\]]*\])?|\\tabularnewline\b")
_CELL_END = re.compile(r"(?<!\\)&")
_RULE = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|cline\{[^}]*\}|cmidrule(?:\([^)]*\))?\{[^}]*\}|end(?:first)?head)"
)
_OPTIONS = re.compile(r"\s*(?:\[[^\[\]]*\]|\{[^{}]*\}|\{(?:[^{}]|\{[^{}]*\})*\})")


class TexReader:
    """Sections, paragraphs, list items, tables and code of a document or a part of one."""

    media_types = ("text/x-tex",)
    suffixes = (".tex", ".latex", ".ltx")

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for binary data."""
        decoded = decode(data, path)
        writer = _Writer(without_comments(decoded.text))
        writer.write()
        text, blocks, pages = writer.draft.finish()
        starts = line_starts(decoded.text)
        lines = [(block.start, bisect_right(starts, place)) for block, place in zip(blocks, writer.places, strict=True)]
        return build_document(
            Source(data, path, media_type, decoded.encoding), text, blocks, pages, lines=[(0, 1), *lines][-len(lines) :]
        )


READER = TexReader()


class _Writer:
    """Goes through a source, as long as it was, from mark to mark; ``places``: where each block of the draft begins."""

    def __init__(self, source: str) -> None:
        self.draft = Draft()
        self.places: list[int] = []
        self._source = source
        self._lists: list[str] = []
        self._in_item = False
        self._hidden = 0
        self._text: list[str] = []
        self._from = 0

    def write(self) -> None:
        """Writes the whole document."""
        begin = self._source.find("\\begin{document}")
        end = self._source.find("\\end{document}", max(begin, 0))
        if begin >= 0:
            self._head(self._source[:begin])
        self._body(begin + len("\\begin{document}") if begin >= 0 else 0, end if end >= 0 else len(self._source))

    def _head(self, preamble: str) -> None:
        for name in ("title", "author", "date"):
            found = re.search(rf"\\{name}\s*(?=\{{)", preamble)
            if found is not None:
                inside, _ = argument(preamble, found.end())
                self._titled(name, inside, found.start())

    def _body(self, place: int, end: int) -> None:
        while place < end:
            mark = _MARK.search(self._source, place, end)
            self._take(place, mark.start() if mark else end)
            if mark is None:
                break
            place = self._mark(mark)
        self._flush()

    def _take(self, start: int, end: int) -> None:
        """Running text, to be written with what follows it."""
        if self._hidden or start >= end:
            return
        if not self._text:
            self._from = start
        self._text.append(self._source[start:end])

    def _flush(self) -> None:
        """Ends the paragraph or item that is open."""
        raw = "".join(self._text)
        lead = len(raw) - len(raw.lstrip())
        text = plain(raw)
        self._text = []
        if text:
            if self._in_item and self._lists:
                self.draft.item(text, len(self._lists))
            else:
                self.draft.paragraph(text)
            self._written(self._from + lead)
        self._in_item = False

    def _written(self, place: int) -> None:
        """What the draft has more of begins at ``place``: nothing, where no character of it could be seen."""
        self.places += [place] * (self.draft.count - len(self.places))

    def _mark(self, mark: re.Match[str]) -> int:
        """Deals with a mark, and returns where to go on."""
        verbatim, code, table, rows, command, edge, name, item, _ = mark.groups()
        if command:
            inside, end = argument(self._source, mark.end())
            self._flush()
            if not self._hidden:
                self._titled(command, inside, mark.start())
            return end
        if edge:
            self._edge(edge, name, mark.start())
            return self._behind_options(mark.end()) if edge == "begin" else mark.end()
        self._flush()
        if verbatim and code.strip() and verbatim != "comment":
            self.draft.code(code)
            self._written(mark.start())
        elif table:
            self._table(rows, mark.start())
        elif item:
            self._in_item = True
            label = re.search(r"\[(.*)\]", item, re.S)
            if label is not None:
                self._from = mark.start()
                self._text = [label[1] + " "]
        return mark.end()

    def _behind_options(self, place: int) -> int:
        while (found := _OPTIONS.match(self._source, place)) is not None and "\n\n" not in found[0]:
            place = found.end()
        return place

    def _edge(self, edge: str, name: str, place: int) -> None:
        """An environment begins or ends."""
        plainly = name.rstrip("*")
        if plainly in _HIDDEN:
            self._flush()
            self._hidden = max(0, self._hidden + (1 if edge == "begin" else -1))
        elif plainly in _LISTS:
            self._flush()
            if edge == "begin":
                self._lists.append(plainly)
            elif self._lists:
                self._lists.pop()
        elif plainly in _MATHEMATICS:
            self._from = self._from if self._text else place
            self._text.append("\\[" if edge == "begin" else "\\]")
        else:
            self._flush()

    def _titled(self, command: str, inside: str, place: int) -> None:
        """A heading, or a line such as a caption or the authors."""
        text = one_line(plain(inside))
        if not text:
            return
        if _LEVELS[command]:
            self.draft.heading(text, _LEVELS[command])
        else:
            self.draft.paragraph(text)
        self._written(place)

    def _table(self, source: str, place: int) -> None:
        source = source[self._table_start(source) :]
        rules = [len(_ROW_END.findall(source[: rule.start()])) for rule in _RULE.finditer(source)]
        parts = _ROW_END.split(source)
        rows = [Row([plain(cell) for cell in _CELL_END.split(_RULE.sub(" ", part))]) for part in parts]
        kept = [row for row in rows if any(row.cells)]
        if kept:
            self.draft.table(kept, head=int(1 in rules and len(kept) > 1))
            self._written(place)

    def _table_start(self, source: str) -> int:
        """Behind what says how wide the columns are."""
        place = 0
        while (found := _OPTIONS.match(source, place)) is not None:
            place = found.end()
        return place
