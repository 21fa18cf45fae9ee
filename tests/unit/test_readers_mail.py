from __future__ import annotations

from email.message import EmailMessage

import pytest

from idc_local.errors import InputError
from idc_local.readers import read_source
from idc_local.types import BlockKind, Document


def message(subject: str = "Grüße zum Vertrag", body: str = "The contract ends in May.\n") -> EmailMessage:
    mail = EmailMessage()
    mail["Subject"] = subject
    mail["From"] = "Änne Beer <a@example.org>"
    mail["To"] = "b@example.org, c@example.org"
    mail["Date"] = "Mon, 01 Jan 2024 10:00:00 +0000"
    mail.set_content(body)
    return mail


def read(data: bytes, name: str = "a.eml") -> Document:
    return read_source(data, name)


def blocks(document: Document) -> list[tuple[BlockKind, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


HEADERS = "From: Änne Beer <a@example.org>\nTo: b@example.org, c@example.org\nDate: Mon, 01 Jan 2024 10:00:00 +0000"


def test_headers_text_and_quoted_parts() -> None:
    mail = message(body="Yes, in May. See below.\n\n> When does it end?\n> Please say.\n\nBest, Änne\n")
    mail.add_alternative("<p>Yes, <b>in May</b>.</p>", subtype="html")
    document = read(mail.as_bytes())
    assert blocks(document) == [
        (BlockKind.HEADING, "Grüße zum Vertrag"),
        (BlockKind.PARAGRAPH, HEADERS),
        (BlockKind.PARAGRAPH, "Yes, in May. See below."),
        (BlockKind.PARAGRAPH, "> When does it end?\n> Please say."),
        (BlockKind.PARAGRAPH, "Best, Änne"),
    ]
    assert document.blocks[-1].headings == ("Grüße zum Vertrag",)


def test_attachments_are_read_by_their_own_readers() -> None:
    mail = message()
    mail.add_attachment(b"name,age\nAnn,41\nBob,7\n", maintype="text", subtype="csv", filename="täble.csv")
    mail.add_attachment(b"\x89PNG...", maintype="image", subtype="png", filename="p.png")
    mail.add_attachment(b"\x00\xff\x00\x01" * 200, maintype="application", subtype="octet-stream", filename="x.dat")
    inner = message("Inner", "Inner text.\n")
    mail.add_attachment(inner)
    document = read(mail.as_bytes())
    found = [(block.headings[1:], document.text[block.start : block.end]) for block in document.blocks[3:]]
    assert found == [
        (("Attachment: täble.csv",), "Attachment: täble.csv"),
        (("Attachment: täble.csv",), "name | age\nAnn | 41\nBob | 7"),
        (("Attachment: p.png",), "Attachment: p.png"),
        (("Attachment: p.png",), "(p.png: image/png, 7 bytes, not read)"),
        (("Attachment: x.dat",), "Attachment: x.dat"),
        (("Attachment: x.dat",), "(x.dat: binary, not text: it holds control characters and is not UTF-8)"),
        (("Inner",), "Inner"),
        (("Inner",), HEADERS),
        (("Inner",), "Inner text."),
    ]


def test_html_is_read_where_there_is_nothing_else() -> None:
    mail = message()
    mail.set_content("<h2>Offer</h2><p>Oil costs <b>5</b> francs.</p><script>x</script>", subtype="html")
    document = read(mail.as_bytes())
    assert blocks(document)[2:] == [(BlockKind.HEADING, "Offer"), (BlockKind.PARAGRAPH, "Oil costs 5 francs.")]


def test_html_is_read_where_the_plain_form_is_blank() -> None:
    mail = message(body=" \n\n")
    mail.add_alternative("<p>Yes, <b>in May</b>.</p>", subtype="html")
    assert blocks(read(mail.as_bytes()))[-1] == (BlockKind.PARAGRAPH, "Yes, in May.")


def test_a_text_that_should_have_parts_but_has_none_is_read() -> None:
    data = b"Subject: Parts\nContent-Type: multipart/mixed; boundary=zz\n\nNo boundary in here.\n"
    assert blocks(read(data))[-1] == (BlockKind.PARAGRAPH, "No boundary in here.")


def test_old_encodings_and_odd_headers() -> None:
    data = (
        b"Subject: =?iso-8859-1?Q?Gr=FC=DFe?= =?utf-8?B?IMO8YmVy?= =?nonsense?Q?x?=\r\nFrom: caf\xe9 <a@b>\r\n"
        b"Content-Type: text/plain; charset=windows-1252\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
        b"Das kostet f\xfcnf \x80.\r\n"
    )
    text = read(data).text
    assert text.startswith("Grüße über")
    assert text.endswith("\n\nDas kostet fünf €.")


def test_a_mailbox_has_a_page_for_each_message() -> None:
    one, two = message("One", "First.\n").as_bytes(), message("Two", "Second.\n").as_bytes()
    box = (
        b"From a@b Mon Jan  1 10:00:00 2024\n"
        + one
        + b"\nFrom c@d Tue\n"
        + two
        + b">From here on.\nFrom inside a text.\n\n"
    )
    document = read(box, "a.mbox")
    assert [label for _, label in document.pages] == ["message 1", "message 2"]
    assert document.page_at(document.text.index("First.")) == "message 1"
    assert document.page_at(document.text.index("Second.")) == "message 2"
    assert document.text.endswith("Second.\nFrom here on.\nFrom inside a text.")
    assert read(box, "saved.eml").text == document.text


def test_each_mail_of_a_mailbox_is_a_document_of_its_own() -> None:
    inner = message("Three", "# Not a title\n\nThird.\n")
    outer = message("Two", "Second.\n")
    outer.add_attachment(inner)
    box = b"From a@b Mon\n" + message("One", "First.\n").as_bytes() + b"\nFrom c@d Tue\n" + outer.as_bytes()
    headings = [
        (block.level, block.headings) for block in read(box, "a.mbox").blocks if block.kind is BlockKind.HEADING
    ]
    assert headings[:3] == [(0, ("One",)), (0, ("Two",)), (2, ("Two", "Three"))]
    assert [block.level for block in read(message().as_bytes()).blocks if block.kind is BlockKind.HEADING] == [1]
    carrier = message("Carrier")
    carrier.add_attachment(box, maintype="application", subtype="mbox", filename="old.mbox")
    headings = [(block.level, block.headings) for block in read(carrier.as_bytes()).blocks if block.level]
    assert headings[:3] == [
        (1, ("Carrier",)),
        (2, ("Carrier", "Attachment: old.mbox")),
        (3, ("Carrier", "Attachment: old.mbox", "One")),
    ]


def test_forwards_end_after_a_few_levels() -> None:
    mail = message("level 0")
    for level in range(1, 40):
        outer = message(f"level {level}")
        outer.add_attachment(mail)
        mail = outer
    text = read(mail.as_bytes()).text
    assert "level 36" in text
    assert "level 30" not in text


def test_what_is_no_mail_is_refused() -> None:
    for data in (b"just some words\n", b"<html>", b"{}"):
        with pytest.raises(InputError, match=r"^a\.eml: no mail"):
            read(data)
    with pytest.raises(InputError, match=r"^a\.eml: binary"):
        read(b"\x00\xff\x00\x01" * 200)
    assert read(b"").text == ""


@pytest.mark.parametrize(
    "data",
    [
        b"Subject:\n\n", b"Subject: x", b"Content-Type: multipart/mixed; boundary=b\n\n--b\n--b--", 
        b"Content-Type: x\n\ny",
        b"Content-Type: multipart/mixed\n\ntext", b"Content-Type: message/rfc822\n\nSubject: in\n\ntext",
        b"Content-Transfer-Encoding: base64\n\n!!!", b"Content-Type: text/plain; charset=\xff\xfe\n\nx",
        b"Content-Disposition: attachment; filename*=utf-8''%ff%fe\n\nx", b"A:" * 5000,
    ],
)  # fmt: skip
def test_damaged_mail_is_read_as_far_as_it_goes(data: bytes) -> None:
    assert read(data).blocks[0].kind is BlockKind.HEADING


@pytest.mark.parametrize("before", ["\ufeff", "\n\n", "\r\n", "\ufeff\n"])
@pytest.mark.parametrize("name", ["a.eml", "a.mbox"])
def test_a_byte_order_mark_or_blank_lines_before_the_header(before: str, name: str) -> None:
    start = "From a@example.org Mon Jan  1 10:00:00 2024\n" if name == "a.mbox" else ""
    data = f"{before}{start}Subject: Pump\nFrom: a@example.org\n\nIt runs.\n".encode()
    document = read(data, name)
    assert blocks(document) == [
        (BlockKind.HEADING, "Pump"),
        (BlockKind.PARAGRAPH, "From: a@example.org"),
        (BlockKind.PARAGRAPH, "It runs."),
    ]
    assert document.source_bytes == len(data)
