"""Good and bad files side by side: the good ones are indexed, the bad ones named, and interruptions lose nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from idc_local.readers import READERS
from idc_local.store import Snapshot
from tests.hostile_worker import EVIL
from tests.indexkit import Kit
from tests.mixedkit import QUERIES, build, complaints, index

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def hostile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the reading process know ``.evil`` files."""
    monkeypatch.setitem(READERS, ".evil", EVIL)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def texts_of(kit: Kit) -> set[tuple[str, str]]:
    """All sentences and headings of an index, each with its language: what has to be embedded once."""
    found: set[tuple[str, str]] = set()
    with Snapshot.open(kit.index) as snapshot:
        for row, chunk in enumerate(snapshot.chunks(range(snapshot.size))):
            spans = snapshot.sentence_spans(row) - chunk.start
            own = [chunk.text[start:end].strip() for start, end in spans.tolist()]
            found |= {(text, snapshot.languages[row]) for text in (*own, *filter(None, [chunk.heading]))}
    return found


def test_every_good_file_is_indexed_and_every_bad_one_named(tmp_path: Path) -> None:
    mixed = build(tmp_path / "docs", 48, rounds=1, hang=False)
    kit = Kit(tmp_path / "index")
    report = index(mixed, kit, (10, 10))
    assert complaints(mixed, kit, report) == []
    assert Counter(kit.embedder.texts) == Counter(text for text, _ in texts_of(kit))
    again = index(mixed, kit, ())
    assert (again.new, again.updated, again.removed, again.sentences_embedded) == (0, 0, 0, 0)
    assert again.skipped == report.skipped
    whole = Kit(tmp_path / "whole")
    index(mixed, whole, ())
    assert kit.everything(QUERIES) == whole.everything(QUERIES)
