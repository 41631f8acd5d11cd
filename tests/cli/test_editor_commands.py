"""`select`, `mention`, `diffs`, `status` and `doctor` beside a real bridge."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.editor import Client, finish_call
from support.serve import Home, Served, hosted, served
from support.waiting import BOUND
from vaultbridge.editor.feed import MENTION_SECONDS

NOTE = "My Folder/Käse Note.md"


VAULT_NAME = "Mein Tresor é"
VAULT_LINK = "link"
VAULT = {
    "Plain.md": "one\ntwo 𝄞 [[Nowhere]]\nthree\n",
    NOTE: "alpha\nbeta\ngamma\n",
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


def make_absolute(vault: Path, note: str) -> str:
    return os.path.realpath(vault / note)


async def test_select_shows_lines_and_columns_to_the_assistant(bridge: Home, vault: Path) -> None:
    async with bridge.client() as client:
        code, out, _ = await bridge.command("select", vault, "Plain:1-2")
        assert (code, out) == (0, "Plain.md is selected; 1 assistant connected.\n")
        found = await client.next("selection_changed")
        assert found == {
            "text": "one\ntwo 𝄞 [[Nowhere]]",
            "filePath": make_absolute(vault, "Plain.md"),
            "fileUrl": Path(make_absolute(vault, "Plain.md")).as_uri(),
            # The clef is one character for the person and two units on the wire.
            "selection": {
                "start": {"line": 0, "character": 0},
                "end": {"line": 1, "character": 18},
                "isEmpty": False,
            },
        }
        answer = await bridge.answer("select", vault, f"{NOTE}:2:2-3:1")
        assert (answer["path"], answer["selection"]["text"]) == (NOTE, "eta\n")
        found = await client.next("selection_changed")
        assert (found["filePath"], found["text"]) == (make_absolute(vault, NOTE), "eta\n")
        # What the person selected is what the seeds' own methods and the IDE's tools answer too.
        assert await client.request("getCurrentFile") == NOTE
        assert (await client.request("workspace/selection"))["cursor"] == {"line": 2, "character": 0}
        [current] = await client.tool("getCurrentSelection")
        assert json.loads(current)["text"] == "eta\n"


async def test_a_mention_reaches_connected_assistants_and_waits_for_the_next_one(
    server: Served, vault: Path
) -> None:
    took = MENTION_SECONDS
    while took >= MENTION_SECONDS:  # On a machine that is so busy, the next one comes too late.
        while (await server.answer("status"))["clients"]:
            pass
        asked = time.monotonic()
        code, out, _ = await server.command("mention", vault, f"{NOTE}#L1-L2")
        waits = "No assistant is connected. One that connects within 10 seconds gets"
        assert code == 0 and out.startswith(waits)
        async with server.client() as client:
            took = time.monotonic() - asked
            if took < MENTION_SECONDS:
                found = await client.next("at_mentioned")
                assert found == {"filePath": make_absolute(vault, NOTE), "lineStart": 0, "lineEnd": 1}
                assert (await server.answer("mention", vault, "Plain"))["assistants"] == 1
                assert await client.next("at_mentioned") == {"filePath": make_absolute(vault, "Plain.md")}
    assert "Sent at-mention" in server.log.read_text("utf-8")


async def test_what_may_not_or_cannot_be_shown_is_refused(bridge: Home, vault: Path) -> None:
    for command, place, says in (
        ("select", "Private/Diary", "No note named"),
        ("mention", "Private/Diary.md", "No note named"),
        ("select", "../Outside", "No note named"),
        ("select", "Plain:9", "lines 1 to 3, not 9"),
    ):
        code, out, err = await bridge.command(command, vault, place)
        assert (code, out) == (1, ""), place
        assert err.startswith("vaultbridge: ") and err.count("\n") == 1 and says in err


async def test_an_impossible_place_is_wrong_usage(bridge: Home, vault: Path) -> None:
    for command, place, says in (
        ("select", "Plain:0", "counted from 1"),
        ("mention", "Plain#L0", "counted from 1"),
        ("mention", "Plain#L3-L2", "before the start"),
        ("select", "Plain:3-2", "before the start"),
    ):
        code, out, err = await bridge.command(command, vault, place)
        assert (code, out) == (2, ""), place
        assert err.startswith("vaultbridge: ") and says in err
        (usage,) = err.splitlines()[1:]
        assert usage.startswith(f"usage: vaultbridge {command} [VAULT] PLACE [options]; ")


async def test_without_a_bridge_each_command_says_how_to_start_one(tmp_path: Path, vault: Path) -> None:
    nobody = Served(tmp_path / "home")
    for name, *rest in (
        ["select", "Plain"],
        ["mention", "Plain"],
        ["diffs", "--watch"],
    ):
        code, out, err = await nobody.command(name, vault, *rest)
        assert (code, out) == (1, ""), name
        start = f"`vaultbridge serve -v {vault}`"
        assert err == f"vaultbridge: No bridge is running for this vault. Start one with {start}.\n"


async def test_status_names_bridges_clients_and_their_last_messages(server: Served, vault: Path) -> None:
    async with server.client() as client, server.editor("my-editor") as editor:
        await editor.request("focus", path="Plain.md")
        await client.next("selection_changed")
        status = await server.answer("status")
        assert (status["port"], status["pid"], status["focus"]) == (server.port, server.pid, "Plain.md")
        [shown] = status["clients"]
        assert (shown["software"], shown["pid"]) == ("claude-code", 4242)
        names = [(message["direction"], message["name"]) for message in shown["messages"]]
        assert names[:3] == [("<", "initialize"), ("<", "notifications/initialized"), ("<", "ide_connected")]
        assert names[-1] == (">", "selection_changed")
        _, out, _ = await server.command("status")
        assert re.search(rf"^Mein Tresor é  port {server.port}  pid {server.pid}  version ", out)
        assert (
            "  open in an editor: Plain.md\n" in out
            and "waiting for your review" not in out
            and "(my-editor)" in out
        )
        assert re.search(
            r"^  a\d+  Claude Code 2\.1\.325 \(Claude Code's /ide, process 4242", out, re.MULTILINE
        )
    assert await server.end() == 0
    code, out, _ = await server.command("status")
    assert (code, out) == (
        0,
        "No bridge is running. `vaultbridge page` opens the page, and starts one for it.\n",
    )


async def test_a_killed_bridge_is_not_reported_as_running(server: Served, vault: Path) -> None:
    await server.kill()
    code, out, _ = await server.command("status")
    assert (code, out) == (
        0,
        "No bridge is running. `vaultbridge page` opens the page, and starts one for it.\n",
    )
    code, _, err = await server.command("select", vault, "Plain")
    assert code == 1 and "No bridge is running" in err


async def test_doctor_finds_a_healthy_bridge_and_a_dead_one(server: Served, vault: Path) -> None:
    code, out, _ = await server.command("doctor", vault, cwd=vault)
    assert code == 0 and "BAD" not in out and "warn" not in out, out
    assert "ok   WebSocket handshake: refused without the token, accepted with it" in out
    assert server.token not in out
    await server.kill()
    code, out, _ = await server.command("doctor", vault, "--json", cwd=vault)
    checks = {check["name"]: check for check in map(json.loads, out.splitlines())}
    assert code == 1
    assert checks["server is listening"]["status"] == "bad"
    assert checks["locks of dead processes"]["status"] == "warning"
    assert all(check["advice"] for check in checks.values() if check["status"] in ("bad", "warning"))


# diffs


async def propose(client: Client, vault: Path, name: str, text: str) -> asyncio.Future[dict[str, Any]]:
    place = make_absolute(vault, name)
    return await client.begin(
        "tools/call",
        name="openDiff",
        arguments={
            "old_file_path": place,
            "new_file_path": place,
            "new_file_contents": text,
            "tab_name": f"tab {name}",
        },
    )


async def test_diffs_are_listed_shown_accepted_and_rejected_from_a_terminal(
    bridge: Home, vault: Path
) -> None:
    async with bridge.client() as client, bridge.editor(proposals=True) as page:
        assert (await bridge.command("diffs", vault))[1] == "No changes to review.\n"
        first = await propose(client, vault, "Plain.md", "one\n2\nthree\n")
        await page.next("proposalOpened")
        second = await propose(client, vault, "New.md", "new\n")
        await page.next("proposalOpened")
        _, out, _ = await bridge.command("diffs", vault)
        assert out == ("d1  Plain.md  (claude-code: tab Plain.md)\nd2  New.md  (claude-code: tab New.md)\n")
        _, out, _ = await bridge.command("diffs", vault, "d1")
        assert "-two 𝄞 [[Nowhere]]" in out and "+2" in out
        assert (await bridge.command("diffs", vault, "d1", "--accept"))[:2] == (0, "Accepted.\n")
        assert await finish_call(client, first) == ["FILE_SAVED", "one\n2\nthree\n"]
        answer = await bridge.answer("diffs", vault, "d2", "--reject")
        assert answer == {"id": "d2", "accepted": False, "outcome": "rejected", "change": 0}
        assert await finish_call(client, second) == ["DIFF_REJECTED", "tab New.md"]
        code, _, err = await bridge.command("diffs", vault, "d1", "--accept")
        assert code == 1 and "No diff 'd1' is waiting" in err
        code, _, err = await bridge.command("diffs", vault, "--accept")
        assert code == 2 and "Give its ID" in err
    # The client writes the file after an acceptance; the bridge never does.
    assert (vault / "Plain.md").read_text("utf-8").startswith("one\ntwo")


async def test_a_note_that_changed_since_is_shown_again_before_its_diff_is_accepted(
    bridge: Home, vault: Path
) -> None:
    async with bridge.client() as client, bridge.editor(proposals=True) as page:
        (vault / "Long.md").write_bytes("".join(f"{n}\r\n" for n in range(20)).encode())
        text = "".join(f"{n}\n" for n in range(20))
        asked = await propose(client, vault, "Long.md", text.replace("17\n", "seventeen\n"))
        await page.next("proposalOpened")
        mine = text.replace("2\n", "my own\n", 1)
        (vault / "Long.md").write_bytes(mine.replace("\n", "\r\n").encode())
        _, out, err = await bridge.command("diffs", vault, "d1")
        assert "+seventeen" in out and "-2" not in out and "What was written in the meantime is kept" in err
        code, out, err = await bridge.command("diffs", vault, "d1", "--accept")
        assert code == 1 and "+seventeen" in out and "d1 was not accepted" in err
        assert not asked.done()
        words = shlex.split(err.split("`")[1])
        assert words[:2] == ["vaultbridge", "diffs"]
        # Once more behind the person's back, in the very lines: what they were shown is not what would be.
        (vault / "Long.md").write_text(mine.replace("17\n", "mine too\n"))
        code, out, err = await bridge.command(*words[1:])
        assert code == 1 and "-mine too" in out and "in the same lines" in err
        (vault / "Long.md").write_bytes(mine.replace("\n", "\r\n").encode())
        accepting = asyncio.create_task(bridge.command(*words[1:]))
        # Claude Code carries its own change over to the note as it is now.
        assert await finish_call(client, asked) == ["FILE_SAVED", text.replace("17\n", "seventeen\n")]
        (vault / "Long.md").write_text(mine.replace("17\n", "seventeen\n"))
        assert (await accepting)[:2] == (0, "Accepted.\n")


async def test_an_accepted_change_that_is_not_written_is_no_success(bridge: Home, vault: Path) -> None:
    """The client does not write over a note that is not the one it read."""
    async with bridge.client() as client, bridge.editor(proposals=True) as page:
        asked = await propose(client, vault, "Plain.md", "one\n2\nthree\n")
        await page.next("proposalOpened")
        (vault / "Plain.md").write_text("zero\none\ntwo 𝄞 [[Nowhere]]\nthree\n", "utf-8")
        _, _, err = await bridge.command("diffs", vault, "d1", "--accept")
        code, out, _ = await bridge.command(*shlex.split(err.split("`")[1])[1:])
        assert (code, out.count("not written")) == (1, 1)
        assert (await finish_call(client, asked))[0] == "FILE_SAVED"
        assert (await page.next("proposalClosed"))["status"] == "note-changed"


async def test_a_note_that_came_or_went_since_is_shown_again_too(bridge: Home, vault: Path) -> None:
    async with bridge.client() as client, bridge.editor(proposals=True) as page:
        first = await propose(client, vault, "New.md", "theirs\n")
        await page.next("proposalOpened")
        (vault / "New.md").write_text("mine\n")
        code, out, _ = await bridge.command("diffs", vault, "d1", "--accept", "--json")
        (file,) = json.loads(out)["proposal"]["files"]
        assert (code, file["oldText"], file["newText"]) == (1, "mine\n", "theirs\n")
        (vault / "both.txt").write_text("both\n")
        accept = bridge.answer("diffs", vault, "d1", "--accept", "--text", vault / "both.txt")
        accepting = asyncio.create_task(accept)
        assert await finish_call(client, first) == ["FILE_SAVED", "both\n"]
        (vault / "New.md").write_text("both\n")
        assert (await accepting)["accepted"]
        second = await propose(client, vault, "Plain.md", "2\n")
        await page.next("proposalOpened")
        (vault / "Plain.md").unlink()
        code, _, err = await bridge.command("diffs", vault, "d2", "--accept")
        assert code == 1 and "--text FILE" in err
        assert (await bridge.command("diffs", vault, "d2", "--reject"))[:2] == (0, "Rejected.\n")
        assert await finish_call(client, second) == ["DIFF_REJECTED", "tab Plain.md"]


class Watch:
    """`vaultbridge diffs VAULT --watch` with a person or a program at its pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def until(self, text: str) -> str:
        assert self.process.stdout is not None
        return (await asyncio.wait_for(self.process.stdout.readuntil(text.encode()), BOUND)).decode()

    async def event(self) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(await self.until("\n"))
        return event

    def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode())

    async def interrupt(self) -> int:
        """Ctrl-C; gives the exit code."""
        self.process.send_signal(signal.SIGINT)
        return await asyncio.wait_for(self.process.wait(), BOUND)


@pytest.fixture
async def watches(vault: Path) -> AsyncIterator[Any]:
    opened: list[asyncio.subprocess.Process] = []

    async def watch(home: Home, *options: str) -> Watch:
        process = await home.open_command("diffs", vault, "--watch", *options)
        opened.append(process)
        return Watch(process)

    yield watch
    for process in opened:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_watching_is_a_front_end_that_asks_about_each_diff_once(
    bridge: Home, vault: Path, watches: Any
) -> None:
    watch = await watches(bridge)
    await watch.until("Waiting for changes. Press Ctrl+C to stop.\n")
    async with bridge.client() as client:
        first = await propose(client, vault, "Plain.md", "one\n2\nthree\n")
        assert "+2" in await watch.until("accept d1? [y/N] ")
        watch.type("y\n")
        assert await finish_call(client, first) == ["FILE_SAVED", "one\n2\nthree\n"]
        await watch.until("Accepted.\n")
        second = await propose(client, vault, "New.md", "new\n")
        assert "d1" not in await watch.until("accept d2? [y/N] ")
        watch.type("\n")
        assert await finish_call(client, second) == ["DIFF_REJECTED", "tab New.md"]
        await watch.until("Rejected.\n")
    assert await watch.interrupt() == 130


async def test_a_person_who_watches_is_asked_again_about_a_note_that_changed(
    bridge: Home, vault: Path, watches: Any
) -> None:
    watch = await watches(bridge)
    await watch.until("Press Ctrl+C to stop.\n")
    async with bridge.client() as client:
        text = "".join(f"{n}\n" for n in range(20))
        (vault / "Long.md").write_text(text)
        asked = await propose(client, vault, "Long.md", text.replace("17\n", "seventeen\n"))
        await watch.until("accept d1? [y/N] ")
        mine = text.replace("2\n", "my own\n", 1)
        (vault / "Long.md").write_text(mine)
        again = await watch.until("accept d1? [y/N] ")
        assert "What was written in the meantime is kept" in again and "+seventeen" in again
        (vault / "Long.md").write_text(mine.replace("17\n", "mine too\n"))
        assert "-mine too" in await watch.until("accept d1? [y/N] ")
        watch.type("y\n")
        assert "in the same lines" in await watch.until("accept d1? [y/N] ")
        assert not asked.done()
        (vault / "Long.md").write_text(mine)
        await watch.until("accept d1? [y/N] ")
        watch.type("y\n")
        assert await finish_call(client, asked) == ["FILE_SAVED", text.replace("17\n", "seventeen\n")]
        (vault / "Long.md").write_text(mine.replace("17\n", "seventeen\n"))
        await watch.until("Accepted.\n")


async def test_a_watching_program_hears_of_a_changed_note(bridge: Home, vault: Path, watches: Any) -> None:
    watch = await watches(bridge, "--json")
    async with bridge.client() as client, bridge.editor(proposals=True):
        asked = await propose(client, vault, "Plain.md", "one\n2\nthree\n")
        assert (await watch.event())["event"] == "opened"
        (vault / "Plain.md").write_text("zero\none\ntwo 𝄞 [[Nowhere]]\nthree\n", "utf-8")
        changed = await watch.event()
        assert (changed["event"], changed["id"]) == ("changed", "d1")
        (file,) = changed["files"]
        assert (file["oldText"][:4], file["newText"]) == ("zero", "zero\none\n2\nthree\n")
        assert not asked.done()
        watch.type("accept d1\n")
        assert await finish_call(client, asked) == ["FILE_SAVED", "one\n2\nthree\n"]
        (vault / "Plain.md").write_text("zero\none\n2\nthree\n")
        assert (await watch.event())["reason"] == "accepted"


async def test_a_diff_that_waited_before_the_watch_began_is_asked_about_once(
    bridge: Home, vault: Path, watches: Any
) -> None:
    async with bridge.client() as client, bridge.editor(proposals=True) as page:
        asked = await propose(client, vault, "Plain.md", "x\n")
        await page.next("proposalOpened")
        watch = await watches(bridge, "--json")
        opened = await watch.event()
        assert (opened["event"], opened["id"]) == ("opened", "d1")
        assert opened["files"][0]["newText"] == "x\n"
        watch.type("accept d1\n")
        assert await finish_call(client, asked) == ["FILE_SAVED", "x\n"]
        assert await watch.event() == {"event": "closed", "id": "d1", "reason": "accepted"}


async def test_a_program_decides_by_id_in_any_order(bridge: Home, vault: Path, watches: Any) -> None:
    async with bridge.client() as client, bridge.editor(proposals=True):
        watch = await watches(bridge, "--json")
        first = await propose(client, vault, "One.md", "1\n")
        assert (await watch.event())["id"] == "d1"
        second = await propose(client, vault, "Two.md", "2\n")
        assert (await watch.event())["id"] == "d2"
        watch.type("nonsense\naccept d9\naccept d2\n")
        assert await finish_call(client, second) == ["FILE_SAVED", "2\n"]
        problems = [await watch.event(), await watch.event()]
        assert [problem["event"] for problem in problems] == ["problem", "problem"]
        assert "accept ID" in problems[0]["message"] and "d9" in problems[1]["message"]
        assert (await watch.event())["reason"] == "accepted"
        assert not first.done()
        watch.type("reject d1\n")
        assert await finish_call(client, first) == ["DIFF_REJECTED", "tab One.md"]


async def test_an_answer_meant_for_a_withdrawn_diff_decides_nothing_else(
    bridge: Home, vault: Path, watches: Any
) -> None:
    """The person types `y` while the diff on the screen is being withdrawn: the next one must not get it."""
    watch = await watches(bridge)
    await watch.until("Press Ctrl+C to stop.\n")
    async with bridge.client() as client:
        first = await propose(client, vault, "One.md", "1\n")
        await watch.until("accept d1? [y/N] ")
        assert await client.tool("close_tab", tab_name="tab One.md") == ["TAB_CLOSED"]
        assert await finish_call(client, first) == ["DIFF_REJECTED", "tab One.md"]
        await watch.until("press Enter to continue ")
        second = await propose(client, vault, "Two.md", "2\n")
        watch.type("y\n")
        await watch.until("accept d2? [y/N] ")
        assert not second.done()
        watch.type("yes\n")
        assert await finish_call(client, second) == ["FILE_SAVED", "2\n"]


async def test_a_watch_whose_input_has_ended_still_shows_and_never_decides(
    bridge: Home, vault: Path, watches: Any
) -> None:
    watch = await watches(bridge, "--json")
    assert watch.process.stdin is not None
    watch.process.stdin.close()
    async with bridge.client() as client:
        while True:
            # The watch joins when it joins; before that nobody can show a diff.
            asked = await propose(client, vault, "One.md", "1\n")
            done, _ = await asyncio.wait(
                {asked, event := asyncio.ensure_future(watch.event())}, return_when=asyncio.FIRST_COMPLETED
            )
            if event in done:
                break
            event.cancel()
        assert event.result()["event"] == "opened" and not asked.done()
        assert (await bridge.command("diffs", vault, event.result()["id"], "--accept"))[1] == "Accepted.\n"
        assert await finish_call(client, asked) == ["FILE_SAVED", "1\n"]


async def test_a_watch_ends_when_the_bridge_does(server: Served, vault: Path, watches: Any) -> None:
    watch = await watches(server)
    await watch.until("Press Ctrl+C to stop.\n")
    await server.end()
    assert await asyncio.wait_for(watch.process.wait(), BOUND) == 1
