"""The prompt that ``search`` opens in a terminal: models stay loaded, and what was found can be looked at further.

Questions are kept for the arrow keys as long as the prompt lasts, and never written to disk.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from idc_local.cli.excerpts import Excerpt
from idc_local.cli.output import write
from idc_local.cli.render import explain_lines
from idc_local.cli.search import UNSURE, SearchArguments, as_text, ask, is_unsure, respelt, search_result
from idc_local.cli.terminal import dim, fit, lines_of, safe
from idc_local.errors import IdcError, UsageError
from idc_local.filters import SEPARATOR, parse_filter

if TYPE_CHECKING:
    from idc_local.cli.session import Session
    from idc_local.searching import Searcher

SIGN = "? "
SUGGESTIONS = 3
KNOWN_QUESTIONS = 5000
"""Predicted questions that the tab key looks through at most."""
TEXT_SUFFIXES = frozenset({"", ".txt", ".text", ".rst", ".md", ".markdown", ".mdown", ".mkd", ".csv", ".py", ".json"})
"""Files that an editor or a pager shows; others are left to the desktop."""

HELP = """\
  a question          find the passages that answer it
  Tab, arrows         complete a predicted question, bring back an old one
  :more               the next passages for the same question
  :open N             open the source of passage N at its line
  :explain [N]        what each signal gave to the passages, or to N
  :filter EXPRESSION  keep to what passes `search --filter`; alone, to all
  :help               this list
  :quit               leave (so does Ctrl-D)
"""


def is_interactive() -> bool:
    """True where a person can be asked: both ends are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


@dataclass
class Prompt:
    """One dialogue. ``read`` shows a sign and returns what was typed; EOFError ends it."""

    session: Session
    searcher: Searcher
    options: SearchArguments
    read: Callable[[str], str]
    query: str = ""
    found: list[Excerpt] = field(default_factory=list)

    def run(self, suggested: Sequence[str]) -> None:
        """Asks and answers until the dialogue ends."""
        screen = self.session.screen
        write(f"{self.searcher.size:,} passages. Ask a question, or :help. Ctrl-D leaves.\n")
        for question in suggested[:SUGGESTIONS]:
            write(dim(fit(f"  try: {question}", screen.width or 80), screen) + "\n")
        while True:
            try:
                line = self.read(SIGN).strip()
            except EOFError:
                write("\n")
                return
            except KeyboardInterrupt:
                write("\n")
                continue
            if line in (":quit", ":q", ":exit"):
                return
            self._try(line)

    def _try(self, line: str) -> None:
        """One turn; what goes wrong in it ends the turn alone."""
        try:
            self._turn(line)
        except IdcError as error:
            write(f"error: {safe(error.message)}. hint: {safe(error.hint)}\n", err=True)
        except KeyboardInterrupt:
            write("interrupted\n", err=True)

    def _turn(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if not line:
            return
        if not word.startswith(":"):
            self._search(line)
        elif word == ":help":
            write(HELP)
        elif word in _COMMANDS:
            _COMMANDS[word](self, rest.strip())
        else:
            raise UsageError(f"{word} is no command", hint=":help lists them")

    def _search(self, text: str) -> None:
        began = time.perf_counter()
        self.query, self.found = text, ask(self.session, self.searcher, text, self.options)
        self._show(self.found, time.perf_counter() - began)
        spelling = self.searcher.misspelt(as_text(text))
        if self.found and spelling:
            write(f"{safe(respelt(spelling))}\n")
        if is_unsure(self.found):
            write(f"{UNSURE}\n")

    def _show(self, found: list[Excerpt], seconds: float) -> None:
        result = search_result(self.query, found, explain=self.options.explain, spelling={})
        self.session.emit(result)
        if not found:
            write("nothing found\n")
        self.session.detail(f"{1000 * seconds:.0f} ms")

    def more(self, rest: str) -> None:
        """The passages after those that were shown."""
        if not self.query:
            raise UsageError("there is no question yet", hint="ask one first")
        began = time.perf_counter()
        wanted = replace(self.options, k=len(self.found) + self.options.k)
        every = ask(self.session, self.searcher, self.query, wanted)
        fresh, self.found = every[len(self.found) :], every
        self._show(fresh, time.perf_counter() - began)

    def explain(self, rest: str) -> None:
        """The signals of one passage, or of all."""
        for excerpt in [self._chosen(rest)] if rest else self.found:
            write(f"{excerpt.hit.rank}.  {safe(excerpt.hit.chunk.path)}:{excerpt.hit.chunk.line_start}\n")
            write("".join(f"{line}\n" for line in explain_lines(excerpt.hit, self.session.screen)))

    def filter(self, rest: str) -> None:
        """Another filter for all questions to come."""
        parse_filter(rest)
        self.options = replace(self.options, filter=rest)
        write(f"keeping to {safe(rest)}\n" if rest else "no filter\n")

    def open(self, rest: str) -> None:
        """The source of a passage at its answer in the user's own program, or else what surrounds the passage."""
        hit = self._chosen(rest).hit
        chunk, span = hit.chunk, hit.span
        source = self.session.runtime.source_state(chunk.path)
        if source.state != "match":
            write(f"{safe(chunk.path)} {'has ' if source.state in ('moved', 'changed') else 'is '}{source.state}\n")
        packed = SEPARATOR in source.place and not os.path.exists(source.place)
        file = "" if packed else source.place
        line = (span.line_start if span.likely else None) or chunk.line_start
        command = opener(file, line, self.session.app.environ) if file else None
        if command is None or _run(command):
            self._around(chunk.document_id, chunk.start, chunk.end)

    def _around(self, document: str, start: int, end: int) -> None:
        """The passage within its document, as it was read."""
        text = self.session.document_text(document)
        first, last = max(0, start - 800), min(len(text), end + 800)
        for line in lines_of(text[first:last], self.session.screen, "   ", (start - first, end - first)):
            write(line + "\n")

    def _chosen(self, number: str) -> Excerpt:
        if number not in map(str, range(1, len(self.found) + 1)):
            hint = f"give a number from 1 to {len(self.found)}" if self.found else "ask a question first"
            raise UsageError(f"there is no passage {number or 'without a number'}", hint=hint)
        return self.found[int(number) - 1]


_COMMANDS: Mapping[str, Callable[[Prompt, str], None]] = {
    ":more": Prompt.more,
    ":explain": Prompt.explain,
    ":filter": Prompt.filter,
    ":open": Prompt.open,
}
NAMES = (*_COMMANDS, ":help", ":quit")


def opener(path: str, line: int, environ: Mapping[str, str], system: str = sys.platform) -> list[str] | None:
    """The command that shows a file: the user's editor or pager for text, the desktop's program for the rest."""
    if PurePath(path).suffix.lower() in TEXT_SUFFIXES:
        named = (environ.get(name, "").strip() for name in ("VISUAL", "EDITOR", "PAGER"))
        own = next(filter(None, named), shutil.which("less"))
        return [*_words(own), f"+{line}", path] if own else None
    if system == "darwin":
        return ["open", path]
    desktop = environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    return ["xdg-open", path] if desktop and shutil.which("xdg-open") else None


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{command} cannot be started: {error}", hint="correct VISUAL or EDITOR") from error


def _run(command: Sequence[str]) -> int:
    try:
        return subprocess.run(command, check=False).returncode
    except OSError as error:
        hint = "set VISUAL or EDITOR to the program that shows files"
        raise UsageError(f"{command[0]} cannot be started: {error.strerror}", hint=hint) from error


def completions(typed: str, questions: Sequence[str]) -> list[str]:
    """What the tab key offers: commands, questions that begin with what was typed, then those that hold it."""
    if typed.startswith(":"):
        return [name for name in NAMES if name.startswith(typed)]
    wanted = typed.casefold()
    begin = [question for question in questions if question.casefold().startswith(wanted)]
    hold = [question for question in questions if wanted in question.casefold()] if wanted else []
    return list(dict.fromkeys([*begin, *hold]))


def converse(session: Session, options: SearchArguments) -> None:
    """Opens the index, gets everything warm, and talks until the user leaves."""
    with session.runtime.searcher() as searcher:
        questions = session.runtime.questions(KNOWN_QUESTIONS)
        ask(session, searcher, questions[0] if questions else "?", replace(options, k=1))
        _equip_input(questions)
        session.close()
        Prompt(session, searcher, options, input).run(_spread(questions))


def _spread(questions: Sequence[str]) -> Sequence[str]:
    """A few of the questions, from all over the index."""
    return questions[:: max(1, len(questions) // SUGGESTIONS)]


def _equip_input(questions: Sequence[str]) -> None:
    """Line editing, history and completion where the interpreter has them."""
    try:
        import readline
    except ImportError:
        return
    offered: list[str] = []

    def complete(text: str, state: int) -> str | None:
        if state == 0:
            offered[:] = completions(readline.get_line_buffer(), questions)
        return offered[state] if state < len(offered) else None

    readline.set_completer_delims("")
    readline.set_completer(complete)
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
