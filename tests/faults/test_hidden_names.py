"""What a limited caller asks about a hidden file makes the same work whether the file exists or not.

How long a call takes tells what it did on disk, so two vaults that differ only in hidden files are asked the
same, and every question to the disk is compared. A clock would need thousands of calls to see as much.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faults.hidden_names import DENY, HiddenDraw, write_twin
from server.conftest import build_index, make_serving
from support.disk_trace import trace_disk
from support.tools import ToolHarness, open_harness
from support.vault import open_engines, vault_wire
from support.vault_view import VaultView
from vaultbridge.errors import VaultbridgeError
from vaultbridge.tools.base.schema import load_schema
from vaultbridge.tools.base.tool import Tool
from vaultbridge.vault.paths import vault_path
from vaultbridge.vault.scope import Scope

CALLS = 70
LIMITED = Scope(deny=DENY)

Twins = tuple[ToolHarness, ToolHarness]


def open_twins(base: Path) -> Twins:
    full, bare = (
        open_harness(base / name, write_twin(base / name / "Notes", full=name == "full"), scope=LIMITED)
        for name in ("full", "bare")
    )
    for twin in (full, bare):
        twin.engine.queries.index()
        twin.engine.index_sync.wait_complete()
    return full, bare


def close(twins: Twins) -> None:
    for twin in twins:
        twin.engine.close()


def names_folder_with_hidden_files(arguments: dict[str, Any]) -> bool:
    """A folder that contains hidden files cannot be moved or deleted, which SECURITY.md explains."""
    named = repr(arguments).lower()
    return any(f"{folder}{end}" in named for folder in ("mixed", "'pub") for end in ("'", "/'"))


def try_call(
    monkeypatch: pytest.MonkeyPatch, twin: ToolHarness, tool: Tool, arguments: dict[str, Any]
) -> tuple[str, list[str]]:
    with trace_disk(monkeypatch, twin.folder) as trace:
        try:
            answer = twin.catalog.call(tool.name, arguments, twin.context).text
        except VaultbridgeError as error:
            answer = f"{type(error).__name__} {error} {getattr(error, 'hint', '')}"
    return answer.replace(str(twin.folder.parent), ""), trace.calls


@pytest.mark.parametrize("seed", range(4))
def test_a_call_that_names_a_hidden_file_asks_the_disk_the_same_whether_the_file_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw = HiddenDraw(seed)
    twins = open_twins(tmp_path / "0")
    tools = [tool for tool in map(twins[0].catalog.get, twins[0].catalog.names("")) if isinstance(tool, Tool)]
    asked = 0
    for number in range(1, CALLS + 1):
        tool = draw.rng.choice(tools)
        arguments = draw.arguments(load_schema(tool.arguments))
        if tool.name == "active" or (tool.effect != "reads" and names_folder_with_hidden_files(arguments)):
            continue
        full, bare = (try_call(monkeypatch, twin, tool, arguments) for twin in twins)
        assert full == bare, (tool.name, arguments)
        asked += bool(full[1])
        if '"success":true' in full[0]:
            # What was just written is looked at again later, at a moment that only the clock decides.
            close(twins)
            twins = open_twins(tmp_path / str(number))
    close(twins)
    assert asked > CALLS // 4


REQUESTS = [
    ("resources/read", lambda name: {"uri": f"obsidian://vault/Notes/{name}"}),
    ("prompts/get", lambda name: {"name": "summarize_note", "arguments": {"note": name}}),
    (
        "completion/complete",
        lambda name: {
            "ref": {"type": "ref/resource", "uri": "obsidian://vault/Notes/{+path}"},
            "argument": {"name": "path", "value": name},
        },
    ),
]


@pytest.mark.parametrize(("method", "fill"), REQUESTS, ids=[method for method, _ in REQUESTS])
async def test_a_request_of_mcp_asks_the_disk_the_same_whether_the_hidden_file_it_names_exists(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    fill: Callable[[str], dict[str, Any]],
) -> None:
    answers: dict[str, list[Any]] = {}
    for twin in ("full", "bare"):
        folder = write_twin(tmp_path / twin / "Notes", full=twin == "full")
        draw = HiddenDraw(7)
        engines = open_engines(tmp_path / twin, folder, scope=LIMITED)
        async with vault_wire(tmp_path / twin, folder, engines=engines) as wire:
            engines["Notes"].queries.index()
            engines["Notes"].index_sync.wait_complete()
            for _ in range(25):
                with trace_disk(monkeypatch, folder) as trace:
                    answer = await wire.ask(method, fill(draw.note_name()))
                answers.setdefault(twin, []).append((answer.get("result"), answer.get("error"), trace.calls))
    assert answers["full"] == answers["bare"]


async def test_an_editor_client_asks_the_disk_the_same_whether_a_hidden_file_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: dict[str, list[Any]] = {}
    for twin in ("full", "bare"):
        folder = write_twin(tmp_path / twin / "Notes", full=twin == "full")
        draw = HiddenDraw(11)
        view = VaultView(folder, LIMITED)
        view.engine.queries.index()
        view.engine.index_sync.wait_complete()
        for number in range(40):
            name = draw.rng.choice(draw.hidden).rstrip("/")
            with trace_disk(monkeypatch, folder) as trace:
                try:
                    path = vault_path(view.make_vault_relative(name))
                    if number % 3 == 0:
                        answer = str(await view.find(name))
                    elif number % 3 == 1:
                        answer = await view.read_text(path)
                    else:
                        answer = await view.write_text(path, "ash\n", actor="test")
                except VaultbridgeError as error:
                    answer = f"{type(error).__name__} {error}"
            answers.setdefault(twin, []).append((answer, trace.calls))
        view.close()
    assert answers["full"] == answers["bare"]


FOLLOWED = ("", ".obsidian/workspace.json")
"""What a server looks at now and then by itself: whether the vault is there, and what Obsidian has open."""

PAGE_CALLS: list[tuple[str, str, Callable[[str], dict[str, Any]]]] = [
    ("GET", "/note", lambda name: {"path": name}),
    ("GET", "/links", lambda name: {"path": name}),
    ("GET", "/base", lambda name: {"path": name}),
    ("GET", "/canvas", lambda name: {"path": name}),
    ("GET", "/graph", lambda name: {"path": name}),
    ("GET", "/search", lambda name: {"kind": "exact", "q": f'path:"{name}"'}),
    ("PUT", "/note", lambda name: {"path": name, "text": "ash", "expected": "0123456789abcdef"}),
    ("POST", "/note", lambda name: {"path": name, "text": "ash"}),
    ("POST", "/task", lambda name: {"path": name, "line": 1, "expected": "0123456789abcdef"}),
    ("POST", "/move", lambda name: {"path": name, "to": "Other.md", "expected": "0123456789abcdef"}),
    ("POST", "/move", lambda name: {"path": "Mixed/Open.md", "to": name, "expected": "0123456789abcdef"}),
    ("POST", "/delete", lambda name: {"path": name, "expected": "0123456789abcdef"}),
]


@pytest.mark.parametrize(
    ("method", "route", "fill"), PAGE_CALLS, ids=[f"{call[0]} {call[1]}" for call in PAGE_CALLS]
)
async def test_a_limited_token_on_the_page_asks_the_disk_the_same_whether_a_hidden_file_exists(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    route: str,
    fill: Callable[[str], dict[str, Any]],
) -> None:
    answers: dict[str, list[Any]] = {}
    for twin in ("full", "bare"):
        folder = write_twin(tmp_path / twin / "Notes", full=twin == "full")
        build_index(folder)
        draw = HiddenDraw(13)
        async with make_serving(tmp_path / twin)() as served:
            _, secret = served.tokens.make("limited", deny=DENY)
            headers = {"Authorization": f"Bearer {secret}"}
            # The first request opens the vault, and looks whether it is the one that it was.
            assert await served.status("/page/api/note?path=Plan.md", **headers) == 200
            # With another name a new note could be made, and when that is indexed only the clock decides.
            names = [name for name in draw.hidden if name.endswith(".md")]
            for _ in range(25):
                given = fill(draw.rng.choice(names))
                sent: Any = {"params": given} if method == "GET" else {"json": given}
                with trace_disk(monkeypatch, folder) as trace:
                    async with served.http.request(
                        method, f"{served.url}/page/api{route}", headers=headers, **sent
                    ) as response:
                        text = await response.text()
                calls = [call for call in trace.calls if call.partition("/")[2] not in FOLLOWED]
                answers.setdefault(twin, []).append((given, response.status, text, calls))
    for full, bare in zip(answers["full"], answers["bare"], strict=True):
        assert full == bare
        assert '"NOT_FOUND"' not in full[2], "there is such an address"
