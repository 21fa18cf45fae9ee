"""Content hashes against published values and hashlib, and JSON that is the same for equal values."""

from __future__ import annotations

import hashlib

import pytest

from idc_local.fingerprint import canonical_json, chunk_id, digest, document_id, parse_json, sha256_hex, vector_key

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
"""SHA-256 of ``abc``, as FIPS 180 gives it."""


def sha256(data: str) -> str:
    return hashlib.sha256(data.encode()).hexdigest()


def test_hashes_are_those_that_were_published() -> None:
    assert sha256_hex(b"abc") == ABC
    assert vector_key("abc") == ABC[:32]
    assert vector_key("\ud800") == hashlib.sha256(b"\xed\xa0\x80").hexdigest()[:32]


def test_equal_values_have_one_text_and_one_hash() -> None:
    assert canonical_json({"b": [1, None], "a": "Ärger 🚀"}) == '{"a":"Ärger 🚀","b":[1,null]}'
    assert digest({"b": [1, None], "a": "Ärger 🚀"}) == sha256('{"a":"Ärger 🚀","b":[1,null]}')
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(float("nan"))


def test_ids_tell_types_places_and_texts_apart() -> None:
    assert document_id("text/plain", b"x") == sha256("text/plain\0x")
    assert chunk_id("d", 3, 5, "ab") == sha256('["d",3,5,"ab"]')


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "", b"\xff"])
def test_what_is_no_json_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        parse_json(text)
