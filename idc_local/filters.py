"""The filter language of search: what it means, without looking anything up.

``path:GLOB``  the path, its file name, or a folder above it matches (``*`` crosses folders)
``type:NAME``  media type or file suffix: ``type:markdown``, ``type:md``, ``type:html``
``word``       the passage holds the word (any inflection)
``"a phrase"`` the passage holds the phrase, case, white space and the forms of letters and apostrophes aside
A leading ``-`` turns any of them round. All conditions must hold, save that several ``path:`` or several ``type:``
conditions are alternatives.

Layer 1, pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING
from unicodedata import normalize

from idc_local.errors import NothingFound, UsageError

if TYPE_CHECKING:
    from idc_local.types import SourceRecord

SEPARATOR = "!/"
"""Between the path of an archive and the name of a member."""
STDIN = "-"
"""Path of what comes through standard input."""

_TOKEN = re.compile(r'\s*(?P<minus>-?)(?:(?P<field>[A-Za-z]+):)?(?:"(?P<quoted>[^"]*)"|(?P<bare>[^\s"]+))')
_CLOSE = 'close the quotation mark: "a phrase"'
_FIELDS = ("path", "type")


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter expression; empty tuples mean no condition."""

    paths: tuple[str, ...] = ()
    not_paths: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    not_types: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    not_words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    not_phrases: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """True where everything passes."""
        return self == Filter()


def parse_filter(expression: str) -> Filter:
    """The filter that ``expression`` describes.

    Raises:
        UsageError: an unknown field, a missing value, or an unclosed quotation mark.
    """
    found: dict[str, list[str]] = {}
    position = 0
    while expression[position:].strip():
        match = _TOKEN.match(expression, position)
        if match is None:
            raise UsageError(
                f"filter not understood at: {expression[position:].strip()}",
                hint=_CLOSE,
            )
        if (match["bare"] or "").endswith(":") and expression.startswith('"', match.end()):
            raise UsageError(f"filter not understood at: {expression[match.start() :].strip()}", hint=_CLOSE)
        key, value = _condition(match)
        found.setdefault(key, []).append(value)
        position = match.end()
    return Filter(**{key: tuple(values) for key, values in found.items()})


def _condition(match: re.Match[str]) -> tuple[str, str]:
    field = (match["field"] or "").lower()
    if field and field not in _FIELDS:
        if match["bare"] is None:
            raise UsageError(f"unknown filter field: {field}", hint='use path:GLOB, type:NAME, word, -word or "phrase"')
        raise UsageError(
            f"unknown filter: {match.group().strip()}",
            hint='use path:GLOB, type:NAME, word, -word or "phrase"',
        )
    value = match["quoted"] if match["quoted"] is not None else match["bare"]
    if not value.strip() or (not field and value.rstrip(":").lower() in _FIELDS and value.endswith(":")):
        raise UsageError("empty filter condition", hint='use path:GLOB, type:NAME, word, -word or "phrase"')
    kind = f"{field}s" if field else ("phrases" if match["quoted"] is not None else "words")
    return (f"not_{kind}" if match["minus"] else kind), value


def path_matches(path: str, pattern: str) -> bool:
    """True where ``pattern`` is the path, its file name, a folder above it, or a glob for one of these.

    >>> [path_matches("manuals/pump.md", pattern) for pattern in ("pump.md", "manuals", "man*", "ump.md")]
    [True, True, True, False]
    """
    # Some systems write é as one code point in names, others as two.
    path, pattern = normalize("NFC", path), normalize("NFC", pattern.removeprefix("./").rstrip("/") or "*")
    name = path.rsplit("/", 1)[-1]
    if pattern in (path, name) or path.startswith(pattern + "/"):
        return True
    return fnmatchcase(path, pattern) or fnmatchcase(name, pattern) or fnmatchcase(path, f"{pattern}/*")


def type_matches(path: str, media_type: str, name: str) -> bool:
    """True where ``name`` is the media type, its last part, or the suffix of the path."""
    name = name.lower().lstrip(".")
    kind = media_type.lower()
    return name in (kind, kind.rsplit("/", 1)[-1]) or path.lower().endswith(f".{name}")


def source_passes(paths: Sequence[str], media_type: str, wanted: Filter) -> bool:
    """True where one of a document's ``paths`` meets the conditions on path and type."""
    return any(_one_passes(path, media_type, wanted) for path in paths)


def _one_passes(path: str, media_type: str, wanted: Filter) -> bool:
    if wanted.paths and not any(path_matches(path, pattern) for pattern in wanted.paths):
        return False
    if wanted.types and not any(type_matches(path, media_type, name) for name in wanted.types):
        return False
    return not any(path_matches(path, pattern) for pattern in wanted.not_paths) and not any(
        type_matches(path, media_type, name) for name in wanted.not_types
    )


def shown(name: str) -> str:
    r"""``name`` fit for any output, as an index calls it: bytes of it that are not UTF-8 are written ``\xNN``."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def named(records: Iterable[SourceRecord], path: str, place: str) -> list[SourceRecord]:
    """The sources that ``path`` names: a file, or all of a folder or archive.

    The name by which the index calls them comes first. Where nothing is called so, it is the file or folder at
    ``place``, the absolute path, if it is a folder that was indexed or in one.

    Raises:
        NothingFound: there are none.
    """
    every, name, place = list(records), shown(path), shown(place)
    roots = {record.root: shown(record.root) for record in every if record.root}
    found = [record for record in every if lies_in(record.path, name)] or [
        record
        for record in every
        if record.root and lies_in(place, roots[record.root])
        if place == roots[record.root] or lies_in(f"{roots[record.root].rstrip('/')}/{record.path}", place)
    ]
    if not found:
        raise NothingFound(f"{name} is not in the index", hint="idc-local status -v lists what is")
    return found


def lies_in(path: str, place: str) -> bool:
    """True where the source ``path`` is the one called ``place``, or lies in the folder or archive of that name."""
    return path == place or path.startswith((place.rstrip("/") + "/", place + SEPARATOR))
