"""`active` and `open`: what a person is looking at in Obsidian, and showing them a note there.

The app is asked to show a file by its own `obsidian://` addresses.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from vaultbridge.engine.operations.base import BlockName, SectionName
from vaultbridge.errors import EngineFailure, InvalidArgument, ObsidianNotRunning
from vaultbridge.tools.base.answer import Answer, answer_data, answer_text, cut_text
from vaultbridge.tools.base.schema import Arguments, MaxChars, NoteName, Start
from vaultbridge.tools.base.tool import ActiveNote, OpenFile, Tool, VaultContext
from vaultbridge.vault.obsidian import is_obsidian_running, make_obsidian_link, read_workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

OPEN_FILES: Final = 50
"""How many open files are listed: more tabs than a person keeps in mind."""


OPENER_SECONDS: Final = 10.0
"""How long the system's opener may take; it only passes a message on."""


class ActiveArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"start", "max_chars"})

    start: Start = 0
    max_chars: MaxChars = 8_000


class OpenArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"block"})

    name: NoteName
    heading: SectionName = ""
    block: BlockName = ""


def run_active(context: VaultContext, arguments: ActiveArguments) -> Answer:
    focus, files = _find_focus(context)
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


def _find_focus(context: VaultContext) -> tuple[ActiveNote | None, Sequence[OpenFile]]:
    """From a connected editor, else from the app's workspace file, which does not know the selection."""
    engine, editor = context.engine, context.tool_context.editor
    if editor is not None:
        folder = engine.root.folder
        focus, files = editor.focus(folder), editor.open_files(folder)
    elif not context.tool_context.shares_open_files():
        return None, []
    else:
        workspace = read_workspace(engine.root)
        focus = ActiveNote(workspace.active) if workspace.active is not None else None
        files = [OpenFile(path) for path in dict.fromkeys(file.path for file in workspace.open_files)]
    visible = engine.scope.visible
    if focus is not None and not visible(focus.path):
        focus = None
    return focus, [file for file in files if visible(file.path)]


def run_open(context: VaultContext, arguments: OpenArguments) -> Answer:
    if arguments.heading and arguments.block:
        raise InvalidArgument("Give heading or block, not both.", argument="block")
    path = context.engine.find(arguments.name)
    subpath = f"#{arguments.heading}" if arguments.heading else ""
    if arguments.block:
        subpath = f"#^{arguments.block.removeprefix('^')}"
    app = context.tool_context.app or ObsidianApp()
    app.show(context.engine.name, path, subpath)
    return answer_data({"path": path, "opened": True}, changed=False)


class ObsidianApp:
    """The Obsidian app on this machine."""

    def __init__(self, environ: Mapping[str, str] = os.environ, *, platform: str = sys.platform) -> None:
        self._environ = environ
        self._platform = platform

    def show(self, vault: str, path: str, subpath: str) -> None:
        """Show a file. Raises ObsidianNotRunning, because opening an address would start the app, which
        nobody asked for."""
        if not is_obsidian_running(self._environ, platform=self._platform):
            raise ObsidianNotRunning(
                "Obsidian application is not running. Please start Obsidian and try again."
            )
        address = make_obsidian_link(vault, path + subpath)
        if self._platform == "win32":
            try:
                os.startfile(address)  # type: ignore[attr-defined,unused-ignore]
            except OSError as error:
                raise EngineFailure("Obsidian could not be opened: it is not installed.") from error
            return
        self._run_opener("open" if self._platform == "darwin" else "xdg-open", address)

    def _run_opener(self, opener: str, address: str) -> None:
        import subprocess

        try:
            # The opener must not write to our standard output, which belongs to the protocol.
            ended = subprocess.run(
                [opener, address],
                env=dict(self._environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=OPENER_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EngineFailure(
                f"Obsidian could not be opened: {opener} failed.", hint=f"Check that {opener} is installed."
            ) from error
        if ended.returncode:
            raise EngineFailure(f"Obsidian could not be opened: {opener} failed ({ended.returncode}).")


ACTIVE = Tool(
    name="active",
    description="The active (current) note, the selected text and the other open files",
    arguments=ActiveArguments,
    run=run_active,
    group="app",
)

OPEN = Tool(
    name="open",
    title="Open in Obsidian",
    description="Show a note to the user in Obsidian",
    arguments=OpenArguments,
    run=run_open,
    group="app",
    note="name",
)
