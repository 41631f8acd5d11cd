"""All routes of the Vault view. Here are its lists (the file tree, the home of the vault, search) and the
link that opens the page; `notes` and `drawings` have the rest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from aiohttp import ETag, web

from vaultbridge.errors import InvalidArgument
from vaultbridge.markdown.text import replace_surrogates
from vaultbridge.web.api.drawings import add_drawing_routes
from vaultbridge.web.api.notes import add_note_routes
from vaultbridge.web.api.routes import PageApi, PageCall, render_json
from vaultbridge.web.media import MediaLinks
from vaultbridge.web.page import LinkCodes

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.index.query.hits import HitMatch


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
"""How many of the app's bookmarks are looked at: nobody finds anything in a longer list."""

QUERY_CHARS: Final = 1000
"""The longest query: far more than anybody types."""

HITS: Final = 100
"""The most hits of one answer; a longer list is asked for in parts."""

LINES_PER_HIT: Final = 3
"""How many lines of a note a list of hits shows."""

SEARCHES: Final = ("ranked", "exact")


def add_file_routes(api: PageApi) -> None:
    api.get("/files", list_files)
    api.get("/home", show_home)
    api.get("/search", search)


async def list_files(call: PageCall) -> web.StreamResponse:
    """Every file that the caller may see, by path, as parallel lists: 100,000 files take 10 MB as objects."""
    given = {tag.value for tag in call.request.if_none_match or ()}

    def work(engine: Engine) -> tuple[str, dict[str, Any] | None]:
        status = engine.queries.fresh_status()
        what = f"{call.grant.principal}-{call.vault}-{status.generation}-{status.state}"
        # Hashed: a vault's name may have blanks and letters that no ETag may have.
        tag = hashlib.blake2b(what.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        if tag in given:
            return tag, None
        files = engine.queries.files()
        return tag, {
            "complete": status.complete,
            "paths": [replace_surrogates(file.path) for file in files],
            "modified": [file.modified_ns // 1_000_000_000 for file in files],
        }

    tag, answer = await call.on_vault(work)
    response = web.Response(status=304) if answer is None else render_json(answer)
    response.headers["Cache-Control"] = "private, no-cache"
    response.etag = ETag(tag)
    return response


async def show_home(call: PageCall) -> Any:
    limit = call.number("limit", 12, least=1, most=RECENT)
    name, names = call.vault, list(call.grant.engines)

    def work(engine: Engine) -> dict[str, Any]:
        status = engine.queries.fresh_status()
        recent = engine.queries.recent(limit=limit, kinds=("note", "canvas", "base"))
        visible = engine.queries.existing()
        return {
            "vault": name,
            "vaults": names,
            "owner": call.grant.owner,
            "readOnly": engine.scope.read_only,
            "counts": engine.queries.counts(),
            "index": {"complete": status.complete, "done": status.done, "total": status.total},
            "recent": [
                {"path": replace_surrogates(file.path), "modified": file.modified_ns / 1e9} for file in recent
            ],
            "bookmarks": [
                {"path": mark.target, "title": mark.title}
                for mark in engine.settings.bookmarks[:BOOKMARKS]
                if mark.kind == "file"
                and visible(mark.target)
                and engine.queries.table().same_path(mark.target)
            ],
        }

    return await call.on_vault(work)


async def search(call: PageCall) -> Any:
    """Both kinds: `ranked` takes words as a person says them, `exact` the app's query language."""
    query, kind = call.text("q"), call.text("kind", "ranked")
    if kind not in SEARCHES:
        hint = f"One of: {', '.join(SEARCHES)}."
        raise InvalidArgument(f"kind is {kind[:40]!r}.", argument="kind", hint=hint)
    if len(query) > QUERY_CHARS:
        raise InvalidArgument(f"The query is longer than {QUERY_CHARS} characters.", argument="q")
    limit = call.number("limit", 30, least=1, most=HITS)
    offset = call.number("offset", 0)
    if not query.strip():
        return {"hits": [], "total": 0, "complete": True, "indexed": 0, "notes": 0}
    return await call.on_vault(
        lambda engine: (_search_exactly if kind == "exact" else _rank)(engine, query, limit, offset)
    )


def _rank(engine: Engine, query: str, limit: int, offset: int) -> dict[str, Any]:
    page = engine.queries.rank(query, limit=limit, offset=offset)
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
        "complete": page.complete,
        "indexed": page.indexed,
        "notes": page.searchable,
    }


def _search_exactly(engine: Engine, query: str, limit: int, offset: int) -> dict[str, Any]:
    page = engine.queries.search(query, limit=limit, offset=offset, matches_per_note=LINES_PER_HIT)
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
        "complete": page.complete,
        "indexed": page.indexed,
        "notes": page.notes,
    }


def _render_lines(matches: Iterable[HitMatch]) -> list[dict[str, Any]]:
    return [{"line": match.line, "parts": _split(match)} for match in list(matches)[:LINES_PER_HIT]]


def _split(match: HitMatch) -> list[tuple[str, bool]]:
    """The line in pieces, each with whether it was found: offsets would differ between here and a browser."""
    text = replace_surrogates(match.text)
    parts: list[tuple[str, bool]] = []
    at = 0
    for start, end in match.spans:
        parts += [(text[at:start], False), (text[start:end], True)]
        at = end
    return [part for part in [*parts, (text[at:], False)] if part[0]]
