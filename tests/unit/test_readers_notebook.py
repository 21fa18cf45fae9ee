from __future__ import annotations

import json
from typing import Any

import pytest

from idc_local.errors import InputError
from idc_local.readers import read_source
from idc_local.types import BlockKind, Document


def read(value: Any) -> Document:
    return read_source(json.dumps(value).encode(), "a.ipynb")


def cell(kind: str, source: Any, **more: Any) -> dict[str, Any]:
    return {"cell_type": kind, "source": source, "metadata": {}, **more}


NOTEBOOK = {
    "nbformat": 4,
    "cells": [
        cell("markdown", ["# Pumps\n", "\n", "They need *oil*.\n"]),
        cell(
            "code",
            "def f():\n    return 3\n\nf()",
            outputs=[
                {"output_type": "stream", "name": "stdout", "text": ["a\n", "b\n"]},
                {
                    "output_type": "execute_result",
                    "data": {"text/plain": ["3"], "image/png": "AAAA", "text/html": "<b>"},
                },
                {"output_type": "error", "ename": "KeyError", "evalue": "'x'", "traceback": ["long"]},
            ],
        ),
        cell("code", ""),
        cell("raw", "Raw text."),
        cell("markdown", "## Lamps\n\n- red\n- green"),
    ],
}


def test_cells_are_pages_and_headings_reach_over_them() -> None:
    document = read(NOTEBOOK)
    assert [
        (block.kind, block.headings, document.text[block.start : block.end], document.page_at(block.start))
        for block in document.blocks
    ] == [
        (BlockKind.HEADING, ("Pumps",), "# Pumps", "cell 1"),
        (BlockKind.PARAGRAPH, ("Pumps",), "They need *oil*.", "cell 1"),
        (BlockKind.CODE, ("Pumps",), "def f():\n    return 3\n\nf()", "cell 2"),
        (BlockKind.CODE, ("Pumps",), "a\nb", "cell 2"),
        (BlockKind.CODE, ("Pumps",), "3", "cell 2"),
        (BlockKind.CODE, ("Pumps",), "KeyError 'x'", "cell 2"),
        (BlockKind.PARAGRAPH, ("Pumps",), "Raw text.", "cell 4"),
        (BlockKind.HEADING, ("Pumps", "Lamps"), "## Lamps", "cell 5"),
        (BlockKind.LIST_ITEM, ("Pumps", "Lamps"), "- red", "cell 5"),
        (BlockKind.LIST_ITEM, ("Pumps", "Lamps"), "- green", "cell 5"),
    ]


def test_the_older_format_is_read() -> None:
    old = {
        "worksheets": [
            {"cells": [{"cell_type": "heading", "level": 2, "source": "Top"}, {"cell_type": "code", "input": "1"}]}
        ]
    }
    document = read(old)
    assert document.text == "Top\n\n1"
    assert document.blocks[0].level == 2


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"cells": 3}', b"{}", b'"x"', b"[" * 100_000])
def test_what_is_no_notebook_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"^a\.ipynb: (a damaged|no) notebook"):
        read_source(data, "a.ipynb")


@pytest.mark.parametrize(
    "value",
    [{"cells": []}, {"cells": [3, {}, {"cell_type": "code", "source": 3, "outputs": [3, {"data": 3, "text": {}}]}]}],
)
def test_odd_parts_leave_no_trace(value: Any) -> None:
    assert read(value).text == ""
    assert read_source(b"", "a.ipynb").text == ""
