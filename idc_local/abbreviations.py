"""Where a sentence splitter errs: full stops that end no sentence, and ends that it overlooks. Pure.

Works on half-open spans that tile a paragraph, and only merges or splits them.
"""

from __future__ import annotations

import re

from idc_local.types import Span

_ALWAYS = {
    "": "al e.g i.e cf vs viz approx ca resp incl excl",
    "en": "Mr Mrs Ms Dr Prof Rev Hon Gov Sen Rep Gen Col Maj Capt Lt Sgt Cpl Messrs Mt St Ft eds Inst Univ Dept Assn "
    "Bros max min avg est Adm Supt Pres",
    "de": "bzw vgl z.B d.h u.a Dr Prof Hr Fr Dipl Ing Dipl.-Ing Nr Abs Art Kap Bd Str geb gest evtl ggf inkl zzgl Mio "
    "Mrd Tel Abb Aufl Hrsg Jh sog Anm Inkl exkl Exkl Zzgl Ziff mult Fa",
    "fr": "Mme Mlle MM Dr Pr env p.ex éd vol chap art fig no",
    "es": "Sr Sra Srta Dr Dra D Dña Ud Uds pág págs cap fig núm art p.ej aprox",
    "it": "sig dott prof ing avv pag art cap fig ecc es",
    "pt": "Sr Sra Dr Dra Prof pág págs cap fig art núm p.ex",
    "nl": "dhr mevr dr prof bijv blz art fig nr o.a d.w.z",
    "pl": "dr Dr prof Prof mgr inż hab np Np zob Zob por tzn tzw tys mln mld ul ur zm św rys art ust pkt poz nr",
    "ru": "см См ср Ср напр тыс млн млрд проф Проф акад доц ул просп пер им рис табл стр гл ст пп",
    "uk": "див Див напр тис млн млрд проф Проф акад доц вул ім рис табл стор гл ст пп",
    "hi": "डॉ श्री श्रीमती प्रो",
    "ar": "د",
}
"""Words whose full stop ends no sentence, whatever follows."""

_BEFORE_NUMBERS = (
    "eq eqs fig figs no nos vol vols ch chap sec sect app tab ref refs art arts p pp pt ed par para §§? ex exh sched "
    "cl reg r nr abb kap abs bd s tel ext apt jan feb mar apr jun jul aug sep sept oct nov dec pág págs núm "
    "ziff str tab rys ust pkt poz рис табл стр стор гл ст п (?-i:c)"
)
"""Words whose full stop ends no sentence when a number or a bracket follows."""

_OPENING = r"(?:^|[\s(\[{\"'“”„‘’«/–—-])"
_LAST_WORD = re.compile(r"[^\s(\[{\"'“”„‘’«/]*\.(?=\s*\Z)")
_COUNTED = re.compile(rf"{_OPENING}(?:{'|'.join(_BEFORE_NUMBERS.split())})\s?\.\s*\Z", re.I)
_NUMBER = re.compile(r"[(\[]?(?:\d|[IVXLC]+\b|[A-Z]\b)")
_SECTION = re.compile(r"§\s*\d+[a-z]?(?:\.\d+)*\.\s*\Z")
_ENUMERATOR = re.compile(r"\s*\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxIVX]{1,5})[.)]\s*\Z")
_ORDINAL = re.compile(
    r"(?:^|\s)(?:der|die|das|dem|den|des|am|im|vom|zum|zur|beim|ein|eine|einem|einen|einer|eines|jede[rs]?|unser)"
    r"\s\d{1,3}\.\s*\Z",
    re.I,
)
_DAY = re.compile(r"(?:^|[^\w.,])(?:0?[1-9]|[12]\d|3[01])\.\s*\Z")
_MONTH = re.compile(
    r"(?:Januar|Jänner|Februar|Feber|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b"
)
"""German writes a day with a full stop before its month, also within texts in another language."""
_QUOTED_QUESTION = re.compile(r"[?!…][\"'”’»)\]]+\s*\Z|[\"'”’»]\s*\Z")
_JAPANESE_QUOTE = re.compile(r"[。！？][」』]\s*\Z")
_OVERLOOKED = re.compile(r"[.!?][)\]]\s+(?=[\"“‘(\[]?[^\W\d_a-z])")
_NOTE = re.compile(r"\[[^\[\]\n]{1,40}\]\s*")
_WORD = re.compile(r"[^\W_]")
_HYPHENATED_INITIALS = re.compile(rf"{_OPENING}(?:[^\W\d_]\.[-‐])+[^\W\d_]\.\s*\Z")
_WITH_STOPS = re.compile(r"(?:\A|[\W_])[^\W\d_]\.\s*\Z|[^\W\d_]\.[^\W\d_]+\.\s*\Z")
"""A letter alone, or letters parted by full stops: short for something where the text goes on in lower case."""
_SAID = re.compile(r"[—–]\s*[^\W\d_]")
_CONTINUING = frozenset(",;:)]}，；：、）」』】”’»")
_CLINGING = frozenset("-/_@\\<=&%")


def _words(language: str) -> frozenset[str]:
    return frozenset(f"{_ALWAYS['']} {_ALWAYS.get(language, '')}".split())


_LISTS = {language: _words(language) for language in (*_ALWAYS, "")}
_FALLBACK = _words("en")
_COMMONEST = _words("en") | _words("de")
_INITIAL = re.compile(r"(?:^|[\W_])[^\W\d_]\.\s*\Z")


def repaired(text: str, spans: list[Span], language: str) -> list[Span]:
    """``spans``, which tile a paragraph of ``text``, without the cuts and with the ends that the splitter missed."""
    words = _LISTS.get(language, _FALLBACK)
    result: list[Span] = []
    for span in spans:
        note = _NOTE.match(text, span.start, span.end) if result and not text[span.start - 1].isspace() else None
        if note is not None:
            result[-1] = Span(result[-1].start, note.end())
            span = Span(note.end(), span.end)
        if span.start == span.end:
            continue
        if result and _belongs(text, result[-1], span, words, language):
            result[-1] = Span(result[-1].start, span.end)
        else:
            result.append(span)
    return [part for span in result for part in _overlooked(text, span)]


def goes_on(before: str, after: str) -> bool:
    """True where the full stop at the end of ``before`` ends no sentence, in a text too short to tell its language."""
    tail, head = before[-40:], after[:12]
    if not head or not tail.rstrip().endswith("."):
        return False
    return head[0].islower() or _INITIAL.search(tail) is not None or _full_stop_belongs(tail, head, _COMMONEST, "")


def _overlooked(text: str, span: Span) -> list[Span]:
    """A sentence in brackets ends with them: only where the span begins with the bracket."""
    if text[span.start] not in "([":
        return [span]
    found = _OVERLOOKED.search(text, span.start, span.end)
    if found is None or found.end() == span.end:
        return [span]
    return [Span(span.start, found.end()), Span(found.end(), span.end)]


def _belongs(text: str, before: Span, after: Span, words: frozenset[str], language: str) -> bool:
    """True where no sentence ends between the two."""
    tail = text[max(before.start, before.end - 40) : before.end]
    head = text[after.start : after.start + 12]
    if not _WORD.search(text, after.start, after.end) or not _WORD.search(text, before.start, before.end):
        return True
    if before.end - before.start < 12 and _ENUMERATOR.fullmatch(text, before.start, before.end):
        return True
    if head[0] in _CONTINUING:
        return True
    if head[0].islower() and _QUOTED_QUESTION.search(tail):
        return True
    if (said := _SAID.match(head)) is not None and said[0][-1].islower():
        return True
    if head[0] in _CLINGING and not tail[-1].isspace():
        return True
    if _JAPANESE_QUOTE.search(tail) and head[0] in "とっ":
        return True
    return _full_stop_belongs(tail, head, words, language)


def _full_stop_belongs(tail: str, head: str, words: frozenset[str], language: str) -> bool:
    stripped = tail.rstrip()
    if not stripped.endswith("."):
        return False
    if len(stripped) == len(tail) and head[0].isalnum():
        return True
    if _HYPHENATED_INITIALS.search(tail) or (head[0].islower() and _WITH_STOPS.search(tail)):
        return True
    last = _LAST_WORD.search(tail)
    if last is not None and last[0][:-1] in words:
        return True
    if _DAY.search(tail) and _MONTH.match(head):
        return True
    if _SECTION.search(tail) or (language == "de" and _ORDINAL.search(tail)):
        return True
    return _NUMBER.match(head) is not None and _COUNTED.search(tail) is not None
