"""What is asked about, how, and what of a model's reply is a question."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files as package_files
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local.intents import (
    ASKED_PER_QUESTION,
    choose_sources,
    parse_prompt,
    parse_reply,
    plan_windows,
    question_budget,
    source_prompt,
)
from idc_local.readers import read_source
from idc_local.sentences import split_sentences
from idc_local.types import Document, FloatArray, Limits, Sentences
from tests.fakes import HashEmbedder, WordCounter

GUIDE = """# Pump guide

A pump is a machine that moves water from a lower place to a higher one. It needs little care over the years.

## Seal

Replace the seal every 4,000 hours of work in clean water. Use only the original seal of the maker for this.

```
seal --replace --force --all-the-seals-of-the-pump
```

| part | hours of work until it must be replaced |
|---|---|
| seal of the inlet of the pump | four thousand hours |

## Winter

Empty the pump before the first frost of the year. Water that freezes inside will break the housing of the pump.
"""


def read(text: str, name: str = "a.md", language: str = "en") -> tuple[Document, Sentences, FloatArray]:
    document = read_source(text.encode(), name)
    sentences = split_sentences(document, WordCounter(), Limits(), language)
    spans = zip(sentences.starts.tolist(), sentences.ends.tolist(), strict=True)
    return document, sentences, HashEmbedder().encode_documents([document.text[start:end] for start, end in spans])


def prose(count: int) -> str:
    """So many sentences of 60 to 80 characters in paragraphs of five."""
    lines = [
        f"Item number {place} of the long list is kept in the cellar below the old house." for place in range(count)
    ]
    return "\n\n".join(" ".join(lines[start : start + 5]) for start in range(0, count, 5))


def test_budget_by_hand() -> None:
    assert [question_budget(count) for count in (0, 1, 3, 12, 30, 65, 99, 100, 250, 400, 1600, 40000)] == (
        [0, 1, 1, 4, 10, 12, 15, 15, 26, 37, 74, 370]
    )


@given(st.integers(0, 5000))
def test_budget_never_falls_and_grows_less_than_the_text(count: int) -> None:
    assert question_budget(count) <= question_budget(count + 1) <= count + 1
    if count >= 400:
        assert question_budget(4 * count) <= 2 * question_budget(count) + 1


@given(
    st.lists(
        st.sampled_from(["# Head\n\n", "Short one. ", "A longer sentence about pumps and water. ", "\n\n", "- item\n"]),
        max_size=60,
    )
)
def test_windows_are_apart_in_order_and_small(parts: list[str]) -> None:
    document, sentences, _ = read("".join(parts))
    windows = plan_windows(document, sentences)
    for window in windows:
        assert (window.start, window.end) == (sentences.starts[window.first], sentences.ends[window.last - 1])
        assert window.end - window.start <= 900
        assert sum(char.isalpha() for char in document.text[window.start : window.end]) >= 40
    assert all(before.last <= after.first for before, after in pairwise(windows))
    assert windows == plan_windows(document, sentences)


def test_windows_begin_at_headings() -> None:
    document, sentences, _ = read(GUIDE)
    begins = [document.text[window.start : window.end].strip()[:12] for window in plan_windows(document, sentences)]
    assert begins == ["# Pump guide", "## Seal\n\nRep", "## Winter\n\nE"]


@pytest.mark.parametrize(("count", "windows"), [(6, [(0, 6)]), (12, [(0, 6), (6, 12)]), (13, [(0, 6), (6, 13)])])
def test_a_window_has_six_sentences_and_a_short_rest(count: int, windows: list[tuple[int, int]]) -> None:
    document, sentences, _ = read(prose(count), "a.txt")
    assert [(window.first, window.last) for window in plan_windows(document, sentences)] == windows


def test_window_keys_follow_text_and_headings_not_the_place() -> None:
    plain = "Replace the seal every 4,000 hours of work in clean water, and note it down."
    keys = [
        plan_windows(*read(text)[:2])[-1].key
        for text in (
            f"# A\n\n{plain}",
            f"# A\n\nSomething of forty letters stands before this here.\n\n# A\n\n{plain}\n\n",
            f"# B\n\n{plain}",
        )
    ]
    assert keys[0] == keys[1] != keys[2]


def test_sources_are_sentences_of_prose_spread_over_the_document() -> None:
    document, sentences, vectors = read(GUIDE)
    windows = plan_windows(document, sentences)
    sources = choose_sources(document, sentences, windows, vectors)
    texts = [document.text[sentences.starts[one.sentence] : sentences.ends[one.sentence]].strip() for one in sources]
    assert {text[:5] for text in texts} == {"A pum", "It ne", "Repla", "Use o", "Empty", "Water"}
    assert all(windows[one.window].first <= one.sentence < windows[one.window].last for one in sources)


def test_the_header_of_a_mail_is_not_asked_about() -> None:
    mail = (
        "# Plumber\n\nFrom: Tom Reed <tom@example.org>\nTo: Ada Lind <ada@example.org>\nDate: 4 May 2026\n\n"
        "The plumber comes on Monday morning and needs the key of the cellar.\n"
    )
    document, sentences, vectors = read(mail)
    sources = choose_sources(document, sentences, plan_windows(document, sentences), vectors)
    texts = [document.text[sentences.starts[one.sentence] : sentences.ends[one.sentence]].strip() for one in sources]
    assert texts == ["The plumber comes on Monday morning and needs the key of the cellar."]


@pytest.mark.parametrize(("figures", "asked"), [("10 20 30 40 50 60 70", True), ("10 20 30 40 50 60 70 80 90", False)])
def test_a_line_of_figures_is_not_asked_about(figures: str, asked: bool) -> None:
    # 26 letters and a comma beside 14 figures are 63 % letters, beside 18 figures 58 %.
    text = f"The pump is looked after by the caretaker of the house.\n\nHours of pumps, seals and valves {figures}\n"
    document, sentences, vectors = read(text)
    sources = choose_sources(document, sentences, plan_windows(document, sentences), vectors)
    assert [source.sentence for source in sources] == ([0, 1] if asked else [0])


def test_windows_with_much_to_ask_about_are_asked_on_where_others_have_no_more() -> None:
    one, two, three = (
        f"The {name} stands in the cellar of the old brick house. " for name in ("pump", "tank", "boiler")
    )
    document, sentences, vectors = read(f"# A\n\n{one}\n\n# B\n\n{two}{three}\n")
    sources = choose_sources(document, sentences, plan_windows(document, sentences), vectors)
    assert [(source.window, source.sentence) for source in sources] == [(0, 1), (1, 3), (1, 4)]


def test_windows_next_to_chosen_ones_come_last() -> None:
    text = "".join(
        f"# Part {number}\n\nThis is what the part says that has the number {number}.\n\n" for number in range(450)
    )
    document, sentences, vectors = read(text)
    windows = plan_windows(document, sentences)
    assert (len(windows), len(sentences)) == (450, 900)
    apart: list[int] = []
    for place in sorted(range(450), key=lambda place: windows[place].key):
        if all(abs(place - other) > 1 for other in apart):
            apart.append(place)
    sources = choose_sources(document, sentences, windows, vectors)
    # 2.2 · 56 questions; no choice of windows that are apart, to which none can be added, has less than a third.
    assert [source.window for source in sources] == sorted(apart[:124])


def test_a_text_without_blocks_is_asked_about_all_the_same() -> None:
    document, sentences, vectors = read(prose(3), "a.txt")
    bare = replace(document, blocks=())
    windows = plan_windows(bare, sentences)
    assert [(window.first, window.last) for window in windows] == [(0, 3)]
    assert [source.sentence for source in choose_sources(bare, sentences, windows, vectors)] == [0, 1, 2]
    assert source_prompt(bare, sentences, 1, parse_prompt("Text{passage}\n")) == (
        ": Item number 1 of the long list is kept in the cellar below the old house."
    )


@pytest.mark.parametrize("count", [1, 7, 40, 130])
def test_number_of_sources(count: int) -> None:
    document, sentences, vectors = read(prose(count), "a.txt")
    sources = choose_sources(document, sentences, plan_windows(document, sentences), vectors)
    assert len(sources) == min(count, int(np.ceil(ASKED_PER_QUESTION * question_budget(count))))
    assert len(set(sources)) == len(sources)
    assert [one.sentence for one in sources] == sorted(one.sentence for one in sources)


def test_every_window_is_asked_before_any_is_asked_twice() -> None:
    document, sentences, vectors = read(prose(400), "a.txt")
    windows = plan_windows(document, sentences)
    sources = choose_sources(document, sentences, windows, vectors)
    numbers = [one.window for one in sources]
    assert set(numbers) == set(range(len(windows)))
    assert max(map(numbers.count, numbers)) == 2


def test_the_sentence_nearest_to_the_mean_is_asked_first_and_a_long_one_last() -> None:
    long = "This very long sentence " + "goes on and on " * 20 + "until it ends."
    part = f"The first short sentence of the paragraph. The second short sentence here. {long}"
    document, sentences, _ = read("\n\n".join(f"# Part {number}\n\n{part}" for number in range(20)))
    windows = plan_windows(document, sentences)
    # Of each part the heading, which is not asked about, the first and the second short sentence, and the long one.
    vectors = np.tile(np.array([[0.6, 0.8], [1, 0], [0.6, 0.8], [0.6, 0.8]], dtype=np.float32), (20, 1))
    sources = choose_sources(document, sentences, windows, vectors)
    assert len(sources) == 31  # 2.2 · 14 questions
    kinds = [one.sentence % 4 for one in sources]
    assert (kinds.count(0), kinds.count(1), kinds.count(2), kinds.count(3)) == (0, 11, 20, 0)
    assert choose_sources(document, sentences, windows[:0], vectors) == ()


def test_an_edit_changes_the_choice_only_nearby() -> None:
    before = read(prose(300), "a.txt")
    after = read(prose(300).replace("Item number 150 of", "Item number 150, which is new, of"), "a.txt")
    chosen = []
    for document, sentences, vectors in (before, after):
        sources = choose_sources(document, sentences, plan_windows(document, sentences), vectors)
        chosen.append({document.text[sentences.starts[s.sentence] : sentences.ends[s.sentence]] for s in sources})
    assert len(chosen[0] - chosen[1]) <= 6


def test_prompt_of_a_sentence() -> None:
    document, sentences, _ = read(GUIDE)
    prompt = parse_prompt("Text: x\nQuestion: What is x?\n\nText{passage}\nQuestion:\n")
    assert (prompt.prefix, prompt.suffix) == ("Text: x\nQuestion: What is x?\n\nText", "\nQuestion:")
    place = {
        document.text[a:b].strip()[:8]: n for n, (a, b) in enumerate(zip(sentences.starts, sentences.ends, strict=True))
    }
    assert source_prompt(document, sentences, place["Replace "], prompt) == (
        " (Pump guide > Seal): Replace the seal every 4,000 hours of work in clean water.\nQuestion:"
    )
    assert source_prompt(document, sentences, place["It needs"], prompt) == (
        " (Pump guide): A pump is a machine that moves water from a lower place to a higher one."
        " It needs little care over the years.\nQuestion:"
    )


def test_a_sentence_that_refers_back_is_given_with_none_of_another_paragraph() -> None:
    document, sentences, _ = read("The pump runs all day.\n\nIt needs little care over the years.\n")
    prompt = parse_prompt("Text{passage}\nQuestion:")
    assert source_prompt(document, sentences, 1, prompt) == ": It needs little care over the years.\nQuestion:"


def test_prompt_is_bounded_and_on_one_line() -> None:
    document, sentences, _ = read("word " * 300 + "\n" + "x" * 5000, "a.txt")
    prompt = parse_prompt("Text{passage}\nQuestion:")
    for place in range(len(sentences)):
        text = source_prompt(document, sentences, place, prompt)
        assert len(text) <= 360 + 160 + 100 + 20
        assert text.count("\n") == 1


def test_shipped_prompt() -> None:
    text = (package_files("idc_local") / "prompts" / "intents.v1.txt").read_text("utf-8")
    prompt = parse_prompt(text)
    assert text.count("{passage}") == 1
    assert prompt.suffix == "\nQuestion:"
    assert len(prompt.examples) == prompt.prefix.count("Question:") == 5
    assert parse_reply(" When may the buyer end the agreement?", prompt.examples) == ()


@pytest.mark.parametrize(
    ("reply", "questions"),
    [
        (" When was it built?", ("When was it built?",)),
        ("1. When was it built?\n2) Who built it then?", ("When was it built?", "Who built it then?")),
        ('- "When was it built?"', ("When was it built?",)),
        ("Q: When  was\tit built? In 1871.", ("When was it built?",)),
        ("When was it built?\n- when was it BUILT??", ("When was it built?",)),
        ("What does the passage say about pumps?", ()),
        ("Who is the author of this article?", ()),
        ("It was built in 1871.", ()),
        ("Why not?", ()),
        ("Is it on?", ()),
        ("Really, really?", ()),
        ("?", ()),
        ("", ()),
        ("\0\nWhat is this \ufffd thing here?", ()),
        ("What " + "very " * 60 + "long thing?", ()),
        ("Was kostet der Versand?", ("Was kostet der Versand?",)),
        ("泵的密封圈多久更换一次？", ("泵的密封圈多久更换一次？",)),
        ("ما هي عاصمة فرنسا؟", ("ما هي عاصمة فرنسا؟",)),
        ("How high is the Eiffel Tower?", ()),
    ],
)
def test_replies(reply: str, questions: tuple[str, ...]) -> None:
    assert parse_reply(reply, frozenset({"how high is the eiffel tower"})) == questions


@given(st.text(max_size=300))
def test_any_reply_gives_clean_single_lines(reply: str) -> None:
    for question in parse_reply(reply, frozenset()):
        assert question == " ".join(question.split())
        assert question[-1] in "?？؟"
        assert len(question) <= 200
