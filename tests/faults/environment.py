"""Faults of the surrounding system: links to hidden notes, a missing cache, a full disk, a wrong clock, cut
files."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

from faults.assistant import Assistant
from faults.injections import PUBLIC, SECRET, Result
from vaultbridge.vault.write.journal import Journal

DENY = ("--deny", "Private/")

SAID_SECONDS = 30.0
"""How long the server may take to notice that it cannot watch, and what other programs wrote."""


def link_to_denied(folder: Path, count: int) -> Result:
    """Links to a denied note and to its folder appear under new names while an assistant asks for them."""
    vault = folder / "vault"
    (vault / "Private").mkdir(parents=True)
    (vault / "Pub").mkdir()
    hidden = vault / "Private" / "diary.md"
    hidden.write_text(f"{SECRET}\n")
    before = hidden.read_bytes()
    calls, done, lost = 0, 0, []
    with Assistant(vault, folder / "home", *DENY) as assistant:
        for number in range(count):
            link = vault / "Pub" / f"link {number}"
            if number % 2:
                link.symlink_to("../Private", target_is_directory=True)
                name = f"Pub/{link.name}/diary.md"
            else:
                link = link.with_suffix(".md")
                link.symlink_to("../Private/diary.md")
                name = f"Pub/{link.name}"
            for tool, arguments in (
                ("read_note", {"name": name}),
                ("edit_note", {"name": name, "op": "append", "content": "more"}),
                ("search", {"query": "nobody"}),
                ("list_files", {"folder": "Pub"}),
            ):
                succeeded, text = assistant.call(tool, **arguments)
                calls += 1
                done += succeeded
                if SECRET in text or "diary" in text.replace(name, ""):
                    lost.append(f"{tool} of {name} said: {text}")
            link.unlink()
    if hidden.read_bytes() != before:
        lost.append("the denied note was written")
    return Result(count, calls, done, lost)


def pin_to_hidden(folder: Path, count: int) -> Result:
    """A caller creates, moves and deletes notes with the name of a hidden one, to which visible notes link:
    no link in a visible note may ever name the hidden folder."""
    vault = folder / "vault"
    for place in ("Private", "Pub", "Other"):
        (vault / place).mkdir(parents=True)
    (vault / "Private" / "Plan.md").write_text(f"{SECRET}\n")
    (vault / "Pub" / "linking.md").write_text("[[Plan]] and ![[Plan]]\n")
    calls, done, lost = 0, 0, []
    with Assistant(vault, folder / "home", *DENY) as assistant:
        for number in range(count):
            for tool, arguments in (
                ("create_note", {"name": "Pub/Plan", "content": "a plan"}),
                ("move_note", {"name": "Pub/Plan", "to": "Other/Plan"}),
                ("move_note", {"name": "Other/Plan", "to": f"Other/Renamed {number}"}),
                ("delete_note", {"name": f"Other/Renamed {number}"}),
            ):
                succeeded, text = assistant.call(tool, **arguments)
                calls += 1
                done += succeeded
                if "Private" in text or SECRET in text:
                    lost.append(f"{tool} said: {text}")
            (vault / "Pub" / "linking.md").write_text("[[Plan]] and ![[Plan]]\n")
            for file in (*vault.glob("Pub/*.md"), *vault.glob("Other/*.md")):
                if "Private" in file.read_text():
                    lost.append(f"{file.name} names the hidden folder")
    return Result(count, calls, done, lost)


def break_cache(folder: Path, count: int) -> Result:
    """The server starts with a cache that cannot be written: it must read and search, and refuse to
    change."""
    vault = folder / "vault"
    vault.mkdir(parents=True)
    note = vault / "Note.md"
    note.write_text(f"{PUBLIC}\n")
    in_the_way = folder / "cache"
    in_the_way.write_text("a file, not a folder")
    calls, done, lost = 0, 0, []
    for number in range(count):
        environ = {"VAULTBRIDGE_CACHE": str(in_the_way)}
        with Assistant(vault, folder / f"home {number}", environ=environ) as assistant:
            for tool, arguments in (("read_note", {"name": "Note"}), ("search", {"query": "anybody"})):
                succeeded, text = assistant.call(tool, **arguments)
                done += succeeded
                if PUBLIC not in text:
                    lost.append(f"{tool} said: {text}")
            succeeded, text = assistant.call("edit_note", name="Note", op="append", content="more")
            calls += 3
            if succeeded or "VAULTBRIDGE_CACHE" not in text:
                lost.append(f"the change was not refused: {text}")
    if note.read_text() != f"{PUBLIC}\n":
        lost.append("the note was changed without a journal")
    return Result(count, calls, done, lost)


DISK_BYTES = 512 * 1024


def _count_free_bytes(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def fill_disk(folder: Path, count: int) -> Result:
    """The vault's disk is full in the middle of a batch. Needs the right to mount a file system."""
    vault = folder / "vault"
    vault.mkdir(parents=True)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", vault], check=True, capture_output=True
    )
    try:
        return _write_to_full_disk(vault, folder / "home", count)
    finally:
        subprocess.run(["umount", "-l", vault], check=False, capture_output=True)


def _write_to_full_disk(vault: Path, home: Path, count: int) -> Result:
    chance = random.Random(1)
    note = vault / "Note.md"
    note.write_text("# A note\n")
    calls, done, lost = 0, 0, []
    ballast = vault / "ballast.bin"
    with Assistant(vault, home) as assistant:
        for number in range(count):
            before = note.read_bytes()
            ballast.write_bytes(bytes(_count_free_bytes(vault) - 4096 * chance.randrange(1, 20)))
            succeeded, text = assistant.call(
                "edit_note", name="Note", op="append", content="x" * chance.randrange(100_000, 200_000)
            )
            if succeeded or "the disk is full" not in text:
                lost.append(f"call {calls} was not refused: {text[:200]}")
            if note.read_bytes() != before:
                lost.append(f"call {calls} changed the note")
            lost += [f"left behind: {file.name}" for file in vault.glob(".vaultbridge-*")]
            ballast.unlink()
            succeeded, text = assistant.call("edit_note", name="Note", op="append", content=f"v-{number}")
            done += succeeded
            calls += 2
            if not succeeded:
                lost.append(f"with room again, it was refused: {text[:200]}")
    lines = note.read_text().splitlines()
    lost += [f"v-{number}" for number in range(count) if lines.count(f"v-{number}") != 1]
    return Result(count, calls, done, lost)


DAYS_OFF = 400


def shift_clock(folder: Path, count: int) -> Result:
    """Each server has another clock: 400 days ahead, right, or 400 days behind. No change may leave the
    history."""
    vault, patch = folder / "vault", folder / "patch"
    vault.mkdir(parents=True)
    patch.mkdir()
    note = vault / "Note.md"
    note.write_text("# A note\n")
    calls, done, lost = 0, 0, []
    for number in range(count):
        shift = (1, 0, -1)[number % 3] * DAYS_OFF * 86_400
        (patch / "sitecustomize.py").write_text(
            f"import time\nreal, real_ns = time.time, time.time_ns\n"
            f"time.time = lambda: real() + {shift}\ntime.time_ns = lambda: real_ns() + {shift} * 10**9\n"
        )
        environ = {"PYTHONPATH": str(patch)}
        with Assistant(vault, folder / "home", environ=environ) as assistant:
            mark = f"v-{number}-end"
            succeeded, text = assistant.call("edit_note", name="Note", op="append", content=mark)
            done += succeeded
            if not succeeded:
                lost.append(f"refused: {text}")
            found = assistant.call("search", query=f'"{mark}"')[1]
            if "Note.md" not in found:
                lost.append(f"{mark} is not found: {found}")
            calls += 2
    lines = note.read_text().splitlines()
    lost += [f"v-{number}-end" for number in range(count) if lines.count(f"v-{number}-end") != 1]
    (file,) = (folder / "home" / "cache").rglob("journal.sqlite")
    journal = Journal(file.parent)
    try:
        recorded = len(journal.history(limit=1000))
    finally:
        journal.close()
    if recorded != done:
        lost.append(f"{done} changes were made, {recorded} are in the history")
    return Result(count, calls, done, lost)


LIMITED = 'echo "$1" > "/proc/sys/user/max_inotify_$0"; shift; exec "$@"'
"""Runs a command with a limit on this user's inotify watches or instances."""


def use_up_watches(folder: Path, count: int, limit: str, allowed: int) -> Result:
    """The system lets the server watch only some of the folders, or none. Another program's notes must be
    found in all of them, and the server must say that it does not watch. The limit applies in a namespace
    of the server's own. Raises CalledProcessError where that is not allowed."""
    launcher = ("unshare", "-Ur", "sh", "-c", LIMITED, limit, str(allowed))
    subprocess.run([*launcher, "true"], check=True, capture_output=True)
    vault = folder / "vault"
    folders = [vault / f"old {number}" for number in range(count)]
    for place in folders:
        place.mkdir(parents=True)
    done, lost = 0, []
    with Assistant(vault, folder / "home", launcher=launcher) as assistant:
        assistant.call("search", query="nothing")
        for number in range(count):
            folders.append(vault / f"new {number}")
            folders[-1].mkdir()

        def is_answered(tool: str, wanted: str, **arguments: str) -> bool:
            until = time.monotonic() + SAID_SECONDS
            while wanted not in assistant.call(tool, **arguments)[1]:
                if time.monotonic() > until:
                    lost.append(f"{tool} never says: {wanted}")
                    return False
            return True

        is_answered("vault_info", "not being watched")
        for number, each in enumerate(folders):
            (each / "note.md").write_text(f"word{number}\n")
        for number, each in enumerate(folders):
            done += is_answered("search", f"{each.name}/note.md", query=f"word{number}")
    return Result(len(folders), len(folders), done, lost)
