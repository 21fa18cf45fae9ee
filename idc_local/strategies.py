"""Every way to segment a document, behind one interface: arrays in, ranges out.

All respect the hard limits and glue; all save ``sliding`` partition the sentences.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from idc_local.c99 import segment_c99
from idc_local.cluster import segment_cluster
from idc_local.coherence import segment_coherence
from idc_local.errors import UsageError
from idc_local.segment import StrategyOptions, segment_intent
from idc_local.structural import segment_fixed, segment_paragraph, segment_recursive, segment_sliding
from idc_local.types import Limits, Segmentation, SegmentInput

Strategy = Callable[[SegmentInput, str, Limits, StrategyOptions], Segmentation]

STRATEGIES: dict[str, Strategy] = {
    "intent": segment_intent,
    "fixed": segment_fixed,
    "sliding": segment_sliding,
    "coherence": segment_coherence,
    "c99": segment_c99,
    "paragraph": segment_paragraph,
    "recursive": segment_recursive,
    "cluster": segment_cluster,
}
NEEDS_VECTORS: frozenset[str] = frozenset({"intent", "coherence", "c99", "cluster"})
"""Strategies that look at sentence vectors; the others accept vectors of shape [n, 0]."""
NEEDS_INTENTS: frozenset[str] = frozenset({"intent"})
"""Strategies that look at intents (none, m = 0, is a valid number of them)."""


def run_strategy(name: str, data: SegmentInput, text: str, limits: Limits, options: StrategyOptions) -> Segmentation:
    """Segment a document with the strategy of that name.

    Args:
        name: a key of ``STRATEGIES``.
        data: the document's sentences and, where the strategy needs them, vectors and intents.
        text: the extracted text that the sentences tile.
        limits: target and hard maxima of a chunk.
        options: objective, weights and sizes.

    Raises:
        UsageError: there is no such strategy, or it needs vectors and got none.
    """
    if name not in STRATEGIES:
        raise UsageError(f"unknown strategy {name!r}", hint=f"choose one of {', '.join(STRATEGIES)}")
    if not len(data.sentences):
        return Segmentation(np.zeros((0, 2), dtype=np.int64))
    if name in NEEDS_VECTORS and not data.vectors.shape[1]:
        others = ", ".join(other for other in STRATEGIES if other not in NEEDS_VECTORS)
        raise UsageError(f"strategy {name!r} needs sentence vectors", hint=f"choose one of {others}")
    return STRATEGIES[name](data, text, limits, options)
