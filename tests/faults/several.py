"""Several writers at once: every protocol of one `serve`, two `stdio` servers, one of which may not see a
folder, the command line, and another program that saves. They edit, rename, move, create, delete and undo the
same notes. In the end, every acknowledged mark must be in a note, in the trash or in the history, and every
link that the vault had at the beginning must still lead to the note it led to."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import threading
from pathlib import Path
from unittest.mock import patch

import vaultbridge
from faults.callers import COMMAND, LIMITED, Call, open_callers
from faults.injections import Result, read_history
from faults.outside import replace, save_in_pieces, save_in_place, save_with_backup

NOTES = 40
LINKS_PER_NOTE = 4
FOLDERS = ("", "A", "B", "A/C", "Ünï cödé")
NAMES = ("note{}", "Note {}", "日記{}", "it's {}")
NEW_NAMES = (*(f"pool{number}" for number in range(12)), "Pool 3", "PÖÖL", "プール", "a.b", "x (1)")
NEW_FOLDERS = ("A/", "B/", "A/C/", "Ünï cödé/", "New/Deep/")
PRIVATE = "Private"
SLOWER = 5
"""The command line starts a process for each call, so it makes a share of the others' calls."""

ID = re.compile(r"(?:---\n.*?\n---\n)?ID (\d+)\n", re.DOTALL)
MARK = re.compile(r"m-\w+-\d+-\.")


def write_from_everywhere(folder: Path, count: int, *, in_any_way: bool = False) -> Result:
    """Each writer makes `count` calls. The other program appends, or saves `in_any_way`; then a note that it
    read before a move may be back at its old place, and links may lead there."""
    vault, home = folder / "vault", folder / "home"
    chance = random.Random(count)
    _make_vault(vault, chance)
    lost: list[str] = []
    acknowledged: list[str] = []
    tally = {True: 0, False: 0}
    with contextlib.ExitStack() as stack:
        callers = stack.enter_context(open_callers(vault, home, f"{PRIVATE}/"))

        def write(name: str, call: Call, seed: int) -> None:
            own = random.Random(seed)
            try:
                for number in range(count // SLOWER if name == COMMAND else count):
                    mark = f"m-{name}-{number}-."
                    done, text, written = _draw_call(call, own, vault, mark)
                    tally[done] += 1
                    if done and written:
                        acknowledged.append(mark)
                    if "nternal" in text or (name == LIMITED and ("secret" in text or PRIVATE in text)):
                        lost.append(f"{name} was told: {text[:200]}")
            except Exception as error:
                lost.append(f"{name} ended with {error!r}")

        writers = [
            threading.Thread(target=write, args=(name, call, seed))
            for seed, (name, call) in enumerate(callers.items())
        ]
        for writer in writers:
            writer.start()
        saved = _save_outside(vault, writers, chance, in_any_way=in_any_way)
        acknowledged += saved
    lost += _find_lost_marks(vault, home, acknowledged)
    if not in_any_way:
        lost += _find_wrong_links(vault, home)
    lost += [f"left behind: {file.name}" for file in vault.rglob(".vaultbridge-*")]
    return Result(len(saved), sum(tally.values()), tally[True], lost)


def _make_vault(vault: Path, chance: random.Random) -> None:
    """Every note has a number in its first line, and every link says the number of its target."""
    for folder in (*FOLDERS, PRIVATE):
        (vault / folder).mkdir(parents=True, exist_ok=True)
    places: list[str] = []
    for number in range(NOTES):
        if number % 8 == 0:
            places.append(f"{PRIVATE}/secret{number}.md")
        else:
            name = chance.choice(NAMES).format(number)
            places.append(f"{chance.choice(FOLDERS)}/{name}.md".lstrip("/"))
    public = [number for number, place in enumerate(places) if not place.startswith(PRIVATE)]
    for number, place in enumerate(places):
        targets = chance.sample([target for target in public if target != number], LINKS_PER_NOTE)
        links = "\n".join(_draw_link(chance, target, places[target]) for target in targets)
        (vault / place).write_text(f"ID {number}\n{links}\n")


def _draw_link(chance: random.Random, number: int, place: str) -> str:
    path = place.removesuffix(".md")
    name = path.rpartition("/")[2]
    label = f"to-{number}"
    return chance.choice(
        (f"[[{name}|{label}]]", f"[[{path}|{label}]]", f"![[{name}|{label}]]", f"[{label}](<{place}>)")
    )


def _list_notes(vault: Path) -> list[Path]:
    """All but what is in the trash. Folders may go while they are walked."""
    found = (Path(folder, file) for folder, _, files in os.walk(vault) for file in files)
    return [
        file
        for file in found
        if file.suffix == ".md" and not any(part.startswith(".") for part in file.relative_to(vault).parts)
    ]


def _draw_call(call: Call, chance: random.Random, vault: Path, mark: str) -> tuple[bool, str, bool]:
    """Makes one call. Returns whether it succeeded, what it answered, and whether it should have written
    the mark."""
    notes = [
        path for file in _list_notes(vault) if not (path := str(file.relative_to(vault))).startswith(PRIVATE)
    ]
    name, kind = chance.choice(notes), chance.random()
    if kind < 0.45:
        return *call("edit_note", name=name, op="append", content=mark), True
    if kind < 0.55:
        return *call("edit_note", name=name, op="set_property", property="k", value=mark), True
    if kind < 0.75:
        return *call("move_note", name=name, to=chance.choice(NEW_NAMES)), False
    if kind < 0.85:
        return *call("move_note", name=name, to=chance.choice(NEW_FOLDERS)), False
    if kind < 0.93:
        return *call("undo"), False
    created = [path for path in notes if "loose-" in path]
    if created and chance.random() < 0.4:
        return *call("delete_note", name=chance.choice(created)), False
    return *call("create_note", name=f"loose-{mark[2:-2]}", content=mark), True


def _save_outside(
    vault: Path, writers: list[threading.Thread], chance: random.Random, *, in_any_way: bool
) -> list[str]:
    """Saves drawn notes, hidden ones too, in drawn ways, while a writer is at work. Returns the marks.

    Only appending keeps what was written since the note was read; the other ways replace it, as editors do,
    and what they replace must be in the history."""
    saved: list[str] = []
    for number in itertools.count():
        at_work = [writer for writer in writers if writer.is_alive()]
        if not at_work:
            return saved
        mark = f"m-outside-{number}-."
        with contextlib.suppress(FileNotFoundError):
            file, text = chance.choice(_list_notes(vault)), f"\n{mark}\n"
            match chance.randrange(5) if in_any_way else 4:
                case 0:
                    save_in_place(file, text, 0, closing=False)
                case 1:
                    save_in_pieces(file, text, 0.005)
                case 2:
                    replace(file, text)
                case 3:
                    save_with_backup(file, text, 0)
                case _:
                    _append(file, text)
            saved.append(mark)
        at_work[0].join(chance.random() * 0.02)
    raise AssertionError


def _append(file: Path, text: str) -> None:
    """Appends to a note that is there; opening it by name with `a` would create one that has just moved."""
    handle = os.open(file, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def _find_lost_marks(vault: Path, home: Path, acknowledged: list[str]) -> list[str]:
    kept = {*MARK.findall(read_history(home / "cache"))}
    for file in (*vault.rglob("*"), *home.rglob("*.md")):
        if file.is_file():
            kept.update(MARK.findall(file.read_text()))
    return [mark for mark in acknowledged if mark not in kept]


def _find_wrong_links(vault: Path, home: Path) -> list[str]:
    places: dict[int, list[str]] = {}
    for file in _list_notes(vault):
        if found := ID.match(file.read_text()):
            places.setdefault(int(found[1]), []).append(str(file.relative_to(vault)))
    wrong = [
        f"note {number} is at {places.get(number)}"
        for number in range(NOTES)
        if len(places.get(number, ())) != 1
    ]
    with (
        patch.dict(os.environ, {"VAULTBRIDGE_CACHE": str(home / "cache")}),
        vaultbridge.open(vault, read_only=True) as opened,
    ):
        for note in opened.notes():
            for link in opened.links(note):
                target = re.search(r"to-(\d+)", link.raw)
                if target and [link.target] != places.get(int(target[1])):
                    wrong.append(f"{link.raw} in {note} leads to {link.target}")
    return wrong
