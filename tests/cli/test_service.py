"""`vaultbridge service` and `connect --shared`, from nothing to an assistant that calls a tool, and back.

A substitute for systemctl starts what the written unit says; everything else is real."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.background import ending_bridges, is_running, list_bridges
from support.commands import run_command
from support.files import write_vault
from support.ports import held_port
from support.systemctl import write_program
from support.waiting import BOUND, wait_until
from vaultbridge.assistants.catalog import ASSISTANTS, find_assistant
from vaultbridge.assistants.config_file import list_servers, read_text
from vaultbridge.assistants.handshake import check_handshake, check_shared
from vaultbridge.assistants.shared import make_shared_entry, read_shared_entry
from vaultbridge.markdown.yaml import parse_yaml

PROGRAM = [sys.executable, "-m", "vaultbridge"]
UNIT = ".config/systemd/user/vaultbridge.service"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the substitute is for systemd")


class Machine:
    """A home with a substitute for systemctl, and a port of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.cache = home / "cache"
        self.state = home / "systemctl"
        tools = home / "tools"
        for folder in (self.state, tools, home / ".cursor", home / ".codex"):
            folder.mkdir(parents=True)
        write_program(tools, self.state)
        self.environ = {
            **os.environ,
            "HOME": str(home),
            "VAULTBRIDGE_CACHE": str(self.cache),
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "PYTHONWARNINGS": "default",
        }

    @property
    def unit(self) -> Path:
        return self.home / UNIT

    def run(self, *args: str | Path) -> subprocess.CompletedProcess[str]:
        return run_command(*args, env=self.environ, cwd=self.home)

    def answer(self, *args: str | Path) -> Any:
        done = self.run(*args, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def list_tokens(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run("token", "list", "--json").stdout.splitlines()]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path / "home")
    with ending_bridges(machine.cache):
        yield machine


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(
        tmp_path / "My Notes, 50 % näher $HOME", {"A.md": "about a\n", "Private/B.md": "a secret\n"}
    )


@pytest.fixture
def port() -> Iterator[int]:
    with held_port() as port:
        yield port


def read_entry(machine: Machine, assistant: str, name: str) -> dict[str, Any]:
    """An entry as the assistant reads it, with a parser of the file's language."""
    file = {"cursor": ".cursor/mcp.json", "codex": ".codex/config.toml"}[assistant]
    text = (machine.home / file).read_text("utf-8")
    known = tomllib.loads(text)["mcp_servers"] if assistant == "codex" else json.loads(text)["mcpServers"]
    entry: dict[str, Any] = known[name]
    return entry


def call(url: str, headers: dict[str, str], tool: str, arguments: dict[str, Any]) -> str:
    """Call a tool as a client does that has nothing but the address and the headers of its entry."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": meta},
    }
    more = {"Mcp-Method": "tools/call", "Mcp-Name": tool, "MCP-Protocol-Version": "2026-07-28"}
    request = urllib.request.Request(
        url,
        json.dumps(message).encode(),
        {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **more,
            **headers,
        },
    )
    with urllib.request.urlopen(request, timeout=BOUND) as answer:
        return str(answer.read().decode())


def test_from_nothing_to_a_call_and_back(machine: Machine, vault: Path, port: int) -> None:
    """The unit's own command line is what is started, and the written entry is what is called."""
    cursor = machine.home / ".cursor" / "mcp.json"
    cursor.write_text('{\n  // mine\n  "mcpServers": {}\n}\n', "utf-8")
    original = cursor.read_bytes()
    done = machine.run("service", "install", vault, "--port", str(port))
    assert done.returncode == 0, done.stderr + (machine.state / "log").read_text("utf-8")
    assert f"at http://127.0.0.1:{port}" in done.stdout
    asked = (machine.state / "asked").read_text("utf-8").splitlines()
    assert asked[-3:] == [
        "--user daemon-reload",
        "--user enable vaultbridge.service",
        "--user restart vaultbridge.service",
    ]
    status = machine.answer("service", "status")
    assert (status["installed"], status["answers"], status["vaults"]) == (True, True, [str(vault)])

    done = machine.run("connect", "cursor", vault, "--shared", "--name", "n", "--deny", "Private/")
    assert done.returncode == 0, done.stderr
    entry = json.loads(cursor.read_text("utf-8").replace("// mine", ""))["mcpServers"]["n"]
    assert entry["url"] == f"http://127.0.0.1:{port}/mcp"
    assert "about a" in call(entry["url"], entry["headers"], "obsidian_read_note", {"name": "A"})
    assert "secret" not in call(entry["url"], entry["headers"], "obsidian_read_note", {"name": "B"})
    (token,) = machine.list_tokens()
    assert (token["name"], token["deny"], token["vaults"]) == ("cursor n", ["Private/"], [str(vault)])
    with pytest.raises(urllib.error.HTTPError) as refused:
        call(entry["url"], {}, "obsidian_read_note", {"name": "B"})
    refused.value.close()
    assert refused.value.code == 401

    findings = [json.loads(line) for line in machine.run("doctor", "-v", vault, "--json").stdout.splitlines()]
    found = next(finding for finding in findings if finding["name"] == "cursor n")
    assert found["status"] == "good" and f"at http://127.0.0.1:{port}" in found["found"]
    assert "n (shared)" in machine.run("connect").stdout

    assert machine.run("connect", "cursor", "--remove", "--name", "n").returncode == 0
    assert cursor.read_bytes() == original
    assert machine.list_tokens() == []
    with pytest.raises(urllib.error.HTTPError) as refused:
        call(entry["url"], entry["headers"], "obsidian_read_note", {"name": "A"})
    refused.value.close()
    assert refused.value.code == 401

    (pid,) = list_bridges(machine.cache)
    done = machine.run("service", "remove")
    assert done.returncode == 0 and str(machine.unit) in done.stdout
    wait_until(lambda: not is_running(pid))
    assert not (machine.home / ".config" / "systemd").exists()
    assert machine.run("service", "status").returncode == 1
    assert "No service is installed" in machine.run("service", "remove").stdout


def test_a_dry_run_writes_nothing(machine: Machine, vault: Path) -> None:
    done = machine.run("service", "install", vault, "--dry-run")
    assert done.returncode == 0 and "ExecStart=" in done.stdout and "$ systemctl --user enable" in done.stdout
    assert not machine.unit.exists() and not (machine.state / "asked").exists()
    assert "No service is installed" in machine.run("service", "status").stdout


def test_installing_again_adds_a_vault_and_keeps_the_port(
    machine: Machine, vault: Path, port: int, tmp_path: Path
) -> None:
    other = write_vault(tmp_path / "Other", {"C.md": "c\n"})
    first = machine.answer("service", "install", vault, "--port", str(port))
    assert first["changed"] and first["answers"]
    again = machine.answer("service", "install", vault)
    assert not again["changed"] and again["vaults"] == [str(vault)]
    more = machine.answer("service", "install", other)
    assert (more["port"], more["vaults"]) == (port, [str(vault), str(other)])
    machine.run("service", "remove")


def test_a_token_is_for_one_folder_and_not_for_what_later_has_its_name(
    machine: Machine, port: int, tmp_path: Path
) -> None:
    """Two vaults may be called Notes, and the names with which they are told apart depend on the others."""
    first, second = (write_vault(tmp_path / place / "Notes", {f"{place}.md": place}) for place in "ab")
    machine.answer("service", "install", first, second, "--port", str(port))
    for folder in (first, second):
        machine.answer("connect", "cursor", folder, "--shared")
    entries = [read_entry(machine, "cursor", name) for name in ("notes", "notes-2")]
    for entry, name, other in zip(entries, "ab", "ba", strict=True):
        listed = call(entry["url"], entry["headers"], "obsidian_list_files", {})
        assert f"{name}.md" in listed and f"{other}.md" not in listed
    machine.run("service", "remove")


def test_the_temporary_bridge_makes_way_for_the_service(machine: Machine, vault: Path, port: int) -> None:
    config = machine.home / ".config" / "vaultbridge" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"[server]\nport = {port}\n", "utf-8")
    page = machine.answer("page", vault)
    assert page["started"] and f":{port}/" in page["page"]
    config.unlink()
    shown = machine.answer("service", "install", vault, "--dry-run")
    assert f'"--port" "{port}"' in shown["text"], "an open page stays connected"
    machine.answer("service", "install", vault)
    assert machine.answer("page", vault) == {"page": page["page"], "started": False}
    machine.run("service", "remove")


def test_a_bridge_in_a_terminal_is_not_taken_for_the_service(
    machine: Machine, vault: Path, port: int
) -> None:
    serve = [*PROGRAM, "serve", str(vault), "--port", str(port), "--json"]
    with subprocess.Popen(serve, env=machine.environ, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline()
        done = machine.run("service", "install", vault, "--port", str(port))
        process.send_signal(signal.SIGTERM)
        process.wait(BOUND)
    assert done.returncode == 1 and "Stop it first" in done.stderr
    assert not machine.unit.exists()


def test_sharing_without_an_address_that_stays_is_refused(machine: Machine, vault: Path) -> None:
    done = machine.run("connect", "cursor", vault, "--shared")
    assert done.returncode == 1 and "vaultbridge service install" in done.stderr
    assert not (machine.home / ".cursor" / "mcp.json").exists() and machine.list_tokens() == []


def test_a_port_in_the_configuration_is_an_address_that_stays(
    machine: Machine, vault: Path, port: int
) -> None:
    """For systems without services, as containers."""
    config = machine.home / ".config" / "vaultbridge" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"[server]\nport = {port}\n", "utf-8")
    machine.answer("connect", "codex", vault, "--shared", "--name", "n", "--read-only")
    entry = read_entry(machine, "codex", "n")
    assert entry["url"] == f"http://127.0.0.1:{port}/mcp"
    assert entry["http_headers"]["Authorization"].startswith("Bearer vbt_")
    assert machine.list_tokens()[0]["readOnly"] is True


@pytest.fixture
def settled(machine: Machine, port: int) -> Machine:
    """A machine whose configuration names a port, so that assistants may share a bridge there."""
    config = machine.home / ".config" / "vaultbridge" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"[server]\nport = {port}\n", "utf-8")
    return machine


def test_limits_are_kept_from_one_way_to_the_other(settled: Machine, vault: Path) -> None:
    """Nobody gets to see a denied folder because an assistant was connected in another way."""
    settled.answer("connect", "cursor", vault, "--name", "n", "--deny", "Private/", "--review", "all")
    settled.answer("connect", "cursor", vault, "--name", "n", "--shared")
    (token,) = settled.list_tokens()
    assert (token["deny"], token["review"]) == (["Private/"], "all")
    plain = settled.answer("connect", "cursor", vault, "--name", "n")
    assert not plain["changed"] and "already connected to n, shared" in plain["message"]
    plain = settled.run("connect", "cursor", vault, "--name", "n", "--read-only")
    assert plain.returncode == 1 and "--replace" in plain.stderr
    again = settled.answer("connect", "cursor", vault, "--name", "n", "--shared")
    assert not again["changed"] and settled.list_tokens() == [token]
    changed = settled.answer("connect", "cursor", vault, "--name", "n", "--shared", "--read-only")
    assert changed["changed"]
    (renewed,) = settled.list_tokens()
    assert renewed["readOnly"] and renewed["id"] != token["id"]
    settled.answer("connect", "cursor", vault, "--name", "n", "--replace", "--deny", "Private/")
    assert settled.list_tokens() == []
    assert read_entry(settled, "cursor", "n")["args"][-2:] == ["--deny", "Private/"]


def test_what_a_token_cannot_have_is_refused(settled: Machine, vault: Path) -> None:
    done = settled.run("connect", "cursor", vault, "--shared", "--", "--profile", "core")
    assert done.returncode == 2 and "--profile" in done.stderr
    done = settled.run("connect", "cursor", vault, "--shared", "--deny", "../x")
    assert done.returncode in (1, 2) and settled.list_tokens() == []
    assert not (settled.home / ".cursor" / "mcp.json").exists()


def test_an_entry_for_several_vaults_is_not_shared_by_surprise(
    settled: Machine, vault: Path, tmp_path: Path
) -> None:
    cursor = settled.home / ".cursor" / "mcp.json"
    other = write_vault(tmp_path / "Other", {"C.md": "c\n"})
    entry = {"command": "vaultbridge", "args": ["stdio", str(vault), str(other)]}
    cursor.write_text(json.dumps({"mcpServers": {"n": entry}}), "utf-8")
    done = settled.run("connect", "cursor", vault, "--shared", "--name", "n")
    assert done.returncode == 2 and "for one vault" in done.stderr
    assert settled.list_tokens() == [] and str(other) in cursor.read_text("utf-8")


def test_a_file_of_a_folder_gets_no_token(settled: Machine, vault: Path) -> None:
    done = settled.run("connect", "claude-code", vault, "--shared")
    assert done.returncode == 1 and "claude-code-user" in done.stderr
    assert settled.list_tokens() == []


def test_another_server_of_that_name_is_kept(settled: Machine, vault: Path) -> None:
    cursor = settled.home / ".cursor" / "mcp.json"
    cursor.write_text('{"mcpServers": {"n": {"url": "https://else.example/mcp"}}}', "utf-8")
    done = settled.run("connect", "cursor", vault, "--shared", "--name", "n")
    assert done.returncode == 1 and "--replace" in done.stderr
    assert "else.example" in cursor.read_text("utf-8") and settled.list_tokens() == []


def test_a_dry_run_makes_no_token(settled: Machine, vault: Path) -> None:
    done = settled.run("connect", "cursor", vault, "--shared", "--dry-run")
    assert done.returncode == 0 and "vbt_…" in done.stdout
    assert settled.list_tokens() == [] and not (settled.home / ".cursor" / "mcp.json").exists()


def test_a_token_that_others_could_read_is_pointed_out(settled: Machine, vault: Path) -> None:
    cursor = settled.home / ".cursor" / "mcp.json"
    done = settled.run("connect", "cursor", vault, "--shared")
    assert cursor.stat().st_mode & 0o077 == 0 and "note:" not in done.stderr
    settled.run("connect", "cursor", vault, "--remove")
    cursor.write_text("{}", "utf-8")
    cursor.chmod(0o644)
    done = settled.run("connect", "cursor", vault, "--shared")
    assert done.returncode == 0 and f"chmod 600 {cursor}" in done.stderr


@pytest.mark.parametrize("assistant", [known for known in ASSISTANTS if known.base != "here"], ids=str)
def test_each_assistant_s_entry_reaches_the_bridge(
    settled: Machine, vault: Path, tmp_path: Path, assistant: Any
) -> None:
    """It is written, understood again, and the file is as before when it is removed."""
    file = tmp_path / "settings"
    settled.answer("connect", assistant.name, vault, "--shared", "--name", "n", "--file", file)
    entry = list_servers(read_text(file) or "", assistant)["n"]
    shared = read_shared_entry(entry)
    assert shared is not None and shared.token.startswith("vbt_")
    assert entry == make_shared_entry(assistant, "n", shared.url, shared.token)
    if assistant.form == "yaml":
        assert parse_yaml(file.read_text("utf-8")).value == {assistant.key: {"n": entry}}
    settled.answer("connect", assistant.name, "--remove", "--name", "n", "--file", file)
    assert not file.exists() and settled.list_tokens() == []


def test_an_assistant_without_http_starts_the_small_bridge(
    machine: Machine, vault: Path, port: int, tmp_path: Path
) -> None:
    machine.answer("service", "install", vault, "--port", str(port))
    file = tmp_path / "desktop.json"
    machine.answer("connect", "claude-desktop", vault, "--shared", "--name", "n", "--file", file)
    entry = json.loads(file.read_text("utf-8"))["mcpServers"]["n"]
    assert entry["args"][-3:] == ["bridge", "--url", f"http://127.0.0.1:{port}"]
    started = check_handshake([entry["command"], *entry["args"]], {**machine.environ, **entry["env"]})
    assert started.server == "obsidian-bridge"
    desktop = find_assistant("claude-desktop")
    assert desktop is not None
    shared = read_shared_entry(entry)
    assert shared is not None and check_shared(shared).tools > 20
    machine.run("service", "remove")


def test_a_vault_that_the_service_lacks_is_named(
    machine: Machine, vault: Path, port: int, tmp_path: Path
) -> None:
    other = write_vault(tmp_path / "Other", {"C.md": "c\n"})
    machine.answer("service", "install", vault, "--port", str(port))
    done = machine.run("connect", "cursor", other, "--shared")
    assert done.returncode == 1 and f"vaultbridge service install {other}" in done.stderr
    machine.run("service", "remove")


@pytest.mark.parametrize(
    "entry",
    [
        None,
        3,
        {},
        {"url": 3},
        {"url": "https://else.example/mcp", "headers": {"Authorization": "Bearer x"}},
        {"url": "http://[::1", "headers": {"Authorization": "Bearer vbt_x"}},
        {"command": "vaultbridge", "args": ["stdio", "/v"]},
        {"command": "vaultbridge", "args": ["bridge", "--url"], "env": {"OBSIDIAN_MCP_API_KEY": "vbt_x"}},
        {"command": "vaultbridge", "args": ["bridge", "--url", "http://h"], "env": []},
    ],
)
def test_what_is_no_shared_entry(entry: Any) -> None:
    assert read_shared_entry(entry) is None
