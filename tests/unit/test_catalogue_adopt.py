"""Adding a model from this machine: data is taken, pickles and code are refused, a failed trial leaves nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from idc_local.adopt import Adoption, add_model
from idc_local.catalogue import OK, Catalogue, ModelFiles
from idc_local.errors import ModelError, UsageError

MODULES = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A sentence-transformers folder with things that must stay behind."""
    folder = tmp_path / "e5"
    (folder / "1_Pooling").mkdir(parents=True)
    texts = {
        "modules.json": json.dumps(MODULES),
        "sentence_bert_config.json": '{"max_seq_length": 512}',
        "config_sentence_transformers.json": '{"prompts": {"query": "query: ", "document": "passage: "}}',
        "config.json": "{}",
        "tokenizer.json": "{}",
        "1_Pooling/config.json": "{}",
        "README.md": "# e5",
        "run_me.py": "raise SystemExit",
        "model.safetensors": "weights",
        "pytorch_model.bin": "a pickle beside safetensors",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


def trial(files: ModelFiles) -> int:
    assert all((files.main / name).is_file() for name in files.sha256) or files.main.is_file()
    return 0 if files.role == "generator" else 12


def add(models: Path, path: Path, **changes: object) -> None:
    add_model(Catalogue(models), Adoption(path, **({"name": "mine"} | changes)), trial)  # type: ignore[arg-type]


def test_folder_becomes_an_embedder(source: Path, tmp_path: Path) -> None:
    models = tmp_path / "models"
    add(models, source)
    found = Catalogue(models).resolve("embedder", "mine")
    assert sorted(found.sha256) == [
        "1_Pooling/config.json",
        "config.json",
        "config_sentence_transformers.json",
        "model.safetensors",
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer.json",
    ]
    assert (found.dimension, found.context) == (12, 512)
    assert (found.query_prompt, found.document_prompt) == ("query: ", "passage: ")
    assert not list(models.rglob("*.py")) + list(models.rglob("*.bin"))
    assert [status.state for status in Catalogue(models).list(deep=True) if status.spec.name == "mine"] == [OK]


def test_prompts_given_by_hand_win_even_when_empty(source: Path, tmp_path: Path) -> None:
    add(tmp_path / "models", source, query_prompt="", document_prompt="text: ")
    found = Catalogue(tmp_path / "models").resolve("embedder", "mine")
    assert (found.query_prompt, found.document_prompt) == ("", "text: ")


def test_gguf_becomes_a_generator_and_a_second_add_replaces_it(tmp_path: Path) -> None:
    path = tmp_path / "Some Model.gguf"
    path.write_bytes(b"GGUF first")
    add(tmp_path / "models", path, languages=("de",))
    add(tmp_path / "models", path, name="other")
    path.unlink()
    path.write_bytes(b"GGUF second")
    add(tmp_path / "models", path)
    found = Catalogue(tmp_path / "models").resolve("generator", "mine")
    assert found.main.read_bytes() == b"GGUF second"
    assert Catalogue(tmp_path / "models").resolve("generator", "other").main.read_bytes() == b"GGUF first"
    assert [spec.name for spec in Catalogue(tmp_path / "models").specs.values() if spec.added] == ["other", "mine"]


def test_added_model_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF data")
    add(tmp_path / "models", path)
    path.write_bytes(b"GGUF dat4")
    with pytest.raises(ModelError, match="another sha256") as caught:
        Catalogue(tmp_path / "models").resolve("generator", "mine")
    assert caught.value.hint == f"idc-local models add PATH --name mine --models {tmp_path / 'models'}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model.safetensors": None}, "is a pickle, which is never loaded"),
        ({"model.safetensors": None, "pytorch_model.bin": None}, "holds no safetensors weights"),
        ({"2_Dense/pytorch_model.bin": "x"}, "is a pickle, which is never loaded"),
        ({"tokenizer.json": None}, "holds no tokenizer.json"),
        ({"modules.json": None}, "is not a sentence-transformers folder"),
        ({"modules.json": "{"}, "cannot be read"),
        ({"modules.json": "[" * 100_000}, "cannot be read"),
        ({"sentence_bert_config.json": '{"max_seq_length": "long"}'}, "max_seq_length is 'long'"),
        ({"sentence_bert_config.json": '{"max_seq_length": -5}'}, "max_seq_length is -5"),
        ({"sentence_bert_config.json": '{"max_seq_length": Infinity}'}, "max_seq_length is inf"),
        ({"config.json": '{"model_type": "bert", "max_position_embeddings": 511}'}, "max_seq_length is 512"),
        ({"sentence_bert_config.json": "[1]"}, "holds no settings"),
        ({"config_sentence_transformers.json": '{"prompts": [1]}'}, "has prompts that cannot be used"),
        ({"modules.json": '[{"type": "run_me.Evil"}]'}, "needs code of its own"),
    ],
)
def test_unsafe_or_unusable_folder_is_refused(
    source: Path, tmp_path: Path, change: dict[str, str | None], message: str
) -> None:
    for name, text in change.items():
        path = source / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)
    with pytest.raises(ModelError, match=message):
        add(tmp_path / "models", source)
    assert not (tmp_path / "models" / "registry.json").exists()


@pytest.mark.parametrize("data", [b"", b"GGU", b"PK\x03\x04"])
def test_other_files_are_no_gguf(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelError, match="is not a GGUF file"):
        add(tmp_path / "models", path)


@pytest.mark.parametrize("name", ["", "A", "../up", "a/b", ".hidden", "smollm2-135m-instruct", "x" * 65])
def test_unusable_names(tmp_path: Path, name: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    with pytest.raises(UsageError):
        add(tmp_path / "models", path, name=name)


def test_wrong_role_and_missing_path(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    with pytest.raises(UsageError, match="does not exist"):
        add(tmp_path / "models", path)
    path.write_bytes(b"GGUF")
    with pytest.raises(UsageError, match="only be a model for the role generator"):
        add(tmp_path / "models", path, role="embedder")


def test_failed_trial_leaves_nothing(source: Path, tmp_path: Path) -> None:
    def fail(files: ModelFiles) -> int:
        raise ModelError("no")

    with pytest.raises(ModelError):
        add_model(Catalogue(tmp_path / "models"), Adoption(source, "mine"), fail)
    assert [path.name for path in (tmp_path / "models").iterdir()] == [".lock"]


def test_pipe_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.gguf")
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        add(tmp_path / "models", tmp_path / "m.gguf")


def test_failed_trial_names_the_file_that_was_given(tmp_path: Path) -> None:
    def fail(files: ModelFiles) -> int:
        raise ModelError(f"{files.main} cannot be loaded", hint="idc-local models verify")

    (tmp_path / "m.gguf").write_bytes(b"GGUF data")
    with pytest.raises(ModelError) as caught:
        add_model(Catalogue(tmp_path / "models"), Adoption(tmp_path / "m.gguf", "mine"), fail)
    assert caught.value.message == f"{tmp_path / 'm.gguf'} cannot be loaded"
    assert [path.name for path in (tmp_path / "models").iterdir()] == [".lock"]
