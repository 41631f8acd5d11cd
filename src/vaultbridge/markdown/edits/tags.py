"""Edits a note's tags, in its properties and in its text (docs/obsidian.md 6).

This module decides which new names are valid tags; the parser decides which text is a tag. After an edit the
result is parsed again, and the edit is refused unless the tags are the expected ones. Tags are compared
ignoring case; `a/b` is a subtag of `a`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.markdown.edits.change import (
    Change,
    apply_changes,
    end_of_line,
    start_of_line,
    start_of_next_line,
)
from vaultbridge.markdown.edits.properties import add_to_list, find_key, remove_from_list, replace_in_list
from vaultbridge.markdown.model import Note, Tag
from vaultbridge.markdown.parse import parse

_FORBIDDEN: Final = re.compile(r"[\s\u2000-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\]")


def parse_tag_name(text: str) -> str:
    """Return the name of a tag without `#`. Raises InvalidArgument if the app would not read it as a tag."""
    name = text.strip().removeprefix("#")
    problem = ""
    if not name:
        problem = "is empty"
    elif found := _FORBIDDEN.search(name):
        problem = f"contains {found.group()!r}"
    elif name.isdigit():
        problem = "has only digits"
    elif name.startswith("/") or name.endswith("/") or "//" in name:
        problem = "has an empty part"
    if problem:
        raise InvalidArgument(
            f"The tag {text!r} {problem}.",
            argument="tag",
            hint="A tag is letters, digits, '-', '_' and '/', with at least one that is not a digit.",
        )
    return name


def add_tag(text: str, note: Note, tag: str) -> tuple[Change, ...]:
    """Add a tag to the properties, in the style of their list of tags; no change if the note already has the
    tag, there or in its text."""
    name = parse_tag_name(tag)
    if any(there.name.lower() == name.lower() for there in note.tags):
        return ()
    key = find_key(note.properties, "tags")
    value = note.properties.values[key] if note.properties and key else None
    if isinstance(value, str) and re.search(r"\s", value.strip()):
        raise EditRefused(
            f"The property {key!r} is {value!r}, which the app does not read as a tag.",
            hint="Turn it into a list first.",
        )
    return add_to_list(text, note, "tags", name, same=_same_tag)


def remove_tag(text: str, note: Note, tag: str) -> tuple[Change, ...]:
    """Remove a tag everywhere, but not its subtags. A line of the text that has nothing else is removed;
    elsewhere one of the blanks around the tag is removed too. Refused if the note does not have the tag."""
    name = tag.strip().removeprefix("#")
    found = [there for there in note.tags if there.name.lower() == name.lower()]
    body = [there for there in found if not there.in_properties]
    front = any(there.in_properties for there in found)
    if not body and not front:
        raise EditRefused(f"The note has no tag #{name}.", hint=_list_tags(note))
    changes: tuple[Change, ...] = ()
    if front:
        changes = remove_from_list(text, note, "tags", name, same=_same_tag)
    changes += tuple(_remove_from_text(text, body))
    gone = {(there.start, there.end) for there in body}
    expected = [
        there.name
        for there in note.tags
        if (there.start, there.end) not in gone
        and not (front and there.in_properties and there.name.lower() == name.lower())
    ]
    return _verify(text, changes, expected)


def rename_tag(text: str, note: Note, old: str, new: str) -> tuple[Change, ...]:
    """Rename every occurrence of a tag and of its subtags (`#a/b` follows `#a`). In the properties a
    duplicate is removed. No change if the note does not have the tag."""
    before, after = old.strip().removeprefix("#"), parse_tag_name(new)
    rename = _make_rename(before, after)
    changes: tuple[Change, ...] = ()
    front = [there for there in note.tags if there.in_properties]
    if any(rename(there.name) != there.name for there in front):
        changes = replace_in_list(
            text, note, "tags", lambda item: _rename_item(item, rename), same=_equal_items
        )
    for there in note.tags:
        if not there.in_properties and rename(there.name) != there.name:
            changes += (Change(there.start + 1, there.end, rename(there.name)),)
    if not changes:
        return ()
    _verify_body(text, changes, [rename(t.name) for t in note.tags if not t.in_properties])
    return changes


def _make_rename(old: str, new: str) -> Callable[[str], str]:
    key = old.lower()

    def rename(name: str) -> str:
        lowered = name.lower()
        if lowered == key:
            return new
        return new + name[len(old) :] if lowered.startswith(key + "/") else name

    return rename


def _rename_item(item: Any, rename: Callable[[str], str]) -> Any:
    if not isinstance(item, str):
        return item
    bare = item.strip()
    mark = "#" if bare.startswith("#") else ""
    renamed = rename(bare.removeprefix("#"))
    return item if renamed == bare.removeprefix("#") else mark + renamed


def _same_tag(item: Any, name: Any) -> bool:
    return isinstance(item, str) and item.strip().removeprefix("#").lower() == str(name).lower()


def _equal_items(item: Any, other: Any) -> bool:
    return isinstance(other, str) and _same_tag(item, other.strip().removeprefix("#"))


def _remove_from_text(text: str, tags: list[Tag]) -> list[Change]:
    changes: list[Change] = []
    by_line: dict[int, list[Tag]] = {}
    for tag in tags:
        by_line.setdefault(start_of_line(text, tag.start), []).append(tag)
    for line_start, line_tags in by_line.items():
        line_end = end_of_line(text, line_start)
        cuts: list[Change] = []
        for tag in line_tags:
            cuts.append(_delete_with_blank(text, tag, cuts[-1].end if cuts else line_start, line_end))
        within = [Change(cut.start - line_start, cut.end - line_start, "") for cut in cuts]
        if apply_changes(text[line_start:line_end], within).strip():
            changes += cuts
        else:
            changes.append(Change(line_start, start_of_next_line(text, line_start), ""))
    return changes


def _delete_with_blank(text: str, tag: Tag, floor: int, line_end: int) -> Change:
    """Delete the tag with the blank before it, or after it at the start of a line. What is before `floor` has
    already been deleted."""
    ends_here = tag.end == line_end or text[tag.end] in " \t"
    if tag.start > floor and text[tag.start - 1] in " \t" and ends_here:
        return Change(tag.start - 1, tag.end, "")
    if tag.start == start_of_line(text, tag.start) and tag.end < line_end and text[tag.end] in " \t":
        return Change(tag.start, tag.end + 1, "")
    return Change(tag.start, tag.end, "")


def _verify(text: str, changes: tuple[Change, ...], expected: list[str]) -> tuple[Change, ...]:
    after = parse(apply_changes(text, changes)).tags
    if [tag.name for tag in after] != expected:
        raise EditRefused("This edit would also change other tags.", hint="Edit the text.")
    return changes


def _verify_body(text: str, changes: tuple[Change, ...], expected: list[str]) -> None:
    after = parse(apply_changes(text, changes)).tags
    if [tag.name for tag in after if not tag.in_properties] != expected:
        raise EditRefused("This edit would also change other tags.", hint="Edit the text.")


def _list_tags(note: Note) -> str:
    names = list(dict.fromkeys(f"#{tag.name}" for tag in note.tags))
    return f"It has: {', '.join(names[:20])}." if names else "It has no tags."
