"""A context of llama.cpp: a cache of cells, each a token at its place that belongs to one sequence or to several.

Wraps the native calls that ``llama`` needs, on the library that it hands over.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from idc_local.errors import ModelError
from idc_local.types import FloatArray


@dataclass(frozen=True, slots=True)
class Entry:
    """A token to evaluate at a position, for all sequences that have it there.

    final: what follows is asked for, so that its logits are kept.
    """

    token: int
    position: int
    sequences: Sequence[int]
    final: bool = False


class Cells:
    """One context over a loaded model. Not to be shared between threads.

    name: of the model, for people. size: cells there are. batch: most tokens evaluated together, no less than
    sequences. sequences: how many there may be, numbered from 0.
    """

    def __init__(self, api: Any, model: Any, name: str, *, size: int, batch: int, sequences: int, threads: int) -> None:  # noqa: ANN401
        params = api.llama_context_default_params()
        params.n_ctx = size
        params.n_batch = params.n_ubatch = batch
        params.n_seq_max = sequences
        params.n_threads = params.n_threads_batch = threads
        params.kv_unified = True
        params.no_perf = True
        self._api = api
        self._context = api.llama_init_from_model(model, params)
        if not self._context:
            raise ModelError(f"no memory for {name}", hint="close other programs, or use --intents heuristic")
        self._memory = api.llama_get_memory(self._context)
        self._batch = api.llama_batch_init(batch, 0, sequences)

    def close(self) -> None:
        """Frees the context."""
        self._api.llama_batch_free(self._batch)
        self._api.llama_free(self._context)

    def evaluate(self, entries: Sequence[Entry]) -> None:
        """Evaluates tokens, at most as many as a batch holds, in one go."""
        batch = self._batch
        for place, entry in enumerate(entries):
            batch.token[place] = entry.token
            batch.pos[place] = entry.position
            batch.n_seq_id[place] = len(entry.sequences)
            for number, sequence in enumerate(entry.sequences):
                batch.seq_id[place][number] = sequence
            batch.logits[place] = entry.final
        batch.n_tokens = len(entries)
        failed = self._api.llama_decode(self._context, batch)
        if failed:
            raise ModelError(f"llama.cpp could not evaluate a batch (code {failed})", hint="use --intents heuristic")

    def logits(self, place: int, words: int) -> FloatArray:
        """Logits after the ``final`` entry at that place of the last batch, float32 [words], until the next batch."""
        pointer = self._api.llama_get_logits_ith(self._context, place)
        return np.ctypeslib.as_array(pointer, shape=(words,))

    def share(self, source: int, target: int, start: int = -1, end: int = -1) -> None:
        """Cells of ``source`` at positions ``start`` to ``end - 1`` are ``target``'s as well; all, unless given."""
        self._api.llama_memory_seq_cp(self._memory, source, target, start, end)

    def drop(self, sequence: int, start: int = -1, end: int = -1) -> None:
        """Those cells are no longer the sequence's; what is nobody's is free."""
        if not self._api.llama_memory_seq_rm(self._memory, sequence, start, end):
            raise ModelError("the model keeps no cache of tokens", hint="use a model of the usual transformer kind")

    def clear(self) -> None:
        """Drops everything."""
        self._api.llama_memory_clear(self._memory, True)

    def copy(self, sequence: int, other: Cells, target: int) -> None:
        """Puts the cells of a sequence into another context of the model, as all that ``target`` has there."""
        size = self._api.llama_state_seq_get_size(self._context, sequence)
        data = (ctypes.c_uint8 * size)()
        self._api.llama_state_seq_get_data(self._context, data, size, sequence)
        if not self._api.llama_state_seq_set_data(other._context, data, size, target):
            raise ModelError("llama.cpp could not move a prompt to its replies", hint="use --intents heuristic")
