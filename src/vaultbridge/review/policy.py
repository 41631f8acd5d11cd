"""Which changes need a person's decision: the review policies, and how one applies to a change.

The vault (in its configuration, or as a person set it on the page instead), the server (`--review`) and the
token may each have a policy, and the strictest applies. `off` writes at once, `destructive` asks before a
change that may lose text (`loss.py` measures how much) or affects many files, `all` asks before every change.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from msgspec import Struct

from vaultbridge.errors import InvalidArgument

if TYPE_CHECKING:
    from vaultbridge.engine.plan import Plan, PlannedFile, PlannedFiles

Review = Literal["off", "destructive", "all"]
REVIEWS: Final[tuple[Review, ...]] = get_args(Review)
"""Least strict first."""

_WORD: Final = re.compile(r"\w+")

Reason = Literal["all", "delete", "overwrite", "loss", "folder", "many files", "another's", "diff"]
"""`another's`: an assistant would undo a change that somebody else made. `diff`: see `Proposal.is_diff`."""

MANY_FILES: Final = 10
"""A change to more files than this counts as destructive: a person cannot see at a glance what it did. A move
with its links usually touches fewer."""

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


def find_reason(policy: Review, plan: Plan) -> Reason | None:
    """Why a person has to see this change first; None if it may be written at once."""
    if policy == "off":
        return None
    reason = find_danger(plan.files)
    return reason or ("all" if policy == "all" else None)


def find_danger(planned: PlannedFiles) -> Reason | None:
    """What about these changes a person should see first."""
    # Not at the top: clients that start `stdio` wait for this module, and need no parser.
    from vaultbridge.review.loss import is_unknown, loses_much

    if any(file.change == "deleted" for file in planned.files):
        return "delete"
    if planned.moves_folder:
        return "folder"
    changed = [file for file in planned.files if file.change == "changed"]
    if changed and (
        planned.replaces_whole or any(is_unknown(file) or _keeps_nothing(file) for file in changed)
    ):
        return "overwrite"
    if loses_much(planned.files):
        return "loss"
    return "many files" if len(planned.files) + planned.more > MANY_FILES else None


def _keeps_nothing(file: PlannedFile) -> bool:
    """Whether nothing of the old text is left: no word of it, and not its beginning or its end."""
    old, new = ((data or b"").decode("utf-8", "replace").strip() for data in (file.before, file.after))
    if not old or file.after is None:
        return False
    if new and (old[0] == new[0] or old[-1] == new[-1]):
        return False
    return set(_WORD.findall(old)).isdisjoint(_WORD.findall(new))
