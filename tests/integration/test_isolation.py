"""A file may crash, hang or eat its reader: that costs this one file, and the next one is read as ever."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from idc_local.errors import IdcError, InputError
from idc_local.netguard import guard
from idc_local.ports import Member
from idc_local.readers import READERS, isolation, read_source
from idc_local.readers.isolation import Allowance, IsolatedReader
from idc_local.types import Skip
from tests.hostile_worker import EVIL
from tests.unit.test_readers_archives import zipped

ROOT = Path(__file__).resolve().parents[2]
PAGE = (
    b"<html><h1>Pump</h1><p>It needs oil.</p><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
)


@pytest.fixture(scope="module")
def reader() -> Iterator[IsolatedReader]:
    """A reader with little memory that knows ``.evil`` files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setitem(READERS, ".evil", EVIL)
        with IsolatedReader(Allowance(memory=64 << 20), worker="tests.hostile_worker") as reader:
            yield reader


def refusal(reader: IsolatedReader, order: str) -> str:
    with pytest.raises(InputError) as caught:
        reader.read(order.encode(), "x.evil")
    assert caught.value.message.startswith("x.evil: ")
    return caught.value.message.removeprefix("x.evil: ")


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("crash", "its reader crashed (SIGSEGV)"),
        ("leave 3", "its reader ended with code 3"),
        ("eat", "it takes more memory to read than one file may have"),
        ("dive", "nested too deeply"),
        ("refuse", "refused"),
        ("break_down", "its reader failed (KeyError: 'lost')"),
        ("fork", "its reader failed (PermissionError: a reading process may not do os.fork)"),
    ],
)
def test_one_file_is_lost_and_the_next_is_read(reader: IsolatedReader, order: str, reason: str) -> None:
    assert refusal(reader, order) == reason
    assert reader.read(b"nothing here", "x.evil").text == "nothing here"


@pytest.mark.parametrize("order", ["sleep", "spin"])
def test_a_file_that_takes_too_long_is_given_up(
    reader: IsolatedReader, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    reader.read(b"nothing", "x.evil")
    monkeypatch.setattr(reader, "_allowance", Allowance(seconds=0.2))
    assert refusal(reader, order) == "it takes too long to read"


def test_hints_arrive(reader: IsolatedReader) -> None:
    with pytest.raises(InputError) as caught:
        reader.read(b"refuse", "x.evil")
    assert caught.value.hint == "a hint"


def test_a_reader_can_change_nothing_and_reach_nobody(reader: IsolatedReader, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("x")
    assert "may not write files" in refusal(reader, f"write {tmp_path}/new")
    assert "may not do os.remove" in refusal(reader, f"remove {kept}")
    assert "may not do subprocess.Popen" in refusal(reader, f"run {tmp_path}/new")
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert "PermissionError" in refusal(reader, f"connect {server.getsockname()[1]}")
    assert os.listdir(tmp_path) == ["kept"]


def test_documents_arrive_as_they_were_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "_HERE_BYTES", 1000)
    texts = [PAGE, b"\xff\xfe<\0h\0t\0m\0l\0>\0\x00\xd8x\0", "<html><p>größe 😀</p>".encode()]
    with guard(allow=False) as log, IsolatedReader() as reader:
        for data in texts:
            assert reader.read(data, "a.html") == read_source(data, "a.html")
        large = b"The pump needs oil.\n\n" * 5000
        assert reader.read(large, "a.txt") == read_source(large, "a.txt")
        members = reader.members(zipped({"a.txt": b"x" * 100_000, "b/c.png": b""}), "z.zip")
    assert members == [Member("z.zip!/a.txt", b"x" * 100_000), Skip("z.zip!/b/c.png", "unsupported type .png")]
    assert log.programs == []


def test_small_plain_text_needs_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with IsolatedReader() as reader:
        assert reader.read(b"text", "a.txt").text == "text"
        with pytest.raises(InputError, match=r"^a\.txt: too large"):
            IsolatedReader(max_bytes=3).read(b"text", "a.txt")


def test_a_process_that_does_not_start_is_no_fault_of_the_file() -> None:
    with (
        IsolatedReader(worker="idc_local.nothing") as reader,
        pytest.raises(IdcError, match="does not start") as caught,
    ):
        reader.read(PAGE, "a.html")
    assert not isinstance(caught.value, InputError)
