"""The command line over a real index on disk; only the two models are stand-ins."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from idc_local.catalogue import ModelFiles
from idc_local.cli import cli
from idc_local.cli.session import App
from tests.tinykit import TinyRuntime

Call = Callable[..., Result]
MANUAL = "".join(
    f"## The {part}\n\nThe {part} is a {kind} of the machine. It was made in 19{year}. "
    f"The {part} needs {need} every week. Without {need} the {part} stops. A dry {part} must be replaced.\n\n"
    for part, kind, year, need in (
        ("impeller", "wheel", 71, "grease"),
        ("gasket", "seal", 82, "silicone"),
        ("thermostat", "sensor", 93, "calibration"),
    )
)


class LocalRuntime(TinyRuntime):
    """The same without any model files."""

    def _files(self, role: str, name: str) -> ModelFiles:
        return ModelFiles(name="fake", role=role, main=Path("fake"), sha256={"fake": "0" * 64}, dimension=32)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a folder of documents."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "pump.md").write_bytes(
        b"# Pump\r\n\r\nThe pump needs oil.\r\nCheck it weekly.\r\n\r\n## Lamp\r\n\r\nA red lamp warns.\r\n"
    )
    (docs / "rent.txt").write_text("The rent is due in May. It is paid to the landlord.\n")
    (docs / "copy.txt").write_text("The rent is due in May. It is paid to the landlord.\n")
    (docs / "photo.bin").write_bytes(b"\x00\xff\x00\x01" * 200)
    (docs / "empty.md").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(home: Path) -> Call:
    def run(*arguments: str, stdin: str | None = None) -> Result:
        app = App(open_runtime=LocalRuntime, environ={})
        return CliRunner().invoke(cli, list(arguments), obj=app, input=stdin)

    return run


@pytest.fixture
def indexed(call: Call) -> Call:
    result = call("index", "docs", "--intents", "heuristic")
    assert result.exit_code == 0, result.stderr
    return call


def hits(result: Result) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(result.stdout)["hits"]
    return found


def test_index_counts_and_says_why_files_were_skipped(call: Call, home: Path) -> None:
    first = call("index", "docs")
    assert first.exit_code == 0
    assert first.stdout == "4 new, 0 updated, 0 unchanged, 0 removed, 1 skipped\n"
    assert "skipped photo.bin: " in first.stderr
    assert "made, 1 file empty: empty.md\n" in first.stderr
    assert call("index", "docs").stdout == "0 new, 0 updated, 4 unchanged, 0 removed, 1 skipped\n"
    (home / "docs" / "rent.txt").write_text("The rent is due in June.\n")
    (home / "docs" / "empty.md").unlink()
    assert call("index", "docs").stdout == "0 new, 1 updated, 2 unchanged, 1 removed, 1 skipped\n"


def test_empty_files_are_named_and_of_many_the_first(call: Call, home: Path) -> None:
    names = [f"blank{number:04d}.txt" for number in range(1100)]
    (home / "many").mkdir()
    for name in names:
        (home / "many" / name).write_text(" \n")
    told = call("index", "many", "--intents", "off")
    assert told.stderr.endswith("1,100 files empty: blank0000.txt, blank0001.txt, blank0002.txt and 1,097 more\n")
    for name in names[4:]:
        (home / "many" / name).unlink()
    for options, end in (((), f"{', '.join(names[:3])} and 1 more"), (("-v",), ", ".join(names[:4]))):
        assert f"4 files empty: {end}\n" in call("index", "many", "--rebuild", *options).stderr
    report = json.loads(call("index", "many", "--rebuild", "--format", "json").stdout)
    assert (report["empty"], report["empty_paths"]) == (4, names[:4])
    (home / "many" / names[0]).unlink()
    assert "3 files empty: blank0001.txt, blank0002.txt, blank0003.txt\n" in call("index", "many", "--rebuild").stderr


def test_a_folder_without_files_to_read_is_told(call: Call, home: Path) -> None:
    (home / "bare").mkdir()
    (home / "bare" / ".hidden.md").write_text("The pump needs oil.\n")
    told = call("index", "bare", "--intents", "off")
    assert (told.exit_code, told.stdout) == (0, "0 new, 0 updated, 0 unchanged, 0 removed, 0 skipped\n")
    assert told.stderr.startswith("no file to read there: hidden files and ignored ones are left out")
    assert "no file" not in call("index", "bare", "--intents", "off", "--hidden").stderr
    assert "no file" not in call("index", "bare", "--intents", "off", "--hidden").stderr, "unchanged is something"


def test_a_dry_run_leaves_nothing_behind(call: Call, home: Path) -> None:
    result = call("index", "docs", "--dry-run", "--format", "json")
    forecast = json.loads(result.stdout)
    assert (forecast["new"], forecast["files"], len(forecast["skipped"])) == (4, 4, 1)
    assert forecast["disk_bytes"] > 0
    assert not (home / ".idc").exists()


def test_every_hit_quotes_its_file_exactly(indexed: Call, home: Path) -> None:
    found = hits(indexed("search", "oil for the pump", "--format", "json"))
    assert found[0]["path"] == "pump.md"
    for hit in found:
        source = (home / "docs" / hit["path"]).read_bytes().decode()
        assert source[hit["start"] : hit["end"]] == hit["text"]
        assert source[hit["span"]["start"] : hit["span"]["end"]] == hit["span"]["text"]
        assert source[: hit["start"]].count("\n") + 1 <= hit["line_start"] <= hit["line_end"]


def test_equal_files_are_one_hit_with_both_paths(indexed: Call) -> None:
    found = hits(indexed("search", "when is the rent due", "--format", "json"))
    assert {found[0]["path"], *found[0]["other_paths"]} == {"rent.txt", "copy.txt"}
    assert sum("rent" in hit["text"] for hit in found) == 1


def test_filters_and_exit_codes(indexed: Call) -> None:
    assert {hit["path"] for hit in hits(indexed("search", "due", "--filter", "path:*.md", "--format", "json"))} == {
        "pump.md"
    }
    nothing = indexed("search", "due", "--filter", "path:none/*", "--format", "json")
    assert (nothing.exit_code, hits(nothing)) == (1, [])
    assert indexed("search", "due", "--filter", 'path:"').exit_code == 2
    assert indexed("search", "due", "--index", "elsewhere").exit_code == 4


def test_results_are_the_same_twice_and_ids_lead_back(indexed: Call, home: Path) -> None:
    first, second = (indexed("search", "lamp", "--format", "json").stdout for _ in range(2))
    assert first == second
    hit = json.loads(first)["hits"][0]
    shown = json.loads(indexed("show", hit["id"][:8], "--format", "json").stdout)
    assert shown == {key: hit[key] for key in shown}
    text = indexed("show", hit["id"], "--document").stdout_bytes.decode()
    assert text == (home / "docs" / "pump.md").read_bytes().decode()
    assert indexed("show", "0" * 64).exit_code == 1
    assert indexed("show", "zz").exit_code in (1, 2)


def test_queries_give_a_line_each(indexed: Call, home: Path) -> None:
    (home / "q.jsonl").write_text('{"id": 3, "query": "rent"}\n{"query": "lamp", "filter": "path:none"}\n')
    result = indexed("search", "--queries", "q.jsonl", "-k", "1", "--context", "1", "--max-chars", "60")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["id"], len(line["hits"])) for line in lines] == [(3, 1), ("2", 0)]
    assert result.exit_code == 0
    assert len(lines[0]["hits"][0]["text"]) <= 60


def test_chunk_needs_no_index_and_reads_standard_input(call: Call, home: Path) -> None:
    for strategy in ("intent", "fixed", "paragraph"):
        result = call(
            "chunk", "-", "--strategy", strategy, "--intents", "heuristic", "--format", "json", stdin="One. Two.\n"
        )
        assert result.exit_code == 0, result.stderr
        assert "".join(chunk["text"] for chunk in json.loads(result.stdout)["chunks"]) == "One. Two.\n"
    assert not (home / ".idc").exists()
    assert call("chunk", "none.md").exit_code == 2
    assert call("chunk", "docs").exit_code == 2


def test_cuts_are_explained(call: Call, home: Path) -> None:
    text = "\n\n".join(f"## Part {n}\n\n" + f"Sentence about topic{n} and more. " * 12 for n in range(4))
    (home / "long.md").write_text(text)
    result = call("chunk", "long.md", "--explain", "--intents", "off", "--format", "jsonl", "--target-chars", "300")
    chunks = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(chunks) >= 4
    assert chunks[0]["cut"] is None
    assert all(chunk["cut"]["terms"] for chunk in chunks[1:])
    assert all(chunk["cut"]["line"] == chunk["line_start"] for chunk in chunks[1:])
    assert "gives no reasons" not in result.stderr
    plain = call("chunk", "long.md", "--explain", "--intents", "off", "--strategy", "fixed", "--target-chars", "300")
    assert plain.exit_code == 0
    assert "the strategy fixed gives no reasons for its cuts\n" in plain.stderr
    (home / "short.md").write_text("One sentence.")
    short = call("chunk", "short.md", "--explain", "--intents", "off", "--strategy", "fixed")
    assert short.stderr == "", "nothing was cut"


def test_questions_of_a_file_and_of_the_index(indexed: Call, home: Path) -> None:
    (home / "docs" / "pump.md").write_text(MANUAL)
    assert indexed("index", "docs", "--intents", "heuristic").exit_code == 0
    own = list(
        csv.DictReader(
            io.StringIO(indexed("intents", "docs/pump.md", "--intents", "heuristic", "--format", "csv").stdout)
        )
    )
    assert own
    source = (home / "docs" / "pump.md").read_bytes().decode()
    for row in own:
        assert row["passage"] in source
        assert row["origin"] == "heuristic"
    stored = [json.loads(line) for line in indexed("intents", "--all", "--format", "jsonl").stdout.splitlines()]
    assert {row["question"] for row in own} <= {row["question"] for row in stored}
    pairs = [json.loads(line) for line in indexed("intents", "--all", "--pairs").stdout.splitlines()]
    assert [pair["question"] for pair in pairs] == [row["question"] for row in stored]


def test_status_names_files_and_encodings(indexed: Call) -> None:
    value = json.loads(indexed("status", "--format", "json").stdout)
    encodings = {source["path"]: source["encoding"] for source in value["sources"] if source["state"] == "indexed"}
    assert encodings == {"copy.txt": "utf-8", "empty.md": "utf-8", "pump.md": "utf-8", "rent.txt": "utf-8"}
    assert (value["documents"], value["generation"]) == (3, 1)
    assert "pump.md" in indexed("status", "-v").stdout


def test_remove_and_forget(indexed: Call, home: Path) -> None:
    assert indexed("remove", "copy.txt").stdout == "1 removed\n"
    assert hits(indexed("search", "rent", "--format", "json"))[0]["other_paths"] == []
    assert indexed("remove", "copy.txt").exit_code == 1
    forgotten = indexed("forget", "rent.txt", "--format", "json")
    assert forgotten.exit_code == 0, forgotten.stderr
    assert json.loads(forgotten.stdout)["failed"] == 0
    assert all("rent" not in hit["text"] for hit in hits(indexed("search", "rent", "--format", "json")))
    assert all(b"landlord" not in file.read_bytes() for file in (home / ".idc").rglob("*") if file.is_file())
    assert indexed("compact").exit_code == 0
    assert indexed("verify", "--deep").exit_code == 0


def test_remove_and_forget_know_files_by_their_place(
    indexed: Call, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert indexed("remove", ".").exit_code == indexed("remove", "/").exit_code == 1
    assert indexed("remove", "docs/../docs/copy.txt").stdout == "1 removed\n"
    monkeypatch.chdir(home / "docs")
    forgotten = indexed("forget", str(home / "docs" / "rent.txt"), "--index", "../.idc")
    assert (forgotten.exit_code, "fail" in forgotten.stdout) == (0, False)
    assert indexed("remove", ".", "--index", "../.idc").stdout == "2 removed\n"


@pytest.mark.skipif(sys.platform == "darwin", reason="its names are UTF-8")
def test_files_whose_names_are_no_text_go_by_name_and_by_place(indexed: Call, home: Path) -> None:
    folder = home / os.fsdecode(b"caf\xe9")
    (folder / os.fsdecode(b"s\xff")).mkdir(parents=True)
    for name in (b"a\xe9.txt", b"b\xe9.txt", b"c\xe9.txt", b"s\xff/d.txt", b"s\xff/e.txt"):
        (folder / os.fsdecode(name)).write_text(f"The pantry holds {name.hex()} jars.\n")
    assert indexed("index", str(folder)).exit_code == 0
    for path in (folder / os.fsdecode(b"a\xe9.txt"), os.fsdecode(b"b\xe9.txt"), "c\\xe9.txt"):
        assert indexed("remove", str(path)).stdout == "1 removed\n"
    assert indexed("forget", str(folder / os.fsdecode(b"s\xff/d.txt"))).exit_code == 0
    assert indexed("remove", str(folder)).stdout == "1 removed\n"
    gone = indexed("remove", str(folder))
    assert gone.exit_code == 1
    assert gone.stderr.startswith(f"error: {home}/caf\\xe9 is not in the index."), "as the index spells names"


@pytest.mark.skipif(sys.platform == "darwin", reason="its names are UTF-8")
def test_a_file_whose_name_is_no_text_is_cut_under_the_name_that_an_index_gives_it(call: Call, home: Path) -> None:
    file = home / os.fsdecode(b"caf\xe9.txt")
    file.write_text("Jars.\n")
    cut = json.loads(call("chunk", file.name, "--strategy", "fixed", "--format", "json").stdout)
    assert cut["document"]["path"] == "caf\\xe9.txt"


def test_a_file_called_like_standard_input_is_another(call: Call, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "docs" / "-").write_text("Pelicans keep fish in the pouch.\n")
    assert call("index", "docs").stdout.startswith("5 new, ")
    assert call("index", "-", stdin="Geese fly in a V.\n").stdout.startswith("1 new, 0 updated, ")
    assert call("index", "docs").stdout.startswith("0 new, 0 updated, 5 unchanged, 0 removed, ")
    found = {
        hit["path"]: hit["text"].strip()
        for hit in hits(call("search", "pelicans geese", "-k", "9", "--format", "json"))
    }
    assert (found["-"], found["docs/-"]) == ("Geese fly in a V.", "Pelicans keep fish in the pouch.")
    monkeypatch.chdir(home / "docs")
    cut = json.loads(call("chunk", "./-", "--strategy", "fixed", "--format", "json", stdin="Nobody asked.\n").stdout)
    assert cut["chunks"][0]["text"].strip() == "Pelicans keep fish in the pouch."
    index = ("--index", "../.idc")
    assert call("index", "./-", *index, stdin="Nobody asked.\n").stdout.startswith("0 new, 0 updated, 1 unchanged")
    assert call("remove", "./-", *index).stdout == "1 removed\n"
    assert call("remove", "-", *index).stdout == "1 removed\n"
    assert call("remove", "-", *index).exit_code == 1


@pytest.mark.parametrize("more", [(), ("--dry-run",), ("--rebuild",)])
def test_an_index_is_not_made_among_other_files(call: Call, home: Path, more: tuple[str, ...]) -> None:
    before = sorted(home.rglob("*"))
    (home / "same").symlink_to("docs")
    for roots, index in ((("docs",), "docs"), (("docs",), "same"), ((".",), "docs"), (("docs/pump.md",), ".")):
        refused = call("index", *roots, "--index", index, *more)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert refused.stderr.startswith(f"error: {index} "), refused.stderr
        assert "--index DIR" in refused.stderr
    assert sorted(home.rglob("*")) == [*before, home / "same"]


def test_an_index_is_made_where_its_settings_are_and_hidden_files(call: Call, home: Path) -> None:
    own = home / "own.idc"
    own.mkdir()
    (own / "config.toml").write_text('strategy = "fixed"\n')
    (own / ".gitignore").write_text("*\n")
    (own / "lock").touch()
    assert call("index", "docs", "--index", "own.idc").exit_code == 0
    (own / "notes.txt").write_text("What was there with an index stays no matter.\n")
    assert call("index", "docs", "--index", "own.idc").stdout.startswith("0 new, 0 updated, 4 unchanged")
    assert call("index", "own.idc", "--index", "own.idc").exit_code == 2


def test_damage_is_found(indexed: Call, home: Path) -> None:
    victim = max(
        (file for file in (home / ".idc" / "generations").rglob("*") if file.is_file()), key=lambda f: f.stat().st_size
    )
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 0xFF
    victim.write_bytes(bytes(data))
    result = indexed("verify", "--deep")
    assert result.exit_code in (1, 4)
    assert "fix: " in result.stdout or "hint: " in result.stderr


def test_moving_everything_keeps_the_index_usable(indexed: Call, home: Path) -> None:
    shutil.move(home / ".idc", home / "moved")
    assert hits(indexed("search", "lamp", "--index", "moved", "--format", "json"))


@pytest.mark.parametrize("form", ["text", "json", "jsonl", "csv", "md"])
def test_every_trap_is_indexed_and_found(call: Call, home: Path, shared_data: Path, form: str) -> None:
    assert call("index", str(shared_data / "traps"), "--intents", "heuristic", "--format", form).exit_code == 0
    for query, path in (("E-4012", "identifiers.md"), ("浮球磨损", "chinese.md"), ("fünf", "latin1.txt")):
        result = call("search", query, "--filter", query, "--format", form)
        assert result.exit_code == 0
        assert path in result.stdout


def test_standard_input_is_a_document(call: Call) -> None:
    assert call("index", "-", "--intents", "off", stdin="The moon is made of cheese.\n").exit_code == 0
    assert hits(call("search", "moon", "--format", "json"))[0]["path"] == "-"


def test_a_citation_can_be_checked_against_its_file(indexed: Call, home: Path) -> None:
    (first, *_) = hits(indexed("search", "oil for the pump", "--format", "json"))
    source = home / "docs" / "pump.md"
    assert first["source_sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()

    def state() -> tuple[int, str]:
        result = indexed("show", first["id"][:8], "--verify", "--format", "json")
        return result.exit_code, json.loads(result.stdout)["source_state"]

    assert state() == (0, "match")
    source.rename(home / "docs" / "moved.md")
    assert state() == (0, "moved")
    source.write_text("Other words.\n")
    assert state() == (1, "changed")
    source.unlink()
    (home / "docs" / "moved.md").unlink()
    assert state() == (1, "gone")


def test_archives_are_removed_and_forgotten_with_what_is_in_them(call: Call, home: Path) -> None:
    for name in ("a.zip", "b.zip"):
        with zipfile.ZipFile(home / "docs" / name, "w") as archive:
            archive.writestr("valve.txt", f"The valve of {name} leaks.")
            archive.writestr("in/hose.txt", f"The hose of {name} is new.")
    result = call("index", "docs", "--intents", "off", "--archives")
    assert result.stdout.startswith("8 new, "), result.stderr
    assert call("remove", "a.zip").exit_code == 0
    assert call("forget", "b.zip").exit_code == 0
    sources = json.loads(call("status", "-v", "--format", "json").stdout)
    assert "zip!" not in json.dumps(sources)
