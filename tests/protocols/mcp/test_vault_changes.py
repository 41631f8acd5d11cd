"""What changed in a vault, as a client hears it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.vault import VaultWire, make_small_vault, vault_wire
from support.wire import MODERN
from vaultbridge.engine.index_sync import IndexSync
from vaultbridge.protocols.mcp.vault.changes import VaultChanges
from vaultbridge.protocols.mcp.vault.provider import ProviderSettings
from vaultbridge.protocols.mcp.vault.workers import Workers
from vaultbridge.server.wiring import open_engine
from vaultbridge.vault.scope import Scope

UPDATED = "notifications/resources/updated"
LIST = "notifications/resources/list_changed"
PROMPTS = "notifications/prompts/list_changed"
A = "obsidian://vault/Notes/A.md"


def rewrite(place: Path, text: str) -> None:
    """At once, as an editor does: a file that is emptied first is a change by itself, if somebody looks."""
    passing = place.parents[1] / "passing"
    passing.write_text(text)
    passing.replace(place)


def list_updated(wire: VaultWire) -> set[str]:
    """What else was announced."""
    return {message["params"]["uri"] for message in wire.messages if message.get("method") == UPDATED}


@asynccontextmanager
async def followed(
    base: Path, *, version: str = "2025-11-25", scope: Scope | None = None
) -> AsyncIterator[VaultWire]:
    """A client of a vault that is being watched, its index complete, earlier notifications discarded."""
    probe = {"uri": "obsidian://vault/Notes/Probe.md"}
    make_small_vault(base, {"Probe.md": "before"})
    settings = ProviderSettings(lead=True)
    async with vault_wire(base, base / "Notes", version=version, settings=settings, scope=scope) as wire:
        await wire.result("resources/list")
        engine = wire.engines["Notes"]
        loop, found = asyncio.get_running_loop(), asyncio.Event()
        stop = engine.index_sync.listen(lambda _: loop.call_soon_threadsafe(found.set))
        while not engine.queries.status.complete:
            await found.wait()
            found.clear()
        stop()
        if version != MODERN:
            await wire.result("resources/subscribe", probe)
            # Changed files are announced before the list: after the second change, all of the first was.
            for text in ("after", "after that"):
                rewrite(base / "Notes" / "Probe.md", text)
                await wire.notification(UPDATED)
            await wire.result("resources/unsubscribe", probe)
        wire.messages.clear()
        yield wire


async def test_a_note_changed_by_another_program_is_announced_to_its_subscriber(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a", "B.md": "b"})
    async with followed(tmp_path) as wire:
        await wire.result("resources/subscribe", {"uri": A})
        rewrite(vault / "B.md", "not watched")
        rewrite(vault / "A.md", "changed")
        assert await wire.notification(UPDATED) == {"uri": A}
        read = await wire.result("resources/read", {"uri": A})
        assert read["contents"][0]["text"] == "changed"
        assert list_updated(wire) <= {A}


async def test_a_note_changed_by_a_tool_is_announced_once(tmp_path: Path) -> None:
    make_small_vault(tmp_path, {"A.md": "a\n", "B.md": "b"})
    async with followed(tmp_path) as wire:
        await wire.result("resources/subscribe", {"uri": A})
        await wire.text("edit_note", name="A", op="append", content="more")
        assert await wire.notification(UPDATED) == {"uri": A}
        await wire.result("resources/subscribe", {"uri": "obsidian://vault/Notes/B.md"})
        await wire.text("edit_note", name="B", op="append", content="more")
        # B's news come after whatever else there would be to say of A.
        assert await wire.notification(UPDATED) == {"uri": "obsidian://vault/Notes/B.md"}


async def test_after_unsubscribing_nothing_is_announced(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a", "B.md": "b"})
    async with followed(tmp_path) as wire:
        for uri in (A, "obsidian://vault/Notes/B.md"):
            await wire.result("resources/subscribe", {"uri": uri})
        await wire.result("resources/unsubscribe", {"uri": A})
        rewrite(vault / "A.md", "changed")
        rewrite(vault / "B.md", "changed")
        assert await wire.notification(UPDATED) == {"uri": "obsidian://vault/Notes/B.md"}
        assert A not in list_updated(wire)


async def test_a_deleted_note_is_announced_to_its_subscriber(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a"})
    async with followed(tmp_path) as wire:
        await wire.result("resources/subscribe", {"uri": A})
        (vault / "A.md").unlink()
        assert await wire.notification(UPDATED) == {"uri": A}
        await wire.notification(LIST)


async def test_new_and_removed_files_change_the_list_and_edits_do_not(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a"})
    async with followed(tmp_path) as wire:
        await wire.result("resources/subscribe", {"uri": A})
        rewrite(vault / "A.md", "edited")
        await wire.notification(UPDATED)
        assert not [message for message in wire.messages if message.get("method") == LIST]
        (vault / "New.md").write_text("new")
        await wire.notification(LIST)
        assert len((await wire.result("resources/list"))["resources"]) == 3


async def test_many_new_files_are_announced_in_few_notifications(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a"})
    async with followed(tmp_path) as wire:
        for number in range(200):
            (vault / f"N{number}.md").write_text("new")
        heard = 0
        while len((await wire.result("resources/list"))["resources"]) < 202:
            await wire.notification(LIST)
            heard += 1
        assert heard < 20


async def test_added_and_removed_hidden_notes_are_not_announced(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a", "Secret/S.md": "s"})
    async with followed(tmp_path, scope=Scope(deny=("Secret",))) as wire:
        await wire.result("resources/subscribe", {"uri": A})
        (vault / "Secret" / "T.md").write_text("t")
        rewrite(vault / "A.md", "edited")
        await wire.notification(UPDATED)
        rewrite(vault / "A.md", "edited again")
        await wire.notification(UPDATED)
        assert not [message for message in wire.messages if message.get("method") == LIST]


async def test_the_files_are_listed_for_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that never got the list need not be told that it has changed, and finding out takes long."""
    vault = make_small_vault(tmp_path, {"A.md": "a", "Prompts/P.md": "p"})
    asked: list[IndexSync] = []
    read_files_version = IndexSync.read_files_version

    def read_version(sync: IndexSync) -> int:
        asked.append(sync)
        return read_files_version(sync)

    monkeypatch.setattr(IndexSync, "read_files_version", read_version)
    settings = ProviderSettings(lead=True)
    async with vault_wire(tmp_path, vault, settings=settings) as wire:
        await wire.result("prompts/list")
        await wire.text("move_note", name="A", to="B")
        await wire.text("move_note", name="/Prompts/P", to="Q")
        await wire.notification(PROMPTS)
        assert asked == []
        await wire.result("resources/list")
        await wire.text("move_note", name="B", to="C")
        await wire.notification(LIST)
        assert asked


async def test_added_changed_and_removed_prompts_are_announced(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a", "Prompts/P.md": "p {{x}}"})
    async with followed(tmp_path) as wire:

        async def list_named() -> dict[str, int]:
            listed = await wire.result("prompts/list")
            return {prompt["name"]: len(prompt.get("arguments", [])) for prompt in listed["prompts"]}

        assert (await list_named())["p"] == 1
        (tmp_path / "passing").write_text("p {{x}} {{y}}")
        (tmp_path / "passing").replace(vault / "Prompts" / "P.md")
        await wire.notification(PROMPTS)
        assert (await list_named())["p"] == 2
        (vault / "Prompts" / "P.md").rename(vault / "Prompts" / "Q.md")
        await wire.notification(PROMPTS)
        assert "q" in await list_named()


async def test_a_stateless_listener_gets_the_same_notifications(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a"})
    async with followed(tmp_path, version=MODERN) as wire:
        wanted = {"resourcesListChanged": True, "resourceSubscriptions": [A]}
        await wire.start("subscriptions/listen", {"notifications": wanted})
        await wire.notification("notifications/subscriptions/acknowledged")
        (vault / "A.md").write_text("changed")
        assert (await wire.notification(UPDATED))["uri"] == A
        (vault / "New.md").write_text("new")
        await wire.notification(LIST)


async def test_a_waiting_server_learns_of_changes_through_the_shared_index(tmp_path: Path) -> None:
    """A second process does not watch the vault: it learns from the index that another keeps."""
    vault = make_small_vault(tmp_path, {"A.md": "a"})
    async with (
        followed(tmp_path) as leader,
        vault_wire(tmp_path, vault, settings=ProviderSettings(lead=True)) as second,
    ):
        await second.result("resources/subscribe", {"uri": A})
        assert leader.engines["Notes"].index_sync.is_leader
        assert not second.engines["Notes"].index_sync.is_leader
        (vault / "A.md").write_text("changed outside")
        os.utime(vault / "A.md", (1_700_000_000,) * 2)
        assert await second.notification(UPDATED) == {"uri": A}
        (vault / "New.md").write_text("new")
        await second.notification(LIST)


async def test_a_vault_opened_after_the_end_is_not_followed(tmp_path: Path) -> None:
    """A client that leaves at once closes the server while a thread still opens the vault."""
    vault = make_small_vault(tmp_path, {"A.md": "a"})
    with open_engine(str(vault), environ={"VAULTBRIDGE_CACHE": str(tmp_path / "cache")}) as engine:
        workers = Workers()
        changes = VaultChanges(workers, lambda change: None)
        changes.close()
        workers.close()
        before = asyncio.all_tasks()
        await asyncio.to_thread(changes.attach, "Notes", engine)
        assert asyncio.all_tasks() == before
