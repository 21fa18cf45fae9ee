"""Documents of every packaged format through the command line: indexed, found, and cited with their place."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner, Result

from idc_local.cli import cli
from idc_local.cli.session import App
from tests.integration.test_cli_index import LocalRuntime
from tests.packkit import docx, epub, odf, para, pptx, shape, xlsx
from tests.pdfkit import Sheet, pdf

FILLER = "The days went by and nothing of note came up, save that it rained now and then on the roof of the hall."


class Indexed(NamedTuple):
    """An index of the files, and what was said when it was made."""

    folder: Path
    result: Result

    def call(self, *arguments: str) -> Result:
        return call(self.folder, *arguments)

    def hits(self, query: str, count: int = 1) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(
            self.call("search", query, "-k", str(count), "--format", "json").stdout
        )["hits"]
        return found


def call(folder: Path, *arguments: str) -> Result:
    app = App(open_runtime=LocalRuntime, environ={})
    return CliRunner().invoke(cli, [*arguments, "--index", str(folder / "idx")], obj=app)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    folder = tmp_path_factory.mktemp("formats")
    docs = folder / "docs"
    docs.mkdir()
    rows = "".join(
        f'<row r="{n}"><c r="A{n}" t="inlineStr"><is><t>gasket {n} of rubber, kept in the shelf</t></is></c>'
        f'<c r="B{n}"><v>{n}</v></c></row>'
        for n in range(1, 60)
    )
    page = Sheet().at(60, 780, "Valves", 18, "F2").lines(60, 740, "The sphygmometer shows the pressure of the valve.")
    files = {
        "a.pdf": pdf(Sheet().lines(60, 740, FILLER), page, Sheet().scan()),
        "scan.pdf": pdf(Sheet().scan()),
        "b.docx": docx(para("Care", '<w:outlineLvl w:val="0"/>') + para("The flywheel wants grease.")),
        "c.pptx": pptx(
            {"one": shape("Start", kind="title"), "two": shape("Lamps", kind="title") + shape("Amber warns.")}
        ),
        "d.xlsx": xlsx({"Parts": rows}),
        "e.odt": odf("text", "<text:p>The thermostat was calibrated.</text:p>"),
        "f.epub": epub({"x.xhtml": "<h1>Sea</h1><p>The ferry sails at dawn.</p>"}),
        "g.doc": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument\0".encode("utf-16-le"),
        "h.docx": docx(para("cut"))[:99],
    }
    for name, data in files.items():
        (docs / name).write_bytes(data)
    return Indexed(folder, call(folder, "index", str(docs), "--intents", "off", "--format", "json"))


def test_good_files_are_indexed_and_bad_ones_named_with_reason_and_remedy(indexed: Indexed) -> None:
    assert indexed.result.exit_code == 0
    report = json.loads(indexed.result.stdout)
    assert report["new"] == 6
    assert {skip["path"]: skip["reason"] for skip in report["skipped"]} == {
        "g.doc": "an old Word document (.doc)",
        "h.docx": "damaged: it is not a whole ZIP file, maybe cut off",
        "scan.pdf": "scanned: page 1 holds pictures and no text",
    }
    assert all(skip["hint"] for skip in report["skipped"])
    warning = "a.pdf: scanned: page 3 holds pictures and no text"
    assert [note.partition(";")[0] for note in report["notes"]] == [warning]
    assert f"note: {warning}" in indexed.result.stderr


@pytest.mark.parametrize(
    ("query", "path", "page", "shown"),
    [
        ("sphygmometer pressure of the valve", "a.pdf", "1-2", "  p. 1-2  "),
        ("flywheel grease", "b.docx", None, "b.docx:1  "),
        ("Amber warns", "c.pptx", "slide 1-2", "  slides 1-2  "),
        ("thermostat calibrated", "e.odt", None, "e.odt:1  "),
        ("ferry at dawn", "f.epub", "chapter 1", "  chapter 1  "),
    ],
)
def test_hits_and_passages_name_their_place(
    indexed: Indexed, query: str, path: str, page: str | None, shown: str
) -> None:
    hit = indexed.hits(query)[0]
    assert (hit["path"], hit["page"]) == (path, page)
    assert shown in indexed.call("search", query, "-k", "1").stdout.splitlines()[0]
    assert shown in indexed.call("show", hit["id"]).stdout.splitlines()[0]


def test_a_passage_of_a_sheet_names_its_rows(indexed: Indexed) -> None:
    found = indexed.hits("gasket 41 of rubber", 9)
    places = {hit["page"]: hit["text"] for hit in found if hit["path"] == "d.xlsx"}
    assert len(places) > 1
    for place, text in places.items():
        rows = [int(number) for number in re.findall(r"gasket (\d+)", text)]
        assert place == f"sheet Parts, row {rows[0]}-{rows[-1]}"


LINED = {
    "a.txt": "Nothing is here.\r\n\r\n\r\nThe sphygmometer\r\nshows the pressure.\r\n",
    "b.tex": "\\section{A}% no\n\n\n\\section{B}\nAs it is.\n\n\nThe theodolite shows the angle.\n",
    "c.json": '{"first": "nothing", "second": {"a": "no"},\n\n\n "third": "The anemometer shows the wind."}\n',
    "d.csv": 'name,note\nAnn,"one\ntwo"\nBob,"The hygrometer shows the damp."\n',
}


@pytest.mark.parametrize(
    ("word", "lines"),
    [("sphygmometer", (4, 5)), ("theodolite", (8, 8)), ("anemometer", (4, 4)), ("hygrometer", (4, 4))],
)
def test_the_answer_names_its_lines_in_the_file(tmp_path: Path, word: str, lines: tuple[int, int]) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in LINED.items():
        (docs / name).write_bytes(text.encode())
    assert call(tmp_path, "index", str(docs), "--intents", "off").exit_code == 0
    found = call(tmp_path, "search", f"What does the {word} show?", "-k", "1", "--format", "json").stdout
    [hit] = json.loads(found)["hits"]
    assert word in hit["span"]["text"]
    assert (hit["span"]["line_start"], hit["span"]["line_end"]) == lines
