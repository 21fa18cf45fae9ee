"""Reads a file of queries: plain lines, or JSON Lines with ``id``, ``query`` and optionally ``filter``."""

from __future__ import annotations

import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from idc_local.errors import InputError
from idc_local.filters import parse_filter
from idc_local.fingerprint import parse_json

JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
MOST_BYTES = 100 << 20
"""What is read of a file of queries: one without end must end too."""
_JSON_HINT = 'write one object a line: {"id": "q1", "query": "…"}'


@dataclass(frozen=True, slots=True)
class QueryLine:
    """One query. ``id`` is as the file has it, else the number of its row. ``where`` names file and row."""

    id: str | int
    text: str
    filter: str
    where: str


def read_queries(file: str) -> list[QueryLine]:
    """All queries of ``file`` (``-``: standard input); rows without anything on them are passed over.

    Raises:
        InputError: the file cannot be read, or one of its rows is no query.
    """
    name = "standard input" if file == "-" else file
    rows = [(number, text) for number, text in _rows(_read(file), name) if text.strip()]
    if not rows:
        raise InputError(f"{name} holds no queries", hint="write one query a line")
    as_json = file.lower().endswith(JSON_SUFFIXES) or rows[0][1].lstrip().startswith("{")
    parse: Callable[[str, int, str], QueryLine] = _json_query if as_json else _plain_query
    return [parse(text, number, f"{name}, row {number}") for number, text in rows]


def _read(file: str) -> bytes:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(file).open("rb") as stream:
                data = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{file} cannot be read ({reason})", hint="check the path") from error
    if len(data) > MOST_BYTES:
        raise InputError(f"{file} holds more than {MOST_BYTES >> 20} MiB of queries", hint="split it")
    return data


def _rows(data: bytes, name: str) -> Iterator[tuple[int, str]]:
    """Rows with their numbers from 1. Only line feeds end a row: JSON strings may hold other separators."""
    for number, row in enumerate(data.removeprefix(BOM_UTF8).split(b"\n"), start=1):
        try:
            text = row.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{name}, row {number}: not UTF-8", hint="save the file as UTF-8") from error
        if "\0" in text:
            raise InputError(f"{name}, row {number}: holds a NUL character", hint="save the file as UTF-8 text")
        yield number, text.removesuffix("\r")


def _plain_query(text: str, number: int, where: str) -> QueryLine:
    return QueryLine(str(number), text.strip(), "", where)


def _json_query(text: str, number: int, where: str) -> QueryLine:
    try:
        entry = parse_json(text)
    except ValueError as error:
        raise InputError(f"{where}: not JSON ({error})", hint=_JSON_HINT) from error
    if not isinstance(entry, dict):
        raise InputError(f"{where}: not a JSON object", hint=_JSON_HINT)
    query, own, wanted = entry.get("query"), entry.get("id", str(number)), entry.get("filter")
    wanted = "" if wanted is None else wanted
    if not isinstance(query, str):
        raise InputError(f"{where}: query is not a string", hint=_JSON_HINT)
    if isinstance(own, bool) or not isinstance(own, str | int):
        raise InputError(f"{where}: id is neither a string nor a whole number", hint=_JSON_HINT)
    if not isinstance(wanted, str):
        raise InputError(f"{where}: filter is not a string", hint='write "filter": "path:docs/*", or leave it out')
    _check_filter(wanted, where)
    return QueryLine(own, query, wanted, where)


def _check_filter(expression: str, where: str) -> None:
    """Refuses a filter that cannot be understood before any query of the file is answered."""
    from idc_local.errors import UsageError

    try:
        parse_filter(expression)
    except UsageError as error:
        raise InputError(f"{where}: {error.message}", hint=error.hint) from error
