"""``show``: one passage, or the text of its document."""

from __future__ import annotations

from dataclasses import dataclass

import click

from idc_local.cli.output import Result, write
from idc_local.cli.render import chunk_lines
from idc_local.cli.schema import CHUNK_COLUMNS, chunk_item
from idc_local.cli.session import Command, Session, examples
from idc_local.cli.terminal import safe
from idc_local.errors import NothingFound

DOCUMENT_COLUMNS = ("document_id", "text")


@dataclass(frozen=True, slots=True)
class ShowArguments:
    """What was typed."""

    identifier: str
    document: bool


@click.command(
    "show",
    cls=Command,
    options=ShowArguments,
    epilog=examples(
        "idc-local show a1b2c3d4",
        "idc-local show a1b2c3d4 --format json",
        "idc-local show a1b2c3d4 --document > extracted.txt",
    ),
)
@click.argument("identifier", metavar="ID")
@click.option("--document", is_flag=True, help="Print the extracted text of the whole document.")
def show_command(session: Session, options: ShowArguments) -> None:
    """Print the passage that ID names; the first characters of an id are enough as long as they are unique.

    With `--document`, ID may name a passage or a document.
    """
    session.expect()
    if options.document:
        _show_document(session, options.identifier)
        return
    chunk = session.runtime.show(options.identifier)
    item = chunk_item(chunk)
    session.emit(Result(item, [item], CHUNK_COLUMNS, lambda screen: chunk_lines(chunk, screen)))


def _show_document(session: Session, identifier: str) -> None:
    """Off a terminal the text is printed as it is, to the character."""
    try:
        document = session.runtime.show(identifier).document_id
    except NothingFound:
        document = identifier
    text = session.runtime.document_text(document)
    if session.settings.format == "text" and not session.screen.width:
        write(text)
        return
    item = {"document_id": document, "text": text}
    session.emit(Result(item, [item], DOCUMENT_COLUMNS, lambda screen: map(safe, text.splitlines())))
