"""The real generator: batches that repeat, stop on their own, share a prefix, and survive odd text."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from llama_cpp import Llama

from idc_local.backends.llama import SLOTS, LlamaGenerator, load_generator, requantise
from idc_local.backends.sampling import Sampling
from idc_local.backends.trial import seconds_of_work, try_generator
from idc_local.catalogue import Catalogue, ModelFiles
from idc_local.errors import ModelError
from idc_local.ports import Completion, GenerationRequest, TextGenerator

pytestmark = pytest.mark.model

PREFIX = "Passage: The Nile ends in a delta on the Mediterranean Sea.\nQuestion: Where does the Nile end?\n\nPassage: "
PASSAGES = [
    "The pump was built in 1987 by Hansen & Sons.",
    "Water boils at 100 degrees Celsius at sea level.",
    "The contract ends on 31 December unless it is renewed.",
    "Ada Lovelace wrote the first program for the analytical engine.",
    "The museum is closed on Mondays.",
    "Iron rusts when it meets water and oxygen.",
    "The bridge is 312 metres long.",
    "Bees dance to show where the flowers are.",
    "The court dismissed the claim.",
    "Rice is grown in flooded fields.",
]


ASKED = PASSAGES * 6


def requests(passages: list[str]) -> list[GenerationRequest]:
    return [GenerationRequest(f"{text}\nQuestion:", seed) for seed, text in enumerate(passages)]


@pytest.fixture(scope="module")
def files(models_folder: Path) -> ModelFiles:
    return Catalogue(models_folder).resolve("generator")


@pytest.fixture(scope="module")
def generator(files: ModelFiles) -> Iterator[LlamaGenerator]:
    loaded = load_generator(files, 2)
    assert isinstance(loaded, LlamaGenerator)
    yield loaded
    loaded.close()


@pytest.fixture(scope="module")
def replies(generator: LlamaGenerator) -> list[Completion]:
    return generator.generate(PREFIX, requests(ASKED), max_tokens=16, stop="\n")


def test_more_requests_than_slots_are_all_answered_in_order(replies: list[Completion]) -> None:
    texts = [reply.text for reply in replies]
    assert len(texts) == len(ASKED) > SLOTS
    assert all(text.strip() and "\n" not in text for text in texts)
    hits = sum(
        any(word in text.lower() for word in passage.lower().rstrip(".").split() if len(word) > 4)
        for passage, text in zip(ASKED, texts, strict=True)
    )
    assert hits >= 42


def test_same_requests_give_the_same_replies(
    generator: LlamaGenerator, replies: list[Completion], files: ModelFiles
) -> None:
    generator.generate("Something else: ", requests(PASSAGES[:2]), max_tokens=4, stop="\n")
    assert generator.generate(PREFIX, requests(ASKED), max_tokens=16, stop="\n") == replies
    fresh = load_generator(files, 2)
    assert fresh.generate(PREFIX, requests(ASKED), max_tokens=16, stop="\n") == replies
    assert fresh.fingerprint == generator.fingerprint


def test_work_is_timed_and_what_does_none_takes_for_ever(files: ModelFiles, tmp_path: Path) -> None:
    assert 0.0 < seconds_of_work(files.main) < 600.0
    broken = tmp_path / "m.gguf"
    broken.write_bytes(b"GGUF nothing")
    assert seconds_of_work(broken) == math.inf


def test_trial_names_what_is_unusable_and_outlives_a_crash(files: ModelFiles, tmp_path: Path) -> None:
    try_generator(files, 1)
    data = bytearray(files.main.read_bytes())
    broken = replace(files, main=tmp_path / "m.gguf")
    broken.main.write_bytes(data[:1000])
    with pytest.raises(ModelError, match=r"m\.gguf cannot be loaded by llama\.cpp$"):
        try_generator(broken, 1)
    layers = data.index(b"llama.block_count") + len(b"llama.block_count") + 4
    data[layers : layers + 4] = (2**31).to_bytes(4, "little")
    broken.main.write_bytes(data)
    with pytest.raises(ModelError, match=r"m\.gguf makes llama\.cpp crash$"):
        try_generator(broken, 1)


def test_seed_changes_the_text_and_temperature_zero_does_not_use_it(files: ModelFiles) -> None:
    def found(generator: TextGenerator) -> set[str]:
        # one request a call: the kernels round by a row's place in the batch
        asked = [GenerationRequest(f"{PASSAGES[3]}\nQuestion:", seed) for seed in range(4)]
        return {generator.generate(PREFIX, [one], max_tokens=8, stop="\n")[0].text for one in asked}

    warm = load_generator(files, 2, sampling=Sampling(temperature=1.5, top_k=100, top_p=1.0, min_p=0.0))
    cold = load_generator(files, 2, sampling=Sampling(temperature=0.0))
    assert len(found(warm)) > 1
    assert len(found(cold)) == 1
    assert cold.fingerprint != warm.fingerprint


@pytest.fixture(scope="module")
def fine(files: ModelFiles, models_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> ModelFiles:
    """The model in half precision: other types round by a row's place in the batch, which can hide what is compared."""
    spec = Catalogue(models_folder).spec(files.name)
    target = tmp_path_factory.mktemp("fine") / "m.F16.gguf"
    requantise(models_folder / spec.name / spec.main, target, "F16")
    return replace(files, main=target)


def test_greedy_text_is_that_of_the_librarys_own_loop(fine: ModelFiles) -> None:
    plain: Any = Llama(str(fine.main), n_ctx=512, n_threads=2, verbose=False)
    ours = load_generator(fine, 2, sampling=Sampling(temperature=0.0))

    def own(prompt: str) -> str:
        expected: Any = plain.create_completion(PREFIX + prompt, max_tokens=12, stop=["\n"], temperature=0.0)
        return str(expected["choices"][0]["text"])

    prompt = f"{PASSAGES[0]}\nQuestion:"
    found = ours.generate(PREFIX, [GenerationRequest(prompt, 0)], max_tokens=12, stop="\n")
    assert [reply.text for reply in found] == [own(prompt)]
    # Kernels round by a row's place in the batch, so one of several may turn out otherwise.
    alike = [f"(Pumps > Care): {PASSAGES[0]} {text}\nQuestion:" for text in (*PASSAGES[1:6], *PASSAGES[1:3])]
    replies = ours.generate(PREFIX, [GenerationRequest(text, 0) for text in alike], max_tokens=12, stop="\n")
    assert sum(reply.text == own(prompt) for reply, prompt in zip(replies, alike, strict=True)) >= len(alike) - 1


def test_confidence_is_the_librarys_own_mean_of_log_probabilities(fine: ModelFiles) -> None:
    plain: Any = Llama(str(fine.main), n_ctx=512, n_threads=2, logits_all=True, verbose=False)
    prompt = f"{PASSAGES[0]}\nQuestion:"
    expected: Any = plain.create_completion(PREFIX + prompt, max_tokens=6, temperature=0.0, logprobs=1)
    cold = load_generator(fine, 2, sampling=Sampling(temperature=0.0))
    [found] = cold.generate(PREFIX, [GenerationRequest(prompt, 0)], max_tokens=6, stop="\n")
    assert found.text == expected["choices"][0]["text"]
    tokens = expected["choices"][0]["logprobs"]["token_logprobs"]
    assert len(tokens) == 6
    assert found.confidence == pytest.approx(sum(tokens) / 6, abs=0.02)


def test_limits_and_odd_texts(generator: LlamaGenerator) -> None:
    odd = ["", "\0\ud800👩‍👩‍👧", "<|im_end|><|endoftext|>", "words without an end " * 3000]
    texts = [reply.text for reply in generator.generate(PREFIX, requests(odd), max_tokens=5, stop="\n\n")]
    assert len(texts) == 4
    assert all(len(generator._tokenise(text, special=False)) <= 6 for text in texts)
    assert generator.generate(PREFIX, [], max_tokens=5, stop="\n") == []
    with pytest.raises(ModelError, match="cannot be used"):
        generator.generate("word " * 5000, requests(odd[:1]), max_tokens=5, stop="\n")


def test_text_of_a_document_never_becomes_a_special_token(generator: LlamaGenerator) -> None:
    [special] = generator._tokenise("<|im_end|>", special=True)
    assert special not in generator._tokenise("before <|im_end|> after", special=False)


def test_it_works_on_after_an_interrupt(
    generator: LlamaGenerator, replies: list[Completion], monkeypatch: pytest.MonkeyPatch
) -> None:
    step = generator._step
    calls = iter(range(100))

    def interrupted(*arguments: object) -> object:
        if next(calls) == 3:
            raise KeyboardInterrupt
        return step(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(generator, "_step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            generator.generate(PREFIX, requests(ASKED), max_tokens=16, stop="\n")
    assert generator.generate(PREFIX, requests(ASKED), max_tokens=16, stop="\n") == replies


def test_native_noise_stays_out_of_stderr(files: ModelFiles, capfd: pytest.CaptureFixture[str]) -> None:
    load_generator(files, 1).generate("a", [GenerationRequest("b", 0)], max_tokens=1, stop="\n")
    assert capfd.readouterr() == ("", "")


def test_damaged_file_is_one_clear_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + os.urandom(200))
    with pytest.raises(ModelError, match=r"m\.gguf cannot be loaded"):
        load_generator(ModelFiles("x", "generator", path, {}), 1)
    with pytest.raises(ModelError, match="could not be converted"):
        requantise(path, tmp_path / "out.gguf", "Q8_0")
    assert capfd.readouterr() == ("", "")


def test_converted_file_is_the_recorded_one(models_folder: Path, tmp_path: Path, files: ModelFiles) -> None:
    spec = Catalogue(models_folder).spec("smollm2-135m-instruct")
    source = models_folder / spec.name / spec.main
    kind = files.main.name.split(".")[-2]
    assert kind in spec.requantise
    made_by = requantise(source, tmp_path / "again.gguf", kind)
    assert made_by.startswith("llama-cpp-python ")
    assert (tmp_path / "again.gguf").read_bytes() == files.main.read_bytes()
