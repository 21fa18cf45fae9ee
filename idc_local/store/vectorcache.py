"""Vectors in the database: by value, counted by the documents that use them, and by the key of their text.

With the vector of a sentence go the codes of its tokens, in the same row. Every function runs inside the caller's
transaction. A row is stored once, whoever uses it: its digest is its name.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from idc_local.store.codec import encode_text, slices
from idc_local.store.layout import DATABASE, damaged
from idc_local.store.schema import Database, batches, marks
from idc_local.types import HalfArray, IntArray, Vectors


def vector_digest(data: bytes) -> bytes:
    """Name of a row: 16 bytes of the hash of its float16 values and its codes."""
    return hashlib.blake2b(data, digest_size=16).digest()


def _named_right(digest: object, data: object) -> bool:
    return isinstance(data, bytes) and vector_digest(data) == digest


def store_vectors(db: Database, vectors: Vectors, codes: Sequence[bytes] = ()) -> IntArray:
    """Numbers, int64 [n], of vectors [n, d], which are kept as float16, with the codes of each; new ones are added."""
    digests, rows = _rows(vectors, codes)
    known = _numbers(db, digests)
    missing = {digest: row for digest, row in zip(digests, rows, strict=True) if digest not in known}
    db.executemany("INSERT INTO vectors(digest, data) VALUES(?, ?)", missing.items())
    known |= _numbers(db, missing)
    return np.array([known[digest] for digest in digests], dtype=np.int64)


def _rows(vectors: Vectors, codes: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
    """The digest of the row of each vector, and the row."""
    values = [row.tobytes() for row in vectors.astype("<f2", copy=False)]
    rows = [vector + own for vector, own in zip(values, codes, strict=True)] if codes else values
    return [vector_digest(row) for row in rows], rows


def _numbers(db: Database, digests: Iterable[bytes]) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    for batch in batches(dict.fromkeys(digests)):
        query = f"SELECT digest, id FROM vectors WHERE digest IN ({marks(batch)})"
        found.update((bytes(digest), number) for digest, number in db.execute(query, batch))
    return found


def use_vectors(db: Database, numbers: IntArray) -> None:
    """Counts one more use of each vector, as often as it occurs."""
    used, counts = np.unique(numbers, return_counts=True)
    db.executemany(
        "INSERT INTO vector_uses(id, uses) VALUES(?, ?) ON CONFLICT(id) DO UPDATE SET uses = uses + excluded.uses",
        zip(used.tolist(), counts.tolist(), strict=True),
    )


def release_vectors(db: Database, numbers: IntArray) -> None:
    """Counts one use less of each vector, and removes those that nobody uses any more."""
    counts = Counter(numbers.tolist())
    db.executemany("UPDATE vector_uses SET uses = uses - ? WHERE id = ?", ((n, key) for key, n in counts.items()))
    for batch in batches(counts):
        unused = f"SELECT id FROM vector_uses WHERE uses <= 0 AND id IN ({marks(batch)})"
        drop_vectors(db, [row[0] for row in db.execute(unused, batch)])


def drop_vectors(db: Database, numbers: Sequence[int]) -> None:
    """Removes vectors and the keys that lead to them."""
    for batch in batches(numbers):
        chosen = f"SELECT digest FROM vectors WHERE id IN ({marks(batch)})"
        db.execute(f"DELETE FROM vector_keys WHERE digest IN ({chosen})", batch)
        db.execute(f"DELETE FROM vectors WHERE id IN ({marks(batch)})", batch)


def drop_damaged_vectors(db: Database) -> int:
    """Removes vectors whose values are not those that they are named after; how many."""
    rows = db.execute("SELECT id, digest, data FROM vectors")
    bad = [number for number, digest, data in rows if not _named_right(digest, data)]
    drop_vectors(db, bad)
    return len(bad)


def recount_vectors(db: Database, uses: Mapping[int, int]) -> None:
    """Sets how often each vector is used, and removes those that no document uses any more."""
    known = {number for (number,) in db.execute("SELECT id FROM vector_uses")}
    db.execute("DELETE FROM vector_uses")
    db.executemany("INSERT INTO vector_uses(id, uses) VALUES(?, ?)", uses.items())
    drop_vectors(db, sorted(known - set(uses)))


def forget_vectors(db: Database) -> None:
    """Empties the cache of vectors, for an index that begins anew with another embedder; documents keep theirs."""
    db.execute("DELETE FROM vector_keys")
    drop_unused_vectors(db)
    db.execute("DELETE FROM meta WHERE name = 'dimension'")


def drop_unused_vectors(db: Database) -> None:
    """Removes the vectors that no document uses."""
    unused = "SELECT id FROM vectors WHERE id NOT IN (SELECT id FROM vector_uses WHERE uses > 0)"
    drop_vectors(db, [row[0] for row in db.execute(unused)])


def put_keys(db: Database, keys: Sequence[str], vectors: Vectors, codes: Sequence[bytes]) -> None:
    """Remembers the vector of each key, [len(keys), d], as float16, with its codes where there are any.

    A key may be unknown because its row is damaged: what is stored under the digest then is put right.
    """
    digests, rows = _rows(vectors, codes)
    db.executemany(
        """INSERT INTO vectors(digest, data) VALUES(?, ?)
           ON CONFLICT(digest) DO UPDATE SET data = excluded.data WHERE data != excluded.data""",
        zip(digests, rows, strict=True),
    )
    pairs = zip(map(_key, keys), digests, strict=True)
    db.executemany("INSERT OR REPLACE INTO vector_keys(key, digest) VALUES(?, ?)", pairs)


def read_keys(db: Database, keys: Sequence[str]) -> dict[str, bytes]:
    """Rows, vector and codes, of the keys that are known and whose values are what was stored."""
    found: dict[str, bytes] = {}
    wanted = {_key(key): key for key in keys}
    for batch in batches(wanted):
        query = f"""SELECT k.key, v.digest, v.data FROM vector_keys k JOIN vectors v ON v.digest = k.digest
                    WHERE k.key IN ({marks(batch)})"""
        for key, digest, data in db.execute(query, batch):
            if _named_right(digest, data):
                found[wanted[bytes(key)]] = data
    return found


def _key(key: str) -> bytes:
    return vector_digest(encode_text(key))


def read_vectors(
    folder: Path, db: Database, numbers: IntArray, dimension: int
) -> Iterator[tuple[HalfArray, list[bytes]]]:
    """Vectors by their numbers, float16 [., dimension], with the codes of each, some at a time.

    They are unchecked: who asks compares with a seal.
    """
    for part in slices(numbers):
        wanted, places = np.unique(part, return_inverse=True)
        vectors, codes = _read(folder, db, wanted, dimension)
        yield vectors[places], [codes[place] for place in places.tolist()]


def _read(folder: Path, db: Database, numbers: IntArray, dimension: int) -> tuple[HalfArray, list[bytes]]:
    """float16 [n, dimension]: the vectors of distinct numbers in order, and the codes of each."""
    size, rows = np.dtype("<f2").itemsize * dimension, []
    for batch in batches(numbers.tolist()):
        query = f"SELECT data FROM vectors WHERE id IN ({marks(batch)}) ORDER BY id"
        found = [row[0] for row in db.execute(query, batch)]
        if not all(isinstance(row, bytes) and len(row) >= size for row in found):
            raise damaged(folder / DATABASE, "a vector is no vector")
        if len(found) != len(batch):
            raise damaged(folder / DATABASE, "a vector is missing")
        rows += found
    values = np.frombuffer(b"".join([row[:size] for row in rows]), dtype="<f2")
    return values.reshape(-1, dimension), [row[size:] for row in rows]
