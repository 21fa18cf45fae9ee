"""Options and argument types that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

from idc_local.config import INTENT_SOURCES, OBJECTIVES, STRATEGIES

source_argument = click.argument("source", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
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
    help="Where predicted questions come from: the language model, headings and key terms, or nowhere. "
    "[default: model]",
)
target_option = click.option(
    "--target-chars",
    type=click.IntRange(min=50),
    metavar="N",
    help="Characters that a passage should have about. [default: 600]",
)
