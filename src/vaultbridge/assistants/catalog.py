"""The assistants that list their MCP servers in a file: where each file is and which kind of entry it has, as
their makers document it (2026-11)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from vaultbridge.system import expand_home, find_home, find_xdg_folder

Form = Literal["json", "toml", "yaml"]
EntryKind = Literal["plain", "typed", "transport", "copilot", "opencode", "goose"]
HttpKind = Literal[
    "", "url", "serverUrl", "httpUrl", "http", "streamable", "streamableHttp", "streamable-http",
    "transport", "copilot", "codex", "remote", "goose",
]  # fmt: skip


class Assistant(Struct, frozen=True, kw_only=True):
    """An assistant and its configuration file. `file` is relative to `base`: "home", "settings" (the folder
    for the settings of apps), "config" (`~/.config`, on macOS too) or "here" (the current folder). On
    Windows, `windows` replaces `file`, and `package` is the file's folder if the app is packaged, below
    `Packages` of the local settings. Some assistants also read a second file name in the same folder:
    `other_name`. `moved_by` lists environment variables that name another folder, the strongest first, and
    the file in it; `pointer` is a file in the home that contains the path of another folder. `key` is the
    member that contains the servers by name; if that has a member `nested`, as newer versions write it, the
    servers are in there. `http` is the kind of entry for a server that is reached over HTTP, with a header;
    "" if its maker documents none for this file. `then` says what the user does next, and `source` is the
    page that documents all of this."""

    name: str
    title: str
    base: Literal["home", "settings", "config", "here"]
    file: str
    other_name: str = ""
    windows: str = ""
    package: str = ""
    moved_by: tuple[tuple[str, str], ...] = ()
    pointer: str = ""
    form: Form = "json"
    key: str = "mcpServers"
    nested: str = ""
    entry: EntryKind = "plain"
    http: HttpKind = ""
    then: str
    source: str


POINTER_CHARS: Final = 4096
"""How much of a file that contains one path is read: no system has longer ones."""

ASSISTANTS: Final = (
    Assistant(
        name="claude-desktop",
        title="Claude Desktop",
        base="settings",
        file="Claude/claude_desktop_config.json",
        package="Claude_*/LocalCache/Roaming/Claude",
        then="Quit Claude Desktop and start it again.",
        source="https://modelcontextprotocol.io/docs/develop/connect-local-servers",
    ),
    Assistant(
        name="claude-code",
        title="Claude Code (this folder)",
        base="here",
        file=".mcp.json",
        then="Start claude in this folder and allow the server when it asks.",
        source="https://code.claude.com/docs/en/mcp",
    ),
    Assistant(
        name="claude-code-user",
        title="Claude Code (every folder)",
        base="home",
        file=".claude.json",
        moved_by=(("CLAUDE_CONFIG_DIR", ".claude.json"),),
        entry="typed",
        http="http",
        then="Start claude again; /mcp shows it.",
        source="https://code.claude.com/docs/en/mcp",
    ),
    Assistant(
        name="cursor",
        title="Cursor",
        base="home",
        file=".cursor/mcp.json",
        http="url",
        then="Cursor picks it up automatically; Settings, Tools & MCP shows it.",
        source="https://cursor.com/docs/context/mcp",
    ),
    Assistant(
        name="vscode",
        title="Visual Studio Code",
        base="settings",
        file="Code/User/mcp.json",
        key="servers",
        entry="typed",
        http="http",
        then="Run the command `MCP: List Servers` in the editor and start it.",
        source="https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
    ),
    Assistant(
        name="windsurf",
        title="Windsurf (before it became Devin Desktop)",
        base="home",
        file=".codeium/windsurf/mcp_config.json",
        http="serverUrl",
        then="Press Refresh in Windsurf's list of MCP servers.",
        source="https://docs.windsurf.com/windsurf/cascade/mcp",
    ),
    Assistant(
        name="zed",
        title="Zed",
        base="config",
        file="zed/settings.json",
        windows="Zed/settings.json",
        key="context_servers",
        http="url",
        then="Zed picks it up automatically; Settings, AI, MCP Servers shows it.",
        source="https://zed.dev/docs/ai/mcp",
    ),
    Assistant(
        name="codex",
        title="Codex CLI",
        base="home",
        file=".codex/config.toml",
        moved_by=(("CODEX_HOME", "config.toml"),),
        form="toml",
        key="mcp_servers",
        http="codex",
        then="Start codex again; /mcp shows it.",
        source="https://developers.openai.com/codex/mcp",
    ),
    Assistant(
        name="gemini",
        title="Gemini CLI",
        base="home",
        file=".gemini/settings.json",
        http="httpUrl",
        then="Start gemini again; /mcp shows it.",
        source="https://geminicli.com/docs/tools/mcp-server",
    ),
    Assistant(
        name="opencode",
        title="opencode",
        base="config",
        file="opencode/opencode.json",
        other_name="opencode.jsonc",
        key="mcp",
        nested="servers",
        entry="opencode",
        http="remote",
        then="Start opencode again.",
        source="https://opencode.ai/docs/mcp-servers",
    ),
    Assistant(
        name="cline",
        title="Cline (editor and command line)",
        base="home",
        file=".cline/data/settings/cline_mcp_settings.json",
        moved_by=(
            ("CLINE_MCP_SETTINGS_PATH", ""),
            ("CLINE_DATA_DIR", "settings/cline_mcp_settings.json"),
            ("CLINE_DIR", "data/settings/cline_mcp_settings.json"),
        ),
        http="streamableHttp",
        then="Cline's MCP Servers view shows it; start the command line again.",
        source="https://docs.cline.bot/getting-started/config",
    ),
    Assistant(
        name="cline-3",
        title="Cline 3 (in Visual Studio Code, before June 2026)",
        base="settings",
        file="Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        http="streamableHttp",
        then="Cline picks it up automatically; its MCP Servers view shows it.",
        source="https://docs.cline.bot/mcp/mcp-overview",
    ),
    Assistant(
        name="roo",
        title="Roo Code (in Visual Studio Code; it ended in May 2026)",
        base="settings",
        file="Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        http="streamable-http",
        then="Roo picks it up automatically; its MCP Servers view shows it.",
        source="https://docs.roocode.com/features/mcp/using-mcp-in-roo",
    ),
    Assistant(
        name="lm-studio",
        title="LM Studio",
        base="home",
        file=".lmstudio/mcp.json",
        pointer=".lmstudio-home-pointer",
        http="url",
        then="LM Studio picks it up automatically; the Program tab shows it.",
        source="https://lmstudio.ai/docs/app/mcp",
    ),
    Assistant(
        name="goose",
        title="Goose",
        base="config",
        file="goose/config.yaml",
        windows="Block/goose/config/config.yaml",
        moved_by=(("GOOSE_PATH_ROOT", "config/config.yaml"),),
        form="yaml",
        key="extensions",
        entry="goose",
        http="goose",
        then="Start a new goose session.",
        source="https://block.github.io/goose/docs/guides/config-files",
    ),
    Assistant(
        name="warp",
        title="Warp",
        base="home",
        file=".warp/.mcp.json",
        http="url",
        then="Settings, Agents, MCP servers shows it in Warp.",
        source="https://docs.warp.dev/agents/capabilities/mcp",
    ),
    Assistant(
        name="junie",
        title="JetBrains Junie",
        base="home",
        file=".junie/mcp/mcp.json",
        http="url",
        then="Settings, Tools, Junie, MCP Settings shows it in the IDE.",
        source="https://www.jetbrains.com/help/junie/model-context-protocol-mcp.html",
    ),
    Assistant(
        name="devin",
        title="Devin Desktop (formerly Windsurf)",
        base="config",
        file="devin/mcp_config.json",
        windows="devin/mcp_config.json",
        then="Devin Desktop's list of MCP servers shows it.",
        source="https://docs.devin.ai/cli/reference/configuration/config-file",
    ),
    Assistant(
        name="antigravity",
        title="Antigravity (editor and command line)",
        base="home",
        file=".gemini/config/mcp_config.json",
        http="serverUrl",
        then="Start it again; /mcp shows it.",
        source="https://antigravity.google/docs/mcp",
    ),
    Assistant(
        name="copilot",
        title="GitHub Copilot CLI",
        base="home",
        file=".copilot/mcp-config.json",
        moved_by=(("COPILOT_HOME", "mcp-config.json"),),
        entry="copilot",
        http="copilot",
        then="Start copilot again; /mcp show lists it.",
        source="https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers",
    ),
    Assistant(
        name="kiro",
        title="Kiro (editor and command line)",
        base="home",
        file=".kiro/settings/mcp.json",
        http="url",
        then="Kiro picks it up automatically; its panel of MCP servers shows it.",
        source="https://kiro.dev/docs/mcp/configuration",
    ),
    Assistant(
        name="qwen",
        title="Qwen Code",
        base="home",
        file=".qwen/settings.json",
        moved_by=(("QWEN_HOME", "settings.json"),),
        http="httpUrl",
        then="Start qwen again; /mcp shows it.",
        source="https://qwenlm.github.io/qwen-code-docs/en/users/features/mcp",
    ),
    Assistant(
        name="kimi",
        title="Kimi Code",
        base="home",
        file=".kimi-code/mcp.json",
        moved_by=(("KIMI_CODE_HOME", "mcp.json"),),
        http="url",
        then="Start kimi again; /mcp shows it.",
        source="https://moonshotai.github.io/kimi-code/en/customization/mcp",
    ),
    Assistant(
        name="amp",
        title="Amp",
        base="config",
        file="amp/settings.json",
        other_name="settings.jsonc",
        key="amp.mcpServers",
        http="url",
        then="Start amp again.",
        source="https://ampcode.com/manual#mcp",
    ),
    Assistant(
        name="droid",
        title="Factory Droid",
        base="home",
        file=".factory/mcp.json",
        entry="typed",
        http="http",
        then="Start droid again; /mcp shows it.",
        source="https://docs.factory.ai/cli/configuration/mcp",
    ),
    Assistant(
        name="kilo",
        title="Kilo Code",
        base="config",
        file="kilo/kilo.jsonc",
        other_name="kilo.json",
        key="mcp",
        entry="opencode",
        http="remote",
        then="Kilo's settings, Agent Behaviour, MCP Servers shows it.",
        source="https://kilo.ai/docs/automate/mcp/using-in-kilo-code",
    ),
    Assistant(
        name="anythingllm",
        title="AnythingLLM Desktop",
        base="settings",
        file="anythingllm-desktop/storage/plugins/anythingllm_mcp_servers.json",
        http="streamable",
        then="Press Refresh in Settings, Agent Skills, MCP Servers.",
        source="https://docs.anythingllm.com/mcp-compatibility/overview",
    ),
    Assistant(
        name="auggie",
        title="Augment (Auggie, command line)",
        base="home",
        file=".augment/settings.json",
        entry="typed",
        http="http",
        then="Start auggie again; `auggie mcp list` shows it.",
        source="https://docs.augmentcode.com/cli/integrations",
    ),
    Assistant(
        name="rovo",
        title="Rovo Dev (command line)",
        base="home",
        file=".rovodev/mcp.json",
        entry="transport",
        http="transport",
        then="Start Rovo Dev again; /mcp shows it.",
        source="https://support.atlassian.com/rovo/docs/connect-to-an-mcp-server-in-rovo-dev-cli",
    ),
)


def find_assistant(name: str) -> Assistant | None:
    return next((assistant for assistant in ASSISTANTS if assistant.name == name), None)


def find_config_file(
    assistant: Assistant, environ: Mapping[str, str], *, here: Path, platform: str = sys.platform
) -> Path:
    """Find the user's file on this system, whether it exists or not."""
    home = find_home(environ, platform=platform)
    for variable, name in assistant.moved_by:
        if moved := environ.get(variable, "").strip():
            return expand_home(moved) / name
    if assistant.pointer and (folder := _read_pointer(home / assistant.pointer)):
        return folder / Path(assistant.file).name
    if platform == "win32" and assistant.windows:
        return _settings_folder(home, environ, platform) / assistant.windows
    folders = {
        "home": home,
        "here": here,
        "settings": _settings_folder(home, environ, platform),
        "config": _config_folder(home, environ),
    }
    file = folders[assistant.base] / assistant.file
    if platform == "win32" and assistant.package:
        return _find_packaged(assistant.package, file, environ, home)
    other = file.with_name(assistant.other_name or file.name)
    return other if other.is_file() and not file.is_file() else file


def _read_pointer(file: Path) -> Path | None:
    try:
        with file.open(encoding="utf-8") as opened:
            folder = Path(opened.read(POINTER_CHARS).strip())
    except (OSError, ValueError):
        return None
    return folder if folder.is_absolute() else None


def _find_packaged(package: str, file: Path, environ: Mapping[str, str], home: Path) -> Path:
    """Find the file of a packaged app: Windows gives it its own copy of the settings folder, and it never
    sees the file that other programs see there. Claude Desktop has been packaged (MSIX) since 2026-02. The
    folder of an app that was removed may still be there, so the newest existing file is chosen."""
    packages = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "Packages"
    candidates = [folder / file.name for folder in sorted(packages.glob(package))]
    existing = [candidate for candidate in candidates if candidate.is_file()]
    if existing:
        return max(existing, key=lambda candidate: candidate.stat().st_mtime)
    return candidates[0] if candidates and not file.is_file() else file


def is_installed(assistant: Assistant, file: Path) -> bool:
    """Whether the assistant has been used on this machine, which its folder shows. A file in the current
    folder or directly in the home folder has no such folder, so then the file itself must exist."""
    return file.is_file() if len(Path(assistant.file).parts) == 1 else file.parent.is_dir()


def _settings_folder(home: Path, environ: Mapping[str, str], platform: str) -> Path:
    if platform == "darwin":
        return home / "Library" / "Application Support"
    if platform == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    return _config_folder(home, environ)


def _config_folder(home: Path, environ: Mapping[str, str]) -> Path:
    return find_xdg_folder(environ, "XDG_CONFIG_HOME", home / ".config")
