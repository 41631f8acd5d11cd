"""`vaultbridge connect`: from nothing to a server that the assistant can start."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vaultbridge.assistants.catalog import ASSISTANTS, find_assistant
from vaultbridge.assistants.config_file import list_servers, read_text, set_server
from vaultbridge.assistants.entry import parse_entry
from vaultbridge.cli.setup.connect import main, make_server_name

Said = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / ".cursor").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("VAULTBRIDGE_VAULT", raising=False)
    monkeypatch.chdir(home)
    return home


VAULT_NAME = "My Café"
VAULT = {"A.md": "text"}


def test_the_written_command_starts_a_server_on_the_vault(home: Path, vault: Path, capsys: Said) -> None:
    assert main(["claude-code", str(vault), "--", "--read-only"]) == 0
    assert "connected to my-cafe" in capsys.readouterr().out
    entry = json.loads((home / ".mcp.json").read_text("utf-8"))["mcpServers"]["my-cafe"]
    call = [sys.executable, "-m", "vaultbridge", "call"]
    called = subprocess.run(
        [*call, "--trust", "my-cafe", "obsidian_read_note", '{"path": "A.md"}'],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert called.stdout.rstrip().endswith("text")
    assert entry["args"][-2:] == [str(vault), "--read-only"]


def test_doing_it_twice_changes_nothing(home: Path, vault: Path, capsys: Said) -> None:
    file = home / ".cursor/mcp.json"
    assert main(["cursor", str(vault)]) == 0
    before = file.stat().st_ino, file.read_bytes()
    assert main(["cursor", str(vault)]) == 0
    assert "already" in capsys.readouterr().out
    assert (file.stat().st_ino, file.read_bytes()) == before


@pytest.mark.parametrize("assistant", ["cursor", "codex", "goose", "opencode", "zed"])
def test_doing_it_again_keeps_the_limits_and_what_the_owner_added(
    home: Path, vault: Path, assistant: str, capsys: Said
) -> None:
    """Nobody gets to see a denied folder because a vault was connected twice, or because of `init`."""
    file = home / "config"
    limits = ["--read-only", "--deny", "Private/"]
    catalog = find_assistant(assistant)
    assert catalog is not None

    def list_entry() -> dict[str, object]:
        return dict(list_servers(read_text(file) or "", catalog)["my-cafe"])

    assert main([assistant, str(vault), "--file", str(file), "--", *limits]) == 0
    added = {**list_entry(), "env": {"VAULTBRIDGE_LOG_LEVEL": "debug"}, "autoApprove": ["obsidian_search"]}
    old = "/moved/vaultbridge"
    program = "cmd" if "cmd" in added else "command"
    added[program] = old if "args" in added else [old, *parse_entry(added)[1:]]
    file.write_text(set_server(read_text(file) or "", catalog, "my-cafe", added), "utf-8")
    capsys.readouterr()
    assert main([assistant, str(vault), "--file", str(file)]) == 0
    assert "still with --read-only --deny Private/ (--replace" in capsys.readouterr().out
    kept = list_entry()
    assert parse_entry(kept)[-4:] == [str(vault), *limits] and old not in parse_entry(kept)
    assert kept["env"] == added["env"] and kept["autoApprove"] == added["autoApprove"]
    assert main([assistant, str(vault), "--file", str(file), "--", "--profile", "core"]) == 0
    assert parse_entry(list_entry())[-3:] == [str(vault), "--profile", "core"]
    assert main([assistant, str(vault), "--file", str(file), "--replace"]) == 0
    assert parse_entry(list_entry())[-1] == str(vault) and "env" not in list_entry()


def test_another_server_of_that_name_is_kept_unless_forced(home: Path, vault: Path, capsys: Said) -> None:
    file = home / ".cursor/mcp.json"
    file.write_text('{"mcpServers": {"my-cafe": {"url": "https://else.example"}}}', "utf-8")
    assert main(["cursor", str(vault)]) == 1
    assert "--replace" in capsys.readouterr().err
    assert "else.example" in file.read_text("utf-8")
    assert main(["cursor", str(vault), "--name", "notes"]) == 0
    assert list(json.loads(file.read_text("utf-8"))["mcpServers"]) == ["my-cafe", "notes"]
    assert main(["cursor", str(vault), "--replace"]) == 0
    assert "else.example" not in file.read_text("utf-8")


@given(
    folders=st.lists(
        st.tuples(
            st.sampled_from("ab"), st.sampled_from(["Notes", "notes", "笔记", "日记", "Ноты", "📓", "N.o"])
        ),
        min_size=2,
        max_size=3,
        unique=True,
    ),
    assistant=st.sampled_from(["cursor", "codex", "goose", "opencode"]),
    order=st.randoms(),
)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_vaults_whose_names_come_out_the_same_are_all_connected(
    folders: list[tuple[str, str]], assistant: str, order: Random, home: Path, capsys: Said
) -> None:
    """Each has an entry of its own, in any order, and each is removed without touching another's."""
    place = Path(tempfile.mkdtemp(dir=home))
    file = place / "config"
    vaults = [place.joinpath(*parts) for parts in folders]
    for vault in vaults:
        vault.mkdir(parents=True)

    def list_vaults() -> list[str]:
        found = list_servers(read_text(file) or "", find_assistant(assistant) or ASSISTANTS[0])
        return sorted(parse_entry(entry)[-1] for entry in found.values())

    for vault in [*vaults, *vaults]:
        assert main([assistant, str(vault), "--file", str(file)]) == 0
    assert list_vaults() == sorted(map(str, vaults))
    order.shuffle(vaults)
    while vaults:
        assert main([assistant, str(vaults.pop()), "--file", str(file), "--remove"]) == 0
        assert list_vaults() == sorted(map(str, vaults))


@pytest.mark.parametrize("place", ["{home}/loop", "/" + "x" * 5_000, "/a\0b", "~/\ud800", "file:///a%00b"])
def test_an_entry_whose_vault_cannot_be_looked_at_stops_nothing(
    home: Path, vault: Path, capsys: Said, place: str
) -> None:
    (home / "loop").symlink_to("loop")
    name = make_server_name(vault)
    entry = {"command": "/x/vaultbridge", "args": ["stdio", place.format(home=home)]}
    file = home / ".cursor" / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {name: entry}}))
    assert main([]) == 0
    assert main(["cursor", str(vault), "--replace"]) == 0
    assert str(vault) in file.read_text()


def test_a_name_of_another_vault_is_refused_unless_that_one_is_gone(
    home: Path, vault: Path, tmp_path: Path, capsys: Said
) -> None:
    file = home / ".cursor/mcp.json"
    other = tmp_path / "Other"
    other.mkdir()
    assert main(["cursor", str(vault), "--name", "n"]) == 0
    before = file.read_bytes()
    assert main(["cursor", str(other), "--name", "n"]) == 1
    assert "another vault named 'n'" in capsys.readouterr().err and file.read_bytes() == before
    vault.rename(tmp_path / "Moved")
    assert main(["cursor", str(tmp_path / "Moved"), "--name", "n"]) == 0
    # It is written where the former one stood, and indented like it.
    assert file.read_bytes() == before.replace(str(vault).encode(), str(tmp_path / "Moved").encode())
    assert main(["cursor", str(other), "--name", "n", "--replace"]) == 0


def test_a_dry_run_shows_the_change_and_makes_none(home: Path, vault: Path, capsys: Said) -> None:
    assert main(["cursor", str(vault), "--dry-run"]) == 0
    output = capsys.readouterr().out
    assert '+    "my-cafe": {' in output
    assert "would be connected" in output
    assert not (home / ".cursor/mcp.json").exists()
    assert main(["cursor", str(vault), "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"] is False


def test_the_change_of_one_endless_line_is_shown_in_short(home: Path, vault: Path, capsys: Said) -> None:
    """Some programs write their file without line ends, with a history of megabytes in it."""
    (home / ".claude.json").write_text(json.dumps({"history": ["text"] * 50_000}), "utf-8")
    assert main(["claude-code-user", str(vault), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert len(shown) < 3_000 and '+{"history": ["text", ' in shown
    assert '"mcpServers": {"my-cafe": {"type": "stdio", "command": "' in shown


def test_a_server_is_taken_out_by_name_or_vault(home: Path, vault: Path, capsys: Said) -> None:
    main(["cursor", str(vault)])
    main(["cursor", str(vault), "--name", "two"])
    assert main(["cursor", "--remove", "--name", "two"]) == 0
    assert list(json.loads((home / ".cursor/mcp.json").read_text("utf-8"))["mcpServers"]) == ["my-cafe"]
    assert main(["cursor", str(vault), "--remove"]) == 0
    assert not (home / ".cursor/mcp.json").exists()
    assert main(["cursor", str(vault), "--remove"]) == 0
    assert "is not connected to my-cafe" in capsys.readouterr().out


def test_all_assistants_are_listed_with_their_servers(home: Path, vault: Path, capsys: Said) -> None:
    main(["cursor", str(vault)])
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text("{ mine\n}", "utf-8")
    capsys.readouterr()
    assert main(["--json"]) == 0
    rows = {row["assistant"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert rows["cursor"]["vaultbridge"] == ["my-cafe"]
    assert rows["claude-desktop"]["problem"] == "not installed"
    assert rows["claude-code"]["problem"] == "no file yet"
    assert "line 1" in rows["gemini"]["problem"]
    assert main([]) == 0
    assert "connected to my-cafe" in capsys.readouterr().out


def test_a_file_with_comments_keeps_them(home: Path, vault: Path) -> None:
    file = home / ".cursor/mcp.json"
    file.write_text('{\n  // mine\n  "mcpServers": {}\n}\n', "utf-8")
    assert main(["cursor", str(vault)]) == 0
    assert file.read_text("utf-8").startswith('{\n  // mine\n  "mcpServers": {\n    "my-cafe": {\n')
    kept = file.with_name("mcp.json.before-vaultbridge")
    assert kept.read_text("utf-8") == '{\n  // mine\n  "mcpServers": {}\n}\n'


def test_an_unreadable_file_is_left_alone_and_the_error_says_what_to_write(
    home: Path, vault: Path, capsys: Said
) -> None:
    file = home / ".cursor/mcp.json"
    file.write_text('{\n  mine\n  "mcpServers": {}\n}\n', "utf-8")
    assert main(["cursor", str(vault)]) == 1
    output = capsys.readouterr().err
    assert '{"mcpServers": {"my-cafe": {"command":' in output
    assert file.read_text("utf-8") == '{\n  mine\n  "mcpServers": {}\n}\n'


def test_every_form_of_file_gets_an_entry_that_starts(home: Path, vault: Path) -> None:
    import tomllib

    import yaml

    for folder in (".codex", ".config/goose", ".config/opencode"):
        (home / folder).mkdir(parents=True)
    assert main(["codex", str(vault)]) == main(["goose", str(vault)]) == main(["opencode", str(vault)]) == 0
    codex = tomllib.loads((home / ".codex/config.toml").read_text("utf-8"))["mcp_servers"]["my-cafe"]
    goose = yaml.safe_load((home / ".config/goose/config.yaml").read_text("utf-8"))["extensions"]["my-cafe"]
    opencode = json.loads((home / ".config/opencode/opencode.json").read_text("utf-8"))["mcp"]["my-cafe"]
    lines = [parse_entry(entry) for entry in (codex, goose, opencode)]
    assert lines[0] == lines[1] == lines[2] and lines[0][-2:] == ["stdio", str(vault)]


def test_connect_all_takes_every_installed_assistant_and_goes_on_after_a_refusal(
    home: Path, vault: Path, capsys: Said
) -> None:
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text("not json", "utf-8")
    (home / ".warp").mkdir()
    assert main(["all", str(vault)]) == 1
    output = capsys.readouterr()
    assert "Cursor is connected to my-cafe" in output.out and "Warp is connected to my-cafe" in output.out
    assert ".gemini/settings.json" in output.err
    assert (home / ".gemini/settings.json").read_text("utf-8") == "not json"
    assert not (home / ".mcp.json").exists()
    assert main(["all", str(vault), "--remove"]) == 1
    assert "Gemini CLI: The file is not JSON" in capsys.readouterr().err
    assert not (home / ".warp/.mcp.json").exists()


def test_connect_all_says_once_which_folder_is_missing(home: Path, vault: Path, capsys: Said) -> None:
    (home / ".warp").mkdir()
    missing = vault.parent / "Gone" / "Notes"
    assert main(["all", str(missing)]) == 1
    output = capsys.readouterr()
    assert output.out == "" and output.err.count("\n") == 1
    assert output.err.startswith(f"vaultbridge: There is no folder {missing}.")


def test_a_mistyped_assistant_is_suggested(capsys: Said) -> None:
    assert main(["coursor", "."]) == 2
    assert "Did you mean cursor?" in capsys.readouterr().err
    assert main(["Claude Desktop", "."]) == 2
    assert "Did you mean claude-desktop?" in capsys.readouterr().err


def test_the_vault_may_be_left_out_before_options(
    home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    (vault / ".obsidian").mkdir(exist_ok=True)
    monkeypatch.chdir(vault)
    assert main(["cursor", "--", "--deny", "Private/"]) == 0
    entry = json.loads((home / ".cursor/mcp.json").read_text("utf-8"))["mcpServers"]["my-cafe"]
    assert entry["args"][-3:] == [str(vault), "--deny", "Private/"]
    assert main(["cursor", str(vault), "--deny"]) == main(["cursor", str(vault), "more"]) == 2
    assert "connect takes no more" in capsys.readouterr().err


def test_the_vault_may_be_left_out(home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (vault / ".obsidian").mkdir()
    monkeypatch.chdir(vault)
    assert main(["cursor"]) == 0
    assert "my-cafe" in (home / ".cursor/mcp.json").read_text("utf-8")
    assert main(["cursor", "--remove"]) == 0


def test_a_missing_app_is_reported(vault: Path, capsys: Said) -> None:
    assert main(["claude-desktop", str(vault)]) == 1
    assert "not seem to be installed" in capsys.readouterr().err


def test_a_file_elsewhere_can_be_named(tmp_path: Path, vault: Path) -> None:
    assert main(["vscode", str(vault), "--file", str(tmp_path / "mcp.json")]) == 0
    entry = json.loads((tmp_path / "mcp.json").read_text("utf-8"))["servers"]["my-cafe"]
    assert entry["type"] == "stdio"


@pytest.mark.parametrize(
    "argv",
    [
        ["nobody", "x"],
        ["cursor", ".", "--", "--nonsense"],
        ["cursor", ".", "--", "another-vault"],
    ],
)
def test_wrong_usage_is_code_2_and_writes_nothing(home: Path, argv: list[str], capsys: Said) -> None:
    assert main(argv) == 2
    assert capsys.readouterr().err.startswith("vaultbridge: ")
    assert not list((home / ".cursor").iterdir())


def test_a_missing_vault_is_reported(home: Path, capsys: Said) -> None:
    assert main(["cursor", "nowhere"]) == 1
    assert "nowhere" in capsys.readouterr().err
    assert not list((home / ".cursor").iterdir())


FORMER_TEXTS = {
    ".cursor/mcp.json": [
        None,
        "",
        "{}",
        '{"mcpServers":{}}\n',
        '{"theme": "dark"}',
        '\ufeff{\n  "mcpServers": {\n  }\n}\n',
        '{"mcpServers": {"a": {"command": "b"}}}',
        '{\r\n  // mine\r\n  "mcpServers": {\r\n    "a": {"command": "b"}, // theirs\r\n  },\r\n}\r\n',
    ],
    ".codex/config.toml": [
        None,
        "",
        'model = "o4" # best',
        '[mcp_servers.a]\ncommand = "b"\n\n\n',
        "a = 1\r\n",
    ],
    ".config/goose/config.yaml": [
        None,
        "",
        "extensions: {}\n",
        "MODEL: x",
        "extensions:\n  a:\n    b: 1 # c\n",
    ],
}


@pytest.mark.parametrize(
    ("name", "former"), [(name, former) for name, formers in FORMER_TEXTS.items() for former in formers]
)
def test_disconnecting_restores_every_byte_of_the_file(
    home: Path, vault: Path, name: str, former: str | None
) -> None:
    file = home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    if former is not None:
        file.write_bytes(former.encode())
    assistant = name.partition("/")[0].strip(".") if "goose" not in name else "goose"
    assert main([assistant, str(vault)]) == 0
    assert file.read_bytes() != (former or "").encode()
    assert main([assistant, str(vault), "--remove"]) == 0
    assert (file.read_bytes().decode() if file.exists() else None) == former
    assert [entry.name for entry in file.parent.iterdir()] == ([file.name] if former is not None else [])


def test_what_others_wrote_since_stays_when_a_server_is_taken_back(home: Path, vault: Path) -> None:
    file = home / ".cursor/mcp.json"
    file.write_text('{"a": 1, "mcpServers": {}}', "utf-8")
    assert main(["cursor", str(vault)]) == 0
    file.write_text(file.read_text("utf-8").replace('"a": 1', '"a": 2'), "utf-8")
    assert main(["cursor", str(vault), "--remove"]) == 0
    assert file.read_text("utf-8") == '{"a": 2, "mcpServers": {}}'


def test_a_linked_file_of_ours_is_emptied_and_not_deleted(home: Path, vault: Path) -> None:
    kept = home / "dotfiles.json"
    file = home / ".cursor/mcp.json"
    file.symlink_to(kept)
    assert main(["cursor", str(vault)]) == 0
    assert main(["cursor", str(vault), "--remove"]) == 0
    assert file.is_symlink() and json.loads(kept.read_text("utf-8")) == {"mcpServers": {}}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (".codex/config.toml", 'mcp_servers.my-cafe = {command = "'),
        (".config/goose/config.yaml", 'extensions: {"my-cafe": {"enabled": true'),
    ],
)
def test_what_to_write_by_hand_has_the_form_of_the_file(
    home: Path, vault: Path, capsys: Said, name: str, expected: str
) -> None:
    file = home / name
    file.parent.mkdir(parents=True)
    file.write_text("a: [\n= b", "utf-8")
    assert main(["goose" if "goose" in name else "codex", str(vault)]) == 1
    assert expected in capsys.readouterr().err


def test_a_vault_with_an_emoji_gets_into_every_form(home: Path, tmp_path: Path) -> None:
    vault = tmp_path / "Notes 🌱"
    vault.mkdir()
    for name, folder in (("cursor", ".cursor"), ("codex", ".codex"), ("goose", ".config/goose")):
        (home / folder).mkdir(parents=True, exist_ok=True)
        assert main([name, str(vault)]) == 0, name
