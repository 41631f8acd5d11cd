"""Links every mention of a note on a draft: the word table suggests notes, their text decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vaultbridge.engine.drafting.draft import Draft
from vaultbridge.engine.drafting.naming import OperationContext
from vaultbridge.engine.drafting.notes import writable_note
from vaultbridge.engine.related.edits import EditableNote, change_mention
from vaultbridge.engine.related.mentions import find_mentions
from vaultbridge.errors import EditRefused
from vaultbridge.links.resolve import name_key
from vaultbridge.links.syntax import note_name
from vaultbridge.vault.paths import VaultPath

if TYPE_CHECKING:
    from vaultbridge.engine.operations import LinkMentions
    from vaultbridge.engine.related.find import RelatedSearch

MENTIONS_IN_NOTE: Final = 200
"""The most mentions linked in one note: each is proved by parsing the note again, and a text that names one
thing more often gains nothing from more links."""


def link_mentions(draft: Draft, operation: LinkMentions, context: OperationContext) -> None:
    path = writable_note(draft, operation.note, context)
    note = draft.open(path, expected=operation.expected).note
    names = (note_name(path), *note.aliases)
    with context.open_related() as search:
        keys = {key for name in names if [*search.lookup(key := name_key(name))] == [path]}
        if not keys:
            raise EditRefused(
                f"Nothing can mention {path} for certain: "
                "another note has the same name, or it is too short.",
                hint="Give the note an alias that no other has.",
            )
        linked = 0
        for other in draft.translate_paths(map(VaultPath, search.find_mentioning(names))):
            if other != path:
                linked += _link_in(draft, other, path, keys, search, context)
    if not linked:
        raise EditRefused(
            f"No other note mentions {path} without a link.",
            hint="links lists the notes that link to it; search finds other spellings.",
        )


def _link_in(
    draft: Draft,
    other: VaultPath,
    path: VaultPath,
    keys: set[str],
    search: RelatedSearch,
    context: OperationContext,
) -> int:
    """Links the mentions in one note, one after the other, and returns how many."""
    linked, after = 0, 0
    while linked < MENTIONS_IN_NOTE:
        file = draft.open_listed(other)
        if file is None:
            break
        # The whole vault's names, because a longer name that contains this one mentions another note.
        found = find_mentions(file.text, file.note, search.lookup, only=keys).get(path, [])
        mention = next((mention for mention in found if mention.start >= after), None)
        if mention is None:
            break
        place = EditableNote(other, file.text, file.note, "")
        change = change_mention(place, path, mention, draft.table_for(other), context.settings.links)
        after = mention.end
        if change is not None:
            context.scope.check_write(other)
            draft.edit(other, (change,)).links_rewritten += 1
            after = change.start + len(change.text)
            linked += 1
    return linked
