"""Trials of a GGUF file in a process of its own: over some malformed files llama.cpp ends the whole process."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from pathlib import Path

from idc_local.backends.llama import load_generator
from idc_local.catalogue import GENERATOR, ModelFiles
from idc_local.errors import ModelError
from idc_local.machine import available_threads
from idc_local.netguard import guard
from idc_local.ports import GenerationRequest

UNUSABLE = 3
"""Exit code of the process when the file was refused; what was said of it is on stderr."""


TRIAL = ("A", [GenerationRequest(" trial.", 0)], 4)
WORK = (
    "Water boils at a hundred degrees. Steel is an alloy of iron and carbon. The moon has no air.\n",
    [
        GenerationRequest(
            f"{number} metres of rope were sold to the harbour office, which had asked for twice as much in the spring "
            "and still has to pay for what it got. Who",
            number,
        )
        for number in range(32)
    ],
    8,
)
"""Prefix, requests and most tokens of a reply: enough to see a file load, and to see how quick it is."""


def try_generator(files: ModelFiles, threads: int) -> None:
    """Loads the file and lets it write a word; raises ModelError where that fails or crashes."""
    done = _in_own_process(files.main, threads, "trial")
    if done.returncode == UNUSABLE:
        raise ModelError(done.stderr.decode("utf-8", "surrogateescape"))
    if done.returncode:
        raise ModelError(f"{files.main} makes llama.cpp crash")


def seconds_of_work(file: Path) -> float:
    """Seconds that the file takes for a fixed piece of work with all threads; inf where it does none."""
    done = _in_own_process(file, available_threads(), "work")
    return float(done.stdout) if done.returncode == 0 else math.inf


def _in_own_process(file: Path, threads: int, task: str) -> subprocess.CompletedProcess[bytes]:
    package = str(Path(__file__).parents[2])
    paths = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH", ""))))
    # No debugger is started over a crash. -P: no module is taken from the working folder.
    environ = {**os.environ, "PYTHONPATH": paths, "GGML_NO_BACKTRACE": "1"}
    command = [sys.executable, "-P", "-m", __name__, str(file), str(threads), task]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environ, check=False)


def main() -> int:
    """Does the task of the command line with its file and number of threads, and prints how many seconds it took."""
    files = ModelFiles("trial", GENERATOR, Path(sys.argv[1]), {})
    prefix, requests, tokens = WORK if sys.argv[3] == "work" else TRIAL
    try:
        with guard(allow=False):
            generator = load_generator(files, int(sys.argv[2]))
            generator.generate(prefix, requests[:1], max_tokens=1, stop="\n\n")
            began = time.perf_counter()
            generator.generate(prefix, requests, max_tokens=tokens, stop="\n\n")
            taken = time.perf_counter() - began
    except ModelError as error:
        sys.stderr.buffer.write(error.message.encode("utf-8", "surrogateescape"))
        return UNUSABLE
    sys.stdout.write(f"{taken}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
