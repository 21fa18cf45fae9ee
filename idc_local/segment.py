"""Intent-driven segmentation: one exact dynamic program, two objectives, and the options that strategies share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from idc_local.errors import UsageError
from idc_local.segment_calibrated import SegmentWeights, segment_calibrated
from idc_local.segment_paper import PaperParams, segment_paper
from idc_local.types import BoolArray, Limits, Segmentation, SegmentInput, Sentences, Structure

__all__ = [
    "OBJECTIVES",
    "PaperParams",
    "SegmentWeights",
    "StrategyOptions",
    "segment_calibrated",
    "segment_intent",
    "segment_paper",
]

_COLONS = frozenset((":", "\uff1a"))
_COMMAS = frozenset((",", "\uff0c", "\u060c", "\u3001"))
OBJECTIVES = ("calibrated", "paper")


@dataclass(frozen=True, slots=True)
class StrategyOptions:
    """Options of ``run_strategy``.

    sentences: None: every strategy aims at ``Limits.target_chars``, so that they can be compared at one size.
        A number: the published form of each baseline, with that many sentences a chunk where it counts sentences.
    explain: give the reason for each cut, for the strategies that optimise one objective (``intent``).
    """

    objective: str = "calibrated"
    weights: SegmentWeights = field(default_factory=SegmentWeights)
    paper: PaperParams = field(default_factory=PaperParams)
    sentences: int | None = None
    explain: bool = False


def segment_intent(data: SegmentInput, text: str, limits: Limits, options: StrategyOptions) -> Segmentation:
    """Intent-driven dynamic chunking with the objective that the options name."""
    if options.objective == "paper":
        return segment_paper(data, limits, options.paper, explained=options.explain)
    if options.objective != "calibrated":
        raise UsageError(f"unknown objective {options.objective!r}", hint=f"choose one of {', '.join(OBJECTIVES)}")
    if is_short(data.sentences, limits):
        return Segmentation(np.array([[0, len(data.sentences)]], dtype=np.int64))
    told = replace(data, lead_ins=lead_ins(data.sentences, text))
    return segment_calibrated(told, limits, options.weights, explained=options.explain)


def is_short(sentences: Sentences, limits: Limits) -> bool:
    """True for a document that is no longer than the target and has no heading behind its beginning.

    It has too few gaps for any of them to stand out: cutting it would go by chance.
    """
    if not len(sentences):
        return False
    size = int(sentences.ends[-1] - sentences.starts[0])
    headings = np.flatnonzero(sentences.boundary >= Structure.HEADING)
    one_part = bool(np.all(sentences.glue[1 : int(headings[-1]) + 1])) if headings.size else True
    most = min(limits.target_chars, limits.max_chars)
    return one_part and size <= most and int(sentences.tokens.sum()) <= limits.max_tokens


def lead_ins(sentences: Sentences, text: str) -> BoolArray:
    """Bool [n]: True where a sentence ends with a colon, or with a comma before no further item, white space aside.

    A greeting ends with a comma; so do most items of a list and most lines of data, which may well be parted.
    """
    bounds = zip(sentences.starts.tolist(), sentences.ends.tolist(), strict=True)
    last = [text[start:end].rstrip()[-1:] for start, end in bounds]
    item = [*(sentences.boundary[1:] == Structure.ITEM).tolist(), True]
    found = [mark in _COLONS or (mark in _COMMAS and not more) for mark, more in zip(last, item, strict=False)]
    return np.array(found, dtype=np.bool_)
