"""The names that the package promises, and that importing it stays light."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import idc_local
from idc_local.errors import UsageError

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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "recursiv"}, "unknown strategy 'recursiv'"),
        ({"intents": "none"}, "unknown source of intents 'none'"),
        ({"objective": "best"}, "unknown objective 'best'"),
    ],
)
def test_options_that_name_nothing_are_refused_at_once(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        idc_local.IndexOptions(**options)  # type: ignore[arg-type]
    assert caught.value.message == message
    if "objective" not in options:
        with pytest.raises(UsageError, match=message):
            idc_local.Chunker(**options)  # type: ignore[arg-type]


def test_an_empty_path_is_not_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for call in (
        lambda: idc_local.Index(""),
        lambda: idc_local.Index("idx", models=""),
        lambda: idc_local.Index("idx").add(""),
        lambda: idc_local.Index("idx").remove(""),
        lambda: idc_local.Chunker(models=""),
    ):
        with pytest.raises(UsageError, match="the path is empty"):
            call()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("query", ["", " ", "\n\t"])
def test_an_empty_query_is_refused_before_an_index_is_opened(query: str, tmp_path: Path) -> None:
    with idc_local.Index(tmp_path / "none") as index, pytest.raises(UsageError, match="the query is empty"):
        index.search(query)


def test_version_stands_in_one_form_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == idc_local.__version__
    assert f"## [{idc_local.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
