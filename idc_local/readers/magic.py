"""What data is by its own marks, whatever its name says: PDF, office documents and e-books, old office files.

Reads no content besides the list of a ZIP file's members and two small ones.
"""

from __future__ import annotations

import io
import re
import zipfile

from idc_local.errors import InputError
from idc_local.readers.decode import is_words

PDF = "application/pdf"
EPUB = "application/epub+zip"
_OFFICE = "application/vnd.openxmlformats-officedocument."
DOCX = _OFFICE + "wordprocessingml.document"
PPTX = _OFFICE + "presentationml.presentation"
XLSX = _OFFICE + "spreadsheetml.sheet"
_OPEN = "application/vnd.oasis.opendocument."
ODT, ODS, ODP, ODG = (_OPEN + name for name in ("text", "spreadsheet", "presentation", "graphics"))

_MAX_TYPES = 1 << 20
_MAIN_PARTS = (
    (re.compile(rb"wordprocessingml\.(?:document|template)\.main\+xml|ms-word\.(?:document|template)\.macro"), DOCX),
    (re.compile(rb"presentationml\.(?:presentation|template|slideshow)\.main|ms-powerpoint\.\w+\.macro"), PPTX),
    (re.compile(rb"spreadsheetml\.(?:sheet|template)\.main|ms-excel\.(?:sheet|template)\.macro"), XLSX),
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_STREAMS = (
    ("EncryptedPackage", "encrypted: a password opens it", "open it in its program and save it without a password"),
    ("WordDocument", "an old Word document (.doc)", "soffice --headless --convert-to docx FILE"),
    ("PowerPoint Document", "an old PowerPoint file (.ppt)", "soffice --headless --convert-to pptx FILE"),
    ("Workbook", "an old Excel file (.xls)", "soffice --headless --convert-to xlsx FILE"),
    ("Book", "an old Excel file (.xls)", "soffice --headless --convert-to xlsx FILE"),
    ("__properties_version1.0", "an Outlook message (.msg)", "save it as .eml"),
)
_FLAT = re.compile(rb"<office:document\b[^>]{0,8000}?office:mimetype=\"([\w.+/-]{1,80})\"")
_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")
_HEAD = 1 << 14


def media_type_of(data: bytes, path: str) -> str:
    """The media type that ``data`` shows; empty where it shows none of these.

    Raises InputError, naming ``path``, for files that no reader reads but people take for documents.
    """
    if data.startswith(b"%PDF-") and (b"endobj" in data or not is_words(data)):
        return PDF
    if data.startswith(b"PK\x03\x04"):
        return _packaged(data, path)
    if data.startswith(_OLE):
        raise _old(data, path)
    if data.startswith(b"{\\rtf"):
        raise InputError(f"{path}: a Rich Text file", hint="soffice --headless --convert-to docx FILE")
    head = data[:_HEAD]
    if _XML.match(head) and b"<office:document" in head and (flat := _FLAT.search(head)):
        return _open_document(flat[1].decode("ascii"))
    return PDF if b"%PDF-" in data[:1024] and b"endobj" in data and not is_words(data) else ""


def _packaged(data: bytes, path: str) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            names = set(package.namelist())
            if "mimetype" in names:
                return _open_document(_start(package, "mimetype", 100).decode("ascii", "replace").strip())
            if "[Content_Types].xml" in names:
                return _office(_start(package, "[Content_Types].xml", _MAX_TYPES), path)
            return EPUB if "META-INF/container.xml" in names else ""
    except InputError:
        raise
    except Exception:
        # Whatever is wrong with it, the reader that the name asks for can say it better.
        return ""


def _start(package: zipfile.ZipFile, name: str, size: int) -> bytes:
    with package.open(name) as member:
        return member.read(size)


def _office(types: bytes, path: str) -> str:
    for pattern, media_type in _MAIN_PARTS:
        if pattern.search(types):
            return media_type
    if b"ms-excel.sheet.binary" in types:
        raise InputError(f"{path}: a binary Excel file (.xlsb)", hint="soffice --headless --convert-to xlsx FILE")
    return ""


def _open_document(media_type: str) -> str:
    if media_type == EPUB:
        return EPUB
    plain = media_type.removesuffix("-template").removesuffix("-master")
    return plain if plain in (ODT, ODS, ODP, ODG) else ""


def _old(data: bytes, path: str) -> InputError:
    for name, what, hint in _OLE_STREAMS:
        if (name + "\0").encode("utf-16-le") in data:
            return InputError(f"{path}: {what}", hint=hint)
    return InputError(f"{path}: an old office file of unknown kind", hint="save it in a newer format")
