"""How the companion finds its vault's bridge, stays with it, and leaves; the bridges are real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from companion.obsidian import Obsidian, needs_node, obsidian
from support.files import write_vault
from support.ports import held_port
from support.serve import Home, Served, hosted, served
from support.waiting import BOUND
from support.web_app import make_certificate

pytestmark = needs_node

NOT_RUNNING = "No bridge is running for this vault. “vaultbridge serve” starts one."


VAULT = {"Plain.md": "one\n"}


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "Other", VAULT)


@pytest.fixture
async def server(tmp_path: Path, vault: Path) -> AsyncIterator[Served]:
    # Held, because some of the tests start it again at the same place.
    with held_port() as port:
        async with served(tmp_path / "home", vault, port=port) as server:
            yield server


def list_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def make_manual_settings(server: Served, **changes: Any) -> dict[str, Any]:
    address = f"http://127.0.0.1:{server.port}"
    return {"automatic": False, "address": address, "token": server.token, **changes}


async def list_editors(server: Home, vault: Path) -> list[str]:
    status = await server.command("status", "--json")
    for line in status[1].splitlines():
        found = json.loads(line)
        if Path(found["folder"]) == vault:
            return [editor["app"] for editor in found["editors"]]
    raise AssertionError(status)


async def wait_until_no_editor(server: Served, vault: Path) -> None:
    """Wait until the bridge has noticed that the last one went."""
    async with asyncio.timeout(BOUND):
        while await list_editors(server, vault):
            pass


# finding


async def test_it_joins_as_obsidian_itself(server: Served, vault: Path) -> None:
    async with obsidian(vault, server.environ) as app:
        await app.wait_until_connected()
        assert await list_editors(server, vault) == ["obsidian"]


async def test_it_waits_for_a_bridge_that_is_started_later(tmp_path: Path, vault: Path) -> None:
    server = Served(tmp_path / "home")
    async with obsidian(vault, server.environ) as app:
        await app.until("status", "it === 'Bridge: not connected'")
        assert await app.see("reason") == NOT_RUNNING
        try:
            await server.start(vault)
            await app.do("runCommand", name="reconnect")
            await app.wait_until_connected()
        finally:
            await server.kill()


async def test_a_bridge_whose_cache_was_moved_is_found_by_its_lock(tmp_path: Path, vault: Path) -> None:
    """The variable was set in the terminal only; the app does not know it."""
    async with hosted(tmp_path / "home", vault) as server:
        environ = {name: value for name, value in server.environ.items() if name != "VAULTBRIDGE_CACHE"}
        async with obsidian(vault, environ) as app:
            await app.wait_until_connected()


async def test_a_vault_that_is_served_beside_another_is_joined_by_its_own_name(
    tmp_path: Path, vault: Path, other: Path
) -> None:
    async with hosted(tmp_path / "home", other, vault) as server, obsidian(vault, server.environ) as app:
        await app.wait_until_connected()
        assert await list_editors(server, vault) == ["obsidian"]
        assert await list_editors(server, other) == []


async def test_the_bridge_of_another_vault_is_not_used(tmp_path: Path, vault: Path, other: Path) -> None:
    async with hosted(tmp_path / "home", other) as server, obsidian(vault, server.environ) as app:
        await app.until("status", "it === 'Bridge: not connected'")
        assert await app.see("reason") == NOT_RUNNING
        assert await list_editors(server, other) == []


async def test_a_port_that_another_vaults_bridge_has_taken_is_left_alone(
    tmp_path: Path, vault: Path, other: Path
) -> None:
    """Our record is stale, and its process id belongs to somebody who lives."""
    async with served(tmp_path / "home", vault) as server:
        await server.kill()
    cache = next(
        folder for folder in (tmp_path / "home" / "cache").iterdir() if folder.name.startswith("Notes")
    )
    record = json.loads((cache / "bridge.json").read_text("utf-8"))
    async with served(tmp_path / "home", other) as server:
        changed = {**record, "port": server.port, "pid": os.getpid()}
        (cache / "bridge.json").write_text(json.dumps(changed), "utf-8")
        async with obsidian(vault, server.environ) as app:
            await app.until("status", "it === 'Bridge: refused'")
            assert "token" in await app.see("reason")
            assert await list_editors(server, other) == []


async def test_a_program_on_a_dead_bridges_port_does_not_get_the_token(server: Served, vault: Path) -> None:
    callers = []
    await server.kill()
    taken = await asyncio.start_server(lambda *_: callers.append("somebody"), "127.0.0.1", server.port)
    async with taken, obsidian(vault, server.environ) as app:
        await app.until("status", "it === 'Bridge: not connected'")
        assert (await app.see("reason"), callers) == (NOT_RUNNING, [])


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[str, str]:
    """The files of one for `localhost`, and of its key."""
    file, key = make_certificate(tmp_path, "localhost", alternative="DNS:localhost")
    return str(file), str(key)


async def test_a_bridge_with_tls_is_reached_by_its_name_if_its_certificate_is_trusted(
    tmp_path: Path, vault: Path, certificate: tuple[str, str]
) -> None:
    tls = ("--tls-certificate", certificate[0], "--tls-key", certificate[1], "--allow-host", "localhost")
    async with served(tmp_path / "home", vault, *tls) as server:
        async with obsidian(vault, {**server.environ, "NODE_EXTRA_CA_CERTS": certificate[0]}) as app:
            await app.wait_until_connected()
        async with obsidian(vault, server.environ) as app:
            await app.until("status", "it === 'Bridge: not connected'")
            await app.until("reason", "it === 'The bridge cannot be reached at its address.'")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere this address is not set up")
async def test_a_bridge_at_another_address_of_this_machine_is_found(tmp_path: Path, vault: Path) -> None:
    assert (await Served(tmp_path / "home").command("token", "make", "phone"))[0] == 0
    elsewhere = ("--host", "127.0.0.2", "--behind-proxy")
    async with served(tmp_path / "home", vault, *elsewhere) as server, obsidian(vault, server.environ) as app:
        await app.wait_until_connected()


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", '{"port": "x"}', '{"pid": 1, "port": 99999, "token": "t"}']
)
async def test_files_that_are_not_endpoint_files_are_skipped(
    server: Served, vault: Path, tmp_path: Path, content: str
) -> None:
    for file in (tmp_path / "home" / "cache" / "AAA" / "bridge.json", tmp_path / "home/.claude/ide/1.lock"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(content, "utf-8")
    async with obsidian(vault, server.environ) as app:
        await app.wait_until_connected()


# by hand


async def test_a_phone_connects_with_the_typed_address_and_token(server: Served, vault: Path) -> None:
    async with obsidian(vault, server.environ, mobile=True) as app:
        await app.until("notices", "it.length")
        assert await app.see("notices") == [
            "vaultbridge: The address of the bridge is missing in the settings."
        ]
        await app.do("showSettings")
        assert "Find the bridge on this computer" not in await app.see("settings")
        page = f"http://127.0.0.1:{server.port}/#token={server.token}"
        await app.do("set", name="Address", value=page)
        await app.do("leaveSettings")
        await app.until("state", "it === 'connected'")
        await app.do("runCommand", name="status")
        await app.until("modal", "it.startsWith('BridgeConnected')")
        assert await list_editors(server, vault) == ["obsidian"]
        stored = json.loads((await app.see("stored"))["vaultbridge-companion"])
        assert (stored["address"], stored["token"]) == (f"http://127.0.0.1:{server.port}/", server.token)
    assert [path.name for path in list_files(vault)] == ["Plain.md"]


async def test_a_wrong_token_is_reported_once_in_words(server: Served, vault: Path) -> None:
    stored = make_manual_settings(server, token="0b1f6a52-0c5e-4c0b-8d57-9a3f5a0c9e11")
    async with obsidian(vault, server.environ, stored=stored) as app:
        await app.until("status", "it === 'Bridge: refused'")
        await app.do("runCommand", name="reconnect")
        await app.until("status", "it === 'Bridge: refused'")
        assert await app.see("notices") == ["vaultbridge: The token is missing or wrong."]
        await app.do("showSettings")
        await app.do("set", name="Token", value=f" {server.token}\n")
        await app.do("leaveSettings")
        await app.wait_until_connected()


async def test_a_bridge_that_does_not_serve_the_vault_is_not_used(
    server: Served, other: Path, vault: Path
) -> None:
    async with obsidian(other, server.environ, stored=make_manual_settings(server)) as app:
        await app.until("status", "it === 'Bridge: refused'")
        assert "This bridge does not serve that vault" in await app.see("reason")
        assert await list_editors(server, vault) == []
        await app.do("showSettings")
        await app.do("set", name="Vault", value="Notes")
        await app.do("leaveSettings")
        await app.wait_until_connected()


@pytest.mark.parametrize(
    ("address", "why"),
    [
        (
            "http://computer.example:3000",
            "Use https:// for another machine: otherwise others could read the token.",
        ),
        ("http://localhost:x@computer.example", "Use https:// for another machine"),
        ("file:///etc/passwd", "The address must begin with https:// or, on this device, http://."),
        (
            "not an address",
            "“not an address” is not an address. An address looks like https://computer:3000.",
        ),
    ],
)
async def test_an_address_that_cannot_be_right_is_refused(
    tmp_path: Path, vault: Path, address: str, why: str
) -> None:
    stored = {"automatic": False, "address": address, "token": "t"}
    async with obsidian(vault, Served(tmp_path / "home").environ, stored=stored) as app:
        await app.until("status", "it === 'Bridge: refused'")
        assert (await app.see("reason")).startswith(why)


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("computer:3000", "wss://computer:3000/editor"),
        ("https://computer/notes/", "wss://computer/notes/editor"),
        ("wss://computer", "wss://computer/editor"),
        ("localhost:3000", "ws://localhost:3000/editor"),
        ("http://[::1]:3000/", "ws://[::1]:3000/editor"),
        ("https://127.0.0.1:3000", "wss://127.0.0.1:3000/editor"),
    ],
)
async def test_an_address_becomes_the_url_of_the_editor_protocol(
    tmp_path: Path, vault: Path, typed: str, url: str
) -> None:
    async with obsidian(vault, Served(tmp_path / "home").environ) as app:
        assert await app.do("callPart", name="makeEditorUrl", args=[typed]) == url


# staying


async def test_the_companion_reconnects_after_the_bridge_was_killed_and_restarted(
    server: Served, vault: Path
) -> None:
    async with obsidian(vault, server.environ) as app:
        await app.wait_until_connected()
        await app.do("open", note="Plain.md")
        await server.kill()
        await app.until("status", "it === 'Bridge: not connected'")
        await server.start(vault, port=server.port)
        await app.wait_until_connected()
        async with server.client() as client:
            # What is open is reported again, to a bridge that knew nothing.
            assert (await client.next("selection_changed"))["filePath"] == str(vault / "Plain.md")


async def test_the_companion_notices_a_bridge_that_ends_cleanly(server: Served, vault: Path) -> None:
    async with obsidian(vault, server.environ) as app:
        await app.wait_until_connected()
        assert await server.end() == 0
        await app.until("status", "it === 'Bridge: not connected'")
        await app.until("reason", f"it === {json.dumps(NOT_RUNNING)}")
        await app.do("pressStatus")
        assert (await app.see("modal")).startswith("BridgeNot connected. No bridge is running")
        await server.start(vault, port=server.port)
        await app.do("goOnline")
        await app.wait_until_connected()


async def test_an_unfinished_edit_survives_a_reconnection(server: Served, vault: Path) -> None:
    async with obsidian(vault, server.environ) as app, server.client() as client:
        await app.wait_until_connected()
        place = str(vault / "Plain.md")
        arguments = {
            "old_file_path": place,
            "new_file_path": place,
            "new_file_contents": "two\n",
            "tab_name": "tab",
        }
        asked = await client.begin("tools/call", name="openDiff", arguments=arguments)
        await app.until("cards", "it.length")
        await app.do("press", note="Plain.md", button="Edit")
        await app.until("cards", "it[0].text !== null")
        await app.do("type", note="Plain.md", text="mine\n")
        await app.do("runCommand", name="reconnect")
        await app.until("status", "it === 'Bridge: 1 change'")
        assert [card["text"] for card in await app.see("cards")] == ["mine\n"]
        await app.until("cards", "it[0].enabled.includes('Accept my version')")
        await app.do("press", note="Plain.md", button="Accept my version")
        result = await client.end(asked)
        assert [block["text"] for block in result["content"]] == ["FILE_SAVED", "mine\n"]


async def test_a_silently_cut_connection_is_noticed_when_the_app_is_visible_again(
    server: Served, vault: Path
) -> None:
    async with obsidian(vault, server.environ) as app:
        await app.wait_until_connected()
        os.kill(server.pid, signal.SIGSTOP)
        try:
            await app.do("goOnline")
            await app.until("status", "it === 'Bridge: connecting…'")
        finally:
            os.kill(server.pid, signal.SIGCONT)
        await app.wait_until_connected()


async def test_changes_that_the_bridge_forgot_go_away(server: Served, vault: Path) -> None:
    async with obsidian(vault, server.environ) as app:
        await app.wait_until_connected()
        async with server.client() as client:
            place = str(vault / "Plain.md")
            arguments = {
                "old_file_path": place,
                "new_file_path": place,
                "new_file_contents": "two\n",
                "tab_name": "tab",
            }
            await client.begin("tools/call", name="openDiff", arguments=arguments)
            await app.until("cards", "it.length")
            await server.kill()
        await app.until("status", "it === 'Bridge: not connected'")
        # Without the bridge nothing can be decided.
        [card] = await app.see("cards")
        assert "Accept" in card["buttons"] and card["enabled"] == ["Open the note"]
        await server.start(vault, port=server.port)
        await app.until("cards", "!it.length")


# leaving


async def unload_and_count(app: Obsidian) -> dict[str, int]:
    await app.do("unload")
    await app.until("leftovers", "!it.sockets")
    left: dict[str, int] = await app.see("leftovers")
    return left


NOTHING = {"timers": 0, "sockets": 0, "events": 0, "listeners": 0, "notices": 0, "parts": 0}


async def test_unloading_leaves_nothing(server: Served, vault: Path) -> None:
    async with obsidian(vault, server.environ) as app:
        await app.wait_until_connected()
        await app.do("open", note="Plain.md")
        assert (await app.do("write", note="Plain.md", text="typed", then="leftovers"))["timers"] > 0
        assert await unload_and_count(app) == NOTHING
        await app.do("write", note="Plain.md", text="more")
        assert await app.see("leftovers") == NOTHING
        # Nothing keeps the process alive but its input.
        assert await app.end() == 0
        await wait_until_no_editor(server, vault)


async def test_unloading_while_it_waits_for_a_bridge_leaves_nothing(tmp_path: Path, vault: Path) -> None:
    async with obsidian(vault, Served(tmp_path / "home").environ) as app:
        await app.until("status", "it === 'Bridge: not connected'")
        assert await unload_and_count(app) == NOTHING
        assert await app.end() == 0


async def test_unloading_in_the_middle_of_connecting_leaves_nothing(server: Served, vault: Path) -> None:
    async with obsidian(vault, server.environ) as app:
        await app.do("runCommand", name="reconnect")
        assert await unload_and_count(app) == NOTHING
        assert await app.end() == 0


async def test_unloading_before_the_app_is_ready_begins_nothing(server: Served, vault: Path) -> None:
    async with obsidian(vault, server.environ, slow=True) as app:
        await app.do("unload")
        await app.do("finishLayout")
        assert await app.see("leftovers") == NOTHING
        assert await app.end() == 0
