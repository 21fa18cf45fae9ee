"""Opens documents that are ZIP files of XML parts: the one place that inflates and parses what a stranger has packed.

Members are bounded in number, size and ratio before and while they are inflated. XML that declares entities is
refused before it is parsed, nothing outside the file is ever looked up, and the number of its elements is bounded.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.parsers import expat

from idc_local.errors import InputError

MAX_MEMBERS = 20_000
MAX_MEMBER = 192 << 20
MAX_TOTAL = 384 << 20
MAX_RATIO = 400
"""Bytes for each packed one; only members over ``_SMALL`` bytes are held to it. Large repetitive sheets reach 100."""
MAX_ELEMENTS = 3_000_000
MAX_DEPTH = 200
"""Nesting of elements that is looked into: office documents stay below 40."""
_SMALL = 1 << 20
_ENCRYPTED = 0x1


class Relation(NamedTuple):
    """What a part refers to: the last word of the relation's type, and the part's name."""

    kind: str
    target: str


class Package:
    """The parts of a file by name; ``path`` names the file in errors."""

    def __init__(self, data: bytes, path: str) -> None:
        self._path = path
        self._inflated = 0
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except Exception as error:
            raise self._damaged() from error
        members = self._zip.infolist()
        if len(members) > MAX_MEMBERS:
            raise InputError(f"{path}: too many parts: {len(members)}, the limit is {MAX_MEMBERS}", hint="leave it out")
        self._members = {member.filename: member for member in members}

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def names(self) -> Iterator[str]:
        """The names of all parts in the order of the file."""
        return iter(self._members)

    def read(self, name: str) -> bytes:
        """The bytes of a part; raises InputError where it is missing, damaged, encrypted or grows beyond bounds."""
        member = self._members.get(name)
        if member is None:
            raise InputError(f"{self._path}: damaged: its part {name!a} is missing", hint="open and save it anew")
        if member.flag_bits & _ENCRYPTED:
            raise encrypted(self._path)
        self._check(member.file_size, member, name)
        try:
            with self._zip.open(member) as stream:
                data = stream.read(MAX_MEMBER + 1)
        except Exception as error:
            raise self._damaged(name) from error
        self._check(len(data), member, name)
        self._inflated += len(data)
        return data

    def xml(self, name: str) -> Element:
        """The root of an XML part."""
        return parse(self.read(name), self._path, name)

    def optional(self, name: str) -> Element | None:
        """The root of an XML part that may be missing."""
        return self.xml(name) if name in self._members else None

    def relations(self, name: str) -> dict[str, Relation]:
        """What a part refers to inside the file, by id; ``name`` empty: the file itself."""
        folder, base = posixpath.split(name)
        root = self.optional(posixpath.join(folder, "_rels", f"{base}.rels"))
        found: dict[str, Relation] = {}
        for item in root if root is not None else ():
            target, kind = item.get("Target", ""), item.get("Type", "").rpartition("/")[2]
            if item.get("TargetMode") != "External":
                found[item.get("Id", "")] = Relation(kind, self.resolve(name, target))
        return found

    def resolve(self, name: str, target: str) -> str:
        """The name of the part that ``target`` means in part ``name``."""
        target = target.partition("#")[0]
        for goal in (target, unquote(target)):
            inside = posixpath.normpath(posixpath.join("/", posixpath.dirname(name), goal)).lstrip("/")
            if inside in self._members:
                return inside
        return inside

    def _check(self, size: int, member: zipfile.ZipInfo, name: str) -> None:
        swollen = size > _SMALL and size > MAX_RATIO * max(1, member.compress_size)
        if swollen or size > MAX_MEMBER or self._inflated + size > MAX_TOTAL:
            what = f"its part {name!a} unpacks to too much ({size} bytes)"
            raise InputError(f"{self._path}: {what}", hint="split it, or leave it out")

    def _damaged(self, name: str = "") -> InputError:
        what = f"its part {name!a} cannot be unpacked" if name else "it is not a whole ZIP file, maybe cut off"
        return InputError(f"{self._path}: damaged: {what}", hint="open it in its program and save it anew")


def encrypted(path: str) -> InputError:
    """The error for a file that only a password opens."""
    return InputError(f"{path}: encrypted: a password opens it", hint="save it without a password in its program")


def parse(data: bytes, path: str, name: str = "") -> Element:
    """The root element of ``data``; raises InputError for what is not well formed, declares entities or is too much."""
    what = f"its part {name!a}" if name else "it"
    if data.count(b"<") > 2 * MAX_ELEMENTS:
        raise InputError(f"{path}: {what} holds too many elements", hint="split it")
    _refuse_entities(data, path, what)
    try:
        return ElementTree.fromstring(data)
    except Exception as error:
        raise _malformed(path, what) from error


def rows_of(data: bytes, path: str, name: str, tag: str) -> Iterator[Element]:
    """The elements named ``tag`` of a part that may be too large for one tree; each is emptied after use."""
    what = f"its part {name!a}"
    _refuse_entities(data, path, what)
    try:
        for _, element in ElementTree.iterparse(io.BytesIO(data)):
            if plain(element.tag) == tag:
                yield element
                element.clear()
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise _malformed(path, what) from error


class _Begun(Exception):
    """The root element has begun: nothing can be declared any more."""


def _refuse_entities(data: bytes, path: str, what: str) -> None:
    parser = expat.ParserCreate()

    def declared(*_: object) -> None:
        raise InputError(f"{path}: {what} declares XML entities, which no office program writes", hint="leave it out")

    def begun(*_: object) -> None:
        raise _Begun

    parser.EntityDeclHandler = declared
    parser.StartElementHandler = begun
    try:
        parser.Parse(data, True)
    except _Begun:
        return
    except InputError:
        raise
    except Exception as error:
        raise _malformed(path, what) from error


def _malformed(path: str, what: str) -> InputError:
    return InputError(f"{path}: damaged: {what} is not well-formed XML", hint="open it in its program and save it anew")


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition("}")[2]


def local(element: Element) -> str:
    """The name of an element without its namespace; empty for comments."""
    return plain(element.tag) if isinstance(element.tag, str) else ""


def attribute(element: Element, name: str) -> str:
    """The value of an attribute whatever its namespace; empty where there is none."""
    for key, value in element.attrib.items():
        if plain(key) == name:
            return value
    return ""


def child(element: Element | None, *names: str) -> Element | None:
    """The first child with the first name, its first child with the next, and so on; None where there is none."""
    for name in names:
        if element is None:
            return None
        element = next((item for item in element if local(item) == name), None)
    return element
