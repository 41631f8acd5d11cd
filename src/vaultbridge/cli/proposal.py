"""A proposed change beside the note as it is now, for people who decide at a terminal.

The note may change while its change waits, and an acceptance replaces it whole. So the proposal is moved
onto the note as it is: what was written meanwhile is kept where both can stand, and told where they cannot.
Nothing is written here, and nothing decided.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

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
    from vaultbridge.note.change import apply_changes
    from vaultbridge.note.unified_diff import apply_diff, make_diff

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
    from vaultbridge.note.text import decode, displayable
    from vaultbridge.vault.known import find_vault
    from vaultbridge.vault.paths import Root, vault_path
    from vaultbridge.vault.read import read_place

    wanted = vault_path(path)
    try:
        # What may be seen the bridge has decided; here its owner looks at it.
        root = Root(find_vault(vault), allow_outside_links=True)
        content = read_place(root.resolve(wanted), wanted)
    except NoteNotFound:
        return "", NO_NOTE
    return displayable(decode(content.data).text).replace("\r\n", "\n"), content.hash
