"""`create_note` creates a note, from content, a template and properties; `template` lists templates, shows
one, or expands one as text. `edit_note` inserts one into a note.

Name, content and overwrite are exactly those of the stdio contract (docs/protocols/mcp-stdio.md).
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, field

from vaultbridge.engine.drafting.templates import find_template
from vaultbridge.engine.operations import Create
from vaultbridge.engine.operations.base import ForceEncoding
from vaultbridge.errors import InvalidArgument
from vaultbridge.tools.base.answer import (
    NOTICES_LISTED,
    Answer,
    answer_data,
    answer_rows,
    answer_text,
    cut_text,
    wait_for_index,
)
from vaultbridge.tools.base.arguments import drop_placeholders, is_link, parse_reference, require_whole_note
from vaultbridge.tools.base.schema import Arguments, Limit, MaxChars, Offset, PropertyValues, Start
from vaultbridge.tools.base.tool import Tool, VaultContext
from vaultbridge.vault.paths import vault_folder


class CreateNoteArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"force"})

    name: Annotated[str, Meta(description="Note name (without .md extension) or exact path")]
    content: Annotated[str, Meta(description="Initial note content (markdown)")] = ""
    overwrite: Annotated[bool, Meta(description="Overwrite if file exists")] = False
    template: Annotated[str, Meta(description="Template to start from; content follows it")] = ""
    properties: PropertyValues = field(default_factory=dict)
    force: ForceEncoding = False


def run(context: VaultContext, arguments: CreateNoteArguments) -> Answer:
    require_whole_note(arguments.name)
    name = parse_reference(arguments.name).name if is_link(arguments.name) else arguments.name.strip()
    if name.endswith("/"):
        raise InvalidArgument(
            "name ends with /, so it names a folder.",
            argument="name",
            hint="Name the note too, such as Folder/Note; the folder is created with it.",
        )
    outcome = context.engine.apply(
        [
            Create(
                note=name,
                content=arguments.content,
                overwrite=arguments.overwrite,
                template=arguments.template,
                properties=drop_placeholders(arguments.properties),
                force=arguments.force,
            )
        ],
        actor=context.tool_context.actor,
    )
    created = next((file.path for file in outcome.files if file.change == "created"), "")
    # Nothing created: the note existed. If it is unchanged, the outcome does not name it.
    data: dict[str, Any] = {"path": created or context.engine.find(name), "created": bool(created)}
    if outcome.notices:
        data["notices"] = list(outcome.notices[:NOTICES_LISTED])
    return answer_data(data, changed=bool(outcome.files))


CREATE_NOTE = Tool(
    name="create_note",
    description="Create a new note in the vault",
    arguments=CreateNoteArguments,
    run=run,
    group="notes",
    effect="changes",
    core=True,
    note="name",
)


class TemplateArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"limit", "offset", "start", "max_chars"})

    template: Annotated[str, Meta(description="Default: list all")] = ""
    title: Annotated[str, Meta(description="Expand it for this title")] = ""
    limit: Limit = 100
    offset: Offset = 0
    start: Start = 0
    max_chars: MaxChars = 24_000


def run_template(context: VaultContext, arguments: TemplateArguments) -> Answer:
    if not arguments.template:
        return _list_templates(context, arguments)
    if arguments.title:
        text = context.engine.expand(arguments.template, arguments.title)
    else:
        text = context.engine.view(find_template(context.engine, arguments.template)).text
    return answer_text(cut_text(text, start=arguments.start, max_chars=arguments.max_chars))


def _list_templates(context: VaultContext, arguments: TemplateArguments) -> Answer:
    folder = context.engine.settings.template_folder
    if not folder:
        return answer_text("(the vault has no templates folder; any note can serve as a template)")
    notes = wait_for_index(context)
    files = context.engine.queries.files(vault_folder(folder))
    rows = [file.path for file in files if file.kind == "note"]
    return answer_rows(rows, arguments, "templates", notes=notes)


TEMPLATE = Tool(
    name="template",
    description="List templates, show or expand one",
    arguments=TemplateArguments,
    run=run_template,
    group="notes",
)
