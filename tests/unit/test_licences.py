"""Licences as distributions and models declare them, and which of them are listed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from idc_local.catalogue import MISSING, OK, ModelSpec, ModelStatus
from idc_local.licences import Licence, library_licences, model_licences

LIST = dict[str, tuple[str, ...]]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def install(site: Path, name: str, fields: Mapping[str, str | tuple[str, ...]]) -> None:
    folder = site / f"{name.replace('-', '_')}-1.0.dist-info"
    folder.mkdir()
    lines = ["Metadata-Version: 2.4", f"Name: {name}", "Version: 1.0"]
    for key, value in fields.items():
        lines += [f"{key}: {entry}" for entry in ((value,) if isinstance(value, str) else value)]
    (folder / "METADATA").write_text("\n".join(lines) + "\n\nAbout it.\n")


def test_all_that_is_needed_is_listed_once_and_nothing_else(site: Path) -> None:
    requires = ("zz-one>=1,<2", "Zz.Two[fast] ; python_version > '3'", "zz-not-here", "zz-extra; extra == 'more'")
    install(site, "zz-top", {"License-Expression": "Apache-2.0", "Requires-Dist": requires})
    install(site, "zz-one", {"License": "MIT", "Requires-Dist": "zz-top"})
    install(site, "zz-two", {"Requires-Dist": ("zz-one", "zz-speed; extra == 'fast'", "zz-extra; extra == 'slow'")})
    install(site, "zz-speed", {"License-Expression": "ISC"})
    install(site, "zz-extra", {"License-Expression": "GPL-3.0-only"})
    found = library_licences("zz-top")
    assert [(entry.name, entry.licence) for entry in found] == [
        ("zz-top", "Apache-2.0"),
        ("zz-one", "MIT"),
        ("zz-speed", "ISC"),
        ("zz-two", "unknown"),
    ]


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"License-Expression": "MIT OR Apache-2.0", "License": "see file"}, "MIT OR Apache-2.0"),
        ({"License": "BSD"}, "BSD"),
        ({"License": "UNKNOWN" * 20}, ("UNKNOWN" * 20)[:60]),
        (
            {"License": "Permission is hereby granted, " * 9, "Classifier": "License :: OSI Approved :: MIT License"},
            "MIT License",
        ),
        (
            {"Classifier": ("License :: OSI Approved", "License :: OSI Approved :: A", "License :: B", "Topic :: C")},
            "A AND B",
        ),
        ({}, "unknown"),
    ],
)
def test_where_the_name_of_a_licence_stands(site: Path, fields: dict[str, str], name: str) -> None:
    install(site, "zz-top", fields)
    assert library_licences("zz-top") == [Licence("zz-top", "library", "1.0", name, "")]


def test_where_to_read_more(site: Path) -> None:
    pages = ("Documentation, https://docs.example", "Source, https://code.example/x")
    install(site, "zz-top", {"Project-URL": pages, "Home-page": "https://home.example"})
    assert library_licences("zz-top")[0].address == "https://code.example/x"


def test_models_that_are_there() -> None:
    spec = ModelSpec("small", "embedder", (), "Gemma", terms="https://terms.example")
    other = ModelSpec("added", "generator", (), "", added=True)
    statuses = [ModelStatus(spec, OK), ModelStatus(other, "damaged"), ModelStatus(spec, MISSING)]
    assert model_licences(statuses) == [
        Licence("small", "model", "", "Gemma", "https://terms.example"),
        Licence("added", "model", "", "unknown", ""),
    ]


def test_this_package_and_what_it_is_fixed_on() -> None:
    found = {entry.name: entry for entry in library_licences()}
    assert next(iter(found)) == "idc-local"
    assert found["idc-local"].licence == "Apache-2.0"
    assert {"click", "numpy", "torch", "bm25s"} <= set(found)
    assert not {"pytest", "ruff", "mypy"} & set(found)
