"""Completes arguments while a person types: names of notes, paths, folders, tags, properties and vaults.

The values are read from the index once and cached, folded as in searches, until the index changes (names of
files, until a file is added or removed): a keystroke takes 1 ms in a vault of 10,000 notes instead of 15.
Functions block and run in a worker thread.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from vaultbridge.errors import VaultbridgeError
from vaultbridge.index.fold import fold_text
from vaultbridge.links.resolve import file_name, name_key
from vaultbridge.protocols.mcp.values import Completion
from vaultbridge.protocols.mcp.vault.resources import list_files

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.protocols.mcp.vault.engines import VaultEngines

SUGGESTIONS: Final = 100
"""CompleteResult: "Must not exceed 100 items"."""

TYPED_CHARS: Final = 200
"""How much of the typed text is used. Nobody types a longer name."""


class _Choices(Struct, frozen=True):
    """All values of one kind in one vault; `folded` has one row for each. `version` is what tells whether
    they are current: for names of files, that is the paths by id."""

    version: Any
    values: Sequence[str]
    folded: Sequence[str]


class Completions:
    """May be used from any thread."""

    def __init__(self, engines: VaultEngines) -> None:
        self._engines = engines
        self._cache: dict[tuple[str, str], _Choices] = {}
        self._guard = threading.Lock()

    def suggest(self, kind: str, typed: str, vault: str = "") -> Completion:
        """Values of a kind (note, path, folder, tag, property, vault) that match what was typed, best first:
        those that begin with it, those with a word that does, those that contain it. An unknown kind has
        none."""
        if kind == "vault":
            return _suggest_best(_fold_choices(0, tuple(self._engines)), typed)
        if kind not in _READERS:
            return Completion()
        vaults = [vault] if vault in self._engines else list(self._engines)
        suggestions: dict[str, None] = {}
        total = 0
        for name in vaults:
            try:
                choices = self._choices(name, kind)
                newest = kind == "note" and not typed.strip()
                part = (
                    _suggest_newest(self._engines[name], choices) if newest else _suggest_best(choices, typed)
                )
            except VaultbridgeError:
                # A vault that cannot be opened has nothing to suggest; tool calls report what is wrong with
                # it.
                continue
            suggestions.update(dict.fromkeys(part.values))
            total += part.total or 0
        values = tuple(suggestions)[:SUGGESTIONS]
        return Completion(values, total, total > len(values))

    def _choices(self, vault: str, kind: str) -> _Choices:
        engine = self._engines[vault]
        known = self._cache.get((vault, kind))
        # An edit may change tags and properties, but not the names of files.
        if kind in ("note", "path") and engine.queries.status.complete:
            choices = _name_files(engine, kind, known)
        else:
            version = engine.queries.fresh_status().generation
            current = known is not None and known.version == version
            choices = known if known and current else _fold_choices(version, _READERS[kind](engine))
        if choices is not known:
            with self._guard:
                self._cache[vault, kind] = choices
        return choices


def _name_files(engine: Engine, kind: str, known: _Choices | None) -> _Choices:
    """Names the files of a complete index, unless they are still the same."""
    paths = engine.queries.visible_paths()
    if known is not None and known.version is paths:
        return known
    files = sorted(path for path in paths.values() if kind == "path" or _is_note(path))
    return _fold_choices(paths, files if kind == "path" else _name_notes(files))


def _is_note(path: str) -> bool:
    return path[-3:].lower() == ".md"


def _fold_choices(version: object, values: Sequence[str]) -> _Choices:
    # Folding all at once is far cheaper than one by one; names have no line ends.
    return _Choices(version, values, fold_text("\n".join(values)).split("\n") if values else ())


def _suggest_best(choices: _Choices, typed: str) -> Completion:
    prefix = fold_text(typed.strip().removeprefix("[[").removeprefix("#")[:TYPED_CHARS])
    ranked: list[tuple[int, int, str]] = []
    rows = zip(choices.values, choices.folded, strict=True)
    for value, row in [(value, row) for value, row in rows if prefix in row]:
        name = row.rfind("/") + 1
        if row.startswith(prefix) or row.startswith(prefix, name):
            rank = 0
        else:
            rank = 1 if any(mark + prefix in row for mark in " /-_.") else 2
        ranked.append((rank, len(value), value))
    if prefix:
        ranked.sort()
    return Completion(
        tuple(value for _, _, value in ranked[:SUGGESTIONS]), len(ranked), len(ranked) > SUGGESTIONS
    )


def _suggest_newest(engine: Engine, choices: _Choices) -> Completion:
    """Suggest the notes that were changed last, for a person who has not typed anything."""
    paths = (file.path[:-3] for file in engine.queries.recent(limit=SUGGESTIONS, kinds=("note",)))
    known = frozenset(choices.values)
    values = tuple(path if path in known else path.rpartition("/")[2] for path in paths)
    return Completion(values, len(choices.values), len(choices.values) > len(values))


def _name_notes(paths: Sequence[str]) -> list[str]:
    """Names notes as links would: by the bare name if only one note has it, else by the path."""
    names = [file_name(path) for path in paths]
    keys = [*map(name_key, names)]
    counts = Counter(keys)
    return [
        (path if counts[key] > 1 else name)[:-3] for path, name, key in zip(paths, names, keys, strict=True)
    ]


def _list_notes(engine: Engine) -> Sequence[str]:
    return _name_notes([file.path for file in list_files(engine) if file.kind == "note"])


def _list_paths(engine: Engine) -> Sequence[str]:
    return [file.path for file in list_files(engine)]


def _list_folders(engine: Engine) -> Sequence[str]:
    if engine.queries.status.complete:
        return [folder for folder in engine.queries.folders() if folder]
    folders: set[str] = set()
    for file in list_files(engine):
        folder = file.path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return sorted(folders)


def _list_tags(engine: Engine) -> tuple[str, ...]:
    return tuple(tag.name for tag in sorted(engine.queries.tags(), key=lambda tag: (-tag.notes, tag.name)))


def _list_properties(engine: Engine) -> tuple[str, ...]:
    ordered = sorted(engine.queries.properties(), key=lambda entry: (-entry.notes, entry.name))
    return tuple(entry.name for entry in ordered)


_READERS: Final[Mapping[str, Callable[[Engine], Sequence[str]]]] = {
    "note": _list_notes,
    "path": _list_paths,
    "folder": _list_folders,
    "tag": _list_tags,
    "property": _list_properties,
}
