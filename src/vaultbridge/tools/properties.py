"""`properties`: lists the properties of a note or of the vault. `edit_note` changes them."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from vaultbridge.tools.base.answer import (
    PAGE_CHARS,
    Answer,
    answer_text,
    render_page,
    slice_rows,
    wait_for_index,
)
from vaultbridge.tools.base.schema import Arguments, Limit, MaxChars, NoteName, Offset
from vaultbridge.tools.base.tool import Tool, VaultContext

EXAMPLES: Final = 5
"""How many values are shown with each property."""


class Properties(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"limit", "max_chars"})

    name: NoteName = ""
    property: Annotated[str, Meta(description="Its name")] = ""
    limit: Limit = 100
    offset: Offset = 0
    max_chars: MaxChars = PAGE_CHARS


def run(context: VaultContext, arguments: Properties) -> Answer:
    if arguments.name:
        return _list_of_note(context, arguments)
    notes = wait_for_index(context)
    if arguments.property:
        found = context.engine.queries.property_values(
            arguments.property, limit=arguments.limit, offset=arguments.offset
        )
        values = (f"{one.path}: {_encode(one.value)}" for one in found.rows)
        return answer_text(
            render_page(
                values,
                total=found.total,
                offset=arguments.offset,
                what="notes",
                notes=notes,
                max_chars=arguments.max_chars,
            )
        )
    rows = _list_all(context)
    shown = slice_rows(rows, offset=arguments.offset, limit=arguments.limit)
    return answer_text(
        render_page(
            shown,
            total=len(rows),
            offset=arguments.offset,
            what="properties",
            notes=notes,
            max_chars=arguments.max_chars,
        )
    )


def _list_of_note(context: VaultContext, arguments: Properties) -> Answer:
    view = context.engine.view(arguments.name)
    properties = view.note.properties
    head = f"[{view.path} | hash {view.hash}]"
    if properties is not None and not properties.valid:
        problem = next(iter(view.note.problems), None)
        return answer_text(
            f"{head}\n(the properties cannot be read: {problem.message if problem else 'bad YAML'})"
        )
    values = properties.values if properties is not None else {}
    wanted = arguments.property.lower()
    types = context.engine.settings.property_types
    rows = [
        f"{name}: {_encode(value)}" + (f"  ({types[name.lower()]})" if name.lower() in types else "")
        for name, value in values.items()
        if not wanted or name.lower() == wanted
    ]
    shown = slice_rows(rows, offset=arguments.offset, limit=arguments.limit)
    return answer_text(
        render_page(
            shown,
            total=len(rows),
            offset=arguments.offset,
            what="properties",
            head=head,
            max_chars=arguments.max_chars,
        )
    )


def _list_all(context: VaultContext) -> list[str]:
    types = context.engine.settings.property_types
    rows = []
    for summary in context.engine.queries.properties():
        kind = types.get(summary.name.lower()) or "|".join(summary.types)
        examples = ", ".join(list(summary.values)[:EXAMPLES])
        shown = f"  e.g. {examples}" if examples else ""
        rows.append(f"{summary.name}  {kind}  notes {summary.notes}{shown}")
    return rows


def _encode(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


PROPERTIES = Tool(
    name="properties",
    description="Properties of the vault, values of one, or those of a note",
    arguments=Properties,
    run=run,
    group="metadata",
    note="name",
)
