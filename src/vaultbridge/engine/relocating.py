"""Operations that move and delete files and folders, on a draft."""

from __future__ import annotations

import contextlib

from vaultbridge.engine.draft import Draft
from vaultbridge.engine.moving import linking_to, move
from vaultbridge.engine.naming import (
    TEXT_KINDS,
    Surroundings,
    as_folder,
    as_made,
    existing,
    files_under,
    is_folder,
)
from vaultbridge.engine.operations import Delete, Move
from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.links.resolve import name_key
from vaultbridge.vault.paths import VaultPath, folder_of, is_under, join, name_of, new_vault_path, vault_path


def move_named(draft: Draft, operation: Move, around: Surroundings) -> None:
    folder = as_folder(draft, operation.note, around)
    if folder is not None:
        _move_folder(draft, folder, operation.to, around)
        return
    source = existing(draft, operation.note, around)
    around.scope.check_write(source)
    to = _into_folder(draft, source, operation.to, around)
    target = as_made(draft, _move_target(source, to), around)
    around.scope.check_write(target, new=True)
    if operation.expected:
        draft.open(source, expected=operation.expected)
    if target == source:
        return
    taken = [path for path in draft.table.same_path(target) if path != source]
    if taken or is_folder(draft, target, around):
        raise EditRefused(
            f"{target} exists already; {source} was not moved.", hint="Choose another name.", path=target
        )
    move(draft, around.sources, {source: target}, around.settings.links, around.scope.visible)


def _into_folder(draft: Draft, source: VaultPath, to: str, around: Surroundings) -> str:
    """`to` with a slash at its end when it names a folder that is there, as `mv` would take it: beside the
    source, or from the vault's top. The folder that the source is in already is not meant: then it is a new
    name. Raises EditRefused when two folders, or a folder and a note, could be meant."""
    if to.endswith("/"):
        return to
    beside = join(folder_of(source), to) if "/" not in to else to
    own = {name_key(source), name_key(folder_of(source))}
    found: dict[str, VaultPath] = {}
    for spelled in (beside, to):
        with contextlib.suppress(InvalidArgument):
            folder = vault_path(spelled)
            visible = name_key(folder) not in own and around.scope.visible(folder)
            if visible and is_folder(draft, folder, around):
                found.setdefault(name_key(folder), folder)
    if not found:
        return to
    readings = [f"{folder}/" for folder in found.values()]
    note = f"{beside}.md"
    if source.lower().endswith(".md") and draft.seen.same_path(note):
        readings.append(note)
    if len(readings) > 1:
        raise EditRefused(
            f"{to!r} may mean {' or '.join(readings)}; {source} was not moved.",
            hint="Write the whole path: with / at its end to move into a folder.",
        )
    return f"./{readings[0]}"


def _move_target(source: VaultPath, to: str) -> VaultPath:
    """A name alone renames in place, a `/` at the end moves into that folder, all else is the new path. The
    extension stays unless another one is written."""
    if to.endswith("/"):
        return new_vault_path(to + name_of(source))
    extension = "." + name_of(source).rpartition(".")[2] if "." in name_of(source) else ""
    spelled = to
    if extension.lower() in TEXT_KINDS:
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
        spelled = inside if not into or is_folder(draft, into, around) else into
    else:
        spelled = VaultPath(to) if "/" in to or not to else join(folder_of(source), to)
    target = as_made(draft, new_vault_path(spelled), around)
    around.scope.check_write(source)
    around.scope.check_write(target, new=True)
    if target == source:
        return
    if is_under(target, source):
        raise EditRefused(f"{source}/ cannot be moved into itself.", hint="Choose another folder.")
    same_but_case = target.lower() == source.lower()
    if not same_but_case and (is_folder(draft, target, around) or draft.table.same_path(target)):
        raise EditRefused(
            f"{target} exists already; {source}/ was not moved.",
            hint=f"Choose another name, or write {target}/ to move into it.",
        )
    files = files_under(draft, source, around)
    moves = {path: VaultPath(target + path[len(source) :]) for path in files}
    move(draft, around.sources, moves, around.settings.links, around.scope.visible, folder=(source, target))


def delete_named(draft: Draft, operation: Delete, around: Surroundings) -> None:
    folder = as_folder(draft, operation.note, around)
    option = around.settings.trash_option
    if folder is not None:
        around.scope.check_write(folder)
        on_disk = around.is_folder(folder) and not draft.left(folder)
        files = files_under(draft, folder, around)
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
    left = linking_to(draft, around.sources, files)
    if left:
        draft.notices.append(f"{len(left)} file(s) still link {where}.")
