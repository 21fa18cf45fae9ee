"""Documents as bytes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from idc_local.store import codec
from idc_local.store.codec import decode_document, encode_document
from idc_local.types import Block, BlockKind, Span
from tests.store_documents import make_document


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 5, 9])
def test_documents_are_json_with_sorted_names_whatever_their_size(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "TOGETHER", 4)
    table = Block(BlockKind.TABLE, 7, 9, (), 0, Span(7, 8))
    document = replace(
        make_document("Grüße.\n" * 9, "ä.txt"),
        blocks=tuple([Block(BlockKind.PARAGRAPH, at, at + 1, ("Kopf", "„A“")) for at in range(rows)] + [table]),
        lines=tuple((at * 7, at + 1) for at in range(rows)),
    )
    data = encode_document(document, "de")
    value = {
        "blocks": [
            *(["paragraph", at, at + 1, ["Kopf", "„A“"], 0, None] for at in range(rows)),
            ["table", 7, 9, [], 0, [7, 8]],
        ],
        "encoding": "utf-8",
        "id": document.id,
        "language": "de",
        "lines": [[at * 7, at + 1] for at in range(rows)],
        "media_type": "text/plain",
        "pages": [[0, "1"]],
        "path": "ä.txt",
        "source_bytes": document.source_bytes,
        "source_sha256": document.source_sha256,
    }
    assert data.decode() == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert decode_document(data, document.text) == document
