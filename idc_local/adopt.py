"""Takes models that are already on this machine into the models folder: any GGUF, any sentence-transformers folder.

Only data is taken: a folder's pickles and Python files stay where they are, and a model that needs them is refused.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from idc_local.catalogue import (
    EMBEDDER,
    FORMAT,
    GENERATOR,
    NAME,
    REGISTRY,
    Catalogue,
    FileSpec,
    ModelFiles,
    ModelSpec,
    file_sha256,
    read_json,
    registered,
    shipped,
)
from idc_local.errors import ModelError, UsageError
from idc_local.pull import locked, replace_folder, write_json

GGUF_MAGIC = b"GGUF"
WEIGHTS = ".safetensors"
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
SHORTEST_WINDOW = 8
"""Tokens of a window that still holds a text beside its special tokens."""
TAKEN = (WEIGHTS, ".json", ".txt", ".model")

Probe = Callable[[ModelFiles], int]
"""Loads a model for a trial and returns the dimension of its vectors (0 for a generator); raises ModelError."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """A model to take in. Empty ``role`` goes by what ``path`` is; empty prompts of a folder go by its own settings."""

    path: Path
    name: str
    role: str = ""
    query_prompt: str | None = None
    document_prompt: str | None = None
    languages: tuple[str, ...] = ()
    licence: str = ""


def add_model(catalogue: Catalogue, wish: Adoption, probe: Probe) -> ModelSpec:
    """Hashes the files, links or copies them into the models folder, tries them, and writes ``registry.json``."""
    path = wish.path.expanduser()
    check_name(wish.name)
    if not path.exists():
        raise UsageError(f"{path} does not exist", hint="idc-local models add FILE.gguf|FOLDER --name NAME")
    if not (path.is_dir() or path.is_file()):
        raise UsageError(f"{path} is neither a file nor a folder", hint="idc-local models add FILE.gguf --name NAME")
    try:
        found, sources = _read_folder(path, wish) if path.is_dir() else _read_gguf(path, wish)
    except OSError as error:
        raise ModelError(
            f"{error.filename or path} cannot be read ({error.strerror})", hint="check its permissions"
        ) from error
    if wish.role and wish.role != found.role:
        raise UsageError(f"{path} can only be a model for the role {found.role}", hint=f"--role {found.role}")
    try:
        return _take_in(catalogue.folder, found, sources, _naming(path, probe))
    except OSError as error:
        where = error.filename or catalogue.folder
        raise ModelError(
            f"cannot use {where} ({error.strerror})", hint="check its permissions and free space"
        ) from error


def check_name(name: str) -> None:
    """Refuses a name that is no folder's name, or that a model which can be pulled has."""
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name for a model", hint="use lower-case letters, digits and . _ -")
    if any(spec.name == name for spec in shipped()):
        raise UsageError(f"{name} is the name of a model that is known already", hint="choose another --name")


def _read_gguf(path: Path, wish: Adoption) -> tuple[ModelSpec, dict[str, Path]]:
    with path.open("rb") as stream:
        if stream.read(len(GGUF_MAGIC)) != GGUF_MAGIC:
            raise ModelError(f"{path} is not a GGUF file", hint="convert the model to GGUF first")
    spec = ModelSpec(
        wish.name, GENERATOR, (), wish.licence, title=path.name, main=path.name, languages=wish.languages, added=True
    )
    return spec, {path.name: path}


def _read_folder(path: Path, wish: Adoption) -> tuple[ModelSpec, dict[str, Path]]:
    modules = _json(path / "modules.json")
    if not isinstance(modules, list):
        raise ModelError(f"{path} is not a sentence-transformers folder", hint="save it with SentenceTransformer.save")
    for module in modules:
        kind = str(module.get("type", "") if isinstance(module, dict) else "")
        if not kind.startswith("sentence_transformers."):
            raise ModelError(f"{path} needs code of its own ({kind}), which is never run", hint="choose another model")
    sources = dict(_data_files(path))
    _check_weights(path, sources)
    prompts = _table(path / "config_sentence_transformers.json").get("prompts") or {}
    if not isinstance(prompts, dict):
        raise ModelError(f"{path} has prompts that cannot be used", hint="save the model again")
    spec = ModelSpec(
        wish.name,
        EMBEDDER,
        (),
        wish.licence,
        title=path.name,
        context=_window(path / "sentence_bert_config.json", _table(path / "config.json")),
        languages=wish.languages,
        query_prompt=str(prompts.get("query", "")) if wish.query_prompt is None else wish.query_prompt,
        document_prompt=str(prompts.get("document", "")) if wish.document_prompt is None else wish.document_prompt,
        added=True,
    )
    return spec, sources


def _data_files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and path.suffix in TAKEN and not any(part.startswith(".") for part in relative.parts):
            yield relative.as_posix(), path


def _check_weights(folder: Path, sources: dict[str, Path]) -> None:
    """Refuses a folder with a part whose weights exist as a pickle alone, and one without a fast tokenizer."""
    safe = {str(PurePosixPath(name).parent) for name in sources if name.endswith(WEIGHTS)}
    for path in folder.rglob("*"):
        part = str(PurePosixPath(path.relative_to(folder).as_posix()).parent)
        if path.suffix in PICKLES and part not in safe and path.name != "training_args.bin":
            raise ModelError(f"{path} is a pickle, which is never loaded", hint="save the model as safetensors")
    if not safe:
        raise ModelError(f"{folder} holds no safetensors weights", hint="save the model as safetensors")
    if not any(PurePosixPath(name).name == "tokenizer.json" for name in sources):
        raise ModelError(f"{folder} holds no tokenizer.json", hint="save the model with its fast tokenizer")


def _json(path: Path) -> Any:  # noqa: ANN401  (any JSON value)
    try:
        return read_json(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read ({error})", hint="save the model again") from error


def _table(path: Path) -> dict[str, Any]:
    """The settings in a file; none where there is no file."""
    value = _json(path)
    if not isinstance(value, dict | None):
        raise ModelError(f"{path} holds no settings", hint="save the model again")
    return value or {}


def _window(path: Path, config: dict[str, Any]) -> int:
    """Tokens that a model takes, 0 where its settings do not say; BERT has weights for a number of places."""
    tokens = _table(path).get("max_seq_length")
    places = config.get("max_position_embeddings") if config.get("model_type") == "bert" else None
    if tokens is not None and (
        type(tokens) is not int or tokens < SHORTEST_WINDOW or (type(places) is int and tokens > places)
    ):
        raise ModelError(f"{path}: max_seq_length is {tokens!r}", hint="give the tokens that the model takes")
    return tokens or 0


def _naming(path: Path, probe: Probe) -> Probe:
    """The same trial, whose error names ``path``: the files that were tried are gone by then."""

    def named(files: ModelFiles) -> int:
        try:
            return probe(files)
        except ModelError as error:
            message = error.message.replace(str(files.main), str(path))
            raise ModelError(message, hint="get it again, or choose another model; nothing was added") from error

    return named


def _take_in(folder: Path, spec: ModelSpec, sources: dict[str, Path], probe: Probe) -> ModelSpec:
    with locked(folder):
        fresh = folder / f".new-{spec.name}"
        shutil.rmtree(fresh, ignore_errors=True)
        try:
            files = tuple(_place(source, fresh, name) for name, source in sources.items())
            spec = replace(spec, files=files)
            digests = {entry.path: entry.sha256 for entry in files}
            main = fresh / spec.main if spec.main else fresh
            trial = ModelFiles(spec.name, spec.role, main, digests, context=spec.context)
            spec = replace(spec, dimension=probe(trial))
            replace_folder(fresh, folder / spec.name)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        register(folder, spec)
    return spec


def register(folder: Path, spec: ModelSpec) -> None:
    """Writes the model down, in place of one of the same name; its files are there, and the folder is locked."""
    others = [entry for entry in registered(folder) if entry.name != spec.name]
    write_json(folder / REGISTRY, {"format": FORMAT, "models": [registry_entry(one) for one in (*others, spec)]})


def _place(source: Path, fresh: Path, name: str) -> FileSpec:
    """A hard link where the file system allows it, else a copy; a link to a file is followed first."""
    target = fresh / name
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copyfile(source, target)
    return FileSpec(name, target.stat().st_size, file_sha256(target))


def registry_entry(spec: ModelSpec) -> dict[str, Any]:
    """A model as it is written down."""
    entry = {key: value for key, value in asdict(spec).items() if key not in ("files", "added") and value}
    entry["licence"] = spec.licence
    entry["file"] = [{"path": file.path, "size": file.size, "sha256": file.sha256} for file in spec.files]
    return entry
