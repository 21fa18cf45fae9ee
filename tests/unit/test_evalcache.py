"""The cache on disk: what is kept comes back bit for bit, and damage costs no more than the work again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from idc_local.errors import InputError
from idc_local.evalcache import BATCH, EvaluationCache
from idc_local.ports import Completion


def rows(count: int) -> np.ndarray:
    return np.random.default_rng(count).standard_normal((count, 3)).astype(np.float16)


def parts(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_vectors_and_replies_come_back_as_they_were(tmp_path: Path) -> None:
    vectors = rows(2)
    cache = EvaluationCache(tmp_path / "deep" / "cache", "model")
    cache.put_vectors(["a", "b"], vectors)
    cache.put_intents({"w": Completion("Why?\nHow \ud800?", -0.25), "empty": Completion("", 0.0)})
    cache.flush()
    again = EvaluationCache(tmp_path / "deep" / "cache", "model")
    found = again.vectors(["b", "unknown", "a"])
    assert list(found) == ["b", "a"]
    assert (found["a"].tobytes(), found["b"].tobytes()) == (vectors[0].tobytes(), vectors[1].tobytes())
    assert again.intents(["w", "empty", "none"]) == {
        "w": Completion("Why?\nHow \ud800?", -0.25),
        "empty": Completion("", 0.0),
    }


def test_models_never_mix(tmp_path: Path) -> None:
    cache = EvaluationCache(tmp_path, "one")
    cache.put_vectors(["a"], rows(1))
    cache.flush()
    assert EvaluationCache(tmp_path, "two").vectors(["a"]) == {}


def test_replies_are_written_at_once_vectors_in_batches(tmp_path: Path) -> None:
    cache = EvaluationCache(tmp_path, "model")
    cache.put_vectors([str(number) for number in range(BATCH - 1)], rows(BATCH - 1))
    assert parts(tmp_path) == []
    cache.put_intents({"w": Completion("Why?", -0.5)})
    assert [path.suffix for path in parts(tmp_path)] == [".json"]
    cache.put_vectors(["last"], rows(1))
    assert [path.suffix for path in parts(tmp_path)] == [".json", ".npz"]
    cache.flush()
    assert len(parts(tmp_path)) == 2


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 cut off", b"{not json", b'["a list"]', b'{"w": 3}', b"\xff\xfe"])
def test_a_damaged_part_is_dropped_and_nothing_else(tmp_path: Path, damage: bytes) -> None:
    cache = EvaluationCache(tmp_path, "model")
    for key in ("a", "b"):
        cache.put_vectors([key], rows(1))
        cache.flush()
        cache.put_intents({key: Completion("Why?", -0.5)})
    for suffix in (".npz", ".json"):
        next(path for path in parts(tmp_path) if path.suffix == suffix).write_bytes(damage)
    again = EvaluationCache(tmp_path, "model")
    assert len(again.vectors(["a", "b"])) == 1
    assert len(again.intents(["a", "b"])) == 1
    assert len(parts(tmp_path)) == 2


def test_arrays_of_objects_are_never_loaded(tmp_path: Path) -> None:
    cache = EvaluationCache(tmp_path, "model")
    cache.put_vectors(["a"], rows(1))
    cache.flush()
    part = parts(tmp_path)[0]
    np.savez(part, keys=np.array(["a"]), vectors=np.array([{"harm": 1}], dtype=object))
    assert EvaluationCache(tmp_path, "model").vectors(["a"]) == {}


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="no cache can be kept there") as caught:
        EvaluationCache(tmp_path / "file", "model")
    assert "--cache" in caught.value.hint
