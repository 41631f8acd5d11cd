"""The IDE socket of a real server: who may connect, what is sent, and what survives a crash."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import stat
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import websockets

from support import raw_websocket as raw_ws
from support.dial import dial
from support.editor import Client, Failed
from support.long_form import mark_long_after
from support.ports import kept_port
from support.serve import Home, Served, hosted, served
from support.waiting import BOUND, until

TOKEN_HEADER = "X-Claude-Code-Ide-Authorization"


VAULT_NAME = "Mein Tresor é"
VAULT_LINK = "link"
VAULT = {
    "Plain.md": "one\ntwo [[Nowhere]]\nthree\n",
    "Links.md": "see [[Plain]]\n",
    "Broken.md": "---\na: [\n---\nx ^b1\n\ny ^b1\n",
    "My Folder/Käse Note.md": "alpha\nbeta\ngamma\n",
    "Private/Diary.md": "dear diary\n",
}


@pytest.fixture
async def server(tmp_path: Path, vault: Path) -> AsyncIterator[Served]:
    async with served(tmp_path / "home", vault, "--deny", "Private/", "--log-level", "debug") as server:
        yield server


@pytest.fixture
async def bridge(tmp_path: Path, vault: Path) -> AsyncIterator[Home]:
    async with hosted(tmp_path / "home", vault, config='[scope]\ndeny = ["Private/"]\n') as bridge:
        yield bridge


def make_absolute(vault: Path, note: str = "") -> str:
    return os.path.realpath(vault / note)


# the place on the machine


async def test_port_token_and_lock_survive_a_crash_and_the_client_comes_back(
    server: Served, vault: Path
) -> None:
    port, token, pid = server.port, server.token, server.pid
    assert uuid.UUID(token).version == 4
    folder = server.home / ".claude" / "ide"
    theirs = folder / "65001.lock"
    theirs.write_text(json.dumps({"pid": os.getpid(), "workspaceFolders": ["/elsewhere"], "transport": "ws"}))
    before = theirs.read_bytes()
    async with server.client() as client:
        await server.command("select", vault, "Plain")
        await client.next("selection_changed")
        await server.kill()
    assert server.locks[f"{port}.lock"]["pid"] == pid
    dead = folder / "65002.lock"
    dead.write_text(json.dumps({"pid": pid, "workspaceFolders": ["/elsewhere"], "transport": "ws"}))
    await server.start(vault, port=None)
    assert (server.port, server.token) == (port, token)
    assert server.locks[f"{port}.lock"] == {
        "pid": server.pid,
        "workspaceFolders": [make_absolute(vault)],
        "ideName": "Obsidian",
        "transport": "ws",
        "runningInWindows": False,
        "authToken": token,
        "port": port,
    }
    assert not dead.exists() and theirs.read_bytes() == before
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / f"{port}.lock")]
    assert modes == [0o700, 0o600]
    async with server.client() as client:
        assert await client.request("ping") == {}
    assert await server.end() == 0
    assert list(server.locks) == ["65001.lock"]
    await server.start(vault)
    assert (server.port, server.token) == (port, token)


async def test_the_lock_lies_where_a_client_finds_it_once_and_is_cleared(tmp_path: Path, vault: Path) -> None:
    home, chosen = tmp_path / "home", tmp_path / "claude config"
    (home / ".config" / "claude").mkdir(parents=True)
    server = Served(home, CLAUDE_CONFIG_DIR=str(chosen))
    try:
        await server.start(vault)
        places = [home / ".claude" / "ide", chosen / "ide", home / ".config" / "claude" / "ide"]
        locks = [place / f"{server.port}.lock" for place in places]
        # A second one, and the client would list the vault twice and never connect by itself.
        assert [lock for lock in locks if lock.exists()] == [chosen / "ide" / f"{server.port}.lock"]
        code, out, _ = await server.command("doctor", vault, cwd=vault)
        assert code == 0, out
        assert await server.end() == 0
        assert not any(lock.exists() for lock in locks)
        server = Served(home)
        await server.start(vault)
        locks = [place / f"{server.port}.lock" for place in (places[0], places[2])]
        assert len({lock.read_bytes() for lock in locks}) == 1
        assert await server.end() == 0
        assert not any(lock.exists() for lock in locks)
    finally:
        await server.kill()


async def test_a_lock_that_is_deleted_is_written_again_while_it_serves(tmp_path: Path, vault: Path) -> None:
    home = tmp_path / "home"
    server = Served(home)
    try:
        await server.start(vault)
        folders = home / ".claude" / "ide", home / ".config" / "claude" / "ide"
        lock, later = (folder / f"{server.port}.lock" for folder in folders)
        written = lock.read_bytes()
        theirs = folders[0] / "65001.lock"
        theirs.write_text("theirs")
        lock.unlink()
        await until(lambda: lock.exists() and lock.read_bytes() == written)
        assert theirs.read_text() == "theirs"
        shutil.rmtree(home / ".claude")
        await until(lambda: lock.exists() and lock.read_bytes() == written)
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600
        # An older release makes its folder and looks there only.
        assert not later.parent.exists()
        later.parent.parent.mkdir(parents=True)
        await until(lambda: later.exists() and later.read_bytes() == written)
        async with server.client() as client:
            assert await client.request("ping") == {}
        assert await server.end() == 0
        assert not lock.exists() and not later.exists()
    finally:
        await server.kill()


@pytest.mark.parametrize(
    ("ours", "theirs", "status"),
    mark_long_after(
        2, [("a", "b", "bad"), ("a", "", "warning"), ("b", "b", "good"), ("", "b", "bad"), ("", "", "good")]
    ),
)
async def test_doctor_notices_that_the_bridge_has_another_claude_config_dir(
    tmp_path: Path, vault: Path, ours: str, theirs: str, status: str
) -> None:
    """`ours` is what Claude Code and doctor have, `theirs` what the bridge was started with."""
    places = {name: {"CLAUDE_CONFIG_DIR": str(tmp_path / name)} if name else {} for name in ("", "a", "b")}
    server, beside = Served(tmp_path / "home", **places[theirs]), Served(tmp_path / "home", **places[ours])
    folder = (tmp_path / theirs if theirs else tmp_path / "home" / ".claude") / "ide"
    try:
        await server.start(vault)
        code, out, _ = await beside.command("doctor", vault, "--json", cwd=vault)
        findings = {finding["name"]: finding for finding in map(json.loads, out.splitlines())}
        found = findings["environment"]
        assert found["status"] == status
        if status != "good":
            assert "CLAUDE_CONFIG_DIR" in found["advice"] and str(folder) in found["found"]
        lock = findings["lock file in the folder Claude Code scans"]
        assert lock["status"] == ("bad" if status == "bad" else "good")
        assert status != "bad" or str(folder / f"{server.port}.lock") in lock["found"]
        assert code == (1 if status == "bad" else 0)
    finally:
        await server.kill()


async def test_a_port_that_is_taken_is_said_and_a_remembered_one_gives_way(
    tmp_path: Path, vault: Path
) -> None:
    server = Served(tmp_path / "home")
    try:
        await server.start(vault)
        port, token = server.port, server.token
        async with kept_port(port):
            await server.end()
            taken = socket.create_server(("127.0.0.1", port))
        with taken:
            code, _, err = await server.command("serve", vault, "--port", str(port))
            assert code == 1 and f"tried {port}" in err and "--port" in err
            await server.start(vault)
            assert server.port != port and server.token == token
    finally:
        await server.kill()


async def test_the_name_in_the_ide_list_is_the_persons_choice(tmp_path: Path, vault: Path) -> None:
    config = '[ide]\nname = "Zettelkasten"\n'
    async with hosted(tmp_path / "home", vault, config=config) as server:
        assert server.locks[f"{server.port}.lock"]["ideName"] == "Zettelkasten"


async def answer_roots(client: Client, folder: Path) -> None:
    """Answer the bridge's question where the client runs, as Claude Code does."""
    id_, _ = await client.next_request("roots/list")
    roots = [{"uri": folder.as_uri(), "name": folder.name}]
    await client.send(id=id_, result={"roots": roots})
    await client.request("ping")  # When this is answered, the other has arrived.


async def test_of_several_vaults_each_client_is_served_the_one_it_runs_in(
    tmp_path: Path, vault: Path
) -> None:
    second = tmp_path / "Second"
    (second / "Sub").mkdir(parents=True)
    (second / "Other.md").write_text("other\n")
    capabilities = {"roots": {}}
    async with served(tmp_path / "home", vault, second) as server, AsyncExitStack() as clients:
        lock = server.locks[f"{server.port}.lock"]
        assert lock["workspaceFolders"] == [make_absolute(vault), str(second)]
        # Each answers before the next one comes: the bridge does not wait long for it.
        one = await clients.enter_async_context(server.client(capabilities=capabilities))
        await answer_roots(one, vault)
        two = await clients.enter_async_context(server.client(capabilities=capabilities))
        await answer_roots(two, second / "Sub")
        silent = await clients.enter_async_context(server.client())
        await silent.request("ping")
        seen = await server.answer("select", second, "Other:1")
        assert seen["assistants"] == 1
        assert (await two.next("selection_changed"))["filePath"] == str(second / "Other.md")
        assert (await two.request("getWorkspaceInfo"))["name"] == "Second"
        assert await two.request("readFile", path="Other.md") == "other\n"
        assert (await server.answer("mention", vault, "Plain"))["assistants"] == 2
        for client in (one, silent):
            # Who does not say where it runs is at the first vault.
            assert (await client.next("at_mentioned"))["filePath"] == make_absolute(vault, "Plain.md")
            assert await client.request("getCurrentFile") is None
            assert (await client.request("getWorkspaceInfo"))["name"] == "Mein Tresor é"
        assert not [m for m in await take_messages(two) if m.get("method") == "at_mentioned"]
        _, out, _ = await server.command("status", "--json")
        shown = {bridge["vault"]: bridge for bridge in map(json.loads, out.splitlines())}
        assert {name: len(bridge["clients"]) for name, bridge in shown.items()} == {
            "Mein Tresor é": 2,
            "Second": 1,
        }
        assert {bridge["port"] for bridge in shown.values()} == {server.port}
        code, out, _ = await server.command("doctor", second, cwd=second)
        assert code == 0, out
        assert await server.end() == 0
    code, _, err = await server.command("select", second, "Other")
    assert code == 1 and "No bridge is running" in err
    # Alone again, the second vault has a port and a token of its own.
    token = lock["authToken"]
    await server.start(second)
    try:
        assert server.token != token and server.locks[f"{server.port}.lock"]["workspaceFolders"] == [
            str(second)
        ]
    finally:
        await server.kill()


# who may connect


async def test_a_refused_upgrade_gets_the_status_that_says_why(bridge: Home) -> None:
    good = {TOKEN_HEADER: bridge.token}
    for headers, status in (
        ({}, 401),
        ({TOKEN_HEADER: "wrong"}, 401),
        ({TOKEN_HEADER: str(uuid.uuid4())}, 401),
        ({**good, "Origin": "http://localhost"}, 403),
        ({**good, "Origin": "https://evil.example"}, 403),
    ):
        with pytest.raises(websockets.InvalidStatus) as refused:
            await dial(f"ws://127.0.0.1:{bridge.port}/", additional_headers=headers)
        assert refused.value.response.status_code == status
        # What to send, and where it stands; not the secret itself, nor a place of this machine.
        body = (refused.value.response.body or b"").decode()
        assert TOKEN_HEADER in body and "~/.claude/ide/<port>.lock" in body
        assert ("Origin" in body) is (status == 403)
        assert bridge.token not in body and str(bridge.home) not in body
    for key in ("test", "dGVzdA==", ""):
        client = await raw_ws.connect(bridge.port, key=key, **good)
        assert client.status == 400
        await client.close()


async def test_a_sound_bridge_is_examined_without_a_warning_in_its_log(server: Served, vault: Path) -> None:
    code, out, _ = await server.command("doctor", vault, cwd=vault)
    assert code == 0, out
    assert await server.end() == 0
    log = server.log.read_text("utf-8")
    assert "Refused a connection" in log
    assert [line for line in log.splitlines() if "WARNING" in line or "ERROR" in line] == []


async def test_the_subprotocol_is_echoed_when_offered_and_compression_agreed(bridge: Home) -> None:
    for offered, chosen in ((["mcp"], "mcp"), (["other", "mcp"], "mcp"), (["other"], None), (None, None)):
        async with dial(
            f"ws://127.0.0.1:{bridge.port}/",
            subprotocols=None if offered is None else [websockets.Subprotocol(name) for name in offered],
            additional_headers={TOKEN_HEADER: bridge.token},
        ) as connection:
            assert connection.subprotocol == chosen
            assert [type(extension).__name__ for extension in connection.protocol.extensions] == [
                "PerMessageDeflate"
            ]


async def test_the_eleventh_connection_finds_no_room_until_one_leaves(bridge: Home) -> None:
    async with AsyncExitStack() as ten:
        clients = [await ten.enter_async_context(bridge.client()) for _ in range(9)]
        async with bridge.client() as tenth:
            await tenth.request("ping")
            with pytest.raises(websockets.InvalidStatus) as refused:
                async with bridge.client():
                    pass
            assert refused.value.response.status_code == 503
        async with bridge.client() as tenth:
            # All ten at once, each with many questions in flight.
            asked = [await client.begin("readFile", path="Plain.md") for client in [*clients, tenth] * 20]
            owners = [*clients, tenth] * 20
            answers = [await owner.end(call) for owner, call in zip(owners, asked, strict=True)]
            assert set(answers) == {"one\ntwo [[Nowhere]]\nthree\n"}


async def test_a_message_of_ten_mebibytes_passes_and_a_larger_one_closes_with_1009(bridge: Home) -> None:
    whole = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": ""}})
    async with bridge.client() as client:
        fill = "x" * (10 * 2**20 - len(whole))
        await client.socket.send(whole.replace('"x": ""', f'"x": "{fill}"'))
        async with asyncio.timeout(BOUND):
            while "result" not in (answer := await client.came.get()):
                pass
            assert answer["result"] == {}
        assert await client.request("ping") == {}
        await client.socket.send(whole.replace('"x": ""', f'"x": "{fill}x"'))
        await asyncio.wait_for(client.socket.wait_closed(), BOUND)
        assert client.socket.close_code == 1009


async def test_a_slow_reader_is_dropped_and_the_others_hear_everything(server: Served, vault: Path) -> None:
    slow = await raw_ws.connect(server.port, **{TOKEN_HEADER: server.token})
    for message in (
        {"id": 0, "method": "initialize", "params": {}},
        {"method": "notifications/initialized"},
        {"method": "ide_connected", "params": {"pid": 1}},
    ):
        await slow.send(raw_ws.make_frame(raw_ws.TEXT, json.dumps({"jsonrpc": "2.0", **message}).encode()))
    async with server.client() as quick, server.editor() as editor:
        status = await server.answer("status")
        assert len(status["clients"]) == 2
        dropped = False
        for number in range(60):
            text = f"{number:06d}" + "x" * 200_000
            selection = {
                "start": {"line": 0, "character": 0},
                "end": {"line": 0, "character": 1 + number},
                "text": text,
            }
            await editor.request("focus", path="Plain.md", selection=selection)
            assert (await quick.next("selection_changed"))["text"] == text
            if len((await editor.request("status"))["clients"]) == 1:
                dropped = True
                break
        assert dropped
        assert await quick.request("ping") == {}
    await slow.close()
    assert "slow reader" in server.log.read_text("utf-8")


# what is answered


async def test_the_methods_of_both_seeds_answer_from_the_vault(bridge: Home, vault: Path) -> None:
    async with bridge.client() as client:
        text = "alpha\nbeta\ngamma\n"
        for path in (
            "My Folder/Käse Note.md",
            "/My Folder/Käse Note.md",
            make_absolute(vault, "My Folder/Käse Note.md"),
        ):
            assert await client.request("files/read", path=path) == text
            assert await client.request("readFile", path=path) == text
        info = await client.request("getWorkspaceInfo")
        assert info == {
            "name": "Mein Tresor é",
            "path": make_absolute(vault),
            "fileCount": 4,
            "type": "obsidian-vault",
        }
        assert await client.request("listFiles", pattern="*.md") == [
            "Broken.md",
            "Links.md",
            "My Folder/Käse Note.md",
            "Plain.md",
        ]
        assert (await client.request("writeFile", path="New/Made.md", content="made\n"))["success"] is True
        assert (vault / "New" / "Made.md").read_text() == "made\n"
        await client.request("writeFile", path="Plain.md", content="overwritten\n")
        _, history, _ = await bridge.command("history", vault, "--json")
        assert [json.loads(line)["actor"] for line in history.splitlines()] == ["ide:claude-code"] * 2
        code, _, err = await bridge.command("undo", vault)
        assert code == 0, err
        assert (vault / "Plain.md").read_text().startswith("one\n")
        assert await client.request("getOpenFiles") == []
        assert await client.request("getCurrentFile") is None
        assert "resources" in await client.request("resources/list")
        names = {tool["name"] for tool in (await client.request("tools/list"))["tools"]}
        assert {"openDiff", "getDiagnostics", "closeAllDiffTabs", "obsidian_create_note"} <= names
        assert (await client.request("prompts/list"))["prompts"]


async def test_errors_have_the_codes_and_words_of_the_seeds(bridge: Home) -> None:
    async with bridge.client() as client:
        for method, params, code, says in (
            ("readFile", {"path": "Gone.md"}, -32603, "failed to read file: File not found"),
            ("files/read", {"path": "Private/Diary.md"}, -32603, "failed to read file: File not found"),
            ("writeFile", {"path": "Private/Diary.md", "content": "x"}, -32603, "failed to write file: "),
            ("readFile", {"path": "../../etc/passwd"}, -32602, ""),
            ("readFile", {"path": "/etc/passwd"}, -32603, "File not found"),
            ("readFile", {}, -32602, "path"),
            ("nonsense", {}, -32601, "nonsense"),
        ):
            with pytest.raises(Failed) as failed:
                await client.request(method, **params)
            assert failed.value.code == code and says in failed.value.message, (method, params)
        for text, code in (("{", -32700), ('{"jsonrpc": "2.0", "id": 5}', -32600), ("[]", -32600)):
            await client.socket.send(text)
            async with asyncio.timeout(BOUND):
                while "error" not in (answer := await client.came.get()):
                    pass
                assert answer["error"]["code"] == code
        assert await client.request("ping") == {}


async def test_diagnostics_have_exact_places(bridge: Home, vault: Path) -> None:
    async with bridge.client() as client:
        # Counting waits for the first index; diagnostics never wait, and call no link broken before.
        await client.request("getWorkspaceInfo")
        uri = "file://" + make_absolute(vault, "Plain.md")
        [answer] = await client.tool("getDiagnostics", uri=uri)
        [entry] = json.loads(answer)
        [broken] = entry["diagnostics"]
        assert (entry["uri"], broken["code"]) == (uri, "broken-link")
        assert broken["range"] == {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 15}}
        [answer] = await client.tool("getDiagnostics", uri="file://" + make_absolute(vault, "Broken.md"))
        codes = {found["code"] for found in json.loads(answer)[0]["diagnostics"]}
        assert codes >= {"bad-yaml", "duplicate-block-id"}
        [whole] = await client.tool("getDiagnostics")
        assert {Path(entry["uri"]).name for entry in json.loads(whole)} == {"Plain.md", "Broken.md"}


# what leaves, and what does not


async def take_messages(client: Client) -> list[dict[str, Any]]:
    """Everything that has been sent to the client up to now: an answer marks the place."""
    await client.request("ping")
    return [client.came.get_nowait() for _ in range(client.came.qsize())]


async def test_nothing_of_a_private_note_leaves(bridge: Home, vault: Path) -> None:
    async with bridge.client() as client, bridge.editor() as editor:
        await editor.request("focus", path="Plain.md")
        assert (await client.next("selection_changed"))["filePath"] == make_absolute(vault, "Plain.md")
        selection = {
            "start": {"line": 0, "character": 0},
            "end": {"line": 0, "character": 10},
            "text": "dear diary",
        }
        await editor.request("openFiles", files=[{"path": "Private/Diary.md"}, {"path": "Plain.md"}])
        await editor.request("focus", path="Private/Diary.md", selection=selection)
        # That the person left the shared note is sent, and where to is not.
        cleared = await client.next("selection_changed")
        assert (cleared["filePath"], cleared["text"], cleared["fileUrl"]) == ("", "", "")
        assert await client.request("getCurrentFile") is None
        assert await client.request("getOpenFiles") == ["Plain.md"]
        place = make_absolute(vault, "Private/Diary.md")
        for tool, arguments in (
            ("getCurrentSelection", {}),
            ("getOpenEditors", {}),
            ("getDiagnostics", {"uri": f"file://{place}"}),
        ):
            assert "iary" not in "".join(await client.tool(tool, **arguments)).replace(place, "")
        with pytest.raises(Failed):
            await editor.request("mention", note="Private/Diary.md")
        assert not [message for message in await take_messages(client) if "iary" in json.dumps(message)]
    assert "iary" not in json.dumps(await bridge.answer("status"))


async def test_the_switch_and_a_folder_made_private_take_effect_at_once(tmp_path: Path, vault: Path) -> None:
    config = tmp_path / "home" / ".config" / "vaultbridge" / "config.toml"

    def configure(text: str) -> None:
        passing = config.with_suffix(".new")
        passing.write_text(written + text)
        passing.replace(config)

    async with (
        hosted(tmp_path / "home", vault) as server,
        server.client() as client,
        server.editor() as editor,
    ):
        written = config.read_text()
        await editor.request("focus", path="Private/Diary.md")
        assert (await client.next("selection_changed"))["filePath"] == make_absolute(
            vault, "Private/Diary.md"
        )
        configure('[scope]\ndeny = ["Private/"]\n')
        assert (await client.next("selection_changed"))["filePath"] == ""
        await editor.request("focus", path="Plain.md")
        assert (await client.next("selection_changed"))["filePath"] == make_absolute(vault, "Plain.md")
        configure('[scope]\ndeny = ["Private/"]\n[privacy]\nshare_selection = false\n')
        assert (await client.next("selection_changed"))["filePath"] == ""
        await editor.request("focus", path="Links.md")
        assert await client.request("getCurrentFile") is None
        configure("")
        assert (await client.next("selection_changed"))["filePath"] == make_absolute(vault, "Links.md")


async def test_obsidians_own_tabs_are_followed_while_it_runs(server: Served, vault: Path) -> None:
    settings = vault / ".obsidian"
    settings.mkdir()
    app = server.home / ".config" / "obsidian"
    app.mkdir(parents=True)

    def open_note(note: str) -> None:
        leaf = {
            "id": "l1",
            "type": "leaf",
            "state": {"type": "markdown", "state": {"file": note, "mode": "source"}},
        }
        tabs = {"id": "t", "type": "tabs", "children": [leaf]}
        split = {"id": "m", "type": "split", "children": [tabs]}
        passing = settings / "workspace.new"
        passing.write_text(json.dumps({"main": split, "active": "l1", "lastOpenFiles": []}))
        passing.replace(settings / "workspace.json")

    async with server.client() as client:
        open_note("Plain.md")
        # The app's single-instance lock, held by a process that lives: this one.
        (app / "SingletonLock").symlink_to(f"{socket.gethostname()}-{os.getpid()}")
        assert (await client.next("selection_changed"))["filePath"] == make_absolute(vault, "Plain.md")
        open_note("Links.md")
        assert (await client.next("selection_changed"))["filePath"] == make_absolute(vault, "Links.md")
        (vault / "Links.md").unlink()
        assert (await client.next("selection_changed"))["filePath"] == ""


# the end, and the log


async def test_a_polite_end_says_goodbye_to_everybody(server: Served) -> None:
    async with server.client() as client, server.editor() as editor:
        assert await server.end() == 0
        for item in (client, editor):
            await asyncio.wait_for(item.socket.wait_closed(), BOUND)
            assert item.socket.close_code == 1001
    assert server.locks == {}


async def test_the_debug_log_has_the_seeds_events_and_no_secret(server: Served, vault: Path) -> None:
    token = server.token
    async with server.client() as client:
        await server.command("mention", vault, "Plain")
        await client.next("at_mentioned")
        await client.request("readFile", path="Plain.md")
    with pytest.raises(websockets.InvalidStatus):
        await dial(f"ws://127.0.0.1:{server.port}/", additional_headers={TOKEN_HEADER: "guessed-token"})
    await server.end()
    log = server.log.read_text("utf-8")
    for event in (
        "Authentication successful: claude-1",
        "Client connected: claude-1",
        "Raw data received: ",
        "Parsed message: request initialize from claude-1",
        "Parsed message: notification ide_connected from claude-1",
        "Sent at-mention to claude-1: Plain.md",
        "Client disconnected: claude-1",
        "Refused a connection: The authentication token is missing or wrong",
    ):
        assert event in log
    assert token not in log and "guessed-token" not in log and "Nowhere" not in log
    assert all(line[:8].count(":") == 2 for line in log.splitlines()), log
