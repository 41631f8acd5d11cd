"""Builds the values of a note's blocks: headings, tasks, callouts, footnote definitions and block ids.

`blocks.scan` decides where each of them is; this module decides what it means. The fields of the Tasks plugin
follow a task's description. Like the plugin, we read them backwards from the end of the text until something
else appears; tags and a block id may be between them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from vaultbridge.markdown.blocks.markers import BLOCK_ID, ITEM, QUOTE, Container
from vaultbridge.markdown.inline.scan import InlineResult
from vaultbridge.markdown.model import Block, Callout, Footnote, Heading, Problem, Task

TRAILING_FIELDS = 20
"""The most fields read from one task, the same as in the plugin; there are twelve kinds."""

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


def split_task_fields(text: str) -> tuple[str, dict[str, str]]:
    """Split a task's text into its description and its fields, in the order of the text. Priorities are
    given by name."""
    if text.isascii() or not _SIGN.search(text):
        return text, {}
    rest = text
    passed: list[str] = []  # tags between the fields belong to the description
    block = _TRAILING_BLOCK_ID.search(rest)
    if block is not None:
        passed.append(rest[block.start() :].strip())
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
        passed.append(tag[1])
        rest = rest[: tag.start()].rstrip()
    if not fields:
        return text, {}
    return " ".join([rest, *reversed(passed)]).strip(), dict(reversed(fields.items()))


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


PROBLEMS: Final = 100
"""The most problems reported for one note. Nobody would read more."""

_NAMED_FROM_BELOW: Final = frozenset(("list", "quote", "table", "code", "math", "html"))
"""The blocks that cannot contain their own id: an id alone on a line names such a block above it."""


class BlockOutput:
    """Collects the values of one note's blocks."""

    def __init__(self, text: str, starts: list[int], found: InlineResult) -> None:
        self.headings: list[Heading] = []
        self.tasks: list[Task] = []
        self.blocks: list[Block] = []
        self.callouts: list[Callout] = []
        self.problems: list[Problem] = []
        self._text = text
        self._starts = starts
        self._footnotes = found.footnotes
        self._is_too_deep = False

    def _line_of(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def add_heading(self, level: int, text: str, start: int, end: int) -> None:
        self.headings.append(Heading(level, text, self._line_of(start), start, end))

    def add_task(self, line: str, base: int, status_at: int, after: int, depth: int) -> None:
        text = line[after:].strip()
        description, fields = split_task_fields(text)
        at = base + status_at
        self.tasks.append(
            Task(
                self._line_of(at),
                line[status_at],
                text,
                description,
                at,
                at + 1,
                depth,
                len(self.headings) - 1,
                fields,
            )
        )

    def report_too_deep(self, start: int, deepest: int) -> None:
        if self._is_too_deep:
            return
        self._is_too_deep = True
        line = self._line_of(start)
        message = (
            f"Line {line}: quotes and lists nest deeper than {deepest} levels; the rest is read as text."
        )
        self.problems.append(Problem("too-deep", message, line, start, start + 1))

    def add_container(self, container: Container, above: list[Container], end: int) -> None:
        """Add what needs the container's whole span: its callout or footnote, and the ids that name it."""
        if container.title:
            kind, text, fold = container.title
            line = self._line_of(container.start)
            if container.kind == QUOTE:
                depth = 1 + sum(1 for outer in above if outer.kind == QUOTE)
                self.callouts.append(Callout(kind, text, fold, line, depth, container.start, end))
            else:
                self._footnotes.append(Footnote("definition", kind, text, line, container.start, end))
        for name, id_start, id_end in container.ids or ():
            self._add_block(name, container.start, max(end, id_end), id_start)

    def add_block_id(
        self,
        start: int,
        last: int,
        end: int,
        container: Container,
        containers: list[Container],
        lazy_below: int,
    ) -> None:
        """Add the id at the end of a paragraph, if there is one. `last` is where its last line starts."""
        line = self._text[last:end]
        match = BLOCK_ID.search(line)
        if match is None:
            return
        name, id_start, id_end = match[1], last + match.start(), last + match.end(1)
        alone = not line[: match.start()].strip(" \t")
        if alone and lazy_below >= 0:
            # Markdown makes a line directly below a quote or list part of it, so the id names all of it.
            owner = containers[lazy_below]
            self._add_block(name, owner.list_start if owner.kind == ITEM else owner.start, id_end, id_start)
        elif alone and last <= start and container.last_kind in _NAMED_FROM_BELOW:
            self._add_block(name, container.last_start, id_end, id_start)
        elif containers and containers[-1].kind in (ITEM, QUOTE):
            at = len(containers) - 1
            while containers[at].kind == QUOTE and at > 0 and containers[at - 1].kind == QUOTE:
                at -= 1
            owner = containers[at]
            if owner.ids is None:
                owner.ids = []
            owner.ids.append((name, id_start, id_end))
        else:
            self._add_block(name, start, id_end, id_start)

    def _add_block(self, name: str, start: int, end: int, id_start: int) -> None:
        self.blocks.append(Block(name, self._line_of(id_start), start, end, id_start))

    def finish(self) -> None:
        """Sort the blocks by their ids (a container's are known only when it ends) and report duplicates."""
        self.blocks.sort(key=lambda block: block.id_start)
        seen: set[str] = set()
        for block in self.blocks:
            key = block.id.lower()
            if key in seen and len(self.problems) < PROBLEMS:
                message = f"Line {block.line}: the block id ^{block.id} is already used above."
                start, end = block.id_start, block.id_start + 1 + len(block.id)
                self.problems.append(Problem("duplicate-block-id", message, block.line, start, end))
            seen.add(key)
