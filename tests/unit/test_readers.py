from __future__ import annotations

import pickle
import subprocess
import sys
from importlib import import_module

import pytest

from idc_local.errors import InputError
from idc_local.fingerprint import document_id, sha256_hex
from idc_local.ports import Reader
from idc_local.readers import READERS, ReadOptions, read_source, read_text


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.txt", "text/plain"),
        ("A.TXT", "text/plain"),
        ("README", "text/plain"),
        ("notes.xyz", "text/plain"),
        ("-", "text/plain"),
        ("sub.md/a.MD", "text/markdown"),
        ("a.markdown", "text/markdown"),
        ("a.htm", "text/html"),
        (".txt", "text/plain"),
    ],
)
def test_the_suffix_chooses_the_reader(name: str, media_type: str) -> None:
    data = b"# Pump\n\nIt starts.\n"
    document = read_source(data, name)
    assert document.media_type == media_type
    assert document.path == name
    assert (document.source_sha256, document.source_bytes) == (sha256_hex(data), len(data))
    assert document.id == document_id(media_type, data)


def test_every_reader_is_found_and_claims_its_suffixes() -> None:
    claimed: set[str] = set()
    for name in {entry.module for entry in READERS.values()}:
        reader: Reader = import_module(f"idc_local.readers.{name}").READER
        for suffix in reader.suffixes:
            assert READERS[suffix].media_type in reader.media_types
        claimed.update(reader.suffixes)
        assert pickle.loads(pickle.dumps(reader)).suffixes == reader.suffixes
    assert claimed == set(READERS)


def test_equal_bytes_are_one_document_whatever_the_path() -> None:
    assert read_source(b"a", "x.txt").id == read_source(b"a", "y.txt").id != read_source(b"a", "x.md").id


def test_a_source_over_the_limit_is_refused_by_name() -> None:
    assert read_source(b"12345", "a.txt", ReadOptions(max_bytes=5)).text == "12345"
    with pytest.raises(InputError, match=r"^a\.txt: too large: 6 bytes, the limit is 5") as caught:
        read_source(b"123456", "a.txt", ReadOptions(max_bytes=5))
    assert caught.value.hint


def test_readers_load_only_when_a_file_of_their_kind_is_read() -> None:
    code = (
        "import sys; from idc_local.readers import read_source; read_source(b'a', 'a.txt');"
        "assert not {'selectolax', 'markdown_it', 'pypdfium2'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "text",
    [
        "%PDF-1.7 is the first line of a file that ends with %%EOF.\n",
        "# Inside\n\n    %PDF-1.7\n    1 0 obj\n    endobj\n",
        'Flat: <office:document office:mimetype="application/vnd.oasis.opendocument.text"> comes first.\n',
    ],
)
@pytest.mark.parametrize("name", ["notes.md", "notes.txt", "notes"])
def test_a_text_about_a_format_is_not_of_that_format(text: str, name: str) -> None:
    assert read_source(text.encode(), name).text == text


@pytest.mark.parametrize(
    "text", ["\f\0", '"\x1c', "“\x1c", "%PDF-1.7\n", "\x1b$B is an escape", "#!/bin/sh\nls\n", "ID3 is old", "<html>x"]
)
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.py"])
def test_a_text_that_is_known_to_be_one_is_not_guessed_at(text: str, name: str) -> None:
    document = read_text(text, name)
    data = text.encode()
    assert document.text == text
    assert (document.source_sha256, document.source_bytes) == (sha256_hex(data), len(data))
    assert document.id == document_id(document.media_type, data)
    assert read_text("\ufeff" + text, name).text == text


def test_a_text_without_a_suffix_is_read_by_its_first_line() -> None:
    assert read_text("#!/bin/sh\nls\n", "run").media_type == "text/x-shell"
    assert read_text("<html><p>x", "page").media_type == "text/html"
