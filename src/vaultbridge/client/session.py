"""A light MCP session over any transport: negotiation, requests and answers, notifications. Needs no SDK.

It is for programs that use a server's tools without the official SDK, and for `vaultbridge call`. It offers
the server elicitation, if the program can ask a person, and nothing else (no roots, no sampling): it refuses
every other request of the server except a ping.

The version is negotiated as the specification says (2026-07-28, Versioning and Compatibility). A server that
answers `server/discover`, or refuses it with one of the errors introduced by 2026-07-28, is modern, and gets
the request again with a version that it names. Any other error, or silence, means that the server needs a
handshake.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

from vaultbridge import __version__
from vaultbridge.client.errors import InvalidMessage, RpcError
from vaultbridge.client.messages import (
    CONNECTION_LOST,
    Message,
    MessageKind,
    RequestId,
    classify,
    make_error_answer,
)
from vaultbridge.client.primitives import fetch_all
from vaultbridge.client.transport import State, Transport
from vaultbridge.errors import InvalidArgument, TimedOut, VaultbridgeError
from vaultbridge.jsonrpc.messages import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    UNSUPPORTED_VERSION,
)
from vaultbridge.limits import CALL_SECONDS
from vaultbridge.protocols.mcp.versions import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    HANDSHAKE_VERSIONS,
    MODERN_VERSIONS,
    SERVER_INFO_KEY,
    SUPPORTED_NEWEST_FIRST,
    VERSION_KEY,
    VERSIONS,
)

logger = logging.getLogger(__name__)

MODERN_ERRORS: Final = frozenset({HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_VERSION})
"""Errors that only servers from 2026-07-28 on give."""

NAMED_VERSIONS: Final = 10
"""How many versions an error lists: there are five today, but a peer may name any number."""


def read_supported_versions(error: RpcError) -> tuple[str, ...]:
    """Read the versions that a server named when it refused ours; may be empty."""
    return read_versions(error.data.get("supported") if isinstance(error.data, dict) else None)


def read_versions(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def find_newest_common(offered: tuple[str, ...], spoken: tuple[str, ...]) -> str | None:
    """Find the newest version that both sides support."""
    return next((name for name in SUPPORTED_NEWEST_FIRST if name in offered and name in spoken), None)


def make_no_common_version(offered: tuple[str, ...], spoken: tuple[str, ...]) -> RpcError:
    theirs = ", ".join(repr(name)[1:-1][:40] for name in offered[:NAMED_VERSIONS])
    opening = f"The server speaks MCP {theirs}" if theirs else "The server named no version of MCP"
    return RpcError(UNSUPPORTED_VERSION, f"{opening}; this client speaks {', '.join(spoken)}.")


PROBE_SECONDS: Final = 5.0
"""How long `server/discover` may take before we fall back to the handshake: some old servers do not answer
methods they do not know."""

ANSWERING: Final = 64
"""How many requests of the server are being refused at once. After that nothing more is read: a server that
asks without reading our answers must not fill our memory."""

COURTESY_SECONDS: Final = 1.0
"""How long sending a cancellation may delay the caller whose request has timed out."""

INPUT_ROUNDS: Final = 16
"""How often one request may ask for more input: a dialog with a person has few steps."""

FOREVER: Final = float("inf")
"""For a request that is answered only when it ends, such as `subscriptions/listen`."""


class Session:
    """`async with Session(transport) as session: await session.call_tool("name", {…})`.

    `on_notification` is called for each notification, in order. `on_elicitation` gets the parameters of what
    the server asks a person, and returns the result: `{"action": "accept", "content": {…}}`, or "decline" or
    "cancel". Fields that the content leaves out get the defaults of the server's schema.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        version: str = "auto",
        timeout: float | None = CALL_SECONDS,
        on_notification: Callable[[Message], object] | None = None,
        on_elicitation: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]] | None = None,
        client_name: str = "vaultbridge",
    ) -> None:
        """`version` is "auto" (the newest that both sides support) or one version of the protocol."""
        if version != "auto" and version not in VERSIONS:
            raise InvalidArgument(
                f"{version!r} is not a version of MCP.",
                argument="version",
                hint=f"Known: auto, {', '.join(VERSIONS)}.",
            )
        self.transport = transport
        self.on_notification = on_notification
        self.on_elicitation = on_elicitation
        self.protocol_version = ""
        self.server_info: dict[str, Any] = {}
        self.server_capabilities: dict[str, Any] = {}
        self.instructions = ""
        self._wanted = version
        self._timeout = timeout
        self._client = {"name": client_name, "version": __version__}
        self._ids = itertools.count(1)
        self._waiting: dict[RequestId, asyncio.Future[Message]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._asking = 0
        """How many questions wait for a person, who may take any time."""
        self._refused: tuple[float, InvalidMessage] | None = None
        """The last message of the server that could not be read, and when it came."""

    @property
    def is_modern(self) -> bool:
        return self.protocol_version in MODERN_VERSIONS

    async def __aenter__(self) -> Session:
        try:
            await self.open()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Start the transport unless it has been started, and agree on a version. Raises what `start` and
        `request` raise."""
        self.transport.on_message = self._receive
        before = self.transport.on_close
        self.transport.on_close = lambda: self._fail_waiting(before)
        report = self.transport.on_error
        self.transport.on_error = lambda error: self._note_error(error, report)
        if self.transport.state is State.DISCONNECTED:
            await self.transport.start()
        await self._negotiate()

    async def close(self) -> None:
        await self.transport.close()
        for task in self._answering:
            task.cancel()

    async def _negotiate(self) -> None:
        """Agree on a version; the module's docstring has the rules."""
        spoken = tuple(VERSIONS) if self._wanted == "auto" else (self._wanted,)
        version: str | None = find_newest_common(spoken, MODERN_VERSIONS)
        refused: set[str] = set()
        while version in MODERN_VERSIONS:
            offered = await self._discover(version)
            if offered is None:
                return
            if not offered:
                version = HANDSHAKE_VERSIONS[-1]
                break
            # The refused version may still be in the list. It is tried once more, but not again after that.
            left = tuple(name for name in spoken if name not in refused)
            refused.add(version)
            version = find_newest_common(offered, left)
            if version is None:
                raise make_no_common_version(offered, spoken)
        await self._initialize(version or self._wanted)

    async def _discover(self, version: str) -> tuple[str, ...] | None:
        """Ask the server which versions it supports.

        Returns None if it supports `version`, otherwise the versions that it named; empty if it needs a
        handshake.
        """
        self.protocol_version = version
        probe = PROBE_SECONDS if self._timeout is None else min(PROBE_SECONDS, self._timeout)
        try:
            result = await self.request("server/discover", timeout=probe if self._wanted == "auto" else None)
        except RpcError as error:
            if error.rpc_code == UNSUPPORTED_VERSION and read_supported_versions(error):
                return read_supported_versions(error)
            if error.rpc_code in MODERN_ERRORS or self._has_no_fallback():
                raise
            return ()
        except (TimedOut, InvalidMessage):
            if self._has_no_fallback():
                raise
            return ()
        supported = read_versions(result.get("supportedVersions"))
        if version not in supported:
            if not supported and self._wanted != "auto":
                raise make_no_common_version((), (version,))
            return supported
        meta = result.get("_meta")
        named = meta.get(SERVER_INFO_KEY) if isinstance(meta, dict) else None
        self._store_server_info(result, named or result.get("serverInfo"))
        return None

    def _has_no_fallback(self) -> bool:
        """Whether nothing is left to try, because the caller wants only this version or the connection is
        gone."""
        return self._wanted != "auto" or self.transport.state in (State.DISCONNECTED, State.DISCONNECTING)

    async def _initialize(self, version: str) -> None:
        self.protocol_version = ""
        try:
            result = await self._ask_to_initialize(version)
        except RpcError as error:
            # The specification requires an answer that names another version; some servers refuse instead.
            named = read_supported_versions(error)
            spoken = HANDSHAKE_VERSIONS if self._wanted == "auto" else (self._wanted,)
            other = find_newest_common(named, spoken)
            if not named or other == version:
                raise
            if other is None:
                raise make_no_common_version(named, spoken) from None
            result = await self._ask_to_initialize(other)
        answered = result.get("protocolVersion")
        if answered not in HANDSHAKE_VERSIONS:
            offered = (answered,) if isinstance(answered, str) and answered else ()
            raise make_no_common_version(offered, HANDSHAKE_VERSIONS)
        self.protocol_version = str(answered)
        self._store_server_info(result, result.get("serverInfo"))
        await self.notify("notifications/initialized")

    async def _ask_to_initialize(self, version: str) -> dict[str, Any]:
        params = {
            "protocolVersion": version,
            "capabilities": self._capabilities,
            "clientInfo": self._client,
        }
        return await self.request("initialize", params)

    @property
    def _capabilities(self) -> dict[str, Any]:
        return {"elicitation": {"form": {}}} if self.on_elicitation is not None else {}

    def _store_server_info(self, result: dict[str, Any], info: Any) -> None:
        self.server_info = info if isinstance(info, dict) else {}
        capabilities = result.get("capabilities")
        self.server_capabilities = capabilities if isinstance(capabilities, dict) else {}
        self.instructions = str(result.get("instructions") or "")

    async def request(
        self, method: str, params: dict[str, Any] | None = None, *, timeout: float | None = None
    ) -> dict[str, Any]:
        """Send a request and return its result. Raises RpcError, TimedOut, InvalidMessage (what arrived
        instead of an answer cannot be read), TransportClosed and what `send` raises."""
        request_id = next(self._ids)
        waiter: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = waiter
        seconds = self._timeout if timeout is None else timeout
        began = asyncio.get_running_loop().time()
        message: Message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        full = self._add_meta(params)
        if full:
            message["params"] = full
        try:
            async with asyncio.timeout(None if seconds == FOREVER else seconds) as limit:
                await self.transport.send(message)
                await self._wait_for(waiter, limit, seconds)
                answer = await waiter
        except TimeoutError:
            await self._cancel(request_id, method)
            if self._refused is not None and self._refused[0] >= began:
                # It had no id that could be read, so it may have been the answer to another request.
                why = f"No readable answer to {method!r} came: {self._refused[1].message}"
                raise InvalidMessage(why) from None
            raise TimedOut(f"No answer to {method!r} within {seconds:g} s.") from None
        finally:
            self._waiting.pop(request_id, None)
        if "error" in answer:
            error = answer["error"]
            raise RpcError(error["code"], error["message"], error.get("data"))
        result = answer["result"]
        return result if isinstance(result, dict) else {"value": result}

    async def _wait_for(
        self, waiter: asyncio.Future[Message], limit: asyncio.Timeout, seconds: float | None
    ) -> None:
        """Extend the time limit while a person is asked on behalf of the server."""
        if self.on_elicitation is None or seconds is None or seconds == FOREVER:
            return
        loop = asyncio.get_running_loop()
        while not waiter.done():
            if self._asking:
                limit.reschedule(loop.time() + seconds)
            await asyncio.wait([waiter], timeout=seconds / 2)

    async def _cancel(self, request_id: RequestId, method: str) -> None:
        if method in ("initialize", "server/discover") or not self.transport.is_connected:
            return
        # This is a courtesy, which must neither hide nor prolong the timeout: the server may have stopped
        # reading.
        with contextlib.suppress(TimeoutError, VaultbridgeError):
            async with asyncio.timeout(COURTESY_SECONDS):
                await self.notify("notifications/cancelled", {"requestId": request_id, "reason": "timed out"})

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send a notification. Raises TimedOut when the server does not take it, and what `send` raises."""
        message = {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}
        try:
            async with asyncio.timeout(None if self._timeout == FOREVER else self._timeout):
                await self.transport.send(message)
        except TimeoutError:
            raise TimedOut(f"The server did not accept {method!r} within {self._timeout:g} s.") from None

    async def list_tools(self, *, cursor: str | None = None) -> dict[str, Any]:
        return await self._request_page("tools/list", cursor)

    async def list_resources(self, *, cursor: str | None = None) -> dict[str, Any]:
        return await self._request_page("resources/list", cursor)

    async def list_resource_templates(self, *, cursor: str | None = None) -> dict[str, Any]:
        return await self._request_page("resources/templates/list", cursor)

    async def list_prompts(self, *, cursor: str | None = None) -> dict[str, Any]:
        return await self._request_page("prompts/list", cursor)

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the tool's result, even with `isError`, which the caller (or the model) should read."""
        params = {"name": name, "arguments": arguments or {}}
        try:
            return await self._request_with_input("tools/call", params)
        except RpcError as error:
            if error.rpc_code != HEADER_MISMATCH or not self.is_modern:
                raise
        # The tool has not run: the server requires arguments in headers, and only its list of tools names
        # them (2026-07-28, Streamable HTTP, Client Behavior).
        await fetch_all(self.list_tools, "tools")
        return await self._request_with_input("tools/call", params)

    async def read_resource(self, uri: str) -> dict[str, Any]:
        return await self._request_with_input("resources/read", {"uri": uri})

    async def get_prompt(self, name: str, arguments: dict[str, str] | None = None) -> dict[str, Any]:
        return await self._request_with_input("prompts/get", {"name": name, "arguments": arguments or {}})

    async def _request_with_input(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request again, with the input that the server asks for, until its result is complete
        (2026-07-28, Multi Round-Trip Requests). Raises RpcError when the input cannot be given."""
        result = await self.request(method, params)
        rounds = 0
        while result.get("resultType") == "input_required":
            rounds += 1
            if rounds > INPUT_ROUNDS:
                text = f"The server asked for input {INPUT_ROUNDS} times and gave no result."
                raise RpcError(INTERNAL_ERROR, text)
            more: dict[str, Any] = {"inputResponses": await self._answer_all(result.get("inputRequests"))}
            if "requestState" in result:
                # "Clients MUST NOT inspect, parse, or modify it".
                more["requestState"] = result["requestState"]
            result = await self.request(method, {**params, **more})
        return result

    async def _answer_all(self, requests: Any) -> dict[str, Any]:
        answers: dict[str, Any] = {}
        for key, request in (requests if isinstance(requests, dict) else {}).items():
            method = request.get("method") if isinstance(request, dict) else None
            if self.on_elicitation is None or method != "elicitation/create":
                raise RpcError(
                    MISSING_CLIENT_CAPABILITY,
                    "The server asks for input that this client cannot give.",
                    requests,
                )
            answers[key] = await self._elicit(request.get("params"))
        return answers

    async def _elicit(self, params: Any) -> dict[str, Any]:
        assert self.on_elicitation is not None
        params = params if isinstance(params, dict) else {}
        self._asking += 1
        try:
            result = await self.on_elicitation(params)
        finally:
            self._asking -= 1
        if result.get("action") != "accept":
            return result
        return {**result, "content": fill_defaults(params.get("requestedSchema"), result.get("content"))}

    async def listen(self, resources: tuple[str, ...] = ()) -> None:
        """Ask for all list changes and for changes of `resources`; they arrive at `on_notification`.

        With a handshake, this subscribes to each resource and returns. From 2026-07-28 on it opens a stream
        and returns when the server ends it.
        """
        if self.is_modern:
            wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
            filters: dict[str, Any] = {
                **wanted,
                **({"resourceSubscriptions": list(resources)} if resources else {}),
            }
            await self.request("subscriptions/listen", {"notifications": filters}, timeout=FOREVER)
            return
        for uri in resources:
            await self.request("resources/subscribe", {"uri": uri})

    async def _request_page(self, method: str, cursor: str | None) -> dict[str, Any]:
        return await self.request(method, {"cursor": cursor} if cursor else None)

    def _add_meta(self, params: dict[str, Any] | None) -> dict[str, Any] | None:
        if not self.is_modern:
            return params
        meta = {
            VERSION_KEY: self.protocol_version,
            CLIENT_KEY: self._client,
            CAPABILITIES_KEY: self._capabilities,
        }
        return {**(params or {}), "_meta": {**meta, **((params or {}).get("_meta") or {})}}

    def _receive(self, message: Message) -> Awaitable[None] | None:
        match classify(message):
            case MessageKind.NOTIFICATION:
                if self.on_notification is not None:
                    self.on_notification(message)
            case MessageKind.REQUEST:
                task = asyncio.create_task(self._answer(message))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
                if len(self._answering) >= ANSWERING:
                    return self._wait_for_an_answer()
            case _:
                waiter = self._waiting.get(message["id"]) if message["id"] is not None else None
                if waiter is not None and not waiter.done():
                    waiter.set_result(message)
        return None

    async def _wait_for_an_answer(self) -> None:
        await asyncio.wait(self._answering, return_when=asyncio.FIRST_COMPLETED)

    async def _answer(self, request: Message) -> None:
        answer = await self._make_answer(request)
        # The server is gone, or the transport has reported to `on_error` why the answer was not sent.
        with contextlib.suppress(VaultbridgeError):
            await self.transport.send(answer)

    async def _make_answer(self, request: Message) -> Message:
        id_, method = request["id"], request["method"]
        if method == "ping":
            return {"jsonrpc": "2.0", "id": id_, "result": {}}
        if method == "elicitation/create" and self.on_elicitation is not None:
            try:
                return {"jsonrpc": "2.0", "id": id_, "result": await self._elicit(request.get("params"))}
            except Exception:
                # The program's own code failed: the server must not wait for it, nor learn why.
                logger.exception("on_elicitation raised")
                return make_error_answer(id_, INTERNAL_ERROR, "The person could not be asked.")
        return make_error_answer(id_, METHOD_NOT_FOUND, f"This client does not answer {method!r}.")

    def _note_error(self, error: Exception, report: Callable[[Exception], object] | None) -> None:
        if isinstance(error, InvalidMessage) and error.received:
            self._refused = asyncio.get_running_loop().time(), error
        if report is not None:
            report(error)
        else:
            logger.debug("transport error: %s", error)

    def _fail_waiting(self, then: Callable[[], object] | None) -> None:
        for request_id, waiter in self._waiting.items():
            if not waiter.done():
                text = "The connection closed before the answer came."
                waiter.set_result(make_error_answer(request_id, CONNECTION_LOST, text))
        if then is not None:
            then()


def fill_defaults(schema: Any, content: Any) -> dict[str, Any]:
    """The content of a form, with the schema's defaults for what it leaves out."""
    fields = schema.get("properties") if isinstance(schema, dict) else None
    defaults = {
        name: field["default"]
        for name, field in (fields if isinstance(fields, dict) else {}).items()
        if isinstance(field, dict) and "default" in field
    }
    return {**defaults, **(content if isinstance(content, dict) else {})}
