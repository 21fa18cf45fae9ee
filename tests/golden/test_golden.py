"""Help and output schema are a promise: a change shows in the golden files (scripts/update_golden)."""

from __future__ import annotations

import pytest

from tests.golden.cases import FOLDER, build_cases


@pytest.fixture(scope="module")
def cases() -> dict[str, str]:
    return build_cases()


def test_outputs_are_as_recorded(cases: dict[str, str]) -> None:
    recorded = {path.name: path.read_text("utf-8") for path in FOLDER.iterdir() if path.suffix in (".txt", ".json")}
    assert {name for name in cases if cases[name] != recorded.get(name)} == set(), "run scripts/update_golden"
    assert set(recorded) == set(cases)


def test_every_command_has_examples_and_the_common_options(cases: dict[str, str]) -> None:
    helps = {name: text for name, text in cases.items() if name.startswith("help-")}
    assert len(helps) >= 17
    for name, text in helps.items():
        assert "Examples:\n" in text, name
        if name not in ("help-overview.txt", "help-models.txt", "help-config.txt"):
            assert all(option in text for option in ("--index DIR", "--format [", "--quiet", "--debug")), name
