from __future__ import annotations

import codecs
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local.errors import InputError
from idc_local.readers.decode import decode

TEXTS = {
    "ru": "Плавающий клапан открывается при давлении два бара. Насос останавливается через сорок секунд.",
    "uk": "Насос зупиняється через сорок секунд, якщо поплавок не піднімається вище рівня.",
    "zh": "浮球上升时水泵启动。四十秒后自动停止。浮球磨损会卡住，地下室可能被淹。",
    "tw": "浮球上升時水泵啟動。四十秒後自動停止。浮球磨損會卡住，地下室可能被淹。",
    "ja": "ポンプはフロートが上昇すると始動します。四十秒後に自動的に停止します。",
    "ko": "플로트가 상승하면 펌프가 시작됩니다. 사십 초 후에 자동으로 멈춥니다.",
    "el": "Η αντλία ξεκινά όταν ανεβαίνει ο πλωτήρας. Σταματά μετά από σαράντα δευτερόλεπτα.",
    "he": "המשאבה מתחילה לפעול כאשר המצוף עולה. היא נעצרת אחרי ארבעים שניות.",
    "ar": "تبدأ المضخة عندما ترتفع العوامة. تتوقف بعد أربعين ثانية.",
    "th": "ปั๊มจะเริ่มทำงานเมื่อลูกลอยขึ้น และจะหยุดหลังจากสี่สิบวินาที",
    "tr": "Şamandıra yükseldiğinde pompa çalışmaya başlar. Kırk saniye sonra yeniden durur.",
    "pl": "Pompa włącza się, gdy pływak się podnosi. Zażółć gęślą jaźń.",
    "cs": "Čerpadlo se spustí, když se plovák zvedne. Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "hu": "A szivattyú elindul, amikor az úszó felemelkedik. Árvíztűrő tükörfúrógép.",
    "de": "Käse und Brötchen kosten fünf Franken. Der Preis gilt für März.",
    "fr": "La pompe démarre lorsque le flotteur s’élève. Ça coûte 5 €, même à l’étranger.",
    "es": "¿Cuándo arranca la bomba? El año próximo, mañana por la mañana.",
    "pt": "A bomba é acionada quando a boia sobe. Não há informações sobre manutenção.",
    "sv": "Pumpen startar när flottören stiger. Den stannar efter fyrtio sekunder på ön.",
    "is": "Dælan fer í gang þegar flotholtið rís. Það er ekki góð hugmynd að gera þetta.",
    "en": "The pump “starts” when the float rises — it’s simple.",
    "lt": "Siurblys įsijungia, kai plūdė pakyla. Jis sustoja po keturiasdešimties sekundžių.",
}
OLD = [
    *(("ru", codec) for codec in ("cp1251", "koi8-r", "iso-8859-5", "cp866")),
    *(("uk", codec) for codec in ("cp1251", "koi8-u")),
    ("zh", "gb18030"), ("tw", "big5"), ("ko", "euc_kr"),
    *(("ja", codec) for codec in ("shift_jis", "euc_jp", "iso2022_jp")),
    *(("el", codec) for codec in ("cp1253", "iso-8859-7")),
    *(("he", codec) for codec in ("cp1255", "iso-8859-8")),
    *(("ar", codec) for codec in ("cp1256", "iso-8859-6")),
    ("th", "cp874"), ("tr", "cp1254"), ("lt", "cp1257"), ("hu", "cp1250"), ("is", "cp1252"), ("en", "cp1252"),
    *((language, codec) for language in ("pl", "cs") for codec in ("cp1250", "iso-8859-2")),
    *((language, "cp1252") for language in ("de", "fr", "es", "pt", "sv")),
    ("de", "mac_roman"), ("fr", "mac_roman"), ("de", "cp850"), ("es", "cp850"),
]  # fmt: skip
ENGLISH = " The pump starts when the float rises." * 20


@pytest.mark.parametrize(("language", "codec"), OLD)
@pytest.mark.parametrize("tail", ["", ENGLISH], ids=["alone", "with English"])
def test_old_encodings_come_out_right(language: str, codec: str, tail: str) -> None:
    text = TEXTS[language] + tail
    assert decode(text.encode(codec), "f.txt").text == text


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("euc_jp", "この装置は水位計を備えています。\n"),
        ("euc_jp", "フィルターを交換する前に、必ず電源を切ってください。\n"),
        ("shift_jis", "会議の議事録（第３回）はこちらです。\n"),
        ("gb18030", "患者的血压在正常范围内。\n"),
        ("gb18030", "她打开窗户，久久地望着外面。\n"),
        ("euc_kr", "환자의 혈압은 정상 범위였다.\n"),
        ("euc_kr", "서울특별시 종로구 세종대로 1\n"),
        ("cp1255", "ההסכם נכנס לתוקף ביום החתימה.\n"),
        ("cp1251", "договор аренды вступает в силу с момента подписания.\n"),
        ("cp1251", "насос стоит у окна.\n"),
    ],
)
def test_single_sentences_in_old_encodings(codec: str, text: str) -> None:
    assert decode(text.encode(codec), "f.txt").text == text


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_with_its_mark(language: str, codec: str) -> None:
    assert decode(TEXTS[language].encode(codec), "f.txt").text == TEXTS[language]


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_unicode_without_its_mark(language: str, codec: str) -> None:
    text = TEXTS[language] + "\n" + TEXTS[language]
    decoded = decode(text.encode(codec), "f.txt")
    assert (decoded.text, decoded.encoding) == (text, codec)


def test_western_text_is_named_cp1252_though_other_codecs_fit() -> None:
    assert decode("Käse und Brötchen kosten fünf Franken.".encode("latin-1"), "f").encoding == "cp1252"
    assert decode("Grüße".encode("latin-1"), "f").text == "Grüße"


def test_marks_are_dropped_and_named() -> None:
    assert decode(codecs.BOM_UTF8 + b"a", "f").text == "a"
    assert decode(codecs.BOM_UTF8 + b"a", "f").encoding == "utf-8"
    assert decode("\ufeffa".encode("utf-16-be"), "f").encoding == "utf-16"


def test_a_damaged_byte_in_utf8_does_not_change_the_rest() -> None:
    data = ("Käse für fünf. " * 50).encode()
    damaged = data[:9] + b"\xff" + data[9:]
    decoded = decode(damaged, "f")
    assert decoded.encoding == "utf-8"
    assert decoded.text.replace("\ufffd", "") == "Käse für fünf. " * 50


def test_a_character_cut_at_the_end_keeps_utf8() -> None:
    assert decode("日本語のテキスト".encode()[:-1], "f").text == "日本語のテキス\ufffd"


def test_nuls_and_controls_within_text_are_kept() -> None:
    text = "a pump\0 starts \x01 when the float rises\x1b[0m"
    assert decode(text.encode(), "f").text == text
    assert decode(b"a\0b", "f").text == "a\0b"


@pytest.mark.parametrize("text", ["abc\0", "a,b\0", "1. \x7f", "\xa2\0"])
def test_a_control_character_in_a_few_letters_makes_them_no_utf16(text: str) -> None:
    assert decode(text.encode(), "f").text == text


@pytest.mark.parametrize("word", ["GGUF", "ID3", "GIF89a", "GIF87a", "BZh", "OggS", "fLaC", "%PDF-1.7"])
def test_a_text_may_begin_with_the_name_of_a_format(word: str) -> None:
    text = f"{word} is what such a file begins with. Größe: 4 Bytes.\n" + "ä" * 4096
    assert decode(text.encode(), "f").text == text


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 40,
        b"\0" * 1000,
        b"\x00\x01\x02",
        random.Random(1).randbytes(4096),
        b"%PDF-1.7\nplain words follow",
        b"PK\x03\x04rest",
        b"\x89PNG\r\n\x1a\nrest",
        b"\x1f\x8brest",
        b"GGUF\x03\0\0\0 words",
    ],
    ids=["all bytes", "zeros", "three", "random", "pdf", "zip", "png", "gzip", "gguf"],
)
def test_binary_is_refused_and_named(data: bytes) -> None:
    with pytest.raises(InputError, match=r"^sub/f\.txt: binary"):
        decode(data, "sub/f.txt")


def test_a_declared_codec_is_used_when_it_fits() -> None:
    data = "Ж".encode("cp866") + b" x"
    assert decode(data, "f", "ibm866").text == "Ж x"
    assert decode("é".encode(), "f", "ibm866").text == "é"
    assert decode(b"abc", "f", "no-such-codec").text == "abc"


@pytest.mark.parametrize("name", ["unicode_escape", "idna", "undefined", "zlib", "utf-7", "rot13"])
def test_a_declared_codec_that_is_no_character_set_is_ignored(name: str) -> None:
    assert decode("für".encode("latin-1"), "f", name).text == "für"


@given(st.binary(max_size=300))
def test_any_bytes_decode_or_are_refused(data: bytes) -> None:
    try:
        decoded = decode(data, "f")
    except InputError:
        return
    codecs.lookup(decoded.encoding)
    assert not any(0xD800 <= ord(char) < 0xE000 for char in decoded.text)


@given(st.text(max_size=200))
def test_utf8_is_returned_unchanged(text: str) -> None:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return
    odd = sum(1 for char in text if (ord(char) < 32 and char not in "\t\n\v\f\r\x1b") or char == "\x7f")
    if odd == 0 and not data.startswith(b"\xef\xbb\xbf"):
        assert decode(data, "f").text == text


def test_words_of_several_languages_are_not_taken_for_another_script() -> None:
    text = "Café Straße über Ökonomie naïve.\n"
    assert decode(text.encode("latin-1"), "f").text == text
