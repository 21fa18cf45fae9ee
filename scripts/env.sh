# Sourced by the other scripts: makes .venv and installs the package into it, once for each state of its requirements.
# The user's own pip settings (index, mirror, proxy, certificates, --no-index with a wheel folder) apply.
# usage: [extra=GROUP] . scripts/env.sh

set -eu
cd "$(dirname "$0")/.."
PYTHON="${PYTHON:-python3}"
extra="${extra:-}"

say() { printf '%s\n' "$*" >&2; }

"$PYTHON" - <<'PY' || exit 2
import sys
if sys.version_info < (3, 11):
    sys.exit(f"error: Python {sys.version.split()[0]} is too old. hint: install Python 3.11 or newer and set PYTHON to it")
PY

# With half-precision arithmetic of the processor's own llama.cpp falls back to slow code for heads as small as the
# question model's, and attention takes three times as long (docs/performance.md).
if grep -qsw avx512_fp16 /proc/cpuinfo; then
    export CFLAGS="${CFLAGS:-} -mno-avx512fp16" CXXFLAGS="${CXXFLAGS:-} -mno-avx512fp16"
fi

if [ ! -x .venv/bin/python ]; then
    say "Making .venv with $("$PYTHON" --version)"
    "$PYTHON" -m venv .venv
fi

# The stamp names what is installed: the requirements and, for an editable install, this very folder.
stamp=".venv/.installed-${extra:-base}"
state="$(cat pyproject.toml scripts/constraints.txt | "$PYTHON" -c 'import hashlib, os, sys; print(hashlib.sha256(sys.stdin.buffer.read() + os.getcwd().encode()).hexdigest())')"
if [ "$(cat "$stamp" 2>/dev/null || true)" != "$state" ]; then
    say "Installing the package and its pinned requirements into .venv."
    say "On a new machine this takes 8 to 12 minutes, most of it one step that prints nothing:"
    say "llama-cpp-python is compiled for this processor (about 6 minutes on two cores). Later runs reuse pip's cache."
    .venv/bin/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1' -c scripts/constraints.txt
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -c scripts/constraints.txt torch
    if [ -n "$extra" ]; then
        .venv/bin/python -m pip install --quiet --disable-pip-version-check -c scripts/constraints.txt --group "$extra" -e ".[plots]" &
    else
        .venv/bin/python -m pip install --quiet --disable-pip-version-check -c scripts/constraints.txt -e . &
    fi
    install=$!
    seconds=0
    while kill -0 "$install" 2>/dev/null; do
        sleep 1
        seconds=$((seconds + 1))
        if [ $((seconds % 60)) -eq 0 ]; then say "  still installing (compiling), $((seconds / 60)) min so far"; fi
    done
    wait "$install"
    printf '%s' "$state" > "$stamp"
fi
