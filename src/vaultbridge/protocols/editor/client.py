"""Connects the command line to a running bridge, for a short time, over `/editor`.

It finds the bridge by the endpoint file in the vault's cache folder, sends `hello` with the token and its
request, and disconnects.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from vaultbridge.errors import JSON_ERRORS, EngineFailure, InvalidArgument, TimedOut
from vaultbridge.limits import CALL_SECONDS
from vaultbridge.protocols.editor.endpoint_file import Endpoint, find_running, list_running

if TYPE_CHECKING:
    import aiohttp

ANSWER_SECONDS: Final = CALL_SECONDS
"""How long a running bridge on this machine may take to answer: a name that only a complete index can resolve
waits for the first build, and on a busy machine everything waits."""

MESSAGE_BYTES: Final = 11 * 2**20
"""The longest answer accepted: a little more than a bridge sends."""


class BridgeNotRunning(EngineFailure):
    """No bridge answers for this vault."""

    reason = "bridge-not-running"

    def __init__(self) -> None:
        super().__init__("No bridge is running for this vault.", hint="Start one with `vaultbridge serve`.")


class EditorClient:
    """One open connection. `ask` sends a request and waits for its answer; `next_notification` waits for the
    next notification."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self._notifications: list[dict[str, Any]] = []

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request. Raises InvalidArgument or EngineFailure with the bridge's own text, TimedOut or
        BridgeNotRunning."""
        id_ = next(self._ids)
        message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        await self._socket.send_str(msgspec.json.encode(message).decode())
        while True:
            answer = await self._receive(ANSWER_SECONDS)
            if answer.get("id") == id_ and "method" not in answer:
                return _read_result(answer)
            self._notifications.append(answer)

    async def next_notification(self) -> dict[str, Any]:
        """Wait for the next notification, however long it takes. Raises BridgeNotRunning when the bridge
        ends."""
        while True:
            message = self._notifications.pop(0) if self._notifications else await self._receive(None)
            if "method" in message and "id" not in message:
                return message

    async def _receive(self, seconds: float | None) -> dict[str, Any]:
        import aiohttp

        try:
            message = await self._socket.receive(seconds)
        except TimeoutError:
            raise TimedOut(f"The bridge did not answer within {seconds:g} s.") from None
        if message.type is not aiohttp.WSMsgType.TEXT:
            raise BridgeNotRunning
        try:
            return msgspec.json.decode(message.data, type=dict[str, Any])
        except JSON_ERRORS:
            raise BridgeNotRunning from None  # whatever listens there, it is not one of our bridges


@asynccontextmanager
async def connect(
    endpoint: Endpoint, *, app: str = "cli", proposals: bool = False
) -> AsyncIterator[EditorClient]:
    """Connect to the bridge at `endpoint` and send `hello`. `proposals` says that we can show changes that
    wait for a person."""
    import aiohttp

    # The bridge has saved its own certificate in a file that only its owner can write. If this is exactly
    # that certificate, it does not matter who signed it or for which name.
    trust = aiohttp.Fingerprint(bytes.fromhex(endpoint.certificate)) if endpoint.certificate else True
    try:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(
                f"{endpoint.url}/editor", max_msg_size=MESSAGE_BYTES, heartbeat=None, ssl=trust
            ) as socket,
        ):
            client = EditorClient(socket)
            await client.ask(
                "hello",
                app=app,
                token=endpoint.token,
                vault=endpoint.vault,
                abilities={"proposals": proposals},
            )
            yield client
    except (aiohttp.ClientError, ConnectionError):
        raise BridgeNotRunning from None


def find_bridge(cache: Path) -> Endpoint:
    """Find where the bridge that serves the vault with this cache folder listens. Raises BridgeNotRunning."""
    known = find_running(cache)
    if known is None:
        raise BridgeNotRunning
    return known


async def call(cache: Path, method: str, **params: Any) -> dict[str, Any]:
    """Send one request to a vault's bridge: `select`, `mention`, `proposals`, `decide`, `status`,
    `shareSelection`."""
    async with connect(find_bridge(cache)) as client:
        return await client.ask(method, **params)


async def list_statuses(base: Path) -> list[dict[str, Any]]:
    """The status of every vault whose bridge answers on this machine, with its port."""
    statuses = []
    for endpoint in list_running(base):
        try:
            async with connect(endpoint) as client:
                statuses.append({"port": endpoint.port, **await client.ask("status")})
        except (BridgeNotRunning, TimedOut, EngineFailure):
            continue
    return statuses


async def control_assistants(
    base: Path, action: str, assistant: str
) -> tuple[list[dict[str, Any]], InvalidArgument | None]:
    """Let every bridge on this machine pause, resume or disconnect an assistant, or all for "". Returns their
    answers, and a refusal if there is one, because not every bridge has every assistant."""
    answers = []
    refusal: InvalidArgument | None = None
    contacted = set()
    for endpoint in list_running(base):
        if (endpoint.pid, endpoint.port) in contacted:
            # A bridge of several vaults is listed once for each.
            continue
        contacted.add((endpoint.pid, endpoint.port))
        try:
            async with connect(endpoint) as client:
                answers.append(await client.ask("controlAssistants", action=action, assistant=assistant))
        except InvalidArgument as error:
            refusal = error
        except (BridgeNotRunning, TimedOut):
            continue
    return answers, refusal


def _read_result(answer: dict[str, Any]) -> dict[str, Any]:
    error = answer.get("error")
    if error is None:
        result: dict[str, Any] = answer["result"]
        return result
    message = str(error.get("message", "The bridge refused."))
    if error.get("code") == -32602:
        raise InvalidArgument(message.removeprefix("Invalid params: "))
    raise EngineFailure(message)
