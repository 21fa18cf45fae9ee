"""Fixtures for every suite: no network, a home of one's own, fast fakes at the ports, and the real models' folder."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import HashEmbedder, ScriptedGenerator, WordCounter

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def private_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's own settings, models or caches."""
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith("IDC_") and name != "IDC_MODELS"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """Every socket but loopback is refused in this process."""
    real = socket.socket.connect

    def connect(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else ""
        if self.family != socket.AF_UNIX and host not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test reached for the network: {address!r}")
        real(self, address)  # type: ignore[arg-type]

    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", connect)
    yield
    patch.undo()


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
