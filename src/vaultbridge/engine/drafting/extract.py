"""Moves a section of a note into a note of its own on a draft, and rewrites the links that this concerns.

The heading stays where it is, with a link to the new note below it, so that links to the heading still lead
somewhere sensible. Links to what was under it, a heading or a block, follow into the new note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from vaultbridge.engine.drafting.draft import Draft
from vaultbridge.engine.drafting.move import find_references, pin_older_links
from vaultbridge.engine.drafting.naming import OperationContext, find_same_path, is_folder, resolve_new_path
from vaultbridge.engine.drafting.notes import writable_note
from vaultbridge.errors import EditRefused
from vaultbridge.links.move import Reference
from vaultbridge.links.resolve import FileTable, Resolved, dot_path, resolve
from vaultbridge.links.subpath import (
    BlockId,
    HeadingPath,
    find_heading,
    heading_paths,
    heading_subpath,
    parse_subpath,
)
from vaultbridge.links.syntax import LinkSettings, Rewrite, choose_target, is_file_card, retarget, write_link
from vaultbridge.markdown.blocks.markers import normalize_label
from vaultbridge.markdown.edits.change import Change, apply_changes, sort_changes
from vaultbridge.markdown.edits.sections import find_body, replace_under_heading
from vaultbridge.markdown.model import Link, Note
from vaultbridge.markdown.parse import find_labels, parse
from vaultbridge.markdown.sections import find_section, heading_key, require_parsed
from vaultbridge.markdown.text import encode
from vaultbridge.vault.paths import VaultPath, join, new_vault_path

if TYPE_CHECKING:
    from vaultbridge.engine.operations import ExtractSection

_NOT_IN_NAMES: Final = re.compile(r'[*"\\/<>:|?#^\[\]\s]+')
"""What a heading may contain and the name of a note may not."""

_REFERENCE: Final = re.compile(r"(?<!\[)\[((?:[^\[\]\\]|\\.){1,999})\](?![\](:])", re.DOTALL)
"""The label of a link reference `[text][label]`, `[label][]` or `[label]`, as long as CommonMark allows; also
the text of the first form, which is no label that anybody defines but by chance."""

NAME_CHARS: Final = 100
"""How much of a long heading becomes the note's name: as a name of 255 bytes in every script."""


def extract_section(draft: Draft, operation: ExtractSection, context: OperationContext) -> None:
    source = writable_note(draft, operation.note, context)
    file = draft.open(source, expected=operation.expected)
    require_parsed(file.note)
    section = find_section(file.text, file.note, operation.heading, unique=True)
    target = _choose_path(draft, source, section.text, operation.to, context)
    context.scope.check_write(target, new=True)
    if find_same_path(draft, target) or is_folder(draft, target, context):
        raise EditRefused(
            f"{target} already exists.",
            hint="Name another note with to; to add the text to that one, use append and replace_section.",
            path=target,
        )
    if find_body(file.text, file.note, operation.heading) is None:
        raise EditRefused(f"There is no text under {section.text!r}.", hint="Choose another heading.")
    # Before anything is measured: this may rewrite older links, also in the note itself.
    pin_older_links(draft, context.sources, target, context.settings.links)
    draft.create(target, b"")
    text, note = file.text, file.note
    body = find_body(text, note, operation.heading)
    assert body is not None
    moved = _Moved(source, target, note, body, draft, context.settings.links)
    outside, inside = moved.plan(find_references(draft, context.sources, source), note.links)
    link = write_link(target, source, draft.table_for(source), context.settings.links)
    own = [*outside.pop(source, []), *replace_under_heading(text, note, operation.heading, link)]
    start, stop = body
    taken = apply_changes(text[start:stop], inside)
    if parse(taken).properties is not None:
        taken = f"\n{taken}"  # A line of dashes at the top would begin properties.
    draft.open(target).replace(encode(taken if taken.endswith(("\n", "\r")) else f"{taken}\n", bom=False))
    for path, changes in outside.items():
        edited = draft.edit(VaultPath(path), sort_changes(changes, len(draft.open(VaultPath(path)).text)))
        edited.links_rewritten += moved.followed[path]
    draft.edit(source, sort_changes(own, len(text)))
    _note_divided(draft, source, target)


def _choose_path(
    draft: Draft, source: VaultPath, heading: str, to: str, context: OperationContext
) -> VaultPath:
    """Where the new note goes: to an exact path, or for a bare name where the app makes a note that is
    created from this one. Without a name it is named after the heading."""
    wanted = to.strip()
    if not wanted or wanted.endswith("/"):
        name = _NOT_IN_NAMES.sub(" ", heading)[:NAME_CHARS].strip(" .")
        if not name:
            raise EditRefused(
                f"No note can be named after the heading {heading!r}.", hint="Name the new note with to."
            )
        wanted += name
    spelled = wanted if wanted.lower().endswith(".md") else f"{wanted}.md"
    if "/" not in spelled:
        spelled = join(context.settings.new_note_folder(source), spelled)
    return resolve_new_path(draft, new_vault_path(spelled), context)


class _Moved:
    """What is moved: the span `body` of the note `source`, into the note `target`."""

    def __init__(
        self,
        source: VaultPath,
        target: VaultPath,
        note: Note,
        body: tuple[int, int],
        draft: Draft,
        settings: LinkSettings,
    ) -> None:
        self._source = source
        self._target = target
        self._note = note
        self._start, self._stop = body
        self._draft = draft
        self._settings = settings
        self._keys = [heading_key(heading.text) for heading in note.headings]
        self._paths = heading_paths(note.headings)
        self.followed: dict[str, int] = {}
        """How many links of each other file follow."""

    def plan(
        self, references: Iterable[Reference], links: Iterable[Link]
    ) -> tuple[dict[str, list[Change]], list[Change]]:
        """The changes of links by the file they are in, and those within the moved text, from its start."""
        outside: dict[str, list[Change]] = {}
        seen: set[tuple[str, int, int]] = set()
        for reference in references:
            source, link = reference.source, reference.link
            if (source, link.start, link.end) in seen or (source == self._source and self._holds(link.start)):
                continue
            seen.add((source, link.start, link.end))
            rewrite = self._follow(link, source)
            if rewrite is not None:
                text = self._draft.open(VaultPath(source)).text
                outside.setdefault(source, []).extend(retarget(source, text, link, rewrite))
                self.followed[source] = self.followed.get(source, 0) + 1
        text = self._draft.open(self._source).text
        inside: list[Change] = []
        for link in links:
            if self._holds(link.start) and link.kind != "property":
                rewrite = self._carry(link)
                if rewrite is not None:
                    inside += [
                        Change(change.start - self._start, change.end - self._start, change.text)
                        for change in retarget(self._source, text, link, rewrite)
                    ]
        return outside, inside

    def _holds(self, offset: int) -> bool:
        return self._start <= offset < self._stop

    def _find_subpath(self, written: str) -> str | None:
        """How a subpath of the old note is written in the new one; None if it leads to what stays."""
        match parse_subpath(written):
            case BlockId(wanted):
                block = next((b for b in self._note.blocks if b.id.lower() == wanted.lower()), None)
                return written if block is not None and self._holds(block.id_start) else None
            case HeadingPath(parts):
                found = find_heading(self._keys, self._paths, parts)
                if found is None or not self._holds(self._note.headings[found[-1]].start):
                    return None
                kept = [at for at in found if self._holds(self._note.headings[at].start)]
                return heading_subpath([self._note.headings[at].text for at in kept])
            case _:
                return None

    def _follow(self, link: Link, source: str) -> Rewrite | None:
        """A link to the old note that stays where it is."""
        subpath = self._find_subpath(link.subpath)
        if subpath is None:
            return None
        if is_file_card(link):
            return Rewrite(card_path=self._target, subpath=subpath)
        return Rewrite(target=self._spell(self._target, link, source), subpath=subpath)

    def _carry(self, link: Link) -> Rewrite | None:
        """A link that moves with the text."""
        table = self._draft.table_for(self._target)
        found = (
            resolve(link.target, self._source, self._draft.table_for(self._source)) if link.target else None
        )
        if link.target and not isinstance(found, Resolved):
            return None
        leads_to = found.path if isinstance(found, Resolved) else self._source
        if leads_to == self._source and (subpath := self._find_subpath(link.subpath)) is not None:
            # Both move: a link without a target stays one within the note.
            target = self._spell(self._target, link, self._target) if link.target else None
            return Rewrite(target=target, subpath=subpath)
        if link.target and self._still_leads(link.target, leads_to, table):
            return None
        return Rewrite(target=self._spell(leads_to, link, self._target))

    def _still_leads(self, written: str, leads_to: str, table: FileTable) -> bool:
        found = resolve(written, self._target, table)
        if not isinstance(found, Resolved) or found.path != leads_to or found.others:
            return False
        return dot_path(written, self._target) == dot_path(written, self._source)

    def _spell(self, path: str, link: Link, source: str) -> str:
        markdown = link.markdown or link.kind == "markdown"
        table = self._draft.table_for(source)
        return choose_target(path, source, table, self._settings.new_link_format, markdown=markdown)


def _note_divided(draft: Draft, source: VaultPath, target: VaultPath) -> None:
    """Adds notices about footnotes and link references whose definition is now in the other note."""
    stays, moves = draft.open(source), draft.open(target)
    here, there = (_find_definitions(file.text, file.note) for file in (stays, moves))
    if left := _find_used(moves.text, moves.note) & here - there:
        draft.notices.append(f"{target} refers to definitions that stayed in {source}: {_list_labels(left)}.")
    if lost := _find_used(stays.text, stays.note) & there - here:
        draft.notices.append(f"{source} refers to definitions that moved to {target}: {_list_labels(lost)}.")


def _find_definitions(text: str, note: Note) -> set[str]:
    footnotes = {f"^{footnote.id}" for footnote in note.footnotes if footnote.kind == "definition"}
    return footnotes | find_labels(text)


def _find_used(text: str, note: Note) -> set[str]:
    """What may be a reference: also brackets in code, which nobody defines."""
    footnotes = {f"^{footnote.id}" for footnote in note.footnotes if footnote.kind == "reference"}
    return footnotes | {normalize_label(found[1]) for found in _REFERENCE.finditer(text)}


def _list_labels(labels: set[str]) -> str:
    return ", ".join(f"[{label}]" for label in sorted(labels))
