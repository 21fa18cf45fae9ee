"""Every command that the documents show is run, in order, with the real models, in a folder of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from idc_local.sample import sample_folder

pytestmark = pytest.mark.model

ROOT = Path(__file__).resolve().parents[2]
LETTER = (
    "LEASE\n\nThe tenant may terminate the lease with three months of written notice. "
    "The rent is 900 crowns a month.\n\n"
    "Repairs\n\nThe landlord repairs the boiler within five days after a written notice.\n"
)
QUESTION = {"id": "q1", "document_id": "lease", "question": "How much is the rent?"}


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def commands(document: str) -> list[str]:
    lines = [line.split("  #")[0].strip() for block in blocks(document, "sh") for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


@pytest.fixture
def place(tmp_path: Path, models_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with what the documents speak of, and the program on the path."""
    contracts = tmp_path / "home" / "Documents" / "contracts"
    contracts.mkdir(parents=True)
    (contracts / "lease.txt").write_text(LETTER)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "lease.txt").write_text(LETTER)
    (tmp_path / "manual.md").write_bytes((sample_folder() / "firmware-release-notes.md").read_bytes()[:1500])
    (tmp_path / "questions.txt").write_text("How much is the rent?\nWho repairs the boiler?\n")
    for name in ("my-questions", "data/my_set", "data/squad"):
        write_set(tmp_path / name)
    models = tmp_path / "models"
    models.mkdir()
    for folder in models_folder.iterdir():
        if folder.is_dir():
            (models / folder.name).symlink_to(folder)
    gguf = next((models_folder / "smollm2-135m-instruct").glob("*Q4_1.gguf"))
    (tmp_path / "my-model.gguf").symlink_to(gguf)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("IDC_MODELS", str(models))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def write_set(folder: Path) -> None:
    folder.mkdir(parents=True)
    start = LETTER.index("900 crowns")
    question = QUESTION | {"answers": [{"text": "900 crowns", "start": start, "end": start + 10}]}
    (folder / "documents.jsonl").write_text(json.dumps({"id": "lease", "title": "Lease", "text": LETTER}) + "\n")
    rows = [question, question | {"id": "q2", "question": "What does the tenant pay a month?"}]
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "dataset.json").write_text(json.dumps({"answers": "any", "scope": "corpus"}))


def run(command: str, place: Path) -> str:
    done = subprocess.run(["sh", "-c", command], cwd=place, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.parametrize("document", ["README.md", "docs/evaluation.md"])
def test_every_command_works(document: str, place: Path) -> None:
    wanted = commands(document)
    assert len(wanted) >= 5
    if document != "README.md":
        for path in sample_folder().glob("*.md"):
            (place / "docs" / path.name).write_bytes(path.read_bytes()[:6000])
        run("idc-local index docs --intents heuristic", place)
    for command in wanted:
        run(command, place)


def test_the_library_example_works(place: Path) -> None:
    (example,) = blocks("README.md", "python")
    output = run(f"{sys.executable} - <<'PY'\n{example}\nPY", place)
    assert output.splitlines()[0].startswith("lease.txt ")
    assert output.splitlines()[-1] == "0 26 'One sentence. Another one.'"
