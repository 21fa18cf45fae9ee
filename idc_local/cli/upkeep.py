"""``remove``, ``forget`` and ``compact``: taking things out of an index."""

from __future__ import annotations

from dataclasses import dataclass

import click

from idc_local.cli.checks import report_checks
from idc_local.cli.output import Result
from idc_local.cli.session import Command, Session, examples


@dataclass(frozen=True, slots=True)
class PathArgument:
    """What was typed."""

    path: str


@click.command(
    "remove",
    cls=Command,
    options=PathArgument,
    epilog=examples("idc-local remove contracts/old.md", "idc-local remove contracts/"),
)
@click.argument("path", metavar="PATH")
def remove_command(session: Session, options: PathArgument) -> None:
    """Take a file, or all files of a folder, out of the index; PATH as `idc-local status -v` shows it.

    The files themselves are left alone. To erase every trace of one, use `idc-local forget`.
    """
    session.expect(removed=0)
    removed = session.runtime.remove(options.path)
    session.close()
    item = {"path": options.path, "removed": removed}
    session.emit(Result(item, [item], ("path", "removed"), lambda screen: [f"{removed} removed"]))


@click.command(
    "forget",
    cls=Command,
    options=PathArgument,
    epilog=examples("idc-local forget letters/private.txt"),
)
@click.argument("path", metavar="PATH")
def forget_command(session: Session, options: PathArgument) -> None:
    """Remove a document with its text, vectors, questions and caches, and check that no trace is left.

    The file itself is left alone: delete it, or keep it out of the folders that you index.
    """
    session.expect(path=options.path, checks=[])
    checks = session.runtime.forget(options.path)
    report_checks(session, checks, path=options.path)


@click.command("compact", cls=Command, epilog=examples("idc-local compact"))
def compact_command(session: Session) -> None:
    """Give back the disk space of what was removed or replaced."""
    session.expect(checks=[])
    report_checks(session, session.runtime.compact())
