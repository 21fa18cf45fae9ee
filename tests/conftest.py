"""Fixtures for every suite: no network, a home of one's own, fast fakes at the ports, and the real models' folder."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from idc_local.netguard import guard
from tests.fakes import HashEmbedder, ScriptedGenerator, WordCounter

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
"""How long an example takes says how busy the machine is; tests of speed measure what they are about themselves."""


@pytest.fixture(autouse=True)
def private_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's own settings, models or caches."""
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith("IDC_") and name != "IDC_MODELS"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))


@pytest.fixture(autouse=True)
def no_network() -> Iterator[None]:
    """Nothing that a test does in this process may leave the machine."""
    with guard(allow=False) as log:
        yield
    assert not log.refused


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Imports a module of scripts/, where they import each other by their bare names."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module


@pytest.fixture
def counter() -> WordCounter:
    """Counts words and single CJK characters."""
    return WordCounter()


@pytest.fixture
def embedder() -> HashEmbedder:
    """Deterministic bag-of-words vectors."""
    return HashEmbedder()


@pytest.fixture
def generator() -> ScriptedGenerator:
    """Asks one question about the longest word of each passage."""
    return ScriptedGenerator()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of question sets and traps that lies beside the repository."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.fail(f"{folder} is missing: these tests read question sets and traps from there")
    return folder


@pytest.fixture(scope="session")
def models_folder() -> Path:
    """The folder with the two default models."""
    folder = Path(os.environ.get("IDC_MODELS", ROOT / "models"))
    if not (folder / "all-minilm-l6-v2").is_dir():
        pytest.fail(f"no models in {folder}: run idc-local models pull")
    return folder
