"""The guard refuses what leaves the machine, lets loopback through, and names who tried."""

from __future__ import annotations

import _socket
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from idc_local import netguard
from idc_local.errors import NetworkBlocked
from idc_local.netguard import NetworkLog, guard, is_local, seal_environment

OUTSIDE = ("192.0.2.1", 443)
OUTSIDE_6 = ("2001:db8::1", 443)


@pytest.fixture(autouse=True)
def real_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes away whatever else keeps tests off the network, so that the guard alone is seen at work."""
    monkeypatch.setattr(socket.socket, "connect", _socket.socket.connect)


@pytest.fixture
def log() -> Iterator[NetworkLog]:
    with guard(allow=False) as log:
        yield log


def tcp() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


def udp() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def connect() -> None:
    with tcp() as sock:
        sock.settimeout(5)
        sock.connect(OUTSIDE)


def connect_ex() -> None:
    with tcp() as sock:
        sock.connect_ex(OUTSIDE)


def connect_six() -> None:
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as sock:
        sock.connect(OUTSIDE_6)


def sendto() -> None:
    with udp() as sock:
        sock.sendto(b"text of a document", OUTSIDE)


def sendmsg() -> None:
    with udp() as sock:
        sock.sendmsg([b"text of a document"], [], 0, OUTSIDE)


def create_connection() -> None:
    socket.create_connection(OUTSIDE, timeout=5).close()


def listen_everywhere() -> None:
    with tcp() as sock:
        sock.bind(("0.0.0.0", 18734))


@pytest.mark.parametrize(
    "attempt",
    [
        connect,
        connect_ex,
        connect_six,
        sendto,
        sendmsg,
        create_connection,
        listen_everywhere,
        lambda: socket.getaddrinfo("example.org", 443),
        lambda: socket.getaddrinfo(b"example.org", 443),
        lambda: socket.gethostbyname("example.org"),
        lambda: socket.gethostbyname_ex("example.org"),
        lambda: socket.gethostbyaddr("192.0.2.1"),
        lambda: socket.getnameinfo(OUTSIDE, 0),
    ],
)
def test_refuses_before_anything_leaves(log: NetworkLog, attempt: Callable[[], object]) -> None:
    with pytest.raises(NetworkBlocked, match=r"network use refused: .*tests\.unit\.test_netguard \(test_netguard\.py:"):
        attempt()
    assert log.connections == 0
    assert len(log.refused) == 1


def test_names_the_library_that_called_through_the_standard_library(log: NetworkLog) -> None:
    import urllib.request

    with pytest.raises(NetworkBlocked) as caught:
        urllib.request.urlopen("http://192.0.2.1/", timeout=5)
    assert "tests.unit.test_netguard (test_netguard.py:" in caught.value.message
    assert caught.value.exit_code == 4
    assert "models pull" in caught.value.hint


def test_loopback_carries_data(log: NetworkLog) -> None:
    with tcp() as server, tcp() as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.connect(server.getsockname())
        accepted, _ = server.accept()
        with accepted:
            client.sendall(b"ping")
            assert accepted.recv(4) == b"ping"
    assert socket.getaddrinfo("localhost", 80)
    assert log.summary() == "network: 0 connections, 1 on this machine"


def test_unix_sockets_and_free_ports_are_no_network(log: NetworkLog) -> None:
    left, right = socket.socketpair()
    with left, right, tcp() as sock:
        left.sendall(b"x")
        assert right.recv(1) == b"x"
        sock.bind(("", 0))
    assert log.refused == []


def test_threads_are_guarded(log: NetworkLog) -> None:
    caught: list[BaseException] = []

    def work() -> None:
        try:
            connect()
        except NetworkBlocked as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(caught) == 1
    assert len(log.refused) == 1


def test_allowing_counts_and_refuses_nothing() -> None:
    with guard(allow=True) as log, udp() as sock:
        # Connecting a datagram socket sends no packet; without a route the kernel may say so.
        sock.connect_ex(OUTSIDE)
    assert log.connections == 1
    assert log.summary() == "network: 1 connection"


def test_ends_with_its_block_and_nests() -> None:
    with guard(allow=True) as outer:
        with guard(allow=False) as inner, pytest.raises(NetworkBlocked):
            connect()
        assert (len(outer.refused), len(inner.refused)) == (0, 1)
        assert inner.summary().startswith("network: 0 connections, 1 refused (connect to 192.0.2.1:443 by tests.unit")
        with udp() as sock:
            sock.connect_ex(OUTSIDE)
        assert (outer.connections, inner.connections) == (1, 0)


@pytest.mark.parametrize(
    "command",
    [
        ["curl", "https://example.org"],
        ["/usr/bin/wget", "x"],
        [sys.executable, "-m", "pip", "download", "x"],
        ["sh", "-c", "true; curl https://example.org"],
        [b"git", b"fetch"],
    ],
)
def test_network_programs_are_not_started(log: NetworkLog, command: list[str]) -> None:
    with pytest.raises(NetworkBlocked, match=r"start of (curl|wget|pip|git)"):
        subprocess.run(command, check=False)


def test_os_system_is_looked_at_too(log: NetworkLog) -> None:
    with pytest.raises(NetworkBlocked, match="start of curl"):
        os.system("true && curl https://example.org")


def test_other_programs_are_noted(log: NetworkLog) -> None:
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    program = os.path.basename(sys.executable)
    assert log.summary().startswith(f"network: 0 connections; started {program} by tests.unit.test_netguard (test_")


def test_pip_may_be_started_where_the_network_is_allowed() -> None:
    with guard(allow=True) as log:
        subprocess.run([sys.executable, "-c", "pass", "-m", "pip"], check=True)
    assert [program.split(" (")[0] for program in log.programs] == ["pip by tests.unit.test_netguard"]
    assert log.refused == []


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("LOCALHOST.", True),
        (b"localhost", True),
        ("", True),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("169.254.169.254", False),
        ("::ffff:10.0.0.1", False),
        ("fe80::1%lo", False),
        ("127.0.0.1.example.org", False),
        ("localhost.example.org", False),
        (b"\xff", False),
        (2130706433, False),
        (None, False),
    ],
)
def test_what_is_local(host: object, local: bool) -> None:
    assert is_local(host) is local


def test_offline_switches_win_over_the_environment() -> None:
    environ = {"HF_HUB_OFFLINE": "0", "HOME": "/home/a"}
    seal_environment(environ)
    assert environ["HF_HUB_OFFLINE"] == "1"
    assert environ["TRANSFORMERS_OFFLINE"] == "1"
    assert environ["HOME"] == "/home/a"


def test_a_guard_ends_itself_and_not_one_that_has_seen_the_same() -> None:
    with guard(allow=False) as outer:
        with guard(allow=False):
            pass
        with pytest.raises(NetworkBlocked):
            connect()
        assert len(outer.refused) == 1


def test_hook_is_put_in_once(monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[object] = []
    monkeypatch.setattr(sys, "addaudithook", added.append)
    monkeypatch.setattr(netguard, "_installed", False)
    with guard(allow=True), guard(allow=True):
        pass
    assert len(added) == 1
