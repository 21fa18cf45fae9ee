"""``chunk``: cut one file into passages, without an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idc_local.cli.output import Result
from idc_local.cli.parameters import (
    intents_option,
    objective_option,
    source_argument,
    strategy_option,
    target_option,
)
from idc_local.cli.render import chunk_lines, cut_lines
from idc_local.cli.schema import BRIEF_COLUMNS, CHUNK_COLUMNS, chunk_item, cut_item, document_item
from idc_local.cli.session import Command, Session, examples
from idc_local.cli.terminal import Screen

if TYPE_CHECKING:
    from idc_local.pipeline import CutDocument


@dataclass(frozen=True, slots=True)
class ChunkArguments:
    """What was typed."""

    source: Path
    explain: bool


@click.command(
    "chunk",
    cls=Command,
    options=ChunkArguments,
    epilog=examples(
        "idc-local chunk manual.md",
        "idc-local chunk manual.md --explain",
        "idc-local chunk manual.md --strategy fixed --format jsonl",
        "cat letter.txt | idc-local chunk - --strategy paragraph",
    ),
)
@source_argument
@strategy_option
@objective_option
@intents_option
@target_option
@click.option("--explain", is_flag=True, help="Show why each cut was made, and the next-best place for it.")
def chunk_command(session: Session, options: ChunkArguments) -> None:
    """Cut one file (- for standard input) into passages.

    Passages hold whole sentences, and their texts joined are the text of the file (save for `--strategy sliding`,
    where they overlap).
    """
    session.expect(chunks=[])
    cut = session.runtime.chunk(options.source, session.index_options(), explain=options.explain)
    session.close()
    session.emit(chunk_result(cut, session.settings.strategy, explain=options.explain))
    if options.explain and len(cut.chunks) > 1 and not cut.segmentation.reasons:
        session.note(f"the strategy {session.settings.strategy} gives no reasons for its cuts")
    for warning in cut.document.warnings:
        session.note(f"note: {cut.document.path}: {warning}")


def chunk_result(cut: CutDocument, strategy: str, *, explain: bool) -> Result:
    """The passages of one file in all formats."""
    reasons = _reasons(cut) if explain else {}
    items = [
        chunk_item(chunk) | ({"cut": reasons.get(number)} if explain else {}) for number, chunk in enumerate(cut.chunks)
    ]
    value = {
        "document": document_item(cut.document),
        "strategy": strategy,
        "score": cut.segmentation.score,
        "chunks": items,
    }

    def text(screen: Screen) -> Iterator[str]:
        for number, chunk in enumerate(cut.chunks):
            if number in reasons:
                yield from cut_lines(reasons[number], screen)
            yield from chunk_lines(chunk, screen, number=number + 1)

    return Result(value, items, CHUNK_COLUMNS, text, brief=BRIEF_COLUMNS)


def _reasons(cut: CutDocument) -> Mapping[int, dict[str, Any]]:
    """For each chunk that starts with a cut, why; places as lines of the source."""
    firsts = {int(first): number for number, (first, _) in enumerate(cut.segmentation.ranges.tolist())}
    found: dict[int, dict[str, Any]] = {}
    for reason in cut.segmentation.reasons:
        number = firsts[reason.sentence]
        item = cut_item(reason, cut.chunks[number])
        item["alternative_line"] = None
        if reason.alternative is not None:
            item["alternative_line"] = cut.document.line_at(int(cut.sentences.starts[reason.alternative]))
        found[number] = item
    return found
