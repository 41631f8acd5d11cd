"""Changes of JSON text that touch only the entries they name: set or remove members, delete entries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from vaultbridge.note.change import Change
from vaultbridge.note.json_scan import JsonArray, JsonObject

FieldValue: TypeAlias = str | int | float | None


def json_text(value: object) -> str:
    """Without blanks and with plain Unicode, as the app writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def updated_members(entry: JsonObject, fields: Mapping[str, FieldValue]) -> tuple[Change, ...]:
    """Set each key to its value: in place where it stands, else after the last member. None removes it."""
    changes: list[Change] = []
    added: list[str] = []
    removed: list[int] = []
    for key, value in fields.items():
        place = next((n for n, member in enumerate(entry.members) if member.key == key), -1)
        if place < 0:
            added.extend([] if value is None else [f",{json_text(key)}:{json_text(value)}"])
        elif value is None:
            removed.append(place)
        else:
            old = entry.members[place].value
            changes.append(Change(old.start, old.end, json_text(value)))
    spans = [(member.key_start, member.value.end) for member in entry.members]
    changes.extend(cut_entries(spans, removed, entry))
    if added:
        end = entry.members[-1].value.end
        changes.append(Change(end, end, "".join(added)))
    return tuple(changes)


def cut_entries(
    spans: Sequence[tuple[int, int]], places: Sequence[int], whole: JsonArray | JsonObject
) -> tuple[Change, ...]:
    """Delete entries with the comma that goes with each. Those before the first that stays go with what
    follows them, the others with what precedes them; so no two deletions overlap."""
    if not places:
        return ()
    going = set(places)
    staying = [place for place in range(len(spans)) if place not in going]
    if not staying:
        return (Change(whole.start + 1, whole.end - 1, ""),)
    return tuple(
        Change(spans[place][0], spans[place + 1][0], "")
        if place < staying[0]
        else Change(spans[place - 1][1], spans[place][1], "")
        for place in sorted(going)
    )
