"""What a file's name says of its content: archives, and types that hold no words. Reads nothing."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
PACKED = (".gz", ".bz2", ".xz")
"""Suffixes that a single file gets when it is packed alone."""
ARCHIVES = (".zip", *TARS, *PACKED)

_SUFFIXES = """
png jpg jpeg jpe jfif gif bmp tif tiff webp ico icns heic heif avif psd ai xcf cr2 nef dng svgz eps
mp3 m4a aac ogg oga opus flac wav wma aif aiff mid midi mp4 m4v mov avi mkv webm wmv flv mpg mpeg 3gp
ttf otf ttc woff woff2 pfb
exe dll so dylib a o obj lib pdb class jar war pyc pyo pyd wasm whl egg deb rpm apk dmg msi iso img vmdk qcow2 bin
sqlite sqlite3 db db3 mdb accdb dbf parquet arrow feather orc avro h5 hdf5 npy npz mat rds rdata pkl pickle joblib
idcx gguf safetensors onnx pt pth tflite ckpt faiss
gz bz2 xz zst lz4 lzma z 7z rar cab cpio
swp swo crdownload
blend fbx stl glb dwg dxf shp
p12 pfx jks keystore kdbx gpg pgp
"""
_WORDLESS = frozenset(f".{suffix}" for suffix in _SUFFIXES.split())


def is_archive(name: str) -> bool:
    """True for the name of an archive whose members can be read."""
    return name.lower().endswith(ARCHIVES)


def is_wordless(name: str) -> bool:
    """True for a name whose suffix says that there is no text inside: pictures, sound, programs, databases."""
    return PurePosixPath(name).suffix.lower() in _WORDLESS


_LANGUAGES = {
    "python": "py pyi pyw", "c": "c h", "c++": "cc cpp cxx hh hpp hxx ipp cu cuh", "objective-c": "m mm",
    "java": "java", "javascript": "js jsx mjs cjs", "typescript": "ts tsx mts cts", "csharp": "cs", "go": "go",
    "rust": "rs", "kotlin": "kt kts", "swift": "swift", "scala": "scala sc", "dart": "dart", "php": "php",
    "groovy": "groovy gradle", "ruby": "rb rake gemspec", "lua": "lua", "perl": "pl pm", "r": "r", "julia": "jl",
    "elixir": "ex exs", "zig": "zig",
    "shell": "sh bash zsh ksh", "powershell": "ps1 psm1", "sql": "sql", "css": "css scss less", "haskell": "hs",
    "protobuf": "proto", "graphql": "graphql gql", "terraform": "tf hcl", "nix": "nix", "vim": "vim",
    "erlang": "erl hrl", "clojure": "clj cljs cljc", "lisp": "lisp el scm", "ocaml": "ml mli",
    "fsharp": "fs fsx", "fortran": "f f90 f95",
    "ada": "adb ads", "pascal": "pas", "vb": "vb bas", "toml": "toml", "yaml": "yaml yml", "ini": "ini cfg conf",
    "make": "mk", "docker": "dockerfile containerfile", "cmake": "cmake",
    "assembly": "asm s", "verilog": "v sv", "vhdl": "vhd vhdl", "svelte": "svelte vue",
}  # fmt: skip

PLAIN_FORMATS: dict[str, tuple[str, str]] = {
    ".csv": ("table", "text/csv"),
    ".tsv": ("table", "text/tab-separated-values"),
    ".tab": ("table", "text/tab-separated-values"),
    ".json": ("records", "application/json"),
    ".geojson": ("records", "application/json"),
    ".webmanifest": ("records", "application/json"),
    ".jsonl": ("records", "application/x-ndjson"),
    ".ndjson": ("records", "application/x-ndjson"),
    ".ipynb": ("notebook", "application/x-ipynb+json"),
    ".eml": ("mail", "message/rfc822"),
    ".mbox": ("mail", "application/mbox"),
    ".mbx": ("mail", "application/mbox"),
    ".rst": ("rst", "text/x-rst"),
    ".rest": ("rst", "text/x-rst"),
    ".org": ("org", "text/x-org"),
    ".adoc": ("asciidoc", "text/x-asciidoc"),
    ".asciidoc": ("asciidoc", "text/x-asciidoc"),
    ".tex": ("tex", "text/x-tex"),
    ".latex": ("tex", "text/x-tex"),
    ".ltx": ("tex", "text/x-tex"),
    **{
        f".{suffix}": ("code", f"text/x-{language}")
        for language, suffixes in _LANGUAGES.items()
        for suffix in suffixes.split()
    },
}
"""Suffix, in lower case, to module and media type, of the formats that are text and more."""

_NAMED = {
    "make": "makefile gnumakefile bsdmakefile", "docker": "dockerfile containerfile", "cmake": "cmakelists.txt",
    "ruby": "rakefile gemfile vagrantfile podfile brewfile fastfile", "groovy": "jenkinsfile",
    "shell": ".bashrc .bash_profile .bash_aliases .bash_logout .profile .zshrc .zshenv .zprofile .envrc pkgbuild",
    "python": "sconstruct sconscript wscript", "vim": ".vimrc", "lisp": ".emacs", "ini": ".editorconfig .gitconfig",
}  # fmt: skip
_LANGUAGE_OF_NAME = {name: language for language, names in _NAMED.items() for name in names.split()}
_RUN_BY = {
    "python": "python pypy", "shell": "sh bash zsh ksh dash ash fish", "perl": "perl", "ruby": "ruby",
    "javascript": "node nodejs", "typescript": "deno bun", "php": "php", "lua": "lua luajit", "r": "rscript",
    "make": "make gmake", "groovy": "groovy", "julia": "julia", "elixir": "elixir",
}  # fmt: skip
_LANGUAGE_OF_PROGRAM = {program: language for language, programs in _RUN_BY.items() for program in programs.split()}
_SHEBANG = re.compile(
    rb"#![ \t]*/(?:\S*/)?(?:env[ \t]+(?:-\S+[ \t]+|\w+=\S*[ \t]+)*)?(?:\S*/)?([A-Za-z]+)[\w.-]*(?:[ \t\r\n]|\Z)"
)


def script_format(name: str, data: bytes) -> tuple[str, str] | None:
    """Module and media type of source code that its whole name or its first line tells; else None."""
    language = _LANGUAGE_OF_NAME.get(PurePosixPath(name).name.lower())
    if language is None and (found := _SHEBANG.match(data[:200])):
        language = _LANGUAGE_OF_PROGRAM.get(found[1].decode("ascii").lower(), "shell")
    return None if language is None else ("code", f"text/x-{language}")
