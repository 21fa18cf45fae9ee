"""Other projects' chunkers, each as a function from a text and a size to spans. Runs in the peers' environment.

Every peer gets the same text, the same embedder and, where it lets its caller choose, the same sentences. Sizes are
characters: the maximum, for chunkers that have one, or what they aim at. Libraries are imported by name, when their
chunker is first used, so that no import of this file needs them.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from idc_local.types import FloatArray, Span

PIECE_TOKENS = 50
"""Word pieces in the units of the cluster chunker, as published."""


@dataclass(frozen=True)
class PeerInput:
    """A document for the peers.

    sentences: spans that tile the text. embed: texts → unit rows. count: word pieces of a text.
    """

    text: str
    sentences: tuple[Span, ...]
    embed: Callable[[Sequence[str]], FloatArray]
    count: Callable[[str], int]


Peer = Callable[[PeerInput, int], list[Span]]


def located(text: str, parts: Iterable[str]) -> list[Span]:
    """Spans of parts that follow each other in the text, for libraries that return text without offsets."""
    spans, cursor = [], 0
    for part in parts:
        wanted = part.strip()
        if wanted:
            start = text.find(wanted, cursor)
            if start < 0:
                raise ValueError(f"a chunk is not in the text after {cursor}: {wanted[:60]!r}")
            cursor = start + len(wanted)
            spans.append(Span(start, cursor))
    return spans


def tiled(parts: Iterable[str]) -> list[Span]:
    """Spans of parts that make up the text without gaps."""
    ends = np.cumsum([0, *(len(part) for part in parts)]).tolist()
    return [Span(start, end) for start, end in pairwise(ends)]


def chonkie_recursive(given: PeerInput, size: int) -> list[Span]:
    """Chonkie's RecursiveChunker: paragraphs, then sentences, then words, merged up to the size."""
    chunker = importlib.import_module("chonkie").RecursiveChunker(tokenizer="character", chunk_size=size)
    return [Span(chunk.start_index, chunk.end_index) for chunk in chunker.chunk(given.text)]


def chonkie_semantic(given: PeerInput, size: int) -> list[Span]:
    """Chonkie's SemanticChunker with its default threshold and windows."""
    chonkie = importlib.import_module("chonkie")
    embeddings = _chonkie_embeddings(given)
    chunker = chonkie.SemanticChunker(embedding_model=embeddings, chunk_size=size)
    return [Span(chunk.start_index, chunk.end_index) for chunk in chunker.chunk(given.text)]


def _chonkie_embeddings(given: PeerInput) -> Any:  # noqa: ANN401 - the library's base class is known at run time only
    base: Any = importlib.import_module("chonkie.embeddings").BaseEmbeddings

    def embed_batch(_: object, texts: list[str]) -> list[FloatArray]:
        return list(given.embed(texts))

    members = {
        "embed": lambda _, text: given.embed([text])[0],
        "embed_batch": embed_batch,
        "dimension": property(lambda _: given.embed(["dimension"]).shape[1]),
        "get_tokenizer": lambda _: "character",
    }
    return type("SharedEmbeddings", (base,), members)()


def langchain_recursive(given: PeerInput, size: int) -> list[Span]:
    """LangChain's RecursiveCharacterTextSplitter without overlap."""
    module = importlib.import_module("langchain_text_splitters")
    splitter = module.RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=0)
    return located(given.text, splitter.split_text(given.text))


def llamaindex_semantic(given: PeerInput, size: int) -> list[Span]:
    """LlamaIndex's SemanticSplitterNodeParser; the percentile is chosen so that the mean size is the one wanted."""
    core = importlib.import_module("llama_index.core")
    parser = importlib.import_module("llama_index.core.node_parser").SemanticSplitterNodeParser
    sentences = [given.text[start:end] for start, end in given.sentences]
    per_chunk = max(1.0, size * len(sentences) / max(1, len(given.text)))
    splitter = parser.from_defaults(
        embed_model=_llamaindex_embedding(given),
        breakpoint_percentile_threshold=min(99, round(100 * (1 - 1 / per_chunk))),
        sentence_splitter=lambda _: sentences,
    )
    return tiled(node.text for node in splitter.build_semantic_nodes_from_documents([core.Document(text=given.text)]))


def _llamaindex_embedding(given: PeerInput) -> Any:  # noqa: ANN401
    base: Any = importlib.import_module("llama_index.core.base.embeddings.base").BaseEmbedding

    async def later(_: object, query: str) -> list[float]:
        return rows([query])[0]

    def rows(texts: list[str]) -> list[list[float]]:
        return [row.tolist() for row in given.embed(texts)]

    members = {
        "_get_query_embedding": lambda _, query: rows([query])[0],
        "_get_text_embedding": lambda _, text: rows([text])[0],
        "_get_text_embeddings": lambda _, texts: rows(texts),
        "_aget_query_embedding": later,
        "__module__": __name__,
    }
    return type("SharedEmbedding", (base,), members)(embed_batch_size=512)


def semantic_text_splitter(given: PeerInput, size: int) -> list[Span]:
    """The text-splitter crate's TextSplitter: Unicode sentence and paragraph levels, no semantics despite its name."""
    splitter = importlib.import_module("semantic_text_splitter").TextSplitter(size)
    return [Span(start, start + len(text)) for start, text in splitter.chunk_indices(given.text)]


def semchunk(given: PeerInput, size: int) -> list[Span]:
    """Semchunk, counting characters."""
    chunker = importlib.import_module("semchunk").chunkerify(len, size)
    return [Span(*offsets) for offsets in chunker(given.text, offsets=True)[1]]


def raglite(given: PeerInput, size: int) -> list[Span]:
    """RAGLite's chunklets (dynamic program) and chunks (integer program) over the shared sentences."""
    chunklet_module, chunk_module = _raglite_modules()
    sentences = [part for span in given.sentences for part in _short(given.text[span.start : span.end], size)]
    if not sentences:
        return []
    chunklets = chunklet_module.split_chunklets(sentences, max_size=size)
    chunks, _ = chunk_module.split_chunks(chunklets, given.embed(chunklets), max_size=size)
    return tiled(chunks)


def _short(text: str, size: int) -> list[str]:
    """Parts of a sentence that are no longer than a chunk may be."""
    return [text[start : start + size] for start in range(0, len(text), size)]


@cache
def _raglite_modules() -> tuple[Any, Any]:
    """Two files of the package, loaded without its database and model clients."""
    found = importlib.util.find_spec("raglite")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("raglite")
    folder = Path(found.origin).parent
    for name in ("raglite", "raglite._typing"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["raglite._typing"].__dict__.update(FloatMatrix=np.ndarray, FloatVector=np.ndarray)
    loaded = []
    for name in ("_split_chunklets", "_split_chunks"):
        spec = importlib.util.spec_from_file_location(f"raglite.{name}", folder / f"{name}.py")
        if spec is None or spec.loader is None:
            raise ModuleNotFoundError(f"raglite.{name}")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        loaded.append(module)
    return loaded[0], loaded[1]


def chroma_cluster(given: PeerInput, size: int) -> list[Span]:
    """ClusterSemanticChunker as published (Smith and Troynikov, 2024).

    Pieces of 50 tokens by a recursive splitter; the dynamic program maximises the summed similarities inside chunks,
    taken relative to their mean, over chunks of at most size / piece pieces. Where nothing is gained a piece stands
    alone; the original lets such a chunk reach back to the start of the text, past its own maximum.
    """
    module = importlib.import_module("langchain_text_splitters")
    splitter = module.RecursiveCharacterTextSplitter(
        chunk_size=PIECE_TOKENS,
        chunk_overlap=0,
        length_function=given.count,
        separators=["\n\n", "\n", ".", "?", "!", " ", ""],
    )
    pieces = located(given.text, splitter.split_text(given.text))
    if not pieces:
        return []
    mean_piece = sum(span.end - span.start for span in pieces) / len(pieces)
    longest = max(1, round(size / mean_piece))
    vectors = given.embed([given.text[start:end] for start, end in pieces])
    cuts = _best_blocks(vectors @ vectors.T, longest)
    return [Span(pieces[first].start, pieces[last - 1].end) for first, last in pairwise(cuts)]


def _best_blocks(similarity: FloatArray, longest: int) -> list[int]:
    """Cuts, from 0 to the number of pieces, that maximise the sum of centred similarities inside blocks."""
    count = similarity.shape[0]
    centred = similarity.astype(np.float64)
    if count > 1:
        centred -= centred[np.triu_indices(count, k=1)].mean()
    np.fill_diagonal(centred, 0.0)
    sums = np.zeros((count + 1, count + 1))
    sums[1:, 1:] = centred.cumsum(axis=0).cumsum(axis=1)
    best, begin = np.zeros(count + 1), np.zeros(count + 1, dtype=np.int64)
    for end in range(1, count + 1):
        begin[end] = end - 1
        starts = np.arange(max(0, end - longest), end)
        totals = best[starts] + sums[end, end] - sums[starts, end] - sums[end, starts] + sums[starts, starts]
        if totals.max() > 0.0:
            best[end], begin[end] = totals.max(), starts[int(np.argmax(totals))]
    cuts = [count]
    while cuts[-1] > 0:
        cuts.append(int(begin[cuts[-1]]))
    return cuts[::-1]


PEERS: dict[str, Peer] = {
    "chonkie-recursive": chonkie_recursive,
    "chonkie-semantic": chonkie_semantic,
    "langchain-recursive": langchain_recursive,
    "llamaindex-semantic": llamaindex_semantic,
    "semantic-text-splitter": semantic_text_splitter,
    "semchunk": semchunk,
    "raglite": raglite,
    "chroma-cluster": chroma_cluster,
}
