"""Reads mail (.eml) and mailboxes (.mbox): headers as text, what was written, and attachments by their own readers.

Quoted parts keep their marks and stand as paragraphs of their own. Where a message says the same in plain text and in
HTML, the plain text is read. Nothing that a message refers to is fetched.
"""

from __future__ import annotations

import email
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from email import policy
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from itertools import groupby

from idc_local.errors import InputError
from idc_local.readers.blocks import Source, build_document
from idc_local.readers.decode import decode
from idc_local.readers.draft import Draft, one_line
from idc_local.readers.kinds import is_archive, is_wordless
from idc_local.readers.parts import extend_with
from idc_local.readers.text import text_blocks
from idc_local.types import Document

_HEADERS = ("From", "To", "Cc", "Date")
_FIRST = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\r\n]*\r?\n")
_ESCAPED = re.compile(rb"(?m)^>(>*From )")
_LOOKS_LIKE_MAIL = re.compile(rb"(?:From [^\r\n]*\r?\n|>?[A-Za-z][A-Za-z0-9-]{0,60}:)")
_QUOTED = re.compile(r"[ \t]*>")
_MAX_NESTED = 3
_MAX_PARTS = 1000


class MailReader:
    """Messages under their subjects; in a mailbox each is a page called ``message N``, and a document of its own."""

    media_types = ("message/rfc822", "application/mbox")
    suffixes = (".eml", ".mbox", ".mbx")

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for what is no mail."""
        source = Source(data, path, media_type, "")
        data = data.removeprefix(BOM_UTF8).lstrip()
        if data and not _LOOKS_LIKE_MAIL.match(data):
            decode(data[:1024], path)
            raise InputError(f"{path}: no mail: it begins with no header", hint="leave it out, or rename it")
        draft = Draft()
        is_box = media_type == "application/mbox" or data.startswith(b"From ")
        for number, message in enumerate(_messages(data) if is_box else [data], 1):
            if is_box:
                draft.page(f"message {number}")
            if message.strip():
                _Writer(draft, path).message(_parsed(message, path), 1, own=is_box)
        text, blocks, pages = draft.finish()
        return build_document(source, text, blocks, pages)


READER = MailReader()


def _messages(data: bytes) -> Iterator[bytes]:
    """The messages of a mailbox, without the lines that part them."""
    places = [found.span() for found in _FIRST.finditer(data)]
    for number, (_, start) in enumerate(places):
        end = places[number + 1][0] if number + 1 < len(places) else len(data)
        yield _ESCAPED.sub(rb"\1", data[start:end])


def _parsed(data: bytes, path: str) -> Message:
    try:
        return email.message_from_bytes(data, policy=policy.compat32)
    except (MessageError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: a damaged message: {error}", hint="open it in a mail program") from error


class _Writer:
    """Writes messages into a draft."""

    def __init__(self, draft: Draft, path: str) -> None:
        self._draft = draft
        self._path = path
        self._parts = 0

    def message(self, message: Message, level: int, *, own: bool = False) -> None:
        """Subject, headers, text and attachments; a message inside a message stands below it.

        own: it is one of several in the file that have nothing to do with each other.
        """
        subject = _header(message, "Subject") or "(no subject)"
        if own:
            self._draft.document(subject)
        else:
            self._draft.heading(subject, level)
        lines = [f"{name}: {value}" for name in _HEADERS if (value := _header(message, name))]
        self._draft.paragraph("\n".join(lines))
        self._part(message, level)

    def _part(self, message: Message, level: int) -> None:
        pending = [message]
        while pending and self._parts < _MAX_PARTS:
            part = pending.pop()
            self._parts += 1
            kind = part.get_content_type()
            inner = part.get_payload()
            if kind == "message/rfc822" and isinstance(inner, list):
                for own in inner:
                    if isinstance(own, Message) and level <= _MAX_NESTED:
                        self.message(own, level + 1)
            elif isinstance(inner, list):
                chosen = _chosen(inner) if kind == "multipart/alternative" else inner
                pending += [own for own in reversed(chosen) if isinstance(own, Message)]
            else:
                self._leaf(part, kind, level)

    def _leaf(self, part: Message, kind: str, level: int) -> None:
        name = _filename(part)
        data = _payload(part)
        attached = bool(name) or part.get_content_disposition() == "attachment"
        if attached:
            self._attachment(name or "unnamed", data, kind, level)
        elif kind == "text/html":
            self._read(data, "message.html", level)
        elif kind.startswith(("text/", "multipart/")):  # the latter where no boundary parts anything
            self._text(data, str(part.get_content_charset() or ""))

    def _text(self, data: bytes, charset: str) -> None:
        """Plain text: quoted runs and others apart."""
        try:
            text = decode(data, self._path, charset).text
        except InputError as error:
            self._draft.paragraph(f"(a part that cannot be read: {error.message.removeprefix(f'{self._path}: ')})")
            return
        for quoted, lines in groupby(text.splitlines(keepends=True), key=lambda line: _QUOTED.match(line) is not None):
            run = "".join(lines).strip("\r\n")
            if quoted:
                self._draft.paragraph(run)
            else:
                self._draft.extend(run, text_blocks(run))

    def _attachment(self, name: str, data: bytes, kind: str, level: int) -> None:
        self._draft.heading(f"Attachment: {name}", level + 1)
        if is_archive(name) or is_wordless(name) or kind.startswith(("image/", "audio/", "video/")):
            self._draft.paragraph(f"({one_line(name)}: {kind}, {len(data)} bytes, not read)")
        else:
            self._read(data, name, level + 1)

    def _read(self, data: bytes, name: str, level: int) -> None:
        """What the reader of a part makes of it."""
        from idc_local.readers import entry_of, read_source

        try:
            if entry_of(data, name).module == "mail" and level > _MAX_NESTED:
                return
            document = read_source(data, name)
        except InputError as error:
            self._draft.paragraph(f"({one_line(error.message)})")
            return
        extend_with(self._draft, document, level)


def _chosen(parts: Sequence[object]) -> Sequence[object]:
    """Of several forms of one text the plain one if it holds any, else the last, which is the richest."""
    plain = [part for part in parts if isinstance(part, Message) and part.get_content_type() == "text/plain"]
    return [part for part in plain if _payload(part).strip()][:1] or parts[-1:]


def _payload(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _header(message: Message, name: str) -> str:
    """A header as people read it, on one line."""
    value = message.get(name)
    if value is None:
        return ""
    raw = str(value)
    try:
        pieces = decode_header(raw)
    except (MessageError, ValueError, LookupError, TypeError):
        return one_line(raw)
    return one_line("".join(_piece(text, charset) for text, charset in pieces))


def _piece(text: bytes | str, charset: str | None) -> str:
    if isinstance(text, str):
        return text
    try:
        return decode(text, "", charset or "").text
    except InputError:
        return text.decode("latin-1")


def _filename(part: Message) -> str:
    try:
        name = part.get_filename()
    except (ValueError, LookupError, TypeError, AttributeError):
        return ""
    if not name:
        return ""
    probe = Message()
    probe["Name"] = name.replace("\r", " ").replace("\n", " ")
    return _header(probe, "Name").replace("/", "_")
