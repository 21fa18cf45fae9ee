"""The filter language, against hand-worked cases."""

from __future__ import annotations

import pytest

from idc_local.errors import UsageError
from idc_local.filters import Filter, parse_filter, path_matches, source_passes, type_matches


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


def test_empty_expression_lets_everything_pass() -> None:
    assert parse_filter("   ").empty
    assert parse_filter("").empty


@pytest.mark.parametrize("expression", ["author:me", 'path:""', '"unclosed', "path:", 'x:"y"'])
def test_what_is_not_understood_is_refused(expression: str) -> None:
    with pytest.raises(UsageError):
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
        ("docs/sub/a.md", "docs/*.md", True),
        ("docs/a.md", "*.md", True),
        ("docs/a.md", "sub", False),
        ("docs/a [1].md", "a [1].md", True),
        ("a.MD", "*.md", False),
        ("docs/a.md", "d?cs", True),
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
