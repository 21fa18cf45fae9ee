"""The error boundary: every failure becomes one line on stderr and an exit code; nothing else catches broadly."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

import click

from idc_local.cli.output import OutputError, to_json, write
from idc_local.cli.session import App, is_common
from idc_local.cli.terminal import safe
from idc_local.errors import IdcError

INTERRUPTED = 130
SIGNALLED = 128
"""A shell adds this to the number of the signal that ended a program."""
STOPPING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What asks a program to end: a service that stops, a terminal that is closed."""
BROKEN_PIPE = 141
"""What a shell reports for a program that ends because nobody reads its output."""


class Stopped(BaseException):
    """A signal asked the program to end; what is half done is cleaned up on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def heed_signals() -> None:
    """Lets each of ``STOPPING`` raise ``Stopped``, unless whoever started the program had it ignored."""

    def stop(number: int, frame: object) -> None:
        raise Stopped(number)

    for number in STOPPING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, stop)


def run(call: Callable[[], object], app: App) -> int:
    """Runs a command line and returns its exit code; never raises."""
    try:
        code = _run(call, app)
        sys.stdout.flush()
    except BrokenPipeError:
        code = BROKEN_PIPE
    except OSError as error:
        code = _fail(app, f"cannot write the output: {error.strerror}", "check where stdout goes", 2)
    for stream in (sys.stdout, sys.stderr):
        _let_go(stream)
    return code


def _run(call: Callable[[], object], app: App) -> int:
    try:
        call()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (BrokenPipeError, OutputError):
        raise
    except (KeyboardInterrupt, click.Abort):
        return _fail(app, "interrupted", "run it again; what was finished is kept", INTERRUPTED)
    except Stopped as stopped:
        what = f"stopped by {signal.Signals(stopped.number).name}"
        return _fail(app, what, "run it again; what was finished is kept", SIGNALLED + stopped.number)
    except click.exceptions.NoArgsIsHelpError as error:  # a group without a command: the help was not asked for
        write(f"{error.format_message()}\n", err=True)
        return 2
    except click.ClickException as error:
        return _fail(app, error.format_message(), _usage_hint(error), 2)
    except IdcError as error:
        return _fail(app, error.message, error.hint, error.exit_code)
    except ImportError as error:
        return _fail(app, f"a library cannot be loaded: {error}", "idc-local doctor", 2)
    except Exception as error:
        return _unexpected(app, error)
    return 0


def _unexpected(app: App, error: Exception) -> int:
    sys.stdout.flush()  # raises anew where it was click's own output, as of --help, that could not be written
    if isinstance(error, FileNotFoundError) and _is_nowhere():
        return _fail(app, "the current folder is gone", "change to one that is there: cd", 2)
    if isinstance(error, OSError) and error.filename is not None:
        return _fail(app, f"{error.filename}: {error.strerror}", "check the path, its permissions and the disk", 2)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _fail(app, what, "run it again with --debug", 2)


def _is_nowhere() -> bool:
    """True where the folder that the program was started in has been removed."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _fail(app: App, what: str, hint: str, code: int) -> int:
    what = safe(what.strip()).rstrip(".")
    with suppress(OSError):
        if app.debug:
            write(traceback.format_exc(), err=True)
        end = "" if what.endswith(("?", "!")) else "."
        write(f"error: {what}{end} hint: {safe(hint)}\n" if hint else f"error: {what}\n", err=True)
        if app.failure is not None:
            error = {"message": what, "hint": hint, "exit_code": code}
            write(to_json({**app.failure, "error": error}, indent=2) + "\n")
    return code


def _usage_hint(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    if context is None:
        return "idc-local --help"
    group = isinstance(context.command, click.Group)
    if group and isinstance(error, click.NoSuchOption) and is_common(error.option_name):
        return f"options come after the command, as in {context.command_path} COMMAND {error.option_name}"
    return f"{context.command_path} --help"


def _let_go(stream: TextIO) -> None:
    """Lets the interpreter flush into nothing, when it ends, what could not be written."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
