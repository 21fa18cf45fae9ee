from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from idc_local.store.blocks import BlockFolder, BlockWriter
from idc_local.store.vocabulary import Vocabulary, write_vocabulary
from tests.store_documents import MEMORY

TERMS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


def saved(folder: Path, terms: list[str]) -> Vocabulary:
    writer = BlockWriter(folder)
    write_vocabulary(writer, terms)
    return Vocabulary(BlockFolder(folder, writer.finish()))


@settings(max_examples=40, deadline=None)
@given(terms=st.sets(TERMS, max_size=30), others=st.lists(TERMS, max_size=5))
def test_terms_are_found_at_their_places(terms: set[str], others: list[str]) -> None:
    ordered = sorted(terms)
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        vocabulary = saved(Path(place), ordered)
        assert len(vocabulary) == len(ordered)
        assert [vocabulary.find(term) for term in ordered] == list(range(len(ordered)))
        for other in others:
            assert vocabulary.find(other) == (ordered.index(other) if other in terms else None)


def test_a_term_with_a_lone_surrogate_is_looked_up_as_it_was_stored(tmp_path: Path) -> None:
    vocabulary = saved(tmp_path, ["?", "a"])
    assert vocabulary.find("\ud800") == 0
    assert vocabulary.find("\ud800\ud800") is None
