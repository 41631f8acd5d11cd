"""Where assistants keep their servers, on each system."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vaultbridge.server.assistants.catalog import ASSISTANTS, find_config_file, make_entry

BY_NAME = {one.name: one for one in ASSISTANTS}


@pytest.mark.parametrize(
    ("name", "platform", "expected"),
    [
        ("claude-desktop", "linux", "/home/a/.config/Claude/claude_desktop_config.json"),
        ("claude-desktop", "darwin", "/home/a/Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", "/roaming/Claude/claude_desktop_config.json"),
        ("vscode", "linux", "/home/a/.config/Code/User/mcp.json"),
        ("vscode", "darwin", "/home/a/Library/Application Support/Code/User/mcp.json"),
        ("cursor", "darwin", "/home/a/.cursor/mcp.json"),
        ("windsurf", "linux", "/home/a/.codeium/windsurf/mcp_config.json"),
        ("gemini", "win32", "/home/a/.gemini/settings.json"),
        ("claude-code", "linux", "/here/.mcp.json"),
        ("claude-code-user", "linux", "/home/a/.claude.json"),
        ("zed", "darwin", "/home/a/.config/zed/settings.json"),
        ("zed", "win32", "/roaming/Zed/settings.json"),
        ("codex", "linux", "/home/a/.codex/config.toml"),
        ("opencode", "linux", "/home/a/.config/opencode/opencode.json"),
        (
            "cline",
            "darwin",
            "/home/a/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/"
            "cline_mcp_settings.json",
        ),
        ("lm-studio", "win32", "/home/a/.lmstudio/mcp.json"),
        ("goose", "linux", "/home/a/.config/goose/config.yaml"),
        ("goose", "win32", "/roaming/Block/goose/config/config.yaml"),
        ("warp", "darwin", "/home/a/.warp/.mcp.json"),
        ("junie", "linux", "/home/a/.junie/mcp/mcp.json"),
    ],
)
def test_the_file_is_where_the_assistant_looks(name: str, platform: str, expected: str) -> None:
    environ = {"HOME": "/home/a", "APPDATA": "/roaming"}
    found = find_config_file(BY_NAME[name], environ, here=Path("/here"), platform=platform)
    assert found == Path(expected)


def test_a_moved_settings_folder_is_found_if_it_is_absolute() -> None:
    def found(folder: str) -> Path:
        environ = {"HOME": "/home/a", "XDG_CONFIG_HOME": folder}
        return find_config_file(BY_NAME["vscode"], environ, here=Path(), platform="linux")

    assert found("/conf") == Path("/conf/Code/User/mcp.json")
    assert found("conf") == Path("/home/a/.config/Code/User/mcp.json")


def test_a_variable_moves_the_folder_of_some() -> None:
    environ = {"HOME": "/home/a", "CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/d"}
    found = [find_config_file(BY_NAME[name], environ, here=Path()) for name in ("codex", "claude-code-user")]
    assert found == [Path("/c/config.toml"), Path("/d/.claude.json")]


def test_the_command_needs_no_path_of_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    monkeypatch.setattr(sys, "executable", str(python))
    entry = make_entry(BY_NAME["cursor"], "n", Path("/vault"), ("--read-only",))
    assert entry == {
        "command": str(python),
        "args": ["-m", "vaultbridge", "stdio", "/vault", "--read-only"],
    }
    (tmp_path / "vaultbridge").touch()
    entry = make_entry(BY_NAME["vscode"], "n", Path("/vault"))
    assert entry == {"type": "stdio", "command": str(tmp_path / "vaultbridge"), "args": ["stdio", "/vault"]}


@pytest.mark.parametrize("document", ["README.md", "docs/mcp.md"])
def test_the_documents_name_every_assistant(document: str) -> None:
    text = (Path(__file__).parents[2] / document).read_text("utf-8")
    assert [name for name in BY_NAME if name not in text] == []
