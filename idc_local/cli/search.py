"""``search``: one question, a file of them, or a dialogue, against the index."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from idc_local.cli.excerpts import Excerpt, excerpts
from idc_local.cli.output import Result, to_json, write
from idc_local.cli.progress import Quiet
from idc_local.cli.queries import QueryLine, read_queries
from idc_local.cli.render import hit_lines
from idc_local.cli.schema import BRIEF_COLUMNS, HIT_COLUMNS, flat_hit, hit_item
from idc_local.cli.session import Command, Session, examples, locating
from idc_local.cli.terminal import Screen
from idc_local.errors import UsageError
from idc_local.filters import parse_filter

if TYPE_CHECKING:
    from idc_local.searching import Searcher

UNSURE = "perhaps none of these passages answers the question"
EXPLAIN_COLUMNS = ("dense", "sentence", "intent", "bm25", "fused", "explain_tokens")


@dataclass(frozen=True, slots=True)
class SearchArguments:
    """What was typed. ``context`` counts lines, ``max_chars`` characters of all passages together."""

    query: str | None
    k: int
    filter: str
    explain: bool
    context: int
    max_chars: int | None
    queries: str | None


@click.command(
    "search",
    cls=Command,
    options=SearchArguments,
    epilog=examples(
        'idc-local search "When may the tenant end the lease?"',
        'idc-local search "pump pressure" -k 3 --explain',
        "idc-local search \"error E-4012\" --filter 'path:manuals/* -type:html'",
        'idc-local search "notice period" --format json --max-chars 4000',
        "idc-local search",
        "idc-local search --queries questions.txt > answers.jsonl",
    ),
)
@click.argument("query", required=False)
@click.option("-k", type=click.IntRange(min=1), default=5, show_default=True, metavar="N", help="Hits at most.")
@click.option("--filter", default="", metavar="EXPRESSION", help='Only passages that pass: path:GLOB, type:NAME, word, '
              '"a phrase"; a leading - excludes.')  # fmt: skip
@click.option("--explain", is_flag=True, help="Show what each signal gave to a hit.")
@click.option("--context", type=click.IntRange(min=0), default=0, metavar="N", help="Lines of the document around each "
              "passage.")  # fmt: skip
@click.option("--max-chars", type=click.IntRange(min=1), metavar="N", help="Characters of all passages together; the "
              "one that no longer fits is cut to its answer.")  # fmt: skip
@click.option("--queries", metavar="FILE", help="Ask many questions (- for standard input): one a line, or JSON Lines "
              "with id, query and optionally filter. Prints one JSON line for each, in order.")  # fmt: skip
def search_command(session: Session, options: SearchArguments) -> None:
    """Find the passages that answer QUERY.

    Every hit names its file and line, and carries the sentences that answer best. Exit code 1 says that nothing was
    found. Without a QUERY, in a terminal, a prompt answers question after question.
    """
    if options.query is None and options.queries is None and session.settings.format == "text":
        from idc_local.cli.prompt import converse, is_interactive

        if is_interactive():
            parse_filter(options.filter)
            converse(session, options)
            return
    if options.query is not None and options.queries is not None:
        raise UsageError("give a QUERY or --queries FILE, not both", hint="idc-local search --queries FILE")
    if options.query is None and options.queries is None:
        raise UsageError("give a QUERY or --queries FILE", hint='idc-local search "your question"')
    parse_filter(options.filter)
    if options.queries is None:
        _search_one(session, options, options.query or "")
    else:
        _search_many(session, options, options.queries)


def _search_one(session: Session, options: SearchArguments, text: str) -> None:
    session.expect(query=text, hits=[])
    if not text.strip():
        raise UsageError("the query is empty", hint='idc-local search "your question"')
    with session.runtime.searcher() as searcher:
        session.detail(f"{searcher.size} passages, generation {searcher.generation}")
        found = ask(session, searcher, text, options)
        spelling = searcher.misspelt(as_text(text))
    session.close()
    session.emit(search_result(text, found, explain=options.explain, spelling=spelling))
    if not found:
        session.note("nothing found: no passage passes the filter" if options.filter else "nothing found")
        session.stop(1)
    if spelling:
        session.note(respelt(spelling))
    if is_unsure(found):
        session.note(UNSURE)


def is_unsure(found: list[Excerpt]) -> bool:
    """True where something was found and perhaps none of it is the answer."""
    from idc_local.gaps import answered_well

    return bool(found) and not answered_well(excerpt.hit for excerpt in found)


def respelt(spelling: Mapping[str, str]) -> str:
    """What to tell of words of a query that are nowhere in the index, but for a slip."""
    unknown, known = (
        ", ".join(f'"{word}"' for word in words) for words in (spelling, dict.fromkeys(spelling.values()))
    )
    return f"no passage holds {unknown}: also looked for {known}"


def as_text(typed: str) -> str:
    """What was typed; halves of characters that were no text become replacement characters."""
    return typed.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def ask(
    session: Session, searcher: Searcher, text: str, options: SearchArguments, *, wanted: str = "", name: str = ""
) -> list[Excerpt]:
    """Hits of one query."""
    from idc_local.types import Query

    hits = searcher.search(Query(as_text(text), wanted or options.filter, name), options.k)
    return excerpts(hits, session.document_text, lines=options.context, budget=options.max_chars)


def excerpt_item(excerpt: Excerpt) -> dict[str, Any]:
    """A hit as shown: perhaps cut, perhaps with lines around it."""
    item = hit_item(excerpt.hit)
    if excerpt.truncated:
        item["truncated"] = True
    if excerpt.context is not None:
        item["before"], item["after"] = excerpt.context
    return item


def found_item(text: str, found: list[Excerpt], spelling: Mapping[str, str]) -> dict[str, Any]:
    """A query with its hits, and with what notes tell people of them."""
    hits = [excerpt_item(excerpt) for excerpt in found]
    return {"query": text, "hits": hits, "spelling": dict(spelling), "unsure": is_unsure(found)}


def search_result(text: str, found: list[Excerpt], *, explain: bool, spelling: Mapping[str, str]) -> Result:
    """The hits of one query in all formats."""
    value = found_item(text, found, spelling)
    items = value["hits"]

    def lines(screen: Screen) -> Iterator[str]:
        for excerpt in found:
            around, cut = excerpt.context or ("", ""), excerpt.truncated
            yield from hit_lines(excerpt.hit, screen, explain=explain, around=around, cut=cut)

    return Result(
        value=value,
        items=items,
        columns=HIT_COLUMNS + (EXPLAIN_COLUMNS if explain else ()),
        text=lines,
        rows=[flat_hit(item) for item in items],
        brief=("rank", "score", *(EXPLAIN_COLUMNS if explain else ()), *BRIEF_COLUMNS),
    )


def _search_many(session: Session, options: SearchArguments, file: str) -> None:
    if session.settings.format in ("csv", "md"):
        raise UsageError(f"--queries prints JSON lines, not {session.settings.format}", hint="leave --format out")
    session.app.failure = None
    queries = read_queries(file)
    hits = 0
    with session.runtime.searcher() as searcher:
        progress = Quiet() if sys.stdout.isatty() else session.progress
        progress.start("search", len(queries), "queries")
        for line in queries:
            found = _answer(session, searcher, line, options) if line.text.strip() else []
            hits += len(found)
            spelling = searcher.misspelt(as_text(line.text)) if line.text.strip() else {}
            write(to_json({"id": line.id, **found_item(line.text, found, spelling)}) + "\n")
            progress.advance()
        progress.finish()
    sys.stdout.flush()
    if not hits:
        session.note("nothing found")
        session.stop(1)


def _answer(session: Session, searcher: Searcher, line: QueryLine, options: SearchArguments) -> list[Excerpt]:
    with locating(line.where):
        return ask(session, searcher, line.text, options, wanted=line.filter, name=str(line.id))
