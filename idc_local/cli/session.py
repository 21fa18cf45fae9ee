"""What all commands share: the common options, the settings and streams of one run, and how a command is declared.

A command is a function of a ``Session`` and one frozen dataclass of its own options; ``Command`` brings the two
together under the network guard. Nothing heavy is imported before a command asks for its runtime.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

import click

from idc_local.cli.output import Result, render, write
from idc_local.cli.parameters import PathName
from idc_local.cli.progress import Quiet, Reporter
from idc_local.cli.terminal import Screen, detect_screen, safe
from idc_local.config import FORMATS, Settings, load_settings
from idc_local.errors import ConfigError, IdcError, NetworkBlocked, quote
from idc_local.machine import available_threads
from idc_local.netguard import NetworkLog, guard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idc_local.indexing import IndexOptions
    from idc_local.ports import Progress
    from idc_local.runtime import Runtime

OpenRuntime = Callable[[Settings, "Progress"], "Runtime"]
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def open_runtime(settings: Settings, progress: Progress) -> Runtime:
    """The real runtime. Imported here, because it brings the numeric libraries along."""
    from idc_local.runtime import Runtime

    return Runtime(settings, progress)


@dataclass(slots=True)
class App:
    """State of one process, shared with the error boundary.

    failure: what a JSON consumer gets besides the error, when a command fails; None until a JSON command runs.
    close_network: has the kernel keep the whole process off the network for good; True where it does.
    early: what was seen of the network before the command ran.
    """

    open_runtime: OpenRuntime = open_runtime
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    debug: bool = False
    failure: dict[str, Any] | None = None
    close_network: Callable[[], bool] = lambda: False
    early: NetworkLog | None = None


@dataclass
class Session:
    """One run of one command."""

    app: App
    settings: Settings
    verbosity: int
    command: str
    fault: ConfigError | None = None
    """Why the settings are not those that were asked for; only a lenient command gets to see it."""

    @cached_property
    def runtime(self) -> Runtime:
        """Opened when first asked for."""
        return self.app.open_runtime(self.settings, self.progress)

    @cached_property
    def progress(self) -> Progress:
        """Draws on a terminal, writes lines for ``-v``, or keeps quiet."""
        terminal = sys.stderr.isatty() and self.app.environ.get("TERM", "") != "dumb"
        if self.verbosity < 0 or not (terminal or self.verbosity > 0):
            return Quiet()
        return Reporter(sys.stderr, terminal=terminal, verbose=self.verbosity > 0)

    def close(self) -> None:
        """Takes a half-drawn progress line away."""
        if isinstance(self.__dict__.get("progress"), Reporter):
            self.__dict__["progress"].clear()

    @cached_property
    def screen(self) -> Screen:
        """What stdout is."""
        return detect_screen(sys.stdout, self.app.environ)

    @property
    def wants_json(self) -> bool:
        """True where stdout must be one JSON value, also when something fails."""
        return self.settings.format == "json"

    def emit(self, result: Result) -> None:
        """Prints a result in the format that was asked for."""
        for piece in render(result, self.settings.format, self.screen, terminal=sys.stdout.isatty()):
            write(piece)
        self.app.failure = None

    def note(self, text: str) -> None:
        """Tells people something on stderr, unless ``-q``."""
        if self.verbosity >= 0:
            write(f"{safe(text)}\n", err=True)

    def warn(self, text: str) -> None:
        """The same, whatever was asked for."""
        write(f"{safe(text)}\n", err=True)

    def detail(self, text: str) -> None:
        """The same for ``-v`` only."""
        if self.verbosity > 0:
            self.note(text)

    def expect(self, **partial: object) -> None:
        """Names what ``--format json`` prints beside the error, should the command fail from here on."""
        if self.wants_json:
            self.app.failure = partial

    @cached_property
    def document_text(self) -> Callable[[str], str]:
        """Extracted text by document id; the last few are kept."""
        return lru_cache(maxsize=16)(self.runtime.document_text)

    def stop(self, code: int) -> NoReturn:
        """Ends the command with an exit code; what there is to say has been said."""
        raise click.exceptions.Exit(code)

    def index_options(
        self, *, max_minutes: float | None = None, retry_failed: bool = False, rebuild: bool = False
    ) -> IndexOptions:
        """Options for the use cases, with sizes and methods from the settings."""
        from idc_local.indexing import IndexOptions
        from idc_local.types import Limits

        wanted = self.settings
        return IndexOptions(
            strategy=wanted.strategy,
            objective=wanted.objective,
            intents=wanted.intents,
            limits=Limits(target_chars=wanted.target_chars, max_chars=wanted.max_chars, max_tokens=wanted.max_tokens),
            max_minutes=max_minutes,
            retry_failed=retry_failed,
            rebuild=rebuild,
        )


def _common_options() -> list[click.Option]:
    path = PathName()
    return [
        click.Option(
            ["--index"], type=path, metavar="DIR", help="Folder of the index. [env: IDC_INDEX; default: .idc]"
        ),
        click.Option(["--models"], type=path, metavar="DIR", help="Folder of the models. [env: IDC_MODELS]"),
        click.Option(["--format"], type=click.Choice(FORMATS), help="Output format. [env: IDC_FORMAT; default: text]"),
        click.Option(["-q", "--quiet"], is_flag=True, help="No progress and no notes."),
        click.Option(["-v", "--verbose"], is_flag=True, help="More detail, timings, and a network report."),
        click.Option(["--config"], type=path, metavar="FILE", help="Settings file to use in place of your own."),
        click.Option(["--allow-network"], is_flag=True, help="Only count connections, and refuse none."),
        click.Option(["--debug"], is_flag=True, is_eager=True, callback=_set_debug, expose_value=False, help=_DEBUG),
    ]


def is_common(name: str) -> bool:
    """True for an option that every command has."""
    return any(name in option.opts for option in _common_options())


_DEBUG = "Show the traceback of an error."
_SETTINGS = ("index", "models", "format")
_ABOUT_MODELS = re.compile(r"(?:^|, then )idc-local models (?:list|verify|pull(?: [\w.-]+)?(?: --accept-licence)?)\Z")
_OVERRIDES = ("strategy", "objective", "intents", "target_chars")
"""Options of single commands that override a setting of the same name."""


def _set_debug(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    app = context.find_object(App)
    if app is not None and value:
        app.debug = True


class Command(click.Command):
    """A command with the common options. Its function takes the session and an instance of ``options``.

    options: frozen dataclass with a field for each of the command's own parameters. network: True for the only kind
    of command that may use it. loopback: True for one that talks to other programs of this machine, which the kernel
    cannot tell from the network: the guard in the process alone keeps it in. lenient: goes on without files and
    variables where they cannot be used.
    """

    def __init__(
        self,
        *args: Any,  # noqa: ANN401  # whatever click.Command takes
        options: type[Any] | None = None,
        network: bool = False,
        loopback: bool = False,
        lenient: bool = False,
        **attributes: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*args, **attributes)
        self._options = options
        self._network = network
        self._loopback = loopback
        self._lenient = lenient
        self._own = len(self.params)
        self.params.extend(_common_options())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Errors of the parser itself do not say which command they are about."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def invoke(self, ctx: click.Context) -> object:
        """Builds session and options, and runs the command under the guard."""
        app = ctx.ensure_object(App)
        given = dict(ctx.params)
        asked = given.pop("allow_network")
        if not (asked or self._network or self._loopback):
            app.close_network()
        with guard(allow=asked or self._network) as log:
            session = self._session(app, given, ctx.command_path)
            if asked:
                session.warn("network: allowed by --allow-network; connections are counted, none is refused")
            own = {key: value for key, value in given.items() if key not in _OVERRIDES}
            ctx.params = {"session": session} | ({"options": self._options(**own)} if self._options else {})
            try:
                return super().invoke(ctx)
            except IdcError as error:
                error.hint = with_places(error.hint, session.settings)
                raise
            finally:
                session.close()
                _tell(session, log, app.early)

    def _session(self, app: App, given: dict[str, Any], path: str) -> Session:
        quiet, verbose, config = given.pop("quiet"), given.pop("verbose"), given.pop("config")
        flags = {key: given.pop(key) for key in _SETTINGS}
        flags |= {key: given[key] for key in _OVERRIDES if key in given}
        fault = None
        try:
            settings = load_settings(flags, config=config, environ=app.environ)
        except ConfigError as error:
            if not self._lenient or not error.origin or error.origin.startswith("--"):
                raise
            fault, settings = error, load_settings(flags, environ={}, files=False)
        set_threads(settings.threads)
        app.failure = {} if settings.format == "json" else None
        return Session(app, settings, -1 if quiet else int(verbose), path, fault)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The command's own options first, then the common ones."""
        rows = [
            (param, param.get_help_record(ctx)) for param in self.get_params(ctx) if isinstance(param, click.Option)
        ]
        own = {id(param) for param in self.params[: self._own]}
        for title, wanted in (("Options", True), ("Common options", False)):
            records = [record for param, record in rows if record and (id(param) in own) is wanted]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def with_places(hint: str, settings: Settings) -> str:
    """A hint whose command names the index, or the folder of the models, where that was given by a flag."""
    if _ABOUT_MODELS.search(hint) and settings.origins.get("models") == "--models" and "--models" not in hint:
        return f"{hint} --models {quote(settings.models)}"
    about_index = hint.startswith(("idc-local repair", "idc-local compact", "idc-local index", "idc-local status"))
    if not about_index or settings.origins.get("index") != "--index" or "--index" in hint:
        return hint
    command, lists, what = hint.partition(" lists ")
    return f"{command} --index {quote(settings.index)}{lists}{what}"


def _tell(session: Session, log: NetworkLog, early: NetworkLog | None) -> None:
    """What was seen of the network: for ``-v``, or for all where something was refused that nobody has heard of."""
    if early is not None:
        log.refused[:0] = early.refused
    told = sys.exception()
    refused = [what for what in log.refused if not isinstance(told, NetworkBlocked) or what not in told.message]
    if refused and session.verbosity <= 0:
        session.warn(f"warning: network use refused: {'; '.join(dict.fromkeys(refused))}")
    session.detail(log.summary())


def set_threads(threads: int) -> None:
    """Tells numeric libraries how many threads to use, and to sleep between their tasks, before they are imported.

    Threads that spin while they wait slow everything down as soon as another program wants the processor.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    count = str(threads or available_threads())
    for name in THREAD_VARIABLES:
        if threads:
            os.environ[name] = count
        else:
            os.environ.setdefault(name, count)


def examples(*lines: str) -> str:
    """Epilogue of a command's help: one example a line."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


@contextmanager
def locating(where: str) -> Iterator[None]:
    """Puts ``where`` before the message of an error that passes through."""
    from idc_local.errors import IdcError

    try:
        yield
    except IdcError as error:
        error.message = f"{where}: {error.message}"
        raise
