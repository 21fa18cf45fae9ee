"""docs/commands.md: every command and option has an example there, and every example works.

They run in this process over a real index; only what computes with models, and what pip collects, is a stand-in.
"""

from __future__ import annotations

import os
import re
import shlex
import zipfile
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from idc_local import bundle, catalogue
from idc_local.cli import cli
from idc_local.cli.session import App, Command
from idc_local.netguard import seal_environment
from tests.golden.cases import commands
from tests.tinykit import MEMBERS, TinyRuntime, place_models, spec
from tests.unit.test_catalogue_pull import write_wheel

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
MAY_END_WITH_1 = ("--gaps",)
LEASE = (
    "# Lease\n\nThe tenant may terminate the lease with three months of notice. The rent is 900 crowns a month.\n\n"
    "## Boiler\n\nA boiler is a machine of the house. The landlord repairs the boiler after a notice.\n\n"
    "## Cellar\n\nA cellar is a room below the ground. The tenant keeps wood and apples in the cellar.\n"
)
SPECS = (
    spec("smollm2-135m-instruct", "generator", "tiny/m.gguf", main="m.gguf"),
    spec("all-minilm-l6-v2", "embedder", "tiny/e.safetensors", dimension=32),
    spec("gemma-3-270m", "generator", "tiny/m.gguf", main="m.gguf", default=False, terms="https://terms.example"),
)


def blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", DOCUMENT, flags=re.MULTILINE | re.DOTALL)


EXAMPLES = [line for block in blocks() for line in block.splitlines()]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("contracts", "wheels"):
        (tmp_path / name).mkdir()
    for name in ("contracts/lease.md", "contracts/old.md", "contracts/private.txt", "handbook.md", "letter.txt"):
        (tmp_path / name).write_text(LEASE.replace("Lease", name))
    (tmp_path / "questions.txt").write_text("May the tenant terminate the lease?\n")
    (tmp_path / "settings.toml").write_text("threads = 1\n")
    (tmp_path / "my-model.gguf").write_bytes(b"GGUF" + b"1" * 90)
    write_embedder(tmp_path / "my-embedder")
    write_questions(tmp_path / "my-questions")
    place_models(tmp_path / "models", SPECS[:2])
    write_wheel(tmp_path, "tiny", MEMBERS)
    monkeypatch.setattr(catalogue, "shipped", lambda: iter(SPECS))
    monkeypatch.setattr("idc_local.cli.models.try_model", lambda files, threads: 0)
    monkeypatch.setattr(bundle, "_pip", collect)
    monkeypatch.chdir(tmp_path)
    environ = {
        "IDC_MODELS": "models",
        "IDC_INTENTS": "heuristic",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path),
        "PIP_NO_CACHE_DIR": "1",
    }
    seal_environment(environ)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def write_embedder(folder: Path) -> None:
    folder.mkdir()
    (folder / "modules.json").write_text('[{"type": "sentence_transformers.models.Transformer", "path": ""}]')
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")


def write_questions(folder: Path) -> None:
    from tests.evalkit import write_set

    write_set(folder)


def collect(words: list[str], place: Path) -> None:
    """What pip would do: leaves one wheel."""
    (place / "wheels").mkdir()
    write_wheel(place / "wheels", "zz_lib", {})


def run(line: str, place: Path) -> Result:
    """A line as a shell would take it: variables, `cat FILE |`, the command, `> FILE`."""
    left, _, command = line.rpartition("| ")
    command, _, target = command.partition(" > ")
    words = shlex.split(command)
    variables = {}
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    assert words[0] == "idc-local"
    stdin = Path(left.split()[1]).read_bytes() if left else None
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        app = App(open_runtime=TinyRuntime, environ=os.environ)
        result = CliRunner().invoke(cli, words[1:], obj=app, input=stdin)
    if target:
        (place / target.strip()).write_text(result.stdout)
        assert result.stdout
    return result


def test_every_example_works(place: Path) -> None:
    identifier = ""
    for line in EXAMPLES:
        if "a1b2c3d4" in line and not identifier:
            found = run("idc-local search tenant --format json", place).stdout
            identifier = re.findall(r'"id": "([0-9a-f]{8})', found)[0]
        result = run(line.replace("a1b2c3d4", identifier), place)
        expected = {0, 1} if any(option in line for option in MAY_END_WITH_1) else {0}
        assert result.exit_code in expected, f"{line}\n{result.output}"
        assert "Traceback" not in result.output
    assert zipfile.is_zipfile(place / "idc-local.bundle")
    assert (place / "elsewhere" / "all-minilm-l6-v2" / "e.safetensors").is_file()
    assert "_IDC_LOCAL_COMPLETE=fish_complete" in (place / "idc-local.fish").read_text()


def leaves() -> list[tuple[str, Command]]:
    found = []
    for names in commands(cli, click.Context(cli)):
        command: click.Command | None = cli
        for name in names:
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(cli), name)
        if isinstance(command, Command):
            found.append((" ".join(names), command))
    return found


@pytest.mark.parametrize(("name", "command"), leaves(), ids=lambda value: value if isinstance(value, str) else "")
def test_every_command_and_option_has_an_example(name: str, command: Command) -> None:
    mine = [line for line in EXAMPLES if re.search(rf"\bidc-local {name}(?: |$)", line)]
    assert mine
    for parameter in command.params[: command._own]:
        if isinstance(parameter, click.Option):
            shown = [line for line in mine if set(parameter.opts) & set(line.split())]
            assert shown, f"{name} {parameter.opts[-1]} has no example"


def test_every_common_option_has_an_example() -> None:
    _, command = leaves()[0]
    every = {word for line in EXAMPLES for word in line.split()}
    for parameter in command.params[command._own :]:
        assert set(parameter.opts) & every, parameter.opts


def test_nothing_is_documented_that_is_not_there() -> None:
    known = {option for _, command in leaves() for parameter in command.params for option in parameter.opts}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", DOCUMENT))
    assert named - known == {"--help"}
