"""The sample corpus and its sixty questions with the real embedder, through the runtime: a golden search test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from idc_local.config import load_settings
from idc_local.errors import StoreMismatch
from idc_local.indexing import IndexOptions
from idc_local.runtime import Runtime
from idc_local.sample import SampleQuestion, sample_folder, sample_questions
from idc_local.searching import Searcher
from idc_local.types import Hit, Query

pytestmark = pytest.mark.model

AT_FIVE, AT_ONE = 43, 33
"""Of sixty questions, how many have their answer within the first five passages, and within the first."""


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory, models_folder: Path) -> Runtime:
    made = Runtime(load_settings({"index": tmp_path_factory.mktemp("sample") / "index", "models": models_folder}))
    report = made.index([sample_folder()], IndexOptions(intents="off"))
    assert (report.new, report.skipped, report.empty) == (12, (), 0)
    return made


@pytest.fixture(scope="module")
def searcher(runtime: Runtime) -> Iterator[Searcher]:
    with runtime.searcher() as opened:
        yield opened


def rank(question: SampleQuestion, hits: list[Hit]) -> int:
    """Place of the first passage of the right document that holds an answer; 99 where there is none."""
    fitting = (hit.rank for hit in hits if hit.chunk.path == question.path and holds(hit, question))
    return next(fitting, 99)


def holds(hit: Hit, question: SampleQuestion) -> bool:
    return any(answer in hit.chunk.text for answer in question.answers)


def test_sixty_questions_find_their_answers(searcher: Searcher) -> None:
    ranks = {question.id: rank(question, searcher.search(Query(question.query), 5)) for question in sample_questions()}
    assert len(ranks) == 60
    assert sum(place <= 5 for place in ranks.values()) >= AT_FIVE, ranks
    assert sum(place == 1 for place in ranks.values()) >= AT_ONE, ranks


def test_every_span_reproduces_its_text(runtime: Runtime, searcher: Searcher) -> None:
    for hit in searcher.search(Query("pump"), 200):
        text = runtime.document_text(hit.chunk.document_id)
        assert text[hit.chunk.start : hit.chunk.end] == hit.chunk.text
        assert text[hit.span.start : hit.span.end] == hit.span.text
        assert hit.source_sha256


def test_a_second_run_loads_no_model(runtime: Runtime) -> None:
    again = Runtime(runtime.settings)
    report = again.index([sample_folder()], IndexOptions(intents="off"))
    assert report.unchanged == 12
    assert not [name for name in again._loaded if not name.startswith("counter")]


def test_another_embedder_is_refused(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Runtime(runtime.settings)
    files = other.embedder_files()
    changed = type(files)(name="other", role=files.role, main=files.main, sha256={"x": "0"}, dimension=384)
    monkeypatch.setattr(other, "embedder_files", lambda: changed)
    with pytest.raises(StoreMismatch, match="made with"), other.searcher() as opened:
        opened.search(Query("pump"), 1)


def test_the_readme_shows_what_search_prints(searcher: Searcher) -> None:
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    query = re.findall(r'^\$ idc-local search "([^"]+)" --index .idc-sample -k 2$', readme, flags=re.MULTILINE)[0]
    header = r"^\d\.  (\S+):(\d+)  (?:answer in line (\d+)  )?([\d.]+)  \[(\w+)\]$"
    shown = re.findall(header, readme, flags=re.MULTILINE)
    hits = searcher.search(Query(query), 2)
    found = [(hit.chunk.path, hit.chunk.line_start, hit.chunk.id[:8]) for hit in hits]
    assert found == [(path, int(line), identity) for path, line, _, _, identity in shown]
    told = [str(hit.span.line_start) for hit in hits if hit.span.likely and hit.span.line_start != hit.chunk.line_start]
    assert told == [line for _, _, line, _, _ in shown if line]
    assert [hit.score for hit in hits] == pytest.approx([float(score) for _, _, _, score, _ in shown], abs=0.002)
