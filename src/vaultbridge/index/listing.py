"""Lists tags, properties, tasks and recent files over the whole vault.

Each function is one query in one reading transaction. What the app ignores has no tags, properties and tasks
here. Searching by words is left to `query.search`.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator
from heapq import nsmallest
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec
from msgspec import Struct

from vaultbridge.errors import InvalidArgument
from vaultbridge.index.fold import fold_text, split_words
from vaultbridge.index.query.match import flatten_values
from vaultbridge.index.query.needle import match_each_word
from vaultbridge.index.store.database import Index, read_status
from vaultbridge.index.store.rows import decode_note
from vaultbridge.links.resolve import name_key
from vaultbridge.vault.paths import VaultPath

TaskStatus = Literal["any", "open", "done"]

T = TypeVar("T")

NO_LIMIT: Final = -1
"""The limit that means no limit, as in SQL."""

TAG_LEVELS: Final = 100
"""The most parents of one tag that are counted. Nobody nests ten; ten thousand would take gigabytes, because
each is counted with all above it."""

VALUE_CHARS: Final = 200
"""The longest property value that is counted. Counts are used to show the most frequent values; a longer text
hardly ever occurs in two notes."""

MAX_VALUES: Final = 20
"""The most values listed for one property, most frequent first."""

LIKE_CHARS: Final = 1000
"""Longer texts are not given to LIKE, which refuses patterns of more than 50,000 bytes."""

_TASK: Final = "path, line, status, text, description, fields"
_NEEDS_FOLDING: Final = "length(CAST(text AS BLOB)) - length(text) != 3 * (due IS NOT NULL)"
"""An SQL condition: a task's text has non-ASCII characters, whose case SQLite cannot fold, besides the sign
of its due date, which many tasks have and which folds to itself. Each of the signs for it takes four bytes,
so if nothing else takes more than one byte per character, there is no other."""
_LIKE_SPECIAL: Final = re.compile(r"[%_\\]")
_ESCAPED: Final = r"\\\g<0>"

_decode_json = msgspec.json.Decoder().decode


class ListPage(Struct, Generic[T], frozen=True):
    """One page of a list that has `total` rows."""

    rows: tuple[T, ...]
    total: int


class TagCount(Struct, frozen=True):
    """How often a tag is used. `notes` counts notes with the tag or one nested under it, `occurrences` every
    place where it is written."""

    name: str
    notes: int
    occurrences: int


class PropertySummary(Struct, frozen=True):
    """How a property is used. `types` and `values` map to the number of notes, most frequent first."""

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
    """A task and where it is. `fields` are those of the Tasks plugin, as in `markdown.model.Task`."""

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


def list_tags(index: Index) -> list[TagCount]:
    """Returns every tag and parent tag by name, in its most frequent spelling. A note counts once for a tag
    and once for each parent tag, under the spelling that comes first."""
    notes: dict[str, set[str]] = {}
    spellings: dict[str, dict[str, int]] = {}
    places: dict[str, int] = {}
    with index.reading() as db:
        rows = db.execute(
            "SELECT key, name, group_concat(file), sum(count) FROM tags GROUP BY key, name ORDER BY key, name"
        ).fetchall()
    for key, name, joined, count in rows:
        files = set(joined.split(","))
        for part in _list_levels(key):
            # Folding changes the length of a few rare letters; then the key serves as the name.
            spelling = name[: len(part)] if len(name) == len(key) else part
            known = notes.setdefault(part, set())
            counted = spellings.setdefault(part, {})
            counted[spelling] = counted.get(spelling, 0) + len(files - known)
            places[part] = places.get(part, 0) + count
            known |= files
    return [
        TagCount(
            min(counted, key=lambda spelling: (-counted[spelling], spelling)), len(notes[key]), places[key]
        )
        for key, counted in sorted(spellings.items())
    ]


def _list_levels(key: str) -> Iterator[str]:
    """A tag's key and those of the tags above it, the top one first."""
    at = level = 0
    while at >= 0:
        level += 1
        at = key.find("/", at + 1) if level <= TAG_LEVELS else -1
        yield key if at < 0 else key[:at]


def list_notes_with_tag(index: Index, name: str) -> list[VaultPath]:
    """Returns the files with a tag (given with or without `#`) or a tag nested under it. Ignored files are
    included, because a rename must reach them."""
    key = name_key(name.removeprefix("#").rstrip("/"))
    with index.reading() as db:
        rows = db.execute(
            "SELECT DISTINCT path FROM files"
            " WHERE id IN (SELECT file FROM tags WHERE key = ? OR (key > ? AND key < ?))",
            (key, key + "/", key + "0"),
        ).fetchall()
        found = [path for (path,) in rows]
        for path, note in db.execute("SELECT path, note FROM notes JOIN files USING (id) WHERE ignored"):
            if any(f"{name_key(tag.name)}/".startswith(key + "/") for tag in decode_note(note).tags):
                found.append(path)
    return [VaultPath(path) for path in sorted(found)]


def list_properties(index: Index) -> list[PropertySummary]:
    """Returns every property in use by name, in its most frequent spelling."""
    names: dict[str, dict[str, int]] = {}
    types: dict[str, dict[str, int]] = {}
    values: dict[str, dict[str, int]] = {}
    with index.reading() as db:
        written = db.execute("SELECT key, name, type, count(*) FROM properties GROUP BY key, name, type")
        for key, name, type_, count in written:
            _add(names.setdefault(key, {}), name, count)
            _add(types.setdefault(key, {}), type_, count)
        # GROUP BY would sort all values, which takes longer.
        for (key, value), count in Counter(db.execute("SELECT key, value FROM properties")).items():
            counted = values.setdefault(key, {})
            for text in dict.fromkeys(flatten_values(_decode_json(value))):
                if len(text) <= VALUE_CHARS:
                    _add(counted, text, count)
    return [
        PropertySummary(
            next(iter(_take_frequent(spellings, 1))),
            sum(spellings.values()),
            _take_frequent(types[key], None),
            _take_frequent(values[key], MAX_VALUES),
        )
        for key, spellings in sorted(names.items())
    ]


def _add(counts: dict[str, int], name: str, count: int) -> None:
    counts[name] = counts.get(name, 0) + count


def count_properties(index: Index) -> int:
    """Returns how many properties are in use."""
    with index.reading() as db:
        (count,) = db.execute("SELECT count(DISTINCT key) FROM properties").fetchone()
    return int(count)


def list_property_values(
    index: Index, name: str, *, limit: int = NO_LIMIT, offset: int = 0
) -> ListPage[PropertyValue]:
    """Returns the values of one property, by path."""
    key = name_key(name)
    with index.reading() as db:
        (total,) = db.execute("SELECT count(*) FROM properties WHERE key = ?", (key,)).fetchone()
        rows = db.execute(
            "SELECT path, name, type, value FROM properties JOIN files ON files.id = file"
            " WHERE properties.key = ? ORDER BY path, seq LIMIT ? OFFSET ?",
            (key, limit, offset),
        ).fetchall()
    found = (
        PropertyValue(VaultPath(path), written, type_, _decode_json(value))
        for path, written, type_, value in rows
    )
    return ListPage(tuple(found), total)


def list_tasks(
    index: Index,
    *,
    status: TaskStatus | str = "any",
    text: str = "",
    tag: str = "",
    path_prefix: str = "",
    due_before: str = "",
    due_after: str = "",
    places: Collection[tuple[str, int]] | None = None,
    limit: int = 100,
    offset: int = 0,
) -> TaskPage:
    """Returns tasks by due date, then by path and line; those without a due date come last.

    `status` is any, open, done, or the single character between the brackets. `due_before` and `due_after`
    are dates (`YYYY-MM-DD`) and leave out tasks without one. `tag` is a tag written in the task itself.
    `places`, paths and lines, leave out tasks elsewhere."""
    wanted, wanted_tag = fold_text(text), fold_text(tag.removeprefix("#"))
    conditions, values = _make_conditions(status, path_prefix, due_before, due_after)
    with index.reading() as db:
        if not wanted and not wanted_tag and places is None:
            (total,) = db.execute(f"SELECT count(*) FROM {_select_tasks(conditions)}", values).fetchone()
            found = db.execute(
                f"SELECT {_TASK} FROM {_select_tasks(conditions, with_files=True)}"
                " ORDER BY due IS NULL, due, path, seq LIMIT ? OFFSET ?",
                (*values, limit, offset),
            ).fetchall()
        else:
            words = split_words(f"{text} {tag}")
            matching = _find_tasks(index, db, conditions, values, wanted, wanted_tag, words, places)
            ordered = nsmallest(offset + limit, matching)[offset:]
            found, total = _read_tasks(db, [(file, seq) for *_, seq, file in ordered]), len(matching)
    page = tuple(
        FoundTask(VaultPath(path), line, mark, content, description, _decode_json(fields) if fields else {})
        for path, line, mark, content, description, fields in found
    )
    return TaskPage(page, total)


def _find_tasks(
    index: Index,
    db: sqlite3.Connection,
    conditions: list[str],
    values: list[str],
    wanted: str,
    wanted_tag: str,
    words: Collection[str],
    places: Collection[tuple[str, int]] | None,
) -> list[tuple[bool, str, str, int, int]]:
    """Returns the tasks that meet the conditions and contain the text and the tag: what they are ordered by
    (due date, path, number), then the file. `words` are those of the text and the tag."""
    if wanted and len(wanted) <= LIKE_CHARS:
        # SQLite folds the case of ASCII as we do; texts with other characters are compared below.
        conditions = [*conditions, f"(text LIKE ? ESCAPE '\\' OR {_NEEDS_FOLDING})"]
        values = [*values, f"%{_LIKE_SPECIAL.sub(_ESCAPED, wanted)}%"]
    if wanted_tag:
        conditions = [*conditions, "text LIKE '%#%'"]
    if match := _match_words(index, db, words):
        conditions = [*conditions, "file IN (SELECT rowid FROM words WHERE words MATCH ?)"]
        values = [*values, match]
    paths = index.paths(db)
    return [
        (due is None, due or "", paths[file], seq, file)
        for file, seq, due, text, line in db.execute(
            f"SELECT file, seq, due, text, line FROM {_select_tasks(conditions)}", values
        )
        if (not wanted or wanted in fold_text(text))
        and (places is None or (paths[file], line) in places)
        and (not wanted_tag or _has_tag(text, wanted_tag))
    ]


def _match_words(index: Index, db: sqlite3.Connection, words: Collection[str]) -> str:
    """Returns the full-text query for notes with these words. It is empty if they do not narrow the notes
    down, and during a first build, which collects the dictionary only at its end."""
    if not read_status(db).complete:
        return ""
    index.terms.refresh(db)
    return match_each_word(words, index.terms)


def _read_tasks(db: sqlite3.Connection, wanted: list[tuple[int, int]]) -> list[tuple[Any, ...]]:
    statement = f"SELECT {_TASK} FROM tasks JOIN files ON files.id = file WHERE file = ? AND seq = ?"
    return [db.execute(statement, task).fetchone() for task in wanted]


def _select_tasks(conditions: list[str], *, with_files: bool = False) -> str:
    with_files = with_files or any("path" in condition for condition in conditions)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"tasks{' JOIN files ON files.id = file' if with_files else ''}{where}"


def _make_conditions(
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
        for word in fold_text(text).replace("#", " #").split()
    )


def list_recent(
    index: Index,
    *,
    limit: int = 20,
    kinds: tuple[str, ...] = ("note", "canvas"),
) -> list[FileInfo]:
    """Returns the files that were modified last, newest first."""
    marks = ", ".join("?" * len(kinds))
    with index.reading() as db:
        rows = db.execute(
            f"SELECT path, kind, size, mtime_ns FROM files WHERE kind IN ({marks})"
            " ORDER BY mtime_ns DESC, path LIMIT ?",
            (*kinds, limit),
        )
        return [FileInfo(VaultPath(path), kind, size, modified) for path, kind, size, modified in rows]


def has_non_ascii(column: str) -> str:
    """Returns an SQL condition: the text has non-ASCII characters, whose case SQLite cannot fold."""
    return f"length({column}) != length(CAST({column} AS BLOB))"


def _take_frequent(counts: dict[str, int], most: int | None) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most])


def take_page(rows: list[T], *, limit: int, offset: int) -> list[T]:
    return rows[offset:] if limit == NO_LIMIT else rows[offset : offset + limit]


def check_bound(name: str, value: int, most: int | None) -> None:
    """Raises `InvalidArgument` unless a number is between 0 and `most`."""
    if value < 0 or (most is not None and value > most):
        bound = f"between 0 and {most}" if most is not None else "0 or more"
        raise InvalidArgument(f"{name} is {value}; it must be {bound}.", argument=name)
