"""What the styles of a Word document mean: headings, list items, code, entries of a table of contents."""

from __future__ import annotations

import re
from typing import NamedTuple
from xml.etree.ElementTree import Element

from idc_local.readers.package import attribute, child, local

_HEADING = re.compile(
    r"(?:heading|überschrift|titre|título|titolo|kop|rubrik|nagłówek|заголовок|标题|見出し)\s*([1-9])", re.I
)
_CODE = re.compile(r"\bcode\b|source|preformatted|verbatim|listing", re.I)
_CONTENTS = re.compile(r"(?:toc|contents|verzeichnis)\s*\d", re.I)
_LONGEST_CHAIN = 20


class Look(NamedTuple):
    """What a paragraph is: ``level`` of a heading, depth of a list ``item``, ``code``, left out, or the ``title``."""

    level: int = 0
    item: int = 0
    code: bool = False
    skipped: bool = False
    title: bool = False


class _Style(NamedTuple):
    name: str
    base: str
    level: int | None
    item: int | None


class Styles:
    """The paragraph styles by id."""

    def __init__(self, root: Element | None) -> None:
        self._styles: dict[str, _Style] = {}
        self._looks: dict[str, Look] = {}
        for style in root if root is not None else ():
            if local(style) == "style":
                properties = child(style, "pPr")
                self._styles[attribute(style, "styleId")] = _Style(
                    _value(style, "name"), _value(style, "basedOn"), _level(properties), _item(properties)
                )

    def look(self, properties: Element | None) -> Look:
        """The look of a paragraph with these properties."""
        if properties is None:
            return Look()
        look = self._of(_value(properties, "pStyle"))
        level, item = _level(properties), _item(properties)
        if level is not None:
            look = look._replace(level=level, title=False)
        if item is not None:
            look = look._replace(item=item)
        return look

    def _of(self, name: str) -> Look:
        known = self._looks.get(name)
        if known is None:
            known = self._looks[name] = self._found(name)
        return known

    def _found(self, name: str) -> Look:
        """The look of a style: what it says itself counts more than what it is based on."""
        level: int | None = None
        item: int | None = None
        key = name
        for _ in range(_LONGEST_CHAIN):
            style = self._styles.get(key) or _Style(key, "", None, None)
            title = style.name or key
            if _CONTENTS.fullmatch(title):
                return Look(skipped=True)
            if _CODE.search(title):
                return Look(code=True)
            level = level if level is not None else style.level
            item = item if item is not None else style.item
            if level is None and (found := _HEADING.fullmatch(title)):
                level = int(found[1])
            if level is None and title.casefold() == "title":
                return Look(1, title=True)
            key = style.base
            if not key:
                break
        return Look(level or 0, item or 0)


def _value(parent: Element, name: str) -> str:
    found = child(parent, name)
    return attribute(found, "val") if found is not None else ""


def _level(properties: Element | None) -> int | None:
    """1 to 9 for a heading, 0 for what is expressly none, None where nothing is said."""
    found = child(properties, "outlineLvl")
    if found is None:
        return None
    value = attribute(found, "val")
    return int(value) + 1 if value.isdecimal() and int(value) < 9 else 0


def _item(properties: Element | None) -> int | None:
    """Depth from 1 of a list item, 0 for what is expressly none, None where nothing is said."""
    found = child(properties, "numPr")
    if found is None:
        return None
    number, depth = _value(found, "numId"), _value(found, "ilvl")
    return 0 if number == "0" else 1 + (int(depth) if depth.isdecimal() and int(depth) < 9 else 0)
