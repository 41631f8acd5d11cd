"""Finds the file that a person or an assistant means, however they name it.

The steps, in order: the exact path, the path without `.md`, another case or Unicode form, what a wikilink
with that text would find, an alias, the same words with other accents, dashes or underscores. The first step
that finds something decides. If it finds several files, the answer lists them instead of guessing. If no step
finds anything, the answer offers the most similar names.

Links resolve differently (`links.resolve`): an alias never resolves a link.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from heapq import nlargest, nsmallest
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from vaultbridge.index.fold import fold_text, split_words
from vaultbridge.index.name_text import AliasText, NameText
from vaultbridge.index.store.database import Index, read_meta
from vaultbridge.links.resolve import FileTable, Resolved, file_name, name_key, resolve
from vaultbridge.vault.paths import VaultPath

How = Literal["path", "extension", "case", "link", "alias", "title"]

CLOSEST: Final = 5
"""How many names to offer when none matches: as many as a person can choose from at a glance."""

CANDIDATES: Final = 60
"""How many names to compare letter by letter: those that share the most letter groups."""

MIN_SIMILARITY: Final = 0.6
"""Names less similar than this (0 to 1) are not offered: at 0.5, "Nowhere" gets "Weather lore"."""

SHORT_NAME: Final = 3
SHORT_SIMILARITY: Final = 0.5
"""In a name of so few letters, such as a Chinese one, a single wrong letter may be half of the name."""

NAME_CHARS: Final = 400
"""How much of a name is compared for similarity. Anything longer is pasted text."""


class NameMatch(Struct, frozen=True):
    path: VaultPath
    how: How


class AmbiguousMatch(Struct, frozen=True):
    """All candidates match equally well; sorted."""

    candidates: tuple[VaultPath, ...]


class NoMatch(Struct, frozen=True):
    """`closest` are names that may have been meant, most similar first."""

    closest: tuple[VaultPath, ...]


LookupResult: TypeAlias = NameMatch | AmbiguousMatch | NoMatch


class NameLookup:
    """Lenient lookup over all files of an index, including attachments. Any thread may use it."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._known: _KnownNames | None = None

    def find(self, name: str, *, source: str = "") -> LookupResult:
        """Finds the file that `name` means. With a `source` note, a bare name prefers files near it, as a
        link there would; without one, a name found in several folders is ambiguous."""
        wanted = _strip_wrapping(name)
        with self.index.reading() as db:
            table = self.index.table(db)
            steps: tuple[tuple[How, Callable[[], Iterable[str]]], ...] = (
                ("path", lambda: [wanted] if wanted in table else []),
                ("extension", lambda: [wanted + ".md"] if wanted + ".md" in table else []),
                ("case", lambda: table.same_path(wanted) or table.same_path(wanted + ".md")),
                ("link", lambda: _find_linked(table, wanted, source)),
                ("alias", lambda: _find_by_alias(db, wanted)),
                ("title", lambda: _find_by_title(db, wanted)),
            )
            for how, look in steps if wanted else ():
                paths = sorted(set(look()))
                if len(paths) == 1:
                    return NameMatch(VaultPath(paths[0]), how)
                if paths:
                    return AmbiguousMatch(tuple(map(VaultPath, paths)))
            return NoMatch(self._find_closest(db, wanted))

    def _find_closest(self, db: sqlite3.Connection, wanted: str) -> tuple[VaultPath, ...]:
        known = self._known = _read_names(db, self.index.paths(db), self._known)
        return _find_closest(wanted[:NAME_CHARS], known)


def _strip_wrapping(name: str) -> str:
    """Removes what people wrap around a name: blanks, link brackets, a display text, a leading slash."""
    import unicodedata

    text = unicodedata.normalize("NFC", name.strip())
    if text.endswith("]]") and text.startswith(("[[", "![[")):
        text = text.removeprefix("!")[2:-2].partition("|")[0].partition("#")[0].strip()
    return text.lstrip("/").removeprefix("./")


def _find_linked(table: FileTable, target: str, source: str) -> list[str]:
    found = resolve(target, source, table)
    if not isinstance(found, Resolved):
        return []
    if source:
        return [found.path, *found.others]
    # Without a source note, no folder is nearer than another.
    ending = name_key(file_name(found.path))
    link = name_key(target)
    named = table.paths_named(ending)
    fitting = [path for path in named if name_key(path).removesuffix(".md").endswith(link)]
    return fitting or [*named] if "/" not in target else fitting or [found.path]


def _find_by_alias(db: sqlite3.Connection, wanted: str) -> list[str]:
    rows = db.execute(
        "SELECT files.path FROM aliases JOIN files ON files.id = aliases.file WHERE aliases.key = ?",
        (name_key(wanted),),
    )
    return [path for (path,) in rows]


def _find_by_title(db: sqlite3.Connection, wanted: str) -> list[str]:
    """Finds files whose name or whole path consists of the same words."""
    words = split_words(wanted)
    if words and words[-1] == "md":
        words = words[:-1]
    if not words:
        return []
    phrase = " ".join(words)
    rows = db.execute(
        "SELECT files.path FROM words JOIN files ON files.id = words.rowid WHERE words MATCH ?",
        (f'path : "{phrase}"',),
    )
    # Ignored notes are not among the words.
    ignored = db.execute("SELECT path FROM files WHERE ignored")
    found = []
    for (path,) in (*rows, *ignored):
        stem = path.rpartition(".")[0]
        if split_words(file_name(stem)) == words or split_words(stem) == words:
            found.append(path)
    return found


class _KnownNames(Struct, frozen=True):
    """The names of one state of the index: the files in `paths`, and their aliases. `aliased` are the
    aliases with the files that they belong to, in order."""

    paths: Mapping[int, str]
    generation: int
    files: NameText
    aliases: NameText
    aliased: list[tuple[str, str]]


def _read_names(db: sqlite3.Connection, paths: Mapping[int, str], known: _KnownNames | None) -> _KnownNames:
    """Reads the names of these files again if they have changed: some 10 ms for 10,000 notes."""
    generation = read_meta(db, "generation")
    same = known is not None and known.paths is paths
    if known is not None and same and known.generation == generation:
        return known
    files = known.files if known is not None and same else NameText(sorted(paths.values()))
    aliases = db.execute("SELECT name, file FROM aliases")
    aliased = sorted((name, paths[file]) for name, file in aliases if file in paths)
    return _KnownNames(paths, generation, files, AliasText([name for name, _ in aliased]), aliased)


def _find_closest(wanted: str, known: _KnownNames) -> tuple[VaultPath, ...]:
    import difflib

    folded = fold_text(wanted).removesuffix(".md")
    texts = known.files, known.aliases
    counted = [text.count_shared_groups(folded) for text in texts]
    # Only the names that share the most groups are worth sorting. Long ones share more by chance.
    least = min(nlargest(CANDIDATES, (count for counts in counted for count in counts.values())), default=0)
    shared = [
        (-count, len(texts[order].fold_name(line)), order, line)
        for order, counts in enumerate(counted)
        for line, count in counts.items()
        if count >= least
    ]
    own = folded.rpartition("/")[2]
    least_similar = SHORT_SIMILARITY if len(own) <= SHORT_NAME else MIN_SIMILARITY
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(own)
    best: dict[str, float] = {}
    for _, _, order, line in nsmallest(CANDIDATES, shared):
        path = known.aliased[line][1] if order else known.files.names[line]
        name = texts[order].fold_name(line)
        similarity = 0.0
        # The folder alone makes no name similar, so only what stands after it is compared.
        matcher.set_seq1(name.rpartition("/")[2])
        if matcher.real_quick_ratio() >= least_similar:
            similarity = matcher.ratio()
        if similarity >= max(least_similar, best.get(path, 0.0)):
            best[path] = similarity
    ordered = sorted(best, key=lambda path: (-best[path], len(path), path))
    return tuple(VaultPath(path) for path in ordered[:CLOSEST])
