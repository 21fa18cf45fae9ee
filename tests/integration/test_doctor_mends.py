"""Broken set-ups: doctor finds each, the command that it prints is run, and doctor has nothing more to say.

The index is real, models are small files under real checks, and only what computes with them is a stand-in.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from idc_local import catalogue
from idc_local.cli import cli
from idc_local.cli.session import App
from idc_local.config import user_config_file
from idc_local.netguard import seal_environment
from idc_local.store.layout import FORMAT
from tests.tinykit import MEMBERS, TinyRuntime, place_models, spec
from tests.unit.test_catalogue_pull import write_wheel

LETTER = "The rent is due in May. It is paid to the landlord in Elm Street.\n"


SPECS = (
    spec("gen", "generator", "tiny/m.gguf", main="m.gguf"),
    spec("emb", "embedder", "tiny/e.safetensors", dimension=32),
)


@dataclass
class Place:
    """A working folder in which everything is in order."""

    folder: Path

    @property
    def index(self) -> Path:
        return self.folder / ".idc"

    def run(self, *arguments: str) -> Result:
        app = App(open_runtime=TinyRuntime, environ=os.environ)
        return CliRunner().invoke(cli, list(arguments), obj=app)

    def findings(self) -> dict[str, tuple[str, str]]:
        """Status and command of every check that is not ok; exit code 1 exactly where one fails."""
        result = self.run("doctor", "--format", "json")
        checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
        found = {
            name: (check["status"], check["fix"])
            for name, check in checks.items()
            if check["status"] != "ok" and name not in ("processor", "threads of libraries")
        }
        assert result.exit_code == int(any(status == "fail" for status, _ in found.values()))
        return found

    def obey(self, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Does what a shell would, in this process where it can."""
        words = shlex.split(command)
        if words[0] == "idc-local":
            result = self.run(*words[1:])
            assert result.exit_code == 0, result.stderr
        elif words[0] == "unset":
            for name in words[1:]:
                monkeypatch.delenv(name, raising=False)
        else:
            subprocess.run(["sh", "-c", command], check=True)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once, copied for each test."""
    folder = tmp_path_factory.mktemp("sound")
    place_models(folder / "models", SPECS)
    write_wheel(folder, "tiny", MEMBERS)
    return folder


@pytest.fixture
def place(sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    folder = tmp_path / "my files"
    shutil.copytree(sound, folder)
    (folder / "docs").mkdir()
    (folder / "docs" / "rent.txt").write_text(LETTER)
    monkeypatch.setattr(catalogue, "shipped", lambda: iter(SPECS))
    monkeypatch.setattr("idc_local.doctor.NO_DISK", 0)
    monkeypatch.setattr("idc_local.doctor.LITTLE_DISK", 0)
    monkeypatch.chdir(folder)
    environ: dict[str, str] = {}
    seal_environment(environ)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(sound), "PIP_NO_CACHE_DIR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("IDC_MODELS", "models")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    place = Place(folder)
    assert place.run("index", "docs").exit_code == 0
    assert place.findings() == {}
    return place


def missing_model(place: Place) -> None:
    shutil.rmtree(place.folder / "models" / "emb")


def wrong_hash(place: Place) -> None:
    (place.folder / "models" / "gen" / "m.gguf").write_bytes(MEMBERS["tiny/m.gguf"][:-1] + b"?")


def short_model(place: Place) -> None:
    (place.folder / "models" / "emb" / "e.safetensors").write_bytes(b"weights")


def stranger_among_weights(place: Place) -> None:
    (place.folder / "models" / "emb" / "pytorch_model.bin").write_bytes(b"?")


def broken_registry(place: Place) -> None:
    (place.folder / "models" / "registry.json").write_text("{")


def no_index(place: Place) -> None:
    shutil.rmtree(place.index)


def damaged_manifest(place: Place) -> None:
    (place.index / "manifest.json").write_text(f'{{"format": {FORMAT}}}')


def lost_generation(place: Place) -> None:
    shutil.rmtree(place.index / "generations")


def readable_by_others(place: Place) -> None:
    place.index.chmod(0o755)


def misspelt_variable(place: Place) -> None:
    os.environ["IDC_INDX"] = "elsewhere"


def unusable_variable(place: Place) -> None:
    os.environ["IDC_THREADS"] = "many"


def too_many_threads(place: Place) -> None:
    os.environ["OMP_NUM_THREADS"] = "4096"


def broken_user_file(place: Place) -> None:
    user_config_file().parent.mkdir(parents=True, exist_ok=True)
    user_config_file().write_text("strategy = fixed\n")


def unknown_setting_of_the_index(place: Place) -> None:
    (place.index / "config.toml").write_text("max_chras = 900\n")


def changed_source(place: Place) -> None:
    (place.folder / "docs" / "rent.txt").write_text("The rent is due in June, and that is new.\n")


def lost_source(place: Place) -> None:
    (place.folder / "docs" / "more.txt").write_text("One more letter about the landlord of the house.\n")
    assert place.run("index", "docs").exit_code == 0
    (place.folder / "docs" / "more.txt").unlink()


@pytest.mark.parametrize(
    ("breaks", "name", "status"),
    [
        (missing_model, "model emb", "fail"),
        (wrong_hash, "model gen", "fail"),
        (short_model, "model emb", "fail"),
        (stranger_among_weights, "model emb", "fail"),
        (broken_registry, "models", "fail"),
        (no_index, "index", "warn"),
        (damaged_manifest, "manifest", "fail"),
        (lost_generation, "manifest", "fail"),
        (readable_by_others, "permissions", "warn"),
        (misspelt_variable, "environment", "warn"),
        (unusable_variable, "settings", "fail"),
        (too_many_threads, "threads", "warn"),
        (broken_user_file, "settings", "fail"),
        (unknown_setting_of_the_index, "settings", "fail"),
        (changed_source, "sources", "warn"),
        (lost_source, "sources", "warn"),
    ],
)
def test_each_is_found_and_the_printed_command_mends_it(
    place: Place, breaks: Callable[[Place], None], name: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as environment:
        for variable in ("IDC_INDX", "IDC_THREADS", "OMP_NUM_THREADS"):
            environment.setenv(variable, "")
            environment.delenv(variable)
        breaks(place)
        found = place.findings()
        assert found[name][0] == status
        command = found[name][1].replace(" PATH ", " docs ")
        place.obey(command, environment)
        assert place.findings() == {}


def test_an_index_of_another_embedder_is_made_again_from_its_own_files(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = (SPECS[0], spec("emb", "embedder", "tiny/e.safetensors", dimension=32, query_prompt="query: "))
    monkeypatch.setattr(catalogue, "shipped", lambda: iter(changed))
    status, command = place.findings()["index embedder"]
    assert status == "fail"
    assert command == f"idc-local index '{place.folder}/docs/rent.txt' --rebuild --index .idc"
    place.obey(command, monkeypatch)
    assert place.findings() == {}
