"""The real Claude Code, unchanged, against a bridge: what a person would see on its screen.

Opt-in, because it installs a proprietary program of some 300 MB: set VAULTBRIDGE_TEST_CLAUDE=1 (or run
`make test-claude`). The model is a stand-in on loopback; nothing leaves the machine. The vault's path has
spaces, an accent and a symlink.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import mkdtemp
from types import MappingProxyType

import pytest

from browser.assistants import over_http, over_stdio
from browser.chromium import Chromium
from browser.proposals import (
    EDITING,
    begin_edit,
    make_serving,
    read_history,
    switch_on,
    wait_for_proposal,
)
from browser.screenshots import keep_screenshot
from browser.serving import CONNECTED
from claude.mock_api import MockModel
from claude.terminal import SCREEN_SECONDS, Terminal, install_client
from support.editor import TOKEN, Bridge, running
from support.serve import Served
from support.waiting import until
from vaultbridge.editor.hub import DEFAULT_TIMING
from vaultbridge.editor.model import Mention, Point, Selection
from vaultbridge.protocols.claude_ide.lock_files import LockFiles, list_lock_folders, make_lock
from vaultbridge.vault.paths import vault_path

pytestmark = [
    pytest.mark.claude,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        os.environ.get("VAULTBRIDGE_TEST_CLAUDE") != "1", reason="opt-in: set VAULTBRIDGE_TEST_CLAUDE=1"
    ),
]

NOTE = vault_path("My Folder/Käse Note.md")
PLAIN = vault_path("Plain.md")
LINES = Selection(Point(1, 0), Point(2, 4), "alpha\nbeta")


class Stage:
    """A vault behind a symlink, a home, a model, and a terminal that has not started yet."""

    def __init__(self, base: Path, program: Path, model: MockModel) -> None:
        self.real = base / "Mein Tresor é"
        (self.real / "My Folder").mkdir(parents=True)
        (self.real / NOTE).write_text("alpha\nbeta-in-the-note\ngamma\n", "utf-8")
        (self.real / PLAIN).write_text("one\ntwo-in-the-plain-note\nthree\n", "utf-8")
        self.vault = base / "link"
        self.vault.symlink_to(self.real)
        self.program = program
        self.home = base / "h"
        self.home.mkdir()
        self.model = model
        self.terminal = Terminal(program, self.home, self.vault, model.port)
        self.terminal.prepare()

    async def submit(self, prompt: str) -> None:
        """Type a prompt and send it off. The client takes an Enter right after fast typing for a pasted
        line end, so it is pressed until the model has the prompt; not often, because one Enter too many would
        answer the question that follows."""
        self.terminal.type(prompt)
        await self.terminal.wait_for_text(prompt[-12:])
        async with asyncio.timeout(SCREEN_SECONDS):
            while not self.model.has_seen(prompt):
                self.terminal.press("Enter")
                for _ in range(30):
                    if self.model.has_seen(prompt):
                        break
                    await asyncio.sleep(0.1)

    @asynccontextmanager
    async def bridge(
        self, port: int = 0, *, environ: Mapping[str, str] = MappingProxyType({})
    ) -> AsyncIterator[Bridge]:
        async with running(self.vault, timing=DEFAULT_TIMING, port=port) as bridge:
            locks = LockFiles(list_lock_folders(environ, self.home))
            locks.write(make_lock(bridge.port, TOKEN, [self.vault]))
            bridge.hub.state.join("person", "test")
            yield bridge
            locks.remove()


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    # A short folder: tmux's socket has to fit into 107 bytes.
    base = Path(mkdtemp(prefix="vb"))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vaultbridge-tests"
    model = MockModel()
    await model.start()
    stage = Stage(base, install_client(cache), model)
    try:
        yield stage
    finally:
        stage.terminal.stop()
        await model.stop()
        shutil.rmtree(base, ignore_errors=True)


async def test_the_vault_is_found_by_the_ide_command_and_connected(stage: Stage) -> None:
    terminal = stage.terminal
    async with stage.bridge():
        terminal.start()
        await terminal.wait_for_text("❯")
        terminal.type("/ide")
        terminal.press("Enter")
        await terminal.wait_for_text("Select IDE", "Obsidian", "❯ ✔ None")
        terminal.press("Up")
        await terminal.wait_for_text("Obsidian", gone="❯ ✔ None")
        # It asks besides whether to connect automatically from now on; the answer does not matter here.
        await terminal.press_until("Enter", "Connected to Obsidian")


async def test_a_configured_folder_connects_by_itself(stage: Stage) -> None:
    """With CLAUDE_CONFIG_DIR the client scans two folders; a lock in both, and it would list the vault twice
    and wait for a choice."""
    config = stage.home / "conf"
    terminal = Terminal(stage.program, stage.home, stage.vault, stage.model.port, config=config)
    terminal.prepare()
    for environ in ({"CLAUDE_CONFIG_DIR": str(config)}, {}):
        # The bridge may have been started with the variable or without.
        async with stage.bridge(environ=environ) as bridge:
            bridge.hub.state.focus_on("person", PLAIN)
            terminal.start("--ide")
            await terminal.wait_for_text("In Plain.md")
        terminal.stop()


@pytest.mark.parametrize("where", ["below", "outside"])
async def test_a_mention_is_attached_wherever_the_client_runs(stage: Stage, where: str) -> None:
    """The note's name has a space, and so has the vault's folder."""
    folder = stage.real / "My Folder" if where == "below" else stage.home / "work"
    folder.mkdir(exist_ok=True)
    note = vault_path("Note one.md")
    (stage.real / note).write_text("first\nsecond-in-note-one\n")
    async with stage.bridge() as bridge:
        port = {"CLAUDE_CODE_SSE_PORT": str(bridge.port)}
        terminal = Terminal(stage.program, stage.home, folder, stage.model.port, **port)
        terminal.prepare()
        stage.terminal = terminal
        terminal.start("--ide")
        await terminal.wait_for_text("❯")
        await _wait_for_client(bridge)
        bridge.hub.mention(Mention(note, 2, 2))
        await terminal.wait_for_text('Note one.md#L2"')
        await stage.submit("what is there?")
        await terminal.wait_for_text("Understood.")
        assert stage.model.has_seen("second-in-note-one")


async def test_selection_mention_and_attachment_reach_the_client(stage: Stage) -> None:
    terminal = stage.terminal
    async with stage.bridge() as bridge:
        bridge.hub.state.focus_on("person", NOTE, LINES)
        terminal.start("--ide")
        await terminal.wait_for_text("2 lines selected")
        bridge.hub.state.focus_on("person", PLAIN)
        await terminal.wait_for_text("In Plain.md")
        bridge.hub.mention(Mention(NOTE, 2, 3))
        await terminal.wait_for_text('@"My Folder/Käse Note.md#L2-3"')
        await stage.submit("what is there?")
        await terminal.wait_for_text("Understood.", "Read My Folder/Käse Note.md")
        assert stage.model.has_seen("beta-in-the-note")
        # Every prompt clears the selection in the client; it must be there again.
        await terminal.wait_for_text("Understood.", "In Plain.md")
        bridge.hub.state.focus_on("person", None)
        await terminal.wait_for_text("Understood.", gone="In Plain.md")


async def test_a_diff_is_accepted_and_another_rejected(stage: Stage) -> None:
    terminal = stage.terminal
    async with stage.bridge() as bridge, bridge.editor(proposals=True) as page:
        terminal.start("--ide", "--permission-mode", "default")
        await terminal.wait_for_text("❯")
        await _wait_for_client(bridge)
        accepted, rejected = stage.real / "Accepted.md", stage.real / "Rejected.md"
        await stage.submit(f"WRITE {str(accepted).replace(' ', '%20')} proposed")
        shown = await page.next("proposalOpened")
        (file,) = shown["files"]
        assert (file["path"], file["newText"]) == ("Accepted.md", "proposed\n")
        files = [{"path": "Accepted.md", "text": "proposed, and changed by hand\n"}]
        await page.request("decide", id=shown["id"], hash=shown["hash"], action="accept", files=files)
        await terminal.wait_for_text("The tool has answered.")
        # The client writes the file; of a new file it leaves out the last line end.
        assert accepted.read_text().rstrip("\n") == "proposed, and changed by hand"
        await stage.submit(f"WRITE {str(rejected).replace(' ', '%20')} unwanted")
        shown = await page.next("proposalOpened")
        assert shown["files"][0]["path"] == "Rejected.md"
        await page.request("decide", id=shown["id"], action="reject")
        await terminal.wait_for_text("rejected")
        assert not rejected.exists()


async def test_a_decision_in_the_terminal_is_reported_as_such(stage: Stage) -> None:
    terminal = stage.terminal
    async with stage.bridge() as bridge, bridge.editor(proposals=True) as page:
        terminal.start("--ide", "--permission-mode", "default")
        await terminal.wait_for_text("❯")
        await _wait_for_client(bridge)
        yes, no = stage.real / "Yes.md", stage.real / "No.md"
        await stage.submit(f"WRITE {str(yes).replace(' ', '%20')} wanted")
        await page.next("proposalOpened")
        await terminal.wait_for_text("Yes", "No")
        await terminal.press_until("Enter", "The tool has answered.")
        assert (await page.next("proposalClosed"))["status"] == "accepted-in-terminal"
        assert yes.read_text() == "wanted\n"
        await stage.submit(f"WRITE {str(no).replace(' ', '%20')} unwanted")
        await page.next("proposalOpened")
        await terminal.wait_for_text("Yes", "No")
        await terminal.press_until("Escape", "rejected")
        assert (await page.next("proposalClosed"))["status"] == "withdrawn"
        assert not no.exists()


async def test_what_the_client_writes_is_in_the_history_and_can_be_undone(stage: Stage) -> None:
    """Accepted as proposed, accepted with changes of the person, accepted in the terminal."""
    terminal = stage.terminal
    async with stage.bridge() as bridge, bridge.editor(proposals=True) as page:
        terminal.start("--ide", "--permission-mode", "default")
        await terminal.wait_for_text("❯")
        await _wait_for_client(bridge)
        engine = bridge.view.engine
        yes = stage.real / "Yes.md"
        await stage.submit(f"WRITE {str(yes).replace(' ', '%20')} wanted")
        await page.next("proposalOpened")
        await terminal.wait_for_text("Yes", "No")
        await terminal.press_until("Enter", "The tool has answered.")
        closed = await page.next("proposalClosed")
        assert closed["status"] == "accepted-in-terminal"
        (entry, *_) = engine.history.changes()
        assert (entry.id, entry.actor, entry.paths) == (closed["change"], "claude-code", ("Yes.md",))
        for name, text in (("Plainly.md", None), ("Edited.md", "changed by hand\n")):
            note = stage.real / name
            await stage.submit(f"WRITE {str(note).replace(' ', '%20')} proposed")
            shown = await page.next("proposalOpened")
            files = [] if text is None else [{"path": name, "text": text}]
            decision = {"id": shown["id"], "hash": shown["hash"], "action": "accept", "files": files}
            assert (await page.request("decide", **decision))["outcome"] == "accepted"
            change = 0
            while not change:  # A client that writes late is announced again.
                change = (await page.next("proposalClosed"))["change"]
            await terminal.wait_for_text("The tool has answered.")
            assert note.read_text().rstrip("\n") == (text or "proposed").rstrip("\n")
            (entry, *_) = engine.history.changes()
            assert (entry.id, entry.actor, entry.paths) == (change, "claude-code", (name,))
            engine.undo(change)
            assert not note.exists()


@pytest.mark.parametrize(
    ("tool", "outcome", "text"),
    [
        ("WRITE", "note-changed", "first\nsecond\nthird\nwritten-outside\n"),
        # It carries an edit over, as long as what it replaces is still there.
        ("EDIT", "accepted", "first\n2nd\nthird\nwritten-outside\n"),
    ],
)
async def test_an_acceptance_after_an_outside_change_is_reported_by_its_outcome(
    stage: Stage, tool: str, outcome: str, text: str
) -> None:
    terminal = stage.terminal
    note = stage.real / "Busy.md"
    note.write_text("first\nsecond\nthird\n")
    async with stage.bridge() as bridge, bridge.editor(proposals=True) as page:
        terminal.start("--ide", "--permission-mode", "default")
        await terminal.wait_for_text("❯")
        await _wait_for_client(bridge)
        # Attached means read: without that the client would not let the model write.
        bridge.hub.mention(Mention(vault_path("Busy.md")))
        await terminal.wait_for_text("@Busy.md")
        rest = "replaced" if tool == "WRITE" else "second 2nd"
        await stage.submit(f"{tool} {str(note).replace(' ', '%20')} {rest}")
        shown = await page.next("proposalOpened")
        note.write_text("first\nsecond\nthird\nwritten-outside\n")
        # A whole new text does not fit the note any more; the person insists on it.
        files = [{"path": "Busy.md", "text": "replaced\n"}] if tool == "WRITE" else []
        decision = await page.request("decide", id=shown["id"], action="accept", files=files)
        assert decision["outcome"] == outcome
        assert (await page.next("proposalClosed"))["status"] == outcome
        await terminal.wait_for_text("The tool has answered.")
        assert note.read_text() == text


async def test_an_edit_of_a_note_with_crlf_is_shown_as_lf_and_keeps_its_line_ends(stage: Stage) -> None:
    terminal = stage.terminal
    note = stage.real / "Windows.md"
    note.write_bytes(b"first\r\nsecond\r\nthird\r\n")
    async with stage.bridge() as bridge, bridge.editor(proposals=True) as page:
        terminal.start("--ide", "--permission-mode", "default")
        await terminal.wait_for_text("❯")
        await _wait_for_client(bridge)
        # Attached means read: without that the client would not let the model edit.
        bridge.hub.mention(Mention(vault_path("Windows.md")))
        await terminal.wait_for_text("@Windows.md")
        await stage.submit(f"EDIT {str(note).replace(' ', '%20')} second 2nd")
        shown = await page.next("proposalOpened")
        (file,) = shown["files"]
        assert file["oldText"] == "first\nsecond\nthird\n"
        assert file["newText"] == "first\n2nd\nthird\n"
        await page.request("decide", id=shown["id"], action="accept")
        await terminal.wait_for_text("The tool has answered.")
        assert note.read_bytes() == b"first\r\n2nd\r\nthird\r\n"


async def test_a_diff_that_nobody_can_see_is_decided_in_the_terminal(stage: Stage) -> None:
    terminal = stage.terminal
    async with stage.bridge() as bridge:
        terminal.start("--ide", "--permission-mode", "default")
        await terminal.wait_for_text("❯")
        await _wait_for_client(bridge)
        made = stage.real / "Terminal.md"
        await stage.submit(f"WRITE {str(made).replace(' ', '%20')} decided-here")
        await terminal.wait_for_text("Yes", "No")
        await terminal.press_until("Enter", "The tool has answered.")
        assert made.read_text() == "decided-here\n"


async def test_a_restart_of_the_bridge_is_survived(stage: Stage) -> None:
    terminal = stage.terminal
    async with stage.bridge() as bridge:
        port = bridge.port
        bridge.hub.state.focus_on("person", NOTE, LINES)
        terminal.start("--ide")
        await terminal.wait_for_text("2 lines selected")
    await terminal.wait_for_text("❯", gone="2 lines selected")
    async with stage.bridge(port) as again:
        again.hub.state.focus_on("person", PLAIN)
        await terminal.wait_for_text("In Plain.md")


async def test_a_served_vault_is_used_from_the_command_line_and_a_crash_is_survived(stage: Stage) -> None:
    """Everything as a person has it: the server is a process of its own, and the commands are typed. Another
    vault is served before the one that the client runs in."""
    terminal, served = stage.terminal, Served(stage.home)
    other = stage.home / "Other Vault"
    other.mkdir()
    try:
        await served.start(other, stage.vault, "--log-level", "debug")
        port, token = served.port, served.token
        terminal.start("--permission-mode", "default")
        await terminal.wait_for_text("❯")
        terminal.type("/ide")
        terminal.press("Enter")
        await terminal.wait_for_text("Select IDE", "Obsidian", "❯ ✔ None")
        terminal.press("Up")
        await terminal.wait_for_text("Obsidian", gone="❯ ✔ None")
        await terminal.press_until("Enter", "Connected to Obsidian")
        await served.command("select", stage.vault, f"{NOTE}:1-2")
        await terminal.wait_for_text("2 lines selected")
        await served.command("mention", stage.vault, f"{NOTE}#L2-L3")
        await terminal.wait_for_text('@"My Folder/Käse Note.md#L2-3"')
        await stage.submit("what is there?")
        await terminal.wait_for_text("Understood.", "Read My Folder/Käse Note.md")
        assert stage.model.has_seen("beta-in-the-note")
        async with _watching(served, stage.vault) as watch:
            await _decide_in_terminal(watch, stage, "Accepted.md", "y", "accepted")
            # A prompt typed before the answer would be sent together with the tool's result.
            await terminal.wait_for_text("The tool has answered.")
            await _decide_in_terminal(watch, stage, "Rejected.md", "n", "rejected")
        await terminal.wait_for_text("rejected")
        assert (stage.real / "Accepted.md").exists() and not (stage.real / "Rejected.md").exists()
        await served.kill()
        await terminal.wait_for_text("❯", gone="2 lines selected")
        await served.start(other, stage.vault, port=None)
        assert (served.port, served.token) == (port, token)
        await served.command("select", stage.vault, "Plain")
        await terminal.wait_for_text("In Plain.md")
    finally:
        await served.kill()


async def test_three_assistants_propose_and_a_person_decides_on_the_page(
    stage: Stage, tmp_path: Path
) -> None:
    """Claude Desktop's way (stdio), Cursor's way (`/mcp`) and the real Claude Code: one is accepted, one
    edited, one rejected, and disk, journal and undo agree."""
    terminal, serving = stage.terminal, make_serving(stage.vault, stage.home)
    with serving.running(), Chromium.started(tmp_path) as chromium:
        async with (
            chromium.page(serving.link()) as page,
            over_stdio(serving) as desktop,
            over_http(serving) as cursor,
        ):
            await page.until(CONNECTED)
            await switch_on(page)
            terminal.start("--ide", "--permission-mode", "default")
            await terminal.wait_for_text("❯")
            await page.run("location.hash = '#/activity'")
            names = (
                "[...document.querySelectorAll('.assistant h3')]"
                ".map((title) => title.innerText).sort().join()"
            )
            await page.until(f"{names} === 'Claude Code,Claude Desktop,Cursor'")
            await page.run("location.hash = '#/review'")

            rejected = begin_edit(desktop, PLAIN, "one", "ONE")
            await wait_for_proposal(page, PLAIN)
            await page.press("r")
            assert (await rejected).is_error
            edited = begin_edit(cursor, NOTE, "alpha", "ALPHA")
            await wait_for_proposal(page, NOTE)
            await page.press("e")
            await page.until(EDITING)
            await page.type("My ")
            await page.key("Escape")
            await page.click(".detail-actions .accept")
            assert not (await edited).is_error
            new = stage.real / "Accepted.md"
            await stage.submit(f"WRITE {str(new).replace(' ', '%20')} proposed")
            await wait_for_proposal(page, "Accepted.md")
            await page.press("a")
            await terminal.wait_for_text("The tool has answered.")

            assert (stage.real / PLAIN).read_text("utf-8") == "one\ntwo-in-the-plain-note\nthree\n"
            assert (stage.real / NOTE).read_text("utf-8") == "My ALPHA\nbeta-in-the-note\ngamma\n"
            assert new.read_text("utf-8").rstrip("\n") == "proposed"
            await page.run("location.hash = '#/review?show=decided'")
            await page.until("document.querySelectorAll('.decided-undo').length === 2")
            assert [entry["actor"] for entry in read_history(serving)] == ["claude-code", "cursor-vscode"]
            await keep_screenshot(page, "three-assistants-decided")
            for left in (1, 0):
                await page.click(".decided-undo")
                await page.until(f"document.querySelectorAll('.decided-undo').length === {left}")
            assert not new.exists()
            assert (stage.real / NOTE).read_text("utf-8") == "alpha\nbeta-in-the-note\ngamma\n"


@asynccontextmanager
async def _watching(served: Served, vault: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    watch = await served.open_command("diffs", vault, "--watch")
    try:
        assert watch.stdout is not None
        await asyncio.wait_for(watch.stdout.readuntil(b"Ctrl-C ends.\n"), SCREEN_SECONDS)
        yield watch
    finally:
        watch.kill()
        await watch.communicate()


async def _decide_in_terminal(
    watch: asyncio.subprocess.Process, stage: Stage, name: str, answer: str, outcome: str
) -> None:
    """The model writes a note, and a person decides on it in another terminal."""
    assert watch.stdout is not None and watch.stdin is not None
    await stage.submit(f"WRITE {str(stage.real / name).replace(' ', '%20')} proposed-{outcome}")
    shown = await asyncio.wait_for(watch.stdout.readuntil(b"? [y/N] "), SCREEN_SECONDS)
    assert f"+proposed-{outcome}".encode() in shown
    watch.stdin.write(f"{answer}\n".encode())
    await asyncio.wait_for(watch.stdout.readuntil(f"{outcome.capitalize()}.\n".encode()), SCREEN_SECONDS)


async def _wait_for_client(bridge: Bridge) -> None:
    await until(lambda: any(record.pid for record in bridge.ide.clients()))
