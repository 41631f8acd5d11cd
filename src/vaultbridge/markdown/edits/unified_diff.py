"""Makes unified diffs of one note for previews, and applies them as edits.

Applying is strict: the lines that a hunk removes or shows as context must be in the note exactly, where the
hunk says or else in exactly one other place after the previous hunk. There is no fuzz, because a diff that
almost matches would be applied in the wrong place. There are two exceptions: line ends are not compared (a
diff with LF matches a note with CR LF, and the added lines get CR LF), and a diff that says nothing about the
end of the last line leaves it as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from vaultbridge.errors import EditRefused
from vaultbridge.markdown.edits.change import Change, line_end_near, split_keeping_ends

_HEADER: Final = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NO_END: Final = "\\ No newline at end of file"

DIFFED_LINES: Final = 10_000
"""The most lines, without the equal ones at both ends, that are compared line by line. The time of difflib
can grow with the square or worse: a hostile pair of this size takes 2.2 s. A larger change is shown as one
replaced block."""

COMPARED_LINES: Final = 5_000_000
"""The most lines compared to find where a hunk belongs: about a second. Only a note with very many equal
lines comes close."""

CONTEXT_LINES: Final = 3
"""The same as in other tools that show diffs."""

Kind: TypeAlias = Literal[" ", "-", "+"]
_KINDS: Final[dict[str, Kind]] = {" ": " ", "-": "-", "+": "+"}


class _HunkLine(Struct, frozen=True):
    """A line of a hunk. `at` is its line in the diff, from 1. `ended` is False if the diff says that no line
    end follows."""

    kind: Kind
    text: str
    at: int
    ended: bool = True


class _Hunk(Struct, frozen=True):
    number: int
    at: int
    old_start: int
    lines: tuple[_HunkLine, ...]

    @property
    def old(self) -> list[_HunkLine]:
        return [line for line in self.lines if line.kind != "+"]


def apply_diff(text: str, diff: str) -> tuple[Change, ...]:
    """Return the changes that a unified diff makes. Raises EditRefused, naming the hunk and line, if the diff
    is malformed, is for several files, or does not match the note."""
    lines = split_keeping_ends(text)
    bare = [line.rstrip("\r\n") for line in lines]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    changes: list[Change] = []
    floor = 0
    for hunk in _parse_hunks(diff):
        at = _find_place(hunk, bare, lines, floor)
        changes += _hunk_changes(hunk, text, starts, at)
        floor = at + len(hunk.old)
    if not changes:
        raise EditRefused(
            "The diff changes nothing.", hint="Lines to add begin with '+', to remove with '-'."
        )
    return tuple(changes)


def _parse_hunks(diff: str) -> Iterator[_Hunk]:
    # The lines of the diff end with LF. A CR before it is from a line end of the note and is not compared.
    lines = [line.removesuffix("\r") for line in diff.split("\n")]
    if lines and lines[-1] == "":
        lines.pop()
    at = number = files = 0
    while at < len(lines):
        header = _HEADER.match(lines[at])
        if header is None:
            if lines[at].startswith("@@"):
                raise _malformed_error(at, "has no line numbers", "A hunk begins like '@@ -3,4 +3,5 @@'.")
            if lines[at].startswith("+++ "):
                files += 1
                if files > 1:
                    raise _malformed_error(at, "begins a second file", "Give one diff per note.")
            elif number and lines[at][:1] in ("+", "-", " ") and not lines[at].startswith("--- "):
                raise _malformed_error(at, f"is more than hunk {number} declares", "Correct its '@@' line.")
            at += 1
            continue
        number += 1
        hunk, at = _parse_hunk(lines, at, number, header)
        yield hunk
    if not number:
        raise EditRefused("The diff has no hunk.", hint="A hunk begins like '@@ -3,4 +3,5 @@'.")


def _parse_hunk(lines: list[str], header_at: int, number: int, header: re.Match[str]) -> tuple[_Hunk, int]:
    old_start = int(header[1])
    old_left = int(header[2] or 1)
    new_left = int(header[4] or 1)
    found: list[_HunkLine] = []
    at = header_at + 1
    while at < len(lines) and (old_left > 0 or new_left > 0 or lines[at].startswith("\\")):
        line = lines[at]
        if line.startswith("\\"):
            if not found:
                raise _malformed_error(at, "says that a line has no line end, but no line precedes it", "")
            last = found[-1]
            found[-1] = _HunkLine(last.kind, last.text, last.at, ended=False)
        else:
            # Editors remove the blank of an empty context line.
            kind = _KINDS.get(line[:1] or " ")
            if kind is None:
                break
            found.append(_HunkLine(kind, line[1:], at + 1))
            old_left -= kind != "+"
            new_left -= kind != "-"
        at += 1
    if old_left or new_left:
        raise EditRefused(
            f"Hunk {number} (line {header_at + 1} of the diff) does not have as many lines as it declares.",
            hint="In '@@ -a,b +c,d @@', b counts its ' ' and '-' lines and d its ' ' and '+' lines.",
        )
    return _Hunk(number, header_at + 1, old_start, tuple(found)), at


def _malformed_error(at: int, what: str, hint: str) -> EditRefused:
    return EditRefused(f"Line {at + 1} of the diff {what}.", hint=hint)


def _find_place(hunk: _Hunk, bare: list[str], lines: list[str], floor: int) -> int:
    """Return the index of the note's line where the hunk begins."""
    old = hunk.old
    if not old:
        # There is nothing to match; the number means "after this line".
        if floor <= hunk.old_start <= len(bare):
            return hunk.old_start
        raise EditRefused(
            f"Hunk {hunk.number} (line {hunk.at} of the diff) adds after line {hunk.old_start}, "
            f"but the note has {len(bare)} lines.",
        )
    stated = hunk.old_start - 1
    if stated >= floor and _fits(old, bare, lines, stated):
        return stated
    tries = [at for at in range(floor, len(bare) - len(old) + 1) if bare[at] == old[0].text]
    if len(tries) * len(old) > COMPARED_LINES:
        raise EditRefused(
            f"Hunk {hunk.number} (line {hunk.at} of the diff) does not match at line {hunk.old_start}, and "
            "the note has too many lines like its first to look for another place.",
            hint="Give the right line number.",
        )
    places = [at for at in tries if _fits(old, bare, lines, at)]
    if len(places) == 1:
        return places[0]
    raise _mismatch(hunk, bare, stated, places)


def _fits(old: list[_HunkLine], bare: list[str], lines: list[str], at: int) -> bool:
    if at + len(old) > len(bare):
        return False
    for offset, line in enumerate(old):
        if bare[at + offset] != line.text:
            return False
        if not line.ended and lines[at + offset] != bare[at + offset]:
            return False
    return True


def _mismatch(hunk: _Hunk, bare: list[str], stated: int, places: list[int]) -> EditRefused:
    where = f"Hunk {hunk.number} (line {hunk.at} of the diff)"
    if places:
        lines = ", ".join(str(place + 1) for place in places[:8])
        return EditRefused(
            f"{where} does not match at line {hunk.old_start} but matches at several others: {lines}.",
            hint="Give the right line number, or more context.",
        )
    for offset, line in enumerate(hunk.old):
        at = stated + offset
        actual = bare[at] if 0 <= at < len(bare) else None
        if actual != line.text:
            found = "the note ends before it" if actual is None else f"the note has {actual[:120]!r}"
            return EditRefused(
                f"{where} does not match: it expects {line.text[:120]!r} at line {at + 1}, but {found}.",
                hint="Read the note again and make the diff from its current text.",
            )
    return EditRefused(f"{where} does not match: it overlaps the previous hunk, or the note's end differs.")


def _hunk_changes(hunk: _Hunk, text: str, starts: list[int], at: int) -> Iterator[Change]:
    """Yield one change per run of removed and added lines, so that context is never touched."""
    removed: list[_HunkLine] = []
    added: list[_HunkLine] = []
    for line in (*hunk.lines, None):
        if line is not None and line.kind == "-":
            removed.append(line)
        elif line is not None and line.kind == "+":
            added.append(line)
        else:
            if removed or added:
                yield from _change_run(removed, added, text, starts, at)
                at += len(removed)
            removed, added = [], []
            at += 1


def _change_run(
    removed: list[_HunkLine], added: list[_HunkLine], text: str, starts: list[int], at: int
) -> Iterator[Change]:
    start, end = starts[at], starts[at + len(removed)]
    line_end = line_end_near(text, start)
    new = "".join(line.text + line_end for line in added)
    at_end = end == len(text)
    ended = not text or text.endswith(("\n", "\r"))
    if not at_end:
        yield Change(start, end, new)
        return
    # The last line of the note: keep its ending unless the diff says otherwise.
    if added and not added[-1].ended:
        ended = False
    elif any(not line.ended for line in removed):
        ended = bool(added)
    if not removed and text and not text.endswith(("\n", "\r")):
        yield Change(start, end, line_end + (new if ended else new.removesuffix(line_end)))
        return
    if added:
        new = new if ended or not text else new.removesuffix(line_end)
        if not text and not added[-1].ended:
            new = new.removesuffix(line_end)
    yield Change(start, end, new)


def make_diff(old: str, new: str, path: str) -> str:
    """Return a unified diff from `old` to `new`, empty if they are equal. For previews; applying it to `old`
    gives `new` if both use one kind of line end."""
    if old == new:
        return ""
    before, after = split_keeping_ends(old), split_keeping_ends(new)
    shortest = min(len(before), len(after))
    first = next((n for n in range(shortest) if before[n] != after[n]), shortest)
    last = next((n for n in range(shortest - first) if before[-1 - n] != after[-1 - n]), shortest - first)
    skipped, left = max(0, first - CONTEXT_LINES), max(0, last - CONTEXT_LINES)
    before, after = before[skipped : len(before) - left], after[skipped : len(after) - left]
    pieces = [f"--- a/{path}\n", f"+++ b/{path}\n"]
    for hunk in _find_hunks(before, after, first - skipped, last - left):
        old_range = _format_range(hunk[0][1] + skipped, hunk[-1][2] + skipped)
        new_range = _format_range(hunk[0][3] + skipped, hunk[-1][4] + skipped)
        pieces.append(f"@@ -{old_range} +{new_range} @@\n")
        for tag, a1, a2, b1, b2 in hunk:
            if tag == "equal":
                pieces += _mark_lines(" ", before[a1:a2])
            else:
                pieces += (*_mark_lines("-", before[a1:a2]), *_mark_lines("+", after[b1:b2]))
    return "".join(pieces)


_Opcode: TypeAlias = tuple[str, int, int, int, int]


def _find_hunks(before: list[str], after: list[str], head: int, tail: int) -> Iterable[list[_Opcode]]:
    """Return difflib's hunks of two lists that share their first `head` and last `tail` lines."""
    if len(before) + len(after) > DIFFED_LINES:
        end, new_end = len(before) - tail, len(after) - tail
        equal_tail = ("equal", end, len(before), new_end, len(after))
        return [[("equal", 0, head, 0, head), ("replace", head, end, head, new_end), equal_tail]]
    import difflib

    return difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(CONTEXT_LINES)


def _mark_lines(mark: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        if line.endswith("\n"):
            yield mark + line
        elif line.endswith("\r"):
            # An old Mac line end would not end the diff's own line.
            yield f"{mark}{line[:-1]}\n"
        else:
            yield f"{mark}{line}\n{_NO_END}\n"


def _format_range(start: int, end: int) -> str:
    count = end - start
    # An empty range names the line before it.
    begin = start + 1 if count else start
    return str(begin) if count == 1 else f"{begin},{count}"
