"""What kind of content a file holds, by its ending: those of the formats that the app accepts."""

from __future__ import annotations

from typing import Final

_TYPES: Final = {
    "md": "text/markdown",
    "canvas": "application/json",
    "base": "application/yaml",
    "avif": "image/avif",
    "bmp": "image/bmp",
    "gif": "image/gif",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "png": "image/png",
    "svg": "image/svg+xml",
    "webp": "image/webp",
    "flac": "audio/flac",
    "m4a": "audio/mp4",
    "mp3": "audio/mpeg",
    "ogg": "audio/ogg",
    "wav": "audio/wav",
    "3gp": "audio/3gpp",
    "mkv": "video/x-matroska",
    "mov": "video/quicktime",
    "mp4": "video/mp4",
    "ogv": "video/ogg",
    "webm": "video/webm",
    "pdf": "application/pdf",
    "txt": "text/plain",
    "csv": "text/csv",
    "json": "application/json",
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "zip": "application/zip",
}

SHOWN_IMAGES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""The pictures that assistants can look at; others are given as files."""


def media_type(path: str) -> str:
    return _TYPES.get(path.rpartition(".")[2].lower(), "application/octet-stream")
