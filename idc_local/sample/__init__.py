"""The sample corpus: twelve invented documents and sixty questions with their answers.

Owns the way to these files, wherever the package is installed; knows nothing of how they are read or indexed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A question as a user would type it, the document that answers it, and the passages that do.

    ``path`` is relative to ``sample_folder()``. Each of ``answers`` stands exactly once in the extracted text and
    is enough by itself.
    """

    id: str
    query: str
    path: str
    answers: tuple[str, ...]


def sample_folder() -> Path:
    """Folder that holds the sample documents and nothing else."""
    return _root() / "docs"


def sample_questions_file() -> Path:
    """The questions as JSON lines: ``{"id", "query", "path", "answers": [{"text"}]}``."""
    return _root() / "questions.jsonl"


def sample_questions() -> tuple[SampleQuestion, ...]:
    """All questions in the order of the file."""
    lines = sample_questions_file().read_text(encoding="utf-8").splitlines()
    return tuple(_question(line) for line in lines)


def _question(line: str) -> SampleQuestion:
    fields = json.loads(line)
    answers = tuple(answer["text"] for answer in fields["answers"])
    return SampleQuestion(fields["id"], fields["query"], fields["path"], answers)


def _root() -> Path:
    return Path(str(files(__name__)))
