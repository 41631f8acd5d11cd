"""`move_note` and `delete_note`: move or delete notes, attachments and folders. A move updates the links."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from vaultbridge.engine.operations import Delete, Move
from vaultbridge.errors import InvalidArgument
from vaultbridge.tools.base.answer import Answer, answer_outcome, describe_trash
from vaultbridge.tools.base.arguments import require_whole_note
from vaultbridge.tools.base.found import find_all
from vaultbridge.tools.base.schema import Arguments, DryRun, ExpectedHash, FileName
from vaultbridge.tools.base.tool import Tool, VaultContext
from vaultbridge.vault.paths import folder_of, vault_folder


class MoveNoteArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"expected"})

    name: FileName = ""
    query: Annotated[str, Meta(description="Or a search")] = ""
    to: Annotated[str, Meta(description="New name or path, or folder/ to move into")]
    expected: ExpectedHash = ""
    dry_run: DryRun = False


class DeleteNoteArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"dry_run", "expected"})

    name: FileName
    expected: ExpectedHash = ""
    dry_run: DryRun = False


def run_move(context: VaultContext, arguments: MoveNoteArguments) -> Answer:
    if bool(arguments.name) == bool(arguments.query.strip()):
        raise InvalidArgument("Give either name or query.", argument="name", hint="What should be moved?")
    require_whole_note(arguments.name)
    to = arguments.to.strip()
    if not to:
        raise InvalidArgument(
            "to is empty.", argument="to", hint="Give a new name, a new path, or folder/ to move into."
        )
    if arguments.query:
        return _move_found(context, arguments, to)
    wanted = Move(note=arguments.name, to=to, expected=arguments.expected)
    outcome = context.engine.apply([wanted], dry_run=arguments.dry_run, actor=context.tool_context.actor)
    moved = next((file for file in outcome.files if file.change == "moved"), None)
    if moved is None:
        return answer_outcome(outcome)
    return answer_outcome(outcome, moved.path, path=moved.path, was=moved.was)


def _move_found(context: VaultContext, arguments: MoveNoteArguments, to: str) -> Answer:
    """Move all notes of a search into a folder, as one change."""
    engine = context.engine
    folder = vault_folder(engine.make_vault_relative(to.rstrip("/")))
    found = find_all(context, arguments.query)
    wanted = [Move(note=path, to=f"{folder}/") for path in found if folder_of(path) != folder]
    label = f"move {len(wanted)} notes"
    actor = context.tool_context.actor
    outcome = engine.apply(wanted, dry_run=arguments.dry_run, label=label, actor=actor)
    return answer_outcome(outcome, matched=len(found))


def run_delete(context: VaultContext, arguments: DeleteNoteArguments) -> Answer:
    require_whole_note(arguments.name)
    wanted = Delete(note=arguments.name, expected=arguments.expected)
    outcome = context.engine.apply([wanted], dry_run=arguments.dry_run, actor=context.tool_context.actor)
    gone = next(file.path for file in outcome.files if file.change == "deleted")
    went = describe_trash(context.engine, outcome)
    return answer_outcome(outcome, gone, path=gone, deleted=not outcome.dry_run, **went)


MOVE_NOTE = Tool(
    name="move_note",
    description="Move or rename a note, attachment or folder, or what a query finds; links follow",
    arguments=MoveNoteArguments,
    run=run_move,
    group="notes",
    effect="changes",
    core=True,
    note="name",
)

DELETE_NOTE = Tool(
    name="delete_note",
    description="Move a note, attachment or folder to the trash",
    arguments=DeleteNoteArguments,
    run=run_delete,
    group="notes",
    effect="changes",
    core=True,
    note="name",
)
