"""What is wrong in a note, with the exact place of each fault. Pure: values in, values out.

Links to nothing, links that fit several files, links to headings and blocks that are not there, and whatever
the parser itself reported (bad YAML, duplicate keys and block ids, bytes that are not UTF-8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from vaultbridge.editor.ports import Finding, Severity
from vaultbridge.errors import EditRefused
from vaultbridge.links.resolve import FileTable, Missing, resolve
from vaultbridge.note.model import Link, Note, ProblemCode
from vaultbridge.note.sections import find_block, find_section
from vaultbridge.vault.paths import VaultPath

FINDINGS_PER_NOTE: Final = 200
"""A note with more is broken as a whole; a list longer than this helps nobody."""

TARGETS_READ: Final = 50
"""Other notes read for one note's headings and blocks: each costs a read and a parse."""

_SEVERITY: Final[dict[ProblemCode, Severity]] = {
    "bad-yaml": "error",
    "duplicate-key": "error",
    "unclosed-properties": "error",
    "bad-canvas": "error",
    "bad-base": "error",
    "placeholder": "information",
    "too-large": "information",
}

NoteOf = Callable[[VaultPath], tuple[str, Note] | None]
"""The text and values of another note; None when it cannot be read."""


def findings(
    path: VaultPath,
    text: str,
    note: Note,
    table: FileTable | None,
    visible: Callable[[VaultPath], bool],
    note_of: NoteOf,
) -> tuple[Finding, ...]:
    """All faults of one note, in the order of its text. A target that is not `visible` does not exist.
    Without a table nothing is known about links, and nothing is said about them."""
    found = [
        Finding(
            problem.message, _SEVERITY.get(problem.code, "warning"), problem.code, problem.start, problem.end
        )
        for problem in note.problems
    ]
    known: dict[VaultPath, tuple[str, Note] | None] = {path: (text, note)}
    for link in note.links:
        if table is None:
            break
        found.extend(_of_link(link, path, table, visible, note_of, known))
        if len(found) >= FINDINGS_PER_NOTE:
            break
    return tuple(sorted(found[:FINDINGS_PER_NOTE], key=lambda finding: (finding.start, finding.end)))


def _of_link(
    link: Link,
    source: VaultPath,
    table: FileTable,
    visible: Callable[[VaultPath], bool],
    note_of: NoteOf,
    known: dict[VaultPath, tuple[str, Note] | None],
) -> Iterator[Finding]:
    resolution = resolve(link.target, source, table)
    if isinstance(resolution, Missing) or not visible(VaultPath(resolution.path)):
        yield _finding(link, f"Nothing in the vault is named {link.target!r}.", "warning", "broken-link")
        return
    others = [other for other in resolution.others if visible(VaultPath(other))]
    if others:
        fits = ", ".join((resolution.path, *others)[:5])
        yield _finding(link, f"{link.target!r} fits several files: {fits}.", "information", "ambiguous-link")
    target = VaultPath(resolution.path)
    if not link.subpath or not target.lower().endswith(".md"):
        return
    if target not in known:
        if len(known) > TARGETS_READ:
            return
        known[target] = note_of(target)
    read = known[target]
    if read is not None:
        yield from _of_subpath(link, target, *read)


def _of_subpath(link: Link, target: VaultPath, text: str, note: Note) -> Iterator[Finding]:
    block = link.subpath.startswith("#^")
    try:
        if block:
            find_block(note, link.subpath[2:])
        else:
            find_section(text, note, link.subpath[1:])
    except EditRefused:
        kind = "block" if block else "heading"
        what = f"{target} has no {kind} {link.subpath[2 if block else 1 :]!r}."
        yield _finding(link, what, "warning", f"broken-{kind}")


def _finding(link: Link, message: str, severity: Severity, code: str) -> Finding:
    return Finding(message, severity, code, link.start, link.end)
