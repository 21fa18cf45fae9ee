"""Facts of this machine and process that decide whether the package can work, and how well.

Reads the interpreter, package metadata and /proc; imports no library to learn about it.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from idc_local.fingerprint import digest

LIBRARIES: Mapping[str, str] = {
    "bm25s": "bm25s",
    "charset-normalizer": "charset_normalizer",
    "click": "click",
    "faiss-cpu": "faiss",
    "llama-cpp-python": "llama_cpp",
    "markdown-it-py": "markdown_it",
    "numpy": "numpy",
    "platformdirs": "platformdirs",
    "pypdfium2": "pypdfium2",
    "safetensors": "safetensors",
    "selectolax": "selectolax",
    "sentence-transformers": "sentence_transformers",
    "sentencex": "sentencex",
    "snowballstemmer": "snowballstemmer",
    "threadpoolctl": "threadpoolctl",
    "tokenizers": "tokenizers",
    "torch": "torch",
    "xxhash": "xxhash",
}
"""Module of each library that the package needs."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Facts of the machine and the process.

    versions: of each library, None where it is missing. cpu_features: empty where the system does not say.
    free_bytes: of the disk that holds a folder.
    """

    python: tuple[int, int]
    versions: Mapping[str, str | None]
    cpu_features: frozenset[str]
    processors: int
    encoding: str
    environ: Mapping[str, str]
    free_bytes: Callable[[Path], int]


def look_around(environ: Mapping[str, str] = os.environ) -> Machine:
    """The facts of this machine and process; imports nothing heavy."""
    return Machine(
        python=sys.version_info[:2],
        versions={name: _version(name, module) for name, module in LIBRARIES.items()},
        cpu_features=cpu_features(),
        processors=available_threads(),
        encoding=sys.getfilesystemencoding(),
        environ=environ,
        free_bytes=lambda folder: shutil.disk_usage(folder).free,
    )


def available_threads() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version(library: str, module: str) -> str | None:
    try:
        return importlib.metadata.version(library) if importlib.util.find_spec(module) else None
    except importlib.metadata.PackageNotFoundError:
        return None


def cpu_features(source: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """What the processor can do, as the system names it; empty where it does not say."""
    try:
        text = source.read_text("utf-8", "replace")
    except OSError:
        return frozenset()
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return frozenset(found[1].split()) if found else frozenset()


def has_bfloat16() -> bool:
    """True where the processor has instructions for bfloat16; that they gain anything has to be measured."""
    return not cpu_features().isdisjoint(("avx512_bf16", "amx_bf16", "bf16"))


def build_flags(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Environment variables for building llama.cpp here, beside those that are set.

    With half-precision arithmetic of the processor's own it falls back to slow code for attention with heads of 64
    values, the question model's.
    """
    if "avx512_fp16" not in cpu_features():
        return {}
    return {name: f"{environ.get(name, '')} -mno-avx512fp16".strip() for name in ("CFLAGS", "CXXFLAGS")}


def processor() -> str:
    """A short name for this kind of processor: what it can do, as 16 hex digits."""
    return digest([platform.machine(), *sorted(cpu_features())])[:16]
