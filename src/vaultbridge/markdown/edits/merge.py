"""Compares texts line by line: finds the hunks of a change, applies some of them, and merges three versions.

A merge combines what each of two texts changed in their common base. If both changed the same lines in
different ways, there is no merge: nothing is guessed, and no conflict markers are written into a note.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain, repeat

from msgspec import Struct

from vaultbridge.markdown.edits.change import line_end_near, split_keeping_ends
from vaultbridge.markdown.edits.unified_diff import CONTEXT_LINES, DIFFED_LINES


class Run(Struct, frozen=True, gc=False):
    """Lines `start` to `end` of the old text became lines `new_start` to `new_end` of the new one; both count
    from 0, without the end."""

    start: int
    end: int
    new_start: int
    new_end: int


class Hunk(Struct, frozen=True):
    """Neighbouring runs, with the lines around them. `lines` begin with " ", "-" or "+" and have no line
    ends. Starts count from 1, as in a unified diff."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]


def find_runs(old: Sequence[str], new: Sequence[str]) -> list[Run]:
    """Return the runs in which two lists of lines differ, in order."""
    shortest = min(len(old), len(new))
    head = next((n for n in range(shortest) if old[n] != new[n]), shortest)
    tail = next((n for n in range(shortest - head) if old[-1 - n] != new[-1 - n]), shortest - head)
    end, new_end = len(old) - tail, len(new) - tail
    if head == end and head == new_end:
        return []
    if end - head + new_end - head > DIFFED_LINES:
        return [Run(head, end, head, new_end)]
    import difflib

    matcher = difflib.SequenceMatcher(None, old[head:end], new[head:new_end])
    return [
        Run(a1 + head, a2 + head, b1 + head, b2 + head)
        for tag, a1, a2, b1, b2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def find_hunks(old: str, new: str) -> tuple[Hunk, ...]:
    """Return the hunks of a change, so that a person can decide on each."""
    before, after = split_keeping_ends(old), split_keeping_ends(new)
    return tuple(_make_hunk(group, before, after) for group in _group(find_runs(before, after)))


def apply_hunks(old: str, new: str, wanted: Collection[int]) -> str:
    """Return `old` with only the `wanted` hunks of the change to `new`, by their positions in
    `find_hunks`."""
    before, after = split_keeping_ends(old), split_keeping_ends(new)
    pieces: list[str] = []
    at = 0
    for position, group in enumerate(_group(find_runs(before, after))):
        if position not in wanted:
            continue
        for run in group:
            pieces += before[at : run.start]
            pieces += after[run.new_start : run.new_end]
            at = run.end
    return "".join([*pieces, *before[at:]])


def _group(runs: list[Run]) -> Iterator[list[Run]]:
    """Group the runs whose context lines touch: they belong to one hunk."""
    group: list[Run] = []
    for run in runs:
        if group and run.start - group[-1].end > 2 * CONTEXT_LINES:
            yield group
            group = []
        group.append(run)
    if group:
        yield group


def _make_hunk(group: list[Run], before: list[str], after: list[str]) -> Hunk:
    first, last = group[0], group[-1]
    start = max(0, first.start - CONTEXT_LINES)
    end = min(len(before), last.end + CONTEXT_LINES)
    lines: list[str] = []
    at = start
    for run in group:
        lines += (" " + _bare(line) for line in before[at : run.start])
        lines += ("-" + _bare(line) for line in before[run.start : run.end])
        lines += ("+" + _bare(line) for line in after[run.new_start : run.new_end])
        at = run.end
    lines += (" " + _bare(line) for line in before[at:end])
    new_start = first.new_start - (first.start - start)
    new_end = last.new_end + (end - last.end)
    return Hunk(
        start + 1 if end > start else start,
        end - start,
        new_start + 1 if new_end > new_start else new_start,
        new_end - new_start,
        tuple(lines),
    )


def _bare(line: str) -> str:
    return line.rstrip("\r\n")


def list_changed_lines(old: str, new: str) -> tuple[str, ...]:
    """Return the lines that a change removes and adds, without their positions. Two changes with the same
    result look the same to a person, although the lines around them may differ."""
    before, after = split_keeping_ends(old), split_keeping_ends(new)
    found: list[str] = []
    for run in find_runs(before, after):
        found += ("-" + _bare(line) for line in before[run.start : run.end])
        found += ("+" + _bare(line) for line in after[run.new_start : run.new_end])
        found.append("")
    return tuple(found)


def merge_texts(base: str, ours: str, theirs: str) -> str | None:
    """Return `base` with the changes of both `ours` and `theirs`; None if they contradict each other."""
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    lines = split_keeping_ends(base)
    sides = [split_keeping_ends(ours), split_keeping_ends(theirs)]
    pieces: list[str] = []
    at = 0
    for cluster in _cluster([find_runs(lines, side) for side in sides]):
        start = min(run.start for _, run in cluster)
        end = max(run.end for _, run in cluster)
        results = [
            _apply_runs([run for who, run in cluster if who == side], lines, sides[side], start, end)
            for side in (0, 1)
            if any(who == side for who, _ in cluster)
        ]
        if len(results) == 2 and results[0] != results[1]:
            return None
        pieces += (*lines[at:start], *results[0])
        at = end
    return "".join([*pieces, *lines[at:]])


def revert_change(before: str, after: str, now: str, *, partly: bool = False) -> str | None:
    """Return `now`, a later edit of `after`, as if it were an edit of `before`; None if that is unclear.

    With `partly`, a line that was replaced and has been edited since stays as it is now, and only the others
    get their old text back.
    """
    if now.startswith(after):
        return before + now[len(after) :]
    restored = _restore_lines(before, after, now, partly=partly)
    return merge_texts(after, before, now) if restored is None else restored


def _restore_lines(before: str, after: str, now: str, *, partly: bool) -> str | None:
    """Like `revert_change`, for a change that replaced lines and neither added nor removed any, as rewriting
    links does: every line that is still ours gets its old text back, wherever it is now. None for another
    change, and without `partly` if one of the lines is no longer ours."""
    old, ours, lines = split_keeping_ends(before), split_keeping_ends(after), split_keeping_ends(now)
    if len(old) != len(ours):
        return None
    runs = find_runs(ours, lines)
    for number, (line, our_line) in enumerate(zip(old, ours, strict=True)):
        if line == our_line:
            continue
        if any(run.start <= number < run.end for run in runs):
            if partly:
                continue
            return None
        lines[number + sum(_growth(run) for run in runs if run.end <= number)] = line
    return "".join(lines)


def _growth(run: Run) -> int:
    return (run.new_end - run.new_start) - (run.end - run.start)


def _cluster(runs: list[list[Run]]) -> Iterator[list[tuple[int, Run]]]:
    """Yield the runs of both sides in order, those that touch the same lines together."""
    both = sorted(
        ((side, run) for side in (0, 1) for run in runs[side]), key=lambda pair: (pair[1].start, pair[1].end)
    )
    cluster: list[tuple[int, Run]] = []
    reach = -1
    for side, run in both:
        if cluster and not _meets(run, cluster, reach):
            yield cluster
            cluster, reach = [], -1
        cluster.append((side, run))
        reach = max(reach, run.end)
    if cluster:
        yield cluster


def _meets(run: Run, cluster: list[tuple[int, Run]], reach: int) -> bool:
    """Return whether a run changes lines that the cluster changes too. Adjacent lines are not the same lines,
    but the order of an insertion next to another insertion or a replaced line would be a guess."""
    if run.start < reach:
        return True
    if run.start > reach:
        return False
    return run.start == run.end or any(
        earlier.end == reach and earlier.start == earlier.end for _, earlier in cluster
    )


def _apply_runs(runs: list[Run], lines: list[str], changed: list[str], start: int, end: int) -> list[str]:
    pieces: list[str] = []
    at = start
    for run in runs:
        pieces += lines[at : run.start]
        pieces += changed[run.new_start : run.new_end]
        at = run.end
    return [*pieces, *lines[at:end]]


def restore_line_ends(text: str, like: str) -> str:
    """Return `text`, whose lines end with LF, with the line ends that the same lines have in `like`. A line
    that replaces another gets its line end, a new one that of the lines around it."""
    if "\r" not in like:
        return text
    lines, known = split_keeping_ends(text), split_keeping_ends(like)
    bare, known_bare = [_bare(line) for line in lines], [_bare(line) for line in known]
    offsets = [0]
    for line in known:
        offsets.append(offsets[-1] + len(line))
    pieces: list[str] = []
    at = 0
    for run in (*find_runs(known_bare, bare), Run(len(known), len(known), len(lines), len(lines))):
        for old, new in zip(known[at : run.start], lines[run.new_start - (run.start - at) :], strict=False):
            pieces.append(old if new != _bare(new) else _bare(old))
        near = line_end_near(like, offsets[run.start])
        ends = chain((line[len(_bare(line)) :] or near for line in known[run.start : run.end]), repeat(near))
        for line, end in zip(lines[run.new_start : run.new_end], ends, strict=False):
            pieces.append(line if line == _bare(line) else _bare(line) + end)
        at = run.end
    return "".join(pieces)
