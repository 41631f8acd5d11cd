"""The three endpoints of Bridge v1 on top of any MCP server, independent of an HTTP library.

    bridge = BridgeV1(server)
    listing = await bridge.list_tools()                # GET /tools: bytes, hash, names
    body = await bridge.call("read_note", body)     # POST /tools/read_note/call

What MCP lists as `obsidian_read_note` is `read_note` here. A failed tool is an ordinary answer with
`success: false`; a bad request raises `HttpFailure`, which `routes` sends with its status.

The hash of a list of tools must be the one that a JavaScript program computes from the same list: the tools
are sorted by name, their name, description and inputSchema are deep-sorted by object key, and the result is
stringified and hashed with SHA-256. "Stringified" means ECMAScript's `JSON.stringify`, so its rules for
numbers, escapes and the order of keys apply, not Python's.
"""

from __future__ import annotations

import asyncio
import codecs
import hashlib
import json
import logging
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NoReturn

import msgspec

from vaultbridge import __version__
from vaultbridge.activity.clients import PAUSED, SeenClient
from vaultbridge.activity.records import CURRENT, TOOL_PREFIX
from vaultbridge.errors import AssistantPaused, EngineFailure, TimedOut, VaultbridgeError
from vaultbridge.jsonrpc.codec import name_json_type
from vaultbridge.limits import CALL_SECONDS, MIB
from vaultbridge.protocols.http.failures import INTERNAL, HttpFailure
from vaultbridge.protocols.mcp.methods import is_harmless_tool
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.values import InputRequest, LoggingLevel, ToolInfo, ToolResult
from vaultbridge.tools.suggestions import suggest_tool

ARRAY_INDEX_LIMIT: Final = 2**32 - 1
"""ECMAScript: a key that is a whole number below this is an array index, and an object lists those first."""

_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def hash_tools(tools: Iterable[Mapping[str, Any]]) -> str:
    """`tools` as `GET /tools` lists them."""
    hashed = [
        {key: tool[key] for key in ("name", "description", "inputSchema") if key in tool} for tool in tools
    ]
    hashed.sort(key=lambda tool: _code_units(str(tool["name"])))
    return hashlib.sha256(stringify(hashed).encode()).hexdigest()


def stringify(value: Any) -> str:
    """What `JSON.stringify` returns for a value whose objects have been rebuilt with sorted keys."""
    match value:
        case None | True | False:
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return _render_string(value)
        case int() | float():
            return _render_number(value)
        case list() | tuple():
            return f"[{','.join(map(stringify, value))}]"
        case dict():
            members = (
                f"{_render_string(key)}:{stringify(value[key])}" for key in sorted(value, key=_key_order)
            )
            return f"{{{','.join(members)}}}"
        case _:
            raise TypeError(f"{type(value).__name__} is not a JSON value")


def _key_order(key: str) -> tuple[int, int, bytes]:
    """By code units, but an object always lists its array indices first."""
    if _INDEX.fullmatch(key) and int(key) < ARRAY_INDEX_LIMIT:
        return (0, int(key), b"")
    return (1, 0, _code_units(key))


def _code_units(text: str) -> bytes:
    """ECMAScript compares strings by UTF-16 code units, which differs from Python above U+FFFF."""
    return text.encode("utf-16-be", "surrogatepass")


def _render_string(text: str) -> str:
    # Python escapes exactly what ECMAScript does, except for lone surrogates.
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))


def _render_number(value: float) -> str:
    """ECMAScript's Number::toString of the double that JSON.parse would return."""
    try:
        number = float(value)
    except OverflowError:
        return "null"
    if not math.isfinite(number):
        return "null"
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return sign + _place_point(digits, point)


def _place_point(digits: str, point: int) -> str:
    """`digits` are the shortest that identify the number; the decimal point comes after `point` of them."""
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    power = point - 1
    written = f"e{'+' if power > 0 else '-'}{abs(power)}"
    return (digits if count == 1 else f"{digits[0]}.{digits[1:]}") + written


PROTOCOL_VERSION: Final = "1"

CALL: Final = "tools/call"
"""MCP's name for what `POST /tools/{name}/call` does, under which calls of all protocols are counted."""

BODY_BYTES: Final = MIB
"""The specification: "Max body size: 1 MiB", counted in bytes."""

ANSWER_SECONDS: Final = 5.0
"""How long before its time limit, which the specification fixes, a call that waits for a person is
answered."""

SUGGESTION_CHARS: Final = 100
"""The longest unknown name that is compared with the known ones: a tool's name has at most 64 characters."""

log = logging.getLogger("vaultbridge.bridge")


class Listing(msgspec.Struct, frozen=True):
    """`body` is the whole answer to GET /tools; `names` maps each bare name to the server's name."""

    body: bytes
    hash: str
    names: dict[str, str]

    @property
    def etag(self) -> str:
        return f'"{self.hash}"'


class BridgeV1:
    """The endpoints of one server. There is no `principal`, because a server offers only what its principal
    may use."""

    def __init__(self, server: McpServer, *, call_seconds: float = CALL_SECONDS) -> None:
        self._server = server
        self._call_seconds = call_seconds
        self._listed: dict[str, ToolInfo] | None = None
        self._listing: Listing | None = None

    async def list_tools(self) -> Listing:
        """The listing, made once for each set of tools. Raises HttpFailure 500 if the tools are not
        available."""
        try:
            tools = await self._server.tools()
        except VaultbridgeError as error:
            raise HttpFailure(500, INTERNAL, "The tools are not available.", details=str(error)) from error
        # The server returns the same object until its tools change.
        if self._listing is None or tools is not self._listed:
            self._listing = _make_listing(tools)
            self._listed = tools
        return self._listing

    async def only_reads(self, name: str) -> bool:
        """Whether this tool says that it changes nothing. Raises HttpFailure as `listing` does."""
        listing = await self.list_tools()
        tool = (self._listed or {}).get(listing.names.get(name, ""))
        return tool is not None and tool.annotations is not None and bool(tool.annotations.read_only_hint)

    async def call(self, name: str, body: bytes, client: SeenClient | None = None) -> bytes:
        """The answer's body, for a successful call and a failed tool alike; `client` records it. Raises
        HttpFailure."""
        names = (await self.list_tools()).names
        known = names.get(name)
        if known is None and await (await self._server.provider()).withholds(name):
            known = name
        if known is None:
            message = f"There is no tool named {name!r}."
            raise HttpFailure(404, "Tool not found", message, details=await self._suggest(name, names))
        arguments = parse_arguments(body)
        if client is None:
            return (await self._run(name, known, arguments))[0]
        record = client.begin(CALL, {"name": name, "arguments": arguments}, None, len(body))
        if client.activity.json_wanted:
            client.activity.keep_json(record, "json_in", body)
        answer, error = b"", "CANCELLED"
        try:
            if client.must_refuse(CALL):
                answer, error = _encode_failure(str(AssistantPaused())), PAUSED
            else:
                answer, error = await self._run(name, known, arguments)
        finally:
            # The next request of this connection runs in the same context.
            CURRENT.set(None)
            client.finish(record, error, answer)
        return answer

    async def _run(self, name: str, known: str, arguments: dict[str, Any]) -> tuple[bytes, str]:
        """The answer's body, and the code of a failure or ""."""
        try:
            async with asyncio.timeout(self._call_seconds):
                provider = await self._server.provider()
                context = _PlainContext(self._call_seconds)
                result = await provider.call_tool(known, arguments, context)
        except TimeoutError:
            return _encode_failure(f"{name} did not finish within {self._call_seconds:g} s."), TimedOut.code
        except VaultbridgeError as error:
            return _encode_failure(str(error)), error.code
        except Exception:
            log.exception("tool %s failed", name)
            return _encode_failure(f"{name} failed inside the server; its log says why."), "INTERNAL"
        return _encode_result(result), "FAILED" if result.is_error else ""

    async def _suggest(self, name: str, names: Mapping[str, str]) -> str:
        """A suggestion: the name may be MCP's, another server's, or mistyped."""
        if len(name) > SUGGESTION_CHARS:
            return ""
        tools = await self._server.tools()
        return suggest_tool(
            name, {bare: is_harmless_tool(tools[own]) for bare, own in names.items() if own in tools}
        )


def render_health() -> bytes:
    return msgspec.json.encode({"status": "ok", "version": __version__, "protocolVersion": PROTOCOL_VERSION})


def parse_arguments(body: bytes) -> dict[str, Any]:
    """The arguments in a call's body. Raises HttpFailure 400, which says what is wrong with it. A byte order
    mark, which some shells and editors send first, is ignored (RFC 8259 8.1)."""
    try:
        value = msgspec.json.decode(body.removeprefix(codecs.BOM_UTF8))
    except msgspec.DecodeError as error:
        _refuse("The body is not valid JSON.", _explain_mistake(body) or str(error))
    except UnicodeDecodeError:
        _refuse("The body is not valid JSON.", "It is not UTF-8.")
    except RecursionError:
        _refuse("The body cannot be read.", "Its arrays and objects are nested too deeply.")
    if not isinstance(value, dict):
        _refuse("The body must be a JSON object.", f"It is {name_json_type(value)}.")
    if "arguments" not in value:
        _refuse("The body must have an `arguments` field.", 'Without arguments: {"arguments": {}}')
    arguments = value["arguments"]
    if not isinstance(arguments, dict):
        _refuse("`arguments` must be an object.", f"It is {name_json_type(arguments)}.")
    return arguments


def _explain_mistake(body: bytes) -> str:
    """A better message than the decoder's for what people send by mistake."""
    if not body.removeprefix(codecs.BOM_UTF8).strip():
        return "It is empty."
    if b"\\ud" in body.lower() and _is_json(body):
        # JavaScript writes it so when a text was cut within a character.
        return "A string has half of a surrogate pair, which is not Unicode text."
    return ""


def _is_json(body: bytes) -> bool:
    """Whether the standard library's decoder, which accepts such strings, can read it."""
    import json

    try:
        # NaN and Infinity, which it accepts too, are no integers.
        json.loads(body, parse_constant=int)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(message: str, details: str) -> NoReturn:
    raise HttpFailure(400, "Invalid request body", message, details=details)


def _make_listing(tools: Mapping[str, ToolInfo]) -> Listing:
    names: dict[str, str] = {}
    for name in tools:
        names.setdefault(name.removeprefix(TOOL_PREFIX), name)
    listed: list[dict[str, Any]] = [
        {
            "name": bare,
            "description": tools[name].description,
            "inputSchema": tools[name].input_schema,
            # Not part of the specification, nor of its hash. The stdio bridge passes it on, so that a client
            # need not ask its user before a tool that only reads, nor queue such calls behind changes.
            **({} if (hints := tools[name].annotations) is None else {"annotations": hints}),
        }
        for bare, name in names.items()
    ]
    digest = hash_tools(listed)
    return Listing(msgspec.json.encode({"tools": listed, "hash": digest}), digest, names)


def _encode_result(result: ToolResult) -> bytes:
    """Content is sent unchanged; only structured data becomes text, because there is no other place for
    it."""
    content: Any = result.content
    if not content and result.structured is not msgspec.UNSET:
        content = [{"type": "text", "text": msgspec.json.encode(result.structured).decode()}]
    form: dict[str, Any] = {"success": not result.is_error, "content": content}
    if result.is_error:
        form["isError"] = True
    return msgspec.json.encode(form)


def _encode_failure(why: str) -> bytes:
    content = [{"type": "text", "text": f"Error: {why}"}]
    return msgspec.json.encode({"success": False, "content": content, "isError": True})


class _PlainContext:
    """The context of a call with one answer and no way to report progress or to ask the caller."""

    client_name = "bridge-v1"
    principal = ""
    shows_views = False

    def __init__(self, call_seconds: float) -> None:
        self._call_seconds = call_seconds

    @property
    def state(self) -> dict[str, Any]:
        return {}

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        pass

    def log(self, level: LoggingLevel, data: Any, logger: str = "") -> None:
        pass

    def supports(self, capability: Literal["elicitation", "sampling", "roots"]) -> bool:
        return False

    def wait_for_person(self, seconds: float) -> float:
        return max(0.0, min(seconds, self._call_seconds - ANSWER_SECONDS))

    async def ask(
        self, requests: Mapping[str, InputRequest], *, state: dict[str, Any] | None = None
    ) -> dict[str, dict[str, Any]]:
        raise EngineFailure(
            "This tool has to ask a person, which Bridge v1 cannot do.", hint="Call it over MCP."
        )

    def release_stream(self) -> None:
        pass
