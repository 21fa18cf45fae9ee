from __future__ import annotations

import ast
from pathlib import Path

import pytest

from idc_local.errors import InputError
from idc_local.readers import definitions, read_source
from idc_local.sentences import split_sentences
from idc_local.types import BlockKind, Document, Limits
from tests.fakes import WordCounter


def read(text: str, name: str) -> Document:
    document = read_source(text.encode(), name)
    assert document.text == text
    assert all(block.kind is BlockKind.CODE for block in document.blocks)
    return document


def outline(document: Document) -> list[tuple[str, int, int]]:
    """Path, first and last line of each block."""
    return [
        (" > ".join(block.headings), document.line_at(block.start), document.line_at(block.end - 1))
        for block in document.blocks
    ]


PYTHON = """import os

# about A
@deco
class A(B):
    x = 1

    # about m
    def m(self):
        return {
            1: 2,
        }

    async def n(self): pass

def f():
    def inner(): pass
    return inner
y = 2
"""
CPP = """#include <x.h>
/* about foo { */
static int
foo(int a, char *b)
{
    if (a) { return '{'; }
    return 0;
}

namespace ns {
class Bar : public Baz {
 public:
  Bar(int x) : x_(x) {}
  int get() const { return x_; }
};
}
int tail;
"""
GO = """package main
// about T
type T struct {
	a int
}
func (t *T) Get(x int) (int, error) {
	return t.a, nil
}
func main() { fmt.Println("}") }
"""
RUST = """use x;
impl<'a> Foo for Bar<'a> {
    /// about new
    pub fn new(a: &'a str) -> Self {
        Self { a }
    }
}
"""
JS = """import x from 'y'
export class A extends B {
  constructor(a) { super(a) }
  async load(x) { return `${x}` }
}
const f = async (a, b) => {
  return a // }
}
function g() {}
"""
RUBY = """module M
  class A < B
    def x(y)
      if y
        1
      end
    end
  end
end
puts 1
"""
JAVA = """package p;
/** About A. */
@Entity
public class A<T> {
    private int x = f("}");
    @Override
    public String name(int a) throws E {
        for (int i = 0; i < a; i++) { g(i); }
        return "";
    }
}
"""
SQL = "-- all\ncreate table a (\n id int\n);\nCREATE OR REPLACE VIEW b AS\nselect 1;\n"

CASES = {
    "a.py": (
        PYTHON,
        [("", 1, 1), ("A", 3, 6), ("A > m", 8, 12), ("A > n", 14, 14), ("f", 16, 18), ("", 19, 19)],
    ),
    "old.py": (
        'print "x"\nclass A:\n    def m(self):\n        print "y"\nz = 1\n',
        [("", 1, 1), ("A", 2, 2), ("A > m", 3, 4), ("", 5, 5)],
    ),
    "a.cpp": (
        CPP,
        [("", 1, 1), ("foo", 2, 8), ("ns", 10, 10), ("ns > Bar", 11, 11), ("ns > Bar > Bar", 12, 13),
         ("ns > Bar > get", 14, 14), ("", 17, 17)],
    ),
    "a.go": (GO, [("", 1, 1), ("T", 2, 5), ("Get", 6, 8), ("main", 9, 9)]),
    "a.rs": (RUST, [("", 1, 1), ("impl<'a> Foo for Bar<'a>", 2, 2), ("impl<'a> Foo for Bar<'a> > new", 3, 6)]),
    "a.js": (JS, [("", 1, 1), ("A", 2, 2), ("A > constructor", 3, 3), ("A > load", 4, 4), ("f", 6, 8), ("g", 9, 9)]),
    "a.rb": (RUBY, [("M", 1, 1), ("M > A", 2, 2), ("M > A > x", 3, 7), ("", 10, 10)]),
    "A.java": (JAVA, [("", 1, 1), ("A", 2, 5), ("A > name", 6, 10)]),
    "a.sql": (SQL, [("a", 1, 4), ("b", 5, 6)]),
    "a.toml": ("a = 1\n[one]\nb = 2\n\n[two.x]\nc = 3\n", [("", 1, 1), ("one", 2, 3), ("two.x", 5, 6)]),
    "a.yml": ("# x\na: 1\nb:\n  c: 2\n  d: 3\ne: 4\n", [("a", 1, 2), ("b", 3, 5), ("e", 6, 6)]),
    "a.sh": ("set -e\nrun() {\n  echo \"}\"\n}\nrun\n", [("", 1, 1), ("run", 2, 4), ("", 5, 5)]),
    "a.lua": ("local x = 1\nfunction M.f(a)\n  return a\nend\n", [("", 1, 1), ("M.f", 2, 4)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_blocks_are_functions_under_their_classes(name: str) -> None:
    text, expected = CASES[name]
    assert outline(read(text, name)) == expected


@pytest.mark.parametrize(
    ("name", "first", "media_type"),
    [
        ("deploy", "#!/bin/sh", "text/x-shell"),
        ("deploy", "#!/usr/bin/env bash", "text/x-shell"),
        ("deploy", "#! /usr/bin/env -S LANG=C python3.11 -u", "text/x-python"),
        ("deploy.example", "#!/usr/bin/perl -w", "text/x-perl"),
        ("bin/tool", "#!/usr/local/bin/node\r", "text/x-javascript"),
        ("src/Makefile", "", "text/x-make"),
        ("CMakeLists.txt", "", "text/x-cmake"),
        ("Dockerfile", "", "text/x-docker"),
        ("web.Dockerfile", "", "text/x-docker"),
        ("Gemfile", "", "text/x-ruby"),
        (".bashrc", "", "text/x-shell"),
        ("notes.txt", "#!/bin/sh", "text/plain"),
        ("deploy", "#!/opt/unheard-of", "text/x-shell"),
        ("deploy", "#!important", "text/plain"),
    ],
)
def test_scripts_without_a_suffix_are_code(name: str, first: str, media_type: str) -> None:
    document = read_source(f"{first}\n# what it does\n\nrun: 1\n".encode(), name)
    assert document.media_type == media_type
    is_code = media_type != "text/plain"
    assert all((block.kind is BlockKind.CODE) == is_code for block in document.blocks)


def test_a_script_s_functions_are_its_headings() -> None:
    text = "#!/bin/bash\n# says hi\nhi() {\n  echo hi\n}\nfunction by {\n\thi\n}\nby\n"
    assert outline(read(text, "greet")) == [("hi", 1, 5), ("by", 6, 8), ("", 9, 9)]


def test_python_s_own_parser_agrees_on_a_real_file() -> None:
    text = Path(definitions.__file__).read_text(encoding="utf-8")
    document = read(text, "definitions.py")
    tree = ast.parse(text)
    expected = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert {block.headings[0] for block in document.blocks if block.headings} == expected
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            own = next(block for block in document.blocks if block.headings == (node.name,))
            assert document.text[own.start : own.end] == ast.get_source_segment(text, node)


def test_no_block_loses_its_indentation() -> None:
    document = read(PYTHON.replace("\n", "\r\n"), "a.py")
    method = next(block for block in document.blocks if block.headings == ("A", "m"))
    assert document.text[method.start : method.end].startswith("    # about m\r\n    def m(self):\r\n        return")
    long = read("class A:\n" + "".join(f"    def m{n}(self):\n        return {n}\n\n" for n in range(40)), "a.py")
    sentences = split_sentences(long, WordCounter(), Limits(), "en")
    for start in sentences.starts.tolist():
        assert start == 0 or long.text[start - 1] == "\n"


def test_long_code_outside_of_functions_is_cut_at_blank_lines() -> None:
    part = "".join(f"VALUE_{n} = {n}\n" for n in range(30))
    assert outline(read(f"{part}\n{part}\n{part}", "a.py")) == [("", 1, 30), ("", 32, 61), ("", 63, 92)]


@pytest.mark.parametrize("name", ["a.py", "a.c", "a.js", "a.rb", "a.css", "a.toml"])
@pytest.mark.parametrize(
    "text", ["", "\n\n", "{", "}", "}}}{{{", '"', "/*", "`", "def", "class {", "(" * 3000, "{" * 3000]
)
def test_broken_code_is_no_error(name: str, text: str) -> None:
    for block in read(text, name).blocks:
        assert text[block.start : block.end].strip()


def test_binary_is_refused() -> None:
    with pytest.raises(InputError, match=r"^a\.py: binary"):
        read_source(b"\x00\xff\x00\x01" * 200, "a.py")
