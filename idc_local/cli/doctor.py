"""``doctor``: checks of the whole installation, each with the command that mends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from idc_local.cli.checks import report_checks
from idc_local.cli.session import Command, Session, examples
from idc_local.errors import ConfigError, quote

if TYPE_CHECKING:
    from idc_local.types import Check


@dataclass(frozen=True, slots=True)
class DoctorArguments:
    """What was typed."""

    deep: bool
    network: bool


@click.command(
    "doctor",
    cls=Command,
    options=DoctorArguments,
    lenient=True,
    epilog=examples(
        "idc-local doctor", "idc-local doctor --deep", "idc-local doctor --network", "idc-local doctor --format json"
    ),
)
@click.option("--deep", is_flag=True, help="Also load both models and try them (a few seconds).")
@click.option("--network", is_flag=True, help="Also try every way off this machine, and show that each is shut.")
def doctor_command(session: Session, options: DoctorArguments) -> None:
    """Check the installation, the models, the index and the network guard; exit code 1 if any check fails."""
    session.expect(checks=[])
    try:
        checks = session.runtime.doctor(options.deep, options.network)
    except ImportError as error:
        checks = _without_runtime(str(error))
    report_checks(session, [*_settings(session.fault), *checks])


def _settings(fault: ConfigError | None) -> list[Check]:
    """The command that takes what cannot be used out of the way; nothing of it is lost."""
    from idc_local.types import Check

    if fault is None:
        return []
    variable = fault.origin.startswith("IDC_")
    file = quote(fault.origin)
    fix = f"unset {fault.origin}" if variable else f"mv {file} {quote(f'{fault.origin}.broken')}"
    return [Check("settings", "fail", f"{fault.message} ({fault.hint})", fix)]


def _without_runtime(reason: str) -> list[Check]:
    """What can be said where a library is missing that everything else needs."""
    from idc_local.doctor import machine_checks
    from idc_local.machine import look_around
    from idc_local.types import Check

    return [
        *machine_checks(look_around()),
        Check("package", "fail", reason, "python -m pip install --upgrade idc-local"),
    ]
