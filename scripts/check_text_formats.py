"""Known content, written as markup, tables, JSON and mail by other programs, then read: what arrived, and where.

recall: share of the known words that the reader gives. place: share of marked passages whose heading path (markup),
row (tables), path and line (JSON), message (mail) or class and function (code, as universal-ctags tells them) is right.
Speed is that of the reader against the least that its library, or decoding, would take.
"""

from __future__ import annotations

import csv
import email
import io
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shutil import which
from typing import Any, NamedTuple

from idc_local.readers import read_source
from idc_local.types import Document

PROGRAMS = ("pandoc", "jq", "sqlite3", "mpack", "formail", "ctags")
SAMPLE = Path("idc_local/sample/docs")
MARKUP = {"rst": ".rst", "org": ".org", "latex": ".tex", "ipynb": ".ipynb", "commonmark": ".md", "html": ".html"}
TEXTS = ("kelder-3-manual.md", "hausordnung-lindenwehr.md", "meiling-tea-handbook.md", "incident-ir-0417.md")
_WORD = re.compile(r"\w+")
ROWS, LONG = 400, 40


class Result(NamedTuple):
    """What arrived of one fixture."""

    form: str
    fixture: str
    recall: float
    right: int
    marked: int


def words(text: str) -> Counter[str]:
    """How often each word stands in a text."""
    return Counter(_WORD.findall(text.casefold()))


def recall(known: str, found: str) -> float:
    """Share of the known words that were found."""
    wanted = words(known)
    missing = wanted - words(found)
    return 1 - sum(missing.values()) / max(1, sum(wanted.values()))


def run(*command: str, stdin: str | None = None) -> str:
    """What another program writes."""
    return subprocess.run(command, capture_output=True, text=True, input=stdin, check=True).stdout


# ---- markup: pandoc writes it, and says which headings each paragraph stands under


def passages(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Paragraphs of some length as plain words, with the path of headings above them."""
    stack: list[tuple[int, str]] = []
    for block in json.loads(run("pandoc", "-f", "markdown", "-t", "json", str(path)))["blocks"]:
        if block["t"] == "Header":
            stack = [entry for entry in stack if entry[0] < block["c"][0]]
            stack.append((block["c"][0], _plain(block["c"][2])))
        elif block["t"] == "Para" and len(_plain(block["c"])) >= LONG:
            yield _plain(block["c"]), tuple(title for _, title in stack)


def _plain(inlines: Any) -> str:  # noqa: ANN401  # a value of pandoc's own tree
    if isinstance(inlines, dict):
        kind = inlines.get("t")
        if kind in ("Space", "SoftBreak", "LineBreak", "DoubleQuote", "SingleQuote"):
            return " "
        if kind in ("Str", "Code", "CodeBlock"):
            return str(inlines["c"] if kind == "Str" else inlines["c"][1]) + (" " if kind == "CodeBlock" else "")
        return _plain(inlines.get("c", [])) + (" " if kind in ("Para", "Plain", "Header", "Quoted") else "")
    return "".join(map(_plain, inlines)) if isinstance(inlines, list) else ""


def markup(folder: Path) -> Iterator[Result]:
    """Four documents in each markup."""
    for form, suffix in MARKUP.items():
        for name in TEXTS:
            target = folder / (Path(name).stem + suffix)
            run("pandoc", "-s", "-f", "markdown", "-t", form, "-o", str(target), str(SAMPLE / name))
            document = read_source(target.read_bytes(), target.name)
            known = _plain(json.loads(run("pandoc", "-f", "markdown", "-t", "json", str(SAMPLE / name)))["blocks"])
            marked = list(passages(SAMPLE / name))
            right = sum(_under(document, text, path) for text, path in marked)
            yield Result(suffix, f"pandoc: {Path(name).stem}", recall(known, document.text), right, len(marked))


def _under(document: Document, text: str, path: tuple[str, ...]) -> bool:
    """True where the block that holds the passage's words stands under the headings that it should."""
    wanted = _WORD.findall(text.casefold())[:6]
    for block in document.blocks:
        if wanted == [word for word in _WORD.findall(document.text[block.start : block.end].casefold())][: len(wanted)]:
            names = [_WORD.findall(name.casefold()) for name in block.headings]
            return names == [_WORD.findall(name.casefold()) for name in path]
    return False


# ---- tables and records: sqlite3 and jq write them


TABLES = {
    "comma.csv": ".mode csv",
    "semicolon.csv": ".mode csv\n.separator ; \\r\\n",
    "bar.csv": ".mode csv\n.separator | \\n",
    "tabs.tsv": ".mode csv\n.separator \\t \\n",
    "tabs-crlf.tsv": ".mode csv\n.separator \\t \\r\\n",
    "tabs.tab": ".mode csv\n.separator \\t \\n",
}
"""File to how sqlite3 writes it."""


def table_rows() -> list[tuple[str, ...]]:
    """Rows with everything that has to be quoted."""
    odd = (
        "plain words",
        'a "quoted" one',
        "comma, semicolon; tab",
        "two\nlines",
        "größe 12 €",
        "点検してください",
        " spaces ",
    )
    return [(f"key{number:05d}", odd[number % len(odd)], str(number * 1.5), f"note {number}") for number in range(ROWS)]


def tables(folder: Path) -> Iterator[Result]:
    """One table, written with four delimiters and two ends of lines."""
    source = folder / "source.csv"
    rows = [("key", "words", "number", "note"), *table_rows()]
    with source.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    for name, settings in TABLES.items():
        script = f".import --csv {source} t\n{settings}\n.headers on\nselect * from t;\n"
        target = folder / name
        target.write_text(run("sqlite3", ":memory:", stdin=script), encoding="utf-8", newline="")
        document = read_source(target.read_bytes(), name)
        right = sum(_at(document, row[0]) == (f"row {number}",) for number, row in enumerate(rows[1:], 2))
        yield Result(
            target.suffix, f"sqlite3: {name}", recall(" ".join(map(" ".join, rows)), document.text), right, ROWS
        )


def _at(document: Document, mark: str) -> tuple[str | None]:
    place = document.text.find(mark)
    return (document.page_at(place) if place >= 0 else None,)


def records(folder: Path) -> Iterator[Result]:
    """The rows as JSON: indented, in one line, with every letter escaped, nested, and a line each."""
    rows = [dict(zip(("key", "words", "number", "note"), row, strict=True)) for row in table_rows()]
    value = json.dumps({"top": {"list": [{"id": row["key"], "inner": row} for row in rows]}})
    known = " ".join(" ".join([*row.values(), *row]) for row in rows)
    for name, options in (
        ("indented.json", [".", "--indent", "3"]), ("compact.json", ["-c", "."]), ("escaped.json", ["-a", "."]),
        ("lines.jsonl", ["-c", ".top.list[]"]), ("plain.jsonl", ["-c", ".top.list[].inner"]),
        ("escaped.jsonl", ["-a", "-c", ".top.list[].inner"]),
    ):  # fmt: skip
        target = folder / name
        target.write_text(run("jq", *options, stdin=value), encoding="utf-8")
        document = read_source(target.read_bytes(), name)
        lines = target.read_text(encoding="utf-8").split("\n")
        right = 0
        for number, row in enumerate(rows):
            place = document.text.find(f"key: {row['key']}")
            path = next((block.headings for block in document.blocks if block.start <= place < block.end), ())
            wanted = {"lines.jsonl": ("inner",), "plain.jsonl": (), "escaped.jsonl": ()}.get(
                name, ("top", f"list[{number}]", "inner")
            )
            line = document.line_at(place) - 1
            right += path == wanted and f'"key": "{row["key"]}"' in lines[line].replace('":"', '": "')
        names = " ".join(
            block.headings[-1]
            for block in document.blocks
            if block.headings[-1:] == ("words",) or "words" in block.headings
        )
        yield Result(target.suffix, f"jq: {name}", recall(known, f"{document.text} {names}"), right, ROWS)


# ---- mail: mpack and formail write it


def mails(folder: Path) -> Iterator[Result]:
    """Messages with a text and an attachment each, alone and in a mailbox."""
    made: list[tuple[Path, str]] = []
    for name in (*TEXTS, "supply-agreement.txt", "travel-policy.html"):
        body, target = folder / "body.txt", folder / f"{Path(name).stem}.eml"
        text = (SAMPLE / "skerrow-chain-ferry.txt").read_text(encoding="utf-8")
        body.write_text(text, encoding="ascii", errors="ignore")
        run("mpack", "-s", f"About {name}", "-d", str(body), "-o", str(target), str(SAMPLE / name))
        plain = read_source((SAMPLE / name).read_bytes(), name).text
        known = f"{body.read_text()} About {name} {plain}"
        made.append((target, known))
        document = read_source(target.read_bytes(), target.name)
        attached = f"Attachment: {name}"
        own = [block for block in document.blocks if attached in block.headings]
        right = sum(
            document.text[block.start : block.end] in plain or "Attachment" in block.headings[-1] for block in own
        )
        yield Result(".eml", f"mpack: {target.stem}", recall(known, document.text), right, len(own))
    for count in (2, 4, 6):
        box = folder / f"box{count}.mbox"
        parts = [run("formail", stdin=path.read_text()) for path, _ in made[:count]]
        box.write_text("".join(parts), encoding="utf-8")
        document = read_source(box.read_bytes(), box.name)
        known = " ".join(text for _, text in made[:count])
        right = sum(
            _at(document, f"About {Path(path.stem).name}") == (f"message {place}",)
            for place, (path, _) in enumerate(made[:count], 1)
        )
        yield Result(".mbox", f"formail: {count} messages", recall(known, document.text), right, count)


# ---- code: universal-ctags says where functions begin and what holds them

_CODE = {
    ".py": ("*/lib/python3*/argparse.py", "*/lib/python3*/zipfile.py", "*/lib/python3*/tarfile.py"),
    ".cpp": ("*/libsvm/svm.cpp", "*/liblinear/linear.cpp", "*/data/generate_umath_validation_data.cpp"),
    ".js": ("*/npm/lib/base-cmd.js", "*/_repr_html/estimator.js", "*/model_dump/code.js"),
}

_KINDS = {".py": ("function", "member", "class"), ".js": ("function", "method"), ".cpp": ("function", "class")}


def code(folder: Path) -> Iterator[Result]:
    """Real sources."""
    node = Path(which("npm") or "/nowhere").resolve().parents[1]
    site = [Path(entry) for entry in sys.path if "python3" in entry and Path(entry).is_dir()]
    site += [node] if (node / "lib").is_dir() else []
    for suffix, patterns in _CODE.items():
        for pattern in patterns:
            name = pattern.rpartition("/")[2]
            found = next((file for root in site for file in sorted(root.rglob(name)) if file.match(pattern)), None)
            if found is None:
                continue
            data = found.read_bytes()
            document = read_source(data, found.name)
            lines = run("ctags", "--output-format=json", "--fields=+nKzs", "-o", "-", str(found)).splitlines()
            kinds = _KINDS[suffix]
            wanted = [tag for tag in map(json.loads, lines) if tag.get("kind") in kinds and _outer(tag)]
            right = sum(_holds(document, tag) for tag in wanted)
            yield Result(
                suffix,
                f"ctags: {found.name}",
                recall(data.decode("utf-8", "replace"), document.text),
                right,
                len(wanted),
            )


def _outer(tag: dict[str, Any]) -> bool:
    """True for what stands in no function: those are not cut further."""
    made_up = (
        str(tag["name"]).startswith(("__anon", "Anonymous", "PREFIX"))
        or "=" in str(tag.get("pattern", "")).split("(")[0]
    )
    return tag.get("scopeKind") in (None, "class", "struct", "namespace") and not made_up


def _holds(document: Document, tag: dict[str, Any]) -> bool:
    """True where the block of the tag's line has its name, or stands under it."""
    line = int(tag["line"])
    for block in document.blocks:
        if document.line_at(block.start) <= line <= document.line_at(block.end - 1):
            return str(tag["name"]) in [part for name in block.headings for part in (name, *re.split(r"::|\.", name))]
    return False


# ---- speed


def speeds() -> Iterator[tuple[str, float, float]]:
    """MB a second of the reader, and of the least that reading the format takes, for two MB each."""
    rows = [(f"key{number}", "The pump needs oil every week.", str(number * 1.5)) for number in range(40_000)]
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows([("key", "words", "number"), *rows])
    text = (SAMPLE / "skerrow-chain-ferry.txt").read_bytes() * 120
    source = Path(csv.__file__).parent.joinpath("argparse.py").read_bytes() * 20
    mark = (SAMPLE / "kelder-3-manual.md").read_text(encoding="utf-8")
    rst, org, tex = (
        run("pandoc", "-f", "markdown", "-t", form, stdin=mark).encode() * 120 for form in ("rst", "org", "latex")
    )
    records_ = json.dumps([dict(zip("abc", row, strict=True)) for row in rows]).encode()
    letter = b"From a@b Mon\nSubject: x\nFrom: a@b\n\n" + text[:40_000] + b"\n\n"
    cells = json.dumps({"cells": [{"cell_type": "markdown", "source": mark}] * 120}).encode()
    decode: Callable[[bytes], object] = bytes.decode
    cases: Sequence[tuple[str, bytes, str, Callable[[bytes], object]]] = (
        ("a.txt", text, "decode", decode),
        ("a.csv", buffer.getvalue().encode(), "csv.reader", lambda data: list(csv.reader(io.StringIO(data.decode())))),
        ("a.json", records_, "json.loads", json.loads),
        ("a.mbox", letter * 40, "email", email.message_from_bytes),
        ("a.ipynb", cells, "json.loads", json.loads),
        ("a.py", source, "compile", lambda data: compile(data, "a", "exec", 1024)),
        ("a.rst", rst, "decode", decode), ("a.org", org, "decode", decode), ("a.tex", tex, "decode", decode),
    )  # fmt: skip
    for name, data, least, library in cases:
        rates = []
        for read in (lambda data, name=name: read_source(data, name), library):
            began = time.process_time()
            read(data)
            rates.append(len(data) / 1e6 / max(1e-9, time.process_time() - began))
        yield f"{name[1:]} ({least})", rates[0], rates[1]


def main() -> int:
    """Prints the tables; ends with 1 where less than 99 % arrives or is in its place."""
    missing = [program for program in PROGRAMS if which(program) is None]
    if missing:
        sys.stderr.write(f"error: not installed: {', '.join(missing)}. hint: see scripts/check_text_formats\n")
        return 2
    low = False
    sys.stdout.write("| format | fixture | recall | place |\n|---|---|---|---|\n")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for part in (markup, tables, records, mails, code):
            for result in part(folder):
                low = low or result.recall < 0.99 or result.right < 0.99 * result.marked
                sys.stdout.write(
                    f"| {result.form} | {result.fixture} | {result.recall:.4f} | {result.right}/{result.marked} |\n"
                )
                sys.stdout.flush()
    sys.stdout.write("\n| format (least) | MB/s | least, MB/s |\n|---|---|---|\n")
    for name, own, least in speeds():
        sys.stdout.write(f"| {name} | {own:.1f} | {least:.0f} |\n")
    return int(low)


if __name__ == "__main__":
    sys.exit(main())
