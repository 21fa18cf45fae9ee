"""A bundle of small wheels and models: what it holds, what is refused, and that it installs without any index."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from idc_local import bundle as making
from idc_local import catalogue as known
from idc_local import unbundle
from idc_local.adopt import register
from idc_local.bundle import Bundle, BundleOptions, make_bundle
from idc_local.carried import install_models
from idc_local.catalogue import MISSING, OK, Catalogue, FileSpec, ModelSpec, file_sha256
from idc_local.errors import InputError, ModelError
from idc_local.memory import Silent
from idc_local.netguard import guard
from idc_local.pull import PullOptions, convert_models
from idc_local.unbundle import BundleError

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = b"weights" * 1000
APP = """
import sys
def main():
    import zz_lib
    open(sys.prefix + "/said", "w").write(" ".join([zz_lib.NAME, *sys.argv[1:]]))
"""


def write_wheel(folder: Path, name: str, content: str, requires: tuple[str, ...] = ()) -> Path:
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    members = {
        f"{name}/__init__.py": content,
        f"{info}/METADATA": metadata(name, requires),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{member},,\n" for member in [*members, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as wheel:
        for member, data in (members | {f"{info}/RECORD": record}).items():
            wheel.writestr(member, data)
    return path


def metadata(name: str, requires: tuple[str, ...]) -> str:
    lines = [f"Requires-Dist: {requirement}\n" for requirement in requires]
    return f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\nLicense: MIT\n{''.join(lines)}"


def install_here(site: Path, name: str, requires: tuple[str, ...] = ()) -> None:
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(metadata(name, requires))
    (info / "entry_points.txt").write_text(f"[console_scripts]\n{name.replace('_', '-')} = {name}:main\n")
    (info / "licenses").mkdir()
    (info / "licenses" / "LICENSE").write_text("Do as you like.\n")
    (info / "RECORD").write_text(f"{info.name}/licenses/LICENSE,,\n{info.name}/METADATA,,\n")


@pytest.fixture(autouse=True)
def pip_may_start() -> Iterator[None]:
    """As under ``models bundle``; there is no index that pip could ask."""
    with guard(allow=True) as log:
        yield
    assert not log.connections


@dataclass(frozen=True)
class World:
    """An environment with an application and its library, the only place that pip looks at, models, and a bundle."""

    site: Path
    index: Path
    models: Catalogue
    options: BundleOptions
    bundle: Bundle


def model(folder: Path, name: str, **changes: Any) -> ModelSpec:
    (folder / name).mkdir(parents=True)
    path = folder / name / "m.gguf"
    path.write_bytes(name.encode() + WEIGHTS)
    files = (FileSpec("m.gguf", path.stat().st_size, file_sha256(path)),)
    return ModelSpec(name, "generator", files, "MIT", main="m.gguf", **changes)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    place = tmp_path_factory.mktemp("world")
    site, index, models = (place / name for name in ("site", "index", "models"))
    (site / "zz_app" / "__pycache__").mkdir(parents=True)
    (site / "zz_app" / "__init__.py").write_text(APP)
    (site / "zz_app" / "__pycache__" / "old.pyc").write_bytes(b"old")
    install_here(site, "zz_app", ("zz-lib>=1",))
    install_here(site, "zz_lib")
    index.mkdir()
    write_wheel(index, "zz_lib", "NAME = 'lib 1.0'")
    write_wheel(index, "zz_other", "")
    spec = model(models, "tiny", default=True)
    with pytest.MonkeyPatch.context() as patch, guard(allow=True):
        patch.setattr(known, "shipped", lambda: iter([spec, replace(spec, name="large", default=False)]))
        register(models, model(models, "mine", added=True))
        patch.syspath_prepend(site)
        for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(index), "NO_CACHE_DIR": "1"}.items():
            patch.setenv(f"PIP_{name}", value)
        options = BundleOptions(package="zz-app", folder=site / "zz_app")
        bundle = make_bundle(Catalogue(models), place / "all.bundle", (), options, Silent())
        yield World(site, index, Catalogue(models), options, bundle)


@pytest.fixture
def made(world: World, tmp_path: Path) -> Bundle:
    """The bundle, in a place of its own."""
    return replace(world.bundle, file=Path(shutil.copy(world.bundle.file, tmp_path / "all.bundle")))


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Stands in for pip: remembers its words, and finds no wheel."""
    calls: list[list[str]] = []

    def pip(words: list[str], place: Path) -> None:
        calls.append(words)
        (place / "wheels").mkdir()

    monkeypatch.setattr(making, "_pip", pip)
    return calls


def manifest_of(file: Path) -> Any:
    with zipfile.ZipFile(file) as archive:
        return json.loads(archive.read("manifest.json"))


def rewritten(file: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """The bundle with other members."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file


def test_it_holds_what_is_needed_and_names_all_of_it(made: Bundle, world: World) -> None:
    manifest = manifest_of(made.file)
    assert made.wheels == ("zz_app-1.0-py3-none-any.whl", "zz_lib-1.0-py3-none-any.whl")
    assert made.models == ("tiny", "mine")
    assert (made.size, made.sha256) == (made.file.stat().st_size, file_sha256(made.file))
    with zipfile.ZipFile(made.file) as archive:
        assert sorted(archive.namelist()) == sorted(
            [
                "manifest.json",
                "__main__.py",
                "models/tiny/m.gguf",
                "models/mine/m.gguf",
                *(f"wheels/{wheel}" for wheel in made.wheels),
            ]
        )
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
    assert (manifest["package"], manifest["version"]) == ("zz-app", "1.0")
    assert manifest["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert [(entry["name"], entry["licence"]) for entry in manifest["licences"]] == [
        ("zz-app", "MIT"),
        ("zz-lib", "MIT"),
        ("tiny", "MIT"),
        ("mine", "MIT"),
    ]
    assert sorted(path.name for path in world.index.parent.iterdir()) == ["all.bundle", "index", "models", "site"]


def test_the_packages_own_wheel_is_what_runs(made: Bundle, tmp_path: Path) -> None:
    with zipfile.ZipFile(made.file) as archive:
        archive.extract("wheels/zz_app-1.0-py3-none-any.whl", tmp_path)
    with zipfile.ZipFile(tmp_path / "wheels" / "zz_app-1.0-py3-none-any.whl") as wheel:
        names = wheel.namelist()
        assert wheel.read("zz_app/__init__.py").decode() == APP
        assert wheel.read("zz_app-1.0.dist-info/licenses/LICENSE") == b"Do as you like.\n"
        record = wheel.read("zz_app-1.0.dist-info/RECORD").decode()
    assert not [name for name in names if "__pycache__" in name]
    assert sorted(line.split(",")[0] for line in record.splitlines()) == sorted(names)


def test_without_any_index_it_installs_into_an_empty_environment(
    made: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://192.0.2.1/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nowhere"))
    into = tmp_path / "other side" / ".venv"
    into.parent.mkdir()
    command = [str(ROOT / "scripts" / "install-bundle"), str(made.file), "--into", str(into), "--models", "m"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "5 files checked, every size and sha256 is right"
    assert f"zz-app 1.0 installed in {into}" in done.stdout
    assert (into / "said").read_text() == f"lib 1.0 models install {made.file} --models m"
    then = shlex.split(done.stdout.splitlines()[-1])
    assert then == ["next:", str(into / "bin" / "zz-app"), "doctor", "--models", "m"]
    again = subprocess.run([sys.executable, str(made.file), "--into", str(into)], capture_output=True, text=True)
    assert (again.returncode, again.stderr.split(". hint: ")[0]) == (2, f"error: {into} is there already")


def test_models_alone(made: Bundle, tmp_path: Path) -> None:
    other = Catalogue(tmp_path / "other")
    assert install_models(other, made.file, Silent()) == [("tiny", "installed"), ("mine", "installed")]
    found = {status.spec.name: status.state for status in Catalogue(other.folder).list(deep=True)}
    assert found == {"tiny": OK, "large": MISSING, "mine": OK}
    assert install_models(Catalogue(other.folder), made.file, Silent()) == [("tiny", "present"), ("mine", "present")]
    (other.folder / "tiny" / "m.gguf").write_bytes(b"broken")
    assert install_models(Catalogue(other.folder), made.file, Silent())[0] == ("tiny", "installed")
    assert sorted(path.name for path in other.folder.iterdir()) == [".lock", "mine", "registry.json", "tiny"]


def test_what_was_converted_here_stays_here(
    tmp_path: Path, world: World, collected: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = model(tmp_path / "models", "quick", default=True, requantise=("Q8_0",))
    monkeypatch.setattr(known, "shipped", lambda: iter([spec]))
    catalogue = Catalogue(tmp_path / "models")
    options = PullOptions(requantise=lambda source, target, kind: str(shutil.copy(source, target)))
    convert_models(catalogue, ["quick"], options)
    assert catalogue.resolve("generator").main.name == "m.Q8_0.gguf"
    made = make_bundle(catalogue, tmp_path / "b", (), world.options, Silent())
    with zipfile.ZipFile(made.file) as bundle:
        assert [name for name in bundle.namelist() if name.startswith("models/")] == ["models/quick/m.gguf"]


def test_models_by_name(tmp_path: Path, world: World, collected: list[list[str]]) -> None:
    made = make_bundle(world.models, tmp_path / "b", ("mine",), world.options, Silent())
    assert made.models == ("mine",)
    with pytest.raises(ModelError, match="model large is missing"):
        make_bundle(world.models, tmp_path / "b", ("large",), world.options, Silent())


def test_no_other_file_is_replaced(tmp_path: Path, world: World, collected: list[list[str]]) -> None:
    file, pipe = tmp_path / "thesis.docx", tmp_path / "pipe"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    os.mkfifo(pipe)
    before = file.read_bytes()
    for place in (file, pipe):
        with pytest.raises(InputError) as caught:
            make_bundle(world.models, place, (), world.options, Silent())
        assert (caught.value.message, caught.value.hint) == (f"{place} exists and is no bundle", "choose another name")
    assert file.read_bytes() == before
    file.write_bytes(b"")
    assert make_bundle(world.models, file, (), world.options, Silent()).size == file.stat().st_size > 0


def test_a_damaged_model_is_not_bundled(tmp_path: Path, world: World) -> None:
    folder = tmp_path / "models"
    (folder / "tiny").mkdir(parents=True)
    (folder / "tiny" / "m.gguf").write_bytes(b"x" * (len(WEIGHTS) + 4))
    with pytest.raises(ModelError, match="model tiny is damaged") as caught:
        make_bundle(Catalogue(folder), tmp_path / "b", (), world.options, Silent())
    assert caught.value.hint == f"idc-local models pull tiny --models {folder}"
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("requires", ["nvidia-cublas-cu12 (==12.1)", "triton==3.0 ; platform_system == 'Linux'"])
def test_a_wheel_that_asks_for_cuda_never_slips_in(
    tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch, requires: str
) -> None:
    def pip(words: list[str], place: Path) -> None:
        (place / "wheels").mkdir()
        write_wheel(place / "wheels", "zz_torch", "", ("numpy", requires))

    monkeypatch.setattr(making, "_pip", pip)
    with pytest.raises(InputError, match=r"zz_torch-1\.0-py3-none-any\.whl is a build of several GB for CUDA"):
        make_bundle(world.models, tmp_path / "b", (), world.options, Silent())
    assert list(tmp_path.iterdir()) == []


def test_where_cuda_is_installed_nothing_is_collected(
    tmp_path: Path, world: World, collected: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    install_here(tmp_path, "zz_gpu", ("nvidia-cublas-cu12",))
    install_here(tmp_path, "nvidia_cublas_cu12")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match="nvidia-cublas-cu12 is installed: this torch is a build of several GB"):
        make_bundle(world.models, tmp_path / "b", (), replace(world.options, package="zz-gpu"), Silent())
    assert collected == []


def test_a_wheel_that_cannot_be_had(tmp_path: Path, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(InputError, match="pip could not collect the wheels: ") as caught:
        make_bundle(world.models, tmp_path / "b", (), world.options, Silent())
    assert "--find-links DIR" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("version", "needs", "sound"),
    [("1.0", "zz-lib>=1", True), ("1.0", "zz-new>=1", False), ("1.1", "zz-lib>=1", False)],
)
def test_a_checkout_that_has_moved_on_since_it_was_installed_is_refused(
    tmp_path: Path, world: World, collected: list[list[str]], version: str, needs: str, sound: bool
) -> None:
    (tmp_path / "zz_app").mkdir()
    (tmp_path / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\ndependencies = ["{needs}"]\n')
    options = replace(world.options, folder=tmp_path / "zz_app")
    if sound:
        assert make_bundle(world.models, tmp_path / "b", (), options, Silent()).size
    else:
        with pytest.raises(InputError, match=r"pyproject\.toml has changed since it was installed"):
            make_bundle(world.models, tmp_path / "b", (), options, Silent())


def test_for_another_machine_wheels_are_only_downloaded(
    tmp_path: Path, world: World, collected: list[list[str]]
) -> None:
    other = replace(world.options, platform="win_amd64", python="3.13", find_links=tmp_path)
    made = make_bundle(world.models, tmp_path / "b", (), other, Silent())
    words = " ".join(collected[0])
    assert words.startswith("download --dest ")
    assert "--only-binary :all:" in words
    assert f"--find-links {tmp_path} --platform win_amd64 --python-version 3.13" in words
    manifest = manifest_of(made.file)
    assert (manifest["platform"], manifest["python"], manifest["processor"]) == ("win_amd64", "3.13", [])
    with pytest.raises(BundleError, match=r"it was made for Python 3\.13, and this is"):
        unbundle.install(made.file, tmp_path / "venv", None, lambda text: None)


def flip(members: dict[str, bytes]) -> None:
    members["models/tiny/m.gguf"] = members["models/tiny/m.gguf"][:-1] + b"?"


def shorten(members: dict[str, bytes]) -> None:
    members["wheels/zz_lib-1.0-py3-none-any.whl"] = members["wheels/zz_lib-1.0-py3-none-any.whl"][:-1]


def drop(members: dict[str, bytes]) -> None:
    del members["models/mine/m.gguf"]


def add(members: dict[str, bytes]) -> None:
    members["wheels/evil.whl"] = b"?"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (flip, "models/tiny/m.gguf is not what the manifest says"),
        (shorten, "wheels/zz_lib-1.0-py3-none-any.whl is not what the manifest says"),
        (drop, "models/mine/m.gguf is not what the manifest says"),
        (add, "wheels/evil.whl is not in the manifest"),
    ],
)
def test_a_changed_member_is_found_before_anything_is_installed(
    made: Bundle, tmp_path: Path, change: Callable[[dict[str, bytes]], None], message: str
) -> None:
    rewritten(made.file, change)
    into = tmp_path / "venv"
    with pytest.raises(BundleError, match=message):
        unbundle.install(made.file, into, None, lambda text: None)
    assert not into.exists()
    if change is not shorten:
        with pytest.raises(InputError, match=message):
            install_models(Catalogue(tmp_path / "other"), made.file, Silent())
        assert not (tmp_path / "other" / "tiny").exists()


def test_another_model_under_a_known_name_is_refused(made: Bundle, tmp_path: Path) -> None:
    def change(members: dict[str, bytes]) -> None:
        manifest = json.loads(members["manifest.json"])
        data = members["models/tiny/m.gguf"] = b"other" + WEIGHTS[1:]
        (tmp_path / "x").write_bytes(data)
        entry = next(entry for entry in manifest["files"] if entry["path"] == "models/tiny/m.gguf")
        entry |= {"size": len(data), "sha256": file_sha256(tmp_path / "x")}
        members["manifest.json"] = json.dumps(manifest).encode()

    with pytest.raises(ModelError, match="the bundle holds another tiny than expected"):
        install_models(Catalogue(tmp_path / "other"), rewritten(made.file, change), Silent())
    assert not (tmp_path / "other" / "tiny").exists()


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "", "a\\b", "c:x"])
def test_no_path_leads_out(made: Bundle, tmp_path: Path, path: str) -> None:
    def change(members: dict[str, bytes]) -> None:
        manifest = json.loads(members["manifest.json"])
        manifest["files"].append({"path": path, "size": 1, "sha256": "0"})
        members["manifest.json"] = json.dumps(manifest).encode()

    with pytest.raises(BundleError, match="is no bundle"), unbundle.opened(rewritten(made.file, change)):
        pass


@pytest.mark.parametrize("name", ["../x", "tiny", "UP"])
def test_no_name_of_an_added_model_leads_out_or_shadows(made: Bundle, tmp_path: Path, name: str) -> None:
    def change(members: dict[str, bytes]) -> None:
        manifest = json.loads(members["manifest.json"])
        manifest["models"][1]["added"]["name"] = name
        members["manifest.json"] = json.dumps(manifest).encode()

    with pytest.raises(Exception, match="name"):
        install_models(Catalogue(tmp_path / "other"), rewritten(made.file, change), Silent())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is damaged or no bundle"),
        (b"PK\x03\x04 but no more", "is damaged or no bundle"),
        (None, "No such file"),
    ],
)
def test_what_is_no_bundle(tmp_path: Path, content: bytes | None, message: str) -> None:
    file = tmp_path / "b"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        install_models(Catalogue(tmp_path / "models"), file, Silent())


@pytest.mark.parametrize(
    "manifest", ["{", "[" * 100_000, "[]", "{}", '{"format": 2}', '{"format": 1, "files": 3, "models": []}']
)
def test_manifests_of_another_form(tmp_path: Path, manifest: str) -> None:
    with zipfile.ZipFile(tmp_path / "b", "w") as archive:
        archive.writestr("manifest.json", manifest)
    with pytest.raises(InputError, match=r"is no bundle|has format 2"):
        install_models(Catalogue(tmp_path / "models"), tmp_path / "b", Silent())


@pytest.mark.parametrize(
    "change",
    [{"package": None}, {"version": None}, {"python": None}, {"processor": 5}, {"models": [{"name": "tiny"}]}],
    ids=str,
)
def test_a_manifest_without_something_that_is_needed(made: Bundle, tmp_path: Path, change: dict[str, Any]) -> None:
    changed = {key: value for key, value in (manifest_of(made.file) | change).items() if value is not None}
    rewritten(made.file, lambda members: members.update({"manifest.json": json.dumps(changed).encode()}))
    with pytest.raises(BundleError, match="is no bundle"):
        unbundle.install(made.file, tmp_path / "venv", None, lambda text: None)
    with pytest.raises(InputError, match="is no bundle"):
        install_models(Catalogue(tmp_path / "other"), made.file, Silent())


@pytest.mark.parametrize(("place", "value"), [(8, 1), (10, 99)], ids=["encrypted", "packed in an unknown way"])
def test_a_member_that_cannot_be_unpacked(made: Bundle, tmp_path: Path, place: int, value: int) -> None:
    data = bytearray(made.file.read_bytes())
    name = b"models/tiny/m.gguf"
    entry = data.rindex(name) - 46  # of the directory at the end; the one before the member is 16 bytes shorter
    assert data[entry : entry + 4] == b"PK\x01\x02"
    data[entry + place] = data[data.index(name) - 30 + place - 2] = value
    made.file.write_bytes(data)
    with pytest.raises(BundleError, match=r"models/tiny/m\.gguf is not what the manifest says"):
        unbundle.install(made.file, tmp_path / "venv", None, lambda text: None)


def test_instructions_that_the_processor_lacks(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor : 0\nflags\t\t: fpu avx avx2\n")
    assert unbundle.missing_features({"processor": ["avx", "avx2", "avx512f"]}, cpuinfo) == ["avx512f"]
    assert unbundle.missing_features({"processor": ["avx"]}, tmp_path / "none") == []


def test_the_installer_needs_the_standard_library_alone() -> None:
    code = "import sys, runpy; runpy.run_path(sys.argv[1]); print(sorted(n for n in sys.modules if 'idc' in n))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(Path(unbundle.__file__))],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
