"""`vaultbridge diffs VAULT [ID]`: changes an assistant proposes, listed, accepted or rejected."""

from __future__ import annotations

import argparse

from vaultbridge.cli.bridge_call import ask_bridge
from vaultbridge.cli.common import OK, Parser, emit, run, say


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
    decision.add_argument("--watch", action="store_true", help="show each diff as it comes, and ask")
    return run(parser, argv, _diffs)


def _diffs(args: argparse.Namespace) -> int:
    from vaultbridge.errors import InvalidArgument

    if args.watch:
        from vaultbridge.cli.diff_watch import watch_diffs

        return watch_diffs(args.vault, as_json=args.json)
    if args.accept or args.reject:
        if not args.id:
            raise InvalidArgument("Which diff? Give its ID.", argument="usage")
        ask_bridge(args.vault, "acceptDiff" if args.accept else "rejectDiff", {"id": args.id})
        emit({"id": args.id, "accepted": args.accept}) if args.json else say(
            "accepted" if args.accept else "rejected"
        )
        return OK
    waiting = ask_bridge(args.vault, "diffs", {})["diffs"]
    if args.id:
        waiting = [diff for diff in waiting if str(diff["id"]) == args.id]
        if not waiting:
            raise InvalidArgument(f"No diff {args.id} is waiting.", argument="id")
    for diff in waiting:
        if args.json:
            emit(diff)
        else:
            say(shown(diff, whole=bool(args.id)))
    if not waiting and not args.json:
        say("No diff is waiting.")
    return OK


def shown(diff: dict[str, str], *, whole: bool) -> str:
    """One diff as a person reads it: a line, or the change itself."""
    from vaultbridge.note.unified_diff import make_diff

    head = f"{diff['id']}  {diff['path']}  ({diff['tabName']})"
    if not whole:
        return head
    return f"{head}\n{make_diff(diff['oldText'], diff['newText'], diff['path'])}".rstrip("\n")
