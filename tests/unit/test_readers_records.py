from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local.errors import InputError
from idc_local.readers import read_source
from idc_local.readers.json_scan import Scanner
from idc_local.types import Document

TEXT = """{
  "name": "pump",
  "servers": [
    {"host": "a\\u00e9", "port": 1.50, "tags": ["x", "y"]},
    {"host": "b", "note": "line one\\nline two"}
  ],
  "none": null, "empty": "", "list": [], "object": {}
}
"""


def read(text: str, name: str = "a.json") -> Document:
    return read_source(text.encode("utf-8", "surrogatepass"), name)


def units(document: Document) -> list[tuple[tuple[str, ...], str, int]]:
    return [
        (block.headings, document.text[block.start : block.end], document.line_at(block.start))
        for block in document.blocks
    ]


def test_objects_are_units_under_their_paths_with_their_lines() -> None:
    assert units(read(TEXT)) == [
        ((), "name: pump", 2),
        (("servers[0]",), "host: aé\nport: 1.50", 4),
        (("servers[0]", "tags"), "x\ny", 4),
        (("servers[1]",), "host: b", 5),
        (("servers[1]", "note"), "line one\nline two", 5),
        ((), "none: null", 7),
    ]


def test_json_lines_are_one_unit_a_line() -> None:
    document = read('{"a": 1}\n\n{"a": 2, "b": [true]}\n"text"\n', "a.jsonl")
    assert units(document) == [((), "a: 1", 1), ((), "a: 2", 3), (("b",), "true", 3), ((), "text", 4)]
    assert document.media_type == "application/x-ndjson"


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ("not json", "not json"),
        ('{"a": 3, "b": {"c": "cut', '{"a": 3, "b": {"c": "cut'),
        ('{"a": 3} and more  ', '{"a": 3} and more'),
        ('{"a": [1,', '{"a": [1,'),
        ('{"a": NaN}', '{"a": NaN}'),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_one_bad_line_of_json_lines_costs_that_line_alone(bad: str, expected: str, end: str) -> None:
    around = [((), "a: 1", 1), (("b",), "x\ny", 1)], [((), "a: 2", 3)]
    middle = end.join(['{"a": 1, "b": ["x", "y"]}', bad, '{"a": 2}', ""])
    assert units(read(middle, "a.jsonl")) == [*around[0], ((), expected, 2), *around[1]]
    last = end.join(['{"a": 1, "b": ["x", "y"]}', "", '{"a": 2}', bad])
    assert units(read(last, "a.jsonl")) == [*around[0], *around[1], ((), expected, 4)]


def test_json_lines_that_are_mostly_none_are_text() -> None:
    text = 'not json\nnor this\n{"a": 1}\n'
    assert read(text, "a.jsonl").text == text
    assert read('{"a": 1}\n{"a": 2', "a.json").text == '{"a": 1}\n{"a": 2'


def test_long_strings_are_texts_of_their_own() -> None:
    long = "The pump needs oil. " * 40
    assert units(read(json.dumps({"a": "b", "text": long, "c": "d"}))) == [
        ((), "a: b", 1),
        (("text",), long.strip(), 1),
        ((), "c: d", 1),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1',
        "{'a': 1}",
        '{"a": 1,}',
        "// note\n{}",
        '{"a" 1}',
        '{"a": tru}',
        "[1, 2",
        "plain words",
        '{"a": "\\x"}',
        "]",
    ],
)
def test_what_is_no_json_is_read_as_text(text: str) -> None:
    document = read(text)
    assert document.text == text
    assert document.blocks


@pytest.mark.parametrize("text", ["", " \n", "[]", "{}", '""', "[[], {}]"])
def test_nothing_is_no_error(text: str) -> None:
    assert (read(text).text.strip(), read(text).blocks) == ("", ())


def test_no_depth_is_too_deep() -> None:
    deep = "[1," * 30_000 + "2" + "]" * 30_000
    document = read(deep)
    assert document.text.split() == ["1"] * 30_000 + ["2"]
    assert max(len(block.headings) for block in document.blocks) <= 12
    assert read("[" * 50_000).text == "[" * 50_000


def test_binary_is_refused() -> None:
    with pytest.raises(InputError, match=r"^a\.json: binary"):
        read_source(b"\x00\xff\x00\x01" * 200, "a.json")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def scalars(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return [own for part in value for own in scalars(part)] if isinstance(value, list) else [value]


@given(VALUES, st.sampled_from([None, 2]), st.booleans())
def test_scalars_are_those_that_the_standard_library_finds(value: Any, indent: int | None, escape: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=escape)
    scanner = Scanner(text)
    found = list(scanner.value())
    assert scanner.at_end()
    assert [own.text if own.is_string else json.loads(own.text) for own in found] == scalars(value)
    assert all(text[own.place] == ('"' if own.is_string else own.text[0]) for own in found)


@given(st.text(alphabet='{}[]",:0a \\\n-e.', max_size=30))
def test_what_is_json_is_what_the_standard_library_says(text: str) -> None:
    def standard() -> bool:
        try:
            json.loads(text, strict=False)
        except ValueError:
            return False
        return True

    def ours() -> bool:
        scanner = Scanner(text)
        try:
            list(scanner.value())
        except ValueError:
            return False
        return scanner.at_end()

    assert ours() == standard()
