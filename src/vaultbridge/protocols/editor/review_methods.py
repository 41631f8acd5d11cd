"""The requests and notifications of `/editor` by which a person reviews changes.

Two kinds look the same here: changes of tools, which wait in the vault's store (`review.reviews`), and diffs
of Claude Code, which last as long as its connection (`review.diffs`). An editor only shows what it receives;
the server does the merging for all of them.
"""

from __future__ import annotations

from typing import Any

from vaultbridge.editor.hub import EditorHub
from vaultbridge.errors import EngineFailure, InvalidArgument
from vaultbridge.protocols.dialect import Call, Handler, Peer
from vaultbridge.protocols.editor import review_wire, wire
from vaultbridge.review.decide import Differs
from vaultbridge.review.diffs import PendingDiffs
from vaultbridge.review.gate import parse_id
from vaultbridge.review.model import Proposal, ProposalEvent
from vaultbridge.review.reviews import LISTED, Reviews, ReviewState, ReviewWatcher

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
        self._hub.diffs.join(self._name, self._announce)
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
        await self._hub.diffs.wait_stored()
        proposals: tuple[Proposal, ...] = self._hub.diffs.waiting()
        undone: frozenset[int] = frozenset()
        if self._hub.reviews is not None:
            if params.status == "waiting":
                stored = await self._hub.reviews.list_waiting()
            else:
                stored = await self._hub.reviews.list_all(params.limit)
            proposals += stored
            undone = await self._hub.reviews.find_undone(stored)
        return {
            "proposals": [
                review_wire.encode_proposal(
                    proposal, self._vault, texts=False, undone=proposal.number in undone
                )
                for proposal in proposals[: params.limit]
            ]
        }

    async def show_proposal(self, call: Call) -> dict[str, Any]:
        params = wire.parse_params(call.params, review_wire.NamedProposal)
        place, number = self._find(params.id)
        return {"proposal": await self._encode(await place.show(number), whole=True)}

    async def decide(self, call: Call) -> dict[str, Any]:
        params = wire.parse_params(call.params, review_wire.DecideOn)
        place, number = self._find(params.id)
        if params.action == "reject":
            result = await place.reject(number, by=self._by, reason=params.reason)
        else:
            files = [choice.to_decision() for choice in params.files]
            result = await place.accept(
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
        place, number = self._find(params.id)
        try:
            proposal, chosen = await place.preview(number, seen=params.hash, files=files)
        except Differs:
            now = await self._encode(await place.show(number), whole=True)
            return {"outcome": "shown-again", "proposal": now}
        now = await self._encode(proposal, whole=True)
        shown = {"files": review_wire.encode_files(chosen, wire.MESSAGE_CHARS), "conflict": chosen.conflict}
        return {"outcome": "fits", "proposal": {**now, **shown}}

    async def undo_proposal(self, call: Call) -> dict[str, Any]:
        params = wire.parse_params(call.params, review_wire.NamedProposal)
        is_diff = params.id.startswith("d")
        if is_diff:
            await self._hub.diffs.wait_stored()
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

    async def _encode(self, proposal: Proposal, *, whole: bool = False) -> dict[str, Any]:
        reviews = self._hub.reviews
        undone = reviews is not None and bool(await reviews.find_undone([proposal]))
        limit = wire.MESSAGE_CHARS if whole else review_wire.TEXT_CHARS
        return review_wire.encode_proposal(proposal, self._vault, limit=limit, undone=undone)

    def _find(self, id_: str) -> tuple[PendingDiffs | Reviews, int]:
        """Where one decides on a proposal, and its number. Raises InvalidArgument."""
        if id_.startswith("d"):
            return self._hub.diffs, parse_id(f"p{id_[1:]}")
        return self._reviews(), parse_id(id_)

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
