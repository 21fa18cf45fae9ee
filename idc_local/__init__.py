"""Offline search over private documents: intent-driven chunking and an on-disk hybrid index.

>>> from idc_local import Chunker
>>> [chunk.text for chunk in Chunker(strategy="fixed").chunk("One sentence. Another one.")]
['One sentence. Another one.']

The names are imported when they are first used, so that ``import idc_local`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from idc_local.api import Chunker, Index
    from idc_local.errors import IdcError
    from idc_local.indexing import IndexOptions
    from idc_local.types import Chunk, Hit, IndexReport, Intent, Limits, Query

__version__ = "0.1.0"

__all__ = [
    "Chunk",
    "Chunker",
    "Hit",
    "IdcError",
    "Index",
    "IndexOptions",
    "IndexReport",
    "Intent",
    "Limits",
    "Query",
    "__version__",
]

_HOMES = {
    "Chunker": "api",
    "Index": "api",
    "IdcError": "errors",
    "IndexOptions": "indexing",
    "Chunk": "types",
    "Hit": "types",
    "IndexReport": "types",
    "Intent": "types",
    "Limits": "types",
    "Query": "types",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
