"""The filter language, against hand-worked cases."""

from __future__ import annotations

import pytest

from idc_local.errors import NothingFound, UsageError
from idc_local.filters import Filter, named, parse_filter, path_matches, source_passes, type_matches
from idc_local.types import SourceRecord


def test_every_kind_of_condition() -> None:
    parsed = parse_filter('path:docs/* -path:old type:md -type:html pump -draft "float  switch" -"do not"')
    assert parsed == Filter(
        paths=("docs/*",),
        not_paths=("old",),
        types=("md",),
        not_types=("html",),
        words=("pump",),
        not_words=("draft",),
        phrases=("float  switch",),
        not_phrases=("do not",),
    )


def test_quoted_values_may_hold_spaces() -> None:
    assert parse_filter('path:"my folder/a b.md"').paths == ("my folder/a b.md",)


def test_a_phrase_may_stand_close_to_a_word() -> None:
    assert parse_filter('pump"float switch"-valve') == Filter(
        words=("pump",), phrases=("float switch",), not_words=("valve",)
    )


def test_empty_expression_lets_everything_pass() -> None:
    assert parse_filter("   ").empty
    assert parse_filter("").empty


@pytest.mark.parametrize("expression", ["author:me", 'path:""', '"unclosed', "path:", 'x:"y"'])
def test_what_is_not_understood_is_refused(expression: str) -> None:
    with pytest.raises(UsageError):
        parse_filter(expression)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("author:me", "unknown filter: author:me"),
        ('pump x:"y z"', "unknown filter field: x"),
        ("type:", "empty filter"),
    ],
)
def test_what_is_unknown_is_named(expression: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_filter(expression)


@pytest.mark.parametrize("expression", ['"unclosed', 'path:"a b', '-"x', 'pump path:"a b'])
def test_an_open_quotation_mark_is_named(expression: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_filter(expression)
    assert caught.value.hint == 'close the quotation mark: "a phrase"'


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        ("a.md", "a.md", True),
        ("ba.md", "a.md", False),
        ("docs/a.md", "a.md", True),
        ("docs/a.md", "docs", True),
        ("docs/a.md", "docs/", True),
        ("docs/a.md", "./docs", True),
        ("docs/a.md", "/docs", False),
        ("docs/sub/a.md", "docs/*.md", True),
        ("docs/a.md", "*.md", True),
        ("docs/a.md", "sub", False),
        ("docs/a [1].md", "a [1].md", True),
        ("a.MD", "*.md", False),
        ("docs/a.md", "d?cs", True),
        ("docs/ab.md", "a*.md", True),
        ("docs/ab.md", "c/a*.md", False),
        ("docs/sub/ab.md", "s*b", False),
        ("Cafe\u0301.md", "Caf\xe9*", True),
        ("Caf\xe9.md", "Cafe\u0301.md", True),
    ],
)
def test_path_patterns(path: str, pattern: str, expected: bool) -> None:
    assert path_matches(path, pattern) is expected


def test_types_by_media_type_or_suffix() -> None:
    assert type_matches("a.md", "text/markdown", "markdown")
    assert type_matches("a.md", "text/markdown", ".MD")
    assert type_matches("a.md", "text/markdown", "text/markdown")
    assert not type_matches("a.md", "text/markdown", "html")


def test_conditions_on_paths_are_alternatives_and_exclusions_all_hold() -> None:
    wanted = parse_filter("path:a.md path:b.md -type:html")
    assert source_passes(["a.md"], "text/markdown", wanted)
    assert source_passes(["x.md", "b.md"], "text/markdown", wanted)
    assert not source_passes(["c.md"], "text/markdown", wanted)
    assert not source_passes(["a.md"], "text/html", wanted)
    typed = parse_filter("type:md type:html -path:old")
    kinds = {"a.md": "text/markdown", "a.htm": "text/html", "a.txt": "text/plain", "old/a.md": "text/markdown"}
    assert [path for path, kind in kinds.items() if source_passes([path], kind, typed)] == ["a.md", "a.htm"]


RECORDS = [
    SourceRecord(path, 1, 1, "", "", root=root)
    for path, root in [
        ("a.md", "/home/docs"),
        ("b/c.md", "/home/docs"),
        ("bee.md", "/home/docs"),
        ("z.zip!/d.md", "/home/docs"),
        ("docs/a.md", "/srv"),
        ("-", ""),
        ("hosts", "/"),
    ]
]


@pytest.mark.parametrize(
    ("path", "place", "found"),
    [
        ("a.md", "/elsewhere/a.md", ["a.md"]),
        ("b", "/elsewhere/b", ["b/c.md"]),
        ("z.zip", "/elsewhere/z.zip", ["z.zip!/d.md"]),
        ("docs/a.md", "/home/docs/a.md", ["docs/a.md"]),
        ("./a.md", "/home/docs/a.md", ["a.md"]),
        ("docs/b/", "/home/docs/b", ["b/c.md"]),
        ("docs/z.zip", "/home/docs/z.zip", ["z.zip!/d.md"]),
        ("../docs", "/home/docs", ["a.md", "b/c.md", "bee.md", "z.zip!/d.md"]),
        ("/srv", "/srv", ["docs/a.md"]),
        ("/hosts", "/hosts", ["hosts"]),
        ("-", "/home/docs/-", ["-"]),
    ],
)
def test_a_source_is_named_as_in_the_index_or_else_by_its_place(path: str, place: str, found: list[str]) -> None:
    assert [record.path for record in named(RECORDS, path, place)] == found


@pytest.mark.parametrize(
    ("path", "place"), [("be", "/home/docs/be"), ("..", "/home"), ("x", "/home/docsx"), ("a", "/srv/a.md"), ("", "")]
)
def test_what_names_no_source(path: str, place: str) -> None:
    with pytest.raises(NothingFound, match="is not in the index"):
        named(RECORDS, path, place)
