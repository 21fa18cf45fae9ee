from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idc_local.cutting import Cutter, Room
from idc_local.errors import InputError
from idc_local.readers import read_source
from idc_local.sentences import split_sentences
from idc_local.types import BlockKind, Document, IntArray, Limits, Sentences, Span, Structure
from tests.fakes import WordCounter

SMALL = Limits(target_chars=40, max_chars=80, max_tokens=20, sentence_tokens=10)


def cut(
    text: str, name: str = "a.txt", language: str = "en", limits: Limits | None = None
) -> tuple[Document, Sentences]:
    document = read_source(text.encode("utf-8", "surrogatepass"), name)
    return document, split_sentences(document, WordCounter(), limits or Limits(), language)


def texts(text: str, name: str = "a.txt", language: str = "en", limits: Limits | None = None) -> list[str]:
    document, sentences = cut(text, name, language, limits)
    return [document.text[start:end] for start, end in zip(sentences.starts, sentences.ends, strict=True)]


def check(document: Document, sentences: Sentences, limits: Limits) -> None:
    """Everything that must hold of the sentences of any document."""
    text, count = document.text, len(sentences)
    if not text.strip():
        assert count == 0
        return
    assert sentences.starts[0] == 0
    assert sentences.ends[-1] == len(text)
    assert sentences.starts[1:].tolist() == sentences.ends[:-1].tolist()
    sizes = sentences.ends - sentences.starts
    assert sizes.min() >= 1
    assert (sizes <= max(1, limits.max_chars // 2)).all()
    assert (sentences.tokens <= limits.sentence_tokens).all()
    parts = [text[start:end] for start, end in zip(sentences.starts, sentences.ends, strict=True)]
    assert sentences.tokens.tolist() == WordCounter().count(parts).tolist()
    assert (np.diff(sentences.block) >= 0).all()
    assert sentences.boundary[0] == Structure.HEADING
    assert not sentences.glue[0]
    assert ((sentences.level > 0) == (sentences.boundary >= Structure.HEADING)).all()
    inside = np.append(False, np.diff(sentences.block) == 0)
    assert set(sentences.boundary[inside].tolist()) <= {Structure.NONE, Structure.ITEM}
    check_runs(sentences, limits)


def check_runs(sentences: Sentences, limits: Limits) -> None:
    """No run of glued sentences is larger than a chunk may be."""
    tokens = chars = 0
    for index in range(len(sentences)):
        if not sentences.glue[index]:
            tokens = chars = 0
        tokens += int(sentences.tokens[index])
        chars += int(sentences.ends[index] - sentences.starts[index])
        if sentences.glue[index]:
            assert tokens <= limits.max_tokens
            assert chars <= limits.max_chars


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ['"Did it flood?" she asked. ', '"Yes!" he said. ', "It did."]),
        ("en", ["Dr. Ames (see Fig. 3) measured 3.5 cm at 10 a.m. on Jan. 5. ", "The U.S. Army Corps agreed."]),
        ("en", ["As shown by Smith et al. the result, e.g. Figure 2, is No. 5 in § 3. of Acme Inc. ", "Next."]),
        ("en", ["Then 3.14 is pi [12]. ", "Wait ... what? ", "J. R. R. Tolkien and J. Smith Jr. left. ", "Yes."]),
        ("en", ["See Eq. (3), vol. 3, pp. 5–9 and Sec. 2. ", "Yes."]),
        ("en", ["It ended (see p. 5). ", "He lives in the U.S. ", "He is old."]),
        ("en", ["(This is a whole one.) ", "Next. ", "This one (see above.) is not. ", "[So is this one.] ", "Yes."]),
        ("en", ["It was so.[12] ", "Next. ", "It was so.[citation needed] ", "Then. ", "After. [12] ", "Next."]),
        ("en", ["Use C++ or .NET, node.js or System.IO.File here. ", "Version 1.0.21 works."]),
        ("en", ["“Who?” he asked. ", "“No!” she cried. ", "They left."]),
        ("en", ["the quick dog ran. ", "then it slept."]),
        ("en", ["Ends with 😀. ", "Next 👍🏽! ", "More."]),
        ("de", ["Das ist z. B. ein Haus, d. h. gut. ", "Am 3. Mai kam der 2. Weltkrieg, vgl. Bd. 2, S. 3. ", "Ja."]),
        ("de", ["Seit 1. Januar und bis 31. Dezember 2024 gilt das. ", "Am 7. September endet es."]),
        ("en", ["On the visit of 4. April 2024 (12. Mai) it ran. ", "It was item 42. ", "August came."]),
        ("en", ["There were 14.5. ", "April came in 2014. ", "August went."]),
        ("de", ["Prof. Dr. Müller und Dipl.-Ing. Meier gingen im Jahr 1999. ", "Dann kam er."]),
        ("fr", ["M. Dupont est là, env. 5 m plus loin, voir p. 5. ", "Puis il part."]),
        ("es", ["¿Cuándo? ", "¡Ahora! ", "El Sr. García y la Dña. Ana, pág. 5, lo saben. ", "Sí."]),
        ("zh", ["浮球上升时水泵启动。", "价格是3.5元吗？", "是……的。", "他说：“好。”"]),
        ("ja", ["ポンプが始動します。", "「はい。」と言った。", "本当？", "終わり"]),
        ("ar", ["تبدأ المضخة. ", "كيف حالك؟ ", "نعم."]),
        ("hi", ["यह एक वाक्य है। ", "क्या यह दूसरा है? ", "हाँ।"]),
        ("ru", ["См. рис. 3, табл. 2 и стр. 5. ", "Т. е. так и т. д. было, напр. здесь. ", "Да."]),
        ("ru", ["Он жил в 1799 г. в Москве. ", "Да."]),
        ("ru", ["Это XIX в. до нашей эры. ", "«Кто там?» — спросил он. ", "Цена 5 тыс. руб. за штуку. ", "Конец."]),
        ("pl", ["Zob. rys. 3 i tab. 2. ", "Dr. Nowak ur. się w 1990 r. w Warszawie. ", "Mam 5 tys. zł. ", "Tak."]),
        ("de", ["Inkl. MwSt. und exkl. Versand. ", "Prof. Dr. h. c. mult. Meier kam zur Fa. Muster. "]),
        ("de", ["Vgl. Ziff. 3. ", "Ja."]),
        ("it", ["La S.p.A. è qui, v. art. 3 c. 2. ", "Poi va."]),
        ("fr", ["J.-P. Sartre écrivait. ", "Puis il part à 10 h. ", "Fin."]),
        ("es", ["Son las 5 p. m. en punto. ", "Vive en EE. UU. con la Sra. López. ", "Sí."]),
        ("hi", ["डॉ. शर्मा आए। ", "हाँ।"]),
        ("ar", ["جاء د. أحمد. ", "نعم."]),
        ("xx", ["One here. ", "Two here."]),
    ],
)  # fmt: skip
def test_prose(language: str, sentences: list[str]) -> None:
    assert texts("".join(sentences), language=language) == sentences


def test_white_space_belongs_to_the_sentence_before_and_leading_space_to_the_first() -> None:
    assert texts("\r\n  One.  \t Two.\r\n\r\n\r\nThree. \n ") == ["\r\n  One.  \t ", "Two.\r\n\r\n\r\n", "Three. \n "]


def test_wrapped_lines_are_no_sentence_ends() -> None:
    text = (
        "The pump starts when the float rises\nand stops again after some forty\nseconds. Then it waits for the water."
    )
    middle = text.index("Then")
    assert texts(text) == [text[:middle], text[middle:]]


def test_hard_breaks_end_sentences_in_markdown_and_html() -> None:
    assert texts("**Note**  \nIt floods\nat night\\\nOften.", "a.md") == [
        "**Note**  \n",
        "It floods\nat night\\\n",
        "Often.",
    ]
    assert texts("<p>Mill Lane 3<br>London<br>and so on", "a.html") == ["Mill Lane 3\n", "London\nand so on"]
    assert texts("<p>浮球上升<br>水泵启动", "a.html") == ["浮球上升\n", "水泵启动"]
    document = read_source(b"<p>Mill Lane 3<br>London<br>and so on", "a.html")
    for media_type, starts in (("application/epub+zip", [0, 12]), ("text/plain", [0])):
        sentences = split_sentences(replace(document, media_type=media_type), WordCounter(), Limits(), "en")
        assert sentences.starts.tolist() == starts, media_type


def test_wrapped_lines_of_mailboxes_and_notebooks_are_no_sentence_ends() -> None:
    mail = "Subject: Keys\n\nThe deposit is\n25 euros. It is paid to\nAnna.\n"
    kept = ["The deposit is\n25 euros. ", "It is paid to\nAnna."]
    assert texts(mail, "a.eml")[-2:] == kept
    assert texts(f"From a@b.org Mon\n{mail}", "a.mbox")[-2:] == kept
    cell = "The seals lasted\n540 hours  \nLess in salt water."
    book = json.dumps({"cells": [{"cell_type": "markdown", "metadata": {}, "source": cell}], "nbformat": 4})
    assert texts(book, "a.ipynb") == ["The seals lasted\n540 hours  \n", "Less in salt water."]


def test_blocks_are_boundaries_of_the_right_class() -> None:
    text = "# A\n\nOne. Two.\n\n- x. y.\n- z\n\npara\n\n### B\n\nend\n"
    document, sentences = cut(text, "a.md")
    got = [
        (document.text[start:end].strip(), int(boundary), int(level), bool(glue))
        for start, end, boundary, level, glue in zip(
            sentences.starts, sentences.ends, sentences.boundary, sentences.level, sentences.glue, strict=True
        )
    ]
    assert got == [
        ("# A", Structure.HEADING, 1, False),
        ("One.", Structure.PARAGRAPH, 0, True),
        ("Two.", Structure.NONE, 0, False),
        ("- x. y.", Structure.PARAGRAPH, 0, False),
        ("- z", Structure.ITEM, 0, False),
        ("para", Structure.PARAGRAPH, 0, False),
        ("### B", Structure.HEADING, 3, False),
        ("end", Structure.PARAGRAPH, 0, True),
    ]
    assert sentences.block.tolist() == [0, 1, 1, 2, 3, 4, 5, 6]


def test_each_mail_of_a_mailbox_begins_a_document() -> None:
    mails = ["Subject: One\n\nIt ends in May. Yes.\n", "Subject: Two\n\n", "From: a@b.org\n\nNo.\n"]
    document, sentences = cut("".join(f"From a@b.org Mon\n{mail}\n" for mail in mails), "a.mbox")
    texts = [document.text[start:end].strip() for start, end in zip(sentences.starts, sentences.ends, strict=True)]
    assert texts == ["One", "It ends in May.", "Yes.", "Two", "(no subject)", "From: a@b.org", "No."]
    assert sentences.boundary.tolist() == [3, 2, 0, 4, 4, 2, 2]
    assert sentences.level.tolist() == [1, 0, 0, 1, 1, 0, 0]
    # A subject stays with its mail, but not that of a mail of nothing else with the next one.
    assert sentences.glue.tolist() == [False, True, False, False, False, True, False]
    check(document, sentences, Limits())


def test_a_first_paragraph_counts_as_the_begin_of_a_section() -> None:
    _, sentences = cut("One. Two.")
    assert sentences.boundary.tolist() == [Structure.HEADING, Structure.NONE]
    assert sentences.level.tolist() == [1, 0]


def test_a_block_of_marks_belongs_to_the_sentence_before() -> None:
    assert texts("One.\n\n---\n\nTwo.\n\n* * *\n", "a.md") == ["One.\n\n---\n\n", "Two.\n\n* * *\n"]
    assert texts("---\n\nTwo.", "a.md") == ["---\n\n", "Two."]


def test_rows_are_sentences_and_the_header_stays_with_the_first() -> None:
    text = "| a | b |\n|---|---|\n| 1. x | 2 |\n| 3 | 4 |\n"
    assert texts(text, "a.md") == ["| a | b |\n|---|---|\n", "| 1. x | 2 |\n", "| 3 | 4 |\n"]
    _, sentences = cut(text, "a.md")
    assert sentences.glue.tolist() == [False, True, False]
    assert sentences.boundary.tolist() == [Structure.HEADING, Structure.ITEM, Structure.ITEM]


def test_code_is_whole_while_it_fits_one_sentence() -> None:
    code = "```\n" + "x = 1. y\n\n" * 5 + "```"
    assert texts(f"A.\n\n{code}\n\nB.", "a.md") == ["A.\n\n", code + "\n\n", "B."]


def test_larger_code_is_cut_at_lines_and_glued_while_it_fits_a_chunk() -> None:
    code = "```\n" + "".join(f"line {number}\n" for number in range(5)) + "```"
    limits = Limits(max_chars=400, max_tokens=40, sentence_tokens=10)
    document, sentences = cut(f"{code}\n", "a.md", limits=limits)
    assert len(sentences) > 1
    assert all(document.text[end - 1] == "\n" for end in sentences.ends)
    assert sentences.glue.tolist() == [False, *[True] * (len(sentences) - 1)]
    assert set(sentences.boundary[1:].tolist()) == {Structure.ITEM}
    _, released = cut(f"{code}\n", "a.md", limits=Limits(max_chars=400, max_tokens=12, sentence_tokens=10))
    assert not released.glue.any()


def test_code_is_glued_if_it_just_fits_a_chunk_and_not_at_all_if_not() -> None:
    code = "```\n" + "".join(f"line {number} of five\n" for number in range(5)) + "```\n"
    roomy = Limits(max_chars=400, max_tokens=400, sentence_tokens=10)
    _, whole = cut(code, "a.md", limits=roomy)
    tokens, parts = int(whole.tokens.sum()), len(whole)
    assert parts > 2
    for limits, glued in (
        (replace(roomy, max_tokens=tokens), parts - 1),
        (replace(roomy, max_tokens=tokens - 1), 0),
        (replace(roomy, max_chars=len(code)), parts - 1),
        (replace(roomy, max_chars=len(code) - 1), 0),
    ):
        _, found = cut(code, "a.md", limits=limits)
        assert (len(found), found.glue.sum()) == (parts, glued)


def test_code_is_cut_at_blank_lines_first() -> None:
    code = "```\na b c\nd e\n\nf g h\ni j\n```"
    limits = Limits(max_chars=400, max_tokens=40, sentence_tokens=12)
    assert texts(code, "a.md", limits=limits) == ["```\na b c\nd e\n\n", "f g h\ni j\n```"]


def test_headings_stay_with_what_they_head() -> None:
    _, sentences = cut("# A\n\n## B\n\none\n\n## C\n\ntwo\n\n# D\n", "a.md")
    assert sentences.glue.tolist() == [False, True, True, False, True, False]


def test_of_a_chain_of_headings_the_last_stays_with_the_text() -> None:
    text = "# a b c d\n\n## e f g h\n\n### i j k l\n\nm n o p q r\n"
    for most, last in ((14, True), (13, True), (12, False), (11, False)):
        _, sentences = cut(text, "a.md", limits=Limits(max_chars=400, max_tokens=most, sentence_tokens=10))
        assert sentences.tokens.tolist() == [5, 6, 7, 6]
        assert sentences.glue.tolist() == [False, True, False, last]


@pytest.mark.parametrize(("most", "glued"), [(6, True), (5, False)])
def test_a_heading_is_glued_to_a_paragraph_that_it_just_fits_with(most: int, glued: bool) -> None:
    _, sentences = cut("# A\n\nb c d e\n\nf g\n", "a.md", limits=Limits(max_tokens=most, sentence_tokens=5))
    assert sentences.tokens.tolist() == [2, 4, 2]
    assert sentences.glue.tolist() == [False, glued, False]


def test_glue_is_released_where_a_heading_and_its_code_do_not_fit() -> None:
    text = "# a b c\n\n```\nd e f\n```\n"
    _, sentences = cut(text, "a.md", limits=Limits(max_chars=400, max_tokens=10, sentence_tokens=9))
    assert sentences.tokens.tolist() == [4, 9]
    assert sentences.glue.tolist() == [False, False]


def test_a_long_sentence_is_cut_at_its_clauses() -> None:
    text = "When it rises, the pump starts; when it falls again, the pump stops and waits."
    limits = Limits(max_chars=200, max_tokens=20, sentence_tokens=11)
    assert texts(text, limits=limits) == [
        "When it rises, the pump starts; ",
        "when it falls again, the pump stops and waits.",
    ]


def test_a_long_item_is_cut_at_its_sentences() -> None:
    text = "- One two three. Four five six. Seven eight nine.\n- ten"
    limits = Limits(max_chars=200, max_tokens=20, sentence_tokens=10)
    assert texts(text, "a.md", limits=limits) == ["- One two three. Four five six. ", "Seven eight nine.\n", "- ten"]


def test_words_are_cut_only_when_one_alone_is_too_long() -> None:
    text = "lorem " * 400 + "x" * 95 + " end"
    parts = texts(text, limits=SMALL)
    assert all(part.endswith(" ") or set(part) == {"x"} for part in parts[:-1])
    assert [len(part) for part in parts if set(part) <= {"x", " "} and "x" in part][:2] == [40, 40]


@pytest.mark.parametrize("size", [999, 1000, 1001, 1999, 2000])
@pytest.mark.parametrize("space", ["\n", "\n\n", "  "])
def test_white_space_behind_a_word_that_is_cut_is_no_sentence(size: int, space: str) -> None:
    document = read_source(("9" * size + space + "next words").encode(), "a.txt")
    sentences = split_sentences(document, WordCounter(), Limits(), "en")
    parts = [document.text[start:end] for start, end in zip(sentences.starts, sentences.ends, strict=True)]
    assert "".join(parts) == document.text
    assert all(part.strip() and len(part) <= 1000 for part in parts)


def test_letters_keep_their_marks_when_a_word_is_cut() -> None:
    for unit in ("e\u0301", "e\u0301\u0302", "👨\u200d👩", "ก\u0e33", "\U0001f44d\U0001f3fd"):
        for part in texts(unit * 100, limits=SMALL):
            assert part[0] == unit[0]
        found = Cutter(LetterCounter(1), Room(40, 40)).cut(unit * 100, Span(0, 100 * len(unit)))
        most = 40 // len(unit) * len(unit)
        assert {span.start % len(unit) for span, _ in found} == {0}
        assert {span.end - span.start for span, _ in found[:-1]} == {most}


class LetterCounter(WordCounter):
    """Each code point takes as many tokens."""

    def __init__(self, each: int) -> None:
        self._each = each

    def count(self, texts: Sequence[str]) -> IntArray:
        return np.array([self._each * len(text) for text in texts], dtype=np.int64)


@pytest.mark.parametrize(
    ("text", "room", "each", "pieces"),
    [
        # What takes too much as a single letter stays one.
        ("ab c", Room(5, 100), 10, ["a", "b", " ", "c"]),
        # Parts of a word are weighed by their letters wherever it stands.
        ("ab " + "x" * 30, Room(10, 100), 1, ["ab ", "x" * 10, "x" * 10, "x" * 10]),
        # The best place near the middle, not a better one at the beginning.
        ("Ja. " + "word " * 19, Room(60, 100), 1, ["Ja. " + "word " * 9, "word " * 10]),
        ("Ja. " + "word " * 8 + "so; " + "word " * 10, Room(60, 100), 1, ["Ja. " + "word " * 8 + "so; ", "word " * 10]),
        # Marks of the Far East end sentences without white space.
        ("一二三、四五。六七八、九十", Room(10, 100), 1, ["一二三、四五。", "六七八、九十"]),
        ("一二、三API。六七八、九", Room(10, 100), 1, ["一二、三API。", "六七八、九"]),
    ],
)
def test_pieces_of_a_long_text_by_hand(text: str, room: Room, each: int, pieces: list[str]) -> None:
    before = " " * 1000
    found = Cutter(LetterCounter(each), room).cut(before + text, Span(1000, 1000 + len(text)))
    assert [(before + text)[start:end] for (start, end), _ in found] == pieces
    assert [tokens for _, tokens in found] == [each * len(piece) for piece in pieces]


def test_white_space_beyond_the_limit_makes_sentences_of_its_own() -> None:
    parts = texts("One." + " " * 100 + "Two.", limits=SMALL)
    assert parts[0].startswith("One.")
    assert parts[-1] == "Two."
    assert max(map(len, parts)) <= 40


def test_ideographs_without_marks_are_cut_between_any_two() -> None:
    assert {len(part) for part in texts("浮" * 95, language="zh", limits=SMALL)} <= {9, 10}


def test_a_counter_that_weighs_the_whole_more_than_its_words() -> None:
    class Greedy(WordCounter):
        def count(self, texts: Sequence[str]) -> IntArray:
            return super().count(texts) ** 2

    document = read_source(b"a b c d e f g h i j k l m n o p", "a.txt")
    sentences = split_sentences(document, Greedy(), Limits(max_chars=200, max_tokens=16, sentence_tokens=16), "en")
    assert (sentences.tokens <= 16).all()
    assert sentences.ends[-1] == len(document.text)


def test_blank_texts_have_no_sentences() -> None:
    for text in ("", " ", "\n\n\t\r\n", "\f\n"):
        _, sentences = cut(text)
        assert [array.shape for array in (sentences.starts, sentences.ends, sentences.tokens, sentences.glue)] == [
            (0,)
        ] * 4
        assert sentences.starts.dtype == np.int64
        assert sentences.glue.dtype == np.bool_


def test_lone_surrogates_pass_through() -> None:
    document = read_source(b"One two. Three.", "a.txt")
    odd = Document(**{field: getattr(document, field) for field in Document.__slots__} | {"text": "One \udc80. Three."})
    sentences = split_sentences(odd, WordCounter(), Limits(), "en")
    assert sentences.ends[-1] == len(odd.text)


def test_a_paragraph_of_any_length_is_cut_at_every_sentence() -> None:
    parts = ["The pump costs approx. 5.5 units (see Fig. 3). ", "“Yes,” she said. ", "It is at 10 a.m. on Jan. 5. "]
    assert texts("".join(parts * 400)) == [*(parts * 400)[:-1], parts[-1]]


@pytest.mark.parametrize("before", range(385, 401))
def test_what_is_said_in_a_long_paragraph_is_not_cut_wherever_it_stands(before: int) -> None:
    said = ['He said: "One is here. Two are here. Three of them are here now." ', "Then he left."]
    assert texts("".join([*["It rains. "] * before, *said])) == [*["It rains. "] * before, *said]


def test_a_long_line_costs_linear_time() -> None:
    def seconds(words: int) -> float:
        document = read_source(b"lorem " * words, "a.txt")
        start = time.process_time()
        split_sentences(document, WordCounter(), Limits(), "en")
        return time.process_time() - start

    seconds(1_000)
    assert seconds(40_000) < 20 * max(seconds(4_000), 0.01)


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html"])
@pytest.mark.parametrize(
    "unit",
    [" ", "\t", "\n", "a ", ". ", "(", "[x] ", "<", "</a", "> ", "- ", "|", "* ", "`", "&", "'", "\0a", "1. ", "a\r"],
)
def test_no_garbage_costs_more_than_linear_time(name: str, unit: str) -> None:
    start = time.process_time()
    try:
        cut("x" + unit * (30_000 // len(unit)) + "x", name)
    except InputError:
        return
    assert time.process_time() - start < 3


SOURCES = st.one_of(
    st.text(alphabet=st.sampled_from("aB .!?\n\r\t#-*|`>:;,1é浮。ก\u0301\u200d\f\0\"'()[]<&="), max_size=300),
    st.text(max_size=100),
    st.lists(
        st.sampled_from(
            [
                "# A\n\n", "text one. Two!\n", "- item\n", "```\ncode\n```\n", "|a|b|\n|---|---|\n|1|2|\n", "\n", "  ",
                "    x\n", "> q\n", "<p>", "<table><tr><td>1<td>2", "<li>", "<pre>", "word " * 30, "浮球" * 20,
                "x" * 120, "\r\n", "---\n", "1. a\n", "<br>", "<h1>", "</div>", "***\n", "TITLE\n\n",
            ]
        ),
        max_size=25,
    ).map("".join),
)  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(SOURCES, st.sampled_from(["a.txt", "a.md", "a.html"]), st.sampled_from(["en", "de", "zh", "th"]), st.booleans())
def test_sentences_tile_any_text(text: str, name: str, language: str, small: bool) -> None:
    try:
        document = read_source(text.encode("utf-8", "surrogatepass"), name)
    except InputError:
        return
    limits = SMALL if small else Limits()
    check(document, split_sentences(document, WordCounter(), limits, language), limits)
    last = 0
    for block in document.blocks:
        assert last <= block.start < block.end <= len(document.text)
        assert not document.text[last : block.start].strip()
        last = block.end
    assert not document.text[last:].strip()


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["a.txt", "a.md", "a.html", "a.xhtml", "a"]))
def test_any_bytes_are_read_or_refused(data: bytes, name: str) -> None:
    try:
        document = read_source(data, name)
    except InputError as error:
        assert error.message.startswith(f"{name}: ")  # noqa: PT017
        return
    check(document, split_sentences(document, WordCounter(), SMALL, "en"), SMALL)


def test_code_blocks_keep_their_kind() -> None:
    document, sentences = cut("```\na\n```", "a.md")
    assert [document.blocks[block].kind for block in sentences.block] == [BlockKind.CODE]


@pytest.mark.parametrize("rule", ["___", "* * *", "----", "_ _ _", "§§§"])
@pytest.mark.parametrize("name", ["a.md", "a.txt"])
def test_a_rule_of_any_mark_belongs_to_the_sentence_before(rule: str, name: str) -> None:
    text = f"One.\n\n{rule}\n\nTwo.\n"
    document = read_source(text.encode(), name)
    sentences = split_sentences(document, WordCounter(), Limits(), "en")
    assert [text[start:end] for start, end in zip(sentences.starts, sentences.ends, strict=True)] == [
        f"One.\n\n{rule}\n\n",
        "Two.\n",
    ]


TABLE = "| Code | Meaning |\n|---|---|\n| E1 | open |\n| E2 | short |\n"


@pytest.mark.parametrize(
    "caption",
    ["Table 2. Error codes.", "*Tabelle 2: Fehler*", "Tab. 2", "Tableau 2 – Erreurs.", "表2 故障代码", "Error codes"],
)
def test_a_caption_is_one_sentence_and_stays_with_its_table(caption: str) -> None:
    text = f"It stopped.\n\n{caption}\n\n{TABLE}"
    document, sentences = cut(text, "a.md")
    assert texts(text, "a.md")[:3] == ["It stopped.\n\n", f"{caption}\n\n", "| Code | Meaning |\n|---|---|\n"]
    assert sentences.glue.tolist() == [False, False, True, True, False]
    check(document, sentences, Limits())


@pytest.mark.parametrize(
    "line",
    ["See below.", "Tablets 3 times a day.", "It says:", "One line\nand one more", "See table 2 for the errors."],
)
def test_a_sentence_over_a_table_is_no_caption(line: str) -> None:
    document, sentences = cut(f"{line}\n\n{TABLE}", "a.md")
    header = document.text.index("| Code")
    assert not sentences.glue[sentences.starts.tolist().index(header)]


def test_a_numbered_caption_stays_with_the_rows_of_plain_text() -> None:
    rows = "Model     Speed\nTX-400    152 mm/s\nTX-500    102 mm/s\n"
    for caption, stays in (("Table 1 - Speed. All models.", True), ("Speed of all models", False)):
        _, sentences = cut(f"It is fast.\n\n{caption}\n\n{rows}")
        assert sentences.glue.tolist() == [False, False, stays, False, False]
