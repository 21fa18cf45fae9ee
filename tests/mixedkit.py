"""A folder of good and bad files of all kinds, and what must come of it.

As a program, ``python -m tests.mixedkit FILES`` makes such a folder, indexes it with stand-ins for the models and the
real reading process, interrupts that three times, and prints what was found.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from idc_local.indexing import IndexOptions
from idc_local.ports import Member
from idc_local.readers.isolation import Allowance, IsolatedReader
from idc_local.readers.walk import WalkOptions
from idc_local.store import Snapshot
from idc_local.types import Document, IndexReport, Skip
from tests import packkit
from tests.fuzzkit import samples
from tests.indexkit import Kit
from tests.pdfkit import Sheet, pdf

OPTIONS = IndexOptions(intents="off", walk=WalkOptions(max_bytes=1 << 20, archives=True))
QUERIES = ("oil for the pump", "red lamp", "Ann")

_VALID = samples()
_TEXTUAL = ("a.txt", "a.md", "a.html", "a.rst", "a.org", "a.py", "a.csv", "a.mbox", "b.txt", "a.toml")


def _good(number: int) -> tuple[str, bytes]:
    """A file that can be read, unlike any other."""
    names = sorted(_VALID)
    name = names[number % len(names)]
    data = _VALID[name]
    words = f"The pump number {number} needs oil."
    suffix = name.partition(".")[2]
    if name in _TEXTUAL:
        data += f"\n{words}\n".encode("utf-16-le" if name == "b.txt" else "utf-8")
    elif suffix == "docx":
        data = packkit.docx(packkit.para(words))
    elif suffix == "pdf":
        data = pdf(Sheet().at(72, 700, words))
    elif suffix == "zip":
        data = packkit.packed({f"in/{number}.txt": words, f"{number}.md": f"# {words}"})
    elif suffix == "jsonl":
        data += f'{{"words": "{words}"}}\n'.encode()
    return f"{number:03d}-{name}", data


_BAD: tuple[tuple[str, Callable[[int], bytes], str], ...] = (
    ("binary.txt", lambda n: random.Random(n).randbytes(1200), "binary, not text"),
    ("cut.pdf", lambda n: _VALID["a.pdf"][: 40 + n % 7], "damaged"),
    ("cut.docx", lambda n: _VALID["a.docx"][: 300 + n % 50], "damaged"),
    ("empty.pdf", lambda n: b"", "empty"),
    ("picture.png", lambda n: b"\x89PNG\r\n\x1a\n" + bytes([n % 256]), "unsupported type .png"),
    (
        "word.doc",
        lambda n: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument\0".encode("utf-16-le"),
        "old Word document",
    ),
    ("notebook.ipynb", lambda n: b'{"cells": [' + b"{" * (1 + n % 9), "a damaged notebook"),
    ("words.eml", lambda n: b"%d words without a header\n" % n, "no mail"),
    ("large.txt", lambda n: b"x" * ((1 << 20) + 1 + n), "too large"),
    ("archive.zip", lambda n: b"PK\x03\x04" + bytes([n % 256]) * 40, "damaged archive"),
    ("crash.evil", lambda n: b"crash %d" % n, "its reader crashed (SIGSEGV)"),
    ("hang.evil", lambda n: b"sleep %d" % n, "it takes too long to read"),
    ("hungry.evil", lambda n: b"eat %d" % n, "it takes more memory to read"),
    ("broken.evil", lambda n: b"break_down %d" % n, "its reader failed (KeyError"),
)


@dataclass
class Mixed:
    """A folder; ``bad``: path to a part of the reason."""

    folder: Path
    good: set[str] = field(default_factory=set)
    bad: dict[str, str] = field(default_factory=dict)


def build(folder: Path, files: int, rounds: int, hang: bool) -> Mixed:
    """``files`` files, a third of them bad; in the first ``rounds`` through all kinds some cost a process each.

    hang: also some that are only ended by their time limit.
    """
    every = _BAD if hang else tuple(bad for bad in _BAD if bad[0] != "hang.evil")
    mixed = Mixed(folder)
    folder.mkdir()
    for number in range(files):
        if number % 3 == 2:
            kinds = every if number // 3 < rounds * len(every) else every[:10]
            name, make, reason = kinds[number // 3 % len(kinds)]
            path, data = f"{number:03d}-{name}", make(number)
            mixed.bad[path] = reason
        else:
            path, data = _good(number)
            inside = (f"{path}!/in/{number}.txt", f"{path}!/{number}.md") if path.endswith(".zip") else None
            mixed.good.update(inside or ((f"{path}!/a.txt", f"{path}!/b.csv") if path.endswith(".gz") else (path,)))
        (folder / path).write_bytes(data)
    os.mkfifo(folder / "pipe.txt")
    (folder / "loop.txt").symlink_to("loop.txt")
    mixed.bad |= {"pipe.txt": "not a regular file", "loop.txt": "a link that leads nowhere"}
    return mixed


class Interrupted:
    """A reader that is interrupted when it is asked for its ``after``-th file."""

    def __init__(self, reader: IsolatedReader, after: int) -> None:
        self._reader = reader
        self._left = after

    def read(self, data: bytes, path: str) -> Document:
        """The document, or the interruption."""
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt
        return self._reader.read(data, path)

    def members(self, data: bytes, path: str) -> Sequence[Member | Skip]:
        """What an archive holds."""
        return self._reader.members(data, path)


def index(mixed: Mixed, kit: Kit, stops: Sequence[int]) -> IndexReport:
    """Indexes the folder, interrupted after each of ``stops`` files and begun again."""
    allowance = Allowance(seconds=10.0, memory=256 << 20)
    with IsolatedReader(allowance, OPTIONS.walk.max_bytes, worker="tests.hostile_worker") as reader:
        for stop in stops:
            kit.reader = Interrupted(reader, stop)
            try:
                kit.add(mixed.folder, options=OPTIONS)
            except KeyboardInterrupt:
                continue
            raise AssertionError("the run was not interrupted")
        kit.reader = reader
        return kit.add(mixed.folder, options=OPTIONS)


def complaints(mixed: Mixed, kit: Kit, report: IndexReport) -> list[str]:
    """What is not as it must be: good files that are not indexed, bad ones that are not named with their reason."""
    with Snapshot.open(kit.index) as snapshot:
        sources = snapshot.sources()
        indexed = {path for path, record in sources.items() if record.document_id}
    found = [f"not indexed: {path}" for path in sorted(mixed.good - indexed)]
    found += [f"indexed: {path}" for path in sorted(indexed - mixed.good)]
    named = {skip.path: skip.reason for skip in report.skipped}
    found += [f"named: {path}: {named[path]}" for path in sorted(named.keys() - mixed.bad.keys())]
    for path, reason in sorted(mixed.bad.items()):
        if reason not in named.get(path, ""):
            found.append(f"{path}: {named.get(path, 'not named')!r} instead of {reason!r}")
    return found


def main() -> int:
    """Makes a folder, indexes it whole and in pieces, and says whether both are the same and as they must be."""
    from idc_local.readers import READERS
    from tests.hostile_worker import EVIL

    READERS[".evil"] = EVIL
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
    files = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as place:
        mixed = build(Path(place) / "docs", files, rounds=2, hang=True)
        pieces, whole = Kit(Path(place) / "pieces"), Kit(Path(place) / "whole")
        report = index(mixed, pieces, (files // 5, files // 5, files // 5))
        found = complaints(mixed, pieces, report)
        index(mixed, whole, ())
        if pieces.everything(QUERIES) != whole.everything(QUERIES):
            found.append("the interrupted index differs from the other")
        embedded = len(pieces.embedder.texts), len(whole.embedder.texts)
        sys.stdout.write(
            f"{files + 2} files: {len(mixed.good)} sources indexed, {len(mixed.bad)} bad ones named; sentences "
            f"embedded with three interruptions {embedded[0]}, without {embedded[1]}; {len(found)} complaints\n"
        )
        sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
