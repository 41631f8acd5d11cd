"""`vaultbridge diffs VAULT [ID]`: lists, shows, accepts or rejects the changes that an assistant proposes.

The note may change while a proposal waits, and accepting replaces the whole note. So the proposal is rebased
onto the note as it is now: other changes are kept where both fit, and reported where they conflict.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from vaultbridge.cli.common import FAILED, OK, Parser, ask_bridge, emit, run, say

if TYPE_CHECKING:
    from vaultbridge.errors import EditRefused

REBASED: Final = (
    "The note has changed since this was proposed. What was written meanwhile is kept: look again."
)
CONFLICT: Final = (
    "The note has changed in the same lines since this was proposed. "
    "Accepting takes away what is marked as removed: look again."
)

NO_NOTE: Final = "none"
"""The hash of a note that does not exist."""


class Proposal(Struct, frozen=True):
    """`diff` is what accepting would do now. `hash` is the note's, or NO_NOTE. `notice` is for the user; it
    is empty if the note has not changed since."""

    diff: dict[str, Any]
    hash: str
    notice: str


def rebase_proposal(vault: str, diff: dict[str, Any]) -> Proposal:
    """Rebase a diff, as it was last shown, onto the note. Raises VaultbridgeError when the note cannot be
    read."""
    now, hash_ = _read_note(vault, diff["path"])
    old, new = diff["oldText"], diff["newText"]
    if now == old:
        return Proposal(diff, hash_, "")
    moved = _rebase(old, new, now)
    return Proposal(
        {**diff, "oldText": now, "newText": new if moved is None else moved},
        hash_,
        CONFLICT if moved is None else REBASED,
    )


def _rebase(old: str, new: str, now: str) -> str | None:
    """Apply the change from `old` to `new` to `now`; None when it does not fit."""
    from vaultbridge.errors import EditRefused
    from vaultbridge.markdown.edits.change import apply_changes
    from vaultbridge.markdown.edits.unified_diff import apply_diff, make_diff

    if old == new or now == new:
        return now
    if not old:
        # Both created the note.
        return None
    try:
        return apply_changes(now, apply_diff(now, make_diff(old, new, "note")))
    except EditRefused:
        return None


def _read_note(vault: str, path: str) -> tuple[str, str]:
    """Read the note's text in the form of diffs, and its hash."""
    from vaultbridge.errors import NoteNotFound
    from vaultbridge.markdown.text import decode, replace_surrogates
    from vaultbridge.vault.obsidian import find_vault
    from vaultbridge.vault.paths import Root, vault_path
    from vaultbridge.vault.read import read_place

    wanted = vault_path(path)
    try:
        # The bridge has decided what may be shown; here its owner looks at it.
        root = Root(find_vault(vault), allow_outside_links=True)
        content = read_place(root.resolve(wanted), wanted)
    except NoteNotFound:
        return "", NO_NOTE
    return replace_surrogates(decode(content.data).text).replace("\r\n", "\n"), content.hash


def main(argv: list[str]) -> int:
    parser = Parser(
        "diffs",
        "The changes that wait for your decision.",
        epilog="An assistant proposes diffs only while somebody can show them: keep --watch open.",
    )
    parser.add_vault()
    parser.add_argument("id", metavar="ID", nargs="?", help="show this diff, or decide on it")
    decision = parser.add_mutually_exclusive_group()
    decision.add_argument("--accept", action="store_true", help="let the assistant write it")
    decision.add_argument("--reject", action="store_true", help="refuse it")
    parser.add_argument(
        "--seen",
        metavar="HASH",
        default="",
        help="with --accept: the hash of the note that you were shown",
    )
    decision.add_argument("--watch", action="store_true", help="show each diff as it arrives, and ask")
    return run(parser, argv, _diffs)


def _diffs(args: argparse.Namespace) -> int:
    from vaultbridge.errors import InvalidArgument

    if args.watch:
        from vaultbridge.cli.diff_watch import watch_diffs

        return watch_diffs(args.vault, as_json=args.json)
    if (args.accept or args.reject) and not args.id:
        raise InvalidArgument("Which diff? Give its ID.", argument="usage")
    waiting = ask_bridge(args.vault, "diffs", {})["diffs"]
    if args.id:
        return _show_or_decide(args, next((diff for diff in waiting if diff["id"] == args.id), None))
    for diff in waiting:
        emit(diff) if args.json else say(render_heading(diff))
    if not waiting and not args.json:
        say("No diff is waiting.")
    return OK


def _show_or_decide(args: argparse.Namespace, diff: dict[str, Any] | None) -> int:
    from vaultbridge.errors import InvalidArgument

    if diff is None:
        raise InvalidArgument(f"No diff {args.id!r} is waiting.", argument="id")
    if args.reject:
        return _report_decision(args, ask_bridge(args.vault, "rejectDiff", {"id": args.id}))
    proposal = rebase_proposal(args.vault, diff)
    if args.accept:
        if args.seen != proposal.hash if args.seen else proposal.notice:
            raise _refuse_unseen(args, proposal)
        accepted = {"id": args.id, "text": proposal.diff["newText"]}
        return _report_decision(args, ask_bridge(args.vault, "acceptDiff", accepted))
    if args.json:
        emit(diff)
        return OK
    say(render_diff(proposal.diff))
    if proposal.notice:
        sys.stderr.write(f"note: {proposal.notice}\n")
    return OK


def _refuse_unseen(args: argparse.Namespace, proposal: Proposal) -> EditRefused:
    """Show what accepting would do now, and say how to accept exactly that."""
    from shlex import quote

    from vaultbridge.errors import EditRefused

    if not args.json:
        say(render_diff(proposal.diff))
    again = f"vaultbridge diffs {quote(args.vault)} {args.id} --accept --seen {proposal.hash}"
    return EditRefused(
        f"{args.id} was not accepted. {proposal.notice or 'The note is not the one that you were shown.'}",
        hint=f"`{again}` accepts what is shown.",
        hash=proposal.hash,
        oldText=proposal.diff["oldText"],
        newText=proposal.diff["newText"],
    )


def _report_decision(args: argparse.Namespace, answer: dict[str, Any]) -> int:
    """Print the outcome. An accepted change that was not written is a failure."""
    from vaultbridge.editor.proposals import OUTCOMES

    outcome = answer["outcome"]
    if args.json:
        emit({"id": args.id, "accepted": outcome == "accepted", "outcome": outcome})
    else:
        say(OUTCOMES[outcome])
    return FAILED if outcome == "note-changed" else OK


def render_heading(diff: dict[str, Any]) -> str:
    return f"{diff['id']}  {diff['path']}  ({diff['tabName']})"


def render_diff(diff: dict[str, Any]) -> str:
    """Render one diff for a person."""
    from vaultbridge.markdown.edits.unified_diff import make_diff

    change = make_diff(diff["oldText"], diff["newText"], diff["path"])
    return f"{render_heading(diff)}\n{change or 'This leaves the note as it is.'}".rstrip("\n")
