"""Resolves the names in an operation against a draft: existing files and folders, and where a new note goes.

Also defines what operations need to know beyond the draft. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from vaultbridge.engine.drafting.draft import Draft
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound
from vaultbridge.links.resolve import file_name, name_key
from vaultbridge.markdown.text import is_text
from vaultbridge.vault.paths import (
    TEXT_SUFFIXES,
    VaultPath,
    folder_of,
    is_under,
    join,
    new_vault_path,
    vault_path,
)
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.settings import VaultSettings

if TYPE_CHECKING:
    from vaultbridge.engine.drafting.link_sources import LinkSources
    from vaultbridge.engine.related.find import RelatedSearch
    from vaultbridge.index.listing import FoundTask

FOLDER_FILES: Final = 50_000
"""The most files in one folder operation: more than any real folder has, and a plan for them still fits in
memory."""


def is_text_file(path: str, data: bytes) -> bool:
    """Whether a file can be read and replaced as text: it has one of the vault's own suffixes, or its bytes
    are UTF-8 without a NUL. Anything else would not survive being read and written back."""
    return path.lower().endswith(TEXT_SUFFIXES) or is_text(data)


class CheckNamed(Protocol):
    def __call__(self, path: VaultPath, *, unread: bool = False) -> None: ...


class OperationContext(Struct, frozen=True):
    """What operations need to know beyond the draft. `find` returns the path of an existing file for the name
    a caller used, `find_exact` that of a file with exactly this spelling on disk, or None; `find_stored_path`
    returns how the path of a visible file is spelled on disk, `match_spelling` how the folders of a new path
    are; `check_named` raises when a file, as it is on disk, may not be used, or is too large and does not
    stay `unread`; `check_settled` raises when another program has just emptied a file; `is_folder` looks at
    the disk; `find_tasks` finds tasks by a part of their text; `open_related` opens a search for mentions;
    `expand` returns a template's text for the title of a new note."""

    find: Callable[[str], VaultPath]
    find_exact: Callable[[str], VaultPath | None]
    find_stored_path: Callable[[VaultPath], VaultPath | None]
    match_spelling: Callable[[VaultPath], VaultPath]
    check_named: CheckNamed
    check_settled: Callable[[VaultPath], None]
    is_folder: Callable[[VaultPath], bool]
    expand: Callable[[str, str], str]
    notes_with_tag: Callable[[str], list[VaultPath]]
    find_tasks: Callable[[str], Sequence[FoundTask]]
    open_related: Callable[[], AbstractContextManager[RelatedSearch]]
    sources: LinkSources
    settings: VaultSettings
    scope: Scope


def find_existing(
    draft: Draft, name: str, context: OperationContext, *, reads: Callable[[VaultPath], bool] | None = None
) -> VaultPath:
    """Finds the file of the draft that a caller names: by a path, a path without `.md`, or a name. `reads`
    says whether it will be read: a film that is only moved may have any size. By default it will.

    Files that the draft itself created or moved come first; everything else is looked up in the vault. While
    there are none, an exact path needs neither the index nor the table of all files."""
    path = context.find_exact(name) if draft.keeps_paths else None
    if path is not None:
        draft.add_known_file(path)
    else:
        path = _find_in_draft(draft, name, context)
    if path is None:
        path = context.find(name)
        if not draft.exists(path):
            if draft.has_left(path):
                raise NoteNotFound(name)
            draft.add_known_file(path)
    context.check_named(path, unread=reads is not None and not reads(path))
    return path


def _find_in_draft(draft: Draft, name: str, context: OperationContext) -> VaultPath | None:
    for spelled in (name, f"{name}.md"):
        try:
            path = vault_path(spelled)
        except InvalidArgument:
            continue
        # Judged before it is looked up: a link to a hidden file is in the table only if that file exists.
        if context.scope.visible(path):
            for found in find_same_path(draft, path):
                return found
    made = [path for path in draft.new_paths() if file_name(path) in (name, f"{name}.md")]
    return made[0] if len(made) == 1 and context.scope.visible(made[0]) else None


def find_same_path(draft: Draft, path: VaultPath) -> list[VaultPath]:
    """Returns the files with this path in any spelling, an exact match first."""
    return sorted(map(VaultPath, draft.table.same_path(path)), key=lambda found: found != path)


def new_note_path(name: str, settings: VaultSettings) -> VaultPath:
    """Returns where a new note goes: to an exact path, or for a bare name to the folder in the settings."""
    if not name.strip("/ "):
        raise InvalidArgument("A new note needs a name.", argument="name")
    spelled = name if name.lower().endswith(TEXT_SUFFIXES) else f"{name}.md"
    if "/" not in spelled:
        spelled = join(settings.new_note_folder(None), spelled)
    return new_vault_path(spelled)


def resolve_new_path(draft: Draft, path: VaultPath, context: OperationContext) -> VaultPath:
    """Returns the path that a new file gets. Folders that differ only in case or Unicode form are one folder,
    so it goes into the existing one, on disk or in the draft. A hidden path stays as written: the caller must
    not learn how a hidden folder is spelled."""
    if not context.scope.visible(path):
        return path
    path = context.match_spelling(path)
    folder = folder_of(path)
    if not folder or context.is_folder(folder):
        return path
    key = name_key(folder)
    for made in draft.new_paths():
        above = folder_of(made)
        while above:
            if name_key(above) == key:
                return join(above, file_name(path))
            above = folder_of(above)
    return path


def is_folder(draft: Draft, path: VaultPath, context: OperationContext) -> bool:
    """Whether the draft has such a folder: one on disk, which may be empty, or one that it creates."""
    on_disk = context.is_folder(path) and not draft.has_left(path)
    return on_disk or any(is_under(made, path) for made in draft.new_paths())


def find_folder(draft: Draft, name: str, context: OperationContext) -> VaultPath | None:
    """Finds the folder that a name refers to: written with a `/` at the end, or sharing its name with no
    file."""
    try:
        folder = vault_path(name)
    except InvalidArgument:
        return None
    if not context.scope.visible(folder) or not is_folder(draft, folder, context):
        return None
    if name.endswith("/"):
        return folder
    as_file = draft.visible_table.same_path(folder) or draft.visible_table.same_path(f"{folder}.md")
    return None if as_file else folder


def list_files_under(draft: Draft, folder: VaultPath, context: OperationContext) -> list[VaultPath]:
    files = [VaultPath(path) for path in draft.table if is_under(path, folder)]
    if not all(map(context.scope.visible, files)):
        raise EditRefused(
            f"{folder}/ contains files that may not be changed from here.", hint="Name single files."
        )
    if len(files) > FOLDER_FILES:
        raise EditRefused(
            f"{folder}/ contains {len(files)} files; at most {FOLDER_FILES} can be changed at once."
        )
    return sorted(files)
