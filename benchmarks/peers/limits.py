"""What no server can beat: the same work without a server, by ripgrep, bare SQLite, and bare files."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from generate import COMMON_WORD, HUB, RARE_WORD
from install import NotInstallable, find_ripgrep
from timing import Figure, spread

TEXT = ("little water people window again " * 32).encode()
"""As long as the notes that servers write."""


class Limits:
    """Measured in every round, between the servers."""

    def __init__(self, vault: Path, work: Path) -> None:
        work.mkdir(parents=True)
        self._work = work
        self._vault = vault
        self._taken: dict[str, list[float]] = {}
        self.missing = ""
        try:
            self._ripgrep: str | None = find_ripgrep()
        except NotInstallable as reason:
            self._ripgrep = None
            self.missing = str(reason)
        self._database = sqlite3.connect(work / "bare.db")
        self._database.execute("CREATE VIRTUAL TABLE notes USING fts5(path UNINDEXED, text)")
        rows = ((str(path), path.read_text("utf-8")) for path in sorted(vault.rglob("*.md")))
        self._database.executemany("INSERT INTO notes VALUES (?, ?)", rows)
        self._database.commit()

    def round(self) -> None:
        self._time("read, bare file", lambda: (self._vault / HUB).read_bytes())
        for kind, word in (("rare", RARE_WORD), ("common", COMMON_WORD)):
            self._time(f"search_{kind}, SQLite", partial(self._match, word))
            if self._ripgrep is not None:
                self._time(f"search_{kind}, ripgrep", partial(self._grep, word))
        for number in range(4):
            self._time("write, fsynced file", partial(self._write, number))

    def close(self) -> dict[str, Figure]:
        self._database.close()
        return {name: spread(times) for name, times in self._taken.items()}

    def _time(self, name: str, task: Callable[[], object]) -> None:
        begin = time.perf_counter()
        task()
        self._taken.setdefault(name, []).append(time.perf_counter() - begin)

    def _match(self, word: str) -> list[tuple[str, str]]:
        return self._database.execute(
            "SELECT path, snippet(notes, 1, '', '', '…', 12) FROM notes WHERE notes MATCH ?"
            " ORDER BY rank LIMIT 20",
            (word,),
        ).fetchall()

    def _grep(self, word: str) -> None:
        command = [str(self._ripgrep), "--fixed-strings", "--ignore-case", "--files-with-matches", word, "."]
        subprocess.run(command, cwd=self._vault, stdout=subprocess.DEVNULL, check=True)

    def _write(self, number: int) -> None:
        """As a server writes that promises to lose nothing: a new file, flushed, in place of the old one."""
        passing, note = self._work / "passing", self._work / f"{number}.md"
        with passing.open("wb") as file:
            file.write(TEXT)
            file.flush()
            os.fsync(file.fileno())
        passing.replace(note)
        folder = os.open(self._work, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
