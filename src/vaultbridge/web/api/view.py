"""What one reader of the page may see of the clients and their calls, as JSON values.

The owner sees every client; an access token sees only those that use the same token. A path appears only
where the reader's scope shows it, whoever touched it: a call whose paths are all hidden did not happen.
Rendering asks the disk about links, so it runs in a thread, on copies that the event loop made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from vaultbridge.activity.clients import Activity, SeenClient
from vaultbridge.activity.records import EVENT, CallRecord, ChangedPath, TraceMessage
from vaultbridge.activity.words import VIA, classify, describe_call, describe_client, name_client
from vaultbridge.system import describe_process

if TYPE_CHECKING:
    from vaultbridge.engine import Engine

PATHS_LISTED: Final = 20
"""The most paths in one entry; the others are only counted."""


class TokenFacts(Struct, frozen=True):
    """A principal's token: its id and name, and the vaults it is for (empty: all)."""

    id: str
    name: str
    vaults: tuple[str, ...] = ()


class Viewer(Struct, frozen=True):
    """`vaults` are (name, engine) by the vault's folder. `tokens` are those in use, by principal."""

    vaults: Mapping[str, tuple[str, Engine]]
    principal: str
    owner: bool
    tokens: Mapping[str, TokenFacts]

    def visible(self, folder: str, path: str) -> bool:
        known = self.vaults.get(folder)
        return known is not None and known[1].scope.visible(path)

    def sees(self, client: SeenClient) -> bool:
        return self.owner or client.principal == self.principal

    def render_client(self, client: ClientCopy) -> dict[str, Any]:
        seen = client.seen
        token = self.tokens.get(seen.principal)
        return {
            "id": seen.id,
            "name": self.name(seen),
            "client": seen.name,
            "version": seen.version,
            "kind": seen.kind,
            "via": VIA[seen.kind],
            "vaults": self._list_vaults(seen, token),
            "token": None if token is None else {"id": token.id, "name": token.name},
            "process": _render_process(seen),
            "address": seen.address,
            "userAgent": seen.user_agent,
            "connected": client.connected,
            "since": seen.since,
            "last": seen.last,
            "ended": seen.ended,
            "paused": client.paused,
            "calls": seen.calls,
            "failed": seen.failed,
            "reads": sum(self.visible(*file) for file in client.read_paths),
            "changes": seen.change_count,
            "proposals": client.proposal_count,
            "running": list(client.running),
            "summary": describe_client(
                seen, client.read_paths, client.changes, client.proposals, self.visible
            ),
        }

    def name(self, client: SeenClient) -> str:
        token = self.tokens.get(client.principal)
        if token is not None and client.kind == "bridge":
            return token.name
        return name_client(client)

    def _list_vaults(self, client: SeenClient, token: TokenFacts | None) -> list[str]:
        names = [name for folder, (name, _) in self.vaults.items() if _may_use(client, folder)]
        return [name for name in names if token is None or not token.vaults or name in token.vaults]

    def render_call(self, record: CallRecord) -> dict[str, Any] | None:
        """None if the reader may not know of the call. A change has no number here: `Timeline` renders
        changes from the journal."""
        if not self.sees(record.client):
            return None
        touched_files = list_touched_files(record)
        visible_files = [(folder, path) for folder, path in touched_files if self.visible(folder, path)]
        if touched_files and not visible_files:
            return None
        folder = visible_files[0][0] if visible_files else ""
        touched = record.touched
        is_event = record.method.startswith(EVENT)
        return {
            "id": f"e{record.order}",
            "at": record.at,
            "assistant": {"id": record.client.id, "name": self.name(record.client)},
            "kind": classify(record),
            "tool": "" if is_event else record.tool or record.method,
            "vault": self.vaults[folder][0] if folder else "",
            "paths": [path for _, path in visible_files[:PATHS_LISTED]],
            "more": max(0, len(visible_files) - PATHS_LISTED)
            + (touched.more_reads if touched and visible_files else 0),
            "text": describe_call(record, self.visible),
            "ok": not record.error,
            "error": record.error,
            "ms": None if is_event else round(record.work_seconds * 1000, 3),
            "change": None,
            "undoneBy": None,
            "undoOf": None,
            "canUndo": False,
            "proposal": (touched.proposals[0][2] or None) if touched and touched.proposals else None,
        }

    def render_message(self, message: TraceMessage) -> dict[str, Any]:
        return {
            "n": message.number,
            "at": message.at,
            "assistant": message.client.id,
            "direction": message.direction,
            "type": message.type,
            "method": message.method,
            "tool": message.tool,
            "rpc": None if message.rpc is None else str(message.rpc),
            "ms": None if message.ms is None else round(message.ms, 3),
            "bytes": message.bytes,
            "json": message.json is not None,
        }


class ClientCopy(Struct, frozen=True):
    """A client as it was at one moment: it may change while a thread renders it."""

    seen: SeenClient
    connected: bool
    paused: bool
    read_paths: tuple[tuple[str, str], ...]
    running: tuple[str, ...]
    changes: tuple[tuple[str, int, tuple[ChangedPath, ...]], ...]
    proposals: tuple[tuple[str, str, str], ...]
    """Including those of calls that still wait for a person."""
    proposal_count: int


def copy_client(client: SeenClient) -> ClientCopy:
    """Copy a client. Call this in the event loop."""
    waiting = [
        proposal
        for call in client.running.values()
        if call.touched is not None
        for proposal in tuple(call.touched.proposals)
    ]
    return ClientCopy(
        copy(client),
        client.is_connected,
        client.is_paused,
        tuple(client.read_paths),
        (*(call.tool or call.method for call in client.running.values()), *client.running_elsewhere),
        tuple(client.changes),
        (*client.proposals, *waiting),
        client.proposal_count + len(waiting),
    )


def copy_clients(activity: Activity, viewer: Viewer) -> list[ClientCopy]:
    return [
        copy_client(client) for client in activity.list_clients() if client.is_known and viewer.sees(client)
    ]


def list_touched_files(record: CallRecord) -> Sequence[tuple[str, str]]:
    """The (folder, path) of everything that a call touched."""
    touched = record.touched
    if touched is None:
        return []
    changed = [(folder, file[0]) for folder, _, files in touched.changes for file in files]
    proposed = [(folder, path) for folder, path, _ in touched.proposals]
    return (
        list(dict.fromkeys([*changed, *proposed, *touched.reads])) if changed or proposed else touched.reads
    )


def open_vaults(engines: Mapping[str, Engine]) -> dict[str, tuple[str, Engine]]:
    """The vaults by folder. Opens those that are not open, so call this in a thread."""
    opened: Iterable[tuple[str, Engine]] = ((name, engines[name]) for name in engines)
    return {str(engine.root.folder): (name, engine) for name, engine in opened}


def _may_use(client: SeenClient, folder: str) -> bool:
    return not client.folders or folder in client.folders


def _render_process(client: SeenClient) -> dict[str, Any] | None:
    if not client.pid:
        return None
    process = describe_process(client.pid)
    parent_pid = client.parent_pid or process.parent
    parent = None
    if parent_pid > 1:
        parent = {"pid": parent_pid, "name": client.parent_name or describe_process(parent_pid).name}
    return {"pid": client.pid, "name": process.name, "parent": parent}
