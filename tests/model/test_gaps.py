"""The threshold of gaps with the real embedder: most of the sample's questions pass, and few that are foreign to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from idc_local.config import load_settings
from idc_local.gaps import find_gaps
from idc_local.indexing import IndexOptions
from idc_local.runtime import Runtime
from idc_local.sample import sample_folder, sample_questions
from idc_local.searching import Searcher
from idc_local.types import Query

pytestmark = pytest.mark.model

FOREIGN = (
    "What did the king tell the huntsmen to do to the beast?",
    "How much did The Broadway League claim to make in tickets?",
    "Which drugs lower the risk of a stroke in old age?",
    "Who won the cup final in 1966?",
    "How many moons does Jupiter have?",
    "Why is the sky blue at noon?",
)


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory, models_folder: Path) -> Iterator[Searcher]:
    made = Runtime(load_settings({"index": tmp_path_factory.mktemp("sample") / "index", "models": models_folder}))
    made.index([sample_folder()], IndexOptions(intents="off"))
    with made.searcher() as opened:
        yield opened


def test_own_questions_pass_and_foreign_ones_are_gaps(searcher: Searcher) -> None:
    own = [Query(question.query) for question in sample_questions()]
    assert len(list(find_gaps(searcher, own))) <= 9
    foreign = [Query(question) for question in FOREIGN]
    assert len(list(find_gaps(searcher, foreign))) >= 4
