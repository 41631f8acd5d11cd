"""All routes of the Vault view. This module has its lists (the file tree, the home of the vault, search) and
the link that opens the page; `notes` and `drawings` have the rest.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from aiohttp import ETag, web

from vaultbridge.errors import InvalidArgument, VaultbridgeError
from vaultbridge.index.ranking.plain_words import answer_query
from vaultbridge.markdown.text import replace_surrogates
from vaultbridge.web.api.drawings import add_drawing_routes
from vaultbridge.web.api.notes import add_note_routes, find_today
from vaultbridge.web.api.routes import ApiFailure, PageApi, PageCall, render_json
from vaultbridge.web.media import MediaLinks
from vaultbridge.web.page import LinkCodes

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.index.query.hits import HitMatch
    from vaultbridge.index.query.search import SearchPage
    from vaultbridge.index.ranking.rank import RankedPage


def add_vault_routes(api: PageApi, media: MediaLinks, codes: LinkCodes) -> None:
    async def make_code(call: PageCall) -> Any:
        return {"code": codes.make()}

    add_file_routes(api)
    add_note_routes(api, media)
    add_drawing_routes(api, media)
    api.post("/code", make_code, owner=True)


RECENT: Final = 40
"""The most files that are listed as changed last: a person looks no further."""

BOOKMARKS: Final = 100
"""How many of the app's bookmarks are listed: nobody finds anything in a longer list."""

QUERY_CHARS: Final = 1000
"""The longest query: far more than anybody types."""

HITS: Final = 100
"""The most hits of one answer; a longer list is requested in parts."""

LINES_PER_HIT: Final = 3
"""How many lines of a note a list of hits shows."""

LISTS_KEPT: Final = 3
"""How many lists of a vault are kept for pages that have them: several tabs ask at different moments."""

FILES_CHANGED: Final = 1000
"""The most changed files that are listed one by one; with more, the whole list is sent instead."""

SEARCHES: Final = ("ranked", "exact")

SEARCHES_AT_ONCE: Final = 2
"""How many searches of all pages run at the same time. They share one processor, so more would only delay the
one that a person waits for; a second one lets a short search pass a long one."""

WARMING: Final = "a"
"""What is searched for before anybody types: a word of many notes, so that what a first letter needs of the
index is in memory."""


def add_file_routes(api: PageApi) -> None:
    api.get("/files", FileLists().show)
    searches = Searches()
    api.get("/search", searches.answer)

    async def open_home(call: PageCall) -> Any:
        home = await show_home(call)
        searches.load(call)
        return home

    api.get("/home", open_home)


class FileLists:
    """Lists every file that the caller may see. The last lists of each vault are kept by their tags, so that
    a page that has one of them gets only what has changed since."""

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[Engine, dict[str, FileTimes]] = WeakKeyDictionary()

    async def show(self, call: PageCall) -> web.StreamResponse:
        tags = {tag.value for tag in call.request.if_none_match or ()}
        delta = call.flag("delta")

        def work(engine: Engine) -> tuple[str, dict[str, Any] | None]:
            status = engine.queries.fresh_status()
            read_only = engine.scope.read_only
            version = f"{call.grant.principal}-{call.vault}-{status.generation}-{status.state}-{read_only}"
            # Hashed, because a vault's name may contain spaces and letters that an ETag may not.
            tag = hashlib.blake2b(version.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
            if tag in tags:
                return tag, None
            kept = self._kept.get(engine, {})
            before = next((kept[one] for one in tags if one in kept), None)
            files = list_times(engine)
            # A new object: another request may be reading the old one.
            self._kept[engine] = dict([*kept.items(), (tag, files)][-LISTS_KEPT:])
            changes = find_changes(before, files) if delta and before is not None else None
            state = {"complete": status.complete, "readOnly": read_only}
            return tag, {**state, **(changes or render_files(files))}

        tag, answer = await call.on_vault(work)
        response = web.Response(status=304) if answer is None else render_json(answer)
        response.headers["Cache-Control"] = "private, no-cache"
        response.etag = ETag(tag)
        return response


FileTimes = Sequence[tuple[str, int]]
"""Paths in order, with the second in which each was modified."""


def list_times(engine: Engine) -> FileTimes:
    return [(file.path, file.modified_ns // 1_000_000_000) for file in engine.queries.files()]


def render_files(files: FileTimes) -> dict[str, Any]:
    """Parallel lists: 100,000 files take 10 MB as objects."""
    return {
        "paths": [replace_surrogates(path) for path, _ in files],
        "modified": [modified for _, modified in files],
    }


def find_changes(before: FileTimes, after: FileTimes) -> dict[str, Any] | None:
    """What makes `before` into `after`: positions to remove from the old list, files to insert at positions
    of the new one, in order, and new times there. None when that is more than FILES_CHANGED."""
    old, new = dict(before), dict(after)
    removed = [position for position, (path, _) in enumerate(before) if path not in new]
    added = [
        [position, replace_surrogates(path), modified]
        for position, (path, modified) in enumerate(after)
        if path not in old
    ]
    touched = [
        [position, modified]
        for position, (path, modified) in enumerate(after)
        if old.get(path, modified) != modified
    ]
    if len(removed) + len(added) + len(touched) > FILES_CHANGED:
        return None
    return {"removed": removed, "added": added, "touched": touched}


async def show_home(call: PageCall) -> Any:
    limit = call.number("limit", 12, least=1, most=RECENT)
    name, names = call.vault, list(call.grant.engines)

    def work(engine: Engine) -> dict[str, Any]:
        status = engine.queries.fresh_status()
        recent = engine.queries.recent(limit=limit, kinds=("note", "canvas", "base"))
        table = engine.queries.visible_table()
        return {
            "vault": name,
            "vaults": names,
            "owner": call.grant.owner,
            "readOnly": engine.scope.read_only,
            "counts": engine.queries.counts(),
            "index": {"complete": status.complete, "done": status.done, "total": status.total},
            "today": find_today(engine),
            "recent": [
                {"path": replace_surrogates(file.path), "modified": file.modified_ns / 1e9} for file in recent
            ],
            "bookmarks": [
                {"path": mark.target, "title": mark.title}
                for mark in engine.settings.bookmarks[:BOOKMARKS]
                if mark.kind == "file" and table.same_path(mark.target)
            ],
        }

    return await call.on_vault(work)


class Searches:
    """Answers while a person types. A search that the page has given up before its turn came, because another
    letter was typed, is never run."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(SEARCHES_AT_ONCE)
        self._loaded: set[str] = set()
        self._loading: set[asyncio.Future[None]] = set()

    def load(self, call: PageCall) -> None:
        """Load what a search of this vault needs, once, as soon as it is indexed, while the page does other
        things. A first search takes a tenth of a second of processor time more than the next, and a person
        who opens the page may type at once."""
        if call.vault not in self._loaded:
            self._loaded.add(call.vault)
            loading = asyncio.ensure_future(self._load(call))
            self._loading.add(loading)
            loading.add_done_callback(self._loading.discard)

    async def _load(self, call: PageCall) -> None:
        # If anything is wrong with the vault, the page's own requests report it.
        with suppress(VaultbridgeError):
            async with self._turns:
                # Not `on_vault`: it is of use to the next caller too, so it goes on when this one leaves.
                if await asyncio.to_thread(lambda: _warm(call.grant.engines[call.vault])):
                    return
        self._loaded.discard(call.vault)

    async def answer(self, call: PageCall) -> Any:
        """Both kinds: `ranked` takes what a person types, words or a query with operators; `exact` takes only
        the app's query language."""
        query, kind = call.text("q"), call.text("kind", "ranked")
        if kind not in SEARCHES:
            hint = f"One of: {', '.join(SEARCHES)}."
            raise InvalidArgument(f"kind is {kind[:40]!r}.", argument="kind", hint=hint)
        if len(query) > QUERY_CHARS:
            if kind == "exact":
                raise InvalidArgument(f"The query is longer than {QUERY_CHARS} characters.", argument="q")
            # A paragraph pasted into the search field: its beginning says what it is about.
            query = query[:QUERY_CHARS]
        limit = call.number("limit", 30, least=1, most=HITS)
        offset = call.number("offset", 0)
        if not query.strip():
            # The page sends an empty query before anybody types.
            self.load(call)
            return {
                "hits": [],
                "total": 0,
                "more": False,
                "complete": True,
                "indexed": 0,
                "notes": 0,
                "reason": "",
            }
        async with self._turns:
            if call.is_abandoned:
                raise ApiFailure(503, "ABANDONED", "The caller has gone.")
            return await call.on_vault(
                lambda engine: (_answer_exactly if kind == "exact" else _answer)(engine, query, limit, offset)
            )


def _warm(engine: Engine) -> bool:
    """False while the index is being built: most of what a search needs is not there yet."""
    if not engine.queries.fresh_status().complete:
        return False
    _answer(engine, WARMING, 1, 0)
    return True


def _answer(engine: Engine, query: str, limit: int, offset: int) -> dict[str, Any]:
    """What the command line would find for the same words: those with operators are the app's language."""
    found = answer_query(
        query,
        lambda words: engine.queries.rank(words, limit=limit, offset=offset),
        lambda exact: _search(engine, exact, limit, offset),
    )
    if found.ranked is not None:
        return {**_describe_ranked(found.ranked), "reason": found.reason}
    assert found.exact is not None
    return {**_describe_exact(found.exact), "reason": found.reason}


def _answer_exactly(engine: Engine, query: str, limit: int, offset: int) -> dict[str, Any]:
    return {**_describe_exact(_search(engine, query, limit, offset)), "reason": ""}


def _search(engine: Engine, query: str, limit: int, offset: int) -> SearchPage:
    return engine.queries.search(query, limit=limit, offset=offset, matches_per_note=LINES_PER_HIT)


def _describe_ranked(page: RankedPage) -> dict[str, Any]:
    hits = [
        {
            "path": replace_surrogates(note.path),
            "modified": note.modified_ns / 1e9,
            "heading": replace_surrogates(note.sections[0].heading) if note.sections else "",
            "missing": note.missing,
            "lines": _render_lines(match for section in note.sections for match in section.matches),
        }
        for note in page.notes
    ]
    return {
        "hits": hits,
        "total": page.total,
        "more": page.more,
        "complete": page.complete,
        "indexed": page.indexed,
        "notes": page.searchable,
    }


def _describe_exact(page: SearchPage) -> dict[str, Any]:
    hits = [
        {
            "path": replace_surrogates(hit.path),
            "modified": hit.modified_ns / 1e9,
            "heading": "",
            "missing": (),
            "lines": _render_lines(hit.matches),
        }
        for hit in page.hits
    ]
    return {
        "hits": hits,
        "total": page.total,
        "more": False,
        "complete": page.complete,
        "indexed": page.indexed,
        "notes": page.notes,
    }


def _render_lines(matches: Iterable[HitMatch]) -> list[dict[str, Any]]:
    return [{"line": match.line, "parts": _split(match)} for match in list(matches)[:LINES_PER_HIT]]


def _split(match: HitMatch) -> list[tuple[str, bool]]:
    """The line in parts, each with whether it matches. Offsets would not do: a browser counts them
    differently."""
    text = replace_surrogates(match.text)
    parts: list[tuple[str, bool]] = []
    at = 0
    for start, end in match.spans:
        parts += [(text[at:start], False), (text[start:end], True)]
        at = end
    return [part for part in [*parts, (text[at:], False)] if part[0]]
