"""Determines the kind of a file by its suffix, as Obsidian, browsers and assistants do."""

from __future__ import annotations

from typing import Final, Literal

FileKind = Literal["note", "canvas", "base", "attachment", "other"]

MediaKind = Literal["image", "audio", "video", "pdf"]

_MEDIA: Final[dict[MediaKind, dict[str, str]]] = {
    "image": {
        "avif": "image/avif",
        "bmp": "image/bmp",
        "gif": "image/gif",
        "jpeg": "image/jpeg",
        "jpg": "image/jpeg",
        "png": "image/png",
        "svg": "image/svg+xml",
        "webp": "image/webp",
    },
    "audio": {
        "flac": "audio/flac",
        "m4a": "audio/mp4",
        "mp3": "audio/mpeg",
        "ogg": "audio/ogg",
        "wav": "audio/wav",
        "3gp": "audio/3gpp",
    },
    "video": {
        "mkv": "video/x-matroska",
        "mov": "video/quicktime",
        "mp4": "video/mp4",
        "ogv": "video/ogg",
        "webm": "video/webm",
    },
    "pdf": {"pdf": "application/pdf"},
}
"""The attachments that the app accepts; a browser shows each of them in place."""

_MEDIA_KINDS: Final = {suffix: kind for kind, types in _MEDIA.items() for suffix in types}

_MEDIA_TYPES: Final = {
    **{suffix: media_type for types in _MEDIA.values() for suffix, media_type in types.items()},
    "md": "text/markdown",
    "canvas": "application/json",
    "base": "application/yaml",
    "txt": "text/plain",
    "csv": "text/csv",
    "json": "application/json",
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "zip": "application/zip",
}

KINDS: Final[dict[str, FileKind]] = {
    "md": "note",
    "canvas": "canvas",
    "base": "base",
    **dict.fromkeys(_MEDIA_KINDS, "attachment"),
}
"""The kind for each suffix; a file with any other is `other`."""


def suffix_of(path: str) -> str:
    """What follows the last dot of a file's name, in lower case; "" without a dot."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""


def kind_of(path: str) -> FileKind:
    """The kind of a file in the app."""
    return KINDS.get(suffix_of(path), "other")


def media_kind(path: str) -> MediaKind | None:
    """The kind of an attachment that can be shown or played; None for any other file."""
    return _MEDIA_KINDS.get(suffix_of(path))


def media_type(path: str) -> str:
    """The media type (MIME type) of a file."""
    return _MEDIA_TYPES.get(suffix_of(path), "application/octet-stream")
