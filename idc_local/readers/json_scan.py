"""Goes through JSON from value to value, with the place of each in the source. Pure, and no depth costs any stack."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in the stubs

_TOKEN = re.compile(r'[ \t\r\n]*(?:([{}\[\],:])|(")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))')
_BLANK = re.compile(r"[ \t\r\n]*")


@dataclass(slots=True)
class Frame:
    """An open object or array: ``key`` is the member that is read now, ``index`` its number from 0."""

    is_object: bool
    key: str = ""
    index: int = 0


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value that holds no others: its text, whether it is a string, and where it stands."""

    text: str
    is_string: bool
    place: int


class Scanner:
    """Reads one value after another from ``text``; ``stack`` holds what is open, outermost first."""

    def __init__(self, text: str, place: int = 0) -> None:
        self._text = text
        self.place = place
        self.stack: list[Frame] = []

    def at_end(self) -> bool:
        """True where only white space is left."""
        found = _BLANK.match(self._text, self.place)
        return found is not None and found.end() == len(self._text)

    def value(self) -> Iterator[Scalar]:
        """The scalars of the next value, in order, each while ``stack`` says where it is.

        Raises:
            ValueError: the text is not JSON here.
        """
        depth = len(self.stack)
        while True:
            mark, scalar = self._next()
            if scalar is not None:
                yield scalar
            elif mark in ("{", "["):
                self.stack.append(Frame(mark == "{"))
                if self._opened(mark):
                    continue
                self.stack.pop()
            else:
                raise ValueError(f"unexpected {mark!r} at {self.place}")
            if not self._after(depth):
                return

    def _opened(self, mark: str) -> bool:
        """True where a value follows inside what was opened; an object's first key is read."""
        place = self.place
        closing, _ = self._next(optional=True)
        if closing == ("}" if mark == "{" else "]"):
            return False
        self.place = place
        if mark == "{":
            self._key()
        return True

    def _after(self, depth: int) -> bool:
        """Closes what ends behind a value; True where another value follows."""
        while len(self.stack) > depth:
            frame = self.stack[-1]
            mark, _ = self._next()
            if mark == ",":
                frame.index += 1
                if frame.is_object:
                    self._key()
                return True
            if mark != ("}" if frame.is_object else "]"):
                raise ValueError(f"unexpected {mark!r} at {self.place}")
            self.stack.pop()
        return False

    def _key(self) -> None:
        _, key = self._next()
        if key is None or not key.is_string:
            raise ValueError(f"a key is missing at {self.place}")
        self.stack[-1].key = key.text
        if self._next()[0] != ":":
            raise ValueError(f"a colon is missing at {self.place}")

    def _next(self, optional: bool = False) -> tuple[str, Scalar | None]:
        """The next mark, or scalar."""
        found = _TOKEN.match(self._text, self.place)
        if found is None:
            if optional:
                return "", None
            raise ValueError(f"no JSON at {self.place}")
        self.place = found.end()
        if found[1]:
            return found[1], None
        if found[2]:
            text, self.place = scanstring(self._text, found.end(), False)
            return "", Scalar(text, True, found.start(2))
        return "", Scalar(found[3], False, found.start(3))
