"""What a tool returns: text, pictures and files, and helpers that keep an answer within a readable size.

A tool that only reads answers with text. A tool that changes something answers with an envelope, as text and
as data: `data` accompanies the text only where the text is exactly that JSON, because one version of MCP
shows the text and another the data. Every list and every long text ends by saying how to continue, so that a
caller never takes a part for the whole. Turning an `Answer` into a message is a protocol's duty, not this
module's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from vaultbridge.errors import InvalidArgument
from vaultbridge.limits import HASH_DIGITS_SHOWN
from vaultbridge.markdown.text import replace_surrogates
from vaultbridge.vault.write.trash import FALLBACK_NOTICE

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.engine.outcome import ChangedFile, Outcome
    from vaultbridge.tools.base.tool import VaultContext


class TextPart(Struct, frozen=True):
    text: str


class ImagePart(Struct, frozen=True):
    """A picture for the assistant to look at; `path` is its place in the vault."""

    data: bytes
    mime_type: str
    vault: str
    path: str


class FilePart(Struct, frozen=True):
    """Any other file, as bytes. The protocol adds the URI under which it offers the same file."""

    data: bytes
    mime_type: str
    vault: str
    path: str


AnswerPart: TypeAlias = TextPart | ImagePart | FilePart


class Answer(Struct, frozen=True):
    """`data` is the structured form, or None for a tool that answers in plain text. `changed` says that the
    call changed the vault. `figure` returns what the text says as values, for a client that draws it; it is
    called right after the tool, or never."""

    content: tuple[AnswerPart, ...]
    data: dict[str, Any] | None = None
    changed: bool = False
    figure: Callable[[], dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        """Only the text parts."""
        return "\n".join(part.text for part in self.content if isinstance(part, TextPart))


def answer_text(text: str, figure: Callable[[], dict[str, Any]] | None = None) -> Answer:
    """The answer of a tool that only read."""
    return Answer((TextPart(text),), figure=figure)


def answer_data(data: dict[str, Any], *, changed: bool = True) -> Answer:
    """The answer of a tool that changed something: the envelope of the stdio contract
    (docs/protocols/mcp-stdio.md), as text and as data."""
    envelope = {"success": True, "data": data}
    return Answer((TextPart(msgspec.json.encode(envelope).decode()),), envelope, changed)


def show_hash(hash_: str) -> str:
    return hash_[:HASH_DIGITS_SHOWN]


FILES_LISTED: Final = 10
"""How many changed files an answer names; a move may touch thousands, and history names them all."""

HASHES_GIVEN: Final = 3
"""With more changed files, none comes with its hash: nobody goes on to edit them one by one."""

NOTICES_LISTED: Final = 10
"""How many notices an answer includes."""


def describe_trash(engine: Engine, outcome: Outcome) -> dict[str, Any]:
    """Where deleted files went, for a person who may want them back; empty if none were deleted."""
    if outcome.dry_run or not any(file.change == "deleted" for file in outcome.files):
        return {}
    option = engine.settings.trash_option
    if option == "none":
        return {"went_to": "nowhere: deleted permanently, as the vault's settings say; undo restores it"}
    if option == "local" or any(notice.endswith(FALLBACK_NOTICE) for notice in outcome.notices):
        return {"went_to": ".trash in the vault"}
    return {"went_to": "the system's trash"}


def answer_outcome(outcome: Outcome, path: str = "", /, **first: Any) -> Answer:
    """The answer for an outcome. `path` is the file the call was about; `first` comes before the rest."""
    return answer_data(
        {**first, **describe_outcome(outcome, path)}, changed=bool(outcome.files) and not outcome.dry_run
    )


def describe_outcome(outcome: Outcome, path: str = "") -> dict[str, Any]:
    """The new hash of the file at `path`, the other changed files, the change's number, and the diff of a dry
    run."""
    data: dict[str, Any] = {}
    own = next((file for file in outcome.files if file.path == path), None)
    if own is not None and own.hash:
        data["hash"] = show_hash(own.hash)
    others = [file for file in outcome.files if file is not own]
    if others:
        hashed = len(others) <= HASHES_GIVEN
        data["files"] = [_describe_file(file, hashed=hashed) for file in others[:FILES_LISTED]]
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


def _describe_file(file: ChangedFile, *, hashed: bool) -> dict[str, Any]:
    """A file whose text changed is the rule and needs no word for it; `was` says that it moved."""
    entry: dict[str, Any] = {"path": file.path}
    if file.was:
        entry["was"] = file.was
    elif file.change != "changed":
        entry["change"] = file.change
    if file.links:
        entry["links"] = file.links
    elif file.hash and hashed:
        entry["hash"] = show_hash(file.hash)
    return entry


PAGE_CHARS: Final = 30_000
"""The longest page of a list, about 8,000 tokens: a third of what assistants accept as one result. Rows that
do not fit begin the next page."""

ENDING_CHARS: Final = 100
"""Room for the last line of a page: the longest name of what is listed, and numbers of seven digits."""

ROW_CHARS: Final = 2_000
"""The longest row. A longer one is cut, because rows are for finding, not for reading."""

POLL_SECONDS: Final = 0.02
"""How often a call checks whether the index is built; another process may be the one that builds it."""


def render_page(
    rows: Iterable[str],
    *,
    total: int,
    offset: int,
    what: str,
    more: bool = False,
    head: str = "",
    notes: Sequence[str] = (),
    row_chars: int = ROW_CHARS,
    max_chars: int = PAGE_CHARS,
) -> str:
    """Render the rows from `offset` on, of `total`, as many as fit into `max_chars` characters with all that
    is around them. `what` names them, in the plural; `more` says that there are more than `total`, which
    cannot be had. `head` comes before them. `notes` come first,
    because a reader who has seen the rows may stop reading. One row is always shown, cut if need be:
    otherwise the caller could not go on."""
    lines = [*notes, *([head] if head else [])]
    room = max_chars - sum(len(line) + 1 for line in lines) - ENDING_CHARS
    longest = max(1, min(row_chars, room))
    shown = 0
    for row in rows:
        text = replace_surrogates(row)
        text = text if len(text) <= longest else text[: longest - 1] + "…"
        if shown and len(text) > room:
            break
        lines.append(text)
        shown += 1
        room -= len(text) + 1
    lines.append(_render_ending(shown, total, offset, what, more=more))
    return "\n".join(lines)


def _render_ending(shown: int, total: int, offset: int, what: str, *, more: bool) -> str:
    """What the rows are and how to go on are said on the first page; the others only count."""
    if not total:
        return f"({what}: none)"
    last = offset + shown
    count = f"{total}+" if more else f"{total}"
    if not shown:
        return f"({what}: {count}, none from offset {offset} on)"
    if offset:
        return f"({offset + 1}-{last} of {count}{f'; offset={last}' if last < total else ''})"
    return (
        f"({what} 1-{last} of {count}; continue with offset={last})" if last < total else f"({what}: {count})"
    )


def group_rows(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Rows of a path and what is said of one place in it, such as `12: text` or `#Heading:12: text`:
    `path:12: text`, or the path once and the places indented below it."""
    for path, group in groupby(rows, key=itemgetter(0)):
        places = [place for _, place in group]
        if len(places) == 1:
            yield f"{path}{'' if places[0].startswith('#') else ':'}{places[0]}"
        else:
            yield f"{path}\n {places[0]}"
            yield from (f" {place}" for place in places[1:])


def slice_rows(rows: Sequence[str], *, offset: int, limit: int) -> Sequence[str]:
    return rows[offset : offset + limit]


class PageArguments(Protocol):
    """The arguments that choose a page of a list."""

    @property
    def limit(self) -> int: ...

    @property
    def offset(self) -> int: ...

    @property
    def max_chars(self) -> int: ...


def answer_rows(
    rows: Sequence[str], arguments: PageArguments, what: str, *, head: str = "", notes: Sequence[str] = ()
) -> Answer:
    """Answer with one page of rows that are all at hand."""
    shown = slice_rows(rows, offset=arguments.offset, limit=arguments.limit)
    return answer_page(shown, len(rows), arguments, what, head=head, notes=notes)


def answer_page(
    rows: Iterable[str],
    total: int,
    arguments: PageArguments,
    what: str,
    *,
    head: str = "",
    notes: Sequence[str] = (),
    figure: Callable[[], dict[str, Any]] | None = None,
) -> Answer:
    """Answer with the rows of one page; `total` counts those of all pages."""
    page = render_page(
        rows,
        total=total,
        offset=arguments.offset,
        what=what,
        head=head,
        notes=notes,
        max_chars=arguments.max_chars,
    )
    return answer_text(page, figure)


def wait_for_index(context: VaultContext) -> list[str]:
    """Wait for the first build of the index, as long as the context allows, and return the notes for the
    answer: a warning if the index is still incomplete, else nothing. Call it before querying; `fresh_status`
    says why."""
    if context.engine.queries.status.complete:
        # The query itself brings it up to date.
        return []
    status = context.engine.queries.fresh_status()
    if not status.complete and context.tool_context.index_wait:
        deadline = time.monotonic() + context.tool_context.index_wait
        while not context.engine.queries.status.complete and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        status = context.engine.queries.fresh_status()
    if status.complete:
        return []
    return [describe_incomplete_index(status.done, status.total)]


def describe_incomplete_index(done: int, total: int) -> str:
    """The first line of an answer from an incomplete index. `total` is 0 until the notes are
    known."""
    so_far = f": {done} of {total} notes so far" if total else ""
    return f"The index is still being built{so_far}; these results are incomplete."


def mark_continuation(page: str, next_start: int) -> str:
    """A page of a longer text, with a mark that says how to continue. Nothing separates the two, so that the
    pages without their marks add up to the text, and a passage copied from them is found again."""
    return f"{page}[cut; continue with start={next_start}]"


def describe_cut(next_start: int | None) -> str:
    """What the line above a text says when it is cut: there no text can write it, and a program need not look
    for the mark at the end."""
    return "" if next_start is None else f" | cut at {next_start}"


def describe_bytes(problem: str) -> str:
    """What the line above a text says when it is not UTF-8, and other characters stand for some bytes."""
    return f" | not UTF-8 ({problem}): edit in place, do not write this text back" if problem else ""


def clip_text(text: str, max_chars: int) -> str:
    """A text that cannot be continued, within a size."""
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"


def cut_text(text: str, *, start: int, max_chars: int) -> str:
    """A page of a long text, with a mark at its end if more follows."""
    page, next_start = cut_page(text, start=start, max_chars=max_chars)
    return page if next_start is None else mark_continuation(page, next_start)


def cut_page(text: str, *, start: int, max_chars: int) -> tuple[str, int | None]:
    """A page of a long text, cut at the end of a line where possible, and where the text goes on."""
    if start > len(text):
        raise InvalidArgument(
            f"start is {start}; the text has {len(text)} characters.",
            argument="start",
            hint="Give the number at the end of the previous answer.",
        )
    stop = min(len(text), start + max_chars)
    if stop == len(text):
        return replace_surrogates(text[start:]), None
    line_break = text.rfind("\n", start, stop)
    stop = line_break + 1 if line_break >= start else stop
    return replace_surrogates(text[start:stop]), stop
