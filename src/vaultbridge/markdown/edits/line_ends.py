"""Gives an edited text the line ends that its original has. An editor in a browser knows only LF."""

from __future__ import annotations

import re
from typing import Final

_LINES: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def restore_line_ends(edited: str, original: str) -> str:
    """Return `edited`, whose line ends are LF, with those of `original`.

    Lines before the first and after the last edited line keep their own ends, whatever they are. A line in
    between gets the end that most lines of the original have."""
    if "\r" not in original:
        return edited
    old, new = _LINES.findall(original), _LINES.findall(edited)
    old_keys, new_keys = [_key(line) for line in old], [_key(line) for line in new]
    most = min(len(old), len(new))
    first = 0
    while first < most and old_keys[first] == new_keys[first]:
        first += 1
    last = 0
    while last < most - first and old_keys[-1 - last] == new_keys[-1 - last]:
        last += 1
    usual = _usual_end(old)
    middle = [line.replace("\n", usual) for line in new[first : len(new) - last]]
    return "".join([*old[:first], *middle, *old[len(old) - last :]])


def _key(line: str) -> str:
    return line.replace("\r\n", "\n").replace("\r", "\n")


def _usual_end(lines: list[str]) -> str:
    counts = {"\r\n": 0, "\n": 0, "\r": 0}
    for line in lines:
        end = line[len(line.rstrip("\r\n")) :]
        if end:
            counts[end] += 1
    return max(counts, key=lambda end: counts[end])
