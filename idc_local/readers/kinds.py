"""What a file's name says of its content: archives, and types that hold no words. Reads nothing."""

from __future__ import annotations

from pathlib import PurePosixPath

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")

_SUFFIXES = """
png jpg jpeg jpe jfif gif bmp tif tiff webp ico icns heic heif avif psd ai xcf cr2 nef dng svgz eps
mp3 m4a aac ogg oga opus flac wav wma aif aiff mid midi mp4 m4v mov avi mkv webm wmv flv mpg mpeg 3gp
ttf otf ttc woff woff2 pfb
exe dll so dylib a o obj lib pdb class jar war pyc pyo pyd wasm whl egg deb rpm apk dmg msi iso img vmdk qcow2 bin
sqlite sqlite3 db db3 mdb accdb dbf parquet arrow feather orc avro h5 hdf5 npy npz mat rds rdata pkl pickle joblib
gguf safetensors onnx pt pth tflite ckpt faiss
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
