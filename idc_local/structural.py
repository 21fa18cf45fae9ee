"""Segmentation by size and structure alone: fixed, sliding, paragraph, recursive. No vectors are needed.

Documents have a sentence at least: ``strategies.run_strategy`` sees to those that have none.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

import numpy as np

from idc_local.dp import Band, Float64Array, Units, build_units, ranges_of, solve
from idc_local.segment import StrategyOptions
from idc_local.types import IntArray, Limits, Segmentation, SegmentInput, Sentences, Structure

_LINE = 1
_PARAGRAPH = 2
_HEADING = 3
_LEVELS = 6
_GAP = 80
"""Characters before a sentence in which a line break is looked for."""


def segment_fixed(data: SegmentInput, text: str, limits: Limits, options: StrategyOptions) -> Segmentation:
    """Whole sentences, as many as come nearest to the target, or ``options.sentences`` of them.

    Six sentences are the fixed baseline of arXiv 2602.14784.
    """
    units = build_units(data.sentences, limits)
    size, target = _measure(units, limits, options)
    lowest: list[int] = units.lowest.tolist()
    cuts = [0]
    while cuts[-1] < len(units):
        cuts.append(_reach(lowest, size, cuts[-1], target))
    return Segmentation(ranges_of(units, np.array(cuts, dtype=np.int64)))


def segment_sliding(data: SegmentInput, text: str, limits: Limits, options: StrategyOptions) -> Segmentation:
    """Windows of the target size, or of ``options.sentences``, that move on by half their size and so overlap.

    Six sentences with stride three are the sliding baseline of arXiv 2602.14784.
    """
    units = build_units(data.sentences, limits)
    size, target = _measure(units, limits, options)
    lowest: list[int] = units.lowest.tolist()
    windows: list[tuple[int, int]] = []
    start = last = 0
    while last < len(units):
        end = _reach(lowest, size, start, target)
        if end <= last:
            # The limits cut this window short: it would only repeat the end of the one before.
            start += 1
            continue
        windows.append((start, end))
        last = end
        start = min(bisect_left(size, size[start] + target / 2, start + 1), end)
    edges = units.bounds[np.array(windows, dtype=np.int64).reshape(-1, 2)]
    return Segmentation(edges)


def _measure(units: Units, limits: Limits, options: StrategyOptions) -> tuple[list[int], float]:
    """Size before each unit, u + 1 values, and the target, both in characters or both in sentences."""
    if options.sentences is None:
        return units.chars.tolist(), float(limits.target_chars)
    return units.bounds.tolist(), float(options.sentences)


def _reach(lowest: list[int], size: list[int], start: int, target: float) -> int:
    """End of the chunk from ``start`` whose size is nearest to the target (the shorter of two) and within limits."""
    goal = size[start] + target
    end = min(max(bisect_left(size, goal, start + 1), start + 1), len(size) - 1)
    if end - 1 > start and goal - size[end - 1] <= size[end] - goal:
        end -= 1
    while lowest[end] > start:
        end -= 1
    return end


class CutCosts:
    """An objective that only counts what cuts cost; with barriers it finds the cheapest cuts that hold the limits."""

    def __init__(self, costs: Float64Array) -> None:
        self.cuts = {"cost": -costs}

    def gains(self, band: Band) -> dict[str, Float64Array]:
        """Chunks earn nothing."""
        return {}


def hold_limits(units: Units, cuts: IntArray, costs: Float64Array) -> IntArray:
    """Add to ``cuts`` the cuts of least total cost, float64 [u + 1] and positive, that the limits ask for."""
    return solve(units.with_barriers(cuts[1:-1]), CutCosts(costs))[0]


def _costs_inside_blocks(boundary: IntArray) -> Float64Array:
    """Cost of a cut before each unit, float64 [u + 1]: 1 at an item or line, 10 elsewhere inside a block."""
    return np.append(np.where(boundary == Structure.ITEM, 1.0, 10.0), 0.0)


def segment_paragraph(data: SegmentInput, text: str, limits: Limits, options: StrategyOptions) -> Segmentation:
    """Blocks as chunks (the paragraph baseline of arXiv 2602.14784).

    Lists, tables and code count as one block each. Without ``options.sentences`` neighbours are merged, up to the
    target, but never across a heading. A block that breaks the limits is cut at items where it has any.
    """
    units = build_units(data.sentences, limits)
    boundary = data.sentences.boundary[units.bounds[:-1]]
    inner = np.flatnonzero(boundary[1:] >= Structure.PARAGRAPH) + 1
    cuts = np.concatenate([[0], inner, [len(units)]]).astype(np.int64)
    cuts = hold_limits(units, cuts, _costs_inside_blocks(boundary))
    if options.sentences is None:
        stops = set((np.flatnonzero(boundary >= Structure.HEADING)).tolist())
        cuts = np.array(_merged(units, cuts.tolist(), stops, limits.target_chars), dtype=np.int64)
    return Segmentation(ranges_of(units, cuts))


def _merged(units: Units, cuts: list[int], stops: set[int], target: int) -> list[int]:
    """Drop inner cuts, from the front, while chunks stay within the target and the limits; ``stops`` stay cuts."""
    kept = cuts[:1]
    for place in range(1, len(cuts)):
        last = place + 1 == len(cuts)
        if last or cuts[place] in stops or not _fits(units, kept[-1], cuts[place + 1], target):
            kept.append(cuts[place])
    return kept


def _fits(units: Units, start: int, end: int, target: int) -> bool:
    return bool(units.chars[end] - units.chars[start] <= target and units.lowest[end] <= start)


def segment_recursive(data: SegmentInput, text: str, limits: Limits, options: StrategyOptions) -> Segmentation:
    """Hierarchy of separators: heading levels, paragraphs, lines and items, sentences.

    What is too long is cut at its strongest kind of gap; pieces are merged again, from the front, as long as they
    stay within the target; pieces still too long are cut at the next kind. The scheme of LangChain's
    RecursiveCharacterTextSplitter and of text-splitter, over whole sentences. ``options.sentences`` counts each
    sentence as the document's mean length.
    """
    units = build_units(data.sentences, limits)
    target = limits.target_chars
    if options.sentences is not None:
        target = int(units.chars[-1] / units.bounds[-1] * options.sentences)
    strength = _strengths(data.sentences, units, text)
    cuts = [0]
    pending = [(0, len(units))]
    while pending:
        start, end = pending.pop()
        if end - start == 1 or _fits(units, start, end, target):
            cuts.append(end)
            continue
        inner = strength[start + 1 : end]
        places = start + 1 + np.flatnonzero(inner == inner.max())
        pieces = _merged(units, [start, *places.tolist(), end], set(), target)
        pending += list(pairwise(pieces))[::-1]
    return Segmentation(ranges_of(units, np.array(cuts, dtype=np.int64)))


def _strengths(sentences: Sentences, units: Units, text: str) -> IntArray:
    """Rank of the gap before each unit, int64 [u]: sentence 0, line or item 1, block 2, headings 3 (deepest) to 8."""
    firsts = units.bounds[:-1]
    boundary, level = sentences.boundary[firsts], sentences.level[firsts]
    strength = np.select(
        [boundary >= Structure.HEADING, boundary == Structure.PARAGRAPH, boundary == Structure.ITEM],
        [_HEADING + _LEVELS - np.clip(level, 1, _LEVELS), _PARAGRAPH, _LINE],
        0,
    ).astype(np.int64)
    for unit in np.flatnonzero(strength == 0).tolist():
        start = int(sentences.starts[firsts[unit]])
        before = text[max(0, start - _GAP) : start]
        gap = before[len(before.rstrip()) :]
        strength[unit] = _LINE if "\n" in gap or "\r" in gap else 0
    return strength
