"""Known text, written as office documents, PDF and e-books by other programs, then read: what arrived, and where.

recall: share of the words of the known text that the reader gives. place: share of the marked passages whose page,
slide, sheet and row, chapter or heading path is right; pages are told by poppler's pdftotext. order: share of
neighbouring marked passages that come in the order in which they were written.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from shutil import which
from xml.etree import ElementTree

import pypdfium2

from idc_local.readers import read_source
from idc_local.types import Document

PROGRAMS = ("soffice", "pandoc", "groff", "pdflatex", "wkhtmltopdf", "pdftotext")
SAMPLE = Path("idc_local/sample/docs")
_TOKEN = re.compile(r"\w+")
_MARKER = re.compile(r"QX\d{5}")
GREEK = "Ανοίξτε τη βαλβίδα αργά και περιμένετε μέχρι ο δείκτης να φτάσει στη σωστή θέση."
CYRILLIC = "Откройте клапан медленно и подождите, пока стрелка не дойдёт до нужной отметки."
CZECH = "Otevřete ventil pomalu a počkejte, až ručička dosáhne správné polohy; žlutý kůň úpěl."


@dataclass
class Section:
    """A heading, its level, and what stands under it: paragraphs, list items, table rows."""

    title: str
    level: int
    paragraphs: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    rows: list[tuple[str, ...]] = field(default_factory=list)


@dataclass
class Known:
    """A document as it was written; ``path_of`` gives the heading path of each marker."""

    name: str
    title: str
    sections: list[Section]
    columns: int = 1

    def texts(self) -> Iterator[str]:
        """Everything that can be read in it."""
        yield self.title
        for section in self.sections:
            yield from (section.title, *section.paragraphs, *section.items)
            yield from (cell for row in section.rows for cell in row)

    def markdown(self, slides: bool = False) -> str:
        """The document for pandoc."""
        parts = [f"---\ntitle: {self.title}\n---\n"]
        for section in self.sections:
            parts.append(f"{'#' * (1 if slides else section.level)} {section.title}\n")
            parts += [f"{text}\n" for text in section.paragraphs]
            parts.append("\n".join(f"- {item}" for item in section.items) + "\n")
            if section.rows:
                head, *body = (f"| {' | '.join(row)} |" for row in section.rows)
                rule = "|" + "---|" * len(section.rows[0])
                parts.append("\n".join((head, rule, *body)) + "\n")
        return "\n".join(parts)

    def paths(self) -> dict[str, tuple[str, ...]]:
        """The heading path of every marker."""
        found: dict[str, tuple[str, ...]] = {}
        path: list[str] = []
        for section in self.sections:
            path = [*path[: section.level - 1], section.title]
            for text in (*section.paragraphs, *section.items, *(cell for row in section.rows for cell in row)):
                found.update((marker, tuple(path)) for marker in _MARKER.findall(text))
        return found


class Markers:
    """Words that stand nowhere else, one for each passage."""

    def __init__(self) -> None:
        self._next = 10_000

    def __call__(self, text: str) -> str:
        """``text`` with its marker."""
        self._next += 7
        return f"{text} QX{self._next}"


def paragraphs_of(name: str) -> list[str]:
    """Running paragraphs of a sample document, without markup."""
    parts = re.split(r"\n\s*\n", (SAMPLE / name).read_text(encoding="utf-8"))
    plain = (" ".join(part.split()) for part in parts if not re.match(r"\s*(?:[#|>`*~+-]|\d+[.)]|==|--)", part))
    clean = (re.sub(r"[`*_\[\]<>\\$^#|{}]|[^\x00-\u017f–—‘’“”„…•€]", "", text) for text in plain)
    return [text for text in clean if 80 < len(text) < 900]


def handbook(mark: Markers) -> Known:
    """English: chapters and sections, lists, a small table."""
    texts = (
        paragraphs_of("kelder-3-manual.md")
        + paragraphs_of("meiling-tea-handbook.md")
        + paragraphs_of("lab-protocol-lp-17.md")
    )
    sections = []
    for place in range(0, len(texts) - 2, 2):
        level = 1 if place % 6 == 0 else 2
        section = Section(
            f"Part {place // 2 + 1} of the handbook", level, [mark(text) for text in texts[place : place + 2]]
        )
        if place % 4 == 0:
            section.items = [mark(f"Check item {number} before you go on") for number in range(3)]
        sections.append(section)
    sections[1].rows = [
        ("Part", "Price", "Note"),
        *((mark(f"Rotor {n}"), f"{n}2.50", f"kept in shelf {n}") for n in range(8)),
    ]
    return Known("handbook", "The handbook of everything", sections)


def report(mark: Markers) -> Known:
    """German, Greek, Russian, Czech; a table of sixty rows that runs over pages."""
    texts = [*paragraphs_of("hausordnung-lindenwehr.md"), GREEK * 3, CYRILLIC * 3, CZECH * 3]
    sections = [
        Section(
            f"Abschnitt {place // 3 + 1}: Größe und Übersicht", 1, [mark(text) for text in texts[place : place + 3]]
        )
        for place in range(0, len(texts), 3)
    ]
    rows = [(mark(f"Zeile {n}"), f"{n * 17}", f"Größe {n} für Prüfung") for n in range(60)]
    sections.append(
        Section(
            "Tabelle der Größen",
            1,
            [mark("Die Werte stehen in der Tabelle.")],
            rows=[("Name", "Wert", "Bemerkung"), *rows],
        )
    )
    return Known("bericht", "Bericht über die Größen", sections)


def paper(mark: Markers) -> Known:
    """Two columns with hyphenated lines."""
    texts = (
        paragraphs_of("meiling-tea-handbook.md")
        + paragraphs_of("incident-ir-0417.md")
        + paragraphs_of("sumpline-gateway-api.md")
    )
    sections = [
        Section(f"Finding number {place // 3 + 1}", 1, [mark(text) for text in texts[place : place + 3]])
        for place in range(0, len(texts), 3)
    ]
    return Known("paper", "A paper in two columns", sections, columns=2)


@dataclass(frozen=True)
class Made:
    """A file that a program wrote from a known document."""

    path: Path
    known: Known
    program: str


def run(*command: str, cwd: Path, text: str = "") -> str:
    """Runs a program; its complaints are shown where it fails."""
    done = subprocess.run(command, cwd=cwd, input=text, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)} failed: {done.stderr[-500:]}")
    return done.stdout


def office(source: Path, kind: str, target: Path) -> Path:
    """``source`` as LibreOffice writes it in another format; what was kept is not made again."""
    made = target / f"{source.stem}.{kind.partition(':')[0]}"
    if made.exists():
        return made
    target.mkdir(exist_ok=True)
    reading = ["--infilter=HTML (StarWriter)"] if source.suffix == ".html" else []
    run("soffice", "--headless", *reading, "--convert-to", kind, "--outdir", str(target), str(source), cwd=target)
    if not made.exists():
        sys.exit(f"error: LibreOffice made no {made.name} of {source}")
    return made


def written(folder: Path, known: Known) -> Iterator[Made]:
    """A text in every format of running text."""
    source = folder / f"{known.name}.md"
    source.write_text(known.markdown(), encoding="utf-8")
    for kind in ("docx", "odt", "html"):
        run("pandoc", "-s", str(source), "-o", f"{known.name}.{kind}", cwd=folder)
    docx, odt, html = (folder / f"{known.name}.{kind}" for kind in ("docx", "odt", "html"))
    yield Made(docx, known, "pandoc")
    yield Made(odt, known, "pandoc")
    yield Made(office(odt, "docx", folder / "lo1"), known, "LibreOffice, from odt")
    yield Made(office(docx, "odt", folder / "lo1"), known, "LibreOffice, from docx")
    yield Made(office(html, "odt", folder / "lo2"), known, "LibreOffice, from html")
    yield Made(office(folder / "lo2" / f"{known.name}.odt", "docx", folder / "lo2"), known, "LibreOffice, from html")
    for version in ("epub2", "epub3"):
        made = folder / version
        made.mkdir(exist_ok=True)
        run("pandoc", str(source), "-t", version, "-o", str(made / f"{known.name}.epub"), cwd=folder)
        yield Made(made / f"{known.name}.epub", known, f"pandoc, {version}")
    yield Made(office(docx, "epub", folder / "lo1"), known, "LibreOffice")
    yield from printed(folder, known, docx, html, source)


def printed(folder: Path, known: Known, docx: Path, html: Path, source: Path) -> Iterator[Made]:
    """The same as PDF."""
    if known.columns == 1:
        yield Made(office(docx, "pdf", folder / "lo1"), known, "LibreOffice")
        tagged = 'pdf:writer_pdf_Export:{"UseTaggedPDF":{"type":"boolean","value":"true"}}'
        yield Made(office(docx, tagged, folder / "lo3"), known, "LibreOffice, tagged")
        target = folder / "wk"
        target.mkdir(exist_ok=True)
        run("wkhtmltopdf", "-q", str(html), str(target / f"{known.name}.pdf"), cwd=folder)
        yield Made(target / f"{known.name}.pdf", known, "wkhtmltopdf")
    if known.name == "bericht":
        return
    style = ["-V", "classoption=twocolumn"] if known.columns == 2 else []
    tex = run("pandoc", "-s", str(source), "-t", "latex", "-V", "papersize=a4", *style, cwd=folder)
    target = folder / "tex"
    target.mkdir(exist_ok=True)
    (target / f"{known.name}.tex").write_text(tex, encoding="utf-8")
    for _ in range(2):
        run("pdflatex", "-interaction=batchmode", f"{known.name}.tex", cwd=target)
    yield Made(target / f"{known.name}.pdf", known, "pdfTeX" + (", two columns" if style else ""))
    roff = run("pandoc", "-s", str(source), "-t", "ms", cwd=folder)
    if known.columns == 2:
        roff = re.sub(r"(?m)^\.1C$", "", roff).replace(".nr HY", '.\\" ', 0)
        roff = re.sub(r"(?m)^(\.(?:SH|NH)[^\n]*)$", r".2C\n\1", roff, count=1)
    target = folder / "groff"
    target.mkdir(exist_ok=True)
    made = target / f"{known.name}.pdf"
    done = subprocess.run(
        ["groff", "-k", "-t", "-ms", "-Tpdf"], input=roff.encode(), capture_output=True, check=True, timeout=300
    )
    made.write_bytes(done.stdout)
    yield Made(made, known, "groff" + (", two columns" if known.columns == 2 else ""))


def slides(folder: Path, known: Known) -> Iterator[Made]:
    """A text as slides: one section a slide."""
    short = [
        Section(section.title, 1, section.paragraphs[:1], section.items, section.rows[:6]) for section in known.sections
    ]
    deck = Known(f"{known.name}-slides", known.title, short)
    source = folder / f"{deck.name}.md"
    source.write_text(deck.markdown(slides=True), encoding="utf-8")
    run("pandoc", str(source), "--slide-level=1", "-o", f"{deck.name}.pptx", cwd=folder)
    pptx = folder / f"{deck.name}.pptx"
    yield Made(pptx, deck, "pandoc")
    odp = office(pptx, "odp", folder / "lo1")
    yield Made(odp, deck, "LibreOffice, from pptx")
    again = office(odp, "pptx", folder / "lo1")
    yield Made(again, deck, "LibreOffice, from odp")
    yield Made(office(again, "odp", folder / "lo2"), deck, "LibreOffice, twice")


WRITE_XLSX = """
import csv, sys, openpyxl
book = openpyxl.Workbook()
sheet = book.active
sheet.title = sys.argv[3]
for row in csv.reader(open(sys.argv[1], encoding="utf-8")):
    sheet.append([float(cell) if cell.replace(".", "", 1).isdigit() else cell for cell in row])
book.save(sys.argv[2])
"""


def sheets(folder: Path, mark: Markers) -> Iterator[Made]:
    """Tables as workbooks: one, a wide one, and one with gaps."""
    plain = [("Name", "Count", "Town"), *((mark(f"Pump {n}"), str(n * 3), "Köln") for n in range(200))]
    wide = [
        tuple(f"Column {n}" for n in range(30)),
        *(tuple([mark("Row"), *(str(n * k) for n in range(29))]) for k in range(50)),
    ]
    gaps: list[tuple[str, ...]] = [("Prices of 2024",), (), ("Part", "Price")]
    gaps += [(mark(f"Seal {n}"), f"{n}.25") if n % 5 else () for n in range(60)]
    for name, rows in (("plain", plain), ("wide", wide), ("gaps", gaps)):
        source = folder / f"{name}.csv"
        source.write_text("\n".join(",".join(row) for row in rows) + "\n", encoding="utf-8")
        known = Known(name, "", [Section("", 1, rows=[row or ("",) for row in rows])])
        infilter = "--infilter=CSV:44,34,76"
        for kind in ("xlsx", "ods"):
            run(
                "soffice",
                "--headless",
                infilter,
                "--convert-to",
                kind,
                "--outdir",
                str(folder / "lo1"),
                str(source),
                cwd=folder,
            )
            yield Made(folder / "lo1" / f"{name}.{kind}", known, "LibreOffice, from csv")
        (folder / "op").mkdir(exist_ok=True)
        made = folder / "op" / f"{name}.xlsx"
        run("/usr/bin/python3", "-c", WRITE_XLSX, str(source), str(made), name, cwd=folder)
        yield Made(made, known, "openpyxl")
        yield Made(office(made, "ods", folder / "lo2"), known, "LibreOffice, from xlsx")


def words(texts: Iterator[str]) -> Counter[str]:
    """Words of texts, however they are divided into lines."""
    return Counter(word for text in texts for word in _TOKEN.findall(text.casefold()))


def places(made: Made, document: Document) -> Callable[[str, int], bool]:
    """A test of a marker and its offset: does it stand where it should?"""
    suffix = made.path.suffix
    if suffix == ".pdf":
        count = len(pypdfium2.PdfDocument(made.path))
        pages = [
            run("pdftotext", "-f", str(n), "-l", str(n), made.path.name, "-", cwd=made.path.parent)
            for n in range(1, count + 1)
        ]
        page_of = {marker: str(n) for n, page in enumerate(pages, 1) for marker in _MARKER.findall(page)}
        return lambda marker, offset: document.page_at(offset) == page_of.get(marker)
    paths = made.known.paths()
    if suffix in (".xlsx", ".ods"):
        rows = {
            marker: n
            for n, row in enumerate(made.known.sections[0].rows, 1)
            for marker in _MARKER.findall(" ".join(row))
        }
        sheet = {"openpyxl": made.known.name, "LibreOffice, from xlsx": made.known.name}.get(
            made.program, made.known.name
        )
        return lambda marker, offset: document.page_at(offset) == f"sheet {sheet}, row {rows[marker]}"
    titles = [section.title for section in made.known.sections]
    if suffix in (".pptx", ".odp"):
        return lambda marker, offset: document.page_at(offset) == f"slide {titles.index(paths[marker][0]) + 2}"
    if suffix == ".epub" and made.program.startswith("pandoc"):
        tops = [section.title for section in made.known.sections if section.level == 1]
        return lambda marker, offset: document.page_at(offset) == f"chapter {tops.index(paths[marker][0]) + 1}"
    if suffix == ".epub":
        # LibreOffice writes chapters, but no headings below them.
        return lambda marker, offset: _path(document, offset)[-1:] == paths[marker][:1]
    return lambda marker, offset: _path(document, offset)[-len(paths[marker]) :] == paths[marker]


def _path(document: Document, offset: int) -> tuple[str, ...]:
    return next((block.headings for block in document.blocks if block.start <= offset < block.end), ())


@dataclass(frozen=True)
class Figures:
    """What arrived of a file."""

    recall: float
    place: float
    order: float
    seconds: float
    lost: Sequence[str]


def measure(made: Made) -> Figures:
    """Reads the file and compares."""
    data = made.path.read_bytes()
    began = time.perf_counter()
    document = read_source(data, made.path.name)
    seconds = time.perf_counter() - began
    known = words(made.known.texts())
    lost = known - words(iter([document.text]))
    markers = [marker for text in made.known.texts() for marker in _MARKER.findall(text)]
    offsets = {marker: document.text.find(marker) for marker in markers}
    right = places(made, document)
    good = sum(offset >= 0 and right(marker, offset) for marker, offset in offsets.items())
    ordered = sum(0 <= offsets[first] < offsets[second] for first, second in pairwise(markers))
    return Figures(
        1 - sum(lost.values()) / sum(known.values()), good / len(markers), ordered / (len(markers) - 1), seconds,
        [f"{word} {count}" for word, count in lost.most_common(8)],
    )  # fmt: skip


def best(action: Callable[[], object], times: int = 3) -> float:
    """Processor seconds of the fastest of some runs."""
    found = []
    for _ in range(times):
        began = time.process_time()
        action()
        found.append(time.process_time() - began)
    return min(found)


def pdf_alone(data: bytes) -> None:
    """What PDFium takes to give the text of all pages."""
    document = pypdfium2.PdfDocument(data)
    for page in document:
        page.get_textpage().get_text_range()


def package_alone(data: bytes) -> None:
    """What unpacking and parsing every XML part takes."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        for name in package.namelist():
            if name.endswith((".xml", ".rels", ".xhtml")) and package.getinfo(name).file_size:
                ElementTree.fromstring(package.read(name))


def speed(folder: Path) -> None:
    """Prints how fast large files are read, against the library alone."""
    mark = Markers()
    base = handbook(mark)
    large = Known("large", base.title, base.sections * 25)
    source = folder / "large.md"
    source.write_text(large.markdown(), encoding="utf-8")
    for kind in ("docx", "odt", "epub", "pptx"):
        run("pandoc", "-s", str(source), "-o", f"large.{kind}", cwd=folder)
    rows = "\n".join(",".join([f"Pump {n}", *(str(n * k) for k in range(12))]) for n in range(20_000))
    (folder / "large.csv").write_text(rows + "\n", encoding="utf-8")
    run("/usr/bin/python3", "-c", WRITE_XLSX, "large.csv", "large.xlsx", "large", cwd=folder)
    files = [
        office(folder / "large.docx", "pdf", folder / "lo1"),
        *(folder / f"large.{kind}" for kind in ("docx", "odt", "epub", "pptx", "xlsx")),
    ]
    print("\n| file | read | library alone | ratio |\n|---|---|---|---|")
    for path in files:
        data = path.read_bytes()
        mine = best(partial(read_source, data, path.name))
        if path.suffix == ".pdf":
            size, unit = float(len(pypdfium2.PdfDocument(data))), "pages"
            alone = best(partial(pdf_alone, data))
        else:
            with zipfile.ZipFile(path) as package:
                size, unit = sum(member.file_size for member in package.infolist()) / 1e6, "MB"
            alone = best(partial(package_alone, data))
        speeds = f"{size / mine:.1f} {unit}/s | {size / alone:.1f} {unit}/s"
        print(f"| {path.suffix[1:]}, {size:.1f} {unit} | {speeds} | {mine / alone:.1f} |", flush=True)


def main() -> None:
    """Makes the files, reads them, prints a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", type=Path, help="folder for the files that are made, instead of one that is removed")
    parser.add_argument("--speed", action="store_true", help="measure how fast large files are read, instead")
    parser.add_argument("-v", "--verbose", action="store_true", help="name words that were lost")
    options = parser.parse_args()
    missing = [program for program in PROGRAMS if which(program) is None]
    if missing:
        sys.exit(f"error: {', '.join(missing)} not found. hint: see the head of scripts/check_formats")
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "lo1").mkdir(exist_ok=True)
        if options.speed:
            speed(folder)
            return
        mark = Markers()
        texts = [handbook(mark), report(mark), paper(mark)]
        made = [item for known in texts for item in (*written(folder, known), *slides(folder, known))]
        made += sheets(folder, mark)
        print("| format | fixture | written by | recall | place | order |\n|---|---|---|---|---|---|")
        for item in sorted(made, key=lambda item: (item.path.suffix, item.known.name, item.program)):
            figures = measure(item)
            cells = (item.path.suffix[1:], item.known.name, item.program)
            print(
                f"| {' | '.join(cells)} | {figures.recall:.4f} | {figures.place:.3f} | {figures.order:.3f} |",
                flush=True,
            )
            if options.verbose and (figures.recall < 1 or figures.place < 1):
                print(f"    {item.path}: lost {figures.lost}", file=sys.stderr)


if __name__ == "__main__":
    main()
