"""Drawn sessions: every protocol and another program change one vault in turn, and code of its own checks
what each change did.

    python tests/faults/sessions.py                       # 20 vaults, 80 changes each
    python tests/faults/sessions.py --seeds 200 --first 1000

After each change:

- a refused change has changed nothing;
- every link that nobody edited leads to the file it led to (`faults.link_oracle` reads and resolves it), and
  one that led nowhere is as it was;
- a move changed nothing in any note but the targets of links;
- undo, by whoever made the change or over another protocol by a person, gives back every byte, and undoing
  the undo gives the change again;
- a batch has the result that a plain model of it has;
- the limited caller has been told nothing of the hidden folder.

In half of the vaults no other program saves; there, undoing everything gives back the first vault.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import unicodedata
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from faults.callers import COMMAND, LIMITED, PAGE, Call, open_callers
from faults.link_oracle import mask_links, read_links, read_meaning
from faults.session_draw import FOLDERS, HIDDEN, Draw

BATCHED = "Batch "
"""The folders whose notes only batches change, begin so."""

OLD_TIME = 1_600_000_000

Files = dict[str, bytes]
Operation = dict[str, Any]


class Session:
    """`done`, `refused`, `undone` and `saves` count what happened; `faults` says what was wrong, and `log`
    what was called."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.draw = Draw(seed)
        self.rng = self.draw.rng
        self.vault = folder / "vault"
        self.home = folder / "home"
        self.alone = bool(seed % 2)
        self.faults: list[str] = []
        self.log: list[str] = []
        self.done = self.refused = self.undone = self.saves = 0
        self.callers: dict[str, Call] = {}
        for path, data in self.draw.files().items():
            self._write(path, data)

    def _write(self, path: str, data: bytes) -> None:
        place = self.vault / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)

    def run(self, changes: int) -> None:
        first = self.read_files()
        with open_callers(self.vault, self.home, HIDDEN) as self.callers:
            for number in range(changes):
                if self.draw.chance(0.08):
                    self._run_batch(number)
                else:
                    self._change(number)
                if self.faults:
                    return
            if self.alone:
                self._undo_all(first, 3 * changes)

    def read_files(self) -> Files:
        """The vault without the settings and the trash."""
        found = {}
        for folder, folders, files in os.walk(self.vault):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for place in (Path(folder, name) for name in files):
                found[place.relative_to(self.vault).as_posix()] = place.read_bytes()
        return found

    # Changes.

    def _change(self, number: int) -> None:
        if not self.alone and self.draw.chance(0.25):
            self._save_outside(number)
        before = self.read_files()
        tool, arguments = self._draw_change(before, number)
        caller, text, done = self._call(tool, arguments)
        after = self.read_files()
        what = f"{tool}({arguments})"
        if not done:
            if after != before:
                self.faults.append(f"{what} was refused, but {_compare(before, after)}")
            return
        seen = (before, after)
        if caller == LIMITED:
            seen = tuple(
                {path: data for path, data in files.items() if not path.startswith(HIDDEN)} for files in seen
            )
        self._check_links(what, *seen, moved=tool == "move_note", named=arguments["name"])
        if after != before and self.draw.chance(0.5):
            self._check_undo(caller, before, after, what, text)

    def _call(self, tool: str, arguments: Operation) -> tuple[str, str, bool]:
        caller = self.rng.choice(list(self.callers))
        done, text = self.callers[caller](tool, **arguments)
        self.done, self.refused = self.done + done, self.refused + (not done)
        self.log.append(f"{caller} {tool} {arguments} -> {done} {text[:300]}")
        hidden = HIDDEN.strip("/")
        if "nternal" in text or "Traceback" in text or (caller == LIMITED and hidden in text):
            self.faults.append(f"{caller} was told by {tool}({arguments}): {text}")
        return caller, text, done

    def _draw_change(self, files: Files, number: int) -> tuple[str, Operation]:
        visible = [path for path in files if not path.startswith((HIDDEN, BATCHED))]
        notes = [path for path in visible if path.lower().endswith(".md")]
        folders = sorted({path.rpartition("/")[0] for path in visible if "/" in path})
        path, kind = self.rng.choice(visible), self.rng.random()
        if kind < 0.3:
            return "move_note", {"name": path, "to": self.draw.new_path(path)}
        if kind < 0.42 and folders:
            folder = self.rng.choice(folders)
            return "move_note", {"name": f"{folder}/", "to": self.draw.new_folder(folder, number)}
        if kind < 0.63 and len(notes) > 8:
            return "delete_note", {"name": path}
        if kind < 0.63 or not notes:
            name = f"{self.rng.choice(FOLDERS)}{self.rng.choice(self.draw.names)}"
            return "create_note", {"name": name, "content": self.draw.line(f"{name}.md", visible)}
        note = self.rng.choice(notes)
        only_at_end = files[note].removeprefix(b"\xef\xbb\xbf").startswith(b"---") or b"```" in files[note]
        return "edit_note", {"name": note, **self.draw.edit(note, visible, only_at_end=only_at_end)}

    def _run_batch(self, number: int) -> None:
        """Creates, moves, deletes and appends to a few names in one batch."""
        before = self.read_files()
        folder = f"{BATCHED}{self.rng.randint(0, 2)}"
        pool = [f"{folder}/{name}.md" for name in ("a", "b", "c", "D", "sub/a", "sub/e")]
        model = {path: before[path].decode() for path in pool if path in before}
        operations, works = [], True
        for step in range(self.rng.randint(2, 40)):
            op, path, to = self.draw.pick("create", "move", "delete", "append"), *self.rng.sample(pool, 2)
            fits = (
                (path not in model) if op == "create" else path in model and (op != "move" or to not in model)
            )
            if not fits and self.draw.chance(0.97):
                continue
            works = works and fits
            text = f"{number}-{step}"
            operation = {"op": op, "name": path}
            if op == "create":
                model[path], operation["content"] = f"{text}\n", f"{text}\n"
            elif op == "append":
                model[path], operation["content"] = f"{model.get(path, '')}{text}\n", text
            else:
                removed = model.pop(path, "")
                if op == "move":
                    model[to] = operation["to"] = to
                    model[to] = removed
            operations.append(operation)
        if not operations:
            return
        caller, text, done = self._call("batch", {"operations": operations})
        after = self.read_files()
        now = {path: data.decode() for path, data in after.items() if path.startswith(folder)}
        if done is not works or (done and now != model):
            self.faults.append(f"the batch should {'work' if works else 'be refused'}: {text} {now} {model}")
        elif not done and after != before:
            self.faults.append(f"the refused batch changed {_compare(before, after)}")
        elif after != before and self.draw.chance(0.6):
            self._check_undo(caller, before, after, "the batch", text)

    def _save_outside(self, number: int) -> None:
        """Another program adds a line to a note in one of five ways, or a new note."""
        files = self.read_files()
        visible = [path for path in files if not path.startswith((HIDDEN, BATCHED))]
        path = self.rng.choice([path for path in visible if path.lower().endswith(".md")] or ["New.md"])
        place, line = self.vault / path, f"\n{self.draw.line(path, visible)}\n".encode()
        data, beside = files.get(path, b"") + line, place.with_name(".saving.Xy12")
        way = self.rng.choice(("in place", "replace", "backup", "append", "copy", "new"))
        self.saves += 1
        self.log.append(f"another program: {way} {path} {line!r}")
        match way:
            case "in place":
                place.write_bytes(data)
            case "append":
                with place.open("ab") as opened:
                    opened.write(line)
            case "backup":
                place.rename(place.with_name("backup.md~"))
                place.write_bytes(data)
                place.with_name("backup.md~").unlink()
            case "replace" | "copy":
                beside.write_bytes(data)
                if way == "copy":  # as rsync does, which keeps the time
                    os.utime(beside, (OLD_TIME, OLD_TIME + number))
                beside.rename(place)
            case _:
                name = f"{self.rng.choice(FOLDERS)}{self.rng.choice(self.draw.names)}.md"
                new = unicodedata.normalize("NFC", name)
                if new.lower() not in {path.lower() for path in files}:
                    self._write(new, line)

    # Checks.

    def _check_undo(self, maker: str, before: Files, after: Files, what: str, text: str) -> None:
        number = _read_change(text)
        arguments = {"id": number} if number else {}
        # Anybody else's undo would wait for a person.
        may_undo = [name for name in (maker, PAGE, COMMAND) if name != LIMITED]
        caller = self.rng.choice(may_undo) if number else COMMAND
        done, said = self.callers[caller]("undo", **arguments)
        now = self.read_files()
        if not done or now != before:
            self.faults.append(f"{caller} did not undo {what}: {said}\n{_compare(before, now)}")
            return
        self.undone += 1
        if self.draw.chance(0.3):
            done, said = self.callers[caller]("undo", id=_read_change(said))
            now = self.read_files()
            if not done or now != after:
                self.faults.append(f"{caller} did not undo that of {what}: {said}\n{_compare(after, now)}")

    def _undo_all(self, first: Files, most: int) -> None:
        said, done = "", True
        while done and most:
            done, said = self.callers[COMMAND]("undo")
            most -= 1
            self.undone += done
        now = self.read_files()
        if now != first:
            self.faults.append(f"undoing everything ended with {said}\n{_compare(first, now)}")

    def _check_links(self, what: str, before: Files, after: Files, *, moved: bool, named: str) -> None:
        gone, came = before.keys() - after.keys(), after.keys() - before.keys()
        where = _match_moved(named, gone, came) if moved else {}
        if moved and where.keys() != gone:
            self.faults.append(f"{what}: {gone} became {came}")
            return
        old, new = read_meaning(before), read_meaning(after)
        for path in before if moved else ():
            now = where.get(path, path)
            if mask_links(path, before[path]) != mask_links(now, after[now]):
                self.faults.append(f"{what} changed more than links: {before[path]!r}\n{after[now]!r}")
        for (path, label), targets in old.items():
            now = where.get(path, path)
            if (path == named and not moved) or now not in after:
                continue
            was, is_now = (read_links(*file).get(label) for file in ((path, before[path]), (now, after[now])))
            leads = new.get((now, label))
            wanted = {where.get(target, target) for target in targets}
            # Where the app may choose, and for what was deleted, nothing is certain.
            certain = len(targets) == 1 and not targets & (gone - where.keys())
            if leads is None or (certain and leads != wanted) or (moved and not targets and was != is_now):
                self.faults.append(
                    f"{what}: {label} in {path} was {was}, which led to {targets}; "
                    f"it is {is_now}, which leads to {leads}\n{before[path]!r}"
                )


def _read_change(text: str) -> int:
    found = re.search(r'"change": ?(\d+)', text)
    return int(found[1]) if found else 0


def _match_moved(named: str, gone: set[str], came: set[str]) -> dict[str, str]:
    """Which file went where. All files of a folder go to the one place that then has them all."""
    if not named.endswith("/"):
        return dict(zip(gone, came, strict=True)) if len(gone) == len(came) == 1 else {}
    inside = {path.removeprefix(named) for path in gone}
    for path in came:
        for rest in inside:
            folder = path.removesuffix(rest)
            if path.endswith(rest) and {folder + other for other in inside} == came:
                return {named + other: folder + other for other in inside}
    return {}


def _compare(one: Files, other: Files) -> str:
    changed = (path for path in sorted({*one, *other}) if one.get(path) != other.get(path))
    return "\n".join(f"{path}: {one.get(path)!r}\nis now {other.get(path)!r}" for path in changed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="how many vaults")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--changes", type=int, default=80, help="how many changes to each vault")
    given = parser.parse_args()
    failed = done = refused = undone = saves = 0
    for seed in range(given.first, given.first + given.seeds):
        with tempfile.TemporaryDirectory(prefix="sessions-") as folder:
            session = Session(Path(folder), seed)
            session.run(given.changes)
        done, refused = done + session.done, refused + session.refused
        undone, saves = undone + session.undone, saves + session.saves
        if session.faults:
            failed += 1
            print(f"seed {seed}", *session.log[-4:], *session.faults[:2], sep="\n", flush=True)
    print(
        f"{done} changes, {refused} refused, {undone} undone, {saves} saves by another program; "
        f"{failed} of {given.seeds} vaults failed"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
