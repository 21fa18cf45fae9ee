"""Searching an index whose documents were stored by different versions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from idc_local import searching
from idc_local.ports import Tokens
from idc_local.ranking import RankingWeights
from idc_local.searching import Searcher
from idc_local.store import Snapshot
from idc_local.terms import folded
from idc_local.types import FloatArray, Query
from tests.fakes import HashEmbedder
from tests.indexkit import Kit


class _WithoutTokens(HashEmbedder):
    """As the version before tokens: sentences have none."""

    def encode_sentences(self, texts: Sequence[str]) -> tuple[FloatArray, list[Tokens]]:
        none = Tokens(np.zeros((0, self.dimension), dtype=np.float32), [])
        return self.encode_documents(texts), [none for _ in texts]


def test_documents_without_tokens_lose_nothing_to_others(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("The tenant may terminate the lease.\n")
    (tmp_path / "new.txt").write_text("The pump may run dry.\n")
    (tmp_path / "marks.txt").write_text("--- !!! ...\n")
    index, query = tmp_path / "index", "When may the tenant terminate the lease?"
    Kit(index, embedder=_WithoutTokens()).add(tmp_path / "old.txt")
    kit = Kit(index)
    kit.add(tmp_path / "new.txt", tmp_path / "marks.txt")
    found = [(hit.chunk.path, hit.score, hit.explain.tokens) for hit in kit.search(query)]
    with Snapshot.open(index) as snapshot:
        fusion = Searcher(snapshot, HashEmbedder(), RankingWeights(tokens=0.0)).search(Query(query), 5)
    assert found == [(hit.chunk.path, hit.score, None) for hit in fusion]
    assert found[0][0] == "old.txt"
    (tmp_path / "old.txt").write_text("The tenant may terminate this lease.\n")
    kit.add(tmp_path / "old.txt")
    tokens = {hit.chunk.path: hit.explain.tokens for hit in kit.search(query)}
    assert [path for path, own in tokens.items() if own is None] == ["marks.txt"], "marks have no meaning"


TEXTS = {
    "it.txt": "The pump stops. Then it starts again.",
    "with.txt": "The pump comes with oil. Nothing else.",
    "zh.txt": "水泵启动。四十秒后自动停止。",
    "ja.txt": "泵房没有水。",
}


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ("it", ["it.txt"]),
        ("-it", ["ja.txt", "with.txt", "zh.txt"]),
        ("not", []),
        ("水", ["ja.txt", "zh.txt"]),
        ("-水", ["it.txt", "with.txt"]),
        ("泵 秒", ["zh.txt"]),
        ("it -again", []),
        ('"it st" the', ["it.txt"]),
        ('the -"pump comes"', ["it.txt"]),
        ("...", []),
    ],
)
def test_words_that_are_no_terms_are_looked_for_as_words(tmp_path: Path, wanted: str, names: list[str]) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    kit = Kit(tmp_path / "index")
    kit.add(*(tmp_path / name for name in TEXTS))
    assert sorted(hit.chunk.path for hit in kit.search("pump", k=9, filter=wanted)) == names


def test_a_filter_reads_each_text_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    kit = Kit(tmp_path / "index")
    kit.add(*(tmp_path / name for name in TEXTS))
    read: list[str] = []

    def reading(text: str) -> str:
        read.append(text)
        return folded(text)

    monkeypatch.setattr(searching, "folded", reading)
    conditions = " ".join(["the", "it", "-with", '"The pump"'] * 500)
    assert [hit.chunk.path for hit in kit.search("pump", k=9, filter=conditions)] == ["it.txt"]
    assert sorted(text for text in read if text in TEXTS.values()) == sorted(TEXTS.values())
