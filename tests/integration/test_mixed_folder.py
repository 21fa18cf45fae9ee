"""Good and bad files side by side: the good ones are indexed, the bad ones named, and interruptions lose nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from idc_local.readers import READERS
from tests.hostile_worker import EVIL
from tests.indexkit import Kit
from tests.mixedkit import QUERIES, build, complaints, index

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def hostile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the reading process know ``.evil`` files."""
    monkeypatch.setitem(READERS, ".evil", EVIL)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def test_every_good_file_is_indexed_and_every_bad_one_named(tmp_path: Path) -> None:
    mixed = build(tmp_path / "docs", 48, rounds=1, hang=False)
    kit = Kit(tmp_path / "index")
    report = index(mixed, kit, (10, 10))
    assert complaints(mixed, kit, report) == []
    assert len(kit.embedder.texts) == len(set(kit.embedder.texts))
    again = index(mixed, kit, ())
    assert (again.new, again.updated, again.removed, again.sentences_embedded) == (0, 0, 0, 0)
    assert again.skipped == report.skipped
    whole = Kit(tmp_path / "whole")
    index(mixed, whole, ())
    assert kit.everything(QUERIES) == whole.everything(QUERIES)
