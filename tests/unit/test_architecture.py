"""Imports point downward only, and each third-party library has one owner."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "idc_local"

LAYERS: dict[str, int] = {
    name: layer
    for layer, names in {
        0: "types errors",
        1: """ports fingerprint line_ends abbreviations language sentences cutting terms wording grounding queries
              intents heuristics budget chunks filters ranking metrics dp chunk_sums segment segment_paper
              segment_calibrated structural coherence c99 cluster strategies answers spelling interaction
              tokencodes indexed""",
        2: """config machine lockdown netguard readers catalogue licences pull adopt unbundle bundle carried datasets
              memory evalcache sample plots whereabouts backends store""",
        3: """status embedding sources prediction pipeline indexing forecasting searching evaluation silence gaps
              doctor""",
        4: "runtime evaluating api",
        5: "cli",
    }.items()
    for name in names.split()
}

OWNERS: dict[str, set[str]] = {
    "sentencex": {"sentences"},
    "snowballstemmer": {"terms"},
    "markdown_it": {"readers.markdown"},
    "selectolax": {"readers.html"},
    "pypdfium2": {"readers.pdfium"},
    "charset_normalizer": {"readers.decode"},
    "llama_cpp": {"backends.llama"},
    "sentence_transformers": {"backends.packing", "backends.sbert"},
    "torch": {"backends.packing", "backends.sbert"},
    "tokenizers": {"backends.tokens", "backends.minilm"},
    "safetensors": {"backends.minilm"},
    "threadpoolctl": {"backends.minilm"},
    "faiss": {"store.vectors"},
    "bm25s": {"store.lexical"},
    "xxhash": {"store.blocks"},
    "platformdirs": {"config"},
    "matplotlib": {"plots"},
}

PURE_FORBIDDEN = {"os", "pathlib", "sqlite3", "time", "random", "subprocess", "socket"}


def modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        found.append((name.removesuffix(".__init__"), path))
    return [(name, path) for name, path in found if name not in ("__init__", "__main__")]


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            if node.module == "idc_local":
                names |= {f"idc_local.{alias.name}" for alias in node.names}
    return names


def part(name: str) -> str:
    return name.split(".")[0]


@pytest.mark.parametrize(("name", "path"), modules(), ids=lambda value: value if isinstance(value, str) else "")
def test_imports_point_downward(name: str, path: Path) -> None:
    assert part(name) in LAYERS, f"{name} has no layer: name it here"
    mine = LAYERS[part(name)]
    for target in imported(path):
        if target.startswith("idc_local."):
            other = part(target.removeprefix("idc_local."))
            allowed = LAYERS[other] <= mine
            assert allowed, f"{name} (layer {mine}) imports {other} (layer {LAYERS[other]})"
            if mine == 3:
                assert other != "backends", f"{name}: use cases take ports, not backends"
            if {part(name), other} == {"backends", "store"}:
                pytest.fail(f"{name} imports {other}")


@pytest.mark.parametrize(("name", "path"), modules(), ids=lambda value: value if isinstance(value, str) else "")
def test_third_party_libraries_have_one_owner(name: str, path: Path) -> None:
    for target in imported(path):
        top = part(target)
        if top in OWNERS:
            assert name in OWNERS[top], f"{name} imports {top}"
        if top == "click":
            assert part(name) == "cli"
        if top == "sqlite3":
            assert part(name) == "store"


@pytest.mark.parametrize(("name", "path"), modules(), ids=lambda value: value if isinstance(value, str) else "")
def test_pure_layers_do_no_input_or_output(name: str, path: Path) -> None:
    if LAYERS[part(name)] <= 1:
        used = {part(target) for target in imported(path)}
        if name == "ports":
            used.discard("pathlib")
        assert not used & PURE_FORBIDDEN
        assert not {target for target in used if target not in sys.stdlib_module_names} - {
            "numpy", "idc_local", "sentencex", "snowballstemmer",
        }  # fmt: skip


def test_every_module_and_function_is_small() -> None:
    for _name, path in modules():
        source = path.read_text(encoding="utf-8")
        assert source.count("\n") <= 380, f"{path.name} is long: split it"
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
                assert node.end_lineno - node.lineno < 60, f"{path.name}: {node.name} is long"
