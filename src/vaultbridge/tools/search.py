"""`search`: runs a query in the app's query language over the whole vault; hits are `path:line: text`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from vaultbridge.tools.base.answer import (
    PAGE_CHARS,
    Answer,
    answer_text,
    describe_incomplete_index,
    group_rows,
    render_page,
    wait_for_index,
)
from vaultbridge.tools.base.schema import Arguments, MaxChars, Offset
from vaultbridge.tools.base.tool import Tool, VaultContext

if TYPE_CHECKING:
    from vaultbridge.index.query.search import SearchHit


class Search(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"context", "limit", "max_chars"})

    query: Annotated[str, Meta(description="As above")]
    context: Annotated[int, Meta(ge=0, le=20, description="Lines around each hit")] = 0
    matches: Annotated[int, Meta(ge=0, le=100, description="Lines per note; 0: paths only")] = 1
    sort: Annotated[Literal["relevance", "modified", "name", "path"], Meta(description="Order")] = "relevance"
    limit: Annotated[int, Meta(ge=1, le=500, description="Notes")] = 20
    offset: Offset = 0
    max_chars: MaxChars = PAGE_CHARS


def run(context: VaultContext, arguments: Search) -> Answer:
    # Only to wait: the result itself says whether it is complete.
    wait_for_index(context)
    found = context.engine.ask.search(
        arguments.query,
        limit=arguments.limit,
        offset=arguments.offset,
        sort=arguments.sort,
        matches_per_note=arguments.matches,
        context=arguments.context,
    )
    notes = []
    if not found.complete:
        notes.append(describe_incomplete_index(found.indexed, found.notes))
    rows = map(render_hit, found.hits)
    return answer_text(
        render_page(
            rows,
            total=found.total,
            offset=arguments.offset,
            what="notes",
            notes=notes,
            row_chars=PAGE_CHARS,
            max_chars=arguments.max_chars,
        )
    )


def render_hit(hit: SearchHit) -> str:
    """The path alone for a hit by name, `path:line: text` for one line, and for more the path once with the
    lines below it. Lines around a hit are marked with `-`, as grep does."""
    lines: dict[int, str] = {}
    for match in hit.matches:
        around = [
            *enumerate(match.before, match.line - len(match.before)),
            *enumerate(match.after, match.line + 1),
        ]
        for number, text in around:
            lines.setdefault(number, f"{number}- {text}")
    for match in hit.matches:
        lines[match.line] = f"{match.line}: {match.text}"
    if not lines:
        return hit.path
    return "\n".join(group_rows((hit.path, lines[number]) for number in sorted(lines)))


SEARCH = Tool(
    name="search",
    description=(
        'Search the vault. Query: words (AND), OR, -not, "phrase", /regex/, file: path: content: tag:#x '
        "line:(a b) section:() task-todo:x [property:value]. Hits are path:line: text"
    ),
    arguments=Search,
    run=run,
    group="find",
    core=True,
)
