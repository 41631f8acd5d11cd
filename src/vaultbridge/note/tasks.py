"""A task's text: its description and the fields of the Tasks plugin at its end.

Fields trail the description: they are read from the end of the text backwards until something else stands
there, as the plugin does; tags and a block id may stand between them. What is a task at all is the block
scanner's rule.
"""

from __future__ import annotations

import re

TRAILING_FIELDS = 20
"""The most fields read from one task, as many as the plugin looks for: there are twelve kinds."""

_DATES = {
    "➕": "created",
    "🛫": "start",
    "⏳": "scheduled",
    "⌛": "scheduled",
    "📅": "due",
    "📆": "due",
    "🗓": "due",
}
_DATES |= {"✅": "done", "❌": "cancelled"}
_PRIORITIES = {"🔺": "highest", "⏫": "high", "🔼": "medium", "🔽": "low", "⏬": "lowest"}
_OTHER = {"🔁": "recurrence", "🆔": "id", "⛔": "depends_on"}
SIGNS = frozenset("".join((*_DATES, *_PRIORITIES, *_OTHER)))

_SELECTOR = "\ufe0f?"
_TRAILING = re.compile(
    rf"(?P<date>[{''.join(_DATES)}]){_SELECTOR}[ \t]*(?P<day>\d{{4}}-\d\d-\d\d)\Z"
    rf"|(?P<priority>[{''.join(_PRIORITIES)}]){_SELECTOR}\Z"
    rf"|🔁{_SELECTOR}[ \t]*(?P<recurrence>[A-Za-z0-9, !]+)\Z"
    rf"|🆔{_SELECTOR}[ \t]*(?P<id>[A-Za-z0-9_-]+)\Z"
    rf"|⛔{_SELECTOR}[ \t]*(?P<depends_on>[A-Za-z0-9_-]+(?:[ \t]*,[ \t]*[A-Za-z0-9_-]+)*)\Z"
)
_SIGN = re.compile(f"[{''.join(sorted(SIGNS))}]")
_TRAILING_TAG = re.compile(r"(?:\A|[ \t])(#[^\s!@#$%^&*(),.?\":{}|<>]+)\Z")
_TRAILING_BLOCK_ID = re.compile(r"(?:\A|[ \t])\^[A-Za-z0-9-]+\Z")


def task_fields(text: str) -> tuple[str, dict[str, str]]:
    """The description and the fields, in the order of the text. Priorities are given by name."""
    if text.isascii() or not _SIGN.search(text):
        return text, {}
    rest = text
    kept: list[str] = []  # tags between the fields belong to the description
    block = _TRAILING_BLOCK_ID.search(rest)
    if block is not None:
        kept.append(rest[block.start() :].strip())
        rest = rest[: block.start()].rstrip()
    fields: dict[str, str] = {}
    for _ in range(TRAILING_FIELDS):
        match = _last_field(rest)
        if match is not None:
            name, value = match[1]
            fields.setdefault(name, value)
            rest = rest[: match[0]].rstrip()
            continue
        tag = _TRAILING_TAG.search(rest, max(0, len(rest) - 200))
        if tag is None:
            break
        kept.append(tag[1])
        rest = rest[: tag.start()].rstrip()
    if not fields:
        return text, {}
    return " ".join([rest, *reversed(kept)]).strip(), dict(reversed(fields.items()))


def _last_field(text: str) -> tuple[int, tuple[str, str]] | None:
    at = max(map(text.rfind, SIGNS))
    if at < 0:
        return None
    match = _TRAILING.match(text, at)
    if match is None:
        return None
    if match["date"]:
        return at, (_DATES[match["date"]], match["day"])
    if match["priority"]:
        return at, ("priority", _PRIORITIES[match["priority"]])
    kind = str(match.lastgroup)
    return at, (kind, match[kind].strip())
