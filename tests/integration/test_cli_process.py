"""The program as its own process: start-up, streams, signals, pipes, and the guard."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.golden.cases import FOLDER

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {
    "torch",
    "faiss",
    "llama_cpp",
    "sentence_transformers",
    "transformers",
    "bm25s",
    "onnxruntime",
    "scipy",
    "numpy",
}
SCRIPTED = """
import os, signal, sys, socket
from typing import cast
from idc_local.__main__ import prepare_streams
from idc_local.cli import cli
from idc_local.cli.session import App
from tests.clikit import FakeRuntime
class Runtime(FakeRuntime):
    def status(self):
        {body}
prepare_streams()
cli.main(sys.argv[1:], obj=App(open_runtime=lambda settings, progress: Runtime()))
"""


def run(*arguments: str, code: str | None = None, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """One process; its output is bytes, since its encoding is under test."""
    start = ["-c", code] if code else ["-m", "idc_local"]
    return subprocess.run(
        [sys.executable, *start, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        check=False,
        timeout=60,
    )


def test_help_loads_nothing_heavy() -> None:
    names = [path.stem.removeprefix("help-") for path in FOLDER.glob("help-*.txt")]
    calls = [[] if name == "overview" else name.split("-", maxsplit=1) for name in sorted(names)]
    code = f"""
import contextlib, io, json, sys
from idc_local.cli import cli
for call in {calls!r}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        cli.main([*call, "--help"])
print(json.dumps(sorted(set(sys.modules) & set({HEAVY!r}))))
"""
    result = run(code=code)
    assert (result.stderr, json.loads(result.stdout)) == (b"", [])


def test_a_narrow_locale_never_crashes(tmp_path: Path) -> None:
    name = "浮球 café \udce9"
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    code = SCRIPTED.format(body=f"raise ValueError({name!a})")
    result = run("status", "--format", "json", code=code, **plain)
    assert result.returncode == 2
    assert result.stderr == "error: ValueError: 浮球 café \\xe9. hint: run it again with --debug\n".encode()
    assert json.loads(result.stdout.decode("utf-8"))["error"]["message"] == "ValueError: 浮球 café \\xe9"


def test_a_reader_that_goes_away_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "idc_local", "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    process.stdout.close()
    _, noise = process.communicate(timeout=60)
    assert (process.returncode, noise) == (141, b"")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written_is_one_line(unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "idc_local", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    assert (result.returncode, result.stderr) == (
        2,
        b"error: cannot write the output: No space left on device. hint: check where stdout goes\n",
    )


@pytest.mark.parametrize("module", ["idc_local.lockdown", "idc_local.cli", "click"])
def test_ctrl_c_while_it_starts_is_one_line(module: str) -> None:
    code = f"""
import sys
from idc_local.__main__ import main
class Interrupted:
    @staticmethod
    def find_spec(name, *rest):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted)
main()
"""
    result = run("status", code=code)
    assert (result.returncode, result.stdout) == (130, b"")
    assert result.stderr == b"error: interrupted. hint: run it again; what was finished is kept\n"


@pytest.mark.parametrize("form", ["text", "json"])
def test_result_that_cannot_be_written_is_one_line(form: str) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "idc_local", "config", "show", "--format", form],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
        )
    assert (result.returncode, result.stderr) == (
        2,
        b"error: cannot write the output: No space left on device. hint: check where stdout goes\n",
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_is_written_in_part_is_an_error(tmp_path: Path, unbuffered: str) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    with (tmp_path / "out").open("w") as out:
        result = subprocess.run(
            [sys.executable, "-c", SCRIPTED.format(body="pass"), "search", "pump", "--format", "json"],
            stdout=out,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered},
            preexec_fn=limit,
            check=False,
        )
    assert (result.returncode, result.stderr) == (
        2,
        b"error: cannot write the output: File too large. hint: check where stdout goes\n",
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_note_that_cannot_be_written_fails_nothing(unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "idc_local", "config", "show", "-v", "--format", "csv"],
            stdout=subprocess.PIPE,
            stderr=full,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    assert result.returncode == 0
    assert result.stdout.startswith(b"setting,")


def test_closed_streams_are_no_error() -> None:
    command = f"{sys.executable} -m idc_local --help <&- >&- 2>&-"
    result = subprocess.run(["sh", "-c", command], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert result.returncode == 0


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_terminal_gets_emphasis_and_wrapping(unbuffered: str) -> None:
    code = SCRIPTED.format(body="pass")
    main, side = os.openpty()
    termios.tcsetwinsize(side, (24, 24))
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "NO_COLOR": "", "PYTHONUNBUFFERED": unbuffered}
    environ.pop("COLUMNS", None)
    with os.fdopen(side, "wb") as out, os.fdopen(main, "rb", buffering=0) as screen:
        subprocess.run([sys.executable, "-c", code, "search", "pump", "-k", "1"], stdout=out, env=environ, check=True)
        shown = screen.read(4096).decode().replace("\r\n", "\n")
    assert "\x1b[1mdocs/pump.md:1\x1b[0m" in shown
    assert "   \x1b[1mThe pump needs oil.\x1b[0m\n" in shown
    assert "\x1b[2m   answers: What does\x1b[0m\n\x1b[2m   the pump need?\x1b[0m\n" in shown


def test_interrupt_ends_with_130() -> None:
    # A test run in the background hands on that interrupts are ignored.
    body = "signal.signal(signal.SIGINT, signal.default_int_handler); os.kill(os.getpid(), signal.SIGINT)"
    result = run("status", "-v", code=SCRIPTED.format(body=body))
    assert result.returncode == 130
    assert result.stdout == b""
    assert result.stderr == (
        b"network: 0 connections\nerror: interrupted. hint: run it again; what was finished is kept\n"
    )


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_request_to_end_cleans_up_and_is_one_line(name: str, tmp_path: Path) -> None:
    left = tmp_path / "left"
    body = f"""
        from pathlib import Path
        from idc_local.cli.boundary import heed_signals
        signal.signal(signal.{name}, signal.SIG_DFL)
        heed_signals()
        try:
            Path({str(left)!r}).touch()
            os.kill(os.getpid(), signal.{name})
        finally:
            Path({str(left)!r}).unlink()
"""
    result = run("status", code=SCRIPTED.format(body=body.strip()))
    assert result.returncode == 128 + getattr(signal, name)
    assert result.stdout == b""
    assert result.stderr == f"error: stopped by {name}. hint: run it again; what was finished is kept\n".encode()
    assert not left.exists()


def test_a_hang_up_that_is_ignored_stays_ignored() -> None:
    body = """
        from idc_local.cli.boundary import heed_signals
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        heed_signals()
        os.kill(os.getpid(), signal.SIGHUP)
        return super().status()
"""
    assert run("status", code=SCRIPTED.format(body=body.strip())).returncode == 0


def test_a_connection_is_refused_before_it_is_made() -> None:
    result = run("status", code=SCRIPTED.format(body='socket.create_connection(("192.0.2.1", 443), timeout=5)'))
    assert result.returncode == 4
    assert result.stderr.startswith(b"error: network use refused: look-up of 192.0.2.1 by __main__ (<string>:")


def test_libraries_are_told_to_stay_offline_whatever_the_environment_says() -> None:
    code = """
import atexit, os, sys
names = ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "DO_NOT_TRACK"]
atexit.register(lambda: print(*[os.environ[name] for name in names]))
sys.argv = ["idc-local", "--version"]
from idc_local.__main__ import main
main()
"""
    result = run(code=code, HF_HUB_OFFLINE="0", TRANSFORMERS_OFFLINE="no")
    assert result.stdout.splitlines()[-1] == b"1 1 1"


@pytest.mark.parametrize(("asked", "threads"), [("3", b"3"), ("", str(len(os.sched_getaffinity(0))).encode())])
def test_threads_are_set_before_numeric_libraries_look(asked: str, threads: bytes) -> None:
    body = 'print(os.environ["OMP_NUM_THREADS"], "numpy" in sys.modules and "faiss" in sys.modules); sys.exit(0)'
    environ = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"} | {"IDC_THREADS": asked}
    result = subprocess.run(
        [sys.executable, "-c", SCRIPTED.format(body=body), "status"],
        env={**environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert result.stdout == threads + b" False\n"


def test_shells_can_complete_commands() -> None:
    result = run(_IDC_LOCAL_COMPLETE="bash_complete", COMP_WORDS="idc-local se", COMP_CWORD="1")
    assert result.stdout == b"plain,search\n"


def test_a_missing_index_is_one_line(tmp_path: Path) -> None:
    result = run("status", "--index", str(tmp_path / "none"))
    assert result.returncode == 4
    assert result.stdout == b""
    assert result.stderr.count(b"\n") == 1
    assert str(tmp_path / "none").encode() in result.stderr
    assert b"hint: idc-local index" in result.stderr


def test_a_current_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = (
        "import os; from pathlib import Path; from idc_local.__main__ import main; "
        f"os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); main()"
    )
    found = run("index", ".", "--index", str(tmp_path / "index"), "--intents", "off", code=code)
    assert found.returncode == 2
    assert found.stderr == b"error: the current folder is gone. hint: change to one that is there: cd\n"
    assert found.stdout == b""
