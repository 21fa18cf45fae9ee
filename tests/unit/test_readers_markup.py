"""Org and reStructuredText: markup that is made of lines, with the text left as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from idc_local.errors import InputError
from idc_local.readers import read_source
from idc_local.types import Document

RST = """=====
Title
=====

Intro text::

    code here
      more

Section *one*
-------------

- item a
  goes on
- item b

  - nested

.. _target:

.. note:: Look
   out here.

.. code-block:: python
   :linenos:

   def f():
       pass

=====  =====
A      B
=====  =====
1      2

3      4
=====  =====

+---+---+
| a | b |
+===+===+
| 1 | 2 |
+---+---+

Section :ref:`two <x>`
----------------------
:field: value

>>> 1 + 1
2

Sub
~~~
End.
"""
ORG = """#+TITLE: Doc
#+AUTHOR: me

* TODO [#A] First thing   :tag:other:
:PROPERTIES:
:ID: x
:END:
Some text
more.
- a
  goes on
  - b
** Sub [[http://x][link]]
#+BEGIN_SRC python
  def f():
      pass
#+END_SRC
| a | b |
|---+---|
| 1 | 2 |
#+begin_quote
A quote.
#+end_quote
"""


def read(text: str, name: str) -> Document:
    document = read_source(text.encode(), name)
    assert document.text == text
    return document


def blocks(document: Document) -> list[tuple[str, str, str]]:
    """Kind with level, innermost heading, text."""
    return [
        (f"{block.kind}{block.level or ''}", block.headings[-1], document.text[block.start : block.end])
        for block in document.blocks
    ]


def test_rst() -> None:
    document = read(RST, "a.rst")
    assert blocks(document) == [
        ("heading1", "Title", "=====\nTitle\n====="),
        ("paragraph", "Title", "Intro text::"),
        ("code", "Title", "    code here\n      more"),
        ("heading2", "Section one", "Section *one*\n-------------"),
        ("list_item1", "Section one", "- item a\n  goes on"),
        ("list_item1", "Section one", "- item b"),
        ("list_item2", "Section one", "- nested"),
        ("paragraph", "Section one", ".. note:: Look\n   out here."),
        ("code", "Section one", ".. code-block:: python\n   :linenos:\n\n   def f():\n       pass"),
        ("table", "Section one", RST[RST.index("=====  =====") : RST.index("\n\n+---")]),
        ("table", "Section one", RST[RST.index("+---+") : RST.index("\n\nSection :ref")]),
        ("heading2", "Section two", "Section :ref:`two <x>`\n----------------------"),
        ("list_item1", "Section two", ":field: value"),
        ("code", "Section two", ">>> 1 + 1\n2"),
        ("heading3", "Sub", "Sub\n~~~"),
        ("paragraph", "Sub", "End."),
    ]
    headers = [document.text[block.header.start : block.header.end] for block in document.blocks if block.header]
    assert headers == ["=====  =====\nA      B\n=====  =====", "+---+---+\n| a | b |\n+===+===+"]


def test_org() -> None:
    document = read(ORG, "a.org")
    assert blocks(document) == [
        ("heading1", "Doc", "#+TITLE: Doc"),
        ("paragraph", "Doc", "#+AUTHOR: me"),
        ("heading2", "First thing", "* TODO [#A] First thing   :tag:other:"),
        ("paragraph", "First thing", ":PROPERTIES:\n:ID: x\n:END:"),
        ("paragraph", "First thing", "Some text\nmore."),
        ("list_item1", "First thing", "- a\n  goes on"),
        ("list_item2", "First thing", "- b"),
        ("heading3", "Sub link", "** Sub [[http://x][link]]"),
        ("code", "Sub link", "#+BEGIN_SRC python\n  def f():\n      pass\n#+END_SRC"),
        ("table", "Sub link", "| a | b |\n|---+---|\n| 1 | 2 |"),
        ("paragraph", "Sub link", "#+begin_quote\nA quote.\n#+end_quote"),
    ]
    assert document.blocks[-1].headings == ("Doc", "First thing", "Sub link")
    assert document.line_at(document.text.index("def f")) == 15


@pytest.mark.parametrize(("name", "text"), [("a.rst", RST), ("a.org", ORG)])
def test_line_ends_make_no_difference(name: str, text: str) -> None:
    plain = read(text, name)
    for end in ("\r\n", "\r"):
        other = read(text.replace("\n", end), name)
        assert [(block.kind, block.headings, block.level) for block in other.blocks] == [
            (block.kind, block.headings, block.level) for block in plain.blocks
        ]
        assert [other.line_at(block.start) for block in other.blocks] == [
            plain.line_at(block.start) for block in plain.blocks
        ]


ODD = [
    "",
    "\n \n",
    "===\n",
    "===\n===\n===",
    "::",
    "a::\n\n",
    ".. code::",
    "+--+",
    "=  =",
    ">>>",
    "* ",
    "#+begin_src\nx",
    "|",
    "-",
]


@pytest.mark.parametrize("name", ["a.rst", "a.org"])
@pytest.mark.parametrize("text", ODD)
def test_every_word_is_in_a_block(name: str, text: str) -> None:
    document = read(text, name)
    spans = [(block.start, block.end) for block in document.blocks]
    assert all(start < end for start, end in spans)
    assert spans == sorted(spans)


@pytest.mark.parametrize("name", ["a.rst", "a.org", "a.tex"])
def test_binary_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=rf"^{Path(name).stem}\.\w+: binary"):
        read_source(b"\x00\xff\x00\x01" * 200, name)


def test_the_rows_of_a_list_table_are_its_units() -> None:
    rows = ["* - Service\n     - Port", "* - web\n\n     - 8080", "* - metrics\n       of all\n     - 9102"]
    text = ".. list-table:: Ports\n   :header-rows: 1\n\n   " + "\n   ".join(rows) + "\n\n   Said in it.\n\nBelow.\n"
    blocks = [(block.kind.value, text[block.start : block.end]) for block in read_source(text.encode(), "a.rst").blocks]
    assert blocks == [
        ("paragraph", ".. list-table:: Ports\n   :header-rows: 1"),
        *(("list_item", row) for row in rows),
        ("paragraph", "Said in it."),
        ("paragraph", "Below."),
    ]


@pytest.mark.parametrize("body", ["", "\n   - plain\n", "\n   No list.\n", "\n   * - a"])
def test_a_list_table_of_another_form_loses_no_word(body: str) -> None:
    text = f".. list-table::\n{body}\nBelow.\n"
    document = read_source(text.encode(), "a.rst")
    said = " ".join(text[block.start : block.end] for block in document.blocks)
    assert said.split() == text.split()
