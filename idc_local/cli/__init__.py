"""The command line: parses, asks the runtime, prints. The only home of click.

The group knows its commands by name and one line of help; a command's module is imported when it is called.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import click
from click.shell_completion import shell_complete

import idc_local
from idc_local.cli.boundary import run
from idc_local.cli.session import App

PROGRAM = "idc-local"
COMPLETION_VARIABLE = "_IDC_LOCAL_COMPLETE"

COMMANDS: Mapping[str, tuple[str, str]] = {
    "index": ("indexing", "Read files and folders into the index; only what changed is worked on."),
    "search": ("search", "Find the passages that answer a question."),
    "chunk": ("chunk", "Cut one file into passages, without an index."),
    "intents": ("intents", "Predict the questions that a file, or the index, answers."),
    "show": ("show", "Print one passage, or the text of its document."),
    "status": ("status", "Say what the index holds and what made it."),
    "verify": ("status", "Check that the index is whole."),
    "remove": ("upkeep", "Take a file or folder out of the index."),
    "forget": ("upkeep", "Remove a document and every trace of it, and prove it."),
    "compact": ("upkeep", "Give back the disk space of what was removed."),
    "repair": ("upkeep", "Take out what is damaged and rebuild what can be rebuilt."),
    "export": ("upkeep", "Write the whole index to one file."),
    "import": ("upkeep", "Make an index from an exported file."),
    "eval": ("evaluate", "Compare ways of cutting, on labelled data or on the index itself."),
    "models": ("models", "List, fetch, add, check, bundle and install model files."),
    "config": ("configuration", "Show the settings, and where each comes from."),
    "licences": ("licences", "List the licence of every library and model."),
    "doctor": ("doctor", "Check the installation, the models and the index."),
}
"""For each command the module of this package that defines it, and its line in the overview."""


class CommandLine(click.Group):
    """The group of all commands, and the error boundary around them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the overview."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the command's module."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"idc_local.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that was typed; of a name that is none, the nearest one is told."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            if not near:
                raise
            message = f"No such command {args[0]!r}. Did you mean {near[0]!r}?"
            raise click.UsageError(message, ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The overview, without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without a command the overview goes to stderr: it was not asked for."""
        if not args and not ctx.resilient_parsing:
            click.echo(self.get_help(ctx), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]  # noqa: ANN401
        """Runs the command line and exits; ``obj`` may hold the App."""
        app = extra.get("obj") or App()
        arguments = list(sys.argv[1:] if args is None else args)
        instruction = os.environ.get(COMPLETION_VARIABLE)
        if instruction:
            sys.exit(shell_complete(self, {}, PROGRAM, COMPLETION_VARIABLE, instruction))

        def call() -> None:
            with self.make_context(PROGRAM, arguments, obj=app) as context:
                self.invoke(context)

        sys.exit(run(call, app))


@click.group(
    cls=CommandLine,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nExamples:\n"
    "  idc-local models pull\n"
    "  idc-local index ~/Documents/contracts\n"
    '  idc-local search "When does the lease end?"\n'
    "  idc-local doctor",
)
@click.version_option(idc_local.__version__, prog_name=PROGRAM)
def cli() -> None:
    """Search private documents offline, by the questions that they answer.

    Nothing leaves this machine: only `models pull` and `models bundle` may use the network. Results go to stdout,
    everything else to stderr. Exit codes: 0 done, 1 nothing found or a check not met, 2 wrong usage or unusable
    input, 3 a model is missing or damaged, 4 the index is locked or damaged, 130 interrupted.
    """
