"""What reading JSON can raise, in one place: whoever reads a file or an argument expects all of it.

Every error a caller may meet, as one tree with stable codes.

    VaultbridgeError
    ├── InvalidArgument        what was asked for is malformed (the caller's fault, before anything happened)
    │   ├── InvalidPath        a path no vault may contain or that leads out of it
    │   └── InvalidQuery       a search that cannot be read
    ├── VaultNotFound          no such vault
    ├── NoteNotFound           no such note, file or folder (also: hidden by a scope)
    ├── AmbiguousName          several notes fit
    ├── PermissionDenied       read-only, out of scope, or refused by the file system
    ├── EditRefused            the edit does not fit the note as it is; nothing was written
    │   ├── StaleWrite         the note has changed since the caller read it
    │   └── NoteBusy           another program is saving the note
    ├── ObsidianNotRunning     the app is needed and not there
    ├── TimedOut               an operation took longer than its bound
    └── EngineFailure          we could not do it, through no fault of the caller

`code` is one of the seven error codes of the stdio contract, or INVALID_PARAMS for a wrong argument: that has
a code in JSON-RPC itself; `reason` is finer and just as stable.
An exception stores fields; its text is made in `__str__`. Texts name vault paths only, never a path
of the machine. Turning these into wire form is the dialects' duty, not this module's.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal

import msgspec

NAMED_CHARS: Final = 1024
"""How much of a name an error repeats: as much as the longest path has. Whoever sent a megabyte need not get
it back."""

ErrorCode = Literal[
    "INVALID_PARAMS",
    "SERVER_ERROR",
    "OBSIDIAN_NOT_RUNNING",
    "VAULT_NOT_FOUND",
    "FILE_NOT_FOUND",
    "AMBIGUOUS_NAME",
    "PERMISSION_DENIED",
    "TIMEOUT",
]


class VaultbridgeError(Exception):
    """The root. `hint` says what would be right; `details` are for machines. `paths` are the vault's files
    that the text or the details name, None when that is not known: `engine.redaction` decides by them whether
    a caller may see the error."""

    code: ClassVar[ErrorCode] = "SERVER_ERROR"
    reason: ClassVar[str] = "error"

    def __init__(
        self, message: str, *, hint: str = "", paths: tuple[str, ...] | None = None, **details: Any
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.paths = paths
        self.details = details

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip() if self.hint else self.message


class InvalidArgument(VaultbridgeError):
    """`argument` names the offending argument, when there is one."""

    code = "INVALID_PARAMS"
    reason = "invalid-argument"

    def __init__(self, message: str, *, argument: str = "", hint: str = "", **details: Any) -> None:
        super().__init__(message, hint=hint, **details)
        self.argument = argument


class InvalidPath(InvalidArgument):
    reason = "invalid-path"


class InvalidQuery(InvalidArgument):
    """`position` is the offset in the query where reading failed; None when the text itself says where."""

    reason = "invalid-query"

    def __init__(self, message: str, *, position: int | None = None, hint: str = "") -> None:
        place = {} if position is None else {"position": position}
        super().__init__(message, argument="query", hint=hint, **place)
        self.position = position


class VaultNotFound(VaultbridgeError):
    code = "VAULT_NOT_FOUND"
    reason = "vault-not-found"


class NoteNotFound(VaultbridgeError):
    """`name` as it was asked for, `closest` the names a person may have meant."""

    code = "FILE_NOT_FOUND"
    reason = "file-not-found"

    def __init__(self, name: str, *, closest: tuple[str, ...] = (), what: str = "note") -> None:
        said = name if len(name) <= NAMED_CHARS else name[:NAMED_CHARS] + "…"
        hint = f"Did you mean: {', '.join(closest)}?" if closest else ""
        super().__init__(
            f"No {what} named {said!r}.", hint=hint, paths=(name, *closest), name=said, closest=list(closest)
        )
        self.name = name
        self.closest = closest


class AmbiguousName(VaultbridgeError):
    code = "AMBIGUOUS_NAME"
    reason = "ambiguous-name"

    def __init__(self, name: str, candidates: tuple[str, ...]) -> None:
        super().__init__(
            f"{name!r} could be any of: {', '.join(candidates)}.",
            hint="Give the exact path of one.",
            paths=(name, *candidates),
            name=name,
            candidates=list(candidates),
        )
        self.name = name
        self.candidates = candidates


class PermissionDenied(VaultbridgeError):
    code = "PERMISSION_DENIED"
    reason = "permission-denied"


class EditRefused(VaultbridgeError):
    """Nothing was written. The message says what was found instead of what the edit needs."""

    reason = "edit-refused"


class StaleWrite(EditRefused):
    """The note is not what the caller saw; `current` is its hash now (empty when the note is gone)."""

    reason = "stale"

    def __init__(self, path: str, *, expected: str, current: str) -> None:
        super().__init__(
            f"{path} has changed since it was read: expected hash {expected}, now {current or 'gone'}.",
            hint="Read it again and repeat the edit.",
            paths=(path,),
            path=path,
            expected=expected,
            current=current,
        )
        self.path = path
        self.expected = expected
        self.current = current


class NoteBusy(EditRefused):
    """Another program is saving the note, and has not ended within the time that a change waits. `certain`
    when it has the file open; otherwise the file only looks so."""

    reason = "busy"

    def __init__(self, path: str, *, certain: bool = True) -> None:
        super().__init__(
            f"{path} is being saved by another program.",
            hint="Nothing was changed. Try again in a moment, or close it there.",
            paths=(path,),
            path=path,
        )
        self.path = path
        self.certain = certain


class ObsidianNotRunning(VaultbridgeError):
    code = "OBSIDIAN_NOT_RUNNING"
    reason = "obsidian-not-running"


class TimedOut(VaultbridgeError):
    code = "TIMEOUT"
    reason = "timeout"


class EngineFailure(VaultbridgeError):
    reason = "failure"


JSON_ERRORS: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""Of `msgspec.json.decode`: not JSON or not of the wanted type, not UTF-8, nested deeper than Python goes."""


def describe_json_error(error: BaseException) -> str:
    """The fault in words, for a person."""
    if isinstance(error, RecursionError):
        return "its lists and objects are nested too deeply"
    if isinstance(error, UnicodeError):
        return "it is not UTF-8 text"
    return str(error)
