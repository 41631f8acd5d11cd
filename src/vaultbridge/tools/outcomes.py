"""What the engine did, as the data of a changing tool's answer: short when little was done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vaultbridge.tools.answer import Answer, done

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.engine.operations import ChangedFile, Outcome

FILES_LISTED: Final = 40
"""How many changed files an answer names; a rename across a vault may touch thousands."""

NOTICES_LISTED: Final = 10
"""How many notices an answer repeats."""

CHANGED_SCHEMA: Final[dict[str, Any]] = {"type": "object"}
"""The output schema of every tool that always answers with the envelope. What the envelope holds is the same
everywhere and is explained once, in `docs/tools.md`."""


def place_of_deleted(engine: Engine, outcome: Outcome) -> dict[str, Any]:
    """Where the deleted files went, for the person who may want them back; nothing when none were."""
    if outcome.dry_run or not any(file.change == "deleted" for file in outcome.files):
        return {}
    from vaultbridge.vault.trash import LOCAL_USED

    option = engine.settings.trash_option
    if option == "none":
        return {"went_to": "nowhere: removed for good, as the vault's settings say; undo brings it back"}
    if option == "local" or any(notice.endswith(LOCAL_USED) for notice in outcome.notices):
        return {"went_to": ".trash in the vault"}
    return {"went_to": "the system's trash"}


def outcome_answer(outcome: Outcome, path: str = "", /, **first: Any) -> Answer:
    """`path` is the file that the call was about, `first` what to tell before the rest."""
    return done({**first, **outcome_data(outcome, path)}, changed=bool(outcome.files) and not outcome.dry_run)


def outcome_data(outcome: Outcome, path: str = "") -> dict[str, Any]:
    """The hash of the file at `path`, the other files, the number to undo by, the diff of a dry run."""
    data: dict[str, Any] = {}
    own = next((file for file in outcome.files if file.path == path), None)
    if own is not None and own.hash:
        data["hash"] = own.hash
    others = [file for file in outcome.files if file is not own]
    if others:
        data["files"] = [_file(file) for file in others[:FILES_LISTED]]
        if len(others) > FILES_LISTED:
            data["more_files"] = len(others) - FILES_LISTED
    if own is not None and own.links:
        data["links"] = own.links
    if not outcome.files:
        data["unchanged"] = True
    if outcome.change_id:
        data["change"] = int(outcome.change_id)
    if outcome.notices:
        data["notices"] = list(outcome.notices[:NOTICES_LISTED])
    if outcome.dry_run:
        data["dry_run"] = True
        data["diff"] = outcome.diff
    return data


def _file(file: ChangedFile) -> dict[str, Any]:
    shown: dict[str, Any] = {"path": file.path, "change": file.change}
    if file.was:
        shown["was"] = file.was
    if file.links:
        shown["links"] = file.links
    elif file.hash:
        shown["hash"] = file.hash
    return shown
