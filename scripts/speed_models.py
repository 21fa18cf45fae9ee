"""Speed of the two models: questions a minute, sentences a second."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from speedkit import Bench, Result, Seconds, compared, in_turn, listed, sentence_pieces, timed

from idc_local.backends.llama import load_generator
from idc_local.backends.sampling import Sampling
from idc_local.backends.sbert import load_embedder
from idc_local.catalogue import GENERATOR
from idc_local.intents import choose_sources, parse_prompt, parse_reply, plan_windows, source_prompt
from idc_local.ports import Embedder, GenerationRequest
from idc_local.prediction import MAX_TOKENS, STOP
from idc_local.runtime import intent_prompt
from idc_local.types import FloatArray, Window

PAPER_CHARS = 68_000
"""Length of the paper's own document, which also has some 500 sentences."""


def paper_text(bench: Bench) -> str:
    """The question sets' document nearest in length to the paper's."""
    texts = bench.texts("covidqa")
    return min(texts, key=lambda text: abs(len(text) - PAPER_CHARS * bench.scale))


@dataclass(frozen=True)
class Asked:
    """Sentences to ask about. prompts: what follows the prefix. own: the window of each."""

    prefix: str
    examples: frozenset[str]
    prompts: list[str]
    own: list[int]
    windows: tuple[Window, ...]
    vectors: FloatArray

    def round_trip(self, replies: Sequence[str], embedder: Embedder) -> tuple[int, int]:
        """Well-formed questions, and those whose nearest sentence lies in the window that they came from."""
        found = [
            (text, own)
            for reply, own in zip(replies, self.own, strict=True)
            for text in parse_reply(reply, self.examples)
        ]
        cosines = embedder.encode_queries([text for text, _ in found]) @ self.vectors.T
        best = np.stack([cosines[:, one.first : one.last].max(axis=1) for one in self.windows], axis=1)
        return len(found), int((best.argmax(axis=1) == np.array([own for _, own in found])).sum())


def ask(bench: Bench, embedder: Embedder, text: str) -> Asked:
    """What ``index`` would ask about a text."""
    document, sentences = bench.split(text)
    vectors = embedder.encode_documents(sentence_pieces(document, sentences))
    windows = plan_windows(document, sentences)
    prompt = parse_prompt(intent_prompt())
    chosen = choose_sources(document, sentences, windows, vectors)
    prompts = [source_prompt(document, sentences, one.sentence, prompt) for one in chosen]
    return Asked(prompt.prefix, prompt.examples, prompts, [one.window for one in chosen], windows, vectors)


def intents(bench: Bench) -> Result:
    """Questions of one document: the package's generator against a loop over llama-cpp-python's ``Llama``.

    All have the same model, prompt and sampling. The loop runs over the package's converted file with the package's
    threads; over the same file with as many as ``Llama`` takes by itself; and so over the file as it is published.
    ``Llama`` keeps the tokens that a prompt shares with the one before, so the examples are evaluated once there too,
    in the first round; the package is charged with them in its first as well.
    """
    import llama_cpp

    runtime, sampling = bench.runtime, Sampling()
    embedder = load_embedder(runtime.embedder_files(), runtime.threads)
    asked = ask(bench, embedder, paper_text(bench))
    files = runtime.catalogue().resolve(GENERATOR, None)
    published = files.main.with_name(runtime.catalogue().spec_of(GENERATOR).main)
    own = load_generator(files, runtime.threads)
    loops: dict[str, tuple[Path, int | None]] = {
        "plain loop": (files.main, runtime.threads),
        "plain loop, its own threads": (files.main, None),
        "plain loop, its own threads, file as published": (published, None),
    }
    plain: dict[str, Any] = {
        name: llama_cpp.Llama(str(file), n_ctx=2048, n_threads=count, verbose=False)
        for name, (file, count) in loops.items()
    }
    replies: dict[str, list[list[str]]] = {name: [] for name in ("batched", *plain)}

    def seeded(name: str) -> list[tuple[int, str]]:
        """The prompts with seeds that differ from round to round, so that more than one reply of each is counted."""
        return list(enumerate(asked.prompts, start=10_000 * len(replies[name])))

    def batched() -> None:
        requests = [GenerationRequest(prompt, seed) for seed, prompt in seeded("batched")]
        found = own.generate(asked.prefix, requests, max_tokens=MAX_TOKENS, stop=STOP)
        replies["batched"].append([reply.text for reply in found])

    def loop(name: str) -> None:
        settings = {
            "max_tokens": MAX_TOKENS, "stop": [STOP], "temperature": sampling.temperature, "top_k": sampling.top_k,
            "top_p": sampling.top_p, "min_p": sampling.min_p,
        }  # fmt: skip
        found = [
            plain[name].create_completion(asked.prefix + prompt, seed=seed, **settings)["choices"][0]["text"]
            for seed, prompt in seeded(name)
        ]
        replies[name].append(found)

    contenders: dict[str, Callable[[], Seconds]] = {"batched": lambda: timed(batched)}
    contenders |= {name: lambda name=name: timed(lambda: loop(name)) for name in plain}  # type: ignore[misc]
    times = in_turn(contenders, bench.rounds)
    rows: dict[str, Result] = {}
    for name, rounds in replies.items():
        counts = [asked.round_trip(answers, embedder) for answers in rounds]
        questions, good = (sum(column) / len(rounds) for column in zip(*counts, strict=True))
        minutes = times[name].wall / 60
        rows[name] = {
            "asked": len(asked.prompts),
            "questions": round(questions, 1),
            "round_trip": round(good / max(1.0, questions), 3),
            "questions_a_minute": round(questions / minutes, 1),
            "good_a_minute": round(good / minutes, 1),
        }
    each = {name: per_question(times[name], rows[name]["questions"]) for name in rows}
    return {
        "seconds": listed(times),
        "rows": rows,
        **compared(each["batched"], each["plain loop"]),
        "to_own_threads": compared(each["batched"], each["plain loop, its own threads"]),
        "to_published": compared(each["batched"], each["plain loop, its own threads, file as published"]),
        "file": files.main.name,
        "mark": 3.0,
    }


def per_question(seconds: Seconds, questions: float) -> Seconds:
    """Seconds for each question."""
    return Seconds(seconds.wall / max(1, questions), seconds.cpu / max(1, questions))


def plain_encoder(bench: Bench) -> Callable[[Sequence[str]], FloatArray]:
    """``SentenceTransformer.encode`` with its defaults, torch's own number of threads among them."""
    import torch
    from sentence_transformers import SentenceTransformer

    threads = torch.get_num_threads()
    model: Any = SentenceTransformer(str(bench.runtime.embedder_files().main), device="cpu", local_files_only=True)

    def encode(texts: Sequence[str]) -> FloatArray:
        torch.set_num_threads(threads)
        found: FloatArray = model.encode(list(texts))
        torch.set_num_threads(1)  # as the package's embedder sets it when it is loaded
        return found

    return encode


def mixed_texts(bench: Bench, count: int) -> list[str]:
    """Sentences of several sets, and with every eighth sentence the passage that begins with it, in mixed order."""
    found: list[str] = []
    for name in ("covidqa", "aws_docs", "squad_new_wiki", "fairytaleqa"):
        mine: list[str] = []
        for text in bench.texts(name):
            pieces = sentence_pieces(*bench.split(text[:20_000]))
            mine += pieces + [" ".join(pieces[start : start + 4]) for start in range(0, len(pieces), 8)]
            if len(mine) >= count / 4:
                break
        found += mine[: math.ceil(count / 4)]
    order = np.random.default_rng(5).permutation(len(found))
    return [found[place] for place in order.tolist()]


def embedding(bench: Bench) -> Result:
    """Texts a second: the package's embedder against ``SentenceTransformer.encode`` with its defaults."""
    runtime = bench.runtime
    files = runtime.embedder_files()
    texts = mixed_texts(bench, bench.sized(2000))
    plain = plain_encoder(bench)
    own = load_embedder(files, runtime.threads)
    vectors: dict[str, FloatArray] = {}

    def packed() -> None:
        vectors["own"] = own.encode_documents(texts)

    def defaults() -> None:
        vectors["encode"] = plain(texts)

    own.encode_documents(texts[:32])
    plain(texts[:32])
    times = in_turn({"own": lambda: timed(packed), "encode": lambda: timed(defaults)}, bench.rounds)
    cosines = np.einsum("nd,nd->n", vectors["own"], vectors["encode"])
    tokens = bench.count(texts)
    return {
        "texts": len(texts),
        "distinct": len(set(texts)),
        "tokens_quartiles": np.percentile(tokens, [0, 25, 50, 75, 100]).round().astype(int).tolist(),
        "seconds": listed(times),
        "a_second": {name: round(len(texts) / one.wall, 1) for name, one in times.items()},
        **compared(times["own"], times["encode"]),
        "least_cosine": round(float(cosines[tokens < 250].min()), 6),
        "mark": 1.8,
    }
