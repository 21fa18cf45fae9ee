"""Questions against their passages, by hand."""

from __future__ import annotations

import pytest

from idc_local.grounding import MOST_OPEN, grounded_share, open_terms

PASSAGE = "Ferries > Tolls\nThe chain ferry at Skerrow carries 40 carts a day. A cart costs two crowns."


@pytest.mark.parametrize(
    ("question", "share"),
    [
        ("How many carts does the ferry carry a day?", 1.0),
        ("What is the toll for a cart?", 1.0),
        ("Which ferry carries sheep to Iceland?", 0.5),
        ("What does the harbour master say?", 0.0),
        ("How much is that?", 0.0),
    ],
)
def test_share_of_a_questions_words_that_the_passage_holds(question: str, share: float) -> None:
    assert grounded_share(question, PASSAGE, "en") == share


def test_words_that_are_left_for_the_answer() -> None:
    sentence = "The chain ferry at Skerrow carries 40 carts a day."
    # chain, ferri, skerrow, carri, 40, cart, day
    assert open_terms("What does the ferry carry?", sentence, "en") == 5
    assert open_terms("Does the chain ferry at Skerrow carry 40 carts a day?", sentence, "en") == 0
    assert open_terms("Why?", sentence * 3, "en") == MOST_OPEN
