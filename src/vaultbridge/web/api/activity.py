"""`/activity`: what assistants read and changed, newest first; `/change` and `/undo` for one change.

Two sources are merged by time. Calls that change nothing are in memory, and are forgotten when the process
ends. Changes are in each vault's journal, whoever made them, and whether or not this process was running; if
the call that made one is in memory, its client, tool and duration are added.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec

from vaultbridge.activity.records import CallRecord
from vaultbridge.activity.words import COMMON_NAMES, TimelineKind, describe_changes
from vaultbridge.engine.drafting.naming import is_text_file
from vaultbridge.errors import JSON_ERRORS, InvalidArgument, VaultNotFound
from vaultbridge.limits import MIB
from vaultbridge.markdown.text import decode, replace_surrogates
from vaultbridge.web.api.routes import PageApi, PageCall
from vaultbridge.web.api.view import PATHS_LISTED, Viewer

if TYPE_CHECKING:
    from vaultbridge.activity.clients import Activity
    from vaultbridge.engine import Engine
    from vaultbridge.engine.history import FileVersions, HistoryEntry
    from vaultbridge.web.api.assistants import AssistantsView

LIMIT: Final = 200
"""The most entries in one answer."""

JOURNAL_PAGE: Final = 100
"""How many changes are read from a journal at a time, until the answer is full."""

SCANNED: Final = 5_000
"""The most changes of one vault that are examined for one answer: a filter that matches nothing must come to
an end."""

FILES_SHOWN: Final = 50
"""The most files of one change whose texts are sent."""

TEXT_CHARS: Final = MIB
"""The longest text that is sent for comparing."""

CURSOR_CHARS: Final = 2_000
"""The longest cursor that is decoded: ours have a few bytes for each vault."""

KINDS: Final[tuple[str, ...]] = get_args(TimelineKind)


OWN_ACTORS: Final = frozenset({"cli", "page"})
"""The actors in the journal by which a person changes notes in the terminal and on this page."""


class Cursor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A position between entries: the order of a call in memory, and an id in each vault's journal."""

    number: int = 0
    changes: dict[str, int] = {}

    def encode(self) -> str:
        return msgspec.json.encode(self).hex()


def parse_cursor(name: str, text: str) -> Cursor | None:
    """None for an empty text. Raises InvalidArgument for a cursor that is not ours."""
    if not text:
        return None
    try:
        if len(text) <= CURSOR_CHARS:
            return msgspec.json.decode(bytes.fromhex(text), type=Cursor)
    except (ValueError, *JSON_ERRORS):
        pass
    raise InvalidArgument(
        f"{name} is not a cursor of this list.", argument=name, hint="Take `next` or `newest` from an answer."
    )


class ActivityFilter(msgspec.Struct, frozen=True):
    """`or_none`: entries that belong to no vault, such as a search, match every `vault`."""

    assistant: str = ""
    kinds: frozenset[str] = frozenset()
    note: str = ""
    vault: str = ""
    or_none: bool = False
    since: float | None = None
    until: float | None = None

    def matches(self, entry: dict[str, Any]) -> bool:
        if self.assistant and entry["assistant"]["id"] != self.assistant:
            return False
        if self.kinds and entry["kind"] not in self.kinds:
            return False
        if self.vault and entry["vault"] != self.vault and not (self.or_none and not entry["vault"]):
            return False
        if self.note and self.note not in entry["paths"]:
            return False
        return (self.since is None or entry["at"] >= self.since) and (
            self.until is None or entry["at"] < self.until
        )

    @property
    def wants_changes(self) -> bool:
        return not self.kinds or bool(self.kinds & {"change", "undo"})


class _PlacedEntry(msgspec.Struct, frozen=True):
    """An entry and its position: a call's order, or a vault and an id in its journal."""

    entry: dict[str, Any]
    number: int = 0
    vault: str = ""
    change: int = 0


class Timeline:
    """One reader's view. Used in a thread, on a copy of the calls."""

    def __init__(self, viewer: Viewer, calls: list[CallRecord], filter_: ActivityFilter) -> None:
        self._viewer = viewer
        self._filter = filter_
        self._calls = calls
        self._makers: dict[tuple[str, int], CallRecord] = {}
        for call in calls:
            if call.touched is not None:
                for folder, number, _ in call.touched.changes:
                    self._makers[folder, number] = call

    def read_older(self, before: Cursor | None, limit: int) -> tuple[list[dict[str, Any]], Cursor | None]:
        """Entries before a position, newest first, and the position after the last one; None at the end."""
        bound = before or Cursor()
        streams = [self._read_calls(bound.number)]
        if self._filter.wants_changes:
            streams += [
                self._read_journal(folder, name, engine, bound.changes.get(name))
                for folder, (name, engine) in self._viewer.vaults.items()
                if self._filter.vault in ("", name)
            ]
        merged = heapq.merge(*streams, key=lambda placed: -placed.entry["at"])
        page = list(itertools.islice(merged, limit + 1))
        call_order, changes = bound.number, dict(bound.changes)
        for placed in page[:limit]:
            if placed.vault:
                changes[placed.vault] = placed.change
            else:
                call_order = placed.number
        entries = [placed.entry for placed in page[:limit]]
        return entries, Cursor(call_order, changes) if len(page) > limit else None

    def read_newer(self, after: Cursor, limit: int) -> list[dict[str, Any]]:
        """Entries after a position, newest first; only the newest if there are more than `limit`."""
        newer_calls = (placed for placed in self._read_calls(0) if placed.number > after.number)
        streams: list[Iterator[_PlacedEntry]] = [newer_calls]
        if self._filter.wants_changes:
            for folder, (name, engine) in self._viewer.vaults.items():
                if self._filter.vault in ("", name):
                    changes = self._read_journal(folder, name, engine, None)
                    streams.append(_take_newer(changes, after.changes.get(name, 0)))
        merged = heapq.merge(*streams, key=lambda placed: -placed.entry["at"])
        return [placed.entry for placed in itertools.islice(merged, limit)]

    def find_newest(self) -> Cursor:
        number = self._calls[-1].order if self._calls else 0
        changes = {}
        for name, engine in self._viewer.vaults.values():
            last = engine.history.changes(limit=1)
            changes[name] = last[0].id if last else 0
        return Cursor(number, changes)

    def _read_calls(self, before: int) -> Iterator[_PlacedEntry]:
        for call in reversed(self._calls):
            if (before and call.order >= before) or (call.touched is not None and call.touched.changes):
                continue
            entry = self._viewer.render_call(call)
            if entry is not None and self._filter.matches(entry):
                yield _PlacedEntry(entry, number=call.order)

    def _read_journal(
        self, folder: str, name: str, engine: Engine, before: int | None
    ) -> Iterator[_PlacedEntry]:
        scanned = 0
        while scanned < SCANNED:
            page = engine.history.changes(self._filter.note, limit=JOURNAL_PAGE, before=before)
            for change in page:
                entry = self._render_change(folder, name, change)
                if entry is None:
                    continue
                if self._filter.since is not None and change.at < self._filter.since:
                    return
                # The journal follows a note through its moves, so the entry may have an earlier name.
                if msgspec.structs.replace(self._filter, note="").matches(entry):
                    yield _PlacedEntry(entry, vault=name, change=change.id)
            if len(page) < JOURNAL_PAGE:
                return
            before = page[-1].id
            scanned += len(page)

    def render_change(self, folder: str, number: int) -> dict[str, Any] | None:
        """A change by its number; None if the reader may not know of it, or the journal has dropped it."""
        vault = self._viewer.vaults.get(folder)
        changes = vault[1].history.changes(limit=1, before=number + 1) if vault is not None else []
        if vault is None or not changes or changes[0].id != number:
            return None
        return self._render_change(folder, vault[0], changes[0])

    def _render_change(self, folder: str, name: str, change: HistoryEntry) -> dict[str, Any] | None:
        maker = self._makers.get((folder, change.id))
        if maker is None and not self._viewer.owner:
            return None
        if maker is not None and not self._viewer.sees(maker.client):
            return None
        paths = list(change.paths)
        return {
            "id": f"c{change.id}@{name}",
            "at": change.at,
            "assistant": {
                "id": None if maker is None else maker.client.id,
                "name": self._viewer.name(maker.client) if maker else name_actor(change),
            },
            "kind": "undo" if change.undo_of is not None else "change",
            "tool": "" if maker is None else maker.tool or maker.method,
            "vault": name,
            "paths": paths[:PATHS_LISTED],
            "more": max(0, len(paths) - PATHS_LISTED),
            "text": self._describe(change, maker, folder),
            "ok": True,
            "error": "",
            "ms": None if maker is None else round(maker.work_seconds * 1000, 3),
            "change": change.id,
            "undoneBy": change.undone_by,
            "undoOf": change.undo_of,
            "canUndo": change.undone_by is None,
            "proposal": None,
        }

    def _describe(self, change: HistoryEntry, maker: CallRecord | None, folder: str) -> str:
        if change.undo_of is not None:
            undone = [(str(path), "changed", "") for path in change.paths]
            return f"undid change {change.undo_of}: {describe_changes(undone)}"
        if maker is not None and maker.touched is not None:
            for touched_folder, number, files in maker.touched.changes:
                visible = [file for file in files if self._viewer.visible(touched_folder, file[0])]
                if (touched_folder, number) == (folder, change.id) and visible:
                    return describe_changes(visible, is_move=change.label == "move")
        # A change of folders alone has no files.
        rows = [(file.path, str(file.change), file.was) for file in change.files]
        rows = rows or [(str(path), "changed", "") for path in change.paths]
        return describe_changes(rows, is_move=change.label == "move")


def name_actor(change: HistoryEntry) -> str:
    """Who made a change that no connected client made: the person who reads this, if it has no author."""
    if not change.author and change.actor in OWN_ACTORS:
        return "You"
    return COMMON_NAMES.get(change.actor, change.actor)


def render_entries(viewer: Viewer, calls: list[CallRecord]) -> list[dict[str, Any]]:
    """Render these calls, oldest first, each change with its number. Runs in a thread."""
    timeline = Timeline(viewer, calls, ActivityFilter())
    entries = []
    for call in calls:
        if call.touched is None or not call.touched.changes:
            entries.append(viewer.render_call(call))
        else:
            entries += [timeline.render_change(folder, number) for folder, number, _ in call.touched.changes]
    return [entry for entry in entries if entry is not None]


def _take_newer(changes: Iterator[_PlacedEntry], last: int) -> Iterator[_PlacedEntry]:
    return itertools.takewhile(lambda placed: placed.change > last, changes)


class _Undo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    vault: str
    change: int
    force: bool = False


class ActivityRoutes:
    def __init__(self, assistants: AssistantsView) -> None:
        self._assistants = assistants
        self._activity = assistants.activity

    async def list_entries(self, call: PageCall) -> dict[str, Any]:
        filter_ = await _read_filter(call)
        limit = call.number("limit", 50, least=1, most=LIMIT)
        before, after = (parse_cursor(name, call.text(name)) for name in ("before", "after"))
        viewer = await self._assistants.make_viewer(call)
        return await read_entries(self._activity, viewer, filter_, limit, before=before, after=after)

    async def show_change(self, call: PageCall) -> dict[str, Any]:
        number = call.number("change", 0, least=1)
        vault = call.vault
        viewer = await self._assistants.make_viewer(call)

        def read(engine: Engine) -> dict[str, Any]:
            entry, files = engine.history.change(number)
            return {
                "vault": vault,
                "change": entry.id,
                "at": entry.at,
                "actor": entry.actor,
                "label": entry.label,
                "undoneBy": entry.undone_by,
                "undoOf": entry.undo_of,
                "canUndo": viewer.owner and entry.undone_by is None,
                "diff": engine.history.diff(number)[: 4 * TEXT_CHARS],
                "files": [_render_file(file) for file in files[:FILES_SHOWN]],
                "more": max(0, len(files) - FILES_SHOWN),
            }

        return await call.on_vault(read)

    async def undo(self, call: PageCall) -> dict[str, Any]:
        body = await call.body(_Undo)
        if body.vault not in call.grant.engines:
            raise VaultNotFound(
                f"No vault named {body.vault!r} is open.",
                hint=f"Open vaults: {', '.join(call.grant.engines)}.",
            )

        def undo() -> dict[str, Any]:
            engine = call.grant.engines[body.vault]
            outcome = engine.undo(body.change, force=body.force, actor="page")
            return {
                "change": int(outcome.change_id) if outcome.change_id else None,
                "files": [{"path": f.path, "change": f.change, "was": f.was} for f in outcome.files],
                "notices": list(outcome.notices),
            }

        return await asyncio.to_thread(undo)


async def read_entries(
    activity: Activity,
    viewer: Viewer,
    filter_: ActivityFilter,
    limit: int,
    *,
    before: Cursor | None = None,
    after: Cursor | None = None,
) -> dict[str, Any]:
    """Entries before or after a position, newest first."""
    activity.count_ended()
    calls = list(activity.calls)

    def read() -> dict[str, Any]:
        timeline = Timeline(viewer, calls, filter_)
        # Read before the entries: what is added meanwhile is sent twice rather than missed.
        newest = timeline.find_newest()
        if after is not None:
            entries, rest = timeline.read_newer(after, limit), None
        else:
            entries, rest = timeline.read_older(before, limit)
        return {
            "entries": entries,
            "next": None if rest is None else rest.encode(),
            "newest": newest.encode(),
            "notices": [
                notice for _, engine in viewer.vaults.values() for notice in engine.history.list_notices()
            ],
            "remembers": calls[0].at if len(calls) == activity.calls.maxlen else activity.since,
        }

    return await asyncio.to_thread(read)


def parse_kinds(kinds: Iterable[str]) -> frozenset[str]:
    """Raises InvalidArgument for an unknown kind."""
    chosen = frozenset(kinds)
    if unknown := chosen.difference(KINDS):
        raise InvalidArgument(
            f"There is no kind {sorted(unknown)[0][:40]!r}.",
            argument="kind",
            hint=f"Choose one of: {', '.join(KINDS)}.",
        )
    return chosen


async def _read_filter(call: PageCall) -> ActivityFilter:
    kinds = parse_kinds(filter(None, call.text("kind").split(",")))
    note = call.text("note")
    if note:
        note = await call.on_vault(lambda engine: engine.find(note))
    return ActivityFilter(
        assistant=call.text("assistant"),
        kinds=kinds,
        note=note,
        # A note belongs to one vault.
        vault=call.vault if call.text("vault") or note else "",
        since=call.time("since"),
        until=call.time("until"),
    )


def _render_file(file: FileVersions) -> dict[str, Any]:
    texts: list[str | None] = []
    why = ""
    for data in (file.before, file.after):
        if data is None:
            texts.append(None)
        elif not is_text_file(file.path, data):
            texts.append(None)
            why = "This file is not text."
        else:
            text = replace_surrogates(decode(data).text)
            texts.append(text if len(text) <= TEXT_CHARS else None)
            why = why or (
                ""
                if len(text) <= TEXT_CHARS
                else f"A text of more than {TEXT_CHARS} characters is not shown."
            )
    return {
        "path": file.path,
        "was": file.was,
        "change": file.change,
        "before": texts[0],
        "after": texts[1],
        "note": why
        or ("Only its path has changed." if file.change == "moved" and texts == [None, None] else ""),
    }


def add_activity_routes(api: PageApi, assistants: AssistantsView) -> None:
    routes = ActivityRoutes(assistants)
    api.get("/activity", routes.list_entries)
    api.get("/change", routes.show_change)
    api.post("/undo", routes.undo, owner=True)
