"""Text generation with llama.cpp: owns ``llama_cpp``, which is imported when first used."""

from __future__ import annotations

from pathlib import Path

from idc_local.backends.native import quiet_stderr
from idc_local.errors import ModelError


def requantise(source: Path, target: Path, kind: str) -> str:
    """Converts a GGUF file to tensor type ``kind`` (such as ``Q8_0``); returns the library's name and version."""
    with quiet_stderr():
        import llama_cpp

        params = llama_cpp.llama_model_quantize_default_params()
        params.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}")
        params.allow_requantize = True
        failed = llama_cpp.llama_model_quantize(str(source).encode(), str(target).encode(), params)
    if failed:
        raise ModelError(f"{source} could not be converted to {kind}", hint="idc-local models pull NAME again")
    return f"llama-cpp-python {llama_cpp.__version__}"
