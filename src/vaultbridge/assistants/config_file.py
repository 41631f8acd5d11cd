"""Reads and replaces an assistant's file, which belongs to another program and to its owner.

A server is set or removed and every other byte stays; `edit_json`, `edit_toml` and `edit_yaml` do that. A
copy of the old text is kept next to the file, and a file that has changed in the meantime is not replaced. If
a server is removed before anything else has written the file, the file is left exactly as it was, with
nothing next to it.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from msgspec import Struct

from vaultbridge.assistants.catalog import Assistant
from vaultbridge.errors import EditRefused, EngineFailure, PermissionDenied, VaultbridgeError
from vaultbridge.limits import MIB
from vaultbridge.system import read_ordinary
from vaultbridge.vault.write.replace import check_writable, publish_new, publish_over, stage, temporary_name

FILE_BYTES: Final = 8 * MIB
"""The largest file that we read. Most are written by hand; Claude Code's own also contains a history."""

PRIVATE_MODE: Final = 0o600

BACKUP_SUFFIX: Final = ".before-vaultbridge"
"""Added to the name of a file's former text. Only the newest is kept, to undo what was just done."""


def check_servers(
    before: dict[str, Any],
    after: dict[str, Any],
    key: str | tuple[str, ...],
    name: str,
    entry: dict[str, Any] | None,
) -> None:
    """Raises EditRefused unless `after`, the edited file, is `before` with exactly this server set, or
    removed if `entry` is None. The file belongs to another program, so a wrong edit must never be written."""
    *above, last = (key,) if isinstance(key, str) else key
    expected = outer = {**before}
    actual = inner = {**after}
    for part in above:
        outer[part], inner[part] = {**outer[part]}, {**inner.get(part, {})}
        outer, inner = outer[part], inner[part]
    servers = outer.pop(last, None) or {}
    if not isinstance(servers, dict):
        raise make_unsafe_edit()
    servers = {**servers}
    servers.pop(name, None)
    if entry is not None:
        servers[name] = entry
    # A file without servers may have an empty member for them, or none.
    if (inner.pop(last, None) or {}) != servers or actual != expected:
        raise make_unsafe_edit()


def make_unsafe_edit() -> EditRefused:
    return EditRefused("The file has a form that cannot be changed safely.", hint="Nothing was changed.")


def _load_editor(assistant: Assistant) -> ModuleType:
    from importlib import import_module

    return import_module(f"vaultbridge.assistants.edit_{assistant.form}")


def _find_key(text: str, assistant: Assistant) -> str | tuple[str, str]:
    """The member that holds the servers in this file: a newer version may have put them one level deeper. A
    server that happens to have that name has a `type`."""
    if assistant.nested and text.strip():
        inner = _load_editor(assistant).list_servers(text, assistant.key).get(assistant.nested)
        if isinstance(inner, dict) and not isinstance(inner.get("type"), str):
            return assistant.key, assistant.nested
    return assistant.key


def list_servers(text: str, assistant: Assistant) -> dict[str, Any]:
    """List the servers by name. Raises EditRefused when the text is not such a file."""
    if not text.strip():
        return {}
    servers: dict[str, Any] = _load_editor(assistant).list_servers(text, _find_key(text, assistant))
    return servers


def set_server(text: str, assistant: Assistant, name: str, entry: dict[str, Any]) -> str:
    """Return the text with this server added, or replaced if the name exists. Raises EditRefused."""
    changed: str = _load_editor(assistant).set_server(text, _find_key(text, assistant), name, entry)
    return changed


class Removal(Struct, frozen=True):
    """A file's text with a server and without it; `after` is None if there was no file before the server.
    `restores` says that `after` is exactly what was there then."""

    before: str
    after: str | None
    restores: bool


def plan_removal(file: Path, assistant: Assistant, name: str) -> Removal | None:
    """Plan how the server is removed; None if the file has none of that name. Raises EditRefused."""
    before = read_text(file)
    servers = list_servers(before or "", assistant)
    if before is None or name not in servers:
        return None
    with contextlib.suppress(VaultbridgeError):  # A former text that cannot be read or edited is of no use.
        former = read_text(_backup_of(file))
        known = list_servers(former or "", assistant)
        was = set_server(former or "", assistant, name, servers[name]) if name not in known else None
        # A symlink must not lose its file.
        if was == before and (former is not None or not file.is_symlink()):
            return Removal(before, former, restores=True)
    without: str = _load_editor(assistant).remove_server(before, _find_key(before, assistant), name)
    return Removal(before, without, restores=False)


def remove_server(file: Path, removal: Removal) -> None:
    """Carry the plan out, if the file is still as it was then."""
    if removal.after is not None:
        write_text(file, removal.after, before=removal.before)
    else:
        try:
            check_writable(file, str(file))
            if read_text(file) != removal.before:
                raise _changed_meanwhile(file)
            file.unlink()
        except OSError as error:
            raise _not_written(file, error) from error
    if removal.restores:
        with contextlib.suppress(OSError):
            _backup_of(file).unlink()


def _backup_of(file: Path) -> Path:
    place = file.resolve()
    return place.with_name(place.name + BACKUP_SUFFIX)


def read_text(file: Path) -> str | None:
    """Read the file's text; None when it does not exist. A byte order mark stays in it."""
    try:
        data = read_ordinary(file, FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EngineFailure(f"{file} cannot be read: {error.strerror}.") from error
    if len(data) > FILE_BYTES:
        raise EngineFailure(f"{file} is larger than {FILE_BYTES} bytes.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise EngineFailure(f"{file} is not UTF-8 at byte {error.start}.") from error


def write_text(file: Path, text: str, *, before: str | None, private: bool = False) -> Path | None:
    """Replace the file's text if it is still `before`; returns where the old text is kept. Its folder must
    exist. A symlink is followed, because many people keep such files elsewhere. A new file that is `private`
    can be read by its owner only; one that is there keeps its mode."""
    place = file.resolve()
    temporary = place.with_name(temporary_name())
    kept = _backup_of(file) if before is not None else None
    try:
        if before is not None:
            check_writable(place, str(file))
        mode = PRIVATE_MODE if private else None
        stage(temporary, text.encode(), like=place if before is not None else None, mode=mode)
        try:
            if read_text(place) != before:
                raise _changed_meanwhile(file)
            if before is None or kept is None:
                publish_new(temporary, place)
            else:
                _keep_former(place, kept, before)
                publish_over(temporary, place)
        finally:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()
    except FileExistsError:
        raise _changed_meanwhile(file) from None
    except OSError as error:
        raise _not_written(file, error) from error
    return kept


def _keep_former(place: Path, kept: Path, before: str) -> None:
    temporary = place.with_name(temporary_name())
    try:
        stage(temporary, before.encode(), like=place)
        temporary.replace(kept)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


def _not_written(file: Path, error: OSError) -> PermissionDenied:
    why = os.strerror(error.errno or 0)
    return PermissionDenied(f"{file} cannot be written: {why}.", hint="Nothing was changed.")


def _changed_meanwhile(file: Path) -> EditRefused:
    return EditRefused(f"{file} was changed by another program just now.", hint="Try again.")
