"""Questions without a model: what a heading speaks of, what a sentence defines, and what names nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local.heuristics import heading_question, heading_topic, heuristic_intents
from idc_local.intents import plan_windows
from tests.unit.test_intents import GUIDE, read

ASK = "What does the document say about "


def questions(text: str, path: str = "a.md", language: str = "en") -> list[str]:
    document, sentences, _ = read(text, path)
    return [found for _, found in heuristic_intents(document, sentences, plan_windows(document, sentences), language)]


def test_by_hand() -> None:
    document, sentences, _ = read(GUIDE)
    windows = plan_windows(document, sentences)
    assert heuristic_intents(document, sentences, windows, "en") == [
        (0, f"{ASK}Pump guide?"),
        (0, "What is a pump?"),
        (1, f"{ASK}seal?"),
        (2, f"{ASK}winter?"),
    ]
    assert heuristic_intents(document, sentences, windows, "de") == [(0, "Pump guide"), (1, "Seal"), (2, "Winter")]
    assert heuristic_intents(*read("", "a.txt")[:2], (), "en") == []


def test_a_question_is_asked_once() -> None:
    section = "## Winter\n\nEmpty the pump before the first frost of the year, and note the day.\n\n"
    assert questions(section + section.replace("pump", "tank")) == [f"{ASK}winter?"]


@pytest.mark.parametrize(
    ("heading", "topic"),
    [
        ("1.       DEFINITIONS", "DEFINITIONS"),
        ("3.1 The probe", "The probe"),
        ("2) Winter", "Winter"),
        ("(a) Notice", "Notice"),
        ("IV. Liability:", "Liability"),
        ("§ 12 Kündigung", "Kündigung"),
        ("Item 3. Porous impellers", "Porous impellers"),
        ("Section 4: Fees", "Fees"),
        ("Appendix B – Forms", "Forms"),
        ("二、采摘", "采摘"),
        ("茶", "茶"),
        ('<a id="seal"></a>Seal <small>(old)</small>', "Seal (old)"),
        ("[Install](https://example.org) `pump` on **Linux** {#install}", "Install pump on Linux"),
        ("![logo](x.png) Guide", "logo Guide"),
        ("Rent\u00a0 and\tdeposit —", "Rent and deposit"),
        (".NET on Linux", ".NET on Linux"),
        ("3.5.0 (15 September 2025)", "3.5.0 (15 September 2025)"),
        ("3 ways to stop", "3 ways to stop"),
        ("5G networks", "5G networks"),
        ("2024", ""),
        ("* * *", ""),
        ("a", ""),
        ("word " * 30, ""),
    ],
)
def test_what_a_heading_speaks_of(heading: str, topic: str) -> None:
    assert heading_topic(heading) == topic


def test_one_word_in_capitals_is_a_heading_only_where_the_text_says_so() -> None:
    assert heading_topic("WHEREAS", guessed=True) == ""
    assert heading_topic("WHEREAS:", guessed=True) == ""
    assert heading_topic("API") == "API"
    assert heading_topic("2. RENT", guessed=True) == "RENT"
    assert heading_topic("SUPPLY AGREEMENT", guessed=True) == "SUPPLY AGREEMENT"
    legal = "WHEREAS\n\nThe Supplier makes pumps and the Buyer wants to buy them for its houses at a fair price.\n"
    assert questions(legal, "a.txt") == []


@pytest.mark.parametrize(
    ("topic", "question"),
    [
        ("The seal", f"{ASK}the seal?"),
        ("Seal", f"{ASK}seal?"),
        ("Harrow Lane", f"{ASK}Harrow Lane?"),
        ("SUPPLY AGREEMENT", f"{ASK}supply agreement?"),
        ("DEFINITIONS", f"{ASK}definitions?"),
        ("API", f"{ASK}API?"),
        ("MODEM", f"{ASK}MODEM?"),
        ("NOTICE", f"{ASK}notice?"),
        ("IR-0417", f"{ASK}IR-0417?"),
        ("About this manual", f"{ASK}this manual?"),
        ("How to reset the alarm", "How to reset the alarm?"),
        ("Who pays?", "Who pays?"),
        ("What", f"{ASK}what?"),
    ],
)
def test_a_topic_as_a_question(topic: str, question: str) -> None:
    assert heading_question(topic) == question


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("A webhook is a call that the gateway makes.", "What is a webhook?"),
        ("**Float F1** is the lowest of the three floats.", "What is Float F1?"),
        ("The red card is a record of the first start.", "What is the red card?"),
        ("Pumps are the heart of the whole installation.", "What are Pumps?"),
        ("API is a set of calls that programs make.", "What is API?"),
        ("Its graph is a curve that rises slowly to the right.", None),
        ("Another option is a larger pump with two wheels.", None),
        ("Each owner is a member of the association here.", None),
        ("Such a pump is the exception in these houses.", None),
        ("The other is a float that sits above the first.", None),
        ("This is a pump which moves water out of the pit.", None),
        ("The reason for this is a leak in the outer ring.", None),
        ("WHEREAS is the word that opens the recitals here.", None),
        ("MODEM is a device that speaks over telephone lines.", "What is MODEM?"),
        ("LESSOR is the party that owns the whole building.", None),
        ("A pump stands in the pit and waits for the water.", None),
    ],
)
def test_what_a_sentence_defines(sentence: str, question: str | None) -> None:
    text = f"{sentence} It has been so for a very long time in this house.\n"
    assert questions(text) == ([question] if question else [])


@given(st.text(max_size=200))
def test_any_heading_gives_one_line_or_nothing(heading: str) -> None:
    topic = heading_topic(heading)
    assert topic == topic.strip()
    assert "\n" not in topic
    assert not topic or heading_question(topic).endswith("?")
