"""Operations carried out on a draft: names become paths, scopes are asked, links follow.

Each operation either changes the draft or raises and leaves the caller to throw the draft away. Nothing is
written here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from vaultbridge.engine.draft import Draft
from vaultbridge.engine.moving import LinkSources, move, pin_older_links, references_to
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
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound, VaultbridgeError
from vaultbridge.links.heading_rename import SubpathPlan, plan_block_rename, plan_heading_rename
from vaultbridge.note import properties_edit, tag_edit
from vaultbridge.note.change import Change, apply_changes
from vaultbridge.note.parse import parse
from vaultbridge.note.property_types import coerce, type_of
from vaultbridge.note.text import encode
from vaultbridge.vault.paths import VaultPath, folder_of, is_under, join, name_of, new_vault_path, vault_path
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.settings import VaultSettings

FOLDER_FILES: Final = 50_000
"""The most files one folder operation may carry: above any vault's folder, and what a plan still fits in
memory."""

_TEXT_KINDS: Final = (".md", ".canvas", ".base")


class Surroundings(Struct, frozen=True):
    """What operations need to know beyond the draft. `find` gives the path of an existing file for the name a
    caller used; `stored` asks the disk how a visible file's path is spelled there; `check_named` raises when
    a file, as it is on disk, may not be used; `is_folder` asks the disk; `expand` gives a template's text for
    a new note's title."""

    find: Callable[[str], VaultPath]
    stored: Callable[[VaultPath], VaultPath | None]
    check_named: Callable[[VaultPath], None]
    is_folder: Callable[[VaultPath], bool]
    expand: Callable[[str, str], str]
    notes_with_tag: Callable[[str], list[VaultPath]]
    sources: LinkSources
    settings: VaultSettings
    scope: Scope


def concerns_others(operation: Operation, around: Surroundings) -> bool:
    """Whether it can only be carried out when every file of the vault is known, with its links: all but a new
    text for one note that is there."""
    match operation:
        case Create():
            try:
                return around.stored(_new_note_path(operation.note, around.settings)) is None
            except VaultbridgeError:
                return False  # It will be refused, and the refusal names its place in the batch.
        case RenameTag():
            return not operation.note
        case _:
            return not isinstance(operation, NoteEdit | Write)


def takes_others_along(operation: Operation, around: Surroundings) -> bool:
    """Whether files that it does not name are changed with it: then none may be overlooked."""
    match operation:
        case Move() | RenameHeading() | RenameBlock():
            return True
        case RenameTag():
            return not operation.note
        case Delete():
            with contextlib.suppress(InvalidArgument):
                return around.is_folder(vault_path(operation.note))
    return False


def operate(draft: Draft, operation: Operation, around: Surroundings) -> None:
    """Carry one operation out on the draft. Raises VaultbridgeErrors."""
    match operation:
        case Create():
            _create(draft, operation, around)
        case Write(note=name, content=content, expected=expected):
            path = existing(draft, name, around)
            around.scope.check_write(path)
            _must_be_text(path)
            file = draft.open(path, expected=expected)
            file.text  # noqa: B018 - decodes, so that a BOM is known and kept
            file.rewrite(_with_own_line_ends(content, file.text))
        case Move():
            _move(draft, operation, around)
        case Delete():
            _delete(draft, operation, around)
        case AddFile(path=wanted, data=data):
            path = new_vault_path(wanted)
            around.scope.check_write(path, new=True)
            _must_be_free(draft, path, around)
            pin_older_links(draft, around.sources, path, around.settings.links, around.scope.visible)
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


def existing(draft: Draft, name: str, around: Surroundings) -> VaultPath:
    """The file of the draft that a caller names: a path, a path without `.md`, or a name.

    Files that the draft itself made or moved come first; everything else is the vault's own lookup."""
    path = _named_in_draft(draft, name, around)
    if path is None:
        path = around.find(name)
        if not draft.exists(path):
            if draft.left(path):
                raise NoteNotFound(name)
            draft.notice_file(path)
    around.check_named(path)
    return path


def _named_in_draft(draft: Draft, name: str, around: Surroundings) -> VaultPath | None:
    for spelled in (name, f"{name}.md"):
        try:
            path = vault_path(spelled)
        except InvalidArgument:
            continue
        for found in _same_path(draft, path):
            if around.scope.visible(found):
                return found
    made = [path for path in draft.made() if name_of(path) in (name, f"{name}.md")]
    return made[0] if len(made) == 1 and around.scope.visible(made[0]) else None


def _same_path(draft: Draft, path: VaultPath) -> list[VaultPath]:
    """The files of this path in any spelling; first the one that is spelled so, should there be several."""
    return sorted(map(VaultPath, draft.table.same_path(path)), key=lambda found: found != path)


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
    path = _new_note_path(operation.note, around.settings)
    around.scope.check_write(path, new=True)
    text = operation.content
    if operation.template:
        expanded = around.expand(operation.template, name_of(path).removesuffix(".md"))
        text = expanded if not text else apply_changes(expanded, _appended(expanded, text))
    for name, value in operation.properties.items():
        wanted = coerce(value, type_of(name, around.settings.property_types))
        text = apply_changes(text, properties_edit.set_property(text, parse(text), name, wanted))
    there = _same_path(draft, path)
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
    pin_older_links(draft, around.sources, path, around.settings.links, around.scope.visible)
    draft.create(path, encode(text, bom=False))


def _appended(text: str, addition: str) -> tuple[Change, ...]:
    from vaultbridge.note.edit import append

    return append(text, parse(text), addition)


def _new_note_path(name: str, settings: VaultSettings) -> VaultPath:
    """Where a new note goes: an exact path, or a bare name in the folder that the settings give."""
    if not name.strip("/ "):
        raise InvalidArgument("A new note needs a name.", argument="name")
    spelled = name if name.lower().endswith(_TEXT_KINDS) else f"{name}.md"
    if "/" not in spelled:
        spelled = join(settings.new_note_folder(None), spelled)
    return new_vault_path(spelled)


def _must_be_free(draft: Draft, path: VaultPath, around: Surroundings) -> None:
    if draft.table.same_path(path) or _is_folder(draft, path, around):
        raise EditRefused(f"{path} exists already.", hint="Choose another name.", path=path)


def _must_be_text(path: VaultPath) -> None:
    if not path.lower().endswith(_TEXT_KINDS):
        raise EditRefused(
            f"{path} is not a text file of the vault.", hint="Text goes into .md, .canvas and .base files."
        )


def _files_under(draft: Draft, folder: VaultPath, around: Surroundings) -> list[VaultPath]:
    files = [VaultPath(path) for path in draft.table if is_under(path, folder)]
    if not all(map(around.scope.visible, files)):
        raise EditRefused(
            f"{folder}/ holds files that may not be changed from here.", hint="Name single files."
        )
    if len(files) > FOLDER_FILES:
        raise EditRefused(f"{folder}/ holds {len(files)} files; at most {FOLDER_FILES} are changed at once.")
    return sorted(files)


def _is_folder(draft: Draft, path: VaultPath, around: Surroundings) -> bool:
    """Whether there is a folder, as the draft stands; an empty one is known to the disk alone."""
    on_disk = around.is_folder(path) and not draft.left(path)
    return on_disk or any(is_under(other, path) for other in draft.table)


def _as_folder(draft: Draft, name: str, around: Surroundings) -> VaultPath | None:
    """The folder that a name means: one written with a `/` at the end, or one that no file shares."""
    try:
        folder = vault_path(name)
    except InvalidArgument:
        return None
    if not around.scope.visible(folder) or not _is_folder(draft, folder, around):
        return None
    if name.endswith("/"):
        return folder
    as_file = draft.table.same_path(folder) or draft.table.same_path(f"{folder}.md")
    return None if as_file else folder


def _move(draft: Draft, operation: Move, around: Surroundings) -> None:
    folder = _as_folder(draft, operation.note, around)
    if folder is not None:
        _move_folder(draft, folder, operation.to, around)
        return
    source = existing(draft, operation.note, around)
    around.scope.check_write(source)
    target = _move_target(source, operation.to)
    around.scope.check_write(target, new=True)
    if operation.expected:
        draft.open(source, expected=operation.expected)
    if target == source:
        return
    taken = [path for path in draft.table.same_path(target) if path != source]
    if taken or _is_folder(draft, target, around):
        raise EditRefused(
            f"{target} exists already; {source} was not moved.", hint="Choose another name.", path=target
        )
    move(draft, around.sources, {source: target}, around.settings.links, around.scope.visible)


def _move_target(source: VaultPath, to: str) -> VaultPath:
    """A name alone renames in place, a `/` at the end moves into that folder, all else is the new path. The
    extension stays unless another one is written."""
    if to.endswith("/"):
        return new_vault_path(to + name_of(source))
    extension = "." + name_of(source).rpartition(".")[2] if "." in name_of(source) else ""
    spelled = to
    if extension.lower() in _TEXT_KINDS:
        if not spelled.lower().endswith(extension.lower()):
            spelled += extension
    elif "." not in name_of(spelled):
        spelled += extension
    if "/" not in spelled:
        spelled = join(folder_of(source), spelled)
    return new_vault_path(spelled)


def _move_folder(draft: Draft, source: VaultPath, to: str, around: Surroundings) -> None:
    if to.endswith("/"):
        inside = vault_path(to + name_of(source))
        into = folder_of(inside)
        spelled = inside if not into or _is_folder(draft, into, around) else into
    else:
        spelled = VaultPath(to) if "/" in to or not to else join(folder_of(source), to)
    target = new_vault_path(spelled)
    around.scope.check_write(source)
    around.scope.check_write(target, new=True)
    if target == source:
        return
    if is_under(target, source):
        raise EditRefused(f"{source}/ cannot be moved into itself.", hint="Choose another folder.")
    same_but_case = target.lower() == source.lower()
    if not same_but_case and (_is_folder(draft, target, around) or draft.table.same_path(target)):
        raise EditRefused(f"{target} exists already; {source}/ was not moved.", hint="Choose another name.")
    files = _files_under(draft, source, around)
    moves = {path: VaultPath(target + path[len(source) :]) for path in files}
    move(draft, around.sources, moves, around.settings.links, around.scope.visible, folder=(source, target))


def _delete(draft: Draft, operation: Delete, around: Surroundings) -> None:
    folder = _as_folder(draft, operation.note, around)
    option = around.settings.trash_option
    if folder is not None:
        around.scope.check_write(folder)
        on_disk = around.is_folder(folder) and not draft.left(folder)
        files = _files_under(draft, folder, around)
        _tell_linking(draft, files, f"into {folder}/", around)
        draft.delete(files, root=folder, option=option, on_disk=on_disk)
        return
    path = existing(draft, operation.note, around)
    around.scope.check_write(path)
    if operation.expected:
        draft.open(path, expected=operation.expected)
    _tell_linking(draft, [path], f"to {path}", around)
    draft.delete([path], root=path, option=option)


def _tell_linking(draft: Draft, files: list[VaultPath], where: str, around: Surroundings) -> None:
    """How many files will be left with links to those that are about to go."""
    going = set(files)
    sources = draft.where_now(around.sources.sources_of(map(draft.origin, files)))
    left = [source for source in sources if source not in going and around.scope.visible(source)]
    if left:
        draft.notices.append(f"{len(left)} file(s) still link {where}.")


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
