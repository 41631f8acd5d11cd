"""Makes the edit that links one note from another, as arguments for `edit_note`, and proves it. No I/O.

An offered edit has been tried on the text: afterwards the note has exactly one link more, it leads to the
wanted note, and nothing else that the parser finds has changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from vaultbridge.engine.operations import Append, ReplaceText
from vaultbridge.engine.operations.base import Operation
from vaultbridge.engine.operations.vocabulary import convert_operation
from vaultbridge.engine.related.mentions import UnlinkedMention, split_units
from vaultbridge.errors import VaultbridgeError
from vaultbridge.links.resolve import FileTable, Resolved, resolve
from vaultbridge.links.syntax import LinkSettings, write_link
from vaultbridge.markdown.edits.change import (
    Change,
    apply_changes,
    end_of_line,
    start_of_line,
    start_of_next_line,
)
from vaultbridge.markdown.model import Link, Note
from vaultbridge.markdown.parse import parse
from vaultbridge.markdown.sections import heading_key
from vaultbridge.markdown.text import has_surrogates

OLD_CHARS: Final = 300
"""The most text that an edit quotes to say where it applies: a longer quotation means that the line occurs
twice."""

TABLE_ROWS: Final = 1000
"""How far above a line the beginning of its table is looked for."""

_DASHES: Final = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?")

RELATED: Final = "Related"
"""The heading for links that no sentence mentions."""

_RELATED_HEADINGS: Final = frozenset(
    map(
        heading_key,
        (
            "Related", "Related notes", "Related pages", "See also", "Links", "Related links", "Connections",
            "Siehe auch", "Verwandt", "Verwandte Notizen", "Voir aussi", "Véase también", "Ver también",
            "Veja também", "Vedi anche", "Zie ook", "Se även", "Zobacz też", "См. также", "Смотрите также",
            "Дивіться також", "Δείτε επίσης", "ראו גם", "انظر أيضا", "और देखें", "ดูเพิ่มเติม", "関連項目",
            "関連", "相关", "相关链接", "參見", "参见", "관련 항목", "같이 보기", "Ayrıca bakınız",
        ),
    )
)  # fmt: skip
"""Headings under which people keep such links already."""


class EditableNote(Struct, frozen=True):
    """A note that may be edited: its path, its text as it is on disk, and the hash of that."""

    path: str
    text: str
    note: Note
    hash: str


def link_mention(
    place: EditableNote, dest: str, mention: UnlinkedMention, table: FileTable, settings: LinkSettings
) -> dict[str, Any] | None:
    """Return the arguments that turn a mention into a link; None if no such edit is certain."""
    shown = place.text[mention.start : mention.end]
    for link in _spellings(place, dest, shown, mention, table, settings):
        for start, end in _contexts(place.text, mention):
            old = place.text[start:end]
            new = f"{place.text[start : mention.start]}{link}{place.text[mention.end : end]}"
            edit = ReplaceText(note=place.path, old=old, new=new)
            if _adds_only_this_link(place, edit, dest, table, shown=shown):
                return {
                    "op": "replace_text", "name": place.path, "old": old, "new": new, "expected": place.hash,
                }  # fmt: skip
            break  # More context would only make the place unique, and it is unique already.
    return None


def change_mention(
    place: EditableNote, dest: str, mention: UnlinkedMention, table: FileTable, settings: LinkSettings
) -> Change | None:
    """Return the change of the text that turns a mention into a link; None if no such change is certain."""
    shown = place.text[mention.start : mention.end]
    for link in _spellings(place, dest, shown, mention, table, settings):
        change = Change(mention.start, mention.end, link)
        if not has_surrogates(link) and _changes_add_only_link(place, (change,), dest, table, shown=shown):
            return change
    return None


def link_at_end(
    place: EditableNote, dest: str, table: FileTable, settings: LinkSettings
) -> dict[str, Any] | None:
    """Return the arguments that add a link to the note's list of related ones; None if no such edit is
    certain."""
    try:
        link = write_link(dest, place.path, table, settings)
    except VaultbridgeError:
        return None
    titles = [heading.text for heading in place.note.headings]
    own = [title for title in titles if heading_key(title) in _RELATED_HEADINGS]
    heading = own[0] if len(own) == 1 else RELATED
    edit = Append(note=place.path, content=f"- {link}", heading=heading, create=True)
    if not _adds_only_this_link(place, edit, dest, table):
        return None
    made = {"op": "append", "name": place.path, "content": edit.content, "heading": heading}
    return {**made, **({} if own else {"create": True}), "expected": place.hash}


def convert_edit(edit: dict[str, Any]) -> Operation:
    """Turn an offered edit into the engine's operation."""
    return convert_operation({"note" if key == "name" else key: value for key, value in edit.items()})


def _spellings(
    place: EditableNote,
    dest: str,
    shown: str,
    mention: UnlinkedMention,
    table: FileTable,
    settings: LinkSettings,
) -> Iterator[str]:
    """Ways to write the link, the shortest first. In a row of a table `|` is escaped."""
    try:
        plain = write_link(dest, place.path, table, settings, markdown=settings.use_markdown_links)
        if plain in (f"[[{shown}]]", f"[{shown}]({plain.partition('](')[2]}"):
            yield plain
            return
        written = write_link(dest, place.path, table, settings, display=shown)
    except VaultbridgeError:
        return
    in_table = not settings.use_markdown_links and _is_in_table(place.text, mention.start)
    yield written.replace("|", "\\|") if in_table else written


def _is_in_table(text: str, offset: int) -> bool:
    """Whether the line belongs to a table: the row of dashes is above it, with no blank line between, or
    right below."""
    start = start_of_line(text, offset)
    below = start_of_next_line(text, offset)
    lines = [text[below : end_of_line(text, below)]]
    while start > 0 and len(lines) < TABLE_ROWS:
        above = start_of_line(text, start - 2 if text[start - 2 : start] == "\r\n" else start - 1)
        line = text[above:start].strip()
        if not line:
            break
        lines.append(line)
        start = above
    return any(_DASHES.fullmatch(line.strip().lstrip("> \t")) for line in lines)


def _contexts(text: str, mention: UnlinkedMention) -> Iterator[tuple[int, int]]:
    """The mention with as many of the words around it in its line as make it unique in the text."""
    first, last = start_of_line(text, mention.start), end_of_line(text, mention.end)
    units = [(first + a, first + b) for line in split_units(text[first:last]) for a, b in line]
    before = [a for a, _ in units if a < mention.start]
    after = [b for _, b in units if b > mention.end]
    start, end = mention.start, mention.end
    while end - start <= OLD_CHARS:
        at = text.find(text[start:end])
        if text.find(text[start:end], at + 1) < 0:
            yield start, end
            return
        if not before and not after:
            if (start, end) == (first, last):
                return
            start, end = first, last
            continue
        start = before.pop() if before else start
        end = after.pop(0) if after else end


def _adds_only_this_link(
    place: EditableNote, edit: ReplaceText | Append, dest: str, table: FileTable, *, shown: str | None = None
) -> bool:
    written = (edit.old, edit.new) if isinstance(edit, ReplaceText) else (edit.heading, edit.content)
    if any(map(has_surrogates, written)):
        # Bytes that are not UTF-8: nobody can send them back.
        return False
    try:
        changes = edit.changes(place.text, place.note, {})
    except VaultbridgeError:
        return False
    return _changes_add_only_link(place, changes, dest, table, shown=shown)


def _changes_add_only_link(
    place: EditableNote, changes: tuple[Change, ...], dest: str, table: FileTable, *, shown: str | None
) -> bool:
    after = parse(apply_changes(place.text, changes))
    added = _find_added_link(place.note.links, after.links)
    if added is None:
        return False
    found = resolve(added.target, place.path, table)
    if not isinstance(found, Resolved) or found.path != dest or found.others or added.subpath or added.embed:
        return False
    if shown is not None and (added.display if added.display is not None else added.target) != shown:
        return False
    before = place.note
    return (
        [(tag.name, tag.line) for tag in before.tags] == [(tag.name, tag.line) for tag in after.tags]
        and [block.id for block in before.blocks] == [block.id for block in after.blocks]
        and len(before.tasks) == len(after.tasks)
        and len(before.callouts) == len(after.callouts)
        and len(before.footnotes) == len(after.footnotes)
        and len(before.headings) <= len(after.headings) <= len(before.headings) + 1
    )


def _find_added_link(before: tuple[Link, ...], after: tuple[Link, ...]) -> Link | None:
    """The one link that is new; None if there is none, or anything else differs."""
    if len(after) != len(before) + 1:
        return None
    at = next((n for n, (old, new) in enumerate(zip(before, after, strict=False)) if old.raw != new.raw), -1)
    at = at if at >= 0 else len(before)
    rest = (*after[:at], *after[at + 1 :])
    return after[at] if all(old.raw == new.raw for old, new in zip(before, rest, strict=True)) else None
