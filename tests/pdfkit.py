"""Writes small PDF files by hand, so that what a page shows is known to the point."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

WIDTH, HEIGHT = 595, 842
FONTS = {"F1": "Helvetica", "F2": "Helvetica-Bold", "F3": "Courier"}


@dataclass
class Sheet:
    """A page in the making; places in points from the lower left corner."""

    parts: list[str] = field(default_factory=list)
    image: bool = False
    note: str = ""

    def at(self, x: float, y: float, text: str, size: float = 10, font: str = "F1") -> Sheet:
        shown = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        self.parts.append(f"BT /{font} {size} Tf {x} {y} Td ({shown}) Tj ET")
        return self

    def lines(self, x: float, y: float, *texts: str, size: float = 10, font: str = "F1", pitch: float = 12) -> Sheet:
        for place, text in enumerate(texts):
            self.at(x, y - place * pitch, text, size, font)
        return self

    def turned(self, x: float, y: float, text: str) -> Sheet:
        self.parts.append(f"BT /F1 20 Tf 0 1 -1 0 {x} {y} Tm ({text}) Tj ET")
        return self

    def scan(self) -> Sheet:
        self.image = True
        self.parts.append(f"q {WIDTH} 0 0 {HEIGHT} 0 0 cm /Im1 Do Q")
        return self

    def box(self) -> Sheet:
        self.parts.append("100 100 200 200 re S")
        return self


def pdf(
    *sheets: Sheet, outline: Sequence[tuple[str, int]] = (), levels: tuple[int, ...] = (), extra: str = ""
) -> bytes:
    """A file with these pages; ``outline`` holds titles and page indices, ``levels`` their depths from 1.

    ``extra`` goes into the trailer.
    """
    objects: list[bytes] = []

    def add(body: str | bytes) -> int:
        objects.append(body.encode("latin-1") if isinstance(body, str) else body)
        return len(objects)

    def stream(head: str, data: bytes) -> int:
        packed = zlib.compress(data)
        start = f"<< {head} /Filter /FlateDecode /Length {len(packed)} >>\nstream\n".encode()
        return add(start + packed + b"\nendstream")

    catalog, tree = add(""), add("")
    fonts = " ".join(
        f"/{key} {add(f'<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>')} 0 R"
        for key, name in FONTS.items()
    )
    picture = stream(
        "/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8", b"\0"
    )
    pages = []
    for sheet in sheets:
        content = stream("", "\n".join(sheet.parts).encode("cp1252"))
        annots = ""
        if sheet.note:
            note = add(f"<< /Type /Annot /Subtype /Text /Rect [10 10 20 20] /Contents ({sheet.note}) >>")
            annots = f"/Annots [{note} 0 R]"
        pages.append(
            add(
                f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Contents {content} 0 R {annots} "
                f"/Resources << /Font << {fonts} >> /XObject << /Im1 {picture} 0 R >> >> >>"
            )
        )
    objects[tree - 1] = f"<< /Type /Pages /Count {len(pages)} /Kids [{' '.join(f'{p} 0 R' for p in pages)}] >>".encode()
    marks = ""
    if outline:
        root = add("")
        first = len(objects) + 1
        depths = levels or (1,) * len(outline)
        for index, (title, page) in enumerate(outline):
            deeper = f"/First {first + index + 1} 0 R" if depths[index + 1 : index + 2] > (depths[index],) else ""
            after = next((at for at in range(index + 1, len(depths)) if depths[at] <= depths[index]), 0)
            following = f"/Next {first + after} 0 R" if after and depths[after] == depths[index] else ""
            add(f"<< /Title ({title}) /Parent {root} 0 R /Dest [{pages[page]} 0 R /Fit] {following} {deeper} >>")
        objects[root - 1] = f"<< /Type /Outlines /First {first} 0 R /Last {len(objects)} 0 R >>".encode()
        marks = f"/Outlines {root} 0 R"
    objects[catalog - 1] = f"<< /Type /Catalog /Pages {tree} 0 R {marks} >>".encode()
    return _file(objects, f"<< /Size {len(objects) + 1} /Root {catalog} 0 R {extra} >>")


def _file(objects: Sequence[bytes], trailer: str) -> bytes:
    data = b"%PDF-1.7\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    start = len(data)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n{trailer}\n".encode()
    return data + f"startxref\n{start}\n%%EOF\n".encode()
