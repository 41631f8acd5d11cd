"""Every error that a caller may get, as one tree with stable codes.

    VaultbridgeError
    ├── InvalidArgument        a malformed request (the caller's fault, before anything happened)
    │   ├── InvalidPath        a path that no vault may contain or that leads out of it
    │   └── InvalidQuery       a search query that cannot be parsed
    ├── VaultNotFound          no such vault
    ├── NotFound               no tool, prompt, resource, tag or vault has this name
    │   └── NoteNotFound       no such note, file or folder, or it is hidden by a scope
    ├── AmbiguousName          several notes match
    ├── PermissionDenied       read-only, out of scope, or refused by the file system
    │   ├── ChangeRejected     a person has looked at the change and does not want it
    │   └── AssistantPaused    a person has paused the assistant that asks
    ├── EditRefused            the edit does not fit the note's present content; nothing was written
    │   ├── StaleWrite         the note has changed since the caller read it
    │   └── NoteBusy           another program is saving the note
    ├── ObsidianNotRunning     the app is needed but is not running
    ├── TimedOut               an operation took longer than its limit
    └── EngineFailure          we could not do it, through no fault of the caller

`code` is one of the seven error codes of the stdio contract, or INVALID_PARAMS for a wrong argument, which
has a code in JSON-RPC itself; `reason` is finer and just as stable. An exception stores fields; `__str__`
makes its text. Texts name only vault paths, never a path of the machine. The protocols turn these errors into
wire form.

`JSON_ERRORS` lists everything that decoding JSON can raise: code that decodes must expect all of it.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal

import msgspec

NAMED_CHARS: Final = 1024
"""How much of a name an error repeats: as much as the longest path has. A caller that sends a megabyte need
not get it back."""

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
    """The root. `hint` says what to do instead; `details` are for programs. `paths` are the vault files that
    the text or the details name, None when that is unknown: `vault.scope` decides by them whether a
    caller may see the error."""

    code: ClassVar[ErrorCode] = "SERVER_ERROR"
    reason: ClassVar[str] = "error"

    def __init__(
        self, message: str, *, hint: str = "", paths: tuple[str, ...] | None = None, **details: Any
    ) -> None:
        # A text may quote a note in which bytes are not UTF-8, and no protocol can send those.
        self.message: str = _make_sendable(message)
        super().__init__(self.message)
        self.hint: str = _make_sendable(hint)
        self.paths = paths
        self.details: dict[str, Any] = _make_sendable(details)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip() if self.hint else self.message


def _make_sendable(value: Any) -> Any:
    """The value with U+FFFD for each lone surrogate in its texts."""
    match value:
        case str():
            return (
                value
                if value.isascii()
                else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            )
        case dict():
            return {name: _make_sendable(member) for name, member in value.items()}
        case tuple():
            return tuple(map(_make_sendable, value))
        case list():
            return list(map(_make_sendable, value))
        case _:
            return value


class InvalidArgument(VaultbridgeError):
    """`argument` names the wrong argument, when there is one."""

    code = "INVALID_PARAMS"
    reason = "invalid-argument"

    def __init__(self, message: str, *, argument: str = "", hint: str = "", **details: Any) -> None:
        super().__init__(message, hint=hint, **details)
        self.argument = argument


class InvalidPath(InvalidArgument):
    reason = "invalid-path"


class InvalidQuery(InvalidArgument):
    """`position` is the offset in the query where parsing failed; None when the message itself says where.
    `what` says what is wrong without the place, in a few words and without a full stop."""

    reason = "invalid-query"

    def __init__(self, message: str, *, position: int | None = None, hint: str = "", what: str = "") -> None:
        place = {} if position is None else {"position": position}
        super().__init__(message, argument="query", hint=hint, **place)
        self.position = position
        self.what = (what or message).rstrip(".")


class VaultNotFound(VaultbridgeError):
    """`place` is where the folder should be, for the screen of its owner alone: it is sent to nobody."""

    code = "VAULT_NOT_FOUND"
    reason = "vault-not-found"
    place = ""


class NotFound(VaultbridgeError):
    """Nothing of the kind `what` has this name. `closest` are the names that the caller may have meant."""

    code = "FILE_NOT_FOUND"
    reason = "not-found"

    def __init__(self, name: str, *, closest: tuple[str, ...] = (), what: str) -> None:
        shortened = name if len(name) <= NAMED_CHARS else name[:NAMED_CHARS] + "…"
        hint = f"Did you mean: {', '.join(closest)}?" if closest else ""
        super().__init__(
            f"No {what} named {shortened!r}.",
            hint=hint,
            paths=(name, *closest),
            name=shortened,
            closest=list(closest),
        )
        self.name = name
        self.closest = closest


class NoteNotFound(NotFound):
    """`what` is a note, or another file or folder."""

    reason = "file-not-found"

    def __init__(self, name: str, *, closest: tuple[str, ...] = (), what: str = "note") -> None:
        super().__init__(name, closest=closest, what=what)


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


class ChangeRejected(PermissionDenied):
    """`said` is the person's reason, which may be empty."""

    reason = "rejected"

    def __init__(self, proposal: str, *, said: str = "") -> None:
        super().__init__(
            f"A person rejected this change ({proposal}): nothing was changed."
            + (f" They say: {said}" if said else ""),
            hint="" if said else "Ask what they want instead, and do not try the same again.",
            paths=(),
            proposal=proposal,
        )


class AssistantPaused(PermissionDenied):
    reason = "paused"

    def __init__(self) -> None:
        super().__init__(
            "A person has paused this assistant.",
            hint="Nothing was read or changed. Ask them to resume it; trying again does not help.",
            paths=(),
        )


class EditRefused(VaultbridgeError):
    """Nothing was written. The message says what the edit needs and what was found instead."""

    reason = "edit-refused"


class StaleWrite(EditRefused):
    """The note has changed since the caller read it; `current` is its present hash, empty when it is gone."""

    reason = "stale"

    def __init__(self, path: str, *, expected: str, current: str) -> None:
        super().__init__(
            f"{path} has changed since it was read: expected hash {expected}, "
            f"now {current[: len(expected)] or 'gone'}.",
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
    """Another program is still saving the note after the time that a change waits. It is `certain` when that
    program has the file open; otherwise the file only looks like it."""

    reason = "busy"

    def __init__(self, path: str, *, certain: bool = True) -> None:
        super().__init__(
            f"{path} is being saved by another program.",
            hint="Nothing was changed. Try again in a moment, or close the note in the other program.",
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
"""What `msgspec.json.decode` raises: not JSON or not of the expected type, not UTF-8, nested too deeply."""


def explain_validation_error(error: BaseException) -> InvalidArgument:
    """The error for a caller, from msgspec's text: what is wrong, and which argument."""
    message, _, place = str(error).partition(" - at `$")
    return InvalidArgument(f"{message}.", argument=place.rstrip("`").lstrip("."))


def describe_json_error(error: BaseException) -> str:
    """The error in words, for a person."""
    if isinstance(error, RecursionError):
        return "its lists and objects are nested too deeply"
    if isinstance(error, UnicodeError):
        return "it is not UTF-8 text"
    return str(error)
