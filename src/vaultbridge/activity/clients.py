"""The clients that a process has seen, and a record of each call: names, times and sizes, never the text.

    activity = Activity()
    client = activity.join("mcp", principal="token:ab12:…", address="127.0.0.1:53122")
    call = client.begin("tools/call", params, rpc="3", size=120)
    client.finish(call, error="", size=4012)
    activity.leave(client)

A client that has a connection joins and leaves. One that calls without a session (2026-07-28, Bridge v1) is
found again by `find_group`. Everything belongs to the event loop and is bounded: old calls and clients that
left are forgotten first. `web/api` and `cli/status.py` show what is here; nothing here knows a wire format.

An assistant is *the same* when it connects in the same way, with the same token, under the same name
(`identity`): a pause holds for all of its windows, and when it comes back.

This module is imported by `vaultbridge stdio` before its first answer, so it imports next to nothing.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from vaultbridge.activity.touched import CURRENT, Touched

if TYPE_CHECKING:
    from vaultbridge.activity.counters import Counters

Kind = Literal["stdio", "mcp", "stateless", "sse", "bridge", "ide"]

CALLS_KEPT: Final = 5_000
"""Calls that are remembered: days of one assistant's work, some megabytes."""

MESSAGES_KEPT: Final = 2_000
"""Messages of the protocol view: what a developer scrolls back through."""

GONE_KEPT: Final = 50
"""Clients that are still listed after they left."""

GROUPS: Final = 200
"""Clients without a session that are told apart; after that the one silent for longest is forgotten."""

GROUP_SECONDS: Final = 300.0
"""A client without a session counts as connected this long after its last call."""

NAMES_CHARS: Final = 80
"""How much of a name that a client gives itself is kept."""

QUERY_CHARS: Final = 80
"""How much of a search is kept, for the words "searched for …"."""

PATHS_COUNTED: Final = 5_000
"""Distinct notes that are counted per client; more are "more than 5,000"."""

JSON_KEPT_CHARS: Final = 64 * 1024
"""How much of one message's JSON is kept while somebody watches with JSON."""

JSON_KEPT_TOTAL: Final = 8 * 1024 * 1024
"""All JSON that is kept, in characters; the oldest goes first."""

FREE: Final = frozenset(
    {
        "initialize", "initialized", "ping", "server/discover", "tools/list", "logging/setLevel",
        "resources/templates/list", "resources/unsubscribe",
    }
)  # fmt: skip
"""Methods that touch no note: they are answered while a client is paused, and are no activity."""

CLIENT_KEY: Final = "io.modelcontextprotocol/clientInfo"
"""Where a request of MCP 2026-07-28 says who sends it."""

EVENT: Final = "@"
"""The start of the method of a record that is no call."""

PREFIX: Final = "obsidian_"
"""The prefix of our tools' names over MCP."""

PAUSED: Final = "PAUSED"
"""The error in the record of a call that was refused because a person paused its client."""


class Gate(Protocol):
    """Tells whether a person has paused an assistant (`pauses.Pauses`)."""

    def is_paused(self, identity: str) -> bool: ...


class NoGate:
    def is_paused(self, identity: str) -> bool:
        return False


class CallRecord:
    """One request. `tool` is "" unless it is a call of a tool. `error` is "" for a success, else a code."""

    __slots__ = (
        "at", "bytes_in", "bytes_out", "client", "error", "method", "number", "order", "query", "rpc",
        "seconds", "started", "tool", "touched",
    )  # fmt: skip

    def __init__(self, client: SeenClient, number: int, method: str, at: float) -> None:
        self.client = client
        self.number = number
        self.order = 0
        """The place among remembered calls, given at the end: a call that began before another may end after
        it."""
        self.method = method
        self.tool = ""
        self.query = ""
        self.rpc: str | None = None
        self.at = at
        self.started = 0.0
        self.seconds = 0.0
        self.bytes_in = 0
        self.bytes_out = 0
        self.error = ""
        self.touched: Touched | None = None


Direction = Literal["in", "out"]
MessageType = Literal["request", "response", "error", "notification"]


class TraceMessage:
    """One message of the protocol view. `direction` is "in" for what a client sent us."""

    __slots__ = (
        "at", "bytes", "client", "direction", "json", "method", "ms", "number", "rpc", "tool", "type",
    )  # fmt: skip

    def __init__(
        self,
        number: int,
        at: float,
        client: SeenClient,
        direction: Direction,
        type_: MessageType,
        method: str,
        size: int,
    ) -> None:
        self.number = number
        self.at = at
        self.client = client
        self.direction: Direction = direction
        self.type: MessageType = type_
        self.method = method
        self.bytes = size
        self.tool = ""
        self.rpc: str | None = None
        self.ms: float | None = None
        self.json: str | None = None


class SeenClient:
    """One client. `principal` is what its token says, "" without one. `end` disconnects it, if that is
    possible."""

    def __init__(self, activity: Activity, id_: str, kind: Kind, principal: str, since: float) -> None:
        self.id = id_
        self.kind: Kind = kind
        self.principal = principal
        self.name = ""
        self.title = ""
        self.version = ""
        self.user_agent = ""
        self.address = ""
        self.pid = 0
        self.parent_pid = 0
        self.parent_name = ""
        self.folders: tuple[str, ...] = ()
        """The folders of its vaults, if they are known here and not by its token."""
        self.since = since
        self.last: float | None = None
        self.ended: float | None = None
        self.calls = 0
        self.failed = 0
        self.searches = 0
        self.read_paths: set[tuple[str, str]] = set()
        self.changes: deque[tuple[str, int, tuple[tuple[str, str, str], ...]]] = deque(maxlen=GONE_KEPT)
        self.change_count = 0
        self.proposals: deque[tuple[str, str, str]] = deque(maxlen=GONE_KEPT)
        self.proposal_count = 0
        self.running: dict[int, CallRecord] = {}
        self.running_elsewhere: tuple[str, ...] = ()
        """What runs in the process of a stdio client, as it last said."""
        self.end: Callable[[], None] | None = None
        self.identity = ""
        self._activity = activity
        self._introduced = False
        self._identify()

    def introduce(self, info: object) -> None:
        """Take the name that the client gives itself (`clientInfo`)."""
        if isinstance(info, dict):
            self.name = plain_name(info.get("name")) or self.name
            self.title = plain_name(info.get("title")) or self.title
            self.version = plain_name(info.get("version")) or self.version
            self._identify()
        if not self._introduced:
            self._introduced = True
            self._activity.note_event(self, "connect", "connected")
        self._activity.changed(self)

    def _identify(self) -> None:
        # Without the part of a principal that changes with the token's rights.
        token = ":".join(self.principal.split(":")[:2])
        self.identity = f"{self.kind}|{token}|{self.name or self.user_agent}"

    @property
    def is_known(self) -> bool:
        """Whether it has said who it is or called anything. A connection that was only opened is no client
        that anybody looks for."""
        return self._introduced or self.calls > 0

    @property
    def is_connected(self) -> bool:
        if self.ended is not None:
            return False
        if self.kind in ("stateless", "bridge"):
            recent = self._activity.clock() - (self.last or self.since) < GROUP_SECONDS
            return recent or bool(self.running)
        return True

    @property
    def is_paused(self) -> bool:
        return self._activity.gate.is_paused(self.identity)

    def refuses(self, method: str) -> bool:
        """Whether this request must be refused because a person has paused the client."""
        return method not in FREE and self._activity.gate.is_paused(self.identity)

    # Calls.

    def begin(
        self, method: str, params: dict[str, Any], rpc: str | None, size: int, json: str | None = None
    ) -> CallRecord:
        """A request is being answered from now on. What it touches is recorded in this context."""
        activity = self._activity
        record = CallRecord(self, next(activity.numbers), method, activity.clock())
        record.rpc = rpc
        record.bytes_in = size
        if method == "tools/call":
            name = params.get("name")
            # Bridge v1 calls the same tools without the prefix.
            record.tool = name[:NAMES_CHARS].removeprefix(PREFIX) if isinstance(name, str) else "?"
            arguments = params.get("arguments")
            query = arguments.get("query") if isinstance(arguments, dict) else None
            if isinstance(query, str):
                record.query = query[:QUERY_CHARS]
        elif method == "initialize":
            self.introduce(params.get("clientInfo"))
        if not self.name and isinstance(meta := params.get("_meta"), dict):
            # 2026-07-28 over stdio: every request says who sends it.
            self.introduce(meta.get(CLIENT_KEY))
        if method not in FREE:
            record.touched = Touched()
            CURRENT.set(record.touched)
        self.running[record.number] = record
        activity.trace(record, "in", "request", size, json)
        record.started = time.perf_counter()
        return record

    def finish(self, record: CallRecord, error: str, size: int, json: str | None = None) -> None:
        record.seconds = time.perf_counter() - record.started
        if record.touched is not None:
            # A connection may serve its next request in the same context.
            CURRENT.set(None)
        self.running.pop(record.number, None)
        record.error = error
        record.bytes_out = size
        self._activity.trace(record, "out", "error" if error else "response", size, json)
        self._activity.add(record)

    def count(self, record: CallRecord) -> None:
        """Add a finished call to the sums."""
        self.last = record.at + record.seconds
        if record.method in FREE:
            return
        self.calls += 1
        if record.error:
            self.failed += 1
        if is_search(record):
            self.searches += 1
        touched = record.touched
        if touched is None:
            return
        if len(self.read_paths) < PATHS_COUNTED:
            self.read_paths.update(touched.reads)
        if touched.changes:
            self.changes.extend(touched.changes)
            self.change_count += len(touched.changes)
        if touched.proposals:
            self.proposals.extend(touched.proposals)
            self.proposal_count += len(touched.proposals)

    def note(
        self, direction: Direction, type_: MessageType, method: str, size: int, json: str | None = None
    ) -> None:
        """A message that is not part of a call from the client: a notification, or a question to it."""
        activity = self._activity
        message = TraceMessage(
            next(activity.numbers), activity.clock(), self, direction, type_, method[:NAMES_CHARS], size
        )
        activity.keep(message, json)

    @property
    def keeps_json(self) -> bool:
        return self._activity.json_wanted > 0


class Listener(Protocol):
    """Told in the event loop, often: it should only note that there is something to send."""

    def client_changed(self, client: SeenClient) -> None: ...

    def call_added(self, record: CallRecord) -> None: ...

    def message_added(self, message: TraceMessage) -> None: ...


class Activity:
    """All clients of one process. `gate` decides which are paused."""

    def __init__(
        self,
        *,
        gate: Gate | None = None,
        counters: Counters | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.gate: Gate = gate or NoGate()
        self.counters = counters
        self.clock = clock
        self.since = clock()
        self.numbers = itertools.count(1)
        self.clients: dict[str, SeenClient] = {}
        self.gone: deque[SeenClient] = deque(maxlen=GONE_KEPT)
        self.calls: deque[CallRecord] = deque(maxlen=CALLS_KEPT)
        self.messages: deque[TraceMessage] = deque(maxlen=MESSAGES_KEPT)
        self.json_wanted = 0
        """How many watchers want the JSON of messages kept."""
        self._json: deque[TraceMessage] = deque()
        self._json_chars = 0
        self._ids = itertools.count(1)
        self._orders = itertools.count(1)
        self._groups: dict[tuple[str, str, str], SeenClient] = {}
        self._listeners: list[Listener] = []

    def join(self, kind: Kind, *, principal: str = "", address: str = "", user_agent: str = "") -> SeenClient:
        """A client has connected."""
        client = SeenClient(self, f"a{next(self._ids)}", kind, principal, self.clock())
        client.address = address[:NAMES_CHARS]
        client.user_agent = plain_name(user_agent)
        client._identify()
        self.clients[client.id] = client
        self.changed(client)
        return client

    def leave(self, client: SeenClient) -> None:
        """A client has disconnected. May be called twice."""
        if self.clients.pop(client.id, None) is None:
            return
        client.ended = self.clock()
        client.end = None
        if client.is_known:
            self.gone.appendleft(client)
            self.note_event(client, "disconnect", "disconnected")
        self.changed(client)

    def note_event(self, client: SeenClient, kind: str, words: str) -> None:
        """Something that is no call: a client came or went, or a person paused it."""
        record = CallRecord(client, next(self.numbers), EVENT + kind, self.clock())
        record.query = words
        self._remember(record)

    def find_group(
        self, kind: Kind, *, principal: str = "", info: object = None, address: str = "", user_agent: str = ""
    ) -> SeenClient:
        """The client without a session that makes this call: known by its token and its name."""
        named = info.get("name") if isinstance(info, dict) else None
        key = (kind, principal, (named if isinstance(named, str) else "") or user_agent)
        client = self._groups.pop(key, None)
        if client is None:
            if len(self._groups) >= GROUPS:
                self.leave(self._groups.pop(next(iter(self._groups))))
            client = self.join(kind, principal=principal, address=address, user_agent=user_agent)
            client.introduce(info)
        # At the end: the first one is the one that was silent for longest.
        self._groups[key] = client
        return client

    def forget_group(self, client: SeenClient) -> None:
        """A client without a session is gone; its next call makes a new one."""
        for key, one in self._groups.items():
            if one is client:
                del self._groups[key]
                break
        self.leave(client)

    def listed(self) -> list[SeenClient]:
        """Those connected first, the newest first in both parts."""
        here = sorted(self.clients.values(), key=lambda one: (one.is_connected, one.since), reverse=True)
        return [*here, *self.gone]

    def find(self, id_: str) -> SeenClient | None:
        return self.clients.get(id_) or next((one for one in self.gone if one.id == id_), None)

    # What happens.

    def add(self, record: CallRecord) -> None:
        client = record.client
        client.count(record)
        if self.counters is not None:
            self.counters.count(record)
        if record.method not in FREE:
            self._remember(record)

    def _remember(self, record: CallRecord) -> None:
        record.order = next(self._orders)
        self.calls.append(record)
        for listener in self._listeners:
            listener.call_added(record)

    def changed(self, client: SeenClient) -> None:
        for listener in self._listeners:
            listener.client_changed(client)

    def trace(
        self, record: CallRecord, direction: Direction, type_: MessageType, size: int, json: str | None
    ) -> None:
        at = record.at if direction == "in" else record.at + record.seconds
        number = record.number if direction == "in" else next(self.numbers)
        message = TraceMessage(number, at, record.client, direction, type_, record.method, size)
        message.tool = record.tool
        message.rpc = record.rpc
        if direction == "out":
            message.ms = record.seconds * 1000
        self.keep(message, json)

    def keep(self, message: TraceMessage, json: str | None) -> None:
        self.messages.append(message)
        if json is not None and self.json_wanted:
            self._keep_json(message, json)
        for listener in self._listeners:
            listener.message_added(message)

    def _keep_json(self, message: TraceMessage, json: str) -> None:
        # One more than is shown, so that a cut is recognised.
        message.json = json[: JSON_KEPT_CHARS + 1]
        self._json.append(message)
        self._json_chars += len(message.json)
        while self._json_chars > JSON_KEPT_TOTAL:
            oldest = self._json.popleft()
            self._json_chars -= len(oldest.json or "")
            oldest.json = None

    def want_json(self, *, wanted: bool) -> None:
        """A watcher begins or ends wanting JSON. When the last one ends, it is forgotten."""
        self.json_wanted = max(0, self.json_wanted + (1 if wanted else -1))
        if not self.json_wanted:
            for message in self._json:
                message.json = None
            self._json.clear()
            self._json_chars = 0

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Tell `listener` of everything, until the returned function is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


def plain_name(given: object) -> str:
    """A name from a client, printable and short; "" for anything else."""
    if not isinstance(given, str):
        return ""
    return "".join(char for char in given[:NAMES_CHARS] if char.isprintable()).strip()


def is_search(record: CallRecord) -> bool:
    return bool(record.query) and not record.method.startswith(EVENT)
