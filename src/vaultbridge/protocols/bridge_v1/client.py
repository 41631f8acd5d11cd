"""A client of Bridge v1: sends its requests, and interprets each answer and each failure.

It works with any server of the protocol, ours or another, so every answer is checked. `stdio_bridge` polls,
and offers the tools over MCP.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vaultbridge.errors import JSON_ERRORS, EngineFailure, InvalidArgument, NotFound, PermissionDenied
from vaultbridge.limits import CALL_SECONDS
from vaultbridge.protocols.bridge_v1.http_client import Address, HttpAnswer, parse_address, send_request

BASE: Final = "/bridge/v1"
"""What all addresses of the protocol begin with."""

LIST_SECONDS: Final = 10.0
"""How long a list of tools may take: a healthy server has it ready."""

TEXT_CHARS: Final = 500
"""How much of a server's error message is repeated."""


class RemoteTool(msgspec.Struct, frozen=True):
    name: str
    description: str
    input_schema: dict[str, Any]
    only_reads: bool = False
    """Whether the server says so; the specification has no such member, but ours sends it."""
    destroys: bool | None = None
    """The same for changes that may destroy something."""


class RemoteTools(msgspec.Struct, frozen=True):
    """The tools of a server. `hash` is the server's own; lists with the same hash are equal."""

    hash: str
    tools: tuple[RemoteTool, ...]


class RemoteResult(msgspec.Struct, frozen=True):
    """The result of a call; `content` is as the server sent it."""

    content: tuple[dict[str, Any], ...]
    is_error: bool


class BridgeClient:
    """`key` is sent as a bearer token with every request, whether the server demands it or not."""

    def __init__(
        self, url: str, *, key: str = "", call_seconds: float = CALL_SECONDS, plain_http: bool = False
    ) -> None:
        """Raises InvalidArgument. `plain_http` allows a key to travel unencrypted to another machine."""
        # The specification calls the address including this path the base URL, so people give either.
        self.address: Address = parse_address(url.rstrip("/").removesuffix(BASE))
        self.call_seconds = call_seconds
        self._headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "vaultbridge",
        }
        if key:
            if not key.isascii() or not key.isprintable() or " " in key:
                raise InvalidArgument(
                    "The API key contains a space or a character that no key has.", argument="key"
                )
            if not (self.address.secure or self.address.is_loopback or plain_http):
                raise InvalidArgument(
                    "The API key would travel unencrypted to another machine.",
                    argument="url",
                    hint="Use https, or add --plain-http if the network is yours alone.",
                )
            self._headers["Authorization"] = f"Bearer {key}"
        self._known: RemoteTools | None = None
        self._etag = ""

    async def fetch_tools(self) -> RemoteTools:
        """The current tools; the same object as before while nothing has changed. Raises EngineFailure,
        TimedOut, PermissionDenied."""
        headers = {**self._headers, **({"If-None-Match": self._etag} if self._etag and self._known else {})}
        answer = await send_request(
            self.address,
            "GET",
            f"{BASE}/tools",
            headers=headers,
            # A call may ask for the list first, and should say why it failed before its own time is up.
            seconds=min(LIST_SECONDS, self.call_seconds),
        )
        if answer.status == 304 and self._known is not None:
            return self._known
        if answer.status != 200:
            raise self._make_failure(answer)
        tools = self._read_tools(answer)
        self._etag = answer.headers.get("etag", "")
        if self._known is None or tools.hash != self._known.hash:
            self._known = tools
        return self._known

    async def call(self, name: str, arguments: dict[str, Any]) -> RemoteResult:
        """Raises EngineFailure, TimedOut, PermissionDenied, and NotFound for an unknown tool."""
        from urllib.parse import quote

        answer = await send_request(
            self.address,
            "POST",
            f"{BASE}/tools/{quote(name, safe='')}/call",
            headers={**self._headers, "Content-Type": "application/json"},
            body=msgspec.json.encode({"arguments": arguments}),
            seconds=self.call_seconds,
        )
        if answer.status == 404 and self._read_text(answer, "error") == "Tool not found":
            raise NotFound(name, what="tool")
        if answer.status != 200:
            raise self._make_failure(answer)
        form = self._read_object(answer)
        content, success = form.get("content"), form.get("success")
        if not isinstance(success, bool) or not isinstance(content, list) or not all(map(_is_block, content)):
            raise self._make_unreadable(answer)
        return RemoteResult(tuple(content), not success or form.get("isError") is True)

    def _read_tools(self, answer: HttpAnswer) -> RemoteTools:
        form = self._read_object(answer)
        listed = form.get("tools")
        if not isinstance(listed, list):
            raise self._make_unreadable(answer)
        tools = []
        for tool in listed:
            if not isinstance(tool, dict) or not isinstance(tool.get("name"), str) or not tool["name"]:
                raise self._make_unreadable(answer)
            description = tool.get("description")
            tools.append(
                RemoteTool(
                    tool["name"],
                    description if isinstance(description, str) else "",
                    _complete_schema(tool.get("inputSchema")),
                    _read_hint(tool, "readOnlyHint") is True,
                    _read_hint(tool, "destructiveHint"),
                )
            )
        hash_ = form.get("hash")
        if not isinstance(hash_, str) or not hash_:
            import hashlib

            hash_ = hashlib.sha256(answer.body).hexdigest()
        return RemoteTools(hash_, tuple(tools))

    def _read_object(self, answer: HttpAnswer) -> dict[str, Any]:
        try:
            form = _decode(answer.body)
        except (ValueError, RecursionError):
            raise self._make_unreadable(answer) from None
        if not isinstance(form, dict):
            raise self._make_unreadable(answer)
        return form

    def _make_unreadable(self, answer: HttpAnswer) -> EngineFailure:
        return EngineFailure(
            f"{self.address} does not speak Bridge v1: its answer (status {answer.status}) cannot be read.",
            hint="Is another program listening on that port?",
        )

    def _make_failure(self, answer: HttpAnswer) -> EngineFailure | PermissionDenied:
        text = ". ".join(
            word.rstrip(".")
            for key in ("error", "message", "details")
            if (word := self._read_text(answer, key))
        )
        message = f"{self.address} answered {answer.status}{f': {text}' if text else ''}."
        if answer.status in (401, 403):
            has_key = "Authorization" in self._headers
            hint = (
                "It rejects the API key."
                if has_key
                else "Set OBSIDIAN_MCP_API_KEY to a token of that server."
            )
            return PermissionDenied(message, hint=hint, status=answer.status)
        if 300 <= answer.status < 400:
            return EngineFailure(message, hint="Redirects are not followed: use the real address.")
        hints = {404: "Is another program listening on that port?", 413: "Send less at a time."}
        return EngineFailure(
            message,
            hint=hints.get(answer.status, "The server is running but failed; its own log may say why."),
            status=answer.status,
        )

    def _read_text(self, answer: HttpAnswer, key: str) -> str:
        try:
            form = msgspec.json.decode(answer.body)
        except JSON_ERRORS:
            return ""
        word = form.get(key) if isinstance(form, dict) else None
        return word[:TEXT_CHARS] if isinstance(word, str) else ""


def _decode(body: bytes) -> Any:
    """Raises ValueError, RecursionError."""
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        # JavaScript writes half a surrogate pair where it cuts a string inside one. Replace that half; the
        # rest of the answer is good.
        import json

        text = json.dumps(json.loads(body), ensure_ascii=False)
        return msgspec.json.decode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _complete_schema(schema: Any) -> dict[str, Any]:
    """MCP requires that a tool's schema says `"type": "object"`; a client may refuse a whole list because of
    one that does not."""
    return {**schema, "type": "object"} if isinstance(schema, dict) else {"type": "object"}


def _read_hint(tool: dict[str, Any], name: str) -> bool | None:
    annotations = tool.get("annotations")
    hint = annotations.get(name) if isinstance(annotations, dict) else None
    return hint if isinstance(hint, bool) else None


def _is_block(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("type"), str)
