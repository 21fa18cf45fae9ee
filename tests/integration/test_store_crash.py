"""Processes that die, compete or run out of space never cost more than the work that was not yet published.

``scripts/soak`` runs the same at length: hundreds of kills, a minute of contention, a file system that is full.
"""

from __future__ import annotations

import errno
import itertools
import multiprocessing
import os
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from idc_local.errors import IdcError, NothingFound, StoreError, StoreLocked
from idc_local.ports import Completion
from idc_local.store import Snapshot, Writer, compact, export_index, forget, import_index, verify
from tests.store_documents import FINGERPRINT, MEMORY, make_indexed, make_source, vector, vectors, visible

SECRET = "This sentence is a secret that must go. And so is this one here."
TEXTS = ("The pump is blue. It runs at noon.", SECRET, "Alpha beta. Gamma delta. Beta.", "A new file. It is new.")
CHANGES = {"os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.integration.test_store_crash", "faiss", "bm25s"])
KILLS = 9
"""Kills for each kind of work in the suite: two thirds at counted points, one third at points in time."""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder in memory where the system has one: what is tested is order, not the disk."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)


def put(writer: Writer, number: int, recipe: str = "recipe") -> None:
    indexed = make_indexed(TEXTS[number], f"{number}.txt", recipe=recipe)
    writer.put_vectors([f"key {number}"], vectors([TEXTS[number]]))
    writer.put_intents({f"key {number}": Completion(f"Question {number}?", -0.5)})
    writer.put_document(indexed)
    writer.put_source(make_source(indexed))


def prepare(folder: Path) -> None:
    """The old state."""
    with Writer.open(folder, FINGERPRINT) as writer:
        for number in range(3):
            put(writer, number)
        writer.publish()
    export_index(folder, folder.parent / "export.tar")


def update(folder: Path) -> None:
    """Adds a document, replaces one and drops one."""
    with Writer.open(folder, FINGERPRINT) as writer:
        put(writer, 3)
        put(writer, 2, "newer")
        writer.drop_source("0.txt")
        writer.publish()


def rebuild(folder: Path) -> None:
    """Begins anew."""
    with Writer.open(folder, FINGERPRINT, rebuild=True) as writer:
        put(writer, 3)
        put(writer, 0)
        writer.publish()


def remove(folder: Path) -> None:
    """Takes two documents out."""
    with Writer.open(folder, FINGERPRINT) as writer:
        for path in ("0.txt", "2.txt"):
            writer.drop_source(path)
        writer.publish()


def forget_secret(folder: Path) -> None:
    """Forgets a document; where a killed run has published the index without it already, finishes its work."""
    try:
        forget(folder, "1.txt")
    except NothingFound:
        compact(folder)


def compact_all(folder: Path) -> None:
    """Makes everything anew."""
    compact(folder)


def import_copy(folder: Path) -> None:
    """Imports an index beside the old one."""
    if not (folder.parent / "imported").exists():
        import_index(folder.parent / "export.tar", folder.parent / "imported")


WORK: dict[str, Callable[[Path], None]] = {
    work.__name__: work for work in (update, remove, rebuild, forget_secret, compact_all, import_copy)
}


class Counting(sqlite3.Connection):
    """A connection that calls ``point`` before every statement."""

    point = staticmethod(lambda: None)

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        self.point()
        return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        self.point()
        return super().executemany(*arguments)


def arm(fatal: int) -> Iterator[int]:
    """Kills this process at the given point (none: 0); the counter of points."""
    counter = itertools.count(1)

    def point() -> None:
        if next(counter) == fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if writes or event in CHANGES:
            point()

    real_sync, real_connect = os.fsync, sqlite3.connect

    def sync(descriptor: int) -> None:
        point()
        real_sync(descriptor)

    Counting.point = staticmethod(point)
    os.fsync = sync  # type: ignore[assignment]
    sqlite3.connect = lambda *a, **k: real_connect(*a, factory=Counting, **k)  # type: ignore[assignment]
    sys.addaudithook(hook)
    return counter


def work_and_die(name: str, folder: Path, fatal: int, seconds: float, count: Path | None) -> None:
    """Runs in a process of its own."""
    counter = arm(fatal)
    if seconds:
        signal.setitimer(signal.ITIMER_REAL, seconds)
    WORK[name](folder)
    signal.setitimer(signal.ITIMER_REAL, 0)
    if count is not None:
        count.write_text(str(next(counter) - 1))


def work_and_tell(name: str, folder: Path, answer: Connection) -> None:
    """Runs in a process of its own; sends the error in one line, or nothing where the work was done."""
    try:
        WORK[name](folder)
    except IdcError as error:
        answer.send(f"{error.exit_code} {error}")
    else:
        answer.send("")


def run(target: Callable[..., None], *arguments: object) -> int:
    """Runs ``target`` in a process of its own; its exit code."""
    process = CONTEXT.Process(target=target, args=arguments)
    process.start()
    process.join()
    return int(process.exitcode or 0)


def state(folder: Path) -> dict[str, Any]:
    """All that readers see of an index and of an imported copy."""
    copy = folder.parent / "imported"
    return {"index": visible(folder), "copy": visible(copy) if copy.exists() else None}


def leftovers(folder: Path) -> set[str]:
    """What is there besides one index and its files."""
    known = {"manifest.json", "index.sqlite", "index.sha256", "lock", "generations"}
    known |= {"index.sqlite-wal", "index.sqlite-shm"}
    beside = {path.name for path in folder.parent.iterdir()} - {"index", "imported", "export.tar", "count"}
    generations = sorted(path.name for path in (folder / "generations").iterdir())[1:]
    return {path.name for path in folder.iterdir()} - known | beside | set(generations)


def kill_and_check(name: str, base: Path, old: dict[str, Any], new: dict[str, Any], how: tuple[int, float]) -> bool:
    """True where the process died; whether or not, the state is the old or the new one and can be completed."""
    with tempfile.TemporaryDirectory(dir=base.parent) as place:
        folder = Path(shutil.copytree(base, Path(place, "copy"))) / "index"
        code = run(work_and_die, name, folder, *how, None)
        assert code in (0, -signal.SIGKILL, -signal.SIGALRM), how
        assert state(folder) in (old, new), how
        checks = verify(folder, deep=True)
        assert [check for check in checks if check.status != "ok"] == [], how
        WORK[name](folder)
        assert state(folder) == new, how
        assert {check.status for check in verify(folder, deep=True)} == {"ok"}, how
        assert leftovers(folder) == set(), how
        if name == "forget_secret":
            files = [path for path in folder.rglob("*") if path.is_file()]
            assert not [path for path in files if SECRET[:30].encode() in path.read_bytes()], how
        return code != 0


def storm(name: str, place: Path, kills: int) -> int:
    """Kills the work at ``kills`` moments spread over its length; how many processes died."""
    base = place / "base"
    prepare(base / "index")
    old = state(base / "index")
    done = Path(shutil.copytree(base, place / "done"))
    began = time.perf_counter()
    assert run(work_and_die, name, done / "index", 0, 0.0, done / "count") == 0
    length = time.perf_counter() - began
    new, points = state(done / "index"), int((done / "count").read_text())
    counted = np.unique(np.linspace(1, points, max(1, kills * 2 // 3)).astype(int)).tolist()
    times = np.random.default_rng(kills).uniform(0.001, length, kills - len(counted)).tolist()
    moments = [(point, 0.0) for point in counted] + [(0, seconds) for seconds in times]
    return sum(kill_and_check(name, base, old, new, how) for how in moments)


@pytest.mark.parametrize("name", WORK)
def test_a_kill_at_any_moment_leaves_the_old_or_the_new_state(place: Path, name: str) -> None:
    assert storm(name, place, KILLS) >= KILLS * 2 // 3


def hold(folder: Path, ready: Connection) -> None:
    """Holds the writer's lock until killed."""
    with Writer.open(folder, FINGERPRINT):
        ready.send(os.getpid())
        signal.pause()


def test_the_lock_of_another_process_is_respected_named_and_dies_with_it(place: Path) -> None:
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=hold, args=(place, theirs))
    process.start()
    owner = ours.recv()
    for attempt in (lambda: Writer.open(place, FINGERPRINT), lambda: compact(place), lambda: forget(place, "x")):
        with pytest.raises(StoreLocked, match=f"written to by process {owner} on"):
            attempt()
    os.kill(owner, signal.SIGKILL)
    process.join()
    Writer.open(place, FINGERPRINT).close()


def race(folder: Path, number: int, gate: Connection, result: Connection) -> None:
    """Tries to write once all are ready; sends whether it could."""
    gate.recv()
    try:
        with Writer.open(folder, FINGERPRINT) as writer:
            put(writer, number)
            result.send("won")
            gate.recv()
            writer.publish()
    except StoreLocked:
        result.send("locked")


def test_of_two_processes_that_start_at_once_one_writes(place: Path) -> None:
    pipes = [(CONTEXT.Pipe(), CONTEXT.Pipe()) for _ in range(2)]
    processes = [
        CONTEXT.Process(target=race, args=(place, number, gate[1], result[1]))
        for number, (gate, result) in enumerate(pipes)
    ]
    for process in processes:
        process.start()
    for gate, _ in pipes:
        gate[0].send("go")
    results = [result[0].recv() for _, result in pipes]
    for gate, _ in pipes:
        with suppress(OSError):
            gate[0].send("publish")
    for process in processes:
        process.join()
    assert sorted(results) == ["locked", "won"]
    with Snapshot.open(place) as snapshot:
        assert snapshot.paths == [f"{results.index('won')}.txt"]


def numbered(number: int, documents: int) -> list[str]:
    return [f"Text {place} of state {number}. It says {number} again." for place in range(documents)]


def read_on(folder: Path, ready: Connection) -> None:
    """Reads until told to stop; every snapshot must be of one state, whole."""
    seen: set[int] = set()
    while True:
        with Snapshot.open(folder) as snapshot:
            states = {chunk.text.split()[4] for chunk in snapshot.chunks(range(snapshot.size))}
            assert len(states) == 1, states
            number = int(states.pop().rstrip("."))
            assert snapshot.size == 3 + number % 4
            query = numbered(number, snapshot.size)[1]
            assert snapshot.dense(vector(query), 1)[1].tolist() == [1]
            assert len(snapshot.lexical({str(number): 1.0}, 99)[1]) == snapshot.size
            assert snapshot.document_text(snapshot.chunks([0])[0].document_id) == numbered(number, 1)[0]
        if not seen:
            ready.send("reading")
        seen.add(number)
        if ready.poll():
            ready.send(len(seen))
            return


def write_state(writer: Writer, number: int) -> None:
    texts = numbered(number, 3 + number % 4)
    for path in writer.sources():
        writer.drop_source(path)
    for place, text in enumerate(texts):
        indexed = make_indexed(text, f"{place}.txt", recipe=f"r{number}")
        writer.put_document(indexed)
        writer.put_source(make_source(indexed))
    writer.publish()


def test_ten_readers_always_see_one_whole_generation(place: Path) -> None:
    with Writer.open(place, FINGERPRINT) as writer:
        write_state(writer, 0)
        pipes = [CONTEXT.Pipe() for _ in range(10)]
        processes = [CONTEXT.Process(target=read_on, args=(place, theirs)) for _, theirs in pipes]
        for process in processes:
            process.start()
        for ours, _ in pipes:
            assert ours.recv() == "reading"
        for number in range(1, 9):
            write_state(writer, number)
        for ours, _ in pipes:
            ours.send("stop")
        states = [ours.recv() for ours, _ in pipes]
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * 10
        assert max(states) > 1
        writer.drop_source("0.txt")
        writer.publish()
    assert len(list((place / "generations").iterdir())) == 1


def fill_up(folder: Path, limit: int, answer: Connection) -> None:
    """Writes while no file may grow beyond ``limit`` bytes; sends the error."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        update(folder)
    except IdcError as error:
        answer.send((type(error).__name__, str(error), error.exit_code))
    else:
        answer.send(("", "", 0))


@pytest.mark.parametrize("limit", [0, 100, 200, 500, 3000, 9000, 40_000, 70_000, 100_000])
def test_no_space_is_an_error_in_one_line_and_harms_nothing(place: Path, limit: int) -> None:
    folder = place / "index"
    prepare(folder)
    old = state(folder)
    ours, theirs = CONTEXT.Pipe()
    assert run(fill_up, folder, limit, theirs) == 0
    name, line, code = ours.recv()
    assert (name, code) in {("StoreError", 4), ("", 0)}
    assert "\n" not in line
    assert name == "StoreError" or limit > 60_000, "such a limit cannot do"
    if name:
        assert state(folder) == old
    update(folder)
    assert {check.status for check in verify(folder, deep=True)} == {"ok"}
    with Snapshot.open(folder) as snapshot:
        assert set(snapshot.paths) == {"1.txt", "2.txt", "3.txt"}
    assert leftovers(folder) == set()


def read_as_nobody(folder: Path, answer: Connection) -> None:
    """Reads and tries to write without the right to write."""
    if os.geteuid() == 0:
        os.setuid(65534)
    seen, lines = visible(folder), []
    for work in WORK.values():
        try:
            work(folder)
        except StoreError as error:
            lines.append(f"{error.exit_code} {error}")
    answer.send((seen, lines))


@pytest.mark.parametrize("logged", [False, True])
def test_a_folder_that_cannot_be_written_can_be_read(place: Path, logged: bool) -> None:
    folder = place / "index"
    prepare(folder)
    old = visible(folder)
    if not logged:
        for name in ("index.sqlite-wal", "index.sqlite-shm"):
            (folder / name).unlink(missing_ok=True)
    place.chmod(0o755)
    for path in [folder, *folder.rglob("*")]:
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
        path.chmod(0o500 if path.is_dir() else 0o400)
    ours, theirs = CONTEXT.Pipe()
    try:
        assert run(read_as_nobody, folder, theirs) == 0
        seen, lines = ours.recv()
    finally:
        for path in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
            path.chmod(0o700)
    assert seen == old
    assert len(lines) == len(WORK), "writing must fail"
    assert all(line.startswith("4 ") and "permission" in line and "\n" not in line for line in lines), lines
    assert visible(folder) == old
    assert {check.status for check in verify(folder, deep=True)} == {"ok"}


STEP = 29
"""Of so many moments one is tried in the suite."""

FULL = "database or disk is full"
READS = ("SELECT", "PRAGMA", "ROLLBACK", "WITH")


class Filling(sqlite3.Connection):
    """A connection that finds no space for what it writes, from the given point on."""

    full = staticmethod(lambda: False)

    def _check(self, statement: str) -> None:
        if not statement.lstrip().startswith(READS) and self.full():
            raise sqlite3.OperationalError(FULL)

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        self._check(arguments[0])
        return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        self._check(arguments[0])
        return super().executemany(*arguments)


class FullDisk:
    """No space from the given point on (none: 0), counted over everything that takes space."""

    def __init__(self) -> None:
        self.points, self.first, self.armed = 0, 0, False
        real_sync, real_connect = os.fsync, sqlite3.connect
        Filling.full = staticmethod(self.reached)

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if (writes or event in ("os.link", "os.mkdir")) and self.reached():
                raise OSError(errno.ENOSPC, "No space left on device")

        def sync(descriptor: int) -> None:
            if self.reached():
                raise OSError(errno.ENOSPC, "No space left on device")
            real_sync(descriptor)

        os.fsync = sync  # type: ignore[assignment]
        sqlite3.connect = lambda *a, **k: real_connect(*a, factory=Filling, **k)  # type: ignore[assignment]
        sys.addaudithook(hook)

    def reached(self) -> bool:
        """Counts a point; True where there is no space any more."""
        self.points += self.armed
        return self.armed and 0 < self.first <= self.points

    def run(self, work: Callable[[], None], first: int) -> str:
        """The error of ``work`` in one line; empty where it did its work."""
        self.points, self.first, self.armed = 0, first, True
        try:
            work()
        except IdcError as error:
            return f"{error.exit_code} {error}"
        finally:
            self.armed = False
        return ""


def fill_in_turn(name: str, base: Path, step: int, answer: Connection) -> None:
    """In a process of its own: lets the disk be full from every ``step``-th point on; sends how often that was felt."""
    disk = FullDisk()
    old = state(base / "index")
    place = base.parent / "filled"

    def copy() -> Path:
        shutil.rmtree(place, ignore_errors=True)
        return Path(shutil.copytree(base, place)) / "index"

    folder = copy()
    assert disk.run(partial(WORK[name], folder), 0) == ""
    new, points = state(folder), disk.points
    failed = 0
    for first in range(1, points + 1, step):
        folder = copy()
        line = disk.run(partial(WORK[name], folder), first)
        failed += bool(line)
        assert line == "" or (line.startswith("4 ") and "\n" not in line), (first, line)
        assert state(folder) in ((old, new) if line else (new,)), (first, line)
        assert {check.status for check in verify(folder, deep=True)} == {"ok"}, (first, line)
        WORK[name](folder)
        assert state(folder) == new, (first, line)
        assert leftovers(folder) == set(), (first, line)
    answer.send((failed, points))


@pytest.mark.parametrize("name", WORK)
def test_a_disk_that_is_full_at_any_moment_harms_nothing(place: Path, name: str) -> None:
    prepare(place / "base" / "index")
    ours, theirs = CONTEXT.Pipe()
    assert run(fill_in_turn, name, place / "base", STEP, theirs) == 0
    failed, points = ours.recv()
    assert points > STEP
    assert failed >= points // STEP // 2


def write_on(folder: Path, share: Any, stop: Any, answer: Connection) -> None:
    """Publishes one state after the other until told to stop, waiting whenever another process writes."""
    published, refused = 0, 0
    while not stop.is_set():
        try:
            with Writer.open(folder, FINGERPRINT) as writer:
                with share.get_lock():
                    share.value += 1
                    number = share.value
                write_state(writer, number)
                published += 1
        except StoreLocked as error:
            refused += "written to by" in str(error)
        # Whoever wrote last would be the first to ask again.
        stop.wait(0.01)
    answer.send((published, refused))


def read_until(folder: Path, stop: Any, answer: Connection) -> None:
    """Reads until told to stop; every snapshot must be of one state, whole, and none older than the one before."""
    reads, last = 0, 0
    while not stop.is_set() or not reads:
        with Snapshot.open(folder) as snapshot:
            states = {int(chunk.text.split()[4].rstrip(".")) for chunk in snapshot.chunks(range(snapshot.size))}
            assert len(states) == 1, states
            number = states.pop()
            assert snapshot.size == 3 + number % 4
            assert number >= last, "a reader went back in time"
            assert snapshot.dense(vector(numbered(number, snapshot.size)[1]), 1)[1].tolist() == [1]
            assert len(snapshot.lexical({str(number): 1.0}, 99)[1]) == snapshot.size
        reads, last = reads + 1, number
    answer.send((reads, last))


def contend(place: Path, seconds: float, writers: int = 2, readers: int = 10) -> tuple[list[Any], list[Any]]:
    """Lets writers and readers work on one index for so long; what each counted."""
    with Writer.open(place, FINGERPRINT) as writer:
        write_state(writer, 0)
    share, stop = CONTEXT.Value("q", 0), CONTEXT.Event()
    pipes = [CONTEXT.Pipe() for _ in range(writers + readers)]
    ends = [theirs for _, theirs in pipes]
    processes = [CONTEXT.Process(target=write_on, args=(place, share, stop, end)) for end in ends[:writers]]
    processes += [CONTEXT.Process(target=read_until, args=(place, stop, end)) for end in ends[writers:]]
    for process in processes:
        process.start()
    processes[0].join(seconds)
    stop.set()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)
    counts = [ours.recv() for ours, _ in pipes]
    assert {check.status for check in verify(place, deep=True)} == {"ok"}
    return counts[:writers], counts[writers:]


def test_two_writers_and_ten_readers_get_along(place: Path) -> None:
    writers, readers = contend(place, 3.0)
    assert all(published > 0 for published, _ in writers)
    assert sum(refused for _, refused in writers) > 0
    assert all(reads > 0 for reads, _ in readers)
