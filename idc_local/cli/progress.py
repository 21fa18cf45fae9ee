"""Progress on stderr: one line that is drawn over on a terminal, or one line a finished stage."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from idc_local.cli.terminal import Screen, detect_screen, fit

DELAY = 1.0
"""Seconds before a stage is drawn at all: short ones would only flicker."""
INTERVAL = 0.1
"""Seconds between two drawings."""
CLEAR = "\r\x1b[K"


class Quiet:
    """Shows nothing."""

    def start(self, stage: str, total: int | None, unit: str) -> None:
        """A stage begins."""

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """More of it is done."""

    def finish(self) -> None:
        """It is over."""


@dataclass(slots=True)
class _Stage:
    name: str
    total: int | None
    unit: str
    began: float
    done: int = 0
    detail: str = ""
    drawn: float = float("-inf")


class Reporter:
    """Draws the running stage on a terminal; with ``verbose`` leaves a line for each outer stage that is over.

    Stages may nest: the innermost is drawn.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        terminal: bool,
        verbose: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._terminal = terminal
        self._verbose = verbose
        self._clock = clock
        self._stages: list[_Stage] = []
        self._visible = False

    def start(self, stage: str, total: int | None, unit: str) -> None:
        """A stage begins; nothing is drawn before it has lasted a moment, unless nothing in it can be counted."""
        self._stages.append(_Stage(stage, total, unit, self._clock()))
        if self._terminal and not unit:
            self._draw(self._stages[-1], self._clock())

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """Draws where enough time has passed."""
        if not self._stages:
            return
        stage = self._stages[-1]
        stage.done += amount
        stage.detail = detail or stage.detail
        now = self._clock()
        if self._terminal and now - stage.began >= DELAY and now - stage.drawn >= INTERVAL:
            stage.drawn = now
            self._draw(stage, now)

    def finish(self) -> None:
        """Clears the line, and leaves a summary for ``verbose``."""
        if not self._stages:
            return
        stage = self._stages.pop()
        self.clear()
        if self._verbose and not self._stages:
            amount = f"{quantity(stage.done, stage.unit)} in " if stage.done else ""
            self._write(f"{stage.name}: {amount}{duration(self._clock() - stage.began)}\n")

    def clear(self) -> None:
        """Takes the drawn line away, so that other text can be written."""
        if self._visible:
            self._write(CLEAR)
            self._visible = False

    def _draw(self, stage: _Stage, now: float) -> None:
        screen = self._screen()
        self._write(CLEAR + fit(_line(stage, now), max(10, screen.width - 1)))
        self._visible = True

    def _screen(self) -> Screen:
        return detect_screen(self._stream, {})

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _line(stage: _Stage, now: float) -> str:
    if not stage.unit:
        return f"{stage.name} …"
    parts = [f"{stage.name}:"]
    if stage.total:
        share = min(1.0, stage.done / stage.total)
        parts.append(f"{share:4.0%} of {quantity(stage.total, stage.unit)}")
        if 0 < share < 1:
            parts.append(f"about {duration((now - stage.began) * (1 - share) / share)} left")
    else:
        parts.append(quantity(stage.done, stage.unit))
    return "  ".join([*parts, stage.detail] if stage.detail else parts)


def quantity(amount: int, unit: str) -> str:
    """An amount for people: bytes get a prefix, other units are named."""
    if unit != "B":
        return f"{amount:,} {unit}".rstrip()
    size, prefixes = float(amount), ["B", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(prefixes) > 1:
        size /= 1000
        prefixes.pop(0)
    return f"{size:.0f} {prefixes[0]}" if prefixes[0] == "B" else f"{size:.1f} {prefixes[0]}"


def counted(amount: int, noun: str) -> str:
    """An amount of things, the noun in the plural unless there is one."""
    return f"{amount:,} {noun}{'' if amount == 1 else 's'}"


def duration(seconds: float) -> str:
    """A time span for people."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
