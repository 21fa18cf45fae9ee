from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from idc_local.backends import native


@pytest.mark.parametrize(("platform", "asked"), [("linux", [0]), ("darwin", []), ("win32", [])])
def test_memory_is_returned_where_the_c_library_can(
    monkeypatch: pytest.MonkeyPatch, platform: str, asked: list[int]
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(malloc_trim=calls.append))
    monkeypatch.setattr(sys, "platform", platform)
    native.return_memory()
    assert calls == asked


def test_a_c_library_without_such_a_function_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Library:
        def __getattr__(self, name: str) -> object:
            asked.append(name)
            raise AttributeError(name)

    monkeypatch.setattr(ctypes, "CDLL", lambda _: Library())
    monkeypatch.setattr(sys, "platform", "linux")
    native.return_memory()
    assert asked == ["malloc_trim"]


def test_a_current_folder_that_is_gone_is_left_and_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone, ground = tmp_path / "gone", tmp_path / "ground"
    gone.mkdir()
    ground.mkdir()
    monkeypatch.chdir(gone)
    native.stand_on_ground(ground)
    assert Path.cwd() == gone
    gone.rmdir()
    native.stand_on_ground(ground)
    assert Path.cwd() == ground
