"""A unit of the user's systemd (systemd.service(5), systemd.syntax(7))."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from vaultbridge.server.service.definition import TITLE, Service, read_command
from vaultbridge.system import find_home, find_xdg_folder

UNIT: Final = "vaultbridge.service"

RETRY_SECONDS: Final = 10
"""How long systemd waits before it starts a bridge that has failed again: a vault's disk may come later."""

_WORD: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')


class Systemd:
    name = "systemd"

    def find_file(self, environ: Mapping[str, str]) -> Path:
        base = find_xdg_folder(environ, "XDG_CONFIG_HOME", find_home(environ) / ".config")
        return base / "systemd" / "user" / UNIT

    def render(self, service: Service) -> bytes:
        program, *words = service.command
        # A `$` is replaced in arguments, and not in the path of the program.
        command = " ".join([_quote(program), *(_quote(word).replace("$", "$$") for word in words)])
        lines = [
            "[Unit]",
            f"Description={TITLE}",
            "",
            "[Service]",
            f"ExecStart={command}",
            *(f"Environment={_quote(f'{name}={value}')}" for name, value in service.environ),
            "Restart=on-failure",
            f"RestartSec={RETRY_SECONDS}",
            "",
            "[Install]",
            "WantedBy=default.target",
            "",
        ]
        return "\n".join(lines).encode()

    def parse(self, data: bytes) -> Service | None:
        words: list[str] = []
        environ: list[tuple[str, str]] = []
        for line in data.decode("utf-8", "replace").splitlines():
            name, _, value = line.partition("=")
            if name == "ExecStart":
                first, *rest = [_unquote(word) for word in _WORD.findall(value)] or [""]
                words = [first, *(word.replace("$$", "$") for word in rest)]
            elif name == "Environment":
                variable, _, text = "".join(map(_unquote, _WORD.findall(value))).partition("=")
                environ.append((variable, text))
        return read_command(words, environ)

    def list_starting(self, file: Path) -> list[list[str]]:
        control = ["systemctl", "--user"]
        return [[*control, "daemon-reload"], [*control, "enable", UNIT], [*control, "restart", UNIT]]

    def list_ending(self, file: Path) -> list[list[str]]:
        return [["systemctl", "--user", "disable", "--now", UNIT]]

    def list_forgetting(self) -> list[list[str]]:
        return [["systemctl", "--user", "daemon-reload"]]

    def explain_log(self, environ: Mapping[str, str]) -> str:
        return f"journalctl --user -u {UNIT} -n 20"


def _quote(word: str) -> str:
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"'


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text).replace("%%", "%")
