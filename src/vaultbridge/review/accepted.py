"""What is known of an accepted proposal before its store has been told: the record of its change says it.

The change is made in the journal's vault, and the store is told afterwards. A process that is killed in
between leaves a change whose record names the proposal. Whoever looks at the proposal next finds it here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.engine.outcome import Outcome
from vaultbridge.errors import VaultbridgeError
from vaultbridge.review.model import Decided, Proposal, ProposalStatus
from vaultbridge.vault.write.journal import Journal
from vaultbridge.vault.write.journal_database import JOURNAL_FILE
from vaultbridge.vault.write.journal_rows import Acceptance

log = logging.getLogger("vaultbridge.review")


class AcceptedReport(Struct, frozen=True):
    """What the store is told of a proposal whose change was made."""

    status: ProposalStatus
    decided: Decided
    outcome: Outcome

    def with_change(self, number: int) -> AcceptedReport:
        """The same for the change with this number, which is not known before it is recorded."""
        return AcceptedReport(
            self.status,
            replace(self.decided, change=number),
            replace(self.outcome, change_id=str(number) if number else ""),
        )


_report: Final = msgspec.json.Decoder(AcceptedReport)


def make_acceptance(proposal: Proposal, report: AcceptedReport) -> Acceptance:
    return Acceptance(_identify(proposal), msgspec.json.encode(report))


def find_accepted(
    folder: Path, proposal: Proposal, *, make_folder: Callable[[], None], second: Path | None
) -> AcceptedReport | None:
    """What the journal in a vault's state folder says of a proposal; None if its change was not made, was
    rolled back, or is not known."""
    if not (folder / JOURNAL_FILE).exists():
        return None
    try:
        with closing(Journal(folder, make_folder=make_folder, second=second)) as journal:
            found = journal.find_accepted(_identify(proposal))
    except VaultbridgeError as error:
        log.warning("Whether the change of %s was made is not known: %s", proposal.id, error)
        return None
    if found is None:
        return None
    number, report = found
    try:
        return _report.decode(report).with_change(number)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # SQLite notices no damage in what is stored. That the change was made is certain all the same.
        return AcceptedReport("accepted", Decided(proposal.at, ""), Outcome(files=())).with_change(number)


def _identify(proposal: Proposal) -> str:
    """A store that begins again may give a number a second time, but not at the same moment."""
    return f"{proposal.id} {proposal.at!r}"
