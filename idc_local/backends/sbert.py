"""Sentence embeddings with sentence-transformers: owns it and ``torch``, both imported when first used.

Documents are multiplied in bfloat16 where that is quicker, up to three times, and every vector within a cosine of .999
of its float32 one. Queries are always in float32.

Every environment variable that could make these libraries look at the network is overridden first, only a local
folder with safetensors is loaded, and code that comes with a model is never run.
"""

from __future__ import annotations

import logging
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from idc_local.backends.native import quiet_stderr, return_memory, stand_on_ground, yield_while_waiting
from idc_local.backends.packing import alone, pack, packed
from idc_local.backends.pieces import (
    Marked,
    beyond_weights,
    frame_of,
    marked,
    merge_pieces,
    own_tokens,
    split_pieces,
)
from idc_local.catalogue import ModelFiles
from idc_local.errors import ModelError
from idc_local.machine import has_bfloat16
from idc_local.ports import Embedder, Tokens
from idc_local.types import FloatArray, IntArray

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    "DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
}

BFLOAT16_GAIN = 1.3
"""How many times as fast bfloat16 must be: clearly, so that every run decides alike."""
BATCH_TOKENS = 1536
"""Wide enough for matrix products at full speed, small enough that what lies between them stays in the cache."""
FEW_TOKENS = 256
"""No batch is made smaller than this to give every thread its share."""
LEAST_TOKENS = 64
"""Smaller batches are filled up with their own rows: products of few rows are added up in another order."""
DOCUMENTS, QUERIES = 0, 1
"""Kinds of texts: those of a model's two prompts."""


def load_embedder(files: ModelFiles, threads: int, *, bfloat16: bool | None = None) -> Embedder:
    """Loads a sentence-transformers folder whose files were verified.

    bfloat16: documents are multiplied in it; None: where the processor has instructions for it that gain something.
    """
    os.environ.update(OFFLINE)
    stand_on_ground(files.main)
    # torch makes a folder for compiled code when it is imported, unless it is told of one; nothing is compiled here.
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(files.main))
    # Kernels are kept for every shape that was ever seen, and shapes are as many as lengths of texts times batches.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
    yield_while_waiting()
    try:
        with quiet_stderr(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import torch
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging as transformers_logging

            transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
            logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
            # Batches go side by side, one a thread: the threads of an operation would wait for each other after each
            # of hundreds, which on a busy machine costs a multiple of the work, and rows would depend on their number.
            torch.set_num_threads(1)
            model = SentenceTransformer(
                str(files.main),
                device="cpu",
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True, "torch_dtype": torch.float32},
            )
            model.eval()
    except Exception as error:  # whatever the library makes of a folder that it cannot use
        raise ModelError(
            f"{files.main} cannot be loaded as an embedder ({str(error).strip().splitlines()[0][:300]})",
            hint="idc-local models verify",
        ) from error
    reduced = has_bfloat16() and gains_by_bfloat16() if bfloat16 is None else bfloat16
    return SentenceEmbedder(model, files, max(1, threads), bfloat16=reduced)


def gains_by_bfloat16(clock: Callable[[], float] = time.perf_counter) -> bool:
    """True where matrices are multiplied so much faster in bfloat16, by the best of six tries of each, in turn.

    Of two kinds of processors with the instructions one was three times as fast with them, the other half as fast.
    """
    import torch

    with torch.inference_mode():
        texts, weights = torch.ones(BATCH_TOKENS // 4, 384), torch.ones(1536, 384)
        pairs = [(texts, weights), (texts.bfloat16(), weights.bfloat16())]
        best = [math.inf, math.inf]
        for _ in range(6):
            for place, (left, right) in enumerate(pairs):
                began = clock()
                torch.nn.functional.linear(left, right)
                best[place] = min(best[place], clock() - began)
    return best[0] > BFLOAT16_GAIN * best[1]


class SentenceEmbedder:
    """Unit vectors of a sentence-transformers model, each rounded to what float16 can hold."""

    def __init__(self, model: SentenceTransformer, files: ModelFiles, threads: int, *, bfloat16: bool) -> None:
        self._model = model
        self._packs = pack(model)
        self._threads = threads
        self._bfloat16 = bfloat16
        self._prompts = (files.document_prompt, files.query_prompt)
        self._frames = [frame_of(prompt, self._mark) for prompt in self._prompts]
        self._window = int(model.max_seq_length or files.context or 512)
        self._name = files.name
        self.fingerprint = files.fingerprint
        self.dimension = files.dimension or int(self._forward([self._mark(["a"])[0].ids], bfloat16=False)[0].shape[1])

    def encode_documents(self, texts: Sequence[str]) -> FloatArray:
        """float32 [len(texts), d], unit rows that float16 can hold; row i depends on texts[i] alone."""
        return self._encode(texts, DOCUMENTS)[0]

    def encode_sentences(self, texts: Sequence[str]) -> tuple[FloatArray, list[Tokens]]:
        """The same, and the tokens of each text, from one pass."""
        return self._encode(texts, DOCUMENTS, tokens=True)

    def encode_queries(self, texts: Sequence[str]) -> FloatArray:
        """The same with the model's query prompt, always in float32."""
        return self._encode(texts, QUERIES)[0]

    def query_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each query, computed in float32."""
        return self._encode(texts, QUERIES, tokens=True)[1]

    def _encode(self, texts: Sequence[str], kind: int, *, tokens: bool = False) -> tuple[FloatArray, list[Tokens]]:
        """Vectors of documents or queries and, where asked for, the tokens of each."""
        pieces = split_pieces(texts, self._prompts[kind], self._window, self._mark)
        ids, bfloat16 = pieces.ids, self._bfloat16 and kind == DOCUMENTS
        vectors = np.zeros((len(ids), self.dimension), dtype=np.float32)
        hidden: dict[int, FloatArray] = {}

        def fill(batch: IntArray) -> None:
            vectors[batch], found = self._forward([ids[place] for place in batch], bfloat16=bfloat16)
            if tokens:
                hidden.update(zip(batch.tolist(), found, strict=True))

        self._in_batches(ids, fill)
        last = [hidden.get(place, vectors[:0]) for place in range(len(ids))] if tokens else []
        own = own_tokens(pieces, last, self._frames[kind]) if tokens else []
        if kind == DOCUMENTS:
            return_memory()
        return merge_pieces(pieces, vectors), own

    def _in_batches(self, ids: Sequence[list[int]], work: Callable[[IntArray], None]) -> None:
        lengths = [len(one) for one in ids]
        share = -(-sum(lengths) // (2 * self._threads))
        room = min(BATCH_TOKENS, max(FEW_TOKENS, share))
        batches = list(_batches(lengths, room, mixed=self._packs))
        with ThreadPoolExecutor(min(self._threads, max(1, len(batches)))) as workers:
            for _ in workers.map(work, batches):
                pass

    def _mark(self, texts: list[str]) -> list[Marked]:
        encoded: Any = self._model.tokenizer(texts, truncation=False, padding=False, verbose=False)
        if not encoded.is_fast:
            # Tokenizers written in Python do not tell: every token then stands for itself.
            return [Marked(list(ids), ["" for _ in ids]) for ids in encoded["input_ids"]]
        return marked(texts, encoded.encodings)

    def _forward(self, ids: list[list[int]], *, bfloat16: bool) -> tuple[FloatArray, list[FloatArray]]:
        """What the model makes of texts, of one length unless it packs.

        Returns float32 [texts, d], their vectors, and for each float32 [its tokens, d], as the last layer has them.
        """
        import torch

        filled = ids * -(-LEAST_TOKENS // sum(map(len, ids)))
        # Norms, residuals and the pooling stay in float32.
        try:
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
                output = self._model(packed(self._model, filled) if self._packs else alone(filled))
        except IndexError as error:
            raise beyond_weights(self._name) from error
        vectors = output["sentence_embedding"].float().numpy()[: len(ids)]
        tokens = output["token_embeddings"].float().flatten(0, 1).numpy()
        ends = np.cumsum([len(one) for one in filled])
        return vectors, np.split(tokens, ends)[: len(ids)]


def _batches(lengths: Sequence[int], room: int, *, mixed: bool) -> Iterator[IntArray]:
    """Places of texts that have tokens, the longest first, at most ``room`` together; of one length unless ``mixed``.

    Tokenizers that put nothing around a text have none for an empty one.
    """
    counts = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    start, tokens = 0, 0
    for place, length in enumerate(lengths[text] for text in order):
        if place > start and (tokens + length > room or not (mixed or length == lengths[order[start]])):
            yield order[start:place]
            start, tokens = place, 0
        tokens += length
    if len(order):
        yield order[start:]
