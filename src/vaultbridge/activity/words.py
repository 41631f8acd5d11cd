"""Says in words what a call or a client did. Names only the paths that the reader may see, and no text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal

from vaultbridge.activity.records import EVENT, ChangedPath

if TYPE_CHECKING:
    from vaultbridge.activity.clients import SeenClient
    from vaultbridge.activity.records import CallRecord

VisibleInVault = Callable[[str, str], bool]
"""Whether the reader may know of a file: called with the vault's folder and the path in it."""

TimelineKind = Literal[
    "read", "search", "list", "change", "propose", "undo", "call", "connect", "disconnect", "control"
]

NAMED: Final = 2
"""How many notes are named in a sentence before they are only counted."""

VIA: Final = {
    "stdio": "MCP over stdio",
    "mcp": "MCP over HTTP",
    "stateless": "MCP over HTTP, without a session",
    "sse": "MCP over SSE (older clients)",
    "bridge": "Bridge v1",
    "ide": "Claude Code's /ide",
}

COMMON_NAMES: Final = {"claude-ai": "Claude Desktop", "claude-code": "Claude Code", "cursor-vscode": "Cursor"}
"""What people call the programs that introduce themselves by these names."""

_LISTS: Final = frozenset(
    {
        "list_files", "tags", "tasks", "properties", "links", "vault_info", "history", "resources/list",
        "prompts/list", "listFiles", "getOpenEditors", "getOpenFiles", "getWorkspaceFolders", "template",
    }
)  # fmt: skip


_EVENTS: Final[dict[str, TimelineKind]] = {
    f"{EVENT}connect": "connect",
    f"{EVENT}disconnect": "disconnect",
}


def name_client(client: SeenClient) -> str:
    """What a person would call this client."""
    if client.title:
        return client.title
    if client.name:
        return COMMON_NAMES.get(client.name, client.name)
    if client.parent_name:
        return client.parent_name
    product = client.user_agent.partition("/")[0].strip()
    return product or {"ide": "Claude Code"}.get(client.kind, "An unnamed client")


def classify(record: CallRecord) -> TimelineKind:
    touched = record.touched
    if record.method.startswith(EVENT):
        return _EVENTS.get(record.method, "control")
    if touched is not None and touched.changes:
        return "undo" if _name_tool(record) == "undo" else "change"
    if touched is not None and touched.proposals:
        return "propose"
    if record.query:
        return "search"
    if touched is not None and touched.reads:
        return "read"
    return "list" if _name_tool(record) in _LISTS else "call"


def describe_call(record: CallRecord, visible: VisibleInVault) -> str:
    """One line: "read Plan.md", "searched for “x”"."""
    touched = record.touched
    if record.method.startswith(EVENT):
        return record.query
    tool = _name_tool(record)
    if record.is_rejected and touched is not None:
        seen = [path for folder, path, _ in touched.proposals if visible(folder, path)]
        return f"proposed a change to {join_names(seen)}, which was rejected"
    if record.error:
        return f"{tool} was refused" if record.error == "PAUSED" else f"{tool} failed: {record.error}"
    match classify(record):
        case "change" | "undo":
            assert touched is not None
            return describe_changes(
                [file for folder, _, files in touched.changes for file in files if visible(folder, file[0])],
                is_move=tool == "move_note",
            )
        case "propose":
            assert touched is not None
            seen = [path for folder, path, _ in touched.proposals if visible(folder, path)]
            return f"proposed a change to {join_names(seen)}"
        case "search":
            return f"searched for “{record.query}”"
        case "read":
            assert touched is not None
            seen = [path for folder, path in touched.reads if visible(folder, path)]
            return f"read {join_names(seen, more=touched.more_reads)}"
        case "list":
            return f"listed: {tool.replace('_', ' ')}"
        case _:
            return f"used {tool}"


def describe_changes(files: Sequence[tuple[str, str, str]], *, is_move: bool = False) -> str:
    """Files as (path, what happened, path before): "changed Plan.md", "renamed A.md to B.md". In a move, the
    other files are those whose links were updated."""
    moved = [(was, path) for path, change, was in files if change == "moved" and was]
    if len(moved) == 1 and (is_move or len(files) == 1):
        was, path = moved[0]
        verb = "renamed" if was.rpartition("/")[0] == path.rpartition("/")[0] else "moved"
        links = len(files) - 1
        return f"{verb} {was} to {path}" + (f", and updated links in {_count_notes(links)}" if links else "")
    if len(files) == 1:
        path, change, _ = files[0]
        return f"{change} {path}"
    kinds = {change for _, change, _ in files}
    verb = kinds.pop() if len(kinds) == 1 else "changed"
    return f"{verb} {join_names([path for path, _, _ in files])}"


def _count_notes(count: int) -> str:
    return f"{count} note{'s' if count != 1 else ''}"


def describe_client(
    client: SeenClient,
    read_paths: Iterable[tuple[str, str]],
    changes: Iterable[tuple[str, int, tuple[ChangedPath, ...]]],
    proposals: Iterable[tuple[str, str, str]],
    visible: VisibleInVault,
) -> str:
    """What a client did so far: "read 3 notes, proposed a change to Plan.md". "" for nothing. `read_paths`
    are the (folder, path) that it read; `changes` and `proposals` are as in `CallEffects`."""
    parts = []
    read = sorted(path for folder, path in read_paths if visible(folder, path))
    if read:
        parts.append(f"read {join_names(read, named=1)}")
    if client.searches:
        parts.append(f"searched {count_times(client.searches)}")
    proposed = list(dict.fromkeys(path for folder, path, _ in proposals if visible(folder, path)))
    if proposed:
        parts.append(f"proposed {_word_for_changes(len(proposed))} to {join_names(proposed, named=1)}")
    changed = list(
        dict.fromkeys(path for folder, _, files in changes for path, _, _ in files if visible(folder, path))
    )
    if changed:
        parts.append(f"changed {join_names(changed, named=1)}")
    if not parts and client.calls:
        parts.append(f"made {client.calls} call{'s' if client.calls > 1 else ''}")
    return ", ".join(parts)


def join_names(paths: Iterable[str], *, more: int = 0, named: int = NAMED) -> str:
    """ "Plan.md", "A.md and B.md", "5 notes"."""
    listed = list(paths)
    total = len(listed) + more
    if total > named or not listed:
        return f"{total} {_word_for_notes(listed, total)}"
    return " and ".join(listed)


def count_times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _word_for_notes(paths: Sequence[str], total: int) -> str:
    word = "note" if all(path.lower().endswith(".md") for path in paths) else "file"
    return word if total == 1 else f"{word}s"


def _word_for_changes(count: int) -> str:
    return "a change" if count == 1 else "changes"


def _name_tool(record: CallRecord) -> str:
    return record.tool or record.method
