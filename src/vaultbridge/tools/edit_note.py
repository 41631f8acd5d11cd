"""`edit_note`: every change of one note that the engine knows, told by `op`."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from vaultbridge.errors import InvalidArgument
from vaultbridge.tools.answer import Answer
from vaultbridge.tools.edits import EditFields, NoteOp, op_fields, operation, task_address
from vaultbridge.tools.fields import DryRun, Expected, NoteName
from vaultbridge.tools.outcomes import CHANGED_SCHEMA, outcome_answer
from vaultbridge.tools.tool import Tool
from vaultbridge.tools.workshop import Bench


class EditNote(EditFields, frozen=True, kw_only=True):
    name: NoteName
    op: Annotated[NoteOp, Meta(description="What to do")]
    template: Annotated[str, Meta(description="Its name")] | UnsetType = UNSET
    expected: Expected = ""
    dry_run: DryRun = False


def run(bench: Bench, arguments: EditNote) -> Answer:
    if arguments.op == "insert_template":
        return _insert_template(bench, arguments)
    wanted = operation(arguments.op, arguments.name, arguments, expected=arguments.expected)
    name = task_address(arguments.name)[0] if arguments.op == "set_task" else arguments.name
    # Without a name a tag is renamed in every note.
    path = bench.engine.find(name) if name.strip() else ""
    outcome = bench.engine.apply([wanted], dry_run=arguments.dry_run, actor=bench.shop.actor)
    return outcome_answer(outcome, path, **({"path": path} if path else {}))


def _insert_template(bench: Bench, arguments: EditNote) -> Answer:
    from vaultbridge.engine.template_insert import inserting

    fields = op_fields("insert_template", arguments)
    if fields.get("heading") and fields.get("line"):
        raise InvalidArgument("Give heading or line, not both.", argument="line")
    path = bench.engine.find(arguments.name)
    operations = inserting(bench.engine, path=path, expected=arguments.expected, **fields)
    outcome = bench.engine.apply(
        operations, dry_run=arguments.dry_run, label="insert template", actor=bench.shop.actor
    )
    return outcome_answer(outcome, path, path=path)


EDIT_NOTE = Tool(
    name="edit_note",
    description=(
        "Change one note. append, prepend, replace_section: content, at heading or block; insert: content "
        "before line; replace_text: old, new; write: all content; set_property: property, value; rename_*: "
        'to, links follow (rename_tag with name "": everywhere); set_task: line or text, status; '
        "insert_template: template, at heading or line"
    ),
    arguments=EditNote,
    run=run,
    group="notes",
    effect="changes",
    core=True,
    output_schema=CHANGED_SCHEMA,
    note="name",
)
