"""Adapts a proposal to the notes as they are now, once for all editors that show it.

A change to texts is merged: what the assistant changed and what others have changed since are both kept,
unless they contradict each other. A change that moves or deletes files is drafted again, so that newer links
are updated too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Union

import msgspec
from msgspec.structs import replace

from vaultbridge.engine import DirectEngine, Engine
from vaultbridge.engine.operations import AddFile, Create, Write
from vaultbridge.engine.operations.base import Operation, Undo
from vaultbridge.engine.operations.vocabulary import OPERATIONS, find_undo
from vaultbridge.engine.plan import PlannedFile
from vaultbridge.errors import EngineFailure, NoteNotFound, VaultbridgeError
from vaultbridge.limits import MIB
from vaultbridge.markdown.edits.merge import merge_texts
from vaultbridge.markdown.text import decode, encode, is_text
from vaultbridge.review.model import (
    ELSEWHERE_KEPT,
    VERSIONS_KEPT,
    Elsewhere,
    Proposal,
    ProposalBody,
    ProposalVersion,
    ScopePart,
    has_text,
    hash_of,
    make_rows,
    make_version,
    raw_texts_of,
)
from vaultbridge.review.store import ReviewStore
from vaultbridge.vault.paths import TEXT_SUFFIXES, VaultPath
from vaultbridge.vault.scope import LiveScope, Scope
from vaultbridge.vault.write.transaction import OUTSIDE_ACTOR

OUTSIDE_LABEL: Final = "changed while under review"
"""How the history shows a save by another program to a note for which a change was proposed."""

OLDER_BYTES: Final = 8 * MIB
"""The most content in the older versions of a proposal: those of ordinary notes all fit."""

Reopen = Callable[[Scope], DirectEngine]
"""Opens the same vault under another scope."""

_operations: Final = msgspec.msgpack.Decoder(list[Union[(*OPERATIONS.values(), Undo)]])  # type: ignore[misc]


def encode_operations(operations: Sequence[Operation]) -> bytes:
    """Leaves out the hashes that the caller expected: they were checked when it made the proposal, and the
    merge deals with what has changed since."""
    return msgspec.msgpack.encode(
        [
            replace(operation, expected="") if getattr(operation, "expected", "") else operation
            for operation in operations
        ]
    )


def decode_operations(data: bytes) -> list[Operation]:
    """Raises EngineFailure when they are damaged."""
    try:
        return list(_operations.decode(data))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise EngineFailure(
            "What this proposal would do cannot be read any more.",
            hint="Reject it; the assistant has to propose it again.",
            paths=(),
        ) from error


def describe_scope(scope: Scope) -> tuple[ScopePart, ...]:
    return tuple(ScopePart(part.allow, part.deny, part.max_note_bytes) for part in scope.parts)


def only_writes(files: Sequence[PlannedFile]) -> bool:
    """Whether a change writes files and does nothing else."""
    return all(file.change in ("changed", "created") and file.content for file in files)


def write_files(files: Sequence[PlannedFile]) -> list[Operation]:
    """Operations that write exactly these files. Existing files come first: creating a note rewrites the
    links that would otherwise lead to it, and links that are already rewritten stay as they are."""
    operations: list[Operation] = []
    for file in sorted(files, key=lambda file: file.before is None):
        data = file.after or b""
        if file.before is not None:
            operations.append(write_exactly(file.path, data, expected=hash_of(file.before)))
        elif file.path.lower().endswith(TEXT_SUFFIXES):
            # The leading dot means exactly this path.
            operations.append(Create(note=f"./{file.path}", content=_read_exactly(data)))
        else:
            operations.append(AddFile(path=file.path, data=data))
    return operations


def write_exactly(path: str, data: bytes, *, expected: str = "") -> Write:
    """A write of these bytes, which the person saw: the text contains any that are not UTF-8."""
    return Write(note=path, content=_read_exactly(data), expected=expected, force=True)


def _read_exactly(data: bytes) -> str:
    decoded = decode(data)
    return f"\ufeff{decoded.text}" if decoded.bom else decoded.text


def read_file(engine: Engine, path: str) -> bytes | None:
    """The file as it is now, None if there is none. Other failures to read it are raised."""
    try:
        return engine.read_bytes(VaultPath(path))
    except NoteNotFound:
        return None


def identify_writer(
    engine: DirectEngine, path: VaultPath, before: bytes | None, now: bytes | None, *, since: float
) -> str:
    """Who changed a file from `before`, its content at the time `since`, to `now`. A change by another
    program is recorded in the history."""
    if now is None:
        return engine.history.find_remover(path) or OUTSIDE_ACTOR
    last = engine.history.last_write(path)
    if last is not None and last.image.hash == hash_of(now):
        return last.actor
    if last is not None and last.at > since:
        # It was written through us in between, so the other program changed that text.
        before = engine.journal.content(last.image)
    if before is not None:
        engine.record(path, before, now, actor=OUTSIDE_ACTOR, label=OUTSIDE_LABEL)
    return OUTSIDE_ACTOR


class Rebaser:
    """`engine` is the vault with the scope of the person who decides. `reopen` opens it with the scope of the
    assistant that made the proposal, if that is different."""

    def __init__(self, engine: DirectEngine, store: ReviewStore, reopen: Reopen | None = None) -> None:
        self._engine = engine
        self._store = store
        self._reopen = reopen

    def refresh(self, proposal: Proposal) -> Proposal:
        """The proposal, adapted to the notes as they are now, and stored if they have changed."""
        body = proposal.body
        if body is None:
            return proposal
        changed = self._find_changed(body.version)
        creates = any(file.before is None for file in body.version.files)
        if not changed and not creates and only_writes(body.version.files):
            return proposal
        version = self._rebase(proposal, body)
        if version.hash == body.version.hash:
            return proposal
        elsewhere = tuple(self._identify_writers(changed, proposal.at))
        after = replace(
            body,
            version=version,
            older=_keep_recent((body.version, *body.older)),
            rebased=body.rebased + 1,
            elsewhere=(*body.elsewhere, *elsewhere)[-ELSEWHERE_KEPT:],
        )
        if not self._store.replace_body(proposal.number, body, after, make_rows(version.files)):
            return self._store.get(proposal.number)
        return replace(proposal, body=after, rows=make_rows(version.files), more=version.more)

    def _find_changed(self, version: ProposalVersion) -> list[tuple[PlannedFile, bytes | None]]:
        """The files that are not what the version was made from, with what they are now."""
        changed = []
        for file in version.files:
            if not file.content:
                continue
            try:
                now = read_file(self._engine, file.was or file.path)
            except VaultbridgeError:
                continue  # It may be being saved; if not, writing it will fail.
            if now != file.before:
                changed.append((file, now))
        return changed

    def _identify_writers(
        self, changed: Sequence[tuple[PlannedFile, bytes | None]], since: float
    ) -> Iterator[Elsewhere]:
        """Find out who changed the files, and record changes by other programs in the history."""
        for file, now in changed:
            path = VaultPath(file.was or file.path)
            by = identify_writer(self._engine, path, file.before, now, since=since)
            yield Elsewhere(path, self._engine.now().timestamp(), by)

    def _rebase(self, proposal: Proposal, body: ProposalBody) -> ProposalVersion:
        operations = decode_operations(body.operations)
        # What an undo restores is in the journal; a merge would be another change.
        if not only_writes(body.original.files) or find_undo(operations) is not None:
            return self._draft_again(proposal, body)
        merged = self._merge(body.original)
        if not merged.conflict:
            return self._add_links(proposal, merged)
        if not any(operation.replaces_whole for operation in operations):
            again = self._draft_again(proposal, body)
            if not again.conflict and only_writes(again.files):
                return again
        return merged

    def _merge(self, original: ProposalVersion) -> ProposalVersion:
        files: list[PlannedFile] = []
        conflicts: dict[str, str] = {}
        for file in original.files:
            try:
                now = read_file(self._engine, file.path)
            except VaultbridgeError as error:
                conflicts[file.path] = str(error)
                files.append(file)
                continue
            merged, problem = _merge_file(file, now)
            if problem:
                conflicts[file.path] = problem
            if merged.before != merged.after:
                files.append(merged)
        return replace(
            original, files=tuple(files), conflict=" ".join(conflicts.values()), conflicts=conflicts
        )

    def _add_links(self, proposal: Proposal, merged: ProposalVersion) -> ProposalVersion:
        """The version with the links that are rewritten when its new files are created, also newer ones."""
        if all(file.before is not None for file in merged.files):
            return merged
        try:
            version = self.plan(proposal, write_files(merged.files))
        except VaultbridgeError as error:
            return replace(merged, conflict=str(error))
        return replace(merged, files=version.files, more=version.more)

    def _draft_again(self, proposal: Proposal, body: ProposalBody) -> ProposalVersion:
        before = body.version
        try:
            version = self.plan(proposal, decode_operations(body.operations))
        except VaultbridgeError as error:
            return replace(before, conflict=str(error))
        files = [_keep_shown(file, before.file(file.path)) for file in version.files]
        return replace(version, files=tuple(files))

    def plan(self, proposal: Proposal, operations: Sequence[Operation]) -> ProposalVersion:
        """What the operations would do now. Nothing is written."""
        author = proposal.body.author if proposal.body is not None else ""
        with self.engine_for(proposal) as engine:
            # A person decides on the text as it is shown.
            return make_version(engine.plan(operations, label=proposal.label, author=author, by_person=True))

    @contextmanager
    def engine_for(self, proposal: Proposal) -> Iterator[DirectEngine]:
        """The vault with the scope of the caller that requested the change."""
        parts = () if proposal.body is None else proposal.body.scope
        if self._reopen is None or parts == describe_scope(self._engine.scope):
            yield self._engine
            return
        scopes = [
            Scope(allow=part.allow, deny=part.deny, max_note_bytes=part.max_note_bytes) for part in parts
        ]
        # What is private for the person who decides is private for the change too.
        with self._reopen(LiveScope(*scopes, *self._engine.scope.parts)) as engine:
            yield engine

    @contextmanager
    def engine_for_writing(self, proposal: Proposal, files: Sequence[PlannedFile]) -> Iterator[DirectEngine]:
        """A new file may take over links. Those in notes that the assistant may not see follow silently, so
        its scope applies; existing files are written as the person decides."""
        if all(file.before is not None for file in files):
            yield self._engine
            return
        with self.engine_for(proposal) as engine:
            yield engine


def _merge_file(file: PlannedFile, now: bytes | None) -> tuple[PlannedFile, str]:
    """One file of the change, merged into what is there now, and why that fails; "" if it does not."""
    if now == file.before:
        return file, ""
    if now == file.after and now is not None:
        return replace(file, before=now), ""
    if now is None:
        return file, f"{file.path} has been deleted or moved away since this was proposed."
    if file.before is None:
        return (
            replace(file, change="changed", before=now),
            f"{file.path} has been created by somebody else since this was proposed.",
        )
    if not has_text(file) or not is_text(now):
        return replace(file, before=now), f"{file.path} has changed since, and it is not text."
    old, new = raw_texts_of(file)
    current = decode(now)
    merged = merge_texts(old, new, current.text)
    if merged is None:
        return (
            replace(file, before=now),
            f"{file.path} has changed in the same lines since this was proposed.",
        )
    return replace(file, before=now, after=encode(merged, bom=current.bom)), ""


def _keep_recent(versions: tuple[ProposalVersion, ...]) -> tuple[ProposalVersion, ...]:
    """The newest versions, as many as fit into OLDER_BYTES."""
    left = OLDER_BYTES
    kept = []
    for version in versions[:VERSIONS_KEPT]:
        left -= sum(len(file.before or b"") + len(file.after or b"") for file in version.files)
        if left < 0:
            break
        kept.append(version)
    return tuple(kept)


def _keep_shown(file: PlannedFile, shown: PlannedFile | None) -> PlannedFile:
    """The text that was shown, if the note has not changed: drafted again, a template would give another
    time."""
    same = shown is not None and shown.content and file.content
    if shown is None or not same or (file.before, file.change) != (shown.before, shown.change):
        return file
    return replace(file, after=shown.after)
