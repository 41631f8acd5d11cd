"""The tools that an IDE offers to Claude Code's client, with the names, arguments and answers it expects.

Answers are text content; objects are sent as JSON text. The client calls these tools itself, even if they
were not listed; the model sees hardly any of them. `ToolCall` has what a tool needs from its connection.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from vaultbridge.activity.records import record_proposal
from vaultbridge.editor.hub import AssistantSession, EditorHub
from vaultbridge.editor.model import Point, Selection, VaultView
from vaultbridge.errors import InvalidArgument, NoteNotFound, ObsidianNotRunning, VaultbridgeError
from vaultbridge.markdown.text import Positions
from vaultbridge.protocols.claude_ide import wire
from vaultbridge.protocols.claude_ide.wire import IdePaths
from vaultbridge.protocols.dialect import Call
from vaultbridge.protocols.mcp.values import ToolAnnotations, ToolInfo
from vaultbridge.review.diff_model import Accepted
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.write.journal_rows import Acceptance

log = logging.getLogger("vaultbridge.ide")

TABS_WITH_LINE_COUNTS: Final = 50
"""The most open notes whose lines `getOpenEditors` counts; each costs a read."""


FILE_ARGUMENTS: Final = ("filePath", "old_file_path", "uri")
"""The arguments that name the file a call is about: the vault that contains it answers."""


class ToolCall(msgspec.Struct):
    """One call and what is needed to answer it. `hub`, `view` and `paths` are those of the vault that
    contains the named file; `hubs` are those of all vaults."""

    arguments: dict[str, Any]
    rpc_call: Call
    session: AssistantSession
    hub: EditorHub
    hubs: tuple[EditorHub, ...]
    view: VaultView
    paths: IdePaths
    software: str = ""
    """The name that the client gives itself."""
    pid: int = 0

    def text(self, name: str) -> str:
        value = self.arguments.get(name)
        if not isinstance(value, str):
            raise InvalidArgument(f"{name} must be a string.", argument=name)
        return value

    def optional_text(self, name: str) -> str:
        return self.text(name) if self.arguments.get(name) is not None else ""

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.arguments.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InvalidArgument(f"{name} must be true or false.", argument=name)
        return value

    def file(self) -> VaultPath:
        """`filePath`. A note that assistants may not see raises like a missing one."""
        path = self.paths.from_uri(self.text("filePath"))
        if not self.view.visible(path):
            raise NoteNotFound(path)
        return path

    def document(self) -> tuple[VaultPath, bool]:
        """`filePath`, and whether an editor has it open. A hidden file is not open, like a missing one."""
        path = self.paths.from_uri(self.text("filePath"))
        is_open = any(file.path == path for file in self.hub.state.open_files())
        return path, is_open and self.view.visible(path)


Blocks = tuple[str, ...]
IdeTool = Callable[[ToolCall], Awaitable[Blocks]]


async def open_file(call: ToolCall) -> Blocks:
    path = call.file()
    text = await call.view.read_text(path)
    front = call.flag("makeFrontmost", default=True)
    selection = _find_selection(
        text,
        call.optional_text("startText"),
        call.optional_text("endText"),
        to_line_end=call.flag("selectToEndOfLine", default=False),
    )
    preview = call.flag("preview", default=False)
    opened = [
        await editor.open_file(path, selection, preview=preview, front=front)
        for editor in tuple(call.hub.editors.values())
    ]
    if not any(opened):
        raise ObsidianNotRunning(
            "No connected editor could open the file.",
            hint="Start Obsidian with the companion, or open the page.",
        )
    absolute = call.paths.absolute(path)
    if front:
        return (f"Opened file: {absolute}",)
    return _json(
        {
            "success": True,
            "filePath": absolute,
            "languageId": wire.find_language_id(path),
            "lineCount": Positions(text).line_count,
        }
    )


async def open_diff(call: ToolCall) -> Blocks:
    """Wait for a person's decision. The client writes the file itself after an acceptance."""
    tab_name = call.text("tab_name")
    new_text = call.text("new_file_contents")
    call.text("new_file_path")
    path = call.paths.parse(call.text("old_file_path"), argument="old_file_path")
    if not call.view.visible(path):
        raise NoteNotFound(path)

    limited = True

    async def read() -> str:
        nonlocal limited
        try:
            text = await call.view.read_text(path)
        except NoteNotFound:
            text = ""
        if limited:
            # From here on we wait for a person. The limit is lifted only at the first read: at a later one,
            # the call may be over.
            limited = False
            call.rpc_call.lift_time_limit()
        # The client always sends LF and restores the file's line ends itself: without this, every line of a
        # CRLF note would look changed.
        return text.replace("\r\n", "\n")

    record_proposal(call.view.folder, path, "")
    try:
        decision = await call.hub.diffs.ask(
            call.session.name,
            tab_name,
            path,
            read,
            new_text,
            software=call.software,
            pid=call.pid,
            journal=_NoteJournal(call, path),
        )
    except ObsidianNotRunning:
        log.info("No editor can show the diff of %s: left to the terminal of %s", path, call.session.name)
        raise
    if isinstance(decision, Accepted):
        return (wire.FILE_SAVED, decision.text)
    return (wire.DIFF_REJECTED, tab_name)


class _NoteJournal:
    """Records what the client writes after an accepted diff (`review.diff_model.NoteJournal`)."""

    def __init__(self, call: ToolCall, path: VaultPath) -> None:
        self._view = call.view
        self._actor = call.software or call.session.name
        self._path = path
        self._since = time.time()

    async def snapshot(self) -> bytes | None:
        return await self._view.snapshot(self._path)

    async def record(self, before: bytes | None, after: bytes, acceptance: Acceptance) -> int:
        return await self._view.record_write(
            self._path, before, after, actor=self._actor, label="accepted diff", acceptance=acceptance
        )

    async def identify_writer(self, before: bytes | None, now: bytes | None) -> str:
        return await self._view.identify_writer(self._path, before, now, since=self._since)


async def close_tab(call: ToolCall) -> Blocks:
    tab_name = call.text("tab_name")
    for hub in call.hubs:
        hub.diffs.close_tab(call.session.name, tab_name)
    return (wire.TAB_CLOSED,)


async def close_all_diff_tabs(call: ToolCall) -> Blocks:
    """Close all diffs. The client calls this with every submitted prompt, and then forgets the selection."""
    count = sum(hub.diffs.close_all(call.session.name) for hub in call.hubs)
    call.session.prompt_submitted()
    return (f"CLOSED_{count}_DIFF_TABS",)


async def get_diagnostics(call: ToolCall) -> Blocks:
    """Never fails: a file outside the vault, or one that cannot be read, has no diagnostics."""
    uri = call.optional_text("uri")
    try:
        path = call.paths.from_uri(uri, argument="uri") if uri else None
        hidden = path is not None and not call.view.visible(path)
        # A hidden file is answered like a missing one: with no diagnostics.
        notes = [] if hidden else await call.view.findings(path)
    except VaultbridgeError:
        return _json([])
    if path is not None:
        return _json(
            [wire.encode_diagnostics(note, uri) for note in notes] or [{"uri": uri, "diagnostics": []}]
        )
    return _json([wire.encode_diagnostics(note, call.paths.raw_uri(note.path)) for note in notes])


async def get_current_selection(call: ToolCall) -> Blocks:
    return _json(wire.encode_current_selection(call.hub.state.focus(), call.paths, "No active editor found"))


async def get_latest_selection(call: ToolCall) -> Blocks:
    return _json(wire.encode_current_selection(call.hub.state.latest(), call.paths, "No selection available"))


async def get_open_editors(call: ToolCall) -> Blocks:
    focus = call.hub.state.focus()
    tabs = []
    for number, file in enumerate(call.hub.state.open_files()):
        lines = file.lines
        if not lines and number < TABS_WITH_LINE_COUNTS:
            lines = await _count_lines(call.view, file.path)
        active = focus is not None and focus.path == file.path
        tabs.append(wire.encode_tab(file, call.paths, active=active, lines=lines))
    return _json({"tabs": tabs})


async def get_workspace_folders(call: ToolCall) -> Blocks:
    folder = call.view.folder
    entry = {"name": call.view.name, "uri": folder.as_uri(), "path": str(folder)}
    return _json({"success": True, "folders": [entry], "rootPath": str(folder)})


async def check_document_dirty(call: ToolCall) -> Blocks:
    path, is_open = call.document()
    absolute = call.paths.absolute(path)
    if not is_open:
        return _json({"success": False, "message": f"Document not open: {absolute}"})
    dirty = call.hub.state.is_dirty(path)
    return _json({"success": True, "filePath": absolute, "isDirty": dirty, "isUntitled": False})


async def save_document(call: ToolCall) -> Blocks:
    path, is_open = call.document()
    absolute = call.paths.absolute(path)
    if not is_open:
        return _json({"success": False, "message": f"Document not open: {absolute}"})
    saved = not call.hub.state.is_dirty(path)
    message = "Document was already saved" if saved else "Document saved successfully"
    if not saved:
        for editor in tuple(call.hub.editors.values()):
            saved = await editor.save_file(path) or saved
    if not saved:
        message = "No connected editor could save the document"
    return _json({"success": saved, "filePath": absolute, "saved": saved, "message": message})


async def _count_lines(view: VaultView, path: VaultPath) -> int:
    try:
        return Positions(await view.read_text(path)).line_count
    except VaultbridgeError:
        return 0


def _find_selection(text: str, start_text: str, end_text: str, *, to_line_end: bool) -> Selection | None:
    """The range from `start_text` to the end of the next `end_text`; None when there is nothing to select."""
    if not start_text:
        return None
    if "\r\n" in text:
        # The client sees every file with LF.
        start_text, end_text = (
            piece.replace("\r\n", "\n").replace("\n", "\r\n") for piece in (start_text, end_text)
        )
    start = text.find(start_text)
    if start < 0:
        return None
    end = start + len(start_text)
    if end_text:
        position = text.find(end_text, end)
        end = end if position < 0 else position + len(end_text)
    positions = Positions(text)
    if to_line_end:
        end = positions.end_of_line(positions.line_of(end))
    first, last = positions.to_lsp(start), positions.to_lsp(end)
    return Selection(Point(first[0] + 1, first[1]), Point(last[0] + 1, last[1]), text[start:end])


def _json(value: Any) -> Blocks:
    return (msgspec.json.encode(value).decode(),)


_ARGUMENT_DESCRIPTIONS: Final = {
    "filePath": "Absolute path of the file",
    "preview": "Open it as a preview",
    "startText": "Select from this text on",
    "endText": "Select up to the end of this text",
    "selectToEndOfLine": "Select to the end of the line",
    "makeFrontmost": "Bring it to the front",
    "old_file_path": "Absolute path of the file as it is",
    "new_file_path": "Absolute path to save to",
    "new_file_contents": "The whole proposed text",
    "tab_name": "Name of the comparison's tab",
    "uri": "file: address; default: all files",
}
"""The description of each argument in the schemas."""


def _schema(required: tuple[str, ...] = (), **properties: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            name: {"type": kind, "description": _ARGUMENT_DESCRIPTIONS[name]}
            for name, kind in properties.items()
        },
        "required": list(required),
        "additionalProperties": False,
    }


_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_SHOWS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
_FILE = _schema(("filePath",), filePath="string")


def _tool(name: str, does: str, schema: dict[str, Any], hints: ToolAnnotations) -> ToolInfo:
    return ToolInfo(name=name, description=does, input_schema=schema, annotations=hints)


_DIFF_SCHEMA = _schema(
    ("old_file_path", "new_file_path", "new_file_contents", "tab_name"),
    old_file_path="string",
    new_file_path="string",
    new_file_contents="string",
    tab_name="string",
)
_OPEN_SCHEMA = _schema(
    ("filePath",),
    filePath="string",
    preview="boolean",
    startText="string",
    endText="string",
    selectToEndOfLine="boolean",
    makeFrontmost="boolean",
)

TOOLS: Final[dict[str, tuple[ToolInfo, IdeTool]]] = {
    info.name: (info, tool)
    for info, tool in (
        (_tool("openFile", "Open a note in the connected editor.", _OPEN_SCHEMA, _SHOWS), open_file),
        (
            _tool("openDiff", "Show a proposed change and wait for the decision.", _DIFF_SCHEMA, _SHOWS),
            open_diff,
        ),
        (
            _tool(
                "close_tab",
                "Close a diff; it counts as rejected.",
                _schema(("tab_name",), tab_name="string"),
                _SHOWS,
            ),
            close_tab,
        ),
        (
            _tool("closeAllDiffTabs", "Close all diffs of this client.", _schema(), _SHOWS),
            close_all_diff_tabs,
        ),
        (
            _tool("getDiagnostics", "What is wrong in a note or the vault.", _schema(uri="string"), _READS),
            get_diagnostics,
        ),
        (_tool("getCurrentSelection", "The selected text.", _schema(), _READS), get_current_selection),
        (_tool("getLatestSelection", "The last selected text.", _schema(), _READS), get_latest_selection),
        (_tool("getOpenEditors", "The open notes.", _schema(), _READS), get_open_editors),
        (_tool("getWorkspaceFolders", "The vault's folder.", _schema(), _READS), get_workspace_folders),
        (
            _tool("checkDocumentDirty", "Whether a note has unsaved changes.", _FILE, _READS),
            check_document_dirty,
        ),
        (_tool("saveDocument", "Save an open note.", _FILE, _SHOWS), save_document),
    )
}
