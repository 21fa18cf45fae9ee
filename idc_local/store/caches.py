"""What an index remembers besides documents and vectors: replies of the generator, its own settings, sources.

Every function runs inside the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from idc_local.ports import Completion
from idc_local.store.codec import Json, decode_json, decode_text, encode_json, encode_text, fields_of
from idc_local.store.schema import Database, batches, check_seal, marks, seal, sealed
from idc_local.types import SourceRecord


def put_intents(db: Database, replies: Mapping[str, Completion]) -> None:
    """Remembers the generator's replies by key."""
    rows = ((key, encode_json([reply.text, reply.confidence])) for key, reply in replies.items())
    db.executemany(
        """INSERT INTO intents(key, data, seal) VALUES(?, ?, ?)
           ON CONFLICT(key) DO UPDATE SET data = excluded.data, seal = excluded.seal""",
        ((key, data, seal(key.encode(), data)) for key, data in rows),
    )


def read_intents(db: Database, keys: Sequence[str]) -> dict[str, Completion]:
    """Replies of the keys that are known and whose values are what was stored."""
    found: dict[str, Completion] = {}
    for batch in batches(dict.fromkeys(keys)):
        query = f"SELECT key, data, seal FROM intents WHERE key IN ({marks(batch)})"
        for key, data, own in db.execute(query, batch):
            if sealed(own, key.encode(), data):
                text, confidence = decode_json(data)
                found[key] = Completion(text, confidence)
    return found


def use_intents(db: Database, edition: int, keys: Sequence[str]) -> None:
    """Records which replies an edition's intents come from."""
    pairs = [(edition, key) for key in dict.fromkeys(keys)]
    db.executemany("INSERT INTO intent_uses(edition, key) VALUES(?, ?)", pairs)
    db.executemany("UPDATE intents SET used = 1 WHERE key = ?", ((key,) for _, key in pairs))


def drop_spent_intents(db: Database) -> None:
    """Removes replies of which every document that used them is gone."""
    db.execute("DELETE FROM intents WHERE used = 1 AND key NOT IN (SELECT key FROM intent_uses)")


def drop_intents_of(db: Database, document: str) -> None:
    """Removes the replies that a document's intents come from, and those that nobody has claimed so far."""
    own = "SELECT key FROM intent_uses WHERE edition IN (SELECT id FROM editions WHERE document = ?)"
    db.execute(f"DELETE FROM intents WHERE key IN ({own})", (document,))
    db.execute("DELETE FROM intents WHERE key NOT IN (SELECT key FROM intent_uses)")


def drop_damaged_rows(db: Database) -> int:
    """Removes replies and source files that are not what was stored; how many."""
    replies = [
        (key,)
        for key, data, own in db.execute("SELECT key, data, seal FROM intents")
        if not sealed(own, encode_text(key), data)
    ]
    sources = [
        (path,) for path, data, own in db.execute("SELECT path, data, seal FROM sources") if not sealed(own, path, data)
    ]
    db.executemany("DELETE FROM intents WHERE key = ?", replies)
    db.executemany("DELETE FROM sources WHERE path = ?", sources)
    return len(replies) + len(sources)


def put_meta(db: Database, name: str, value: Json) -> None:
    """Sets one of the index's own settings."""
    data = encode_json(value)
    row = (name, data, seal(name.encode(), data))
    db.execute("INSERT OR REPLACE INTO meta(name, value, seal) VALUES(?, ?, ?)", row)


def read_meta(folder: Path, db: Database, name: str) -> Json:
    """One of the index's own settings; None where it is not set."""
    row = db.execute("SELECT value, seal FROM meta WHERE name = ?", (name,)).fetchone()
    if row is None:
        return None
    check_seal(folder, row[1], name.encode(), row[0])
    return decode_json(row[0])


def put_source(db: Database, record: SourceRecord) -> None:
    """Sets what is known of a source file."""
    path, data = encode_text(record.path), encode_json(fields_of(record))
    row = (path, data, seal(path, data))
    db.execute("INSERT OR REPLACE INTO sources(path, data, seal) VALUES(?, ?, ?)", row)


def read_sources(folder: Path, db: Database) -> dict[str, SourceRecord]:
    """All source files by path, in order of path."""
    found = {}
    for path, data, own in db.execute("SELECT path, data, seal FROM sources"):
        check_seal(folder, own, path, data)
        found[decode_text(path)] = SourceRecord(**decode_json(data))
    return dict(sorted(found.items()))


def drop_source(db: Database, path: str) -> None:
    """Forgets a source file."""
    db.execute("DELETE FROM sources WHERE path = ?", (encode_text(path),))


def drop_meta(db: Database, name: str) -> None:
    """Removes one of the index's own settings."""
    db.execute("DELETE FROM meta WHERE name = ?", (name,))


def drop_sources(db: Database) -> None:
    """Forgets all source files."""
    db.execute("DELETE FROM sources")
