"""What an index holds, in numbers. Layer 3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idc_local.store import Snapshot
from idc_local.types import SourceRecord


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """What an index holds."""

    folder: Path
    generation: int
    documents: int
    chunks: int
    sentences: int
    intents: int
    bytes: int
    fingerprint: Mapping[str, Any]
    sources: Mapping[str, SourceRecord]


def index_status(folder: Path) -> IndexStatus:
    """The figures of the index in ``folder``.

    Raises:
        StoreError: there is no index, or it is damaged.
    """
    with Snapshot.open(folder) as snapshot:
        counts = snapshot.counts
        return IndexStatus(
            folder=folder,
            generation=snapshot.generation,
            documents=counts["documents"],
            chunks=counts["chunks"],
            sentences=counts["sentences"],
            intents=counts["intents"],
            bytes=sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
            fingerprint=snapshot.fingerprint,
            sources=snapshot.sources(),
        )
