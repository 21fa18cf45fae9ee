"""Checks of the installation, the models, the index and the network guard: a use case that never prints.

What it looks at comes in as a ``Machine`` (facts) and ``Probes`` (questions to the rest of the package), so that
every outcome can be tried. Each check that is not ``ok`` names the command that mends it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from idc_local.catalogue import EMBEDDER, OK, ModelFiles, ModelStatus
from idc_local.config import Settings, unknown_variables
from idc_local.errors import IdcError, quote
from idc_local.machine import Machine
from idc_local.netguard import OFFLINE_ENVIRONMENT
from idc_local.silence import IN_PYTHON, network_checks, stopped_by
from idc_local.types import Check, FloatArray, SourceRecord

PYTHON = (3, 11)
FEW_FILES = 5
LITTLE_DISK, NO_DISK = 1_000_000_000, 100_000_000
"""Free bytes below which there is a warning, a failure."""

FAST_FEATURES = ("avx2", "asimd")


@dataclass(frozen=True, slots=True)
class Probes:
    """Questions to the rest of the package; each may raise an IdcError, which becomes a failed check.

    models: status of all models, hashed. embedder, generator: the model that would be used. fingerprint: what the
    index was made with, raising StoreError where there is none. sources: what the index knows of its files. verify:
    the index's own checks. embed: float32
    [n, d] of n texts. complete: the generator's continuation of a prompt.
    """

    settings: Settings
    machine: Machine
    models: Callable[[], Sequence[ModelStatus]]
    embedder: Callable[[], ModelFiles]
    generator: Callable[[], ModelFiles]
    fingerprint: Callable[[], Mapping[str, Any]]
    sources: Callable[[], Mapping[str, SourceRecord]]
    verify: Callable[[], Sequence[Check]]
    embed: Callable[[Sequence[str]], FloatArray]
    complete: Callable[[str], str]


def examine(probes: Probes, *, deep: bool, network: bool = False) -> list[Check]:
    """All checks in order; ``deep`` also loads both models and tries them, ``network`` tries all ways out."""
    checks = [
        *machine_checks(probes.machine),
        *_attempt("models", lambda: _models(probes)),
        *_attempt("disk", lambda: _disk(probes)),
        *_attempt("permissions", lambda: _permissions(probes.settings.index)),
        *_index(probes),
        *_attempt("network guard", _network_guard),
    ]
    if network:
        checks += _attempt("network", network_checks)
    if deep:
        checks += _attempt("embedding", lambda: _embedding(probes))
        checks += _attempt("generation", lambda: _generation(probes))
    return checks


def machine_checks(machine: Machine) -> list[Check]:
    """The checks that need nothing of the package but the standard library."""
    return [_python(machine), _libraries(machine), _processor(machine), _threads(machine), *_environment(machine)]


def _attempt(name: str, look: Callable[[], Iterator[Check]]) -> list[Check]:
    try:
        return list(look())
    except IdcError as error:
        return [Check(name, "fail", error.message, error.hint)]
    except OSError as error:
        return [Check(name, "fail", str(error), "idc-local doctor --debug")]


def _python(machine: Machine) -> Check:
    found = ".".join(map(str, machine.python))
    if machine.python >= PYTHON:
        return Check("python", "ok", found)
    wanted = ".".join(map(str, PYTHON))
    return Check("python", "fail", f"{found} is older than {wanted}", f"python{wanted} -m venv .venv")


def _libraries(machine: Machine) -> Check:
    missing = sorted(name for name, version in machine.versions.items() if version is None)
    if missing:
        return Check(
            "libraries", "fail", f"missing: {', '.join(missing)}", f"python -m pip install {' '.join(missing)}"
        )
    return Check("libraries", "ok", ", ".join(f"{name} {version}" for name, version in machine.versions.items()))


def _processor(machine: Machine) -> Check:
    if not machine.cpu_features:
        return Check("processor", "ok", f"{platform.machine()}, features unknown")
    fast = sorted(machine.cpu_features & {*FAST_FEATURES, "avx512f", "avx512_bf16", "amx_bf16", "bf16"})
    if set(fast) & set(FAST_FEATURES):
        return Check("processor", "ok", f"{platform.machine()} with {', '.join(fast)}")
    detail = f"{platform.machine()} without {' or '.join(FAST_FEATURES)}: models run slowly"
    return Check("processor", "warn", detail, "idc-local index PATH --intents heuristic")


def _threads(machine: Machine) -> Check:
    asked = machine.environ.get("OMP_NUM_THREADS", "")
    if asked.isascii() and asked.isdigit() and int(asked) > machine.processors:
        detail = f"{asked} threads slow each other down on {machine.processors} processors"
        return Check("threads", "warn", detail, "unset OMP_NUM_THREADS IDC_THREADS")
    threads = asked if asked.isdigit() else machine.processors
    return Check("threads", "ok", f"{threads} on {machine.processors} processors")


def _environment(machine: Machine) -> Iterator[Check]:
    if machine.encoding.lower().replace("-", "") == "utf8":
        yield Check("encoding", "ok", "file names are UTF-8")
    else:
        yield Check("encoding", "warn", f"file names are read as {machine.encoding}", "export LC_ALL=C.UTF-8")
    unknown = unknown_variables(machine.environ)
    if unknown:
        yield Check("environment", "warn", f"set but unknown: {', '.join(unknown)}", f"unset {' '.join(unknown)}")
    else:
        yield Check("environment", "ok", "no unknown IDC_ variables")


def _models(probes: Probes) -> Iterator[Check]:
    chosen = {probes.settings.embedder, probes.settings.generator} - {""}
    for status in probes.models():
        spec = status.spec
        if status.state == OK:
            yield Check(f"model {spec.name}", "ok", f"{spec.role}, size and sha256 are right")
        elif spec.default or spec.added or spec.name in chosen:
            needed = spec.role == EMBEDDER or probes.settings.intents == "model"
            yield Check(f"model {spec.name}", "fail" if needed else "warn", status.detail or status.state, status.fix)


def _disk(probes: Probes) -> Iterator[Check]:
    for name, folder in (("disk of the index", probes.settings.index), ("disk of the models", probes.settings.models)):
        free = probes.machine.free_bytes(existing(folder))
        status = "fail" if free < NO_DISK else "warn" if free < LITTLE_DISK else "ok"
        yield Check(
            name, status, f"{free / 1e9:.1f} GB free at {folder}", "" if status == "ok" else "idc-local compact"
        )


def existing(folder: Path) -> Path:
    """``folder``, or the nearest folder above it that exists and can be seen."""
    absolute = folder.absolute()
    return next(place for place in (absolute, *absolute.parents) if os.path.exists(place))


def _permissions(index: Path) -> Iterator[Check]:
    place = existing(index)
    if not os.access(place, os.W_OK | os.X_OK):
        yield Check("permissions", "fail", f"{place} cannot be written", f"chmod u+rwx {quote(place)}")
    elif os.path.isdir(index) and index.stat().st_mode & 0o077:
        yield Check("permissions", "warn", f"others may read {index}", f"chmod -R go-rwx {quote(index)}")
    else:
        yield Check("permissions", "ok", f"{place} can be written")


def _index(probes: Probes) -> list[Check]:
    folder = probes.settings.index
    if not os.path.exists(folder):
        return [Check("index", "warn", f"no index in {folder} yet", f"idc-local index PATH --index {quote(folder)}")]
    checks = [*_attempt("index", lambda: iter(probes.verify()))]
    checks += _attempt("index embedder", lambda: _fingerprint(probes))
    if all(check.status == "ok" for check in checks):
        checks += _attempt("sources", lambda: _sources(probes))
    return [replace(check, fix=_of_this_index(check.fix, probes)) for check in checks]


def _of_this_index(fix: str, probes: Probes) -> str:
    """The command with the index that was looked at, and its files, where it leaves them open."""
    words = fix.split()
    if words[:1] != ["idc-local"]:
        return fix
    if words[1:4] == ["index", "PATH", "--rebuild"]:
        with suppress(IdcError):
            return _again(probes, "--rebuild")
    return fix if "--index" in words else f"{fix} --index {quote(probes.settings.index)}"


def _fingerprint(probes: Probes) -> Iterator[Check]:
    made, files = probes.fingerprint(), probes.embedder()
    if made.get("embedder") == files.fingerprint:
        yield Check("index embedder", "ok", f"made with {files.name}, which is the one in use")
    else:
        detail = f"made with {made.get('embedder_name', 'another model')}, the one in use is {files.name}"
        yield Check("index embedder", "fail", detail, _again(probes, "--rebuild"))


def _again(probes: Probes, option: str = "") -> str:
    """The command that indexes the same files again: each by name where they are few and there, else their folders."""
    known = [record for record in probes.sources().values() if record.root]
    folders = dict.fromkeys(record.root for record in known)
    files = [Path(record.root) / record.path for record in known]
    by_name = len(files) <= FEW_FILES and all(file.is_file() for file in files)
    places = " ".join(map(quote, files if by_name else folders)) or "PATH"
    return f"idc-local index {places} {option}".rstrip() + f" --index {quote(probes.settings.index)}"


def _sources(probes: Probes) -> Iterator[Check]:
    """Compares size and time of every file: what hashing them would say is what ``verify --deep`` is for."""
    known = [record for record in probes.sources().values() if record.root]
    stale = [record.path for record in known if not _as_recorded(record)]
    if stale:
        others = f" and {len(stale) - 1} more" if len(stale) > 1 else ""
        yield Check("sources", "warn", f"changed or gone since: {stale[0]}{others}", _again(probes))
    else:
        yield Check("sources", "ok", f"{len(known)} files are as they were when they were indexed")


def _as_recorded(record: SourceRecord) -> bool:
    """A member of an archive counts with its archive, whose size and time it has."""
    place = Path(record.root, record.path)
    for candidate in (place, *place.parents):
        if candidate.is_file():
            status = candidate.stat()
            return (status.st_size, status.st_mtime_ns) == (record.size, record.mtime_ns)
    return False


def _network_guard() -> Iterator[Check]:
    """Tries to get out, by address and by name, and expects to be stopped before anything leaves."""
    attempts = {name: IN_PYTHON[name] for name in ("connections", "name look-ups")}
    open_doors = [name for name, attempt in attempts.items() if not stopped_by(attempt)]
    switches = [name for name, value in OFFLINE_ENVIRONMENT.items() if os.environ.get(name) != value]
    if open_doors:
        yield Check("network guard", "fail", f"does not stop {', '.join(open_doors)}", "python -m idc_local doctor")
    elif switches:
        yield Check("network guard", "warn", f"not set: {', '.join(switches)}", "python -m idc_local doctor")
    else:
        yield Check(
            "network guard", "ok", "connections and name look-ups are refused; libraries are told to be offline"
        )


def _embedding(probes: Probes) -> Iterator[Check]:
    texts = ["The pump needs oil.", "The pump needs oil.", "Rent is due in May."]
    vectors = probes.embed(texts)
    same, other = float(vectors[0] @ vectors[1]), float(vectors[0] @ vectors[2])
    name = probes.embedder().name
    if abs(same - 1.0) < 1e-3 and other < 0.9:
        yield Check("embedding", "ok", f"{name}: {vectors.shape[1]} dimensions")
    else:
        detail = f"{name}: equal texts have similarity {same:.3f}, unlike ones {other:.3f}"
        yield Check("embedding", "fail", detail, f"idc-local models pull {name}")


def _generation(probes: Probes) -> Iterator[Check]:
    reply = probes.complete("Water boils at 100 degrees. Question:").strip()
    name = probes.generator().name
    if reply:
        yield Check("generation", "ok", f"{name}: {reply[:60]}")
    else:
        yield Check("generation", "fail", f"{name} wrote nothing", f"idc-local models pull {name}")
