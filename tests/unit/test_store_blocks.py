from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64

from idc_local.errors import StoreCorrupt
from idc_local.store import blocks
from idc_local.store.blocks import BLOCK, SUM, SUMS, BlockFolder, BlockWriter, block_sums, mapped_bytes

Change = Callable[[bytes], bytes]

BAD = (5 * BLOCK - 128) // 8
"""The first row of a .npy file of int64 in block 5: its head takes 128 bytes."""


def written(folder: Path, values: dict[str, Any]) -> BlockFolder:
    writer = BlockWriter(folder)
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            writer.array(name, value)
        else:
            writer.json(name, value)
    return BlockFolder(folder, writer.finish())


def sum_in_steps(block: bytes) -> bytes:
    """The sum as the library finds it from pieces, which is other code than that for a whole block."""
    found = xxh3_64()
    for start in range(0, len(block), 999):
        found.update(block[start : start + 999])
    return found.digest()


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 99), one=st.integers(0, BLOCK - 64), other=st.integers(0, BLOCK - 64), size=st.integers(1, 64)
)
@example(seed=0, one=63, other=2399, size=1)
def test_bytes_that_trade_places_change_the_sum(seed: int, one: int, other: int, size: int) -> None:
    data = np.random.default_rng(seed).bytes(BLOCK)
    changed = bytearray(data)
    changed[one : one + size], changed[other : other + size] = data[other : other + size], data[one : one + size]
    assert (block_sums(memoryview(changed)) == block_sums(memoryview(data))) == (bytes(changed) == data)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 99), size=st.integers(1, BLOCK), place=st.integers(0, BLOCK - 1), change=st.integers(1, 255))
def test_a_byte_that_changes_changes_the_sum(seed: int, size: int, place: int, change: int) -> None:
    data = np.random.default_rng(seed).bytes(size)
    changed = bytearray(data)
    changed[place % size] ^= change
    assert block_sums(memoryview(changed)) != block_sums(memoryview(data))


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (1, 0xC44BDFF4074EECDB),
        (6, 0x27B56A84CD2D7325),
        (12, 0xA713DAF0DFBB77E7),
        (24, 0xA3FE70BF9D3510EB),
        (48, 0x397DA259ECBA1F11),
        (80, 0xBCDEFBBB2C47C90A),
        (195, 0xCD94217EE362EC3A),
        (403, 0xCDEB804D65C6DEA4),
        (512, 0x617E49599013CB6B),
        (2048, 0xDD59E2C3A5F038E0),
        (2240, 0x6E73A90539CF2948),
        (2367, 0xCB37AEB9E5D361ED),
    ],
)
def test_sums_are_those_that_the_authors_of_xxh3_publish(size: int, expected: int) -> None:
    """Values of xxHash's own sanity test, over the bytes that its generator makes."""
    data, state = bytearray(), 2654435761
    for _ in range(size):
        data.append(state >> 56)
        state = state * 11400714785074694797 % 2**64
    assert block_sums(memoryview(data)) == expected.to_bytes(SUM, "big")


@settings(max_examples=30, deadline=None)
@given(parts=st.lists(st.integers(0, 3 * BLOCK), max_size=6))
def test_sums_do_not_depend_on_how_the_file_was_written(parts: list[int], tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("sums")
    data = np.random.default_rng(1).bytes(sum(parts))
    writer = BlockWriter(folder)

    def fill(sink: Any) -> None:
        start = 0
        for size in parts:
            assert sink.write(data[start : start + size]) == size
            start += size

    writer.write("x", fill)
    entries = writer.finish()
    assert (folder / "x").read_bytes() == data
    assert entries["x"].size == len(data)
    assert entries["x"].sha256 == hashlib.sha256(data).hexdigest()
    blocks = [data[start : start + BLOCK] for start in range(0, len(data), BLOCK)]
    assert (folder / SUMS).read_bytes() == b"".join(map(sum_in_steps, blocks))


@pytest.mark.parametrize(
    "values",
    [
        np.zeros((0, 7), dtype=np.float16),
        np.arange(12, dtype=np.int64).reshape(6, 2),
        np.random.default_rng(2).random((5000, 9)).astype(np.float32),
    ],
)
def test_arrays_come_back_whole_and_in_part(tmp_path: Path, values: np.ndarray) -> None:
    array = written(tmp_path, {"a.npy": values, "b.json": ["\ud800", None]}).array("a.npy")
    assert array.shape == values.shape
    np.testing.assert_array_equal(array.whole(), values)
    np.testing.assert_array_equal(array.part(2, 5), values[2:5])
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy", allow_pickle=False), values)


def test_a_file_that_was_never_written_is_named_and_behind_the_end_of_one_is_nothing(tmp_path: Path) -> None:
    folder = written(tmp_path, {"a.npy": np.arange(4)})
    assert folder.file("a.npy").plain("<i8", 128).tolist() == [0, 1, 2, 3]
    assert folder.file("a.npy").plain("<i8", 160).tolist() == []
    with pytest.raises(StoreCorrupt, match=r"b\.npy is damaged: it is missing"):
        folder.array("b.npy")


def test_json_comes_back(tmp_path: Path) -> None:
    value = {"a": ["\ud800", "浮", 1.5, None]}
    assert written(tmp_path, {"b.json": value}).file("b.json").json() == value


def test_only_the_rows_that_are_read_are_checked(tmp_path: Path) -> None:
    values = np.arange(20_000, dtype=np.int64)
    written_folder = written(tmp_path, {"a.npy": values})
    path = tmp_path / "a.npy"
    data = bytearray(path.read_bytes())
    data[5 * BLOCK + 3] ^= 1
    path.write_bytes(data)
    array = written_folder.array("a.npy")
    assert array.part(0, 1000).sum() == values[:1000].sum()
    with pytest.raises(StoreCorrupt, match=r"a\.npy is damaged: block 5 "):
        array.part(BAD, BAD + 1)
    with pytest.raises(StoreCorrupt):
        array.whole()


@pytest.mark.parametrize(
    "read",
    [
        lambda folder: folder.file("a.npy").view(),
        lambda folder: folder.file("a.npy").require(6 * BLOCK - 1, 6 * BLOCK),
        lambda folder: folder.array("a.npy").take(np.array([7, BAD])),
        lambda folder: folder.array("a.npy").take(np.array([BAD])),
        lambda folder: folder.array("a.npy").part(BAD - 1, BAD + 1),
        lambda folder: folder.array("pairs.npy").part(BAD // 2, BAD // 2 + 1),
        lambda folder: folder.array("pairs.npy").take(np.array([BAD // 2])),
        lambda folder: folder.array("bytes.npy").take(np.array([BAD * 8])),
        lambda folder: folder.file("b.json").json(),
    ],
)
def test_no_way_of_reading_leads_past_the_sums(tmp_path: Path, read: Callable[[BlockFolder], object]) -> None:
    values = np.arange(20_000, dtype=np.int64)
    arrays = {"a.npy": values, "pairs.npy": values.reshape(-1, 2), "bytes.npy": values.astype(np.uint8).repeat(8)}
    folder = written(tmp_path, {**arrays, "b.json": ["one"]})
    read(folder)
    folder.close()
    for name, place in (("b.json", 3), *((name, 5 * BLOCK) for name in arrays)):
        data = bytearray((tmp_path / name).read_bytes())
        data[place] ^= 1
        (tmp_path / name).write_bytes(data)
    assert folder.array("a.npy").take(np.array([BAD - 1, 0, 19_999])).tolist() == [BAD - 1, 0, 19_999]
    with pytest.raises(StoreCorrupt, match="does not fit its checksum"):
        read(folder)


def resident(path: Path) -> int:
    """Bytes of a mapped file that count as this process's memory."""
    maps = Path("/proc/self/smaps").read_text().split(str(path))
    return 1024 * int(re.search(r"^Rss:\s+(\d+)", maps[1], re.MULTILINE)[1])  # type: ignore[index]


def test_what_was_read_of_a_large_file_does_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(8_000_000, dtype=np.int64)  # 64 MB
    array = written(tmp_path, {"a.npy": values}).array("a.npy")

    def read() -> int:
        for start in range(0, len(values), 50_000):
            np.testing.assert_array_equal(array.part(start, start + 5), values[start : start + 5])
            np.testing.assert_array_equal(array.take(np.array([start])), values[[start]])
        return resident(tmp_path / "a.npy")

    monkeypatch.setattr(blocks, "READS", 1)
    whole = read()
    monkeypatch.setattr(blocks, "MAPPED", 0)
    assert 0 < read() < whole / 4


def test_mapped_bytes_are_those_that_the_system_counts(tmp_path: Path) -> None:
    before = mapped_bytes()
    array = written(tmp_path, {"a.npy": np.arange(4_000_000)}).array("a.npy")
    assert array.whole().sum() == 4_000_000 * 3_999_999 // 2
    assert mapped_bytes() - before == pytest.approx(32e6, rel=0.1)


@pytest.mark.parametrize("name", ["a.npy", SUMS])
@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"x", None])
def test_missing_and_wrongly_sized_files_are_named(tmp_path: Path, name: str, change: Change | None) -> None:
    written(tmp_path, {"a.npy": np.arange(3), "z.json": 1})
    entries = BlockWriter(tmp_path / "none").entries
    writer = BlockWriter(tmp_path)
    writer.array("a.npy", np.arange(3))
    entries = writer.finish()
    BlockFolder(tmp_path, entries).check_sizes()
    path = tmp_path / name
    data = path.read_bytes()
    path.unlink()
    if change is not None:
        path.write_bytes(change(data))
    with pytest.raises(StoreCorrupt, match=f"{name} is damaged"):
        BlockFolder(tmp_path, entries).check_sizes()


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    writer = BlockWriter(tmp_path)
    with pytest.raises(ValueError, match="allow_pickle"):
        writer.array("a.npy", np.array([object()]))
    header = b"\x93NUMPY\x01\x00F\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
    writer = BlockWriter(tmp_path)
    writer.write("o.npy", lambda sink: sink.write(header.ljust(79) + b"\n" + b"\0" * 8))
    with pytest.raises(StoreCorrupt, match="no plain array"):
        BlockFolder(tmp_path, writer.finish()).array("o.npy")


def test_files_are_private(tmp_path: Path) -> None:
    written(tmp_path, {"a.npy": np.arange(3), "b.json": 1})
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
