"""The clients that a process has seen, and a record of each call: names, times and sizes, never the text.

    activity = Activity()
    client = activity.join("mcp", principal="token:ab12:…", address="127.0.0.1:53122")
    call = client.begin("tools/call", params, "3", 120)
    client.finish(call, "", answer)
    activity.leave(client)

A client that has a connection joins and leaves. One that calls without a session (2026-07-28, Bridge v1) is
found again by `find_group`. Everything belongs to the event loop and is bounded: old calls and clients that
left are forgotten first. `web/api` and `cli/running.py` show what is here; nothing here knows a wire format.

An assistant is *the same* when it connects in the same way, with the same token, under the same name
(`identity`): a pause applies to all of its windows, and still applies when it reconnects.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from vaultbridge.activity.records import (
    CURRENT,
    EVENT,
    NAMES_CHARS,
    QUERY_CHARS,
    TOOL_PREFIX,
    CallEffects,
    CallRecord,
    Direction,
    MessageType,
    TraceMessage,
    list_messages,
)

if TYPE_CHECKING:
    from vaultbridge.activity.counters import Counters

ClientKind = Literal["stdio", "mcp", "stateless", "sse", "bridge", "ide"]
"""How a client is connected."""

CALLS_KEPT: Final = 5_000
"""Calls that are remembered: days of one assistant's work, some megabytes."""

MESSAGES_KEPT: Final = 2_000
"""Messages of the protocol view: what a developer scrolls back through."""

GONE_KEPT: Final = 50
"""Clients that are still listed after they left."""

GROUPS: Final = 200
"""How many clients without a session are distinguished; then the one silent for longest is forgotten."""

GROUP_SECONDS: Final = 300.0
"""A client without a session counts as connected this long after its last call."""

COUNT_DELAY_SECONDS: Final = 0.05
"""How long calls that have ended wait to be counted: too short to notice."""

UNCOUNTED_CALLS: Final = 500
"""The most calls that wait to be counted."""

PATHS_COUNTED: Final = 5_000
"""Distinct notes that are counted per client; more are "more than 5,000"."""

JSON_KEPT_CHARS: Final = 64 * 1024
"""How much of one message's JSON is kept while somebody watches with JSON."""

JSON_KEPT_TOTAL: Final = 8 * 1024 * 1024
"""All JSON that is kept, in characters; the oldest goes first."""

METHODS_WITHOUT_NOTES: Final = frozenset(
    {
        "initialize", "initialized", "ping", "server/discover", "tools/list", "logging/setLevel",
        "resources/templates/list", "resources/unsubscribe",
    }
)  # fmt: skip
"""Methods that concern no note: they are answered while a client is paused, and do not count as activity."""

CLIENT_KEY: Final = "io.modelcontextprotocol/clientInfo"
"""Where a request of MCP 2026-07-28 says who sends it."""

PAUSED: Final = "PAUSED"
"""The error in the record of a call that was refused because a person paused its client."""


class PauseGate(Protocol):
    """Tells whether a person has paused an assistant (`pauses.Pauses`)."""

    def is_paused(self, identity: str) -> bool: ...


class NothingPaused:
    def is_paused(self, identity: str) -> bool:
        return False


class SeenClient:
    """One client. `principal` identifies its token; it is "" without one. `end` disconnects it, if that is
    possible."""

    def __init__(self, activity: Activity, id_: str, kind: ClientKind, principal: str, since: float) -> None:
        self.id = id_
        self.kind: ClientKind = kind
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
        """The folders of its vaults, if the client reported them; otherwise its token decides."""
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
        """The calls that run in the process of a stdio client, as it last reported."""
        self.end: Callable[[], None] | None = None
        self.identity = ""
        self.activity = activity
        self._introduced = False
        self._identify()

    def introduce(self, info: object) -> None:
        """Take the name that the client gives itself (`clientInfo`)."""
        if isinstance(info, dict):
            self.name = clean_name(info.get("name")) or self.name
            self.title = clean_name(info.get("title")) or self.title
            self.version = clean_name(info.get("version")) or self.version
            self._identify()
        if not self._introduced:
            self._introduced = True
            self.activity.record_event(self, "connect", "connected")
        self.activity.changed(self)

    def _identify(self) -> None:
        # The rest of a principal changes with the token's rights.
        token = ":".join(self.principal.split(":")[:2])
        self.identity = f"{self.kind}|{token}|{self.name or self.user_agent}"

    @property
    def is_known(self) -> bool:
        """Whether it has introduced itself or called anything. A connection that was only opened is not worth
        listing."""
        return self._introduced or self.calls > 0

    @property
    def is_connected(self) -> bool:
        if self.ended is not None:
            return False
        if self.kind in ("stateless", "bridge"):
            recent = self.activity.clock() - (self.last or self.since) < GROUP_SECONDS
            return recent or bool(self.running)
        return True

    @property
    def is_paused(self) -> bool:
        return self.activity.gate.is_paused(self.identity)

    def must_refuse(self, method: str) -> bool:
        """Whether a request must be refused because a person has paused the client."""
        return method not in METHODS_WITHOUT_NOTES and self.activity.gate.is_paused(self.identity)

    # Calls.

    def begin(
        self, method: str, params: dict[str, Any], rpc: str | int | float | None, size: int
    ) -> CallRecord:
        """Start recording a request. What it touches is recorded in the current context, which should end
        with the call: in a context that lives on, set `records.CURRENT` to None afterwards."""
        activity = self.activity
        record = CallRecord(self, next(activity.numbers), method, activity.clock(), size, rpc)
        if method == "tools/call":
            name = params.get("name")
            record.tool = name[:NAMES_CHARS].removeprefix(TOOL_PREFIX) if isinstance(name, str) else "?"
            arguments = params.get("arguments")
            query = arguments.get("query") if isinstance(arguments, dict) else None
            if isinstance(query, str):
                record.query = query[:QUERY_CHARS]
        elif method == "initialize":
            self.introduce(params.get("clientInfo"))
        if not self.name and isinstance(meta := params.get("_meta"), dict):
            # 2026-07-28 over stdio: every request says who sends it.
            self.introduce(meta.get(CLIENT_KEY))
        if method not in METHODS_WITHOUT_NOTES:
            record.touched = touched = CallEffects()
            CURRENT.set(touched)
        self.running[record.number] = record
        record.started = time.perf_counter()
        return record

    def finish(self, record: CallRecord, error: str, answer: bytes) -> None:
        record.seconds = time.perf_counter() - record.started
        self.running.pop(record.number, None)
        activity = self.activity
        record.answer_number = next(activity.numbers)
        record.bytes_out = len(answer)
        if error:
            record.error = error
        if activity.json_wanted:
            activity.keep_json(record, "json_out", answer)
        activity.add(record)

    def count(self, record: CallRecord) -> None:
        """Add a finished call to the totals."""
        self.last = record.at + record.seconds
        touched = record.touched
        if touched is None:
            return
        self.calls += 1
        if record.is_failed:
            self.failed += 1
        if record.query:
            self.searches += 1
        if touched.reads and len(self.read_paths) < PATHS_COUNTED:
            self.read_paths.update(touched.reads)
        if touched.changes:
            self.changes.extend(touched.changes)
            self.change_count += len(touched.changes)
        if touched.proposals:
            self.proposals.extend(touched.proposals)
            self.proposal_count += len(touched.proposals)

    def record_message(
        self, direction: Direction, type_: MessageType, method: str, size: int, data: bytes = b""
    ) -> None:
        """Record a message that is not part of a call from the client: a notification, or a request to it."""
        activity = self.activity
        message = TraceMessage(
            next(activity.numbers), activity.clock(), self, direction, type_, method[:NAMES_CHARS], size
        )
        if activity.json_wanted:
            activity.keep_json(message, "json", data)
        activity.trace(message)


class ActivityListener(Protocol):
    """Called often, in the event loop: it should only remember that there is something to send."""

    def client_changed(self, client: SeenClient) -> None: ...

    def call_added(self, record: CallRecord) -> None: ...

    def message_added(self, entry: CallRecord | TraceMessage) -> None: ...


class Activity:
    """All clients of one process. `gate` decides which are paused."""

    def __init__(
        self,
        *,
        gate: PauseGate | None = None,
        counters: Counters | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.gate: PauseGate = gate or NothingPaused()
        self.counters = counters
        self.clock = clock
        self.since = clock()
        self.numbers = itertools.count(1)
        self.clients: dict[str, SeenClient] = {}
        self.gone: deque[SeenClient] = deque(maxlen=GONE_KEPT)
        self.calls: deque[CallRecord] = deque(maxlen=CALLS_KEPT)
        self.messages: deque[CallRecord | TraceMessage] = deque(maxlen=MESSAGES_KEPT)
        """The messages that are not part of a call in `calls`."""
        self.json_wanted = 0
        """How many watchers want the JSON of messages kept."""
        self._json: deque[tuple[CallRecord | TraceMessage, str, int]] = deque()
        self._json_chars = 0
        self._ids = itertools.count(1)
        self._orders = itertools.count(1)
        self._groups: dict[tuple[str, str, str], SeenClient] = {}
        self._uncounted: list[CallRecord] = []
        self._count_timer: asyncio.TimerHandle | None = None
        self._listeners: list[ActivityListener] = []

    def join(
        self, kind: ClientKind, *, principal: str = "", address: str = "", user_agent: str = ""
    ) -> SeenClient:
        """Add a client that has connected."""
        client = SeenClient(self, f"a{next(self._ids)}", kind, principal, self.clock())
        client.address = address[:NAMES_CHARS]
        client.user_agent = clean_name(user_agent)
        client._identify()
        self.clients[client.id] = client
        self.changed(client)
        return client

    def leave(self, client: SeenClient) -> None:
        """Move a client that has disconnected to the list of former ones. May be called twice."""
        if self.clients.pop(client.id, None) is None:
            return
        self.count_ended()
        client.ended = self.clock()
        client.end = None
        if client.is_known:
            self.gone.appendleft(client)
            self.record_event(client, "disconnect", "disconnected")
        self.changed(client)

    def record_event(self, client: SeenClient, kind: str, words: str) -> None:
        """Record something that is not a call: a client connected or disconnected, or a person paused it."""
        self.count_ended()
        record = CallRecord(client, next(self.numbers), EVENT + kind, self.clock())
        record.query = words
        self._remember(record)

    def find_group(
        self,
        kind: ClientKind,
        *,
        principal: str,
        user_agent: str,
        info: object = None,
        find_address: Callable[[], str] = str,
    ) -> SeenClient:
        """The client without a session that makes a call, identified by its token and its name."""
        name = info.get("name") if isinstance(info, dict) else None
        key = (kind, principal, (name if isinstance(name, str) else "") or user_agent)
        client = self._groups.get(key)
        if client is None:
            if len(self._groups) >= GROUPS:
                self.forget_group(min(self._groups.values(), key=lambda known: known.last or known.since))
            client = self.join(kind, principal=principal, address=find_address(), user_agent=user_agent)
            client.introduce(info)
            self._groups[key] = client
        return client

    def forget_group(self, client: SeenClient) -> None:
        """Forget a client without a session; its next call adds it anew."""
        for key, known in self._groups.items():
            if known is client:
                del self._groups[key]
                break
        self.leave(client)

    def list_clients(self) -> list[SeenClient]:
        """All clients: first those that are connected, then the others, each newest first."""
        self.count_ended()
        present = sorted(
            self.clients.values(), key=lambda client: (client.is_connected, client.since), reverse=True
        )
        return [*present, *self.gone]

    def find(self, id_: str) -> SeenClient | None:
        return self.clients.get(id_) or next((client for client in self.gone if client.id == id_), None)

    def add(self, record: CallRecord) -> None:
        """Add a call that has ended. It is counted a moment later, together with others: most of the cost of
        counting a single call is fetching the code for it."""
        self._uncounted.append(record)
        if self._count_timer is None:
            loop = asyncio.get_running_loop()
            self._count_timer = loop.call_later(COUNT_DELAY_SECONDS, self.count_ended)
        elif len(self._uncounted) >= UNCOUNTED_CALLS:
            self.count_ended()

    def count_ended(self) -> None:
        """Count the calls that have ended. Call this before reading the totals or the lists."""
        if self._count_timer is not None:
            self._count_timer.cancel()
            self._count_timer = None
        uncounted, self._uncounted = self._uncounted, []
        for record in uncounted:
            record.client.count(record)
            if self.counters is not None:
                self.counters.count(record)
            if record.touched is None:
                self.messages.append(record)
            else:
                self._remember(record)
            for listener in self._listeners:
                listener.message_added(record)

    def _remember(self, record: CallRecord) -> None:
        record.order = next(self._orders)
        self.calls.append(record)
        for listener in self._listeners:
            listener.call_added(record)

    def changed(self, client: SeenClient) -> None:
        for listener in self._listeners:
            listener.client_changed(client)

    def trace(self, message: TraceMessage) -> None:
        self.messages.append(message)
        for listener in self._listeners:
            listener.message_added(message)

    def list_trace(self) -> list[TraceMessage]:
        """The last messages, and those of running calls, by number."""
        self.count_ended()
        running = [call for client in self.clients.values() for call in client.running.values()]
        calls = [call for call in self.calls if not call.method.startswith(EVENT)]
        entries = (*calls[-MESSAGES_KEPT:], *self.messages, *running)
        messages = [message for entry in entries for message in list_messages(entry)]
        return sorted(messages, key=lambda message: message.number)[-MESSAGES_KEPT:]

    def keep_json(self, entry: CallRecord | TraceMessage, attribute: str, data: bytes) -> None:
        """Keep the JSON of one message. Call it only while `json_wanted`."""
        # More than is shown, so that a cut is recognized; a character has at most four bytes.
        json = data[: 4 * JSON_KEPT_CHARS + 4].decode("utf-8", "replace")[: JSON_KEPT_CHARS + 1]
        setattr(entry, attribute, json)
        self._json.append((entry, attribute, len(json)))
        self._json_chars += len(json)
        while self._json_chars > JSON_KEPT_TOTAL:
            self._forget_json()

    def _forget_json(self) -> None:
        entry, attribute, chars = self._json.popleft()
        self._json_chars -= chars
        setattr(entry, attribute, None)

    def want_json(self, *, wanted: bool) -> None:
        """Register that a watcher wants JSON, or no longer does. After the last one it is forgotten."""
        self.json_wanted = max(0, self.json_wanted + (1 if wanted else -1))
        if not self.json_wanted:
            while self._json:
                self._forget_json()

    def listen(self, listener: ActivityListener) -> Callable[[], None]:
        """Notify `listener` of everything, until the returned function is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


def clean_name(value: object) -> str:
    """A name from a client, printable and short; "" for anything else."""
    if not isinstance(value, str):
        return ""
    return "".join(char for char in value[:NAMES_CHARS] if char.isprintable()).strip()
