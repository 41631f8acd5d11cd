"""Colour, links, tables, progress and the pager, on a real terminal and away from one."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.files import write_vault
from support.terminal import open_terminal
from vaultbridge.cli.common import render_progress
from vaultbridge.cli.terminal import NARROWEST, Terminal, measure, render_table

VAULT = {
    ".obsidian/app.json": "{}",
    "Inbox.md": "- [ ] call \x1b]0;evil\x07 back\n",
    "Long.md": "\n".join(f"line {number}" for number in range(500)),
}


def make_terminal_environ(vault: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(vault.parent / "home"),
        "VAULTBRIDGE_CACHE": str(vault.parent / "cache"),
        "TERM": "xterm-256color",
        "PAGER": "cat",
    }


def run_on_terminal(vault: Path, *args: str, remarks: bool = False, **environ: str) -> str:
    """Run a command on a terminal of its own; returns what that terminal got, with `remarks` also what went
    to standard error."""
    ours, theirs = pty.openpty()
    base = make_terminal_environ(vault)
    with subprocess.Popen(
        [sys.executable, "-m", "vaultbridge", *args],
        cwd=vault,
        env={**base, **environ},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs if remarks else subprocess.DEVNULL,
    ) as process:
        os.close(theirs)
        got = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            got += piece
        os.close(ours)
        assert process.wait(60) == 0
    return got.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colour_and_no_control_sequences_of_a_note(vault: Path) -> None:
    shown = run_on_terminal(vault, "tasks")
    assert "\x1b[35mInbox.md\x1b[0m" in shown
    assert "evil" in shown and "\x1b]0;" not in shown and "\x07" not in shown
    assert "\x1b]0;" not in run_on_terminal(vault, "read", "Inbox")


def test_what_a_server_sends_cannot_act_on_the_terminal(vault: Path) -> None:
    """A note, or a whole foreign server, may contain sequences that hide or fake what a person sees."""
    server = f"{sys.executable} -m vaultbridge stdio {vault}"
    got = run_on_terminal(vault, "call", server, "obsidian_read_note", '{"name": "Inbox"}')
    assert "call \\x1b]0;evil\\x07 back" in got and "\x1b" not in got
    assert "\x1b[1mTools\x1b[0m" in run_on_terminal(vault, "call", server)
    assert "\x1b" not in run_on_terminal(vault, "call", server, "--color", "never")


HOSTILE = "evil\x1b]0;title\x07\nrow\tcell\x9b31m\u2028" + "x" * 1000


def test_the_name_of_a_client_cannot_act_on_the_terminal_or_fake_a_row(vault: Path) -> None:
    client = {"name": HOSTILE, "version": "1"}
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    edit = {"name": "Long", "op": "append", "content": "x"}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": opening},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "obsidian_edit_note", "arguments": edit}},
        {"id": 3, "method": "tools/call", "params": {"name": "obsidian_history", "arguments": {}}},
    ]
    environ = {**os.environ, "VAULTBRIDGE_CACHE": str(vault.parent / "cache")}
    program = [sys.executable, "-m", "vaultbridge"]
    with subprocess.Popen(
        [*program, "stdio", vault], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        answer: dict[str, Any] = {}
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            server.stdin.flush()
            if "id" in message:
                answer = json.loads(server.stdout.readline())
        server.stdin.close()
        server.wait(60)
    reported = answer["result"]["content"][0]["text"]
    piped = subprocess.run(
        [*program, "history", vault], env=environ, stdout=subprocess.PIPE, text=True, check=True, timeout=60
    ).stdout
    for shown in (reported, piped, run_on_terminal(vault, "history")):
        row = shown.split("\n")[0]
        assert "append" in row and "Long.md" in row and len(row) < 200
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028]", shown), shown


def test_the_name_of_a_vault_cannot_act_on_the_terminal_or_fake_a_row(vault: Path) -> None:
    folder = vault.parent / "a\x1b]0;title\x07\nb\tc"
    (folder / ".obsidian").mkdir(parents=True)
    known = vault.parent / "config" / "obsidian" / "obsidian.json"
    known.parent.mkdir(parents=True)
    known.write_text(json.dumps({"vaults": {"1": {"path": str(folder), "open": True}}}), "utf-8")
    environ = {"XDG_CONFIG_HOME": str(vault.parent / "config")}
    piped = subprocess.run(
        [sys.executable, "-m", "vaultbridge", "vaults"],
        env={**os.environ, **environ},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    for shown in (piped, run_on_terminal(vault, "vaults", **environ)):
        assert shown.startswith("a\\x1b]0;title\\x07\\nb\\tc\t")
        assert shown.count("\n") == 1 and "\x1b" not in shown


def test_colour_can_be_switched_off_and_on(vault: Path) -> None:
    assert "\x1b" not in run_on_terminal(vault, "tasks", NO_COLOR="1")
    assert "\x1b" not in run_on_terminal(vault, "tasks", TERM="dumb")
    assert "\x1b" not in run_on_terminal(vault, "tasks", "--color", "never")
    assert "\x1b[35m" in run_on_terminal(vault, "tasks", "--color", "always", NO_COLOR="1")


def test_links_are_for_terminals_that_open_them(vault: Path) -> None:
    link = "\x1b]8;;obsidian://open?vault=Notes&file=Inbox.md\x1b\\"
    assert link in run_on_terminal(vault, "tasks", KITTY_WINDOW_ID="1")
    assert "\x1b]8" not in run_on_terminal(vault, "tasks")


def test_a_pipe_gets_the_note_as_it_is(vault: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vaultbridge", "read", "Inbox"],
        cwd=vault,
        env={**os.environ, "VAULTBRIDGE_CACHE": str(vault.parent / "cache"), "FORCE_COLOR": "1"},
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"- [ ] call \x1b]0;evil\x07 back\n"


def test_a_remark_is_broken_between_words_and_never_within_a_command(tmp_path: Path) -> None:
    """A terminal of 80 columns would break a word in two; and a line break in a command is pasted too."""
    notes = tmp_path / "My notes"
    write_vault(notes, {"Plan.md": "roof\n"})
    shutil.rmtree(notes / ".obsidian", ignore_errors=True)
    env = make_terminal_environ(notes)
    command = [sys.executable, "-m", "vaultbridge"]
    with open_terminal([*command, "search", "roof"], cwd=notes, env=env) as terminal:
        assert terminal.wait() == 1
    lines = terminal.shown.splitlines()
    assert lines[0].startswith("vaultbridge: No vault found here or in Obsidian.")
    assert len(lines) > 2 and max(map(len, lines[:-1])) <= 80
    assert lines[-1].endswith("vaultbridge search -v . roof"), "the command is whole"
    piped = subprocess.run(
        [*command, "search", "roof"],
        cwd=notes,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert piped.stderr.count("\n") == 1, "a program gets one line"


def test_what_doctor_finds_is_broken_between_words(tmp_path: Path) -> None:
    nowhere = tmp_path / "empty"
    nowhere.mkdir()
    command = [sys.executable, "-m", "vaultbridge", "doctor", "--color", "never"]
    with open_terminal(command, cwd=nowhere, env=make_terminal_environ(nowhere)) as terminal:
        assert terminal.wait() == 1
    advice = (
        "       -> Name one with -v FOLDER, change into its folder, or set\n          VAULTBRIDGE_VAULT.\n"
    )
    assert advice in terminal.shown


def test_long_output_goes_through_the_pager(vault: Path, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\nsed 's/^/paged /' | head -3\n", "utf-8")
    pager.chmod(0o755)
    shown = run_on_terminal(vault, "read", "Long", PAGER=str(pager))
    assert shown.splitlines() == ["paged line 0", "paged line 1", "paged line 2"]
    # What is said about the output comes after it, though it goes to standard error.
    args = ("search", "--exact", "line", "--matches", "99")
    *_, found, total = run_on_terminal(vault, *args, remarks=True, PAGER=str(pager)).splitlines()
    assert "paged " in found and total == "1 note"
    assert "paged" not in run_on_terminal(vault, "read", "Long", "--no-pager", PAGER=str(pager))
    assert "paged" not in run_on_terminal(vault, "read", "Long", "--json", PAGER=str(pager))
    assert "paged" not in run_on_terminal(vault, "tasks", "--tick", "Inbox:1", PAGER="")


@pytest.mark.parametrize(("rows", "lines"), [(24, 23), (24, 24), (40, 39), (40, 40)])
def test_a_pager_is_for_what_does_not_fit_the_screen(
    vault: Path, tmp_path: Path, rows: int, lines: int
) -> None:
    """Whatever follows in a script would wait for the person who leaves it."""
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\nsed 's/^/paged /'\n", "utf-8")
    pager.chmod(0o755)
    wide = "x" * 79 + "中"  # two rows: the wide character does not fit the first
    (vault / "Some.md").write_text("\n".join([*["row"] * (lines - 2), wide]) + "\n", "utf-8")
    environ = {**make_terminal_environ(vault), "PAGER": str(pager)}
    command = [sys.executable, "-m", "vaultbridge", "read", "Some"]
    with open_terminal(command, rows=rows, cwd=vault, env=environ) as terminal:
        assert terminal.wait() == 0
    assert terminal.shown.count("row\n") == lines - 2
    assert terminal.shown.count("paged ") == (lines - 1 if lines == rows else 0)


@pytest.mark.parametrize("pager", ["less", "no-such-pager -R", "  "])
def test_a_pager_that_is_not_installed_loses_no_output(vault: Path, tmp_path: Path, pager: str) -> None:
    """As in a small container, or on Windows, which have no `less`."""
    (tmp_path / "empty").mkdir()
    shown = run_on_terminal(vault, "read", "Long", PAGER=pager, PATH=str(tmp_path / "empty"))
    assert shown.splitlines() == [f"line {number}" for number in range(500)]


CELLS = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)


@given(st.data())
def test_a_table_fits_the_terminal(data: st.DataObject) -> None:
    columns = data.draw(st.integers(1, 4))
    names = data.draw(st.lists(CELLS, min_size=columns, max_size=columns))
    rows = data.draw(st.lists(st.lists(CELLS, min_size=columns, max_size=columns), max_size=5))
    width = data.draw(st.integers(60, 200))
    shown = list(render_table(names, rows, Terminal(screen=True, color=True, width=width)))
    assert len(shown) == len(rows) + 1
    assert all(measure(re.sub(r"\x1b\[[0-9;]*m", "", line)) <= width for line in shown)
    assert all("\n" not in line for line in shown)


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(NARROWEST, 300))
def test_progress_fits_in_one_line(done: int, total: int, width: int) -> None:
    assert len(render_progress(min(done, total), total, width)) < width


@pytest.mark.parametrize(("text", "cells"), [("abc", 3), ("中文", 4), ("e\u0301", 1), ("", 0), ("🌱", 2)])
def test_wide_characters_and_marks_are_measured(text: str, cells: int) -> None:
    assert measure(text) == cells
