from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idc_local.errors import StoreCorrupt, StoreError
from idc_local.store.blocks import BlockFolder, BlockWriter
from idc_local.store.layout import FileEntry, sha256_file
from idc_local.store.vectors import CodeFile, VectorFile, best, exact_scores, write_codes, write_vectors
from idc_local.types import FloatArray


def unit(seed: int, count: int, dimension: int) -> FloatArray:
    values = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return np.asarray(values / np.linalg.norm(values, axis=1, keepdims=True), dtype=np.float32)


def saved(path: Path, values: FloatArray) -> VectorFile:
    path.parent.mkdir(exist_ok=True)
    writer = BlockWriter(path.parent)
    writer.write(path.name, lambda sink: write_vectors(sink.write, [values[:3], values[3:]], values.shape[1]))
    return opened(BlockFolder(path.parent, writer.finish()), path.name, *values.shape)


def opened(folder: BlockFolder, name: str, count: int, dimension: int) -> VectorFile:
    return VectorFile(folder.folder / name, count, dimension, folder.file(name))


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
        part = saved(tmp_path / str(start) / "b", values[start:]).top(query, 500, None)
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
    writer = BlockWriter(tmp_path)
    writer.write("x", lambda sink: write_vectors(sink.write, [unit(0, 4, 3)], 3))
    writer.write("y", lambda sink: sink.write(b"nothing of the kind, at some length"))
    folder = BlockFolder(tmp_path, writer.finish())
    for count, dimension in ((5, 2), (3, 3)):
        with pytest.raises(StoreCorrupt, match="x is damaged: it holds 4 vectors of 3 values"):
            opened(folder, "x", count, dimension).top(unit(1, 1, dimension)[0], 1, None)
    with pytest.raises(StoreCorrupt, match="x is damaged: it holds fewer than 9 vectors"):
        opened(folder, "x", 9, 3)
    with pytest.raises(StoreCorrupt, match="y is damaged: it is no vector index"):
        opened(folder, "y", 2, 3).top(unit(1, 1, 3)[0], 1, None)


def test_only_what_is_read_is_checked_and_all_that_is_read(tmp_path: Path) -> None:
    values = unit(4, 300, 384)
    saved(tmp_path / "x", values)
    place = (tmp_path / "x").stat().st_size - 200 * 384 * 4
    data = bytearray((tmp_path / "x").read_bytes())
    data[place] ^= 1
    (tmp_path / "x").write_bytes(data)
    entries = {name: FileEntry((tmp_path / name).stat().st_size, "") for name in ("x", "sums.bin")}
    entries["sums.bin"] = FileEntry(entries["sums.bin"].size, sha256_file(tmp_path / "sums.bin"))
    file = opened(BlockFolder(tmp_path, entries), "x", 300, 384)
    assert file.rows(np.array([299, 0])).tobytes() == values[[299, 0]].tobytes()
    allowed = np.zeros(300, dtype=np.bool_)
    allowed[250:] = True
    assert len(file.top(values[260], 3, allowed).positions) == 3
    for attempt in (lambda: file.rows(np.array([5, 100])), lambda: file.top(values[0], 3, None)):
        with pytest.raises(StoreCorrupt, match="x is damaged"):
            attempt()


def coded(path: Path, values: FloatArray) -> CodeFile:
    with path.open("wb") as file:
        write_codes(file.write, [values[:3], values[3:]], values.shape[1])
    return CodeFile(path, *values.shape)


@pytest.mark.parametrize("dimension", [5, 8, 384])
def test_the_score_of_a_code_depends_on_query_and_vector_alone(tmp_path: Path, dimension: int) -> None:
    values, query = unit(7, 200, dimension), unit(8, 1, dimension)[0]
    whole = coded(tmp_path / "whole", values).top(query, 200)
    by_place = dict(zip(whole.positions.tolist(), whole.scores.tolist(), strict=True))
    assert whole.complete
    assert sorted(by_place) == list(range(200))
    for start, stop in ((0, 7), (7, 100), (33, 200)):
        part = coded(tmp_path / "part", values[start:stop]).top(query, 50)
        found = {
            start + place: score for place, score in zip(part.positions.tolist(), part.scores.tolist(), strict=True)
        }
        assert found == {place: by_place[place] for place in found}
        expected = sorted((by_place[place] for place in range(start, stop)), reverse=True)[:50]
        assert sorted(part.scores.tolist(), reverse=True) == expected


def test_codes_find_the_nearest_whatever_a_model_does_with_single_dimensions(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((3000, 64)).astype(np.float32)
    values[:, 7] += 20
    values[:, 3] = 0
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    file = coded(tmp_path / "codes", values)
    for number in range(20):
        exact = np.argsort(-(values @ values[number]))[:10]
        assert len(set(exact) & set(file.top(values[number], 300).positions.tolist())) >= 9


def test_no_codes(tmp_path: Path) -> None:
    found = coded(tmp_path / "x", np.zeros((0, 4), dtype=np.float32)).top(unit(0, 1, 4)[0], 3)
    assert (found.positions.tolist(), found.complete) == ([], True)


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
