"""The real runtime over fake models, a small question set, and what tests of evaluations share."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from idc_local.catalogue import ModelFiles
from idc_local.cli import cli
from idc_local.cli.session import App
from idc_local.config import load_settings
from idc_local.datasets import Dataset, load_dataset
from idc_local.evaluating import open_preparation
from idc_local.evaluation.grid import EvaluationOptions
from idc_local.evaluation.prepare import PreparedSet, prepare_set
from idc_local.memory import MemoryCache
from idc_local.ports import Completion, Embedder, GenerationRequest, TextGenerator, TokenCounter
from idc_local.runtime import Runtime
from tests.fakes import HashEmbedder, WordCounter

TOPICS: Mapping[str, Sequence[str]] = {
    "pumps": ("impeller", "bearing", "casing", "gasket", "motor", "strainer"),
    "bridges": ("girder", "abutment", "cable", "pylon", "deck", "anchor"),
    "bread": ("flour", "yeast", "oven", "crust", "dough", "salt"),
    "tides": ("moon", "harbour", "current", "gauge", "estuary", "spring"),
}
"""Documents and what each of their paragraphs is about."""


class AskingGenerator:
    """TextGenerator: two questions about each part that a window has a chapter on."""

    fingerprint = "asking-generator"

    def generate(
        self, prefix: str, requests: Sequence[GenerationRequest], *, max_tokens: int, stop: str
    ) -> list[Completion]:
        """One reply a request."""
        return [Completion(self._reply(request.prompt), -0.5) for request in requests]

    def _reply(self, prompt: str) -> str:
        parts = re.findall(r"handbook of (\w+) has a chapter on the (\w+)", prompt)
        return "\n".join(
            f"- How long does the {part} of {topic} last in use?\n- Who made the {part} of the {topic}?"
            for topic, part in parts
        )


class FakeModelsRuntime(Runtime):
    """A runtime whose models are the fakes; everything else is real."""

    def _files(self, role: str, name: str) -> ModelFiles:
        return ModelFiles("fake", role, Path("fake"), {"weights": role}, dimension=32)

    def _embedder(self, files: ModelFiles) -> Embedder:
        return HashEmbedder(fingerprint=files.fingerprint)

    def _generator(self, files: ModelFiles) -> TextGenerator:
        return AskingGenerator()

    def _counter(self, embedder: str) -> TokenCounter:
        return WordCounter()


def runtime_at(folder: Path) -> FakeModelsRuntime:
    """A runtime whose index is in ``folder``."""
    return FakeModelsRuntime(load_settings({"index": folder / "index", "models": folder / "models"}, environ={}))


def run_cli(folder: Path, *arguments: str) -> Result:
    """The command line over the fakes, with the index in ``folder``."""
    app = App(open_runtime=FakeModelsRuntime, environ={})
    return CliRunner().invoke(cli, [*arguments, "--index", str(folder / "index")], obj=app, terminal_width=100)


def paragraph(topic: str, part: str) -> str:
    """Five sentences, the third of which only this paragraph holds."""
    return (
        f"Every handbook of {topic} has a chapter on the {part}. The {part} is checked before work begins. "
        f"A {part} of the {topic} lasts {len(part) * 7 + len(topic)} months in normal use. "
        f"Nobody should touch the {part} while it is warm. Ask the foreman about the {part} when in doubt."
    )


def text_of(topic: str) -> str:
    """A document: a paragraph about each of its parts."""
    return "\n\n".join(paragraph(topic, part) for part in TOPICS[topic]) + "\n"


def write_set(folder: Path, *, answers: str = "any", scope: str = "corpus", name: str = "tiny") -> Path:
    """A question set of four documents with six questions each."""
    folder.mkdir(parents=True)
    questions: list[dict[str, Any]] = []
    for topic, parts in TOPICS.items():
        for part in parts:
            answer = f"A {part} of the {topic} lasts {len(part) * 7 + len(topic)} months in normal use."
            start = text_of(topic).index(answer)
            span = {"text": answer, "start": start, "end": start + len(answer)}
            asked = f"How many months does the {part} of {topic} last?"
            questions.append({"id": f"{topic}-{part}", "document_id": topic, "question": asked, "answers": [span]})
    about = {"name": name, "language": "en", "answers": answers, "scope": scope}
    documents = [{"id": topic, "title": topic, "text": text_of(topic)} for topic in TOPICS]
    (folder / "dataset.json").write_text(json.dumps(about), encoding="utf-8")
    for file, rows in (("documents.jsonl", documents), ("questions.jsonl", questions)):
        (folder / file).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


def prepared_set(folder: Path, options: EvaluationOptions, dataset: Dataset | None = None) -> PreparedSet:
    """The small set, or another one, prepared with fakes."""
    ports = runtime_at(folder).pipeline_ports(
        MemoryCache(), {"shuffled": "model"}.get(options.intents, options.intents)
    )
    return prepare_set(dataset or load_dataset(write_set(folder / "set")), open_preparation(ports, options))
