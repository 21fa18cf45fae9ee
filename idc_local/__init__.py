"""Offline search over private documents: intent-driven chunking and an on-disk hybrid index.

>>> from idc_local import Chunker
>>> [chunk.text for chunk in Chunker(strategy="fixed").chunk("One sentence. Another one.")]
['One sentence. Another one.']
"""

from __future__ import annotations

__version__ = "0.1.0"
