"""Packs small office documents and e-books by hand: the least that a reader needs to see."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
KINDS = {
    "word/document.xml": "wordprocessingml.document.main+xml",
    "xl/workbook.xml": "spreadsheetml.sheet.main+xml",
    "ppt/presentation.xml": "presentationml.presentation.main+xml",
}


def packed(parts: Mapping[str, str | bytes]) -> bytes:
    """A ZIP file; a part named ``mimetype`` is stored, as its formats want it."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as package:
        for name, body in parts.items():
            how = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            package.writestr(zipfile.ZipInfo(name), body, how)
    return target.getvalue()


def relations(items: Mapping[str, tuple[str, str]]) -> str:
    """A part of relations: id to the relation's last word and its target."""
    rows = "".join(
        f'<Relationship Id="{key}" Type="{OFFICE}/{kind}" Target="{target}"/>' for key, (kind, target) in items.items()
    )
    return f'<Relationships xmlns="{RELATIONS}">{rows}</Relationships>'


def office(main: str, parts: Mapping[str, str | bytes]) -> bytes:
    """An office document whose main part is ``main``, one of ``KINDS``."""
    types = (
        f'<Types xmlns="{TYPES}"><Override PartName="/{main}" '
        f'ContentType="application/vnd.openxmlformats-officedocument.{KINDS[main]}"/></Types>'
    )
    return packed({"[Content_Types].xml": types, "_rels/.rels": relations({"r1": ("officeDocument", main)}), **parts})


def docx(body: str, parts: Mapping[str, str] | None = None) -> bytes:
    """A Word document; ``parts`` are further parts below ``word/`` by name, with their relations."""
    kinds = {f"r{place}": (name, f"{name}.xml") for place, name in enumerate(parts or {})}
    wrapped = {
        f"word/{name}.xml": f'<w:{name} xmlns:w="{WORD}">{text}</w:{name}>' for name, text in (parts or {}).items()
    }
    main = f'<w:document xmlns:w="{WORD}" xmlns:mc="m" xmlns:wps="s"><w:body>{body}</w:body></w:document>'
    return office(
        "word/document.xml", {"word/document.xml": main, "word/_rels/document.xml.rels": relations(kinds), **wrapped}
    )


def para(text: str, properties: str = "", style: str = "") -> str:
    """A paragraph of a Word document."""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f'<w:p><w:pPr>{named}{properties}</w:pPr><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def xlsx(sheets: Mapping[str, str], parts: Mapping[str, str] | None = None, book: str = "") -> bytes:
    """A workbook of sheets, name to rows; ``parts`` are further parts by full name, ``book`` goes into the main one."""
    names = "".join(f'<sheet name="{name}" r:id="r{place}"/>' for place, name in enumerate(sheets))
    main = f'<workbook xmlns="x" xmlns:r="{OFFICE}">{book}<sheets>{names}</sheets></workbook>'
    kinds = {f"r{place}": ("worksheet", f"sheet{place}.xml") for place in range(len(sheets))}
    written = {
        f"xl/sheet{place}.xml": f'<worksheet xmlns="x"><sheetData>{rows}</sheetData></worksheet>'
        for place, rows in enumerate(sheets.values())
    }
    return office(
        "xl/workbook.xml",
        {"xl/workbook.xml": main, "xl/_rels/workbook.xml.rels": relations(kinds), **written, **(parts or {})},
    )


DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"


def pptx(slides: Mapping[str, str], order: tuple[str, ...] = (), parts: Mapping[str, str] | None = None) -> bytes:
    """A presentation of slides, name to shapes, shown in ``order``; ``parts`` are further parts by full name."""
    kinds = {name: ("slide", f"{name}.xml") for name in slides}
    shown = "".join(f'<p:sldId r:id="{name}"/>' for name in order or slides)
    head = f'xmlns:p="p" xmlns:a="{DRAWING}" xmlns:r="{OFFICE}"'
    written = {
        f"ppt/{name}.xml": f"<p:sld {head}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        for name, shapes in slides.items()
    }
    main = f"<p:presentation {head}><p:sldIdLst>{shown}</p:sldIdLst></p:presentation>"
    return office(
        "ppt/presentation.xml",
        {"ppt/presentation.xml": main, "ppt/_rels/presentation.xml.rels": relations(kinds), **written, **(parts or {})},
    )


def shape(*paragraphs: str, kind: str = "") -> str:
    """A shape; a paragraph may begin with its level and a colon."""
    held = f'<p:ph type="{kind}"/>' if kind else ""
    body = ""
    for text in paragraphs:
        level, _, rest = text.rpartition(":")
        body += f'<a:p><a:pPr lvl="{level or 0}"/><a:r><a:t>{rest}</a:t></a:r></a:p>'
    return f"<p:sp><p:nvSpPr><p:nvPr>{held}</p:nvPr></p:nvSpPr><p:txBody>{body}</p:txBody></p:sp>"


def epub(pages: Mapping[str, str], toc: Mapping[str, str] | None = None, locked: str = "") -> bytes:
    """A book of pages, file name to body; ``toc`` names some; ``locked`` is the name of an encrypted part."""
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in pages)
    spine = "".join(f'<itemref idref="{name}"/>' for name in pages)
    links = "".join(f'<li><a href="{name}#top">{title}</a></li>' for name, title in (toc or {}).items())
    nav = '<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    head = '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="e"><head><title>Book</title></head>'
    parts = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container><rootfiles><rootfile full-path="OPS/b.opf"/></rootfiles></container>',
        "OPS/b.opf": f"<package><manifest>{items}{nav}</manifest><spine>{spine}</spine></package>",
        "OPS/nav.xhtml": f"{head}<body><nav><ol>{links}</ol></nav></body></html>",
        **{f"OPS/{name}": f"{head}<body>{body}</body></html>" for name, body in pages.items() if body},
    }
    if locked:
        parts["META-INF/encryption.xml"] = f'<encryption><CipherReference URI="{locked}"/></encryption>'
    return packed(parts)


ODF = " ".join(
    f'xmlns:{key}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for key, name in {"office": "office", "text": "text", "table": "table", "style": "style", "draw": "drawing",
                      "presentation": "presentation", "fo": "xsl-fo-compatible"}.items()
)  # fmt: skip


def odf(kind: str, body: str, styles: str = "", manifest: str = "<manifest/>") -> bytes:
    """An OpenDocument file; ``kind`` is ``text``, ``spreadsheet`` or ``presentation``."""
    content = (
        f"<office:document-content {ODF}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    media_type = f"application/vnd.oasis.opendocument.{kind}"
    return packed({"mimetype": media_type, "content.xml": content, "META-INF/manifest.xml": manifest})
