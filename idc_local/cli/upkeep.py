"""``remove``, ``forget``, ``compact``, ``repair``, ``export`` and ``import``: looking after an index."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from idc_local.cli.checks import report_checks
from idc_local.cli.output import Result
from idc_local.cli.parameters import PathName
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
@click.argument("path", metavar="PATH", type=PathName(path_type=str))
def remove_command(session: Session, options: PathArgument) -> None:
    """Take a file, or all files of a folder, out of the index; PATH as `idc-local status -v` shows it, or on disk.

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
@click.argument("path", metavar="PATH", type=PathName(path_type=str))
def forget_command(session: Session, options: PathArgument) -> None:
    """Remove a document with its text, vectors, questions and caches, and check that no trace is left.

    The file itself is left alone: delete it, or keep it out of the folders that you index.
    """
    session.expect(path=options.path, checks=[])
    checks = session.runtime.forget(options.path)
    if all(check.status != "fail" for check in checks):
        session.note("a file that stays where it was is taken in again by the next index; .idcignore keeps it out")
    report_checks(session, checks, path=options.path)


@click.command("compact", cls=Command, epilog=examples("idc-local compact"))
def compact_command(session: Session) -> None:
    """Give back the disk space of what was removed or replaced."""
    session.expect(checks=[])
    report_checks(session, session.runtime.compact())


@click.command("repair", cls=Command, epilog=examples("idc-local repair", "idc-local repair --index ~/notes.idc"))
def repair_command(session: Session) -> None:
    """Take out what is damaged, and make everything that can be made from the rest anew.

    The texts, vectors and questions in index.sqlite are the truth; what is searched is rebuilt from them, without a
    model. A document that is itself damaged is named, with the command that indexes it again.
    """
    session.expect(checks=[])
    report_checks(session, session.runtime.repair())


@dataclass(frozen=True, slots=True)
class FileArgument:
    """What was typed."""

    file: Path


@click.command(
    "export",
    cls=Command,
    options=FileArgument,
    epilog=examples("idc-local export notes.idcx", "idc-local export /media/stick/notes.idcx --index ~/notes.idc"),
)
@click.argument("file", metavar="FILE", type=PathName())
def export_command(session: Session, options: FileArgument) -> None:
    """Write the whole index to one file, for another machine or as a backup.

    The file holds the text of your documents: keep it as safe as them. It does not say in which folders they were.
    """
    session.expect(file=str(options.file), checks=[])
    report_checks(session, session.runtime.export(options.file), file=str(options.file))


@click.command(
    "import",
    cls=Command,
    options=FileArgument,
    epilog=examples("idc-local import notes.idcx", "idc-local import notes.idcx --index ~/notes.idc"),
)
@click.argument("file", metavar="FILE", type=PathName())
def import_command(session: Session, options: FileArgument) -> None:
    """Make an index from an exported file, all of it or nothing; the folder of the index must be missing or empty."""
    session.expect(file=str(options.file), checks=[])
    report_checks(session, session.runtime.import_from(options.file), file=str(options.file))
