"""`vaultbridge diffs VAULT [ID]`: changes an assistant proposes, listed, accepted or rejected.

A proposed change beside the note as it is now, for people who decide at a terminal.

The note may change while its change waits, and an acceptance replaces it whole. So the proposal is moved
onto the note as it is: what was written meanwhile is kept where both can stand, and told where they cannot.
Nothing is written here, and nothing decided.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from vaultbridge.cli.common import FAILED, OK, Parser, ask_bridge, emit, run, say

if TYPE_CHECKING:
    from vaultbridge.errors import EditRefused

KEPT: Final = "The note has changed since this was proposed. What was written meanwhile is kept: look again."
CLASH: Final = (
    "The note has changed in the same lines since this was proposed. "
    "Accepting takes away what is marked as removed: look again."
)

NO_NOTE: Final = "none"
"""Stands for the hash of a note that is not there."""


class Proposal(Struct, frozen=True):
    """`diff` is what accepting would do now. `hash` is the note's, or NO_NOTE. `notice` is for the person,
    and empty when the note is as the diff had it."""

    diff: dict[str, Any]
    hash: str
    notice: str


def as_of_now(vault: str, diff: dict[str, Any]) -> Proposal:
    """The diff, as it was last shown, beside its note. Raises VaultbridgeErrors when that cannot be read."""
    now, hash_ = _note(vault, diff["path"])
    old, new = diff["oldText"], diff["newText"]
    if now == old:
        return Proposal(diff, hash_, "")
    moved = _moved(old, new, now)
    return Proposal(
        {**diff, "oldText": now, "newText": new if moved is None else moved},
        hash_,
        CLASH if moved is None else KEPT,
    )


def _moved(old: str, new: str, now: str) -> str | None:
    """What `now` becomes by the change from `old` to `new`; None when that does not fit it."""
    from vaultbridge.errors import EditRefused
    from vaultbridge.markdown.edits.change import apply_changes
    from vaultbridge.markdown.edits.unified_diff import apply_diff, make_diff

    if old == new or now == new:
        return now
    if not old:
        # Both made the note.
        return None
    try:
        return apply_changes(now, apply_diff(now, make_diff(old, new, "note")))
    except EditRefused:
        return None


def _note(vault: str, path: str) -> tuple[str, str]:
    """The note's text in the form that diffs have, and its hash."""
    from vaultbridge.errors import NoteNotFound
    from vaultbridge.markdown.text import decode, replace_surrogates
    from vaultbridge.vault.obsidian import find_vault
    from vaultbridge.vault.paths import Root, vault_path
    from vaultbridge.vault.read import read_place

    wanted = vault_path(path)
    try:
        # What may be seen the bridge has decided; here its owner looks at it.
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
    parser.add_argument("id", metavar="ID", nargs="?", help="one of them: shown whole, or decided upon")
    decision = parser.add_mutually_exclusive_group()
    decision.add_argument("--accept", action="store_true", help="the assistant may write it")
    decision.add_argument("--reject", action="store_true", help="it may not")
    parser.add_argument(
        "--seen", metavar="HASH", default="", help="with --accept: the changed note that you were shown"
    )
    decision.add_argument("--watch", action="store_true", help="show each diff as it comes, and ask")
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
        return _one(args, next((diff for diff in waiting if diff["id"] == args.id), None))
    for diff in waiting:
        emit(diff) if args.json else say(heading(diff))
    if not waiting and not args.json:
        say("No diff is waiting.")
    return OK


def _one(args: argparse.Namespace, diff: dict[str, Any] | None) -> int:
    from vaultbridge.errors import InvalidArgument

    if diff is None:
        raise InvalidArgument(f"No diff {args.id!r} is waiting.", argument="id")
    if args.reject:
        return _decided(args, ask_bridge(args.vault, "rejectDiff", {"id": args.id}))
    proposal = as_of_now(args.vault, diff)
    if args.accept:
        if args.seen != proposal.hash if args.seen else proposal.notice:
            raise _unseen(args, proposal)
        accepted = {"id": args.id, "text": proposal.diff["newText"]}
        return _decided(args, ask_bridge(args.vault, "acceptDiff", accepted))
    if args.json:
        emit(diff)
        return OK
    say(shown(proposal.diff))
    if proposal.notice:
        sys.stderr.write(f"note: {proposal.notice}\n")
    return OK


def _unseen(args: argparse.Namespace, proposal: Proposal) -> EditRefused:
    """Shows what accepting would do now, and says how to accept just that."""
    from shlex import quote

    from vaultbridge.errors import EditRefused

    if not args.json:
        say(shown(proposal.diff))
    again = f"vaultbridge diffs {quote(args.vault)} {args.id} --accept --seen {proposal.hash}"
    return EditRefused(
        f"{args.id} was not accepted. {proposal.notice or 'The note is not the one that you were shown.'}",
        hint=f"`{again}` accepts what is shown.",
        hash=proposal.hash,
        oldText=proposal.diff["oldText"],
        newText=proposal.diff["newText"],
    )


def _decided(args: argparse.Namespace, answer: dict[str, Any]) -> int:
    """An acceptance that was not written is a failure: what was asked for has not happened."""
    from vaultbridge.editor.proposals import OUTCOMES

    outcome = answer["outcome"]
    if args.json:
        emit({"id": args.id, "accepted": outcome == "accepted", "outcome": outcome})
    else:
        say(OUTCOMES[outcome])
    return FAILED if outcome == "note-changed" else OK


def heading(diff: dict[str, Any]) -> str:
    return f"{diff['id']}  {diff['path']}  ({diff['tabName']})"


def shown(diff: dict[str, Any]) -> str:
    """One diff as a person reads it."""
    from vaultbridge.markdown.edits.unified_diff import make_diff

    change = make_diff(diff["oldText"], diff["newText"], diff["path"])
    return f"{heading(diff)}\n{change or 'This leaves the note as it is.'}".rstrip("\n")
