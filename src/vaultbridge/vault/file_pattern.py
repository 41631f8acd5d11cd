"""Patterns that select files by name or path, as `listFiles` and `list_files` take them.

    *.js   Plan.md        without a slash: the name of a file, in any folder
    Data/*  Data/**/*.js  with a slash: the whole path from the top of the vault; `*` stays within one folder
    /*.md                 a leading slash: files at the top only
    Data/                 a slash at the end: everything in that folder and below

Case does not matter. The wildcards are those of `scope`: `*`, `?`, `**`, `[abc]`, `{one,two}`. A scope's own
patterns read differently on purpose: they hide or share a folder together with everything below it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from vaultbridge.errors import InvalidArgument
from vaultbridge.links.resolve import name_key
from vaultbridge.vault.scope import PATTERN_CHARS, PATTERN_WILDCARDS, translate


def file_filter(pattern: str, *, argument: str = "pattern") -> Callable[[str], bool]:
    """Whether a vault path fits `pattern`; an empty one fits all. Raises InvalidArgument that names
    `argument`."""
    key = name_key(pattern.strip())
    if len(key) > PATTERN_CHARS or key.count("*") > PATTERN_WILDCARDS:
        raise InvalidArgument(
            f"The pattern {pattern[:60]!r} is longer than {PATTERN_CHARS} characters or has more than "
            f"{PATTERN_WILDCARDS} wildcards.",
            argument=argument,
        )
    parts = [part for part in key.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise InvalidArgument(
            f"The pattern {pattern[:60]!r} contains '..'.",
            argument=argument,
            hint="Write it from the top of the vault: 'Folder/*.md'.",
        )
    if not parts:
        return lambda path: True
    whole = "/".join(parts)
    anywhere = r"(?:.*/)?" if "/" not in key else ""
    below = r"/.*" if key.endswith("/") else ""
    # A name that holds a wildcard character is also found by being written as it is.
    fits = re.compile(rf"{anywhere}(?:{translate(whole)}|{re.escape(whole)}){below}\Z", re.DOTALL).match
    return lambda path: fits(name_key(path)) is not None
