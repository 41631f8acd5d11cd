"""Parses and encodes the messages of the `/editor` protocol.

Lines and columns on the wire count as in browser editors: lines from 0, columns in UTF-16 units. Only
`select` counts as people do (both from 1, columns in characters), because a person types it.
docs/editor-protocol.md is the reference.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeVar

import msgspec

from vaultbridge.editor.model import Mention, OpenTab, Point, Selection
from vaultbridge.errors import InvalidArgument, explain_validation_error
from vaultbridge.limits import MIB
from vaultbridge.markdown.text import Positions
from vaultbridge.vault.paths import VaultPath, vault_path

MESSAGE_CHARS: Final = 8 * MIB
"""The most text in one answer: a message may have 10 MiB, and some characters take two bytes or more in
it."""


class EditorParams(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=False):
    """The parameters of a message. Unknown members are ignored, so that a newer editor may send more."""


class Abilities(EditorParams, frozen=True):
    """What an editor can do. `diffs` is from older companions, which merged changes themselves."""

    diffs: bool = False
    proposals: bool = False
    open: bool = False
    save: bool = False
    assistants: bool = False
    activity: bool = False


class Hello(EditorParams, frozen=True):
    """`vault` is the name or the folder of one of the bridge's vaults; by default the first one."""

    app: str
    protocol: int = 1
    token: str = ""
    vault: str = ""
    abilities: Abilities = Abilities()


class WirePoint(EditorParams, frozen=True):
    line: int
    character: int

    def to_point(self) -> Point:
        return Point(max(self.line, 0) + 1, max(self.character, 0))


class WireSelection(EditorParams, frozen=True):
    start: WirePoint
    end: WirePoint
    text: str = ""

    def to_selection(self) -> Selection:
        """Ends in the wrong order (a selection dragged upwards) are swapped."""
        start, end = sorted((self.start.to_point(), self.end.to_point()))
        return Selection(start, end, "" if start == end else self.text)


class FocusOn(EditorParams, frozen=True):
    path: str | None
    selection: WireSelection | None = None


class WireFile(EditorParams, frozen=True):
    path: str
    dirty: bool = False
    pinned: bool = False
    preview: bool = False
    lines: int = 0

    def to_tab(self) -> OpenTab:
        return OpenTab(vault_path(self.path), self.dirty, self.pinned, self.preview, max(self.lines, 0))


class OpenFiles(EditorParams, frozen=True):
    files: list[WireFile]


class MentionOf(EditorParams, frozen=True):
    """`line_start` and `line_end` inclusive, from 0; both left out for a whole note."""

    note: str
    line_start: int | None = None
    line_end: int | None = None

    def to_mention(self, path: VaultPath) -> Mention:
        if self.line_start is None:
            return Mention(path)
        last = self.line_start if self.line_end is None else self.line_end
        first, last = sorted((self.line_start, last))
        if first < 0:
            raise InvalidArgument("Line numbers start at 0.", argument="lineStart")
        return Mention(path, first + 1, last + 1)


class Select(EditorParams, frozen=True):
    """`start` and `end` are [line] or [line, column] as people count, from 1. Without columns, whole lines
    are selected; without `end`, one line, or a cursor where there is a column."""

    note: str
    start: tuple[int, ...] = ()
    end: tuple[int, ...] = ()

    def to_selection(self, text: str) -> Selection:
        """Raises InvalidArgument for a line that the note does not have."""
        if not self.start:
            return Selection()
        positions = Positions(text)
        begin = _find_offset(positions, self.start, "start", at_end=False)
        if self.end:
            finish = _find_offset(positions, self.end, "end", at_end=True)
        else:
            finish = begin if len(self.start) > 1 else positions.end_of_line(self.start[0])
        begin, finish = sorted((begin, finish))
        first, last = positions.to_lsp(begin), positions.to_lsp(finish)
        return Selection(Point(first[0] + 1, first[1]), Point(last[0] + 1, last[1]), text[begin:finish])


class Share(EditorParams, frozen=True):
    share: bool


class WatchTrace(EditorParams, frozen=True):
    on: bool
    json: bool = False


class ListActivity(EditorParams, frozen=True):
    """`before` is `next` of an earlier answer; `kinds` as in docs/page.md, none for all."""

    limit: int = 50
    before: str = ""
    kinds: tuple[str, ...] = ()


class ControlAssistants(EditorParams, frozen=True):
    """`assistant` is an id or a name; empty for all."""

    action: Literal["pause", "resume", "disconnect"]
    assistant: str = ""
    revoke: bool = False


class Done(EditorParams, frozen=True):
    """An editor's answer to one of our requests."""

    done: bool = False


T = TypeVar("T", bound=EditorParams)


def parse_params(params: dict[str, Any], kind: type[T]) -> T:
    """Raises InvalidArgument that names the member and says what is wrong with it."""
    try:
        return msgspec.convert(params, kind)
    except msgspec.ValidationError as error:
        raise explain_validation_error(error) from None


def encode_selection(selection: Selection) -> dict[str, Any]:
    return {
        "start": {"line": selection.start.line - 1, "character": selection.start.column},
        "end": {"line": selection.end.line - 1, "character": selection.end.column},
        "text": selection.text,
    }


def _find_offset(positions: Positions, position: tuple[int, ...], argument: str, *, at_end: bool) -> int:
    line = position[0]
    if len(position) > 2 or not 1 <= line <= positions.line_count:
        raise InvalidArgument(
            f"The note has lines 1 to {positions.written_lines}, not {line}.", argument=argument
        )
    start, end = positions.offset_of_line(line), positions.end_of_line(line)
    if len(position) == 1:
        return end if at_end else start
    return min(start + max(position[1] - 1, 0), end)
