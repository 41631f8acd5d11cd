"""The assistants that keep their MCP servers in a JSON file, and safe edits of such a file.

`ASSISTANTS` says where each file is and what it looks like, as their makers document it (2026-11): Claude
Desktop, Claude Code's project file, Cursor, Visual Studio Code, Windsurf and the Gemini CLI.

The file belongs to another program and to its owner. `set_server` and `remove_server` change one server and
leave every other byte as it is. A file that is not strict JSON (some editors allow comments) is not changed:
the caller shows what to write where.
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
    """`file` is relative to `base`: "home", "settings" (where apps keep theirs) or "here" (the current
    folder).
    `key` is the member that holds the servers by name. `then` tells the user how the change takes effect."""

    name: str
    title: str
    base: str
    file: str
    key: str = "mcpServers"
    typed: bool = False
    """Whether an entry names its transport."""
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
        then="Cursor notices it by itself; Settings, Tools & MCP shows it.",
    ),
    Assistant(
        name="vscode",
        title="Visual Studio Code",
        base="settings",
        file="Code/User/mcp.json",
        key="servers",
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


def find_config_file(
    assistant: Assistant, environ: Mapping[str, str], *, here: Path, platform: str = sys.platform
) -> Path:
    """Find the user's file on this system, whether it exists or not."""
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


def make_entry(assistant: Assistant, vault: Path, options: tuple[str, ...] = ()) -> dict[str, Any]:
    """Make the entry that tells the assistant what to start. It names the command by its full path, because
    an app that was started from a dock or a menu does not have a shell's PATH."""
    command, *rest = _find_own_command()
    entry: dict[str, Any] = {"type": "stdio"} if assistant.typed else {}
    return {**entry, "command": command, "args": [*rest, "stdio", str(vault), *options]}


def _find_own_command() -> list[str]:
    script = Path(sys.executable).with_name("vaultbridge.exe" if os.name == "nt" else "vaultbridge")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "vaultbridge"]


FILE_BYTES: Final = MIB
"""The largest file that we read: such files are written by hand."""

INDENT: Final = "  "
"""For a new file, and for one without any indentation."""


def read_text(file: Path) -> str | None:
    """Read the file's text; None when it does not exist. A byte order mark stays in it."""
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


def list_servers(text: str, key: str) -> dict[str, Any]:
    """List the servers by name. Raises EditRefused when the text is not such a file."""
    listed = _scan(text).get(key)
    found = to_plain_value(listed) if isinstance(listed, JsonObject) else {}
    return found if isinstance(found, dict) else {}


def set_server(text: str, key: str, name: str, entry: dict[str, Any]) -> str:
    """Return the text with this server added, or replaced if the name exists. Raises EditRefused."""
    whole = _scan(text)
    listed = whole.get(key)
    if listed is None:
        change = _add_member(text, whole, key, {name: entry})
    elif not isinstance(listed, JsonObject):
        raise EditRefused(f"{key!r} is not an object.", hint="Nothing was changed.")
    elif (old := listed.get(name)) is not None:
        indent = _indent_before(text, old.start) or ""
        change = Change(old.start, old.end, _render(text, whole, entry, indent))
    else:
        change = _add_member(text, listed, name, entry)
    return _apply_checked(text, (change,), key, name, entry)


def remove_server(text: str, key: str, name: str) -> str:
    """Return the text without this server; unchanged if there is none. Raises EditRefused."""
    listed = _scan(text).get(key)
    if not isinstance(listed, JsonObject):
        return text
    spans = [(member.key_start, member.value.end) for member in listed.members]
    places = [place for place, member in enumerate(listed.members) if member.key == name]
    return _apply_checked(text, delete_entries(spans, places, listed), key, name, None)


def write_text(file: Path, text: str, *, before: str | None) -> None:
    """Replace the file's text if it is still `before`. Its folder must exist. A symlink is followed, because
    many people keep such files elsewhere."""
    place = file.resolve()
    temporary = place.with_name(temporary_name())
    try:
        if before is not None:
            check_writable(place, str(file))
        stage(temporary, text.encode(), like=place if before is not None else None)
        try:
            if read_text(place) != before:
                raise _changed_meanwhile(file)
            if before is None:
                publish_new(temporary, place)
            else:
                publish_over(temporary, place)
        finally:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()
    except FileExistsError:
        raise _changed_meanwhile(file) from None
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise PermissionDenied(f"{file} cannot be written: {why}.", hint="Nothing was changed.") from error


def _changed_meanwhile(file: Path) -> EditRefused:
    return EditRefused(f"{file} was changed by another program just now.", hint="Try again.")


def _scan(text: str) -> JsonObject:
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


def _add_member(text: str, into: JsonObject, key: str, value: dict[str, Any]) -> Change:
    """Add a member, written like the others: on a line of its own, or after them."""
    named = json.dumps(key, ensure_ascii=False)
    line_end = "\r\n" if "\r\n" in text else "\n"
    if not into.members:
        outer = _line_indent(text, into.start)
        inner = outer + _find_indent_unit(text)
        written = _render(text, into, value, inner)
        return Change(into.start + 1, into.end - 1, f"{line_end}{inner}{named}: {written}{line_end}{outer}")
    last = into.members[-1]
    indent = _indent_before(text, last.key_start)
    if indent is None:
        return Change(last.value.end, last.value.end, f", {named}: {json.dumps(value, ensure_ascii=False)}")
    written = _render(text, into, value, indent)
    return Change(last.value.end, last.value.end, f",{line_end}{indent}{named}: {written}")


def _render(text: str, beside: JsonObject, value: dict[str, Any], indent: str) -> str:
    if "\n" not in text[beside.start : beside.end] and beside.members:
        return json.dumps(value, ensure_ascii=False)
    line_end = "\r\n" if "\r\n" in text else "\n"
    return json.dumps(value, ensure_ascii=False, indent=_find_indent_unit(text)).replace(
        "\n", line_end + indent
    )


def _find_indent_unit(text: str) -> str:
    """Find the indentation of one level: that of the first indented line."""
    for line in text.split("\n"):
        blanks = line[: len(line) - len(line.lstrip(" \t"))]
        if blanks and line.strip():
            return blanks
    return INDENT


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_before(text: str, at: int) -> str | None:
    """The blanks between the start of the line and `at`; None when there is something else too."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line if not line.strip(" \t") and "\n" in text[:at] else None


def _apply_checked(
    text: str, changes: tuple[Change, ...], key: str, name: str, entry: dict[str, Any] | None
) -> str:
    """Apply the changes, and check that the result means exactly what it should: the file is not ours."""
    changed = apply_changes(text, changes)
    wanted = to_plain_value(_scan(text))
    assert isinstance(wanted, dict)
    listed = {**wanted.get(key, {})}
    listed.pop(name, None)
    if entry is not None:
        listed[name] = entry
    if entry is not None or key in wanted:
        wanted[key] = listed
    if to_plain_value(_scan(changed)) != wanted:
        raise EditRefused("The file has a form that cannot be changed safely.", hint="Nothing was changed.")
    return changed
