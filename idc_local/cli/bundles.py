"""``models bundle`` and ``models install``: the one file that is carried across an air gap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from idc_local.cli.output import Result
from idc_local.cli.parameters import PathName
from idc_local.cli.progress import quantity
from idc_local.cli.session import Command, Session, examples
from idc_local.cli.terminal import Screen, safe
from idc_local.errors import UsageError

BUNDLE_COLUMNS = ("file", "size", "sha256")
INSTALL_COLUMNS = ("name", "action")


@dataclass(frozen=True, slots=True)
class BundleArguments:
    """What was typed."""

    file: Path
    names: tuple[str, ...]
    platform: str
    python: str
    find_links: Path | None


@click.command(
    "bundle",
    cls=Command,
    short_help="Put program, libraries and models into one file.",
    options=BundleArguments,
    network=True,
    epilog=examples(
        "idc-local models bundle idc-local.bundle",
        "idc-local models bundle small.bundle all-minilm-l6-v2",
        "idc-local models bundle new.bundle --platform manylinux_2_28_x86_64 --python-version 3.12 --find-links wheels",
    ),
)
@click.argument("file", metavar="FILE", type=PathName(dir_okay=False))
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--platform", default="", metavar="TAG", help="Platform of the other machine, as wheels name it. "
              "[default: this one]")  # fmt: skip
@click.option("--python-version", "python", default="", metavar="X.Y", help="Python of the other machine. [default: "
              "this one]")  # fmt: skip
@click.option(
    "--find-links",
    metavar="DIR",
    type=PathName(exists=True, file_okay=False),
    help="Folder of wheels that no index has, as of llama-cpp-python for another platform.",
)
def bundle_command(session: Session, options: BundleArguments) -> None:
    """Put the program, every library, and models (without a NAME: the default ones) into one FILE.

    For a machine without a network. Wheels come through pip, in the versions that are installed here. On the other
    side `python3 FILE --into .venv` checks every member and installs; `idc-local models install FILE` takes the models
    alone. Compare the sha256 that is printed here with what arrives.
    """
    from idc_local.bundle import BundleOptions, make_bundle

    if options.platform and not options.python:
        raise UsageError("--platform needs --python-version", hint="idc-local models bundle --help")
    wanted = BundleOptions(options.platform, options.python, options.find_links)
    made = make_bundle(session.runtime.catalogue(), options.file, options.names, wanted, session.progress)
    session.close()
    item = asdict(made) | {"file": str(made.file)}

    def text(screen: Screen) -> Iterator[str]:
        holds = f"{len(made.wheels)} wheels, {len(made.models)} models, {quantity(made.size, 'B')}"
        yield f"{safe(str(made.file))}: {holds}"
        yield f"sha256 {made.sha256}"

    session.emit(Result(item, [item], BUNDLE_COLUMNS, text))
    session.note(f"on the other machine: python3 {made.file.name} --into .venv")


@dataclass(frozen=True, slots=True)
class InstallArguments:
    """What was typed."""

    file: Path


@click.command(
    "install",
    cls=Command,
    short_help="Take the models out of such a file.",
    options=InstallArguments,
    epilog=examples(
        "idc-local models install idc-local.bundle", "idc-local models install idc-local.bundle --models /srv/models"
    ),
)
@click.argument("file", metavar="FILE", type=PathName(dir_okay=False))
def install_command(session: Session, options: InstallArguments) -> None:
    """Take the models out of a bundle FILE, each checked by size and sha256; needs no network.

    The question model is then converted to what this processor is quickest with, as `models pull` does.
    """
    from idc_local.backends.llama import requantise
    from idc_local.backends.trial import seconds_of_work
    from idc_local.carried import install_models
    from idc_local.catalogue import Catalogue
    from idc_local.pull import PullOptions, convert_models

    session.expect(models=[])
    folder = session.settings.models
    done = install_models(session.runtime.catalogue(), options.file, session.progress)
    # Read anew: it may hold models by now that were added by hand on the other side.
    converting = PullOptions(requantise=requantise, seconds=seconds_of_work)
    convert_models(Catalogue(folder), [name for name, _ in done], converting)
    session.close()
    items = [{"name": name, "action": action} for name, action in done]

    def text(screen: Screen) -> Iterator[str]:
        yield from (f"{safe(name)}: {action} in {safe(str(folder))}" for name, action in done)

    session.emit(Result({"models": items}, items, INSTALL_COLUMNS, text))
