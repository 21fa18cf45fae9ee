"""What is known of a printed page: pieces of lines with their places and looks. Pure.

Places are in points, x to the right and y down, turned so that the main text of the page runs from left to right.
"""

from __future__ import annotations

from typing import NamedTuple


class Piece(NamedTuple):
    """Words in one line that no wide gap parts. ``lead`` is the width of the first word; ``order`` that of the file."""

    text: str
    left: float
    right: float
    base: float
    size: float
    bold: bool
    mono: bool
    lead: float
    hyphen: bool
    order: int

    @property
    def top(self) -> float:
        """Where tall letters end."""
        return self.base - 0.8 * self.size

    @property
    def bottom(self) -> float:
        """Where letters that reach below the line end."""
        return self.base + 0.2 * self.size


class Page(NamedTuple):
    """A page as it is drawn; ``aside`` is text at another angle, ``image`` the share of the page that images cover."""

    number: int
    width: float
    height: float
    pieces: tuple[Piece, ...]
    aside: tuple[str, ...]
    notes: tuple[str, ...]
    image: float
    drawn: bool


class Bookmark(NamedTuple):
    """An entry of the outline: its title, its depth from 1, and the page that it leads to (0: none)."""

    title: str
    level: int
    page: int
