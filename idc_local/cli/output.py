"""Writes results to stdout in the five formats. Everything on stdout goes through here.

A command hands over a ``Result``: the same facts as one JSON value, as items, and as lines for people.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from idc_local.cli.terminal import Screen, shown

Item = Mapping[str, Any]

_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSAFE_IN_CELL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_FORMULA = re.compile(r"\s*(?:[=@＝＠]|[-+－＋](?=[^(|!]*[(|!]))")
"""What a spreadsheet would compute: a document must not have it call a program, or send off the cells beside it."""
_MARKDOWN = re.compile(r"[\\|<&\[\]*`~]|(?<![^\W_])_|_(?![^\W_])")
"""Also what ends or begins a word with ``_``, as in ``__init__``; inside one, as in ``snake_case``, it does nothing."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a command found.

    value: printed by ``json``. items: printed by ``jsonl``. rows: printed by ``csv`` and ``md``, which show the keys
    named by ``columns`` in order; the items themselves where there are none. text: lines for people. brief: the columns
    that fit a page, for ``md``; empty: all.
    """

    value: Any
    items: Sequence[Item]
    columns: tuple[str, ...]
    text: Callable[[Screen], Iterable[str]]
    rows: Sequence[Item] | None = None
    brief: tuple[str, ...] = ()


def number(value: float) -> float | None:
    """A score as printed: six decimals, None where it is not finite, no negative zero."""
    return round(float(value), 6) + 0.0 if math.isfinite(value) else None


def to_json(value: object, indent: int | None = None) -> str:
    """JSON that is valid, harmless on a terminal and free of NaN; characters beyond ASCII stay readable."""
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, indent=indent)
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return value


def render(result: Result, form: str, screen: Screen, *, terminal: bool) -> Iterator[str]:
    """Pieces of output, each with its line end, for a format of ``config.FORMATS``."""
    rows = result.items if result.rows is None else result.rows
    match form:
        case "json":
            yield to_json(result.value, indent=2) + "\n"
        case "jsonl":
            yield from (to_json(item) + "\n" for item in result.items)
        case "csv":
            yield from csv_lines(rows, result.columns, terminal=terminal)
        case "md":
            yield from markdown_lines(rows, result.brief or result.columns)
        case _:
            yield from (line + "\n" for line in result.text(screen))


def csv_lines(items: Iterable[Item], columns: Sequence[str], *, terminal: bool) -> Iterator[str]:
    """A header, always, and one record an item; on a terminal control characters become escapes.

    An apostrophe stands before a text that a spreadsheet would take for a formula.
    """
    unsafe = _UNSAFE_IN_CELL if terminal else _SURROGATE
    for row in [columns, *([_inert(cell(item.get(key))) for key in columns] for item in items)]:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\r\n").writerow(row)  # so that a lone CR in a cell is quoted too
        yield unsafe.sub(lambda match: shown(match.group()), buffer.getvalue().removesuffix("\r\n") + "\n")


def _inert(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) else text


def markdown_lines(items: Iterable[Item], columns: Sequence[str]) -> Iterator[str]:
    """A table. Cells hold text only: whatever Markdown would act on is escaped."""
    yield f"| {' | '.join(columns)} |\n"
    yield f"|{'|'.join(' --- ' for _ in columns)}|\n"
    for item in items:
        yield f"| {' | '.join(_markdown_cell(cell(item.get(key))) for key in columns)} |\n"


def _markdown_cell(text: str) -> str:
    escaped = _MARKDOWN.sub(lambda match: f"\\{match.group()}", text.strip())
    lines = re.split(r"(?:\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])+", escaped)
    return "<br>".join("".join(map(shown, line)) for line in lines)


def cell(value: object) -> str:
    """A value as the text of a table's cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "" if not math.isfinite(value) else f"{value:.6f}".rstrip("0").rstrip(".")
    return value if isinstance(value, str) else to_json(value) if isinstance(value, Mapping | list) else str(value)


class OutputError(OSError):
    """stdout does not take what is written."""


def write(text: str, *, err: bool = False) -> None:
    """Writes to stdout, or stderr, as it is: no colour is added or taken away.

    What stderr does not take is lost: the work goes on. BrokenPipeError passes through.
    """
    try:
        click.echo(text, nl=False, err=err, color=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        if not err:
            raise OutputError(error.errno, error.strerror) from error
