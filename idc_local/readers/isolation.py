"""Reads files in a process of their own, so that a crash, a hang or a bomb costs one file and not the run.

The process is started when the first file needs it and kept for the files after it; one that crashes, or takes too
long, is killed and replaced. Plain text and Markdown, which only our own code and the text decoder touch, are read
here, up to a size.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from idc_local.errors import IdcError, InputError
from idc_local.fingerprint import document_id, sha256_hex
from idc_local.ports import Member
from idc_local.readers import MAX_BYTES, ReadOptions, entry_of, read_source
from idc_local.readers.wire import (
    EXPAND,
    READ,
    decode_document,
    decode_json,
    decode_members,
    encode_json,
    frame_size,
    pack,
    unpack,
)
from idc_local.types import Document, Skip

WORKER = "idc_local.readers.worker"
_HERE = frozenset(("text/plain", "text/markdown"))
_HERE_BYTES = 1 << 20
_PACKED = b"PK"
"""What this begins with is not even looked into here."""

_START_SECONDS = 120.0
_LONGEST_REPLY = 1 << 30
_PIECE = 1 << 20
_MANY_FILES, _LARGE = 1000, 8 << 20
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one file may take. seconds, memory (bytes): of any file; the others: for each MiB that it has."""

    seconds: float = 30.0
    seconds_per_mib: float = 10.0
    memory: int = 1 << 30
    memory_per_mib: int = 48 << 20

    def time_for(self, size: int) -> float:
        """Seconds for a file of ``size`` bytes."""
        return self.seconds + self.seconds_per_mib * size / (1 << 20)

    def memory_for(self, size: int) -> int:
        """Bytes of memory for a file of ``size`` bytes."""
        return self.memory + self.memory_per_mib * size // (1 << 20)


class _Gone(Exception):
    """The process ended, or was ended, before it answered; the text says why."""


class IsolatedReader:
    """Reads documents in a child process; close it, or use it as a context manager."""

    def __init__(self, allowance: Allowance | None = None, max_bytes: int = MAX_BYTES, worker: str = WORKER) -> None:
        self._allowance = allowance or Allowance()
        self._max_bytes = max_bytes
        self._worker = worker
        self._process: _Process | None = None

    def read(self, data: bytes, path: str) -> Document:
        """The document in ``data``; raises InputError, naming ``path``, where there is none to be had."""
        options = ReadOptions(max_bytes=self._max_bytes)
        plain = len(data) <= _HERE_BYTES and not data.startswith(_PACKED)
        if len(data) > self._max_bytes or (plain and entry_of(data, path).media_type in _HERE):
            return read_source(data, path, options)
        sections = self._ask(READ, data, path)
        try:
            return _document(sections[1:], data, path)
        except ValueError as error:
            self.close()
            raise InputError(f"{path}: its reader gave no sound document: {error}") from error

    def members(self, data: bytes, path: str) -> Sequence[Member | Skip]:
        """What an archive holds, by name; raises InputError for one that cannot be opened."""
        sections = self._ask(EXPAND, data, path)
        try:
            return decode_members(sections[1:], path)
        except ValueError as error:
            self.close()
            raise InputError(f"{path}: its reader gave no sound list: {error}") from error

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, op: str, data: bytes, path: str) -> list[bytes]:
        """The sections of a good reply; raises InputError for any other."""
        seconds = self._allowance.time_for(len(data))
        memory = self._allowance.memory_for(len(data))
        if self._process is None:
            self._process = _Process(self._worker)
        process = self._process
        limits = {"max_bytes": self._max_bytes, "memory": memory, "seconds": max(1, int(seconds))}
        asked = encode_json({"op": op, "path": path, **limits})
        try:
            sections = process.exchange([asked, data], time.monotonic() + seconds)
            reply = decode_json(sections[0])
        except _Gone as error:
            self.close()
            raise InputError(f"{path}: {error}", hint="leave it out, or convert it to another format") from error
        except (ValueError, IndexError) as error:
            self.close()
            raise InputError(f"{path}: its reader gave no sound reply: {error}") from error
        except BaseException:
            # Interrupted in the middle: what the process will say belongs to nobody.
            self.close()
            raise
        if process.is_worn(len(data) + sum(map(len, sections))) or reply.get("spent"):
            self.close()
        if "error" in reply:
            raise InputError(str(reply["error"]), hint=str(reply["hint"]))
        return sections


def _document(sections: Sequence[bytes], data: bytes, path: str) -> Document:
    """The document that was sent, with an identity that is made here."""
    media_type = str(decode_json(sections[0])["media_type"]) if sections else ""
    identity = {
        "id": document_id(media_type, data),
        "path": path,
        "source_sha256": sha256_hex(data),
        "source_bytes": len(data),
    }
    return decode_document(sections, identity)


class _Process:
    """One reading process and the pipes to it."""

    def __init__(self, worker: str) -> None:
        self._files = 0
        # -P: no module is taken from the working folder, which may hold documents called json.py.
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", worker],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            bufsize=0,
            start_new_session=True,
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._input, self._output = self._child.stdin.fileno(), self._child.stdout.fileno()
        for descriptor in (self._input, self._output):
            os.set_blocking(descriptor, False)
        try:
            self.exchange(None, time.monotonic() + _START_SECONDS)
        except (_Gone, ValueError) as error:
            self.kill()
            raise IdcError(f"the reading process does not start: {error}", hint="idc-local doctor") from error

    def is_worn(self, size: int) -> bool:
        """True where the process should be replaced, lest what files leave behind in it add up."""
        self._files += 1
        return size > _LARGE or self._files >= _MANY_FILES

    def kill(self) -> None:
        """Ends the process at once and lets go of its pipes."""
        self._child.kill()
        self._child.wait()
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def exchange(self, sections: Sequence[bytes] | None, deadline: float) -> list[bytes]:
        """Sends a request (None: nothing is asked) and returns the reply.

        Raises:
            _Gone: there was none in time.
            ValueError: it is none.
        """
        unsent = [memoryview(part) for part in pack(sections)] if sections is not None else []
        reply = bytearray()
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        if unsent:
            poll.register(self._input, select.POLLOUT)
        while not 0 < frame_size(reply) <= len(reply):
            left = deadline - time.monotonic()
            ready = dict(poll.poll(max(0.0, left) * 1000)) if left > 0 else {}
            if not ready:
                raise _Gone("it takes too long to read")
            if self._input in ready and not self._write(unsent):
                poll.unregister(self._input)
            if self._output in ready:
                self._take(reply)
        return unpack(reply)

    def _write(self, unsent: list[memoryview]) -> bool:
        """Writes what the pipe takes; False once all is sent, or nobody reads it."""
        try:
            written = os.write(self._input, unsent[0][:_PIECE])
        except BlockingIOError:
            return True
        except OSError:
            unsent.clear()
            return False
        unsent[0] = unsent[0][written:]
        while unsent and not unsent[0]:
            unsent.pop(0)
        return bool(unsent)

    def _take(self, reply: bytearray) -> None:
        try:
            part = os.read(self._output, _PIECE)
        except BlockingIOError:
            return
        if not part:
            raise _Gone(self._last_words())
        reply += part
        if len(reply) > _LONGEST_REPLY:
            raise _Gone("it holds too much text")

    def _last_words(self) -> str:
        """Why the process has ended."""
        try:
            code = self._child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "its reader stopped to answer"
        if code in (-signal.SIGXCPU, -signal.SIGALRM):
            return "it takes too long to read"
        if code == -signal.SIGKILL:
            return "its reader was killed, perhaps for want of memory"
        if code < 0:
            return f"its reader crashed ({signal.Signals(-code).name})"
        return f"its reader ended with code {code}"


def _environment() -> dict[str, str]:
    """The parent's environment, with this very package to be found, one thread, and nothing compiled to disk."""
    package = str(Path(__file__).resolve().parents[2])
    known = os.environ.get("PYTHONPATH", "")
    return {
        **os.environ,
        **dict.fromkeys(_ONE_THREAD, "1"),
        "PYTHONPATH": os.pathsep.join(filter(None, (package, known))),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
