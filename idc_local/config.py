"""Settings: one frozen value, gathered from defaults, the user's file, the index, the environment and flags.

Owns: the names and types of all settings, and where each value came from. Must not read anything from the
folders that are indexed: documents, and whatever lies beside them, are data. Sole user of platformdirs.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs

from idc_local.errors import ConfigError
from idc_local.filters import STDIN

APP = "idc-local"
FORMATS = ("text", "json", "jsonl", "csv", "md")
STRATEGIES = ("intent", "fixed", "sliding", "coherence", "c99", "paragraph", "recursive", "cluster")
OBJECTIVES = ("calibrated", "paper")
INTENT_SOURCES = ("model", "heuristic", "off")
INDEX_CONFIG = "config.toml"
"""Name of the settings file inside an index folder."""
_MOST_BYTES = 1 << 20
"""Of a settings file."""
_MOST_TOLD = 200
"""Characters of a value in an error."""

MAX_WHOLE = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one run.

    index, models: folders. threads: 0 means as many as the machine grants. embedder, generator: names from the
    model catalogue, empty for the default of each role. target_chars, max_chars, max_tokens: sizes of a chunk.
    origins: for each setting, where its value came from: ``default``, a file, ``IDC_…`` or a flag.
    """

    index: Path
    models: Path
    format: str = "text"
    threads: int = 0
    embedder: str = ""
    generator: str = ""
    strategy: str = "intent"
    objective: str = "calibrated"
    intents: str = "model"
    target_chars: int = 600
    max_chars: int = 2000
    max_tokens: int = 510
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)


Parser = Callable[[Any, Path], Any]
"""Turns a raw value, and the folder that relative paths stand in, into a setting; ValueError says what is wanted."""


def path_of(name: str) -> Path:
    """The path that somebody names; absolute for a file called ``-`` that is named as one (``./-``)."""
    path = Path(name)
    return path.absolute() if str(path) == STDIN != name else path


def _path(value: object, base: Path) -> Path:
    if not isinstance(value, str | Path) or not str(value).strip() or "\0" in str(value):
        raise ValueError("a path")
    try:
        str(value).encode()
        return base / Path(value).expanduser()
    except UnicodeEncodeError:  # faiss takes no other name
        raise ValueError("a path in UTF-8") from None
    except RuntimeError:
        raise ValueError("a path; nobody here has a home folder of that name") from None


def _name(value: object, base: Path) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError("a name in quotes")
    return value.strip()


def _one_of(choices: tuple[str, ...]) -> Parser:
    def parse(value: object, base: Path) -> str:
        if value not in choices:
            raise ValueError(f"one of {', '.join(choices)}")
        return str(value)

    return parse


def _whole(least: int) -> Parser:
    def parse(value: object, base: Path) -> int:
        wanted = f"a whole number from {least} to {MAX_WHOLE}"
        if isinstance(value, bool | float) or not isinstance(value, int | str):
            raise ValueError(wanted)
        if isinstance(value, str) and not (value.isascii() and value.isdigit() and len(value) < 20):
            raise ValueError(wanted)
        if not least <= int(value) <= MAX_WHOLE:
            raise ValueError(wanted)
        return int(value)

    return parse


_ANYWHERE: Mapping[str, Parser] = {
    "index": _path,
    "models": _path,
    "format": _one_of(FORMATS),
    "threads": _whole(0),
}
_OF_AN_INDEX: Mapping[str, Parser] = {
    "embedder": _name,
    "generator": _name,
    "strategy": _one_of(STRATEGIES),
    "objective": _one_of(OBJECTIVES),
    "intents": _one_of(INTENT_SOURCES),
    "target_chars": _whole(50),
    "max_chars": _whole(100),
    "max_tokens": _whole(16),
}
_KEYS: Mapping[str, Parser] = {**_ANYWHERE, **_OF_AN_INDEX}


@dataclass(frozen=True, slots=True)
class _Layer:
    """Raw values from one place. ``origins`` has one text for each value."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]
    base: Path
    keys: Mapping[str, Parser] = field(default_factory=lambda: _KEYS)


def variable(key: str) -> str:
    """Environment variable that sets ``key``."""
    return f"IDC_{key.upper()}"


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Variables that look like settings and set nothing: misspelt ones."""
    known = {variable(key) for key in _KEYS}
    return sorted(name for name in environ if name.startswith("IDC_") and name not in known)


def user_config_file() -> Path:
    """The user's own settings file, whether or not it exists."""
    return platformdirs.user_config_path(APP, appauthor=False) / "config.toml"


def default_models_folder(package: Path = Path(__file__).parent) -> Path:
    """``models`` beside the package in a checkout, else the user's data folder."""
    beside = package.parent / "models"
    if (beside / "README.md").is_file():
        return beside
    return platformdirs.user_data_path(APP, appauthor=False) / "models"


def default_cache_folder() -> Path:
    """The user's folder for what can be computed again."""
    return platformdirs.user_cache_path(APP, appauthor=False)


def load_settings(
    flags: Mapping[str, Any],
    *,
    config: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    files: bool = True,
) -> Settings:
    """Settings for one run; a later source wins: defaults, user file, index, environment, flags.

    Args:
        flags: settings given on the command line; None stands for not given.
        config: file to read in place of the user's own.
        environ: environment variables.
        files: read any at all.

    Returns:
        The settings; paths are relative to the working folder, or to the file that names them.

    Raises:
        ConfigError: a file that cannot be read, an unknown key, or a value of the wrong kind.
    """
    outer = [*(_file_layers(config) if files else ()), _environment(environ), _flags(flags)]
    values, origins = _merge(outer)
    index = values.get("index", Path(".idc"))
    own = index / INDEX_CONFIG
    inner = _read_toml(own, _OF_AN_INDEX) if files and not _is_pipe(own) else None
    if inner is not None:
        values, origins = _merge([*outer[:-2], inner, *outer[-2:]])
    values.setdefault("index", index)
    values.setdefault("models", default_models_folder())
    every = {key: origins.get(key, "default") for key in _KEYS}
    return _checked(Settings(**values, origins=every))


def keep_settings_apart(index: Path, roots: Iterable[Path]) -> None:
    """Refuses an index folder that brings settings along from inside a folder that is to be indexed.

    Raises:
        ConfigError: ``config.toml`` of the index lies below one of the roots.
    """
    file = index / INDEX_CONFIG
    if not file.is_file():
        return
    above = {file.resolve().parent, *file.resolve().parent.parents}
    for root in roots:
        if root.resolve() in above:
            raise ConfigError(
                f"{file} lies in {root}, which is to be indexed, and no setting is read from there",
                hint=f"remove {file}, or keep the index elsewhere with --index DIR",
            )


def _file_layers(config: Path | None) -> Iterator[_Layer]:
    file = config if config is not None else user_config_file()
    layer = _read_toml(file, _KEYS)
    if layer is not None:
        yield layer
    elif config is not None:
        raise ConfigError(f"{config}: no such file", hint="give --config an existing TOML file")


def _is_pipe(file: Path) -> bool:
    """A pipe in a folder that came from elsewhere would be waited for."""
    try:
        return file.is_fifo()
    except OSError:  # what opens it tells why
        return False


def _read_toml(file: Path, keys: Mapping[str, Parser]) -> _Layer | None:
    try:
        with file.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise ConfigError(f"{file}: too large for settings", hint=f"correct {file}", origin=str(file))
        values = tomllib.loads(data.decode("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}", hint=f"make {file} readable", origin=str(file)) from error
    except (ValueError, RecursionError) as error:  # also of a number with more digits than Python takes
        raise ConfigError(f"{file}: not valid TOML: {error}", hint=f"correct {file}", origin=str(file)) from error
    return _Layer(values, dict.fromkeys(values, str(file)), file.parent, keys)


def _environment(environ: Mapping[str, str]) -> _Layer:
    values = {key: environ[variable(key)] for key in _KEYS if environ.get(variable(key))}
    return _Layer(values, {key: variable(key) for key in values}, Path())


def _flags(flags: Mapping[str, Any]) -> _Layer:
    values = {key: value for key, value in flags.items() if value is not None}
    return _Layer(values, {key: f"--{key.replace('_', '-')}" for key in values}, Path())


def _merge(layers: list[_Layer]) -> tuple[dict[str, Any], dict[str, str]]:
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        for key, raw in layer.values.items():
            values[key] = _parsed(layer, key, raw)
            origins[key] = layer.origins[key]
    return values, origins


def _parsed(layer: _Layer, key: str, raw: object) -> object:
    origin = layer.origins[key]
    if key not in layer.keys:
        known = ", ".join(layer.keys)
        hint = f"remove it; the settings are {known}"
        raise ConfigError(f"{origin}: unknown setting {_told(key)}", hint=hint, origin=origin)
    try:
        return layer.keys[key](raw, layer.base)
    except ValueError as error:
        raise ConfigError(f"{origin}: {key} is {_told(raw)}", hint=f"give {error}", origin=origin) from error


def _told(raw: object) -> str:
    """A value as an error names it: the beginning of a long one."""
    try:
        told = repr(raw)
    except ValueError:
        return "a number of thousands of digits"
    return told if len(told) <= _MOST_TOLD else f"{told[:_MOST_TOLD]}…"


def _checked(settings: Settings) -> Settings:
    if settings.target_chars > settings.max_chars:
        raise ConfigError(
            f"target_chars ({settings.target_chars}, from {settings.origins['target_chars']}) is above "
            f"max_chars ({settings.max_chars}, from {settings.origins['max_chars']})",
            hint="lower target_chars or raise max_chars",
            origin=next(
                origin for key in ("max_chars", "target_chars") if (origin := settings.origins[key]) != "default"
            ),
        )
    return settings
