"""Valid files of every format, ways to damage them, and what must hold of a reader whatever it is given."""

from __future__ import annotations

import io
import json
import random
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from email.message import EmailMessage

from idc_local.errors import InputError
from idc_local.readers import READERS, read_source
from idc_local.readers.archives import members_of
from idc_local.readers.kinds import is_archive
from idc_local.readers.wire import check_document, decode_document, encode_document
from idc_local.sentences import split_sentences
from idc_local.types import Document, Limits
from tests import packkit
from tests.fakes import WordCounter
from tests.pdfkit import Sheet, pdf

TEXT = """The pump needs oil every week. Größe 12 € — and “so” on.

A red lamp warns: 点検してください。 ปั๊มน้ำ

- one
- two
"""
CODE = """import os


class A:
    '''Doc.'''

    def m(self, x):
        return {"a": [1, 2]}


def f():
    pass
"""
BRACES = """/* c */ class A {
  int m(int x) { if (x) { return '{'; } return 0; }
};
fn f(a: &str) -> u8 { "}" }
"""
RST = """=====
Title
=====

Text::

    code

===  ===
A    B
===  ===
1    2
===  ===

.. note:: x

- item
"""
ORG = """#+TITLE: T
* TODO One :tag:
:PROPERTIES:
:ID: x
:END:
| a | b |
|---+---|
| 1 | 2 |
#+begin_src py
x
#+end_src
"""
ADOC = """= T
:toc:

== One

[source,py]
----
x
----

* a
** b

[%header]
|===
|a |b

|1 |2
|===
"""
TEX = r"""\title{A}
\begin{document}
\section{One \emph{x}} Text~\cite{a} $x^2$. \"a \'{e}

\begin{itemize}
\item a
\item b
\end{itemize}
\begin{tabular}{l|r}a & b\\ \hline 1 & 2\end{tabular}
\begin{verbatim}
x
\end{verbatim}
\end{document}
"""
HTML = (
    "<html><head><title>T</title></head><body><h1>One</h1><p>Text <b>bold</b></p><ul><li>a<li>b</ul><table><tr><th>a"
    "</th></tr><tr><td>1</td></tr></table><pre>x\n y</pre></body></html>"
)
MARKDOWN = """---
title: x
---
# One

Text *a* `b` [c](d).

- a
  - b

| a | b |
|---|---|
| 1 | 2 |

```py
x
```
> quote
"""


def samples() -> dict[str, bytes]:
    """A valid file for every reader, by name."""
    plain = {
        "a.txt": TEXT, "a.md": MARKDOWN, "a.html": HTML, "a.rst": RST, "a.org": ORG, "a.adoc": ADOC, "a.tex": TEX,
        "a.py": CODE, "a.cpp": BRACES, "a.js": BRACES, "a.toml": "[a]\nb = 1\n[c]\nd = 2\n",
        "a.rb": "module M\n  def x\n    1\n  end\nend\n",
        "a.csv": 'name,age,"no, te"\nAnn,41,"a\nb"\nBob,7,\n', "a.tsv": "a\tb\n1\t2\n3\t4\n",
        "a.json": '{"a": [1, {"b": "x\\u00e9"}, null], "c": "' + "long text. " * 40 + '"}',
        "a.jsonl": '{"a": 1}\n{"a": [2.5e3, true]}\n',
    }  # fmt: skip
    return {
        **{name: text.encode() for name, text in plain.items()},
        "b.txt": TEXT.encode("utf-16"),
        "c.txt": "Das kostet fünf Franken für größere Öfen.\n".encode("latin-1") * 4,
        "a.ipynb": _notebook(),
        "a.eml": _mail(),
        "a.mbox": b"From a@b Mon\n" + _mail() + b"\n\nFrom c@d Tue\n" + _mail(),
        "a.pdf": _pdf(),
        "a.docx": packkit.docx(packkit.para("Title", style="Heading1") + packkit.para("Oil.") + _WORD_TABLE),
        "a.xlsx": packkit.xlsx({"One": _ROWS, "Two": _ROWS}),
        "a.pptx": packkit.pptx({"s1": packkit.shape("Title", kind="title") + packkit.shape("0:One", "1:Two")}),
        "a.epub": packkit.epub({"a.xhtml": "<h1>One</h1><p>Text.</p>", "b.xhtml": "<p>More.</p>"}, {"a.xhtml": "One"}),
        "a.odt": packkit.odf("text", "<text:h text:outline-level='1'>One</text:h><text:p>A<text:s/>b.</text:p>"),
        "a.ods": packkit.odf("spreadsheet", f"<table:table table:name='S'>{_CELLS * 3}</table:table>"),
        "a.odp": packkit.odf("presentation", "<draw:page draw:name='p'><text:p>One</text:p></draw:page>"),
        "a.zip": packkit.packed({"a.txt": TEXT, "b/c.csv": "a,b\n1,2\n"}),
        "a.tar.gz": _tar(),
    }  # fmt: skip


_WORD_TABLE = f"<w:tbl><w:tr><w:tc>{packkit.para('a')}</w:tc><w:tc>{packkit.para('b')}</w:tc></w:tr></w:tbl>"
_ROWS = "".join(
    f'<row r="{row}"><c r="A{row}" t="inlineStr"><is><t>name {row}</t></is></c><c r="B{row}"><v>{row}.5</v></c></row>'
    for row in range(1, 6)
)
_CELLS = (
    "<table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>"
    "<table:table-cell table:number-columns-repeated='3'><text:p>b</text:p></table:table-cell></table:table-row>"
)


def _notebook() -> bytes:
    cells = [
        {"cell_type": "markdown", "source": ["# One\n", "Text."]},
        {"cell_type": "code", "source": "x = 1", "outputs": [{"output_type": "stream", "text": ["1\n"]}]},
    ]
    return json.dumps({"nbformat": 4, "cells": cells}).encode()


def _mail() -> bytes:
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["Date"] = "Grüße", "Änne <a@b.c>", "Mon, 01 Jan 2024 10:00:00 +0000"
    mail.set_content("Hello.\n\n> quoted\n\nBye\n")
    mail.add_alternative("<p>Hello</p>", subtype="html")
    mail.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="tä.csv")
    # The standard library draws the mark between parts by chance.
    return mail.as_bytes().replace(mail.get_boundary("").encode() or b"\0", b"=======")


def _pdf() -> bytes:
    page = Sheet().at(72, 760, "Title", 20, "F2").lines(72, 700, "The pump needs oil every", "week. A red lamp warns.")
    other = Sheet().lines(72, 700, "name   age", "Ann    41", "Bob    7")
    return pdf(page, other, Sheet().scan(), outline=[("Title", 0)])


def _tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for name, text in (("a.txt", TEXT), ("b.csv", "a,b\n1,2\n")):
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


# ---- damage

_ODD = (
    b"\0", b"\xff", b"\x80", b"\xed\xa0\x80", b"\xf4\x8f\xbf\xbf", b"\xe2\x80\xae", b"\x1b[2J", b"\r", b"\r\n", b"\f",
    b"<", b">", b"&", b'"', b"'", b"{", b"}", b"[", b"]", b"(", b"\\", b"%", b"$", b"|", b"=" * 40, b"-" * 40,
    b"#" * 40, b"*" * 40, b"\n\n", b"\t", b" " * 200, b"<!DOCTYPE x [<!ENTITY a 'b'>]>", b"&a;", b"&#x0;", b"-1",
    b"9" * 20, b"nan", b"<table><tr><td>", b"<div>" * 50, b"\\begin{verbatim}", b"#+begin_src\n", b"From x\n",
    b"Content-Type: multipart/mixed\n",
)  # fmt: skip


def _flip(data: bytearray, chance: random.Random, other: bytes) -> bytearray:
    for _ in range(chance.randint(1, 8)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return data


def _set(data: bytearray, chance: random.Random, other: bytes) -> bytearray:
    place = chance.randrange(len(data))
    data[place : place + chance.randint(1, 8)] = chance.randbytes(chance.randint(1, 8))
    return data


def _cut(data: bytearray, chance: random.Random, other: bytes) -> bytearray:
    return data[: chance.randrange(len(data))]


def _behead(data: bytearray, chance: random.Random, other: bytes) -> bytearray:
    return data[chance.randrange(len(data)) :]


def _delete(data: bytearray, chance: random.Random, other: bytes) -> bytearray:
    place = chance.randrange(len(data))
    del data[place : place + chance.randint(1, 64)]
    return data


def _insert(data: bytearray, chance: random.Random, other: bytes) -> bytearray:
    place = chance.randrange(len(data))
    data[place:place] = chance.choice(_ODD) * chance.choice((1, 1, 1, 3, 50))
    return data


def _repeat(data: bytearray, chance: random.Random, other: bytes) -> bytearray:
    place = chance.randrange(len(data))
    block = bytes(data[place : place + chance.randint(1, 200)])
    data[place:place] = block * chance.choice((1, 5, 50, 400))
    return data


def _splice(data: bytearray, chance: random.Random, other: bytes) -> bytearray:
    return data[: chance.randrange(len(data))] + other[chance.randrange(max(1, len(other))) :]


_WAYS: tuple[Callable[[bytearray, random.Random, bytes], bytearray], ...] = (
    _flip, _set, _cut, _behead, _delete, _insert, _insert, _repeat, _splice,
)  # fmt: skip


def damaged(number: int, valid: Mapping[str, bytes]) -> tuple[str, bytes]:
    """The damaged file of a number: always the same; each number its own format, place and kinds of damage."""
    names = sorted(valid)
    name = names[number % len(names)]
    chance = random.Random(number)
    other = valid[chance.choice(names)]
    data = valid[name]
    if data.startswith(b"PK") and chance.random() < 0.75:
        return name, _repacked(data, chance, other)
    return name, _damage(data, chance, other)


def _damage(data: bytes, chance: random.Random, other: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        found = chance.choice(_WAYS)(found, chance, other) if found else found
    return bytes(found)


def _repacked(data: bytes, chance: random.Random, other: bytes) -> bytes:
    """A ZIP file that is whole, with one or two of its parts damaged, lost or given another name."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    for name in chance.sample(sorted(parts), k=min(len(parts), chance.randint(1, 2))):
        fate = chance.random()
        if fate < 0.85:
            parts[name] = _damage(parts[name], chance, other) if parts[name] else other
        elif fate < 0.93:
            del parts[name]
        else:
            parts[chance.choice([*sorted(parts), "x"])] = parts.pop(name)
    return packkit.packed(parts)


# ---- what must hold


def check(data: bytes, name: str) -> str:
    """``read`` or ``refused``; any other error than InputError, and any broken promise of a document, is raised."""
    try:
        if is_archive(name):
            members_of(data, name, 1 << 20)
            return "read"
        document = read_source(data, name)
    except InputError as error:
        if name not in error.message:
            raise AssertionError(f"the message names no file: {error.message}") from error
        return "refused"
    check_document(document)
    _check_headings(document)
    identity = {"id": document.id, "path": name, "source_sha256": document.source_sha256, "source_bytes": len(data)}
    assert decode_document(encode_document(document), identity) == document
    sentences = split_sentences(document, WordCounter(), Limits(), "en")
    if document.text.strip():
        assert sentences.starts[0] == 0
        assert sentences.ends[-1] == len(document.text)
        assert (sentences.starts[1:] == sentences.ends[:-1]).all()
    return "read"


def _check_headings(document: Document) -> None:
    assert all(isinstance(name, str) and name for block in document.blocks for name in block.headings)
    assert document.lines, "no line is known"


def covered() -> set[str]:
    """Modules of the readers that the samples go through."""
    modules = {READERS[f".{name.rpartition('.')[2]}"].module for name in samples() if not is_archive(name)}
    return modules
