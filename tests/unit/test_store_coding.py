"""Searching by codes first: near enough to exact, and the same whatever the history of the index."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from idc_local.store import Snapshot, Writer, coding
from tests.store_documents import FINGERPRINT, make_indexed, make_source, vector

QUERIES = [vector(f"query {number}") for number in range(8)]


@pytest.fixture(autouse=True)
def coded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes from the first chunk on, and a close look at few."""
    monkeypatch.setattr(coding, "CODED", 1)
    monkeypatch.setattr(coding, "AT_LEAST", 40)
    monkeypatch.setattr(coding, "CLOSELY", 2)


def put(writer: Writer, numbers: range) -> None:
    for number in numbers:
        indexed = make_indexed(f"Text {number}. It is so. Or not {number}. The same. The end.", f"{number:03d}.txt")
        writer.put_document(indexed)
        writer.put_source(make_source(indexed))
    writer.publish()


def lists(folder: Path) -> list[bytes]:
    with Snapshot.open(folder) as snapshot:
        found = [snapshot.dense(query, k) for query in QUERIES for k in (1, 7, 30)]
        return [part.tobytes() for pair in found for part in pair]


def test_lists_do_not_depend_on_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("idc_local.store.generation.SMALL", 4)
    with Writer.open(tmp_path / "grown", FINGERPRINT) as writer:
        for start, stop in ((0, 90), (90, 130), (130, 131), (131, 150), (150, 152)):
            put(writer, range(start, stop))
        for number in range(40):
            writer.drop_source(f"{number:03d}.txt")
        writer.publish()
    with Writer.open(tmp_path / "fresh", FINGERPRINT) as writer:
        put(writer, range(40, 152))
    with Snapshot.open(tmp_path / "grown") as snapshot:
        assert len(snapshot._segments) > 1
        assert any((rows < 0).any() for rows in snapshot._rows)
    assert lists(tmp_path / "grown") == lists(tmp_path / "fresh")


def test_lists_hold_the_best_with_exact_scores(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        put(writer, range(300))
    with Snapshot.open(tmp_path) as snapshot:
        vectors = snapshot.chunk_vectors(np.arange(snapshot.size)).astype(np.float64)
        shares = []
        for query in QUERIES:
            scores = (vectors * query.astype(np.float64)).sum(axis=1).astype(np.float32)
            found, rows = snapshot.dense(query, 20)
            assert found.tolist() == scores[rows].tolist()
            assert found.tolist() == sorted(found.tolist(), reverse=True)
            shares.append(np.isin(np.argsort(-scores, kind="stable")[:20], rows).mean())
        assert np.mean(shares) >= 0.98


def test_equal_codes_at_the_limit_are_all_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding, "AT_LEAST", 3)
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        put(writer, range(60))
    with Snapshot.open(tmp_path) as snapshot:
        ends = [row for row, chunk in enumerate(snapshot.chunks(range(snapshot.size))) if chunk.text == "The end."]
        assert len(ends) == 60
        assert snapshot.dense(vector("The end."), 2)[1].tolist() == ends[:2]


def test_filtered_lists_are_exact(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        put(writer, range(100))
    with Snapshot.open(tmp_path) as snapshot:
        allowed = np.arange(snapshot.size) % 3 == 0
        vectors = snapshot.chunk_vectors(np.arange(snapshot.size)).astype(np.float64)
        for query in QUERIES:
            scores = (vectors * query.astype(np.float64)).sum(axis=1).astype(np.float32)
            expected = [row for row in np.lexsort((np.arange(len(scores)), -scores)).tolist() if allowed[row]][:9]
            assert snapshot.dense(query, 9, allowed)[1].tolist() == expected
