"""``licences``: what the libraries and models come under."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import click

from idc_local.cli.output import Result
from idc_local.cli.render import table_lines
from idc_local.cli.session import Command, Session, examples
from idc_local.cli.terminal import Screen

COLUMNS = ("name", "kind", "version", "licence", "address")
TEXT_COLUMNS = ("name", "version", "licence")


@click.command(
    "licences",
    cls=Command,
    epilog=examples("idc-local licences", "idc-local licences --format csv > licences.csv"),
)
def licences_command(session: Session) -> None:
    """List the licence of this package, of every library that it needs, and of every model that is there."""
    from idc_local.licences import library_licences, model_licences

    session.expect(licences=[])
    found = [*library_licences(), *model_licences(session.runtime.catalogue().list())]
    items = [asdict(entry) for entry in found]

    def text(screen: Screen) -> Iterator[str]:
        yield from table_lines(items, TEXT_COLUMNS, screen)

    session.emit(Result({"licences": items}, items, COLUMNS, text))
