"""Keeps what native libraries write to file descriptor 2 out of the terminal. Standard library only."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_stderr(*, enabled: bool = True) -> Iterator[None]:
    """Swallows writes to descriptor 2 inside the block. When an exception leaves the block they are passed on."""
    if not enabled:
        yield
        return
    sys.stderr.flush()
    with tempfile.TemporaryFile() as sink:
        saved = os.dup(2)
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)
