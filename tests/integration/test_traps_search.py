"""The trap files, indexed and searched: what must be found, what must be skipped, and which limits hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from idc_local.indexing import IndexOptions
from idc_local.queries import parse_query
from idc_local.store import Snapshot
from idc_local.types import Chunk, IndexReport
from tests.indexkit import Kit


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    return Kit(tmp_path_factory.mktemp("traps") / "index")


@pytest.fixture(scope="module")
def report(kit: Kit, shared_data: Path) -> IndexReport:
    return kit.add(shared_data / "traps", options=IndexOptions(intents="heuristic"))


def by_bm25(kit: Kit, query: str) -> list[Chunk]:
    """Chunks by BM25 alone, best first."""
    with Snapshot.open(kit.index) as snapshot:
        terms = parse_query(query, sorted(set(snapshot.languages))).terms
        return snapshot.chunks(snapshot.lexical(terms, 10)[1].tolist())


def chunks_of(kit: Kit, path: str) -> list[Chunk]:
    with Snapshot.open(kit.index) as snapshot:
        return snapshot.chunks([row for row in range(snapshot.size) if snapshot.paths[row] == path])


def text_of(kit: Kit, chunk: Chunk) -> str:
    with Snapshot.open(kit.index) as snapshot:
        return snapshot.document_text(chunk.document_id)


def test_the_binary_file_alone_is_skipped_and_named(report: IndexReport) -> None:
    assert [skip.path for skip in report.skipped] == ["binary.txt"]
    assert "binary" in report.skipped[0].reason
    assert report.empty == 1


@pytest.mark.parametrize(
    "query", ["1.0.21", "real-time", "max_retry_count", "E-4012", "C++", ".NET", "RFC-2616", "#775"]
)
def test_identifiers_come_first_by_bm25_alone(kit: Kit, report: IndexReport, query: str) -> None:
    assert by_bm25(kit, query)[0].path == "identifiers.md"


@pytest.mark.parametrize(
    ("query", "path", "encodings"),
    [("fünf", "latin1.txt", {"cp1252", "iso-8859-1", "latin-1"}), ("2.5 bar", "utf16.txt", {"utf-16", "utf-16-le"})],
)
def test_other_encodings_are_found_and_reported(
    kit: Kit, report: IndexReport, query: str, path: str, encodings: set[str]
) -> None:
    assert by_bm25(kit, query)[0].path == path
    with Snapshot.open(kit.index) as snapshot:
        assert snapshot.sources()[path].encoding.lower().replace("_", "-") in encodings


def test_chinese_is_found_by_bm25_alone(kit: Kit, report: IndexReport) -> None:
    assert by_bm25(kit, "浮球磨损")[0].path == "chinese.md"


def test_the_endless_line_is_cut_within_limits_and_between_words(kit: Kit, report: IndexReport) -> None:
    chunks = chunks_of(kit, "long_line.txt")
    limits = IndexOptions().limits
    assert "".join(chunk.text for chunk in chunks) == text_of(kit, chunks[0])
    assert all(chunk.tokens <= limits.max_tokens and len(chunk.text) <= limits.max_chars for chunk in chunks)
    assert {word for chunk in chunks for word in chunk.text.split()} == set(text_of(kit, chunks[0]).split())


@pytest.mark.parametrize("path", ["crlf.md", "repeats.txt"])
def test_each_chunk_stands_at_its_own_place(kit: Kit, report: IndexReport, shared_data: Path, path: str) -> None:
    source = (shared_data / "traps" / path).read_bytes().decode()
    chunks = chunks_of(kit, path)
    assert "".join(chunk.text for chunk in chunks) == source
    assert all(source[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert [chunk.start for chunk in chunks] == sorted({chunk.start for chunk in chunks})


def test_the_fence_is_whole_and_parts_of_the_table_know_its_header(kit: Kit, report: IndexReport) -> None:
    chunks = chunks_of(kit, "code_fence.md")
    (fence,) = [chunk for chunk in chunks if "```sh" in chunk.text]
    assert fence.text.count("```") == 2
    assert all("not a heading" not in chunk.heading for chunk in chunks)
    rows = [line for chunk in chunks for line in chunk.text.splitlines() if line.startswith("| part ")]
    assert len(rows) == 121
    assert all(line.endswith("|") for line in rows)
    parts = [chunk for chunk in chunks if "| part 1" in chunk.text and "| part | code |" not in chunk.text]
    assert parts
    assert all("| part | code |" in chunk.context for chunk in parts)


def test_hidden_parts_of_a_page_are_not_found(kit: Kit, report: IndexReport) -> None:
    (page,) = {text_of(kit, chunk) for chunk in chunks_of(kit, "page.html")}
    assert "secret" not in page
    assert "hidden note" not in page
    assert "Close the valve & wait." in page
    assert "Step one: power off." in page.splitlines()


def test_headings_without_text_lose_nothing(kit: Kit, report: IndexReport, shared_data: Path) -> None:
    source = (shared_data / "traps" / "headings_only.md").read_text()
    assert "".join(chunk.text for chunk in chunks_of(kit, "headings_only.md")) == source
