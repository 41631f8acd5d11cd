"""Carries out operations on a draft of the vault: names become paths, scopes are checked, links follow.

`engine.operations` defines each operation; this module has the code of those that take more than a few lines.
Each one changes the draft, or raises, and then the caller throws the draft away. Nothing is written.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from vaultbridge.canvas.edit import rename_canvas_tag
from vaultbridge.engine.drafting.draft import Draft, DraftFile
from vaultbridge.engine.drafting.move import (
    find_linking_files,
    find_references,
    move,
    note_old_titles,
    pin_older_links,
    rewrite_links,
)
from vaultbridge.engine.drafting.naming import (
    OperationContext,
    find_existing,
    find_folder,
    find_same_path,
    is_folder,
    is_text_file,
    list_files_under,
    new_note_path,
    resolve_new_path,
)
from vaultbridge.engine.drafting.templates import merge_properties, merge_template
from vaultbridge.engine.operations import Append, SetProperty
from vaultbridge.engine.vocabulary import BATCH_OPERATIONS
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound, VaultbridgeError
from vaultbridge.links.heading_rename import SubpathPlan
from vaultbridge.links.resolve import FileTable, Resolved, file_name, name_key, resolve
from vaultbridge.links.syntax import write_link
from vaultbridge.markdown.edits import tags as tag_edit
from vaultbridge.markdown.edits.change import apply_changes
from vaultbridge.markdown.edits.properties import set_property
from vaultbridge.markdown.edits.property_types import coerce_property
from vaultbridge.markdown.edits.tasks import TASKS_LISTED
from vaultbridge.markdown.edits.text import append
from vaultbridge.markdown.parse import find_labels, parse
from vaultbridge.markdown.sections import heading_key, require_parsed
from vaultbridge.markdown.text import describe_encoding, encode, is_utf16
from vaultbridge.vault.paths import (
    TEXT_SUFFIXES,
    VaultPath,
    folder_of,
    is_under,
    join,
    new_vault_path,
    vault_path,
)

if TYPE_CHECKING:
    from vaultbridge.engine.operation_base import Operation
    from vaultbridge.engine.operations import (
        AddFile,
        Create,
        Delete,
        InsertTemplate,
        Merge,
        Move,
        RenameTag,
        SetTask,
        Write,
    )


def make_draft(
    operations: Sequence[Operation],
    read: Callable[[VaultPath], bytes],
    table: Callable[[], FileTable],
    context: OperationContext,
    *,
    existing: Callable[[], Callable[[str], bool]] | None = None,
    numbered: bool = True,
    by_person: bool = False,
) -> Draft:
    """Carry out all operations on a draft. Raises what the first failing one raises; its message says which
    one, by the note it names and, when `numbered`, by its place. `table` and `existing` are the draft's.
    Properties that could be read must be readable after all of them, unless the text is what a person
    wrote."""
    if len(operations) > BATCH_OPERATIONS:
        raise InvalidArgument(
            f"{len(operations)} operations; at most {BATCH_OPERATIONS} go into one batch.",
            argument="operations",
        )
    draft = Draft(read, table, existing)
    for number, operation in enumerate(operations, 1):
        try:
            operation.apply(draft, context)
        except VaultbridgeError as error:
            if len(operations) > 1:
                note = getattr(operation, "note", "")
                which = f"Operation {number} of {len(operations)}: " if numbered else ""
                error.message = f"{which}{f'{note}: ' if note else ''}{error.message}"
            raise
    note_old_titles(draft, context.scope.visible)
    if not by_person:
        draft.check_properties(context.scope.visible)
    return draft


# Notes.


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
        Append(note=note, content=link).apply(draft, context)


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
        part.apply(draft, context)


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
            f"{path} is not UTF-8 ({problem}), so a text that was read from it lacks what it says.",
            hint="Edit it in place, which keeps every other byte, or set force to replace all of it.",
            path=path,
        )


def find_task_anywhere(operation: SetTask, context: OperationContext) -> tuple[VaultPath, int]:
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
        raise NoteNotFound(operation.tag, what="tag")


class _TargetRename(Protocol):
    """`rename_heading` or `rename_block`."""

    @property
    def note(self) -> str: ...
    @property
    def expected(self) -> str: ...


def rename_target(
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


# Files and folders.


def move_named(draft: Draft, operation: Move, context: OperationContext) -> None:
    folder = find_folder(draft, operation.note, context)
    if folder is not None:
        _move_folder(draft, folder, operation.to, context)
        return
    source = find_existing(draft, operation.note, context, reads=_has_text)
    context.scope.check_write(source)
    to = _into_folder(draft, source, operation.to, context)
    target = resolve_new_path(draft, _move_target(source, to), context)
    context.scope.check_write(target, new=True)
    if operation.expected:
        draft.open(source, expected=operation.expected)
    if target == source:
        return
    taken = [path for path in draft.table.same_path(target) if path != source]
    if taken or is_folder(draft, target, context):
        raise EditRefused(
            f"{target} already exists; {source} was not moved.", hint="Choose another name.", path=target
        )
    move(draft, context.sources, {source: target}, context.settings.links, context.scope.visible)
    if target.lower().endswith(".md"):
        draft.open(target)  # `note_old_titles` reads it.


def _has_text(path: str) -> bool:
    """Whether a file is read when it moves, for the links in it."""
    return path.lower().endswith(TEXT_SUFFIXES)


def _into_folder(draft: Draft, source: VaultPath, to: str, context: OperationContext) -> str:
    """Returns `to` with a slash at its end if it names an existing folder, next to the source or from the
    vault's top, as `mv` would. The folder that the source is in does not count: then `to` is a new name.
    Raises EditRefused when `to` may be two folders, or a folder and a note."""
    if to.endswith("/"):
        return to
    beside = join(folder_of(source), to) if "/" not in to else to
    own = {name_key(source), name_key(folder_of(source))}
    found: dict[str, VaultPath] = {}
    for spelled in (beside, to):
        with contextlib.suppress(InvalidArgument):
            folder = vault_path(spelled)
            visible = name_key(folder) not in own and context.scope.visible(folder)
            if visible and is_folder(draft, folder, context):
                found.setdefault(name_key(folder), folder)
    if not found:
        return to
    readings = [f"{folder}/" for folder in found.values()]
    note = f"{beside}.md"
    if source.lower().endswith(".md") and draft.visible_table.same_path(note):
        readings.append(note)
    if len(readings) > 1:
        raise EditRefused(
            f"{to!r} may mean {' or '.join(readings)}; {source} was not moved.",
            hint="Write the full path, with / at its end to move into a folder.",
        )
    return f"./{readings[0]}"


def _move_target(source: VaultPath, to: str) -> VaultPath:
    """A bare name renames in place, a `/` at the end moves into that folder, anything else is the new path.
    The extension stays unless another one is given."""
    if to.endswith("/"):
        return new_vault_path(to + file_name(source))
    extension = "." + file_name(source).rpartition(".")[2] if "." in file_name(source) else ""
    spelled = to
    if extension.lower() in TEXT_SUFFIXES:
        if not spelled.lower().endswith(extension.lower()):
            spelled += extension
    elif "." not in file_name(spelled):
        spelled += extension
    if "/" not in spelled:
        spelled = join(folder_of(source), spelled)
    return new_vault_path(spelled)


def _move_folder(draft: Draft, source: VaultPath, to: str, context: OperationContext) -> None:
    if to.endswith("/"):
        inside = vault_path(to + file_name(source))
        into = folder_of(inside)
        spelled = inside if not into or is_folder(draft, into, context) else into
    else:
        spelled = VaultPath(to) if "/" in to or not to else join(folder_of(source), to)
    target = resolve_new_path(draft, new_vault_path(spelled), context)
    context.scope.check_write(source)
    context.scope.check_write(target, new=True)
    if target == source:
        return
    if is_under(target, source):
        raise EditRefused(f"{source}/ cannot be moved into itself.", hint="Choose another folder.")
    same_but_case = target.lower() == source.lower()
    if not same_but_case and (is_folder(draft, target, context) or draft.table.same_path(target)):
        raise EditRefused(
            f"{target} already exists; {source}/ was not moved.",
            hint=f"Choose another name, or write {target}/ to move into it.",
        )
    files = list_files_under(draft, source, context)
    moves = {path: VaultPath(target + path[len(source) :]) for path in files}
    move(
        draft, context.sources, moves, context.settings.links, context.scope.visible, folder=(source, target)
    )


def delete_named(draft: Draft, operation: Delete, context: OperationContext) -> None:
    folder = find_folder(draft, operation.note, context)
    option = context.settings.trash_option
    if folder is not None:
        context.scope.check_write(folder)
        on_disk = context.is_folder(folder) and not draft.has_left(folder)
        if on_disk and option == "none":
            raise EditRefused(
                f"{folder}/ was not deleted: the vault's settings delete without a trash, and then only "
                "single files can be deleted.",
                hint="Delete its files, or choose a trash in Obsidian under Files and links.",
                path=folder,
            )
        files = list_files_under(draft, folder, context)
        for path in files:
            context.check_settled(draft.origin(path))
        _note_links_left(draft, files, f"into {folder}/", context)
        draft.delete(files, root=folder, option=option, on_disk=on_disk)
        return
    path = find_existing(draft, operation.note, context, reads=lambda _: option == "none")
    context.scope.check_write(path)
    context.check_settled(draft.origin(path))
    if operation.expected:
        draft.open(path, expected=operation.expected)
    _note_links_left(draft, [path], f"to {path}", context)
    draft.delete([path], root=path, option=option)


def _note_links_left(draft: Draft, files: list[VaultPath], where: str, context: OperationContext) -> None:
    """Adds a notice that says how many files will still link to those that are deleted."""
    left = find_linking_files(draft, context.sources, files)
    if left:
        count = "1 file still links" if len(left) == 1 else f"{len(left)} files still link"
        draft.notices.append(f"{count} {where}.")


NAMES_LISTED: Final = 5
"""How many names that both notes had are listed in a notice."""


def merge_notes(draft: Draft, operation: Merge, context: OperationContext) -> None:
    """Put the source's text at the end of the target, retarget the links, and move the source to the trash.
    Its own links keep their meaning in their new place."""
    source = writable_note(draft, operation.note, context)
    target = writable_note(draft, operation.to, context)
    if source == target:
        raise InvalidArgument(f"{source} cannot be merged into itself.", argument="to", hint="Name another.")
    draft.open(source, expected=operation.expected)
    for path in (source, target):
        require_parsed(draft.open(path).note)
        properties = draft.open(path).note.properties
        if properties is not None and not properties.valid:
            raise EditRefused(f"The properties of {path} cannot be read.", hint="Correct them first.")
    _note_shared_names(draft, source, target)
    rewrite_links(
        draft,
        context.sources,
        {source: target},
        context.settings.links,
        context.scope.visible,
        merging=True,
    )
    _add_text(draft, source, target, context)
    draft.delete([source], root=source, option=context.settings.trash_option)
    _note_embeds(draft, target)


def _add_text(draft: Draft, source: VaultPath, target: VaultPath, context: OperationContext) -> None:
    there, here = draft.open(target), draft.open(source)
    properties = here.note.properties
    body = here.text[properties.end if properties is not None else 0 :].strip("\r\n")
    if body.strip():
        # The first paragraph of one note must not run into the last paragraph of the other.
        lines = there.text.rstrip(" \t").splitlines(keepends=True)
        apart = "\n" if lines and lines[-1].strip() else ""
        Append(note=target, content=f"{apart}{body}\n").apply(draft, context)
    values = properties.values if properties is not None else {}
    own = draft.open(target).note.properties
    for name, value in merge_properties(own.values if own is not None else {}, values).items():
        SetProperty(note=target, name=name, value=value).apply(draft, context)


def _note_shared_names(draft: Draft, source: VaultPath, target: VaultPath) -> None:
    """Adds a notice: a link to a heading, block, footnote or reference that both notes had now leads to the
    first."""
    shared = sorted({*_names(draft.open(source))} & {*_names(draft.open(target))})
    if shared:
        more = f" and {len(shared) - NAMES_LISTED} more" if len(shared) > NAMES_LISTED else ""
        listed = ", ".join(shared[:NAMES_LISTED])
        draft.notices.append(f"Both notes have {listed}{more}: links lead to the first one.")


def _names(file: DraftFile) -> Iterator[str]:
    note = file.note
    yield from (f"the heading {heading_key(heading.text)!r}" for heading in note.headings)
    yield from (f"the block ^{block.id.lower()}" for block in note.blocks)
    yield from (f"the reference [{label}]" for label in find_labels(file.text))
    yield from (
        f"the footnote [^{footnote.id}]" for footnote in note.footnotes if footnote.kind == "definition"
    )


def _note_embeds(draft: Draft, target: VaultPath) -> None:
    table = draft.table_for(target)
    for link in draft.open(target).note.links:
        found = resolve(link.target, target, table)
        if link.embed and not link.subpath and isinstance(found, Resolved) and found.path == target:
            draft.notices.append(f"{target}:{link.line} embeds the note in itself now: {link.raw[:80]}")
