"""Derived files with a checksum for every block, written once and checked where they are read.

A folder of files has one ``sums.bin``: 8 bytes for each 16 KiB block of each file, files in order of name. The
manifest vouches for ``sums.bin`` with a sha256, and that for every block, so that a large memory-mapped file needs no
full read at the start and yet no byte of it is ever used unchecked. The sums guard against damage and are as fast as
memory; against intent there are the manifest's hashes, which ``verify`` compares. Owner of xxhash.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_digest

from idc_local.fingerprint import parse_json
from idc_local.store.codec import Json
from idc_local.store.layout import FileEntry, damaged, open_private

BLOCK = 16384
SUM = 8

IN_MEMORY = 64 * BLOCK
"""Files up to so many bytes are read instead of mapped: each mapping costs a descriptor."""
MAPPED = 1 << 30
"""Bytes of mapped files in the process's memory above which a file lets its pages go."""
READS = 16
"""Reads of a file from one look at the process's memory to the next."""
SUMS = "sums.bin"
_NPY = re.compile(
    rb"\x93NUMPY\x01\0(..)\{'descr': '([<|][a-z]\d+)', 'fortran_order': False, 'shape': \(([\d, ]*)\), \} *\n",
    re.DOTALL,
)
"""How numpy begins a file of a plain array in row order. Its own reader compiles this as Python, which takes longer
than all else that opening a small index does."""


def block_sums(data: memoryview) -> bytes:
    """Sums of the blocks of ``data``: XXH3 with 64 bits, the high byte first, of each. The last may be short."""
    return b"".join([xxh3_64_digest(data[start : start + BLOCK]) for start in range(0, len(data), BLOCK)])


class Sink:
    """A new private file that counts and hashes what is written to it."""

    def __init__(self, path: Path) -> None:
        self._file = os.fdopen(open_private(path), "wb")
        self._whole = hashlib.sha256()
        self._rest = b""
        self.sums = bytearray()
        self.size = 0

    def write(self, data: bytes | memoryview) -> int:
        """Appends ``data``."""
        view = memoryview(data)
        self._file.write(view)
        self._whole.update(view)
        self.size += len(view)
        start = 0
        if self._rest:
            start = min(BLOCK - len(self._rest), len(view))
            self._rest += bytes(view[:start])
            if len(self._rest) < BLOCK:
                return len(view)
            self.sums += block_sums(memoryview(self._rest))
        stop = start + (len(view) - start) // BLOCK * BLOCK
        self.sums += block_sums(view[start:stop])
        self._rest = bytes(view[stop:])
        return len(view)

    def close(self) -> FileEntry:
        """Makes the content durable and closes the file."""
        if self._rest:
            self.sums += block_sums(memoryview(self._rest))
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        finally:
            self._file.close()
        return FileEntry(self.size, self._whole.hexdigest())


class BlockWriter:
    """Writes the files of one folder, then their ``sums.bin``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: dict[str, FileEntry] = {}
        self._sums: dict[str, bytes] = {}

    def write(self, name: str, fill: Callable[[Sink], object]) -> None:
        """Makes file ``name`` with what ``fill`` writes."""
        with self.sink(name) as sink:
            fill(sink)

    @contextmanager
    def sink(self, name: str) -> Iterator[Sink]:
        """File ``name`` in the making."""
        sink = Sink(self.folder / name)
        try:
            yield sink
        finally:
            self.entries[name] = sink.close()
        self._sums[name] = bytes(sink.sums)

    def array(self, name: str, values: npt.NDArray[Any]) -> None:
        """Makes a .npy file."""
        self.write(name, lambda sink: np.save(sink, np.ascontiguousarray(values), allow_pickle=False))

    def json(self, name: str, value: Json) -> None:
        """Makes a JSON file."""
        data = json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()
        self.write(name, lambda sink: sink.write(data))

    def finish(self) -> dict[str, FileEntry]:
        """Writes ``sums.bin``; entries of all files by name."""
        data = b"".join(self._sums[name] for name in sorted(self._sums))
        self.write(SUMS, lambda sink: sink.write(data))
        return self.entries


def mapped_bytes() -> int:
    """Bytes of files in this process's memory; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[2]) * mmap.PAGESIZE
    except OSError:
        return 0


class BlockFile:
    """A memory-mapped file whose blocks are checked when they are first used."""

    def __init__(self, path: Path, size: int, sums: bytes) -> None:
        self._path = path
        self.size = size
        self._sums = sums
        self._known = np.zeros(len(sums) // SUM, dtype=np.bool_)
        self._reads = 0
        self._map = self._open(size)

    def _open(self, size: int) -> mmap.mmap | bytes:
        try:
            with self._path.open("rb") as file:
                if os.fstat(file.fileno()).st_size != size:
                    raise damaged(self._path, f"its size is not {size} bytes")
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size > IN_MEMORY else file.read()
        except FileNotFoundError as error:
            raise damaged(self._path, "it is missing") from error

    def require(self, start: int, stop: int) -> None:
        """Checks the blocks that hold bytes ``start`` to ``stop``."""
        if stop > start:
            first, last = start // BLOCK, (stop - 1) // BLOCK + 1
            self._let_go()
            known = self._known[first:last]
            if not known.all():
                self._check(np.flatnonzero(~known) + first)

    def require_ranges(self, starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]) -> None:
        """Checks the blocks that hold the bytes of each range; none may be empty."""
        wanted = np.zeros(self._known.shape[0] + 1, dtype=np.int64)
        np.add.at(wanted, starts // BLOCK, 1)
        np.add.at(wanted, (stops - 1) // BLOCK + 1, -1)
        self._let_go()
        self._check(np.flatnonzero((np.cumsum(wanted[:-1]) > 0) & ~self._known))

    def _let_go(self) -> None:
        """Unmaps the pages of earlier reads where they pile up: with one byte the system may map 2 MB around it.

        They stay in the system's cache, and come back when they are read; mapped, they count as the process's memory.
        """
        self._reads += 1
        if self._reads % READS == 0 and isinstance(self._map, mmap.mmap) and mapped_bytes() > MAPPED:
            self._map.madvise(mmap.MADV_DONTNEED)

    def _check(self, blocks: npt.NDArray[np.int64]) -> None:
        view = memoryview(self._map)
        for block in blocks.tolist():
            start = block * BLOCK
            if xxh3_64_digest(view[start : start + BLOCK]) != self._sums[block * SUM : (block + 1) * SUM]:
                raise damaged(self._path, f"block {block} does not fit its checksum")
        self._known[blocks] = True

    def require_all(self) -> None:
        """Checks every block."""
        self._let_go()
        self._check(np.flatnonzero(~self._known))

    def view(self) -> memoryview:
        """The whole file, checked."""
        self.require_all()
        return memoryview(self._map)

    def plain(self, dtype: str, offset: int) -> npt.NDArray[Any]:
        """Everything from ``offset`` on as an array, memory-mapped and not checked: ``require`` what is read of it."""
        return np.frombuffer(self._map, dtype=dtype, offset=offset) if offset < self.size else np.zeros(0, dtype)

    def json(self) -> Json:
        """The file's value as JSON."""
        self.require_all()
        return parse_json(bytes(self._map))

    def array(self) -> BlockArray:
        """The file as a .npy array."""
        self.require(0, min(len(self._map), BLOCK))
        head = _NPY.match(self._map)
        if head is None:
            raise damaged(self._path, "it is no plain array")
        dtype, shape = np.dtype(head[2].decode()), tuple(int(number) for number in re.findall(rb"\d+", head[3]))
        offset, count = 10 + int.from_bytes(head[1], "little"), int(np.prod(shape))
        values = np.frombuffer(self._map, dtype=dtype, offset=offset, count=count) if count else np.zeros(0, dtype)
        return BlockArray(self, offset, values.reshape(shape))


class BlockArray:
    """An array in a file: rows are checked when they are taken."""

    def __init__(self, file: BlockFile, offset: int, values: npt.NDArray[Any]) -> None:
        self._file = file
        self._offset = offset
        self._values = values
        self._row = int(values.itemsize * np.prod(values.shape[1:], dtype=np.int64))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the whole array."""
        return self._values.shape

    def part(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Rows ``start`` to ``stop``, memory-mapped."""
        self._file.require(self._offset + start * self._row, self._offset + stop * self._row)
        return self._values[start:stop]

    def take(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """A copy of the rows at the given places."""
        self._file.require_ranges(self._offset + rows * self._row, self._offset + (rows + 1) * self._row)
        return self._values[rows]

    def whole(self) -> npt.NDArray[Any]:
        """All rows, memory-mapped."""
        return self.part(0, self._values.shape[0])


class BlockFolder:
    """The files of one folder, opened on first use."""

    def __init__(self, folder: Path, entries: Mapping[str, FileEntry]) -> None:
        self.folder = folder
        self._entries = entries
        self._open: dict[str, BlockFile] = {}
        self._arrays: dict[str, BlockArray] = {}
        self._sums = self._load_sums()

    def _load_sums(self) -> dict[str, bytes]:
        path = self.folder / SUMS
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise damaged(path, "it is missing") from error
        if hashlib.sha256(data).hexdigest() != self._entries[SUMS].sha256:
            raise damaged(path, "its content does not fit its checksum")
        sums, start = {}, 0
        for name in sorted(set(self._entries) - {SUMS}):
            stop = start + SUM * -(-self._entries[name].size // BLOCK)
            sums[name], start = data[start:stop], stop
        return sums

    def check_sizes(self) -> None:
        """Checks that every file is there with its size."""
        for name, entry in self._entries.items():
            path = self.folder / name
            try:
                size = path.stat().st_size
            except FileNotFoundError as error:
                raise damaged(path, "it is missing") from error
            if size != entry.size:
                raise damaged(path, f"it has {size} bytes instead of {entry.size}")

    def close(self) -> None:
        """Lets go of all files; those whose arrays are still in use stay mapped."""
        self._open.clear()
        self._arrays.clear()

    def file(self, name: str) -> BlockFile:
        """One file, memory-mapped."""
        if name not in self._entries:
            raise damaged(self.folder / name, "it is missing")
        if name not in self._open:
            self._open[name] = BlockFile(self.folder / name, self._entries[name].size, self._sums[name])
        return self._open[name]

    def array(self, name: str) -> BlockArray:
        """One .npy file."""
        if name not in self._arrays:
            self._arrays[name] = self.file(name).array()
        return self._arrays[name]
