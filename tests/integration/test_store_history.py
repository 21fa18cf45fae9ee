"""Whatever happened to the files, a search answers as over a fresh index of what there is now, byte for byte."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from idc_local.cli import cli
from idc_local.cli.session import App
from tests.integration.test_cli_index import LocalRuntime
from tests.store_documents import MEMORY

SEQUENCES = 300
NAMES = ("a.md", "b.txt", "sub/c.md", "sub/d.txt")
UNREADABLE = b"\0\xff\0\x01" * 40
CONTENTS = (
    b"# Pump\n\nThe pump needs oil. It is blue.\n\nA red lamp warns of heat. The lamp is old.\n",
    b"# Pump\n\nThe pump needs oil. It is blue.\n\nA green lamp shines. The lamp is old.\n",
    "The rent is due in May.\r\nIt is paid to the landlord. 浮球磨损更换浮球。\r\n".encode(),
    UNREADABLE,
    b"",
)
"""Two that share sentences, one of another kind, one that cannot be read, and nothing."""

QUERIES = ("pump oil", "When is the rent due?", "lamp", "浮球")

write = st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from(range(len(CONTENTS))))
rename = st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES))
delete = st.tuples(st.just("delete"), st.sampled_from(NAMES), st.none())
Change = tuple[str, str, str | int | None]
histories = st.lists(st.lists(st.one_of(write, write, rename, delete), min_size=1, max_size=5), min_size=1, max_size=3)


def run(*arguments: str) -> tuple[int, str]:
    """One command in this process: its exit code and stdout."""
    result = CliRunner().invoke(cli, arguments, obj=App(open_runtime=LocalRuntime, environ={}))
    return result.exit_code, result.stdout


def index(folder: Path) -> None:
    code, _ = run("index", str(folder / "docs"), "--index", str(folder / "index"), "--intents", "heuristic", "-q")
    assert code == 0


def answers(folder: Path, queries: Path) -> str:
    found = run("search", "--queries", str(queries), "--format", "jsonl", "-k", "20", "--index", str(folder / "index"))
    return f"{found[0]}\n{found[1]}"


def apply(docs: Path, changes: Sequence[Change]) -> None:
    for kind, name, other in changes:
        path = docs / name
        path.parent.mkdir(exist_ok=True)
        if kind == "write" and isinstance(other, int):
            path.write_bytes(CONTENTS[other])
        elif kind == "rename" and isinstance(other, str) and path.exists():
            (docs / other).parent.mkdir(exist_ok=True)
            path.replace(docs / other)
        elif kind == "delete":
            path.unlink(missing_ok=True)


def files(docs: Path) -> tuple[tuple[str, bytes], ...]:
    return tuple((name, (docs / name).read_bytes()) for name in NAMES if (docs / name).exists())


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder in memory where the system has one, with the queries."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        Path(name, "queries.txt").write_text("\n".join(QUERIES), encoding="utf-8")
        yield Path(name)


def test_any_history_answers_as_a_fresh_index(place: Path) -> None:
    queries = place / "queries.txt"
    counted = [0, 0]

    @cache
    def fresh(content: tuple[tuple[str, bytes], ...]) -> str:
        with tempfile.TemporaryDirectory(dir=place) as name:
            folder = Path(name)
            for path, data in content:
                (folder / "docs" / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / "docs" / path).write_bytes(data)
            (folder / "docs").mkdir(exist_ok=True)
            index(folder)
            return answers(folder, queries)

    @settings(
        max_examples=SEQUENCES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(history=histories)
    def check(history: list[list[Change]]) -> None:
        folder = place / "case"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "docs").mkdir(parents=True)
        for changes in history:
            apply(folder / "docs", changes)
            index(folder)
            kept = files(folder / "docs")
            # Of a file that cannot be read any more the last good version stays: that, a fresh index cannot know.
            if not any(data == UNREADABLE for _, data in kept):
                assert answers(folder, queries) == fresh(kept)
                counted[1] += 1
        counted[0] += 1

    check()
    assert counted[0] >= SEQUENCES
    assert counted[1] >= counted[0]
