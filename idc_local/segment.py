"""Intent-driven segmentation: one exact dynamic program, two objectives, and the options that strategies share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from idc_local.errors import UsageError
from idc_local.segment_calibrated import SegmentWeights, segment_calibrated
from idc_local.segment_paper import PaperParams, segment_paper
from idc_local.types import BoolArray, Limits, Segmentation, SegmentInput, Sentences

__all__ = [
    "OBJECTIVES",
    "PaperParams",
    "SegmentWeights",
    "StrategyOptions",
    "segment_calibrated",
    "segment_intent",
    "segment_paper",
]

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
    if options.objective == "calibrated":
        told = replace(data, lead_ins=lead_ins(data.sentences, text))
        return segment_calibrated(told, limits, options.weights, explained=options.explain)
    raise UsageError(f"unknown objective {options.objective!r}", hint=f"choose one of {', '.join(OBJECTIVES)}")


def lead_ins(sentences: Sentences, text: str) -> BoolArray:
    """Bool [n]: True where a sentence ends with a colon, white space aside."""
    bounds = zip(sentences.starts.tolist(), sentences.ends.tolist(), strict=True)
    return np.array([text[start:end].rstrip().endswith((":", "\uff1a")) for start, end in bounds], dtype=np.bool_)
