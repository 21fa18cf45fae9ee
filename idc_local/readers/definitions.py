"""Finds classes and functions in source code: by Python's own parser, by braces, by indentation, or by sections. Pure.

Shapes are guessed where no parser is at hand; a wrong guess costs a heading, never a character.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_LONGEST_HEAD = 400
_LONGEST_NAME = 80

_TOKEN = re.compile(
    r"//[^\n]*|/\*(?:.*?\*/|.*)|\"(?:\\.|[^\"\\\n])*+\"?|'(?:\\.|[^'\\\n])'|[{};()]",
    re.S,
)
_TOKEN_QUOTES = re.compile(
    r"//[^\n]*|/\*(?:.*?\*/|.*)|\"(?:\\.|[^\"\\\n])*+\"?|'(?:\\.|[^'\\\n])*+'?|`(?:\\.|[^`\\])*+`?|[{};()]",
    re.S,
)
_QUOTES = frozenset(("javascript", "typescript", "php", "dart", "groovy", "css", "svelte", "perl", "shell"))
_BRACES = _QUOTES | {
    "c", "c++", "objective-c", "java", "csharp", "go", "rust", "kotlin", "swift", "scala", "zig", "protobuf", "graphql",
    "terraform", "r", "powershell",
}  # fmt: skip

_TYPE = re.compile(
    r"\b(?:(?:class|struct|interface|enum|trait|namespace|object|protocol|extension|union|record|mod|module|service|"
    r"message|actor|contract|type)\s+([\w$.:]+)|(impl\b[^{]{0,120}))"
)
_FUNCTION = re.compile(r"\b(?:fn|func|fun|function|def|sub)\s+(?:\([^()]{0,80}\)\s*)?\*?\s*([\w$.?!]+)")
_ARROW = re.compile(r"\b(?:const|let|var)\s+([\w$]+)\s*=\s*(?:async\s*)?(?:\([^()]{0,200}\)|[\w$]+)\s*=>\s*\Z")
_ASSIGNED = re.compile(r"([\w$.]+)\s*[=:]\s*(?:async\s+)?function\b\s*\*?\s*[\w$]*\s*\([^()]{0,200}\)\s*\Z")
_SIGNATURE = re.compile(r"#?([A-Za-z_~$][\w:~$]*)\s*\((?:[^()]|\([^()]*\)){0,300}\)(?:[^()=;{}]|\([^()]*\)){0,300}\Z")
_QUIET = re.compile(
    r"//[^\n]*|/\*(?:.*?\*/|.*)"
    r"|(?m:^[ \t]*#(?:[ \t!]|include|define|if|el|end|pragma|undef|import)[^\n]*)"
    r"|\btemplate\s*<[^{}()]{0,200}?>(?=[^>])",
    re.S,
)
"""What stands before a brace and says nothing about it: comments, directives, parameters of templates."""

_CONTROL = "if for while switch catch return else do try synchronized using lock foreach when match"
_NO_FUNCTION = frozenset(_CONTROL.split())
_TYPE_FIRST = frozenset(("c", "c++", "objective-c", "java", "csharp"))
_ABOVE = re.compile(r"\s*(?://|/\*|\*|@|#(?!\s*(?:include|define|if|el|end|pragma|undef|import))|\[|///|--|;)")

_INDENTED = {
    "python": r"([ \t]*)(?:async\s+)?(?:def|class)\s+(\w+)",
    "ruby": r"([ \t]*)(?:def|class|module)\s+([\w.:?!=]+)",
    "lua": r"([ \t]*)(?:local\s+)?function\s+([\w.:]+)",
    "julia": r"([ \t]*)(?:function|struct|mutable struct|module|macro)\s+([\w.!]+)",
    "elixir": r"([ \t]*)(?:def|defp|defmodule|defmacro)\s+([\w.?!]+)",
    "yaml": r"()([\w.\"'-]+):(?=\s|$)",
    "vb": r"(?i:([ \t]*)(?:(?:public|private|shared)\s+)*(?:sub|function|class|module)\s+(\w+))",
    "haskell": r"()(\w+)\s*::",
    "make": r"()([\w./-]+)\s*:(?!=)",
}  # fmt: skip
_SECTIONS = {
    "toml": r"\s*\[+\s*([^\[\]]{1,80}?)\s*\]+",
    "ini": r"\s*\[+\s*([^\[\]]{1,80}?)\s*\]+",
    "sql": r"(?i:create\s+(?:or\s+replace\s+)?(?:\w+\s+)?(?:table|view|function|procedure|trigger|index|type)\s+"
           r"(?:if\s+not\s+exists\s+)?([\w.\"`\[\]]+))",
}  # fmt: skip
_CLOSERS = re.compile(r"\s*(?:end\b|\)|\}|\]|;)")


@dataclass(slots=True)
class Definition:
    """A class, function or section: lines from 0, half open, and what is defined inside."""

    name: str
    first: int
    last: int
    inner: list[Definition] = field(default_factory=list)


def definitions_of(text: str, lines: Sequence[str], starts: Sequence[int], language: str) -> list[Definition]:
    """Definitions of a source text in order; none inside a function. ``lines``: of the text; ``starts``: offsets."""
    if language == "python":
        found = _python(text, lines)
        if found is not None:
            return found
    if language in _INDENTED:
        return _nested(_indented(lines, re.compile(_INDENTED[language])))
    if language in _SECTIONS:
        return _sections(lines, re.compile(_SECTIONS[language]))
    return _braced(text, lines, starts, language) if language in _BRACES else []


def _python(text: str, lines: Sequence[str]) -> list[Definition] | None:
    """What Python's parser finds; None for what is no Python of this version."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return _python_inner(tree.body, lines, 0)


def _python_inner(body: Sequence[ast.stmt], lines: Sequence[str], floor: int) -> list[Definition]:
    found = []
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(own.lineno for own in node.decorator_list)]) - 1
            first = max(floor, _with_comments(lines, first))
            last = floor = node.end_lineno or node.lineno
            inner = _python_inner(node.body, lines, first) if isinstance(node, ast.ClassDef) else []
            found.append(Definition(node.name[:_LONGEST_NAME], first, min(last, len(lines)), inner))
    return found


def _with_comments(lines: Sequence[str], first: int) -> int:
    """The first line of the comments and marks directly above a definition."""
    while first > 0 and _ABOVE.match(lines[first - 1]):
        first -= 1
    return first


def _with_type(lines: Sequence[str], first: int, boundary: int) -> int:
    """The first line of a signature whose type stands on lines of its own."""
    while first - 1 > boundary and lines[first - 1].strip() and not _ABOVE.match(lines[first - 1]):
        first -= 1
    return first


def _indented(lines: Sequence[str], pattern: re.Pattern[str]) -> Iterator[tuple[int, Definition]]:
    """Definitions that last until a line stands no deeper than their first, each with its depth."""
    open_: list[tuple[int, Definition]] = []
    floor = 0
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        found = pattern.match(line[:_LONGEST_HEAD])
        closes = _CLOSERS.match(line) is not None and found is None
        while open_ and open_[-1][0] >= depth and not (closes and open_[-1][0] == depth):
            open_.pop()
        for _, own in open_:
            own.last = number + 1
        if closes and open_ and open_[-1][0] == depth:
            open_.pop()
        if found is not None:
            own = Definition(found[2][:_LONGEST_NAME], max(floor, _with_comments(lines, number)), number + 1)
            floor = number + 1
            open_.append((depth, own))
            yield depth, own


def _nested(found: Iterator[tuple[int, Definition]]) -> list[Definition]:
    """Definitions as a tree: one is inside another where its lines are."""
    top: list[Definition] = []
    path: list[Definition] = []
    for _, own in list(found):
        while path and path[-1].last < own.last:
            path.pop()
        (path[-1].inner if path else top).append(own)
        path.append(own)
    return top


def _sections(lines: Sequence[str], pattern: re.Pattern[str]) -> list[Definition]:
    found: list[Definition] = []
    for number, line in enumerate(lines):
        match = pattern.match(line[:_LONGEST_HEAD])
        if match is not None:
            first = max(found[-1].first + 1 if found else 0, _with_comments(lines, number))
            if found:
                found[-1].last = first
            found.append(Definition(match[1], first, len(lines)))
    return found


@dataclass(slots=True)
class _Brace:
    """An open brace: what it defines, whether definitions inside are looked for, and how many round ones are open."""

    own: Definition | None
    holds: bool
    round: int


class _Braces:
    """Goes through the marks of a source; ``top`` holds what was found."""

    def __init__(self, text: str, lines: Sequence[str], starts: Sequence[int], language: str) -> None:
        self.top: list[Definition] = []
        self._text, self._lines, self._starts = text, lines, starts
        self._types_stand_first = language in _TYPE_FIRST
        self._stack: list[_Brace] = []
        self._boundary = self._floor = self._round = 0

    def take(self, mark: str, place: int) -> None:
        """The next mark: a brace, a semicolon, or whatever else there is."""
        if mark == "{":
            self._open(place)
        elif mark == "}":
            self._close(place)
        elif mark == "(":
            self._round += 1
        elif mark == ")":
            self._round = max(0, self._round - 1)
        elif mark == ";" and not self._round and not sum(brace.round for brace in self._stack[-1:]):
            self._boundary = place + 1

    def _open(self, place: int) -> None:
        """A brace between round ones belongs to what stands there: parameters, or a function that is handed over."""
        enclosed = self._round + sum(brace.round for brace in self._stack[-1:])
        own, inside = None, False
        if not enclosed:
            if all(brace.holds for brace in self._stack[-1:]):
                own, inside = _opened(self._text, self._boundary, place, self._types_stand_first)
            if own is not None:
                self._define(own)
            self._boundary = place + 1
        self._stack.append(_Brace(own, inside, enclosed))
        self._round = 0

    def _define(self, own: Definition) -> None:
        line = bisect_right(self._starts, own.first) - 1
        if self._types_stand_first:
            line = _with_type(self._lines, line, bisect_right(self._starts, self._boundary) - 1)
        own.first = max(self._floor, _with_comments(self._lines, line))
        own.last = len(self._lines)
        self._floor = line + 1
        parent = next((brace.own for brace in reversed(self._stack) if brace.own), None)
        (parent.inner if parent else self.top).append(own)

    def _close(self, place: int) -> None:
        if not self._stack:
            return
        closed = self._stack.pop()
        self._round = closed.round - sum(brace.round for brace in self._stack[-1:])
        if not closed.round:
            self._boundary = place + 1
        if closed.own is not None:
            closed.own.last = self._floor = bisect_right(self._starts, place)


def _braced(text: str, lines: Sequence[str], starts: Sequence[int], language: str) -> list[Definition]:
    """Definitions of languages with braces: what stands before a brace says what it opens."""
    braces = _Braces(text, lines, starts, language)
    for token in (_TOKEN_QUOTES if language in _QUOTES else _TOKEN).finditer(text):
        braces.take(token[0], token.start())
    return braces.top


def _opened(text: str, boundary: int, brace: int, types_stand_first: bool) -> tuple[Definition | None, bool]:
    """What the code before a brace defines, its place in ``first``, and whether it may hold definitions."""
    start = boundary
    if brace - _LONGEST_HEAD > boundary:
        # From the start of a line, lest the rest of a comment is taken for code.
        start = text.find("\n", brace - _LONGEST_HEAD, brace) + 1 or brace - _LONGEST_HEAD
    head = _QUIET.sub(lambda found: " " * len(found[0]), text[start:brace])
    function = _last(_FUNCTION, head) or _ARROW.search(head) or _ASSIGNED.search(head)
    if function is not None:
        return Definition(function[1][:_LONGEST_NAME], start + function.start(), 0), False
    kind = _last(_TYPE, head)
    if kind is not None and not (types_stand_first and not set("()").isdisjoint(head[kind.end() :])):
        name = " ".join((kind[1] or kind[2]).split()).rstrip(":")
        return Definition(name[:_LONGEST_NAME], start + kind.start(), 0), True
    signature = _SIGNATURE.search(head)
    if signature is not None and signature[1] not in _NO_FUNCTION:
        return Definition(signature[1][:_LONGEST_NAME], start + signature.start(), 0), False
    return None, not head.strip() or head.strip().startswith(("extern", "export"))


def _last(pattern: re.Pattern[str], head: str) -> re.Match[str] | None:
    found = None
    for match in pattern.finditer(head):
        found = match
    return found
