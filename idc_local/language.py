"""Tells the language of a text from its script and its commonest words. Pure and deterministic.

A sample of the text decides. Scripts that serve one language name it; the Latin, Cyrillic and Arabic scripts are told
apart by hand-written lists of function words. ``en`` where nothing speaks for another language.
"""

from __future__ import annotations

import re
from collections import Counter

SAMPLE_CHARS = 20_000
_PIECES = 4
_MIN_HITS = 2
_MIN_SHARE = 0.04
"""Function words make up a tenth to a half of any text, but next to none of program code."""

_SCRIPTS = (
    ("ja", "\u3040-\u30ff\uff66-\uff9f"),
    ("ko", "\u1100-\u11ff\uac00-\ud7af"),
    ("zh", "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0002ffff"),
    ("th", "\u0e00-\u0e7f"),
    ("ar", "\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc"),
    ("he", "\u0590-\u05ff"),
    ("el", "\u0370-\u03ff\u1f00-\u1fff"),
    ("ru", "\u0400-\u04ff"),
    ("hi", "\u0900-\u097f"),
    ("bn", "\u0980-\u09ff"),
    ("ta", "\u0b80-\u0bff"),
    ("te", "\u0c00-\u0c7f"),
    ("kn", "\u0c80-\u0cff"),
    ("ml", "\u0d00-\u0d7f"),
    ("gu", "\u0a80-\u0aff"),
    ("pa", "\u0a00-\u0a7f"),
    ("si", "\u0d80-\u0dff"),
    ("lo", "\u0e80-\u0eff"),
    ("my", "\u1000-\u109f"),
    ("km", "\u1780-\u17ff"),
    ("ka", "\u10a0-\u10ff"),
    ("hy", "\u0530-\u058f"),
    ("am", "\u1200-\u137f"),
    ("bo", "\u0f00-\u0fff"),
    ("latin", "\u00c0-\u024f\u1e00-\u1eff"),
)
_SCRIPT_PATTERNS = tuple((name, re.compile(f"[{ranges}]")) for name, ranges in _SCRIPTS)
_OTHER = re.compile(r"[^\x00-\x7f]+")
_NO_ASCII_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())
_WEIGHTS = {"zh": 3.0, "ja": 3.0, "ko": 3.0}
"""One character of these scripts says about as much as three letters."""

_WORDS = {
    "en": "the of and to in is that for it with as was on are be this by at from or an have which not you his but they",
    "de": "der die das und ist nicht ein eine zu den von mit sich des auf für im dem als auch es an werden aus "
    "er sie nach bei wird oder ich haben wir zum zur",
    "fr": "le la les de des du et est un une en que qui dans pour pas sur au par plus ce il elle ne se avec "
    "sont cette aux ou je vous nous être",
    "es": "el la los las de del y en que es un una por con para se no su al lo como más pero sus este esta son "
    "ha o fue",
    "it": "il lo la i gli le di del della e è un una che in per con non si da dei nel al alla come sono anche più ma",
    "pt": "o a os as de do da dos das e em um uma que não para com por se no na ao mais como foi são é ou mas "
    "pela pelo",
    "nl": "de het een en van in is dat op te zijn voor met niet aan er om ook als door bij naar uit maar wordt "
    "deze dit ik je hij zij worden",
    "sv": "och att det som en är på för av med den till inte har ett om var från de vid kan eller när också men "
    "sig jag",
    "da": "og at det som en er på for af med den til ikke har et om var fra de ved kan eller når også men sig jeg der",
    "no": "og at det som en er på for av med den til ikke har et om var fra de ved kan eller når også men seg jeg ble",
    "fi": "ja on ei se että hän oli ovat mutta kun niin myös tai joka ole sen kuin voi mukaan jos ne sitä vain tämä",
    "pl": "i w nie na z się do jest to że o jak ale po co tak za od przez dla są oraz przy tym był może ich jego",
    "cs": "a v se na je že s z do o i to k ve pro za by ale jako jsou po jsem které který nebo také při byl od není",
    "sk": "a v sa na je že s z do o aj to k vo pre za by ale ako sú po som ktoré ktorý alebo tiež pri bol od nie",
    "hu": "a az és hogy nem is egy ez van de meg csak ha már mint el volt vagy azt lehet még kell amikor után sem",
    "ro": "și şi de în la a cu nu pe un o care este să din că pentru mai sunt se al ale ca fi au sau după când prin",
    "tr": "ve bir bu da de için ile çok daha olarak olan gibi en var ne kadar sonra ama değil her o mi veya ise",
    "hr": "i u je se na da su za od s o koji koja kao ne ili to bi iz što nije biti po te ali ako već kako",
    "sl": "in je v na se da za so z ki pri po ne od tudi kot ali bi s iz pa do ni če lahko med ter bo",
    "lt": "ir yra į iš kad su tai ne kaip bet o už po jo buvo arba taip nuo apie prie jau dėl ar dar",
    "lv": "un ir ka no ar uz par tas ne bet kā pie pēc arī vai lai tika viņš šis nav tikai ko jau bija",
    "et": "ja on ei et see oli kui ka mis ta ning või aga oma seda nii pole kes tema selle välja veel siis",
    "id": "yang dan di dari ini itu dengan untuk pada tidak dalam adalah ke akan oleh atau juga sebagai karena "
    "ada dapat bahwa",
    "vi": "và của là có cho không được trong một những các với đã này người để khi từ về như tại",
    "is": "og að í er sem á til um en við var af ekki það með fyrir eru hann hún ég frá því þar þess",
    "ca": "el la els les de del i en que és un una per amb no es al a com més però seu aquest aquesta són ha o va",
}
_LETTERS = {
    "cs": "ěřů", "sk": "ľĺŕ", "pl": "łńśźż", "hu": "őű", "ro": "ășțţ", "tr": "ğı", "lt": "ėįų", "lv": "āēīģķļņ",
    "es": "ñ¿¡", "pt": "ãõ", "de": "ß", "da": "ø", "no": "ø", "is": "ðþ", "vi": "ơưạảấầếềệịọốồộờợụứừ",
    "uk": "їєґ", "sr": "ђјљњћџ", "bg": "ъ", "ru": "ыэё", "fa": "پچژگی", "ur": "ٹڈڑںہے",
}  # fmt: skip
"""Letters beyond ASCII that few other languages of the script use."""

_CYRILLIC = {
    "ru": "и в не на что с по это как он к но из у за от так же для его был все бы они или если только когда при",
    "uk": "і в не на що з та це як до він за але від у про для його був ми або якщо вже бути які є коли при",
    "bg": "и в не на че с по това как той за но от се да е са към си като който при ще или беше са",
    "sr": "и у не на да се је са по то као он за али од су који или што би бити при ће",
}
_ARABIC = {
    "ar": "في من على إلى أن هذا التي الذي عن مع هذه كان لا ما و هو هي بعد بين أو قد تم كما",
    "fa": "در به از که این را با است برای آن یک خود تا بر هم می شود شده بود یا اما نیز کرد دارد",
    "ur": "کے میں کی ہے سے اور کا کو پر نے یہ کہ اس ہیں تھا ایک بھی جو تو نہیں کر گیا",
}


def _profile(lists: dict[str, str]) -> dict[str, frozenset[str]]:
    return {language: frozenset(words.split()) for language, words in lists.items()}


_PROFILES = {"latin": _profile(_WORDS), "ru": _profile(_CYRILLIC), "ar": _profile(_ARABIC)}
FUNCTION_WORDS = {language: words for profile in _PROFILES.values() for language, words in profile.items()}
"""Commonest function words by language, for languages that the lists tell apart."""
_WORD = re.compile(r"[^\W\d_]+")
_BLOB = re.compile(r"[!-~]{60,}")
"""No words: a picture in base64, a key, an address."""
_LONG = 1 << 20


def detect_language(text: str) -> str:
    """ISO 639-1 code of the language that most of ``text`` is in; ``en`` when unsure."""
    sample = _sample(text)
    if _BLOB.search(sample):
        sample = _BLOB.sub(" ", _sample(text if len(text) > _LONG else _BLOB.sub(" ", text)))
    script = _script(sample)
    if script in _PROFILES:
        return _by_words(sample, _PROFILES[script], "en" if script == "latin" else script)
    return script


def _sample(text: str) -> str:
    """Pieces from all over a long text: its beginning alone may be a title page in another language."""
    if len(text) <= SAMPLE_CHARS:
        return text
    size = SAMPLE_CHARS // _PIECES
    step = (len(text) - size) // (_PIECES - 1)
    return " ".join(text[place * step : place * step + size] for place in range(_PIECES))


def _script(sample: str) -> str:
    """The script with the most text; kana make Japanese of ideographs."""
    other = "".join(_OTHER.findall(sample))
    counts = {name: len(pattern.findall(other)) * _WEIGHTS.get(name, 1.0) for name, pattern in _SCRIPT_PATTERNS}
    counts["latin"] += len(sample.encode("ascii", "ignore").translate(None, _NO_ASCII_LETTERS))
    if counts["ja"] * 10 >= counts["zh"]:
        counts["ja"] += counts["zh"] if counts["ja"] else 0
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else "latin"


def _by_words(sample: str, profiles: dict[str, frozenset[str]], default: str) -> str:
    """The language whose function words and own letters make up most of the sample; the first listed wins ties."""
    lowered = sample.lower()
    words, letters = Counter(_WORD.findall(lowered)), Counter("".join(_OTHER.findall(lowered)))
    hits = {
        language: sum(words[word] for word in listed) + sum(letters[own] for own in _LETTERS.get(language, ""))
        for language, listed in profiles.items()
    }
    best = max(hits, key=lambda language: hits[language])
    enough = hits[best] >= _MIN_HITS and hits[best] >= _MIN_SHARE * words.total()
    return best if enough and hits[best] > hits.get(default, 0) else default
