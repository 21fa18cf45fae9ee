"""Hurts an index for minutes, in every way that the test suite tries for seconds, and counts.

Kills processes at hundreds of moments of their work; lets two writers and ten readers loose on one index for a
minute; fills a small file system up before every kind of work (as root, where it can be mounted). Each time the index
must be the old or the new one, whole, and the same work must then succeed. Ends with exit code 1 at the first fault.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from idc_local.store import verify
from tests.integration.test_store_crash import (
    CONTEXT,
    WORK,
    contend,
    leftovers,
    prepare,
    run,
    state,
    storm,
    work_and_die,
    work_and_tell,
)
from tests.store_documents import MEMORY

SPACE = 24 << 20
"""Bytes of the file system that is filled up."""

ROOM = (0, 4, 16, 40, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
"""KiB that are left on it."""


def say(text: str) -> None:
    """Tells at once."""
    print(text, flush=True)


def kills(count: int) -> None:
    """Tries to kill each kind of work, in all at least ``count`` times."""
    died, began = 0, time.monotonic()
    for name in WORK:
        with tempfile.TemporaryDirectory(dir=MEMORY) as place:
            own = storm(name, Path(place), -(-count // len(WORK)))
        died += own
        say(f"kill -9 during {name}: {own} processes died; old or new state each time, deep checks clean, nothing lost")
    say(f"kills: {died} in {time.monotonic() - began:.0f} s")


def contention(seconds: float) -> None:
    """Two writers and ten readers."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        writers, readers = contend(Path(place), seconds)
    published, refused = (sum(column) for column in zip(*writers, strict=True))
    say(
        f"contention for {seconds:.0f} s: two writers published {published} generations and were told {refused} times "
        f"who holds the lock; ten readers read {sum(reads for reads, _ in readers)} whole generations; no fault"
    )


@contextmanager
def small_disk() -> Iterator[Path | None]:
    """A mounted file system of its own; None where it cannot be had."""
    with tempfile.TemporaryDirectory() as place:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={SPACE}", "tmpfs", place]
        if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
            yield None
            return
        try:
            yield Path(place)
        finally:
            subprocess.run(["umount", "--lazy", place], check=False)


def full_disks() -> None:
    """Each kind of work with less and less room, then with enough."""
    with small_disk() as disk, tempfile.TemporaryDirectory() as aside:
        if disk is None:
            say("full disk: left out, since no file system can be mounted here (run it as root)")
            return
        base = Path(aside, "base")
        prepare(base / "index")
        old = state(base / "index")
        for name in WORK:
            done = Path(shutil.copytree(base, Path(aside, name)))
            assert run(work_and_die, name, done / "index", 0, 0.0, None) == 0
            refused = [_too_full(disk, base, name, (old, state(done / "index")), room) for room in ROOM]
            say(f"full disk during {name}: {sum(refused)} of {len(ROOM)} times no room: one line, exit 4, nothing lost")


def _too_full(disk: Path, base: Path, name: str, states: tuple[object, object], room: int) -> bool:
    """True where the work had no room; whether or not, the index is whole, and there is room again afterwards."""
    folder = Path(shutil.copytree(base, disk / "copy")) / "index"
    filler = disk / "filler"
    with filler.open("wb") as file:
        os.posix_fallocate(
            file.fileno(), 0, max(1, os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - room * 1024)
        )
    ours, theirs = CONTEXT.Pipe()
    assert run(work_and_tell, name, folder, theirs) == 0, (name, room)
    line = ours.recv()
    assert line == "" or (line.startswith("4 ") and "\n" not in line), (name, room, line)
    filler.unlink()
    assert state(folder) in states, (name, room, line)
    assert {check.status for check in verify(folder, deep=True)} == {"ok"}, (name, room, line)
    WORK[name](folder)
    assert state(folder) == states[1], (name, room, line)
    assert leftovers(folder) == set(), (name, room, line)
    shutil.rmtree(disk / "copy")
    return bool(line)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=300, help="attempts to kill (default: 300); some come too late")
    parser.add_argument("--seconds", type=float, default=60.0, help="of contention (default: 60)")
    parser.add_argument("--only", choices=("kills", "contention", "full"), help="just one of the three")
    options = parser.parse_args()
    if options.only in (None, "kills"):
        kills(options.kills)
    if options.only in (None, "contention"):
        contention(options.seconds)
    if options.only in (None, "full"):
        full_disks()


if __name__ == "__main__":
    main()
