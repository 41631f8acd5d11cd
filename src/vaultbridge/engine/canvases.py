"""A canvas by name: read with its hash, edited as one change of its text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vaultbridge.engine.engine import FileView
from vaultbridge.engine.operations import Outcome, Write
from vaultbridge.errors import InvalidArgument, StaleWrite
from vaultbridge.note.canvas_edit import CanvasEdit
from vaultbridge.note.change import apply_changes

if TYPE_CHECKING:
    from vaultbridge.engine.engine import Engine


def canvas_view(engine: Engine, name: str) -> FileView:
    """A bare name may leave the `.canvas` out, when no note has it. Raises NoteNotFound, AmbiguousName, or
    InvalidArgument for a file of another kind."""
    path = engine.find(name if name.lower().endswith(".canvas") else f"{name}.canvas")
    if not path.lower().endswith(".canvas"):
        raise InvalidArgument(f"{path} is no canvas.", argument="name", hint="Name a .canvas file.")
    return engine.view(path)


def edit_canvas(
    engine: Engine,
    name: str,
    edit: Callable[[str], CanvasEdit],
    *,
    expected: str = "",
    dry_run: bool = False,
    actor: str = "",
) -> tuple[FileView, CanvasEdit, Outcome]:
    """Carry out one edit on the canvas as it is now; refused when it changes between reading and writing."""
    view = canvas_view(engine, name)
    if expected and expected != view.hash:
        raise StaleWrite(view.path, expected=expected, current=view.hash)
    edited = edit(view.text)
    text = apply_changes(view.text, edited.changes)
    wanted = Write(note=view.path, content=text, expected=view.hash)
    return view, edited, engine.apply([wanted], dry_run=dry_run, label="canvas", actor=actor)
