"""What the speed measurements compute themselves: medians in turn, ratios, exponents, the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from idc_local.memory import MemoryCache
from idc_local.pipeline import ChunkingOptions, Pipeline
from idc_local.readers import read_source
from idc_local.types import Limits
from tests.indexkit import Kit


@pytest.fixture
def kit(script: Callable[[str], Any]) -> Any:
    return script("speedkit")


@pytest.fixture
def report(script: Callable[[str], Any]) -> Any:
    return script("speed_report")


def test_contenders_take_turns_and_medians_are_kept(kit: Any) -> None:
    order: list[str] = []
    walls = {"a": iter([1.0, 9.0, 2.0]), "b": iter([4.0, 5.0, 60.0])}

    def contender(name: str) -> Any:
        def run() -> Any:
            order.append(name)
            return kit.Seconds(next(walls[name]), 0.5)

        return run

    times = kit.in_turn({name: contender(name) for name in walls}, 3)
    assert order == ["a", "b"] * 3
    assert times == {"a": kit.Seconds(2.0, 0.5), "b": kit.Seconds(5.0, 0.5)}
    assert kit.compared(times["a"], times["b"]) == {"ratio": 2.5, "cpu_ratio": 1.0}


def test_the_exponent_of_a_power_is_found(kit: Any) -> None:
    sizes = [1, 10, 100]
    assert kit.exponent(sizes, [3 * size**1.5 for size in sizes]) == 1.5
    assert kit.exponent(sizes, [2.0, 20.0, 200.0]) == 1.0


def test_free_vectors_depend_on_their_text_alone(kit: Any) -> None:
    embedder = kit.FreeEmbedder()
    rows = embedder.encode_documents(["one two three four", "", "one two three four five"])
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(3), abs=1e-3)
    assert (rows[2] == rows[0]).all()
    assert (embedder.encode_queries([""])[0] == rows[1]).all()
    assert rows[0] @ rows[1] < 0.9


def test_documents_are_cut_with_vectors_that_come_for_nothing(kit: Any, tmp_path: Path) -> None:
    fakes = Kit(tmp_path).ports(MemoryCache(), MemoryCache())
    text = "The pump stands in the cellar. It hums at night.\n\nThe key hangs by the door. Take it along."
    document = read_source(text.encode(), "pump.txt")
    ports = replace(fakes, embedder=kit.FreeDocuments())
    pipeline = Pipeline(ChunkingOptions(limits=Limits(target_chars=50)), ports)
    cut = pipeline.cut(document, "off", embed=True)
    assert [chunk.text.strip() for chunk in cut.chunks] == text.split("\n\n")
    own = kit.sentence_pieces(document, cut.sentences)
    assert len(own) == 4
    assert (cut.vectors == kit.FreeEmbedder().encode_documents(own)).all()


def test_the_table_says_what_misses(report: Any) -> None:
    text = report.table(
        {
            "embedding": {"ratio": 1.4, "cpu_ratio": 1.9, "mark": 1.8, "scale": 1.0, "rounds": 3},
            "chunking": {
                "without_embedding": {"ratios": {"raglite": 30.0}, "cpu_ratios": {"raglite": 31.0}, "mark": 10},
                "scale": 0.5,
                "rounds": 1,
            },
        }
    )
    assert "Sizes: embedding ×1 (3 rounds), chunking ×0.5 (1 rounds)." in text
    lines = text.splitlines()
    assert lines[-2:] == [
        "| texts embedded a second | `SentenceTransformer.encode` | 1.4× | 1.9× | 1.8× | **no** |",
        "| cutting | raglite | 30× | 31× | 10× | yes |",
    ]


def test_texts_to_measure_memory_with_hardly_repeat_a_sentence(script: Callable[[str], Any]) -> None:
    # Repeated sentences share their vectors, and made one large file look smaller than it is.
    made_text = script("speed_growth").made_text
    pool = [f"The pump of house {letter * 3} leaks a little on cold days." for letter in "abcdefgh"]
    text = made_text(pool, 20_000, 1)
    assert 20_000 <= len(text) < 20_400
    found = [sentence for paragraph in text.split("\n\n") for sentence in paragraph.split(". ")]
    assert len(found) == 5 * (text.count("\n\n") + 1)
    assert len(set(found)) > 0.5 * len(found)
    assert all(
        sum(one != other for one, other in zip(sentence.split(), pool[0].split(), strict=True)) <= 3
        for sentence in found
    )
    assert text == made_text(pool, 20_000, 1) != made_text(pool, 20_000, 2)
