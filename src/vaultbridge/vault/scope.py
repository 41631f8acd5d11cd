"""Decides who may see and change what: read-only, allowed and denied folders or globs, a maximum note size.

A denied note does not exist: reading it gives exactly the error for a missing note. `Scope` decides by the
vault path only. `LinkedScope` also checks where the path leads, because a link inside the vault gives a
hidden note a second name; the engine uses it wherever a path arrives, before it asks the disk about the path.
Hard links and bind mounts cannot be recognized: they are the file itself under another name, and nothing on
disk says which name came first (SECURITY.md). `paths.VaultFolder` ensures that a path cannot lead out of the
vault. `redact` keeps hidden names out of errors: a move rewrites links in notes that its caller may not see,
because it would break them otherwise; if one of those prevents the change, the error says only that the
change cannot be made.

The patterns of a scope are case-insensitive and NFC:

    Private/  Private         the folder (or note, `.md` may be left out) at that place, with everything in it
    Journal/2024-*            `*` and `?` stay within one component; a folder matches with everything in it
    **/*.secret.md            `**` crosses components
    *.secret.md               a wildcard without `/` matches at any depth; a leading `/` ties it to the top
    [abc] [!abc] {one,two}    one character of a set; one of several texts

A different spelling of a pattern must not expose what its author meant to hide: a backslash separates folders
as `/` does, doubled slashes and `.` are ignored, and a name that is spelled exactly like the pattern
(`[Work]/`) matches too. A pattern for a place on the machine instead of one in the vault is refused.

`compile_file_pattern` has patterns of another kind, which select files in a listing (`list_files`):

    *.js   Plan.md        without a slash: the name of a file, in any folder
    Data/*  Data/**/*.js  with a slash: the whole path from the top of the vault; `*` stays within one folder
    /*.md                 a leading slash: files at the top only
    Data/                 a trailing slash: everything in that folder

They have the same wildcards and ignore case too, but a folder that matches does not bring its content along.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Final

from vaultbridge.errors import (
    EditRefused,
    InvalidArgument,
    NoteBusy,
    NoteNotFound,
    PermissionDenied,
    StaleWrite,
    VaultbridgeError,
)
from vaultbridge.limits import NOTE_READ_BYTES
from vaultbridge.links.resolve import name_key
from vaultbridge.vault.file_links import leads_to_hidden
from vaultbridge.vault.paths import VaultFolder, VaultPath, Visible


def compile_file_pattern(pattern: str, *, argument: str = "pattern") -> Callable[[str], bool]:
    """Returns a function that says whether a vault path matches `pattern`; an empty pattern matches every
    path. Raises InvalidArgument, which names `argument`."""
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
    # A name that contains a wildcard character also matches when it is spelled out.
    fits = re.compile(rf"{anywhere}(?:{translate_glob(whole)}|{re.escape(whole)}){below}\Z", re.DOTALL).match
    return lambda path: fits(name_key(path)) is not None


SCOPE_PATTERNS: Final = 1000
"""The most patterns in one list: people write it by hand, and all become one expression."""

PATTERN_CHARS: Final = 500
"""The longest pattern, so that none can make matching slow."""

PATTERN_WILDCARDS: Final = 16
"""The most `*` in one pattern: each further one multiplies the worst case by a path's length."""

_MACHINE_PLACE: Final = re.compile(r"[a-z]:[/\\]|\\\\|~[/\\]")
"""A drive, a network share or a home folder: no vault path starts like that, so the pattern would match
nothing."""


class Scope:
    """What one connection may see and change. Each check is one match of a compiled expression."""

    __slots__ = ("_above", "_allow", "_deny", "allow", "deny", "max_note_bytes", "read_only")

    def __init__(
        self,
        *,
        read_only: bool = False,
        allow: tuple[str, ...] = (),
        deny: tuple[str, ...] = (),
        max_note_bytes: int = NOTE_READ_BYTES,
    ) -> None:
        self.read_only = read_only
        self.allow = allow
        self.deny = deny
        self.max_note_bytes = max_note_bytes
        self._allow = _compile(allow, argument="allow")
        self._above = None if self._allow is None else re.compile("|".join(map(_above, allow)), re.DOTALL)
        self._deny = _compile(deny, argument="deny")

    @property
    def unrestricted(self) -> bool:
        """Whether every path is visible, so that a caller need not check each one."""
        return self._allow is None and self._deny is None

    @property
    def parts(self) -> tuple[Scope, ...]:
        """The scopes by whose patterns it hides paths: what one of them hides does not exist."""
        return () if self.unrestricted else (self,)

    def visible(self, path: str) -> bool:
        """Whether a note, file or folder exists for this connection."""
        if path.startswith(".") or "/." in path:
            return False
        if self._allow is None and self._deny is None:
            return True
        key = name_key(path)
        if self._deny is not None and self._deny.match(key):
            return False
        return self._allow is None or self._allow.match(key) is not None

    def may_contain(self, folder: str) -> bool:
        """Whether something in a folder may exist for this connection, by the names alone. Ask this before
        the disk is asked about a folder: how long that takes, or how it fails, would tell of a hidden one."""
        if folder.startswith(".") or "/." in folder:
            return False
        if not folder or (self._allow is None and self._deny is None):
            return True
        key = name_key(folder)
        if self._deny is not None and self._deny.match(key):
            return False
        return self._above is None or self._above.match(key) is not None

    def check_read(self, path: VaultPath) -> None:
        """Raises `NoteNotFound`, as for a note that does not exist."""
        if not self.visible(path):
            raise NoteNotFound(path)

    def check_write(self, path: VaultPath, *, new: bool = False) -> None:
        """Raises `PermissionDenied` when nothing may be changed or a `new` file would be invisible,
        `NoteNotFound` for an existing file that is invisible."""
        if self.read_only:
            raise PermissionDenied(f"{path} cannot be changed: this vault is open read-only.", paths=(path,))
        if self.visible(path):
            return
        if new:
            raise PermissionDenied(
                f"{path} cannot be created: it is outside the folders that may be used.", paths=(path,)
            )
        raise NoteNotFound(path)

    def check_size(self, path: VaultPath, size: int) -> None:
        """Raises `PermissionDenied` for a note above the maximum size."""
        if size > self.max_note_bytes:
            raise PermissionDenied(
                f"{path} has {size} bytes; the largest note that may be used has {self.max_note_bytes}.",
                paths=(path,),
            )


def _compile(patterns: tuple[str, ...], *, argument: str) -> re.Pattern[str] | None:
    if not patterns:
        return None
    if len(patterns) > SCOPE_PATTERNS:
        raise InvalidArgument(f"More than {SCOPE_PATTERNS} patterns.", argument=argument)
    return re.compile("|".join(_expression(pattern, argument) for pattern in patterns), re.DOTALL)


def _expression(pattern: str, argument: str) -> str:
    """One pattern as an expression that matches a whole path key, including everything under it."""
    key = name_key(pattern.strip())
    if len(key) > PATTERN_CHARS or key.count("*") > PATTERN_WILDCARDS:
        raise InvalidArgument(
            f"The pattern {pattern[:60]!r} is too long or has more than {PATTERN_WILDCARDS} wildcards.",
            argument=argument,
        )
    if _MACHINE_PLACE.match(key):
        raise InvalidArgument(
            f"The pattern {pattern[:60]!r} names a place on the machine.",
            argument=argument,
            hint="Write it from the vault's top, with '/' between folders: 'Private/'.",
        )
    slashed = key.replace("\\", "/")
    anchored = slashed.startswith("/")
    only_folder = slashed.endswith("/")
    parts = [part for part in slashed.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise InvalidArgument(f"The pattern {pattern!r} contains '..'.", argument=argument)
    if not parts:
        if slashed:
            return r".*\Z"
        raise InvalidArgument("A pattern is empty.", argument=argument, hint="Name a folder or a glob.")
    body = "/".join(parts)
    wild = any(mark in body for mark in "*?[{")
    anywhere = r"(?:.*/)?" if wild and "/" not in body and not anchored else ""
    note = "" if only_folder else r"(?:\.md)?"
    fitting = anywhere + translate_glob(body) + ("" if wild else note)
    return rf"(?:{fitting}|{re.escape(key.strip('/'))}{note})(?:/.*)?\Z"


def _above(pattern: str) -> str:
    """An expression for the folders in which something may match a pattern, and for all that match it."""
    slashed = name_key(pattern.strip()).replace("\\", "/")
    parts = [part for part in slashed.split("/") if part not in ("", ".")]
    wild = any(mark in slashed for mark in "*?[{")
    if "{" in slashed or (wild and len(parts) == 1 and not slashed.startswith("/")):
        # A text in braces may contain a slash, and a wildcard without one matches at any depth.
        return r".*\Z"
    folders: list[str] = []
    for end in range(1, len(parts)):
        above = "/".join(parts[:end])
        if "**" in above:
            folders.append(rf"{translate_glob('/'.join(parts[: end - 1]))}(?:/|\Z).*" if end > 1 else ".*")
            break
        folders.append(rf"(?:{translate_glob(above)}|{re.escape(above)})\Z")
    return "|".join((*folders, _expression(pattern, "allow")))


def translate_glob(body: str) -> str:
    """A glob as a regular expression, without anchors."""
    out: list[str] = []
    at = 0
    depth = 0
    while at < len(body):
        char = body[at]
        if body.startswith("**", at):
            end = at + 2
            while body.startswith("*", end):
                end += 1
            if body.startswith("/", end) and (at == 0 or body[at - 1] == "/"):
                out.append(r"(?:.*/)?")
                end += 1
            else:
                out.append(".*")
            at = end
            continue
        if char == "*":
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif char == "[" and (close := body.find("]", at + 2)) > 0:
            out.append(f"(?:{_character_set(body[at + 1 : close])}|{re.escape(body[at : close + 1])})")
            at = close
        elif char == "{" and "}" in body[at:]:
            out.append("(?:")
            depth += 1
        elif char == "}" and depth:
            out.append(")")
            depth -= 1
        elif char == "," and depth:
            out.append("|")
        else:
            out.append(re.escape(char))
        at += 1
    return "".join(out) + ")" * depth


def _character_set(inner: str) -> str:
    negated = inner[0] in "!^" and len(inner) > 1
    if negated:
        inner = inner[1:]
    ranges: list[str] = []
    at = 0
    while at < len(inner):
        if at + 2 < len(inner) and inner[at + 1] == "-" and inner[at] <= inner[at + 2]:
            ranges.append(f"{re.escape(inner[at])}-{re.escape(inner[at + 2])}")
            at += 3
        else:
            ranges.append(re.escape(inner[at]))
            at += 1
    return f"(?!/)[{'^' if negated else ''}{''.join(ranges)}]"


class LiveScope(Scope):
    """A path is visible if all parts show it. The parts may change while engines use it."""

    __slots__ = ("_parts",)

    def __init__(self, *parts: Scope) -> None:
        super().__init__()
        self.update(*parts)

    def update(self, *parts: Scope) -> None:
        # One assignment decides what is visible, so that a thread sees either the old scope or the new one.
        self._parts = tuple(part for part in parts if not part.unrestricted)
        self.read_only = any(part.read_only for part in parts)
        self.max_note_bytes = min((part.max_note_bytes for part in parts), default=Scope().max_note_bytes)

    @property
    def unrestricted(self) -> bool:
        return not self._parts

    @property
    def parts(self) -> tuple[Scope, ...]:
        return self._parts

    def visible(self, path: str) -> bool:
        if path.startswith(".") or "/." in path:
            return False
        return all(part.visible(path) for part in self._parts)

    def may_contain(self, folder: str) -> bool:
        if folder.startswith(".") or "/." in folder:
            return False
        return all(part.may_contain(folder) for part in self._parts)


class LinkedScope(Scope):
    """A path is visible if what it leads to is. `names` decides by names; it may change at run time, so
    nothing of it is cached."""

    __slots__ = ("_root", "names")

    def __init__(self, names: Scope, root: VaultFolder) -> None:
        # The parent's constructor is not called: everything that it would store comes from `names`.
        self.names = names
        self._root = root

    @property
    def read_only(self) -> bool:  # type: ignore[override]
        return self.names.read_only

    @property
    def allow(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.names.allow

    @property
    def deny(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.names.deny

    @property
    def max_note_bytes(self) -> int:  # type: ignore[override]
        return self.names.max_note_bytes

    @property
    def unrestricted(self) -> bool:
        return self.names.unrestricted

    @property
    def parts(self) -> tuple[Scope, ...]:
        return self.names.parts

    def visible(self, path: str) -> bool:
        if not self.names.visible(path):
            return False
        if self.names.unrestricted:
            # Only places that no vault path can name are hidden, and `VaultFolder` refuses to follow a link
            # there.
            return True
        return self._leads_to_shown(path, self.names.visible)

    def may_contain(self, folder: str) -> bool:
        if not self.names.may_contain(folder):
            return False
        return self.names.unrestricted or self._leads_to_shown(folder, self.names.may_contain)

    def _leads_to_shown(self, path: str, shows: Visible) -> bool:
        if self._root.plain_status(VaultPath(path)) is not None:
            return True
        return not leads_to_hidden(self._root, path, shows)


class HiddenNoteInUse(EditRefused):
    """A hidden note prevents a change for the moment: another program is saving it (`busy`), has changed it
    since the change was drafted, or has deleted it (`gone`). The same change may succeed later. No note is
    named."""

    def __init__(self, *, busy: bool = False, gone: bool = False) -> None:
        super().__init__(_BEYOND, paths=())
        self.busy = busy
        self.gone = gone


_BEYOND: Final = "This cannot be done from here: it affects folders that may not be used."


@contextmanager
def redact(hidden: Collection[str]) -> Iterator[None]:
    """Replace an error from within that names one of the hidden files, or a folder around one, by one that
    names none: `HiddenNoteInUse` if the change may be tried again, as for a visible note. An error whose
    `paths` do not say which files it names is replaced too."""
    try:
        yield
    except VaultbridgeError as error:
        if hidden and (error.paths is None or any(_names(path, hidden) for path in error.paths)):
            if isinstance(error, NoteBusy | StaleWrite | NoteNotFound):
                busy, gone = isinstance(error, NoteBusy), isinstance(error, NoteNotFound)
                raise HiddenNoteInUse(busy=busy, gone=gone) from None
            raise EditRefused(_BEYOND, paths=()) from None
        raise


def _names(path: str, hidden: Collection[str]) -> bool:
    key = name_key(path)
    return any(name_key(other) == key or name_key(other).startswith(f"{key}/") for other in hidden)
