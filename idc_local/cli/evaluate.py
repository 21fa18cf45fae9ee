"""``eval``: compare ways of cutting, on labelled data or on the index itself."""

from __future__ import annotations

from dataclasses import dataclass

import click

from idc_local.cli.session import Command, Session, examples
from idc_local.errors import UsageError


@dataclass(frozen=True, slots=True)
class EvalArguments:
    """What was typed."""

    data: str | None


@click.command("eval", cls=Command, options=EvalArguments, epilog=examples("idc-local eval questions/"))
@click.argument("data", required=False, metavar="[DATA]")
def eval_command(session: Session, options: EvalArguments) -> None:
    """Compare ways of cutting on the labelled questions in DATA, or on the questions of the index."""
    raise UsageError("eval is not available yet", hint="idc-local chunk FILE --strategy fixed --explain")
