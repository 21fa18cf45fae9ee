"""Patterns against paths; what git 2.39 says of each (``git check-ignore --no-index``) was noted down."""

from __future__ import annotations

import time

import pytest

from idc_local.readers.ignoring import Rules, ignored_by, parse_rule, parse_rules


def ignored(patterns: str, path: str) -> bool:
    """True where the path or a folder above it is left out, as a walk from the top finds it."""
    rules = parse_rules(patterns, "/top", ".gitignore")
    parts = path.split("/")
    return any(
        ignored_by([rules], "/top/" + "/".join(parts[:depth]), depth < len(parts)) != ""
        for depth in range(1, len(parts) + 1)
    )


CASES = [
    ("*.log", "a.log a/b.log .log", "a.txt a.log.txt"),
    ("/a.txt", "a.txt", "b/a.txt"),
    ("b/a.txt", "b/a.txt", "a.txt c/b/a.txt"),
    ("build/", "build/x c/build/x", "build c/build"),
    ("build", "build build/x c/build", "builder rebuild"),
    ("a/**", "a/b a/b/c", "a b/a"),
    ("**/a", "a b/a b/c/a a/x", "ab b/ab"),
    ("a/**/z", "a/z a/b/z a/b/c/z", "z a b/a/z"),
    ("a**z", "az abz b/abz", "a/z"),
    ("a*z", "az a.z abcz", "a/z"),
    ("a?z", "abz", "az a/z abbz"),
    ("[ab].txt", "a.txt b.txt", "c.txt ab.txt"),
    ("[!ab].txt", "c.txt", "a.txt"),
    ("[^ab].txt", "c.txt", "a.txt"),
    ("[a-c]x", "bx", "dx -x"),
    ("[]-]x", "]x -x", "ax"),
    ("[[:digit:]]*", "1a", "a1"),
    ("[[:nonsense:]]", "", "n a :"),
    ("[ab", "", "a [ab"),
    ("x[/]y", "", "x/y"),
    ("\\*.txt", "*.txt", "a.txt"),
    ("\\#a", "#a", "a"),
    ("#a", "", "#a a"),
    ("\\!a", "!a", "a"),
    ("*.txt\n!b.txt", "a.txt", "b.txt"),
    ("!b.txt\n*.txt", "a.txt b.txt", "b.md"),
    ("d/\n!d/a.txt", "d/a.txt d/b.txt", "a.txt"),
    ("d/*\n!d/a.txt", "d/b.txt", "d/a.txt"),
    ("a.txt   ", "a.txt", "a.txt "),
    ("a\\ ", "a ", "a"),
    ("a.txt\r\nb.txt\r\n", "a.txt b.txt", "c.txt"),
    ("\ufeffa.txt", "a.txt", "b.txt"),
    ("größe*", "größe.md", "grösse.md"),
    ("/\n//\n\n", "", "a a/b"),
    ("a\\", "", "a a\\"),
    ("*", "a a/b .c", ""),
    ("**", "a a/b", ""),
    ("a.b", "a.b", "axb"),
    ("a+(b)|c$", "a+(b)|c$", "aab"),
    ("A.txt", "A.txt", "a.txt"),
]


@pytest.mark.parametrize(("patterns", "out", "kept"), CASES, ids=[repr(case[0]) for case in CASES])
def test_patterns_mean_what_they_mean_to_git(patterns: str, out: str, kept: str) -> None:
    def paths(text: str) -> list[str]:
        return [text] if text.endswith(" ") else text.split(" ") if text else []

    assert [path for path in paths(out) if not ignored(patterns, path)] == []
    assert [path for path in paths(kept) if ignored(patterns, path)] == []


def test_deeper_files_decide_and_say_where() -> None:
    outer = parse_rules("*.txt\n", "/top", ".gitignore")
    inner = parse_rules("\n!a.txt\nb.md\n", "/top/in", ".idcignore")
    assert ignored_by([outer, inner], "/top/in/b.txt", False) == ".gitignore:1"
    assert ignored_by([outer, inner], "/top/in/a.txt", False) == ""
    assert ignored_by([outer, inner], "/top/in/b.md", False) == ".idcignore:3"
    assert ignored_by([outer, inner], "/top/in/c.md", False) == ""


def test_names_that_are_not_utf8_match_the_same_bytes() -> None:
    rules = Rules("/top", parse_rules(b"caf\xe9*".decode("utf-8", "surrogateescape"), "/top", "x").rules)
    assert ignored_by([rules], "/top/caf\udce9.txt", False) == "x:1"


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("*a" * 100 + "b", "a" * 250), ("**/a*/" * 60 + "b", "a/" * 2000), ("a*?" * 80, "a" * 250), ("*" * 5000, "a")],
)
def test_no_pattern_takes_long(pattern: str, path: str) -> None:
    began = time.perf_counter()
    rule = parse_rule(pattern, "x")
    assert rule is not None
    rule.pattern.fullmatch(path)
    assert time.perf_counter() - began < 0.5
