"""What the model adapters compute themselves: sampling, pieces of long texts, GELU, estimates of tokens."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idc_local.backends.llama import batched_prompts, prompt_entries
from idc_local.backends.minilm import gelu, load_query_encoder
from idc_local.backends.pieces import Frame, Marked, frame_of, merge_pieces, own_tokens, split_pieces, token_words
from idc_local.backends.sampling import Sampling, candidates, draw, log_probability
from idc_local.backends.tokens import EstimatedWordPieces, load_token_counter
from idc_local.catalogue import EMBEDDER, ModelFiles
from idc_local.errors import ModelError
from idc_local.types import FloatArray


def test_candidates_by_hand() -> None:
    logits = np.log(np.array([0.1, 0.4, 0.3, 0.15, 0.05], dtype=np.float32))
    everything = Sampling(temperature=1.0, top_k=5, top_p=1.0, min_p=0.0)
    tokens, shares = candidates(logits, everything)
    assert tokens.tolist() == [1, 2, 3, 0, 4]
    assert shares == pytest.approx([0.4, 0.3, 0.15, 0.1, 0.05], abs=1e-6)
    # the first three are needed to reach 0.8; a fifth of 0.4 is 0.08; the two likeliest of k = 2 share 4 : 3
    assert candidates(logits, Sampling(1.0, 5, 0.8, 0.0))[0].tolist() == [1, 2, 3]
    assert candidates(logits, Sampling(1.0, 5, 1.0, 0.2))[0].tolist() == [1, 2, 3, 0]
    assert candidates(logits, Sampling(1.0, 2, 1.0, 0.0))[1] == pytest.approx([4 / 7, 3 / 7], abs=1e-6)
    # half the temperature squares the odds
    assert candidates(logits, Sampling(0.5, 2, 1.0, 0.0))[1] == pytest.approx([16 / 25, 9 / 25], abs=1e-6)


def test_log_probability_by_hand() -> None:
    logits = np.log(np.array([0.1, 0.4, 0.3, 0.15, 0.05], dtype=np.float32)) + 7
    assert [log_probability(logits, token) for token in (1, 4)] == pytest.approx([np.log(0.4), np.log(0.05)], abs=1e-5)


def test_equal_logits_are_ordered_by_token() -> None:
    assert candidates(np.zeros(4, dtype=np.float32), Sampling(1.0, 4, 1.0, 0.0))[0].tolist() == [0, 1, 2, 3]


def test_temperature_zero_takes_the_likeliest() -> None:
    logits = np.array([0.0, 3.0, 2.9], dtype=np.float32)
    assert {draw(logits, Sampling(temperature=0.0), np.random.default_rng(seed)) for seed in range(20)} == {1}


def test_draws_follow_the_shares_and_the_seed() -> None:
    logits = np.log(np.array([0.2, 0.8, 1e-9], dtype=np.float32))
    settings = Sampling(1.0, 3, 1.0, 0.01)
    rng = np.random.default_rng(5)
    drawn = [draw(logits, settings, rng) for _ in range(4000)]
    assert set(drawn) == {0, 1}
    # four standard deviations of a share of 4,000 draws
    assert np.mean(drawn) == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / 4000))
    again = np.random.default_rng(5)
    assert drawn[:50] == [draw(logits, settings, again) for _ in range(50)]


def words(texts: list[str]) -> list[list[int]]:
    """A tokenizer of words between two special tokens."""
    return [[1, *(len(word) for word in text.split()), 2] for text in texts]


@given(st.text(alphabet="ab \n\ud800é", max_size=200), st.integers(4, 9))
def test_pieces_fit_the_window_and_keep_every_word(text: str, window: int) -> None:
    def letters(texts: list[str]) -> list[Marked]:
        found = ["".join(one.split()) for one in texts]
        return [Marked([0, *map(ord, one), 0], ["", *one, ""]) for one in found]

    pieces = split_pieces([text], "", window, letters)
    assert all(len(ids) <= window for ids in pieces.ids)
    kept = [ord(char) for char in "".join(text.replace("\ud800", "\ufffd").split())]
    assert sorted(code for ids in pieces.ids for code in ids[1:-1]) == sorted(kept)


def test_pieces_are_cut_at_white_space_and_texts_taken_once() -> None:
    pieces = split_pieces(["aaa bbb cc dddd", "x", "aaa bbb cc dddd"], "p ", 5, marked_words)
    assert pieces.ids == [[1, 1, 3, 3, 2], [1, 1, 2, 4, 2], [1, 1, 1, 2]]
    assert [one.words for one in pieces.marked] == [
        ["", "p", "aaa", "bbb", ""],
        ["", "p", "cc", "dddd", ""],
        ["", "p", "x", ""],
    ]
    assert pieces.owners.tolist() == [0, 0, 1]
    assert pieces.rows.tolist() == [0, 1, 0]


def test_merged_pieces_are_the_weighted_mean_at_unit_length() -> None:
    pieces = split_pieces(["aaa bbb cc dddd e", "x"], "", 5, marked_words)
    assert [len(ids) for ids in pieces.ids] == [4, 5, 3]
    vectors = np.array([[1, 0], [0, 1], [0, 1]], dtype=np.float32)
    merged = merge_pieces(pieces, vectors)
    expected = np.array([4, 5]) / math.hypot(4, 5)
    assert merged == pytest.approx(np.array([expected, [0, 1]]), abs=5e-4)
    assert (merged == merged.astype(np.float16)).all()


def marked_words(texts: list[str]) -> list[Marked]:
    """The same with the words themselves."""
    return [Marked(ids, ["", *text.split(), ""]) for ids, text in zip(words(texts), texts, strict=True)]


def directions(ids: list[int]) -> FloatArray:
    """Unit vectors, each with the angle of an id."""
    return np.array([[math.cos(one), math.sin(one)] for one in ids], dtype=np.float32).reshape(-1, 2)


def test_tokens_are_the_texts_own_those_of_all_pieces() -> None:
    pieces = split_pieces(["aaa bbbbb cccccc ddddddd", "", "four", "lone\ud800 six", "four"], "ask: ", 5, marked_words)
    assert pieces.ids == [[1, 4, 3, 5, 2], [1, 4, 6, 7, 2], [1, 4, 2], [1, 4, 4, 2], [1, 4, 5, 3, 2]]
    hidden = [directions(own) * np.array(own, dtype=np.float32)[:, None] for own in pieces.ids]
    found = own_tokens(pieces, hidden, frame_of("ask: ", marked_words))
    for tokens, own in zip(found, [[3, 5, 6, 7], [], [4], [5, 3], [4]], strict=True):
        assert tokens.vectors == pytest.approx(directions(own), abs=1e-6)
        assert tokens.vectors.dtype == np.float32
        assert tokens.vectors.shape == (len(own), 2)
    assert [" ".join(tokens.words) for tokens in found] == [
        "aaa bbbbb cccccc ddddddd", "", "four", "lone\ufffd six", "four"
    ]  # fmt: skip
    assert frame_of("ask: ", marked_words) == Frame([1, 2], 1)
    assert [len(tokens.vectors) for tokens in own_tokens(pieces, hidden, Frame([1, 2], 0))] == [6, 1, 2, 3, 2]


def test_words_of_tokens_reach_from_their_first_piece_to_their_last() -> None:
    owners, offsets = [None, 0, 0, 1, 2, 2, 2, None], [(0, 0), (0, 3), (3, 5), (5, 6), (7, 8), (8, 9), (9, 12), (0, 0)]
    assert token_words("pumps, 4012.5", owners, offsets) == ["", "pumps", "pumps", ",", *3 * ["4012."], ""]


def test_gelu_is_x_times_the_normal_distribution() -> None:
    values = np.linspace(-8, 8, 4001, dtype=np.float32)
    exact = [x * 0.5 * math.erfc(-x / math.sqrt(2)) for x in values.tolist()]
    assert np.abs(gelu(values) - exact).max() < 1e-6


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", 0),
        ("the", 1),
        ("water", 2),
        ("extraordinary", 6),
        ("1994", 2),
        ("E-4012", 4),
        ("浮球磨损", 4),
        ("한", 3),
        ("a.", 2),
    ],
)
def test_estimates_by_hand(text: str, pieces: int) -> None:
    assert EstimatedWordPieces().count([text]).tolist() == [pieces]


def test_unusable_tokenizer_is_named(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ModelError, match=r"tokenizer\.json is no usable tokenizer"):
        load_token_counter(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"config.json": '{"model_type": "mpnet", "hidden_act": "gelu"}'},
        {"config.json": '{"model_type": "bert", "hidden_act": "gelu_new"}'},
        {"config.json": '{"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "relative_key"}'},
        {"modules.json": '[{"type": "x.Transformer"}, {"type": "x.Pooling"}]'},
        {"1_Pooling/config.json": '{"pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true}'},
        {"sentence_bert_config.json": '{"max_seq_length": 8, "do_lower_case": true}'},
        {"config.json": "{"},
    ],
)
def test_other_shapes_are_left_to_the_full_library(tmp_path: Path, change: dict[str, str]) -> None:
    texts = {
        "config.json": '{"model_type": "bert", "hidden_act": "gelu", "num_hidden_layers": 1, "num_attention_heads": 1,'
        ' "layer_norm_eps": 1e-12}',
        "modules.json": '[{"type": "x.Transformer"}, {"type": "x.Pooling"}, {"type": "x.Normalize"}]',
        "sentence_bert_config.json": '{"max_seq_length": 8}',
        "1_Pooling/config.json": '{"pooling_mode_mean_tokens": true}',
    }
    (tmp_path / "1_Pooling").mkdir()
    for name, text in (texts | change).items():
        (tmp_path / name).write_text(text)
    assert load_query_encoder(ModelFiles("x", EMBEDDER, tmp_path, {})) is None


TOKENS = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=6), min_size=1, max_size=8)


@given(prompts=TOKENS.map(sorted))
def test_what_prompts_begin_alike_with_is_evaluated_once_for_all_of_them(prompts: list[list[int]]) -> None:
    held: dict[int, list[int]] = {number: [] for number in range(1, len(prompts) + 1)}
    final: list[int] = []
    entries = prompt_entries(prompts, 10)
    for entry in entries:
        for sequence in entry.sequences:
            # Each sequence gets its tokens one after the other, none twice and none before those it follows.
            assert len(held[sequence]) == entry.position - 10
            held[sequence].append(entry.token)
        final += entry.sequences[:1] if entry.final else []
    assert held == dict(enumerate(prompts, 1))
    assert final == list(held)
    distinct = {tuple(own[:end]) for own in prompts for end in range(1, len(own) + 1)}
    repeated = len(prompts) - len({tuple(own) for own in prompts})
    assert len(entries) == len(distinct) + repeated


@given(prompts=TOKENS, most=st.integers(6, 20))
def test_prompts_are_evaluated_in_the_fewest_batches_that_keep_their_order(prompts: list[list[int]], most: int) -> None:
    groups = batched_prompts(prompts, most)
    sizes = [sum(len(prompts[place]) for place in group) for group in groups]
    assert [place for group in groups for place in group] == list(range(len(prompts)))
    assert max(sizes) <= most
    assert all(size + len(prompts[group.stop]) > most for size, group in zip(sizes[:-1], groups, strict=False))


def test_no_prompts_make_no_batch() -> None:
    assert batched_prompts([], 8) == []
    assert prompt_entries([], 0) == []
