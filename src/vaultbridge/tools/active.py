"""`active` and `open`: what a person looks at in the app, and showing them something there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vaultbridge.errors import InvalidArgument
from vaultbridge.tools.base.answer import Answer, answer_data, answer_text, cut_text
from vaultbridge.tools.base.schema import Arguments, Block, Heading, MaxChars, NoteName, Start
from vaultbridge.tools.base.tool import ActiveNote, OpenFile, Tool, VaultContext

if TYPE_CHECKING:
    from collections.abc import Sequence

OPEN_FILES: Final = 50
"""How many open files are told: more tabs than a person keeps in mind."""


class Active(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"start", "max_chars"})

    start: Start = 0
    max_chars: MaxChars = 8_000


class Open(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"block"})

    name: NoteName
    heading: Heading = ""
    block: Block = ""


def run_active(context: VaultContext, arguments: Active) -> Answer:
    focus, files = _told(context)
    lines = [f"Active: {focus.path}" if focus is not None else "(no active note is known)"]
    if focus is not None and focus.selected is not None and focus.selected.text:
        selected = focus.selected
        lines.append(f"Selected, lines {selected.first_line}-{selected.last_line}:")
        lines.append(
            cut_text(selected.text, start=arguments.start, max_chars=arguments.max_chars).rstrip("\n")
        )
    elif focus is not None and focus.selected is not None:
        lines.append(f"Cursor in line {focus.selected.first_line}")
    if files:
        lines.append("Open:")
        lines += [f"{file.path}{'  (unsaved)' if file.dirty else ''}" for file in files[:OPEN_FILES]]
        if len(files) > OPEN_FILES:
            lines.append(f"(and {len(files) - OPEN_FILES} more)")
    return answer_text("\n".join(lines))


def _told(context: VaultContext) -> tuple[ActiveNote | None, Sequence[OpenFile]]:
    """By a connected editor, else by the app's workspace file, which knows no selection."""
    engine, editor = context.engine, context.tool_context.editor
    if editor is not None:
        folder = engine.root.folder
        focus, files = editor.focus(folder), editor.open_files(folder)
    elif not context.tool_context.shares_open_files():
        return None, []
    else:
        from vaultbridge.vault.obsidian import read_workspace

        workspace = read_workspace(engine.root)
        focus = ActiveNote(workspace.active) if workspace.active is not None else None
        files = [OpenFile(path) for path in dict.fromkeys(file.path for file in workspace.open_files)]
    visible = engine.scope.visible
    if focus is not None and not visible(focus.path):
        focus = None
    return focus, [file for file in files if visible(file.path)]


def run_open(context: VaultContext, arguments: Open) -> Answer:
    from vaultbridge.tools.obsidian_app import ObsidianApp

    if arguments.heading and arguments.block:
        raise InvalidArgument("Give heading or block, not both.", argument="block")
    path = context.engine.find(arguments.name)
    subpath = f"#{arguments.heading}" if arguments.heading else ""
    if arguments.block:
        subpath = f"#^{arguments.block.removeprefix('^')}"
    app = context.tool_context.app or ObsidianApp()
    app.show(context.engine.name, path, subpath)
    return answer_data({"path": path, "opened": True}, changed=False)


ACTIVE = Tool(
    name="active",
    description="The note open in the app, the selection, and the other open files",
    arguments=Active,
    run=run_active,
    group="app",
)

OPEN = Tool(
    name="open",
    title="Open in Obsidian",
    description="Show a note to the person, in the running app",
    arguments=Open,
    run=run_open,
    group="app",
    note="name",
)
