"""Text as people read it: without markup, and without the numbers that items are counted by. Pure."""

from __future__ import annotations

import re

_TAG = re.compile(r"<[^<>]{1,200}>")
_LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_MARKS = re.compile(r"\*+|`+|__|\{#[^}]*\}|¶")
_SPACES = re.compile(r"\s+")
_NUMBER = re.compile(
    r"(?:(?:item|section|chapter|article|part|clause|appendix|annex)\s+[\w.]{1,8}[.:)]?[\s–—-]+"
    r"|§+\s*[\d.]+\s+|\(?\d{1,3}(?:\.\d{1,3})*[.)]\s*|\d{1,3}(?:\.\d{1,3})+\s+|[IVXLC]{1,6}[.)]\s+|[一二三四五六七八九十百]{1,4}[、.．]\s*|\(?[A-Za-z][.)]\s+)"
    r"(?=[^\W\d_])",
    re.IGNORECASE,
)
"""A number that only counts; one that nothing but figures or brackets follow is a name, as of a version."""
_BULLET = re.compile(r"[-*+•‣▪–—]\s+")
_ADDRESSES = re.compile(r"From: [^\n]*(?:\n(?:To|Cc|Date): [^\n]*)+\s*")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def cleaned(text: str) -> str:
    """Text on one line without tags, links, emphasis and anchors."""
    return _SPACES.sub(" ", _MARKS.sub("", _LINK.sub(r"\1", _TAG.sub("", text)))).strip()


def unnumbered(text: str) -> str:
    """Text without a number, letter or mark at its beginning that only counts.

    >>> unnumbered("6.3 Prices"), unnumbered("Part II: Parties"), unnumbered("(b) the Buyer"), unnumbered("3.5.0 (May)")
    ('Prices', 'Parties', 'the Buyer', '3.5.0 (May)')
    """
    number = _NUMBER.match(text)
    return text[number.end() :] if number else text


def is_mail_header(text: str) -> bool:
    """True for the addresses and the date above a mail, as its reader writes them."""
    return _ADDRESSES.fullmatch(text) is not None


def plain_sentence(text: str) -> str:
    r"""A sentence without markup, escapes, and the mark or number of the list that it stands in.

    >>> plain_sentence("- **Dry run**: a pump that turns\n  without water\.")
    'Dry run: a pump that turns without water.'
    >>> plain_sentence("6.3 If a price rises,"), plain_sentence("6.3 million people"), plain_sentence("2) the seal")
    ('If a price rises,', '6.3 million people', 'the seal')
    >>> plain_sentence("Part of it fell off."), plain_sentence("It has a chapter on the seal.")
    ('Part of it fell off.', 'It has a chapter on the seal.')
    """
    bare = _BULLET.sub("", _ESCAPE.sub(r"\1", cleaned(text)), count=1)
    rest = unnumbered(bare)
    mark = bare[: len(bare) - len(rest)].rstrip()
    # A bare figure before a small letter is a quantity, and "part of" no number.
    return (
        rest if mark.endswith((".", ")", ":", "、", "．")) or (mark[-1:].isdigit() and not rest[0].islower()) else bare
    )
