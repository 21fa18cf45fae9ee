"""Takes models out of a bundle, as ``models install`` does. Nothing of it is run."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from idc_local import unbundle
from idc_local.adopt import check_name, register
from idc_local.catalogue import OK, Catalogue, ModelSpec, spec_from
from idc_local.errors import InputError, ModelError
from idc_local.ports import Progress
from idc_local.pull import locked, replace_folder
from idc_local.unbundle import MODELS, BundleError

AGAIN = "make the bundle again with idc-local models bundle FILE"


def install_models(catalogue: Catalogue, file: Path, progress: Progress) -> list[tuple[str, str]]:
    """Takes the models out of a bundle: name and ``installed`` or ``present`` of each.

    Raises:
        InputError: the file is no bundle, or damaged.
        ModelError: what the bundle holds is not the model that the catalogue knows by that name.
    """
    with _translated(), unbundle.opened(file) as (bundle, manifest), locked(catalogue.folder):
        unbundle.verify(bundle, manifest, f"{MODELS}/")
        done = []
        progress.start("models", len(manifest["models"]), "models")
        for model in manifest["models"]:
            spec = _spec(catalogue, model)
            done.append((spec.name, _install_one(catalogue, spec, bundle, manifest)))
            if spec.added:
                register(catalogue.folder, spec)
            progress.advance(1, spec.name)
        progress.finish()
        return done


def _spec(catalogue: Catalogue, model: Mapping[str, Any]) -> ModelSpec:
    """What the catalogue knows by the model's name, or, for one that was added, what the bundle says of it."""
    if not model["added"]:
        return catalogue.spec(str(model["name"]))
    try:
        spec = spec_from(model["added"], added=True)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"the bundle describes a model that cannot be ({error})", hint=AGAIN) from error
    check_name(spec.name)
    return spec


def _install_one(catalogue: Catalogue, spec: ModelSpec, bundle: zipfile.ZipFile, manifest: unbundle.Manifest) -> str:
    if catalogue.status(spec, deep=True).state == OK:
        return "present"
    prefix = f"{MODELS}/{spec.name}/"
    fresh = catalogue.folder / f".new-{spec.name}"
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        for entry in manifest["files"]:
            if entry["path"].startswith(prefix):
                target = fresh / entry["path"].removeprefix(prefix)
                target.parent.mkdir(parents=True, exist_ok=True)
                unbundle.extract(bundle, entry, target)
        replace_folder(fresh, catalogue.place(spec))
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    status = catalogue.status(spec, deep=True)
    if status.state != OK:
        shutil.rmtree(catalogue.place(spec), ignore_errors=True)
        raise ModelError(f"the bundle holds another {spec.name} than expected: {status.detail}", hint=spec.command)
    return "installed"


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except BundleError as error:
        raise InputError(error.message, hint=error.hint) from error
