"""Documents in the database: storing them whole, reading parts of them, forgetting them.

Every function runs inside the caller's transaction. An edition (one document under one recipe) never changes once
stored; only its ``current`` mark does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from idc_local.errors import StoreError
from idc_local.indexed import IndexedDocument
from idc_local.store.caches import use_intents
from idc_local.store.codec import (
    TOGETHER,
    chunk_order,
    count_terms,
    encode_array,
    encode_chunk,
    encode_document,
    encode_json,
    encode_sentences,
    encode_text,
    hash_terms,
    slices,
    view_array,
)
from idc_local.store.layout import DATABASE, damaged
from idc_local.store.schema import Database, Sealing, check_seal, edition_identity, seal
from idc_local.store.vectorcache import release_vectors, store_vectors, use_vectors
from idc_local.types import IntArray, Vectors

INTEGERS = "<i8"
SHORTS = "<i4"
FLOATS = "<f4"
WORDS = "<u4"
HALVES = "<f2"


@dataclass(frozen=True, slots=True)
class Edition:
    """One document under one recipe, and how much it holds."""

    id: int
    document: str
    recipe: str
    current: bool
    media_type: str
    language: str
    chunks: int
    sentences: int
    intents: int


def _edition_seal(document: str, recipe: str, facts: Sequence[str | int]) -> bytes:
    return seal(edition_identity(document, recipe), encode_json(list(facts)))


def put_edition(db: Database, indexed: IndexedDocument) -> int:
    """Stores a document and makes it the current edition; the number of the edition."""
    document, recipe = indexed.document.id, indexed.recipe
    _check_vectors(indexed)
    db.execute("UPDATE editions SET current = 0 WHERE document = ? AND current = 1", (document,))
    counts = (len(indexed.chunks), len(indexed.sentences), len(indexed.intents))
    facts = (indexed.document.media_type, indexed.language, *counts)
    row = db.execute(
        """INSERT INTO editions(document, recipe, current, media_type, language, chunks, sentences, intents, seal)
           VALUES(?, ?, 1, ?, ?, ?, ?, ?, ?)""",
        (document, recipe, *facts, _edition_seal(document, recipe, facts)),
    )
    number = int(row.lastrowid or 0)
    order = chunk_order(indexed)
    owner = np.argsort(order, kind="stable")[indexed.intent_chunk] if len(indexed.intents) else indexed.intent_chunk
    intent_order = np.argsort(owner, kind="stable")
    use_intents(db, number, indexed.intent_keys)
    _put_chunks(db, number, indexed, order, owner)
    for name, data in _parts(indexed, order):
        _put_part(db, number, indexed, name, data)
    vectors = _put_vectors(db, indexed, intent_order)
    for name, data in (vectors | {"intent_chunk": encode_array(owner[intent_order], INTEGERS)}).items():
        _put_part(db, number, indexed, name, data)
    return number


def _check_vectors(indexed: IndexedDocument) -> None:
    for vectors in (indexed.sentence_vectors, indexed.chunk_vectors, indexed.intent_vectors):
        if not all(np.isfinite(part).all() for part in slices(vectors)):
            raise StoreError(
                f"{indexed.document.path}: a vector holds values that are no numbers", hint="idc-local doctor"
            )


def _put_part(db: Database, edition: int, indexed: IndexedDocument, name: str, data: bytes | memoryview) -> None:
    own = seal(edition_identity(indexed.document.id, indexed.recipe), name.encode(), data)
    db.execute("INSERT INTO parts(edition, name, data, seal) VALUES(?, ?, ?, ?)", (edition, name, data, own))


def _put_chunks(db: Database, edition: int, indexed: IndexedDocument, order: IntArray, owner: IntArray) -> None:
    identity = edition_identity(indexed.document.id, indexed.recipe)
    for ordinal, place in enumerate(order.tolist()):
        mine = [indexed.intents[number] for number in np.flatnonzero(owner == ordinal)]
        data = encode_chunk(indexed.chunks[place], mine)
        own = seal(identity, b"chunk", str(ordinal).encode(), data)
        db.execute("INSERT INTO chunks(edition, ordinal, data, seal) VALUES(?, ?, ?, ?)", (edition, ordinal, data, own))


def _parts(indexed: IndexedDocument, order: IntArray) -> Iterator[tuple[str, bytes | memoryview]]:
    """What is stored in one piece, by name; each is made when it is asked for."""
    places = order.tolist()
    # The largest first: it is copied by the database while nothing else of its size is there.
    ordered = np.array_equal(order, np.arange(order.shape[0]))
    yield "chunk_vectors", view_array(indexed.chunk_vectors if ordered else indexed.chunk_vectors[order], FLOATS)
    yield "text", encode_text(indexed.document.text)
    yield "document", encode_document(indexed.document, indexed.language)
    yield "sentences", encode_sentences(indexed.sentences)
    yield "chunk_ids", b"".join(bytes.fromhex(indexed.chunks[place].id) for place in places)
    spans = np.array([(indexed.chunks[place].start, indexed.chunks[place].end) for place in places])
    yield "chunk_spans", encode_array(spans, INTEGERS)
    yield "ranges", encode_array(indexed.ranges.reshape(-1, 2)[order], INTEGERS)
    vocabulary, postings, lengths = count_terms([indexed.terms[place] for place in places])
    yield "vocabulary", encode_json(vocabulary)
    yield "postings", view_array(postings, SHORTS)
    yield "lengths", encode_array(lengths, INTEGERS)
    yield "chunk_headings", encode_array(indexed.headings.of_chunk[order], INTEGERS)
    hashes, held = hash_terms(indexed.sentence_terms)
    yield "term_hashes", encode_array(hashes, WORDS)
    yield "term_counts", encode_array(held, INTEGERS)


def _put_vectors(db: Database, indexed: IndexedDocument, intent_order: IntArray) -> dict[str, bytes]:
    """Stores the vectors that are new and counts their use; what the edition needs to find them again."""
    sealing, tokens = Sealing(), Sealing()
    sizes = [np.zeros(0, dtype=np.int64)]

    def codes_of(first: int, last: int) -> Sequence[bytes]:
        codes = indexed.token_codes(first, last)
        tokens.add(b"".join(codes))
        sizes.append(np.array([len(code) for code in codes], dtype=np.int64))
        return codes

    def put(vectors: Vectors, codes: Callable[[int, int], Sequence[bytes]]) -> IntArray:
        sealing.begin(np.dtype(HALVES).itemsize * vectors.size)
        numbers = [np.zeros(0, dtype=np.int64)]
        for start in range(0, len(vectors), TOGETHER):
            part = vectors[start : start + TOGETHER]
            sealing.add(view_array(part, HALVES))
            numbers.append(store_vectors(db, part, codes(start, start + len(part))))
        return np.concatenate(numbers)

    sentences = put(indexed.sentence_vectors, codes_of)
    intents = put(indexed.intent_vectors[intent_order], lambda first, last: ())
    headings = store_vectors(db, indexed.headings.vectors, indexed.headings.codes)
    use_vectors(db, np.concatenate([sentences, intents, headings]))
    return {
        "heading_vectors": encode_array(headings, INTEGERS),
        "heading_seal": seal(view_array(indexed.headings.vectors, HALVES), *indexed.headings.codes),
        "sentence_vectors": encode_array(sentences, INTEGERS),
        "intent_vectors": encode_array(intents, INTEGERS),
        "vector_seal": sealing.finish(),
        "token_sizes": encode_array(np.concatenate(sizes), INTEGERS),
        "token_seal": tokens.finish(),
    }


def read_part(folder: Path, db: Database, edition: Edition, name: str) -> bytes:
    """One part of an edition.

    Raises:
        StoreCorrupt: it is not what was stored.
    """
    row = db.execute("SELECT data, seal FROM parts WHERE edition = ? AND name = ?", (edition.id, name)).fetchone()
    if row is None:
        raise damaged(folder / DATABASE, f"{name} of document {edition.document[:8]} is missing")
    check_seal(folder, row[1], edition_identity(edition.document, edition.recipe), name.encode(), row[0])
    return bytes(row[0])


def read_array(folder: Path, db: Database, edition: Edition, name: str) -> npt.NDArray[Any]:
    """One part of an edition that holds an array, flat."""
    dtype = {"chunk_vectors": FLOATS, "postings": SHORTS, "term_hashes": WORDS}.get(name, INTEGERS)
    return np.frombuffer(read_part(folder, db, edition, name), dtype=dtype)


def read_chunk(folder: Path, db: Database, edition: Edition, ordinal: int) -> bytes:
    """One chunk of an edition, encoded.

    Raises:
        StoreCorrupt: it is not what was stored.
    """
    row = db.execute(
        "SELECT data, seal FROM chunks WHERE edition = ? AND ordinal = ?", (edition.id, ordinal)
    ).fetchone()
    if row is None:
        raise damaged(folder / DATABASE, f"a chunk of document {edition.document[:8]} is missing")
    identity = edition_identity(edition.document, edition.recipe)
    check_seal(folder, row[1], identity, b"chunk", str(ordinal).encode(), row[0])
    return bytes(row[0])


def read_editions(folder: Path, db: Database) -> Iterator[Edition]:
    """All editions by number.

    Raises:
        StoreCorrupt: one is not what was stored.
    """
    for edition, sound in all_editions(db):
        if not sound:
            raise damaged(folder / DATABASE, "a document does not fit its checksum")
        yield edition


def all_editions(db: Database) -> list[tuple[Edition, bool]]:
    """All editions by number, each with whether it is what was stored."""
    query = """SELECT id, document, recipe, current, media_type, language, chunks, sentences, intents, seal
               FROM editions ORDER BY id"""
    return [
        (Edition(number, document, recipe, bool(current), *facts), _is_sound(document, recipe, facts, own))
        for number, document, recipe, current, *facts, own in db.execute(query)
    ]


def _is_sound(document: object, recipe: object, facts: Sequence[object], own: object) -> bool:
    """True where a row is what was stored; damage can change even the type of a value."""
    texts = [value for value in (document, recipe, *facts[:2]) if isinstance(value, str)]
    counts = [value for value in facts[2:] if isinstance(value, int)]
    whole = len(texts) == 4 and len(counts) == 3
    return whole and _edition_seal(texts[0], texts[1], [*texts[2:], *counts]) == own


def current_recipe(db: Database, document: str) -> str | None:
    """Recipe of the current edition of a document."""
    row = db.execute("SELECT recipe FROM editions WHERE document = ? AND current = 1", (document,)).fetchone()
    return None if row is None else str(row[0])


def retire_all(db: Database) -> None:
    """Leaves no document current."""
    db.execute("UPDATE editions SET current = 0")


def count_chunks(db: Database, edition: Edition) -> int:
    """Chunks of an edition that are there."""
    return int(db.execute("SELECT count(*) FROM chunks WHERE edition = ?", (edition.id,)).fetchone()[0])


def vector_numbers(folder: Path, db: Database, edition: Edition) -> list[int]:
    """Numbers of all vectors that an edition uses, each as often as it does."""
    names = ("sentence_vectors", "intent_vectors", "heading_vectors")
    return [number for name in names for number in read_array(folder, db, edition, name).tolist()]


def known_vectors(db: Database) -> dict[int, int]:
    """How often each vector is used, by number."""
    query = "SELECT v.id, coalesce(u.uses, 0) FROM vectors v LEFT JOIN vector_uses u USING (id)"
    return {number: uses for number, uses in db.execute(query)}


def delete_edition(folder: Path, db: Database, edition: Edition) -> None:
    """Removes an edition, and the vectors that no other edition uses."""
    release_vectors(db, np.array(vector_numbers(folder, db, edition), dtype=np.int64))
    drop_edition_rows(db, edition)


def drop_edition_rows(db: Database, edition: Edition) -> None:
    """Removes an edition, but leaves the counts of its vectors as they are."""
    db.execute("DELETE FROM editions WHERE id = ?", (edition.id,))
