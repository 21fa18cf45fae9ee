from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local.language import SAMPLE_CHARS, detect_language

TEXTS = {
    "en": "The pump starts when the float rises. It stops again after forty seconds.",
    "de": "Die Pumpe läuft an, wenn der Schwimmer steigt. Nach vierzig Sekunden hält sie wieder an.",
    "fr": "La pompe démarre lorsque le flotteur monte. Elle s'arrête après quarante secondes.",
    "es": "La bomba arranca cuando sube el flotador. Se detiene después de cuarenta segundos.",
    "it": "La pompa si avvia quando il galleggiante sale. Si ferma di nuovo dopo quaranta secondi.",
    "pt": "A bomba é acionada quando a boia sobe. Ela não para antes de quarenta segundos.",
    "nl": "De pomp start wanneer de vlotter stijgt. Na veertig seconden stopt hij weer met het pompen.",
    "sv": "Pumpen startar när flottören stiger. Den stannar efter fyrtio sekunder och väntar på vatten.",
    "da": "Pumpen starter, når flyderen stiger. Den stopper igen efter fyrre sekunder og venter på vand af sig selv.",
    "fi": "Pumppu käynnistyy, kun uimuri nousee. Se pysähtyy neljänkymmenen sekunnin kuluttua, mutta ei aina.",
    "pl": "Pompa włącza się, gdy pływak się podnosi. Wyłącza się po czterdziestu sekundach.",
    "cs": "Čerpadlo se spustí, když se plovák zvedne. Po čtyřiceti sekundách se zase zastaví.",
    "hu": "A szivattyú elindul, amikor az úszó felemelkedik. Negyven másodperc után leáll.",
    "ro": "Pompa pornește când plutitorul urcă. Se oprește după patruzeci de secunde și apoi așteaptă.",
    "tr": "Şamandıra yükseldiğinde pompa çalışmaya başlar. Kırk saniye sonra yeniden durur.",
    "is": "Dælan fer í gang þegar flotholtið rís. Það er ekki góð hugmynd að gera þetta.",
    "lt": "Siurblys įsijungia, kai plūdė pakyla. Jis sustoja po keturiasdešimties sekundžių.",
    "id": "Pompa akan menyala ketika pelampung naik dan berhenti setelah empat puluh detik untuk menunggu air.",
    "vi": "Máy bơm khởi động khi phao nổi lên và dừng lại sau bốn mươi giây.",
    "ru": "Насос включается, когда поплавок поднимается. Через сорок секунд он снова останавливается.",
    "uk": "Насос вмикається, коли поплавець піднімається. Він зупиняється через сорок секунд.",
    "bg": "Помпата се включва, когато поплавъкът се издигне. Тя спира след четиридесет секунди.",
    "el": "Η αντλία ξεκινά όταν ανεβαίνει ο πλωτήρας.",
    "he": "המשאבה מתחילה לפעול כאשר המצוף עולה.",
    "ar": "تبدأ المضخة عندما ترتفع العوامة. تتوقف بعد أربعين ثانية.",
    "fa": "پمپ هنگامی که شناور بالا می‌رود شروع به کار می‌کند و پس از چهل ثانیه می‌ایستد.",
    "hi": "जब फ्लोट ऊपर उठता है तो पंप चालू हो जाता है।",
    "th": "ปั๊มจะเริ่มทำงานเมื่อลูกลอยขึ้น",
    "ko": "플로트가 상승하면 펌프가 시작됩니다.",
    "ja": "浮球が上昇するとポンプが始動します。四十秒後に自動停止。",
    "zh": "浮球上升时水泵启动。四十秒后自动停止。API 1.0",
    "ka": "ტუმბო იწყებს მუშაობას.",
}

CODE = """let v = cell(row, width, size, name, kind, list, path, line, mark, block, start, count, total, first,
last, place, number, index, table, page, text, data, rule, span, node)"""


@pytest.mark.parametrize("language", TEXTS)
def test_two_sentences_are_enough(language: str) -> None:
    assert detect_language(TEXTS[language]) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "123 456",
        "!?",
        "Grüße",
        "pump",
        "\ud800",
        "x" * 100,
        "😀",
        CODE,
    ],
)
def test_english_when_unsure(text: str) -> None:
    assert detect_language(text) == "en"


def test_most_of_the_text_decides() -> None:
    assert detect_language(TEXTS["en"] * 3 + TEXTS["ru"]) == "en"
    assert detect_language(TEXTS["en"] + TEXTS["ru"] * 3) == "ru"
    assert detect_language("def main() -> None: return 1\n" + TEXTS["zh"] * 3) == "zh"


def test_a_foreign_title_page_does_not_decide() -> None:
    assert detect_language(TEXTS["fr"] * 40 + TEXTS["de"] * 5 * (SAMPLE_CHARS // 80)) == "de"


@pytest.mark.parametrize("place", [0, 20_000, 40_000, 60_000])
def test_a_long_text_is_looked_at_from_its_beginning_to_its_end(place: int) -> None:
    # Four pieces of 5,000 characters, as far apart as they can be in 65,000.
    figures = "123 " * 20_000
    text = figures[:place] + (TEXTS["de"] * 60)[:5_000] + figures
    assert detect_language(text[:65_000]) == "de"


@pytest.mark.parametrize(("hits", "words", "language"), [(1, 5, "en"), (2, 5, "de"), (3, 100, "en"), (4, 100, "de")])
def test_a_language_takes_two_of_its_words_and_a_twenty_fifth_of_all(hits: int, words: int, language: str) -> None:
    assert detect_language("und " * hits + "pumpe " * (words - hits)) == language


@pytest.mark.parametrize(
    ("other", "most", "language"),
    [("насос", 5, "ru"), ("αντλία", 6, "el"), ("水泵", 6, "zh"), ("ポンプ", 9, "ja"), ("펌프", 6, "ko")],
)
def test_a_character_of_the_far_east_counts_for_three_letters(other: str, most: int, language: str) -> None:
    assert detect_language(f"{other} {'x' * (most - 1)}") == language
    assert detect_language(f"{other} {'x' * (most + 1)}") == "en"


@given(st.text())
def test_any_text_has_a_language(text: str) -> None:
    language = detect_language(text)
    assert len(language) == 2
    assert language == detect_language(text)


@pytest.mark.parametrize(
    ("name", "language"),
    [("xquad_de", "de"), ("xquad_zh", "zh"), ("xquad_ar", "ar"), ("covidqa", "en"), ("qmsum", "en")],
)
def test_every_document_of_the_question_sets(shared_data: Path, name: str, language: str) -> None:
    lines = (shared_data / "qa" / name / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    assert {detect_language(json.loads(line)["text"]) for line in lines} == {language}


@pytest.mark.parametrize("language", ["en", "de", "fr"])
@pytest.mark.parametrize("width", [64, 40_000])
def test_a_picture_in_base64_speaks_no_language(language: str, width: int) -> None:
    noise = b"".join(sha256(bytes([place % 256, place // 256])).digest() for place in range(1_000))
    data = b64encode(noise).decode("ascii")
    blob = "\n".join(data[place : place + width] for place in range(0, len(data), width))
    assert detect_language(f"{TEXTS[language]}\n\n{blob}\n\n{TEXTS[language]}") == language
    assert detect_language(blob) == "en"
