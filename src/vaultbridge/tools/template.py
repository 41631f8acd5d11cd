"""`template`: lists templates, shows one, or expands one as text. `edit_note` inserts one into a note."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from vaultbridge.tools.base.answer import (
    Answer,
    answer_text,
    cut_text,
    render_page,
    slice_rows,
    wait_for_index,
)
from vaultbridge.tools.base.schema import Arguments, Limit, MaxChars, Offset, Start
from vaultbridge.tools.base.tool import Tool, VaultContext


class Template(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"limit", "offset", "start", "max_chars"})

    template: Annotated[str, Meta(description="Default: list all")] = ""
    title: Annotated[str, Meta(description="Expand it for this title")] = ""
    limit: Limit = 100
    offset: Offset = 0
    start: Start = 0
    max_chars: MaxChars = 24_000


def run(context: VaultContext, arguments: Template) -> Answer:
    if not arguments.template:
        return _list(context, arguments)
    if arguments.title:
        text = context.engine.expand(arguments.template, arguments.title)
    else:
        from vaultbridge.engine.drafting.templates import find_template

        text = context.engine.view(find_template(context.engine, arguments.template)).text
    return answer_text(cut_text(text, start=arguments.start, max_chars=arguments.max_chars))


def _list(context: VaultContext, arguments: Template) -> Answer:
    from vaultbridge.vault.paths import vault_folder

    folder = context.engine.settings.template_folder
    if not folder:
        return answer_text("(the vault has no templates folder; any note can serve as a template)")
    notes = wait_for_index(context)
    files = context.engine.queries.files(vault_folder(folder))
    rows = [file.path for file in files if file.kind == "note"]
    shown = slice_rows(rows, offset=arguments.offset, limit=arguments.limit)
    return answer_text(
        render_page(
            shown,
            total=len(rows),
            offset=arguments.offset,
            what="templates",
            notes=notes,
            max_chars=arguments.max_chars,
        )
    )


TEMPLATE = Tool(
    name="template",
    description="List templates, show one, or expand it as text",
    arguments=Template,
    run=run,
    group="notes",
)
