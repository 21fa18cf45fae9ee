"""What the processor can do, and what follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from idc_local import machine

INTEL = (
    "processor\t: 0\nflags\t\t: fpu sse2 avx512_bf16 avx512_fp16\npower management:\n\nprocessor\t: 1\nflags\t\t: fpu\n"
)
ARM = "processor\t: 0\nFeatures\t: fp asimd bf16\n"


def processor_with(monkeypatch: pytest.MonkeyPatch, *features: str) -> None:
    monkeypatch.setattr(machine, "cpu_features", lambda: frozenset(features))


def test_features_are_those_of_the_first_processor(tmp_path: Path) -> None:
    (tmp_path / "intel").write_text(INTEL)
    (tmp_path / "arm").write_text(ARM)
    assert machine.cpu_features(tmp_path / "intel") == {"fpu", "sse2", "avx512_bf16", "avx512_fp16"}
    assert machine.cpu_features(tmp_path / "arm") == {"fp", "asimd", "bf16"}
    assert machine.cpu_features(tmp_path / "none") == frozenset()


@pytest.mark.parametrize(
    ("features", "has"),
    [(("avx2",), False), ((), False), (("avx512_bf16",), True), (("amx_bf16", "avx2"), True), (("bf16",), True)],
)
def test_instructions_for_bfloat16(monkeypatch: pytest.MonkeyPatch, features: tuple[str, ...], has: bool) -> None:
    processor_with(monkeypatch, *features)
    assert machine.has_bfloat16() is has


def test_kinds_of_processors_have_names_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    for features in (("avx", "avx2"), ("avx2", "avx"), ("avx",), ()):
        processor_with(monkeypatch, *features)
        names.append(machine.processor())
    assert names[0] == names[1]
    assert len(set(names)) == 3
    assert all(len(name) == 16 and set(name) <= set("0123456789abcdef") for name in names)


def test_half_precision_is_left_out_of_what_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    processor_with(monkeypatch, "avx512f", "avx512_fp16")
    assert machine.build_flags({"CFLAGS": "-O2"}) == {"CFLAGS": "-O2 -mno-avx512fp16", "CXXFLAGS": "-mno-avx512fp16"}
    processor_with(monkeypatch, "avx512f")
    assert machine.build_flags({"CFLAGS": "-O2"}) == {}
