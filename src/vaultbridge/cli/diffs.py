"""`vaultbridge diffs VAULT [ID]`: lists, shows, accepts or rejects the changes that assistants propose.

It asks the running bridge, which also has Claude Code's diffs. If none is running, it decides the changes
that wait in the vault's store itself. Either way, `review` merges a proposal with the notes as they are now;
this module only shows the result, and an acceptance names by its hash what was shown.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final, Protocol

from vaultbridge.cli.common import FAILED, OK, ask_bridge, emit, find_cache, own_command, run, say
from vaultbridge.cli.parser import Parser, parse_integer
from vaultbridge.errors import EditRefused, InvalidArgument

DECIDED: Final = 100
"""The most proposals that --decided lists."""


class Proposals(Protocol):
    """Where proposals are listed and decided. They have the form of the editor protocol."""

    def list_waiting(self) -> list[dict[str, Any]]: ...

    def list_decided(self) -> list[dict[str, Any]]:
        """Newest first."""
        ...

    def show(self, id_: str) -> dict[str, Any]:
        """Raises InvalidArgument when it does not wait."""
        ...

    def decide(self, id_: str, **decision: Any) -> dict[str, Any]: ...


class _BridgeProposals:
    """A bridge may end before it answers, and the number of one that was killed may be another process's now.
    Then the vault itself is asked: it also says what the bridge has decided."""

    def __init__(self, vault: str) -> None:
        self._vault = vault

    def list_waiting(self) -> list[dict[str, Any]]:
        answer = self._ask("proposals", {})
        if answer is None:
            return _StoreProposals(self._vault).list_waiting()
        waiting: list[dict[str, Any]] = answer["proposals"]
        return waiting

    def list_decided(self) -> list[dict[str, Any]]:
        answer = self._ask("proposals", {"status": "all", "limit": DECIDED})
        if answer is None:
            return _StoreProposals(self._vault).list_decided()
        return [proposal for proposal in answer["proposals"] if proposal["status"] != "waiting"]

    def show(self, id_: str) -> dict[str, Any]:
        answer = self._ask("proposal", {"id": id_})
        if answer is None:
            return _StoreProposals(self._vault).show(id_)
        proposal: dict[str, Any] = answer["proposal"]
        return proposal

    def decide(self, id_: str, **decision: Any) -> dict[str, Any]:
        answer = self._ask("decide", {"id": id_, **decision})
        return _StoreProposals(self._vault).decide(id_, **decision) if answer is None else answer

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """None when no bridge answers."""
        from vaultbridge.protocols.editor.client import BridgeNotRunning

        try:
            return ask_bridge(self._vault, method, params)
        except BridgeNotRunning:
            return None


class _StoreProposals:
    """Without a running bridge: the vault itself."""

    def __init__(self, vault: str) -> None:
        from vaultbridge.review.decide import Decider
        from vaultbridge.review.store import store_of
        from vaultbridge.server.wiring import open_engine

        self._engine = open_engine(vault)
        self._store = store_of(self._engine)
        self._decider = Decider(
            self._engine, self._store, lambda scope: open_engine(self._engine.root.folder, scope=scope)
        )

    def list_waiting(self) -> list[dict[str, Any]]:
        return [self._encode(proposal, texts=False) for proposal in self._store.waiting()]

    def list_decided(self) -> list[dict[str, Any]]:
        listed = [
            proposal
            for proposal in self._store.latest(DECIDED)
            if proposal.may_be_shown(self._engine.scope.visible)
        ]
        return [self._encode(proposal, texts=False) for proposal in listed if not proposal.waits]

    def show(self, id_: str) -> dict[str, Any]:
        from vaultbridge.review.gate import parse_id

        return self._encode(self._decider.show(parse_id(id_)))

    def decide(self, id_: str, **decision: Any) -> dict[str, Any]:
        from vaultbridge.protocols.editor.review_wire import DecideOn
        from vaultbridge.protocols.editor.wire import parse_params
        from vaultbridge.review.gate import parse_id

        request = parse_params({"id": id_, **decision}, DecideOn)
        number = parse_id(id_)
        if request.action == "reject":
            result = self._decider.reject(number, by="terminal", reason=request.reason)
        else:
            files = [choice.to_decision() for choice in request.files]
            result = self._decider.accept(
                number, by="terminal", seen=request.hash, files=files, reason=request.reason
            )
        return {
            "outcome": result.outcome,
            "text": result.text,
            "change": result.change,
            "proposal": self._encode(result.proposal),
        }

    def _encode(self, proposal: Any, *, texts: bool = True) -> dict[str, Any]:
        from vaultbridge.protocols.editor.review_wire import encode_proposal
        from vaultbridge.protocols.editor.wire import MESSAGE_CHARS

        return encode_proposal(proposal, self._engine.name, texts=texts, limit=MESSAGE_CHARS)


def open_proposals(vault: str) -> Proposals:
    """The running bridge, or without one the vault's store."""
    from vaultbridge.protocols.editor.endpoint_file import find_running

    return _BridgeProposals(vault) if find_running(find_cache(vault)) is not None else _StoreProposals(vault)


def main(argv: list[str]) -> int:
    parser = Parser(
        "diffs",
        "Show the changes waiting for your review, and accept or reject them.",
        epilog="Assistants wait only while something can show you their changes: keep --watch running or open"
        " the page with `vaultbridge page`.",
    )
    parser.add_vault()
    parser.add_argument("id", metavar="ID", nargs="?", help="show this change, or accept or reject it")
    decision = parser.add_mutually_exclusive_group()
    decision.add_argument("--accept", action="store_true", help="accept it: the change is written")
    decision.add_argument("--reject", action="store_true", help="reject it: nothing is written")
    decision.add_argument("--decided", action="store_true", help="list earlier ones and their outcome")
    decision.add_argument("--watch", action="store_true", help="show each change as it arrives, and ask")
    parser.add_argument(
        "--seen", metavar="HASH", default="", help="with --accept: the hash of what you were shown"
    )
    parser.add_argument(
        "--hunk",
        metavar="N",
        type=parse_integer,
        action="append",
        default=[],
        help="with --accept: only this hunk (from 1)",
    )
    parser.add_argument(
        "--text", metavar="FILE", help="with --accept: this text instead of the proposed one; - is stdin"
    )
    parser.add_argument("--reason", metavar="WORDS", default="", help="with --reject: tell the assistant why")
    return run(parser, argv, _decide_diffs)


def _decide_diffs(args: argparse.Namespace) -> int:
    if args.watch:
        from vaultbridge.cli.diff_watch import watch_diffs

        return watch_diffs(args.vault, as_json=args.json)
    if (args.accept or args.reject) and not args.id:
        raise InvalidArgument("Which change? Give its ID.", argument="usage")
    if args.decided and args.id:
        raise InvalidArgument("--decided lists all of them: leave out the ID.", argument="usage")
    proposals = open_proposals(args.vault)
    if args.id:
        return _show_or_decide(args, proposals)
    if args.decided:
        return _list_decided(args, proposals)
    waiting = proposals.list_waiting()
    for proposal in waiting:
        emit(proposal) if args.json else say(render_proposal_heading(proposal))
    if not waiting and not args.json:
        say("No changes to review.")
    elif not args.json:
        sys.stderr.write(f"To review them in your browser: {own_command()} page\n")
    return OK


def _list_decided(args: argparse.Namespace, proposals: Proposals) -> int:
    from vaultbridge.review.decide import STATUS_WORDS

    decided = proposals.list_decided()
    for proposal in decided:
        if args.json:
            emit(proposal)
            continue
        end = proposal["decided"] or {"by": "", "change": 0, "undone": False, "reason": ""}
        by = f" ({end['by']})" if end["by"] else ""
        change = f", change {end['change']}{' (undone)' if end['undone'] else ''}" if end["change"] else ""
        reason = f": {end['reason']}" if end["reason"] else ""
        say(
            f"{render_proposal_heading(proposal)}\n    {STATUS_WORDS[proposal['status']]}{by}{change}{reason}"
        )
    if not decided and not args.json:
        say("No reviewed changes yet.")
    return OK


def _show_or_decide(args: argparse.Namespace, proposals: Proposals) -> int:
    if args.reject:
        return _report_decision(args, proposals.decide(args.id, action="reject", reason=args.reason))
    proposal = proposals.show(args.id)
    if not args.accept:
        emit(proposal) if args.json else say(args.terminal.color_diff(render_proposal(proposal)))
        if notice := describe_movement(proposal):
            sys.stderr.write(f"note: {notice}\n")
        return OK
    files = _choose_files(args, proposal)
    if not args.seen and not files and (proposal["rebased"] or proposal["conflict"]):
        raise _refuse_unseen(args, proposal, describe_movement(proposal))
    seen = args.seen or proposal["hash"]
    answer = proposals.decide(args.id, action="accept", hash=seen, files=files, reason=args.reason)
    if answer["outcome"] == "shown-again":
        raise _refuse_unseen(args, answer["proposal"], answer["text"])
    return _report_decision(args, answer)


def _choose_files(args: argparse.Namespace, proposal: dict[str, Any]) -> list[dict[str, Any]]:
    """What the user wants instead of the whole change. Raises InvalidArgument when the change has several
    files, because the options name none."""
    if not args.hunk and args.text is None:
        return []
    if len(proposal["files"]) != 1:
        raise InvalidArgument(
            "--hunk and --text work only for a change to one file.",
            argument="usage",
            hint="Use the page instead.",
        )
    path = proposal["files"][0]["path"]
    if args.text is None:
        return [{"path": path, "hunks": [number - 1 for number in args.hunk]}]
    try:
        data = sys.stdin.buffer.read() if args.text == "-" else Path(args.text).read_bytes()
        return [{"path": path, "text": data.decode("utf-8")}]
    except (OSError, UnicodeDecodeError):
        raise InvalidArgument(f"{args.text!r} cannot be read as text.", argument="usage") from None


def _refuse_unseen(args: argparse.Namespace, proposal: dict[str, Any], why: str) -> EditRefused:
    """Show what accepting would do now, and say how to accept exactly that."""
    from shlex import quote

    if not args.json:
        say(args.terminal.color_diff(render_proposal(proposal)))
    again = f"vaultbridge diffs {quote(args.vault)} {args.id} --accept --seen {proposal['hash']}"
    hint = f"`{again}` accepts this version."
    if proposal["conflict"]:
        hint = "Accept your own text with --text FILE, or reject it."
    return EditRefused(
        f"{args.id} was not accepted. {why}", hint=hint, hash=proposal["hash"], proposal=proposal
    )


def _report_decision(args: argparse.Namespace, answer: dict[str, Any]) -> int:
    """Print the outcome. An accepted change that was not written is a failure."""
    outcome = answer["outcome"]
    if args.json:
        accepted = outcome == "accepted"
        emit({"id": args.id, "accepted": accepted, "outcome": outcome, "change": answer["change"]})
    else:
        say(answer["text"])
    return FAILED if outcome == "note-changed" else OK


def describe_movement(proposal: dict[str, Any]) -> str:
    """What happened to the notes since it was proposed; "" when nothing did."""
    who = ", ".join(dict.fromkeys(write["by"] for write in proposal["elsewhere"]))
    by = f" (by {who})" if who else ""
    if proposal["conflict"]:
        return f"{proposal['conflict']}{by}"
    if proposal["rebased"]:
        return f"The note has changed since{by}. What was written in the meantime is kept: look again."
    return ""


def render_proposal_heading(proposal: dict[str, Any]) -> str:
    moved = proposal["files"][:1]
    if proposal["label"] == "move" and moved and moved[0]["was"]:
        count = len(proposal["files"]) - 1 + proposal["moreFiles"]
        return f"{proposal['id']}  {describe_move(moved[0], links=count)}  ({proposal['assistant']})"
    files = [f"{file['was']} → {file['path']}" if file["was"] else file["path"] for file in proposal["files"]]
    more = len(files) - 3 + proposal["moreFiles"]
    named = ", ".join(files[:3]) + (f" and {more} more" if more > 0 else "")
    return f"{proposal['id']}  {named}  ({proposal['assistant']}: {proposal['label']})"


def describe_move(file: dict[str, Any], *, links: int) -> str:
    """A move as what a person would call it; `links` counts the notes whose links follow."""
    was, path = file["was"], file["path"]
    verb = "Rename" if was.rpartition("/")[0] == path.rpartition("/")[0] else "Move"
    names = f"{was.removesuffix('.md')} → {path.removesuffix('.md')}"
    follow = f", and update links in {links} note{'s' if links != 1 else ''}" if links else ""
    return f"{verb} {names}{follow}"


def render_proposal(proposal: dict[str, Any]) -> str:
    """Render a change for a person, with numbered hunks."""
    lines = [render_proposal_heading(proposal)]
    for file in proposal["files"]:
        change = f"{file['change']} from {file['was']}" if file["was"] else file["change"]
        lines.append(f"--- {file['path']} ({change})")
        if not file.get("text"):
            lines.append("(not shown as text)" if file["change"] != "moved" else "(the text stays)")
        for number, hunk in enumerate(file.get("hunks", ()), 1):
            lines.append(
                f"@@ -{hunk['oldStart']},{hunk['oldLines']} +{hunk['newStart']},{hunk['newLines']} @@ "
                f"hunk {number}"
            )
            lines += hunk["lines"]
    if not proposal["files"]:
        lines.append("This would change nothing.")
    return "\n".join(lines + [f"note: {notice}" for notice in proposal["notices"]])
