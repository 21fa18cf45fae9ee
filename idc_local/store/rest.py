"""The checksum of the database while nobody writes to it.

Rows carry seals, so that no damage to one goes unnoticed; what lies between rows has none. ``index.sha256`` covers
every byte of the file. It is taken away before the first change and written anew when the writer lets go, so that
where it is, it holds. Large databases do without: it would cost more than a small change may.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from idc_local.errors import StoreCorrupt
from idc_local.fingerprint import canonical_json, parse_json, sha256_hex
from idc_local.store.layout import DATABASE, damaged, sha256_file, sync_folder, write_durably
from idc_local.store.schema import Database

RESTING = "index.sha256"
LIMIT = 256 << 20
"""Bytes of the largest database that has a checksum: a quarter of a second's reading."""


def wake(folder: Path) -> bytes | None:
    """Takes the checksum away before the database is changed; what it was."""
    path = folder / RESTING
    path.with_name(RESTING + ".new").unlink(missing_ok=True)
    known = _read(folder)
    if known is not None:
        path.unlink()
        sync_folder(folder)
    return known


def rest(folder: Path, unchanged: bytes | None = None) -> None:
    """Writes the checksum of a database that was just closed; ``unchanged`` where it is known already.

    It is a help that may be missing: where it cannot be written, it is left out.
    """
    path, log = folder / DATABASE, folder / f"{DATABASE}-wal"
    with suppress(OSError):
        if not path.exists() or path.stat().st_size > LIMIT or (log.exists() and log.stat().st_size):
            return
        data = _record(path) if unchanged is None else unchanged
        try:
            write_durably(folder / RESTING, data)
        except OSError:
            (folder / (RESTING + ".new")).unlink(missing_ok=True)


def _record(path: Path) -> bytes:
    body: dict[str, str | int] = {"size": path.stat().st_size, "sha256": sha256_file(path)}
    return json.dumps(body | {"seal": _seal(body)}).encode()


def check_rest(folder: Path) -> None:
    """Compares the database with its checksum, where it has one.

    Raises:
        StoreCorrupt: one of them is not what it was.
    """
    known = _read(folder)
    if known is None:
        return
    try:
        body = parse_json(known)
        sound = body.pop("seal") == _seal(body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(folder / RESTING, "it cannot be parsed") from error
    if not sound:
        raise damaged(folder / RESTING, "its content does not fit its checksum")
    same = sha256_file(folder / DATABASE) == body["sha256"]
    # A writer that came in between has taken it away first, or left another.
    if not same and _read(folder) == known:
        raise damaged(folder / DATABASE, "its content does not fit its checksum")


def open_awake(folder: Path, opened: Callable[[], Database], *, mends: bool = False) -> tuple[Database, bytes | None]:
    """The database without its checksum, and what that was; ``opened`` opens it for writing.

    Damage that is not seen now would be vouched for when the checksum is written anew: it is refused, save by those
    that mend or rewrite the database. What ``opened`` says of a database that it cannot use comes first.

    Raises:
        StoreCorrupt: the database is not as the last writer left it.
    """
    damage: StoreCorrupt | None = None
    known = None
    try:
        if not mends:
            check_rest(folder)
        known = wake(folder)
    except StoreCorrupt as error:
        damage = error
    db = opened()
    if damage is not None:
        db.close()
        raise damage
    return db, known


def _read(folder: Path) -> bytes | None:
    try:
        return (folder / RESTING).read_bytes()
    except FileNotFoundError:
        return None


def _seal(body: dict[str, str | int]) -> str:
    return sha256_hex(canonical_json(body).encode())
