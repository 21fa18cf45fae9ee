"""Has the kernel refuse network sockets to this process and to every program that it starts, for good.

Audit hooks see what goes through Python alone; this also stops native code and children. Linux on x86-64 and arm64,
without privileges: a seccomp filter (seccomp(2)) whose program is built here. Sockets between the processes of one
machine, by a path (AF_UNIX) or to the kernel (AF_NETLINK), still work; loopback ones do not, since a filter cannot see
addresses. Sole user of ctypes here: on other systems nothing happens, and that is said.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass

AF_UNIX, AF_NETLINK = 1, 16
_IO_URING_SETUP = 425
"""Opens a queue whose entries can be sockets that no filter sees."""

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_OTHER_CALLS = 0x40000000
"""System calls of x86-64's second calling convention are numbered from here."""

_NO_NEW_PRIVILEGES = 38
_SET_FILTER, _ALL_THREADS = 1, 1


@dataclass(frozen=True, slots=True)
class _System:
    """Numbers of one architecture: what seccomp calls it, and its system calls."""

    architecture: int
    socket: int
    seccomp: int


_SYSTEMS = {"x86_64": _System(0xC000003E, 41, 317), "aarch64": _System(0xC00000B7, 198, 277)}

_closed = False


def close_network() -> bool:
    """Takes network sockets away from this process and all that it starts, until it ends; True where that is done."""
    global _closed
    system = _SYSTEMS.get(platform.machine())
    if _closed or sys.platform != "linux" or system is None:
        return _closed
    program = b"".join(_program(system))
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0:
        _closed = libc.syscall(system.seccomp, _SET_FILTER, _ALL_THREADS, header) == 0
    return _closed


def is_closed() -> bool:
    """True once ``close_network`` has worked in this process."""
    return _closed


def _program(system: _System) -> Iterable[bytes]:
    """Instructions of a classic BPF filter over (number, architecture, …, arguments) of a system call.

    A jump names how many instructions to skip when it is true, and when it is false.
    """
    yield _instruction(_LOAD, _ARCHITECTURE_AT)
    yield _instruction(_EQUAL, system.architecture, 0, 7)  # another calling convention: refused
    yield _instruction(_LOAD, _NUMBER_AT)
    yield _instruction(_AT_LEAST, _OTHER_CALLS, 5, 0)
    yield _instruction(_EQUAL, _IO_URING_SETUP, 4, 0)
    yield _instruction(_EQUAL, system.socket, 0, 4)  # all other calls: allowed
    yield _instruction(_LOAD, _FIRST_ARGUMENT_AT)
    yield _instruction(_EQUAL, AF_UNIX, 2, 0)
    yield _instruction(_EQUAL, AF_NETLINK, 1, 0)
    yield _instruction(_RETURN, _REFUSE)
    yield _instruction(_RETURN, _ALLOW)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def refused_natively() -> bool:
    """Asks the C library itself, past Python, for a network socket; True where the kernel refuses it."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.socket(2, 1, 0)
    if descriptor >= 0:
        os.close(descriptor)
    return descriptor < 0 and ctypes.get_errno() == errno.EPERM
