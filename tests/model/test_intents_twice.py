"""The real generator writes the same questions on every run."""

from __future__ import annotations

from pathlib import Path

import pytest

from idc_local.config import load_settings
from idc_local.indexing import IndexOptions
from idc_local.runtime import Runtime
from idc_local.sample import sample_folder

pytestmark = pytest.mark.model


def test_two_runs_predict_the_same_intents(tmp_path: Path, models_folder: Path) -> None:
    text = (sample_folder() / "supply-agreement.txt").read_text(encoding="utf-8")[:5000]
    source = tmp_path / "contract.txt"
    source.write_text(text, encoding="utf-8")
    found = []
    for _ in range(2):
        runtime = Runtime(load_settings({"index": tmp_path / "none", "models": models_folder}))
        found.append(runtime.predict(source, IndexOptions()).predicted)
    first, second = found
    assert first.windows_generated > 0
    assert len(first.intents) >= 3
    assert all(intent.origin == "model" and intent.text.endswith("?") for intent in first.intents)
    assert first.intents == second.intents
    assert (first.vectors == second.vectors).all()
