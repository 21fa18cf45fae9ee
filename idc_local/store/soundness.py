"""Whether a stored document is what it should be: every span gives its text, every vector is a unit vector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from idc_local.fingerprint import chunk_id
from idc_local.store.codec import decode_chunk, decode_document, decode_sentences, decode_text, slices
from idc_local.store.layout import DATABASE, damaged
from idc_local.store.records import Edition, read_array, read_chunk, read_part
from idc_local.store.segments import Truth, edition_vectors, heading_codes
from idc_local.types import Vectors

UNIT = 2e-3
"""How far from 1 the length of a unit vector may be once its values are float16."""

OTHER_PARTS = (
    "vocabulary", "postings", "lengths", "ranges", "chunk_ids", "chunk_spans", "intent_chunk", "term_hashes",
    "term_counts", "token_sizes", "chunk_headings",
)  # fmt: skip


def check_edition(truth: Truth, edition: Edition) -> None:
    """Reads all of an edition.

    Raises:
        StoreCorrupt: a part is missing, is not what was stored, or does not fit the others.
    """
    _document(truth, edition)
    for name in OTHER_PARTS:
        read_part(truth.folder, truth.db, edition, name)
    if edition.current:
        _vectors(truth, edition)


def _document(truth: Truth, edition: Edition) -> None:
    folder, db = truth.folder, truth.db
    text = decode_text(read_part(folder, db, edition, "text"))
    decode_document(read_part(folder, db, edition, "document"), text)
    sentences = decode_sentences(read_part(folder, db, edition, "sentences"))
    tiled = len(sentences) == 0 or (
        sentences.starts[0] == 0
        and sentences.ends[-1] == len(text)
        and np.array_equal(sentences.ends[:-1], sentences.starts[1:])
    )
    if not tiled:
        raise damaged(folder / DATABASE, f"sentences of document {edition.document[:8]} do not tile its text")
    for ordinal in range(edition.chunks):
        chunk = decode_chunk(read_chunk(folder, db, edition, ordinal), "")
        span = text[chunk.start : chunk.end]
        if span != chunk.text or chunk.id != chunk_id(edition.document, chunk.start, chunk.end, span):
            raise damaged(folder / DATABASE, f"chunk {chunk.id[:8]} is not the text of its span")


def _vectors(truth: Truth, edition: Edition) -> None:
    def check(vectors: Vectors, codes: Sequence[bytes] = ()) -> None:
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
        if not np.all(np.abs(lengths - 1) < UNIT):
            raise damaged(
                truth.folder / DATABASE, f"document {edition.document[:8]} has vectors that are no unit vectors"
            )

    check(edition_vectors(truth, edition, check))
    heading_codes(truth, edition)
    for part in slices(read_array(truth.folder, truth.db, edition, "chunk_vectors").reshape(-1, truth.dimension)):
        check(part)
