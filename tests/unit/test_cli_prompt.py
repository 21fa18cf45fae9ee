"""The prompt of ``search``: questions one after the other, and what can be done with the answers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from idc_local.cli import prompt
from idc_local.cli.prompt import HELP, completions, opener
from idc_local.errors import StoreCorrupt
from idc_local.whereabouts import SourceState
from tests.clikit import HITS, FakeRuntime, invoke

Talk = Callable[..., Result]
GREETING = "2 passages. Ask a question, or :help. Ctrl-D leaves.\n  try: What does the pump need?\n"


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch) -> Talk:
    """Types lines, then Ctrl-D."""

    def run(
        *lines: str | BaseException,
        runtime: FakeRuntime | None = None,
        options: tuple[str, ...] = (),
        editor: str = "edit --wait",
    ) -> Result:
        typed = iter(lines)

        def read(sign: str) -> str:
            line = next(typed, EOFError())
            if isinstance(line, BaseException):
                raise line
            return line

        monkeypatch.setattr("builtins.input", read)
        monkeypatch.setattr(prompt, "is_interactive", lambda: True)
        return invoke("search", *options, runtime=runtime, environ={"EDITOR": editor})

    return run


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands that were run; each succeeds."""
    commands: list[list[str]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_off_a_terminal_a_missing_query_is_wrong_usage() -> None:
    result = invoke("search", stdin="pump\n")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: give a QUERY or --queries FILE")


def test_other_formats_want_a_query(talk: Talk) -> None:
    assert talk("pump", options=("--format", "json")).exit_code == 2


def test_questions_are_answered_until_the_end_of_input(talk: Talk) -> None:
    runtime = FakeRuntime()
    result = talk("pump", "", "  nothing  ", runtime=runtime, options=("-k", "1"))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(GREETING)
    assert "1.  docs/pump.md:1  answer in line 3  0.7312  [a1b2c3d4]\n" in result.stdout
    assert "2.  docs/pump.md" not in result.stdout
    assert result.stdout.endswith("nothing found\n\n")
    asked = [(call[1].text, call[2]) for call in runtime.calls if call[0] == "search"]
    assert asked == [("What does the pump need?", 1), ("pump", 1), ("nothing", 1)], "the first makes all warm"
    assert [call[0] for call in runtime.calls].count("searcher") == 1


@pytest.mark.parametrize("word", [":quit", ":q", ":exit"])
def test_leaving(talk: Talk, word: str) -> None:
    runtime = FakeRuntime()
    assert talk(word, "pump", runtime=runtime).exit_code == 0
    assert len([call for call in runtime.calls if call[0] == "search"]) == 1


def test_more_shows_only_what_was_not_shown(talk: Talk) -> None:
    result = talk("pump", ":more", ":more", options=("-k", "1"))
    assert result.stdout.count("1.  docs/pump.md:1") == 1
    assert result.stdout.count("2.  docs/pump.md:6") == 1
    assert result.stdout.endswith("nothing found\n\n")


def test_explain_one_or_all(talk: Talk) -> None:
    one = talk("pump", ":explain 2").stdout
    assert one.count("   signal         score\n") == 1
    assert "2.  docs/pump.md:6\n   signal         score\n   dense         0.2000  " in one
    assert talk("pump", ":explain").stdout.count("   signal         score\n") == 2


def test_filter_holds_for_the_questions_that_follow(talk: Talk) -> None:
    runtime = FakeRuntime()
    result = talk(":filter path:docs/*", "pump", ":filter", "pump", ":filter size:1", "pump", runtime=runtime)
    asked = [call[1].filter for call in runtime.calls if call[0] == "search"]
    assert asked == ["", "path:docs/*", "", ""]
    assert "keeping to path:docs/*\n" in result.stdout
    assert "no filter\n" in result.stdout
    assert result.stderr.startswith("error: unknown filter")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (":nope", "error: :nope is no command. hint: :help lists them\n"),
        (":open 3", "error: there is no passage 3. hint: give a number from 1 to 2\n"),
        (":open", "error: there is no passage without a number. hint: give a number from 1 to 2\n"),
        (":explain ²", "error: there is no passage ². hint: give a number from 1 to 2\n"),
    ],
)
def test_a_slip_is_told_and_the_dialogue_goes_on(talk: Talk, line: str, message: str) -> None:
    result = talk("pump", line, "nothing")
    assert (result.exit_code, result.stderr) == (0, message)
    assert result.stdout.endswith("nothing found\n\n")


def test_before_any_question(talk: Talk) -> None:
    result = talk(":more", ":open 1", ":help")
    assert result.stderr == (
        "error: there is no question yet. hint: ask one first\n"
        "error: there is no passage 1. hint: ask a question first\n"
    )
    assert result.stdout.endswith(f"{prompt.HELP}\n")


def test_what_fails_in_a_turn_ends_the_turn_alone(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = FakeRuntime()
    errors = iter([None, StoreCorrupt("a file is damaged", hint="idc-local repair"), KeyboardInterrupt(), None])
    search = runtime.search

    def failing(query: Any, k: int) -> Any:
        error = next(errors)
        if error is not None:
            raise error
        return search(query, k)

    monkeypatch.setattr(runtime, "search", failing)
    result = talk("one", "two", KeyboardInterrupt(), "three", runtime=runtime)
    assert result.stderr == "error: a file is damaged. hint: idc-local repair\ninterrupted\n"
    assert "1.  docs/pump.md:1" in result.stdout


def test_open_starts_the_users_editor_at_the_line(talk: Talk, started: list[list[str]]) -> None:
    result = talk("pump", ":open 2")
    assert started == [["edit", "--wait", "+6", "/docs/pump.md"]]
    assert "match" not in result.stdout


def test_open_goes_to_the_answer_only_if_that_is_likely(talk: Talk, started: list[list[str]]) -> None:
    unlikely = replace(HITS[0], span=replace(HITS[0].span, likely=False))
    talk("pump", ":open 1")
    talk("pump", ":open 1", runtime=FakeRuntime(hits=[unlikely]))
    assert [command[2] for command in started] == ["+3", "+1"]


def test_open_tells_what_became_of_the_source(talk: Talk, started: list[list[str]]) -> None:
    moved = FakeRuntime(state=SourceState("moved", "/elsewhere/-pump.md"))
    assert "docs/pump.md has moved\n" in talk("pump", ":open 1", runtime=moved).stdout
    assert started == [["edit", "--wait", "+3", "/elsewhere/-pump.md"]]
    gone = talk("pump", ":open 2", runtime=FakeRuntime(state=SourceState("gone"))).stdout
    assert (
        "docs/pump.md is gone\n   # Pump\n   The pump needs oil.\n   Check it weekly.\n   A red lamp warns.\n" in gone
    )
    assert len(started) == 1


@pytest.mark.parametrize(
    ("path", "environ", "system", "command"),
    [
        ("/a/b.md", {"VISUAL": "vim", "EDITOR": "nano"}, "linux", ["vim", "+7", "/a/b.md"]),
        ("/a/README", {"EDITOR": "'my editor' -w"}, "linux", ["my editor", "-w", "+7", "/a/README"]),
        ("/a/b.txt", {"VISUAL": "", "EDITOR": "  ", "PAGER": "most"}, "linux", ["most", "+7", "/a/b.txt"]),
        ("/a/b.pdf", {"EDITOR": "vim"}, "darwin", ["open", "/a/b.pdf"]),
        ("/a/b.pdf", {"EDITOR": "vim"}, "linux", None),
    ],
)
def test_what_opens_a_file(path: str, environ: dict[str, str], system: str, command: list[str] | None) -> None:
    assert opener(path, 7, environ, system) == command


@pytest.mark.parametrize(
    ("editor", "message"),
    [
        ("/no/such/editor -w", "/no/such/editor cannot be started: No such file or directory. hint: set VISUAL or"),
        ("edit 'x", "edit 'x cannot be started: No closing quotation. hint: correct VISUAL or EDITOR"),
    ],
)
def test_an_editor_that_cannot_be_started_ends_the_turn_alone(talk: Talk, editor: str, message: str) -> None:
    result = talk("pump", ":open 1", f":open {'9' * 5000}", ":help", editor=editor)
    assert (result.exit_code, result.stdout.endswith(f"{HELP}\n")) == (0, True)
    assert result.stderr.startswith(f"error: {message}")


def test_a_member_of_an_archive_is_shown_here(talk: Talk, started: list[list[str]]) -> None:
    inside = FakeRuntime(state=SourceState("match", "/docs/all.zip!/pump.md"))
    assert "   The pump needs oil.\n" in talk("pump", ":open 2", runtime=inside).stdout.partition("2.  ")[2]
    assert started == []


def test_completion_offers_commands_and_questions() -> None:
    questions = ["What is rent?", "When is rent due?", "Who pays?"]
    assert completions(":e", questions) == [":explain"]
    assert completions("WH", questions) == questions
    assert completions("rent", questions) == ["What is rent?", "When is rent due?"]
    assert completions("when is r", questions) == ["When is rent due?"]
    assert completions("zebra", questions) == []


def test_in_a_terminal(tmp_path: Path) -> None:
    code = """
import sys
from idc_local.cli import cli
from idc_local.cli.session import App
from tests.clikit import FakeRuntime
cli.main(sys.argv[1:], obj=App(open_runtime=lambda settings, progress: FakeRuntime()))
"""
    root = str(Path(__file__).resolve().parents[2])
    environ = os.environ | {"PYTHONPATH": root, "TERM": "dumb", "COLUMNS": "60"}
    main, side = os.openpty()
    with os.fdopen(side, "r+b", buffering=0) as terminal, os.fdopen(main, "r+b", buffering=0) as screen:
        screen.write(b"pump\n:quit\n")
        command = [sys.executable, "-c", code, "search", "-k", "1"]
        subprocess.run(command, stdin=terminal, stdout=terminal, env=environ, check=True, timeout=60)
        shown = screen.read(8192).decode()
    assert "  try: What does the pump need?\r\n" in shown
    assert "1.  docs/pump.md:1  answer in line 3  0.7312  [a1b2c3d4]\r\n" in shown
