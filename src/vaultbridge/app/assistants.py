"""The assistants that keep their MCP servers in a JSON file: where the file is, and what it wants to hear.

Places and shapes as their makers document them (2026-11): Claude Desktop, Claude Code's project file, Cursor,
Visual Studio Code, Windsurf and the Gemini CLI. Nothing here touches a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct


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
