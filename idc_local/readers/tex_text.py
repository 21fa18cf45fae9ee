r"""LaTeX's marks in running text undone: accents, quotation marks, commands around words. Pure; expands no macro."""

from __future__ import annotations

import re
import unicodedata

VERBATIM = "verbatim|Verbatim|lstlisting|minted|alltt|BVerbatim|LVerbatim|comment"
"""Environments whose content is no LaTeX."""

_COMMENT = re.compile(rf"(\\begin\{{({VERBATIM})\*?\}}.*?\\end\{{\2\*?\}})|(?<!\\)((?:\\\\)*)%[^\n]*", re.S)
_MATHEMATICS = re.compile(
    r"\$\$[^$]{0,4000}\$\$|(?<!\\)\$[^$]{0,1000}\$|\\\([^$]{0,1000}?\\\)|\\\[[^$]{0,4000}?\\\]", re.S
)
_ACCENT = re.compile(r"\\(?:([`'^\"~=.])\s*|([uvHckrdbt])(?:\s+|(?=\{)))(?:\{\s*(\\?[A-Za-z])\s*\}|(\\?[A-Za-z]))")
_MARKS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306", ".": "\u0307",
    '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "d": "\u0323", "c": "\u0327", "k": "\u0328",
    "b": "\u0331", "t": "\u0361",
}  # fmt: skip
_LETTERS = {
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł", "L": "Ł",
    "i": "ı", "j": "ȷ", "ldots": "…", "dots": "…", "textellipsis": "…", "LaTeX": "LaTeX", "TeX": "TeX",
    "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "S": "§", "P": "¶", "copyright": "©",
    "textendash": "–", "textemdash": "—", "textquotedblleft": "“", "textquotedblright": "”", "textquoteleft": "‘",
    "textquoteright": "’", "textquotesingle": "'", "textbar": "|", "textless": "<", "textgreater": ">", "euro": "€",
    "pounds": "£", "textdegree": "°", "textbullet": "•", "textperiodcentered": "·", "slash": "/", "textregistered": "®",
    "texttrademark": "™", "guillemotleft": "«", "guillemotright": "»", "textunderscore": "_", "textdollar": "$",
    "textsection": "§", "texteuro": "€", "quad": " ", "qquad": " ", "newline": "\n", "par": "\n", "linebreak": "\n",
}  # fmt: skip
_DROPPED = (
    "label|ref|pageref|eqref|autoref|cref|Cref|nameref|[a-zA-Z]{0,12}cite[a-zA-Z]{0,12}|includegraphics|vspace|hspace|input|include|"
    "usepackage|documentclass|bibliographystyle|bibliography|addbibresource|pagestyle|thispagestyle|setlength|setcounter|"
    "addtocounter|hypertarget|hyperlink|href|phantomsection|newcommand|renewcommand|def|index|gls|color|textcolor|"
    "definecolor|fontsize|selectfont|input|hypersetup|pdfbookmark|addcontentsline|bibitem|rule|graphicspath|vskip"
)
_DROP = re.compile(rf"\\(?:{_DROPPED})\*?\s*(?:\[[^\[\]]*\]\s*)*(?:\{{[^{{}}]*\}})?")
_COMMAND = re.compile(r"\\([a-zA-Z@]+)\*?\s?(?:\[[^\[\]\n]{0,200}\])?")
_ESCAPED = re.compile(r"\\([&%$#_{}])")
_BREAK = re.compile(r"\\\\(?:\[[^\[\]]*\])?")
_KEEP = "\ue000"
_KEPT = re.compile(rf"{_KEEP}(\d+){_KEEP}")


def without_comments(text: str) -> str:
    """The text with comments blanked out, so that every other character keeps its place."""
    return _COMMENT.sub(_blanked, text)


def _blanked(found: re.Match[str]) -> str:
    return found[1] or found[3] + " " * (len(found[0]) - len(found[3]))


def argument(text: str, place: int) -> tuple[str, int]:
    """What stands between the brace at ``place`` and its partner, and where that ends."""
    depth = 0
    at = place
    for mark in re.compile(r"\\.|[{}]", re.S).finditer(text, place):
        at = mark.end()
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            depth -= 1
            if depth <= 0:
                return text[place + 1 : mark.start()], at
    return text[place + 1 : at], max(at, place + 1)


def plain(text: str) -> str:
    """Running text as a page shows it; mathematics stays as it is. Lines are joined, save where one is broken."""
    if "\\" not in text and not any(mark in text for mark in "{}~`'-$"):
        return " ".join(text.split())
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[0] if len(found[0]) > 2 or found.re is not _ESCAPED else found[1])
        return f"{_KEEP}{len(kept) - 1}{_KEEP}"

    text = text.replace(_KEEP, "")
    text = _MATHEMATICS.sub(keep, text)
    text = _BREAK.sub("\0", text)
    text = _ESCAPED.sub(keep, text)
    text = _ACCENT.sub(_accented, text)
    text = _DROP.sub("", text)
    text = _COMMAND.sub(_command, text)
    text = text.replace("\\,", " ").replace("\\ ", " ").replace("\\-", "").replace("\\/", "").replace("\\@", "")
    for mark, shown in (("---", "—"), ("--", "–"), ("``", "“"), ("''", "”"), ("`", "‘"), ("'", "’"), ("~", " ")):
        text = text.replace(mark, shown)
    text = text.replace("{", "").replace("}", "")
    lines = (" ".join(line.split()) for line in text.split("\0"))
    return _KEPT.sub(lambda found: kept[int(found[1])], "\n".join(line for line in lines if line))


def _accented(found: re.Match[str]) -> str:
    letter = (found[3] or found[4]).lstrip("\\")
    return unicodedata.normalize("NFC", letter + _MARKS[found[1] or found[2]])


def _command(found: re.Match[str]) -> str:
    """A letter or sign, or nothing: what a command is about stays behind it."""
    name = found[1]
    if name in ("newline", "linebreak", "par"):
        return "\0"
    shown = _LETTERS.get(name)
    if shown is not None:
        return shown
    return " " if name in ("item", "and", "thanks", "footnote", "hfill") else ""
