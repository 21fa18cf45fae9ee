"""The catalogue: what is known, what is there, and that no changed byte passes."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from idc_local import catalogue as module
from idc_local.catalogue import DAMAGED, EMBEDDER, GENERATOR, MISSING, OK, Catalogue, FileSpec, ModelFiles, ModelSpec
from idc_local.errors import ModelError, UsageError

GGUF = b"GGUF" + bytes(range(256)) * 8
CONFIG = b'{"hidden_size": 4}'
WEIGHTS = b"weights" * 100


def file_spec(path: str, data: bytes) -> FileSpec:
    return FileSpec(path, len(data), hashlib.sha256(data).hexdigest())


GENERATOR_SPEC = ModelSpec(
    "tiny-gen",
    GENERATOR,
    (file_spec("m.gguf", GGUF), file_spec("LICENSE", b"free")),
    "MIT",
    main="m.gguf",
    default=True,
)
EMBEDDER_SPEC = ModelSpec(
    "tiny-emb",
    EMBEDDER,
    (file_spec("config.json", CONFIG), file_spec("sub/model.safetensors", WEIGHTS)),
    "MIT",
    dimension=4,
    context=16,
    query_prompt="query: ",
    default=True,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A models folder in which both tiny models are whole."""
    monkeypatch.setattr(module, "shipped", lambda: iter([GENERATOR_SPEC, EMBEDDER_SPEC]))
    for place, data in {
        "tiny-gen/m.gguf": GGUF,
        "tiny-gen/LICENSE": b"free",
        "tiny-emb/config.json": CONFIG,
        "tiny-emb/sub/model.safetensors": WEIGHTS,
    }.items():
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path


def flip(path: Path, place: int) -> None:
    """Changes one byte and nothing else: size and times stay."""
    before = path.stat()
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_shipped_models() -> None:
    specs = {spec.name: spec for spec in module.shipped()}
    assert {name for name, spec in specs.items() if spec.default} == {"smollm2-135m-instruct", "all-minilm-l6-v2"}
    assert [spec.role for spec in specs.values()] == [GENERATOR, EMBEDDER, GENERATOR]
    hashes = {entry.path: entry.sha256 for spec in specs.values() for entry in spec.files}
    assert (
        hashes["SmolLM2-135M-Instruct.Q4_1.gguf"] == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    )
    assert hashes["model.safetensors"] == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert hashes["gemma-3-270m-q4_k_m.gguf"] == "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
    assert specs["gemma-3-270m"].terms.startswith("https://")
    assert specs["gemma-3-270m"].command == "idc-local models pull gemma-3-270m --accept-licence"


def test_shipped_files_are_pinned_and_no_pickle() -> None:
    entries = [entry for spec in module.shipped() for entry in spec.files]
    assert all(part.wheel.count("==") == 1 for entry in entries for part in entry.parts)
    assert all(len(entry.sha256) == 64 and entry.size > 0 and entry.parts for entry in entries)
    suffixes = {Path(entry.path).suffix for entry in entries}
    assert suffixes == {".gguf", ".safetensors", ".json", ".txt", ".md", ""}


def test_resolve_gives_the_verified_files(folder: Path) -> None:
    found = Catalogue(folder).resolve(EMBEDDER)
    assert found.main == folder / "tiny-emb"
    assert found.sha256 == {entry.path: entry.sha256 for entry in EMBEDDER_SPEC.files}
    assert (found.dimension, found.context, found.query_prompt) == (4, 16, "query: ")
    generator = Catalogue(folder).resolve(GENERATOR, "tiny-gen")
    assert generator.main == folder / "tiny-gen" / "m.gguf"
    assert set(generator.sha256) == {"m.gguf"}


@pytest.mark.parametrize("place", ["tiny-emb/config.json", "tiny-emb/sub/model.safetensors", "tiny-gen/m.gguf"])
@pytest.mark.parametrize("byte", [0, 7, -1])
def test_one_changed_byte_is_refused(folder: Path, place: str, byte: int) -> None:
    flip(folder / place, byte)
    name = place.split("/")[0]
    role = GENERATOR if name == "tiny-gen" else EMBEDDER
    with pytest.raises(ModelError) as caught:
        Catalogue(folder).resolve(role)
    assert caught.value.exit_code == 3
    assert str(folder / place) in caught.value.message
    assert caught.value.hint == f"idc-local models pull {name} --models {folder}"
    states = {status.spec.name: status.state for status in Catalogue(folder).list(deep=True)}
    assert states[name] == DAMAGED
    assert list(states.values()).count(OK) == 1


def test_missing_model_names_the_command(folder: Path) -> None:
    (folder / "tiny-gen" / "m.gguf").unlink()
    (folder / "tiny-gen" / "LICENSE").unlink()
    with pytest.raises(ModelError, match="is missing") as caught:
        Catalogue(folder).resolve(GENERATOR)
    assert caught.value.hint == f"idc-local models pull tiny-gen --models {folder}"
    assert [status.state for status in Catalogue(folder).list()] == [MISSING, OK]
    assert [status.state for status in Catalogue(folder / "nowhere").list()] == [MISSING, MISSING]


def test_truncated_file_is_seen_without_hashing(folder: Path) -> None:
    path = folder / "tiny-emb" / "sub" / "model.safetensors"
    path.write_bytes(WEIGHTS[:-1])
    status = Catalogue(folder).status(EMBEDDER_SPEC)
    assert (status.state, status.detail) == (DAMAGED, f"{path} has 699 bytes instead of 700")


def test_stray_file_in_a_folder_model_is_refused(folder: Path) -> None:
    (folder / "tiny-emb" / ".DS_Store").write_bytes(b"")
    Catalogue(folder).resolve(EMBEDDER)
    (folder / "tiny-emb" / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match=r"adapter_config\.json does not belong"):
        Catalogue(folder).resolve(EMBEDDER)


def test_unknown_name_and_wrong_role(folder: Path) -> None:
    with pytest.raises(ModelError, match="'gpt-9'"):
        Catalogue(folder).resolve(GENERATOR, "gpt-9")
    with pytest.raises(UsageError, match="role generator, not embedder"):
        Catalogue(folder).resolve(EMBEDDER, "tiny-gen")


def requantised(folder: Path, monkeypatch: pytest.MonkeyPatch, **record: object) -> Path:
    """Lets the catalogue expect a derived file, and writes one with its record."""
    spec = ModelSpec(
        "tiny-gen", GENERATOR, GENERATOR_SPEC.files, "MIT", main="m.gguf", default=True, requantise=("Q8_0",)
    )
    monkeypatch.setattr(module, "shipped", lambda: iter([spec]))
    data = b"GGUF better"
    path = folder / "tiny-gen" / "m.Q8_0.gguf"
    path.write_bytes(data)
    entry = {
        "source_sha256": GENERATOR_SPEC.files[0].sha256,
        "kind": "Q8_0",
        "path": path.name,
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    (folder / "tiny-gen" / "derived.json").write_text(json.dumps(entry | record))
    return path


def test_derived_file_is_preferred_and_hashed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = requantised(folder, monkeypatch)
    assert Catalogue(folder).resolve(GENERATOR).main == path
    flip(path, 5)
    with pytest.raises(ModelError, match=r"m\.Q8_0\.gguf has another sha256"):
        Catalogue(folder).resolve(GENERATOR)


@pytest.mark.parametrize("record", [{"source_sha256": "0" * 64}, {"kind": "Q4_0"}])
def test_derived_file_of_something_else_is_left_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, record: dict[str, object]
) -> None:
    requantised(folder, monkeypatch, **record)
    assert Catalogue(folder).resolve(GENERATOR).main == folder / "tiny-gen" / "m.gguf"


def test_unreadable_record_is_damage_and_leads_nowhere_else(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = requantised(folder, monkeypatch, path="../../etc/m.Q8_0.gguf")
    assert Catalogue(folder).resolve(GENERATOR).main == path
    path.with_name("derived.json").write_text("{")
    with pytest.raises(ModelError, match="damaged"):
        Catalogue(folder).resolve(GENERATOR)


ENTRY = {"name": "x", "role": GENERATOR, "licence": "", "file": [{"path": "x.gguf", "size": 1, "sha256": "a"}]}


def registry(**changes: object) -> str:
    return json.dumps({"format": 1, "models": [ENTRY | changes]})


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"format": 2, "models": []}',
        '{"format": 1, "models": [{"name": "x"}]}',
        '{"format": 1, "models": ["x"]}',
        '{"format": 1, "models": {"x": 1}}',
        "[]",
        "[" * 100_000,
        registry(name=3),
        registry(name="../x"),
        registry(name="x" * 5000),
        registry(role="judge"),
        registry(context=float("inf")),
        registry(file=[]),
        registry(main="y.gguf"),
        registry(file=[{"path": "../x.gguf", "size": 1, "sha256": "a"}]),
        registry(file=[{"path": "/x.gguf", "size": 1, "sha256": "a"}]),
        registry(file=[{"path": "x\0.gguf", "size": 1, "sha256": "a"}]),
        registry(file=[{"path": "x.gguf", "size": float("inf"), "sha256": "a"}]),
    ],
)
def test_damaged_registry_is_an_error_that_names_it(folder: Path, text: str) -> None:
    (folder / "registry.json").write_text(text)
    with pytest.raises(ModelError, match=r"registry\.json cannot be used"):
        Catalogue(folder)


def test_a_folder_that_may_not_be_looked_at_is_not_called_broken(folder: Path) -> None:
    models = folder / ("m" * 300)  # refused to root too, unlike a folder without permissions
    with pytest.raises(ModelError) as caught:
        Catalogue(models)
    assert caught.value.message == f"{models}/registry.json cannot be read (File name too long)"
    assert caught.value.hint == f"make {models}/registry.json readable, or choose another folder with --models DIR"


def test_registry_that_is_no_file_is_an_error_at_once(folder: Path) -> None:
    os.mkfifo(folder / "registry.json")
    with pytest.raises(ModelError, match=r"registry\.json cannot be used \(not a file\)"):
        Catalogue(folder)


def test_registry_takes_the_place_of_no_shipped_model(folder: Path) -> None:
    (folder / "registry.json").write_text(registry(name="tiny-gen"))
    assert Catalogue(folder).spec("tiny-gen") == GENERATOR_SPEC


@pytest.mark.parametrize(
    "change", [{"size": float("inf")}, {"path": "x" * 5000}, {"path": ""}, {"kind": {}}, {"size": "9"}]
)
def test_derived_record_that_cannot_be_is_damage(
    folder: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, object]
) -> None:
    record = requantised(folder, monkeypatch).with_name("derived.json")
    record.write_text(json.dumps(json.loads(record.read_text()) | change))
    catalogue = Catalogue(folder)
    assert catalogue.status(catalogue.spec("tiny-gen")).state == DAMAGED
    with pytest.raises(ModelError, match="is damaged"):
        catalogue.resolve(GENERATOR)


def test_derived_record_nested_beyond_reading_is_damage(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requantised(folder, monkeypatch).with_name("derived.json").write_text("[" * 100_000)
    with pytest.raises(ModelError, match="is damaged"):
        Catalogue(folder).resolve(GENERATOR)


def test_folder_that_may_not_be_looked_into_is_damage(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    catalogue = Catalogue(folder)
    monkeypatch.setattr(module, "derived_files", lambda folder, spec: ())
    monkeypatch.setattr(Path, "exists", refuse)
    status = catalogue.status(EMBEDDER_SPEC)
    assert (status.state, status.detail) == (
        DAMAGED,
        f"{folder / 'tiny-emb' / 'config.json'} cannot be read (Permission denied)",
    )


def test_fingerprint_follows_files_and_prompts_only(folder: Path) -> None:
    first = ModelFiles("a", EMBEDDER, folder, {"m": "1", "README.md": "2"})
    same = ModelFiles("b", EMBEDDER, folder / "x", {"m": "1", "README.md": "3"}, dimension=3)
    assert first.fingerprint == same.fingerprint
    assert first.fingerprint != ModelFiles("a", EMBEDDER, folder, {"m": "9"}).fingerprint
    assert first.fingerprint != ModelFiles("a", EMBEDDER, folder, {"m": "1"}, query_prompt="query: ").fingerprint
