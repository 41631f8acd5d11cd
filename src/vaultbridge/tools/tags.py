"""`tags`: lists all tags with their counts, or the notes of one. `edit_note` changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from vaultbridge.errors import InvalidArgument
from vaultbridge.tools.base.answer import (
    PAGE_CHARS,
    Answer,
    answer_text,
    render_page,
    slice_rows,
    wait_for_index,
)
from vaultbridge.tools.base.schema import Arguments, Limit, MaxChars, Offset
from vaultbridge.tools.base.tool import Tool, VaultContext

if TYPE_CHECKING:
    from vaultbridge.index.listing import TagCount


class Tags(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"limit", "max_chars", "name", "sort"})

    action: Annotated[Literal["list", "notes"], Meta(description="Action")] = "list"
    tag: Annotated[str, Meta(description="With or without #")] = ""
    name: Annotated[str, Meta(description="Note")] = ""
    sort: Annotated[Literal["name", "count"], Meta(description="Order")] = "name"
    limit: Limit = 200
    offset: Offset = 0
    max_chars: MaxChars = PAGE_CHARS


def run(context: VaultContext, arguments: Tags) -> Answer:
    match arguments.action:
        case "notes":
            return _list_notes(context, arguments)
        case "list":
            # A single note is read from disk and does not need the index.
            notes = [] if arguments.name else wait_for_index(context)
            rows = _list_tags(context, arguments)
    shown = slice_rows(rows, offset=arguments.offset, limit=arguments.limit)
    return answer_text(
        render_page(
            shown,
            total=len(rows),
            offset=arguments.offset,
            what="tags",
            notes=notes,
            max_chars=arguments.max_chars,
        )
    )


def _list_notes(context: VaultContext, arguments: Tags) -> Answer:
    from vaultbridge.markdown.edits.tags import parse_tag_name

    if not arguments.tag.strip("# "):
        raise InvalidArgument("tag is missing.", argument="tag", hint="Give the tag whose notes you want.")
    notes = wait_for_index(context)
    found = context.engine.queries.search(
        f"tag:#{parse_tag_name(arguments.tag)}",
        limit=arguments.limit,
        offset=arguments.offset,
        sort="path",
        matches_per_note=0,
    )
    rows = (hit.path for hit in found.hits)
    return answer_text(
        render_page(
            rows,
            total=found.total,
            offset=arguments.offset,
            what="notes",
            notes=notes,
            max_chars=arguments.max_chars,
        )
    )


def _list_tags(context: VaultContext, arguments: Tags) -> list[str]:
    if arguments.name:
        view = context.engine.view(arguments.name)
        return [f"#{name}" for name in dict.fromkeys(tag.name for tag in view.note.tags)]
    under = arguments.tag.strip("# ").lower().rstrip("/")
    found = [
        tag
        for tag in context.engine.queries.tags()
        if not under or tag.name.lower() == under or tag.name.lower().startswith(under + "/")
    ]
    if arguments.sort == "count":
        found.sort(key=lambda tag: (-tag.notes, tag.name.lower()))
    return [_render_tag(tag) for tag in found]


def _render_tag(tag: TagCount) -> str:
    """With the number of its notes, and of its places where that is another number."""
    more = f" ({tag.occurrences} places)" if tag.occurrences != tag.notes else ""
    return f"#{tag.name} {tag.notes}{more}"


TAGS = Tool(
    name="tags",
    description="List tags with how many notes have them, or the notes of one",
    arguments=Tags,
    run=run,
    group="metadata",
    note="name",
)
