"""Content hashes: the ids of documents and chunks, the keys of caches, the fingerprint of an index.

All are sha256 in hex. Pure: no I/O.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from idc_local.types import JsonValue

SHORT_ID = 8
"""Hex digits of an id as shown to people."""


def sha256_hex(data: bytes) -> str:
    """sha256 of ``data`` in hex."""
    return hashlib.sha256(data).hexdigest()


def canonical_json(value: JsonValue) -> str:
    """JSON with sorted keys and no white space: equal values give equal text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def parse_json(data: str | bytes) -> Any:  # noqa: ANN401  (any JSON value)
    """The value of JSON text; raises ValueError, also where it is nested too deeply to be read."""
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def digest(value: JsonValue) -> str:
    """sha256 of the canonical JSON of ``value``."""
    return sha256_hex(canonical_json(value).encode("utf-8", "surrogatepass"))


def document_id(media_type: str, data: bytes) -> str:
    """Id of a document: equal bytes read as the same media type are one document."""
    return sha256_hex(media_type.encode() + b"\0" + data)


def chunk_id(document: str, start: int, end: int, text: str) -> str:
    """Id of a chunk: its document, its span in code points, and its text."""
    return digest([document, start, end, text])


def vector_key(text: str) -> str:
    """Key of a text in the vector cache of one embedder: 32 hex digits (128 bits)."""
    return sha256_hex(text.encode("utf-8", "surrogatepass"))[:32]
