"""The library: ``Index`` and ``Chunker``, thin over the runtime."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from idc_local.config import load_settings, path_of
from idc_local.errors import UsageError
from idc_local.indexing import IndexOptions
from idc_local.netguard import seal_environment
from idc_local.runtime import Runtime
from idc_local.searching import Searcher
from idc_local.types import Chunk, Hit, IndexReport, Limits, Query

StrPath = str | os.PathLike[str]


def _path(value: StrPath) -> Path:
    return path_of(_name(value))


def _name(value: StrPath) -> str:
    """A path; an empty one is refused, for it would mean the current folder although an unset variable was meant."""
    name = os.fspath(value)
    if not name:
        raise UsageError("the path is empty", hint='name a file or folder, "." for the current one')
    return name


class Index:
    """An index folder: add files to it, ask it questions.

    >>> with Index("my-index") as index:                 # doctest: +SKIP
    ...     index.add("docs")
    ...     hits = index.search("How long is the warranty?", k=3)
    """

    def __init__(self, folder: StrPath = ".idc", *, models: StrPath | None = None) -> None:
        seal_environment(os.environ)
        flags = {"index": _path(folder), "models": _path(models) if models is not None else None}
        self._runtime = Runtime(load_settings(flags))
        self._stack = ExitStack()
        self._searcher: Searcher | None = None

    def add(self, *paths: StrPath, options: IndexOptions | None = None) -> IndexReport:
        """Reads files and folders; only what changed is worked on, and what vanished below a folder is removed."""
        report = self._runtime.index([_path(path) for path in paths], options or IndexOptions())
        self.close()
        return report

    def remove(self, path: StrPath) -> int:
        """Takes a file, or all files below a folder, out of the index; returns how many."""
        removed = self._runtime.remove(_name(path))
        self.close()
        return removed

    def search(self, query: str, k: int = 5, *, filter: str = "") -> list[Hit]:
        """The ``k`` best passages, best first, from the generation that was current at the first search.

        Raises:
            UsageError: the query is empty, or the filter expression is not understood.
        """
        if not query.strip():
            raise UsageError("the query is empty", hint="give a question or a word")
        if self._searcher is None:
            self._searcher = self._stack.enter_context(self._runtime.searcher())
        return self._searcher.search(Query(query, filter), k)

    def close(self) -> None:
        """Lets go of the generation; the next search opens the newest."""
        self._searcher = None
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Chunker:
    """Cuts texts into chunks, without an index; ``strategy="fixed"`` and others like it need no model."""

    def __init__(
        self,
        strategy: str = "intent",
        *,
        target_chars: int = Limits().target_chars,
        intents: str = "model",
        models: StrPath | None = None,
    ) -> None:
        seal_environment(os.environ)
        flags = {"models": _path(models) if models is not None else None, "target_chars": target_chars}
        self._runtime = Runtime(load_settings(flags))
        self._options = IndexOptions(strategy=strategy, intents=intents, limits=Limits(target_chars=target_chars))

    def chunk(self, text: str, *, path: str = "text.txt") -> tuple[Chunk, ...]:
        """Chunks of ``text``, read as the suffix of ``path`` says; joined in order they give the text back.

        A text of white space alone has none, and formats such as HTML give their extracted text.
        Offsets count from behind a byte order mark, which is left out.
        """
        return self._runtime.chunk_text(text, path, self._options).chunks
