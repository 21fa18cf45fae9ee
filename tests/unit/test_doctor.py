"""Every check of doctor in every outcome, from made-up machines and probes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from idc_local import doctor
from idc_local.catalogue import DAMAGED, EMBEDDER, GENERATOR, MISSING, OK, ModelSpec, ModelStatus
from idc_local.config import Settings
from idc_local.doctor import Probes, examine, machine_checks
from idc_local.errors import IdcError, ModelError, StoreCorrupt, StoreLocked
from idc_local.machine import LIBRARIES, Machine, look_around
from idc_local.netguard import seal_environment
from idc_local.types import Check, FloatArray

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Model:
    name: str = "small"
    fingerprint: str = "abc"


MACHINE = Machine(
    python=(3, 11),
    versions={"numpy": "2.0", "torch": "2.13.0+cpu"},
    cpu_features=frozenset({"avx2", "fma"}),
    processors=2,
    encoding="utf-8",
    environ={"OMP_NUM_THREADS": "2"},
    free_bytes=lambda folder: 5_000_000_000,
)
SPEC = ModelSpec("small", EMBEDDER, (), "Apache-2.0", default=True)


def embed(texts: object) -> FloatArray:
    return np.array([[1.0, 0.0], [1.0, 0.0], [0.6, 0.8]], dtype=np.float32)


@pytest.fixture
def probes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Probes:
    environ: dict[str, str] = {}
    seal_environment(environ)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    index = tmp_path / "idx"
    index.mkdir(mode=0o700)
    model: Callable[[], Any] = Model
    return Probes(
        settings=Settings(index=index, models=tmp_path / "models"),
        machine=MACHINE,
        models=lambda: [ModelStatus(SPEC, OK)],
        embedder=model,
        generator=model,
        fingerprint=lambda: {"embedder": "abc", "embedder_name": "small"},
        sources=dict,
        verify=lambda: [Check("manifest", "ok", "3 files")],
        embed=embed,
        complete=lambda prompt: " What boils?",
    )


def by_name(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def test_a_sound_machine_passes_everything(probes: Probes) -> None:
    checks = examine(probes, deep=True)
    assert {check.status for check in checks} == {"ok"}
    assert [check.name for check in checks] == [
        "python",
        "libraries",
        "processor",
        "threads",
        "encoding",
        "environment",
        "model small",
        "disk of the index",
        "disk of the models",
        "permissions",
        "manifest",
        "index embedder",
        "sources",
        "network guard",
        "embedding",
        "generation",
    ]


def test_models_are_not_loaded_unless_asked(probes: Probes) -> None:
    def fail(*arguments: object) -> NoReturn:
        raise AssertionError("loaded a model")

    names = by_name(examine(replace(probes, embed=fail, complete=fail), deep=False))
    assert "embedding" not in names
    assert "generation" not in names


@pytest.mark.parametrize(
    ("change", "name", "status", "detail", "fix"),
    [
        ({"python": (3, 10)}, "python", "fail", "3.10 is older than 3.11", "python3.11 -m venv .venv"),
        (
            {"versions": {"b": None, "a": None, "c": "1"}},
            "libraries",
            "fail",
            "missing: a, b",
            "python -m pip install a b",
        ),
        ({"cpu_features": frozenset({"sse2"})}, "processor", "warn", "models run slowly", "--intents heuristic"),
        ({"cpu_features": frozenset()}, "processor", "ok", "features unknown", ""),
        (
            {"environ": {"OMP_NUM_THREADS": "64"}},
            "threads",
            "warn",
            "64 threads slow each other down on 2 processors",
            "unset OMP_NUM",
        ),
        ({"environ": {"OMP_NUM_THREADS": "many"}}, "threads", "ok", "2 on 2 processors", ""),
        ({"environ": {"IDC_INDX": "x"}}, "environment", "warn", "IDC_INDX", "unset IDC_INDX"),
        ({"encoding": "ascii"}, "encoding", "warn", "ascii", "export LC_ALL=C.UTF-8"),
    ],
)
def test_machines(change: dict[str, Any], name: str, status: str, detail: str, fix: str) -> None:
    check = by_name(machine_checks(replace(MACHINE, **change)))[name]
    assert (check.status, detail in check.detail, fix in check.fix) == (status, True, True)
    assert bool(check.fix) is (status != "ok")


@pytest.mark.parametrize(
    ("free", "status"), [(10**12, "ok"), (999_999_999, "warn"), (100_000_000, "warn"), (99_999_999, "fail")]
)
def test_disk(probes: Probes, free: int, status: str) -> None:
    machine = replace(MACHINE, free_bytes=lambda folder: free)
    checks = by_name(examine(replace(probes, machine=machine), deep=False))
    assert checks["disk of the index"].status == checks["disk of the models"].status == status


def test_disk_is_asked_of_a_folder_that_exists(probes: Probes, tmp_path: Path) -> None:
    asked: list[Path] = []

    def free(folder: Path) -> int:
        asked.append(folder)
        return 10**12

    settings = replace(probes.settings, index=tmp_path / "no" / "such", models=tmp_path / "models")
    examine(replace(probes, settings=settings, machine=replace(MACHINE, free_bytes=free)), deep=False)
    assert asked == [tmp_path, tmp_path]


@pytest.mark.parametrize(
    ("spec", "state", "settings", "expected"),
    [
        (SPEC, MISSING, {}, "fail"),
        (SPEC, DAMAGED, {}, "fail"),
        (replace(SPEC, role=GENERATOR), MISSING, {}, "fail"),
        (replace(SPEC, role=GENERATOR), MISSING, {"intents": "off"}, "warn"),
        (replace(SPEC, default=False), MISSING, {}, None),
        (replace(SPEC, default=False), MISSING, {"embedder": "small"}, "fail"),
        (replace(SPEC, default=False, added=True), DAMAGED, {}, "fail"),
    ],
)
def test_models(probes: Probes, spec: ModelSpec, state: str, settings: dict[str, Any], expected: str | None) -> None:
    status = ModelStatus(spec, state, "detail", "idc-local models pull small")
    changed = replace(probes, models=lambda: [status], settings=replace(probes.settings, **settings))
    check = by_name(examine(changed, deep=False)).get("model small")
    assert (check.status if check else None) == expected
    assert check is None or check.fix == "idc-local models pull small"


@pytest.mark.parametrize(
    ("probe", "name", "error"),
    [
        ("models", "models", ModelError("registry is broken", hint="idc-local models list")),
        ("verify", "index", StoreCorrupt("manifest is broken", hint="idc-local index PATH --rebuild")),
        ("fingerprint", "index embedder", StoreLocked("locked", hint="wait")),
        ("embedder", "index embedder", ModelError("missing", hint="idc-local models pull")),
        ("embed", "embedding", ModelError("broken", hint="idc-local models pull")),
        ("complete", "generation", ModelError("broken", hint="idc-local models pull")),
    ],
)
def test_an_error_becomes_a_failed_check_with_its_hint(probes: Probes, probe: str, name: str, error: IdcError) -> None:
    def fail(*arguments: object) -> NoReturn:
        raise error

    checks = by_name(examine(replace(probes, **{probe: fail}), deep=True))  # type: ignore[arg-type]
    of_the_index = f" --index {probes.settings.index}" if name.startswith("index") and "idc-local" in error.hint else ""
    assert checks[name] == Check(name, "fail", error.message, error.hint + of_the_index)
    assert checks["network guard"].status == "ok", "the other checks go on"


def test_no_index_yet_is_only_a_warning(probes: Probes, tmp_path: Path) -> None:
    settings = replace(probes.settings, index=tmp_path / "none")
    check = by_name(examine(replace(probes, settings=settings), deep=False))["index"]
    assert (check.status, check.fix) == ("warn", f"idc-local index PATH --index {tmp_path / 'none'}")


def test_another_embedder_than_the_indexs(probes: Probes) -> None:
    other = {"embedder": "xyz", "embedder_name": "big"}
    check = by_name(examine(replace(probes, fingerprint=lambda: other), deep=False))["index embedder"]
    assert check.status == "fail"
    assert check.detail == "made with big, the one in use is small"
    assert check.fix == f"idc-local index PATH --rebuild --index {probes.settings.index}"


def test_others_may_read_the_index(probes: Probes) -> None:
    probes.settings.index.chmod(0o755)
    check = by_name(examine(probes, deep=False))["permissions"]
    assert (check.status, check.fix) == ("warn", f"chmod -R go-rwx {probes.settings.index}")


def test_a_folder_that_cannot_be_written(probes: Probes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda place, mode: False)
    check = by_name(examine(probes, deep=False))["permissions"]
    assert (check.status, check.fix) == ("fail", f"chmod u+rwx {probes.settings.index}")


def test_an_index_that_cannot_be_looked_for_stops_no_other_check(probes: Probes, tmp_path: Path) -> None:
    hidden = tmp_path / ("i" * 300)  # refused to root too, unlike what lies in a folder without permissions
    found = by_name(examine(replace(probes, settings=replace(probes.settings, index=hidden)), deep=False))
    assert (found["permissions"].status, found["permissions"].detail) == ("ok", f"{tmp_path} can be written")
    assert (found["index"].status, found["index"].detail) == ("warn", f"no index in {hidden} yet")


@pytest.mark.parametrize(
    ("vectors", "status"),
    [
        ([[1, 0], [1, 0], [0.6, 0.8]], "ok"),
        ([[1, 0], [0, 1], [0.6, 0.8]], "fail"),
        ([[1, 0], [1, 0], [1, 0]], "fail"),
        ([[float("nan")] * 2] * 3, "fail"),
    ],
)
def test_embedding(probes: Probes, vectors: list[list[float]], status: str) -> None:
    array = np.array(vectors, dtype=np.float32)
    assert by_name(examine(replace(probes, embed=lambda texts: array), deep=True))["embedding"].status == status


def test_a_generator_that_says_nothing(probes: Probes) -> None:
    check = by_name(examine(replace(probes, complete=lambda prompt: " \n"), deep=True))["generation"]
    assert (check.status, check.fix) == ("fail", "idc-local models pull small")


def test_a_guard_that_lets_something_through(probes: Probes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "IN_PYTHON", {"connections": lambda: None, "name look-ups": lambda: None})
    check = by_name(examine(probes, deep=False))["network guard"]
    assert (check.status, check.detail) == ("fail", "does not stop connections, name look-ups")


def test_libraries_that_were_not_told_to_be_offline(probes: Probes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    check = by_name(examine(probes, deep=False))["network guard"]
    assert (check.status, check.detail) == ("warn", "not set: HF_HUB_OFFLINE")


def test_this_machine() -> None:
    machine = look_around({})
    assert machine.python >= (3, 11)
    assert machine.versions["numpy"] == np.__version__
    assert machine.processors >= 1
    assert machine.free_bytes(Path("/")) > 0


def test_a_library_is_found_by_its_module_and_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"no-such-library": "no_such_library", "numpy": "no_such_module", "click": "click"}
    monkeypatch.setattr("idc_local.machine.LIBRARIES", names)
    versions = look_around({}).versions
    assert (versions["no-such-library"], versions["numpy"]) == (None, None)
    assert versions["click"]


def test_libraries_are_those_that_the_package_requires() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    required = {re.split(r"[<>=!~\[; ]", entry)[0] for entry in table["project"]["dependencies"]}
    assert set(LIBRARIES) == required
