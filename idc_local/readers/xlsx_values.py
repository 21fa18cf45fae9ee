"""What cells of a spreadsheet show: numbers, dates, times and shares by their formats."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from xml.etree.ElementTree import Element

from idc_local.readers.package import attribute, child, local

_BUILT_IN = {
    2: "0.00", 4: "#,##0.00", 7: "0.00", 8: "0.00", 9: "0%", 10: "0.00%", 14: "yyyy-mm-dd", 15: "d-mmm-yy",
    16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "m/d/yy h:mm",
    27: "yyyy-mm-dd", 30: "yyyy-mm-dd", 31: "yyyy-mm-dd", 36: "yyyy-mm-dd", 39: "0.00", 40: "0.00", 44: "0.00",
    45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 50: "yyyy-mm-dd", 57: "yyyy-mm-dd",
}  # fmt: skip
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!\$|h+\]|m+\]|s+\])[^\]]*\]', re.I)
_CURRENCY = re.compile(r"\[\$([^\]-]*)[^\]]*\]")
_SYMBOL = re.compile(r"[$€£¥₹]")
_DECIMALS = re.compile(r"[0#?]\.([0?]+)")
_LAST_DAY = 2_958_465
"""31 December 9999."""


class Format(NamedTuple):
    """How a number is shown: as a day, a time of day, a share, with so many ``decimals`` (None: as many as it has)."""

    day: bool = False
    time: bool = False
    percent: bool = False
    decimals: int | None = None
    before: str = ""
    after: str = ""


PLAIN = Format()


@lru_cache(maxsize=1024)
def format_of(code: str) -> Format:
    """The format that a code means, for positive numbers."""
    symbol = _CURRENCY.search(code)
    quoted = re.findall(r'"([^"]*)"', code.partition(";")[0])
    bare = _LITERAL.sub("", code.partition(";")[0])
    sign = symbol[1] if symbol else next((text.strip() for text in quoted if _SYMBOL.fullmatch(text.strip())), "")
    bare = _CURRENCY.sub("\0" if symbol else "", bare)
    found = _SYMBOL.search(bare)
    if found and not sign:
        sign, bare = found[0], bare.replace(found[0], "\0")
    letters = bare.lower().replace("general", "").replace("am/pm", "")
    day = "y" in letters or "d" in letters or ("m" in letters and "h" not in letters and "s" not in letters)
    time = "h" in letters or "s" in letters
    if day or time:
        return Format(day=day, time=time)
    decimals = _DECIMALS.search(bare)
    fixed = len(decimals[1]) if decimals else 0 if re.search(r"0(?![.\d])", bare) and "." not in bare else None
    if "e" in letters or "/" in letters or "?" in letters:
        fixed = None
    first = min((place for place in map(bare.find, "0#?") if place >= 0), default=len(bare))
    leads = sign and ("\0" in bare[:first] or (quoted and code.find(sign) < code.find("0")))
    return Format(
        percent="%" in bare,
        decimals=fixed,
        before=sign if leads else "",
        after=f" {sign}" if sign and not leads else "",
    )


def shown(value: str, form: Format, since_1904: bool) -> str:
    """What a number shows; days and times in ISO 8601."""
    try:
        number = float(value)
    except ValueError:
        return value
    if not math.isfinite(number):
        return value
    if (form.day or form.time) and 0 <= number <= _LAST_DAY:
        return _moment(number, form, since_1904)
    if form.percent:
        number *= 100
    if form.decimals is None or abs(number) >= 1e15:
        text = value if not form.percent and len(value) <= 15 else f"{number:.15g}"
    else:
        text = f"{number:.{form.decimals}f}"
    return f"{form.before}{text}{form.after}{'%' if form.percent else ''}"


def _moment(number: float, form: Format, since_1904: bool) -> str:
    base = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 31 if number < 60 else 30)
    try:
        moment = base + timedelta(seconds=round(number * 86400))
    except OverflowError:
        return str(number)
    clock = moment.strftime("%H:%M:%S" if moment.second else "%H:%M")
    if not form.day:
        hours = int(number) * 24 + moment.hour
        return f"{hours:02d}{clock[2:]}"
    day = f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}"
    return f"{day} {clock}" if form.time else day


def formats(styles: Element | None) -> list[Format]:
    """The formats of cells by the number of their style."""
    codes = dict(_BUILT_IN)
    for item in child(styles, "numFmts") or ():
        number = attribute(item, "numFmtId")
        if number.isdecimal():
            codes[int(number)] = attribute(item, "formatCode")
    found = []
    for item in child(styles, "cellXfs") or ():
        if local(item) == "xf":
            number = attribute(item, "numFmtId")
            found.append(format_of(codes.get(int(number) if number.isdecimal() else 0, "")) if number else PLAIN)
    return found
