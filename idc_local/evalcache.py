"""Vectors and replies that evaluations keep on disk between runs, outside any index.

A folder holds one part file for each batch of vectors (``vectors-<model>/<hash>.npz``) and for each batch of replies
(``replies/<hash>.json``). Parts are written whole or not at all; a damaged one is dropped and computed again.

Layer 2, edge. Nothing in a part is executed: arrays are read without pickle, replies as JSON.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from idc_local.errors import InputError
from idc_local.fingerprint import canonical_json, parse_json, sha256_hex
from idc_local.memory import MemoryCache
from idc_local.ports import Completion
from idc_local.types import HalfArray

BATCH = 2048
"""Vectors that are held back at most before they are written."""

T = TypeVar("T")


class EvaluationCache(MemoryCache):
    """The caches of one embedder (by its fingerprint) and of all generators (their keys name them) in a folder."""

    def __init__(self, folder: Path, embedder: str) -> None:
        super().__init__()
        self._vector_folder = folder / f"vectors-{sha256_hex(embedder.encode())[:16]}"
        self._reply_folder = folder / "replies"
        try:
            for place in (self._vector_folder, self._reply_folder):
                place.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            hint = "choose another folder with --cache"
            raise InputError(f"{folder}: no cache can be kept there ({error.strerror})", hint=hint) from error
        self._pending: dict[str, HalfArray] = {}
        self._read_parts()

    def put_vectors(self, keys: Sequence[str], vectors: HalfArray, codes: Sequence[bytes] = ()) -> None:
        """Keeps vectors, float16 [len(keys), d], and the codes of their tokens."""
        super().put_vectors(keys, vectors, codes)
        self._pending.update(zip(keys, vectors, strict=True))
        if len(self._pending) >= BATCH:
            self.flush()

    def put_intents(self, replies: Mapping[str, Completion]) -> None:
        """Keeps replies, at once: they are the costliest thing in here."""
        if not replies:
            return
        super().put_intents(replies)
        plain = {key: [reply.text, reply.confidence] for key, reply in replies.items()}
        content = canonical_json(plain).encode("utf-8", "surrogatepass")
        _replace(self._reply_folder / f"{sha256_hex(content)[:32]}.json", content)

    def flush(self) -> None:
        """Writes vectors that are held back."""
        if not self._pending:
            return
        keys = sorted(self._pending)
        name = sha256_hex("".join(keys).encode())[:32]
        target = self._vector_folder / f"{name}.npz"
        partial = self._vector_folder / f"{name}.{os.getpid()}.part"
        codes = [self._codes[key] for key in keys]
        with partial.open("wb") as out:
            np.savez(
                out,
                keys=np.array(keys),
                vectors=np.stack([self._pending[key] for key in keys]),
                codes=np.frombuffer(b"".join(codes), dtype=np.uint8),
                sizes=np.array([len(code) for code in codes], dtype=np.int64),
            )
        partial.replace(target)
        self._pending = {}

    def _read_parts(self) -> None:
        for path in sorted(self._vector_folder.glob("*.npz")):
            part = _read_or_drop(path, _vector_part)
            self._vectors.update((key, vector) for key, (vector, _) in part.items())
            self._codes.update((key, codes) for key, (_, codes) in part.items())
        for path in sorted(self._reply_folder.glob("*.json")):
            super().put_intents(_read_or_drop(path, _reply_part))


def _read_or_drop(path: Path, read: Callable[[Path], Mapping[str, T]]) -> dict[str, T]:
    """What a part holds; a part that cannot be read is removed."""
    try:
        return dict(read(path))
    except (OSError, ValueError, KeyError, EOFError, AttributeError, TypeError, zipfile.BadZipFile):
        path.unlink(missing_ok=True)
        return {}


def _vector_part(path: Path) -> Mapping[str, tuple[HalfArray, bytes]]:
    with path.open("rb") as source, np.load(source, allow_pickle=False) as part:
        keys, vectors, codes, sizes = part["keys"], part["vectors"], part["codes"].tobytes(), part["sizes"]
        if vectors.dtype != np.float16 or vectors.ndim != 2:
            raise ValueError("not float16 rows")
        ends = np.cumsum(sizes).tolist()
        if int(sizes.sum()) != len(codes):
            raise ValueError("codes are missing")
        own = [codes[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        return dict(zip(keys.tolist(), zip(vectors, own, strict=True), strict=True))


def _reply_part(path: Path) -> Mapping[str, Completion]:
    replies = parse_json(path.read_bytes().decode("utf-8", "surrogatepass"))
    return {str(key): Completion(str(text), float(confidence)) for key, (text, confidence) in replies.items()}


def _replace(target: Path, content: bytes) -> None:
    partial = target.with_suffix(f".{os.getpid()}.part")
    partial.write_bytes(content)
    partial.replace(target)
