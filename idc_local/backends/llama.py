"""Text generation with llama.cpp: owns ``llama_cpp``, which is imported when first used.

Two contexts share the work. One evaluates prompts, a batch of them at a time, which then move to the other, where
many are decoded side by side: there a prompt's tokens would have to look past the cells of all that is being decoded.
In both the prefix is held once for all, and so is what prompts have in common with those before them. Sequences that
end make room for the next requests as soon as there is room for many.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from idc_local.backends.cells import Cells, Entry
from idc_local.backends.native import quiet_stderr, yield_while_waiting
from idc_local.backends.sampling import Sampling, draw, log_probability
from idc_local.catalogue import ModelFiles
from idc_local.errors import ModelError
from idc_local.fingerprint import digest
from idc_local.ports import Completion, GenerationRequest, TextGenerator
from idc_local.types import FloatArray

SLOTS = 48
"""Sequences decoded at once: fewer leave the processor waiting for the weights, more make attention dear."""
REFILL = 32
"""Slots that must be free before further prompts are taken in."""
CELLS = 6144
"""Tokens held for the prefix and all sequences together."""
PREFIX = 1536
"""Most tokens of a prefix."""
PROMPT = 214
"""Most tokens of a prompt beyond the prefix."""
BATCH = 512
"""Most tokens of prompts evaluated together."""
TAIL = 24
"""Tokens kept at the end of a prompt that must be shortened: the cue that follows the passage."""


def requantise(source: Path, target: Path, kind: str) -> str:
    """Converts a GGUF file to tensor type ``kind`` (such as ``Q8_0``); returns the library's name and version."""
    with quiet_stderr():
        import llama_cpp

        params = llama_cpp.llama_model_quantize_default_params()
        params.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_{'ALL' if kind == 'F32' else 'MOSTLY'}_{kind}")
        params.allow_requantize = True
        failed = llama_cpp.llama_model_quantize(os.fsencode(source), os.fsencode(target), params)
    if failed:
        raise ModelError(f"{source} could not be converted to {kind}", hint="idc-local models pull NAME again")
    return f"llama-cpp-python {llama_cpp.__version__}"


def load_generator(
    files: ModelFiles, threads: int, *, sampling: Sampling | None = None, debug: bool = False
) -> TextGenerator:
    """Loads a GGUF file that was verified. ``debug`` lets the native code write to stderr."""
    yield_while_waiting()
    with quiet_stderr(enabled=not debug):
        native = _open(files, max(1, threads))
    return LlamaGenerator(native, files, sampling or Sampling())


@dataclass(frozen=True, slots=True)
class _Native:
    """Native objects: the library, the model's vocabulary, the two contexts, and what frees them all."""

    api: Any
    vocabulary: Any
    prompts: Cells
    replies: Cells
    close: Callable[[], None]


def _open(files: ModelFiles, threads: int) -> _Native:
    import llama_cpp.llama_cpp as api

    api.llama_log_set(_silence(api), ctypes.c_void_p(0))
    api.llama_backend_init()
    model = api.llama_model_load_from_file(os.fsencode(files.main), api.llama_model_default_params())
    if not model:
        raise ModelError(f"{files.main} cannot be loaded by llama.cpp", hint="idc-local models verify")
    with ExitStack() as opened:
        opened.callback(api.llama_model_free, model)
        prompts = Cells(api, model, files.name, size=PREFIX + BATCH, batch=BATCH, sequences=SLOTS + 1, threads=threads)
        opened.callback(prompts.close)
        replies = Cells(api, model, files.name, size=CELLS, batch=SLOTS + 1, sequences=SLOTS + 1, threads=threads)
        opened.callback(replies.close)
        return _Native(api, api.llama_model_get_vocab(model), prompts, replies, opened.pop_all().close)


_CALLBACKS: list[Any] = []


def _silence(api: Any) -> Any:  # noqa: ANN401  (a ctypes module)
    """A log callback that drops everything; kept for the life of the process, as the library keeps its address."""
    if not _CALLBACKS:
        _CALLBACKS.append(api.llama_log_callback(lambda level, text, data: None))
    return _CALLBACKS[0]


@dataclass(slots=True)
class _Running:
    """A request: the tokens of its prompt, then of its reply.

    position: place of the last token drawn, which was not evaluated yet. room: cells that it may come to hold.
    certainty: sum of the logarithms of the probabilities of all tokens drawn.
    """

    index: int
    prompt: list[int]
    rng: np.random.Generator
    room: int
    slot: int = 0
    position: int = 0
    last: int = 0
    drawn: int = 0
    certainty: float = 0.0
    text: bytearray = field(default_factory=bytearray)


class LlamaGenerator:
    """Completes prompts with one GGUF model. Not to be shared between threads."""

    def __init__(self, native: _Native, files: ModelFiles, sampling: Sampling) -> None:
        self._native = native
        self._api = native.api
        self._prompts, self._replies = native.prompts, native.replies
        self._sampling = sampling
        self._prefix = ""
        self._prefix_length = 0
        self._words = int(self._api.llama_vocab_n_tokens(native.vocabulary))
        self._pieces: dict[int, bytes] = {}
        self._ending = weakref.finalize(self, native.close)
        self.fingerprint = digest(
            {
                "files": dict(files.sha256),
                "sampling": [sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p],
                "slots": SLOTS,
            }
        )

    def close(self) -> None:
        """Frees the model; it cannot be used afterwards."""
        self._ending()

    def generate(
        self, prefix: str, requests: Sequence[GenerationRequest], *, max_tokens: int, stop: str
    ) -> list[Completion]:
        """Completions of ``prefix + request.prompt``, each cut before ``stop``."""
        completions = [Completion("", 0.0)] * len(requests)
        if not requests:
            return completions
        self._hold(prefix)
        waiting = deque(self._prepared(requests, max_tokens))
        running: list[_Running] = []
        free = list(range(SLOTS, 0, -1))
        try:
            while waiting or running:
                drawn: list[tuple[_Running, int]] = []
                if waiting and len(free) >= min(REFILL, len(waiting)):
                    drawn = self._admit(waiting, free, sum(one.room for one in running))
                    running += [one for one, _ in drawn]
                for one, token in drawn or self._step(running):
                    if self._ended(one, token, max_tokens, stop.encode()):
                        text = one.text.decode("utf-8", "ignore").split(stop)[0]
                        completions[one.index] = Completion(text, one.certainty / one.drawn)
                        self._replies.drop(one.slot)
                        running.remove(one)
                        free.append(one.slot)
        except ModelError:
            self._prefix_length = 0
            raise
        finally:
            for sequence in range(1, SLOTS + 1):
                self._prompts.drop(sequence)
                self._replies.drop(sequence)
        return completions

    def _hold(self, prefix: str) -> None:
        """Evaluates the prefix as sequence 0 of both contexts, unless it is held already."""
        if prefix == self._prefix and self._prefix_length:
            return
        self._prefix_length = 0
        self._prompts.clear()
        self._replies.clear()
        tokens = self._tokenise(prefix, special=True)
        if not 0 < len(tokens) <= PREFIX:
            raise ModelError(f"a prompt of {len(tokens)} tokens cannot be used", hint="shorten the prompt file")
        entries = [Entry(token, place, (0,)) for place, token in enumerate(tokens)]
        for start in range(0, len(entries), BATCH):
            self._prompts.evaluate(entries[start : start + BATCH])
        self._prompts.copy(0, self._replies, 0)
        self._prefix, self._prefix_length = prefix, len(tokens)

    def _prepared(self, requests: Sequence[GenerationRequest], max_tokens: int) -> list[_Running]:
        """The requests, without a slot yet."""
        most = min(PROMPT, CELLS - self._prefix_length - max_tokens)
        if most <= TAIL:
            raise ModelError(f"{max_tokens} tokens a completion leave no room for a prompt", hint="ask for fewer")
        prompts = [_shortened(self._tokenise(request.prompt, special=False), most) for request in requests]
        return [
            _Running(index, prompt, np.random.default_rng(request.seed), len(prompt) + max_tokens)
            for index, (prompt, request) in enumerate(zip(prompts, requests, strict=True))
        ]

    def _admit(self, waiting: deque[_Running], free: list[int], held: int) -> list[tuple[_Running, int]]:
        """Takes in what is waiting while there are slots for it, and cells beside the ``held`` ones.

        Returns each with the first token of its reply.
        """
        fresh: list[_Running] = []
        while waiting and len(fresh) < len(free) and self._prefix_length + held + waiting[0].room <= CELLS:
            held += waiting[0].room
            fresh.append(waiting.popleft())
        fresh.sort(key=lambda one: one.prompt)
        drawn: list[tuple[_Running, int]] = []
        for group in batched_prompts([one.prompt for one in fresh], BATCH):
            drawn += self._read(fresh[group.start : group.stop], free, drawn[-1][0] if drawn else None)
        return drawn

    def _read(self, group: Sequence[_Running], free: list[int], before: _Running | None) -> list[tuple[_Running, int]]:
        """Evaluates prompts together, moves them to slots among what is decoded, and draws a token for each.

        before: the one in a slot whose prompt comes before the first of them.
        """
        start = self._prefix_length
        for number in range(1, len(group) + 1):
            self._prompts.share(0, number)
        entries = prompt_entries([one.prompt for one in group], start)
        self._prompts.evaluate(entries)
        places = [place for place, entry in enumerate(entries) if entry.final]
        drawn = [
            (one, self._draw(one, self._prompts.logits(place, self._words)))
            for one, place in zip(group, places, strict=True)
        ]
        for number, one in enumerate(group, 1):
            shared = start + (_shared(before.prompt, one.prompt) if before else 0)
            self._prompts.drop(number, 0, shared)
            one.slot, one.position = free.pop(), start + len(one.prompt)
            self._prompts.copy(number, self._replies, one.slot)
            self._prompts.drop(number)
            self._replies.share(0, one.slot)
            if before:
                self._replies.share(before.slot, one.slot, start, shared)
            before = one
        return drawn

    def _step(self, running: Sequence[_Running]) -> list[tuple[_Running, int]]:
        """Evaluates the last token of every sequence, and draws the next."""
        self._replies.evaluate([Entry(one.last, one.position, (one.slot,), final=True) for one in running])
        for one in running:
            one.position += 1
        return [(one, self._draw(one, self._replies.logits(place, self._words))) for place, one in enumerate(running)]

    def _draw(self, one: _Running, logits: FloatArray) -> int:
        token = draw(logits, self._sampling, one.rng)
        one.drawn += 1
        one.certainty += log_probability(logits, token)
        return token

    def _ended(self, one: _Running, token: int, max_tokens: int, stop: bytes) -> bool:
        """Takes the drawn token in; True when the text is complete."""
        if self._api.llama_vocab_is_eog(self._native.vocabulary, token):
            return True
        one.text += self._piece(token)
        one.last = token
        return one.drawn >= max_tokens or stop in one.text

    def _tokenise(self, text: str, *, special: bool) -> list[int]:
        """Token ids. Only the prefix may hold special tokens: text of a document can never become one."""
        data = text.encode("utf-8", "replace")
        buffer = (ctypes.c_int * (len(data) + 8))()
        count = self._api.llama_tokenize(
            self._native.vocabulary, data, len(data), buffer, len(buffer), special, special
        )
        return list(buffer[:count])

    def _piece(self, token: int) -> bytes:
        if token not in self._pieces:
            buffer = ctypes.create_string_buffer(256)
            length = self._api.llama_token_to_piece(self._native.vocabulary, token, buffer, 256, 0, False)
            self._pieces[token] = buffer.raw[: max(0, length)]
        return self._pieces[token]


def batched_prompts(prompts: Sequence[Sequence[int]], most: int) -> list[range]:
    """Runs of prompts that have at most so many tokens together, where each is evaluated whole."""
    groups: list[range] = []
    start = held = 0
    for number, prompt in enumerate(prompts):
        if number > start and held + len(prompt) > most:
            groups.append(range(start, number))
            start, held = number, 0
        held += len(prompt)
    return [*groups, range(start, len(prompts))] if prompts else []


def prompt_entries(prompts: Sequence[Sequence[int]], start: int) -> list[Entry]:
    """Prompts in ascending order as sequences 1, 2, … from position ``start`` on, without repetitions.

    What a prompt shares with the one before it is evaluated once, for all that begin with it. The last token of each
    stays with its own sequence: what follows is asked after it.
    """
    shared = [0, *(_shared(*pair) for pair in pairwise(prompts))]
    entries: list[Entry] = []
    for number, prompt in enumerate(prompts):
        alike = number + 1
        owners: dict[int, list[int]] = {}
        for place in range(len(prompt) - 1, shared[number] - 1, -1):
            while alike < len(prompts) and min(shared[number + 1 : alike + 1]) > place:
                alike += 1
            owners[place] = list(range(number + 1, alike + 1))
        entries += [
            Entry(prompt[place], start + place, owners[place], final=place == len(prompt) - 1)
            for place in range(shared[number], len(prompt))
        ]
    return entries


def _shared(before: Sequence[int], prompt: Sequence[int]) -> int:
    """Tokens that both begin with, but for the last of ``prompt``."""
    most = min(len(before), len(prompt) - 1)
    return next((place for place in range(most) if before[place] != prompt[place]), most)


def _shortened(tokens: list[int], most: int) -> list[int]:
    """At most so many tokens: of more, the first ones and the cue at the end."""
    return tokens if len(tokens) <= most else tokens[: most - TAIL] + tokens[-TAIL:]
