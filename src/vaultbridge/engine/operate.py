"""Operations carried out on a draft: names become paths, scopes are asked, links follow.

Each operation either changes the draft or raises and leaves the caller to throw the draft away. Nothing is
written here.
"""

from __future__ import annotations

from collections.abc import Callable

from vaultbridge.engine.draft import Draft
from vaultbridge.engine.moving import pin_older_links, references_to
from vaultbridge.engine.naming import (
    Surroundings,
    as_made,
    existing,
    holds_text,
    is_folder,
    new_note_path,
    same_path,
)
from vaultbridge.engine.note_edits import changes_for
from vaultbridge.engine.operations import (
    AddFile,
    Create,
    Delete,
    Move,
    NoteEdit,
    Operation,
    RenameBlock,
    RenameHeading,
    RenameTag,
    Write,
)
from vaultbridge.engine.relocating import delete_named, move_named
from vaultbridge.errors import EditRefused, NoteNotFound
from vaultbridge.links.heading_rename import SubpathPlan, plan_block_rename, plan_heading_rename
from vaultbridge.note import properties_edit, tag_edit
from vaultbridge.note.change import Change, apply_changes
from vaultbridge.note.parse import parse
from vaultbridge.note.property_types import coerce, type_of
from vaultbridge.note.text import encode
from vaultbridge.vault.paths import VaultPath, name_of, new_vault_path


def operate(draft: Draft, operation: Operation, around: Surroundings) -> None:
    """Carry one operation out on the draft. Raises VaultbridgeErrors."""
    match operation:
        case Create():
            _create(draft, operation, around)
        case Write(note=name, content=content, expected=expected):
            path = existing(draft, name, around)
            around.scope.check_write(path)
            file = draft.open(path, expected=expected)
            _must_hold_text(path, file.data)
            file.text  # noqa: B018 - decodes, so that a BOM is known and kept
            file.rewrite(_with_own_line_ends(content, file.text))
        case Move():
            move_named(draft, operation, around)
        case Delete():
            delete_named(draft, operation, around)
        case AddFile(path=wanted, data=data):
            path = as_made(draft, new_vault_path(wanted), around)
            around.scope.check_write(path, new=True)
            _must_be_free(draft, path, around)
            pin_older_links(draft, around.sources, path, around.settings.links)
            draft.create(path, data)
        case RenameTag():
            _rename_tag(draft, operation, around)
        case RenameHeading(note=name, heading=heading, to=to, expected=expected):
            path = _writable(draft, name, around)
            file = draft.open(path, expected=expected)
            references = references_to(draft, around.sources, path)
            plan = plan_heading_rename(
                path, file.text, file.note, heading, to, references, read=_reader(draft)
            )
            _edit_all(draft, path, plan)
        case RenameBlock(note=name, block=block, to=to, expected=expected):
            path = _writable(draft, name, around)
            file = draft.open(path, expected=expected)
            references = references_to(draft, around.sources, path)
            plan = plan_block_rename(path, file.text, file.note, block, to, references, read=_reader(draft))
            _edit_all(draft, path, plan)
        case _:
            _edit_note(draft, operation, around)


def _writable(draft: Draft, name: str, around: Surroundings) -> VaultPath:
    path = existing(draft, name, around)
    around.scope.check_write(path)
    if not path.lower().endswith(".md"):
        raise EditRefused(f"{path} is not a note.", hint="This edit needs a Markdown file (.md).")
    return path


def _edit_note(draft: Draft, operation: NoteEdit, around: Surroundings) -> None:
    path = _writable(draft, operation.note, around)
    file = draft.open(path, expected=operation.expected)
    draft.edit(path, changes_for(operation, file.text, file.note, types=around.settings.property_types))


def _create(draft: Draft, operation: Create, around: Surroundings) -> None:
    path = as_made(draft, new_note_path(operation.note, around.settings), around)
    around.scope.check_write(path, new=True)
    text = operation.content
    if operation.template:
        expanded = around.expand(operation.template, name_of(path).removesuffix(".md"))
        text = expanded if not text else apply_changes(expanded, _appended(expanded, text))
    for name, value in operation.properties.items():
        wanted = coerce(value, type_of(name, around.settings.property_types))
        text = apply_changes(text, properties_edit.set_property(text, parse(text), name, wanted))
    there = same_path(draft, path)
    if not there and (stored := around.stored(path)) is not None and not draft.left(stored):
        draft.notice_file(stored)
        there = [stored]
    if there:
        if not around.scope.visible(there[0]):
            raise EditRefused(f"{path} cannot be created.", hint="Choose another name.")
        if not operation.overwrite:
            raise EditRefused(
                f"{there[0]} exists already.",
                hint="Set overwrite to replace it, edit it instead, or choose another name.",
                path=there[0],
            )
        file = draft.open(there[0], expected=operation.expected)
        file.text  # noqa: B018 - decodes, so that a BOM is known and kept
        file.rewrite(text)
        return
    if operation.expected:
        raise EditRefused(f"{path} does not exist, so it cannot have the hash {operation.expected}.")
    _must_be_free(draft, path, around)
    pin_older_links(draft, around.sources, path, around.settings.links)
    draft.create(path, encode(text, bom=False))


def _appended(text: str, addition: str) -> tuple[Change, ...]:
    from vaultbridge.note.edit import append

    return append(text, parse(text), addition)


def _must_be_free(draft: Draft, path: VaultPath, around: Surroundings) -> None:
    if draft.table.same_path(path) or is_folder(draft, path, around):
        raise EditRefused(f"{path} exists already.", hint="Choose another name.", path=path)


def _must_hold_text(path: VaultPath, data: bytes) -> None:
    if not holds_text(path, data):
        raise EditRefused(
            f"{path} is not a text file: it holds bytes that are not UTF-8.",
            hint="Text replaces only text. Choose another name.",
            path=path,
        )


def _rename_tag(draft: Draft, operation: RenameTag, around: Surroundings) -> None:
    if operation.note:
        path = _writable(draft, operation.note, around)
        file = draft.open(path, expected=operation.expected)
        draft.edit(path, tag_edit.rename_tag(file.text, file.note, operation.tag, operation.to))
        return
    indexed = draft.where_now(around.notes_with_tag(operation.tag))
    written = [file.path for file in draft.opened() if file.changed and around.scope.visible(file.path)]
    found = False
    for path in dict.fromkeys((*indexed, *written)):
        file = draft.open(path)
        if path.lower().endswith(".canvas"):
            changes = tag_edit.rename_tag_on_canvas(file.text, operation.tag, operation.to)
        else:
            changes = tag_edit.rename_tag(file.text, file.note, operation.tag, operation.to)
        if changes:
            found = True
            around.scope.check_write(path)
            draft.edit(path, changes)
    if not found:
        raise NoteNotFound(operation.tag, what="tag")


def _reader(draft: Draft) -> Callable[[str], str]:
    return lambda path: draft.open(VaultPath(path)).text


def _edit_all(draft: Draft, path: VaultPath, plan: SubpathPlan) -> None:
    for source, changes in plan.edits.items():
        file = draft.edit(VaultPath(source), changes)
        file.links_rewritten += len(changes) - (source == path)


def _with_own_line_ends(content: str, old: str) -> str:
    """A caller that only knows LF must not turn a CR LF note into another: the whole text is given the line
    ends of the old one when those were all CR LF and the new text has none."""
    if "\r\n" in old and "\r" not in content and old.count("\n") == old.count("\r\n"):
        return content.replace("\n", "\r\n")
    return content
