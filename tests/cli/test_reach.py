"""`serve` elsewhere than at http://127.0.0.1: commands find it, and `serve` says what does not work."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from support.background import ending_bridges
from support.ports import kept_port
from support.serve import Served, served
from support.waiting import BOUND
from support.web_app import make_certificate

VAULT = {"Plain.md": "one\ntwo\n"}


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[str, str]:
    """For a name that nobody here is called by, signed by nobody; and its key."""
    file, key = make_certificate(tmp_path, "vault.test", alternative="DNS:vault.test")
    return str(file), str(key)


async def check_commands(server: Served, vault: Path, link: str) -> None:
    assert (await server.answer("select", vault, "Plain:1-2"))["path"] == "Plain.md"
    assert (await server.answer("mention", vault, "Plain"))["path"] == "Plain.md"
    assert (await server.command("diffs", vault))[:2] == (0, "No changes to review.\n")
    status = await server.answer("status")
    assert (status["port"], status["pid"]) == (server.port, server.pid)
    page = (await server.answer("page", vault))["page"]
    assert page.startswith(f"{link}/#token=")
    watching = await server.open_command("diffs", vault, "--watch")
    assert watching.stdout is not None
    assert b"Waiting for changes" in await asyncio.wait_for(watching.stdout.readline(), BOUND)
    watching.kill()
    await watching.communicate()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
async def test_commands_find_a_bridge_with_tls_and_trust_its_own_certificate(
    tmp_path: Path, vault: Path, certificate: tuple[str, str], host: str
) -> None:
    home = tmp_path / "home"
    assert (await Served(home).command("token", "make", "phone"))[0] == 0
    tls = ("--host", host, "--tls-certificate", certificate[0], "--tls-key", certificate[1])
    async with served(home, vault, *tls, "--allow-host", "vault.test") as server:
        assert server.announced["url"] == f"https://vault.test:{server.port}"
        assert server.announced["ide"] is False and server.locks == {}
        (notice,) = server.announced["notices"]
        assert "no lock file is written" in notice
        assert f"note: {notice}\n" in server.log.read_text("utf-8")
        await check_commands(server, vault, server.announced["url"])


async def test_the_token_is_not_sent_to_another_certificate(
    tmp_path: Path, vault: Path, certificate: tuple[str, str]
) -> None:
    tls = ("--tls-certificate", certificate[0], "--tls-key", certificate[1])
    async with served(tmp_path / "home", vault, *tls) as server:
        (memory,) = (tmp_path / "home" / "cache").rglob("bridge.json")
        assert memory.stat().st_mode & 0o777 == 0o600
        known = json.loads(memory.read_text())
        async with impostor(tmp_path) as (port, heard):
            memory.write_text(json.dumps({**known, "port": port}))
            code, out, err = await server.command("select", vault, "Plain")
            assert (code, out) == (1, "") and "No bridge is running" in err
            with ending_bridges(tmp_path / "home" / "cache"):
                # `page` starts another bridge, which takes over the file.
                assert (await server.answer("page", vault))["started"]
            assert heard == []
        memory.write_text(json.dumps(known))
        assert (await server.command("select", vault, "Plain"))[0] == 0


class impostor:
    """Listens with a certificate of its own; `heard` is what it received."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "impostor"
        self._folder.mkdir()

    async def __aenter__(self) -> tuple[int, list[bytes]]:
        files = await asyncio.to_thread(make_certificate, self._folder, "vault.test")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*files)
        heard: list[bytes] = []

        async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if line := await reader.read(4096):
                heard.append(line)
            writer.close()

        self._server = await asyncio.start_server(listen, "127.0.0.1", 0, ssl=context)
        return self._server.sockets[0].getsockname()[1], heard

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()


async def test_no_lock_is_written_for_another_loopback_address(tmp_path: Path, vault: Path) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no ::1")
    async with served(tmp_path / "home", vault, "--host", "::1") as server:
        assert server.announced["url"] == f"http://[::1]:{server.port}"
        assert server.announced["ide"] is False and server.locks == {}
        assert "127.0.0.1" in server.announced["notices"][0]
        code, out, _ = await server.command("doctor", vault, "--json")
        assert code == 0
        (first,) = (finding for finding in map(json.loads, out.splitlines()) if finding["area"] == "Bridge")
        assert (first["name"], first["status"]) == ("address", "warning")
        assert f"http://[::1]:{server.port}" in first["found"]
        await check_commands(server, vault, server.announced["url"])
    async with served(tmp_path / "quiet", vault, "--host", "::1", "--no-ide") as server:
        assert server.announced["notices"] == [], "nobody asked for a lock"


async def test_a_second_bridge_of_a_vault_names_the_first_and_serves(tmp_path: Path, vault: Path) -> None:
    home = tmp_path / "home"
    async with served(home, vault) as first:
        assert (first.announced["others"], first.announced["notices"]) == ([], [])
        async with served(home, vault) as second:
            (other,) = second.announced["others"]
            assert (other["vault"], other["port"], other["pid"]) == ("Notes", first.port, first.pid)
            (notice,) = second.announced["notices"]
            assert f"port {first.port}" in notice
            assert f"note: {notice}\n" in second.log.read_text("utf-8")
            assert second.port != first.port
            assert (await second.answer("status"))["port"] == first.port
            # When the first has gone, the commands find the second.
            assert await first.end() == 0
            assert (await second.answer("status"))["port"] == second.port
            assert (await second.answer("select", vault, "Plain"))["path"] == "Plain.md"
            assert await second.end() == 0
        assert await second.command("status") == (
            0,
            "No bridge is running. `vaultbridge page` opens the page, and starts one for it.\n",
            "",
        )


async def test_a_process_that_only_has_the_number_of_a_dead_bridge_is_no_bridge(
    tmp_path: Path, vault: Path
) -> None:
    home = tmp_path / "home"
    async with AsyncExitStack() as connection:
        async with served(home, vault) as first:
            await connection.enter_async_context(kept_port(first.port))
        (memory,) = (home / "cache").rglob("bridge.json")
        known = json.loads(memory.read_text())
        sleeper = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE)
        try:
            memory.write_text(json.dumps({**known, "pid": sleeper.pid}))
            async with served(home, vault) as again:
                assert again.announced["others"] == []
                assert again.port == first.port
        finally:
            sleeper.kill()
            await sleeper.wait()
