"""An MCP client for other programs: transports that account for every message, a session, plugins.

`WebSocketTransport` is the main class; `docs/client.md` shows its use. The names below are imported when
first used, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vaultbridge.client.errors import (
        ConnectFailed,
        ConnectionLost,
        InvalidMessage,
        MessagesDiscarded,
        MessagesUnconfirmed,
        NotRenewed,
        QueueFull,
        RpcError,
        SubprotocolRefused,
        TransportClosed,
        TransportError,
    )
    from vaultbridge.client.http.transport import StreamableHttpTransport
    from vaultbridge.client.plugins import HttpPlugin, StdioPlugin, TransportPlugin, WebSocketPlugin
    from vaultbridge.client.primitives import Primitive
    from vaultbridge.client.session import Session
    from vaultbridge.client.stdio import StdioTransport
    from vaultbridge.client.transport import State, Transport
    from vaultbridge.client.websocket.transport import WebSocketTransport

_HOME = {
    "Transport": "transport",
    **dict.fromkeys(
        (
            "ConnectFailed", "ConnectionLost", "InvalidMessage", "MessagesDiscarded", "MessagesUnconfirmed",
            "NotRenewed", "QueueFull", "RpcError", "SubprotocolRefused", "TransportClosed", "TransportError",
        ),
        "errors",
    ),
    "StreamableHttpTransport": "http.transport",
    **dict.fromkeys(("HttpPlugin", "StdioPlugin", "TransportPlugin", "WebSocketPlugin"), "plugins"),
    "Primitive": "primitives",
    "Session": "session",
    "State": "transport",
    "StdioTransport": "stdio",
    "WebSocketTransport": "websocket.transport",
}  # fmt: skip

__all__ = [
    "ConnectFailed",
    "ConnectionLost",
    "HttpPlugin",
    "InvalidMessage",
    "MessagesDiscarded",
    "MessagesUnconfirmed",
    "NotRenewed",
    "Primitive",
    "QueueFull",
    "RpcError",
    "Session",
    "State",
    "StdioPlugin",
    "StdioTransport",
    "StreamableHttpTransport",
    "SubprotocolRefused",
    "Transport",
    "TransportClosed",
    "TransportError",
    "TransportPlugin",
    "WebSocketPlugin",
    "WebSocketTransport",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
