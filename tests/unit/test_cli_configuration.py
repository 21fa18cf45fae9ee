"""``config show``, and that settings are not taken from what is indexed."""

from __future__ import annotations

from pathlib import Path

import pytest

from idc_local.config import user_config_file
from tests.clikit import FakeRuntime, invoke, parsed


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_value_with_where_it_came_from(folder: Path) -> None:
    user = user_config_file()
    user.parent.mkdir(parents=True)
    user.write_text('strategy = "fixed"\nthreads = 3\n')
    (folder / "notes").mkdir()
    (folder / "notes" / "config.toml").write_text("max_chars = 900\n")
    environ = {"IDC_INDEX": "notes", "IDC_THREADS": "2"}
    value = parsed(invoke("config", "show", "--format", "json", environ=environ))
    found = {entry["setting"]: (entry["value"], entry["origin"]) for entry in value["settings"]}
    assert found["strategy"] == ("fixed", str(user))
    assert found["threads"] == (2, "IDC_THREADS")
    assert found["index"] == ("notes", "IDC_INDEX")
    assert found["max_chars"] == (900, "notes/config.toml")
    assert found["format"] == ("json", "--format")
    assert found["objective"] == ("calibrated", "default")
    assert value["files"] == [str(user), "notes/config.toml"]
    text = invoke("config", "show", environ=environ).stdout
    assert "\nthreads       2 " in text
    assert text.endswith(f"read: {user}\nread: notes/config.toml\n")


def test_a_setting_that_is_not_known_is_refused_with_its_file(folder: Path) -> None:
    (folder / ".idc").mkdir()
    (folder / ".idc" / "config.toml").write_text('index = "elsewhere"\n')
    result = invoke("config", "show")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: .idc/config.toml: unknown setting 'index'. hint: ")


@pytest.mark.parametrize("root", [".", "docs", "docs/../docs", "link"])
def test_settings_from_a_folder_that_is_indexed_are_refused(folder: Path, root: str) -> None:
    index = folder / "docs" / "deep" / ".idc"
    index.mkdir(parents=True)
    (index / "config.toml").write_text('strategy = "fixed"\n')
    (folder / "link").symlink_to("docs")
    runtime = FakeRuntime()
    result = invoke("index", root, "--index", str(index), runtime=runtime)
    assert (result.exit_code, runtime.calls) == (2, [])
    assert result.stderr.startswith(
        f"error: {index}/config.toml lies in {root}, which is to be indexed, and no setting"
    )
    (folder / "other").mkdir()
    assert invoke("index", "other", "--index", str(index)).exit_code == 0
    (index / "config.toml").unlink()
    assert invoke("index", root, "--index", str(index)).exit_code == 0
