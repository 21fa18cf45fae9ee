"""Reads Jupyter notebooks: text cells as Markdown, code cells as code, and what they printed. Runs nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from idc_local.errors import InputError
from idc_local.readers.blocks import Source, build_document
from idc_local.readers.decode import decode
from idc_local.readers.draft import Draft
from idc_local.readers.markdown import markdown_blocks
from idc_local.types import Document

_LONGEST_OUTPUT = 4000


class NotebookReader:
    """Cells in order; each is a page called ``cell N``."""

    media_types = ("application/x-ipynb+json",)
    suffixes = (".ipynb",)

    def read(self, data: bytes, path: str, media_type: str) -> Document:
        """The document in ``data``; raises InputError for what is no notebook."""
        decoded = decode(data, path)
        draft = Draft()
        for number, cell in enumerate(_cells(decoded.text, path), 1):
            draft.page(f"cell {number}")
            _write(draft, cell)
        text, blocks, pages = draft.finish()
        return build_document(Source(data, path, media_type, decoded.encoding), text, blocks, pages)


READER = NotebookReader()


def _cells(text: str, path: str) -> Sequence[Mapping[str, Any]]:
    """The cells, of format 4 or those before."""
    try:
        value = json.loads(text) if text.strip() else {"cells": []}
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: a damaged notebook: {error}", hint="open it in Jupyter and save it again") from error
    sheets = value.get("worksheets") if isinstance(value, dict) else None
    holders = [value, *(sheets if isinstance(sheets, list) else [])]
    lists = [own["cells"] for own in holders if isinstance(own, dict) and isinstance(own.get("cells"), list)]
    if not lists:
        raise InputError(f"{path}: no notebook: it has no cells", hint="leave it out")
    return [cell for cells in lists for cell in cells if isinstance(cell, dict)]


def _write(draft: Draft, cell: Mapping[str, Any]) -> None:
    kind = cell.get("cell_type")
    source = _joined(cell.get("source", cell.get("input")))
    if kind == "markdown":
        draft.extend(source, markdown_blocks(source))
    elif kind == "heading":
        level = cell.get("level")
        draft.heading(source, level if isinstance(level, int) else 1)
    elif kind == "code":
        draft.code(source)
        for output in _outputs(cell.get("outputs")):
            draft.code(output)
    else:
        draft.paragraph(source)


def _outputs(outputs: object) -> Iterator[str]:
    """What a code cell printed, as plain text; pictures and pages are left out, and long rolls cut."""
    for output in outputs if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        data = output.get("data")
        plain = data.get("text/plain") if isinstance(data, dict) else None
        error = " ".join(str(output[key]) for key in ("ename", "evalue") if isinstance(output.get(key), str))
        yield _joined(output.get("text") or plain or error)[:_LONGEST_OUTPUT]


def _joined(source: object) -> str:
    """A text that may come as a list of its lines."""
    if isinstance(source, list):
        return "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""
