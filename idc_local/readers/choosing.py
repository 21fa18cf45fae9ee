"""Which names below a folder are asked for: ignore files, hidden names, and the patterns of the command line.

Reads ignore files and nothing else.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from idc_local.readers.ignoring import IGNORE_FILES, Rules, ignored_by, parse_rule, parse_rules

MAX_IGNORE_BYTES = 1 << 18
"""A larger file is no list of patterns that somebody wrote."""

_REPOSITORY = ".git"
_SHARED, _OWN = IGNORE_FILES


class Globs:
    """What the command line says of paths below ``folder``: patterns as in ``.gitignore``."""

    def __init__(self, folder: str, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._folder = folder.rstrip(os.sep)
        self._include = self._rules(include, "--include")
        self._exclude = self._rules(exclude, "--exclude")

    def _rules(self, patterns: Sequence[str], option: str) -> Rules:
        rules = (parse_rule(pattern, f"{option} {pattern}") for pattern in patterns)
        return Rules(self._folder, tuple(rule for rule in rules if rule is not None))

    def includes(self, path: str, is_folder: bool) -> bool:
        """True where a pattern of --include names the path, or where there is none."""
        found = self._include.match(path, is_folder)
        return not self._include.rules or (found is not None and not found.keeps)

    def refusal(self, path: str, is_folder: bool, taken: bool) -> str:
        """Why a path is left out; empty where it is not. ``taken``: a folder above it is included."""
        found = self._exclude.match(path, is_folder)
        if found is not None and not found.keeps:
            return found.name
        return "" if is_folder or taken or self.includes(path, is_folder) else "no --include names it"


@dataclass(frozen=True, slots=True)
class Choice:
    """What holds in one folder: the patterns of it and of those above, and whether ``--include`` has named it."""

    globs: Globs
    hidden: bool
    layers: tuple[Rules, ...]
    taken: bool

    def refusal(self, path: str, is_folder: bool) -> str:
        """Why a name in the folder is left out; empty where it is not. ``path``: absolute, below the root's name."""
        if not self.hidden and path.rpartition("/")[2].startswith("."):
            return "hidden"
        found = ignored_by(self.layers, path, is_folder)
        return found or self.globs.refusal(path, is_folder, self.taken)

    def inside(self, path: str, folder: Path, names: Collection[str]) -> Choice:
        """What holds in a folder below; ``names``: what is in it."""
        own = rules_in(folder, path, [name for name in IGNORE_FILES if name in names])
        taken = self.taken or self.globs.includes(path, True)
        return Choice(self.globs, self.hidden, (*self.layers, *own), taken)


def choice_at(root: Path, include: Sequence[str], exclude: Sequence[str], hidden: bool) -> Choice:
    """What holds in a root folder: patterns of folders above it count, so that its parts are chosen as it is itself.

    ``.idcignore`` counts from any folder above, ``.gitignore`` from those of the repository that holds the root.
    """
    globs = Globs(str(root), include, exclude)
    lineage = [root, *root.parents]
    top = next((place for place, folder in enumerate(lineage) if os.path.lexists(folder / _REPOSITORY)), 0)
    layers: list[Rules] = []
    for place in range(len(lineage) - 1, 0, -1):
        names = IGNORE_FILES if place <= top else (_OWN,)
        layers += rules_in(lineage[place], str(lineage[place]), names)
    return Choice(globs, hidden, tuple(layers), not include)


def rules_in(folder: Path, path: str, names: Sequence[str]) -> list[Rules]:
    """Patterns of ignore files in ``folder``, from the weaker to the stronger; ``path``: how the walk names it."""
    found = []
    for name in names:
        try:
            status = (folder / name).stat()
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_IGNORE_BYTES:
                continue
            text = (folder / name).read_bytes().decode("utf-8", "surrogateescape")
        except OSError:
            continue
        found.append(parse_rules(text, path.rstrip(os.sep), name))
    return found
