"""`create_note`: creates a note, from content, a template and properties.

Name, content and overwrite are exactly those of the stdio contract (docs/protocols/mcp-stdio.md).
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, field

from vaultbridge.errors import InvalidArgument
from vaultbridge.tools.base.answer import CHANGED_SCHEMA, NOTICES_LISTED, Answer, answer_data
from vaultbridge.tools.base.arguments import is_link, parse_reference, require_whole_note
from vaultbridge.tools.base.schema import Arguments, PropertyValues
from vaultbridge.tools.base.tool import Tool, VaultContext


class CreateNote(Arguments, frozen=True, kw_only=True):
    name: Annotated[str, Meta(description="Note name (without .md extension) or exact path")]
    content: Annotated[str, Meta(description="Initial note content (markdown)")] = ""
    overwrite: Annotated[bool, Meta(description="Overwrite if file exists")] = False
    template: Annotated[str, Meta(description="Template to start from; content follows it")] = ""
    properties: PropertyValues = field(default_factory=dict)


def run(context: VaultContext, arguments: CreateNote) -> Answer:
    from vaultbridge.engine.operations import Create

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
                properties=arguments.properties,
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
    arguments=CreateNote,
    run=run,
    group="notes",
    effect="changes",
    core=True,
    output_schema=CHANGED_SCHEMA,
    note="name",
)
