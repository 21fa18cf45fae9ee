"""Licences of this package, of every library that it needs, directly or not, and of the models.

Reads the metadata that installed distributions carry; imports none of them.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from idc_local.catalogue import MISSING, ModelStatus

PACKAGE = "idc-local"
LIBRARY, MODEL = "library", "model"
LONGEST = 60
"""A licence field with more characters, or several lines, is the text of a licence and not its name."""
UNKNOWN = "unknown"

_REQUIREMENT = re.compile(r"\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[(?P<extras>[^\]]*)\])?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


@dataclass(frozen=True, slots=True)
class Licence:
    """What one library or model comes under. ``address`` is where to read more, empty where nobody says."""

    name: str
    kind: str
    version: str
    licence: str
    address: str


def library_licences(package: str = PACKAGE) -> list[Licence]:
    """The package itself, then all that it needs, by name."""
    found = {_plain(entry.metadata["Name"]): entry for entry in needed(package)}
    own = found.pop(_plain(package))
    return [_library(own), *(_library(found[name]) for name in sorted(found))]


def model_licences(statuses: Iterable[ModelStatus]) -> list[Licence]:
    """Of every model that is there."""
    specs = [status.spec for status in statuses if status.state != MISSING]
    return [Licence(spec.name, MODEL, "", spec.licence or UNKNOWN, spec.terms) for spec in specs]


def needed(package: str) -> Iterator[importlib.metadata.Distribution]:
    """The distribution of ``package`` and of all that it requires here, each once; what is not installed is left out.

    Requirements for other systems are not installed either, hence markers need no evaluation, save for extras.
    """
    waiting = [(package, frozenset[str]())]
    seen: set[tuple[str, frozenset[str]]] = set()
    told: set[str] = set()
    while waiting:
        name, extras = waiting.pop()
        if (_plain(name), extras) in seen:
            continue
        seen.add((_plain(name), extras))
        try:
            entry = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        waiting.extend(_requirements(entry, extras))
        if _plain(name) not in told:
            told.add(_plain(name))
            yield entry


def _requirements(
    entry: importlib.metadata.Distribution, extras: frozenset[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    for line in entry.requires or ():
        requirement, _, marker = line.partition(";")
        asked = _EXTRA.findall(marker)
        match = _REQUIREMENT.match(requirement)
        if match and (not asked or extras & set(asked)):
            own = {extra.strip() for extra in (match["extras"] or "").split(",")} - {""}
            yield match["name"], frozenset(own)


def _plain(name: str) -> str:
    """A distribution's name as names are compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _library(entry: importlib.metadata.Distribution) -> Licence:
    return Licence(entry.metadata["Name"], LIBRARY, entry.version, _name_of(entry), _address(entry))


def _name_of(entry: importlib.metadata.Distribution) -> str:
    """The licence expression (PEP 639), the licence field where it holds a name, or the classifiers."""
    values = dict.fromkeys(entry.metadata.get_all("License-Expression", []))
    field = _field(entry, "License").strip()
    if not values and field and len(field) <= LONGEST and "\n" not in field:
        values = {field: None}
    if not values:
        classifiers = entry.metadata.get_all("Classifier", [])
        values = {line.split(" :: ")[-1]: None for line in classifiers if line.startswith("License :: ")}
        values.pop("OSI Approved", None)
    if not values and field:
        values = {field.splitlines()[0][:LONGEST].strip(): None}
    return " AND ".join(values) or UNKNOWN


def _address(entry: importlib.metadata.Distribution) -> str:
    pages = [str(line).partition(", ") for line in entry.metadata.get_all("Project-URL", [])]
    wanted = {label.strip().lower(): address.strip() for label, _, address in pages}
    for label in ("repository", "source", "source code", "github", "homepage"):
        if label in wanted:
            return wanted[label]
    return _field(entry, "Home-page") or next(iter(wanted.values()), "")


def _field(entry: importlib.metadata.Distribution, name: str) -> str:
    return str(next(iter(entry.metadata.get_all(name, [])), ""))
