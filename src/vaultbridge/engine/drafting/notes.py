"""Carries out operations on a draft of the vault: names become paths, scopes are checked, links follow.

`engine.operations` defines each operation; here is the code of those that take more than a few lines, but
those that move or delete files (`files.py`). Each one changes the draft, or raises, and then the caller
throws the draft away. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from vaultbridge.canvas.edit import rename_canvas_tag
from vaultbridge.engine.drafting.draft import Draft
from vaultbridge.engine.drafting.move import (
    find_references,
    pin_older_links,
)
from vaultbridge.engine.drafting.naming import (
    OperationContext,
    find_existing,
    find_same_path,
    is_folder,
    is_text_file,
    new_note_path,
    resolve_new_path,
)
from vaultbridge.engine.drafting.templates import merge_template
from vaultbridge.engine.operations import Append
from vaultbridge.engine.operations.base import NoteEdit
from vaultbridge.errors import EditRefused, InvalidArgument, NotFound
from vaultbridge.links.heading_rename import SubpathPlan, plan_block_rename, plan_heading_rename
from vaultbridge.links.resolve import file_name
from vaultbridge.links.syntax import write_link
from vaultbridge.markdown.edits import tags as tag_edit
from vaultbridge.markdown.edits.change import apply_changes
from vaultbridge.markdown.edits.properties import set_property
from vaultbridge.markdown.edits.property_types import coerce_property
from vaultbridge.markdown.edits.tasks import TASKS_LISTED
from vaultbridge.markdown.edits.text import append
from vaultbridge.markdown.parse import parse
from vaultbridge.markdown.sections import require_parsed
from vaultbridge.markdown.text import describe_encoding, encode, is_utf16
from vaultbridge.vault.paths import (
    VaultPath,
    new_vault_path,
)

if TYPE_CHECKING:
    from vaultbridge.engine.operations import (
        AddFile,
        Create,
        InsertTemplate,
        RenameBlock,
        RenameHeading,
        RenameTag,
        SetTask,
        Write,
    )


def writable_note(draft: Draft, name: str, context: OperationContext) -> VaultPath:
    """The note that a caller names. Raises when it may not be edited, or is not a note."""
    path = find_existing(draft, name, context)
    context.scope.check_write(path)
    if not path.lower().endswith(".md"):
        raise EditRefused(f"{path} is not a note.", hint="This edit needs a Markdown file (.md).")
    if is_utf16(draft.open(path).data):
        raise EditRefused(
            f"{path} seems to be UTF-16: text added to it would be unreadable there.",
            hint="Save it as UTF-8 first.",
            path=path,
        )
    return path


def edit_text(draft: Draft, edit: NoteEdit, context: OperationContext) -> None:
    """Carry out an operation that only edits the text of one note."""
    path = writable_note(draft, edit.note, context)
    file = draft.open(path, expected=edit.expected)
    if edit.needs_structure():
        require_parsed(file.note)
    draft.edit(path, edit.changes(file.text, file.note, context.settings.property_types))


def create_note(draft: Draft, operation: Create, context: OperationContext) -> None:
    path = resolve_new_path(draft, new_note_path(operation.note, context.settings), context)
    context.scope.check_write(path, new=True)
    text = operation.content
    if operation.template:
        expanded = context.expand(operation.template, file_name(path).removesuffix(".md"))
        text = expanded if not text else apply_changes(expanded, append(expanded, parse(expanded), text))
    for name, value in operation.properties.items():
        wanted = coerce_property(name, value, context.settings.property_types, argument=f"properties.{name}")
        text = apply_changes(text, set_property(text, parse(text), name, wanted))
    there = find_same_path(draft, path)
    if not there and (stored := context.find_stored_path(path)) is not None and not draft.has_left(stored):
        draft.add_known_file(stored)
        there = [stored]
    if there:
        if not context.scope.visible(there[0]):
            raise EditRefused(f"{path} cannot be created.", hint="Choose another name.")
        if not operation.overwrite:
            raise EditRefused(
                f"{there[0]} already exists.",
                hint="Set overwrite to replace it, edit it instead, or choose another name.",
                path=there[0],
            )
        file = draft.open(there[0], expected=operation.expected)
        _check_replaceable(there[0], file.data, force=operation.force)
        file.rewrite_whole(text)
        return
    if operation.expected:
        raise EditRefused(f"{path} does not exist, so it cannot have the hash {operation.expected}.")
    _check_free(draft, path, context)
    pin_older_links(draft, context.sources, path, context.settings.links)
    draft.create(path, encode(text, bom=False))


def write_text(draft: Draft, operation: Write, context: OperationContext) -> None:
    path = find_existing(draft, operation.note, context)
    context.scope.check_write(path)
    file = draft.open(path, expected=operation.expected)
    _check_replaceable(path, file.data, force=operation.force)
    file.rewrite_whole(operation.content)


def add_file(draft: Draft, operation: AddFile, context: OperationContext) -> None:
    path = resolve_new_path(draft, new_vault_path(operation.path), context)
    context.scope.check_write(path, new=True)
    _check_free(draft, path, context)
    pin_older_links(draft, context.sources, path, context.settings.links)
    draft.create(path, operation.data)
    if operation.embed_in:
        note = writable_note(draft, operation.embed_in, context)
        link = write_link(path, note, draft.table_for(note), context.settings.links, embed=True)
        edit_text(draft, Append(note=note, content=link), context)


def insert_template(draft: Draft, operation: InsertTemplate, context: OperationContext) -> None:
    if operation.heading and operation.line:
        raise InvalidArgument("Give heading or line, not both.", argument="line")
    path = writable_note(draft, operation.note, context)
    file = draft.open(path, expected=operation.expected)
    require_parsed(file.note)
    text = context.expand(operation.template, file_name(path).removesuffix(".md"))
    merged = merge_template(
        text, operation.template, file.note, path, heading=operation.heading, line=operation.line
    )
    for part in merged:
        edit_text(draft, part, context)


def _check_free(draft: Draft, path: VaultPath, context: OperationContext) -> None:
    if draft.table.same_path(path) or is_folder(draft, path, context):
        raise EditRefused(f"{path} already exists.", hint="Choose another name.", path=path)


def _check_replaceable(path: VaultPath, data: bytes, *, force: bool) -> None:
    """Raises unless a whole text may take the place of these bytes. A caller that read the file was shown
    U+FFFD for what is not UTF-8, and would write that back."""
    if not is_text_file(path, data):
        raise EditRefused(
            f"{path} is not a text file: it contains bytes that are not UTF-8.",
            hint="Text can only replace text. Choose another name.",
            path=path,
        )
    problem = "" if force else describe_encoding(data)
    if problem:
        raise EditRefused(
            f"{path} is not UTF-8 ({problem}), so any text read from it lacks those bytes.",
            hint="Edit it in place, which keeps every other byte, or set force to replace all of it.",
            path=path,
        )


def set_task(draft: Draft, operation: SetTask, context: OperationContext) -> None:
    if not operation.note:
        path, line = _find_task_anywhere(operation, context)
        # An earlier operation of the same batch may have moved the line.
        operation = replace(operation, note=path, line=0 if draft.open(path).changed else line)
    edit_text(draft, operation, context)


def _find_task_anywhere(operation: SetTask, context: OperationContext) -> tuple[VaultPath, int]:
    """Finds the one task in the vault that has the wanted text and does not have the wanted status yet. A
    task whose whole text matches is preferred to one that only contains it; `toggle` finds open tasks
    only."""
    wanted = operation.text.strip()
    if not wanted:
        raise InvalidArgument(
            "Without a note, the task's text is needed.", argument="text", hint="Give name and line, or text."
        )
    status = {"toggle": "x", "done": "x", "open": " ", "todo": " "}.get(operation.status, operation.status)
    found = [task for task in context.find_tasks(wanted) if task.status != status]
    tasks = [task for task in found if wanted in (task.text, task.description)] or found
    if len(tasks) == 1:
        return tasks[0].path, tasks[0].line
    if not tasks:
        raise EditRefused(
            f"No task to change has the text {wanted!r}.",
            hint="The tool `tasks` finds tasks by part of their text.",
        )
    listed = "; ".join(f"{task.path}:{task.line}: {task.text[:60]}" for task in tasks[:TASKS_LISTED])
    raise EditRefused(f"{len(tasks)} tasks match {wanted!r}.", hint=f"Name its note, as in: {listed}.")


def rename_tag(draft: Draft, operation: RenameTag, context: OperationContext) -> None:
    if operation.note:
        path = writable_note(draft, operation.note, context)
        file = draft.open(path, expected=operation.expected)
        require_parsed(file.note)
        draft.edit(path, tag_edit.rename_tag(file.text, file.note, operation.tag, operation.to))
        return
    indexed = draft.translate_paths(context.notes_with_tag(operation.tag))
    written = [
        file.path for file in draft.opened_files() if file.changed and context.scope.visible(file.path)
    ]
    found = False
    for path in dict.fromkeys((*indexed, *written)):
        file = draft.open(path)
        try:
            if path.lower().endswith(".canvas"):
                changes = rename_canvas_tag(file.text, operation.tag, operation.to)
            else:
                changes = tag_edit.rename_tag(file.text, file.note, operation.tag, operation.to)
        except EditRefused as refused:
            refused.message = f"{path}: {refused.message}"
            raise
        if changes:
            found = True
            context.scope.check_write(path)
            draft.edit(path, changes)
    if not found:
        raise NotFound(operation.tag, what="tag")


class _TargetRename(Protocol):
    """`rename_heading` or `rename_block`."""

    @property
    def note(self) -> str: ...
    @property
    def expected(self) -> str: ...


def rename_heading(draft: Draft, operation: RenameHeading, context: OperationContext) -> None:
    _rename_target(draft, operation, operation.heading, operation.to, context, plan=plan_heading_rename)


def rename_block(draft: Draft, operation: RenameBlock, context: OperationContext) -> None:
    _rename_target(draft, operation, operation.block, operation.to, context, plan=plan_block_rename)


def _rename_target(
    draft: Draft,
    operation: _TargetRename,
    old: str,
    new: str,
    context: OperationContext,
    *,
    plan: Callable[..., SubpathPlan],
) -> None:
    """Rename a heading or a block id, and rewrite the links to it. `plan` finds the edits of all notes."""
    path = writable_note(draft, operation.note, context)
    file = draft.open(path, expected=operation.expected)
    require_parsed(file.note)
    references = find_references(draft, context.sources, path)

    def read(source: str) -> str:
        return draft.open(VaultPath(source)).text

    for source, changes in plan(path, file.text, file.note, old, new, references, read=read).edits.items():
        edited = draft.edit(VaultPath(source), changes)
        edited.links_rewritten += len(changes) - (source == path)
