"""Which models a run uses, without loading any: the parts are real, the weights are a few bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from idc_local.adopt import Adoption, add_model
from idc_local.catalogue import Catalogue
from idc_local.config import load_settings
from idc_local.embedding import writer_fingerprint
from idc_local.errors import ModelError
from idc_local.memory import MemoryCache
from idc_local.runtime import Runtime
from idc_local.store import Writer

LETTERS = {
    "version": "1.0",
    "added_tokens": [],
    "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False},
    "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"},
}
"""A tokenizer to which each letter is a token."""


@pytest.fixture
def runtime(tmp_path: Path) -> Runtime:
    """Over an index that was made with an embedder of the user's own; no setting names it."""
    source, models, index = tmp_path / "source", tmp_path / "models", tmp_path / "index"
    source.mkdir()
    (source / "modules.json").write_text("[]")
    (source / "model.safetensors").write_text("weights")
    (source / "tokenizer.json").write_text(json.dumps(LETTERS))
    add_model(Catalogue(models), Adoption(source, "letters"), lambda files: 12)
    files = Catalogue(models).resolve("embedder", "letters")
    with Writer.open(index, writer_fingerprint(files)) as writer:
        writer.publish()
    return Runtime(load_settings({"index": index, "models": models}, environ={}))


def test_tokens_are_counted_as_the_embedder_of_the_index_does(runtime: Runtime) -> None:
    ports = runtime.pipeline_ports(MemoryCache(), "off")
    assert ports.counter.count(["roof", "boilers"]).tolist() == [4, 7]
    assert ports.embedder_fingerprint == runtime.catalogue().resolve("embedder", "letters").fingerprint


def test_an_embedder_of_the_index_that_is_unknown_here_is_named(runtime: Runtime, tmp_path: Path) -> None:
    index = tmp_path / "index"
    other = Runtime(load_settings({"index": index, "models": tmp_path / "none"}, environ={}))
    with pytest.raises(ModelError) as caught:
        other.embedder_files()
    assert caught.value.message == f"no model is called 'letters', which the index in {index} was made with"
    assert caught.value.hint == "idc-local models add PATH --name letters; IDC_EMBEDDER=NAME where it has another name"
