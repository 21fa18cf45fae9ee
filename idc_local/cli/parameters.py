"""Options and argument types that several commands share."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from idc_local.config import INTENT_SOURCES, OBJECTIVES, STRATEGIES, path_of
from idc_local.filters import STDIN


class PathName(click.Path):
    """A path; an empty one is refused, for it would mean the current folder although an unset variable was meant.

    ``./-`` is a file, and ``-`` standard input.
    """

    def __init__(self, *, path_type: type[Any] = Path, **rules: bool) -> None:
        super().__init__(path_type=path_type, **rules)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """The path."""
        if value == "":
            self.fail("the path is empty", param, ctx)
        if isinstance(value, str) and str(Path(value)) == STDIN:
            value = str(path_of(value))
        return super().convert(value, param, ctx)


class Amount(click.FloatRange):
    """A number from 0 on; ``nan`` is none, though no bound refuses it."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """The number."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is no number", param, ctx)
        return number


source_argument = click.argument("source", metavar="FILE", type=PathName(allow_dash=True))
"""One file to read, or ``-``."""

strategy_option = click.option(
    "--strategy", type=click.Choice(STRATEGIES), help="How to cut documents. [default: intent]"
)
objective_option = click.option(
    "--objective",
    type=click.Choice(OBJECTIVES),
    help="What the intent strategy optimises; `paper` is the published one. [default: calibrated]",
)
intents_option = click.option(
    "--intents",
    type=click.Choice(INTENT_SOURCES),
    help="Where predicted questions come from: the language model, headings and definitions, or nowhere. "
    "[default: model]",
)
target_option = click.option(
    "--target-chars",
    type=click.IntRange(min=50),
    metavar="N",
    help="Characters that a passage should have about. [default: 600]",
)
