"""Text generation with llama.cpp: owns ``llama_cpp``, which is imported when first used.

Several prompts are decoded in one batch. They share the evaluated prefix, and those that begin alike share what they
have in common: such cells in the cache belong to several sequences at once. Sequences that end make room for the next
requests as soon as there is room for many.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from idc_local.backends.native import quiet_stderr, yield_while_waiting
from idc_local.backends.sampling import Sampling, draw
from idc_local.catalogue import ModelFiles
from idc_local.errors import ModelError
from idc_local.fingerprint import digest
from idc_local.ports import GenerationRequest, TextGenerator
from idc_local.types import FloatArray

SLOTS = 48
"""Sequences decoded at once: fewer leave the processor waiting for the weights, more make attention dear."""
REFILL = 32
"""Slots that must be free before further prompts are taken in. Prompts evaluated together cost less than one at a time
beside others that decode, by a fifth with all slots taken at once."""
CELLS = 6144
"""Tokens that the cache holds for prefix and sequences together."""
PROMPT = 214
"""Most tokens of a prompt beyond the prefix."""
BATCH = 512
TAIL = 24
"""Tokens kept at the end of a prompt that must be shortened: the cue that follows the passage."""


def requantise(source: Path, target: Path, kind: str) -> str:
    """Converts a GGUF file to tensor type ``kind`` (such as ``Q8_0``); returns the library's name and version."""
    with quiet_stderr():
        import llama_cpp

        params = llama_cpp.llama_model_quantize_default_params()
        params.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}")
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
        handles = _open(files, max(1, threads))
    return LlamaGenerator(handles, files, sampling or Sampling())


@dataclass(frozen=True, slots=True)
class _Handles:
    """Native objects: model, context, memory, vocabulary, batch."""

    api: Any
    model: Any
    context: Any
    memory: Any
    vocabulary: Any
    batch: Any


def _open(files: ModelFiles, threads: int) -> _Handles:
    import llama_cpp.llama_cpp as api

    api.llama_log_set(_silence(api), ctypes.c_void_p(0))
    api.llama_backend_init()
    model = api.llama_model_load_from_file(os.fsencode(files.main), api.llama_model_default_params())
    if not model:
        raise ModelError(f"{files.main} cannot be loaded by llama.cpp", hint="idc-local models verify")
    params = api.llama_context_default_params()
    params.n_ctx = CELLS
    params.n_batch = params.n_ubatch = BATCH
    params.n_seq_max = SLOTS + 1
    params.n_threads = params.n_threads_batch = threads
    params.kv_unified = True
    params.no_perf = True
    context = api.llama_init_from_model(model, params)
    if not context:
        api.llama_model_free(model)
        raise ModelError(f"no memory for {files.name}", hint="close other programs, or use --intents heuristic")
    vocabulary = api.llama_model_get_vocab(model)
    return _Handles(
        api, model, context, api.llama_get_memory(context), vocabulary, api.llama_batch_init(BATCH, 0, SLOTS)
    )


_CALLBACKS: list[Any] = []


def _silence(api: Any) -> Any:  # noqa: ANN401  (a ctypes module)
    """A log callback that drops everything; kept for the life of the process, as the library keeps its address."""
    if not _CALLBACKS:
        _CALLBACKS.append(api.llama_log_callback(lambda level, text, data: None))
    return _CALLBACKS[0]


def _close(handles: _Handles) -> None:
    handles.api.llama_batch_free(handles.batch)
    handles.api.llama_free(handles.context)
    handles.api.llama_model_free(handles.model)


@dataclass(slots=True)
class _Running:
    """A request being decoded: ``pending`` tokens were not evaluated yet, ``position`` is the first one's place.

    room: cells of the cache that it may come to hold. followers: other slots whose prompts begin alike, each with the
    place up to which the cells are theirs as well.
    """

    index: int
    slot: int
    pending: list[int]
    position: int
    rng: np.random.Generator
    room: int = 0
    text: bytearray = field(default_factory=bytearray)
    drawn: int = 0
    followers: list[tuple[int, int]] = field(default_factory=list)

    def sharing(self) -> list[int]:
        """Slots that the first pending token belongs to as well."""
        return [slot for end, slot in self.followers if self.position < end]


class LlamaGenerator:
    """Completes prompts with one GGUF model. Not to be shared between threads."""

    def __init__(self, handles: _Handles, files: ModelFiles, sampling: Sampling) -> None:
        self._native = handles
        self._api = handles.api
        self._sampling = sampling
        self._prefix = ""
        self._prefix_length = 0
        self._words = int(self._api.llama_vocab_n_tokens(handles.vocabulary))
        self._pieces: dict[int, bytes] = {}
        self._ending = weakref.finalize(self, _close, handles)
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

    def generate(self, prefix: str, requests: Sequence[GenerationRequest], *, max_tokens: int, stop: str) -> list[str]:
        """Completions of ``prefix + request.prompt``, each cut before ``stop``."""
        texts = [""] * len(requests)
        if not requests:
            return texts
        self._hold(prefix)
        waiting = deque(self._prepared(requests, max_tokens))
        running: list[_Running] = []
        free = list(range(SLOTS, 0, -1))
        try:
            while waiting or running:
                if len(free) >= min(REFILL, len(waiting)):
                    running += self._admit(waiting, free, sum(one.room for one in running))
                for one, token in self._step(running):
                    if self._ended(one, token, max_tokens, stop.encode()):
                        texts[one.index] = one.text.decode("utf-8", "ignore").split(stop)[0]
                        self._api.llama_memory_seq_rm(self._native.memory, one.slot, -1, -1)
                        running.remove(one)
                        free.append(one.slot)
        finally:
            for slot in range(1, SLOTS + 1):
                self._api.llama_memory_seq_rm(self._native.memory, slot, -1, -1)
        return texts

    def _hold(self, prefix: str) -> None:
        """Evaluates the prefix as sequence 0, unless it is held already."""
        if prefix == self._prefix and self._prefix_length:
            return
        self._api.llama_memory_clear(self._native.memory, True)
        self._prefix_length = 0
        tokens = self._tokenise(prefix, special=True)
        if not 0 < len(tokens) < CELLS // 2:
            raise ModelError(f"a prompt of {len(tokens)} tokens cannot be used", hint="shorten the prompt file")
        holder = _Running(-1, 0, tokens, 0, np.random.default_rng(0))
        while holder.pending:
            self._step([holder])
        self._prefix, self._prefix_length = prefix, holder.position

    def _prepared(self, requests: Sequence[GenerationRequest], max_tokens: int) -> list[_Running]:
        """The requests, without a slot yet."""
        most = min(PROMPT, CELLS - self._prefix_length - max_tokens)
        if most <= TAIL:
            raise ModelError(f"{max_tokens} tokens a completion leave no room for a prompt", hint="ask for fewer")
        prompts = [_shortened(self._tokenise(request.prompt, special=False), most) for request in requests]
        rngs = [np.random.default_rng(request.seed) for request in requests]
        return [
            _Running(index, 0, tokens, self._prefix_length, rng, room=len(tokens) + max_tokens)
            for index, (tokens, rng) in enumerate(zip(prompts, rngs, strict=True))
        ]

    def _admit(self, waiting: deque[_Running], free: list[int], held: int) -> list[_Running]:
        """Takes in what is waiting while there are slots for it, and cells beside the ``held`` ones."""
        fresh: list[_Running] = []
        while waiting and free and self._prefix_length + held + waiting[0].room <= CELLS:
            one = waiting.popleft()
            one.slot = free.pop()
            held += one.room
            self._api.llama_memory_seq_cp(self._native.memory, 0, one.slot, -1, -1)
            fresh.append(one)
        return share_beginnings(fresh)

    def _step(self, running: Sequence[_Running]) -> list[tuple[_Running, int]]:
        """Evaluates pending tokens of all sequences, as many as fit, and draws a token where none is left pending.

        Sequences come in the order given: what a prompt shares with one before it has to be there first.
        """
        batch = self._native.batch
        filled = 0
        ready: list[tuple[_Running, int]] = []
        for one in running:
            taken = one.pending[: BATCH - filled]
            for token in taken:
                slots = [one.slot, *one.sharing()]
                batch.token[filled] = token
                batch.pos[filled] = one.position
                batch.n_seq_id[filled] = len(slots)
                for place, slot in enumerate(slots):
                    batch.seq_id[filled][place] = slot
                batch.logits[filled] = 0
                one.position += 1
                filled += 1
            del one.pending[: len(taken)]
            if taken and not one.pending:
                batch.logits[filled - 1] = 1
                ready.append((one, filled - 1))
        batch.n_tokens = filled
        failed = self._api.llama_decode(self._native.context, batch)
        if failed:
            self._prefix_length = 0
            raise ModelError(f"llama.cpp could not evaluate a batch (code {failed})", hint="use --intents heuristic")
        return [(one, self._draw(one, place)) for one, place in ready if one.slot]

    def _draw(self, one: _Running, place: int) -> int:
        pointer = self._api.llama_get_logits_ith(self._native.context, place)
        logits: FloatArray = np.ctypeslib.as_array(pointer, shape=(self._words,))
        return draw(logits, self._sampling, one.rng)

    def _ended(self, one: _Running, token: int, max_tokens: int, stop: bytes) -> bool:
        """Takes the drawn token in; True when the text is complete."""
        if self._api.llama_vocab_is_eog(self._native.vocabulary, token):
            return True
        one.text += self._piece(token)
        one.drawn += 1
        one.pending.append(token)
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


def share_beginnings(fresh: Sequence[_Running]) -> list[_Running]:
    """Sequences in order of their prompts, each without the tokens that one before it has at the same places.

    Those are evaluated once, for all that begin with them. The last token stays with its own sequence: what follows
    is asked after it. All begin at one position.
    """
    ordered = sorted(fresh, key=lambda one: one.pending)
    prompts = [one.pending for one in ordered]
    for number, one in enumerate(ordered):
        start, prompt = one.position, prompts[number]
        for before, other in zip(ordered[:number], prompts, strict=False):
            shared = start + min(_alike(other, prompt), len(prompt) - 1)
            if before.position == one.position < shared:
                before.followers.append((shared, one.slot))
                one.position = shared
        one.pending = prompt[one.position - start :]
    return ordered


def _alike(one: Sequence[int], other: Sequence[int]) -> int:
    """Tokens that both begin with."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (mine, yours) in enumerate(pairs) if mine != yours), min(len(one), len(other)))


def _shortened(tokens: list[int], most: int) -> list[int]:
    """At most so many tokens: of more, the first ones and the cue at the end."""
    return tokens if len(tokens) <= most else tokens[: most - TAIL] + tokens[-TAIL:]
