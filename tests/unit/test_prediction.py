"""Predicting: what the cache is asked, what is generated, and which questions stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from idc_local.ports import Completion, GenerationRequest, TextGenerator
from idc_local.prediction import BATCH, Predicted, PredictionPorts, PredictionRequest, predict_intents
from idc_local.types import FloatArray
from tests.fakes import HashEmbedder
from tests.unit.test_intents import prose, read

PROMPT = "Text: The moon is round.\nQuestion: What shape is the moon?\n\nText{passage}\nQuestion:"
ANIMALS = """# Land

The elephant drinks two hundred litres of water every day. The giraffe sleeps for two hours each night.
The tortoise may live for more than a hundred years.

# Sea

The octopus has three hearts and very blue blood in them. The penguin keeps its egg warm between feet and belly.
The herring swims in schools of many millions of fish.
"""
LAND = ("elephant", "giraffe", "tortoise")
EMBEDDER = HashEmbedder(256)


@dataclass
class Cache:
    replies: dict[str, Completion] = field(default_factory=dict)
    puts: list[int] = field(default_factory=list)

    def intents(self, keys: Sequence[str]) -> Mapping[str, Completion]:
        return {key: self.replies[key] for key in keys if key in self.replies}

    def put_intents(self, replies: Mapping[str, Completion]) -> None:
        self.puts.append(len(replies))
        self.replies |= replies


class Silent:
    def start(self, stage: str, total: int | None, unit: str) -> None:
        """Nothing."""

    def advance(self, amount: int = 1, detail: str = "") -> None:
        """Nothing."""

    def finish(self) -> None:
        """Nothing."""


@dataclass
class Echo:
    """Asks with the sentence's own words, or as scripted; fails at the call numbered ``fail_at``.

    sure: its confidence by a word of the sentence; -0.5 for others.
    """

    script: Mapping[str, str] = field(default_factory=dict)
    fail_at: int = -1
    sure: Mapping[str, float] = field(default_factory=dict)
    calls: list[list[GenerationRequest]] = field(default_factory=list)
    prefixes: set[str] = field(default_factory=set)
    fingerprint: str = "echo"

    def generate(
        self, prefix: str, requests: Sequence[GenerationRequest], *, max_tokens: int, stop: str
    ) -> list[Completion]:
        if len(self.calls) == self.fail_at:
            raise KeyboardInterrupt
        self.calls.append(list(requests))
        self.prefixes.add(prefix)
        return [self.reply(request.prompt.partition(": ")[2].split(".")[0]) for request in requests]

    def reply(self, sentence: str) -> Completion:
        text = next((reply for word, reply in self.script.items() if word in sentence), f" {sentence}?")
        return Completion(text, next((sure for word, sure in self.sure.items() if word in sentence), -0.5))


def request(text: str, mode: str = "model", language: str = "en") -> PredictionRequest:
    document, sentences, vectors = read(text, "a.md", language)
    spans = zip(sentences.starts.tolist(), sentences.ends.tolist(), strict=True)
    vectors = EMBEDDER.encode_documents([document.text[start:end] for start, end in spans])
    return PredictionRequest(document, sentences, vectors, language, mode, PROMPT)


def predict(wish: PredictionRequest, generator: TextGenerator | None, cache: Cache | None = None) -> Predicted:
    ports = PredictionPorts(
        generator=None if generator is None else lambda: generator,
        generator_fingerprint="echo",
        generator_languages=("en",),
        embed=EMBEDDER.encode_queries,
        cache=cache or Cache(),
        progress=Silent(),
    )
    return predict_intents(wish, ports)


def test_each_question_keeps_its_window_and_sentence() -> None:
    wish = request(ANIMALS)
    found = predict(wish, Echo())
    text = wish.document.text
    assert len(found.intents) == 3
    assert (found.windows_generated, found.windows_cached) == (6, 0)
    for row, intent in enumerate(found.intents):
        evidence = text[intent.evidence.start : intent.evidence.end]
        assert intent.text == evidence.strip().rstrip(".") + "?"
        assert intent.start <= intent.evidence.start < intent.evidence.end <= intent.end
        assert text[intent.start : intent.end].strip() in text
        first, last = found.windows[row]
        assert first <= found.evidence[row] < last
        assert wish.sentences.starts[first] == intent.start
        assert wish.sentences.ends[last - 1] == intent.end
        assert wish.sentences.starts[found.evidence[row]] == intent.evidence.start
        cosine = float(wish.sentence_vectors[found.evidence[row]] @ found.vectors[row])
        assert intent.score == pytest.approx(cosine, abs=1e-6)
        assert intent.origin == "model"
    assert (found.vectors == EMBEDDER.encode_queries([intent.text for intent in found.intents])).all()


def test_no_score_is_above_one_where_vectors_are_a_little_too_long() -> None:
    wish = request("# Opening hours of the town hall\n\nIt opens at nine on weekdays.\n", "heuristic", "de")
    vectors = wish.sentence_vectors.copy()
    vectors[0] = EMBEDDER.encode_queries(["Opening hours of the town hall"])[0] * np.float32(1.0001)
    found = predict(replace(wish, sentence_vectors=vectors), None)
    assert [(intent.text, intent.score) for intent in found.intents] == [("Opening hours of the town hall", 1.0)]


def test_nothing_is_generated_twice_and_the_result_is_the_same() -> None:
    cache = Cache()
    first = predict(request(ANIMALS), Echo(), cache)
    again = predict(request(ANIMALS), Echo(fail_at=0), cache)
    assert again.intents == first.intents
    assert (again.windows_generated, again.windows_cached) == (0, 6)


def test_a_generator_is_not_even_made_when_all_is_cached() -> None:
    cache = Cache()
    predict(request(ANIMALS), Echo(), cache)

    def make() -> TextGenerator:
        raise AssertionError("made")

    ports = PredictionPorts(make, "echo", ("en",), EMBEDDER.encode_queries, cache, Silent())
    assert predict_intents(request(ANIMALS), ports).windows_cached == 6


def test_a_killed_run_keeps_its_batches_and_goes_on_with_the_same_partition() -> None:
    wish = request(prose(500))
    whole, cache = Echo(), Cache()
    expected = predict(wish, whole)
    sizes = [len(call) for call in whole.calls]
    assert len(sizes) > 1
    assert max(sizes) <= BATCH < sum(sizes)
    assert max(sizes) - min(sizes) <= 1
    with pytest.raises(KeyboardInterrupt):
        predict(wish, Echo(fail_at=1), cache)
    assert cache.puts == sizes[:1]
    rest = Echo()
    assert predict(wish, rest, cache).intents == expected.intents
    assert rest.calls == whole.calls[1:]


def test_seeds_belong_to_sentences_and_the_prefix_is_shared() -> None:
    one, two = Echo(), Echo()
    predict(request(ANIMALS), one)
    predict(request("# Air\n\nAn unrelated paragraph of some length comes first here.\n\n" + ANIMALS), two)
    seeds = [{entry.prompt: entry.seed for call in echo.calls for entry in call} for echo in (one, two)]
    shared = seeds[0].keys() & seeds[1].keys()
    assert len(shared) >= 3
    assert all(seeds[0][prompt] == seeds[1][prompt] for prompt in shared)
    assert len(set(seeds[0].values())) == len(seeds[0])
    assert one.prefixes == {"Text: The moon is round.\nQuestion: What shape is the moon?\n\nText"}


@pytest.mark.parametrize(
    "change", [{"prompt": PROMPT.replace("moon", "sun")}, {"fingerprint": "another model"}], ids=["prompt", "model"]
)
def test_another_prompt_or_model_is_asked_anew(change: dict[str, str]) -> None:
    cache = Cache()
    predict(request(ANIMALS), Echo(), cache)
    wish = replace(request(ANIMALS), prompt=change.get("prompt", PROMPT))
    ports = PredictionPorts(Echo, change.get("fingerprint", "echo"), ("en",), EMBEDDER.encode_queries, cache, Silent())
    assert predict_intents(wish, ports).windows_generated == 6


def kept(script: Mapping[str, str], sure: Mapping[str, float] | None = None) -> tuple[list[str], dict[str, int]]:
    found = predict(request(ANIMALS), Echo(script, sure=sure or {}))
    return [intent.text for intent in found.intents], dict(found.dropped)


def asked_requests() -> list[GenerationRequest]:
    echo = Echo()
    predict(request(ANIMALS), echo)
    return [entry for call in echo.calls for entry in call]


def asked() -> list[str]:
    """The animals of the six sentences that are asked about."""
    return [entry.prompt.partition(": The ")[2].split()[0] for entry in asked_requests()]


def test_only_questions_stay_and_none_of_the_examples() -> None:
    useless = ["What shape is the moon?", "The moon is round.", "", "What does the text say?", "Why?", "?"]
    script = dict(zip(asked(), useless, strict=True))
    assert kept(script) == ([], {})
    script.popitem()
    assert len(kept(script)[0]) == 1


def test_a_question_that_finds_another_window_is_dropped() -> None:
    stray = ("The octopus has three hearts and very blue blood?", "The elephant drinks two hundred litres of water?")
    texts, dropped = kept({animal: stray[animal not in LAND] for animal in asked()})
    assert texts == []
    assert dropped == {"round trip": 6}


def test_the_best_stay_within_the_budget_and_duplicates_go() -> None:
    first, second = [animal for animal in asked() if animal in LAND][:2]
    replies = Echo().generate("", asked_requests(), max_tokens=9, stop="")
    [question] = [reply.text for reply in replies if first in reply.text]
    texts, dropped = kept({second: question}, {first: -0.1, second: -0.1})
    assert dropped == {"duplicate": 1, "over budget": 2}
    assert len(texts) == 3
    assert kept({})[1] == {"over budget": 3}


def test_what_the_model_is_surest_of_stays_within_the_budget() -> None:
    surest = asked()[::2]
    texts, _ = kept({}, dict.fromkeys(surest, -0.1))
    assert [animal for animal in asked() if any(animal in text for text in texts)] == surest


def test_a_question_with_words_that_its_window_does_not_hold_is_dropped() -> None:
    stray = {animal: f"Why does the {animal} like jazz, vodka and chess so much?" for animal in asked()[:1]}
    texts, dropped = kept(stray)
    assert dropped == {"not in the text": 1, "over budget": 2}
    assert len(texts) == 3


@pytest.mark.parametrize(("mode", "language"), [("heuristic", "en"), ("model", "de")])
def test_without_a_model_for_the_language_the_heuristics_ask(mode: str, language: str) -> None:
    text = "An octopus is a mollusc with eight arms and three hearts. It lives for two years in warm water.\n"
    found = predict(request(text, mode, language), Echo(fail_at=0))
    assert [intent.text for intent in found.intents] == (["What is an octopus?"] if language == "en" else [])
    assert {intent.origin for intent in found.intents} <= {"heuristic"}
    assert found.windows_generated == 0


@pytest.mark.parametrize(
    ("text", "mode"), [(ANIMALS, "off"), ("", "model"), (" \n ", "model"), ("1 2 3.", "heuristic")]
)
def test_nothing_to_ask(text: str, mode: str) -> None:
    found = predict(request(text, mode), Echo(fail_at=0))
    assert found.intents == ()
    shapes = (found.vectors.shape, found.windows.shape, found.evidence.shape)
    assert shapes == ((0, 256), (0, 2), (0,))


def test_results_depend_on_values_not_on_order_of_calls() -> None:
    vectors: FloatArray = np.concatenate([predict(request(prose(60)), Echo()).vectors for _ in range(2)])
    half = len(vectors) // 2
    assert (vectors[:half] == vectors[half:]).all()
    assert half > 0
