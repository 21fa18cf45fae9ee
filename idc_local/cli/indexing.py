"""``index``: bring the index up to date with files and folders."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idc_local.cli.output import Result
from idc_local.cli.parameters import Amount, PathName, intents_option, objective_option, strategy_option, target_option
from idc_local.cli.progress import counted, duration, quantity
from idc_local.cli.schema import report_item, skip_item
from idc_local.cli.session import Command, Session, examples
from idc_local.cli.terminal import Screen, safe
from idc_local.config import keep_settings_apart
from idc_local.errors import UsageError

if TYPE_CHECKING:
    from idc_local.forecasting import Forecast
    from idc_local.indexing import IndexOptions
    from idc_local.types import IndexReport, Skip

REPORT_COLUMNS = ("new", "updated", "unchanged", "removed", "skipped", "empty", "chunks", "intents")
FORECAST_COLUMNS = ("new", "updated", "unchanged", "removed", "skipped", "files", "bytes", "seconds", "disk_bytes")
EMPTY_NAMES = 3
"""Empty files that are named unless -v asks for all: some folders hold thousands on purpose."""


@dataclass(frozen=True, slots=True)
class IndexArguments:
    """What was typed."""

    paths: tuple[Path, ...]
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    hidden: bool
    archives: bool
    dry_run: bool
    max_minutes: float | None
    retry_failed: bool
    rebuild: bool


@click.command(
    "index",
    cls=Command,
    options=IndexArguments,
    epilog=examples(
        "idc-local index ~/Documents/contracts",
        "idc-local index handbook.md notes/ --dry-run",
        "idc-local index wiki --include '*.md' --exclude drafts/",
        "idc-local index docs --intents heuristic",
        "idc-local index archive --max-minutes 30",
        "cat letter.txt | idc-local index -",
    ),
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=PathName(allow_dash=True))
@click.option("--include", multiple=True, metavar="GLOB", help="Take only what a pattern (as in .gitignore) names, or "
              "a folder above it. May be given several times.")  # fmt: skip
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out what the pattern names. May be given several "
              "times.")  # fmt: skip
@click.option("--hidden", is_flag=True, help="Also take files and folders whose names begin with a dot.")
@click.option(
    "--archives",
    is_flag=True,
    help="Also read what is in .zip and .tar archives and in files packed as .gz, .bz2 or .xz.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done with each file, how long it takes and how much "
              "disk it needs.")  # fmt: skip
@click.option("--max-minutes", type=Amount(), metavar="N", help="Time for the language model, "
              "newest documents first; the rest get heuristic questions until a later run has time.")  # fmt: skip
@intents_option
@strategy_option
@objective_option
@target_option
@click.option("--retry-failed", is_flag=True, help="Look again at files that failed before and have not changed.")
@click.option("--rebuild", is_flag=True, help="Start the index afresh, as another embedding model needs it.")
def index_command(session: Session, options: IndexArguments) -> None:
    """Read files and folders (- for standard input) into the index.

    Only what is new or has changed is worked on. What has vanished from a folder that is named here, or is no longer
    chosen in it, is removed; what other runs took in from elsewhere stays. An interrupted run keeps what it finished;
    run it again to go on. Files that .gitignore and .idcignore leave out are not read, unless they are named
    themselves.
    """
    wanted = session.index_options(
        max_minutes=options.max_minutes, retry_failed=options.retry_failed, rebuild=options.rebuild
    )
    wanted = with_files(wanted, options)
    keep_settings_apart(session.settings.index, options.paths)
    if options.dry_run:
        _forecast(session, options, wanted)
    else:
        report = session.runtime.index(check_sources(options.paths), wanted)
        session.close()
        session.emit(report_result(report))
        _notes(session, report)


def with_files(wanted: IndexOptions, options: IndexArguments) -> IndexOptions:
    """The options with the choice of files that was typed."""
    walk = replace(
        wanted.walk,
        include=options.include,
        exclude=options.exclude,
        hidden=options.hidden,
        archives=options.archives,
    )
    return replace(wanted, walk=walk)


def check_sources(paths: tuple[Path, ...]) -> list[Path]:
    """The paths, once it is sure that standard input, where it is named, is not a person at a keyboard."""
    if Path("-") in paths and sys.stdin.isatty():
        raise UsageError("standard input is a terminal", hint="cat FILE | idc-local index -")
    return list(paths)


def report_result(report: IndexReport) -> Result:
    """The report in all formats."""
    item = report_item(report)
    flat = {**item, "skipped": len(report.skipped)}
    return Result(item, [item], REPORT_COLUMNS, lambda screen: [counts_line(flat)], rows=[flat])


def counts_line(counts: dict[str, Any]) -> str:
    """``n new, n updated, n unchanged, n removed, n skipped``."""
    return ", ".join(f"{counts[key]} {key}" for key in REPORT_COLUMNS[:5])


def _notes(session: Session, report: IndexReport) -> None:
    _tell_skips(session, report.skipped)
    if not (report.new or report.updated or report.unchanged or report.removed or report.skipped):
        session.note("no file to read there: hidden files and ignored ones are left out, see idc-local index --help")
    made = f"{counted(report.chunks, 'passage')} and {counted(report.intents, 'question')} made"
    session.note(made + _empty_files(report.empty_paths, all_names=session.verbosity > 0))
    for note in report.notes:
        session.note(f"note: {note}")
    for stage, seconds in report.seconds.items():
        session.detail(f"{stage}: {duration(seconds)}")


def _empty_files(paths: tuple[str, ...], *, all_names: bool) -> str:
    if not paths:
        return ""
    shown = paths if all_names else paths[:EMPTY_NAMES]
    more = f" and {len(paths) - len(shown):,} more" if len(shown) < len(paths) else ""
    return f", {counted(len(paths), 'file')} empty: {', '.join(shown)}{more}"


def _tell_skips(session: Session, skips: tuple[Skip, ...]) -> None:
    for skip in skips:
        session.note(f"skipped {skip.path}: {skip.reason}" + (f". hint: {skip.hint}" if skip.hint else ""))


def _forecast(session: Session, options: IndexArguments, wanted: IndexOptions) -> None:
    if Path("-") in options.paths:
        raise UsageError("--dry-run cannot look at standard input", hint="name files or folders")
    forecast = session.runtime.forecast(list(options.paths), wanted)
    session.close()
    item = {**asdict(forecast), "skipped": [skip_item(skip) for skip in forecast.skipped]}
    flat = {**item, "skipped": len(forecast.skipped)}

    def text(screen: Screen) -> Iterator[str]:
        yield from _fate_lines(forecast, unchanged=session.verbosity > 0)
        yield counts_line(flat)
        yield from _forecast_lines(forecast)

    session.emit(Result(item, [item], FORECAST_COLUMNS, text, rows=[flat]))


def _fate_lines(forecast: Forecast, *, unchanged: bool) -> Iterator[str]:
    for fate in forecast.plan:
        if unchanged or fate.action != "unchanged":
            yield f"{fate.action:<9}  {safe(fate.path)}" + (f"  ({safe(fate.reason)})" if fate.reason else "")


def _forecast_lines(forecast: Forecast) -> Iterator[str]:
    yield f"{counted(forecast.files, 'file')} to read ({quantity(forecast.bytes, 'B')})"
    asking = f", {duration(forecast.intent_seconds)} of them to predict questions," if forecast.intent_seconds else ""
    yield f"about {duration(forecast.seconds)}{asking} and {quantity(forecast.disk_bytes, 'B')} of disk"
