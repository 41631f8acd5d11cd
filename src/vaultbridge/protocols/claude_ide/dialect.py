"""The messages of Claude Code's IDE socket: MCP, the methods of the two documents that we hold to (000 and
001, in docs/protocols), the IDE tools and the notifications.

    ide = ClaudeIde(view, hub, server)
    connection = Connection(ide.dialect(name), socket)      # one per client

Every connection has a session at the hub, which sends the client what the person does in an editor. MCP
itself is left to `protocols.mcp`; the shapes of this protocol are in `wire`, its tools in `tools`.
"""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import msgspec

from vaultbridge.editor.feed import FeedEvent, NoFocus
from vaultbridge.editor.hub import EditorHub
from vaultbridge.editor.model import Mention, VaultView
from vaultbridge.errors import EngineFailure, InvalidArgument, NoteNotFound, VaultbridgeError
from vaultbridge.jsonrpc.messages import (
    INTERNAL_ERROR,
    ErrorObject,
    Notification,
    PeerDisconnected,
    PeerError,
    Request,
)
from vaultbridge.limits import MIB
from vaultbridge.protocols import failures
from vaultbridge.protocols.claude_ide import wire
from vaultbridge.protocols.claude_ide.tools import FILE_ARGUMENTS, TOOLS, ToolCall
from vaultbridge.protocols.claude_ide.wire import IdePaths, read_path_uri
from vaultbridge.protocols.dialect import (
    Call,
    Dialect,
    Handler,
    HandlerResult,
    Peer,
    make_method_not_found,
)
from vaultbridge.protocols.mcp import wire as mcp_wire
from vaultbridge.protocols.mcp.dialect import MODERN_ONLY, McpDialect
from vaultbridge.protocols.mcp.provider import EmptyProvider, Offer, Provider
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.versions import V2024_11_05
from vaultbridge.review.policy import ChangePending
from vaultbridge.vault.absolute import find_innermost

MESSAGES_REMEMBERED: Final = 20
"""Messages listed per client in `status`: names and times only."""

ROOTS_SECONDS: Final = 5.0
"""How long the client may take to answer in which folder it runs. Without an answer, paths with spaces are
sent unquoted."""

ANSWER_BYTES: Final = 10 * MIB - 1024
"""Document 000's limit for a message, less room for what surrounds the text."""

SAFE_CHARS: Final = 1 * MIB
"""A text of this many characters always fits: JSON writes a character in at most six bytes."""

log = logging.getLogger("vaultbridge.ide")


class IdeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`relative_paths` sends `filePath` as document 000 writes it. `quote_mentions` turns `wire.quote_path`
    on."""

    relative_paths: bool = False
    quote_mentions: bool = True


class ClientRecord(msgspec.Struct):
    """What `status` shows of one client. `messages` are (seconds since the epoch, direction, name)."""

    name: str
    since: float
    software: str = ""
    pid: int = 0
    folder: str = ""
    messages: deque[tuple[float, str, str]] = msgspec.field(
        default_factory=lambda: deque(maxlen=MESSAGES_REMEMBERED)
    )


class ClaudeIde:
    """What all IDE connections of a vault share. `server` offers the vault's own tools, resources and prompts
    to clients that list them; without it there are only the IDE's tools."""

    def __init__(
        self,
        view: VaultView,
        hub: EditorHub,
        server: McpServer | None = None,
        options: IdeOptions | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        options = options or IdeOptions()
        self.view = view
        self.hub = hub
        self.server = server or McpServer(Offer(resources=True, logging=False), _make_empty_provider)
        self.options = options
        self.paths = IdePaths(view, relative=options.relative_paths)
        self.clock = clock
        self.others: tuple[ClaudeIde, ...] = ()
        """The other vaults of the same bridge. A connection starts here, and moves to the vault in whose
        folder the client runs."""
        self._clients: dict[str, ClientRecord] = {}

    def dialect(self, name: str) -> Callable[[Peer], Dialect]:
        """A factory for the dialect of the connection `name`."""
        return lambda peer: _IdeDialect(self, peer, self.add_client(ClientRecord(name, self.clock())))

    def clients(self) -> tuple[ClientRecord, ...]:
        return tuple(self._clients.values())

    def add_client(self, record: ClientRecord) -> ClientRecord:
        self._clients[record.name] = record
        return record

    def for_folder(self, folder: str) -> ClaudeIde:
        """The vault that contains `folder`, the innermost; this one when none does."""
        return self.for_path(os.path.realpath(folder))

    def for_path(self, path: str) -> ClaudeIde:
        """The vault that contains an absolute path, the innermost; this one for every other path."""
        ides = {ide.view.folder: ide for ide in self.all}
        folder = find_innermost(path, ides)
        return self if folder is None else ides[folder]

    @property
    def all(self) -> tuple[ClaudeIde, ...]:
        return (self, *self.others)

    def remove_client(self, name: str) -> None:
        self._clients.pop(name, None)


class _IdeDialect:
    in_order = McpDialect.in_order | {
        # Answered at once from memory: a separate task would cost more than the answer.
        "ping",
        "initialized",
        "getOpenFiles",
        "getCurrentFile",
        "workspace/selection",
    }

    def __init__(self, ide: ClaudeIde, peer: Peer, record: ClientRecord) -> None:
        self._ide = ide
        self._peer = peer
        self._record = record
        self._mcp = McpDialect(ide.server, peer, stateless=False, honours_exit=False)
        self._session = ide.hub.connect(record.name, self._notify)
        self._asking_folder = False
        self._methods: dict[str, Handler] = {
            "files/read": self._read_file,
            "readFile": self._read_file,
            "writeFile": self._write_file,
            "listFiles": self._list_files,
            "getWorkspaceInfo": self._workspace_info,
            "getOpenFiles": self._open_files,
            "getCurrentFile": self._current_file,
            "workspace/selection": self._selection,
            "initialized": self._initialized,
            "tools/list": self._list_tools,
        }

    # `Dialect`.

    def find_handler(self, request: Request) -> Handler:
        self._record_message("<", request.method)
        if log.isEnabledFor(logging.DEBUG):
            log.debug("Parsed message: request %s from %s", request.method, self._record.name)
        handler = self._methods.get(request.method)
        if handler is not None:
            return handler
        if _is_ide_tool(request):
            return self._mcp.wrap_handler(request, self._call_ide_tool)
        if request.method == "initialize" and "protocolVersion" not in request.params:
            # Document 000 shows no parameters at all; there was only one version then.
            request.params["protocolVersion"] = V2024_11_05.name
        if request.method == "resources/list" and not self._ide.server.offer.resources:
            return self._mcp.wrap_handler(request, self._no_resources)
        if not self._mcp.has_method(request.method) and request.method not in MODERN_ONLY:
            # Even before `initialize`, which the clients of document 001 may never send.
            raise make_method_not_found(request.method)
        return self._mcp.find_handler(request)

    def is_change(self, request: Request) -> bool:
        # The IDE's tools show something in an editor, or ask a person who may take any time.
        return request.method == "writeFile" or (not _is_ide_tool(request) and self._mcp.is_change(request))

    def handle_notification(self, notification: Notification) -> None:
        method = notification.method
        self._record_message("<", method)
        if log.isEnabledFor(logging.DEBUG):
            log.debug("Parsed message: notification %s from %s", method, self._record.name)
        self._mcp.handle_notification(notification)
        if method in ("notifications/initialized", "initialized"):
            self._client_ready(ask=bool(self._ide.others))
        elif method == wire.IDE_CONNECTED:
            pid = notification.params.get("pid")
            self._record.pid = pid if isinstance(pid, int) else 0
            self._client_ready(ask=True)

    def render_failure(self, error: Exception, call: Call) -> ErrorObject | HandlerResult:
        verb = {"files/read": "read", "readFile": "read", "writeFile": "write"}.get(call.method)
        if verb is None or not isinstance(error, VaultbridgeError) or isinstance(error, InvalidArgument):
            return self._mcp.render_failure(error, call)
        # Document 001 prescribes this code and this wording for a failed file operation.
        why = "File not found" if isinstance(error, NoteNotFound) else str(error)
        return ErrorObject(INTERNAL_ERROR, f"failed to {verb} file: {why}", failures.render_error_data(error))

    def time_limit(self, method: str, seconds: float) -> float | None:
        return self._mcp.time_limit(method, seconds)

    def input_ended(self) -> None:
        self._close_diffs()
        self._mcp.input_ended()

    def _close_diffs(self) -> None:
        """Close this client's diffs, including those of notes in other vaults."""
        for ide in self._ide.all:
            ide.hub.diffs.close_all(self._record.name)

    async def close(self) -> None:
        self._close_diffs()
        self._session.leave()
        self._ide.remove_client(self._record.name)
        await self._mcp.close()

    # Notifications.

    def _notify(self, event: FeedEvent) -> None:
        if isinstance(event, Mention):
            folder = self._record.folder if self._ide.options.quote_mentions else ""
            self._send(wire.AT_MENTIONED, wire.encode_mention(event, self._ide.paths, client_folder=folder))
            log.info("Sent at-mention to %s: %s", self._record.name, event.path)
        else:
            focus = None if isinstance(event, NoFocus) else event
            self._send(wire.SELECTION_CHANGED, wire.encode_selection(focus, self._ide.paths))

    def _client_ready(self, *, ask: bool) -> None:
        """Activate the session: at once with one vault, with several once the client's vault is known."""
        if not self._ide.others:
            self._session.activate()
        if ask:
            self._peer.spawn(self._choose_vault())

    async def _choose_vault(self) -> None:
        if self._asking_folder:
            return  # An earlier notification has asked already, and chooses when the answer arrives.
        if not self._record.folder:
            self._asking_folder = True
            await self._ask_folder()
            self._asking_folder = False
        if not self._ide.others:
            return
        ide = self._ide.for_folder(self._record.folder) if self._record.folder else self._ide
        if ide is not self._ide:
            self._ide.remove_client(self._record.name)
            self._session.leave()
            self._ide = ide
            ide.add_client(self._record)
            self._session = ide.hub.connect(self._record.name, self._notify)
        self._session.activate()

    def _send(self, method: str, params: dict[str, Any]) -> None:
        self._record_message(">", method)
        self._peer.notify(method, params)

    async def _ask_folder(self) -> None:
        """Ask where the client runs: its only root. Needed to quote mentions, and useful in `status`."""
        if "roots" not in self._mcp.client.capabilities:
            return
        try:
            answer = await self._peer.request("roots/list", {}, seconds=ROOTS_SECONDS)
        except (VaultbridgeError, PeerError, PeerDisconnected):
            return
        roots = answer.get("roots") if isinstance(answer, dict) else None
        uri = (
            roots[0].get("uri") if isinstance(roots, list) and roots and isinstance(roots[0], dict) else None
        )
        if isinstance(uri, str) and uri.startswith("file://"):
            self._record.folder = unquote(urlsplit(uri).path)

    # The methods of documents 000 and 001.

    async def _read_file(self, call: Call) -> str:
        text = mcp_wire.read_string(call.params, "path")
        ide = self._ide.for_path(text)
        path = ide.paths.parse_lenient(text)
        content = await ide.view.read_text(path, exact=True)
        if len(content) > SAFE_CHARS and len(msgspec.json.encode(content)) > ANSWER_BYTES:
            raise EngineFailure(f"{path} does not fit in one message of {ANSWER_BYTES} bytes.")
        return content

    async def _write_file(self, call: Call) -> dict[str, Any]:
        text = mcp_wire.read_string(call.params, "path")
        ide = self._ide.for_path(text)
        path = ide.paths.parse_for_write(text)
        actor = f"ide:{self._mcp.client.name or 'client'}"
        content = mcp_wire.read_string(call.params, "content")
        try:
            stored = await ide.view.write_text(
                path,
                content,
                actor=actor,
                force=call.params.get("force") is True,
                on_wait=lambda: self._peer.pass_turn(call.id),
            )
        except ChangePending as pending:
            return {"success": False, **pending.facts}
        # A relative path would lead to this connection's own vault when it is sent back.
        return {"success": True, "path": stored if ide is self._ide else ide.paths.absolute(stored)}

    async def _list_files(self, call: Call) -> list[str]:
        return list(await self._ide.view.list_files(mcp_wire.read_optional_string(call.params, "pattern")))

    async def _workspace_info(self, call: Call) -> dict[str, Any]:
        view = self._ide.view
        return {
            "name": view.name,
            "path": str(view.folder),
            "fileCount": await view.file_count(),
            "type": "obsidian-vault",
        }

    async def _open_files(self, call: Call) -> list[str]:
        return [file.path for file in self._ide.hub.state.open_files()]

    async def _current_file(self, call: Call) -> str | None:
        focus = self._ide.hub.state.focus()
        return None if focus is None else focus.path

    async def _selection(self, call: Call) -> dict[str, Any]:
        return wire.encode_workspace_selection(self._ide.hub.state.focus(), self._ide.paths)

    async def _initialized(self, call: Call) -> dict[str, Any]:
        """Document 000 lists `initialized` as a request: with an id, it is answered."""
        self._mcp.handle_notification(Notification("initialized", {}))
        self._client_ready(ask=bool(self._ide.others))
        return {}

    async def _no_resources(self, call: Call) -> dict[str, Any]:
        return {"resources": []}

    # MCP, with the IDE's tools added.

    async def _list_tools(self, call: Call) -> dict[str, Any]:
        listed: Awaitable[dict[str, Any]] = self._mcp.find_handler(call.request)(call)
        result = await listed
        version = self._mcp.version_of(call.request)
        own = [mcp_wire.render_item(info, version) for info, _ in TOOLS.values()]
        result["tools"] = own + [tool for tool in result["tools"] if tool["name"] not in TOOLS]
        return result

    async def _call_ide_tool(self, call: Call) -> dict[str, Any]:
        _, tool = TOOLS[call.params["name"]]
        self._record_message("<", call.params["name"])
        arguments = mcp_wire.read_object(call.params, "arguments")
        file = next((value for key in FILE_ARGUMENTS if isinstance(value := arguments.get(key), str)), "")
        ide = self._ide.for_path(read_path_uri(file))
        hubs = tuple(ide.hub for ide in self._ide.all)
        tool_call = ToolCall(
            arguments,
            call,
            self._session,
            ide.hub,
            hubs,
            ide.view,
            ide.paths,
            self._mcp.client.name,
            self._record.pid,
        )
        blocks = await tool(tool_call)
        return {"content": [{"type": "text", "text": block} for block in blocks]}

    def _record_message(self, direction: str, name: str) -> None:
        self._record.messages.append((self._ide.clock(), direction, name[:100]))
        if not self._record.software:
            self._record.software = self._mcp.client.name


def _is_ide_tool(request: Request) -> bool:
    name = request.params.get("name")
    return request.method == "tools/call" and isinstance(name, str) and name in TOOLS


async def _make_empty_provider() -> Provider:
    return EmptyProvider()
