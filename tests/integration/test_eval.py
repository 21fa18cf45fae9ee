"""The eval command over fake models: figures, formats, controls, plots, the check without labels, and refusals."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from idc_local.evaluation.grid import COLUMNS
from tests.evalkit import TOPICS, run_cli, runtime_at, text_of, write_set

SMALL = ("--sizes", "300,600", "--strategies", "fixed,paragraph,intent")


def value_of(folder: Path, *arguments: str) -> dict[str, Any]:
    result = run_cli(folder, "eval", *arguments, "--cache", str(folder / "cache"), "--format", "json")
    assert result.exit_code == 0, result.stderr
    value: dict[str, Any] = json.loads(result.stdout)
    return value


def find(value: dict[str, Any], **wanted: object) -> dict[str, Any]:
    found = [line for line in value["results"] if all(line[key] == entry for key, entry in wanted.items())]
    assert len(found) == 1
    line: dict[str, Any] = found[0]
    return line


def index(folder: Path, *arguments: str) -> None:
    (folder / "docs").mkdir()
    for topic in TOPICS:
        (folder / "docs" / f"{topic}.txt").write_text(text_of(topic), encoding="utf-8")
    assert run_cli(folder, "index", str(folder / "docs"), *arguments).exit_code == 0


def test_figures_are_those_of_the_set(tmp_path: Path) -> None:
    value = value_of(tmp_path, str(write_set(tmp_path / "set")), *SMALL)
    assert len(value["results"]) == 2 * 3 * 2 * 2
    assert value["sets"] == [
        {
            "name": "tiny",
            "language": "en",
            "documents": 4,
            "questions": 24,
            "answers": "any",
            "scope": "corpus",
            "headline": "answer@1500",
        }
    ]
    line = find(value, set="macro", strategy="paragraph", target=300, retriever="default")
    text = sum(len(text_of(topic)) for topic in TOPICS)
    assert line["chunks"] == 24
    assert line["mean_chars"] == round(text / 24, 1)
    assert line["metrics"]["coverage"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert list(line["metrics"]) == list(COLUMNS)
    for entry in value["results"]:
        for estimate in entry["metrics"].values():
            assert 0.0 <= estimate["low"] <= estimate["mean"] <= estimate["high"] <= 1.0
        assert (entry["difference"] is None) == (entry["strategy"] == "fixed")


def test_the_same_command_gives_the_same_bytes_from_a_cold_and_a_warm_cache(tmp_path: Path) -> None:
    data = str(write_set(tmp_path / "set"))
    call = ("eval", data, *SMALL, "--intents", "shuffled", "--format", "json", "--cache")
    first, again, elsewhere = (
        run_cli(tmp_path, *call, str(tmp_path / cache)).stdout for cache in ("cache", "cache", "other")
    )
    assert first
    assert first == again == elsewhere


def test_every_format_has_a_row_for_each_configuration(tmp_path: Path) -> None:
    call = ("eval", str(write_set(tmp_path / "set")), *SMALL, "--cache", str(tmp_path / "cache"), "--format")
    table = list(csv.DictReader(io.StringIO(run_cli(tmp_path, *call, "csv").stdout)))
    lines = [json.loads(line) for line in run_cli(tmp_path, *call, "jsonl").stdout.splitlines()]
    markdown = run_cli(tmp_path, *call, "md").stdout.splitlines()
    assert len(table) == len(lines) == len(markdown) - 2 == 24
    assert {(row["set"], row["strategy"], row["target"]) for row in table} == {
        (line["set"], line["strategy"], str(line["target"])) for line in lines
    }
    assert float(table[0]["r@1"]) == lines[0]["r@1"]


def test_people_get_tables_and_what_to_make_of_them(tmp_path: Path) -> None:
    result = run_cli(tmp_path, "eval", str(write_set(tmp_path / "set")), *SMALL, "--cache", str(tmp_path / "cache"))
    assert "tiny: 4 documents, 24 questions, headline answer@1500, retriever paper" in result.stdout
    assert result.stdout.count("paragraph") == 4
    assert "both halves were used" in result.stderr
    assert "only 4 documents with questions" in result.stderr


def test_several_sets_are_averaged_and_shown_each(tmp_path: Path) -> None:
    sets = [
        str(write_set(tmp_path / name, name=name, scope=scope)) for name, scope in (("a", "corpus"), ("b", "document"))
    ]
    value = value_of(tmp_path, *sets, "--sizes", "300", "--strategies", "fixed", "--retrievers", "dense")
    each = [find(value, set=name)["metrics"]["mrr"]["mean"] for name in ("a", "b")]
    assert find(value, set="macro")["metrics"]["mrr"]["mean"] == pytest.approx(sum(each) / 2, abs=1e-6)
    assert each[1] > each[0]


def test_comparing_token_by_token_is_set_against_the_fusion_on_the_same_chunks(tmp_path: Path) -> None:
    data = str(write_set(tmp_path / "set"))
    call = (data, "--sizes", "200", "--strategies", "fixed", "--retrievers", "default,fusion", "--baseline", "fusion")
    value = value_of(tmp_path, *call)
    assert value["protocol"]["baseline"] == "fusion"
    plain, compared = (find(value, set="macro", retriever=name) for name in ("fusion", "default"))
    assert plain["difference"] is None
    means = {name: round(compared["metrics"][name]["mean"] - plain["metrics"][name]["mean"], 6) for name in COLUMNS}
    found = {name: estimate["mean"] for name, estimate in compared["difference"]["metrics"].items()}
    assert found == pytest.approx(means, abs=2e-6)
    assert any(found.values())


def test_halves_and_modes_are_named_in_the_report(tmp_path: Path) -> None:
    data = str(write_set(tmp_path / "set"))
    value = value_of(
        tmp_path, data, "--sizes", "300", "--strategies", "fixed", "--half", "tune", "--intents", "gold-half"
    )
    assert (value["protocol"]["half"], value["protocol"]["intents"]) == ("tune", "gold-half")
    assert value["sets"][0]["documents"] == 2
    assert value["sets"][0]["questions"] == 6
    assert any("upper bound" in line for line in value["warnings"])


def test_a_grid_of_zeros_is_warned_of(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", answers="all")
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in rows:
        text = text_of(row["document_id"])
        row["question"] = "?"
        row["answers"] = [{"text": text[:1400], "start": 0, "end": 1400}]
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    value = value_of(tmp_path, str(folder), "--sizes", "100", "--strategies", "fixed", "--retrievers", "bm25")
    assert any("every result is zero" in line for line in value["warnings"])


def test_plots_are_drawn_where_asked(tmp_path: Path) -> None:
    plots = tmp_path / "plots"
    call = ("--sizes", "300", "--strategies", "fixed,intent", "--retrievers", "paper", "--plots", str(plots))
    value_of(tmp_path, str(write_set(tmp_path / "set")), *call)
    names = {path.name for path in plots.iterdir()}
    stems = ("answer_by_size", "r1_by_size", "coverage_by_chunks", "answer_by_budget")
    assert names == {f"{stem}_paper.{suffix}" for stem in stems for suffix in ("png", "svg")}


def test_the_index_is_evaluated_by_its_own_held_out_questions(tmp_path: Path) -> None:
    index(tmp_path)
    value = value_of(tmp_path, "--corpus", *SMALL)
    assert value["sets"][0]["headline"] == "chars@1500"
    asked = value["sets"][0]["questions"]
    assert asked > 0
    assert f"{asked} predicted questions from" in value["facts"][0]
    own = runtime_at(tmp_path).settings
    assert f"{own.strategy} at {own.target_chars} characters" in value["facts"][-1]
    find(value, set="index", strategy=own.strategy, target=own.target_chars, retriever="default")
    line = find(value, set="index", strategy="paragraph", target=300, retriever="default")
    assert line["chunks"] == 24
    assert line["metrics"]["chars@1500"]["mean"] > 0.5
    assert value == value_of(tmp_path, "--corpus", *SMALL)


def test_an_index_without_questions_or_without_anything_is_refused(tmp_path: Path) -> None:
    index(tmp_path, "--intents", "off")
    result = run_cli(tmp_path, "eval", "--corpus")
    assert result.exit_code == 2
    assert "the index holds no predicted questions" in result.stderr
    empty = run_cli(tmp_path / "nowhere", "eval", "--corpus")
    assert (empty.exit_code, empty.stdout) == (4, "")
    assert "error: " in empty.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to evaluate"),
        (("SET", "--corpus"), "question sets and --corpus exclude each other"),
        (("--corpus", "--intents", "off"), "--corpus uses the index's own questions"),
        (("--corpus", "--half", "tune"), "--corpus uses the index's own questions"),
        (("SET", "--sizes", "700,x"), "--sizes is '700,x'"),
        (("SET", "--sizes", ""), "--sizes is ''"),
        (("SET", "--sizes", "20"), "sizes must lie between 50 and 2000"),
        (("SET", "--sizes", "5000"), "sizes must lie between 50 and 2000"),
        (("SET", "--strategies", "fixed,best"), "unknown strategy 'best'"),
        (("SET", "--strategies", ","), "no strategy to evaluate"),
        (("SET", "--retrievers", "magic"), "unknown retriever 'magic'"),
        (("SET", "--baseline", "best"), "unknown baseline 'best'"),
        (("SET", "SET"), "two sets are called 'tiny'"),
        (("MISSING",), "does not exist"),
        (("SET/dataset.json",), "is not a folder"),
    ],
)
def test_what_cannot_be_evaluated_is_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    data = write_set(tmp_path / "set")
    places = {"SET": str(data), "MISSING": str(tmp_path / "missing"), "SET/dataset.json": str(data / "dataset.json")}
    result = run_cli(tmp_path, "eval", *(places.get(word, word) for word in arguments), "--cache", str(tmp_path / "c"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1


def test_a_broken_row_is_named(tmp_path: Path) -> None:
    data = write_set(tmp_path / "set")
    rows = (data / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows[4] = rows[4].replace('"start": ', '"start": 1')
    (data / "questions.jsonl").write_text("\n".join(rows), encoding="utf-8")
    result = run_cli(tmp_path, "eval", str(data), "--format", "json")
    assert result.exit_code == 2
    assert "questions.jsonl row 5: answer 1: " in result.stderr
    assert json.loads(result.stdout)["results"] == []


def test_a_text_that_no_text_file_holds_is_named(tmp_path: Path) -> None:
    data = write_set(tmp_path / "set")
    rows = [json.loads(line) for line in (data / "documents.jsonl").read_text(encoding="utf-8").splitlines()]
    rows[2]["text"] = rows[2]["text"] + "\0\1\2" * 400
    (data / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = run_cli(tmp_path, "eval", str(data), "--cache", str(tmp_path / "cache"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {data}/documents.jsonl row 3: ")
    assert result.stderr.count("\n") == 1


def test_a_name_cannot_command_a_terminal(tmp_path: Path) -> None:
    data = write_set(tmp_path / "set", name="bad\x1b[31m\nname")
    result = run_cli(
        tmp_path, "eval", str(data), "--sizes", "300", "--strategies", "fixed", "--cache", str(tmp_path / "c")
    )
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout + result.stderr
    assert "bad\\x1b[31m name: 4 documents" in result.stdout
