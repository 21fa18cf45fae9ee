"""Makes the one file that is carried across the gap.

Wheels come through the user's own pip, in the versions that are installed here; the package's own wheel is made from
what is running. ``unbundle`` reads what is written here.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

from idc_local import unbundle
from idc_local.adopt import registry_entry
from idc_local.catalogue import OK, Catalogue, ModelSpec, file_sha256
from idc_local.errors import InputError, ModelError
from idc_local.licences import PACKAGE, library_licences, model_licences, needed
from idc_local.machine import build_flags, cpu_features
from idc_local.ports import Progress
from idc_local.unbundle import MAIN, MANIFEST, MODELS, WHEELS

GRAPHICS = re.compile(r"(?:nvidia|cuda)-|triton$")
"""Names of distributions that only a build for graphics processors needs."""
CPU_HINT = "install a CPU build of torch (see README, `CPU build of torch`), then run it again"
INSTRUCTIONS = frozenset({"avx", "avx2", "f16c", "fma", "bmi2", "avx512f", "avx512bw", "avx512_bf16", "amx_bf16"})
"""What compilers use where the machine has it."""
MADE_AT = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class BundleOptions:
    """platform, python: of the machine on the other side, empty for one like this. find_links: folder of more wheels.

    package, folder: what is bundled, for tests.
    """

    platform: str = ""
    python: str = ""
    find_links: Path | None = None
    package: str = PACKAGE
    folder: Path = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Bundle:
    """What was made: its bytes and sha256, so that both sides can compare."""

    file: Path
    size: int
    sha256: str
    wheels: tuple[str, ...]
    models: tuple[str, ...]


def make_bundle(
    catalogue: Catalogue, file: Path, names: Sequence[str], options: BundleOptions, progress: Progress
) -> Bundle:
    """Writes a bundle with the models ``names`` (none: the defaults, and all that were added), whole or not at all.

    Raises:
        ModelError: a model is missing or damaged.
        InputError: a wheel cannot be had, or is a build for graphics processors, or ``file`` is something else already.
    """
    _check_replaceable(file)
    specs = _models(catalogue, names)
    partial = file.with_name(f".{file.name}.part")
    try:
        with tempfile.TemporaryDirectory(prefix=".bundle-", dir=file.absolute().parent) as place:
            wheels = _wheels(Path(place), options, progress)
            members = {f"{WHEELS}/{wheel.name}": wheel for wheel in wheels} | dict(_model_files(catalogue, specs))
            members[MAIN] = Path(unbundle.__file__)
            progress.start("bundle", len(members), "files")
            _write(partial, members, _facts(catalogue, specs, options), progress)
            progress.finish()
        partial.replace(file)
    except OSError as error:
        raise InputError(
            f"{error.filename or file}: {error.strerror}", hint="name a FILE where there is room"
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    told = tuple(wheel.name for wheel in wheels)
    return Bundle(file, file.stat().st_size, file_sha256(file), told, tuple(spec.name for spec in specs))


def _check_replaceable(file: Path) -> None:
    """Raises InputError where ``file`` is anything but missing, empty or an earlier bundle."""
    if not file.exists() or (file.is_file() and not file.stat().st_size):
        return
    try:
        if file.is_file():
            with unbundle.opened(file):
                return
    except unbundle.BundleError:
        pass
    raise InputError(f"{file} exists and is no bundle", hint="choose another name")


def _models(catalogue: Catalogue, names: Sequence[str]) -> list[ModelSpec]:
    wanted = [catalogue.spec(name) for name in names]
    specs = wanted or [spec for spec in catalogue.specs.values() if spec.default or spec.added]
    for spec in specs:
        status = catalogue.status(spec, deep=True)
        if status.state != OK:
            raise ModelError(f"model {spec.name} is {status.state}: {status.detail}", hint=status.fix)
    return specs


def _model_files(catalogue: Catalogue, specs: Sequence[ModelSpec]) -> Iterator[tuple[str, Path]]:
    """Files as they were published: the other machine converts them to what is quickest there."""
    for spec in specs:
        for entry in spec.files:
            yield f"{MODELS}/{spec.name}/{entry.path}", catalogue.place(spec) / entry.path


def _facts(catalogue: Catalogue, specs: Sequence[ModelSpec], options: BundleOptions) -> dict[str, object]:
    statuses = [catalogue.status(spec) for spec in specs]
    licences = [*library_licences(options.package), *model_licences(statuses)]
    return {
        "format": unbundle.FORMAT,
        "package": options.package,
        "version": distribution(options.package).version,
        "platform": options.platform or sysconfig.get_platform().replace("-", "_").replace(".", "_"),
        "python": options.python or ".".join(platform.python_version_tuple()[:2]),
        "processor": [] if options.platform else sorted(cpu_features() & INSTRUCTIONS),
        "models": [{"name": spec.name, "added": registry_entry(spec) if spec.added else None} for spec in specs],
        "licences": [asdict(licence) for licence in licences],
    }


def _write(target: Path, members: dict[str, Path], facts: dict[str, object], progress: Progress) -> None:
    """Nothing is compressed: wheels are already, and weights cannot be."""
    entries = []
    with zipfile.ZipFile(target, "w", strict_timestamps=False) as bundle:
        for path, source in sorted(members.items()):
            bundle.write(source, path)
            entries.append({"path": path, "size": source.stat().st_size, "sha256": file_sha256(source)})
            progress.advance(1, path)
        bundle.writestr(MANIFEST, json.dumps(facts | {"files": entries}, indent=1))
    with target.open("rb") as stream:
        os.fsync(stream.fileno())


def _wheels(place: Path, options: BundleOptions, progress: Progress) -> list[Path]:
    installed = [entry for entry in needed(options.package) if entry.metadata["Name"] != options.package]
    graphics = [entry.metadata["Name"] for entry in installed if _is_for_graphics(entry.metadata["Name"])]
    if graphics:
        raise InputError(f"{graphics[0]} is installed: this torch is a build of several GB for CUDA", hint=CPU_HINT)
    _check_metadata(distribution(options.package), options.folder)
    own = own_wheel(distribution(options.package), options.folder, place)
    constraints = place / "constraints.txt"
    constraints.write_text("".join(f"{entry.metadata['Name']}=={entry.version}\n" for entry in installed))
    target = place / WHEELS
    progress.start("wheels", None, "")
    _pip([*_pip_words(options, target, constraints), str(own)], place)
    progress.finish()
    shutil.copy(own, target)
    wheels = sorted(target.glob("*.whl"))
    for wheel in wheels:
        _refuse_graphics(wheel)
    return wheels


def _pip_words(options: BundleOptions, target: Path, constraints: Path) -> list[str]:
    """``pip wheel`` for a machine like this one, since it also builds; ``pip download`` of wheels for another."""
    common = ["--constraint", str(constraints)]
    if options.find_links:
        common += ["--find-links", str(options.find_links.absolute())]
    if not options.platform and not options.python:
        return ["wheel", "--wheel-dir", str(target), *common]
    words = ["download", "--dest", str(target), "--only-binary", ":all:", *common]
    words += ["--platform", options.platform] if options.platform else []
    return words + (["--python-version", options.python] if options.python else [])


def _pip(words: list[str], place: Path) -> None:
    # -P: a file named pip.py in the current folder must not be run.
    command = [sys.executable, "-P", "-m", "pip", *words, "--disable-pip-version-check", "--progress-bar", "off"]
    run = subprocess.run(
        [*command, "--no-input"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        cwd=place,
        env=os.environ | build_flags(),
        check=False,
    )
    if run.returncode:
        said = [line for line in (run.stderr or run.stdout).splitlines() if line.strip()] or ["no output"]
        wrong = next((line for line in said if line.startswith("ERROR:")), said[-1])
        hint = "check the network and `pip config list`; wheels that no index has go into a folder: --find-links DIR"
        raise InputError(f"pip could not collect the wheels: {wrong.removeprefix('ERROR:').strip()[:300]}", hint=hint)


def _is_for_graphics(name: str) -> bool:
    return GRAPHICS.match(re.sub(r"[-_.]+", "-", name).lower()) is not None


def _refuse_graphics(wheel: Path) -> None:
    """Wheels for other systems name what they would need on Linux: they are no such build themselves."""
    if any(system in wheel.name for system in ("macosx", "-win")):
        return
    with zipfile.ZipFile(wheel) as archive:
        member = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(member).decode("utf-8", "replace").splitlines()
    needs = [line.partition(":")[2].strip() for line in lines if line.startswith("Requires-Dist:")]
    names = [re.split(r"[^\w.-]", need)[0] for need in needs if "extra ==" not in need]
    if any(map(_is_for_graphics, [wheel.name.split("-")[0], *names])):
        raise InputError(f"{wheel.name} is a build of several GB for CUDA", hint=CPU_HINT)


def _check_metadata(own: Distribution, folder: Path) -> None:
    """Refuses a checkout that asks for other libraries than it did when it was installed."""
    project = folder.parent / "pyproject.toml"
    if not project.is_file():
        return
    asked = tomllib.loads(project.read_text("utf-8"))["project"]
    now, then = ({re.split(r"[^\w.-]", need)[0] for need in needs} for needs in (asked["dependencies"], _needs(own)))
    if now != then or asked["version"] != own.version:
        raise InputError(f"{project} has changed since it was installed", hint=f"pip install -e {folder.parent}")


def _needs(own: Distribution) -> list[str]:
    return [need for need in own.requires or () if "extra ==" not in need]


def own_wheel(own: Distribution, folder: Path, place: Path) -> Path:
    """A wheel of the package in ``folder`` as it stands, with the metadata that it is installed with."""
    stem = f"{own.metadata['Name'].replace('-', '_')}-{own.version}"
    target = place / f"{stem}-py3-none-any.whl"
    info = f"{stem}.dist-info"
    members = {
        path.relative_to(folder.parent).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    texts = [path.name for path in own.files or () if path.parent.name == "licenses"]
    for name in ("METADATA", "entry_points.txt", *(f"licenses/{text}" for text in texts)):
        members[f"{info}/{name}"] = (own.read_text(name) or "").encode()
    members[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: idc-local\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(f"{path},sha256={_urlsafe(data)},{len(data)}\n" for path, data in members.items())
    members[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in members.items():
            wheel.writestr(zipfile.ZipInfo(path, MADE_AT), data, zipfile.ZIP_DEFLATED)
    return target


def _urlsafe(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
