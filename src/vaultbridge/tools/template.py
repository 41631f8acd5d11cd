"""`template`: list and show templates, or try one out. `edit_note` puts one into a note."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from vaultbridge.tools.base.answer import Answer, building, cut, page, read, sliced
from vaultbridge.tools.base.schema import Arguments, Limit, MaxChars, Offset, Start
from vaultbridge.tools.base.tool import Tool, VaultContext


class Template(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"limit", "offset", "start", "max_chars"})

    template: Annotated[str, Meta(description="Its name; default: list all")] = ""
    title: Annotated[str, Meta(description="Expand it for this title")] = ""
    limit: Limit = 100
    offset: Offset = 0
    start: Start = 0
    max_chars: MaxChars = 24_000


def run(bench: VaultContext, arguments: Template) -> Answer:
    if not arguments.template:
        return _list(bench, arguments)
    if arguments.title:
        text = bench.engine.expand(arguments.template, arguments.title)
    else:
        from vaultbridge.engine.templates import template_path

        text = bench.engine.view(template_path(bench.engine, arguments.template)).text
    return read(cut(text, start=arguments.start, max_chars=arguments.max_chars))


def _list(bench: VaultContext, arguments: Template) -> Answer:
    from vaultbridge.vault.paths import vault_folder

    folder = bench.engine.settings.template_folder
    if not folder:
        return read("(the vault has no templates folder; any note can serve as a template)")
    notes = building(bench)
    files = bench.engine.ask.files(vault_folder(folder))
    rows = [file.path for file in files if file.kind == "note"]
    shown = sliced(rows, offset=arguments.offset, limit=arguments.limit)
    return read(page(shown, total=len(rows), offset=arguments.offset, what="templates", notes=notes))


TEMPLATE = Tool(
    name="template",
    description="List templates, show one, or expand it as text",
    arguments=Template,
    run=run,
    group="notes",
)
