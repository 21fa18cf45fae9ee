"""A first load of a GGUF file in a process of its own: over some malformed files llama.cpp ends the whole process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from idc_local.backends.llama import load_generator
from idc_local.catalogue import GENERATOR, ModelFiles
from idc_local.errors import ModelError
from idc_local.netguard import guard
from idc_local.ports import GenerationRequest

UNUSABLE = 3
"""Exit code of the process when the file was refused; what was said of it is on stderr."""


def try_generator(files: ModelFiles, threads: int) -> None:
    """Loads the file and lets it write a word; raises ModelError where that fails or crashes."""
    package = str(Path(__file__).parents[2])
    paths = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH", ""))))
    # No debugger is started over a crash. -P: no module is taken from the working folder.
    environ = {**os.environ, "PYTHONPATH": paths, "GGML_NO_BACKTRACE": "1"}
    command = [sys.executable, "-P", "-m", __name__, str(files.main), str(threads)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environ, check=False
    )
    if done.returncode == UNUSABLE:
        raise ModelError(done.stderr.decode("utf-8", "surrogateescape"))
    if done.returncode:
        raise ModelError(f"{files.main} makes llama.cpp crash")


def main() -> int:
    """Tries the file and the number of threads of the command line."""
    files = ModelFiles("trial", GENERATOR, Path(sys.argv[1]), {})
    try:
        with guard(allow=False):
            generator = load_generator(files, int(sys.argv[2]))
            generator.generate("A", [GenerationRequest(" trial.", 0)], max_tokens=4, stop="\n\n")
    except ModelError as error:
        sys.stderr.buffer.write(error.message.encode("utf-8", "surrogateescape"))
        return UNUSABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
