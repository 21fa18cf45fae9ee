"""Keeps the process off the network, and says what tried to reach it.

An audit hook sees every socket call that goes through Python, whatever library makes it: connecting, sending without
a connection, listening and looking up names are refused unless they stay on this machine. Programs whose trade is the
network are not started, and all others are named. Sockets of native code and of other programs are out of its sight:
``lockdown`` has the kernel refuse those, and then no network socket can be made here at all. An audit hook cannot be
taken out again: it is put in once, and acts for the guard on top of the stack.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from idc_local.errors import NetworkBlocked
from idc_local.lockdown import is_closed

OFFLINE_ENVIRONMENT: Mapping[str, str] = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    "DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "ANONYMIZED_TELEMETRY": "false",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Switches that libraries look at when they are imported."""

LOCAL_NAMES = frozenset({"", "localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"})
NETWORK_PROGRAMS = frozenset(
    {"aria2c", "conda", "curl", "ftp", "git", "nc", "ncat", "netcat", "npm", "pip", "pip3", "rsync", "scp", "sftp"}
    | {"ssh", "telnet", "uv", "wget"}
)
OWN_READER = ("-P", "-m", "idc_local.readers.worker")
"""Arguments of the interpreter for the process that reads files: it gives up the network before it reads any."""

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "cmd", "powershell"})
_KERNEL_FAMILIES = frozenset(
    getattr(socket, name) for name in ("AF_UNIX", "AF_NETLINK", "AF_ALG") if hasattr(socket, name)
)
_AS_THE_DESCRIPTOR = -1
"""Family of a socket that is made from one which is there already."""
_WHO_MAY = "only `idc-local models pull` and `models bundle` may use the network"
_STANDARD_LIBRARY = sysconfig.get_paths()["stdlib"]


@dataclass(slots=True, eq=False)
class NetworkLog:
    """What one guard saw.

    connections: that leave the machine. local: that stay on it (a proxy among them would carry data further).
    refused, programs: who did what.
    """

    allow: bool
    connections: int = 0
    local: int = 0
    refused: list[str] = field(default_factory=list)
    programs: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """One line for people: ``network: 0 connections``."""
        line = f"network: {self.connections} connection{'' if self.connections == 1 else 's'}"
        if self.local:
            line += f", {self.local} on this machine"
        if is_closed():
            line += ", none possible for this process and what it starts"
        if self.refused:
            line += f", {len(self.refused)} refused ({'; '.join(dict.fromkeys(self.refused))})"
        if self.programs:
            line += f"; started {', '.join(dict.fromkeys(self.programs))}"
        return line


_stack: list[NetworkLog] = []
_installed = False


@contextmanager
def guard(*, allow: bool) -> Iterator[NetworkLog]:
    """Guards everything in the process, all threads included, until the block ends.

    Args:
        allow: only count what leaves the machine, and refuse nothing.

    Yields:
        What was seen so far; a guard inside another one keeps its own log.
    """
    global _installed
    if not _installed:
        sys.addaudithook(_hook)
        _installed = True
    log = NetworkLog(allow)
    _stack.append(log)
    try:
        yield log
    finally:
        _stack.remove(log)


def seal_environment(environ: MutableMapping[str, str]) -> None:
    """Turns off the downloads and the telemetry of libraries, whatever the user's environment says."""
    environ.update(OFFLINE_ENVIRONMENT)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _stack and (check := _CHECKS.get(event)) is not None:
        check(_stack[-1], event, arguments)


def _check_socket(log: NetworkLog, event: str, arguments: tuple[Any, ...]) -> None:
    """Once the kernel refuses network sockets, whoever asks for one is named before it does."""
    if is_closed() and arguments[1] not in (*_KERNEL_FAMILIES, _AS_THE_DESCRIPTOR):
        _leaves(log, "a network socket")


def _check_address(log: NetworkLog, event: str, arguments: tuple[Any, ...]) -> None:
    family, address = arguments[0].family, arguments[1]
    if family in _KERNEL_FAMILIES or address is None:
        return
    host = address[0] if isinstance(address, tuple) and address else address
    if family not in (socket.AF_INET, socket.AF_INET6) or not is_local(host):
        _leaves(log, f"{event.removeprefix('socket.')} to {_shown(address)}")
    else:
        log.local += 1


def _check_bind(log: NetworkLog, event: str, arguments: tuple[Any, ...]) -> None:
    """Port 0 is how a free port is found; any other one, off the loopback, waits for others to connect."""
    family, address = arguments[0].family, arguments[1]
    if family in _KERNEL_FAMILIES:
        return
    host, port = address[:2] if isinstance(address, tuple) and len(address) > 1 else (address, None)
    if port != 0 and not (host and is_local(host)):
        _leaves(log, f"bind to {_shown(address)}")


def _check_lookup(log: NetworkLog, event: str, arguments: tuple[Any, ...]) -> None:
    host = arguments[0]
    if isinstance(host, tuple):
        host = host[0] if host else None
    if host is not None and not is_local(host):
        _leaves(log, f"look-up of {_shown(host)}")


def _check_program(log: NetworkLog, event: str, arguments: tuple[Any, ...]) -> None:
    words = _words(event, arguments)
    if tuple(words[1:]) == OWN_READER and words[0] == sys.executable:
        return
    names = [Path(word).name.lower().removesuffix(".exe") for word in words]
    first = names[0] if names else "a program"
    started = {first}
    if "-m" in words[:-1]:
        started.add(names[words.index("-m") + 1])
    if event == "os.system" or (first in _SHELLS and "-c" in words):
        started.update(names)
    network = sorted(started & NETWORK_PROGRAMS)
    if network and not log.allow:
        _refuse(log, f"start of {network[0]}")
    log.programs.append(f"{network[0] if network else first} by {_culprit(sys._getframe(1))}")


def _words(event: str, arguments: tuple[Any, ...]) -> list[str]:
    """The command line of a program, from what the audit event holds of it, the program itself first."""
    if event == "os.system":
        return _text(arguments[0]).split()
    position = 2 if event == "os.spawn" else 1
    program, given = arguments[position - 1 : position + 1]
    words = [given] if isinstance(given, str | bytes) else list(given)
    texts = [_text(word) for word in (words[:1] if program is None else [program]) + words[1:]]
    return [part for text in texts for part in (text.split() or [text])]


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


_CHECKS: Mapping[str, Callable[[NetworkLog, str, tuple[Any, ...]], None]] = {
    "socket.__new__": _check_socket,
    "socket.connect": _check_address,
    "socket.sendto": _check_address,
    "socket.sendmsg": _check_address,
    "socket.bind": _check_bind,
    "socket.getaddrinfo": _check_lookup,
    "socket.gethostbyname": _check_lookup,
    "socket.gethostbyaddr": _check_lookup,
    "socket.getnameinfo": _check_lookup,
    "subprocess.Popen": _check_program,
    "os.system": _check_program,
    "os.exec": _check_program,
    "os.posix_spawn": _check_program,
    "os.spawn": _check_program,
}


def is_local(host: object) -> bool:
    """True for this machine itself: loopback addresses and names, never a name that must be looked up."""
    if isinstance(host, bytes | bytearray):
        host = bytes(host).decode("ascii", "replace")
    if not isinstance(host, str):
        return False
    name = host.strip("[]").rstrip(".").lower()
    if name in LOCAL_NAMES:
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _shown(address: object) -> str:
    if isinstance(address, tuple) and len(address) > 1:
        return f"{_text(address[0])}:{address[1]}"
    return _text(address)


def _leaves(log: NetworkLog, what: str) -> None:
    if log.allow:
        log.connections += 1
    else:
        _refuse(log, what)


def _refuse(log: NetworkLog, what: str) -> None:
    culprit = _culprit(sys._getframe(1))
    log.refused.append(f"{what} by {culprit}")
    raise NetworkBlocked(
        f"network use refused: {what} by {culprit}",
        hint="only `idc-local models pull` and `models bundle` may use the network",
    )


def _culprit(frame: FrameType | None) -> str:
    """Innermost caller that is neither this module nor the standard library, as ``module (file:line)``."""
    innermost = frame
    while frame is not None:
        file = frame.f_code.co_filename
        standard = file.startswith((_STANDARD_LIBRARY, "<frozen")) and "site-packages" not in file
        if file != __file__ and not standard:
            return f"{frame.f_globals.get('__name__', '?')} ({Path(file).name}:{frame.f_lineno})"
        innermost, frame = frame, frame.f_back
    return str(innermost.f_globals.get("__name__", "?")) if innermost else "?"
