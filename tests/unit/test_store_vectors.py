from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idc_local.errors import StoreCorrupt, StoreError
from idc_local.store.vectors import VectorFile, best, exact_scores, write_vectors
from idc_local.types import FloatArray


def unit(seed: int, count: int, dimension: int) -> FloatArray:
    values = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return np.asarray(values / np.linalg.norm(values, axis=1, keepdims=True), dtype=np.float32)


def saved(path: Path, values: FloatArray) -> VectorFile:
    with path.open("wb") as file:
        write_vectors(file.write, [values[:3], values[3:]], values.shape[1])
    return VectorFile(path, *values.shape)


@settings(max_examples=40, deadline=None)
@given(
    count=st.integers(1, 60),
    distinct=st.integers(1, 6),
    k=st.integers(0, 70),
    seed=st.integers(0, 9),
    masked=st.booleans(),
)
def test_candidates_are_all_that_reach_the_kth_score(
    tmp_path_factory: pytest.TempPathFactory, count: int, distinct: int, k: int, seed: int, masked: bool
) -> None:
    rng = np.random.default_rng(seed)
    values = unit(seed, distinct, 5)[rng.integers(0, distinct, count)]
    file = saved(tmp_path_factory.mktemp("v") / "x.faiss", values)
    query = unit(99, 1, 5)[0]
    allowed = rng.random(count) < 0.5 if masked else None
    found = file.top(query, k, allowed)
    scores = (values.astype(np.float64) * query.astype(np.float64)).sum(axis=1).astype(np.float32)
    places = np.arange(count) if allowed is None else np.flatnonzero(allowed)
    if k == 0 or not len(places):
        assert found.positions.tolist() == []
        return
    floor = np.sort(scores[places])[::-1][min(k, len(places)) - 1]
    expected = [place for place in places.tolist() if scores[place] >= floor]
    assert found.positions.tolist() == expected
    assert found.scores.tolist() == scores[expected].tolist()
    assert found.complete == (len(expected) == len(places))


def test_scores_do_not_depend_on_where_a_vector_lies(tmp_path: Path) -> None:
    values, query = unit(1, 500, 384), unit(2, 1, 384)[0]
    whole = saved(tmp_path / "a", values).top(query, 500, None)
    for start in (1, 7, 250):
        part = saved(tmp_path / f"b{start}", values[start:]).top(query, 500, None)
        assert part.scores.tobytes() == whole.scores[start:].tobytes()


def test_rows_are_those_that_were_written(tmp_path: Path) -> None:
    values = unit(3, 20, 7)
    np.testing.assert_array_equal(saved(tmp_path / "x", values).rows(np.array([19, 0, 3])), values[[19, 0, 3]])


def test_empty_file(tmp_path: Path) -> None:
    file = saved(tmp_path / "x", np.zeros((0, 4), dtype=np.float32))
    found = file.top(unit(0, 1, 4)[0], 3, None)
    assert (found.positions.tolist(), found.complete) == ([], True)
    assert file.rows(np.zeros(0, dtype=np.int64)).shape == (0, 4)


def test_what_is_no_vector_file_is_refused(tmp_path: Path) -> None:
    saved(tmp_path / "x", unit(0, 4, 3))
    with pytest.raises(StoreCorrupt, match="x is damaged: it holds 4 vectors of 3 values"):
        VectorFile(tmp_path / "x", 5, 3)
    (tmp_path / "y").write_bytes(b"nothing of the kind")
    with pytest.raises(StoreCorrupt, match="y is damaged"):
        VectorFile(tmp_path / "y", 5, 3)


def test_a_failing_write_keeps_its_reason() -> None:
    def full(data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_vectors(full, [unit(0, 4, 3)], 3)


def test_any_other_failure_is_an_error_of_the_store() -> None:
    def broken(data: bytes) -> int:
        raise RuntimeError("odd")

    with pytest.raises(StoreError, match="vectors cannot be written"):
        write_vectors(broken, [unit(0, 4, 3)], 3)


def test_best_sorts_by_score_then_row() -> None:
    scores, rows = best(np.array([1, 2, 2, 0], dtype=np.float32), np.array([5, 9, 3, 1]), 3)
    assert (scores.tolist(), rows.tolist()) == ([2, 2, 1], [3, 9, 5])
    assert best(scores, rows, 0)[1].tolist() == []


def test_exact_scores_of_large_dimensions() -> None:
    values, query = unit(5, 3, 4096), unit(6, 1, 4096)[0]
    np.testing.assert_allclose(exact_scores(values, query), values @ query, atol=1e-5)
