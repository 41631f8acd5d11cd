"""The Vault view's bases and canvases: a view of a base as values, a canvas as cards and edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from vaultbridge.bases import values
from vaultbridge.bases.parse import View
from vaultbridge.canvas.parse import FileCard, GroupCard, LinkCard, TextCard, card_target, read_canvas
from vaultbridge.engine.base_query import load_base, run_base_query
from vaultbridge.engine.files import view_canvas
from vaultbridge.engine.reading import parse_file
from vaultbridge.errors import InvalidArgument
from vaultbridge.links.resolve import FileTable
from vaultbridge.markdown.text import replace_surrogates
from vaultbridge.vault.file_types import media_kind
from vaultbridge.web.api.notes import resolve_links, resolve_target
from vaultbridge.web.api.routes import PageApi, PageCall
from vaultbridge.web.media import MediaLinks

if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultbridge.bases.parse import Base
    from vaultbridge.bases.result import Group, Summary, ViewResult, ViewRow
    from vaultbridge.bases.values import Value
    from vaultbridge.canvas.parse import Card
    from vaultbridge.engine import Engine
    from vaultbridge.vault.paths import VaultPath

ROWS: Final = 1000
"""The most rows of a base in one answer; more are requested in parts."""

LIST_ITEMS: Final = 100
"""The most items of a list that a cell shows."""


def add_drawing_routes(api: PageApi, media: MediaLinks) -> None:
    async def show_base(call: PageCall) -> Any:
        path, view, this = call.text("path"), call.text("view"), call.text("this")
        block = call.number("block", 1, least=1, most=1000)
        limit = call.number("limit", 200, least=1, most=ROWS)
        offset = call.number("offset", 0)
        link = _linker(media, call)
        return await call.on_vault(
            lambda engine: run_base(engine, path, view, this, block, link).render(limit, offset)
        )

    async def show_canvas(call: PageCall) -> Any:
        path, link = call.text("path"), _linker(media, call)
        return await call.on_vault(lambda engine: draw_canvas(engine, path, link))

    api.get("/base", show_base)
    api.get("/canvas", show_canvas)


def _linker(media: MediaLinks, call: PageCall) -> Callable[[str], str]:
    return lambda path: media.make(call.grant, call.vault, path)


class RenderedView:
    """The result of a view, ready to become JSON."""

    def __init__(
        self, base: Base, view: View, result: ViewResult, table: FileTable, link: Callable[[str], str]
    ) -> None:
        self._base = base
        self._view = view
        self._result = result
        self._table = table
        self._link = link

    def render(self, limit: int, offset: int) -> dict[str, Any]:
        result = self._result
        columns = result.columns[:-1] if self._view.image else result.columns
        return {
            "views": [{"name": view.name, "type": view.type} for view in self._base.views],
            "view": result.view,
            "type": self._view.type,
            "columns": [{"id": column.id, "name": column.name} for column in columns],
            "rows": [self._render_row(row) for row in result.rows[offset : offset + limit]],
            "groups": [self._render_group(group) for group in result.groups],
            "summaries": self._render_summaries(result.summaries),
            "shown": len(result.rows),
            "total": result.total,
            "problems": [
                *(
                    f"Line {problem.line}: {problem.message}"
                    for problem in self._base.problems_of(result.view)
                ),
                *result.problems,
            ],
        }

    def _render_row(self, row: ViewRow) -> dict[str, Any]:
        cells = [self._render_cell(value, row.path) for value in row.cells]
        image = cells.pop() if self._view.image else None
        return {"path": replace_surrogates(row.path), "cells": cells, "image": image}

    def _render_group(self, group: Group) -> dict[str, Any]:
        """Rows are in the order of their groups, so a group needs only their number."""
        return {
            "value": self._render_cell(group.value, ""),
            "rows": len(group.rows),
            "summaries": self._render_summaries(group.summaries),
        }

    def _render_summaries(self, summaries: tuple[Summary, ...]) -> list[dict[str, Any]]:
        return [
            {"column": summary.column, "name": summary.name, "value": self._render_cell(summary.value, "")}
            for summary in summaries
        ]

    def _render_cell(self, value: Value, source: str) -> Any:
        """Null, booleans and text stay as they are; any other value becomes an object with its kind."""
        match value:
            case None | bool():
                return value
            case str():
                return replace_surrogates(value)
            case tuple():
                return {
                    "kind": "list",
                    "items": [self._render_cell(item, source) for item in value[:LIST_ITEMS]],
                }
            case values.LinkValue(external=True):
                text = values.to_text(value.display) or value.target
                return {"kind": "url", "url": value.target, "text": replace_surrogates(text)}
            case values.LinkValue():
                target, _, _ = value.target.partition("#")
                text = values.to_text(value.display) or value.target
                resolved = resolve_target(target, value.source or source, self._table, self._link)
                return {"kind": "link", "text": replace_surrogates(text), **resolved}
            case values.File():
                path = value.row.path
                return {"kind": "link", "text": value.row.basename, "path": replace_surrogates(path)}
            case values.ImageValue():
                resolved = resolve_target(value.source, source, self._table, self._link)
                return {"kind": "image", "text": replace_surrogates(value.source), **resolved}
            case values.ErrorValue():
                return {"kind": "error", "text": replace_surrogates(value.message)}
            case values.Date() | values.Duration() | float():
                kind = "date" if isinstance(value, values.Date) else "number"
                return {"kind": kind, "text": values.to_text(value)}
            case _:
                return {"kind": "text", "text": replace_surrogates(values.to_text(value))}


def run_base(
    engine: Engine, name: str, view: str, this: str, block: int, link: Callable[[str], str]
) -> RenderedView:
    if not name:
        raise InvalidArgument("path is missing.", argument="path", hint="A base, or a note with one.")
    base, text, where = load_base(engine, name, block=block)
    shown = next((candidate for candidate in base.views if candidate.name == view), None) or next(
        iter(base.views), None
    )
    if view and (shown is None or shown.name != view):
        names = ", ".join(candidate.name for candidate in base.views)
        raise InvalidArgument(f"There is no view {view[:80]!r}.", argument="view", hint=f"Views: {names}.")
    if shown is not None and shown.image:
        # The picture of a card is read as one more column, which `render` takes out again.
        wider = replace(shown, order=(*shown.order, shown.image))
        base = replace(
            base, views=tuple(wider if candidate is shown else candidate for candidate in base.views)
        )
        shown = wider
    origin: VaultPath = engine.find(this) if this else where
    result = run_base_query(engine, base, text, view or None, origin)
    return RenderedView(base, shown or View(name=result.view), result, engine.queries.visible_table(), link)


def draw_canvas(engine: Engine, name: str, link: Callable[[str], str]) -> dict[str, Any]:
    if not name:
        raise InvalidArgument("path is missing.", argument="path", hint="The path of a canvas.")
    view = view_canvas(engine, name)
    canvas = read_canvas(view.text)
    table = engine.queries.visible_table()
    return {
        "path": replace_surrogates(view.path),
        "hash": view.hash,
        "cards": [_render_card(card, view.path, table, link) for card in canvas.cards],
        "edges": [
            {
                "id": replace_surrogates(edge.id),
                "from": replace_surrogates(edge.from_node),
                "to": replace_surrogates(edge.to_node),
                "fromSide": edge.from_side,
                "toSide": edge.to_side,
                "fromArrow": edge.from_end == "arrow",
                "toArrow": edge.to_end == "arrow",
                "color": edge.color,
                "label": replace_surrogates(edge.label),
            }
            for edge in canvas.edges
        ],
        "links": resolve_links(engine, view.path, parse_file(view.path, view.text), link),
        "problems": [{"line": problem.line, "message": problem.message} for problem in canvas.problems],
    }


def _render_card(card: Card, source: str, table: FileTable, link: Callable[[str], str]) -> dict[str, Any]:
    box = card.box
    shown: dict[str, Any] = {
        "id": replace_surrogates(card.id),
        "x": box.x,
        "y": box.y,
        "width": box.width,
        "height": box.height,
        "color": card.color,
    }
    match card:
        case TextCard():
            return {**shown, "type": "text", "text": replace_surrogates(card.text)}
        case FileCard():
            resolved = resolve_target(card_target(card.file), source, table, link)
            file = {"file": replace_surrogates(card.file), "subpath": replace_surrogates(card.subpath)}
            return {**shown, "type": "file", "media_kind": media_kind(card.file) or "", **file, **resolved}
        case LinkCard():
            return {**shown, "type": "link", "url": replace_surrogates(card.url)}
        case GroupCard():
            return {**shown, "type": "group", "label": replace_surrogates(card.label)}
        case _:
            return {**shown, "type": "other", "what": replace_surrogates(card.type)}
