"""Checks a bundle and installs it where there is no network: `python3 unbundle.py BUNDLE`, or `python3 BUNDLE` itself.

A bundle is a zip file with wheels, models, and a manifest that names the size and sha256 of every member. This module
is also the bundle's own ``__main__.py``: it needs Python's standard library alone and imports nothing of the package.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

FORMAT = 1
MANIFEST, MAIN = "manifest.json", "__main__.py"
WHEELS, MODELS = "wheels", "models"
BLOCK = 1 << 20
MOST_MANIFEST_BYTES = 16 << 20

Manifest = dict[str, Any]


class BundleError(Exception):
    """A bundle that cannot be used. ``hint`` says how to go on."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@contextmanager
def opened(file: Path) -> Iterator[tuple[zipfile.ZipFile, Manifest]]:
    """A bundle and its manifest, members not looked at yet; what goes wrong with it becomes a BundleError."""
    again = "carry it over again, and compare its sha256 with the one that was printed when it was made"
    try:
        with zipfile.ZipFile(file) as bundle:
            yield bundle, read_manifest(bundle, file)
    except zipfile.BadZipFile as error:
        raise BundleError(f"{file} is damaged or no bundle ({error})", again) from error
    except OSError as error:
        where = error.filename or file
        raise BundleError(f"{where}: {error.strerror or error}", "check the path, and the room on the disk") from error


def read_manifest(bundle: zipfile.ZipFile, file: Path) -> Manifest:
    """The manifest, once it is sure that it has the form that is known here."""
    try:
        if bundle.getinfo(MANIFEST).file_size > MOST_MANIFEST_BYTES:
            raise ValueError("too large")
        manifest = json.loads(bundle.read(MANIFEST))
        if manifest["format"] != FORMAT:
            raise BundleError(f"{file} has format {manifest['format']}, not {FORMAT}", "use the program that made it")
        for entry in manifest["files"]:
            _check_path(entry["path"])
            int(entry["size"]), str(entry["sha256"])
        [(str(model["name"]), model["added"]) for model in manifest["models"]]
        [str(manifest[key]) for key in ("package", "version", "python")]
        [str(feature) for feature in manifest.get("processor", ())]
        return dict(manifest)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise BundleError(f"{file} is no bundle ({error})", "make one with idc-local models bundle FILE") from error


def _check_path(path: str) -> None:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or "\0" in path or ":" in path:
        raise ValueError(f"path {path!r}")


def verify(bundle: zipfile.ZipFile, manifest: Manifest, below: str = "") -> int:
    """Hashes every member, or those ``below`` a folder, and returns how many; nothing may be missing or left over."""
    listed = {entry["path"]: entry for entry in manifest["files"]}
    names = bundle.namelist()
    strangers = sorted(set(names) - {MANIFEST, *listed}) + sorted({name for name in names if names.count(name) > 1})
    if strangers:
        raise BundleError(f"{strangers[0]} is not in the manifest", "do not use this bundle")
    wanted = [entry for path, entry in listed.items() if path.startswith(below)]
    for entry in wanted:
        extract(bundle, entry, None)
    return len(wanted)


def extract(bundle: zipfile.ZipFile, entry: dict[str, Any], target: Path | None) -> None:
    """Copies a member to ``target`` (None: nowhere) while it is hashed; a wrong one leaves no file."""
    hashed, size = hashlib.sha256(), 0
    try:
        with bundle.open(entry["path"]) as source, open(target or os.devnull, "wb") as out:
            while size <= int(entry["size"]) and (block := source.read(BLOCK)):
                hashed.update(block)
                size += len(block)
                out.write(block)
    except (KeyError, EOFError, NotImplementedError, RuntimeError, zlib.error):  # what zipfile makes of odd members
        size = -1
    if size != entry["size"] or hashed.hexdigest() != entry["sha256"]:
        if target:
            target.unlink(missing_ok=True)
        raise BundleError(f"{entry['path']} is not what the manifest says", "carry the bundle over again")


def unfit(manifest: Manifest) -> str:
    """Why the wheels of a bundle cannot be installed by this Python; empty where they can."""
    wanted, own = str(manifest["python"]), f"{sys.version_info.major}.{sys.version_info.minor}"
    if wanted != own:
        return f"it was made for Python {wanted}, and this is {own}"
    return ""


def missing_features(manifest: Manifest, cpuinfo: Path = Path("/proc/cpuinfo")) -> list[str]:
    """Instruction sets that compiled wheels may use and this processor lacks."""
    try:
        flags = re.search(r"^(?:flags|Features)\s*:(.*)$", cpuinfo.read_text("utf-8", "replace"), re.MULTILINE)
    except OSError:
        return []
    return sorted(set(manifest.get("processor", ())) - set(flags[1].split())) if flags else []


def install(file: Path, into: Path, models: Path | None, say: Callable[[str], None]) -> None:
    """A fresh virtual environment ``into`` with the package and its models, from the bundle alone."""
    with opened(file) as (bundle, manifest):
        reason = unfit(manifest)
        if reason:
            raise BundleError(f"{file} cannot be installed: {reason}", f"python{manifest['python']} {file}")
        say(f"{verify(bundle, manifest)} files checked, every size and sha256 is right")
        lacking = missing_features(manifest)
        if lacking:
            say(f"warning: compiled where the processor has {', '.join(lacking)}, which this one lacks")
        if into.exists() and any(into.iterdir()):
            raise BundleError(f"{into} is there already", f"rm -r {into}, or name another folder with --into")
        _environment(into)
        with tempfile.TemporaryDirectory(prefix="wheels-", dir=into) as folder:
            for entry in manifest["files"]:
                if entry["path"].startswith(f"{WHEELS}/"):
                    extract(bundle, entry, Path(folder) / PurePosixPath(entry["path"]).name)
            _pip(into, Path(folder), f"{manifest['package']}=={manifest['version']}")
        say(f"{manifest['package']} {manifest['version']} installed in {into}")
    program = str(into / "bin" / manifest["package"])
    there = ["--models", str(models)] if models else []
    _run([program, "models", "install", str(file), *there], "the models could not be installed")
    say(f"next: {shlex.join([program, 'doctor', *there])}")


def _environment(into: Path) -> None:
    hint = "install the venv and ensurepip modules of this Python (python3-venv on Debian)"
    try:
        _run([sys.executable, "-m", "venv", str(into)], f"{into} could not be made", hint)
    except BundleError:
        shutil.rmtree(into, ignore_errors=True)
        raise


def _pip(into: Path, wheels: Path, requirement: str) -> None:
    """No index, no settings of the user, no cache: the wheels that were checked and nothing else."""
    pip = [str(into / "bin" / "python"), "-m", "pip", "--isolated", "--disable-pip-version-check", "--no-cache-dir"]
    wanted = ["install", "--quiet", "--no-index", "--only-binary", ":all:", "--find-links", str(wheels), requirement]
    try:
        _run([*pip, *wanted], "pip could not install the wheels")
    except BundleError:
        shutil.rmtree(into, ignore_errors=True)
        raise


def _run(command: list[str], what: str, hint: str = "see what it printed") -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    if subprocess.run(command, env=environ | {"PIP_CONFIG_FILE": os.devnull}, check=False).returncode:
        raise BundleError(what, hint)


def main(arguments: list[str] | None = None, own: Path | None = None) -> int:
    """The command line; ``own`` is the bundle that is run as a program."""
    parser = argparse.ArgumentParser(description="Checks a bundle and installs it without any network.")
    if own is None:
        parser.add_argument("bundle", type=Path, metavar="FILE")
    parser.add_argument("--into", type=Path, default=Path(".venv"), help="virtual environment to make [.venv]")
    parser.add_argument("--models", type=Path, default=None, help="folder for the models [the user's data folder]")
    given = parser.parse_args(arguments)
    try:
        install(own or given.bundle, given.into, given.models, lambda text: _say(text))
    except BundleError as error:
        sys.stderr.write(f"error: {error.message}. hint: {error.hint}\n")
        return 2
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    here = Path(sys.argv[0])
    sys.exit(main(own=here if zipfile.is_zipfile(here) else None))
