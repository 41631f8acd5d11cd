"""Carries out moving, deleting and merging on a draft of the vault, as `notes.py` does other operations."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from vaultbridge.engine.drafting.draft import Draft, DraftFile
from vaultbridge.engine.drafting.move import (
    find_linking_files,
    move,
    rewrite_links,
)
from vaultbridge.engine.drafting.naming import (
    OperationContext,
    find_existing,
    find_folder,
    is_folder,
    list_files_under,
    resolve_new_path,
)
from vaultbridge.engine.drafting.notes import edit_text, writable_note
from vaultbridge.engine.drafting.templates import merge_properties
from vaultbridge.engine.operations import Append, SetProperty
from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.links.resolve import Resolved, file_name, name_key, resolve
from vaultbridge.markdown.parse import find_labels
from vaultbridge.markdown.sections import heading_key, require_parsed
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
    from vaultbridge.engine.operations import (
        Delete,
        Merge,
        Move,
    )


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
        edit_text(draft, Append(note=target, content=f"{apart}{body}\n"), context)
    values = properties.values if properties is not None else {}
    own = draft.open(target).note.properties
    for name, value in merge_properties(own.values if own is not None else {}, values).items():
        edit_text(draft, SetProperty(note=target, name=name, value=value), context)


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
