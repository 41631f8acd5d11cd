"""The requests and notifications of `/editor` by which a person reviews changes.

Two kinds look the same here: changes of tools, which wait in the vault's store (`editor.reviews`), and diffs
of Claude Code, which last as long as its connection (`editor.pending_diffs`). An editor only shows what it
receives; the server does the merging for all of them.
"""

from __future__ import annotations

from typing import Any

from vaultbridge.editor.diffs import OUTCOMES, Accepted, CloseReason, Diff, FrontEnd, Rejected
from vaultbridge.editor.hub import EditorHub
from vaultbridge.editor.reviews import LISTED, ProposalEvent, Reviews, ReviewState, ReviewWatcher
from vaultbridge.errors import EngineFailure, InvalidArgument
from vaultbridge.protocols.dialect import Call, Handler, Peer
from vaultbridge.protocols.editor import review_wire, wire
from vaultbridge.review.decide import Differs, choose_files, choose_version
from vaultbridge.review.gate import parse_id
from vaultbridge.review.model import Proposal, ProposalVersion

APP_NAMES = {"cli": "terminal"}
"""What people call an app in which they decide, if that is not the app's own name."""

REVIEW_METHODS = (
    "proposals", "proposal", "preview", "decide", "undoProposal", "undoChange", "change", "review",
    "setReview",
)  # fmt: skip
"""The requests that `ReviewMethods` answers."""


class ReviewMethods:
    """The review requests of one editor's connection. `name` is the connection's name, `app` the editor's own
    name."""

    def __init__(self, hub: EditorHub, vault: str, peer: Peer, name: str, app: str) -> None:
        self._hub = hub
        self._vault = vault
        self._peer = peer
        self._name = name
        self._by = APP_NAMES.get(app, app[:40]) or "an editor"

    # Joining.

    async def join(self) -> None:
        """Send the editor the waiting changes, and from now on every new one."""
        front_end = FrontEnd(self._diff_opened, self._diff_closed, self._diff_changed, self._diff_closed)
        self._hub.diffs.join(self._name, front_end)
        if self._hub.reviews is not None:
            await self._hub.reviews.join(self._name, ReviewWatcher(self._announce, self._policy_changed))

    def leave(self) -> None:
        self._hub.diffs.leave(self._name)
        if self._hub.reviews is not None:
            self._hub.reviews.leave(self._name)

    # Requests.

    async def list_proposals(self, call: Call) -> dict[str, Any]:
        params = wire.parse_params(call.params, review_wire.ListProposals)
        if not 1 <= params.limit <= LISTED:
            raise InvalidArgument(f"limit must be from 1 to {LISTED}.", argument="limit")
        still_open = await self._hub.diffs.wait_archived()
        encoded: list[dict[str, Any]] = [
            review_wire.encode_diff_proposal(diff, self._vault, texts=False)
            for diff in self._hub.diffs.waiting()
        ]
        if self._hub.reviews is not None:
            if params.status == "waiting":
                proposals = await self._hub.reviews.list_waiting()
            else:
                listed = await self._hub.reviews.list_all(params.limit)
                proposals = tuple(proposal for proposal in listed if proposal.id not in still_open)
            undone = await self._hub.reviews.find_undone(proposals)
            encoded += [
                review_wire.encode_proposal(
                    proposal, self._vault, texts=False, undone=proposal.number in undone
                )
                for proposal in proposals
            ]
        return {"proposals": encoded[: params.limit]}

    async def show_proposal(self, call: Call) -> dict[str, Any]:
        params = wire.parse_params(call.params, review_wire.NamedProposal)
        if params.id.startswith("d"):
            diff, _ = await self._hub.diffs.refresh(params.id)
            whole = review_wire.encode_diff_proposal(diff, self._vault, limit=wire.MESSAGE_CHARS)
            return {"proposal": whole}
        proposal = await self._reviews().show(parse_id(params.id))
        return {"proposal": await self._encode(proposal, whole=True)}

    async def decide(self, call: Call) -> dict[str, Any]:
        params = wire.parse_params(call.params, review_wire.DecideOn)
        if params.id.startswith("d"):
            return await self._decide_diff(params)
        reviews, number = self._reviews(), parse_id(params.id)
        if params.action == "reject":
            result = await reviews.reject(number, by=self._by, reason=params.reason)
        else:
            files = [choice.to_decision() for choice in params.files]
            result = await reviews.accept(
                number, by=self._by, seen=params.hash, files=files, reason=params.reason
            )
        return {
            "outcome": result.outcome,
            "text": result.text,
            "change": result.change,
            "proposal": await self._encode(result.proposal),
        }

    async def preview(self, call: Call) -> dict[str, Any]:
        """Show what accepting would write, with the person's choices, hunk by hunk."""
        params = wire.parse_params(call.params, review_wire.Preview)
        files = [choice.to_decision() for choice in params.files]
        if params.id.startswith("d"):
            diff, shown = await self._hub.diffs.refresh(params.id)
            now = review_wire.encode_diff_proposal(diff, self._vault, limit=wire.MESSAGE_CHARS)
            try:
                version, seen = review_wire.find_seen(diff, shown, params.hash)
                chosen = choose_version(version, seen, files)
            except Differs:
                return _describe_preview(now, None)
            return _describe_preview(now, chosen)
        reviews, number = self._reviews(), parse_id(params.id)
        try:
            proposal, chosen = await reviews.preview(number, seen=params.hash, files=files)
        except Differs:
            return _describe_preview(await self._encode(await reviews.show(number), whole=True), None)
        return _describe_preview(await self._encode(proposal, whole=True), chosen)

    async def undo_proposal(self, call: Call) -> dict[str, Any]:
        params = wire.parse_params(call.params, review_wire.NamedProposal)
        is_diff = params.id.startswith("d")
        if is_diff:
            await self._hub.diffs.wait_archived()
        number = parse_id(f"p{params.id[1:]}" if is_diff else params.id)
        outcome = await self._reviews().undo(number, by=self._by, diff=is_diff)
        return {"change": int(outcome.change_id or 0), "text": f"{params.id} is undone."}

    async def undo_change(self, call: Call) -> dict[str, Any]:
        params = wire.parse_params(call.params, review_wire.NamedChange)
        outcome = await self._reviews().undo_change(params.change, by=self._by)
        return {"change": int(outcome.change_id or 0), "text": f"Change {params.change} is undone."}

    async def show_change(self, call: Call) -> dict[str, Any]:
        """A change of the journal, file by file, as a proposal shows its files."""
        params = wire.parse_params(call.params, review_wire.NamedChange)
        version = await self._reviews().show_change(params.change)
        files = review_wire.encode_files(version, wire.MESSAGE_CHARS)
        return {"change": params.change, "files": files, "moreFiles": version.more}

    async def show_review(self, call: Call) -> dict[str, Any]:
        return review_wire.encode_review(await self._reviews().policy())

    async def set_review(self, call: Call) -> dict[str, Any]:
        params = wire.parse_params(call.params, review_wire.SetReview)
        return review_wire.encode_review(await self._reviews().set_policy(params.review))

    def handlers(self) -> dict[str, Handler]:
        return {
            "proposals": self.list_proposals,
            "proposal": self.show_proposal,
            "preview": self.preview,
            "decide": self.decide,
            "undoProposal": self.undo_proposal,
            "undoChange": self.undo_change,
            "change": self.show_change,
            "review": self.show_review,
            "setReview": self.set_review,
        }

    async def _decide_diff(self, params: review_wire.DecideOn) -> dict[str, Any]:
        """Decide on a diff of Claude Code: the client writes what is accepted."""
        diff, shown = await self._hub.diffs.refresh(params.id)
        decided = {"by": self._by, "comment": params.reason}
        if params.action == "reject":
            reason = await self._hub.diffs.decide(params.id, Rejected(), **decided)
            return self._describe_diff(diff, reason)
        try:
            version, seen = review_wire.find_seen(diff, shown, params.hash)
            files = choose_files(version, seen, [choice.to_decision() for choice in params.files])
        except Differs:
            why = diff.conflict or "The note has changed since you looked."
            return {
                "outcome": "shown-again",
                "text": f"Nothing was written. {why} Look again.",
                "change": 0,
                "proposal": review_wire.encode_diff_proposal(diff, self._vault),
            }
        # Compared as bytes, because the text that was shown has lost its line ends.
        final = (files[0].after or b"").decode("utf-8", "surrogatepass") if files else diff.old_text
        return self._describe_diff(diff, await self._hub.diffs.decide(params.id, Accepted(final), **decided))

    def _describe_diff(self, diff: Diff, reason: CloseReason) -> dict[str, Any]:
        return {
            "outcome": reason,
            "text": f"{OUTCOMES[reason][:1].upper()}{OUTCOMES[reason][1:]}.",
            "change": 0,
            "proposal": review_wire.encode_diff_proposal(diff, self._vault, status=reason, texts=False),
        }

    async def _encode(self, proposal: Proposal, *, whole: bool = False) -> dict[str, Any]:
        undone = bool(await self._reviews().find_undone([proposal]))
        limit = wire.MESSAGE_CHARS if whole else review_wire.TEXT_CHARS
        return review_wire.encode_proposal(proposal, self._vault, limit=limit, undone=undone)

    def _reviews(self) -> Reviews:
        if self._hub.reviews is None:
            raise EngineFailure("This bridge stores no proposals.")
        return self._hub.reviews

    # Notifications.

    def _announce(self, event: ProposalEvent, proposal: Proposal) -> None:
        if event == "closed":
            self._peer.notify("proposalClosed", review_wire.encode_closed(proposal, self._vault))
            return
        method = "proposalOpened" if event == "opened" else "proposalChanged"
        self._peer.notify(method, review_wire.encode_proposal(proposal, self._vault))

    def _policy_changed(self, state: ReviewState) -> None:
        self._peer.notify("reviewChanged", review_wire.encode_review(state))

    def _diff_opened(self, diff: Diff) -> None:
        self._peer.notify("proposalOpened", review_wire.encode_diff_proposal(diff, self._vault))

    def _diff_changed(self, diff: Diff) -> None:
        self._peer.notify("proposalChanged", review_wire.encode_diff_proposal(diff, self._vault))

    def _diff_closed(self, diff: Diff, reason: CloseReason) -> None:
        closed = review_wire.encode_diff_closed(diff, reason, self._vault, diff.change)
        self._peer.notify("proposalClosed", closed)


def _describe_preview(proposal: dict[str, Any], chosen: ProposalVersion | None) -> dict[str, Any]:
    """Describe a preview. `proposal` is the current proposal; `chosen` is what would be written, or None if
    the person has not seen that version."""
    if chosen is None:
        return {"outcome": "shown-again", "proposal": proposal}
    files = review_wire.encode_files(chosen, wire.MESSAGE_CHARS)
    return {"outcome": "fits", "proposal": {**proposal, "files": files, "conflict": chosen.conflict}}
