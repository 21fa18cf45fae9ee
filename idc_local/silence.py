"""Tries every way off this machine, live, and reports which are shut: a use case that never prints.

The attempts name an address and a domain that are set aside for documentation, and are stopped before they reach
either. What is shut for this process is shut for whatever else it runs.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping

from idc_local.errors import NetworkBlocked
from idc_local.lockdown import refused_natively
from idc_local.netguard import guard
from idc_local.types import Check

OUTSIDE = ("192.0.2.1", 9)
NOWHERE = "idc-local.invalid"
ASK_FOR_A_SOCKET = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
SECONDS = 20.0

SHUT_IN: Mapping[str, str] = {
    "linux": "unshare --map-root-user --net idc-local doctor --network",
    "darwin": "sandbox-exec -p '(version 1)(allow default)(deny network*)' idc-local doctor --network",
}
"""Commands that start the program where there is no network at all."""


def _connect() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect_ex(OUTSIDE)


def _send() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"", OUTSIDE)


def _curl() -> None:
    subprocess.run(["curl", "--version"], capture_output=True, timeout=SECONDS, check=False)


IN_PYTHON: Mapping[str, Callable[[], object]] = {
    "connections": _connect,
    "datagrams": _send,
    "name look-ups": lambda: socket.getaddrinfo(NOWHERE, 9),
    "start of curl": _curl,
}
BEYOND_PYTHON: Mapping[str, Callable[[], bool]] = {
    "sockets of native code": refused_natively,
    "sockets of other programs": lambda: _child_is_refused(),
}
"""Each says whether it was stopped."""


def network_checks() -> Iterator[Check]:
    """One check for each way out."""
    for name, attempt in IN_PYTHON.items():
        by = stopped_by(attempt)
        if by:
            yield Check(f"network: {name}", "ok", f"stopped: {by}")
        else:
            yield Check(f"network: {name}", "fail", "not stopped", "python -m idc_local doctor --network")
    for name, refused in BEYOND_PYTHON.items():
        if refused():
            yield Check(f"network: {name}", "ok", "stopped: the kernel refuses them")
        else:
            detail = "not stopped: the kernel was not asked to, or cannot"
            yield Check(f"network: {name}", "warn", detail, SHUT_IN.get(sys.platform, SHUT_IN["linux"]))


def stopped_by(attempt: Callable[[], object]) -> str:
    """What the guard said when it stopped the attempt; empty where it did not."""
    with guard(allow=False):
        try:
            attempt()
        except NetworkBlocked as refusal:
            return refusal.message
        except OSError:
            return ""
    return ""


def _child_is_refused() -> bool:
    with guard(allow=False):
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", ASK_FOR_A_SOCKET], capture_output=True, timeout=SECONDS, check=False
        )
    return done.returncode != 0 and b"PermissionError" in done.stderr
