"""Resolves links to files by the app's own rules (docs/obsidian.md 3).

It defines the comparison key of names, the table of a vault's files by that key, and the resolver. It does
not read notes: `markdown.sections` and `links.subpath` find headings and blocks in the target note.

The result for a link depends only on its source's path and on the files whose name key is among
`candidate_keys(target)`. The incremental index relies on that: when a file is added or removed, only the
links that have its key among their candidate keys are resolved again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from msgspec import Struct


class Resolved(Struct, frozen=True, gc=False):
    """The link names `path`. `others` are files that match equally well, so the link is ambiguous if there
    are any: the app's choice among them is not stable, ours is the first in order."""

    path: str
    others: tuple[str, ...] = ()


class Missing(Struct, frozen=True, gc=False):
    """The link names no file of the vault."""


Resolution: TypeAlias = Resolved | Missing
MISSING: Final = Missing()


def name_key(text: str) -> str:
    """Return the form in which names and paths are compared: NFC, lower case."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text).lower()


def folder_of(path: str) -> str:
    """Return the folder part of a vault path, "" for a file at the root."""
    return path.rpartition("/")[0]


def file_name(path: str) -> str:
    """Return the last segment of a vault path, including the extension."""
    return path.rpartition("/")[2]


class FileTable:
    """The files of a vault by the key of their name.

    Most names are unique, so a bucket is the path itself and becomes a tuple only for a second file of the
    same name: at 100,000 files that saves as many small tuples, and makes `copy` a plain dict copy."""

    __slots__ = ("_count", "_named")

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._named: dict[str, str | tuple[str, ...]] = {}
        self._count = 0
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        """Add a path; does nothing if it is already in the table."""
        key = name_key(file_name(path))
        bucket = self._named.get(key)
        if bucket is None:
            self._named[key] = path
        elif isinstance(bucket, str):
            if bucket == path:
                return
            self._named[key] = (bucket, path)
        elif path in bucket:
            return
        else:
            self._named[key] = (*bucket, path)
        self._count += 1

    def remove(self, path: str) -> None:
        """Remove a path; does nothing if it is not in the table."""
        key = name_key(file_name(path))
        bucket = self._named.get(key)
        if bucket is None:
            return
        if isinstance(bucket, str):
            if bucket != path:
                return
            del self._named[key]
        elif path not in bucket:
            return
        else:
            left = tuple(other for other in bucket if other != path)
            self._named[key] = left[0] if len(left) == 1 else left
        self._count -= 1

    def paths_named(self, key: str) -> tuple[str, ...]:
        """Return the paths of all files whose name (with extension) has this key."""
        bucket = self._named.get(key)
        if bucket is None:
            return ()
        return (bucket,) if isinstance(bucket, str) else bucket

    def list_keys(self, ending: str) -> Iterator[str]:
        """Yield the keys of all names that end like this, without the ending."""
        size = len(ending)
        return (key[:-size] for key in self._named if key.endswith(ending))

    def same_path(self, path: str) -> tuple[str, ...]:
        """Return the files whose whole path equals `path` except for case and Unicode form."""
        wanted = name_key(path)
        return tuple(p for p in self.paths_named(file_name(wanted)) if name_key(p) == wanted)

    def copy(self) -> FileTable:
        twin = FileTable()
        twin._named = self._named.copy()
        twin._count = self._count
        return twin

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and path in self.paths_named(name_key(file_name(path)))

    def __iter__(self) -> Iterator[str]:
        for bucket in self._named.values():
            if isinstance(bucket, str):
                yield bucket
            else:
                yield from bucket

    def __len__(self) -> int:
        return self._count


def candidate_keys(target: str) -> tuple[str, ...]:
    """Return the name keys on which the resolution of `target` depends; none for a link to its own note."""
    name = file_name(target)
    if not target:
        return ()
    if "." in name:
        return (name_key(name), name_key(name + ".md"))
    return (name_key(name + ".md"),)


def resolve(target: str, source: str, table: FileTable) -> Resolution:
    """Find the file that the path part `target` of a link in the note `source` names.

    `target` is a `Link.target`: without the subpath, Markdown destinations decoded. An empty one names the
    source itself, whether or not it is in the table."""
    if not target:
        return Resolved(source)
    # Lower-casing before or after the name is split off is the same (a slash has no case), but `.md` must be
    # added before: the lower case of a Greek final sigma depends on what follows it.
    link = name_key(target)
    name = file_name(link)
    bucket = table._named.get(name) if "." in name else None
    if bucket is None:
        link = name_key(target + ".md")
        name = file_name(link)
        bucket = table._named.get(name)
        if bucket is None:
            return MISSING
    if isinstance(bucket, str):
        if name == link:
            return Resolved(bucket)
        bucket = (bucket,)
    return _choose_among(bucket, link, source)


def _choose_among(candidates: tuple[str, ...], link: str, source: str) -> Resolution:
    """Resolve a link with a folder or with several candidates. `link` is a key that ends as the candidates'
    keys do, with `.md`."""
    keyed = [(name_key(path), path) for path in candidates]
    folder = folder_of(name_key(source))
    rooted = link.startswith("/")
    if link.startswith(("./", "../")):
        folder, link = _join(folder, link)
    # A path that equals the link wins, whether joined with the source's folder or from the vault's root.
    exact = [path for key, path in keyed if key == link.removeprefix("/")]
    if exact:
        return _choose_first(exact)
    if rooted:
        return MISSING
    # The app compares strings, not segments: `b/c` also ends `ab/c`, and `a` begins `ab/c`.
    fitting = [(key, path) for key, path in keyed if key.endswith(link)]
    if not fitting:
        return MISSING
    near = [path for key, path in fitting if key.startswith(folder)]
    preferred = near or [path for _, path in fitting]
    shortest = min(map(_length, preferred))
    return _choose_first([path for path in preferred if _length(path) == shortest])


def dot_path(target: str, source: str) -> str | None:
    """Return the key of the path that a `./` or `../` link spells from its source's folder (`.md` may be
    omitted, as in any link), or None for any other link."""
    if not target.startswith(("./", "../")):
        return None
    return _join(folder_of(name_key(source)), name_key(target))[1]


def _join(folder: str, link: str) -> tuple[str, str]:
    """Join a `./` or `../` link with its source's folder; returns the folder that then counts as near, and
    the path. Steps above the root stay at the root, as in the app."""
    if link.startswith("./../"):
        link = link[2:]
    if link.startswith("./"):
        link = link[2:]
    else:
        while link.startswith("../"):
            link = link[3:]
            folder = folder_of(folder)
    prefix = folder + "/" if folder else ""
    return prefix, prefix + link


def _length(path: str) -> int:
    """Return the length in UTF-16 units, which the app counts for "shortest"."""
    return len(path) if path.isascii() else len(path.encode("utf-16-le", "surrogatepass")) // 2


def _choose_first(paths: list[str]) -> Resolved:
    if len(paths) == 1:
        return Resolved(paths[0])
    ordered = sorted(paths)
    return Resolved(ordered[0], tuple(ordered[1:]))
