"""Speed of taking documents in: the whole of ``index``, and cutting against other projects."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from measuring import peer_inputs
from peers import PEERS
from speed_models import paper_text, plain_encoder
from speedkit import Bench, FreeDocuments, Result, Seconds, compared, in_turn, listed, median, timed, timed_command

from idc_local.memory import MemoryCache
from idc_local.pipeline import ChunkingOptions, CutDocument, Pipeline, PipelinePorts
from idc_local.types import Document, FloatArray, Limits, Sentences

CUT_SIZE = 700
WARM_UP_CHARS = 1500
OWN, OWN_GIVEN = "idc-local", "idc-local, sentences given"
SPLITS_ITSELF = ("chonkie-semantic",)
Encode = Callable[[Sequence[str]], FloatArray]
Ports = Callable[[MemoryCache, str], PipelinePorts]


def index(bench: Bench) -> Result:
    """One document of the paper's length: the whole command, and its stages in a process that has the models loaded.

    The command starts an interpreter and loads all libraries and both models; files are in the system's cache.
    """
    text = paper_text(bench)
    file = bench.work / "paper.txt"
    file.write_text(text, encoding="utf-8")
    numbers = iter(range(1000))

    def command() -> Seconds:
        folder = str(bench.work / f"index{next(numbers)}")
        return timed_command(
            [sys.executable, "-m", "idc_local", "index", str(file), "--index", folder, "--models", str(bench.models)]
        )

    command()
    whole = [command() for _ in range(bench.rounds)]
    document, sentences = bench.split(text)
    stages: list[dict[str, float]] = []
    warm: list[Seconds] = []
    ports = bench.runtime.pipeline_ports(MemoryCache(), "model")
    ports.generator()
    ports.embedder.encode_documents(["This loads the model."], "en")
    asked = 0
    for _ in range(bench.rounds):
        fresh = bench.runtime.pipeline_ports(MemoryCache(), "model")
        pipeline = Pipeline(ChunkingOptions(), fresh)
        warm.append(timed(lambda pipeline=pipeline: pipeline.index(document, "model")))  # type: ignore[misc]
        stages.append(dict(pipeline.seconds))
        asked = pipeline.windows_generated
    seconds = {name: float(np.median([one[name] for one in stages])) for name in stages[0]}
    process, inside = median(whole), median(warm)
    return {
        "characters": len(text),
        "sentences": len(sentences),
        "asked": asked,
        "seconds": listed({"command": process, "warm": inside}),
        "stages": {name: round(value, 4) for name, value in seconds.items()},
        "segmentation_ms": round(1000 * seconds["segmentation"], 2),
        "segmentation_mark_ms": 20,
        "mark_s": 15,
        "warm_to_intents": round(inside.wall / seconds["intents"], 2),
        "command_to_intents": round(process.wall / seconds["intents"], 2),
        "to_intents_mark": 1.6,
    }


def chunking(bench: Bench) -> Result:
    """Cutting documents against other projects' chunkers with the same model: without embedding, and with it.

    With it they call ``SentenceTransformer.encode`` as their users do, and once more the package's embedder, which is
    faster.
    """
    texts = bench.texts("covidqa") + bench.texts("squad_new_wiki") + bench.texts("fairytaleqa") + bench.texts("cuad")
    plain = plain_encoder(bench)
    few = _up_to(texts, bench.sized(100_000))
    free = _cutting(bench, _up_to(texts, bench.sized(1_000_000)), _free_ports(bench))
    lent = _cutting(bench, few, bench.runtime.pipeline_ports)
    own = _cutting(bench, few, bench.runtime.pipeline_ports, plain)
    return {
        "without_embedding": free | {"mark": 10},
        "with_embedding": own | {"mark": 3},
        "with_lent_embedding": lent | {"mark": 3},
    }


def _up_to(texts: Sequence[str], characters: int) -> list[str]:
    chosen: list[str] = []
    for text in texts:
        room = characters - sum(map(len, chosen))
        if room > 0:
            chosen.append(text[:room])
    return chosen


def _free_ports(bench: Bench) -> Ports:
    """Ports like the runtime's whose vectors come for nothing."""
    real = replace(bench.runtime.pipeline_ports(MemoryCache(), "off"), embedder=FreeDocuments())

    def ports(cache: MemoryCache, _: str) -> PipelinePorts:
        return replace(real, cache=cache)

    return ports


class GivenSentences(Pipeline):
    """A pipeline that gets its sentences for nothing, as the peers do."""

    def __init__(self, options: ChunkingOptions, ports: PipelinePorts, cut: Sequence[CutDocument]) -> None:
        super().__init__(options, ports)
        self._given = {one.document.id: one.sentences for one in cut}

    def _split(self, document: Document, language: str) -> Sentences:
        return self._given[document.id]


def _cutting(bench: Bench, texts: Sequence[str], ports: Ports, encode: Encode | None = None) -> Result:
    """Seconds of the own chunker, with and without its splitting of sentences, and of each peer.

    chonkie finds ends of sentences by itself, and is compared with the whole; the others get theirs for nothing.
    encode: what the peers embed with; None: what the package does.
    """
    options = ChunkingOptions(intents="off", limits=Limits(target_chars=CUT_SIZE))
    split = Pipeline(ChunkingOptions(strategy="fixed"), ports(MemoryCache(), "off"))

    def own(pipeline: Pipeline, cut: Sequence[CutDocument]) -> None:
        for one in cut:
            pipeline.cut(one.document, "off", embed=True)

    def peer(name: str, cut: Sequence[CutDocument]) -> None:
        for given in peer_inputs(ports(MemoryCache(), "off"), cut):
            PEERS[name](replace(given, embed=encode) if encode else given, CUT_SIZE)

    def contenders(given: Sequence[str]) -> dict[str, Callable[[], Seconds]]:
        cut = [split.cut(bench.split(text)[0], "off", embed=False) for text in given]
        found: dict[str, Callable[[], Seconds]] = {
            OWN: lambda: timed(lambda: own(Pipeline(options, ports(MemoryCache(), "off")), cut)),
            OWN_GIVEN: lambda: timed(lambda: own(GivenSentences(options, ports(MemoryCache(), "off"), cut), cut)),
        }
        peers = {name: lambda name=name: timed(lambda: peer(name, cut)) for name in _installed()}
        return found | peers

    in_turn(contenders([texts[0][:WARM_UP_CHARS]]), 1)
    times = in_turn(contenders(texts), bench.rounds)
    ratios = {name: compared(times[OWN if name in SPLITS_ITSELF else OWN_GIVEN], times[name]) for name in _installed()}
    return {
        "characters": sum(map(len, texts)),
        "documents": len(texts),
        "seconds": listed(times),
        "ratios": {name: found["ratio"] for name, found in ratios.items()},
        "cpu_ratios": {name: found["cpu_ratio"] for name, found in ratios.items()},
    }


@cache
def _installed() -> list[str]:
    modules = {"chonkie-semantic": "chonkie", "llamaindex-semantic": "llama_index", "raglite": "raglite"}
    return [name for name, module in modules.items() if importlib.util.find_spec(module)]
