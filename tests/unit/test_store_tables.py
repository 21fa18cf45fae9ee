from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idc_local.store.blocks import BlockFolder, BlockWriter
from idc_local.store.records import Edition
from idc_local.store.tables import Documents, Placed, Sources, write_documents, write_sources
from idc_local.types import SourceRecord
from tests.store_documents import MEMORY

NAMES = st.text(st.characters(), min_size=1, max_size=5)
DOCUMENTS = st.lists(
    st.tuples(NAMES, st.sampled_from(["en", "de", "zh"]), st.lists(NAMES, min_size=1, max_size=3), st.integers(0, 9)),
    max_size=8,
    unique_by=lambda document: document[0],
)


@settings(max_examples=40, deadline=None)
@given(values=DOCUMENTS)
def test_documents_come_back_and_are_found(values: list[tuple[str, str, list[str], int]]) -> None:
    placed = [
        Placed(Edition(7 + n, name, f"r{n % 2}", True, "text/plain", language, count, 2, 3), n % 3, n, tuple(paths))
        for n, (name, language, paths, count) in enumerate(values)
    ]
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        writer = BlockWriter(Path(name))
        write_documents(writer, placed)
        documents = Documents(BlockFolder(Path(name), writer.finish()))
        assert len(documents) == len(placed)
        for number, document in enumerate(placed):
            assert documents.edition(number) == document.edition
            assert documents.paths(number) == document.paths
            assert documents.find(document.edition.document) == number
            assert documents.table[number, 1:4].tolist() == [document.segment, document.first, document.edition.chunks]
        assert documents.find("no such document") is None


@settings(max_examples=40, deadline=None)
@given(paths=st.sets(NAMES, max_size=8))
def test_sources_come_back_in_order(paths: set[str]) -> None:
    record = SourceRecord("", 5, 2**62, "ab", "cd", "utf-8", 'a "reason"', "hint", "/root")
    records = {path: replace(record, path=path) for path in paths}
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        writer = BlockWriter(Path(name))
        write_sources(writer, records)
        sources = Sources(BlockFolder(Path(name), writer.finish()))
        assert dict(sources) == records
        assert list(sources) == sorted(paths)
        assert len(sources) == len(paths)
        assert "no such path" not in sources
        assert sources.get("no such path") is None
        with pytest.raises(KeyError):
            sources["no such path"]
