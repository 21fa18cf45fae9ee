"""What a search loads: its first answer waits for no module that only indexing or upkeep needs, and for no torch."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import idc_local.runtime, idc_local.searching, idc_local.cli.search, idc_local.store.snapshot
print(*sys.modules)
"""
NOT_NEEDED = {
    "idc_local.indexing", "idc_local.pipeline", "idc_local.prediction", "idc_local.readers", "idc_local.doctor",
    "idc_local.store.writer", "idc_local.store.archive", "idc_local.backends.sbert", "sentencex", "torch",
    "sentence_transformers", "llama_cpp", "scipy",
}  # fmt: skip


def test_a_search_loads_only_what_it_needs() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"idc_local.searching", "idc_local.store.snapshot"} <= loaded
    assert not loaded & NOT_NEEDED
