"""Looking after an index through the command line: over a real index on disk, only the models are stand-ins."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from idc_local.cli import cli
from idc_local.cli.session import App
from tests.integration.test_cli_index import LocalRuntime

Call = Callable[..., Result]
QUESTIONS = ("When is the rent due?", "oil for the pump", "red lamp", "Mondtag")


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Runs one command in a folder with an index of three documents, two of them the same."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "pump.md").write_bytes(b"# Pump\r\n\r\nThe pump needs oil.\r\n\r\n## Lamp\r\n\r\nA red lamp warns.\r\n")
    (docs / "rent.txt").write_text("The rent is due in May. It is paid to the landlord in Elm Street.\n")
    (docs / "copy.txt").write_text("The rent is due in May. It is paid to the landlord in Elm Street.\n")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(cli, list(arguments), obj=App(open_runtime=LocalRuntime, environ={}))

    assert run("index", "docs", "--intents", "heuristic").exit_code == 0
    return run


def answers(call: Call, index: str = ".idc") -> list[str]:
    return [call("search", question, "--format", "json", "--index", index).stdout for question in QUESTIONS]


def checks(result: Result) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(result.stdout)["checks"]
    return found


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0x20
    path.write_bytes(bytes(data))


def test_verify_reports_sources_that_are_not_as_they_were_and_does_not_fail(call: Call, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    sources = [check for check in checks(call("verify", "--deep", "--format", "json")) if check["name"] == "sources"]
    assert [check["detail"] for check in sources] == ["3 files read again: 3 match, 0 moved, 0 changed, 0 gone"]
    (docs / "pump.md").write_text("The pump is gone.\n")
    (docs / "rent.txt").rename(docs / "lease.txt")
    (docs / "copy.txt").unlink()
    result = call("verify", "--deep", "--format", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    found = [(check["status"], check["detail"], check["fix"]) for check in checks(result) if "source" in check["name"]]
    moved = f", now {docs / 'lease.txt'}"
    assert found == [
        ("ok", "3 files read again: 0 match, 2 moved, 1 changed, 0 gone", ""),
        ("warn", f"moved: copy.txt{moved}", "idc-local index PATH"),
        ("warn", "changed: pump.md", "idc-local index PATH"),
        ("warn", f"moved: rent.txt{moved}", "idc-local index PATH"),
    ]
    (docs / "lease.txt").unlink()
    assert "gone: rent.txt" in call("verify", "--deep").stdout
    assert "sources" not in call("verify").stdout


def test_hints_name_the_index_that_was_given(call: Call, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / ".idc", tmp_path / "other")
    shutil.rmtree(tmp_path / "other" / "generations")
    failed = call("search", "pump", "--index", "other")
    assert failed.exit_code == 4
    assert failed.stderr.endswith(" hint: idc-local repair --index other\n")
    assert call("repair", "--index", "other").exit_code == 0
    assert answers(call, "other") == answers(call)


def test_a_document_is_shown_by_the_beginning_of_its_id(call: Call) -> None:
    (hit,) = json.loads(call("search", "Who is the landlord?", "-k", "1", "--format", "json").stdout)["hits"]
    whole = call("show", hit["document_id"], "--document")
    assert "Elm Street" in whole.stdout
    assert call("show", hit["document_id"][:8], "--document").stdout == whole.stdout
    assert call("show", "f" * 63, "--document").exit_code == 1


def test_repair_mends_what_verify_names(call: Call, tmp_path: Path) -> None:
    before = answers(call)
    victims = [
        next((tmp_path / ".idc").glob(f"generations/1/{name}")) for name in ("segments/*/table.npy", "paths.utf8")
    ]
    for victim in (*victims, tmp_path / ".idc" / "manifest.json"):
        flip(victim, victim.stat().st_size // 2)
        damaged = call("verify", "--deep", "--format", "json")
        assert damaged.exit_code == 1
        assert any(victim.name in check["detail"] for check in checks(damaged) if check["fix"] == "idc-local repair")
    assert "hint: idc-local repair" in call("search", "rent").stderr
    result = call("repair", "--format", "json")
    assert result.exit_code == 0, result.stderr
    assert [check["name"] for check in checks(result)] == ["rebuilt"]
    assert answers(call) == before
    assert call("verify", "--deep").exit_code == 0


def test_an_index_goes_into_one_file_and_comes_out_of_it(call: Call, tmp_path: Path) -> None:
    before = answers(call)
    exported = call("export", "notes.tar", "--format", "json")
    assert exported.exit_code == 0, exported.stderr
    assert json.loads(exported.stdout)["file"] == "notes.tar"
    assert str(tmp_path).encode() not in (tmp_path / "notes.tar").read_bytes()
    shutil.rmtree(tmp_path / "docs")
    assert call("import", "notes.tar", "--index", "new/.idc").exit_code == 0
    assert answers(call, "new/.idc") == before
    assert call("verify", "--deep", "--index", "new/.idc").exit_code == 0


@pytest.mark.parametrize("folder", ["docs", "elsewhere/docs"])
def test_an_imported_index_knows_its_files_again(call: Call, tmp_path: Path, folder: str) -> None:
    assert call("export", "notes.tar").exit_code == 0
    assert call("import", "notes.tar", "--index", "new").exit_code == 0
    (tmp_path / folder).parent.mkdir(exist_ok=True)
    (tmp_path / "docs").rename(tmp_path / folder)
    (tmp_path / folder / "rent.txt").write_text("The rent is due in June, and only in June.\n")
    index = ("index", folder, "--index", "new", "--intents", "heuristic")
    assert call(*index).stdout == "0 new, 1 updated, 2 unchanged, 0 removed, 0 skipped\n"
    assert call(*index).stdout == "0 new, 0 updated, 3 unchanged, 0 removed, 0 skipped\n"
    (tmp_path / folder / "copy.txt").unlink()
    assert call(*index).stdout == "0 new, 0 updated, 2 unchanged, 1 removed, 0 skipped\n"


def test_other_files_never_take_the_place_of_imported_ones(call: Call, tmp_path: Path) -> None:
    assert call("export", "notes.tar").exit_code == 0
    assert call("import", "notes.tar", "--index", "new").exit_code == 0
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "rent.txt").write_text("Quite another text about the rent of boats.\n")
    assert call("index", "other", "--index", "new").stdout.startswith("1 new, 0 updated")
    paths = [
        source["path"] for source in json.loads(call("status", "--index", "new", "--format", "json").stdout)["sources"]
    ]
    assert paths == ["copy.txt", "other/rent.txt", "pump.md", "rent.txt"]


@pytest.mark.parametrize(
    ("arguments", "line", "code"),
    [
        (("import", "notes.tar"), ".idc is not empty. hint: choose another folder with --index DIR", 4),
        (("import", "docs/pump.md", "--index", "new"), "docs/pump.md is no exported index", 2),
        (("import", "none.tar", "--index", "new"), "none.tar cannot be read: No such file or directory", 2),
        (("export", "docs/pump.md"), "docs/pump.md exists and is no exported index", 2),
        (("export", "none/notes.tar"), "none/notes.tar cannot be written: No such file or directory", 2),
        (("export", "docs/pump.md/x.tar"), "docs/pump.md/x.tar cannot be written: Not a directory", 2),
        (("export", "/proc/x.tar"), "/proc/x.tar cannot be written: ", 2),
        (("export", "x" * 300), f"{'x' * 300} cannot be written: File name too long", 2),
        (("export", "notes.tar", "--index", "none"), "no index in none. hint: idc-local index PATH --index none", 4),
        (("repair", "--index", "none"), "no index in none. hint: idc-local index PATH --index none", 4),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    call: Call, tmp_path: Path, arguments: tuple[str, ...], line: str, code: int
) -> None:
    assert call("export", "notes.tar").exit_code == 0
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file() and path.name != "lock"}
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith(f"error: {line}")
    assert result.stderr.count("\n") == 1
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [".idc", "docs", "notes.tar"]


def test_one_changed_byte_in_each_file_is_named_and_never_answered_wrongly(call: Call, tmp_path: Path) -> None:
    before = call("search", QUESTIONS[0], "--format", "json").stdout
    index = tmp_path / ".idc"
    files = sorted(path for path in index.rglob("*") if path.is_file() and path.stat().st_size)
    # SQLite's scratch memory, made anew by whoever opens the database next.
    files = [path for path in files if path.name != "index.sqlite-shm"]
    assert len(files) > 25
    for number, path in enumerate(files):
        data = path.read_bytes()
        flip(path, (number * 7919) % len(data))
        result = call("search", QUESTIONS[0], "--format", "json")
        assert result.exit_code == 4 or result.stdout == before, path
        verified = call("verify", "--deep", "--format", "json")
        assert verified.exit_code in (1, 4), path
        assert path.name in verified.stdout, path
        path.write_bytes(data)
    assert call("verify", "--deep").exit_code == 0


def test_forget_leaves_no_sentence_in_any_file(call: Call, tmp_path: Path) -> None:
    secret = ["Doctor Okonkwo prescribed 40 mg of zelotrine.", "Er wohnt in der Grünstraße 12.", "患者须每日服药两次。"]
    (tmp_path / "docs" / "secret.md").write_text("# Okonkwo\n\n" + "\n\n".join(secret) + "\n", encoding="utf-8")
    assert call("index", "docs").exit_code == 0
    assert "zelotrine" in call("search", "What did Okonkwo prescribe?").stdout
    (tmp_path / "docs" / "secret.md").unlink()
    result = call("forget", "secret.md", "--format", "json")
    assert (result.exit_code, json.loads(result.stdout)["failed"]) == (0, 0)
    words = [word for text in (*secret, "Okonkwo", "zelotrine", "Grünstraße", "secret.md") for word in (text, text[3:])]
    forms = [word.encode(code) for word in words for code in ("utf-8", "utf-16-le", "utf-16-be")]
    forms += [json.dumps(word)[1:-1].encode() for word in words]
    for path in (tmp_path / ".idc").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert [form for form in forms if form in data or form.lower() in data] == [], path


def refusals(call: Call, *commands: tuple[str, ...]) -> None:
    """Each command fails with exit code 4 and one line that names the index."""
    for command in commands:
        result = call(*command)
        assert (result.exit_code, result.stdout) == (4, ""), command
        assert result.stderr.count("\n") == 1, command
        assert result.stderr.startswith("error: "), command
        assert ". hint: " in result.stderr, command


def test_a_full_disk_is_one_line_and_costs_nothing(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = answers(call)
    (tmp_path / "docs" / "new.md").write_text("A new file. It says that the rent is high.\n")
    real = os.fsync

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    refusals(call, ("index", "docs"), ("remove", "rent.txt"), ("forget", "rent.txt"), ("compact",), ("repair",))
    refusals(call, ("export", "notes.tar"))
    monkeypatch.setattr(os, "fsync", real)
    assert answers(call) == before
    assert call("index", "docs").exit_code == 0
    assert "rent is high" in call("search", "Is the rent high?").stdout
    assert call("verify", "--deep").exit_code == 0


def test_a_file_in_the_way_of_the_index_is_one_line(call: Call, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    for command in ("index docs", "search rent", "status", "remove rent.txt", "forget rent.txt", "compact", "repair"):
        refusals(call, (*command.split(), "--index", "file"))
        refusals(call, (*command.split(), "--index", "file/below"))
    assert (tmp_path / "file").read_text() == "no folder"
