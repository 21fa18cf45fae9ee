"""``show``: one passage, or the text of its document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import click

from idc_local.cli.output import Result, write
from idc_local.cli.render import chunk_lines
from idc_local.cli.schema import CHUNK_COLUMNS, chunk_item
from idc_local.cli.session import Command, Session, examples
from idc_local.cli.terminal import Screen, safe
from idc_local.errors import NothingFound, UsageError, quote

DOCUMENT_COLUMNS = ("document_id", "text")
SAYINGS: Mapping[str, str] = {
    "match": "match, the file holds what was indexed",
    "moved": "moved, the same bytes are elsewhere",
    "changed": "changed since it was indexed",
    "gone": "gone, and its bytes are nowhere near",
}


@dataclass(frozen=True, slots=True)
class ShowArguments:
    """What was typed."""

    identifier: str
    document: bool
    verify: bool


@click.command(
    "show",
    cls=Command,
    options=ShowArguments,
    epilog=examples(
        "idc-local show a1b2c3d4",
        "idc-local show a1b2c3d4 --format json",
        "idc-local show a1b2c3d4 --verify",
        "idc-local show a1b2c3d4 --document > extracted.txt",
    ),
)
@click.argument("identifier", metavar="ID")
@click.option("--document", is_flag=True, help="Print the extracted text of the whole document.")
@click.option("--verify", is_flag=True, help="Open the source again and say whether it still is what was indexed: "
              "match, moved, changed or gone.")  # fmt: skip
def show_command(session: Session, options: ShowArguments) -> None:
    """Print the passage that ID names; the first characters of an id are enough as long as they are unique.

    With `--document`, ID may name a passage or a document. With `--verify`, exit code 1 says that the source has
    changed or is gone.
    """
    session.expect()
    if options.document and options.verify:
        raise UsageError(
            "--document and --verify do not go together", hint=f"idc-local show {quote(options.identifier)}"
        )
    if options.document:
        _show_document(session, options.identifier)
        return
    chunk = session.runtime.show(options.identifier)
    item = chunk_item(chunk)
    if not options.verify:
        session.emit(Result(item, [item], CHUNK_COLUMNS, lambda screen: chunk_lines(chunk, screen)))
        return
    source = session.runtime.source_state(chunk.path)
    item |= {"source_state": source.state, "source_place": source.place}

    def text(screen: Screen) -> Iterator[str]:
        yield from chunk_lines(chunk, screen)
        yield f"source: {SAYINGS[source.state]}" + (f" ({safe(source.place)})" if source.place else "")

    session.emit(Result(item, [item], (*CHUNK_COLUMNS, "source_state", "source_place"), text))
    if source.state in ("changed", "gone"):
        session.stop(1)


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
