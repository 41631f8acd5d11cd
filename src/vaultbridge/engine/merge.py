"""Merges one note into another on a draft: its text and properties, and every link to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from vaultbridge.engine.draft import Draft
from vaultbridge.engine.move import rewrite_links
from vaultbridge.engine.naming import OperationContext
from vaultbridge.engine.operate import writable_note
from vaultbridge.engine.operations import Append, SetProperty
from vaultbridge.engine.templates import merge_properties
from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.links.resolve import Resolved, resolve
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.sections import heading_key

if TYPE_CHECKING:
    from vaultbridge.engine.operations import Merge
    from vaultbridge.vault.paths import VaultPath

NAMES_LISTED: Final = 5
"""How many names that both notes had a notice lists."""


def merge_notes(draft: Draft, operation: Merge, context: OperationContext) -> None:
    """Put the source's text at the end of the target, retarget the links, and move the source to the trash.
    Its own links keep their meaning at their new place."""
    source = writable_note(draft, operation.note, context)
    target = writable_note(draft, operation.to, context)
    if source == target:
        raise InvalidArgument(f"{source} cannot be merged into itself.", argument="to", hint="Name another.")
    draft.open(source, expected=operation.expected)
    for path in (source, target):
        properties = draft.open(path).note.properties
        if properties is not None and not properties.valid:
            raise EditRefused(f"The properties of {path} cannot be read.", hint="Correct them first.")
    _note_shared_names(draft, source, target)
    rewrite_links(
        draft,
        context.sources,
        {source: target},
        context.settings.links,
        context.scope.visible,
        merging=True,
    )
    _add_text(draft, source, target, context)
    draft.delete([source], root=source, option=context.settings.trash_option)
    _note_embeds(draft, target)


def _add_text(draft: Draft, source: VaultPath, target: VaultPath, context: OperationContext) -> None:
    there, here = draft.open(target), draft.open(source)
    properties = here.note.properties
    body = here.text[properties.end if properties is not None else 0 :].strip("\r\n")
    if body.strip():
        # A paragraph of one note must not join the last paragraph of the other.
        lines = there.text.rstrip(" \t").splitlines(keepends=True)
        apart = "\n" if lines and lines[-1].strip() else ""
        Append(note=target, content=f"{apart}{body}\n").apply(draft, context)
    values = properties.values if properties is not None else {}
    own = draft.open(target).note.properties
    for name, value in merge_properties(own.values if own is not None else {}, values).items():
        SetProperty(note=target, name=name, value=value).apply(draft, context)


def _note_shared_names(draft: Draft, source: VaultPath, target: VaultPath) -> None:
    """A link to a heading, block or footnote that both had leads to the first of the two from now on."""
    shared = sorted({*_names(draft.open(source).note)} & {*_names(draft.open(target).note)})
    if shared:
        more = f" and {len(shared) - NAMES_LISTED} more" if len(shared) > NAMES_LISTED else ""
        listed = ", ".join(shared[:NAMES_LISTED])
        draft.notices.append(f"Both notes have {listed}{more}: links there lead to the first.")


def _names(note: Note) -> Iterator[str]:
    yield from (f"the heading {heading_key(heading.text)!r}" for heading in note.headings)
    yield from (f"the block ^{block.id.lower()}" for block in note.blocks)
    yield from (f"the footnote [^{one.id}]" for one in note.footnotes if one.kind == "definition")


def _note_embeds(draft: Draft, target: VaultPath) -> None:
    table = draft.table_for(target)
    for link in draft.open(target).note.links:
        found = resolve(link.target, target, table)
        if link.embed and not link.subpath and isinstance(found, Resolved) and found.path == target:
            draft.notices.append(f"{target}:{link.line} embeds the note in itself now: {link.raw[:80]}")
