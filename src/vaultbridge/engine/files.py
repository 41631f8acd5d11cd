"""Attachments and canvases: where a new attachment goes, how a note links to it, and edits of a canvas by
name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from vaultbridge.canvas.edit import CanvasEdit
from vaultbridge.engine.operations import Write
from vaultbridge.engine.outcome import Outcome
from vaultbridge.engine.reading import FileView
from vaultbridge.errors import EditRefused, InvalidArgument, StaleWrite
from vaultbridge.links.resolve import file_name
from vaultbridge.links.syntax import write_link
from vaultbridge.markdown.edits.change import apply_changes
from vaultbridge.vault.paths import TEXT_SUFFIXES, VaultPath, folder_of, join, new_vault_path
from vaultbridge.vault.read import is_hash_of

if TYPE_CHECKING:
    from vaultbridge.engine.engine import Engine

NAMES_TRIED: Final = 1000
"""How many numbered names are tried before adding is refused: more copies of one name would be a mistake."""


def get_file_size(engine: Engine, path: VaultPath) -> int:
    return engine.root.status(path).st_size


def choose_attachment_path(engine: Engine, name: str, note: VaultPath | None) -> VaultPath:
    """Chooses where a new attachment goes: a path is used as it is, a bare name goes to the folder that the
    settings give for `note`. A name that is taken gets a number, as in the app. Raises InvalidPath,
    PermissionDenied, EditRefused."""
    name = engine.make_vault_relative(name)
    wanted = new_vault_path(name)
    if wanted.lower().endswith(TEXT_SUFFIXES) or "." not in file_name(wanted):
        raise InvalidArgument(
            f"{wanted} is not a name for an attachment.",
            argument="name",
            hint="Give it an extension, such as .png.",
        )
    if "/" not in name:
        wanted = new_vault_path(join(engine.settings.attachment_folder_for(note or VaultPath("")), wanted))
    # Checked before looking for a free name: a number would reveal that a hidden file has the name.
    engine.scope.check_write(wanted, new=True)
    return _find_free_path(engine.root.match_spelling(wanted), engine)


def _find_free_path(path: VaultPath, engine: Engine) -> VaultPath:
    """Finds a free name. A hidden name is never chosen, whether it is taken or not. The disk is checked last,
    because that reads a folder; but the table may not know a file that was added just now."""
    table = engine.queries.table()
    stem, _, ending = file_name(path).rpartition(".")
    candidate = path
    for number in range(1, NAMES_TRIED):
        hidden = not engine.scope.visible(candidate)
        if not (hidden or table.same_path(candidate) or engine.root.exists(candidate)):
            return candidate
        candidate = join(folder_of(path), f"{stem} {number}.{ending}")
    raise EditRefused(f"{path} already exists, and so do {NAMES_TRIED} numbered names after it.")


def render_embed(engine: Engine, path: VaultPath, note: VaultPath | None) -> str:
    """Writes the embed of the file as the app would, for `note` or for a note at the top of the vault."""
    # Of visible files only: a link longer than they need would reveal a hidden file of the same name.
    table = engine.queries.visible_table()
    return write_link(path, note or VaultPath("Note.md"), table, engine.settings.links, embed=True)


def view_canvas(engine: Engine, name: str) -> FileView:
    """Reads the text of a canvas. Its name may leave out `.canvas`. Raises NoteNotFound, AmbiguousName, or
    InvalidArgument for a file of another kind."""
    path = engine.find(name if name.lower().endswith(".canvas") else f"{name}.canvas")
    if not path.lower().endswith(".canvas"):
        raise InvalidArgument(f"{path} is not a canvas.", argument="name", hint="Name a .canvas file.")
    return engine.view(path, parsed=False)


def edit_canvas(
    engine: Engine,
    name: str,
    edit: Callable[[str], CanvasEdit],
    *,
    expected: str = "",
    dry_run: bool = False,
    actor: str = "",
) -> tuple[FileView, CanvasEdit, Outcome]:
    """Edits the canvas as it is now. Refused when it changes between reading and writing."""
    view = view_canvas(engine, name)
    if expected and not is_hash_of(expected, view.hash):
        raise StaleWrite(view.path, expected=expected, current=view.hash)
    edited = edit(view.text)
    text = apply_changes(view.text, edited.changes)
    # The edited text contains every byte of the old one, also those that are not UTF-8.
    wanted = Write(note=view.path, content=text, expected=view.hash, force=True)
    return view, edited, engine.apply([wanted], dry_run=dry_run, label="canvas", actor=actor)
