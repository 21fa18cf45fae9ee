"""One generation: which documents it has under which paths, in which segments; building it and reading its tables.

Rows are chunks in order of (first path of the document, place in the document): a pure function of content.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from idc_local.store.blocks import BlockWriter
from idc_local.store.codec import expand
from idc_local.store.layout import SEGMENTS, FileEntry, Manifest, generation_folder, make_folder
from idc_local.store.records import Edition
from idc_local.store.segments import Segment, Truth, build_segment, segment_name
from idc_local.store.tables import CHUNKS, FIRST, SEGMENT, Placed, write_documents, write_sources
from idc_local.types import IntArray, SourceRecord

FULL = 1 << 17
"""Chunks from which on a segment is not merged any more; a new one holds at most so many."""

SMALL = 256
"""Segments of fewer chunks are always merged."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a generation is to hold.

    editions: by document, with their paths, in order of first path. sources: everything known of files.
    """

    editions: tuple[tuple[Edition, tuple[str, ...]], ...]
    sources: Mapping[str, SourceRecord]


def row_places(documents: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """int64 [n] each: for every row its document, its segment, and its chunk within that."""
    counts = documents[:, CHUNKS]
    owner = np.repeat(np.arange(documents.shape[0]), counts)
    return owner, documents[owner, SEGMENT], expand(documents[:, FIRST], counts)


def rows_of_chunks(places: tuple[IntArray, IntArray, IntArray], segments: Sequence[Segment]) -> list[IntArray]:
    """For each segment int64 [k]: the row of each of its chunks, -1 where the generation does without it."""
    _, numbers, chunks = places
    result = [np.full(segment.chunks, -1, dtype=np.int64) for segment in segments]
    for number, rows in enumerate(result):
        own = np.flatnonzero(numbers == number)
        rows[chunks[own]] = own
    return result


def open_segments(folder: Path, manifest: Manifest) -> list[Segment]:
    """The segments of the current generation, in order of number."""
    place = generation_folder(folder, manifest.generation)
    return [
        Segment(place / SEGMENTS / name, entries_below(manifest, f"{SEGMENTS}/{name}/"), manifest.dimension)
        for name in manifest.segments
    ]


def entries_below(manifest: Manifest, prefix: str) -> dict[str, FileEntry]:
    """Entries of the files right below ``prefix``, by name."""
    return {
        name.removeprefix(prefix): entry
        for name, entry in manifest.files.items()
        if name.startswith(prefix) and "/" not in name.removeprefix(prefix)
    }


def choose_segments(plan: Plan, old: Sequence[Segment]) -> tuple[list[int], list[Edition]]:
    """Which old segments to keep, by number, and which editions go into new ones.

    A segment goes when most of it is of no use any more, and when it is no more than twice as large as what is new:
    so sizes grow geometrically and each chunk is rewritten a logarithmic number of times.
    """
    wanted = {edition.id: edition for edition, _ in plan.editions}
    live = [sum(m.chunks for m in segment.members.values() if m.edition in wanted) for segment in old]
    kept = [number for number, segment in enumerate(old) if live[number] and live[number] * 2 >= segment.chunks]
    covered = {edition for number in kept for edition in old[number].members}
    fresh = sum(edition.chunks for edition in wanted.values() if edition.id not in covered)
    anything = any(edition not in covered for edition in wanted)
    for number in sorted(kept, key=lambda number: live[number]):
        if anything and live[number] <= max(2 * fresh, SMALL) and live[number] + fresh <= FULL:
            kept.remove(number)
            fresh += live[number]
    covered = {edition for number in kept for edition in old[number].members}
    return kept, [edition for edition, _ in plan.editions if edition.id not in covered]


def _parts(editions: Sequence[Edition]) -> Iterator[list[Edition]]:
    """The editions in runs of at most FULL chunks, at least one in each."""
    part: list[Edition] = []
    size = 0
    for edition in editions:
        if part and size + edition.chunks > FULL:
            yield part
            part, size = [], 0
        part.append(edition)
        size += edition.chunks
    if part:
        yield part


class GenerationBuilder:
    """Writes the files of one generation into an empty folder."""

    def __init__(self, truth: Truth, folder: Path) -> None:
        self._truth = truth
        self._folder = folder
        self._files: dict[str, FileEntry] = {}

    def build(self, plan: Plan, old: Sequence[Segment]) -> tuple[tuple[str, ...], dict[str, FileEntry]]:
        """Names of the segments and entries of all files; ``old`` are segments that may be kept."""
        kept, new = choose_segments(plan, old)
        segments = [old[number] for number in kept]
        for segment in segments:
            self._link(segment)
        segments.extend(self._new_segment(part) for part in _parts(new))
        self._write_tables(plan, segments)
        return tuple(segment.folder.name for segment in segments), self._files

    def _link(self, segment: Segment) -> None:
        """Shares the files of an older segment; copies them where the file system cannot."""
        place = self._folder / SEGMENTS / segment.folder.name
        make_folder(place)
        for name, entry in segment.entries.items():
            try:
                os.link(segment.folder / name, place / name)
            except OSError:
                shutil.copy2(segment.folder / name, place / name)
            self._files[f"{SEGMENTS}/{place.name}/{name}"] = entry

    def _new_segment(self, editions: Sequence[Edition]) -> Segment:
        place = self._folder / SEGMENTS / segment_name(editions)
        make_folder(place)
        entries = build_segment(self._truth, editions, place)
        self._files.update({f"{SEGMENTS}/{place.name}/{name}": entry for name, entry in entries.items()})
        return Segment(place, entries, self._truth.dimension)

    def _write_tables(self, plan: Plan, segments: Sequence[Segment]) -> None:
        home = {edition: (number, own.first) for number, s in enumerate(segments) for edition, own in s.members.items()}
        writer = BlockWriter(self._folder)
        write_documents(writer, [Placed(edition, *home[edition.id], paths) for edition, paths in plan.editions])
        write_sources(writer, plan.sources)
        self._files.update(writer.finish())
