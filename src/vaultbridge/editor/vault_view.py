"""`EngineView`: the `model.VaultView` of an engine, with blocking calls in worker threads.

`check_note`, which is pure, finds the problems of a note and where they are: links to nothing, links that
match several files, links to missing headings and blocks, and what the parser reported (bad YAML, duplicate
keys and block ids, bytes that are not UTF-8).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Final

from vaultbridge.editor.model import Diagnostic, NoteDiagnostics, Severity
from vaultbridge.engine import DirectEngine, Engine
from vaultbridge.engine.drafting.naming import is_text_file
from vaultbridge.engine.operations import AddFile, Create, Write
from vaultbridge.engine.operations.base import Operation
from vaultbridge.engine.reading import parse_file
from vaultbridge.errors import EditRefused, EngineFailure, NoteNotFound, VaultbridgeError
from vaultbridge.limits import CALL_SECONDS
from vaultbridge.links.resolve import FileTable, Missing, resolve
from vaultbridge.markdown.model import Link, Note, ProblemCode
from vaultbridge.markdown.sections import find_block, find_section
from vaultbridge.markdown.text import decode, describe_encoding, replace_surrogates
from vaultbridge.review.gate import WAITING_CALLS, NonInteractiveCaller, ReviewGate
from vaultbridge.review.policy import ReviewRules
from vaultbridge.review.rebase import identify_writer, read_file
from vaultbridge.vault.paths import TEXT_SUFFIXES, VaultPath
from vaultbridge.vault.scope import compile_file_pattern
from vaultbridge.vault.spelling import check_spelling
from vaultbridge.vault.write.journal_rows import Acceptance

FINDINGS_PER_NOTE: Final = 200
"""The most findings of one note: nobody reads a longer list."""

TARGETS_READ: Final = 50
"""The most other notes read to check the headings and blocks that one note links to: each is read and
parsed."""

_SEVERITY: Final[dict[ProblemCode, Severity]] = {
    "bad-yaml": "error",
    "duplicate-key": "error",
    "unclosed-properties": "error",
    "bad-canvas": "error",
    "bad-base": "error",
    "placeholder": "information",
    "too-large": "information",
}

ReadNote = Callable[[VaultPath], tuple[str, Note] | None]
"""Reads the text and the parsed values of another note; None if it cannot be read."""


def check_note(
    path: VaultPath,
    text: str,
    note: Note,
    table: FileTable | None,
    visible: Callable[[VaultPath], bool],
    read_note: ReadNote,
) -> tuple[Diagnostic, ...]:
    """All findings of one note, in the order of its text. A target that is not `visible` counts as missing.
    Without a table, links are not checked."""
    findings = [
        Diagnostic(
            problem.message, _SEVERITY.get(problem.code, "warning"), problem.code, problem.start, problem.end
        )
        for problem in note.problems
    ]
    notes: dict[VaultPath, tuple[str, Note] | None] = {path: (text, note)}
    for link in note.links:
        if table is None:
            break
        findings.extend(_check_link(link, path, table, visible, read_note, notes))
        if len(findings) >= FINDINGS_PER_NOTE:
            break
    return tuple(sorted(findings[:FINDINGS_PER_NOTE], key=lambda finding: (finding.start, finding.end)))


def _check_link(
    link: Link,
    source: VaultPath,
    table: FileTable,
    visible: Callable[[VaultPath], bool],
    read_note: ReadNote,
    notes: dict[VaultPath, tuple[str, Note] | None],
) -> Iterator[Diagnostic]:
    resolution = resolve(link.target, source, table)
    if isinstance(resolution, Missing) or not visible(VaultPath(resolution.path)):
        yield _report_link(link, f"Nothing in the vault is named {link.target!r}.", "warning", "broken-link")
        return
    others = [other for other in resolution.others if visible(VaultPath(other))]
    if others:
        matches = ", ".join((resolution.path, *others)[:5])
        yield _report_link(
            link, f"{link.target!r} fits several files: {matches}.", "information", "ambiguous-link"
        )
    target = VaultPath(resolution.path)
    if not link.subpath or not target.lower().endswith(".md"):
        return
    if target not in notes:
        if len(notes) > TARGETS_READ:
            return
        notes[target] = read_note(target)
    read = notes[target]
    if read is not None:
        yield from _check_subpath(link, target, *read)


def _check_subpath(link: Link, target: VaultPath, text: str, note: Note) -> Iterator[Diagnostic]:
    is_block = link.subpath.startswith("#^")
    try:
        if is_block:
            find_block(note, link.subpath[2:])
        else:
            find_section(text, note, link.subpath[1:])
    except EditRefused:
        kind = "block" if is_block else "heading"
        message = f"{target} has no {kind} {link.subpath[2 if is_block else 1 :]!r}."
        yield _report_link(link, message, "warning", f"broken-{kind}")


def _report_link(link: Link, message: str, severity: Severity, code: str) -> Diagnostic:
    return Diagnostic(message, severity, code, link.start, link.end)


NOTES_WITH_FINDINGS: Final = 100
"""The most notes in an answer about the whole vault: the client reads them all into a prompt."""

FINDINGS_SECONDS: Final = 2.0
"""A client waits for diagnostics after every edit: it gets what has been found by then."""

WRITE_SECONDS: Final = CALL_SECONDS - 5.0
"""How long a client's own write waits for a person: it is answered before its call's time limit."""


class EngineView:
    """`find_rules` says which changes wait for a person; without it none do."""

    def __init__(
        self, engine: DirectEngine, find_rules: Callable[[Engine], ReviewRules] | None = None
    ) -> None:
        self._engine = engine
        self._find_rules = find_rules
        self._waiting: ThreadPoolExecutor | None = None

    @property
    def name(self) -> str:
        return self._engine.name

    @property
    def folder(self) -> Path:
        return self._engine.root.folder

    def find_problem(self) -> str:
        return self._engine.transactor.find_problem()

    def list_notices(self) -> list[str]:
        return self._engine.history.list_notices()

    def visible(self, path: VaultPath) -> bool:
        return self._engine.scope.visible(path)

    def make_vault_relative(self, text: str) -> str:
        return self._engine.make_vault_relative(text)

    def check_spelling(self, text: str) -> None:
        check_spelling(text, self._engine.root, self._engine.scope.visible)

    def locate(self, path: VaultPath) -> Path:
        try:
            return self._engine.root.place(path)
        except VaultbridgeError:
            # A symlink that leads out of the vault: the link itself is in the vault, and callers do not
            # follow it.
            return self._engine.root.folder / path

    async def find(self, name: str) -> VaultPath:
        return await asyncio.to_thread(self._find, name)

    def _find(self, name: str) -> VaultPath:
        try:
            return self._engine.find(name)
        except NoteNotFound:
            if self._engine.queries.status.complete:
                raise
        self._wait_for_first_build()
        return self._engine.find(name)

    async def read_text(self, path: VaultPath, *, exact: bool = False) -> str:
        data = await asyncio.to_thread(self._engine.read_bytes, path)
        if not is_text_file(path, data):
            # A client would write back the text it was given, and the file would be lost.
            raise EngineFailure(
                f"{path} is not text (UTF-8).", hint="The obsidian_attachment tool returns it unchanged."
            )
        problem = describe_encoding(data) if exact else ""
        if problem:
            raise EngineFailure(
                f"{path} is not UTF-8 ({problem}), so its text cannot be returned as it is.",
                hint="The obsidian_read_note tool shows it with other characters in place of those bytes.",
            )
        return replace_surrogates(decode(data).text)

    async def write_text(
        self,
        path: VaultPath,
        text: str,
        *,
        actor: str,
        force: bool = False,
        on_wait: Callable[[], object] = lambda: None,
    ) -> VaultPath:
        write = partial(self._write, path=path, text=text, actor=actor, force=force)
        if self._find_rules is None:
            return await asyncio.to_thread(write, self._engine)
        if self._waiting is None:
            # Separate threads: they may wait for a person, whose decision needs a thread too.
            self._waiting = ThreadPoolExecutor(WAITING_CALLS, "reviewed-write")
        loop = asyncio.get_running_loop()
        caller = NonInteractiveCaller(WRITE_SECONDS, on_wait=lambda: loop.call_soon_threadsafe(on_wait))
        writer = self._engine.with_gate(ReviewGate(self._find_rules, "writeFile", caller, lambda *_: None))
        # In a copy of this context, as `to_thread` does: what is written counts as the caller's call.
        return await loop.run_in_executor(self._waiting, copy_context().run, write, writer)

    def _write(self, writer: Engine, *, path: VaultPath, text: str, actor: str, force: bool) -> VaultPath:
        if visible := self._engine.scope.visible(path):
            # The path as spelled on disk, or in the existing folders above a new file: another spelling is
            # not the path that the file gets, and may be the whole name of a note without `.md`.
            path = self._engine.root.path_of(self._engine.root.place(path)) or path
        exists = visible and self._engine.root.exists(path)
        operation: Operation
        if exists and self._engine.is_folder(path):
            # Given this name, the engine would find the note with the same name as the folder.
            raise EditRefused(f"{path} is a folder, not a file.", hint="Name a file in it.", path=path)
        if exists:
            operation = Write(note=path, content=text, force=force)
        elif path.lower().endswith(TEXT_SUFFIXES):
            # The leading dot means exactly this path, not the folder that the settings choose for new notes.
            operation = Create(note=f"./{path}", content=text)
        else:
            operation = AddFile(path=path, data=text.encode())
        writer.apply([operation], actor=actor, label="written by an editor client")
        return path

    async def snapshot(self, path: VaultPath) -> bytes | None:
        return await asyncio.to_thread(read_file, self._engine, path)

    async def record_write(
        self,
        path: VaultPath,
        before: bytes | None,
        after: bytes,
        *,
        actor: str,
        label: str,
        acceptance: Acceptance,
    ) -> int:
        def record() -> int:
            number = self._engine.record(path, before, after, actor=actor, label=label, acceptance=acceptance)
            return int(number or 0)

        return await asyncio.to_thread(record)

    async def identify_writer(
        self, path: VaultPath, before: bytes | None, now: bytes | None, *, since: float
    ) -> str:
        return await asyncio.to_thread(identify_writer, self._engine, path, before, now, since=since)

    async def list_files(self, pattern: str) -> Sequence[VaultPath]:
        matches = compile_file_pattern(pattern)
        return [path for path in await asyncio.to_thread(self._paths) if matches(path)]

    async def file_count(self) -> int:
        return await asyncio.to_thread(self._file_count)

    def _file_count(self) -> int:
        self._wait_for_first_build()
        return sum(self._engine.queries.counts().values())

    def _paths(self) -> list[VaultPath]:
        self._wait_for_first_build()
        return [file.path for file in self._engine.queries.files()]

    def _wait_for_first_build(self) -> None:
        """Wait, because these answers cannot say that they are partial. Raises TimedOut."""
        self._engine.queries.whole_index()

    async def findings(self, path: VaultPath | None) -> Sequence[NoteDiagnostics]:
        return await asyncio.to_thread(self._findings, path)

    def _findings(self, path: VaultPath | None) -> list[NoteDiagnostics]:
        deadline = time.monotonic() + FINDINGS_SECONDS
        paths = [path] if path is not None else self._suspects(deadline)
        complete = self._engine.queries.fresh_status().complete
        # Until all files are indexed, links to the others would look broken.
        table: FileTable | None = self._engine.queries.visible_table() if complete else None
        noted = []
        for note_path in paths:
            read = self._read_note(note_path)
            if read is not None:
                findings = check_note(note_path, *read, table, self.visible, self._read_note)
                if findings or path is not None:
                    noted.append(NoteDiagnostics(note_path, read[0], findings))
            if time.monotonic() > deadline:
                break
        return noted

    def _suspects(self, deadline: float) -> list[VaultPath]:
        """Notes in which the index knows of a problem."""
        suspects = []
        for indexed in self._engine.queries.notes():
            if indexed.note.problems or None in indexed.resolved:
                suspects.append(indexed.file.path)
            if len(suspects) >= NOTES_WITH_FINDINGS or time.monotonic() > deadline:
                break
        return suspects

    def _read_note(self, path: VaultPath) -> tuple[str, Note] | None:
        """The file as it is on disk now, so that positions match what the client sees."""
        try:
            text = decode(self._engine.read_bytes(path)).text
        except VaultbridgeError:
            return None
        return replace_surrogates(text), parse_file(path, text)
