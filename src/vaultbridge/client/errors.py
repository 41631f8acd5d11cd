"""The errors of the client, as a branch of the error tree.

    VaultbridgeError
    ├── InvalidArgument
    │   └── InvalidMessage      not a JSON-RPC 2.0 message (ours or the peer's); nothing was sent or delivered
    ├── TimedOut
    └── TransportError          something about the connection
        ├── ConnectFailed       no connection was established
        │   └── SubprotocolRefused
        ├── ConnectionLost      an open connection ended; a reconnection may follow
        ├── MessagesUnconfirmed messages were sent over a connection that ended before the peer confirmed them
        ├── MessagesDiscarded   queued messages that will never be sent
        ├── NotRenewed          a subscription or log level that the server refused after a reconnection
        ├── ToolRefused         a tool that the server lists but that must not be used
        ├── UnknownAnswer       an answer to no open request
        ├── QueueFull           the queue is at its limit; the message was not accepted
        ├── TransportClosed     the transport has ended, or has not been started
        └── RpcError            the peer answered a request with an error

The texts name hosts and methods, never a token, a header's value or a path on the machine.
"""

from __future__ import annotations

import reprlib
from typing import Any

from vaultbridge.errors import InvalidArgument, VaultbridgeError


class InvalidMessage(InvalidArgument):
    """Not a JSON-RPC 2.0 message. `message` says which rule is broken, `received` that it was the peer's."""

    reason = "invalid-message"
    received = False


class TransportError(VaultbridgeError):
    reason = "transport"


class ConnectFailed(TransportError):
    reason = "connect-failed"


class SubprotocolRefused(ConnectFailed):
    reason = "subprotocol-refused"


class ConnectionLost(TransportError):
    """`close_code` is the WebSocket close code, when the peer gave one."""

    reason = "connection-lost"

    def __init__(self, message: str, *, close_code: int | None = None) -> None:
        super().__init__(message, close_code=close_code)
        self.close_code = close_code


class MessagesUnconfirmed(TransportError):
    """The messages may or may not have arrived. They are not sent again: the caller decides.

    `messages` are those still stored, oldest first; `forgotten` counts the older ones that were dropped.
    """

    reason = "unconfirmed"

    def __init__(self, messages: tuple[dict[str, Any], ...], *, forgotten: int = 0) -> None:
        total = len(messages) + forgotten
        super().__init__(
            f"{total} message(s) were sent over a connection that ended before the server confirmed them"
            f" ({name_messages(messages)}).",
            hint="They were not sent again; they may or may not have arrived.",
        )
        self.messages = messages
        self.forgotten = forgotten


class MessagesDiscarded(TransportError):
    """`messages` were accepted, but were never sent and never will be."""

    reason = "discarded"

    def __init__(self, messages: tuple[dict[str, Any], ...], why: str) -> None:
        super().__init__(
            f"{len(messages)} queued message(s) were not sent ({name_messages(messages)}): {why}"
        )
        self.messages = messages


class NotRenewed(TransportError):
    """After a reconnection the server refused to restore what the session had.

    `request` is the caller's original one: a subscription or the log level.
    """

    reason = "not-renewed"

    def __init__(self, request: dict[str, Any], why: str) -> None:
        subject = (request.get("params") or {}).get("uri") or request["method"]
        super().__init__(
            f"The server did not renew {subject}: {why}.", hint="Ask for it again, or do without it."
        )
        self.request = request


class ToolRefused(TransportError):
    """A tool was left out of the server's list: its description breaks a rule of the transport."""

    reason = "tool-refused"

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"The tool {reprlib.repr(name)} was left out: {why}.")


class UnknownAnswer(TransportError):
    reason = "unknown-answer"


class QueueFull(TransportError):
    reason = "queue-full"


class TransportClosed(TransportError):
    reason = "transport-closed"


TEXT_CHARS = 2000
"""How much of a peer's error message is repeated in ours: more than anybody reads."""


class RpcError(TransportError):
    """`rpc_code`, `rpc_message` and `data` as the peer gave them; the text of the error is shortened."""

    reason = "rpc-error"

    def __init__(self, rpc_code: int, rpc_message: str, data: Any = None) -> None:
        text = rpc_message if len(rpc_message) <= TEXT_CHARS else f"{rpc_message[:TEXT_CHARS]}…"
        super().__init__(f"{text} ({rpc_code})", rpc_code=rpc_code)
        self.rpc_code = rpc_code
        self.rpc_message = rpc_message
        self.data = data


NAMED_MESSAGES = 5
"""How many messages an error names: enough to recognize them, and short enough for one log line."""


def name_messages(messages: tuple[dict[str, Any], ...]) -> str:
    """The methods (or ids) of the first few messages, for an error's text."""
    names = [
        str(message.get("method") or f"answer {message.get('id')!r}") for message in messages[:NAMED_MESSAGES]
    ]
    more = len(messages) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "") if names else "no longer held"
