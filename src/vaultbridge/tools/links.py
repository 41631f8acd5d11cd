"""`links`: backlinks, outgoing links and paths between notes; unresolved links, orphans and dead ends."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import Meta

from vaultbridge.errors import InvalidArgument
from vaultbridge.links.graph import LinkPath
from vaultbridge.markdown.text import replace_surrogates
from vaultbridge.tools.base.answer import (
    PAGE_CHARS,
    Answer,
    answer_page,
    answer_text,
    clip_text,
    group_rows,
    slice_rows,
    wait_for_index,
)
from vaultbridge.tools.base.schema import Arguments, Limit, MaxChars, NoteName, Offset
from vaultbridge.tools.base.tool import Tool, VaultContext

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vaultbridge.index.graph import UnresolvedTarget
    from vaultbridge.vault.paths import VaultPath

LinkQuestion = Literal["backlinks", "outgoing", "unresolved", "orphans", "dead_ends", "neighbourhood", "path"]

SOURCES_SHOWN: Final = 5
"""How many notes a row names that link to a missing file; search lists them all."""


FIGURE_NOTES: Final = 120
"""The most notes in the figure of a neighbourhood: more could not be distinguished in a chat."""


class LinksArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"depth", "limit", "max_chars"})

    kind: Annotated[LinkQuestion, Meta(description="Which question")] = "backlinks"
    name: NoteName = ""
    to: Annotated[str, Meta(description="path: the other note")] = ""
    depth: Annotated[int, Meta(ge=1, le=5, description="neighbourhood: steps")] = 1
    limit: Limit = 100
    offset: Offset = 0
    max_chars: MaxChars = PAGE_CHARS


def run(context: VaultContext, arguments: LinksArguments) -> Answer:
    queries = context.engine.queries
    unfinished = wait_for_index(context)
    limit, offset = arguments.limit, arguments.offset
    path: VaultPath | None = None
    shown: Iterable[str]
    match arguments.kind:
        case "backlinks":
            path = _find_note(context, arguments)
            links = [(link.source, f"{link.line}: {link.raw}") for link in queries.backlinks(path)]
            shown, total = group_rows(links[offset : offset + limit]), len(links)
            what, head = "backlinks", f"[to {path}]"
        case "outgoing":
            path = _find_note(context, arguments)
            # Ambiguity may come from files that the caller must not learn about.
            open_to_all = context.engine.scope.unrestricted
            rows = [
                _render_outgoing(link.line, link.raw, link.resolved, ambiguous=link.ambiguous and open_to_all)
                for link in queries.outgoing(path)
            ]
            shown, total = slice_rows(rows, limit=limit, offset=offset), len(rows)
            what, head = "links", f"[from {path}]"
        case "unresolved":
            names = queries.unresolved(limit=limit, offset=offset, sources=SOURCES_SHOWN)
            shown = map(_render_unresolved, names.rows)
            total, what, head = names.total, "unresolved names", ""
        case "orphans":
            orphans = queries.orphans(limit=limit, offset=offset)
            shown, total, what, head = orphans.rows, orphans.total, "notes without backlinks", ""
        case "dead_ends":
            ends = queries.dead_ends(limit=limit, offset=offset)
            shown, total, what, head = ends.rows, ends.total, "notes without links", ""
        case "neighbourhood":
            path = _find_note(context, arguments)
            around = queries.neighbourhood(path, arguments.depth)
            rows = [f"{steps}  {other}" for other, steps in around.distances.items() if steps]
            shown, total = slice_rows(rows, limit=limit, offset=offset), len(rows)
            cut = "; cut, there are more" if around.truncated else ""
            what, head = "notes", f"[steps from {path}{cut}]"
        case "path":
            found = "\n".join([*unfinished, *_find_path(context, arguments)])
            return answer_text(clip_text(found, arguments.max_chars))
    figure = None if path is None else partial(_draw, context, path, arguments.depth)
    return answer_page(shown, total, arguments, what, head=head, notes=unfinished, figure=figure)


def _draw(context: VaultContext, path: VaultPath, depth: int) -> dict[str, Any]:
    around = context.engine.queries.neighbourhood(path, depth, limit=FIGURE_NOTES)
    return draw_graph(context, path, around.distances, more=around.truncated)


def draw_graph(
    context: VaultContext,
    root: str,
    notes: Iterable[str],
    *,
    suggested: Mapping[str, str] | None = None,
    more: bool = False,
) -> dict[str, Any]:
    """The figure of a note and the `notes` around it: the links among them as pairs of positions, and the
    reasons for notes that could be linked with it."""
    places = {path: place for place, path in enumerate(dict.fromkeys([root, *notes]))}
    queries = context.engine.queries
    with queries.snapshot() as at:
        neighbours = queries.neighbours(at)
        edges = {
            (min(places[path], places[other]), max(places[path], places[other]))
            for path in places
            for other in neighbours(path)
            if other in places and other != path
        }
    return {
        "kind": "graph",
        "vault": context.engine.name,
        "nodes": [replace_surrogates(path) for path in places],
        "edges": sorted(edges),
        "suggested": {replace_surrogates(path): why for path, why in (suggested or {}).items()},
        "more": more,
    }


def _find_note(context: VaultContext, arguments: LinksArguments) -> VaultPath:
    if not arguments.name:
        raise InvalidArgument(
            f"name is missing: {arguments.kind} needs a note.",
            argument="name",
            hint="Only unresolved, orphans and dead_ends work on the whole vault.",
        )
    return context.engine.find(arguments.name)


def _render_outgoing(line: int, raw: str, resolved: str | None, *, ambiguous: bool) -> str:
    target = resolved or "(nothing)"
    return f"{line}: {raw} -> {target}{' (ambiguous)' if ambiguous and resolved else ''}"


def _render_unresolved(name: UnresolvedTarget) -> str:
    more = f" and {name.notes - SOURCES_SHOWN} more" if name.notes > SOURCES_SHOWN else ""
    return f"[[{name.target}]]  links {name.count}, from: {', '.join(name.sources)}{more}"


def _find_path(context: VaultContext, arguments: LinksArguments) -> list[str]:
    start = _find_note(context, arguments)
    if not arguments.to:
        raise InvalidArgument("to is missing: path needs two notes.", argument="to")
    goal = context.engine.find(arguments.to)
    match context.engine.queries.path_between(start, goal):
        case LinkPath(notes=notes):
            return [*notes, f"({len(notes) - 1} steps)"]
        case none:
            why = "none within the limits of the search" if none.exhausted else "no links lead there"
            return [f"(no path from {start} to {goal}: {why})"]


LINKS = Tool(
    name="links",
    description=(
        "Backlinks, outgoing links or graph neighbourhood of a note; path between two; unresolved links, "
        "orphan notes, dead ends"
    ),
    arguments=LinksArguments,
    run=run,
    group="links",
    core=True,
    note="name",
)
