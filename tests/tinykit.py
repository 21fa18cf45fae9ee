"""The real runtime over model files of a few bytes: found, hashed and pulled for real, computed with by fakes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from idc_local.catalogue import FileSpec, ModelFiles, ModelSpec, WheelMember
from idc_local.ports import Embedder, TextGenerator, TokenCounter
from idc_local.runtime import Runtime
from tests.fakes import HashEmbedder, ScriptedGenerator, WordCounter

MEMBERS = {"tiny/m.gguf": b"GGUF" + b"0123456789" * 50, "tiny/e.safetensors": b"weights" * 50}


class TinyRuntime(Runtime):
    """The real runtime over small files; what they would compute comes from fakes."""

    def _embedder(self, files: ModelFiles) -> Embedder:
        return HashEmbedder()

    def _generator(self, files: ModelFiles) -> TextGenerator:
        return ScriptedGenerator()

    def _counter(self, embedder: str) -> TokenCounter:
        return WordCounter()


def spec(name: str, role: str, member: str, **changes: Any) -> ModelSpec:
    """A default model of one file, which is a member of the wheel ``tiny``."""
    data = MEMBERS[member]
    entry = FileSpec(
        Path(member).name, len(data), hashlib.sha256(data).hexdigest(), (WheelMember("tiny==1.0", member),)
    )
    return ModelSpec(name, role, (entry,), "MIT", **({"default": True} | changes))


def place_models(folder: Path, specs: tuple[ModelSpec, ...]) -> None:
    """Writes the files of the models."""
    for model in specs:
        for entry in model.files:
            (folder / model.name).mkdir(parents=True, exist_ok=True)
            (folder / model.name / entry.path).write_bytes(MEMBERS[f"tiny/{entry.path}"])
