"""The composition root: settings in, use cases with their real parts out. Shared by the command line and the library.

Models are resolved (found and hashed) when an operation needs them and loaded when the first text does. What only
indexing or upkeep needs is imported there: half of the package, which a search need not wait for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from importlib.resources import files as package_files
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from idc_local import store
from idc_local.catalogue import EMBEDDER, GENERATOR, Catalogue, ModelFiles
from idc_local.config import Settings
from idc_local.embedding import CachedEmbedder, check_embedder, naming_the_index, writer_fingerprint
from idc_local.errors import NothingFound, StoreError
from idc_local.filters import STDIN, named
from idc_local.machine import available_threads
from idc_local.memory import MemoryCache, Silent
from idc_local.ports import Embedder, GenerationRequest, Progress, TextGenerator, TokenCounter
from idc_local.ranking import RankingWeights
from idc_local.searching import LazyQueries, QueryModel, Searcher
from idc_local.store import Snapshot
from idc_local.types import Check, Chunk, Document, IndexReport, Intent

if TYPE_CHECKING:
    from idc_local.forecasting import Forecast
    from idc_local.indexing import IndexOptions
    from idc_local.pipeline import ChunkingOptions, CutDocument, PipelineCache, PipelinePorts
    from idc_local.status import IndexStatus
    from idc_local.whereabouts import SourceState

NO_MODEL = ModelFiles(name="", role="", main=Path(), sha256={})
"""Stands in where a run has no use for a model."""


class Runtime:
    """Every operation of the package, over one set of settings."""

    def __init__(self, settings: Settings, progress: Progress | None = None) -> None:
        self.settings = settings
        self._progress: Progress = progress or Silent()
        self._models: dict[tuple[str, str], ModelFiles] = {}
        self._loaded: dict[str, object] = {}

    # ---- models

    @cached_property
    def _catalogue(self) -> Catalogue:
        return Catalogue(self.settings.models)

    def catalogue(self) -> Catalogue:
        """The model catalogue over the models folder."""
        return self._catalogue

    def _files(self, role: str, name: str) -> ModelFiles:
        """Files of a model, found and hashed once."""
        key = (role, name)
        if key not in self._models:
            self._models[key] = self._catalogue.resolve(role, name or None)
        return self._models[key]

    def embedder_files(self) -> ModelFiles:
        """The embedder that the settings name, else the one that the index was made with, else the default."""
        made_with = "" if self.settings.embedder else self._index_embedder()
        with naming_the_index(self.settings.index, made_with, self._catalogue.specs):
            return self._files(EMBEDDER, self.settings.embedder or made_with)

    @property
    def embedder_fingerprint(self) -> str:
        """Names the embedder in use, and everything that shapes its vectors."""
        return self.embedder_files().fingerprint

    def _index_embedder(self) -> str:
        """Name of the model that the index was made with; empty where there is no index that can be read."""
        try:
            return str(self._fingerprint().get("embedder_name", ""))
        except StoreError:
            return ""

    def _fingerprint(self) -> Mapping[str, Any]:
        with Snapshot.open(self.settings.index) as snapshot:
            return snapshot.fingerprint

    def _embedder(self, files: ModelFiles) -> Embedder:
        from idc_local.backends.sbert import load_embedder

        return cast(Embedder, self._loading(f"embedder {files.name}", lambda: load_embedder(files, self.threads)))

    def _generator(self, files: ModelFiles) -> TextGenerator:
        from idc_local.backends.llama import load_generator

        return cast(
            TextGenerator, self._loading(f"generator {files.name}", lambda: load_generator(files, self.threads))
        )

    def _counter(self, embedder: str) -> TokenCounter:
        """The embedder's own tokenizer where its files are there, else an estimate that errs high."""
        from idc_local.backends.tokens import EstimatedWordPieces, load_token_counter

        folder = self._catalogue.place(self._catalogue.spec_of(EMBEDDER, embedder))
        if not (folder / "tokenizer.json").is_file():
            return EstimatedWordPieces()
        return cast(TokenCounter, self._once(f"counter {folder}", lambda: load_token_counter(folder)))

    def _once(self, key: str, load: Callable[[], object]) -> object:
        if key not in self._loaded:
            self._loaded[key] = load()
        return self._loaded[key]

    def _loading(self, key: str, load: Callable[[], object]) -> object:
        """The same, said while it happens: importing the libraries takes seconds."""

        def shown() -> object:
            self._progress.start(f"loading the {key}", None, "")
            try:
                return load()
            finally:
                self._progress.finish()

        return self._once(key, shown)

    @property
    def threads(self) -> int:
        """Threads for native code."""
        return self.settings.threads or available_threads()

    # ---- documents in

    def pipeline_ports(self, cache: PipelineCache, intents: str, *, embed: bool = True) -> PipelinePorts:
        """What documents are processed with; vectors and predicted questions go through ``cache``.

        A model that the run cannot need is not even looked for.
        """
        from idc_local.pipeline import PipelinePorts

        embedder = self.embedder_files() if embed else NO_MODEL
        generator = self._files(GENERATOR, self.settings.generator) if intents == "model" else NO_MODEL
        return PipelinePorts(
            counter=self._counter(embedder.name if embed else self.settings.embedder),
            embedder=CachedEmbedder(
                lambda: self._embedder(embedder), cache, embedder.dimension, self._progress, embedder.languages
            ),
            embedder_fingerprint=embedder.fingerprint,
            generator=lambda: self._generator(generator),
            generator_fingerprint=generator.fingerprint,
            generator_languages=generator.languages,
            cache=cache,
            prompt=intent_prompt(),
            progress=self._progress,
            clock=time.monotonic,
        )

    def index(self, roots: Sequence[Path], options: IndexOptions) -> IndexReport:
        """Brings the index up to date with ``roots`` (``-``: standard input).

        Raises:
            InputError: a root does not exist.
            UsageError: the index would lie among other files.
            ModelError: a model that is needed is missing or damaged.
            StoreError: the index is locked, damaged, or of another embedder.
        """
        from idc_local.indexing import IndexRun
        from idc_local.readers.isolation import IsolatedReader
        from idc_local.sources import check_roots, read_stdin

        check_roots(roots)
        store.check_place(self.settings.index, roots)
        data = read_stdin(options.walk.max_bytes) if any(str(root) == STDIN for root in roots) else None
        embedder = self.embedder_files()
        with (
            store.Writer.open(self.settings.index, writer_fingerprint(embedder), rebuild=options.rebuild) as writer,
            IsolatedReader(max_bytes=options.walk.max_bytes) as reader,
        ):
            ports = self.pipeline_ports(writer, options.intents)
            return IndexRun(writer, options, ports, reader).run(roots, data)

    def forecast(self, roots: Sequence[Path], options: IndexOptions) -> Forecast:
        """What ``index`` would do, and how long it would take: measured on up to two of the documents."""
        from idc_local.forecasting import forecast
        from idc_local.readers.isolation import IsolatedReader

        store.check_place(self.settings.index, roots)
        try:
            with Snapshot.open(self.settings.index) as snapshot:
                known = snapshot.sources()
        except StoreError:
            known = {}
        with IsolatedReader(max_bytes=options.walk.max_bytes) as reader:
            return forecast(roots, known, options, self.pipeline_ports(MemoryCache(), options.intents), reader)

    def chunk(self, source: Path, options: IndexOptions, *, explain: bool = False) -> CutDocument:
        """The document in ``source`` cut into chunks, without an index."""
        from idc_local.sources import read_alone

        return self._chunk(read_alone(source), options, explain=explain)

    def _chunk(self, document: Document, options: IndexOptions, *, explain: bool = False) -> CutDocument:
        from idc_local.strategies import NEEDS_INTENTS

        chunking = replace(options.chunking, explain=explain)
        intents = options.intents if chunking.strategy in NEEDS_INTENTS else "off"
        return self._cut(document, replace(options, intents=intents), chunking)

    def predict(self, source: Path, options: IndexOptions) -> CutDocument:
        """The document in ``source`` with its predicted intents, without an index."""
        from idc_local.sources import read_alone

        return self._cut(read_alone(source), options, options.chunking)

    def chunk_text(self, text: str, path: str, options: IndexOptions) -> CutDocument:
        """``text`` cut into chunks, read as the suffix of ``path`` says; a lone surrogate is read as ``?``."""
        from idc_local.readers import read_text

        return self._chunk(read_text(text, path), options)

    def _cut(self, document: Document, options: IndexOptions, chunking: ChunkingOptions) -> CutDocument:
        from idc_local.pipeline import Pipeline

        embed = chunking.needs_vectors or options.intents != "off"
        ports = self.pipeline_ports(MemoryCache(), options.intents, embed=embed)
        return Pipeline(chunking, ports).cut(document, options.intents, embed=embed)

    # ---- answers out

    @contextmanager
    def searcher(self) -> Iterator[Searcher]:
        """A searcher over the index's current generation; the query model loads with the first query.

        Raises:
            StoreError: there is no index, or it is damaged.
            StoreMismatch: the index was made with another embedder.
            ModelError: the embedder is missing or damaged.
        """
        with Snapshot.open(self.settings.index) as snapshot:
            files = self.embedder_files()
            check_embedder(snapshot.fingerprint, files, self.settings.index)
            queries = LazyQueries(lambda: self._query_encoder(files))
            yield Searcher(snapshot, queries, RankingWeights(), files.languages)

    def _query_encoder(self, files: ModelFiles) -> QueryModel:
        """The light encoder where the model has the shape that it knows, else the embedder."""
        from idc_local.backends.minilm import load_query_encoder

        return load_query_encoder(files) or self._embedder(files)

    def stored_intents(self) -> list[tuple[Chunk, Intent]]:
        """Every intent of the index with its chunk, in the order of paths and places."""
        with Snapshot.open(self.settings.index) as snapshot:
            pairs = list(snapshot.all_intents())
            chunks = snapshot.chunks([row for row, _ in pairs])
            return [(chunk, intent) for chunk, (_, intent) in zip(chunks, pairs, strict=True)]

    def questions(self, most: int) -> list[str]:
        """Up to ``most`` predicted questions of the index, each once, in the order of paths and places."""
        with Snapshot.open(self.settings.index) as snapshot:
            return list(dict.fromkeys(intent.text for _, intent in islice(snapshot.all_intents(), most)))

    def show(self, identifier: str) -> Chunk:
        """The chunk whose id begins with ``identifier``."""
        with Snapshot.open(self.settings.index) as snapshot:
            return snapshot.chunks([snapshot.find(identifier)])[0]

    def document_text(self, document_id: str) -> str:
        """Extracted text of the document whose id begins with ``document_id``."""
        with Snapshot.open(self.settings.index) as snapshot:
            return snapshot.document_text(document_id)

    # ---- looking after an index

    def status(self) -> IndexStatus:
        """What the index holds."""
        from idc_local.status import index_status

        return index_status(self.settings.index)

    def verify(self, deep: bool) -> list[Check]:
        """Checks of the index; ``deep`` also looks whether the files that it was made from are as they were."""
        from idc_local.whereabouts import check_sources

        checks = store.verify(self.settings.index, deep=deep)
        if deep and all(check.status == "ok" for check in checks):
            with Snapshot.open(self.settings.index) as snapshot:
                checks.extend(check_sources(snapshot.sources().values()))
        return checks

    def source_state(self, path: str) -> SourceState:
        """Whether a source file is as it was indexed; ``path`` as the index names it.

        Raises:
            NothingFound: the index has no such path.
        """
        from idc_local.whereabouts import source_state

        with Snapshot.open(self.settings.index) as snapshot:
            record = snapshot.sources().get(path)
        if record is None:
            raise NothingFound(f"{path} is not in the index", hint="idc-local status -v lists what is")
        return source_state(record)

    def remove(self, path: str) -> int:
        """Takes sources out of the index: one path, or all in a folder or archive; returns how many.

        Raises:
            NothingFound: the index has none under that name or at that place.
        """
        with store.Writer.open(self.settings.index, self._fingerprint()) as writer:
            with Snapshot.open(self.settings.index) as snapshot:
                # What a run that failed has taken out already is still there for readers.
                every = {**writer.sources(), **snapshot.sources()}
            wanted = named(every.values(), path, os.path.abspath(path))
            for known in wanted:
                writer.drop_source(known.path)
            writer.publish()
            return len(wanted)

    def forget(self, path: str) -> list[Check]:
        """Removes a document and every trace of it, and says what was looked through."""
        return store.forget(self.settings.index, path)

    def compact(self) -> list[Check]:
        """Gives back the disk space of what was removed."""
        return store.compact(self.settings.index)

    def repair(self) -> list[Check]:
        """Takes out what is damaged and makes everything derived anew."""
        return store.repair(self.settings.index)

    def export(self, file: Path) -> list[Check]:
        """Writes the whole index to one file."""
        return store.export_index(self.settings.index, file)

    def import_from(self, file: Path) -> list[Check]:
        """Makes the index from an exported file; there must be none yet."""
        return store.import_index(file, self.settings.index)

    def doctor(self, deep: bool = False, network: bool = False) -> list[Check]:
        """Checks of the installation, the models and the index.

        deep: also load both models and try them. network: also try every way off this machine.
        """
        from idc_local.doctor import Probes, examine
        from idc_local.machine import look_around

        return examine(
            Probes(
                settings=self.settings,
                machine=look_around(),
                models=lambda: self._catalogue.list(deep=True),
                embedder=self.embedder_files,
                generator=lambda: self._files(GENERATOR, self.settings.generator),
                fingerprint=self._fingerprint,
                sources=lambda: self.status().sources,
                verify=lambda: self.verify(deep=False),
                embed=lambda texts: self._embedder(self.embedder_files()).encode_documents(texts),
                complete=self._complete,
            ),
            deep=deep,
            network=network,
        )

    def _complete(self, prompt: str) -> str:
        generator = self._generator(self._files(GENERATOR, self.settings.generator))
        # A shared prefix must hold a token, and some models begin a text with none of their own.
        return generator.generate(prompt[:1], [GenerationRequest(prompt[1:], 0)], max_tokens=16, stop="\n")[0].text


def intent_prompt() -> str:
    """The prompt that intents are generated with."""
    return (package_files("idc_local") / "prompts" / "intents.v1.txt").read_text(encoding="utf-8")
