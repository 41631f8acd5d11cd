"""Another program that works in a vault and knows nothing of us. `injections.py` starts it.

    outside.py HOW FILE COUNT GAP            saves FILE COUNT times, each time with one more mark
    outside.py swap-file FILE TARGET GAP     exchanges FILE for a link to TARGET and back
    outside.py swap-folder FOLDER TARGET GAP exchanges FOLDER for a link to TARGET and back

HOW is `in-place` (empties the file, waits GAP seconds, writes it), `closing` (the same, but closes it in
between), `pieces` (empties it and writes it in five pieces), `mapped` (writes it through a memory map, with
the file itself closed), `backup` (renames it, writes a new one and removes the old), `replace` (writes beside
it and renames) or `append`. GAP is also the pause between two saves.
It ends after COUNT saves or when its standard input is closed, and prints how often it did its work.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import select
import sys
import time
from pathlib import Path

APART = 0.002
"""The pause between two saves when no gap is given: now and then an edit fits in."""


PIECES = 5


def is_stopped() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def read(file: Path) -> str:
    while True:
        with contextlib.suppress(FileNotFoundError):
            return file.read_text()


def save_in_place(file: Path, mark: str, gap: float, *, closing: bool) -> None:
    text = read(file) + mark
    if closing:
        os.truncate(file, 0)
        time.sleep(gap)
        file.write_text(text)
        return
    with file.open("r+") as opened:
        opened.truncate(0)
        time.sleep(gap)
        opened.write(text)


def save_in_pieces(file: Path, mark: str, gap: float) -> None:
    text = read(file) + mark
    size = len(text) // PIECES + 1
    with file.open("w") as opened:
        for start in range(0, len(text), size):
            opened.write(text[start : start + size])
            opened.flush()
            time.sleep(gap / PIECES)


def save_through_map(file: Path, mark: str, gap: float) -> None:
    data = (read(file) + mark).encode()
    with file.open("r+b") as opened:
        opened.truncate(len(data))
        mapped = mmap.mmap(opened.fileno(), len(data))
    with mapped:
        mapped[: len(data) // 2] = data[: len(data) // 2]
        time.sleep(gap)
        mapped[:] = data
        mapped.flush()


def save_with_backup(file: Path, mark: str, gap: float) -> None:
    text = read(file) + mark
    backup = file.with_name(f"{file.name}~")
    file.rename(backup)
    time.sleep(gap)
    file.write_text(text)
    backup.unlink()


def replace(file: Path, mark: str) -> None:
    beside = file.with_name(f".{file.name}.saving")
    beside.write_text(read(file) + mark)
    beside.rename(file)


def append(file: Path, mark: str) -> None:
    with file.open("a") as opened:
        opened.write(mark)


def save(how: str, file: Path, count: int, gap: float) -> None:
    done = 0
    while done < count and not is_stopped():
        mark = f"o-{done}\n"
        if how == "replace":
            replace(file, mark)
        elif how == "append":
            append(file, mark)
        elif how == "pieces":
            save_in_pieces(file, mark, gap)
        elif how == "mapped":
            save_through_map(file, mark, gap)
        elif how == "backup":
            save_with_backup(file, mark, gap)
        else:
            save_in_place(file, mark, gap, closing=how == "closing")
        done += 1
        time.sleep(gap or APART)
    print(done, flush=True)


def swap(place: Path, target: Path, gap: float) -> None:
    link = place.with_name(f".{place.name}.link")
    link.symlink_to(target)
    done = 0
    while not is_stopped():
        exchange(place, link)
        done += 1
        if gap:
            time.sleep(gap)
    if place.is_symlink():
        exchange(place, link)
    link.unlink()
    print(done, flush=True)


def exchange(first: Path, second: Path) -> None:
    call = ctypes.CDLL(None, use_errno=True).renameat2
    if call(-100, os.fsencode(first), -100, os.fsencode(second), 2):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def main(how: str, place: str, third: str, gap: str) -> None:
    if how.startswith("swap-"):
        swap(Path(place), Path(third), float(gap))
    else:
        save(how, Path(place), int(third), float(gap))


if __name__ == "__main__":
    main(*sys.argv[1:])
