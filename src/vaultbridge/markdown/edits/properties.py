"""Edits a note's properties by line: only the lines of the named property change (docs/obsidian.md 5).

Comments, quoting, the order of keys and every other byte are preserved. A block that cannot be read is never
rewritten. Each edit is checked before it is returned: the result is parsed again, and the edit is refused
unless exactly the named property has changed, and to the requested value.

Keys are top-level and match as in the app: exactly, else ignoring case. Lists are edited item by item in the
style they are written in: a block list loses or gains whole lines, a one-line list its items with their
commas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.markdown.edits.change import Change, apply_changes, line_end_near, start_of_next_line
from vaultbridge.markdown.edits.yaml import (
    Item,
    PropertyEntry,
    check_value,
    find_entries,
    write_block,
    write_flow,
    write_key,
    write_string,
)
from vaultbridge.markdown.model import Note, Properties
from vaultbridge.markdown.parse import parse, read_frontmatter
from vaultbridge.markdown.text import split_with_starts

_PLACEHOLDER: Final = re.compile(r"\{\{[^{}\r\n]*\}\}")
"""What a template has in place of a value: it need not be YAML until the template is used."""


def describe_damage(before: str, after: str) -> str:
    """Say why the properties of a note can no longer be read after a change of its text; "" if they can, or
    could not be read before. `before` is "" for a new note. Removing properties is no damage."""
    if before.startswith("---"):
        old = read_frontmatter(before, split_with_starts(before)[1])
        if old.problems:
            return ""
        block = old.properties
    elif after.startswith("---"):
        block = None
    else:
        return ""
    if block is not None and after.startswith(before[: block.end]):
        return ""
    after = _PLACEHOLDER.sub("x", after)
    new = read_frontmatter(after, split_with_starts(after)[1])
    for problem in new.problems:
        # A new text may begin with a line across the page.
        if problem.code != "unclosed-properties" or block is not None:
            return problem.message
    if block is None:
        return ""
    old_block = _PLACEHOLDER.sub("x", before[block.body_start : block.end])
    lines = _PLACEHOLDER.sub("x", before[block.body_start : block.body_end]).strip()
    if new.properties is None:
        if lines and after.count(lines) > before.count(lines, block.end):
            return "They are properties only if the note begins with '---', and would become text."
        return ""
    last = lines.rpartition("\n")[2]
    ending = old_block[old_block.rindex(last) :]
    kept = after[: new.properties.end]
    if last and last not in kept and after.count(ending, len(kept)) > before.count(ending, block.end):
        return f"A line of '---' ends them, and {last!r} would become text."
    return ""


def edit_list_items(
    text: str, entry: PropertyEntry, kept: Sequence[bool], added: Sequence[tuple[int, Any]]
) -> tuple[Change, ...]:
    """Remove and add items. `kept` says for each item whether it stays. `added` are the new values, each with
    the number of old items before it, in their final order."""
    if not any(kept):
        values = [value for _, value in added]
        return _replace_all_items(text, entry, values)
    if entry.shape == "flow-list":
        return _edit_flow_list(entry, kept, added)
    return _edit_block_list(text, entry, kept, added)


def _replace_all_items(text: str, entry: PropertyEntry, values: list[Any]) -> tuple[Change, ...]:
    if entry.shape == "flow-list":
        return (Change(entry.start, entry.end, write_flow(values)),)
    if not values:
        removed = Change(entry.items[0].line_start, entry.next_line, "")
        return (Change(entry.after_colon, entry.after_colon, " []"), removed)
    first = entry.items[0]
    lines = "".join(_item_line(text, first, value) for value in values)
    return (Change(first.line_start, entry.next_line, lines),)


def _edit_flow_list(
    entry: PropertyEntry, kept: Sequence[bool], added: Sequence[tuple[int, Any]]
) -> tuple[Change, ...]:
    items = entry.items
    changes: list[Change] = []
    first_kept = list(kept).index(True)
    for index, item in enumerate(items):
        if kept[index]:
            continue
        # Delete the item with its comma: the one before it, or for the first items the one after.
        if index > first_kept:
            changes.append(Change(items[index - 1].end, item.end, ""))
        else:
            changes.append(Change(item.start, items[index + 1].start, ""))
    for before, value in added:
        if before > first_kept:
            changes.append(Change(items[before - 1].end, items[before - 1].end, f", {write_flow(value)}"))
        else:
            changes.append(Change(items[first_kept].start, items[first_kept].start, f"{write_flow(value)}, "))
    return tuple(changes)


def _edit_block_list(
    text: str, entry: PropertyEntry, kept: Sequence[bool], added: Sequence[tuple[int, Any]]
) -> tuple[Change, ...]:
    changes: list[Change] = []
    for index, item in enumerate(entry.items):
        if not kept[index]:
            changes.append(Change(item.line_start, start_of_next_line(text, item.end), ""))
    for before, value in added:
        place = start_of_next_line(text, entry.items[before - 1].end) if before else entry.items[0].line_start
        changes.append(Change(place, place, _item_line(text, entry.items[0], value)))
    return tuple(changes)


def _item_line(text: str, like: Item, value: Any) -> str:
    """Return the line of a new item, indented and spaced like an old one."""
    indent = text[like.line_start : like.dash]
    blanks = text[like.dash + 1 : like.start]
    if not blanks or blanks.strip(" "):
        blanks = " "
    return f"{indent}-{blanks}{write_flow(value, inside=False)}{line_end_near(text, like.start)}"


SameItem = Callable[[Any, Any], bool]


def find_key(properties: Properties | None, name: str) -> str | None:
    """Return the key as the note spells it, for a name in any case; None if there is none."""
    keys = properties.values if properties else {}
    if name in keys:
        return name
    return next((key for key in keys if key.lower() == name.lower()), None)


def set_property(text: str, note: Note, name: str, value: Any) -> tuple[Change, ...]:
    """Set a property; create it, and the block, if missing. A list keeps its style, and items that stay keep
    their lines; a quoted string stays quoted. No change if the property already has the value."""
    wanted = check_value(value)
    properties = _read_editable(note)
    if properties is None:
        return _verify(text, note, _make_block(text, name, wanted), {name: wanted})
    key = find_key(properties, name)
    if key is None:
        changes: tuple[Change, ...] = (_make_entry(text, properties, name, wanted),)
        key = name
    elif _same(properties.values[key], wanted):
        return ()
    else:
        changes = _set_entry(text, _find_entry(text, properties, key), properties.values[key], wanted)
    return _verify(text, note, changes, {**properties.values, key: wanted})


def remove_property(text: str, note: Note, name: str) -> tuple[Change, ...]:
    """Remove a property and its lines, but not the comments above it. The block is removed with its last
    property, as in the app, unless it has comments."""
    properties, key = _require_property(note, name)
    entry = _find_entry(text, properties, key)
    left = {other: value for other, value in properties.values.items() if other != key}
    body = text[properties.body_start : entry.line_start] + text[entry.next_line : properties.body_end]
    if not left and not body.strip():
        without = text[properties.end :]
        if parse(without).properties is None:
            return (Change(0, properties.end, ""),)
    return _verify(text, note, (Change(entry.line_start, entry.next_line, ""),), left)


def rename_property(text: str, note: Note, name: str, new: str) -> tuple[Change, ...]:
    """Rename a property: only the characters of the key change. Refused if the note already has the new
    key."""
    properties, key = _require_property(note, name)
    taken = find_key(properties, new)
    if taken is not None and taken != key:
        raise EditRefused(f"The note already has a property {taken!r}.")
    if new == key:
        return ()
    _check_name(new)
    entry = _find_entry(text, properties, key)
    renamed = {new if other == key else other: value for other, value in properties.values.items()}
    return _verify(text, note, (Change(entry.key_start, entry.key_end, write_key(new)),), renamed)


def add_to_list(
    text: str, note: Note, name: str, value: Any, *, same: SameItem | None = None
) -> tuple[Change, ...]:
    """Add an item at the end of a list. A single value becomes the first item of a list, an empty or missing
    property a list of one. No change if an item equals the value (by `same`, if given)."""
    wanted = check_value(value)
    properties = _read_editable(note)
    key = find_key(properties, name)
    if properties is None or key is None:
        return set_property(text, note, name, [wanted])
    present = properties.values[key]
    if isinstance(present, dict):
        raise EditRefused(f"The property {key!r} is a map, not a list.")
    old = present if isinstance(present, list) else [] if present is None else [present]
    if any((same or _same)(item, wanted) for item in old):
        return ()
    new = [*old, wanted]
    entry = _find_entry(text, properties, key)
    if entry.items:
        changes = edit_list_items(text, entry, [True] * len(old), [(len(old), wanted)])
    else:
        changes = _set_entry(text, entry, present, new)
    return _verify(text, note, changes, {**properties.values, key: new})


def remove_from_list(
    text: str, note: Note, name: str, value: Any, *, same: SameItem | None = None
) -> tuple[Change, ...]:
    """Remove every item that equals the value; the list stays, even if empty. Refused if no item does."""
    properties, key = _require_property(note, name)
    present = properties.values[key]
    old = present if isinstance(present, list) else [present]
    kept = [not (same or _same)(item, value) for item in old]
    if all(kept):
        raise EditRefused(f"The property {key!r} does not contain {value!r}.")
    new = [item for item, stays in zip(old, kept, strict=True) if stays]
    entry = _find_entry(text, properties, key)
    if entry.items:
        changes = edit_list_items(text, entry, kept, [])
    else:
        changes = _set_entry(text, entry, present, new)
    return _verify(text, note, changes, {**properties.values, key: new})


def replace_in_list(
    text: str, note: Note, name: str, new: Callable[[Any], Any], *, same: SameItem | None = None
) -> tuple[Change, ...]:
    """Replace each item by what `new` returns for it; a changed item that would be a duplicate is removed. A
    single value is treated as a list of one and stays single."""
    properties, key = _require_property(note, name)
    present = properties.values[key]
    if not isinstance(present, list):
        return set_property(text, note, key, new(present))
    equal = same or _same
    unchanged = [item for item in present if _same(new(item), item)]
    wanted: list[Any] = []
    for item in present:
        becomes = new(item)
        if _same(becomes, item):
            wanted.append(item)
        elif not any(equal(becomes, other) for other in (*unchanged, *wanted)):
            wanted.append(becomes)
    return set_property(text, note, key, wanted)


def _read_editable(note: Note) -> Properties | None:
    """Return the block, or None if there is none and one may be created."""
    for problem in note.problems:
        if problem.code == "unclosed-properties":
            raise EditRefused("The note begins with '---', but no line '---' closes its properties.")
    properties = note.properties
    if properties is not None and not properties.valid:
        reason = next((p.message for p in note.problems if p.code in ("bad-yaml", "duplicate-key")), "")
        raise EditRefused(
            f"The note's properties cannot be read, so they are not rewritten. {reason}".rstrip(),
            hint="Correct them in the note's text first.",
        )
    return properties


def _require_property(note: Note, name: str) -> tuple[Properties, str]:
    properties = _read_editable(note)
    key = find_key(properties, name)
    if properties is None or key is None:
        there = ", ".join(properties.values) if properties else ""
        raise EditRefused(
            f"The note has no property {name!r}.",
            hint=f"It has: {there}." if there else "It has no properties.",
        )
    return properties, key


def _find_entry(text: str, properties: Properties, key: str) -> PropertyEntry:
    for entry in find_entries(text, properties):
        if entry.key == key:
            return entry
    raise EditRefused(f"The property {key!r} is written in a form that cannot be edited.")


def _check_name(name: str) -> None:
    if not name.strip() or any(c in name for c in "\r\n\0"):
        raise InvalidArgument(
            f"The name of a property is {name!r}.", argument="name", hint="It should be one line of text."
        )


def _make_block(text: str, name: str, value: Any) -> tuple[Change, ...]:
    end = line_end_near(text, 0)
    return (Change(0, 0, f"---{end}{_write_entry(name, value, '', end)}---{end}"),)


def _make_entry(text: str, properties: Properties, name: str, value: Any) -> Change:
    """Add a property at the end of the block, indented like the other keys."""
    entries = find_entries(text, properties)
    indent = " " * entries[-1].column if entries else ""
    at = properties.body_end
    return Change(at, at, _write_entry(name, value, indent, line_end_near(text, at)))


def _write_entry(name: str, value: Any, indent: str, line_end: str) -> str:
    _check_name(name)
    lines = [f"{indent}{write_key(name)}:{_write_beside_key(value)}"]
    if _is_written_below(value):
        lines += write_block(value, indent + "  ")
    return "".join(line + line_end for line in lines)


def _is_written_below(value: Any) -> bool:
    return isinstance(value, list | dict) and bool(value)


def _write_beside_key(value: Any) -> str:
    """Return what follows the colon on the key's line; the app leaves an empty property empty."""
    if value is None or _is_written_below(value):
        return ""
    return f" {write_flow(value, inside=False)}"


def _set_entry(text: str, entry: PropertyEntry, present: Any, wanted: Any) -> tuple[Change, ...]:
    if isinstance(wanted, list) and isinstance(present, list) and entry.items:
        return edit_list_items(text, entry, *_plan_items(present, wanted))
    if entry.shape == "flow-list" and isinstance(wanted, list):
        return (Change(entry.start, entry.end, write_flow(wanted)),)
    if entry.shape == "flow-map" and isinstance(wanted, dict):
        return (Change(entry.start, entry.end, write_flow(wanted)),)
    if isinstance(wanted, str) and entry.quote:
        return (Change(entry.start, entry.end, write_string(wanted, inside=False, quote=entry.quote)),)
    return tuple(_replace_value(text, entry, wanted))


def _replace_value(text: str, entry: PropertyEntry, wanted: Any) -> Iterator[Change]:
    """Write a value of another kind. A comment on the key's line stays."""
    beside = _write_beside_key(wanted)
    if entry.on_key_line:
        yield Change(entry.after_colon, max(entry.end, entry.after_colon), beside)
        below = entry.next_line
    else:
        if beside:
            yield Change(entry.after_colon, entry.after_colon, beside)
        below = start_of_next_line(text, entry.after_colon)
        if not _is_written_below(wanted):
            yield Change(below, entry.next_line, "")
            return
    if _is_written_below(wanted):
        line_end = line_end_near(text, entry.next_line)
        lines = "".join(line + line_end for line in write_block(wanted, " " * entry.column + "  "))
        yield Change(below, entry.next_line, lines)


def _plan_items(present: list[Any], wanted: list[Any]) -> tuple[list[bool], list[tuple[int, Any]]]:
    """Return which old items stay, and each new one with the number of old items before it."""
    # Imported here because few edits replace a whole list.
    import difflib

    kept = [False] * len(present)
    added: list[tuple[int, Any]] = []
    old, new = list(map(_identity, present)), list(map(_identity, wanted))
    for tag, a1, a2, b1, b2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            kept[a1:a2] = [True] * (a2 - a1)
        else:
            added += [(a1 if tag == "insert" else a2, value) for value in wanted[b1:b2]]
    return kept, added


def _identity(value: Any) -> str:
    """Return a key that is equal for values that are the same in YAML: 1, 1.0, true and "1" all differ."""
    return repr(value)


def _same(value: Any, other: Any) -> bool:
    return _identity(value) == _identity(other)


def _verify(text: str, note: Note, changes: Sequence[Change], expected: dict[str, Any]) -> tuple[Change, ...]:
    """Return the changes if the result reads as expected and the body is untouched; else raise
    EditRefused."""
    result = apply_changes(text, changes)
    after = parse(result).properties
    body = text[note.properties.end if note.properties else 0 :]
    if (
        after is None
        or not after.valid
        or {key: _identity(value) for key, value in after.values.items()}
        != {key: _identity(value) for key, value in expected.items()}
        or result[after.end :] != body
    ):
        raise EditRefused(
            "The properties are written in a form that this edit would damage.",
            hint="Edit them in the note's text.",
        )
    return tuple(changes)
