"""The kernel's part of the guard, in processes of its own: once closed, the network stays closed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from idc_local import lockdown
from idc_local.netguard import NetworkLog

CLOSED = """
import socket, subprocess, sys, threading
from idc_local.lockdown import close_network, is_closed, refused_natively
assert not is_closed() and not refused_natively()
assert close_network() and close_network() and is_closed()
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", CLOSED + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_network_sockets_are_refused_to_python_to_threads_and_to_native_code() -> None:
    code = """
found = []
def attempt():
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_PACKET):
        try:
            socket.socket(family, socket.SOCK_DGRAM).close()
        except PermissionError as error:
            found.append(error.errno)
attempt()
thread = threading.Thread(target=attempt)
thread.start()
thread.join()
print(found, refused_natively())
"""
    assert run(code) == "[1, 1, 1, 1, 1, 1] True\n"


def test_programs_that_are_started_are_shut_in_too() -> None:
    code = """
inner = "import socket\\ntry:\\n    socket.socket()\\nexcept PermissionError:\\n    print('refused', flush=True)"
subprocess.run([sys.executable, "-c", inner], check=True)
subprocess.run(["sh", "-c", f"{sys.executable} -c \\"{inner}\\""], check=True)
"""
    assert run(code) == "refused\nrefused\n"


def test_processes_of_one_machine_can_still_talk() -> None:
    code = """
left, right = socket.socketpair()
left.sendall(b"x")
socket.socket(socket.AF_UNIX).close()
print(right.recv(1), subprocess.run(["echo", "y"], capture_output=True).stdout)
"""
    assert run(code) == "b'x' b'y\\n'\n"


def test_who_asks_for_a_socket_is_named() -> None:
    code = """
from idc_local.errors import NetworkBlocked
from idc_local.netguard import guard
with guard(allow=False) as log:
    try:
        socket.socket()
    except NetworkBlocked as error:
        print(error.message)
print(log.summary())
"""
    first, second = run(code).splitlines()
    assert first.startswith("network use refused: a network socket by __main__ (<string>:")
    assert second.startswith(
        "network: 0 connections, none possible for this process and what it starts, 1 refused (a network socket by"
    )


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("linux", "riscv64")])
def test_elsewhere_nothing_is_done_or_claimed(monkeypatch: pytest.MonkeyPatch, system: str, machine: str) -> None:
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert lockdown.close_network() is False
    assert lockdown.is_closed() is False
    assert NetworkLog(False).summary() == "network: 0 connections"
