"""``intents``: the questions that a file, or a whole index, answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idc_local.cli.output import Result, number, to_json, write
from idc_local.cli.parameters import PathName, intents_option
from idc_local.cli.queries import read_queries
from idc_local.cli.schema import INTENT_COLUMNS, intent_item
from idc_local.cli.session import Command, Session, examples
from idc_local.cli.terminal import Screen, bold, dim, lines_of, safe
from idc_local.errors import UsageError

if TYPE_CHECKING:
    from idc_local.gaps import Gap
    from idc_local.types import Chunk, Document, Intent

GAP_COLUMNS = ("id", "question", "evidence", "path", "line", "chunk")


@dataclass(frozen=True, slots=True)
class IntentsArguments:
    """What was typed."""

    source: Path | None
    every: bool
    pairs: bool
    gaps: str | None


@click.command(
    "intents",
    cls=Command,
    options=IntentsArguments,
    epilog=examples(
        "idc-local intents handbook.md",
        "idc-local intents --all --format csv > faq.csv",
        "idc-local intents --all --pairs > pairs.jsonl",
        "idc-local intents notes.txt --intents heuristic",
        "idc-local intents --gaps questions.txt",
    ),
)
@click.argument("source", required=False, metavar="[FILE]", type=PathName(allow_dash=True))
@click.option("--all", "every", is_flag=True, help="The questions that are stored in the index.")
@click.option("--pairs", is_flag=True, help="Print training pairs: one JSON line with question and passage for each.")
@click.option(
    "--gaps",
    metavar="FILE",
    help="Print those questions of FILE (- for standard input; written as for `search --queries`) that no passage of "
    "the index answers well.",
)
@intents_option
def intents_command(session: Session, options: IntentsArguments) -> None:
    """Predict the questions that FILE (- for standard input) answers, each with its source passage and score.

    `--format csv` or `md` exports a list of frequently asked questions with their places. With `--gaps`, exit code 1
    says that there are some.
    """
    if options.gaps is not None and options.source is None and not options.every and not options.pairs:
        _gaps(session, options.gaps)
        return
    if options.gaps is not None or (options.source is None) == (not options.every):
        raise UsageError("give a FILE, --all or --gaps FILE", hint="idc-local intents FILE")
    session.expect(intents=[])
    items = _of_file(session, options.source) if options.source is not None else _of_index(session)
    session.close()
    if options.pairs:
        session.app.failure = None
        for item in items:
            write(to_json({"question": item["question"], "passage": item["passage"]}) + "\n")
    else:
        session.emit(Result({"intents": items}, items, INTENT_COLUMNS, lambda screen: _lines(items, screen)))
    if not items:
        session.note("no questions found")
        session.stop(1)


def _gaps(session: Session, file: str) -> None:
    """The questions of a file that are not answered well, each with the passage that comes nearest."""
    from idc_local.gaps import find_gaps
    from idc_local.types import Query

    session.expect(gaps=[])
    lines = read_queries(file)
    with session.runtime.searcher() as searcher:
        queries = [Query(line.text, line.filter, str(line.id)) for line in lines if line.text.strip()]
        found = list(find_gaps(searcher, queries))
    session.close()
    items = [_gap_item(gap) for gap in found]

    def text(screen: Screen) -> Iterator[str]:
        for item in items:
            near = f"nearest {item['path']}:{item['line']}" if item["path"] else "nothing near"
            told = f"{item['evidence']:.3f}  {safe(near)}"
            yield f"{safe(item['question'])}  {dim(told, screen)}"

    session.emit(Result({"asked": len(queries), "gaps": items}, items, GAP_COLUMNS, text))
    session.note(f"{len(items)} of {len(queries)} questions are not answered well")
    if items:
        session.stop(1)


def _gap_item(gap: Gap) -> dict[str, Any]:
    near = gap.nearest
    return {
        "id": gap.query.id,
        "question": gap.query.text,
        "evidence": number(gap.evidence),
        "path": near.path if near else "",
        "line": near.line_start if near else None,
        "chunk": near.id if near else "",
    }


def _of_file(session: Session, source: Path) -> list[dict[str, Any]]:
    cut = session.runtime.predict(source, session.index_options())
    return [_from_document(cut.document, intent) for intent in cut.predicted.intents]


def _of_index(session: Session) -> list[dict[str, Any]]:
    return [_from_chunk(chunk, intent) for chunk, intent in session.runtime.stored_intents()]


def _from_document(document: Document, intent: Intent) -> dict[str, Any]:
    start, end = intent.evidence
    return _item(intent) | {
        "path": document.path,
        "line": document.line_at(start),
        "heading": " > ".join(_headings(document, start)),
        "passage": document.text[intent.start : intent.end].strip(),
        "evidence_text": document.text[start:end].strip(),
    }


def _headings(document: Document, offset: int) -> Sequence[str]:
    """Heading path of the block at ``offset``, or of the last one before it."""
    before = [block for block in document.blocks if block.start <= offset]
    return before[-1].headings if before else ()


def _from_chunk(chunk: Chunk, intent: Intent) -> dict[str, Any]:
    start, end = intent.evidence
    return _item(intent) | {
        "path": chunk.path,
        "line": chunk.line_start,
        "heading": chunk.heading,
        "passage": chunk.text.strip(),
        "evidence_text": chunk.text[max(0, start - chunk.start) : max(0, end - chunk.start)].strip(),
        "chunk": chunk.id,
    }


def _item(intent: Intent) -> dict[str, Any]:
    """The question under the name that exports use, and everything that is known of it."""
    return {"question": intent.text, **intent_item(intent)}


def _lines(items: Sequence[dict[str, Any]], screen: Screen) -> Iterator[str]:
    for item in items:
        score = "" if item["score"] is None else f"{item['score']:.3f}"
        yield f"{bold(safe(item['path'] + ':' + str(item['line'])), screen)}  {score}  {item['origin']}"
        yield from lines_of(item["question"], screen, "   ")
