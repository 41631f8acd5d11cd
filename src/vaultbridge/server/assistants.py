"""The servers in an assistant's JSON file: one is set or taken away, and every other byte stays.

Such a file belongs to another program and to its owner. One that is not strict JSON (some editors allow
comments) is not touched: the caller is told what to write where.

The assistants that keep their MCP servers in a JSON file: where the file is, and what it wants to hear.

Places and shapes as their makers document them (2026-11): Claude Desktop, Claude Code's project file, Cursor,
Visual Studio Code, Windsurf and the Gemini CLI. Nothing here touches a file.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from vaultbridge.errors import EditRefused, EngineFailure, PermissionDenied
from vaultbridge.json_text import BadJson, JsonObject, delete_entries, scan_json, to_plain_value
from vaultbridge.limits import MIB
from vaultbridge.markdown.edits.change import Change, apply_changes
from vaultbridge.vault.write.replace import check_writable, publish_new, publish_over, stage, temporary_name


class Assistant(Struct, frozen=True, kw_only=True):
    """`file` in a folder of `base`: the person's home, where apps keep settings, or the folder one works in.
    `servers` is the key under which the servers stand by name. `then` says what brings the change into
    effect."""

    name: str
    title: str
    base: str
    file: str
    servers: str = "mcpServers"
    typed: bool = False
    """Whether an entry says how its server is spoken to."""
    then: str


ASSISTANTS: Final = (
    Assistant(
        name="claude-desktop",
        title="Claude Desktop",
        base="settings",
        file="Claude/claude_desktop_config.json",
        then="Quit Claude Desktop and start it again.",
    ),
    Assistant(
        name="claude-code",
        title="Claude Code (this folder)",
        base="here",
        file=".mcp.json",
        then="Start claude in this folder and allow the server when it asks.",
    ),
    Assistant(
        name="cursor",
        title="Cursor",
        base="home",
        file=".cursor/mcp.json",
        then="Cursor takes it up by itself; Settings, Tools & MCP shows it.",
    ),
    Assistant(
        name="vscode",
        title="Visual Studio Code",
        base="settings",
        file="Code/User/mcp.json",
        servers="servers",
        typed=True,
        then="Run the command `MCP: List Servers` in the editor and start it.",
    ),
    Assistant(
        name="windsurf",
        title="Windsurf",
        base="home",
        file=".codeium/windsurf/mcp_config.json",
        then="Press Refresh in Windsurf's list of MCP servers.",
    ),
    Assistant(
        name="gemini",
        title="Gemini CLI",
        base="home",
        file=".gemini/settings.json",
        then="Start gemini again; /mcp shows it.",
    ),
)


def config_file(
    assistant: Assistant, environ: Mapping[str, str], *, here: Path, platform: str = sys.platform
) -> Path:
    """Where this person's file is on this system, whether it is there or not."""
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    folders = {"home": home, "here": here, "settings": _settings_folder(home, environ, platform)}
    return folders[assistant.base] / assistant.file


def _settings_folder(home: Path, environ: Mapping[str, str], platform: str) -> Path:
    if platform == "darwin":
        return home / "Library" / "Application Support"
    if platform == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    given = environ.get("XDG_CONFIG_HOME", "")
    return Path(given) if Path(given).is_absolute() else home / ".config"


def server_entry(assistant: Assistant, vault: Path, options: tuple[str, ...] = ()) -> dict[str, Any]:
    """What the assistant is told to start. The command is named by its full path: an app that was started
    from a dock or a menu does not know the PATH of a shell."""
    command, *rest = _own_command()
    entry: dict[str, Any] = {"type": "stdio"} if assistant.typed else {}
    return {**entry, "command": command, "args": [*rest, "stdio", str(vault), *options]}


def _own_command() -> list[str]:
    script = Path(sys.executable).with_name("vaultbridge.exe" if os.name == "nt" else "vaultbridge")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "vaultbridge"]


FILE_BYTES: Final = MIB
"""The largest file that is read: such files are written by hand."""

INDENT: Final = "  "
"""Of a new file, and of one whose own cannot be seen."""


def read_text(file: Path) -> str | None:
    """The file's text; None when it is not there. A byte order mark stays in it."""
    try:
        with file.open("rb") as opened:
            data = opened.read(FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EngineFailure(f"{file} cannot be read: {os.strerror(error.errno or 0)}.") from error
    if len(data) > FILE_BYTES:
        raise EngineFailure(f"{file} is larger than {FILE_BYTES} bytes.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise EngineFailure(f"{file} is not UTF-8 at byte {error.start}.") from error


def servers(text: str, key: str) -> dict[str, Any]:
    """The servers by name. Raises EditRefused for a text that is not such a file."""
    listed = _scanned(text).get(key)
    found = to_plain_value(listed) if isinstance(listed, JsonObject) else {}
    return found if isinstance(found, dict) else {}


def with_server(text: str, key: str, name: str, entry: dict[str, Any]) -> str:
    """The text with this server in it, in place of one that has the name. Raises EditRefused."""
    whole = _scanned(text)
    listed = whole.get(key)
    if listed is None:
        change = _added(text, whole, key, {name: entry})
    elif not isinstance(listed, JsonObject):
        raise EditRefused(f"{key!r} is not an object.", hint="Nothing was changed.")
    elif (old := listed.get(name)) is not None:
        indent = _indent_before(text, old.start) or ""
        change = Change(old.start, old.end, _written(text, whole, entry, indent))
    else:
        change = _added(text, listed, name, entry)
    return _checked(text, (change,), key, name, entry)


def without_server(text: str, key: str, name: str) -> str:
    """The text without this server, or the very same text. Raises EditRefused."""
    listed = _scanned(text).get(key)
    if not isinstance(listed, JsonObject):
        return text
    spans = [(member.key_start, member.value.end) for member in listed.members]
    places = [place for place, member in enumerate(listed.members) if member.key == name]
    return _checked(text, delete_entries(spans, places, listed), key, name, None)


def write_text(file: Path, text: str, *, before: str | None) -> None:
    """Swap the file for one with this text, if it still is what it was. Its folder must be there. A link is
    followed: many people keep such files elsewhere."""
    place = file.resolve()
    temporary = place.with_name(temporary_name())
    try:
        if before is not None:
            check_writable(place, str(file))
        stage(temporary, text.encode(), like=place if before is not None else None)
        try:
            if read_text(place) != before:
                raise _overtaken(file)
            if before is None:
                publish_new(temporary, place)
            else:
                publish_over(temporary, place)
        finally:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()
    except FileExistsError:
        raise _overtaken(file) from None
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise PermissionDenied(f"{file} cannot be written: {why}.", hint="Nothing was changed.") from error


def _overtaken(file: Path) -> EditRefused:
    return EditRefused(f"{file} was changed by somebody else just now.", hint="Try again.")


def _scanned(text: str) -> JsonObject:
    body = text.removeprefix("\ufeff")
    try:
        whole = scan_json(text if body is text else f" {body}")
    except BadJson as error:
        line = text.count("\n", 0, error.offset) + 1
        raise EditRefused(
            f"The file is not plain JSON: {error.reason} (line {line}).",
            hint="Nothing was changed; comments are not plain JSON either.",
        ) from None
    if not isinstance(whole, JsonObject):
        raise EditRefused("The file is not a JSON object.", hint="Nothing was changed.")
    return whole


def _added(text: str, into: JsonObject, key: str, value: dict[str, Any]) -> Change:
    """One more member, written as the others are: on a line of its own, or behind them."""
    named = json.dumps(key, ensure_ascii=False)
    line_end = "\r\n" if "\r\n" in text else "\n"
    if not into.members:
        outer = _line_indent(text, into.start)
        inner = outer + _unit(text)
        written = _written(text, into, value, inner)
        return Change(into.start + 1, into.end - 1, f"{line_end}{inner}{named}: {written}{line_end}{outer}")
    last = into.members[-1]
    indent = _indent_before(text, last.key_start)
    if indent is None:
        return Change(last.value.end, last.value.end, f", {named}: {json.dumps(value, ensure_ascii=False)}")
    written = _written(text, into, value, indent)
    return Change(last.value.end, last.value.end, f",{line_end}{indent}{named}: {written}")


def _written(text: str, beside: JsonObject, value: dict[str, Any], indent: str) -> str:
    if "\n" not in text[beside.start : beside.end] and beside.members:
        return json.dumps(value, ensure_ascii=False)
    line_end = "\r\n" if "\r\n" in text else "\n"
    return json.dumps(value, ensure_ascii=False, indent=_unit(text)).replace("\n", line_end + indent)


def _unit(text: str) -> str:
    """What one level is moved in by: as the first line that is."""
    for line in text.split("\n"):
        blanks = line[: len(line) - len(line.lstrip(" \t"))]
        if blanks and line.strip():
            return blanks
    return INDENT


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_before(text: str, at: int) -> str | None:
    """The blanks between the line's start and `at`; None when something else stands there too."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line if not line.strip(" \t") and "\n" in text[:at] else None


def _checked(
    text: str, changes: tuple[Change, ...], key: str, name: str, entry: dict[str, Any] | None
) -> str:
    """The changed text, if it says exactly what it should: this file is not ours to break."""
    changed = apply_changes(text, changes)
    wanted = to_plain_value(_scanned(text))
    assert isinstance(wanted, dict)
    listed = {**wanted.get(key, {})}
    listed.pop(name, None)
    if entry is not None:
        listed[name] = entry
    if entry is not None or key in wanted:
        wanted[key] = listed
    if to_plain_value(_scanned(changed)) != wanted:
        raise EditRefused("The file has a form that cannot be changed safely.", hint="Nothing was changed.")
    return changed
