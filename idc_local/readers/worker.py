"""The reading process: takes files over a pipe and sends back documents, unable to do much else.

Started by ``isolation`` as ``python -m idc_local.readers.worker``. Before it reads anything it gives up the network,
writing to files and starting programs; memory and processor time are limited file by file.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from idc_local.errors import InputError
from idc_local.lockdown import close_network
from idc_local.readers import ReadOptions, read_source
from idc_local.readers.archives import members_of
from idc_local.readers.wire import (
    EXPAND,
    READ,
    decode_json,
    encode_document,
    encode_json,
    encode_members,
    frame_size,
    pack,
    unpack,
)

_CHANGING = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod")
_STARTING = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty")
_REFUSED = frozenset((*_CHANGING, *_STARTING, "socket.connect", "socket.bind", "socket.getaddrinfo"))
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main() -> None:
    """Answers requests until the parent closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = _own_streams()
    _give_up()
    _send(replies, [encode_json({"ready": True})])
    while (sections := _receive(requests)) is not None:
        _send(replies, answer(sections))


def answer(sections: Sequence[bytes]) -> list[bytes]:
    """The reply to one request: a document, or why there is none. ``spent``: this process should read no more."""
    request = decode_json(sections[0])
    _limit(request["memory"], request["seconds"])
    try:
        return _serve(request, sections[1])
    except InputError as error:
        return [encode_json({"error": error.message, "hint": error.hint})]
    except MemoryError:
        reason, spent = "it takes more memory to read than one file may have", True
    except RecursionError:
        reason, spent = "nested too deeply", False
    except Exception as error:  # the boundary of a process: a reader's mistake costs one file, and says which
        reason, spent = f"its reader failed ({type(error).__name__}: {error})", False
    return [encode_json({"error": f"{request['path']}: {reason}", "hint": "", "spent": spent})]


def _serve(request: dict[str, Any], data: bytes) -> list[bytes]:
    path, limit = request["path"], request["max_bytes"]
    if request["op"] == EXPAND:
        return [encode_json({"op": EXPAND}), *encode_members(members_of(data, path, limit))]
    return [encode_json({"op": READ}), *encode_document(read_source(data, path, ReadOptions(max_bytes=limit)))]


def _own_streams() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes; whatever a library prints from now on goes nowhere."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    return requests, replies


def _give_up() -> None:
    """No network, no written file, no other program, no core dump: for good."""
    close_network()
    for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (0, 0))
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _REFUSED:
        raise PermissionError(f"a reading process may not do {event}")
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING and arguments[0] != os.devnull:
        raise PermissionError("a reading process may not write files")


def _limit(memory: int, seconds: int) -> None:
    """Lets this process take ``memory`` bytes more than now, and as many seconds of processor time."""
    with suppress(OSError, ValueError):
        used = resource.getrusage(resource.RUSAGE_SELF)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds + 1, hard))
    size = _address_space()
    if size:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (size + memory, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _address_space() -> int:
    """Bytes of address space in use; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as facts:
            return int(facts.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0


def _receive(stream: BinaryIO) -> list[bytes] | None:
    """The next request; None where there are no more."""
    frame = bytearray()
    wanted = 8
    while wanted:
        part = stream.read(wanted)
        if not part:
            return None
        frame += part
        size = frame_size(frame)
        wanted = size - len(frame) if size else 8
    return unpack(frame)


def _send(stream: BinaryIO, sections: Sequence[bytes]) -> None:
    write: Callable[[bytes], object] = stream.write
    for part in pack(sections):
        write(part)
    stream.flush()


if __name__ == "__main__":
    main()
