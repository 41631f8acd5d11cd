"""Which changes need a person's decision: the review policies.

The vault (in its configuration, or as a person set it on the page instead), the server (`--review`) and the
token may each have a policy, and the strictest applies. `off` writes at once, `destructive` asks before a
change that may lose text or affects many files (`loss.py` finds out), `all` asks before every change.
"""

from __future__ import annotations

from typing import Any, Final, Literal, get_args

from msgspec import Struct

from vaultbridge.errors import InvalidArgument

Review = Literal["off", "destructive", "all"]
REVIEWS: Final[tuple[Review, ...]] = get_args(Review)
"""Least strict first."""

Reason = Literal["all", "delete", "overwrite", "loss", "folder", "many files", "another's", "diff"]
"""`another's`: an assistant would undo a change that somebody else made. `diff`: see `Proposal.is_diff`."""

WAIT_SECONDS: Final = 45.0
"""How long a call waits for the decision. Most clients give up on a call after a minute. A person who is
there decides within seconds; one who is not finds the proposal later."""


class ReviewRules(Struct, frozen=True, kw_only=True):
    """The policies that apply to a call: `least` is the stricter one of the server and the token, `vault` the
    one that the configuration sets for the vault."""

    least: Review = "off"
    vault: Review = "off"
    wait_seconds: float = WAIT_SECONDS
    token: str = ""
    """The token's name; "" for callers without one."""
    token_id: str = ""
    """What distinguishes tokens with the same name."""


NO_REVIEW: Final = ReviewRules()


WHERE: Final = (
    "on the page (the command `vaultbridge page` opens it), in Obsidian, or in a terminal with "
    "`vaultbridge diffs`"
)
"""Where a person decides. A person whose assistant talks over stdio may not know that there is a page."""


class ChangePending(BaseException):
    """A change was not made, because a person has not decided yet. It ends the call, and the catalog turns it
    into an answer. Not an Exception, so that no tool takes it for a failure."""

    def __init__(self, proposal: str, facts: dict[str, Any]) -> None:
        super().__init__(proposal)
        self.facts = facts


def parse_review(text: str) -> Review:
    """Raises InvalidArgument if the text is not a policy."""
    review = next((review for review in REVIEWS if review == text), None)
    if review is None:
        raise InvalidArgument(
            f"review is {text[:40]!r}.", argument="review", hint=f"It is one of: {', '.join(REVIEWS)}."
        )
    return review


def find_strictest(*policies: Review) -> Review:
    return max(policies, key=REVIEWS.index, default="off")
