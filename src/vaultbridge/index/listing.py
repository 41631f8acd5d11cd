"""Lists over the whole vault: tags, properties, tasks, files by time.

Each function is one question in one reading transaction and leaves out what `visible` hides before it counts.
Searching by words is `search`'s duty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from vaultbridge.index.fold import plain
from vaultbridge.index.property_test import scalars
from vaultbridge.index.store import Index
from vaultbridge.links.resolve import name_key
from vaultbridge.vault.paths import VaultPath

Visible = Callable[[str], bool]
TaskStatus = Literal["any", "open", "done"]

VALUES_SHOWN: Final = 20
"""The most values told of one property, the most frequent first."""

_decode_json = msgspec.json.Decoder().decode


class TagCount(Struct, frozen=True):
    """`notes` have the tag or one that lies under it; `occurrences` counts each place it is written."""

    name: str
    notes: int
    occurrences: int


class PropertySummary(Struct, frozen=True):
    """`types` and `values` with the number of notes, the most frequent first."""

    name: str
    notes: int
    types: dict[str, int]
    values: dict[str, int]


class PropertyValue(Struct, frozen=True):
    path: VaultPath
    name: str
    type: str
    value: Any


class FoundTask(Struct, frozen=True):
    """`fields` are the Tasks plugin's, as `note.model.Task` has them."""

    path: VaultPath
    line: int
    status: str
    text: str
    description: str
    fields: dict[str, str]

    @property
    def done(self) -> bool:
        return self.status != " "


class TaskPage(Struct, frozen=True):
    tasks: tuple[FoundTask, ...]
    total: int


class FileInfo(Struct, frozen=True):
    path: VaultPath
    kind: str
    size: int
    modified_ns: int


def tags(index: Index, *, visible: Visible | None = None) -> list[TagCount]:
    """Every tag and every tag that others lie under, by name."""
    notes: dict[str, set[int]] = {}
    occurrences: dict[str, int] = {}
    names: dict[str, str] = {}
    with index.reading() as db:
        hidden = _hidden(index, db, visible)
        for key, file, name, count in db.execute(
            "SELECT key, file, name, count FROM tags ORDER BY key, file"
        ):
            if file in hidden:
                continue
            at = 0
            while at >= 0:
                at = key.find("/", at + 1)
                part = key if at < 0 else key[:at]
                # Keys and names are of one length but for rare letters; then the key serves as name.
                shown = name[: len(part)] if len(name) == len(key) else part
                names.setdefault(part, shown)
                notes.setdefault(part, set()).add(file)
                occurrences[part] = occurrences.get(part, 0) + count
    return [TagCount(names[key], len(notes[key]), occurrences[key]) for key in sorted(notes)]


def notes_with_tag(
    index: Index, name: str, *, nested: bool = True, visible: Visible | None = None
) -> list[VaultPath]:
    """The files with a tag (given with or without `#`), those with a tag under it too unless not `nested`."""
    key = name_key(name.removeprefix("#").rstrip("/"))
    condition = "key = ? OR (key > ? AND key < ?)" if nested else "key = ?"
    values = (key, key + "/", key + "0") if nested else (key,)
    with index.reading() as db:
        rows = db.execute(
            "SELECT DISTINCT path FROM files"
            f" WHERE id IN (SELECT file FROM tags WHERE {condition}) ORDER BY path",
            values,
        ).fetchall()
    return [VaultPath(path) for (path,) in rows if visible is None or visible(path)]


def properties(index: Index, *, visible: Visible | None = None) -> list[PropertySummary]:
    """Every property name in use, by name, under its most frequent spelling."""
    spellings: dict[str, dict[str, int]] = {}
    types: dict[str, dict[str, int]] = {}
    values: dict[str, dict[str, int]] = {}
    notes: dict[str, int] = {}
    with index.reading() as db:
        hidden = _hidden(index, db, visible)
        for key, file, name, type_, value in db.execute(
            "SELECT key, file, name, type, value FROM properties"
        ):
            if file in hidden:
                continue
            notes[key] = notes.get(key, 0) + 1
            _count(spellings.setdefault(key, {}), name)
            _count(types.setdefault(key, {}), type_)
            for text in dict.fromkeys(scalars(_decode_json(value))):
                _count(values.setdefault(key, {}), text)
    return [
        PropertySummary(
            next(iter(_frequent(spellings[key], 1))),
            notes[key],
            _frequent(types[key], None),
            _frequent(values.get(key, {}), VALUES_SHOWN),
        )
        for key in sorted(notes)
    ]


def property_values(index: Index, name: str, *, visible: Visible | None = None) -> list[PropertyValue]:
    """What each file says under a property name, by path."""
    with index.reading() as db:
        rows = db.execute(
            "SELECT path, name, type, value FROM properties JOIN files ON files.id = file"
            " WHERE properties.key = ? ORDER BY path, seq",
            (name_key(name),),
        ).fetchall()
    return [
        PropertyValue(VaultPath(path), written, type_, _decode_json(value))
        for path, written, type_, value in rows
        if visible is None or visible(path)
    ]


def tasks(
    index: Index,
    *,
    status: TaskStatus | str = "any",
    text: str = "",
    tag: str = "",
    path_prefix: str = "",
    due_before: str = "",
    due_after: str = "",
    visible: Visible | None = None,
    limit: int = 100,
    offset: int = 0,
) -> TaskPage:
    """Tasks, those that are due first, then by path and line.

    `status` is any, open, done, or the one character between the brackets. `due_before` and `due_after` are
    dates (`YYYY-MM-DD`) and leave out tasks without one. `tag` is one written in the task."""
    conditions, values = _task_conditions(status, path_prefix, due_before, due_after)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    wanted, wanted_tag = plain(text), plain(tag.removeprefix("#"))
    with index.reading() as db:
        rows = db.execute(
            "SELECT path, line, status, text, description, fields FROM tasks JOIN files ON files.id = file"
            f"{where} ORDER BY due IS NULL, due, path, seq",
            values,
        ).fetchall()
    found = [
        row
        for row in rows
        if (visible is None or visible(row[0]))
        and (not wanted or wanted in plain(row[3]))
        and (not wanted_tag or _has_tag(row[3], wanted_tag))
    ]
    page = tuple(
        FoundTask(VaultPath(path), line, mark, whole, description, _decode_json(fields) if fields else {})
        for path, line, mark, whole, description, fields in found[offset : offset + limit]
    )
    return TaskPage(page, len(found))


def _task_conditions(
    status: str, path_prefix: str, due_before: str, due_after: str
) -> tuple[list[str], list[str]]:
    conditions: list[str] = []
    values: list[str] = []
    if status == "open":
        conditions.append("status = ' '")
    elif status == "done":
        conditions.append("status != ' '")
    elif status != "any":
        conditions.append("status = ?")
        values.append(status)
    if path_prefix:
        prefix = path_prefix.rstrip("/")
        conditions.append("(path = ? OR (path > ? AND path < ?))")
        values += [prefix, prefix + "/", prefix + "0"]
    if due_before:
        conditions.append("due < ?")
        values.append(due_before)
    if due_after:
        conditions.append("due > ?")
        values.append(due_after)
    return conditions, values


def _has_tag(text: str, wanted: str) -> bool:
    return any(
        word == "#" + wanted or word.startswith("#" + wanted + "/")
        for word in plain(text).replace("#", " #").split()
    )


def recent(
    index: Index,
    *,
    limit: int = 20,
    kinds: tuple[str, ...] = ("note", "canvas"),
    visible: Visible | None = None,
) -> list[FileInfo]:
    """The files changed last, the newest first."""
    marks = ", ".join("?" * len(kinds))
    found: list[FileInfo] = []
    with index.reading() as db:
        rows = db.execute(
            f"SELECT path, kind, size, mtime_ns FROM files WHERE kind IN ({marks})"
            " ORDER BY mtime_ns DESC, path",
            kinds,
        )
        for path, kind, size, modified in rows:
            if visible is None or visible(path):
                found.append(FileInfo(VaultPath(path), kind, size, modified))
                if len(found) >= limit:
                    break
    return found


def _hidden(index: Index, db: Any, visible: Visible | None) -> set[int]:
    return set() if visible is None else {id_ for id_, path in index.paths(db).items() if not visible(path)}


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


def _frequent(counts: dict[str, int], most: int | None) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most])
