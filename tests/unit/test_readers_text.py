from __future__ import annotations

import textwrap

import pytest

from idc_local.readers import read_source
from idc_local.types import Document

PROSE = (
    "The pump starts when the float rises above the upper mark and stops again after forty seconds, unless the water "
    "keeps coming in. A worn float sticks and floods the cellar, which is why it has to be looked at every year."
)


def read(text: str, name: str = "a.txt") -> Document:
    return read_source(text.encode(), name)


def shape(text: str) -> list[tuple[str, str]]:
    document = read(text)
    assert document.text == text
    return [(block.kind.value, text[block.start : block.end]) for block in document.blocks]


def headings(text: str) -> list[tuple[int, str]]:
    return [(block.level, block.headings[-1]) for block in read(text).blocks if block.kind.value == "heading"]


def test_blank_lines_part_paragraphs_and_offsets_are_exact_with_crlf() -> None:
    text = "One two.\r\nThree four.\r\n \t\r\nFive.\r\n"
    assert shape(text) == [("paragraph", "One two."), ("paragraph", "Three four."), ("paragraph", "Five.")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_hard_wrapped_lines_are_one_paragraph(end: str) -> None:
    wrapped = end.join(textwrap.wrap(PROSE, 60))
    assert shape(wrapped + end + end + wrapped) == [("paragraph", wrapped), ("paragraph", wrapped)]


def test_wrapped_lines_of_unlike_length_are_known_by_their_lower_case() -> None:
    text = "The pump starts when the float\nrises above the upper mark and it\nstops again."
    assert shape(text) == [("paragraph", text)]


def test_long_lines_are_paragraphs() -> None:
    first, second = PROSE, PROSE.replace("cellar", "garage") + " So it is."
    assert shape(f"{first}\n{second}\n") == [("paragraph", first), ("paragraph", second)]


def test_a_run_of_short_lines_is_a_list() -> None:
    assert shape("Ada Lovelace\n12 High Street\nLondon\n\n" + PROSE)[:3] == [
        ("list_item", "Ada Lovelace"),
        ("list_item", "12 High Street"),
        ("list_item", "London"),
    ]


def test_list_items_stay_apart() -> None:
    text = "Do this:\n\n- power off\n- drain the tank\n\n1. open\n2. close\n\n(a) first\n\n(b) second"
    assert shape(text) == [
        ("paragraph", "Do this:"),
        ("list_item", "- power off"),
        ("list_item", "- drain the tank"),
        ("list_item", "1. open"),
        ("list_item", "2. close"),
        ("list_item", "(a) first"),
        ("list_item", "(b) second"),
    ]


def test_wrapped_items_keep_their_lines() -> None:
    item = "- " + "\n  ".join(textwrap.wrap(PROSE, 58))
    assert shape(f"{item}\n{item}") == [("list_item", item), ("list_item", item)]


def test_a_number_that_a_wrap_has_put_first_begins_no_item() -> None:
    text = (
        "The pump was built by the same people in the cellar of house number\n12. Nobody has looked at it since then."
    )
    assert shape(text) == [("paragraph", text)]


def test_only_items_of_one_kind_and_column_follow_each_other_without_an_end() -> None:
    text = "b) The work must carry notices that it is released under section\n    7.  This requirement is new to us all"
    assert shape(text) == [("list_item", text)]


def test_a_ruled_title_may_stand_right_above_its_text() -> None:
    assert headings(f"{PROSE}\n\nOverview\n========\n{PROSE}") == [(1, "Overview")]


def test_speaker_turns_are_paragraphs_even_in_wrapped_text() -> None:
    turn = "\n".join(textwrap.wrap("Mary Smith: " + PROSE, 60))
    assert shape(f"{turn}\n{turn}") == [("paragraph", turn), ("paragraph", turn)]


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("3.2 Termination", 3),
        ("3. Termination", 2),
        ("IV. Results", 2),
        ("Article 5 Payment", 2),
        ("Chapter 3", 2),
        ("TERMS OF DELIVERY", 2),
        ("Materials and Methods", 3),
        ("== Gameplay ==", 2),
        (" = = Gameplay = = ", 2),
        ("## Setup", 2),
        ("Overview\n========", 1),
        ("Overview\n--------", 2),
        ("========\nOverview\n========", 1),
        ("4. Conveying Verbatim Copies.", 2),
        ("水泵维护", 3),
    ],
)
def test_sure_headings(line: str, level: int) -> None:
    text = f"{PROSE}\n\n{line}\n\n{PROSE}\n"
    assert [found for found, _ in headings(text)] == [level]


@pytest.mark.parametrize(
    "line",
    [
        "He was gone.",
        "and so it went on",
        "Name: Ada",
        "1 Eligibility ................... 2",
        "EMBO J 1992 11 1 6 1740100",
        "https://example.org/a",
        "-----------",
        "12.5 %",
        "He said nothing at all and went home to his wife and the children that evening",
    ],
)
def test_lines_that_are_no_headings(line: str) -> None:
    assert headings(f"{PROSE}\n\n{line}\n\n{PROSE}\n") == []


def test_a_running_head_inside_a_sentence_is_no_heading() -> None:
    assert headings(f"{PROSE}\n\nthe float rises and\n\nAnnual Report of the Works\n\nstops {PROSE}") == []


def test_a_numbered_list_with_blank_lines_has_no_headings() -> None:
    assert headings(f"{PROSE}\n\n1. Open the valve\n\n2. Close it\n\n3. Wait\n\nDone.") == []


def test_a_last_line_heads_nothing() -> None:
    assert headings(f"{PROSE}\n\nYours Sincerely") == []


def test_the_first_line_is_a_title_above_everything() -> None:
    document = read(f"A Guide to the Pump\n\n1 Setup\n\n{PROSE}\n\n1.1 Parts\n\n{PROSE}\n\n2 Use\n\n{PROSE}")
    assert [block.headings for block in document.blocks if block.kind.value == "paragraph"] == [
        ("A Guide to the Pump", "1 Setup", "1.1 Parts")[:2],
        ("A Guide to the Pump", "1 Setup", "1.1 Parts"),
        ("A Guide to the Pump", "2 Use"),
    ]


def test_a_text_without_blank_lines_has_headings_too() -> None:
    text = f" = Pump = \n {PROSE} \n = = Use = = \n {PROSE} \n {PROSE} \n"
    assert [kind for kind, _ in shape(text)] == ["heading", "paragraph", "heading", "paragraph", "paragraph"]
    assert headings(text) == [(1, "Pump"), (2, "Use")]


def test_form_feeds_begin_pages_and_paragraphs() -> None:
    document = read("One two.\f\nThree.\n\fFour.")
    assert [document.text[block.start : block.end] for block in document.blocks] == ["One two.", "Three.", "Four."]
    assert [document.page_at(block.start) for block in document.blocks] == ["1", "2", "3"]
    assert read("One.\n\f\n").pages == ()
    assert read("One.").page_at(0) is None


def test_lines_are_counted_for_every_kind_of_line_end() -> None:
    document = read("a\nb\r\nc\rd")
    assert document.lines == ((0, 1), (2, 2), (5, 3), (7, 4))
    assert document.line_at(6) == 3
    assert read("").lines == ((0, 1),)


def test_blank_texts_have_no_blocks() -> None:
    assert [read(text).blocks for text in ("", " \n\t\r\n\f ", "\u3000\n")] == [(), (), ()]


def test_chapters_of_many_languages_are_siblings_also_when_one_comes_first() -> None:
    for first, second in [
        ("Chapter 1", "Chapter 2"),
        ("CHAPTER ONE", "CHAPTER TWO"),
        ("Kapitel 1 Aufbau", "Kapitel 2 Wartung"),
        ("TOP 1: Kassenbericht", "TOP 2: Wahlen"),
        ("Chapter 1: Set-up", "Chapter 2: Care"),
        ("SCHEDULE 1: PRICES", "SCHEDULE 2: SAMPLING"),
        ("Глава 1. Устройство", "Глава 2. Уход"),
        ("Artículo 1", "Artículo 2"),
        ("第一章 总则", "第二章 维护"),
        ("第1章 使い方", "第2章 保守"),
        ("제1장 사용", "제2장 유지"),
    ]:
        text = f"{first}\n\nAll is well here.\n\n{second}\n\nAll is well there.\n"
        assert [block.headings for block in read(text).blocks] == [(first,)] * 2 + [(second,)] * 2, first


def test_words_that_only_begin_like_a_chapter_head_nothing() -> None:
    for line in ("Teil der Anlage", "Partie de campagne", "Часть речи", "第一 人称"):
        text = f"{'All is well here. ' * 6}\n\n{line}\n\nAll is well.\n"
        assert [block.kind.value for block in read(text).blocks] == ["paragraph"] * 3, line


def test_han_numbers_head_sections_whether_blank_lines_part_them_or_not() -> None:
    notice = [
        "一、门禁卡",
        "1. 员工须换新卡。",
        "2. 旧卡停用。",
        "二、预算",
        "（一）设备费",
        "预算为三十万元。",
        "（二）差旅费",
        "上限为八万元。",
    ]
    paths = [
        ("一、门禁卡",),
        ("一、门禁卡",),
        ("一、门禁卡",),
        ("二、预算",),
        ("二、预算", "（一）设备费"),
        ("二、预算", "（一）设备费"),
        ("二、预算", "（二）差旅费"),
        ("二、预算", "（二）差旅费"),
    ]
    for between in ("\n", "\n\n", "\r\n"):
        document = read(f"{notice[0]}{between}" + between.join(notice[1:]) + "\n")
        assert [block.headings for block in document.blocks] == paths, between


def test_han_numbers_of_short_lines_and_of_sentences_are_a_list() -> None:
    for text in (
        "一、买米\n二、买菜\n三、买油\n",
        "一、卡不得转借。\n二、卡须归还。\n三、违者罚款。\n",
        "一、买米\n\n二、买菜\n\n三、买油\n",
    ):
        document = read(f"购物须知如下，请各位遵守：\n\n{text}")
        assert [block.kind.value for block in document.blocks if block.kind.value == "heading"] == [], text
    assert [block.kind.value for block in read("十分感谢。\n\n一、二年级放假。\n").blocks] == ["paragraph"] * 2


def test_place_and_date_above_a_line_to_sign_on_head_nothing() -> None:
    for place in ("Bristol, 14 February 2025", "Leipzig, den 3. Februar 2025", "Signed by the Tenant"):
        for line in (f"{'_' * 30}   {'_' * 30}\nfor the Employer    the Employee", f"{'.' * 80}\nAnna Berg"):
            assert headings(f"{PROSE}\n\n{place}\n\n{line}\n") == [], place
    assert headings(f"{PROSE}\n\nPlaces to sign\n\n{PROSE}\n") == [(3, "Places to sign")]


def test_a_title_is_one_line_of_single_spaces() -> None:
    text = "1.  General   terms\n\nAll is well.\n\n1.1\tMore\n\nAll is well.\n"
    document = read(text)
    assert document.blocks[-1].headings == ("1. General terms", "1.1 More")
    assert document.text[document.blocks[0].start : document.blocks[0].end] == "1.  General   terms"


def test_capitals_over_deeper_lines_are_headings_as_in_manual_pages() -> None:
    text = (
        "NAME\n       foo - do a thing\n\nOPTIONS\n       -v   say more\n\n       -q   say less\n\nA LINE\nand more\n"
    )
    assert headings(text) == [(2, "NAME"), (2, "OPTIONS")]
    assert shape(text) == [
        ("heading", "NAME"),
        ("paragraph", "foo - do a thing"),
        ("heading", "OPTIONS"),
        ("paragraph", "-v   say more"),
        ("paragraph", "-q   say less"),
        ("paragraph", "A LINE"),
        ("paragraph", "and more"),
    ]


def test_marks_of_items_in_rfcs_and_in_east_asia() -> None:
    text = (
        "o  retry: how often it is tried\n   again\n\no  timeout\n\n（一）检查电源；\n（二）检查阀门。\n\n"
        "① 电源\n② 阀门\n\no homem saiu.\n"
    )
    assert shape(text) == [
        ("list_item", "o  retry: how often it is tried\n   again"),
        ("list_item", "o  timeout"),
        ("list_item", "（一）检查电源；"),
        ("list_item", "（二）检查阀门。"),
        ("list_item", "① 电源"),
        ("list_item", "② 阀门"),
        ("paragraph", "o homem saiu."),
    ]


def test_turns_of_a_chat_are_parted_whatever_stands_before_the_name() -> None:
    for turns in (
        ["[2026-01-02, 09:15] Anna: Hi Bob, did you get the keys?", "[2026-01-02, 09:16] Bob: Yes, they are there."],
        ["02/01/2026, 09:18 - Anna: Where is the password?", "02/01/2026, 09:19 - Bob Lee: It is on the wall."],
        ["1/2/26, 9:18 PM - Anna: Where is the password?", "1/2/26, 9:19 PM - Bob Lee: It is on the wall."],
        ["[10:15:02] Anna: Hi Bob, did you get the keys?", "[10:15:09] Bob: Yes, they are under the mat."],
        ["12.06.24, 18:06 - +49 170 1234567: when do we meet?", "12.06.24, 18:09 - Ольга: at nine by the old mill"],
        ["\u200e[12/06/2024, 18:02:11] ~ mira: did you book?", "[12/06/2024, 18:02:40] 李敏: not yet, so call them"],
        ["12/06/2024, 18:00 - You were added by the owner", "12/06/2024, 18:09 - jonas: so I was, as it seems"],
        ["<alice> did anyone of you look at the pump yet?", "<@bob_> yes, it runs again since ten o'clock"],
    ):
        text = "\n".join([*turns, "and it was wet,", *turns])
        assert [words for _, words in shape(text)][-1] == turns[-1], turns
        assert sum(words.startswith(turns[0]) for _, words in shape(text)) == 2, turns


LETTER = (
    "Dr. Alan Frost\n"
    "Northgate Hospital\n"
    "Dear Dr Frost,\n"
    "Thank you for seeing Mrs Grant about the pain in her hands. Since then she has taken\n"
    "methotrexate once a week, and her blood counts have stayed within the normal range.\n"
    "The stiffness in the morning lasts about twenty minutes.\n"
    "Kind regards,\n"
    "Dr Helen Marsh\n"
)


def test_a_wrapped_paragraph_among_short_lines_is_one_paragraph() -> None:
    lines = LETTER.splitlines()
    assert shape(LETTER) == [
        *[("list_item", line) for line in lines[:3]],
        ("paragraph", "\n".join(lines[3:6])),
        *[("list_item", line) for line in lines[6:]],
    ]


def test_a_line_without_room_for_the_next_word_goes_on_in_capitals_too() -> None:
    full = "The deposit is returned within ten working days after the Return"
    text = (
        f"Deposit\n{full}\nDate, less damage.\nInterest\n"
        "Interest accrues daily at the rate that is set by the Bank of\nEngland.\nNotices\nIn writing.\nBy post.\n"
    )
    assert [part for _, part in shape(text)] == [
        "Deposit",
        f"{full}\nDate, less damage.",
        "Interest",
        "Interest accrues daily at the rate that is set by the Bank of\nEngland.",
        "Notices",
        "In writing.",
        "By post.",
    ]


def test_a_line_with_room_for_the_next_word_was_ended_on_purpose() -> None:
    text = (
        "Payment falls due within fourteen days of the date of each of the\ninvoices.\n"
        "Owner of the equipment and of all its spare parts\nHollins Plant\nHirer\nMarwood Farm\nGuarantor\nNone\n"
    )
    parts = [part for _, part in shape(text)]
    assert parts[0] == "Payment falls due within fourteen days of the date of each of the\ninvoices."
    assert parts[1:] == [
        "Owner of the equipment and of all its spare parts",
        "Hollins Plant",
        "Hirer",
        "Marwood Farm",
        "Guarantor",
        "None",
    ]


def test_lines_are_not_joined_where_lines_are_paragraphs() -> None:
    title = "Figure 1 Similarity levels for comparisons of genes from two of the"
    text = f"{title}\nRelated genomes\nBelow\nAbove\n"
    assert shape(text)[0] == ("paragraph", f"{title}\nRelated genomes")
    assert shape(f"{text}\n{PROSE}\n")[0] == ("list_item", title)


def test_clauses_and_speakers_begin_a_part_though_the_line_before_is_full() -> None:
    long = "The hirer keeps it under cover at night and asks before he moves the"
    text = f"{long}\nexcavator\n{long}\n1.2 Oil is checked\n{long}\nOwner: agreed\nYes\nNo\n"
    assert [part for _, part in shape(text)] == [
        f"{long}\nexcavator",
        long,
        "1.2 Oil is checked",
        long,
        "Owner: agreed",
        "Yes",
        "No",
    ]


AGREEMENT = (
    "1. Definitions\n"
    '1.1 "Equipment" means the items in Schedule A.\n'
    '1.2 "Owner" means the Society.\n'
    "\n"
    "2. Care of the Equipment\n"
    "2.1 The Hirer shall\n"
    "(a) keep it dry;\n"
    "\n"
    "Schedule A: Equipment\n"
    "Item 1: Water\n"
    "Item 2: Fuel\n"
)


def test_numbered_titles_right_above_their_clauses_are_headings() -> None:
    assert headings(AGREEMENT) == [
        (2, "1. Definitions"),
        (2, "2. Care of the Equipment"),
        (2, "Schedule A: Equipment"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "1. Milk\n2. Bread\n3. Eggs\n",
        "1. Milk\nfull fat\n2. Bread\nsliced\n",
        "1. Heat the oven.\nUse the fan.\nWait.\n",
        "1. The pump that the owner of the house has built\nby himself stands in the cellar.\n",
    ],
)
def test_the_first_of_a_list_is_no_heading(text: str) -> None:
    assert headings(f"{PROSE}\n\n{text}") == []


@pytest.mark.parametrize("line", ["3 June 2024", "3. Juni 2024", "3. de junio de 2024", "12 Quarry Lane"])
def test_dates_and_houses_head_no_short_lines(line: str) -> None:
    address = "Peak Valley Water\nCustomer Service\nDerby\n"
    assert headings(f"{PROSE}\n\n{line}\n\n{address}") == []
    assert headings(f"{PROSE}\n\n{line}\n{address}") == []


def test_a_sure_title_may_stand_over_short_lines() -> None:
    text = "PLUM CAKE\n\n* 500 g plums\n* 3 eggs\n\nLANGUAGES\n\nItalian\n\nPlums and cakes\n\n* one\n* two\n"
    assert headings(f"{PROSE}\n\n{text}") == [(2, "PLUM CAKE")]


def test_a_table_is_its_rows_and_its_head_no_heading() -> None:
    text = (
        "Qty   Description              Amount\n"
        "-------------------------------------\n"
        "  6   LED panel, 36 W          252.00\n"
        "  9   Labour, hours, with      432.00\n"
        "      travel\n"
        "      TOTAL                    684.00\n"
    )
    assert headings(text) == []
    assert [part.split() for _, part in shape(text)][2:] == [
        ["6", "LED", "panel,", "36", "W", "252.00"],
        ["9", "Labour,", "hours,", "with", "432.00", "travel"],
        ["TOTAL", "684.00"],
    ]


def test_a_title_of_two_columns_may_be_ruled() -> None:
    title = "TX-400 PRINTER          QUICK GUIDE\n==================================="
    assert headings(f"{title}\n{PROSE}\n") == [(1, "TX-400 PRINTER QUICK GUIDE")]
