"""Rows of an answer, within what a caller asked for and what a conversation can take.

Every list ends with how to go on, so that a caller never takes a part for the whole.

What a tool gives back: text, pictures, files, and for tools that change something the same as data.

A dialect turns these into its own wire form. A payload stands here once: `data` accompanies the text only
where the text is that very JSON, because one version of a protocol shows the text and another the data.

What the engine did, as the data of a changing tool's answer: short when little was done.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from vaultbridge.errors import InvalidArgument
from vaultbridge.markdown.text import replace_surrogates

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.engine.outcome import ChangedFile, Outcome
    from vaultbridge.tools.base.tool import VaultContext


class TextPart(Struct, frozen=True):
    text: str


class ImagePart(Struct, frozen=True):
    """A picture to look at. `path` is where it lies in its vault."""

    data: bytes
    mime_type: str
    vault: str
    path: str


class FilePart(Struct, frozen=True):
    """Any other file, as bytes. A dialect gives it the address under which it also offers the file."""

    data: bytes
    mime_type: str
    vault: str
    path: str


Content: TypeAlias = TextPart | ImagePart | FilePart


class Answer(Struct, frozen=True):
    """`data` is the structured form, None for tools that answer in plain text. `changed`: the vault is not
    what it was before."""

    content: tuple[Content, ...]
    data: dict[str, Any] | None = None
    changed: bool = False

    @property
    def text(self) -> str:
        """All texts, for dialects and people that have no use for the rest."""
        return "\n".join(part.text for part in self.content if isinstance(part, TextPart))


def answer_text(text: str) -> Answer:
    """The answer of a tool that only looked."""
    return Answer((TextPart(text),))


def answer_data(data: dict[str, Any], *, changed: bool = True) -> Answer:
    """The answer of a tool that changed something: seed 004's envelope, as text and as data."""
    envelope = {"success": True, "data": data}
    return Answer((TextPart(msgspec.json.encode(envelope).decode()),), envelope, changed)


FILES_LISTED: Final = 40
"""How many changed files an answer names; a rename across a vault may touch thousands."""

NOTICES_LISTED: Final = 10
"""How many notices an answer repeats."""

CHANGED_SCHEMA: Final[dict[str, Any]] = {"type": "object"}
"""The output schema of every tool that always answers with the envelope. What the envelope holds is the same
everywhere and is explained once, in `docs/tools.md`."""


def describe_trash(engine: Engine, outcome: Outcome) -> dict[str, Any]:
    """Where the deleted files went, for the person who may want them back; nothing when none were."""
    if outcome.dry_run or not any(file.change == "deleted" for file in outcome.files):
        return {}
    from vaultbridge.vault.write.trash import FALLBACK_NOTICE

    option = engine.settings.trash_option
    if option == "none":
        return {"went_to": "nowhere: removed for good, as the vault's settings say; undo brings it back"}
    if option == "local" or any(notice.endswith(FALLBACK_NOTICE) for notice in outcome.notices):
        return {"went_to": ".trash in the vault"}
    return {"went_to": "the system's trash"}


def answer_outcome(outcome: Outcome, path: str = "", /, **first: Any) -> Answer:
    """`path` is the file that the call was about, `first` what to tell before the rest."""
    return answer_data(
        {**first, **describe_outcome(outcome, path)}, changed=bool(outcome.files) and not outcome.dry_run
    )


def describe_outcome(outcome: Outcome, path: str = "") -> dict[str, Any]:
    """The hash of the file at `path`, the other files, the number to undo by, the diff of a dry run."""
    data: dict[str, Any] = {}
    own = next((file for file in outcome.files if file.path == path), None)
    if own is not None and own.hash:
        data["hash"] = own.hash
    others = [file for file in outcome.files if file is not own]
    if others:
        data["files"] = [_describe_file(file) for file in others[:FILES_LISTED]]
        if len(others) > FILES_LISTED:
            data["more_files"] = len(others) - FILES_LISTED
    if own is not None and own.links:
        data["links"] = own.links
    if not outcome.files:
        data["unchanged"] = True
    if outcome.change_id:
        data["change"] = int(outcome.change_id)
    if outcome.notices:
        data["notices"] = list(outcome.notices[:NOTICES_LISTED])
    if outcome.dry_run:
        data["dry_run"] = True
        data["diff"] = outcome.diff
    return data


def _describe_file(file: ChangedFile) -> dict[str, Any]:
    shown: dict[str, Any] = {"path": file.path, "change": file.change}
    if file.was:
        shown["was"] = file.was
    if file.links:
        shown["links"] = file.links
    elif file.hash:
        shown["hash"] = file.hash
    return shown


PAGE_CHARS: Final = 30_000
"""The most that one list fills, about 8,000 tokens: a third of what assistants accept as one result. Rows
that do not fit are what the next page begins with."""

ROW_CHARS: Final = 2_000
"""The longest row: a longer one is cut, because a row is for finding, not for reading."""

LOOK_SECONDS: Final = 0.02
"""How often a question looks whether a first build is done: another process may be the one that builds."""


def render_page(
    rows: Iterable[str],
    *,
    total: int,
    offset: int,
    what: str,
    head: str = "",
    notes: Sequence[str] = (),
    row_chars: int = ROW_CHARS,
) -> str:
    """`rows` are those from `offset` on, of `total`. `what` names them, in the plural; `head` stands before
    them. `notes` come first of all: whoever has read the rows may not read on."""
    shown: list[str] = []
    length = 0
    for row in rows:
        text = replace_surrogates(row)
        text = text if len(text) <= row_chars else text[: row_chars - 1] + "…"
        if shown and length + len(text) > PAGE_CHARS:
            break
        shown.append(text)
        length += len(text) + 1
    lines = [*notes, *([head] if head else [])]
    lines += shown
    lines.append(_render_ending(len(shown), total, offset, what))
    return "\n".join(lines)


def _render_ending(shown: int, total: int, offset: int, what: str) -> str:
    if not total:
        return f"({what}: none)"
    last = offset + shown
    if not shown:
        return f"({what}: {total}, none from offset {offset} on)"
    if last < total:
        return f"({what} {offset + 1}-{last} of {total}; go on with offset={last})"
    return f"({what}: {total})" if not offset else f"({what} {offset + 1}-{last} of {total}; that is all)"


def slice_rows(rows: Sequence[str], *, offset: int, limit: int) -> Sequence[str]:
    return rows[offset : offset + limit]


def wait_for_index(context: VaultContext) -> list[str]:
    """The line that tells of an answer from an index that is not complete yet; none when it is. To be made
    before the question is asked: see `status_to_ask`. Waits for a first build as long as the caller may."""
    status = context.engine.ask.status_to_ask()
    if not status.complete and context.tool_context.index_wait:
        deadline = time.monotonic() + context.tool_context.index_wait
        while not context.engine.ask.status.complete and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
        status = context.engine.ask.status_to_ask()
    if status.complete:
        return []
    return [describe_incomplete_index(status.done, status.total)]


def describe_incomplete_index(done: int, total: int) -> str:
    """The first line of an answer from an index that is not complete yet."""
    return f"The index is still being built: {done} of {total} notes so far; these results are incomplete."


def mark_continuation(page: str, next_start: int) -> str:
    """A page of a longer text, with how to go on. Nothing stands between the two, so that pages without these
    closing marks, one after the other, are the text: a passage that somebody copies from them is found."""
    return f"{page}[cut; go on with start={next_start}]"


def cut_text(text: str, *, start: int, max_chars: int) -> str:
    """A stretch of one long text, at whole lines where possible, that ends with how to go on."""
    if start > len(text):
        raise InvalidArgument(
            f"start is {start}; the text has {len(text)} characters.",
            argument="start",
            hint="Give the number that the former answer ended with.",
        )
    stop = min(len(text), start + max_chars)
    if stop == len(text):
        return replace_surrogates(text[start:])
    line_break = text.rfind("\n", start, stop)
    stop = line_break + 1 if line_break >= start else stop
    return mark_continuation(replace_surrogates(text[start:stop]), stop)
