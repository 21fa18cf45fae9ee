from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
import zipfile
from collections.abc import Callable, Mapping

import pytest

from idc_local.errors import InputError
from idc_local.ports import Member
from idc_local.readers import archives
from idc_local.readers.archives import members_of
from idc_local.types import Skip

LIMIT = 1 << 20


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tarred(files: Mapping[str, bytes | tarfile.TarInfo], mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            info = data if isinstance(data, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.name = name
            if isinstance(data, bytes):
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
            else:
                archive.addfile(info)
    return buffer.getvalue()


FILES = {"b/c.txt": b"second", "a.md": b"first", "größe.txt": b"third"}
READ = [Member("x!/a.md", b"first"), Member("x!/b/c.txt", b"second"), Member("x!/größe.txt", b"third")]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_of_a_zip_come_by_name(method: int) -> None:
    assert members_of(zipped(FILES, method), "x", LIMIT) == READ


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_members_of_a_tar_come_by_name(mode: str) -> None:
    assert members_of(tarred(FILES, mode), "x", LIMIT) == READ


PACKERS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_file_packed_alone_is_read_under_its_name_without_the_suffix(suffix: str) -> None:
    pack = PACKERS[suffix]
    for shown, name in (
        ("logs/june.txt", "june.txt"),
        ("Größe.MD", "Größe.MD"),
        ("changelog.Debian", "changelog.Debian"),
    ):
        path = f"{shown}{suffix.upper()}"
        assert members_of(pack(b"first"), path, LIMIT) == [Member(f"{path}!/{name}", b"first")]
    for name, reason in (("a.zip", "an archive inside an archive"), ("a.png", "unsupported type .png")):
        path = name + suffix
        assert members_of(pack(b"x"), path, LIMIT) == [Skip(f"{path}!/{name}", reason)]
    # Packed again, as several writers append to a log: all that was written.
    assert members_of(pack(b"one ") + pack(b"two"), f"a.log{suffix}", LIMIT) == [
        Member(f"a.log{suffix}!/a.log", b"one two")
    ]
    [large] = members_of(pack(random.Random(3).randbytes(2000)), f"a.txt{suffix}", 1999)
    assert large == Skip(f"a.txt{suffix}!/a.txt", "too large: more than the limit of 1999 bytes")
    [bomb] = members_of(pack(bytes(8 * LIMIT)), f"a.txt{suffix}", 9 * LIMIT)
    assert bomb == Skip(f"a.txt{suffix}!/a.txt", "more comes out of the archive than 200 times its size: not read")
    [broken] = members_of(pack(b"first" * 99)[:-9], f"a.txt{suffix}", LIMIT)
    assert isinstance(broken, Skip)
    assert broken.reason.startswith("damaged in the archive: ")
    [other] = members_of(b"plain text", f"a.txt{suffix}", LIMIT)
    assert isinstance(other, Skip)
    assert other.reason.startswith("damaged in the archive: ")


def test_of_members_of_one_name_the_last_counts() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for content in (b"old", b"newer"):
            info = tarfile.TarInfo("a.txt")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    assert members_of(buffer.getvalue(), "x", LIMIT) == [Member("x!/a.txt", b"newer")]


def test_names_that_lead_out_and_what_is_no_text_are_named() -> None:
    names = ["/etc/a.txt", "../b.txt", "c/../../d.txt", "..\\e.txt", "C:/f.txt", "g.png", "h.zip", "i.tar.gz", "ok.txt"]
    found = members_of(
        zipped(dict.fromkeys(names, b"x") | {".hidden.txt": b"", "__MACOSX/a.txt": b"", "d/": b""}), "x", LIMIT
    )
    assert {entry.path.removeprefix("x!/"): entry.reason for entry in found if isinstance(entry, Skip)} == {
        **dict.fromkeys(names[:5], "its name leads out of the archive"),
        "g.png": "unsupported type .png",
        "h.zip": "an archive inside an archive",
        "i.tar.gz": "an archive inside an archive",
    }
    assert [entry for entry in found if isinstance(entry, Member)] == [Member("x!/ok.txt", b"x")]


def test_links_and_devices_are_named() -> None:
    kinds = {"link.txt": tarfile.SYMTYPE, "hard.txt": tarfile.LNKTYPE, "pipe.txt": tarfile.FIFOTYPE}
    infos: dict[str, bytes | tarfile.TarInfo] = {"ok.txt": b"x"}
    for name, kind in kinds.items():
        infos[name] = tarfile.TarInfo(name)
        infos[name].type = kind  # type: ignore[union-attr]
        infos[name].linkname = "/etc/passwd"  # type: ignore[union-attr]
    found = members_of(tarred(infos), "x", LIMIT)
    assert found == [
        *(Skip(f"x!/{name}", "a link or device") for name in ("hard.txt", "link.txt")),
        Member("x!/ok.txt", b"x"),
        Skip("x!/pipe.txt", "a link or device"),
    ]
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = 0o120777 << 16
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    assert members_of(buffer.getvalue(), "x", LIMIT) == [Skip("x!/link.txt", "a link or device")]


def test_a_bomb_is_stopped_by_what_comes_out_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zipped({"a.txt": b"fine", "b.txt": bytes(32 << 20)})
    assert len(bomb) < 40_000
    found = members_of(bomb, "x", 64 << 20)
    assert found[0] == Member("x!/a.txt", b"fine")
    assert found[1] == Skip("x!/b.txt", "more comes out of the archive than 200 times its size: not read")
    monkeypatch.setattr(archives, "MAX_TOTAL", 100)
    found = members_of(tarred({"a.txt": b"a" * 80, "b.txt": b"b" * 80}), "x", LIMIT)
    assert found == [
        Member("x!/a.txt", b"a" * 80),
        Skip("x!/b.txt", "more comes out of the archive than in all: not read"),
    ]


def test_large_and_many_members_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert members_of(zipped({"a.txt": b"12345"}), "x", 4) == [
        Skip("x!/a.txt", "too large: more than the limit of 4 bytes")
    ]
    monkeypatch.setattr(archives, "MAX_MEMBERS", 2)
    assert members_of(zipped(FILES), "x", LIMIT) == [
        Skip("x", "more than 2 members: the rest is not read"),
        Member("x!/a.md", b"first"),
        Member("x!/b/c.txt", b"second"),
    ]


def test_an_encrypted_member_is_named() -> None:
    data = bytearray(zipped({"a.txt": b"secret"}, zipfile.ZIP_STORED))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert members_of(bytes(data), "x", LIMIT) == [Skip("x!/a.txt", "encrypted")]


def test_damage_is_named_and_what_can_be_read_is_kept() -> None:
    data = bytearray(zipped({"a.txt": b"whole", "b.txt": b"damaged"}, zipfile.ZIP_STORED))
    data[data.index(b"damaged")] ^= 1
    found = members_of(bytes(data), "x", LIMIT)
    assert found[0] == Member("x!/a.txt", b"whole")
    assert isinstance(found[1], Skip)
    assert found[1].reason.startswith("damaged in the archive: Bad CRC-32")
    whole = tarred({"a.txt": b"a" * 5000, "b.txt": bytes(range(256)) * 200}, "w:gz")
    with pytest.raises(InputError, match=r"^x: damaged archive: "):
        members_of(whole[:40], "x", LIMIT)


@pytest.mark.parametrize("data", [b"", b"no archive", b"PK\x03\x04", b"\x1f\x8b\x08"])
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"^x: damaged archive: "):
        members_of(data, "x", LIMIT)


@pytest.mark.parametrize("data", [bytes(512), b"PK\x05\x06" + bytes(18)])
def test_an_empty_archive_has_no_members(data: bytes) -> None:
    assert members_of(data, "x", LIMIT) == []
