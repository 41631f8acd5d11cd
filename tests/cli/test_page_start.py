"""`vaultbridge page` when no bridge is running: it starts one, and every way in which that can go wrong."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.background import ending_bridges, is_running, list_bridges
from support.commands import run_command
from support.files import write_vault
from support.process import Process
from support.serve import Served
from support.waiting import BOUND, ask_until, until, wait_until
from vaultbridge.activity.clients import Activity
from vaultbridge.server.last_use import LastUse
from vaultbridge.server.sessions import SessionMark, list_sessions

PROGRAM = [sys.executable, "-m", "vaultbridge"]
LINK = re.compile(r"(http://127\.0\.0\.1:\d+)/#token=([0-9a-f-]{36})")


class Person:
    """A person with a home of their own, whose bridges take any free port."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.cache = home / "cache"
        config = home / "config" / "vaultbridge" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text("[server]\nport = 0\n", "utf-8")
        self.config = config
        self.environ = {
            **{
                name: value
                for name, value in os.environ.items()
                if name not in ("DISPLAY", "WAYLAND_DISPLAY")
            },
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "VAULTBRIDGE_CACHE": str(self.cache),
            "PYTHONWARNINGS": "default",
        }

    def run(self, *args: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return run_command(*args, env=self.environ, cwd=cwd or self.home)

    def open_page(self, *args: str | Path, cwd: Path | None = None) -> dict[str, Any]:
        done = self.run("page", *args, "--json", cwd=cwd)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def list_vaults(self, page: str) -> list[str]:
        """The vaults that the page at a link shows."""
        found = LINK.fullmatch(page)
        assert found is not None
        request = urllib.request.Request(
            f"{found[1]}/page/api/settings", headers={"Authorization": f"Bearer {found[2]}"}
        )
        with urllib.request.urlopen(request, timeout=BOUND) as answer:
            return [vault["name"] for vault in json.loads(answer.read())["vaults"]]


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    person = Person(tmp_path / "home")
    with ending_bridges(person.cache):
        yield person


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "My Notes, 50 % näher", {"A.md": "a\n"})


def test_it_starts_a_bridge_and_the_second_time_finds_it(person: Person, vault: Path) -> None:
    first = person.run("page", vault)
    assert first.returncode == 0, first.stderr
    assert LINK.fullmatch(first.stdout.strip())
    assert "Started a bridge for My Notes, 50 % näher in the background" in first.stderr
    assert "after 10 minutes without use" in first.stderr and "Warning" not in first.stderr
    assert person.list_vaults(first.stdout.strip()) == ["My Notes, 50 % näher"]
    second = person.run("page", vault)
    assert (second.stdout, second.stderr) == (first.stdout, "")
    assert len(list_bridges(person.cache)) == 1


def test_the_bridge_is_detached_and_leaves_nothing_when_it_ends(person: Person, vault: Path) -> None:
    """It has a session of its own, no terminal, and none of the files that the person's shell had open."""
    person.open_page(vault)
    (pid,) = list_bridges(person.cache)
    assert os.getsid(pid) == pid
    assert Path(f"/proc/{pid}/cwd").resolve() == Path("/")
    assert Path(f"/proc/{pid}/fd/0").resolve() == Path("/dev/null")
    assert Path(f"/proc/{pid}/fd/2").resolve() == (person.cache / "bridge.log").resolve()
    log = person.cache / "bridge.log"
    assert log.stat().st_mode & 0o077 == 0
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not is_running(pid))
    assert list_bridges(person.cache) == []
    assert not list((person.home / ".claude").rglob("*.lock"))
    text = log.read_text("utf-8")
    assert "ERROR" not in text and "token" not in text


def test_programs_get_in_only_with_a_token_and_claude_code_is_not_told(person: Person, vault: Path) -> None:
    """Whoever opens the page has not asked for the vault to be opened to every local program."""
    found = LINK.fullmatch(person.open_page(vault)["page"])
    assert found is not None
    request = urllib.request.Request(
        f"{found[1]}/mcp", b"{}", {"Content-Type": "application/json"}, method="POST"
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=BOUND)
    refused.value.close()
    assert refused.value.code == 401
    assert not list((person.home / ".claude").rglob("*.lock"))


def test_it_serves_every_vault_that_an_assistant_uses(person: Person, vault: Path, tmp_path: Path) -> None:
    """In an assistant's list of servers, in the configuration, and in a session that runs. One that is gone
    is left out, and so is what a folder's own list of servers names."""
    work, gone, foreign = (tmp_path / name for name in ("Work", "Gone", "Foreign"))
    for folder in (work, gone, foreign):
        write_vault(folder, {"B.md": "b\n"})
    (person.home / ".cursor").mkdir()
    for folder in (work, gone):
        assert person.run("connect", "cursor", folder).returncode == 0
    (gone / "B.md").unlink()
    gone.rmdir()
    entry = {"command": "vaultbridge", "args": ["stdio", str(foreign)]}
    (person.home / ".mcp.json").write_text(json.dumps({"mcpServers": {"x": entry}}), "utf-8")
    shown = person.list_vaults(person.open_page(vault)["page"])
    assert shown == [vault.name, "Work"]


async def test_it_serves_the_vault_of_a_session_that_runs(person: Person, vault: Path) -> None:
    command = [*PROGRAM, "stdio", str(vault)]
    async with Process(command, env=person.environ) as session:
        await session.initialize()

        async def find() -> list[Path]:
            return list(person.cache.glob(f"*/sessions/{session.inner.pid}"))

        (mark,) = await ask_until(find)
        assert list_sessions(mark.parent.parent) == [session.inner.pid]
        answer = await asyncio.to_thread(person.open_page)
        assert await asyncio.to_thread(person.list_vaults, answer["page"]) == [vault.name]
        assert (await session.end())[0] == 0
    assert not mark.exists()


async def test_a_session_that_was_killed_is_none(person: Person, vault: Path) -> None:
    async with Process([*PROGRAM, "stdio", str(vault)], env=person.environ) as session:
        await session.initialize()

        async def find() -> list[Path]:
            return list(person.cache.glob(f"*/sessions/{session.inner.pid}"))

        (mark,) = await ask_until(find)
        session.inner.kill()
        await session.wait()
    assert mark.exists()
    assert list_sessions(mark.parent.parent) == []
    assert not mark.exists()


def test_a_mark_is_seen_by_others_for_as_long_as_it_is_held(tmp_path: Path) -> None:
    mark = SessionMark(tmp_path)
    mark.write()
    (tmp_path / "sessions" / "not a number").write_text("", "utf-8")
    assert list_sessions(tmp_path) == [os.getpid()]
    mark.remove()
    assert list_sessions(tmp_path) == []


def test_a_bridge_for_another_vault_is_left_alone(person: Person, vault: Path, tmp_path: Path) -> None:
    other = write_vault(tmp_path / "Other", {"B.md": "b\n"})
    first = person.open_page(other)
    second = person.open_page(vault)
    assert second["started"] and first["page"] != second["page"]
    assert person.list_vaults(first["page"]) == ["Other"]
    assert person.list_vaults(second["page"]) == [vault.name]


def test_a_bridge_that_was_killed_is_replaced_at_the_same_address(person: Person, vault: Path) -> None:
    """So a page that is still open connects again."""
    first = person.open_page(vault)
    (pid,) = list_bridges(person.cache)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_running(pid))
    second = person.open_page(vault)
    assert second == first and second["started"]


def test_a_process_that_took_the_number_of_a_dead_bridge_is_not_one(person: Person, vault: Path) -> None:
    first = person.open_page(vault)
    (pid,) = list_bridges(person.cache)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_running(pid))
    (saved,) = person.cache.glob("*/bridge.json")
    saved.write_text(saved.read_text("utf-8").replace(str(pid), str(os.getpid())), "utf-8")
    second = person.open_page(vault)
    assert second["started"] and LINK.fullmatch(second["page"]) and LINK.fullmatch(first["page"])


def test_a_used_vault_whose_bridge_s_number_was_taken_is_not_taken_for_served(
    person: Person, vault: Path
) -> None:
    """Here nobody names the vault: the configuration does."""
    person.config.write_text(f"[server]\nport = 0\n[[vaults]]\npath = {json.dumps(str(vault))}\n", "utf-8")
    person.open_page(vault)
    (pid,) = list_bridges(person.cache)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_running(pid))
    (saved,) = person.cache.glob("*/bridge.json")
    other = write_vault(person.home / "Other", {"C.md": "c\n"})
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        saved.write_text(saved.read_text("utf-8").replace(str(pid), str(stranger.pid)), "utf-8")
        assert person.list_vaults(person.open_page(other)["page"]) == ["Other", vault.name]
        assert stranger.poll() is None
        stranger.communicate(b"\n")


def test_two_at_once_start_one_bridge(person: Person, vault: Path) -> None:
    command = [*PROGRAM, "page", str(vault), "--json"]
    both = [
        subprocess.Popen(
            command, env=person.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    answers = [json.loads(process.communicate(timeout=BOUND)[0]) for process in both]
    assert sorted(answer["started"] for answer in answers) == [False, True]
    assert answers[0]["page"] == answers[1]["page"]
    assert len(list_bridges(person.cache)) == 1


async def test_serve_takes_over_from_it_at_the_same_address(person: Person, vault: Path) -> None:
    """A person who then starts a bridge that stays, or installs the service, needs the port."""
    first = LINK.fullmatch((await asyncio.to_thread(person.open_page, vault))["page"])
    assert first is not None
    (pid,) = list_bridges(person.cache)
    server = Served(person.home, **person.environ)
    try:
        await server.start(vault, port=None)
        await until(lambda: not is_running(pid))
        assert (server.announced["url"], server.token) == (first[1], first[2])
        assert server.announced["notices"] == [] and server.announced["others"] == []
        found = await asyncio.to_thread(person.open_page, vault)
        assert found == {"page": first[0], "started": False}
    finally:
        await server.kill()


def test_a_vault_that_is_gone_is_the_error(person: Person, tmp_path: Path) -> None:
    done = person.run("page", tmp_path / "Nowhere")
    assert done.returncode == 1 and "There is no folder" in done.stderr and not done.stdout


def test_without_any_vault_it_says_how_to_name_one(person: Person) -> None:
    done = person.run("page")
    assert done.returncode == 1 and "-v FOLDER" in done.stderr
    assert list_bridges(person.cache) == []


def test_a_wrong_configuration_is_shown_to_the_person(person: Person, vault: Path) -> None:
    person.config.write_text("[server]\nprot = 0\n", "utf-8")
    done = person.run("page", vault)
    assert done.returncode == 1
    assert "server.prot is not a known key. Did you mean port?" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_of_the_bridge_is_shown_to_the_person(person: Person, vault: Path) -> None:
    """Here the port that the configuration names is taken. It must not be lost in a background log."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        person.config.write_text(f"[server]\nport = {port}\n", "utf-8")
        done = person.run("page", vault)
        assert done.returncode == 1 and str(port) in done.stderr
        as_json = json.loads(person.run("page", vault, "--json").stdout)
        assert str(port) in as_json["error"]
    assert list_bridges(person.cache) == []


def test_a_cache_folder_that_cannot_be_written_is_the_error(person: Person, vault: Path) -> None:
    person.cache.mkdir()
    (person.cache / "page.lock").mkdir()
    done = person.run("page", vault)
    assert done.returncode == 1 and "page.lock" in done.stderr


@pytest.mark.parametrize("display", [{}, {"BROWSER": "x"}])
def test_it_opens_the_browser_of_a_person_at_a_terminal(
    person: Person, vault: Path, tmp_path: Path, display: dict[str, str]
) -> None:
    """Without a display, it prints the link instead; and the browser gets a link that works once."""
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {shlex.quote(str(opened))}\n', "utf-8")
    browser.chmod(0o755)
    environ = {**person.environ, **({"BROWSER": f"{browser} %s"} if display else {})}
    environ.pop("SSH_CONNECTION", None)
    ours, theirs = os.openpty()
    with subprocess.Popen([*PROGRAM, "page", str(vault)], env=environ, stdout=theirs) as process:
        os.close(theirs)
        with os.fdopen(ours, encoding="utf-8") as screen:
            shown = screen.readline()
        assert process.wait(BOUND) == 0
    if display:
        assert re.match(r"http://127\.0\.0\.1:\d+/#code=", opened.read_text("utf-8"))
        assert "The page is at http://127.0.0.1" in shown and "token" not in shown
    else:
        assert LINK.fullmatch(shown.strip()) and not opened.exists()


async def test_it_ends_when_nobody_uses_it(person: Person, vault: Path) -> None:
    """An open page keeps it; when that is closed, it ends by itself, cleanly."""
    server = Served(person.home, **person.environ)
    try:
        await server.start(vault, "--end-after", "0.02")
        async with server.editor() as page:
            await page.request("status")
            assert is_running(server.pid)
        assert server._process is not None
        assert await asyncio.wait_for(server._process.wait(), BOUND) == 0
    finally:
        await server.kill()
    assert "Nobody has used this server for a while" in server.log.read_text("utf-8")
    assert list_bridges(person.cache) == []


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_what_counts_as_use() -> None:
    """A request that runs, a client that is connected; the time begins when the last of them ends."""
    clock, activity = Clock(), Activity()
    last_use = LastUse(0.01, clock=clock)
    last_use.watch(activity)
    ended = asyncio.create_task(last_use.wait_unused())
    client = activity.join("mcp")
    clock.now = 100.0
    await asyncio.sleep(0)
    assert last_use.is_used and not ended.done()
    activity.leave(client)
    assert not last_use.is_used
    clock.now = 200.0
    await asyncio.wait_for(ended, BOUND)


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "99999", "soon"])
def test_a_time_that_makes_no_sense_is_refused(person: Person, vault: Path, minutes: str) -> None:
    done = person.run("serve", vault, f"--end-after={minutes}")
    assert done.returncode == 2 and "--end-after" in done.stderr


async def test_status_shows_what_each_session_costs(person: Person, vault: Path) -> None:
    """And `doctor` proposes to share one bridge when there are many for one vault."""
    command = [*PROGRAM, "stdio", str(vault)]
    async with contextlib.AsyncExitStack() as stack:
        sessions = [await stack.enter_async_context(Process(command, env=person.environ)) for _ in range(3)]
        for session in sessions:
            await session.initialize()
        pids = sorted(session.inner.pid for session in sessions)

        async def count() -> bool:
            return len(list(person.cache.glob("*/sessions/*"))) == 3

        await ask_until(count)
        said = json.loads((await asyncio.to_thread(person.run, "status", "--json")).stdout)
        assert sorted(row["pid"] for row in said["sessions"]) == pids and said["vault"] == str(vault)
        assert {row["parent"]["pid"] for row in said["sessions"]} == {os.getpid()}
        assert all(row["memory"]["bytes"] > 2**20 for row in said["sessions"])
        shown = (await asyncio.to_thread(person.run, "status")).stdout
        assert "3 sessions over stdio, each its own process" in shown and f"process {pids[0]}" in shown
        done = await asyncio.to_thread(person.run, "doctor", "-v", vault, "--json")
        findings = [json.loads(line) for line in done.stdout.splitlines()]
        (found,) = [finding for finding in findings if finding["name"] == "sessions"]
        assert "3 processes of `vaultbridge stdio`" in found["found"]
        assert "vaultbridge service install" in found["advice"] and "--shared" in found["advice"]
