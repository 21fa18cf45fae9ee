"""What the golden files hold: the help of every command, and the shape of every JSON output.

``scripts/update_golden`` writes them anew; ``test_golden.py`` compares.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from idc_local.cli import cli
from tests.clikit import invoke

FOLDER = Path(__file__).parent
OUTPUTS: dict[str, tuple[str, ...]] = {
    "index": ("index", "docs"),
    "index-dry-run": ("index", "docs", "--dry-run"),
    "search": ("search", "pump", "--context", "1"),
    "search-nothing": ("search", "nothing"),
    "chunk": ("chunk", "docs/pump.md", "--explain"),
    "intents": ("intents", "docs/pump.md"),
    "intents-all": ("intents", "--all"),
    "show": ("show", "a1b2"),
    "show-document": ("show", "a1b2", "--document"),
    "show-verify": ("show", "a1b2", "--verify"),
    "status": ("status",),
    "verify": ("verify",),
    "remove": ("remove", "docs"),
    "forget": ("forget", "docs/pump.md"),
    "compact": ("compact",),
    "repair": ("repair",),
    "export": ("export", "notes.tar"),
    "import": ("import", "notes.tar"),
    "models-list": ("models", "list"),
    "doctor": ("doctor",),
    "config-show": ("config", "show"),
    "licences": ("licences",),
}


def shape(value: Any) -> Any:
    """A value with the names of types in place of what it says; of a list, the first item stands for all."""
    if isinstance(value, dict):
        return {key: shape(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return "null" if value is None else type(value).__name__


def commands(group: click.Group, context: click.Context, names: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Names of all commands, groups included, outermost first."""
    yield names
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, context, (*names, name))
        else:
            yield (*names, name)


def build_cases() -> dict[str, str]:
    """Content of every golden file by its name."""
    cases = {}
    for names in commands(cli, click.Context(cli)):
        cases[f"help-{'-'.join(names) or 'overview'}.txt"] = invoke(*names, "--help").stdout
    with tempfile.TemporaryDirectory() as models:
        for name, arguments in OUTPUTS.items():
            value = json.loads(invoke(*arguments, "--format", "json", "--models", models).stdout)
            cases[f"shape-{name}.json"] = json.dumps(shape(value), indent=2) + "\n"
            header = invoke(*arguments, "--format", "csv", "--models", models).stdout.split("\n")[0]
            cases[f"columns-{name}.txt"] = header.replace(",", "\n") + "\n"
    return cases


def update() -> None:
    """Writes all golden files, and removes those that no case makes any more."""
    cases = build_cases()
    for old in [*FOLDER.glob("*.txt"), *FOLDER.glob("*.json")]:
        if old.name not in cases:
            old.unlink()
    for name, content in cases.items():
        (FOLDER / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    update()
