"""`related`: what belongs to a note or a text and is not linked yet, why, and the edit that would link it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from vaultbridge.engine.related.find import find_related, find_related_to_text
from vaultbridge.engine.related.vault_wide import look_over_vault
from vaultbridge.errors import InvalidArgument
from vaultbridge.markdown.text import replace_surrogates
from vaultbridge.tools.base.answer import (
    PAGE_CHARS,
    Answer,
    answer_text,
    render_page,
    show_hash,
    wait_for_index,
)
from vaultbridge.tools.base.arguments import parse_reference
from vaultbridge.tools.base.schema import Arguments, MaxChars, NoteName, Offset
from vaultbridge.tools.base.tool import Tool, VaultContext
from vaultbridge.tools.links import draw_graph

if TYPE_CHECKING:
    from vaultbridge.engine.related.find import RelatedPage
    from vaultbridge.engine.related.vault_wide import MissingLink, VaultLook
    from vaultbridge.vault.paths import VaultPath


class RelatedArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"limit", "offset", "max_chars"})

    name: NoteName = ""
    text: Annotated[str, Meta(description="Or a text")] = ""
    limit: Annotated[int, Meta(ge=1, le=60, description="Most rows")] = 10
    offset: Offset = 0
    max_chars: MaxChars = PAGE_CHARS


def run(context: VaultContext, arguments: RelatedArguments) -> Answer:
    engine = context.engine
    if arguments.name and arguments.text:
        raise InvalidArgument("Give name or text, not both.", argument="text")
    unfinished = wait_for_index(context)
    limit, offset = arguments.limit, arguments.offset
    editable = not (engine.scope.read_only or context.tool_context.read_only)
    path: VaultPath | None = None
    if arguments.text.strip():
        page = find_related_to_text(engine, arguments.text, limit=limit, offset=offset)
        head = "[notes related to the text]"
    elif arguments.name:
        path = engine.find(parse_reference(arguments.name).name)
        if not path.lower().endswith(".md"):
            raise InvalidArgument(
                f"{path} is not a note.", argument="name", hint="Name a Markdown file (.md)."
            )
        page = find_related(engine, path, limit=limit, offset=offset)
        head = f"[not linked with {path} yet]"
    else:
        return answer_text(_render_look(context, arguments, unfinished, editable=editable))
    rows = (_render(note.path, note.reasons, note.edit if editable else None) for note in page.rows)
    text = render_page(
        rows,
        total=page.total,
        offset=offset,
        what="related notes",
        head=head,
        notes=unfinished,
        row_chars=PAGE_CHARS,
        max_chars=arguments.max_chars,
    )
    return answer_text(text, partial(_draw, context, path, page) if path is not None else None)


def _draw(context: VaultContext, path: str, page: RelatedPage) -> dict[str, Any]:
    reasons: dict[str, str] = {note.path: replace_surrogates("; ".join(note.reasons)) for note in page.rows}
    return draw_graph(context, path, reasons, suggested=reasons)


def _render(what: str, reasons: tuple[str, ...], edit: dict[str, Any] | None) -> str:
    """A note, why, and the call that links it. Arguments without an op are for the caller's own text."""
    line = f"{what}: {'; '.join(reasons)}"
    if edit is None:
        return line
    call = "edit_note" if "op" in edit else "write"
    if "expected" in edit:
        edit = {**edit, "expected": show_hash(edit["expected"])}
    return f"{line}\n  {call} {msgspec.json.encode(edit).decode()}"


def _render_look(
    context: VaultContext, arguments: RelatedArguments, unfinished: list[str], *, editable: bool
) -> str:
    look = look_over_vault(context.engine, limit=arguments.limit, offset=arguments.offset)
    last = look.offset + look.looked
    rest = f"; continue with offset={last}" if last < look.total else ""
    ending = f"(notes {look.offset + 1}-{last} of {look.total}{rest})"
    lines = unfinished
    room = arguments.max_chars - len(ending)
    for row in map(replace_surrogates, _list_findings(look, editable=editable)):
        if len(row) + 1 > room:
            lines.append("(there is no room for more)")
            break
        lines.append(row)
        room -= len(row) + 1
    return "\n".join([*(lines or ["(nothing found)"]), ending])


def _list_findings(look: VaultLook, *, editable: bool) -> Iterator[str]:
    if look.links:
        yield "[missing links]"
        yield from _list_links(look.links, editable=editable)
    if look.orphans:
        yield "[orphans, with a note that could link to them]"
        yield from _list_links(look.orphans, editable=editable)
    if look.homeless:
        yield f"[orphans without a suggestion]\n{', '.join(look.homeless)}"
    if look.duplicates:
        yield "[near-duplicates]"
        yield from (f"{pair.path} = {pair.other}: {pair.alike:.0%} alike" for pair in look.duplicates)


def _list_links(links: tuple[MissingLink, ...], *, editable: bool) -> Iterator[str]:
    for link in links:
        yield _render(f"{link.source} -> {link.target}", link.reasons, link.edit if editable else None)


RELATED = Tool(
    name="related",
    description=(
        "What is related or similar to a note or text but not linked: why, and the edit_note call that "
        "links it. Without both: the vault's missing links, orphans, duplicates"
    ),
    arguments=RelatedArguments,
    run=run,
    group="find",
    long=True,
    note="name",
)
