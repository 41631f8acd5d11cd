"""The engine as the editor side sees it: `ports.VaultView`, with every blocking call in a worker thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from vaultbridge.editor.findings import findings
from vaultbridge.editor.ports import FindingsOf
from vaultbridge.engine import Engine
from vaultbridge.engine.naming import TEXT_KINDS, holds_text
from vaultbridge.engine.operations import AddFile, Create, Operation, Write
from vaultbridge.engine.parsing import parse_file
from vaultbridge.errors import EditRefused, EngineFailure, NoteNotFound, VaultbridgeError
from vaultbridge.links.resolve import FileTable
from vaultbridge.note.model import Note
from vaultbridge.note.text import decode, displayable
from vaultbridge.vault.file_pattern import file_filter
from vaultbridge.vault.paths import VaultPath

NOTES_WITH_FINDINGS: Final = 100
"""Notes told when the whole vault is asked for: the client reads them all into a prompt."""

FINDINGS_SECONDS: Final = 2.0
"""A client waits for diagnostics after every edit: what was found by then is the answer."""


class EngineView:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def name(self) -> str:
        return self._engine.name

    @property
    def folder(self) -> Path:
        return self._engine.root.folder

    def visible(self, path: VaultPath) -> bool:
        return self._engine.scope.visible(path)

    def from_top(self, text: str) -> str:
        return self._engine.from_top(text)

    def locate(self, path: VaultPath) -> Path:
        try:
            return self._engine.root.place(path)
        except VaultbridgeError:
            # A link that leads out: its own place is still in the vault, and nobody follows it from here.
            return self._engine.root.folder / path

    async def find(self, name: str) -> VaultPath:
        return await asyncio.to_thread(self._find, name)

    def _find(self, name: str) -> VaultPath:
        try:
            return self._engine.find(name)
        except NoteNotFound:
            if self._engine.ask.status.complete:
                raise
        self._wait_for_first_build()
        return self._engine.find(name)

    async def read_text(self, path: VaultPath) -> str:
        data = await asyncio.to_thread(self._engine.read_bytes, path)
        if not holds_text(path, data):
            # A client would write back what it was shown, and the file would be lost.
            raise EngineFailure(
                f"{path} is not text (UTF-8).", hint="The obsidian_attachment tool gives it as it is."
            )
        return displayable(decode(data).text)

    async def write_text(self, path: VaultPath, text: str, *, actor: str) -> VaultPath:
        return await asyncio.to_thread(self._write, path, text, actor)

    def _write(self, path: VaultPath, text: str, actor: str) -> VaultPath:
        if visible := self._engine.scope.visible(path):
            # As it is spelled on disk, or would be in folders that are there: another spelling may be a
            # note's whole name without `.md`, and is not the path that the file gets.
            path = self._engine.root.path_of(self._engine.root.place(path)) or path
        there = visible and self._engine.root.exists(path)
        operation: Operation
        if there and self._engine.is_folder(path):
            # Asked for by name, the engine would find the note that is called like the folder.
            raise EditRefused(f"{path} is a folder, not a file.", hint="Name a file in it.", path=path)
        if there:
            operation = Write(note=path, content=text)
        elif path.lower().endswith(TEXT_KINDS):
            # The dot says: exactly there, not where the settings put new notes.
            operation = Create(note=f"./{path}", content=text)
        else:
            operation = AddFile(path=path, data=text.encode())
        self._engine.apply([operation], actor=actor, label="written by an editor client")
        return path

    async def list_files(self, pattern: str) -> Sequence[VaultPath]:
        fits = file_filter(pattern)
        return [path for path in await asyncio.to_thread(self._paths) if fits(path)]

    async def file_count(self) -> int:
        return await asyncio.to_thread(self._file_count)

    def _file_count(self) -> int:
        self._wait_for_first_build()
        return sum(self._engine.ask.counts().values())

    def _paths(self) -> list[VaultPath]:
        self._wait_for_first_build()
        return [file.path for file in self._engine.ask.files()]

    def _wait_for_first_build(self) -> None:
        """These answers have no place to say that they are partial. Raises TimedOut."""
        self._engine.freshness.settle()
        self._engine.freshness.wait_complete()

    async def findings(self, path: VaultPath | None) -> Sequence[FindingsOf]:
        return await asyncio.to_thread(self._findings, path)

    def _findings(self, path: VaultPath | None) -> list[FindingsOf]:
        deadline = time.monotonic() + FINDINGS_SECONDS
        paths = [path] if path is not None else self._suspects(deadline)
        complete = self._engine.ask.status_to_ask().complete
        # While half of the files are not known yet, every second link would look broken.
        table: FileTable | None = self._engine.ask.seen_table() if complete else None
        told = []
        for one in paths:
            read = self._note_of(one)
            if read is not None:
                found = findings(one, *read, table, self.visible, self._note_of)
                if found or path is not None:
                    told.append(FindingsOf(one, read[0], found))
            if time.monotonic() > deadline:
                break
        return told

    def _suspects(self, deadline: float) -> list[VaultPath]:
        """Notes of which the index knows that something is wrong."""
        suspects = []
        for indexed in self._engine.ask.notes():
            if indexed.note.problems or None in indexed.resolved:
                suspects.append(indexed.file.path)
            if len(suspects) >= NOTES_WITH_FINDINGS or time.monotonic() > deadline:
                break
        return suspects

    def _note_of(self, path: VaultPath) -> tuple[str, Note] | None:
        """The file as it is on disk now, so that places fit what the client sees."""
        try:
            text = decode(self._engine.read_bytes(path)).text
        except VaultbridgeError:
            return None
        return displayable(text), parse_file(path, text)
