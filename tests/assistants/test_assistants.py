"""Where assistants keep their servers, on each system."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from vaultbridge.assistants.catalog import ASSISTANTS, Assistant, find_config_file
from vaultbridge.assistants.config_file import (
    list_servers,
    plan_removal,
    read_text,
    remove_server,
    set_server,
    write_text,
)
from vaultbridge.assistants.entry import find_entry_vault, make_entry, parse_entry
from vaultbridge.cli.stdio import parse_arguments
from vaultbridge.errors import EditRefused
from vaultbridge.server.stdio.serve import StdioOptions, make_plan

BY_NAME = {known.name: known for known in ASSISTANTS}


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
            "cline-3",
            "darwin",
            "/home/a/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/"
            "cline_mcp_settings.json",
        ),
        ("lm-studio", "win32", "/home/a/.lmstudio/mcp.json"),
        ("goose", "linux", "/home/a/.config/goose/config.yaml"),
        ("goose", "win32", "/roaming/Block/goose/config/config.yaml"),
        ("warp", "darwin", "/home/a/.warp/.mcp.json"),
        ("junie", "linux", "/home/a/.junie/mcp/mcp.json"),
        ("devin", "darwin", "/home/a/.config/devin/mcp_config.json"),
        ("devin", "win32", "/roaming/devin/mcp_config.json"),
        ("antigravity", "win32", "/home/a/.gemini/config/mcp_config.json"),
        ("copilot", "linux", "/home/a/.copilot/mcp-config.json"),
        ("kiro", "win32", "/home/a/.kiro/settings/mcp.json"),
        ("qwen", "linux", "/home/a/.qwen/settings.json"),
        ("kimi", "darwin", "/home/a/.kimi-code/mcp.json"),
        ("amp", "win32", "/home/a/.config/amp/settings.json"),
        ("droid", "win32", "/home/a/.factory/mcp.json"),
        ("cline", "linux", "/home/a/.cline/data/settings/cline_mcp_settings.json"),
        ("kilo", "linux", "/home/a/.config/kilo/kilo.jsonc"),
        (
            "anythingllm",
            "darwin",
            "/home/a/Library/Application Support/anythingllm-desktop/storage/plugins/"
            "anythingllm_mcp_servers.json",
        ),
        (
            "anythingllm",
            "win32",
            "/roaming/anythingllm-desktop/storage/plugins/anythingllm_mcp_servers.json",
        ),
        ("auggie", "win32", "/home/a/.augment/settings.json"),
        ("rovo", "linux", "/home/a/.rovodev/mcp.json"),
    ],
)
def test_the_file_is_where_the_assistant_looks(name: str, platform: str, expected: str) -> None:
    environ = {"HOME": "/home/a", "APPDATA": "/roaming"}
    found = find_config_file(BY_NAME[name], environ, here=Path("/here"), platform=platform)
    assert found == Path(expected)


def test_a_moved_settings_folder_is_found_if_it_is_absolute() -> None:
    def find_file(folder: str) -> Path:
        environ = {"HOME": "/home/a", "XDG_CONFIG_HOME": folder}
        return find_config_file(BY_NAME["vscode"], environ, here=Path(), platform="linux")

    assert find_file("/conf") == Path("/conf/Code/User/mcp.json")
    assert find_file("conf") == Path("/home/a/.config/Code/User/mcp.json")


def test_a_variable_moves_the_folder_of_some() -> None:
    moved = {
        "codex": ("CODEX_HOME", "/a/config.toml"),
        "claude-code-user": ("CLAUDE_CONFIG_DIR", "/a/.claude.json"),
        "copilot": ("COPILOT_HOME", "/a/mcp-config.json"),
        "qwen": ("QWEN_HOME", "/a/settings.json"),
        "goose": ("GOOSE_PATH_ROOT", "/a/config/config.yaml"),
    }
    for name, (variable, file) in moved.items():
        for platform in ("linux", "win32"):
            environ = {"HOME": "/home/a", variable: "/a"}
            assert find_config_file(BY_NAME[name], environ, here=Path(), platform=platform) == Path(file)


def test_the_strongest_variable_of_cline_counts() -> None:
    environ = {"HOME": "/home/a", "CLINE_DIR": "/dir"}
    found = []
    for variable, value in (("CLINE_DATA_DIR", "/data"), ("CLINE_MCP_SETTINGS_PATH", "/my.json"), ("x", "")):
        found.append(str(find_config_file(BY_NAME["cline"], environ, here=Path())))
        environ[variable] = value
    name = "settings/cline_mcp_settings.json"
    assert found == [f"/dir/data/{name}", f"/data/{name}", "/my.json"]


def test_lm_studio_says_in_a_file_where_its_folder_is(tmp_path: Path) -> None:
    """Older installations keep using ~/.cache/lm-studio, and people move the folder to a larger disk."""

    def find() -> Path:
        return find_config_file(BY_NAME["lm-studio"], {"HOME": str(tmp_path)}, here=Path())

    pointer = tmp_path / ".lmstudio-home-pointer"
    assert find() == tmp_path / ".lmstudio" / "mcp.json"
    pointer.write_text(f"{tmp_path / 'models'}\n", "utf-8")
    assert find() == tmp_path / "models" / "mcp.json"
    for broken in (b"", b"relative/folder", b"\xff\xfe", b"\0"):
        pointer.write_bytes(broken)
        assert find() == tmp_path / ".lmstudio" / "mcp.json"


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


def test_the_alternative_file_name_is_used_where_only_it_exists(tmp_path: Path) -> None:
    def find() -> str:
        environ = {"HOME": str(tmp_path)}
        return find_config_file(BY_NAME["opencode"], environ, here=Path(), platform="linux").name

    folder = tmp_path / ".config" / "opencode"
    folder.mkdir(parents=True)
    assert find() == "opencode.json"
    (folder / "opencode.jsonc").touch()
    assert find() == "opencode.jsonc"
    (folder / "opencode.json").touch()
    assert find() == "opencode.json"


def test_a_packaged_claude_desktop_has_a_file_of_its_own(tmp_path: Path) -> None:
    """Windows shows a packaged app its own copy of the settings folder, so that the other file is never
    read. Every report since 2026-02 has this place: anthropics/claude-code#26073."""
    environ = {
        "HOME": "/home/a",
        "APPDATA": str(tmp_path / "roaming"),
        "LOCALAPPDATA": str(tmp_path / "local"),
    }

    def find() -> Path:
        return find_config_file(BY_NAME["claude-desktop"], environ, here=Path(), platform="win32")

    name = "claude_desktop_config.json"
    classic = tmp_path / "roaming" / "Claude" / name
    assert find() == classic
    packages = [
        tmp_path / "local" / "Packages" / f"Claude_{code}" / "LocalCache" / "Roaming" / "Claude" / name
        for code in ("old", "pzs8sxrjxfjjc")
    ]
    for file in packages:
        file.parent.mkdir(parents=True)
    (tmp_path / "local" / "Packages" / "Claude-Data" / "LocalCache").mkdir(parents=True)
    assert find() == packages[0]
    classic.parent.mkdir(parents=True)
    classic.touch()
    assert find() == classic
    packages[1].touch()
    assert find() == packages[1]
    packages[0].touch()
    os.utime(packages[0], (1, 1))
    assert find() == packages[1]


def test_every_assistant_says_where_its_file_is_documented() -> None:
    assert all(assistant.source.startswith("https://") for assistant in ASSISTANTS)


NAMES = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | NAMES,
    lambda value: st.lists(value, max_size=2),
    max_leaves=3,
)
SERVERS = st.dictionaries(
    NAMES, st.fixed_dictionaries({"command": NAMES, "args": st.lists(NAMES)}), max_size=3
)


def quote(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@st.composite
def existing_files(draw: st.DrawFn) -> tuple[Assistant, str]:
    """An assistant, and a file as its owner or the assistant itself may have written it."""
    assistant = draw(st.sampled_from(ASSISTANTS))
    rest = draw(st.dictionaries(NAMES.filter(lambda name: name != assistant.key), VALUES, max_size=3))
    servers = draw(st.none() | SERVERS)
    if assistant.form == "toml":
        text = "".join(f"{quote(key)} = {quote(str(value))}  # stays\n" for key, value in rest.items())
        for name, entry in (servers or {}).items():
            text += f"\n[{assistant.key}.{quote(name)}]\ncommand = {quote(entry['command'])}\n# more\n"
    elif assistant.form == "yaml":
        text = "".join(f"{quote(key)}: {quote(value)}  # stays\n" for key, value in rest.items())
        if servers is not None:
            rows = [
                f"  {quote(name)}:\n    cmd: {quote(server['command'])}\n" for name, server in servers.items()
            ]
            text += f"{assistant.key}:\n" + "".join(rows)
    else:
        held = {assistant.nested: servers} if assistant.nested and draw(st.booleans()) else servers
        whole = rest if servers is None else {**rest, assistant.key: held}
        if draw(st.booleans()):
            whole = dict(reversed(whole.items()))
        text = json.dumps(
            whole,
            indent=draw(st.sampled_from([None, 2, 4, "\t"])),
            ensure_ascii=draw(st.booleans()),
        )
        head = draw(st.sampled_from(["", "// mine\n", "/* a\n   b */ ", "\ufeff"]))
        text = head + text + draw(st.sampled_from(["", "\n", " // end\n"]))
    return assistant, text.replace("\n", "\r\n") if draw(st.booleans()) else text


def parse_file(assistant: Assistant, text: str) -> Any:
    if assistant.form == "toml":
        return tomllib.loads(text)
    if assistant.form == "yaml":
        return yaml.safe_load(text) or {}
    return list_servers(text, assistant)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=existing_files(), name=st.sampled_from(["notes", "my-vault", "n_1"]))
def test_any_file_keeps_every_byte_when_a_vault_comes_and_goes(
    drawn: tuple[Assistant, str], name: str, tmp_path: Path
) -> None:
    """What comes is found in the file, as what the assistant will start; what goes leaves what was there."""
    assistant, text = drawn
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    file = folder / f"{assistant.name}.{assistant.form}"
    file.write_bytes(text.encode())
    before = list_servers(text, assistant)
    assume(name not in before)
    rest = parse_file(assistant, text)
    vault = Path('/home/me/Заметки 📓 %d/it\'s "mine" \\ שלי')
    entry = make_entry(assistant, name, vault)
    added = set_server(text, assistant, name, entry)
    write_text(file, added, before=text)
    after = list_servers(file.read_bytes().decode(), assistant)
    assert after == {**before, name: entry} and parse_entry(after[name])[-2:] == ["stdio", str(vault)]
    # Nothing that was there has gone: what is new stands between parts of it.
    left = iter(added)
    assert all(letter in left for letter in text.rstrip().rstrip("}"))
    removal = plan_removal(file, assistant, name)
    assert removal is not None and removal.restores
    remove_server(file, removal)
    assert read_text(file) == text and list(folder.iterdir()) == [file]
    # The same without the text that was kept.
    write_text(file, added, before=text)
    file.with_name(f"{file.name}.before-vaultbridge").unlink()
    again = plan_removal(file, assistant, name)
    assert again is not None
    if again.after is None:  # nothing but our server: it could be that there was no file
        assert not before
        return
    assert list_servers(again.after, assistant) == before
    if before or assistant.form == "json":
        assert parse_file(assistant, again.after) == rest


VARIABLES = r"\$(\w+)|\$\{([^}]*)\}|\$\([^)]*\)|\{(?:env|file):[^}]*\}|%HOME%"
"""What at least one assistant replaces in the arguments of a server. Windows leaves `%20a%` as it is, because
there is no variable of that name."""


@pytest.mark.parametrize(
    "name",
    ["$HOME", "${HOME}", "a ${env:HOME:-x}", "$(id)", "{env:HOME}", "{file:x}", "%HOME%", "100 % $5 {}"],
)
def test_a_vault_whose_path_looks_like_a_variable_arrives_as_it_is(name: str, tmp_path: Path) -> None:
    vault = tmp_path / name
    vault.mkdir()
    for assistant in ASSISTANTS:
        words = parse_entry(make_entry(assistant, "n", vault, ("--read-only",)))
        arrived = [re.sub(VARIABLES, "/elsewhere", word) for word in words]
        assert find_entry_vault({"command": arrived[0], "args": arrived[1:]}) == vault
        options = StdioOptions(**parse_arguments(arrived[arrived.index("stdio") + 1 :]))
        plan = make_plan(options, {"HOME": str(tmp_path / "home")})
        assert [place.text for place in plan.vaults.values()] == [str(vault)]


def test_an_option_that_looks_like_a_variable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EditRefused, match=r"could replace a part of '\$\{x\}'.* configuration file"):
        make_entry(BY_NAME["cursor"], "n", tmp_path, ("--deny", "${x}"))


@pytest.mark.parametrize("document", ["README.md", "docs/mcp.md"])
def test_the_documents_name_every_assistant(document: str) -> None:
    text = (Path(__file__).parents[2] / document).read_text("utf-8")
    assert [name for name in BY_NAME if f"`{name}`" not in text] == []
