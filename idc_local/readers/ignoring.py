r"""Patterns of ``.gitignore`` and ``.idcignore``, and what they say of a path. Reads no files.

The rules are those of gitignore(5): the last pattern that matches decides, files in deeper folders win over those
further up, ``!`` takes back, a slash at the end means folders, one elsewhere ties the pattern to its folder, and
``**`` stands for any number of folders. Patterns come from the folders that are read, so none may cost more than the
square of a path's length: every star but the last commits to the first place where what follows it fits, which loses
no match, because what comes next then has the most room.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

IGNORE_FILES = (".gitignore", ".idcignore")
"""Names of files with patterns, from the weaker to the stronger."""

_NOTHING = re.compile(r"(?!)")
_CLASSES = {
    "alnum": r"\w", "alpha": "a-zA-Z", "digit": "0-9", "lower": "a-z", "upper": "A-Z", "space": r"\s",
    "xdigit": "0-9a-fA-F", "punct": r"!-/:-@\[-`{-~", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f",
    "graph": "!-~", "print": " -~",
}  # fmt: skip
_NAMED_CLASS = re.compile(r"\[:(\w+):\]")


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern; ``name`` says where it stands. ``keeps``: it takes back. ``folders``: it means folders alone."""

    pattern: re.Pattern[str]
    keeps: bool
    folders: bool
    name: str


@dataclass(frozen=True, slots=True)
class Rules:
    """The patterns of one file, which speak of what lies below ``folder`` (absolute, no slash at the end)."""

    folder: str
    rules: tuple[Rule, ...]

    def match(self, path: str, is_folder: bool) -> Rule | None:
        """The rule that decides on an absolute path; None where none matches."""
        below = path[len(self.folder) + 1 :]
        for rule in reversed(self.rules):
            if (is_folder or not rule.folders) and rule.pattern.fullmatch(below):
                return rule
        return None


def ignored_by(layers: Sequence[Rules], path: str, is_folder: bool) -> str:
    """Name of the pattern that leaves ``path`` out; empty where it stays. ``layers``: from the weakest on."""
    for rules in reversed(layers):
        found = rules.match(path, is_folder)
        if found is not None:
            return "" if found.keeps else found.name
    return ""


def parse_rules(text: str, folder: str, name: str) -> Rules:
    """The rules in a file called ``name``."""
    lines = text.removeprefix("\ufeff").split("\n")
    found = (parse_rule(line, f"{name}:{number}") for number, line in enumerate(lines, 1))
    return Rules(folder, tuple(rule for rule in found if rule is not None))


def parse_rule(line: str, name: str) -> Rule | None:
    """The rule in one line; None for comments and empty lines."""
    line = _without_trailing_spaces(line.removesuffix("\r"))
    if not line or line.startswith("#"):
        return None
    keeps = line.startswith("!")
    line = line[1:] if keeps else line
    folders = line.endswith("/")
    body = line[:-1] if folders else line
    if not body.strip("/"):
        return None
    anchored = "/" in body
    parts = body.removeprefix("/").split("/")
    return Rule(_compiled(parts if anchored else ["**", *parts]), keeps, folders, name)


def _without_trailing_spaces(line: str) -> str:
    kept = line.rstrip(" ")
    escaped = (len(kept) - len(kept.rstrip("\\"))) % 2 == 1
    return kept + " " if escaped and kept != line else kept


def _compiled(parts: Sequence[str]) -> re.Pattern[str]:
    """A pattern for whole paths from parts between slashes."""
    runs: list[list[str]] = [[]]
    for part in parts:
        if part == "**":
            runs.append([])
        else:
            translated = _segment(part)
            if translated is None:
                return _NOTHING
            runs[-1].append(translated)
    if len(runs) == 1:
        return re.compile("/".join(runs[0]), re.S)
    first, *middle, last = runs
    text = "".join(f"{part}/" for part in first)
    text += "".join(f"(?>(?:[^/]+/)*?{''.join(f'{part}/' for part in run)})" for run in middle if run)
    # Two stars at the end mean everything inside; in front of something, also no folder at all.
    text += f"(?:[^/]+/)*{'/'.join(last)}" if last else ".+"
    return re.compile(text, re.S)


def _segment(part: str) -> str | None:
    """A regular expression for one part of a path; None for a pattern that is not well-formed and matches nothing."""
    pieces: list[str] = [""]
    place = 0
    while place < len(part):
        char = part[place]
        place += 1
        if char == "*":
            if pieces[-1] or len(pieces) == 1:
                pieces.append("")
        elif char == "?":
            pieces[-1] += "[^/]"
        elif char == "[":
            found = _class(part, place)
            if found is None:
                return None
            pieces[-1] += found[0]
            place = found[1]
        elif char == "\\":
            if place == len(part):
                return None
            pieces[-1] += re.escape(part[place])
            place += 1
        else:
            pieces[-1] += re.escape(char)
    head, *rest = pieces
    if not rest:
        return head
    return head + "".join(f"(?>[^/]*?{piece})" for piece in rest[:-1]) + f"[^/]*{rest[-1]}"


def _class(part: str, start: int) -> tuple[str, int] | None:
    """The character class whose content begins at ``start``, and where it ends; None where it does not."""
    place = start + (part[start : start + 1] in ("!", "^"))
    negated = place > start
    content = ""
    first = True
    while place < len(part) and (first or part[place] != "]"):
        first = False
        named = _NAMED_CLASS.match(part, place)
        if named is not None:
            if named[1] not in _CLASSES:
                return None
            content += _CLASSES[named[1]]
            place = named.end()
            continue
        low, place = _member(part, place)
        if part[place : place + 1] == "-" and part[place + 1 : place + 2] not in ("", "]"):
            high, place = _member(part, place + 1)
            content += f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""
        else:
            content += re.escape(low)
    if place >= len(part):
        return None
    if not content:
        return ("[^/]" if negated else "(?!)"), place + 1
    return f"(?!/)[{'^' if negated else ''}{content}]", place + 1


def _member(part: str, place: int) -> tuple[str, int]:
    """One character of a class, a backslash taken off, and where the next begins."""
    if part[place] == "\\" and place + 1 < len(part):
        return part[place + 1], place + 2
    return part[place], place + 1
