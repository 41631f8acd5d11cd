"""The servers that are compared, read from `peers.toml`: starting one on a vault, and calling its tools."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from install import NotInstallable, find_node, install_npm, install_obsidian_mcp_rs, install_pip
from stdio_client import Answer, Client, ServerFailed

TABLE = Path(__file__).with_name("peers.toml")
SOURCE = Path(__file__).parents[2] / "src"
OURS = "vaultbridge"

SPECIAL: dict[str, Callable[[], Path]] = {"obsidian-mcp-rs": install_obsidian_mcp_rs}
"""Peers whose installation needs more than their package manager."""

PASSED_ON = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE")
"""What servers see of our environment; their settings must not depend on who runs the benchmark."""


@dataclass(frozen=True)
class Server:
    """One line of the comparison: a command that speaks MCP, and its tools."""

    name: str
    version: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    hide: dict[str, Any] | None = None
    tools: dict[str, list[Any]] = field(default_factory=dict)

    def can(self, operation: str) -> bool:
        return operation in self.tools


class Place:
    """A vault with a home and a state folder that belong to one server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Some servers call a vault by the name of its folder; peers.toml relies on this one.
        self.vault = folder / "vault"
        self.state = folder / "state"
        self.home = folder / "home"
        for made in (self.vault, self.state, self.home):
            made.mkdir(parents=True, exist_ok=True)

    def forget(self) -> None:
        """Deletes what the server has stored outside the vault."""
        for made in (self.state, self.home):
            shutil.rmtree(made)
            made.mkdir()


class Session:
    """A started server; `do` calls the tool that does the named thing."""

    def __init__(self, server: Server, place: Place, *, hidden: bool = False) -> None:
        self.server = server
        self.place = place
        values = {"vault": str(place.vault), "state": str(place.state), "home": str(place.home)}
        command, settings = list(server.command), dict(server.environment)
        if hidden and server.hide is not None:
            command += server.hide.get("arguments", [])
            settings |= server.hide.get("environment", {})
            if "file" in server.hide:
                name, content = server.hide["file"]
                (place.vault / name).write_text(content)
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        environment |= {"HOME": values["home"], **_fill(settings, values)}
        self.client = Client(
            _fill(command, values), environment=environment, folder=place.home, log=place.folder / "log"
        )

    def do(self, operation: str, **values: str) -> Answer:
        tool, arguments = self.server.tools[operation]
        return self.client.call(tool, _fill(arguments, _with_parts(values)))

    def must(self, operation: str, **values: str) -> str:
        answer = self.do(operation, **values)
        if answer.refused:
            raise ServerFailed(f"{operation}: {' '.join(answer.text.split())[:200]}")
        return answer.text

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()


def _with_parts(values: dict[str, str]) -> dict[str, str]:
    """Adds the parts of paths that some servers want one by one."""
    parts = dict(values)
    for prefix in ("", "to_"):
        path = values.get(f"{prefix}path")
        if path is not None:
            stem = path.removesuffix(".md")
            folder, _, name = stem.rpartition("/")
            parts |= {f"{prefix}stem": stem, f"{prefix}name": name, f"{prefix}folder": folder}
    return parts


def _fill(template: Any, values: dict[str, str]) -> Any:
    match template:
        case str():
            return re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), template)
        case dict():
            return {_fill(key, values): _fill(value, values) for key, value in template.items()}
        case list():
            return [_fill(item, values) for item in template]
        case _:
            return template


def load_servers(table: Path, wanted: list[str] | None = None) -> tuple[list[Server], dict[str, str]]:
    """Installs and returns the servers, ours first, and why each of the others is missing."""
    servers: list[Server] = []
    missing: dict[str, str] = {}
    for name, entry in tomllib.loads(table.read_text("utf-8")).items():
        if wanted is not None and name not in wanted and name != OURS:
            continue
        try:
            values = {"python": sys.executable} | _install(name, entry)
        except NotInstallable as reason:
            missing[name] = str(reason)
            continue
        environment = dict(entry.get("environment", {}))
        if name == OURS:
            environment["PYTHONPATH"] = str(SOURCE)
        servers.append(
            Server(
                name=name,
                version=_read_version(name, entry),
                command=_fill(entry["command"], values),
                environment=environment,
                hide=entry.get("hide"),
                tools=entry["tools"],
            )
        )
    return servers, missing


def _install(name: str, entry: dict[str, Any]) -> dict[str, str]:
    if name in SPECIAL:
        return {"installed": str(SPECIAL[name]())}
    match entry.get("installed_by"):
        case "npm":
            return {"installed": str(install_npm(name)), "node": find_node()}
        case "pip":
            return {"installed": str(install_pip(name))}
        case _:
            return {}


def _read_version(name: str, entry: dict[str, Any]) -> str:
    """The version that the pins name: what a server says of itself is sometimes that of a library."""
    pins = Path(__file__).parent / "pins" / name
    if entry.get("installed_by") == "npm":
        return str(json.loads((pins / "package.json").read_text())["dependencies"][entry["package"]])
    if entry.get("installed_by") == "pip":
        return (pins / "requirements.in").read_text().strip().rpartition("==")[2]
    if name != OURS:
        return str(entry.get("version", ""))
    found = re.search(r'__version__ = "([^"]+)"', (SOURCE / "vaultbridge" / "__init__.py").read_text("utf-8"))
    return found[1] if found else ""
