"""The names that the package promises, and that importing it stays light."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import idc_local

ROOT = Path(__file__).resolve().parents[2]


def test_exported_names() -> None:
    assert idc_local.__all__ == sorted(idc_local.__all__)
    for name in idc_local.__all__:
        assert getattr(idc_local, name) is not None
    with pytest.raises(AttributeError):
        idc_local.Nothing  # noqa: B018


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, idc_local; print(sorted({'numpy', 'torch', 'faiss', 'bm25s', 'llama_cpp'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_chunker_needs_no_model_for_strategies_that_need_none(tmp_path: Path) -> None:
    text = "One sentence. Another one.\n\nA third, in a paragraph of its own.\n"
    chunks = idc_local.Chunker(strategy="paragraph", target_chars=50, models=tmp_path).chunk(text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert [chunk.line_start for chunk in chunks] == [1, 3]


def test_version_stands_in_one_form_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == idc_local.__version__
    assert f"## [{idc_local.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
