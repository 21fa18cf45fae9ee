"""``status`` and ``verify``: what an index holds, and whether it is whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from idc_local.cli.checks import report_checks
from idc_local.cli.output import Result, cell
from idc_local.cli.progress import quantity
from idc_local.cli.render import table_lines
from idc_local.cli.schema import source_item
from idc_local.cli.session import Command, Session, examples
from idc_local.cli.terminal import Screen, safe

if TYPE_CHECKING:
    from idc_local.status import IndexStatus

STATUS_COLUMNS = ("index", "generation", "files", "skipped", "documents", "chunks", "sentences", "intents", "bytes")
SOURCE_COLUMNS = ("state", "encoding", "size", "path", "reason")


@click.command(
    "status", cls=Command, epilog=examples("idc-local status", "idc-local status -v", "idc-local status --format json")
)
def status_command(session: Session) -> None:
    """Say what the index holds and what made it; with -v every file, its encoding, and why it was skipped."""
    session.expect()
    status = session.runtime.status()
    item = status_item(status)
    verbose = session.verbosity > 0
    flat = {key: item[key] for key in STATUS_COLUMNS}
    sources = item["sources"]
    session.emit(
        Result(
            value=item,
            items=sources if verbose else [item],
            columns=SOURCE_COLUMNS if verbose else STATUS_COLUMNS,
            text=lambda screen: _lines(item, screen, verbose=verbose),
            rows=sources if verbose else [flat],
        )
    )


def status_item(status: IndexStatus) -> dict[str, Any]:
    """The status as JSON; files in the order of their paths."""
    sources = [source_item(status.sources[path]) for path in sorted(status.sources)]
    return {
        "index": str(status.folder),
        "generation": status.generation,
        "files": len(sources),
        "skipped": sum(source["state"] == "skipped" for source in sources),
        "documents": status.documents,
        "chunks": status.chunks,
        "sentences": status.sentences,
        "intents": status.intents,
        "bytes": status.bytes,
        "fingerprint": dict(status.fingerprint),
        "sources": sources,
    }


def _lines(item: dict[str, Any], screen: Screen, *, verbose: bool) -> Iterator[str]:
    for key in STATUS_COLUMNS:
        value = quantity(item[key], "B") if key == "bytes" else safe(cell(item[key]))
        yield f"{'disk' if key == 'bytes' else key:<12}{value}"
    fingerprint = item["fingerprint"]
    yield f"{'embedder':<12}{safe(cell(fingerprint.get('embedder_name', 'unknown')))}"
    if verbose:
        for name, value in fingerprint.items():
            yield f"{'':<12}{safe(str(name))}: {safe(cell(value))}"
        yield ""
        yield from table_lines(item["sources"], SOURCE_COLUMNS, screen)


@dataclass(frozen=True, slots=True)
class VerifyArguments:
    """What was typed."""

    deep: bool


@click.command(
    "verify",
    cls=Command,
    options=VerifyArguments,
    epilog=examples("idc-local verify", "idc-local verify --deep --format json"),
)
@click.option("--deep", is_flag=True, help="Also read every byte, text, span and vector.")
def verify_command(session: Session, options: VerifyArguments) -> None:
    """Check that the index is whole and what its manifest says; exit code 1 if any check fails."""
    session.expect(checks=[])
    report_checks(session, session.runtime.verify(options.deep))
