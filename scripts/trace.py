"""Watches a run of ``index`` from outside: every file that is opened to write, every socket, every program.

The documents ask for all of that: remote pictures, included files, external entities, macros, shell cells, names that
lead out of archives. A canary file beside them must stay as it is, unread.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which

from tests import packkit
from tests.fuzzkit import samples

CALLS = (
    "open,openat,openat2,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,"
    "chmod,fchmodat,truncate,socket,connect,bind,sendto,execve,execveat"
)
_CALL = re.compile(r"^\d+\s+(\w+)\((.*)")
_PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')
_WRITING = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")
_DEVICES = ("/dev/null", "/dev/tty", "/dev/shm/", "/proc/self/")


@dataclass
class Seen:
    """What the kernel was asked for."""

    calls: int = 0
    inside: set[str] = field(default_factory=set)
    outside: set[str] = field(default_factory=set)
    sockets: list[str] = field(default_factory=list)
    programs: list[str] = field(default_factory=list)
    canary: list[str] = field(default_factory=list)


def hostile(folder: Path, canary: Path) -> None:
    """Documents that ask for more than to be read."""
    url, target = "http://192.0.2.1/x", str(canary)
    texts = {
        "page.html": f"<img src='{url}.png'><script src='{url}.js'></script><iframe src='file://{target}'></iframe>Oil.",
        "part.rst": f"Title\n=====\n\n.. include:: {target}\n\n.. raw:: html\n   :url: {url}\n\n.. csv-table::\n"
        f"   :file: {target}\n",
        "part.tex": f"\\input{{{target}}}\\write18{{touch {target}}}\\includegraphics{{{url}}} Oil.",
        "part.org": f'#+INCLUDE: "{target}"\n#+begin_src sh :eval yes\ntouch {target}\n#+end_src\n',
        "page.md": f"![x]({url}.png) <img src='{url}'>\n\n{{% include '{target}' %}} Oil.\n",
        "book.ipynb": '{"cells": [{"cell_type": "code", "source": "!touch ' + target + '"}], "nbformat": 4}',
        "letter.eml": f'Subject: x\nContent-Type: message/external-body; access-type=url; URL="{url}"\n\nSubject: y\n',
        "page.eml": f"Subject: z\nContent-Type: text/html\n\n<img src='{url}'><link rel=stylesheet href='{url}'>Oil.",
        "code.py": f"import os\nos.system('touch {target}')\n",
        ".gitignore": "*.never\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    entity = f'<!DOCTYPE x [<!ENTITY e SYSTEM "file://{target}"><!ENTITY % p SYSTEM "{url}"> %p;]>'
    bomb = (
        "<!DOCTYPE x [<!ENTITY a '"
        + "x" * 1000
        + "'>"
        + "".join(f"<!ENTITY {name} '{f'&{below};' * 10}'>" for below, name in zip("abcdefgh", "bcdefghi", strict=True))
        + "]>"
    )
    for name, head in (("entity", entity), ("bomb", bomb)):
        run = f"<w:r><w:t>&{'e' if name == 'entity' else 'i'};</w:t></w:r>"
        document = f"{head}<w:document xmlns:w='{packkit.WORD}'><w:body><w:p>{run}</w:p></w:body></w:document>"
        (folder / f"{name}.docx").write_bytes(packkit.office("word/document.xml", {"word/document.xml": document}))
    (folder / "out.zip").write_bytes(
        packkit.packed({f"../../{canary.name}": "changed", target: "changed", "in.txt": "Oil."})
    )
    for name, data in samples().items():
        (folder / f"sample-{name}").write_bytes(data)


def watched(index: Path, docs: Path, log: Path) -> subprocess.CompletedProcess[str]:
    """Runs ``index`` on the documents under strace."""
    command = [sys.executable, "-m", "idc_local", "index", str(docs), "--index", str(index), "--archives", "-v"]
    command += ["--intents", "heuristic"]
    return subprocess.run(
        ["strace", "-f", "-qq", "-s", "400", "-e", f"trace={CALLS}", "-o", str(log), *command],
        capture_output=True, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, check=False,
    )  # fmt: skip


def looked_through(log: Path, index: Path, canary: Path) -> Seen:
    """What the log holds; sockets, programs and calls that name the canary count even where they failed."""
    seen = Seen()
    for name, rest in _calls(log):
        seen.calls += 1
        paths = _PATH.findall(rest)
        if str(canary) in rest and name != "execve":
            seen.canary.append(f"{name}({rest[:120]}")
        if name == "socket":
            seen.sockets.append(rest.split(",")[0])
        elif name in ("connect", "bind", "sendto"):
            seen.sockets.append(f"{name} {rest[:80]}")
        elif name.startswith("exec"):
            seen.programs.append(paths[0] if paths else rest[:80])
        elif (not name.startswith("open") or _WRITING.search(rest)) and " = -1 E" not in rest:
            for path in paths or ["?"]:
                _place(path, index, seen)
    return seen


def _calls(log: Path) -> Iterator[tuple[str, str]]:
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        found = _CALL.match(line)
        if found is not None:
            yield found[1], found[2]


def _place(path: str, index: Path, seen: Seen) -> None:
    if path.startswith(str(index)):
        seen.inside.add(path)
    elif not path.startswith(_DEVICES):
        seen.outside.add(path)


def main() -> int:
    """Makes the documents, runs, and prints what was seen."""
    if which("strace") is None:
        sys.stderr.write("error: there is no strace. hint: apt-get install strace\n")
        return 2
    with tempfile.TemporaryDirectory() as place:
        base = Path(place)
        docs, index, canary, log = base / "docs", base / "index", base / "canary.txt", base / "log"
        docs.mkdir()
        canary.write_text("untouched-canary-text")
        hostile(docs, canary)
        run = watched(index, docs, log)
        seen = looked_through(log, index, canary)
        held = any(b"untouched-canary-text" in file.read_bytes() for file in index.rglob("*") if file.is_file())
        network = [entry for entry in seen.sockets if "INET" in entry]
        worker = [program for program in seen.programs if Path(program).name.startswith("python")]
        sys.stdout.write(
            f"exit code {run.returncode}; {run.stdout.strip()}\n{seen.calls} calls watched, in all processes\n"
            f"network sockets: {len(network)}; other sockets: {sorted(set(seen.sockets) - set(network)) or 'none'}\n"
            f"programs: {len(seen.programs)}, of which the interpreter: {len(worker)}\n"
            f"paths written, made or removed: {len(seen.inside)} in the index folder, {len(seen.outside)} elsewhere\n"
            f"canary: {len(seen.canary)} calls name it, its text is {'IN' if held else 'not in'} the index, "
            f"it is {'as it was' if canary.read_text() == 'untouched-canary-text' else 'CHANGED'}\n"
        )
        sys.stdout.writelines(f"  {what}\n" for what in (*sorted(seen.outside), *network, *seen.canary)[:40])
        sys.stdout.writelines(f"  {line}\n" for line in run.stderr.splitlines() if run.returncode or "network" in line)
        bad = network or seen.outside or seen.canary or held or len(worker) != len(seen.programs) or run.returncode
        return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
