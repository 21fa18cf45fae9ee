"""The live proof: what is shut is called shut, what is open is called open, with the command that shuts it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from idc_local import silence
from idc_local.silence import network_checks, stopped_by

NAMES = [
    "network: connections",
    "network: datagrams",
    "network: name look-ups",
    "network: start of curl",
    "network: sockets of native code",
    "network: sockets of other programs",
]


def test_in_a_closed_process_every_way_is_shut() -> None:
    code = """
from idc_local.lockdown import close_network
from idc_local.silence import network_checks
close_network()
for check in network_checks():
    print(check.name, check.status, check.detail, sep="|")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = [line.split("|") for line in done.stdout.splitlines()]
    assert [name for name, _, _ in lines] == NAMES
    assert {status for _, status, _ in lines} == {"ok"}
    assert lines[3][2].startswith("stopped: network use refused: start of curl by idc_local.silence (silence.py:")


def test_where_the_kernel_was_not_asked_that_is_said() -> None:
    checks = {check.name: check for check in network_checks()}
    assert list(checks) == NAMES
    assert [check.status for check in checks.values()] == ["ok"] * 4 + ["warn"] * 2
    assert checks[NAMES[5]].fix == silence.SHUT_IN[sys.platform]


def test_a_way_that_is_open_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silence, "IN_PYTHON", {"connections": lambda: None})
    first = next(iter(network_checks()))
    assert (first.status, first.detail) == ("fail", "not stopped")


def test_an_error_of_the_network_itself_is_no_refusal() -> None:
    def fail() -> None:
        raise OSError("no route to host")

    assert stopped_by(fail) == ""
