"""Parses and encodes proposals as messages of the `/editor` protocol.

A change that waits in the store and a diff of Claude Code look the same to an editor. docs/editor-protocol.md
is the reference.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from vaultbridge.engine.plan import PlannedFile
from vaultbridge.limits import MIB
from vaultbridge.protocols.editor.wire import EditorParams
from vaultbridge.review.decide import FileDecision, describe_decision, describe_outcome
from vaultbridge.review.model import Proposal, ProposalVersion, has_text, hash_of, hunks_of, texts_of
from vaultbridge.review.reviews import ReviewState

TEXT_CHARS: Final = 2 * MIB
"""The most text of one proposal in a notification; the texts of further files are sent on request."""


class ListProposals(EditorParams, frozen=True):
    status: Literal["waiting", "all"] = "waiting"
    limit: int = 100


class NamedProposal(EditorParams, frozen=True):
    id: str


class FileChoice(EditorParams, frozen=True):
    path: str
    text: str | None = None
    hunks: tuple[int, ...] | None = None
    skip: bool = False

    def to_decision(self) -> FileDecision:
        return FileDecision(path=self.path, text=self.text, hunks=self.hunks, skip=self.skip)


class DecideOn(EditorParams, frozen=True):
    """A decision. `hash` is that of the proposal as the person saw it."""

    id: str
    action: Literal["accept", "reject"]
    hash: str = ""
    files: tuple[FileChoice, ...] = ()
    reason: str = ""


class Preview(EditorParams, frozen=True):
    id: str
    hash: str = ""
    files: tuple[FileChoice, ...] = ()


class NamedChange(EditorParams, frozen=True):
    change: int


class SetReview(EditorParams, frozen=True):
    review: str | None


def encode_proposal(
    proposal: Proposal, vault: str, *, texts: bool = True, limit: int = TEXT_CHARS, undone: bool = False
) -> dict[str, Any]:
    body = proposal.body
    version = ProposalVersion(()) if body is None else body.version
    files: list[dict[str, Any]]
    if texts and body is not None:
        files = encode_files(version, limit)
    else:
        files = [{"path": row.path, "was": row.was, "change": row.change} for row in proposal.rows]
    decided = proposal.decided
    return {
        "id": proposal.id,
        "kind": "diff" if proposal.is_diff else "tool",
        "status": "waiting" if proposal.status == "deciding" else proposal.status,
        "vault": vault,
        "assistant": proposal.actor,
        "token": proposal.token,
        "pid": proposal.pid,
        "tool": proposal.tool,
        "label": proposal.label,
        "reason": proposal.why,
        "at": proposal.at,
        "expires": proposal.expires or None,
        "hash": version.hash if body is not None else "",
        "files": files,
        "moreFiles": proposal.more,
        "notices": list(version.notices),
        "rebased": 0 if body is None else body.rebased,
        "conflict": version.conflict,
        "elsewhere": [
            {"path": other.path, "at": other.at, "by": other.by}
            for other in (() if body is None else body.elsewhere)
        ],
        "decided": None
        if decided is None
        else {
            "at": decided.at,
            "by": decided.by,
            "reason": decided.reason,
            "change": decided.change,
            "undone": undone,
            "edited": proposal.status == "edited",
        },
    }


def encode_files(version: ProposalVersion, limit: int) -> list[dict[str, Any]]:
    remaining = limit
    encoded = []
    for file in version.files:
        entry, used = _encode_file(file, version.conflicts.get(file.path, ""), remaining)
        remaining -= used
        encoded.append(entry)
    return encoded


def _encode_file(file: PlannedFile, conflict: str, remaining: int) -> tuple[dict[str, Any], int]:
    is_text = has_text(file)
    entry: dict[str, Any] = {
        "path": file.path,
        "was": file.was,
        "change": file.change,
        "text": is_text,
        "oldText": None,
        "newText": None,
        "oldHash": hash_of(file.before),
        "hunks": [],
        "size": len((file.after if file.after is not None else file.before) or b""),
        "conflict": conflict,
    }
    if not is_text:
        return entry, 0
    old, new = texts_of(file)
    used = len(old) + len(new)
    if used > remaining:
        return entry, 0
    entry |= {"oldText": old, "newText": new, "hunks": encode_hunks(file)}
    return entry, used


def encode_hunks(file: PlannedFile) -> list[dict[str, Any]]:
    return [
        {
            "oldStart": hunk.old_start,
            "oldLines": hunk.old_lines,
            "newStart": hunk.new_start,
            "newLines": hunk.new_lines,
            "lines": list(hunk.lines),
        }
        for hunk in hunks_of(file)
    ]


def encode_closed(proposal: Proposal, vault: str) -> dict[str, Any]:
    decided = proposal.decided
    return {
        "id": proposal.id,
        "status": proposal.status,
        "by": "" if decided is None else decided.by,
        "change": 0 if decided is None else decided.change,
        "text": describe_outcome(proposal.status) if proposal.is_diff else describe_decision(proposal),
        "proposal": encode_proposal(proposal, vault, texts=False),
    }


def encode_review(state: ReviewState) -> dict[str, Any]:
    return {
        "review": state.review,
        "set": state.set,
        "configured": state.configured,
        "least": state.least,
        "wait": state.wait,
    }
