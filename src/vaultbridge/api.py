"""A vault for scripts and notebooks: search, read, follow links, edit, undo. No server is needed.

    >>> import vaultbridge
    >>> vault = vaultbridge.open(SAMPLE)
    >>> vault.name
    'sample-vault'
    >>> vault.search("restoring the old clock")[0].path
    'Projects/Meridian clock restoration.md'
    >>> passage = vault.context("restoring the old clock", max_chars=1000)[0]
    >>> passage.path, passage.heading
    ('Projects/Meridian clock restoration.md', 'Meridian clock restoration')
    >>> vault.read("Home#Tonight").splitlines()[0]
    '## Tonight'
    >>> vault.note("Moth garden").properties["status"]
    'active'
    >>> vault.broken_links("Observations")[0].raw
    '[[Comets to come]]'
    >>> vault.tasks(due_before="2026-03-17")[0].fields["due"]
    '2026-03-16'
    >>> with vault.edit() as edit:
    ...     edit.append("Home", "- [ ] call back", heading="Tonight")
    ...     edit.set("Moth garden", status="done")
    >>> [file.path for file in edit.outcome.files]
    ['Home.md', 'Projects/Moth garden.md']
    >>> vault.undo()
    >>> vault.note("Moth garden").properties["status"]
    'active'
    >>> vault.close()

Changes work like those of the tools: checked, journaled, atomic, and all of an `edit` or nothing. Failures
are `vaultbridge.errors.VaultbridgeError`, whose text says how to correct the call.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from vaultbridge.engine.context import LARGEST_CHARS, LEAST_CHARS, gather
from vaultbridge.engine.operations import (
    AddTag,
    Append,
    Create,
    Delete,
    Move,
    Prepend,
    RemoveProperty,
    RemoveTag,
    ReplaceSection,
    ReplaceText,
    SetProperty,
    SetTask,
)
from vaultbridge.engine.operations.base import Operation
from vaultbridge.engine.reading import Part, exact_part
from vaultbridge.errors import InvalidArgument, VaultNotFound
from vaultbridge.index.ranking.plain_words import Answered, answer_query
from vaultbridge.server.vault_choice import choose_vault, find_here
from vaultbridge.server.wiring import open_engine
from vaultbridge.vault.scope import Scope

if TYPE_CHECKING:
    from datetime import date, datetime

    from vaultbridge.engine import DirectEngine
    from vaultbridge.engine.history import HistoryEntry
    from vaultbridge.engine.outcome import Outcome
    from vaultbridge.index.query.search import SearchPage

LATEST = 253_370_764_800.0
"""The beginning of the year 9999, in seconds: the latest time that can be shown in every time zone."""

__all__ = ["Edit", "Hit", "Link", "Note", "Passage", "Task", "Vault", "open"]


def __dir__() -> list[str]:
    return __all__


class Hit(Struct, frozen=True):
    """A note that was found: its best place, by heading and line, and the text there."""

    path: str
    score: float
    heading: str
    line: int
    text: str


class Passage(Struct, frozen=True):
    """Part of a note, exactly as written, from `line` to `end_line`. `heading` is its section's, "" before
    the first one."""

    path: str
    heading: str
    line: int
    end_line: int
    text: str


class Note(Struct, frozen=True):
    """A note as it is on disk now. `hash` changes with its content: give it to `Vault.edit` as `expected`,
    and a note that somebody else has changed since is not overwritten."""

    path: str
    text: str
    hash: str
    properties: dict[str, Any]
    headings: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def title(self) -> str:
        return self.path.rpartition("/")[2].removesuffix(".md")


class Link(Struct, frozen=True):
    """A link as written in `source`, at `line`; `target` is the path that it leads to, or ""."""

    source: str
    line: int
    raw: str
    target: str


class Task(Struct, frozen=True):
    """`status` is the character between the brackets; `fields` are those of the Tasks plugin, such as
    `due`."""

    path: str
    line: int
    status: str
    text: str
    fields: dict[str, str]


class Edit:
    """Changes that are made together when the `with` block ends, or not at all if it fails.

    `outcome` says afterwards what was done. Each note is named as in a link, by an alias or by its path."""

    def __init__(self, vault: Vault, *, dry_run: bool, label: str, expected: dict[str, str]) -> None:
        self._vault = vault
        self._dry_run = dry_run
        self._label = label
        self._expected = expected
        self._operations: list[Operation] = []
        self._outcome: Outcome | None = None
        self._over = False

    @property
    def outcome(self) -> Outcome:
        """What was changed: `files`, `change_id`, and for a dry run the `diff`. Raises RuntimeError until the
        block has ended."""
        if self._outcome is None:
            raise RuntimeError("The edit is not finished yet: its outcome is available after the with block.")
        return self._outcome

    def create(
        self,
        note: str,
        text: str = "",
        *,
        template: str = "",
        properties: dict[str, Any] | None = None,
        overwrite: bool = False,
        force: bool = False,
    ) -> None:
        """Create a note; with `overwrite`, replace the whole text of one that exists, and with `force` also
        of one that is not UTF-8."""
        given = properties or {}
        self._add(
            Create(
                note=note,
                content=text,
                template=template,
                properties=given,
                overwrite=overwrite,
                force=force,
            )
        )

    def append(self, note: str, text: str, *, heading: str = "", create: bool = False) -> None:
        """Add text at the end of a note or of a section; with `create`, a missing heading is created."""
        hash_ = self._take_expected(note)
        self._add(Append(note=note, content=text, heading=heading, create=create, expected=hash_))

    def prepend(self, note: str, text: str, *, heading: str = "", create: bool = False) -> None:
        """Add text after the properties, or right after a heading."""
        hash_ = self._take_expected(note)
        self._add(Prepend(note=note, content=text, heading=heading, create=create, expected=hash_))

    def replace(self, note: str, old: str, new: str, *, all: bool = False) -> None:  # noqa: A002 - as people say it
        """Replace a text that occurs exactly once, or with `all` everywhere in the note."""
        self._add(ReplaceText(note=note, old=old, new=new, all=all, expected=self._take_expected(note)))

    def replace_section(self, note: str, heading: str, text: str) -> None:
        """Replace the text under a heading; the heading stays."""
        self._add(
            ReplaceSection(note=note, heading=heading, content=text, expected=self._take_expected(note))
        )

    def set(self, note: str, /, **properties: Any) -> None:
        """Set properties; None removes one, which the note must have. A name with a space or a dash is given
        in a dictionary: `edit.set("Plan", **{"due date": "2026-12-01"})`."""
        for name, value in properties.items():
            if value is None:
                self._add(RemoveProperty(note=note, name=name, expected=self._take_expected(note)))
            else:
                self._add(SetProperty(note=note, name=name, value=value, expected=self._take_expected(note)))

    def add_tag(self, note: str, tag: str) -> None:
        self._add(AddTag(note=note, tag=tag, expected=self._take_expected(note)))

    def remove_tag(self, note: str, tag: str) -> None:
        self._add(RemoveTag(note=note, tag=tag, expected=self._take_expected(note)))

    def tick(self, note: str, text: str, *, status: str = "done") -> None:
        """Set the status of the one task with this in its text: `done`, `open`, or a character."""
        self._add(SetTask(note=note, text=text, status=status, expected=self._take_expected(note)))

    def move(self, note: str, to: str) -> None:
        """Rename or move a note, an attachment or a folder, and rewrite every link to it."""
        self._add(Move(note=note, to=to, expected=self._take_expected(note)))

    def delete(self, note: str) -> None:
        """Move a note, an attachment or a folder to the trash that the vault's settings name."""
        self._add(Delete(note=note, expected=self._take_expected(note)))

    def _add(self, operation: Operation) -> None:
        self._check()
        self._operations.append(operation)

    def _check(self) -> None:
        if self._over:
            raise RuntimeError("This edit has ended: begin another with vault.edit().")

    def _take_expected(self, note: str) -> str:
        # Only the first operation on a note can expect the hash that was read: the next one sees its result.
        return self._expected.pop(note, "")

    def __enter__(self) -> Edit:
        self._check()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        if kind is None:
            self._outcome = self._vault._opened.apply(
                self._operations, dry_run=self._dry_run, label=self._label
            )


class Vault:
    """An open vault. Close it, or use it in a `with` block. Use it from one thread at a time."""

    def __init__(self, engine: DirectEngine) -> None:
        self._engine = engine
        self._closed = False

    @property
    def _opened(self) -> DirectEngine:
        self._check()
        return self._engine

    def _check(self) -> None:
        if self._closed:
            raise RuntimeError("This vault is closed: open it again with vaultbridge.open().")

    @property
    def name(self) -> str:
        return self._engine.name

    @property
    def folder(self) -> Path:
        return self._engine.root.folder

    def search(self, query: str, *, limit: int = 20, exact: bool = False) -> list[Hit]:
        """Find notes. Plain words give ranked results; operators, quotes and /regex/ mean what they mean in
        Obsidian, unless that finds nothing: then their words are ranked. With `exact`, a query always means
        what it means in Obsidian, so all plain words must occur."""
        self._opened.index_sync.refresh()
        queries = self._opened.queries

        def search(query: str) -> SearchPage:
            return queries.search(query, limit=limit, matches_per_note=1)

        if exact:
            found = Answered(exact=search(query))
        else:
            found = answer_query(query, lambda words: queries.rank(words, limit=limit), search)
        if found.ranked is not None:
            return [
                Hit(
                    note.path,
                    note.score,
                    section.heading,
                    section.matches[0].line if section.matches else section.line,
                    section.matches[0].text if section.matches else "",
                )
                for note in found.ranked.notes
                for section in note.sections[:1]
            ]
        assert found.exact is not None
        return [
            Hit(
                hit.path,
                hit.score,
                "",
                *((hit.matches[0].line, hit.matches[0].text) if hit.matches else (1, "")),
            )
            for hit in found.exact.hits
        ]

    def context(self, question: str, *, max_chars: int = 4_000) -> list[Passage]:
        """Gather the passages that answer a question, together at most `max_chars` characters: the best note
        first, each note from top to bottom, nothing twice."""
        if not LEAST_CHARS <= max_chars <= LARGEST_CHARS:
            raise InvalidArgument(
                f"max_chars is {max_chars}.",
                argument="max_chars",
                hint=f"Give {LEAST_CHARS} to {LARGEST_CHARS}.",
            )
        self._opened.index_sync.refresh()
        found = gather(self._opened, question, max_chars=max_chars)
        return [
            Passage(passage.path, passage.heading, passage.line, passage.end_line, passage.text)
            for passage in found.passages
        ]

    def note(self, name: str) -> Note:
        """Read a note, found as a link would find it."""
        view = self._opened.view(name)
        properties = view.note.properties
        return Note(
            path=view.path,
            text=view.text,
            hash=view.hash,
            properties=dict(properties.values) if properties is not None else {},
            headings=tuple(heading.text for heading in view.note.headings),
            tags=tuple(dict.fromkeys(tag.name for tag in view.note.tags)),
        )

    def read(self, place: str) -> str:
        """Read a note's text, or a part: `Note#Heading`, `Note#^block`."""
        name, mark, below = place.partition("#")
        if not mark or not name:
            return self._opened.view(place).text
        view = self._opened.view(name)
        part = Part(
            heading="" if below.startswith("^") else below,
            block=below[1:] if below.startswith("^") else "",
        )
        return exact_part(view.text, view.note, part)

    def notes(self, folder: str = "") -> Iterator[str]:
        """The paths of all notes, or of those in a folder, sorted."""
        self._opened.index_sync.refresh()
        page = self._opened.queries.files_page(folder.strip("/"), kind="note")
        yield from (file.path for file in page.rows)

    def links(self, note: str) -> list[Link]:
        """The links that a note contains."""
        self._opened.index_sync.refresh()
        path = self._opened.find(note)
        return [
            Link(path, link.line, link.raw, link.resolved or "")
            for link in self._opened.queries.outgoing(path)
        ]

    def backlinks(self, note: str) -> list[Link]:
        """The links that lead to a note."""
        self._opened.index_sync.refresh()
        path = self._opened.find(note)
        return [Link(link.source, link.line, link.raw, path) for link in self._opened.queries.backlinks(path)]

    def broken_links(self, folder: str = "") -> list[Link]:
        """The links of all notes, or of those in a folder, that lead to no file."""
        self._opened.index_sync.refresh()
        queries = self._opened.queries
        return [
            Link(file.path, link.line, link.raw, "")
            for file in queries.files_page(folder.strip("/"), kind="note").rows
            for link in queries.outgoing(file.path)
            if not link.resolved
        ]

    def recent(self, *, limit: int = 20, since: date | None = None) -> dict[str, datetime]:
        """The notes that were changed last, by any program, and when, the newest first. `since` is a day or a
        time; without a time zone it is local time."""
        from datetime import datetime, time

        self._opened.index_sync.refresh()
        if since is not None and not isinstance(since, datetime):
            since = datetime.combine(since, time())
        earliest = since.timestamp() if since is not None else float("-inf")
        found = self._opened.queries.recent(
            limit=sys.maxsize if since is not None else limit, kinds=("note",)
        )
        # A file may claim any time, also one that Python cannot express.
        times = {file.path: min(max(file.modified_ns / 1e9, 0.0), LATEST) for file in found}
        kept = [path for path, seconds in times.items() if seconds >= earliest][:limit]
        return {path: datetime.fromtimestamp(times[path]).astimezone() for path in kept}

    def tags(self) -> dict[str, int]:
        """Every tag with the number of notes that have it."""
        self._opened.index_sync.refresh()
        return {tag.name: tag.notes for tag in self._opened.queries.tags()}

    def tasks(
        self,
        *,
        status: str = "open",
        text: str = "",
        tag: str = "",
        due_before: str = "",
        due_after: str = "",
    ) -> list[Task]:
        """The tasks of the vault, those due first: `open`, `done`, `any`, or the character. Days are written
        2026-12-01."""
        self._opened.index_sync.refresh()
        found = self._opened.queries.tasks(
            status=status,
            text=text,
            tag=tag,
            due_before=due_before,
            due_after=due_after,
            limit=sys.maxsize,
        )
        return [Task(task.path, task.line, task.status, task.text, task.fields) for task in found.tasks]

    def edit(self, *, dry_run: bool = False, label: str = "", expected: dict[str, str] | None = None) -> Edit:
        """Change notes in a `with` block: all of it as one change, or nothing. `expected` maps names of
        notes, as you write them in the block, to the hashes that you read."""
        self._check()
        return Edit(self, dry_run=dry_run, label=label, expected=dict(expected or {}))

    def history(self, note: str = "", *, limit: int = 20) -> list[HistoryEntry]:
        """List the changes made through vaultbridge, newest first."""
        return self._opened.history.changes(note, limit=limit)

    def undo(self, change: int | str | None = None, *, force: bool = False) -> None:
        """Undo one change as a whole; by default the newest that has not been undone."""
        try:
            number = self._opened.history.newest_to_undo() if change is None else int(change)
        except ValueError as error:
            raise InvalidArgument(
                f"{change!r} is not the number of a change.", argument="change", hint="history() lists them."
            ) from error
        self._opened.undo(number, force=force)

    def close(self) -> None:
        self._closed = True
        self._engine.close()

    def __enter__(self) -> Vault:
        self._check()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Vault {self.name!r}>"


def open(  # noqa: A001 - as in `vaultbridge.open(…)`
    vault: str | os.PathLike[str] | None = None, *, read_only: bool = False
) -> Vault:
    """Open a vault by its folder or its name in Obsidian; without one, the vault you are in or the only one
    there is. Raises VaultNotFound."""
    try:
        chosen = os.fspath(vault) if vault is not None else choose_vault(os.environ, find_here())
    except VaultNotFound as error:
        raise VaultNotFound(error.message, hint="Say which one: vaultbridge.open(folder).") from None
    return Vault(open_engine(chosen, scope=Scope(read_only=read_only), actor="python"))
