"""The `/editor` protocol: how the companion, the page, the command line and other editors connect.

JSON-RPC 2.0 on a WebSocket. The first message is `hello`, with the token unless the upgrade request carried
it; nothing else is answered before it, and a connection without it is closed. docs/editor-protocol.md is the
reference. This dialect turns messages into calls of the hub and back, and keeps no state.
"""

from __future__ import annotations

import asyncio
import hmac
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol

from vaultbridge import __version__
from vaultbridge.editor.hub import EditorHub
from vaultbridge.editor.model import TOP_OF_NOTE, Selection, VaultView
from vaultbridge.errors import EditRefused, InvalidArgument, PermissionDenied, VaultbridgeError
from vaultbridge.jsonrpc.messages import (
    INVALID_REQUEST,
    Params,
    PeerDisconnected,
    PeerError,
    Request,
    RpcError,
)
from vaultbridge.protocols.claude_ide.dialect import ClaudeIde
from vaultbridge.protocols.dialect import Call, Dialect, Handler, MethodTable, Peer
from vaultbridge.protocols.editor import wire
from vaultbridge.protocols.editor.review_methods import REVIEW_METHODS, ReviewMethods
from vaultbridge.vault.paths import VaultPath, vault_path


class Feed(Protocol):
    """One front end's subscription."""

    def watch_trace(self, *, on: bool, json: bool) -> None: ...

    def close(self) -> None: ...


class ActivitySource(Protocol):
    def open_feed(self, notify: Callable[[str, dict[str, Any]], None]) -> Feed:
        """Notify a front end of everything that happens, until the feed is closed."""
        ...

    async def list_assistants(self) -> dict[str, Any]:
        """`{assistants, pausedAll}`, as the page's API answers it."""
        ...

    async def list_entries(
        self, vault: str, *, limit: int, before: str = "", kinds: Sequence[str] = ()
    ) -> dict[str, Any]:
        """What was done in a vault, newest first, `{entries, next, …}`, as the page's API answers it. Raises
        InvalidArgument."""
        ...

    async def control_named(self, action: str, name: str, *, revoke: bool) -> dict[str, Any]:
        """Pause, resume or disconnect the assistants with this id or name; all of them for "". Raises
        InvalidArgument."""
        ...


PROTOCOL: Final = 1

HELLO_SECONDS: Final = 5.0
"""How long a connection may stay open without `hello`."""

ASK_SECONDS: Final = 10.0
"""How long an editor may take to open or save a file."""

OUTDATED: Final = (
    "This editor is too old to review changes with this vaultbridge. For Obsidian, run `vaultbridge companion"
    " install`, then switch the companion off and on again."
)
"""The notice for editors of an older version, in which they merged changes themselves. Such a companion shows
it to the person."""

COMMAND_LINE: Final = "cli"
"""The source name of `select`: its report stays after the command has ended, until there is a newer one."""


class EditorServer:
    """What all editor connections of a vault share."""

    def __init__(
        self,
        view: VaultView,
        hub: EditorHub,
        ide: ClaudeIde,
        token: str,
        *,
        hello_seconds: float = HELLO_SECONDS,
    ) -> None:
        self.view = view
        self.hub = hub
        self.ide = ide
        self.token = token
        self.hello_seconds = hello_seconds
        self.activity: ActivitySource | None = None
        """Lists the clients of this bridge and what they do."""
        self.connected: dict[str, str] = {}
        """The app of each connected front end, by its name."""
        self.others: tuple[EditorServer, ...] = ()
        """The servers of the bridge's other vaults: an editor names its vault in `hello`."""

    def find_server(self, vault: str) -> EditorServer:
        """The server of the vault with this name or folder; this one for an empty name. Raises
        InvalidArgument."""
        if not vault:
            return self
        for server in (self, *self.others):
            if vault in (server.view.name, str(server.view.folder)):
                return server
        known = ", ".join(server.view.name for server in (self, *self.others))
        raise InvalidArgument(
            "This bridge does not serve that vault.", argument="vault", hint=f"It serves: {known}."
        )

    def dialect(
        self, name: str, *, authenticated: bool, on_authenticated: Callable[[], None] = lambda: None
    ) -> Callable[[Peer], Dialect]:
        """`on_authenticated` is called when the token has arrived with `hello`."""
        return lambda peer: _EditorDialect(
            self, peer, name, authenticated=authenticated, on_authenticated=on_authenticated
        )

    def status(self) -> dict[str, Any]:
        """What the command line and the page show about this bridge."""
        state = self.hub.state
        focus = state.focus()
        return {
            "version": __version__,
            "pid": os.getpid(),
            "vault": self.view.name,
            "folder": str(self.view.folder),
            "problem": self.view.find_problem(),
            "notices": self.view.list_notices(),
            "shareSelection": state.shares_selection,
            "focus": None if focus is None else focus.path,
            "selection": None if focus is None else wire.encode_selection(focus.selection),
            "openFiles": [file.path for file in state.open_files()],
            "diffs": len(self.hub.diffs.waiting()),
            "editors": [{"name": name, "app": app} for name, app in state.sources()],
            "clients": [
                {
                    "name": record.name,
                    "software": record.software,
                    "pid": record.pid,
                    "folder": record.folder,
                    "since": record.since,
                    "messages": [
                        {"at": at, "direction": direction, "name": name}
                        for at, direction, name in record.messages
                    ],
                }
                for record in self.ide.clients()
            ],
        }


class _EditorDialect(MethodTable):
    in_order = frozenset({"hello"})

    def __init__(
        self,
        server: EditorServer,
        peer: Peer,
        name: str,
        *,
        authenticated: bool,
        on_authenticated: Callable[[], None],
    ) -> None:
        reports: dict[str, Callable[[Params], None]] = {"focus": self._focus, "openFiles": self._open_files}
        super().__init__(
            {
                "hello": self._hello,
                "focus": _as_request(self._focus),
                "openFiles": _as_request(self._open_files),
                "mention": self._mention,
                "select": self._select,
                **{name: self._make_review_handler(name) for name in REVIEW_METHODS},
                "shareSelection": _as_request(self._share),
                "status": self._status,
                "watchTrace": self._watch_trace,
                "activity": self._list_activity,
                "controlAssistants": self._control_assistants,
                "ping": _empty_result,
            },
            {method: self._after_hello(act) for method, act in reports.items()},
        )
        self._server = server
        self._hub = server.hub
        self._peer = peer
        self._name = name
        self._authenticated = authenticated
        self._on_authenticated = on_authenticated
        self._hello_received = asyncio.Event()
        self._unsubscribe: Callable[[], None] = lambda: None
        self._unfollow: Callable[[], None] = lambda: None
        self._shared = True
        self._feed: Feed | None = None
        self._review: ReviewMethods | None = None
        peer.spawn(self._close_without_hello())

    def find_handler(self, request: Request) -> Handler:
        if request.method != "hello" and not self._hello_received.is_set():
            raise RpcError(INVALID_REQUEST, "Invalid Request: send hello first")
        return super().find_handler(request)

    async def close(self) -> None:
        self._hub.state.leave(self._name)
        if self._review is not None:
            self._review.leave()
        self._hub.editors.pop(self._name, None)
        self._server.connected.pop(self._name, None)
        if self._feed is not None:
            self._feed.close()
        self._unsubscribe()
        self._unfollow()

    # Joining.

    async def _hello(self, call: Call) -> dict[str, Any]:
        hello = wire.parse_params(call.params, wire.Hello)
        if not self._authenticated and not hmac.compare_digest(
            hello.token.encode(), self._server.token.encode()
        ):
            self._peer.end()
            raise PermissionDenied("The token is missing or wrong.")
        if hello.protocol != PROTOCOL:
            raise InvalidArgument(f"This bridge speaks protocol {PROTOCOL}.", argument="protocol")
        if hello.abilities.diffs and not hello.abilities.proposals:
            raise EditRefused(OUTDATED)
        again = self._hello_received.is_set()
        if not again:
            self._server = self._server.find_server(hello.vault)
            self._hub = self._server.hub
            await self._join(hello)
        self._hello_received.set()
        self._on_authenticated()
        return {
            "protocol": PROTOCOL,
            "version": __version__,
            "vault": self._server.view.name,
            "vaults": sorted(server.view.name for server in (self._server, *self._server.others)),
            "name": self._name,
            "shareSelection": self._hub.state.shares_selection,
            "assistants": len(self._hub.assistants),
        }

    async def _join(self, hello: wire.Hello) -> None:
        self._server.connected[self._name] = hello.app[:40]
        if hello.abilities.activity and self._server.activity is not None:
            self._feed = self._server.activity.open_feed(self._peer.notify)
        if hello.app != COMMAND_LINE:
            self._hub.state.join(self._name, hello.app[:40])
        if hello.abilities.open or hello.abilities.save:
            self._hub.editors[self._name] = _RemoteEditor(self._peer, hello.abilities)
        if hello.abilities.activity:
            self._shared = self._hub.state.shares_selection
            self._unfollow = self._hub.state.subscribe(self._sharing_changed)
        if hello.abilities.assistants:
            self._unsubscribe = self._hub.follow_assistants(self._assistants_changed)
        vault = self._server.view.name
        self._review = ReviewMethods(self._hub, vault, self._peer, self._name, hello.app)
        if hello.abilities.proposals:
            await self._review.join()

    async def _close_without_hello(self) -> None:
        try:
            async with asyncio.timeout(self._server.hello_seconds):
                await self._hello_received.wait()
        except TimeoutError:
            self._peer.end()

    def _after_hello(self, act: Callable[[Params], None]) -> Callable[[Params], None]:
        """Handle a report that is sent as a notification, which is ignored before `hello`."""

        def take(params: Params) -> None:
            if self._hello_received.is_set():
                act(params)

        return take

    # Reports from the editor.

    def _focus(self, params: Params) -> None:
        report = wire.parse_params(params, wire.FocusOn)
        self._ensure_joined()
        if report.path is None:
            self._hub.state.focus_on(self._name, None)
            return
        selection = TOP_OF_NOTE if report.selection is None else report.selection.to_selection()
        self._hub.state.focus_on(self._name, vault_path(report.path), selection)

    def _open_files(self, params: Params) -> None:
        report = wire.parse_params(params, wire.OpenFiles)
        self._ensure_joined()
        self._hub.state.files_open(self._name, [file.to_tab() for file in report.files])

    def _ensure_joined(self) -> None:
        if all(name != self._name for name, _ in self._hub.state.sources()):
            self._hub.state.join(self._name, COMMAND_LINE)

    def _share(self, params: Params) -> None:
        self._hub.state.share_selection(share=wire.parse_params(params, wire.Share).share)

    async def _mention(self, call: Call) -> dict[str, Any]:
        report = wire.parse_params(call.params, wire.MentionOf)
        mention = report.to_mention(await self._server.view.find(report.note))
        return {"path": mention.path, "assistants": self._hub.mention(mention)}

    async def _select(self, call: Call) -> dict[str, Any]:
        report = wire.parse_params(call.params, wire.Select)
        path = await self._server.view.find(report.note)
        selection = report.to_selection(await self._server.view.read_text(path))
        state = self._hub.state
        if all(name != COMMAND_LINE for name, _ in state.sources()):
            state.join(COMMAND_LINE, COMMAND_LINE)
        state.focus_on(COMMAND_LINE, path, selection)
        return {
            "path": path,
            "selection": wire.encode_selection(selection),
            "assistants": len(self._hub.assistants),
        }

    # Requests and notifications to it.

    def _make_review_handler(self, name: str) -> Handler:
        async def answer(call: Call) -> Any:
            assert self._review is not None  # `hello` made it.
            return await self._review.handlers()[name](call)

        return answer

    def _assistants_changed(self) -> None:
        self._peer.notify("assistantsChanged", {"assistants": len(self._hub.assistants)})

    def _sharing_changed(self) -> None:
        """Notify the editor: another editor, or the configuration, may have switched sharing on or off."""
        shared = self._hub.state.shares_selection
        if shared != self._shared:
            self._shared = shared
            self._peer.notify("sharingChanged", {"shareSelection": shared})

    async def _status(self, call: Call) -> dict[str, Any]:
        status = self._server.status()
        if self._server.activity is None:
            return status
        seen = await self._server.activity.list_assistants()
        vault = self._server.view.name
        return {
            **status,
            **seen,
            "assistants": [assistant for assistant in seen["assistants"] if vault in assistant["vaults"]],
        }

    async def _watch_trace(self, call: Call) -> dict[str, Any]:
        params = wire.parse_params(call.params, wire.WatchTrace)
        if self._feed is None:
            raise InvalidArgument("Declare the ability `activity` in hello first.", argument="on")
        self._feed.watch_trace(on=params.on, json=params.json)
        return {"on": params.on, "json": params.on and params.json}

    async def _list_activity(self, call: Call) -> dict[str, Any]:
        params = wire.parse_params(call.params, wire.ListActivity)
        if self._server.activity is None:
            raise InvalidArgument("This bridge does not record what assistants do.", argument="limit")
        return await self._server.activity.list_entries(
            self._server.view.name, limit=params.limit, before=params.before, kinds=params.kinds
        )

    async def _control_assistants(self, call: Call) -> dict[str, Any]:
        params = wire.parse_params(call.params, wire.ControlAssistants)
        if self._server.activity is None:
            raise InvalidArgument("This bridge does not record what assistants do.", argument="action")
        return await self._server.activity.control_named(
            params.action, params.assistant, revoke=params.revoke
        )


class _RemoteEditor:
    """`hub.ConnectedEditor` over the wire. If an editor fails or does not answer, the result is False."""

    def __init__(self, peer: Peer, abilities: wire.Abilities) -> None:
        self._peer = peer
        self._abilities = abilities

    async def open_file(
        self, path: VaultPath, selection: Selection | None, *, preview: bool, front: bool
    ) -> bool:
        if not self._abilities.open:
            return False
        params: dict[str, Any] = {"path": path, "preview": preview, "front": front}
        if selection is not None:
            params["selection"] = wire.encode_selection(selection)
        return await self._ask("openFile", params)

    async def save_file(self, path: VaultPath) -> bool:
        return self._abilities.save and await self._ask("saveFile", {"path": path})

    async def _ask(self, method: str, params: dict[str, Any]) -> bool:
        try:
            answer = await self._peer.request(method, params, seconds=ASK_SECONDS)
            return wire.parse_params(answer, wire.Done).done
        except (VaultbridgeError, PeerError, PeerDisconnected):
            return False


def _as_request(act: Callable[[Params], None]) -> Callable[[Call], Awaitable[dict[str, Any]]]:
    """Handle a report that is sent as a request, which is answered, so that the editor knows whether it was
    accepted."""

    async def answer(call: Call) -> dict[str, Any]:
        act(call.params)
        return {}

    return answer


async def _empty_result(call: Call) -> dict[str, Any]:
    return {}
