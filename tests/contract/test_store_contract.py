"""What every index promises: results depend on its documents alone, and are those of a search by hand."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from idc_local.indexed import IndexedDocument
from idc_local.store import Snapshot, Writer, verify
from idc_local.types import BoolArray, FloatArray
from tests.store_documents import FINGERPRINT, MEMORY, make_indexed, make_source, vector, visible

TEXTS = (
    "The pump is blue. It runs at noon. Oil it weekly. Never open the lid. Call the plant.",
    "Alpha beta gamma. Gamma delta. Beta beta beta.",
    "One.",
    "",
    "浮球磨损。 更换浮球。 Emoji 🎉 here. Lone \ud800 surrogate. Nul \0 inside.\r\nLine two.",
    "The pump is blue. Same first sentence, other end.",
)
PATHS = ("a.txt", "b/ü.txt", "c.md", "d\udcff.txt")


def document(number: int, recipe: str) -> IndexedDocument:
    """One of the texts, cut in a way that depends on the recipe."""
    return make_indexed(TEXTS[number], recipe=recipe, size=1 + len(recipe) % 3, overlap=recipe == "long")


Step = tuple[str, int, int, str]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("put", "put", "put", "drop", "publish", "reopen")),
        st.integers(0, len(TEXTS) - 1),
        st.integers(0, len(PATHS) - 1),
        st.sampled_from(("r", "rr", "long")),
    ),
    max_size=12,
)


def play(folder: Path, steps: list[Step]) -> dict[str, tuple[int, str]]:
    """Carries out the steps; what each path holds in the end."""
    held: dict[str, tuple[int, str]] = {}
    recipes: dict[int, str] = {}
    writer = Writer.open(folder, FINGERPRINT)
    for kind, number, place, recipe in steps:
        path = PATHS[place]
        if kind == "put":
            indexed = document(number, recipe)
            writer.put_document(indexed)
            writer.put_source(make_source(indexed, path))
            held[path] = (number, recipe)
            recipes[number] = recipe
        elif kind == "drop":
            writer.drop_source(path)
            held.pop(path, None)
        elif kind == "publish":
            writer.publish()
        else:
            writer.close()
            writer = Writer.open(folder, FINGERPRINT)
    writer.publish()
    writer.close()
    return {path: (number, recipes[number]) for path, (number, _) in held.items()}


def fresh(folder: Path, held: Mapping[str, tuple[int, str]]) -> None:
    """An index of the same documents, made at once."""
    with Writer.open(folder, FINGERPRINT) as writer:
        for path, (number, recipe) in sorted(held.items(), reverse=True):
            indexed = document(number, recipe)
            writer.put_document(indexed)
            writer.put_source(make_source(indexed, path))
        writer.publish()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_any_history_gives_the_results_of_a_fresh_index(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        lived, new = Path(name, "lived"), Path(name, "new")
        fresh(new, play(lived, steps))
        assert visible(lived) == visible(new)
        assert {check.status for check in verify(lived, deep=True)} == {"ok"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of 40 documents in several segments, some of them dropped again."""
    folder = tmp_path_factory.mktemp("corpus") / "index"
    rng = np.random.default_rng(7)
    words = [f"w{number}" for number in range(60)]
    with Writer.open(folder, FINGERPRINT) as writer:
        for number in range(40):
            text = " ".join(f"{' '.join(rng.choice(words, 6))}." for _ in range(int(rng.integers(1, 40))))
            indexed = make_indexed(text, f"{number:02d}.txt")
            writer.put_document(indexed)
            writer.put_source(make_source(indexed))
            if number % 20 == 19:
                writer.publish()
        for number in range(3, 40, 7):
            writer.drop_source(f"{number:02d}.txt")
        late = make_indexed("w1 w2 w3. w1 w9 w9. w5 w5 w5.", "10a.txt")
        writer.put_document(late)
        writer.put_source(make_source(late))
        generation = writer.publish()
    assert len(list((folder / "generations" / str(generation) / "segments").iterdir())) == 2
    return folder


def by_hand(scores: FloatArray, allowed: BoolArray, k: int) -> tuple[list[float], list[int]]:
    """The best k rows, sorted by score and then by row."""
    rows = sorted(np.flatnonzero(allowed).tolist(), key=lambda row: (-scores[row], row))[:k]
    return [float(scores[row]) for row in rows], rows


@pytest.mark.parametrize("k", [1, 7, 10_000])
@pytest.mark.parametrize("share", [1.0, 0.3, 0.02, 0.0])
def test_dense_and_intent_lists_equal_a_full_comparison(corpus: Path, k: int, share: float) -> None:
    rng = np.random.default_rng(11)
    with Snapshot.open(corpus) as snapshot:
        rows = np.arange(snapshot.size)
        allowed = rng.random(snapshot.size) < share
        query = vector("any query")
        scores = (snapshot.chunk_vectors(rows).astype(np.float64) * query).sum(axis=1).astype(np.float32)
        expected = by_hand(scores, allowed, k)
        found = snapshot.dense(query, k, allowed if share < 1 else None)
        assert found[1].tolist() == expected[1]
        assert found[0].tolist() == expected[0]

        values, offsets = snapshot.intent_vectors(rows)
        single = (values.astype(np.float64) * query).sum(axis=1).astype(np.float32)
        best = np.array([single[a:b].max(initial=-np.inf) for a, b in pairwise(offsets)])
        expected = by_hand(best.astype(np.float32), allowed & np.isfinite(best), k)
        found = snapshot.intent(query, k, allowed if share < 1 else None)
        assert found[1].tolist() == expected[1]
        assert found[0].tolist() == expected[0]


def bm25_by_hand(texts: list[list[str]], query: list[str]) -> FloatArray:
    """Okapi BM25 as Lucene has it, one document at a time."""
    mean = sum(map(len, texts)) / len(texts)
    scores = []
    for own in texts:
        score, counts = 0.0, Counter(own)
        for term in query:
            holding = sum(term in other for other in texts)
            if term in counts:
                idf = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
                score += idf * counts[term] / (counts[term] + 1.2 * (0.6 + 0.4 * len(own) / mean))
        scores.append(score)
    return np.array(scores, dtype=np.float32)


@pytest.mark.parametrize("query", [["w1"], ["w1", "w2", "w1"], ["unknown"], ["unknown", "w3"], []])
@pytest.mark.parametrize("k", [1, 7, 10_000])
def test_lexical_list_equals_a_full_comparison(corpus: Path, query: list[str], k: int) -> None:
    with Snapshot.open(corpus) as snapshot:
        texts = [chunk.text.replace(".", "").split() for chunk in snapshot.chunks(range(snapshot.size))]
        expected = bm25_by_hand(texts, query)
        allowed = np.arange(snapshot.size) % 3 != 0
        np.testing.assert_allclose(
            snapshot.lexical_scores(Counter(query), np.arange(snapshot.size)), expected, rtol=1e-5
        )
        for mask in (None, allowed):
            scores, rows = snapshot.lexical(Counter(query), k, mask)
            held = (expected > 0) & (allowed if mask is not None else True)
            assert len(rows) == min(k, int(held.sum()))
            assert held[rows].all()
            np.testing.assert_allclose(scores, np.sort(expected[held])[::-1][: len(rows)], rtol=1e-5)
            pairs = list(zip((-scores).tolist(), rows.tolist(), strict=True))
            assert pairs == sorted(pairs)


def test_ties_at_the_limit_go_to_the_first_rows(tmp_path: Path) -> None:
    with Writer.open(tmp_path, FINGERPRINT) as writer:
        for number in range(60):
            indexed = make_indexed("Same text. ", f"{number:02d}.txt", recipe="r")
            copy = make_indexed("Same text. " + " " * number, f"{number:02d}.txt", recipe="r")
            same = type(copy)(
                **{**{f: getattr(copy, f) for f in copy.__slots__}, "chunk_vectors": indexed.chunk_vectors}
            )
            writer.put_document(same)
            writer.put_source(make_source(same))
            if number == 29:
                writer.publish()
        writer.publish()
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.dense(vector("other"), 5, None)[1].tolist() == [0, 1, 2, 3, 4]
        allowed = np.arange(60) >= 50
        assert snapshot.dense(vector("other"), 3, allowed)[1].tolist() == [50, 51, 52]
        assert snapshot.lexical({"same": 1.0}, 4, None)[1].tolist() == [0, 1, 2, 3]


def test_several_threads_find_the_same(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = vector("another query")
    with Snapshot.open(corpus) as snapshot:
        alone = [search(query, 20) for search in (snapshot.dense, snapshot.intent)]
        monkeypatch.setattr("idc_local.store.coding.MANY", 1)
        together = [search(query, 20) for search in (snapshot.dense, snapshot.intent)]
    for one, other in zip(alone, together, strict=True):
        assert one[0].tobytes() == other[0].tobytes()
        assert one[1].tobytes() == other[1].tobytes()
