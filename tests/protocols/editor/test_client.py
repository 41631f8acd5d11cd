"""The command line's side: finding a bridge and asking it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from support.editor import TOKEN, running
from support.waiting import BOUND
from vaultbridge.editor.model import Point, Selection
from vaultbridge.engine.index_sync import COMPLETE_SECONDS
from vaultbridge.errors import EngineFailure, InvalidArgument
from vaultbridge.protocols.editor.client import (
    ANSWER_SECONDS,
    BridgeNotRunning,
    call,
    connect,
    find_bridge,
    list_statuses,
)
from vaultbridge.protocols.editor.endpoint_file import Endpoint, save_endpoint

VAULT_NAME = "vault"
VAULT = {"Note.md": "one\ntwo\n"}


async def test_commands_reach_the_running_bridge(vault: Path, tmp_path: Path) -> None:
    cache = tmp_path / "caches" / "vault-1"
    async with running(vault) as bridge:
        save_endpoint(cache, Endpoint(port=bridge.port, token=TOKEN, pid=os.getpid()))
        await call(cache, "select", note="note", start=[2])
        focus = bridge.hub.state.focus()
        assert focus is not None
        assert focus.selection == Selection(Point(2, 0), Point(2, 3), "two")
        assert (await call(cache, "mention", note="Note", lineStart=0, lineEnd=0))["path"] == "Note.md"
        (status,) = await list_statuses(tmp_path / "caches")
        assert (status["port"], status["vault"], status["focus"]) == (bridge.port, "vault", "Note.md")
        with pytest.raises(InvalidArgument, match="lines 1 to 2, not 9"):
            await call(cache, "select", note="Note", start=[9])
        with pytest.raises(EngineFailure, match="Nothing here"):
            await call(cache, "mention", note="Nothing here")


def test_an_answer_is_awaited_as_long_as_the_bridge_may_take_for_it() -> None:
    """Where a first build of the index is waited for, the bridge's own words come at the latest then."""
    assert ANSWER_SECONDS > COMPLETE_SECONDS


async def test_a_terminal_can_show_and_decide_diffs(vault: Path) -> None:
    async with running(vault) as bridge:
        where = Endpoint(port=bridge.port, token=TOKEN, pid=os.getpid())
        arguments = {
            "old_file_path": str(vault / "Note.md"),
            "new_file_path": str(vault / "Note.md"),
            "new_file_contents": "new\n",
            "tab_name": "t",
        }
        async with bridge.client() as claude, connect(where, proposals=True) as terminal:
            waiting = await claude.begin("tools/call", name="openDiff", arguments=arguments)
            news = await asyncio.wait_for(terminal.next_notification(), BOUND)
            assert news["method"] == "proposalOpened"
            shown = news["params"]
            listed = (await terminal.ask("proposals"))["proposals"]
            assert [entry["id"] for entry in listed] == [shown["id"]]
            await terminal.ask("decide", id=shown["id"], hash=shown["hash"], action="accept")
            assert (await claude.end(waiting))["content"][0]["text"] == "FILE_SAVED"
            closed = await asyncio.wait_for(terminal.next_notification(), BOUND)
            assert closed["params"]["status"] == "accepted"


async def test_a_missing_bridge_is_reported_plainly(tmp_path: Path) -> None:
    with pytest.raises(BridgeNotRunning, match="serve"):
        find_bridge(tmp_path)
    save_endpoint(tmp_path, Endpoint(port=1, token=TOKEN, pid=os.getpid()))
    with pytest.raises(BridgeNotRunning):
        await call(tmp_path, "status")
    save_endpoint(tmp_path, Endpoint(port=1, token=TOKEN, pid=0))
    with pytest.raises(BridgeNotRunning):
        find_bridge(tmp_path)


async def test_a_bridge_with_another_token_refuses(vault: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache-1"
    async with running(vault) as bridge:
        wrong = "00000000-0000-4000-8000-000000000000"
        save_endpoint(cache, Endpoint(port=bridge.port, token=wrong, pid=os.getpid()))
        with pytest.raises(EngineFailure, match="token"):
            await call(cache, "status")


async def test_a_waiting_client_notices_that_the_bridge_ended(vault: Path) -> None:
    async with running(vault) as bridge:
        where = Endpoint(port=bridge.port, token=TOKEN, pid=os.getpid())
        async with connect(where, proposals=True) as terminal:
            waiting = asyncio.ensure_future(terminal.next_notification())
            await bridge.server.stop()
            with pytest.raises(BridgeNotRunning):
                await asyncio.wait_for(waiting, BOUND)
