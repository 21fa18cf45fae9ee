"""``config``: what the settings are, and where each of them comes from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from idc_local.cli.output import Item, Result
from idc_local.cli.render import table_lines
from idc_local.cli.session import Command, Session, examples
from idc_local.cli.terminal import Screen, safe
from idc_local.config import INDEX_CONFIG, Settings, user_config_file, variable

COLUMNS = ("setting", "value", "origin", "variable")


@click.group("config", epilog=examples("idc-local config show", "idc-local config show --format json"))
def config_command() -> None:
    """Look at the settings.

    They come from, each winning over the one before: defaults, your own file, `config.toml` in the folder of the
    index, environment variables, flags. Both files are TOML with one line a setting, as in `strategy = "recursive"`;
    a setting that is not known is refused. Nothing is ever read from a folder that is indexed.
    """


@config_command.command(
    "show",
    cls=Command,
    short_help="Print every setting, and where it comes from.",
    epilog=examples(
        "idc-local config show", "IDC_THREADS=1 idc-local config show", "idc-local config show --index notes.idc"
    ),
)
def show_command(session: Session) -> None:
    """Print every setting with its value and where that came from, and the files that settings are read from."""
    settings = session.settings
    files = [str(user_config_file()), str(settings.index / INDEX_CONFIG)]
    items = settings_items(settings)

    def text(screen: Screen) -> Iterator[str]:
        yield from table_lines(items, COLUMNS, screen)
        yield ""
        for file in files:
            yield f"{'read' if Path(file).is_file() else 'not there'}: {safe(file)}"

    session.emit(Result({"settings": items, "files": files}, items, COLUMNS, text))


def settings_items(settings: Settings) -> list[Item]:
    """Every setting in order of its name in ``Settings``."""
    values = {name: getattr(settings, name) for name in settings.origins}
    return [
        {
            "setting": name,
            "value": str(value) if isinstance(value, Path) else value,
            "origin": settings.origins[name],
            "variable": variable(name),
        }
        for name, value in values.items()
    ]
