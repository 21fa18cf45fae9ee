"""Reads damaged files of every format, in a process that is watched from outside, and counts what becomes of them.

Each number names one damaged file, the same on every machine, so that what was found can be looked at again:
``scripts/fuzz --first N --files 1``. The process says which number it is at; one that crashes or falls silent is
replaced, and goes on behind that number.
"""

from __future__ import annotations

import argparse
import os
import select
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.fuzzkit import check, damaged, samples

WARM = 600
"""Files that are read before memory is first looked at: what readers import and keep for good is no leak."""

MOST_GROWTH = 64
"""MiB that the process may grow by after that, for any number of files."""


def main() -> int:
    """Runs the files, prints the table, and returns the exit code."""
    options = _options()
    if options.worker:
        _work(options)
        return 0
    counts: Counter[tuple[str, str]] = Counter()
    worst: list[str] = []
    slowest = (0.0, 0)
    growth = 0.0
    began = time.monotonic()
    for line in _results(options):
        kind, *rest = f"{line} ".split(" ", 3)
        if kind == "memory":
            growth = max(growth, float(rest[0]))
            continue
        number, seconds, what = int(rest[0]), float(rest[1]), rest[2]
        slowest = max(slowest, (seconds, number))
        counts[damaged(number, _valid(options))[0], kind] += 1
        if kind not in ("read", "refused"):
            worst.append(f"{number} {kind}: {what}")
    _table(counts)
    sys.stdout.write(
        f"{sum(counts.values())} files in {time.monotonic() - began:.0f} s, {len(worst)} bad; slowest "
        f"{slowest[0]:.2f} s (number {slowest[1]}); memory grew by {growth:.0f} MiB\n"
    )
    sys.stdout.writelines(f"{line}\n" for line in worst[:50])
    return 1 if worst or growth > MOST_GROWTH else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description="Reads damaged files of every format.")
    parser.add_argument("--files", type=int, default=10_000, help="how many (10000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first (0)")
    parser.add_argument("--seconds", type=float, default=10.0, help="of processor time that one file may take (10)")
    parser.add_argument("--samples", type=Path, help="folder of further valid files to damage")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _valid(options: argparse.Namespace) -> Mapping[str, bytes]:
    """Valid files by name; those of a folder are read once."""
    if not hasattr(options, "valid"):
        options.valid = samples()
        if options.samples:
            files = sorted(file for file in options.samples.rglob("*") if file.is_file())
            options.valid |= {f"{place:03d}-{file.name}": file.read_bytes() for place, file in enumerate(files)}
    valid: Mapping[str, bytes] = options.valid
    return valid


def _results(options: argparse.Namespace) -> Iterator[str]:
    """A line for each file, whatever happens to the process that reads it."""
    place, end = options.first, options.first + options.files
    while place < end:
        command = [sys.executable, __file__, "--worker", "--first", str(place), "--files", str(end - place)]
        if options.samples:
            command += ["--samples", str(options.samples)]
        why = "crash"
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            for line in _lines(child.stdout.fileno(), options.seconds + 30):
                if line is None:
                    why = "hang"
                    break
                if not line.startswith("memory"):
                    place = int(line.split(" ")[1]) + 1
                yield line
            child.kill()
            code = child.wait()
        if place < end:
            yield f"{why} {place} {options.seconds} exit code {code}"
            place += 1


def _lines(stream: int, seconds: float) -> Iterator[str | None]:
    """Lines as they come, the last one None where nothing came for too long."""
    rest = b""
    while select.select([stream], [], [], seconds)[0]:
        part = os.read(stream, 1 << 16)
        if not part:
            return
        *whole, rest = (rest + part).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in whole)
    yield None


def _work(options: argparse.Namespace) -> None:
    """Reads the files one after another and says what came of each."""
    valid = _valid(options)
    start = 0.0
    for place, number in enumerate(range(options.first, options.first + options.files)):
        name, data = damaged(number, valid)
        began = time.process_time()
        what = ""
        try:
            kind = check(data, name)
        except Exception as error:
            kind = "failed"
            frame = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{name}: {type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
        spent = time.process_time() - began
        kind = "slow" if kind in ("read", "refused") and spent > options.seconds else kind
        sys.stdout.write(f"{kind} {number} {spent:.3f} {' '.join(what.split())}\n")
        if place == WARM:
            start = _resident()
        elif place > WARM and place % 500 == 0:
            sys.stdout.write(f"memory {_resident() - start:.1f}\n")
        sys.stdout.flush()


def _resident() -> float:
    """MiB of memory that this process holds."""
    with open("/proc/self/statm", encoding="ascii") as facts:
        return int(facts.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def _table(counts: Mapping[tuple[str, str], int]) -> None:
    kinds = ("read", "refused", "failed", "slow", "hang", "crash")
    rows: dict[str, Counter[str]] = {}
    for (name, kind), count in counts.items():
        rows.setdefault(name.partition(".")[2], Counter())[kind] += count
    sys.stdout.write("| format | " + " | ".join(kinds) + " |\n|---|" + "---|" * len(kinds) + "\n")
    for suffix in sorted(rows):
        sys.stdout.write(f"| {suffix} | " + " | ".join(str(rows[suffix][kind]) for kind in kinds) + " |\n")


if __name__ == "__main__":
    sys.exit(main())
