"""`active` and `open`."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.obsidian_files import make_workspace
from support.tools import Small
from vaultbridge.errors import EngineFailure, InvalidArgument, NoteNotFound, ObsidianNotRunning
from vaultbridge.tools.active import ObsidianApp
from vaultbridge.tools.base.tool import ActiveNote, OpenFile, SelectedText
from vaultbridge.vault.obsidian import make_obsidian_link
from vaultbridge.vault.scope import Scope


class Editor:
    """A connected editor, as far as the tools know one."""

    def focus(self, folder: Path) -> ActiveNote | None:
        assert folder.name == "vault"
        return ActiveNote("A.md", SelectedText("one\ntwo\nthree\n", 3, 5))

    def open_files(self, folder: Path) -> Sequence[OpenFile]:
        return [OpenFile("A.md", dirty=True), OpenFile("B.md")]


class Shown:
    """An app that is always there."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []

    def show(self, vault: str, path: str, subpath: str) -> None:
        self.asked.append((vault, path, subpath))


def test_open_files_come_from_the_workspace_file(small: Small) -> None:
    harness = small({"A.md": "", "B.md": "", ".obsidian/workspace.json": make_workspace("A.md", "B.md")})
    assert harness.rows("active") == ["Active: A.md", "Open:", "A.md", "B.md"]


def test_without_a_workspace_file_nothing_is_known(small: Small) -> None:
    assert small({}).rows("active") == ["(no active note is known)"]


def test_a_connected_editor_knows_the_selection(small: Small) -> None:
    harness = small({"A.md": ""}).with_context(editor=Editor())
    assert harness.rows("active") == [
        "Active: A.md",
        "Selected, lines 3-5:",
        "one",
        "two",
        "three",
        "Open:",
        "A.md  (unsaved)",
        "B.md",
    ]
    assert "one\n[cut; continue with start=4]" in harness.text("active", max_chars=6)
    assert "Selected, lines 3-5:\ntwo" in harness.text("active", start=4)
    assert harness.catch_refusal(InvalidArgument, "active", start=99).argument == "start"


def test_a_private_note_is_never_the_active_one(small: Small) -> None:
    files = {"P.md": "", "B.md": "", ".obsidian/workspace.json": make_workspace("P.md", "B.md")}
    harness = small(files, scope=Scope(deny=("P.md",)))
    assert harness.rows("active") == ["(no active note is known)", "Open:", "B.md"]
    assert "A.md" not in small({}, scope=Scope(deny=("A.md",))).with_context(editor=Editor()).text("active")


def test_a_note_is_shown_in_the_app(small: Small) -> None:
    app = Shown()
    harness = small({"f/N.md": ""}).with_context(app=app)
    answer = harness.call("open", name="N")
    assert answer.data == {"success": True, "data": {"path": "f/N.md", "opened": True}}
    assert not answer.changed
    harness.call("open", name="N", heading="A B")
    harness.call("open", path="f/N", block="^b")
    assert app.asked == [("vault", "f/N.md", ""), ("vault", "f/N.md", "#A B"), ("vault", "f/N.md", "#^b")]
    assert (
        harness.catch_refusal(InvalidArgument, "open", name="N", heading="A", block="b").argument == "block"
    )
    harness.catch_refusal(NoteNotFound, "open", name="Q")


def test_open_without_the_app_is_refused_with_the_contracts_message(
    small: Small, monkeypatch: Any, tmp_path: Path
) -> None:
    """Seed 004, "Response: Error"."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    error = small({"N.md": ""}).catch_refusal(ObsidianNotRunning, "open", name="N")
    assert error.code == "OBSIDIAN_NOT_RUNNING"
    assert str(error) == "Obsidian application is not running. Please start Obsidian and try again."


def fake_running_app(tmp_path: Path, script: str) -> dict[str, str]:
    """An environment in which the app runs (this process holds its lock) and `xdg-open` is `script`."""
    lock = tmp_path / "config/obsidian/SingletonLock"
    lock.parent.mkdir(parents=True)
    lock.symlink_to(f"{socket.gethostname()}-{os.getpid()}")
    opener = tmp_path / "bin/xdg-open"
    opener.parent.mkdir()
    opener.write_text(f"#!/bin/sh\n{script}\n")
    opener.chmod(0o755)
    return {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "HOME": str(tmp_path),
        "PATH": f"{opener.parent}:/usr/bin:/bin",
    }


def test_the_running_app_is_given_its_own_address(tmp_path: Path, monkeypatch: Any, capfd: Any) -> None:
    environ = fake_running_app(tmp_path, f'echo noise; printf %s "$1" > {tmp_path}/asked')
    monkeypatch.setenv("PATH", environ["PATH"])
    ObsidianApp(environ, platform="linux").show("My vault", "f/Ä & b.md", "#^b")
    address = "obsidian://open?vault=My%20vault&file=f%2F%C3%84%20%26%20b.md%23%5Eb"
    assert (tmp_path / "asked").read_text() == address
    assert address == make_obsidian_link("My vault", "f/Ä & b.md#^b")
    assert capfd.readouterr() == ("", ""), "our own output belongs to the protocol"


def test_a_failing_opener_is_reported(tmp_path: Path, monkeypatch: Any) -> None:
    environ = fake_running_app(tmp_path, "exit 3")
    monkeypatch.setenv("PATH", environ["PATH"])
    try:
        ObsidianApp(environ, platform="linux").show("v", "a.md", "")
    except EngineFailure as error:
        assert "xdg-open failed (3)" in str(error)
        assert str(tmp_path) not in str(error)
    else:
        raise AssertionError("the failure was swallowed")


def test_open_files_are_not_listed_unless_they_are_shared(small: Small) -> None:
    harness = small({"A.md": "", ".obsidian/workspace.json": make_workspace("A.md")})
    assert "Active: A.md" in harness.text("active")
    assert harness.with_context(shares_open_files=lambda: False).text("active") == "(no active note is known)"
