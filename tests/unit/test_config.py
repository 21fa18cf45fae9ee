"""Settings: which source wins, what is refused, and that nothing is read from where documents lie."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest

from idc_local import config
from idc_local.config import Settings, default_models_folder, load_settings, unknown_variables, user_config_file
from idc_local.errors import ConfigError
from idc_local.types import Limits


def load(
    flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None, file: Path | None = None
) -> Settings:
    return load_settings(flags or {}, config=file, environ=environ or {})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.toml"


def test_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load()
    assert settings.index == Path(".idc")
    assert (settings.format, settings.strategy, settings.objective, settings.intents) == (
        "text",
        "intent",
        "calibrated",
        "model",
    )
    limits = Limits(settings.target_chars, settings.max_chars, settings.max_tokens)
    assert limits == Limits(), "the same as where no settings are read"
    assert set(settings.origins.values()) == {"default"}
    assert set(settings.origins) == {field.name for field in fields(Settings)} - {"origins"}


def test_each_source_wins_over_the_one_before(tmp_path: Path) -> None:
    index = tmp_path / "idx"
    index.mkdir()
    (index / "config.toml").write_text('strategy = "c99"\nobjective = "paper"\nintents = "off"\ntarget_chars = 300\n')
    user = user_config_file()
    user.parent.mkdir(parents=True)
    user.write_text(f'index = "{index}"\nstrategy = "fixed"\nmax_tokens = 100\n')
    settings = load({"intents": "model", "format": None}, {"IDC_OBJECTIVE": "calibrated", "IDC_INTENTS": "heuristic"})
    assert settings.origins == {
        "index": str(user),
        "models": "default",
        "format": "default",
        "threads": "default",
        "embedder": "default",
        "generator": "default",
        "strategy": str(index / "config.toml"),
        "objective": "IDC_OBJECTIVE",
        "intents": "--intents",
        "target_chars": str(index / "config.toml"),
        "max_chars": "default",
        "max_tokens": str(user),
    }
    assert (settings.strategy, settings.objective, settings.intents) == ("c99", "calibrated", "model")
    assert (settings.target_chars, settings.max_tokens) == (300, 100)


def test_a_named_file_stands_in_for_the_users_own(file: Path) -> None:
    user = user_config_file()
    user.parent.mkdir(parents=True)
    user.write_text('strategy = "fixed"\n')
    file.write_bytes(b"\xef\xbb\xbf# BOM and CRLF\r\nmax_tokens = 64\r\n")
    settings = load(file=file)
    assert (settings.strategy, settings.max_tokens) == ("intent", 64)


def test_relative_paths_belong_to_the_file_that_names_them(file: Path) -> None:
    file.write_text('index = "idx"\nmodels = "~/models"\n')
    settings = load(file=file)
    assert settings.index == file.parent / "idx"
    assert settings.models == Path("~/models").expanduser()
    assert load({"index": "typed"}, file=file).index == Path("typed")


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ("colour = 1", "unknown setting 'colour'", "the settings are index, models, format"),
        ("[index]\npath = 1", "index is {'path': 1}", "give a path"),
        ("format = 'xml'", "format is 'xml'", "give one of text, json, jsonl, csv, md"),
        ("threads = true", "threads is True", "give a whole number from 0"),
        ("threads = 1.0", "threads is 1.0", "give a whole number from 0"),
        ("threads = -1", "threads is -1", "give a whole number from 0"),
        ("max_tokens = 15", "max_tokens is 15", "give a whole number from 16"),
        ("max_tokens = 99999999999999999999", "max_tokens is 9999", "give a whole number from 16"),
        ("strategy = ['fixed']", "strategy is ['fixed']", "give one of intent, fixed"),
        ("index = ''", "index is ''", "give a path"),
        ("index = '~no-such-user/x'", "index is '~no-such-user/x'", "give a path; nobody here has a home folder"),
        ("embedder = 3", "embedder is 3", "give a name in quotes"),
        ("index = ", "not valid TOML", "correct "),
        ("threads = " + "9" * 5000, "not valid TOML", "correct "),
        ("threads = 0x" + "f" * 5000, "threads is a number of thousands of digits", "give a whole number from 0"),
        ("index = [0x" + "f" * 5000 + "]", "index is a number of thousands of digits", "give a path"),
        ("format = '" + "x" * 5000 + "'", "format is '" + "x" * 199 + "…", "give one of text"),
        ("max_chars = 100\ntarget_chars = 200", "target_chars (200, from", "lower target_chars"),
    ],
)
def test_what_cannot_be_used_is_refused_with_file_and_key(file: Path, content: str, message: str, hint: str) -> None:
    file.write_text(content + "\n")
    with pytest.raises(ConfigError) as caught:
        load(file=file)
    assert str(file) in caught.value.message
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a = \x00", b"a = [" + b"[" * 100_000])
def test_a_file_that_is_no_toml(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    with pytest.raises(ConfigError, match="not valid TOML"):
        load(file=file)


def test_an_index_that_cannot_be_looked_into_is_named(tmp_path: Path) -> None:
    index = tmp_path / ("i" * 300)  # refused to root too, unlike a folder without permissions
    with pytest.raises(ConfigError) as caught:
        load({"index": index})
    assert caught.value.message == f"{index}/config.toml: File name too long"
    assert (caught.value.hint, caught.value.origin) == (f"make {index}/config.toml readable", f"{index}/config.toml")


@pytest.mark.parametrize("key", ["index", "models"])
def test_a_folder_whose_name_is_no_utf_8_is_refused(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load({key: Path("caf\udce9")})
    assert caught.value.message == f"--{key}: {key} is PosixPath('caf\\udce9')"
    assert caught.value.hint == "give a path in UTF-8"


def test_a_named_file_must_exist(file: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load(file=file)
    with pytest.raises(ConfigError, match="Is a directory"):
        load(file=file.parent)


def test_a_file_without_end_is_no_settings() -> None:
    with pytest.raises(ConfigError, match=r"^/dev/zero: too large for settings"):
        load(file=Path("/dev/zero"))


def test_a_pipe_in_an_index_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.toml")
    assert load({"index": tmp_path}).strategy == "intent"


def test_an_index_says_nothing_about_the_machine(tmp_path: Path) -> None:
    index = tmp_path / "idx"
    index.mkdir()
    (index / "config.toml").write_text('models = "/elsewhere"\n')
    with pytest.raises(ConfigError, match="unknown setting 'models'"):
        load({"index": index})


def test_nothing_is_read_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("config.toml", "idc-local.toml", ".idc-local.toml", "pyproject.toml", ".env"):
        (tmp_path / name).write_text('strategy = "fixed"\nIDC_STRATEGY=fixed\n')
    monkeypatch.chdir(tmp_path)
    assert load().strategy == "intent"


@pytest.mark.parametrize("value", ["two", "1e3", "٣", "1" * 30, "-2"])
def test_numbers_in_the_environment(value: str) -> None:
    assert load(environ={"IDC_THREADS": "3"}).threads == 3
    assert load(environ={"IDC_THREADS": ""}).threads == 0
    with pytest.raises(ConfigError, match="IDC_THREADS: threads is"):
        load(environ={"IDC_THREADS": value})


def test_misspelt_variables_are_known() -> None:
    assert unknown_variables({"IDC_INDX": "x", "IDC_INDEX": "y", "IDC_TARGET_CHARS": "1", "HOME": "/"}) == ["IDC_INDX"]


def test_models_lie_beside_a_checkout_or_in_the_users_data(tmp_path: Path) -> None:
    package = tmp_path / "idc_local"
    (tmp_path / "models").mkdir()
    installed = default_models_folder(package)
    assert installed.name == "models"
    assert Path(os.environ["XDG_DATA_HOME"]) in installed.parents
    (tmp_path / "models" / "README.md").write_text("models\n")
    assert default_models_folder(package) == tmp_path / "models"
    assert load(environ={"IDC_MODELS": "/m"}).models == Path("/m")


def test_settings_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        load().index = Path("x")  # type: ignore[misc]


def test_choices_are_those_of_the_parts_that_use_them() -> None:
    from idc_local import strategies

    assert set(config.STRATEGIES) == set(strategies.STRATEGIES)
