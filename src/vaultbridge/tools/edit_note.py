"""`edit_note`: every change of one note that the engine knows, told by `op`."""

from __future__ import annotations

from vaultbridge.tools.answer import Answer
from vaultbridge.tools.edits import EditFields, EditOp, operation
from vaultbridge.tools.fields import DryRun, Expected, NoteName
from vaultbridge.tools.outcomes import CHANGED_SCHEMA, outcome_answer
from vaultbridge.tools.tool import Tool
from vaultbridge.tools.workshop import Bench


class EditNote(EditFields, frozen=True, kw_only=True):
    name: NoteName
    op: EditOp
    expected: Expected = ""
    dry_run: DryRun = False


def run(bench: Bench, arguments: EditNote) -> Answer:
    wanted = operation(arguments.op, arguments.name, arguments, expected=arguments.expected)
    path = bench.engine.find(arguments.name)
    outcome = bench.engine.apply([wanted], dry_run=arguments.dry_run, actor=bench.shop.actor)
    return outcome_answer(outcome, path, path=path)


EDIT_NOTE = Tool(
    name="edit_note",
    title="Edit note",
    description=(
        "Change one note. append, prepend, replace_section: content, at heading or block; insert: content "
        "before line; replace_text: old, new; write: all content; set_property: property, value; rename_*: "
        "to, links follow; set_task: line or text, status"
    ),
    arguments=EditNote,
    run=run,
    group="notes",
    effect="changes",
    core=True,
    output_schema=CHANGED_SCHEMA,
    note="name",
)
