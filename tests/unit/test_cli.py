"""Formats, schemas and exit codes of every command, over a scripted runtime."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from idc_local.cli import COMMANDS
from idc_local.cli.output import csv_lines
from idc_local.cli.render import page_label, question_lines
from idc_local.cli.schema import flat_hit, hit_item
from idc_local.cli.search import UNSURE
from idc_local.cli.terminal import Screen
from idc_local.errors import IdcError, InputError, ModelError, NothingFound, StoreCorrupt, StoreLocked, UsageError
from idc_local.types import Hit
from idc_local.whereabouts import SourceState
from tests.clikit import CHECKS, FAILED, FIRST, HITS, INTENT, SECOND, TEXT, FakeRuntime, invoke, parsed, parsed_lines

CALLS: dict[str, tuple[str, ...]] = {
    "index": ("index", "docs"),
    "forecast": ("index", "docs", "--dry-run"),
    "search": ("search", "pump"),
    "chunk": ("chunk", "docs/pump.md"),
    "intents": ("intents", "docs/pump.md"),
    "stored intents": ("intents", "--all"),
    "show": ("show", "a1b2"),
    "status": ("status",),
    "verify": ("verify",),
    "remove": ("remove", "docs"),
    "forget": ("forget", "docs/pump.md"),
    "compact": ("compact",),
    "repair": ("repair",),
    "export": ("export", "notes.tar"),
    "import": ("import", "notes.tar"),
    "models": ("models", "list"),
    "doctor": ("doctor",),
    "licences": ("licences",),
}


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("form", ["text", "json", "jsonl", "csv", "md"])
def test_every_command_prints_every_format(call: tuple[str, ...], form: str, tmp_path: Path) -> None:
    result = invoke(*call, "--format", form, "--models", str(tmp_path))
    assert (result.exit_code, result.exception and str(result.exception)) == (0, None)
    assert result.stdout.strip()
    assert "\x1b" not in result.stdout + result.stderr
    if form == "json":
        assert isinstance(parsed(result), dict)
    elif form == "jsonl":
        assert all(isinstance(item, dict) for item in parsed_lines(result))
    elif form == "csv":
        header, *records = csv.reader(io.StringIO(result.stdout))
        assert records
        assert all(len(record) == len(header) for record in records)
    elif form == "md":
        lines = result.stdout.splitlines()
        assert set(lines[1]) == {"|", "-", " "}
        assert all(line.startswith("| ") and line.endswith(" |") for line in (lines[0], *lines[2:]))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NothingFound("not there", hint="idc-local status"), 1),
        (UsageError("no", hint="x"), 2),
        (InputError("docs/a.md: broken", hint="x"), 2),
        (ModelError("model is missing", hint="idc-local models pull"), 3),
        (StoreLocked("locked", hint="wait"), 4),
        (StoreCorrupt("damaged", hint="idc-local verify"), 4),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("division by zero"), 2),
        (MemoryError(), 2),
        (OSError(28, "No space left on device"), 2),
    ],
)
def test_every_failure_is_one_line_with_its_exit_code(
    call: tuple[str, ...], error: BaseException, code: int, tmp_path: Path
) -> None:
    result = invoke(*call, "--models", str(tmp_path), runtime=FakeRuntime(error=error))
    assert result.exit_code == code
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert ". hint: " in line
    if isinstance(error, IdcError):
        assert line == f"error: {error.message}. hint: {error.hint}"


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_json_stays_json_when_a_command_fails(call: tuple[str, ...]) -> None:
    runtime = FakeRuntime(error=StoreLocked("locked by 12", hint="wait"))
    result = invoke(*call, "--format", "json", runtime=runtime)
    assert result.exit_code == 4
    assert parsed(result)["error"] == {"message": "locked by 12", "hint": "wait", "exit_code": 4}
    assert result.stderr == "error: locked by 12. hint: wait\n"


def test_debug_shows_the_traceback() -> None:
    runtime = FakeRuntime(error=ZeroDivisionError("division by zero"))
    result = invoke("status", "--debug", runtime=runtime)
    assert result.exit_code == 2
    assert "Traceback (most recent call last)" in result.stderr
    assert result.stderr.endswith("error: ZeroDivisionError: division by zero. hint: run it again with --debug\n")


def test_a_path_that_cannot_be_used_is_named() -> None:
    runtime = FakeRuntime(error=PermissionError(13, "Permission denied", "box/secret"))
    result = invoke("status", runtime=runtime)
    assert (result.exit_code, result.stderr) == (
        2,
        "error: box/secret: Permission denied. hint: check the path, its permissions and the disk\n",
    )


def test_an_unexpected_error_is_one_line_whatever_it_says() -> None:
    runtime = FakeRuntime(error=ValueError("two\nlines \x1b[31m\u202e"))
    result = invoke("status", runtime=runtime)
    assert result.stderr == "error: ValueError: two lines \\x1b[31m\\u202e. hint: run it again with --debug\n"


def test_a_missing_library_points_to_doctor() -> None:
    result = invoke("status", runtime=FakeRuntime(error=ModuleNotFoundError("No module named 'faiss'")))
    assert result.exit_code == 2
    assert result.stderr == "error: a library cannot be loaded: No module named 'faiss'. hint: idc-local doctor\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("index",), "error: Missing argument 'PATH...'. hint: idc-local index --help"),
        (("search", "x", "--zzzz"), "error: No such option '--zzzz'. hint: idc-local search --help"),
        (("nope",), "error: No such command 'nope'. hint: idc-local --help"),
        (("-V",), "error: No such option '-V'. hint: idc-local --help"),
        (("serch", "x"), "error: No such command 'serch'. Did you mean 'search'? hint: idc-local --help"),
        (
            ("--index", "x", "status"),
            "error: No such option '--index'. hint: options come after the command, as in idc-local COMMAND --index",
        ),
        (
            ("index", "docs", "--include"),
            "error: Option '--include' requires an argument. hint: idc-local index --help",
        ),
        (("search",), "error: give a QUERY or --queries FILE. hint: idc-local search"),
        (
            ("search", "x", "--queries", "y"),
            "error: give a QUERY or --queries FILE, not both. hint: idc-local search --queries FILE",
        ),
        (("search", " "), 'error: the query is empty. hint: idc-local search "your question"'),
        (("intents",), "error: give a FILE, --all or --gaps FILE. hint: idc-local intents FILE"),
        (("intents", "--gaps", "q", "--all"), "error: give a FILE, --all or --gaps FILE. hint: idc-local intents FILE"),
        (("intents", "x", "--all"), "error: give a FILE, --all or --gaps FILE. hint: idc-local intents FILE"),
        (("index", "-", "--dry-run"), "error: --dry-run cannot look at standard input. hint: name files or folders"),
        (("models",), ""),
        ((), ""),
    ],
)
def test_wrong_usage_ends_with_2(arguments: tuple[str, ...], line: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert line in result.stderr
    if line:
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5"])
def test_k_must_be_a_positive_whole_number(value: str) -> None:
    result = invoke("search", "x", "-k", value)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: Invalid value for '-k'")


def test_no_command_indexes_the_working_folder_by_itself() -> None:
    runtime = FakeRuntime()
    assert invoke("index", runtime=runtime).exit_code == 2
    assert runtime.calls == []


# ---- search


def test_search_json_has_the_promised_fields() -> None:
    value = parsed(invoke("search", "pump", "--format", "json"))
    assert list(value) == ["query", "hits", "spelling", "unsure"]
    first, second = value["hits"]
    assert first["id"] == FIRST.id
    assert (first["rank"], first["score"]) == (1, 0.731235)
    assert TEXT[first["start"] : first["end"]] == first["text"]
    assert TEXT[first["span"]["start"] : first["span"]["end"]] == first["span"]["text"] == "The pump needs oil."
    assert first["explain"] == {"dense": 0.5, "sentence": 0.61, "intent": 0.7, "bm25": 3.25, "fused": 0.731235}
    assert first["intents"] == [
        {
            "text": "What does the pump need?",
            "start": 8,
            "end": 44,
            "evidence": {"start": 8, "end": 28},
            "score": 0.8125,
            "origin": "model",
        }
    ]
    assert first["other_paths"] == ["copy/pump.md"]
    assert second["explain"]["intent"] is None
    assert second["explain"]["sentence"] is None, "NaN is no JSON"
    assert {"page", "heading", "line_start", "line_end", "tokens", "document_id", "path"} <= set(second)


def test_nearness_word_by_word_is_shown_of_hits_that_were_looked_at() -> None:
    near = replace(HITS[0], explain=replace(HITS[0].explain, tokens=0.71234567))
    fake = FakeRuntime(hits=(near, HITS[1]))
    first, second = parsed(invoke("search", "pump", "--format", "json", runtime=fake))["hits"]
    assert first["explain"]["tokens"] == 0.712346
    assert "tokens" not in second["explain"]
    table = invoke("search", "pump", "--explain", "--format", "csv", runtime=fake).stdout
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["tokens"] for row in rows] == [str(FIRST.tokens), str(HITS[1].chunk.tokens)]
    assert [row["explain_tokens"] for row in rows] == ["0.712346", ""]
    text = invoke("search", "pump", "--explain", runtime=fake).stdout
    assert "   tokens        0.7123  nearness word by word\n   fused         0.7312  " in text


@pytest.mark.parametrize("form", ["text", "json", "jsonl", "csv", "md"])
def test_search_that_finds_nothing_ends_with_1_and_typed_emptiness(form: str) -> None:
    result = invoke("search", "nothing", "--format", form)
    assert result.exit_code == 1
    assert result.stderr == "nothing found\n"
    nothing = '{\n  "query": "nothing",\n  "hits": [],\n  "spelling": {},\n  "unsure": false\n}\n'
    expected = {"text": "", "jsonl": "", "json": nothing}
    if form in expected:
        assert result.stdout == expected[form]
    else:
        assert result.stdout.splitlines()[0].strip("| ").startswith("rank")
    filtered = invoke("search", "nothing", "--filter", "type:zzz", "--format", form)
    assert filtered.stderr == "nothing found: no passage passes the filter\n"


def test_markdown_of_hits_is_a_table_that_fits_a_page() -> None:
    head = invoke("search", "pump", "--format", "md", "-k", "1").stdout.splitlines()[0]
    assert head == "| rank | score | path | line_start | heading | text |"
    head = invoke("search", "pump", "--format", "md", "-k", "1", "--explain").stdout.splitlines()[0]
    assert head.startswith("| rank | score | dense | sentence | intent | bm25 | fused | explain_tokens | path |")


def test_search_jsonl_is_one_hit_a_line() -> None:
    lines = parsed_lines(invoke("search", "pump", "--format", "jsonl", "-k", "2"))
    assert [line["rank"] for line in lines] == [1, 2]


def test_search_passes_filter_and_k_on() -> None:
    runtime = FakeRuntime()
    invoke("search", "pump", "-k", "1", "--filter", "path:docs/*", runtime=runtime)
    _, query, k = runtime.calls[1]
    assert (query.text, query.filter, k) == ("pump", "path:docs/*", 1)


def test_a_bad_filter_is_found_before_anything_is_opened() -> None:
    runtime = FakeRuntime()
    result = invoke("search", "pump", "--filter", "size:3", runtime=runtime)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: unknown filter")
    assert runtime.calls == []


def test_csv_columns_never_change_but_for_explain() -> None:
    columns = "rank,score,id,path,line_start,line_end,page,heading,start,end,tokens,text"
    header = f"{columns},span_start,span_end,span_text,span_likely"
    for query in ("pump", "nothing"):
        assert invoke("search", query, "--format", "csv").stdout.splitlines()[0] == header
    explained = rows(invoke("search", "pump", "--format", "csv", "--explain").stdout)
    assert explained[0]["bm25"] == "3.25"
    assert explained[1]["intent"] == explained[1]["sentence"] == explained[1]["page"][1:] == ""
    assert explained[0]["text"] == FIRST.text


def test_csv_tells_the_tokens_of_a_passage_from_the_signal_of_that_name() -> None:
    hit = replace(HITS[0], explain=replace(HITS[0].explain, tokens=0.875))
    (row,) = rows("".join(csv_lines([flat_hit(hit_item(hit))], ("tokens", "explain_tokens"), terminal=False)))
    assert row == {"tokens": str(FIRST.tokens), "explain_tokens": "0.875"}
    told = rows(invoke("search", "pump", "-k", "1", "--format", "csv", "--explain").stdout)[0]
    assert list(told)[-6:] == ["dense", "sentence", "intent", "bm25", "fused", "explain_tokens"]
    assert told["tokens"] == str(FIRST.tokens)


def test_search_text_shows_place_score_and_questions() -> None:
    assert invoke("search", "pump", "-k", "1").stdout == (
        "1.  docs/pump.md:1  answer in line 3  0.7312  [a1b2c3d4]\n"
        "   also copy/pump.md\n"
        "   Pump\n"
        "   # Pump\n"
        "   The pump needs oil.\n"
        "   Check it weekly.\n"
        "   answers: What does the pump need?\n"
        "\n"
    )


def test_the_line_of_an_answer_is_told_where_it_is_likely_and_lines_count() -> None:
    hit = HITS[0]
    paged = replace(hit, chunk=replace(FIRST, page="3"))
    unlikely = replace(hit, span=replace(hit.span, likely=False))
    at_the_top = replace(hit, span=replace(hit.span, line_start=1))
    for own in (paged, unlikely, at_the_top):
        assert "answer in" not in invoke("search", "pump", runtime=FakeRuntime(hits=[own])).stdout
    span = json.loads(invoke("search", "pump", "--format", "json").stdout)["hits"][0]["span"]
    assert (span["line_start"], span["line_end"]) == (3, 3)


@pytest.mark.parametrize(("hits", "note"), [(HITS, ""), (HITS[1:], f"{UNSURE}\n")])
def test_search_says_where_nothing_answers_well(hits: tuple[Hit, ...], note: str) -> None:
    result = invoke("search", "pump", runtime=FakeRuntime(hits=hits))
    assert (result.exit_code, result.stderr) == (0, note)


def test_what_notes_tell_is_in_json_too() -> None:
    told = parsed(invoke("search", "pmup or lamp", "--format", "json"))
    assert (told["spelling"], told["unsure"]) == ({"pmup": "pump"}, False)
    told = parsed(invoke("search", "pump", "--format", "json", runtime=FakeRuntime(hits=HITS[1:])))
    assert (told["spelling"], told["unsure"]) == ({}, True)
    answers = parsed_lines(invoke("search", "--queries", "-", stdin="lamp\n\nnothing vlave\n"))
    assert [(answer["spelling"], answer["unsure"]) for answer in answers] == [({}, False), ({"vlave": "valve"}, False)]


def test_search_names_words_that_are_nowhere_but_for_a_slip() -> None:
    result = invoke("search", "pmup or vlave", runtime=FakeRuntime(hits=HITS))
    assert result.stderr == 'no passage holds "pmup", "vlave": also looked for "pump", "valve"\n'
    result = invoke("search", "pmup pupm", runtime=FakeRuntime(hits=HITS))
    assert result.stderr == 'no passage holds "pmup", "pupm": also looked for "pump"\n'
    assert invoke("search", "pmup", "-q", runtime=FakeRuntime(hits=HITS)).stderr == ""
    assert invoke("search", "pmup nothing", runtime=FakeRuntime(hits=HITS)).stderr == "nothing found\n"


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        ("idc-local models pull", "idc-local models pull --models 'my models'"),
        ("idc-local models list", "idc-local models list --models 'my models'"),
        ("get pip, then idc-local models pull a-b.c", "get pip, then idc-local models pull a-b.c --models 'my models'"),
        ("idc-local models pull x --accept-licence", "idc-local models pull x --accept-licence --models 'my models'"),
        ("idc-local models pull x --models other", "idc-local models pull x --models other"),
        ("make it again with idc-local models bundle FILE", "make it again with idc-local models bundle FILE"),
        ("idc-local status", "idc-local status"),
    ],
)  # fmt: skip
def test_a_hint_about_models_names_the_folder_that_was_given(hint: str, told: str) -> None:
    failing = FakeRuntime(error=ModelError("no model", hint=hint))
    given = invoke("search", "pump", "--models", "my models", runtime=failing)
    assert given.stderr == f"error: no model. hint: {told}\n"
    failing = FakeRuntime(error=ModelError("no model", hint=hint))
    assert invoke("search", "pump", runtime=failing).stderr == f"error: no model. hint: {hint}\n"


def test_a_heading_in_place_of_a_question_is_called_what_a_passage_is_about() -> None:
    intents = (replace(INTENT, text="Kaution"), replace(INTENT, text="水泵?"), replace(INTENT, text="水泵？"))
    assert [line.strip().split(":")[0] for line in question_lines(intents, Screen())] == ["about", "answers", "answers"]


def test_explain_prints_the_signals_as_a_table() -> None:
    text = invoke("search", "pump", "--explain").stdout
    assert "   signal         score\n   dense         0.5000  nearness in meaning of question and passage\n" in text
    assert "   sentence      0.6100  best sentence: nearness, and words it shares\n" in text
    assert "   intent             -  nearest predicted question; does not count\n" in text


def test_queries_answer_each_line_in_order(tmp_path: Path) -> None:
    file = tmp_path / "questions.txt"
    file.write_bytes(b"\xef\xbb\xbfpump\r\n\r\nnothing here\n  lamp  \n")
    result = invoke("search", "--queries", str(file), "-k", "1")
    assert result.exit_code == 0
    answers = parsed_lines(result)
    assert [(answer["id"], answer["query"], len(answer["hits"])) for answer in answers] == [
        ("1", "pump", 1),
        ("3", "nothing here", 0),
        ("4", "lamp", 1),
    ]
    assert all(list(answer) == ["id", "query", "hits", "spelling", "unsure"] for answer in answers)


def test_queries_as_json_lines_from_standard_input() -> None:
    runtime = FakeRuntime()
    lines = [
        {"id": 7, "query": "pump", "filter": "path:a/*"},
        {"query": "line\u2028break"},
        {"id": "", "query": ""},
        {"id": "z", "query": "bad \ud800 half"},
    ]
    stdin = "\n".join(json.dumps(line) for line in lines)
    result = invoke("search", "--queries", "-", "--filter", "type:md", stdin=stdin, runtime=runtime)
    answers = parsed_lines(result)
    assert [(answer["id"], answer["query"]) for answer in answers] == [
        (7, "pump"),
        ("2", "line\u2028break"),
        ("", ""),
        ("z", "bad \ud800 half"),
    ]
    assert answers[2]["hits"] == []
    asked = [call[1] for call in runtime.calls if call[0] == "search"]
    assert [(query.text, query.filter, query.id) for query in asked] == [
        ("pump", "path:a/*", "7"),
        ("line\u2028break", "type:md", "2"),
        ("bad \ufffd half", "type:md", "z"),
    ]


@pytest.mark.parametrize("place", ["/dev/zero", "-"])
def test_queries_without_end_end(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setattr("idc_local.cli.queries.MOST_BYTES", 1 << 20)
    result = invoke("search", "--queries", place, stdin=b"pump\n" * (1 << 18))
    assert (result.exit_code, result.stderr) == (
        2,
        f"error: {place} holds more than 1 MiB of queries. hint: split it\n",
    )


def test_queries_without_any_hit_end_with_1(tmp_path: Path) -> None:
    file = tmp_path / "q.txt"
    file.write_text("nothing\nnothing else\n")
    result = invoke("search", "--queries", str(file))
    assert result.exit_code == 1
    assert [answer["hits"] for answer in parsed_lines(result)] == [[], []]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.jsonl", b'{"id": 1, "query": "a"}\n{"id": 2', "q.jsonl, row 2: not JSON"),
        ("q.jsonl", b'{"query": "a"}\n\n["b"]\n', "q.jsonl, row 3: not a JSON object"),
        ("q.txt", b'{"id": 1}\n', "q.txt, row 1: query is not a string"),
        ("q.txt", b'{"query": "a", "id": {}}\n', "q.txt, row 1: id is neither a string nor a whole number"),
        ("q.txt", b'{"query": "a", "id": true}\n', "q.txt, row 1: id is neither"),
        ("q.txt", b'{"query": "a", "filter": 3}\n', "q.txt, row 1: filter is not a string"),
        ("q.txt", b'{"query": "a", "filter": []}\n', "q.txt, row 1: filter is not a string"),
        ("q.txt", b'{"query": "a", "filter": false}\n', "q.txt, row 1: filter is not a string"),
        ("q.txt", b'{"query": "a"}\n{"query": "b", "filter": "size:1"}\n', "q.txt, row 2: unknown filter"),
        ("q.txt", b'{"query": "a"}\n' + b"[" * 100_000, "q.txt, row 2: not JSON"),
        ("q.txt", "für".encode("latin-1"), "q.txt, row 1: not UTF-8"),
        ("q.txt", "pump".encode("utf-16"), "q.txt, row 1: not UTF-8"),
        ("q.txt", b"a\nb\0c\n", "q.txt, row 2: holds a NUL character"),
        ("q.txt", b" \n\r\n", "q.txt holds no queries"),
    ],
)
def test_a_broken_query_file_is_refused_before_any_answer(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    runtime = FakeRuntime()
    result = invoke("search", "--queries", str(file), runtime=runtime)
    assert (result.exit_code, result.stdout, runtime.calls) == (2, "", [])
    assert result.stderr.startswith(f"error: {tmp_path / message}")
    assert len(result.stderr.splitlines()) == 1


def test_a_query_file_that_is_missing_or_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.txt", tmp_path):
        result = invoke("search", "--queries", str(path))
        assert result.exit_code == 2
        assert f"{path} cannot be read" in result.stderr


def test_queries_refuse_a_table(tmp_path: Path) -> None:
    result = invoke("search", "--queries", str(tmp_path / "q.txt"), "--format", "csv")
    assert result.exit_code == 2
    assert result.stderr == "error: --queries prints JSON lines, not csv. hint: leave --format out\n"


def test_an_error_of_one_query_names_its_row(tmp_path: Path) -> None:
    class Failing(FakeRuntime):
        def search(self, query: Any, k: int) -> Any:
            if query.text == "bad":
                raise InputError("too long", hint="shorten it")
            return list(HITS)

    file = tmp_path / "q.txt"
    file.write_text("good\nbad\n")
    result = invoke("search", "--queries", str(file), runtime=Failing())
    assert result.exit_code == 2
    assert [answer["query"] for answer in parsed_lines(result)] == ["good"]
    assert result.stderr == f"error: {file}, row 2: too long. hint: shorten it\n"


def test_context_and_budget_reach_the_output() -> None:
    value = parsed(invoke("search", "pump", "--context", "1", "--format", "json"))
    assert [(hit["before"], hit["after"]) for hit in value["hits"]] == [
        ("", "A red lamp warns."),
        ("Check it weekly.", ""),
    ]
    value = parsed(invoke("search", "pump", "--max-chars", "24", "--format", "json"))
    (hit,) = value["hits"]
    assert hit["truncated"] is True
    assert len(hit["text"]) <= 24
    assert TEXT[hit["start"] : hit["end"]] == hit["text"]
    header = invoke("search", "pump", "--max-chars", "24").stdout.splitlines()[0]
    assert header == "1.  docs/pump.md:1  answer in line 3  shortened  0.7312  [a1b2c3d4]"
    assert "shortened" not in invoke("search", "pump").stdout


# ---- index


def test_index_summary_goes_to_stdout_and_reasons_to_stderr() -> None:
    result = invoke("index", "docs")
    assert result.stdout == "2 new, 1 updated, 3 unchanged, 0 removed, 1 skipped\n"
    assert result.stderr == (
        "skipped docs/photo.bin: binary. hint: leave it out\n"
        "9 passages and 12 questions made, 1 file empty: docs/blank.md\n"
        "note: one document has heuristic intents\n"
    )
    assert invoke("index", "docs", "-q").stderr == ""


def test_index_json_is_the_whole_report() -> None:
    value = parsed(invoke("index", "docs", "--format", "json"))
    assert value["skipped"] == [{"path": "docs/photo.bin", "reason": "binary", "hint": "leave it out"}]
    assert (value["new"], value["generation"], value["seconds"]) == (2, 4, {"embed": 1.25})


def test_index_options_reach_the_use_case() -> None:
    runtime = FakeRuntime()
    arguments = "index docs notes.md --strategy fixed --objective paper --intents heuristic --target-chars 400"
    flags = ("--max-minutes", "2.5", "--retry-failed", "--rebuild")
    assert invoke(*arguments.split(), *flags, runtime=runtime).exit_code == 0
    _, roots, options = runtime.calls[0]
    assert roots == [Path("docs"), Path("notes.md")]
    assert (options.strategy, options.objective, options.intents) == ("fixed", "paper", "heuristic")
    assert (options.limits.target_chars, options.max_minutes) == (400, 2.5)
    assert (options.retry_failed, options.rebuild) == (True, True)


@pytest.mark.parametrize("value", ["nan", "-1", "soon"])
def test_no_time_is_no_number(value: str) -> None:
    result = invoke("index", "docs", "--max-minutes", value)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert value in result.stderr
    assert result.stderr.count("\n") == 1


def test_index_reads_standard_input() -> None:
    runtime = FakeRuntime()
    assert invoke("index", "-", stdin="text", runtime=runtime).exit_code == 0
    assert runtime.calls[0][1] == [Path("-")]


def test_forecast_says_what_becomes_of_each_file_and_time_and_disk() -> None:
    result = invoke("index", "docs", "--dry-run")
    assert result.stdout == (
        "new        docs/b\\x1b[2J.md\n"
        "skipped    docs/photo.bin  (binary)\n"
        "2 new, 0 updated, 5 unchanged, 1 removed, 1 skipped\n"
        "2 files to read (1.2 MB)\n"
        "about 2 min, 1 min of them to predict questions, and 4.0 MB of disk\n"
    )
    assert "unchanged  docs/a.md\n" in invoke("index", "docs", "--dry-run", "-v").stdout
    value = parsed(invoke("index", "docs", "--dry-run", "--format", "json"))
    assert value["plan"][2] == {"path": "docs/photo.bin", "action": "skipped", "reason": "binary"}
    assert (value["seconds"], value["disk_bytes"], value["skipped"][0]["path"]) == (95.0, 4_000_000, "docs/photo.bin")


def test_the_choice_of_files_reaches_the_run() -> None:
    runtime = FakeRuntime()
    invoke("index", "docs", "--include", "*.md", "--include", "*.txt", "--exclude", "old/", "--hidden", runtime=runtime)
    walk = runtime.calls[0][2].walk
    assert (walk.include, walk.exclude, walk.hidden, walk.archives) == (("*.md", "*.txt"), ("old/",), True, False)


# ---- chunk, intents, show


def test_chunks_join_to_the_text() -> None:
    value = parsed(invoke("chunk", "docs/pump.md", "--format", "json", "--strategy", "fixed"))
    assert "".join(chunk["text"] for chunk in value["chunks"]) == TEXT
    assert value["strategy"] == "fixed"
    assert value["document"]["characters"] == len(TEXT)


def test_chunk_explain_names_each_term_and_the_alternative() -> None:
    runtime = FakeRuntime()
    text = invoke("chunk", "docs/pump.md", "--explain", runtime=runtime).stdout
    assert runtime.calls[0][3] is True
    assert "-- cut before line 6: structure +1.000, dip -0.250\n-- next best: before line 4, 0.500 worse\n" in text
    chunks = parsed_lines(invoke("chunk", "docs/pump.md", "--explain", "--format", "jsonl"))
    assert chunks[0]["cut"] is None
    assert chunks[1]["cut"] == {
        "chunk": SECOND.id,
        "start": 46,
        "line": 6,
        "sentence": 3,
        "terms": {"structure": 1.0, "dip": -0.25},
        "alternative": 2,
        "loss": 0.5,
        "alternative_line": 4,
    }


def test_an_empty_file_has_no_chunks_and_is_no_failure() -> None:
    result = invoke("chunk", "empty.md", "--format", "json", runtime=FakeRuntime(chunks=()))
    assert (result.exit_code, parsed(result)["chunks"]) == (0, [])


def test_intents_export_a_faq() -> None:
    (row,) = rows(invoke("intents", "docs/pump.md", "--format", "csv").stdout)
    assert row == {
        "question": "What does the pump need?",
        "path": "docs/pump.md",
        "line": "3",
        "heading": "Pump",
        "score": "0.8125",
        "origin": "model",
        "passage": "The pump needs oil.\nCheck it weekly.",
    }
    (stored,) = rows(invoke("intents", "--all", "--format", "csv").stdout)
    assert list(stored) == list(row)
    assert (stored["line"], stored["passage"]) == ("1", FIRST.text.strip())


def test_pairs_are_question_and_passage_whatever_the_format() -> None:
    for form in ("text", "json"):
        (pair,) = parsed_lines(invoke("intents", "--all", "--pairs", "--format", form))
        assert pair == {"question": "What does the pump need?", "passage": FIRST.text.strip()}


@pytest.mark.parametrize("form", ["json", "csv"])
def test_no_intents_end_with_1(form: str) -> None:
    result = invoke("intents", "--all", "--format", form, runtime=FakeRuntime(chunks=()))
    assert result.exit_code == 1
    expected = '{\n  "intents": []\n}\n' if form == "json" else "question,path,line,heading,score,origin,passage\n"
    assert result.stdout == expected


def test_show_takes_short_ids_and_fails_for_unknown_ones() -> None:
    assert parsed(invoke("show", "a1b2", "--format", "json"))["id"] == FIRST.id
    result = invoke("show", "ffff")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "error: no passage is called ffff. hint: idc-local search QUERY\n"


def test_gaps_are_questions_that_no_passage_answers_well(tmp_path: Path) -> None:
    file = tmp_path / "q.txt"
    file.write_text("pump\n\nnothing here\n")
    weak = FakeRuntime(hits=(replace(HITS[0], explain=replace(HITS[0].explain, sentence=0.29)), HITS[1]))
    result = invoke("intents", "--gaps", str(file), runtime=weak)
    assert (result.exit_code, result.stderr) == (1, "2 of 2 questions are not answered well\n")
    assert result.stdout == "pump  0.395  nearest docs/pump.md:1\nnothing here  0.000  nothing near\n"
    value = parsed(invoke("intents", "--gaps", str(file), "--format", "json", runtime=weak))
    assert value["asked"] == 2
    assert [(gap["id"], gap["path"], gap["line"]) for gap in value["gaps"]] == [
        ("1", "docs/pump.md", 1),
        ("3", "", None),
    ]
    strong = replace(HITS[0], explain=replace(HITS[0].explain, sentence=0.31))
    answered = invoke("intents", "--gaps", "-", stdin="pump\n", runtime=FakeRuntime(hits=(HITS[1], strong)))
    assert (answered.exit_code, answered.stdout) == (0, "")
    assert answered.stderr == "0 of 1 questions are not answered well\n"


@pytest.mark.parametrize(
    ("state", "code", "line"),
    [
        (SourceState("match", "/docs/pump.md"), 0, "source: match, the file holds what was indexed (/docs/pump.md)"),
        (SourceState("moved", "/x/p.md"), 0, "source: moved, the same bytes are elsewhere (/x/p.md)"),
        (SourceState("changed", "/docs/pump.md"), 1, "source: changed since it was indexed (/docs/pump.md)"),
        (SourceState("gone"), 1, "source: gone, and its bytes are nowhere near"),
    ],
)
def test_show_verify_says_how_the_source_is(state: SourceState, code: int, line: str) -> None:
    result = invoke("show", "a1b2", "--verify", runtime=FakeRuntime(state=state))
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (code, line)
    value = parsed(invoke("show", "a1b2", "--verify", "--format", "json", runtime=FakeRuntime(state=state)))
    assert (value["source_state"], value["source_place"], value["text"]) == (state.state, state.place, FIRST.text)
    both = invoke("show", "a1b2", "--verify", "--document")
    assert both.stderr == "error: --document and --verify do not go together. hint: idc-local show a1b2\n"


def test_show_document_is_the_text_to_the_character() -> None:
    assert invoke("show", "a1b2", "--document").stdout == TEXT
    assert invoke("show", "dddd", "--document").stdout == TEXT


# ---- looking after


def test_status_lists_sources_for_verbose() -> None:
    text = invoke("status", "-v").stdout
    assert "utf-8" in text
    assert "binary" in text
    brief = invoke("status").stdout
    assert "docs/pump.md" not in brief
    names = [line.split()[0] for line in brief.splitlines()]
    assert names[5:] == ["chunks", "sentences", "intents", "disk", "embedder"]
    assert brief.endswith("embedder    small\n")
    assert "dimension: 384" in text
    assert "dimension" not in brief
    value = parsed(invoke("status", "--format", "json"))
    assert value["sources"][1]["encoding"] == "utf-8"
    assert (value["files"], value["skipped"], value["fingerprint"]["dimension"]) == (2, 1, 384)


@pytest.mark.parametrize(
    "call",
    [("verify",), ("forget", "a"), ("compact",), ("repair",), ("export", "a"), ("import", "a"), ("doctor",)],
)
def test_a_failed_check_ends_with_1_and_names_its_fix(call: tuple[str, ...]) -> None:
    result = invoke(*call, runtime=FakeRuntime(checks=FAILED))
    assert result.exit_code == 1
    assert "fail  records: sha256 differs\n      fix: idc-local index PATH --rebuild\n" in result.stdout
    assert result.stderr == "1 of 3 checks failed\n"
    value = parsed(invoke(*call, "--format", "json", runtime=FakeRuntime(checks=FAILED)))
    assert value["failed"] == 1
    assert value["checks"][2] == {
        "name": "records",
        "status": "fail",
        "detail": "sha256 differs",
        "fix": "idc-local index PATH --rebuild",
    }


def test_warnings_do_not_fail() -> None:
    result = invoke("verify", "--deep", runtime=(runtime := FakeRuntime(checks=CHECKS)))
    assert result.exit_code == 0
    assert runtime.calls == [("verify", True)]


def test_remove_counts() -> None:
    assert invoke("remove", "docs").stdout == "2 removed\n"


def test_models_that_are_missing_fail_verification_with_3(tmp_path: Path) -> None:
    result = invoke("models", "verify", "--models", str(tmp_path))
    assert result.exit_code == 3
    assert f"fix: idc-local models pull all-minilm-l6-v2 --models {tmp_path}\n" in result.stdout
    assert invoke("models", "list", "--models", str(tmp_path)).exit_code == 0
    unknown = invoke("models", "verify", "no-such-model", "--models", str(tmp_path))
    assert unknown.exit_code == 3
    told = f"idc-local models list --models {tmp_path}"
    assert unknown.stderr == f"error: no model is called 'no-such-model'. hint: {told}\n"


# ---- all commands


def test_verbose_ends_with_the_network_report() -> None:
    assert invoke("status", "-v").stderr.endswith("network: 0 connections\n")
    assert "network" not in invoke("status").stderr


def test_a_library_that_reaches_for_the_network_is_stopped_and_named() -> None:
    class Leaking(FakeRuntime):
        def status(self) -> Any:
            import socket

            return socket.getaddrinfo("example.org", 443)

    result = invoke("status", "-v", runtime=Leaking())
    assert result.exit_code == 4
    report, error = result.stderr.splitlines()
    assert report.startswith("network: 0 connections, 1 refused (look-up of example.org by tests.unit.test_cli")
    assert error.startswith("error: network use refused: look-up of example.org by tests.unit.test_cli (test_cli.py:")


def test_settings_come_from_flags_environment_and_file(tmp_path: Path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text('index = "from-file"\nformat = "json"\nstrategy = "fixed"\n')
    runtime = FakeRuntime()
    result = invoke("search", "pump", "--config", str(config), environ={"IDC_INDEX": "from-env"}, runtime=runtime)
    assert parsed(result)["query"] == "pump"
    assert runtime.settings is not None
    assert (runtime.settings.index, runtime.settings.strategy) == (Path("from-env"), "fixed")
    invoke("search", "pump", "--index", "typed", environ={"IDC_INDEX": "from-env"}, runtime=runtime)
    assert runtime.settings.index == Path("typed")


def test_a_broken_settings_file_is_a_usage_error(tmp_path: Path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text("colour = 1\n")
    result = invoke("status", "--config", str(config))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {config}: unknown setting 'colour'. hint: ")


def test_lone_surrogates_in_file_names_are_printed_as_escapes() -> None:
    runtime = FakeRuntime(chunks=(FIRST,))
    result = invoke("chunk", "caf\udce9.md", "--format", "json", runtime=runtime)
    assert result.exit_code == 0
    assert "caf\\udce9.md" in result.stdout
    assert parsed(result)["document"]["path"] == "caf\udce9.md"


@pytest.mark.parametrize("group", ["config", "models"])
def test_a_group_without_a_command_shows_its_help_on_stderr(group: str) -> None:
    result = invoke(group)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == invoke(group, "--help").stdout


@pytest.mark.parametrize(
    "call",
    [
        ("index", ""),
        ("index", "docs", "--index", ""),
        ("chunk", ""),
        ("forget", ""),
        ("export", ""),
        ("models", "add", "", "--name", "x"),
        ("status", "--models", ""),
    ],
)
def test_an_empty_path_is_not_the_current_folder(call: tuple[str, ...]) -> None:
    result = invoke(*call)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert ": the path is empty. hint: idc-local " in line


def test_every_command_of_the_overview_exists() -> None:
    for name in COMMANDS:
        result = invoke(name, "--help")
        assert result.exit_code == 0, name
        assert result.stdout.startswith(f"Usage: idc-local {name} ")
        assert "Examples:" in result.stdout


def test_a_model_is_added_once_it_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Any] = []

    def attempt(files: Any, threads: int) -> int:
        tried.append(files)
        return 0

    monkeypatch.setattr("idc_local.cli.models.try_model", attempt)
    file, models = tmp_path / "Tiny.gguf", tmp_path / "models"
    file.write_bytes(b"GGUF" + bytes(64))
    arguments = ("models", "add", str(file), "--language", "de", "--licence", "MIT", "--models", str(models))
    result = invoke(*arguments, "--name", "tiny", "--format", "json")
    assert result.exit_code == 0, result.stderr
    (model,) = parsed(result)["models"]
    assert (model["name"], model["role"], model["state"], model["languages"]) == ("tiny", "generator", "ok", ["de"])
    assert result.stderr == "use it with IDC_GENERATOR=tiny\n"
    assert [files.name for files in tried] == ["tiny"]
    assert "tiny" in invoke("models", "verify", "tiny", "--models", str(models)).stdout
    refused = invoke(*arguments, "--name", "Tiny!")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: 'Tiny!' is no name for a model. hint: ")
    assert invoke(*arguments, "--name", "x", "--role", "embedder").exit_code == 2


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        (None, ""),
        ("3", "p. 3"),
        ("3-4", "p. 3-4"),
        ("row 2", "row 2"),
        ("row 2-9", "rows 2-9"),
        ("slide 1-2", "slides 1-2"),
        ("sheet B, row 7-8", "sheet B, rows 7-8"),
        ("sheet A, row 1 - sheet B, row 2", "sheet A, row 1 - sheet B, row 2"),
        ("sheet crow 7-8", "sheet crow 7-8"),
        ("\x1b[1mrow 1-2", "\\x1b[1mrow 1-2"),
    ],
)
def test_places_are_named_as_people_do(page: str | None, shown: str) -> None:
    assert page_label(page) == shown
