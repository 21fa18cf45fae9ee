"""Manners of native libraries: what they write to the terminal, how their threads wait. Standard library only."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def _sink() -> IO[bytes]:
    """Takes what is written, in memory where the system can."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("stderr"), "wb")
    return tempfile.TemporaryFile()


@contextmanager
def quiet_stderr(*, enabled: bool = True) -> Iterator[None]:
    """Swallows writes to descriptor 2 inside the block. When an exception leaves the block they are passed on."""
    if not enabled:
        yield
        return
    sys.stderr.flush()
    with _sink() as sink:
        saved = os.dup(2)
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)


def stand_on_ground(folder: Path) -> None:
    """Steps into ``folder`` where the current one is gone, which makes libraries fail or end the process on import.

    To be called once paths have been looked at: a relative one led nowhere before, and must not lead here.
    """
    try:
        os.getcwd()
    except FileNotFoundError:
        os.chdir(folder)


def yield_while_waiting() -> None:
    """Lets OpenMP threads spin only briefly at barriers; to be called before a library brings its OpenMP in.

    By default they spin for milliseconds, hundreds of times a step. Where another program wants one of the cores that
    makes generation 5 to 10 times slower (measured on two cores); on idle cores brief spinning costs next to nothing.
    """
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def return_memory() -> None:
    """Gives freed memory back to the system where the C library is asked for that (glibc); else does nothing.

    Arrays of many sizes, made by several threads, leave it with holes: hundreds of megabytes after some thousand texts.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
