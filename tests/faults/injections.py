"""Faults that other programs cause in the notes: saves, kills and links, and what was lost by each."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

from faults.assistant import Assistant
from vaultbridge.vault.write.journal import Journal

OUTSIDE = Path(__file__).with_name("outside.py")
MARK = re.compile(r"^[ov]-\d+$", re.MULTILINE)


class Result(Struct):
    """`injected` is how often the fault was injected, `calls` how many calls were made meanwhile and `done`
    how many of them succeeded. `lost` names what is gone, and what was seen or written although it must not
    be.
    `in_history` counts saves of another program that it overwrote itself, because it had read the note while
    our text was there; the journal has them. `ended` counts servers that the fault ended; another one went
    on."""

    injected: int
    calls: int
    done: int
    lost: list[str]
    refusals: list[str] = []
    in_history: int = 0
    ended: int = 0


def start_outside(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, OUTSIDE, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def end_outside(process: subprocess.Popen[str]) -> int:
    out, _ = process.communicate(timeout=60)
    return int(out or 0)


def save_outside(folder: Path, how: str, count: int, gap: float) -> Result:
    """Another program saves a note `count` times while an assistant appends to it."""
    vault = folder / "vault"
    vault.mkdir(parents=True)
    note = vault / "Note.md"
    note.write_text("# A note\n")
    calls, acknowledged, refusals = 0, [], set()
    with Assistant(vault, folder / "home") as assistant:
        assistant.call("read_note", name="Note")
        outside = start_outside(how, note, count, gap)
        while outside.poll() is None:
            done, text = assistant.call("edit_note", name="Note", op="append", content=f"v-{calls}")
            if done:
                acknowledged.append(f"v-{calls}")
            else:
                refusals.add(text)
            calls += 1
        saved = end_outside(outside)
    there = {mark for file in vault.glob("*.md") for mark in MARK.findall(file.read_text())}
    wanted = [f"o-{number}" for number in range(saved)]
    if how == "append":
        # The other ways write back what they read before an acknowledged change, and so lose it themselves.
        wanted += acknowledged
    recorded = set(MARK.findall(read_history(folder / "home" / "cache")))
    lost = [mark for mark in wanted if mark not in there and mark not in recorded]
    only_recorded = sum(mark not in there for mark in wanted) - len(lost)
    if "# A note" not in note.read_text():
        lost.append("the note's text")
    lost += [f"left behind: {file.name}" for file in vault.glob(".vaultbridge-*")]
    return Result(saved, calls, len(acknowledged), lost, sorted(refusals), only_recorded)


def read_history(cache: Path) -> str:
    """Every text that the journal holds."""
    (file,) = cache.rglob("journal.sqlite")
    journal = Journal(file.parent)
    try:
        versions, last = [], None
        while page := journal.history(limit=1000, before=last):
            versions += [text for entry in page for text in journal.versions(entry)]
            last = page[-1].id
    finally:
        journal.close()
    return "\n".join(
        data.decode() for version in versions for data in (version.before, version.after) if data is not None
    )


KILLED_WITHIN = 0.03
"""The server is killed within so many seconds of a call: an append takes some milliseconds."""


def kill_server(folder: Path, count: int) -> Result:
    """The server is killed during a change, `count` times; the next one recovers what is left."""
    vault = folder / "vault"
    vault.mkdir(parents=True)
    note = vault / "Note.md"
    note.write_text("# A note\n")
    chance = random.Random(1)
    calls, acknowledged, lost = 0, [], []
    for _ in range(count):
        with Assistant(vault, folder / "home") as assistant:
            for _ in range(chance.randrange(1, 4)):
                done, _ = assistant.call("edit_note", name="Note", op="append", content=f"v-{calls}")
                acknowledged += [f"v-{calls}"] if done else []
                calls += 1
            assistant.kill_during(
                "edit_note", chance.uniform(0, KILLED_WITHIN), name="Note", op="append", content=f"v-{calls}"
            )
            calls += 1
        text = note.read_text()
        if not (text.startswith("# A note\n") and text.endswith("\n")):
            lost.append(f"torn: {text[-40:]!r}")
    with Assistant(vault, folder / "home") as assistant:
        assistant.call("edit_note", name="Note", op="append", content="the end")
    lines = note.read_text().splitlines()
    lost += [mark for mark in acknowledged if lines.count(mark) != 1]
    lost += [f"left behind: {file.name}" for file in vault.glob(".vaultbridge-*")]
    return Result(count, calls, len(acknowledged), lost)


SECRET = "what nobody may see"
PUBLIC = "what anybody may see"


def swap_for_link(folder: Path, what: str, rounds: int, *, denied: bool) -> Result:
    """A file or folder of the vault is exchanged for a link out of the vault or into a denied folder, and
    back, in a tight loop, while an assistant reads, writes and searches it in so many `rounds`."""
    vault = folder / "vault"
    hidden = vault / "Private" if denied else folder / "elsewhere"
    for place in (vault / "Pub", hidden):
        place.mkdir(parents=True)
    (vault / "Pub" / "n.md").write_text(f"{PUBLIC}\n")
    (hidden / "n.md").write_text(f"{SECRET}\n")
    before = {file.name: file.read_bytes() for file in hidden.iterdir()}
    place, target = (vault / "Pub" / "n.md", hidden / "n.md") if what == "file" else (vault / "Pub", hidden)
    lost: list[str] = []
    done = 0
    options = ("--deny", "Private/") if denied else ()
    with Assistant(vault, folder / "home", *options) as assistant:
        outside = start_outside(f"swap-{what}", place, target, 0)
        for number in range(rounds):
            fine, text = assistant.call("read_note", name="Pub/n.md")
            done += fine
            if SECRET in text:
                lost.append(f"call {number} read it: {text}")
            fine, text = _write(assistant, number)
            done += fine
            if SECRET in text:
                lost.append(f"call {number} showed it: {text}")
            fine, text = assistant.call("search", query="nobody")
            if SECRET in text:
                lost.append(f"call {number} found it: {text}")
        injected = end_outside(outside)
    after = {file.name: file.read_bytes() for file in hidden.iterdir()}
    if after != before:
        lost.append(f"written: {sorted(after)}")
    return Result(injected, 3 * rounds, done, lost)


def _write(assistant: Assistant, number: int) -> tuple[bool, str]:
    if number % 5 == 0:
        return assistant.call("create_note", name=f"Pub/new {number}", content="new")
    if number % 5 == 1:
        return assistant.call("delete_note", name=f"Pub/new {number - 1}")
    if number % 5 == 2:
        return assistant.call("edit_note", name="Pub/n.md", op="append", content="more", dry_run=True)
    return assistant.call("edit_note", name="Pub/n.md", op="append", content="more")
