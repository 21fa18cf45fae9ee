"""Bytes to text: byte order marks, UTF-8, UTF-16 and UTF-32, then the likeliest older encoding; binary data is refused.

Owner of charset_normalizer. The order of proof: a mark, valid UTF-8, zero bytes in the pattern of UTF-16, letters that
one language of the Latin script uses, the statistics of other scripts. NULs and control characters within text stay.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from charset_normalizer import from_bytes

from idc_local.errors import InputError

HEAD_BYTES = 1 << 20
SAMPLE_BYTES = 1 << 16
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MAGIC = (
    (b"%PDF-", "a PDF file"),
    (b"PK\x03\x04", "a ZIP archive or office document"),
    (b"PK\x05\x06", "a ZIP archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office document"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"GGUF", "model weights"),
    (b"OggS", "Ogg media"),
    (b"fLaC", "FLAC audio"),
    (b"ID3", "MP3 audio"),
)
_ODD = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_ODD_BYTE = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_HIGH = re.compile(rb"[\x80-\xff]")
_HIGH_RUN = re.compile(r"[^\x00-\x7f]")
_DECLARABLE = re.compile(
    r"cp\d+|iso8859-\d+|koi8-[rtu]|gb\w+|big5\w*|shift_jis\w*|euc_\w+|iso2022_\w+|tis-620|mac-\w+|kz1048|hz|johab"
)
_JAPANESE_ESCAPE = re.compile(rb"\x1b\$[@B]")
_WORDS_BYTES = 4096
_PDF_LINE = re.compile(rb"%PDF-\d\.\d[ \t]*[\r\n]")
_MAX_ODD_VALID = 0.1
_MIN_ODD_WIDE = 0.34
"""Of what is valid UTF-8 and yet UTF-16: half of its bytes are the upper ones of an alphabet."""
_MAX_ODD_GUESSED = 0.01
_MAX_DAMAGED = 0.01

_LATIN_CODECS = (
    "cp1252", "cp1250", "cp1254", "cp1257", "iso8859_2", "iso8859_15", "mac_roman", "cp850", "cp437", "cp852",
)  # fmt: skip
_LATIN_LETTERS = {
    "de": "äöüß", "fr": "àâæçéèêëîïôœùûüÿ", "es": "áéíñóúü", "pt": "áâãàçéêíóôõúü", "it": "àèéìíîòóùú",
    "nl": "áéëïóöüèê", "nordic": "åäöæøéü", "is": "áðéíóúýþæö", "ca": "àçèéíïòóúü·", "ga": "áéíóú",
    "pl": "ąćęłńóśźż", "cs": "áčďéěíňóřšťúůýž", "sk": "áäčďéíĺľňóôŕšťúýž", "hu": "áéíóöőúüű", "ro": "ăâîşţșț",
    "hr": "čćđšž", "tr": "çğıöşüâîİ", "lt": "ąčęėįšųūž", "lv": "āčēģīķļņšūž", "et": "äöüõšž",
}  # fmt: skip
_MARKS_OF_TEXT = frozenset("“”„‚‘’‹›«»–—…·•°§©®™€£¥¢¿¡ªº²³¹½¼¾×÷±µ†‡¶´¨\xa0\xad")
_IN_WORDS = frozenset("’‘·\xad")
_OTHER_CODECS = [
    "cp1251", "koi8_r", "koi8_u", "iso8859_5", "cp866", "cp1253", "iso8859_7", "cp1255", "iso8859_8", "cp1256",
    "iso8859_6", "cp874", "gb18030", "big5", "cp932", "euc_jp", "cp949", "mac_cyrillic",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text and the codec that it came from."""

    text: str
    encoding: str


def decode(data: bytes, path: str, declared: str = "") -> Decoded:
    """The text of ``data`` without its byte order mark; ``declared`` is a codec that the content itself names.

    Raises InputError, naming ``path``, for binary data.
    """
    for magic, what in _MAGIC:
        if data.startswith(magic) and not is_words(data):
            raise _binary(path, f"it looks like {what}")
    least_odd = _MAX_ODD_VALID if _strict(data, "utf-8") is None else _MIN_ODD_WIDE
    found = _marked(data) or _wide(data, least_odd) or _utf8(data)
    if found is not None:
        return _checked(found, path, _MAX_ODD_VALID)
    found = _declared(data, declared) or _wide(data, _MAX_ODD_GUESSED)
    if found is not None:
        return _checked(found, path, _MAX_ODD_VALID)
    if _share(_ODD_BYTE, data[:HEAD_BYTES]) > _MAX_ODD_GUESSED:
        raise _binary(path, "it holds control characters and is not UTF-8")
    found = _guessed(data)
    if found is None:
        raise _binary(path, "its bytes are text in no known encoding")
    return _checked(found, path, _MAX_ODD_GUESSED)


def is_words(data: bytes) -> bool:
    """True for what begins as text does, whatever letters come first: valid UTF-8 without control characters."""
    head = data[:_WORDS_BYTES]
    if _ODD_BYTE.search(head) or _PDF_LINE.match(head):
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:  # the head may end within a character
        return len(data) > len(head) and error.start >= len(head) - 3
    return True


def _binary(path: str, why: str) -> InputError:
    return InputError(f"{path}: binary, not text: {why}", hint="leave it out, or convert it to UTF-8 text")


def _share(pattern: re.Pattern[bytes], data: bytes) -> float:
    return len(pattern.findall(data)) / max(1, len(data))


def _checked(found: Decoded, path: str, limit: float) -> Decoded:
    """``found``, unless control characters make up more of it than of any text (a few in a tiny text are none)."""
    head = found.text[:HEAD_BYTES]
    odd = len(_ODD.findall(head))
    if odd and odd >= limit * len(head) and (odd > 8 or odd * 2 > len(head)):
        raise _binary(path, f"{100 * odd // len(head)} % of it are control characters")
    return found


def _marked(data: bytes) -> Decoded | None:
    for mark, codec in _MARKS:
        if not data.startswith(mark):
            continue
        text = data.decode(codec, "replace")
        if codec != "utf-32" or "\ufffd" not in text:
            return Decoded(text, {"utf-8-sig": "utf-8"}.get(codec, codec))
    return None


def _utf8(data: bytes) -> Decoded | None:
    """UTF-8; a damaged byte here and there (or a cut last character) is replaced rather than all misread."""
    if _JAPANESE_ESCAPE.search(data) and not _HIGH.search(data):
        text = _strict(data, "iso2022_jp")
        if text is not None:
            return Decoded(text, "iso2022_jp")
    text = _strict(data, "utf-8")
    if text is not None:
        return Decoded(text, "utf-8")
    for part in (data[:HEAD_BYTES], data):
        text = part.decode("utf-8", "replace")
        damaged = text.count("\ufffd")
        sound = len(text) - len(text.encode("ascii", "ignore")) - damaged
        if damaged > max(1, _MAX_DAMAGED * sound) or sound <= damaged:
            return None
    return Decoded(text or "", "utf-8")


def _strict(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except (UnicodeDecodeError, LookupError):
        return None


def _wide(data: bytes, least_odd: float) -> Decoded | None:
    """UTF-16 or UTF-32 without a mark: only where zero or control bytes speak against 8-bit text."""
    sample = data[:SAMPLE_BYTES]
    if len(data) % 2 or _share(_ODD_BYTE, sample) < least_odd:
        return None
    scored = []
    for codec in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        text = _strict(sample[: len(sample) // 4 * 4 if "32" in codec else len(sample)], codec)
        if text:
            scored.append((_plain_share(text), len(text) * -1, codec))
    if not scored or max(scored)[0] < 0.9:
        return None
    codec = max(scored)[2]
    return Decoded(data.decode(codec, "replace"), codec)


def _plain_share(text: str) -> float:
    """Share of characters that stand in text, where those of the fewest blocks of 256 count in full."""
    plain = [char for char in text if char.isalnum() or char.isspace() or char.isprintable()]
    blocks: dict[int, int] = {}
    for char in plain:
        blocks[ord(char) >> 8] = blocks.get(ord(char) >> 8, 0) + 1
    ideographs = sum(count for block, count in blocks.items() if 0x34 <= block <= 0x9F or 0xAC <= block <= 0xD7)
    common = sum(sorted((n for block, n in blocks.items() if not 0x34 <= block <= 0xD7), reverse=True)[:4])
    spaces = sum(text.count(char) for char in " \n。、，")
    if ideographs > common and spaces * 200 < len(text):
        return 0.0
    return (common + ideographs) / len(text)


def _declared(data: bytes, declared: str) -> Decoded | None:
    if not declared:
        return None
    try:
        codec = codecs.lookup(declared).name
    except (LookupError, ValueError):
        return None
    codec = {"iso8859-1": "cp1252", "ascii": "cp1252"}.get(codec, codec)
    text = _strict(data, codec) if _DECLARABLE.fullmatch(codec) else None
    return None if text is None else Decoded(text, codec)


_MIXED = re.compile(r"[A-Za-z][\u0370-\u07ff]|[\u0370-\u07ff][A-Za-z]")
"""A Latin letter beside a Greek, Cyrillic, Hebrew or Arabic one: no word of any language."""


_KANA = re.compile("[\u3041-\u30fe]")
_JAPANESE = re.compile("[\u3000-\u30ff\u4e00-\u9fff\uff01-\uff5e]")
_IDEOGRAPH = re.compile("[\u4e00-\u9fff\uf900-\ufaff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")


_NOT_HEBREW = re.compile(rb"[\x80-\xdf\xfb-\xff]")
_FINAL_WITHIN = re.compile(rb"[\xea\xed\xef\xf3\xf5][\xe0-\xfa]")
"""A letter that Hebrew writes so only at the end of a word, before another: common in Cyrillic read so."""


def _mended(sample: bytes, best: str) -> str:
    """The codec of short texts in scripts whose bytes are valid in another; else ``best``.

    Japanese is full of kana, which no other of these codecs has at those bytes. Of what is read as Korean, a text
    without spaces that is rich in Chinese characters is Chinese. Cyrillic does without ы, ь, я and capitals nowhere.
    """
    for codec in ("euc_jp", "cp932"):
        text = _strict(sample, codec) or ""
        high = len(_HIGH_RUN.findall(text))
        kana = len(_KANA.findall(text))
        if kana >= 4 and kana >= 0.25 * high and len(_JAPANESE.findall(text)) >= 0.98 * high:
            return codec
    if best in ("cp949", "euc_kr"):
        text = sample.decode(best, "replace")
        chinese, korean = len(_IDEOGRAPH.findall(text)), len(_HANGUL.findall(text))
        spaces = text.count(" ")
        if chinese > 0.25 * korean and spaces * 20 < chinese + korean and _strict(sample, "gb2312") is not None:
            return "gb18030"
    if best == "cp1251" and not _NOT_HEBREW.search(sample) and not _FINAL_WITHIN.search(sample):
        return "cp1255"
    return best


def _guessed(data: bytes) -> Decoded | None:
    sample = _sample(data)
    latin = sorted(
        ((score, -place, codec) for place, codec in enumerate(_LATIN_CODECS) if (score := _latin_score(sample, codec))),
        reverse=True,
    )
    candidates = [codec for score, _, codec in latin if score >= 0.9]
    best = from_bytes(sample, cp_isolation=_OTHER_CODECS, enable_fallback=False).best()
    likely = [codec for score, _, codec in latin if 0.5 <= score < 0.9]
    other = _mended(sample, best.encoding if best is not None else "")
    if other:
        mixed = bool(likely) and _MIXED.search(sample.decode(other, "replace")) is not None
        likely.insert(len(likely) if mixed else 0, other)
    candidates += likely
    for codec in candidates:
        text = _strict(data, codec)
        if text is not None:
            return Decoded(text, codec)
    if candidates:
        text = data.decode(candidates[0], "replace")
        if text.count("\ufffd") <= _MAX_DAMAGED * len(text):
            return Decoded(text, candidates[0])
    return None


def _sample(data: bytes) -> bytes:
    """A part with the first byte above ASCII in it, cut at line ends so that no character is cut."""
    first = _HIGH.search(data)
    start = data.rfind(b"\n", 0, first.start() if first else 0) + 1
    if first is not None and first.start() - start > SAMPLE_BYTES // 2:
        start = first.start()
    sample = data[start : start + SAMPLE_BYTES]
    cut = sample.rfind(b"\n")
    return sample[: cut + 1] if cut > 0 and start + len(sample) < len(data) else sample


def _latin_score(sample: bytes, codec: str) -> float:
    """Share of the characters above ASCII that one Latin-script language explains when read as ``codec``."""
    text = _strict(sample, codec)
    if text is None:
        return 0.0
    letters: dict[str, int] = {}
    marks = total = ascii_letters = 0
    for match in _HIGH_RUN.finditer(text):
        total += 1
        char, at = match[0], match.start()
        before, after = text[at - 1 : at], text[at + 1 : at + 2]
        if char in _MARKS_OF_TEXT:
            marks += char in _IN_WORDS or not (before.isalpha() and after.isalpha())
        elif char.isalpha() and not (char.isupper() and before.islower()):
            letters[char.lower()] = letters.get(char.lower(), 0) + 1
    ascii_letters = sum(1 for char in text if char.isascii() and char.isalpha())
    if total == 0 or (sum(letters.values()) > ascii_letters):
        return 0.0
    known = max(sum(n for char, n in letters.items() if char in used) for used in _LATIN_LETTERS.values())
    return (known + marks) / total
